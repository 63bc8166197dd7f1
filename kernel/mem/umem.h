/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * DEVX umems: pinned memory without a key, that other objects are then made of. Each
 * has a number, which is good for the process context that made it and no other.
 */
#ifndef PINION_MEM_UMEM_H
#define PINION_MEM_UMEM_H

#include <linux/types.h>
#include <linux/xarray.h>

struct ib_device;
struct ib_umem;
struct pinion_mtt;

/*
 * How many a user may have; there are twice as many numbers. One has 32 bits in commands; the
 * sign stays clear, and 0 is none.
 */
#define PINION_LOG_MAX_UMEM	19

/* The device's umems, by number. */
struct pinion_umems {
	struct xarray by_id;
};

struct pinion_umem {
	struct pinion_umems *umems;
	struct ib_umem *umem;
	struct pinion_mtt *mtt;		/* its blocks are of a size its user listed */
	u64 length;
	bool writable;
	const void *owner;		/* the context */
	u32 id;
	/* under the xarray's lock */
	unsigned int uses;		/* objects made of it */
	u64 viewed;			/* bytes, by pinion_umem_map() */
};

/* What a umem may be registered with; rights are those of the keys made of it. */
struct pinion_umem_want {
	u64 addr;
	u64 length;
	u64 page_sizes;			/* any of these, and no other */
	u32 access;			/* IB_ACCESS_* */
	bool is_dmabuf;			/* then @addr is an offset in it */
	int fd;
};

void pinion_umems_init(struct pinion_umems *umems);
void pinion_umems_destroy(struct pinion_umems *umems);

/* Pinned and numbered, not to be found before pinion_umem_publish(). */
struct pinion_umem *pinion_umem_create(struct pinion_umems *umems, struct ib_device *ibdev,
				       const void *owner, const struct pinion_umem_want *want);
void pinion_umem_publish(struct pinion_umems *umems, struct pinion_umem *umem);

/* -EBUSY, and nothing happened, while something is made of it. */
int pinion_umem_destroy(struct pinion_umems *umems, struct pinion_umem *umem);

/* Find one of @owner's and keep it from ending; NULL if there is none. */
struct pinion_umem *pinion_umem_use(struct pinion_umems *umems, u32 id, const void *owner);
void pinion_umem_unuse(struct pinion_umem *umem);

/*
 * A view of the kernel's own, as long as the umem is in use: its range has been checked.
 * What is in there, its user may change at any time. NULL: no memory for it, or all of the
 * umem's bytes have been viewed once already.
 */
void *pinion_umem_map(struct pinion_umem *umem, u64 offset, u64 length);
void pinion_umem_unmap(struct pinion_umem *umem, void *view, u64 length);

/* Part of a umem that the kernel looks into, and keeps in use. */
struct pinion_view {
	struct pinion_umem *umem;
	void *at;			/* NULL: none */
	u64 length;
};

/*
 * @umem is in use, which the view takes over. -EINVAL: not within the umem, not on a multiple
 * of @align, or not to be written; -ENOSPC: all of its bytes have been viewed.
 */
int pinion_view_make(struct pinion_view *view, struct pinion_umem *umem, u64 offset, u64 length,
		     u32 align);
void pinion_view_end(struct pinion_view *view);

#endif
