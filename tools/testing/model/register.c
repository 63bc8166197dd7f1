// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registration and deregistration of the model: which calls succeed, and why others fail.
 */
#define _GNU_SOURCE
#include <string.h>

#include "newer.h"
#include "region.h"

static bool region_all_kinds;

void region_set_up(bool special)
{
	region_all_kinds = special && dev.pinion;
	memset(regions, 0, sizeof(regions));
}

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
		   const struct made *made, int expected)
{
	judge(REG, mr ? 0 : errno, expected);
	if (!mr)
		return;
	*r = (struct model_region){ .mr = mr,
				    .pd = made->pd,
				    .access = made->access,
				    .raw = made->kind == REGION_DMABUF ||
					   !dev.pinion,
				    .lkey = mr->lkey,
				    .rkey = mr->rkey };
	region_take_memory(r, made->kind, made->space, made->at, made->length,
			   made->base);
}

/* What the arguments alone tell comes before what the memory is. */
static int user_errno(const struct made *made)
{
	if (made->base % PAGE != made->at % PAGE || !made->length ||
	    made->base + made->length < made->base ||
	    !region_access_is_good(made->access))
		return EINVAL;
	return region_can_be_taken(made->access, made->space, made->at,
				   made->length) ?
		       0 :
		       EFAULT;
}

/* Arguments that no region has, now and then. */
static void spoil(struct made *made, const uint32_t *n)
{
	switch (n[9] % 32) {
	case 2:
		/* rxe takes it if it does not begin with a page. */
		if (!other_lacks(LACK_NO_LENGTH))
			made->length = 0;
		break;
	case 3:
		made->access |= REGION_NO_RIGHT;
		break;
	}
}

static void reg_user(struct model_region *r, struct made *made,
		     const uint32_t *n)
{
	uint8_t *from = made->space->map + made->at;
	bool odp = n[1] / 8 % 2;
	struct ibv_mr *mr;

	made->access = region_some_access(n[2], odp);
	spoil(made, n);
	made->base = (uintptr_t)from;
	/* At an address of its own; the offset in a page is that of the memory. */
	if (n[7] % 4 == 0 && !(odp && other_lacks(LACK_ODP_IOVA)))
		made->base = ((uint64_t)n[8] << 13) + made->at % PAGE;
	if (n[9] % 32 == 1)
		made->base++;
	tell_made(r, made);
	mr = ibv_reg_mr_iova(pds[made->pd], from, made->length, made->base,
			     made->access);
	record(r, mr, made, user_errno(made));
}

static void reg_implicit(struct model_region *r, struct made *made,
			 const uint32_t *n)
{
	struct ibv_mr *mr;

	made->kind = REGION_IMPLICIT;
	made->access = region_some_access(n[2], true) & ~IBV_ACCESS_ZERO_BASED;
	made->space = NULL;
	made->at = made->base = 0;
	made->length = SIZE_MAX;
	tell_made(r, made);
	mr = ibv_reg_mr(pds[made->pd], NULL, SIZE_MAX, made->access);
	record(r, mr, made, region_access_is_good(made->access) ? 0 : EINVAL);
}

static void reg_dmabuf(struct model_region *r, struct made *made,
		       const uint32_t *n)
{
	int no_good = IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
		      IBV_ACCESS_FLUSH_GLOBAL;
	bool good;
	struct ibv_mr *mr;

	made->access = region_some_access(n[2], false);
	if (n[7] % 8)
		made->access &= ~no_good;
	made->base = ((uint64_t)n[8] << 13) + made->at % PAGE;
	spoil(made, n);
	tell_made(r, made);
	mr = ibv_reg_dmabuf_mr(pds[made->pd], made->at, made->length,
			       made->base, made->space->dmabuf.fd,
			       made->access);
	good = made->length && region_access_is_good(made->access) &&
	       !(made->access & no_good);
	/* The reason that the exporter gives. */
	record(r, mr, made, !good ? EINVAL : made->space->away ? ENOMEM : 0);
}

static void reg_device(struct model_region *r, struct made *made,
		       const uint32_t *n)
{
	struct ibv_mr *mr;

	made->access = region_some_access(n[2], false);
	if (n[7] % 8)
		made->access |= IBV_ACCESS_ZERO_BASED;
	made->base = 0;
	/* Beyond the end. */
	if (n[9] % 32 == 1)
		made->length = PAGES * PAGE - made->at + 1;
	tell_made(r, made);
	mr = ibv_reg_dm_mr(pds[made->pd], made->space->dm, made->at,
			   made->length, made->access);
	record(r, mr, made,
	       region_access_is_good(made->access) &&
			       made->access & IBV_ACCESS_ZERO_BASED &&
			       made->at + made->length <= PAGES * PAGE ?
		       0 :
		       EINVAL);
}

static void reg_null(struct model_region *r, struct made *made)
{
	made->kind = REGION_NULL;
	made->access = 0;
	made->space = NULL;
	made->at = made->base = 0;
	made->length = SIZE_MAX;
	tell_made(r, made);
	record(r, ibv_alloc_null_mr(pds[made->pd]), made, 0);
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
	struct made made = { .pd = domain_some(n[5]), .at = PAGE + n[3] % LEN };
	struct space *space;

	if (r->mr)
		return;
	made.length = 1 + n[4] % (PAGE + LEN - made.at);
	made.space = &spaces[n[6] % 4];
	switch (region_all_kinds ? n[1] % 8 : 7) {
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
		look_at(r, 0);
	tell("region %d ends, %d windows", (int)(r - regions), r->windows);
	errno = ibv_dereg_mr(r->mr);
	good = !errno;
	judge(DEREG, errno, r->windows ? EBUSY : 0);
	if (good)
		r->mr = NULL;
}
