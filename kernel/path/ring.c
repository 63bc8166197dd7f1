// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The memory of rings: allocation, and copying slots when a queue is resized.
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
 * pinion_ring_place - make a ring in a umem
 * @ring: filled on success
 * @entries: slots, a power of two
 * @stride: bytes a slot
 * @umem: where; the caller's use count passes to the ring on success
 * @offset: of the header, from the umem's first byte
 *
 * Writes nothing, so that a call that fails leaves the memory as it was: the program must have
 * zeroed the header. Another ring may be in the same memory; that does no harm, as the kernel does
 * not trust the contents of any ring.
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
 * @ring: may be all 0; pages that a process has mapped live on with the mapping
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
