// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Maps and unmaps shared rings.
 *
 * The mapping is shared, so fork() does not make it copy-on-write, and it needs no
 * ibv_dontfork_range().
 */
#include <errno.h>
#include <sys/mman.h>

#include "ring.h"

void pinion_ring_set(struct pinion_ring *ring, void *memory,
		     const struct pinion_ring_info *info)
{
	ring->hdr = memory;
	ring->slots = (char *)memory + sizeof(*ring->hdr);
	ring->mask = info->entries - 1;
	ring->stride = info->stride;
	ring->length = info->mmap_length;
	pinion_ring_resync(ring);
}

int pinion_ring_map(struct pinion_ring *ring, int fd,
		    const struct pinion_ring_info *info)
{
	void *map;

	*ring = (struct pinion_ring){};
	if (!info->entries)
		return 0;

	map = mmap(NULL, info->mmap_length, PROT_READ | PROT_WRITE, MAP_SHARED,
		   fd, info->mmap_offset);
	if (map == MAP_FAILED)
		return errno;

	pinion_ring_set(ring, map, info);
	return 0;
}

void pinion_ring_unmap(struct pinion_ring *ring)
{
	if (ring->hdr)
		munmap(ring->hdr, ring->length);
	ring->hdr = NULL;
}
