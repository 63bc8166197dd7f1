// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creates, exchanges and destroys rings: for a kernel consumer, for a process to map, or inside a
 * umem of a process. Does not access their contents.
 */
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "device.h"
#include "mmap.h"
#include "rings.h"

/* Owns the ring's memory. The queue has a copy of @ring, which it does not free. */
struct ring_mapping {
	struct pinion_mapping map;
	struct pinion_ring ring;
};

struct ib_ucontext *pinion_udata_context(struct ib_udata *udata)
{
	return udata ? rdma_udata_to_uverbs_attr_bundle(udata)->context : NULL;
}

static void rings_release(struct pinion_mapping *map)
{
	struct ring_mapping *mapping = container_of(map, struct ring_mapping, map);

	pinion_ring_free(&mapping->ring);
	kfree(mapping);
}

static struct ring_mapping *rings_offer(const struct pinion_ring *ring, struct ib_ucontext *context)
{
	struct ring_mapping *mapping;
	int err;

	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping)
		return ERR_PTR(-ENOMEM);
	mapping->ring = *ring;
	mapping->map.area = ring->hdr;
	mapping->map.size = ring->size;
	mapping->map.release = rings_release;
	err = pinion_mapping_offer(&mapping->map, context);
	if (err) {
		kfree(mapping);
		return ERR_PTR(err);
	}
	return mapping;
}

static int rings_place(struct pinion_ring *ring, const struct pinion_ring_want *want)
{
	struct pinion_dev *dev = to_pinion_dev(want->context->device);
	struct pinion_umem *umem;
	int err;

	umem = pinion_umem_use(&dev->umems, want->place.umem_id, want->context);
	if (!umem)
		return -EINVAL;
	err = pinion_ring_place(ring, want->entries, want->stride, umem, want->place.offset);
	if (err)
		pinion_umem_unuse(umem);
	return err;
}

/**
 * pinion_ring_make - make a ring and, for a process, the mmap entry to map it
 * @ring: filled on success
 * @want: its size and place
 * @mapping: to be passed to pinion_ring_unmake(); NULL if the ring is not for mapping
 * @info: offset and size, for a process; untouched for a kernel consumer
 *
 * Return: 0 or a negative errno.
 */
int pinion_ring_make(struct pinion_ring *ring, const struct pinion_ring_want *want,
		     struct rdma_user_mmap_entry **mapping, struct pinion_ring_info *info)
{
	struct ring_mapping *made;
	int err;

	*mapping = NULL;
	if (want->place.reserved)
		return -EOPNOTSUPP;
	if (want->place.umem_id) {
		*info = (struct pinion_ring_info){
			.entries = want->entries,
			.stride = want->stride,
		};
		return rings_place(ring, want);
	}
	if (want->place.offset)
		return -EINVAL;
	err = pinion_ring_alloc(ring, want->entries, want->stride);
	if (err || !want->context)
		return err;
	made = rings_offer(ring, want->context);
	if (IS_ERR(made)) {
		pinion_ring_free(ring);
		return PTR_ERR(made);
	}
	*mapping = &made->map.entry;
	*info = (struct pinion_ring_info){
		.mmap_offset = pinion_mapping_offset(&made->map.entry),
		.mmap_length = ring->size,
		.entries = want->entries,
		.stride = want->stride,
	};
	return 0;
}

/**
 * pinion_ring_unmake - free a ring that the kernel no longer uses
 * @ring: all 0 afterwards
 * @mapping: from pinion_ring_make()
 *
 * A process that has mapped the ring keeps its pages, which have references of their own.
 */
void pinion_ring_unmake(struct pinion_ring *ring, struct rdma_user_mmap_entry *mapping)
{
	if (!mapping) {
		pinion_ring_free(ring);
		return;
	}
	memset(ring, 0, sizeof(*ring));
	rdma_user_mmap_entry_remove(mapping);
}

/**
 * pinion_resize_offer - first step of resizing: offer a ring, which the provider maps
 * @resize: of the queue
 * @made: the ring; replaces one that was offered before and not taken
 * @err: 0 if the process was told where @made is; else it is freed
 *
 * Return: @err.
 */
int pinion_resize_offer(struct pinion_resize *resize, struct pinion_ring_offer *made, int err)
{
	if (!err) {
		mutex_lock(&resize->lock);
		swap(resize->next, *made);
		mutex_unlock(&resize->lock);
	}
	pinion_ring_unmake(&made->ring, made->mmap);
	return err;
}

/**
 * pinion_resize_take - second step of resizing: switch to the ring that was offered
 * @resize: of the queue
 * @entries: how many it must have
 * @use: exchanges the queue's ring and @ring, with @resize->lock held; if it fails, neither has
 *	 changed
 * @how: for @use
 *
 * After an error the offer is gone, and the queue goes on as before.
 *
 * Return: 0, -EINVAL if no such ring was offered, or what @use says.
 */
int pinion_resize_take(struct pinion_resize *resize, u32 entries,
		       int (*use)(struct pinion_resize *resize, struct pinion_ring *ring,
				  const void *how),
		       const void *how)
{
	struct pinion_ring_offer taken = {};
	int err = -EINVAL;

	mutex_lock(&resize->lock);
	swap(resize->next, taken);
	if (taken.ring.entries == entries)
		err = use(resize, &taken.ring, how);
	if (!err)
		swap(resize->mmap, taken.mmap);
	mutex_unlock(&resize->lock);
	/* The old ring; after an error the offered one. */
	pinion_ring_unmake(&taken.ring, taken.mmap);
	return err;
}

void pinion_resize_end(struct pinion_resize *resize, struct pinion_ring *ring)
{
	pinion_ring_unmake(ring, resize->mmap);
	pinion_ring_unmake(&resize->next.ring, resize->next.mmap);
}
