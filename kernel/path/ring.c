// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The memory of rings. Copies slots, and never looks at what is in one.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include "../logic/range.h"
#include "../mem/mtt.h"
#include "../mem/umem.h"
#include "ring.h"

static void ring_set(struct pinion_ring *ring, struct pinion_ring_hdr *hdr, u32 entries, u32 stride)
{
	*ring = (struct pinion_ring){
		.hdr = hdr,
		.slots = hdr + 1,
		.entries = entries,
		.stride = stride,
	};
}

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
	size_t size = PAGE_ALIGN(pinion_ring_bytes(entries, stride));
	struct pinion_ring_hdr *hdr;

	hdr = __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!hdr)
		return -ENOMEM;
	ring_set(ring, hdr, entries, stride);
	ring->size = size;
	return 0;
}

/**
 * pinion_ring_place - a ring in its user's own memory
 * @ring: filled on success
 * @entries: slots, a power of two
 * @stride: bytes a slot
 * @umem: where; in use, which the ring takes over on success
 * @offset: of the header, from the umem's first byte
 *
 * Nothing is written: the header is its user's to clear before, so that what fails leaves
 * the memory as it was. That it may be another ring's as well changes nothing: of no ring
 * is a word believed.
 *
 * Return: 0 or a negative errno.
 */
int pinion_ring_place(struct pinion_ring *ring, u32 entries, u32 stride,
		      struct pinion_umem *umem, u64 offset)
{
	u64 bytes = pinion_ring_bytes(entries, stride);
	struct pinion_ring_hdr *hdr;

	if (!umem->writable || !pinion_range_holds(0, umem->length, offset, bytes))
		return -EINVAL;
	if ((umem->mtt->first + offset) % PINION_CACHE_LINE)
		return -EINVAL;
	hdr = pinion_umem_map(umem, offset, bytes);
	if (!hdr)
		return -ENOMEM;
	ring_set(ring, hdr, entries, stride);
	ring->umem = umem;
	return 0;
}

void pinion_ring_copy_few(const struct pinion_ring *to, const struct pinion_ring *from, u32 head,
			  u32 begin, u32 end)
{
	for (; begin != end; begin++)
		memcpy(pinion_ring_at(to, begin), pinion_ring_at(from, head + begin), to->stride);
}

void pinion_ring_copy(const struct pinion_ring *to, const struct pinion_ring *from, u32 head,
		      u32 begin, u32 end)
{
	u32 next;

	for (; begin != end; begin = next) {
		next = begin + min(end - begin, PINION_RING_FEW);
		pinion_ring_copy_few(to, from, head, begin, next);
		cond_resched();
	}
}

/**
 * pinion_ring_free - free a ring's memory
 * @ring: may be empty; pages still mapped by a process live on with the mapping
 */
void pinion_ring_free(struct pinion_ring *ring)
{
	if (ring->umem) {
		pinion_umem_unmap(ring->umem, ring->hdr,
				  pinion_ring_bytes(ring->entries, ring->stride));
		pinion_umem_unuse(ring->umem);
	} else {
		vfree(ring->hdr);
	}
	memset(ring, 0, sizeof(*ring));
}
