// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions of the model: which calls succeed, and which pages a region then has.
 */
#define _GNU_SOURCE
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "model.h"
#include "raw.h"

struct ibv_pd *pds[PDS];
struct model_region regions[REGIONS];

static bool all_kinds;

static const int rights[] = {
	IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE,
	IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_ATOMIC,
	IBV_ACCESS_MW_BIND,	IBV_ACCESS_ZERO_BASED,
};

void region_set_up(bool special)
{
	int i;

	all_kinds = special && dev.pinion;
	if (!dev.pinion)
		raw_driver = RDMA_DRIVER_RXE;
	memset(regions, 0, sizeof(regions));
	for (i = 0; i < PDS; i++)
		pds[i] = i ? MUST(ibv_alloc_pd(dev.ctx)) : dev.pd;
}

/* ------------------------------------------------------------------ access */

/* Access flags; mostly useful ones. */
static int some_access(uint32_t r, bool on_demand)
{
	int access = on_demand ? IBV_ACCESS_ON_DEMAND : 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rights); i++, r >>= 3)
		if (r % 8 < (rights[i] == IBV_ACCESS_ZERO_BASED ? 1 : 6))
			access |= rights[i];
	if (access & IBV_ACCESS_ZERO_BASED && other_lacks(LACK_ZERO_BASED))
		access &= ~IBV_ACCESS_ZERO_BASED;
	return access;
}

