/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * DEVX umems: pinned memory without a key, from which other objects are made. Each has a number,
 * which is valid only in the context that created it.
 */
#ifndef PINION_MEM_UMEM_H
#define PINION_MEM_UMEM_H

#include <linux/types.h>
#include <linux/xarray.h>

struct ib_device;
struct ib_umem;
struct pinion_mtt;

/*
 * log2 of the limit of umems per user; there are twice as many numbers. Numbers have 32 bits in
 * commands, of which the top bit stays clear; 0 is not used.
 */
#define PINION_LOG_MAX_UMEM	19

/* The device's umems, by number. */
struct pinion_umems {
	struct xarray by_id;
};

struct pinion_umem {
	struct pinion_umems *umems;
	struct ib_umem *umem;
	struct pinion_mtt *mtt;		/* with blocks of a size that the user has listed */
	u64 length;
	bool writable;
	const void *owner;		/* the context that may use @id */
	u32 id;
	/* Protected by the xarray's lock: */
	unsigned int uses;		/* objects made of it */
	u64 viewed;			/* bytes mapped into the kernel, see pinion_umem_map() */
};

/* The arguments of a umem's registration. */
struct pinion_umem_want {
	u64 addr;
	u64 length;
	u64 page_sizes;			/* block sizes that are allowed, as a mask */
	u32 access;			/* IB_ACCESS_*; for pinning */
	bool is_dmabuf;			/* @fd is a dma-buf, and @addr an offset in it */
	int fd;
};

void pinion_umems_init(struct pinion_umems *umems);
void pinion_umems_destroy(struct pinion_umems *umems);

/* Pin and number it. It cannot be found before pinion_umem_publish(). */
struct pinion_umem *pinion_umem_create(struct pinion_umems *umems, struct ib_device *ibdev,
				       const void *owner, const struct pinion_umem_want *want);
void pinion_umem_publish(struct pinion_umems *umems, struct pinion_umem *umem);

/* -EBUSY while objects made of it exist; then nothing has changed. */
int pinion_umem_destroy(struct pinion_umems *umems, struct pinion_umem *umem);

/* Find umem @id of @owner and take a use count, which keeps it; NULL if there is none. */
struct pinion_umem *pinion_umem_use(struct pinion_umems *umems, u32 id, const void *owner);
void pinion_umem_unuse(struct pinion_umem *umem);

/*
 * Map part of a umem into the kernel. The caller has checked the range, and holds a use count until
 * pinion_umem_unmap(). User space may change the contents at any time. NULL: no memory; or the
 * views would have more bytes in sum than the umem.
 */
void *pinion_umem_map(struct pinion_umem *umem, u64 offset, u64 length);
void pinion_umem_unmap(struct pinion_umem *umem, void *view, u64 length);

/* Part of a umem that is mapped into the kernel, with a use count. */
struct pinion_view {
	struct pinion_umem *umem;
	void *at;			/* NULL: none */
	u64 length;
};

enum pinion_view_use {
	PINION_VIEW_READ,
	PINION_VIEW_WRITE,
};

/*
 * On success the caller's use count of @umem belongs to the view. -EINVAL: not within the umem, not
 * aligned to @align, or to be written and the umem is not writable; -ENOSPC: the views would have
 * more bytes than the umem.
 */
int pinion_view_make(struct pinion_view *view, struct pinion_umem *umem, u64 offset, u64 length,
		     u32 align, enum pinion_view_use use);
void pinion_view_end(struct pinion_view *view);

#endif
