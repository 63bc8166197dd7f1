/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One shared ring as this side sees it: where it is mapped, how far we are, how
 * far the kernel lets us go. Knows nothing of what a slot holds; takes no lock.
 *
 * Indices run free and wrap at 2^32. Our own index is the one word of the header
 * that we write, so it is kept in private memory and only ever stored there; the
 * kernel's is read again only when the copy of it is used up.
 */
#ifndef PINION_RING_H
#define PINION_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/pinion-abi.h>

struct pinion_ring {
	uint32_t next; /* the next slot we fill or poll */
	uint32_t limit; /* we may go up to here without looking again */
	uint32_t mask;
	uint32_t stride;
	char *slots;
	struct pinion_ring_hdr *hdr; /* NULL: there is no such ring */
	size_t length; /* of the mapping */
};

/* The ring @info describes is at @memory. */
void pinion_ring_set(struct pinion_ring *ring, void *memory,
		     const struct pinion_ring_info *info);
/* Map the ring @info describes. A ring without entries is a success. */
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

/* What is handed over already, as only we write it. */
static inline uint32_t pinion_ring_published(const struct pinion_ring *ring)
{
	return __atomic_load_n(&ring->hdr->user_idx, __ATOMIC_RELAXED);
}

/* Forget what we remember, after the kernel has set both indices. */
static inline void pinion_ring_resync(struct pinion_ring *ring)
{
	ring->next = pinion_ring_published(ring);
	ring->limit = ring->next;
}

/* A ring we fill: is the slot at ->next still the kernel's? */
static inline bool pinion_ring_full(struct pinion_ring *ring)
{
	if (ring->next != ring->limit)
		return false;
	ring->limit = pinion_ring_kern_idx(ring) + ring->mask + 1;
	return ring->next == ring->limit;
}

/* A ring we drain: is the slot at ->next still the kernel's? */
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
 * The same, then what the kernel says to who posts, enum pinion_ring_flags. It writes
 * the flag, then looks for what is posted; we post, then look at the flag. With a full
 * barrier on both sides one of the two sees the other.
 */
static inline uint32_t pinion_ring_publish_and_look(struct pinion_ring *ring)
{
	pinion_ring_publish(ring);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return pinion_ring_flags(ring);
}

#endif /* PINION_RING_H */
