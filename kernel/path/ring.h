/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One shared ring: its memory and the kernel's view of it. Who maps it into a
 * process is the verbs layer's business.
 */
#ifndef PINION_PATH_RING_H
#define PINION_PATH_RING_H

#include <linux/types.h>
#include <rdma/pinion-abi.h>

#include "../logic/ring.h"

struct pinion_umem;
struct rdma_user_mmap_entry;

struct pinion_ring {
	struct pinion_ring_hdr *hdr;	/* one vmalloc area: header, then slots */
	void *slots;
	struct pinion_umem *umem;	/* what the area is a view of; NULL: has its own pages */
	size_t size;			/* of an area of its own, whole pages */
	u32 entries;			/* a power of two */
	u32 stride;
};

/* What a queue may go on in, once its process has mapped it; all 0: nothing. */
struct pinion_ring_offer {
	struct pinion_ring ring;
	struct rdma_user_mmap_entry *mmap;	/* owned by verbs */
};

int pinion_ring_alloc(struct pinion_ring *ring, u32 entries, u32 stride);
/*
 * A ring in a umem, which it uses until it is freed: -EINVAL if it does not fit there,
 * or may not be written there.
 */
int pinion_ring_place(struct pinion_ring *ring, u32 entries, u32 stride,
		      struct pinion_umem *umem, u64 offset);
void pinion_ring_free(struct pinion_ring *ring);

/* So many slots may be copied with a lock held. */
#define PINION_RING_FEW	1024

/*
 * Slots that @from has at @head + [begin, end), to @to at [begin, end), which are as
 * large. Others may write to @from meanwhile, and have what they copied.
 */
void pinion_ring_copy_few(const struct pinion_ring *to, const struct pinion_ring *from, u32 head,
			  u32 begin, u32 end);
/* The same of any number; sleeps. */
void pinion_ring_copy(const struct pinion_ring *to, const struct pinion_ring *from, u32 head,
		      u32 begin, u32 end);

/* Take it away from those who look at it under a lock, which is held. */
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

/* The other side's index: published after the slots it covers. */
static inline u32 pinion_ring_user_idx(const struct pinion_ring *ring)
{
	/* Pairs with the release, by user space or by a kernel consumer's post. */
	return smp_load_acquire(&ring->hdr->user_idx);
}

static inline void pinion_ring_publish(const struct pinion_ring *ring, u32 index)
{
	/* Pairs with the acquire of who polls, or of who fills the slot again. */
	smp_store_release(&ring->hdr->kern_idx, index);
}

#endif
