// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The memory of rings. Never looks at what is in a slot.
 */
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "ring.h"

/**
 * pinion_ring_alloc - memory for a ring, zeroed, charged to the caller
 * @ring: filled on success
 * @entries: slots, a power of two
 * @stride: bytes a slot
 *
 * Return: 0 or -ENOMEM.
 */
int pinion_ring_alloc(struct pinion_ring *ring, u32 entries, u32 stride)
{
	size_t size = PAGE_ALIGN(sizeof(*ring->hdr) + (size_t)entries * stride);

	ring->hdr = __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!ring->hdr)
		return -ENOMEM;
	ring->slots = ring->hdr + 1;
	ring->size = size;
	ring->entries = entries;
	ring->stride = stride;
	return 0;
}

/**
 * pinion_ring_free - free a ring's memory
 * @ring: may be empty; pages still mapped by a process live on with the mapping
 */
void pinion_ring_free(struct pinion_ring *ring)
{
	vfree(ring->hdr);
	memset(ring, 0, sizeof(*ring));
}
