/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A ring and, if it is a process's, the offer to map it.
 */
#ifndef PINION_VERBS_RINGS_H
#define PINION_VERBS_RINGS_H

#include <rdma/ib_verbs.h>

#include "../path/ring.h"

/* What a queue asks for, and for whom. */
struct pinion_ring_want {
	u32 entries;			/* a power of two */
	u32 stride;
	struct ib_ucontext *context;	/* whose process may map it; NULL: a kernel consumer */
	struct pinion_ring_place place;	/* as a process said */
};

int pinion_ring_make(struct pinion_ring *ring, const struct pinion_ring_want *want,
		     struct rdma_user_mmap_entry **mapping, struct pinion_ring_info *info);

/* @mapping is NULL for a ring that nobody may map; both may be for a ring never made. */
void pinion_ring_unmake(struct pinion_ring *ring, struct rdma_user_mmap_entry *mapping);

/* The context behind @udata, or NULL for a kernel consumer. */
struct ib_ucontext *pinion_udata_context(struct ib_udata *udata);

#endif
