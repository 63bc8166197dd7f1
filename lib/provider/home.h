/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The memory of a ring: memory of the kernel, which is mapped, or memory from the
 * application's allocator, which is registered as a umem.
 */
#ifndef PINION_HOME_H
#define PINION_HOME_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "ring.h"

/* All 0: memory of the kernel. */
struct pinion_home {
	struct ibv_pd *pd; /* the parent domain whose allocator gave it */
	uint64_t type; /* PINION_RES_TYPE_* */
	void *memory;
	size_t size;
	uint32_t umem; /* handle */
};

/*
 * Called before the verb: get memory for at least @wanted slots from the allocator of
 * @pd, if it has one. @place goes into the verb's request. Return: 0 or an errno.
 */
int pinion_home_make(struct pinion_home *home, struct ibv_pd *pd, uint64_t type,
		     uint32_t wanted, uint32_t stride,
		     struct pinion_ring_place *place);
/* Free the memory, after the verb has failed or the ring is destroyed. */
void pinion_home_end(struct pinion_home *home);

/* Called after the verb: set up the ring that @info describes. */
int pinion_home_map(struct pinion_ring *ring, const struct pinion_home *home,
		    struct ibv_context *context,
		    const struct pinion_ring_info *info);

/* Exchange a queue's ring for another one; the caller unmaps the old one. */
static inline void pinion_home_swap(struct pinion_ring *ring,
				    struct pinion_home *home,
				    struct pinion_ring *other_ring,
				    struct pinion_home *other_home)
{
	struct pinion_ring was_ring = *ring;
	struct pinion_home was_home = *home;

	*ring = *other_ring;
	*home = *other_home;
	*other_ring = was_ring;
	*other_home = was_home;
}

/* Called after the ring is destroyed: unmap it and free its memory. */
void pinion_home_unmap(struct pinion_ring *ring, struct pinion_home *home);

#endif /* PINION_HOME_H */
