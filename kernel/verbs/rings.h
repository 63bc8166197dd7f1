/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rings of queues: their memory and, for a process, the mmap entry by which it maps them; and how
 * the ring of a queue is replaced by one of another size.
 */
#ifndef PINION_VERBS_RINGS_H
#define PINION_VERBS_RINGS_H

#include <rdma/ib_verbs.h>

#include "../path/ring.h"

/* What kind of ring a queue needs, and for which process. */
struct pinion_ring_want {
	u32 entries;			/* a power of two */
	u32 stride;
	struct ib_ucontext *context;	/* may map it; NULL: for a kernel consumer */
	struct pinion_ring_place place;	/* in which umem, as the process asked; all 0: in none */
};

int pinion_ring_make(struct pinion_ring *ring, const struct pinion_ring_want *want,
		     struct rdma_user_mmap_entry **mapping, struct pinion_ring_info *info);

/* @mapping is NULL for a ring that is not mapped. A ring that was never made (all 0) is fine. */
void pinion_ring_unmake(struct pinion_ring *ring, struct rdma_user_mmap_entry *mapping);

int pinion_resize_offer(struct pinion_resize *resize, struct pinion_ring_offer *made, int err);
int pinion_resize_take(struct pinion_resize *resize, u32 entries,
		       int (*use)(struct pinion_resize *resize, struct pinion_ring *ring,
				  const void *how),
		       const void *how);
/* The queue is destroyed: free @ring, which it used, and one that was offered. */
void pinion_resize_end(struct pinion_resize *resize, struct pinion_ring *ring);

/* The context that @udata belongs to, or NULL for a kernel consumer. */
struct ib_ucontext *pinion_udata_context(struct ib_udata *udata);

#endif
