/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A ring shared with user space: its memory and the kernel's view of it. The verbs layer maps it
 * into processes.
 */
#ifndef PINION_PATH_RING_H
#define PINION_PATH_RING_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <rdma/pinion-abi.h>

#include "../logic/ring.h"

struct pinion_umem;
struct rdma_user_mmap_entry;

struct pinion_ring {
	struct pinion_ring_hdr *hdr;	/* one vmalloc area: header, then slots */
	void *slots;
	struct pinion_umem *umem;	/* the area is a mapping of it; NULL: has its own pages */
	size_t size;			/* of an area with its own pages; whole pages */
	u32 entries;			/* a power of two */
	u32 stride;
};

/* A ring that is not in use, with the mapping by which a process gets it; all 0: none. */
struct pinion_ring_offer {
	struct pinion_ring ring;
	struct rdma_user_mmap_entry *mmap;	/* owned by verbs */
};

/* What verbs/rings.c needs to replace the ring of a queue by one of another size. */
struct pinion_resize {
	struct mutex lock;		/* protects the others; held while the ring is exchanged */
	struct rdma_user_mmap_entry *mmap;	/* of the ring that is in use */
	struct pinion_ring_offer next;	/* until it is taken */
};

int pinion_ring_alloc(struct pinion_ring *ring, u32 entries, u32 stride);
/*
 * Make a ring inside a umem, which stays in use until the ring is freed. -EINVAL if the ring does
 * not fit there or the umem is not writable.
 */
int pinion_ring_place(struct pinion_ring *ring, u32 entries, u32 stride,
		      struct pinion_umem *umem, u64 offset);
void pinion_ring_free(struct pinion_ring *ring);

/* The number of slots that may be copied while a spinlock is held. */
#define PINION_RING_FEW	1024

/*
 * Copy the slots at @head + [begin, end) of @from to [begin, end) of @to; both rings have the same
 * stride. User space may write to @from meanwhile; then the copies hold what it wrote.
 */
void pinion_ring_copy_few(const struct pinion_ring *to, const struct pinion_ring *from, u32 head,
			  u32 begin, u32 end);
/* The same of any number; sleeps. */
void pinion_ring_copy(const struct pinion_ring *to, const struct pinion_ring *from, u32 head,
		      u32 begin, u32 end);

/* Move the ring out of the queue, whose lock is held: later readers find none (hdr is NULL). */
static inline struct pinion_ring pinion_ring_take(struct pinion_ring *ring)
{
	struct pinion_ring taken = *ring;

	*ring = (struct pinion_ring){};
	return taken;
}

static inline void *pinion_ring_at(const struct pinion_ring *ring, u32 index)
{
	return ring->slots +
	       (size_t)pinion_ring_slot(index, ring->entries) * ring->stride;
}

/* The index that user space (or a kernel consumer's post) writes, after the slots before it. */
static inline u32 pinion_ring_user_idx(const struct pinion_ring *ring)
{
	/* Pairs with the store-release in the provider, or in pinion_post_send() and the like. */
	return smp_load_acquire(&ring->hdr->user_idx);
}

static inline void pinion_ring_publish(const struct pinion_ring *ring, u32 index)
{
	/* Pairs with the load-acquire of user space before it reads, or refills, a slot. */
	smp_store_release(&ring->hdr->kern_idx, index);
}

#endif
