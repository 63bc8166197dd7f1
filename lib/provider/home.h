/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Where a ring lives: in memory of the kernel's, which we map, or in memory that the
 * application's allocator gave, which is registered for the kernel to see.
 */
#ifndef PINION_HOME_H
#define PINION_HOME_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "ring.h"

/* All 0: the kernel's memory. */
struct pinion_home {
	struct ibv_pd *pd; /* the parent domain whose allocator gave it */
	uint64_t type; /* PINION_RES_TYPE_* */
	void *memory;
	size_t size;
	uint32_t umem; /* handle */
};

/*
 * Before the verb: ask the allocator of @pd, if it has one, for a ring of at least
 * @wanted slots. @place is for the verb's request. 0 or an errno.
 */
int pinion_home_make(struct pinion_home *home, struct ibv_pd *pd, uint64_t type,
		     uint32_t wanted, uint32_t stride,
		     struct pinion_ring_place *place);
/* After it failed, or after the ring is destroyed. */
void pinion_home_end(struct pinion_home *home);

/* After the verb: the ring is as @info says. */
int pinion_home_map(struct pinion_ring *ring, const struct pinion_home *home,
		    struct ibv_context *context,
		    const struct pinion_ring_info *info);

/* A queue goes on in another ring; its own is then there to be unmapped. */
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

/* After the ring is destroyed: pinion_home_end(), too. */
void pinion_home_unmap(struct pinion_ring *ring, struct pinion_home *home);

#endif /* PINION_HOME_H */
