// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reregistration of the model: which calls succeed, why others fail, and what a region is then.
 */
#include <rdma/ib_user_ioctl_verbs.h>

#include "newer.h"
#include "raw.h"
#include "region.h"

#define REREG_FLAGS                                                 \
	(IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | \
	 IBV_REREG_MR_CHANGE_ACCESS)

/* What a call that changes a region is given. */
struct change {
	int flags, pd, access;
	struct space *space;
	uint64_t at, length;
	bool moves, raw;
	bool no_pd; /* a domain that is none */
};

static int rereg_raw(struct model_region *r, const struct change *change)
{
	struct ib_uverbs_rereg_mr cmd = {
		.mr_handle = r->mr->handle,
		.flags = change->flags,
		.start = (uintptr_t)change->space->map + change->at,
		.hca_va = (uintptr_t)change->space->map + change->at,
		.length = change->length,
		.pd_handle = change->no_pd ? INT32_MAX :
					     pds[change->pd]->handle,
		.access_flags = change->access,
	};

	errno = raw_rereg_mr(dev.ctx->cmd_fd, &cmd);
	return errno;
}

static int rereg_any(struct model_region *r, const struct change *change)
{
	if (change->raw)
		return rereg_raw(r, change);
	errno = 0;
	return ibv_rereg_mr(r->mr, change->flags, pds[change->pd],
			    change->space->map + change->at, change->length,
			    change->access);
}

/* What libibverbs refuses; the kernel is not asked. */
static bool library_refuses(const struct model_region *r,
			    const struct change *change)
{
	return r->kind == REGION_DEVICE || r->kind == REGION_NULL ||
	       change->flags & ~REREG_FLAGS ||
	       (change->moves && !change->length);
}

/* What the core refuses, whatever the region is. 0: nothing. */
static int core_errno(const struct model_region *r, const struct change *change)
{
	if (!change->flags)
		return EINVAL;
	if (change->flags & ~REREG_FLAGS)
		return EOPNOTSUPP;
	/* It is an object of the library's. */
	if (r->kind == REGION_NULL)
		return ENOENT;
	if (r->kind == REGION_DEVICE)
		return EINVAL;
	if (change->flags & IBV_REREG_MR_CHANGE_ACCESS &&
	    !region_access_is_good(change->access))
		return EINVAL;
	if (change->flags & IBV_REREG_MR_CHANGE_PD && change->no_pd)
		return ENOENT;
	return 0;
}

/* Other rights for the memory that it has. */
static int rights_errno(const struct model_region *r,
			const struct change *change)
{
	int fixed = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND;

	if (!r->writable && region_access_writes(change->access))
		return EACCES;
	if ((change->access ^ r->access) & fixed)
		return EOPNOTSUPP;
	if (r->kind == REGION_DMABUF &&
	    change->access & (IBV_ACCESS_MW_BIND | IBV_ACCESS_FLUSH_GLOBAL))
		return EOPNOTSUPP;
	return 0;
}

static int change_errno(const struct model_region *r,
			const struct change *change)
{
	bool rights = change->flags & IBV_REREG_MR_CHANGE_ACCESS;
	int err;

	if (!change->raw && library_refuses(r, change))
		return EINVAL;
	err = core_errno(r, change);
	if (err)
		return err;
	if (r->windows)
		return EBUSY;
	if (!change->moves)
		return rights ? rights_errno(r, change) : 0;
	if (!change->length)
		return EINVAL;
	return region_can_be_taken(rights ? change->access : r->access,
				   change->space, change->at, change->length) ?
		       0 :
		       EFAULT;
}

static bool change_lacks(const struct model_region *r,
			 const struct change *change)
{
	return (change->moves && other_lacks(LACK_TRANSLATION)) ||
	       (r->windows && other_lacks(LACK_WINDOW_REREG)) ||
	       (change->flags & IBV_REREG_MR_CHANGE_ACCESS &&
		(change->access ^ r->access) & IBV_ACCESS_ON_DEMAND &&
		other_lacks(LACK_ODP_CHANGE));
}

void call_rereg(const uint32_t *n)
{
	struct model_region *r = &regions[n[0] % REGIONS];
	struct change change = {
		.flags = 1 + n[1] % 7,
		.pd = domain_some(n[2]),
		.space = &spaces[n[5] % 4],
		.at = PAGE + n[3] % LEN,
	};
	bool good;

	if (!r->mr)
		return;
	change.raw = r->raw || n[9] % 8 == 0;
	change.no_pd = change.raw && n[9] / 8 % 8 == 0;
	/* None, or one that nobody knows. */
	if (n[9] / 64 % 32 < 2)
		change.flags = n[9] / 64 % 2 ? 0 : REREG_FLAGS + 1;
	change.length = 1 + n[4] % (PAGE + LEN - change.at);
	if (n[9] / 64 % 32 == 2)
		change.length = 0;
	change.moves = change.flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	if (change.flags & IBV_REREG_MR_CHANGE_ACCESS)
		change.access = region_some_access(
			n[6], region_on_demand(r) ^ (n[7] % 4 == 0));
	/* Few regions of these kinds would have the right to this. */
	if (r->kind >= REGION_DMABUF && n[8] % 8)
		change.access &=
			~(IBV_ACCESS_MW_BIND | IBV_ACCESS_FLUSH_GLOBAL);
	if (n[9] / 64 % 32 == 3 && change.flags & IBV_REREG_MR_CHANGE_ACCESS)
		change.access |= REGION_NO_RIGHT;
	/* libibverbs does not call the driver in this case. */
	if (change.flags == IBV_REREG_MR_CHANGE_PD && change.pd == r->pd &&
	    !change.no_pd)
		return;
	if (change_lacks(r, &change))
		return;
	tell("region %d, %d windows%s: flags %d, domain %d, space %d from %lu, %lu bytes, access %#x",
	     (int)(r - regions), r->windows, change.raw ? ", raw" : "",
	     change.flags, change.no_pd ? -1 : change.pd,
	     (int)(change.space - spaces), change.at, change.length,
	     change.access);
	good = !rereg_any(r, &change);
	judge(REREG, good ? 0 : errno, change_errno(r, &change));
	if (!good)
		return;
	if (!r->raw) {
		r->lkey = r->mr->lkey;
		r->rkey = r->mr->rkey;
	}
	if (change.flags & IBV_REREG_MR_CHANGE_PD)
		r->pd = change.pd;
	if (change.flags & IBV_REREG_MR_CHANGE_ACCESS)
		r->access = change.access;
	if (change.moves)
		region_take_memory(r, REGION_USER, change.space, change.at,
				   change.length,
				   (uintptr_t)change.space->map + change.at);
}
