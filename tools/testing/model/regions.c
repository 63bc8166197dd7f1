// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions of the model: their rights, and which pages they have.
 */
#define _GNU_SOURCE
#include <string.h>

#include "newer.h"
#include "region.h"

struct model_region regions[REGIONS];

static const int rights[] = {
	IBV_ACCESS_LOCAL_WRITE,	 IBV_ACCESS_REMOTE_WRITE,
	IBV_ACCESS_REMOTE_READ,	 IBV_ACCESS_REMOTE_ATOMIC,
	IBV_ACCESS_MW_BIND,	 IBV_ACCESS_ZERO_BASED,
	IBV_ACCESS_FLUSH_GLOBAL,
};

/* ------------------------------------------------------------------ access */

int region_some_access(uint32_t r, bool on_demand)
{
	int access = on_demand ? IBV_ACCESS_ON_DEMAND : 0;
	size_t i;

	/* Memory that is not pinned for writing. */
	if (r >> 29 == 0)
		return access | IBV_ACCESS_REMOTE_READ;
	for (i = 0; i < ARRAY_SIZE(rights); i++, r >>= 3)
		if (r % 8 < (rights[i] == IBV_ACCESS_ZERO_BASED ? 1 : 6))
			access |= rights[i];
	if (access & IBV_ACCESS_ZERO_BASED && other_lacks(LACK_ZERO_BASED))
		access &= ~IBV_ACCESS_ZERO_BASED;
	return access;
}

bool region_access_is_good(int access)
{
	if (access & REGION_NO_RIGHT)
		return false;
	return access & IBV_ACCESS_LOCAL_WRITE ||
	       !(access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
}

bool region_access_writes(int access)
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

void region_take_memory(struct model_region *r, enum region_kind kind,
			struct space *space, uint64_t at, uint64_t length,
			uint64_t base)
{
	uint64_t i;

	r->kind = kind;
	r->space = space;
	r->at = at;
	r->length = length;
	r->writable = region_access_writes(r->access);
	r->base = r->access & IBV_ACCESS_ZERO_BASED ? 0 : base;
	if (kind != REGION_USER || region_on_demand(r))
		return;
	for (i = at / PAGE; i <= (at + length - 1) / PAGE; i++)
		r->pinned[i] = space->page[i].frame;
}

bool region_can_be_taken(int access, const struct space *space, uint64_t at,
			 uint64_t length)
{
	return access & IBV_ACCESS_ON_DEMAND ||
	       memory_allows(space, at, length, region_access_writes(access));
}