static bool access_is_good(int access)
{
	return access & IBV_ACCESS_LOCAL_WRITE ||
	       !(access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
}

static bool access_writes(int access)
{
	return access & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
}

/* ------------------------------------------------------------- their pages */

bool region_on_demand(const struct model_region *r)
{
	return r->access & IBV_ACCESS_ON_DEMAND;
}

struct frame *region_frame(const struct model_region *r, uint64_t off,
			   bool write, uint32_t *within)
{
	struct space *space = r->space;
	uint64_t at = r->at + off;

	if (r->kind == REGION_IMPLICIT) {
		space = memory_space_at(off);
		if (!space)
			return NULL;
		at = off - (uintptr_t)space->map;
	}
	*within = at % PAGE;
	at /= PAGE;
	switch (r->kind) {
	case REGION_DMABUF:
		return space->away ? NULL : space->page[at].frame;
	case REGION_DEVICE:
		return space->page[at].frame;
	default:
		break;
	}
	if (!region_on_demand(r))
		return r->pinned[at];
	return memory_allows(space, at * PAGE, 1, write) ?
		       space->page[at].frame :
		       NULL;
}

void region_span(const struct model_region *r, uint32_t n, uint64_t *first,
		 uint64_t *room)
{
	*first = 0;
	*room = r->length;
	if (r->kind == REGION_IMPLICIT) {
		*first = (uintptr_t)spaces[n % 4].map + PAGE;
		*room = LEN;
	} else if (r->kind == REGION_NULL) {
		*first = (uint64_t)n << 20;
		*room = LEN;
	}
}

/* @r is of this memory from now on. */
static void take_memory(struct model_region *r, enum region_kind kind,
			struct space *space, uint64_t at, uint64_t length,
			uint64_t base)
{
	uint64_t i;

	r->kind = kind;
	r->space = space;
	r->at = at;
	r->length = length;
	r->writable = access_writes(r->access);
	r->base = r->access & IBV_ACCESS_ZERO_BASED ? 0 : base;
	if (kind != REGION_USER || region_on_demand(r))
		return;
	for (i = at / PAGE; i <= (at + length - 1) / PAGE; i++)
		r->pinned[i] = space->page[i].frame;
}

/* Can it be a region? Memory on demand is not looked at before it is used. */
static bool can_be_taken(int access, const struct space *space, uint64_t at,
			 uint64_t length)
{
	return access & IBV_ACCESS_ON_DEMAND ||
	       memory_allows(space, at, length, access_writes(access));
}

/* ------------------------------------------------------------ registration */

/* What a call that makes a region is given. */
struct made {
	enum region_kind kind;
	struct space *space;
	int pd, access;
	uint64_t at, length, base;
};

static const char *const names[] = {
	[REGION_USER] = "pinned",	  [REGION_IMPLICIT] = "implicit",
	[REGION_DMABUF] = "of a dma-buf", [REGION_DEVICE] = "of device memory",
	[REGION_NULL] = "null",
};

static void tell_made(const struct model_region *r, const struct made *made)
{
	bool user = made->kind == REGION_USER;

	tell("region %d, %s: space %d from %lu, %lu bytes, at %#lx, access %#x, domain %d",
	     (int)(r - regions),
	     user && made->access & IBV_ACCESS_ON_DEMAND ? "on demand" :
							   names[made->kind],
	     made->space ? (int)(made->space - spaces) : -1, made->at,
	     made->length, made->base, made->access, made->pd);
}

static void record(struct model_region *r, struct ibv_mr *mr,
		   const struct made *made, bool allowed)
{
	judge(REG, mr, allowed);
	if (!mr)
		return;
	*r = (struct model_region){ .mr = mr,
				    .pd = made->pd,
				    .access = made->access,
				    .raw = made->kind == REGION_DMABUF ||
					   !dev.pinion,
				    .lkey = mr->lkey,
				    .rkey = mr->rkey };
	take_memory(r, made->kind, made->space, made->at, made->length,
		    made->base);
}

static void reg_user(struct model_region *r, struct made *made,
		     const uint32_t *n)
{
	uint8_t *from = made->space->map + made->at;
	bool odp = n[1] / 8 % 2;
	struct ibv_mr *mr;

	made->access = some_access(n[2], odp);
	made->base = (uintptr_t)from;
	/* At an address of its own; the offset in a page is that of the memory. */
	if (n[7] % 4 == 0 && !(odp && other_lacks(LACK_ODP_IOVA)))
		made->base = ((uint64_t)n[8] << 13) + made->at % PAGE;
	tell_made(r, made);
	mr = ibv_reg_mr_iova(pds[made->pd], from, made->length, made->base,
			     made->access);
	record(r, mr, made,
	       access_is_good(made->access) &&
		       can_be_taken(made->access, made->space, made->at,
				    made->length));
}

static void reg_implicit(struct model_region *r, struct made *made,
			 const uint32_t *n)
{
	struct ibv_mr *mr;

	made->kind = REGION_IMPLICIT;
	made->access = some_access(n[2], true) & ~IBV_ACCESS_ZERO_BASED;
	made->space = NULL;
	made->at = made->base = 0;
	made->length = SIZE_MAX;
	tell_made(r, made);
	mr = ibv_reg_mr(pds[made->pd], NULL, SIZE_MAX, made->access);
	record(r, mr, made, access_is_good(made->access));
}

static void reg_dmabuf(struct model_region *r, struct made *made,
		       const uint32_t *n)
{
	int no_good = IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED;
	struct ibv_mr *mr;

	made->access = some_access(n[2], false);
	if (n[7] % 8)
		made->access &= ~no_good;
	made->base = ((uint64_t)n[8] << 13) + made->at % PAGE;
	tell_made(r, made);
	mr = ibv_reg_dmabuf_mr(pds[made->pd], made->at, made->length,
			       made->base, made->space->dmabuf.fd,
			       made->access);
	record(r, mr, made,
	       access_is_good(made->access) && !(made->access & no_good) &&
		       !made->space->away);
}

static void reg_device(struct model_region *r, struct made *made,
		       const uint32_t *n)
{
	struct ibv_mr *mr;

	made->access = some_access(n[2], false);
	if (n[7] % 8)
		made->access |= IBV_ACCESS_ZERO_BASED;
	made->base = 0;
	tell_made(r, made);
	mr = ibv_reg_dm_mr(pds[made->pd], made->space->dm, made->at,
			   made->length, made->access);
	record(r, mr, made,
	       access_is_good(made->access) &&
		       made->access & IBV_ACCESS_ZERO_BASED);
}

static void reg_null(struct model_region *r, struct made *made)
{
	made->kind = REGION_NULL;
	made->access = 0;
	made->space = NULL;
	made->at = made->base = 0;
	made->length = SIZE_MAX;
	tell_made(r, made);
	record(r, ibv_alloc_null_mr(pds[made->pd]), made, true);
}

static struct space *some_space(enum space_kind kind)
{
	int i;

	for (i = 0; i < spaces_count; i++)
		if (spaces[i].kind == kind)
			return &spaces[i];
	return NULL;
}

void call_reg(const uint32_t *n)
{
	struct model_region *r = &regions[n[0] % REGIONS];
	struct made made = { .pd = n[5] % PDS, .at = PAGE + n[3] % LEN };
	struct space *space;

	if (r->mr)
		return;
	made.length = 1 + n[4] % (PAGE + LEN - made.at);
	made.space = &spaces[n[6] % 4];
	switch (all_kinds ? n[1] % 8 : 7) {
	case 0:
		reg_implicit(r, &made, n);
		return;
	case 1:
	case 2:
		space = some_space(SPACE_DMABUF);
		if (!space)
			break;
		made.space = space;
		made.kind = REGION_DMABUF;
		reg_dmabuf(r, &made, n);
		return;
	case 3:
		space = some_space(SPACE_DEVICE);
		if (!space)
			break;
		made.space = space;
		made.kind = REGION_DEVICE;
		reg_device(r, &made, n);
		return;
	case 4:
		if (n[9] % 2)
			break;
		reg_null(r, &made);
		return;
	}
	reg_user(r, &made, n);
}

void call_dereg(const uint32_t *n)
{
	struct model_region *r = &regions[n[0] % REGIONS];
	bool good;

	if (!r->mr)
		return;
	/* What only the region sees any more is gone with it. */
	if (!region_on_demand(r))
		message_look(r, 0);
	tell("region %d ends, %d windows", (int)(r - regions), r->windows);
	errno = ibv_dereg_mr(r->mr);
	good = !errno;
	judge(DEREG, good, !r->windows);
	if (!good && dev.pinion)
		CHECK_EQ(errno, EBUSY);
	if (good)
		r->mr = NULL;
}

/* ------------------------------------------------------------------ change */

/* What a call that changes a region is given. */
struct change {
	int flags, pd, access;
	struct space *space;
	uint64_t at, length;
	bool moves;
};

static int rereg_raw(struct model_region *r, const struct change *change)
{
	struct ib_uverbs_rereg_mr cmd = {
		.mr_handle = r->mr->handle,
		.flags = change->flags,
		.start = (uintptr_t)change->space->map + change->at,
		.hca_va = (uintptr_t)change->space->map + change->at,
		.length = change->length,
		.pd_handle = pds[change->pd]->handle,
		.access_flags = change->access,
	};

	errno = raw_rereg_mr(dev.ctx->cmd_fd, &cmd);
	return errno;
}

static int rereg_any(struct model_region *r, const struct change *change)
{
	if (r->raw)
		return rereg_raw(r, change);
	return ibv_rereg_mr(r->mr, change->flags, pds[change->pd],
			    change->space->map + change->at, change->length,
			    change->access);
}

/* May @r change its rights so? */
static bool rights_can_change(const struct model_region *r,
			      const struct change *change)
{
	int fixed = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND;

	if (!access_is_good(change->access))
		return false;
	if (change->moves)
		return true;
	if (r->kind == REGION_DMABUF && change->access & IBV_ACCESS_MW_BIND)
		return false;
	return !((change->access ^ r->access) & fixed) &&
	       (r->writable || !access_writes(change->access));
}

static bool can_change(const struct model_region *r,
		       const struct change *change)
{
	bool rights = change->flags & IBV_REREG_MR_CHANGE_ACCESS;

	if (r->windows || r->kind == REGION_DEVICE || r->kind == REGION_NULL)
		return false;
	if (rights && !rights_can_change(r, change))
		return false;
	return !change->moves ||
	       can_be_taken(rights ? change->access : r->access, change->space,
			    change->at, change->length);
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
		.pd = n[2] % PDS,
		.space = &spaces[n[5] % 4],
		.at = PAGE + n[3] % LEN,
	};
	bool good;

	if (!r->mr)
		return;
	change.length = 1 + n[4] % (PAGE + LEN - change.at);
	change.moves = change.flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	if (change.flags & IBV_REREG_MR_CHANGE_ACCESS)
		change.access = some_access(n[6], region_on_demand(r) ^
							  (n[7] % 4 == 0));
	/* Few regions of these kinds would have the right to this. */
	if (r->kind >= REGION_DMABUF && n[8] % 8)
		change.access &= ~IBV_ACCESS_MW_BIND;
	/* libibverbs does not call the driver in this case. */
	if (change.flags == IBV_REREG_MR_CHANGE_PD && change.pd == r->pd)
		return;
	if (change_lacks(r, &change))
		return;
	tell("region %d, %d windows: flags %d, domain %d, space %d from %lu, %lu bytes, access %#x",
	     (int)(r - regions), r->windows, change.flags, change.pd,
	     (int)(change.space - spaces), change.at, change.length,
	     change.access);
	good = !rereg_any(r, &change);
	judge(REREG, good, can_change(r, &change));
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
		take_memory(r, REGION_USER, change.space, change.at,
			    change.length,
			    (uintptr_t)change.space->map + change.at);
}

