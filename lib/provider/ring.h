/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A ring that is shared with the kernel: its mapping, our index, and how far we may go.
 * The caller holds the queue's lock.
 *
 * Indices run free and wrap at 2^32. We write our own index to the header, but never
 * read it there: a private copy is used. The kernel's index is read again only when we
 * have come as far as its last value allowed.
 */
#ifndef PINION_RING_H
#define PINION_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/pinion-abi.h>

struct pinion_ring {
	uint32_t next; /* the next slot to fill or poll */
	uint32_t limit; /* slots before this one are ours */
	uint32_t mask;
	uint32_t stride;
	char *slots;
	struct pinion_ring_hdr *hdr; /* NULL: there is no such ring */
	size_t length; /* of the mapping */
};

/* Set up the ring that @info describes, which is at @memory. */
void pinion_ring_set(struct pinion_ring *ring, void *memory,
		     const struct pinion_ring_info *info);
/* Map the ring that @info describes, and set it up. Without entries: no ring; return 0. */
int pinion_ring_map(struct pinion_ring *ring, int fd,
		    const struct pinion_ring_info *info);
void pinion_ring_unmap(struct pinion_ring *ring);

static inline void *pinion_ring_slot(const struct pinion_ring *ring,
				     uint32_t index)
{
	return ring->slots + (size_t)(index & ring->mask) * ring->stride;
}

static inline uint32_t pinion_ring_kern_idx(const struct pinion_ring *ring)
{
	return __atomic_load_n(&ring->hdr->kern_idx, __ATOMIC_ACQUIRE);
}

static inline uint32_t pinion_ring_flags(const struct pinion_ring *ring)
{
	return __atomic_load_n(&ring->hdr->flags, __ATOMIC_RELAXED);
}

/* Our index as published. Relaxed, since only we write it. */
static inline uint32_t pinion_ring_published(const struct pinion_ring *ring)
{
	return __atomic_load_n(&ring->hdr->user_idx, __ATOMIC_RELAXED);
}

/* Read our index again, after the kernel has set both indices. */
static inline void pinion_ring_resync(struct pinion_ring *ring)
{
	ring->next = pinion_ring_published(ring);
	ring->limit = ring->next;
}

/* For a ring that we fill: does the kernel still use the slot at ->next? */
static inline bool pinion_ring_full(struct pinion_ring *ring)
{
	if (ring->next != ring->limit)
		return false;
	ring->limit = pinion_ring_kern_idx(ring) + ring->mask + 1;
	return ring->next == ring->limit;
}

/* For a ring that we drain: has the kernel not yet filled the slot at ->next? */
static inline bool pinion_ring_empty(struct pinion_ring *ring)
{
	if (ring->next != ring->limit)
		return false;
	ring->limit = pinion_ring_kern_idx(ring);
	return ring->next == ring->limit;
}

/* Hand everything before ->next to the kernel. */
static inline void pinion_ring_publish(struct pinion_ring *ring)
{
	__atomic_store_n(&ring->hdr->user_idx, ring->next, __ATOMIC_RELEASE);
}

/*
 * The same, then read the kernel's flags, enum pinion_ring_flags. The kernel writes its
 * flag, then reads our index; we write our index, then read the flag. With a full
 * barrier on both sides at least one sees the other's write.
 */
static inline uint32_t pinion_ring_publish_and_look(struct pinion_ring *ring)
{
	pinion_ring_publish(ring);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return pinion_ring_flags(ring);
}

#endif /* PINION_RING_H */