/* ------------------------------------------------------------------ advice */

static bool all_there(const struct model_region *r, uint64_t off,
		      uint64_t length, bool write)
{
	uint64_t end = off + length;
	uint32_t within;

	while (off < end) {
		if (!region_frame(r, off, write, &within))
			return false;
		off += PAGE - within;
	}
	return true;
}

void call_advise(const uint32_t *n)
{
	struct model_region *r = &regions[n[0] % REGIONS];
	/* For reading, for writing, or what is there anyhow. */
	int advice = n[1] % 3, pd = n[2] % 8 ? r->pd : (int)(n[2] / 8 % PDS);
	bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	bool flush = n[3] % 4, allowed, within;
	uint64_t first, room, off;
	struct ibv_sge sge;

	if (!r->mr)
		return;
	region_span(r, n[4], &first, &room);
	off = n[5] % room;
	sge = (struct ibv_sge){ .addr = r->base + first + off,
				.length = 1 + n[6] % (room - off),
				.lkey = r->lkey };
	if (n[7] % 8 == 0)
		sge.length += PAGE;
	within = r->kind == REGION_IMPLICIT ||
		 (off <= r->length && sge.length <= r->length - off);
	if ((!region_on_demand(r) && other_lacks(LACK_ADVICE_PINNED)) ||
	    (!within && other_lacks(LACK_ADVICE_RANGE)) ||
	    (!(r->access & IBV_ACCESS_LOCAL_WRITE) &&
	     other_lacks(LACK_ADVICE_RIGHTS)))
		return;
	tell("region %d, advice %d%s: %u bytes at %#lx, domain %d",
	     (int)(r - regions), advice, flush ? ", flush" : "", sge.length,
	     sge.addr, pd);
	allowed = region_on_demand(r) && r->pd == pd && within &&
		  (!write || r->access & IBV_ACCESS_LOCAL_WRITE);
	if (allowed && flush && advice != 2)
		allowed = all_there(r, first + off, sge.length, write);
	errno = ibv_advise_mr(pds[pd], advice,
			      flush ? IBV_ADVISE_MR_FLAG_FLUSH : 0, &sge, 1);
	judge(ADVISE, !errno, allowed);
}
