// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rings as verbs make them: for a kernel consumer, or for a process to map. Never
 * looks at what is in one.
 */
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "mmap.h"
#include "rings.h"

/* Owns the ring's memory; the queue has a copy of where it is. */
struct ring_mapping {
	struct pinion_mapping map;
	struct pinion_ring ring;
};

struct ib_ucontext *pinion_udata_context(struct ib_udata *udata)
{
	return udata ? rdma_udata_to_uverbs_attr_bundle(udata)->context : NULL;
}

static void release(struct pinion_mapping *map)
{
	struct ring_mapping *mapping = container_of(map, struct ring_mapping, map);

	pinion_ring_free(&mapping->ring);
	kfree(mapping);
}

static struct ring_mapping *offer(const struct pinion_ring *ring, struct ib_ucontext *context)
{
	struct ring_mapping *mapping;
	int err;

	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping)
		return ERR_PTR(-ENOMEM);
	mapping->ring = *ring;
	mapping->map.area = ring->hdr;
	mapping->map.size = ring->size;
	mapping->map.release = release;
	err = pinion_mapping_offer(&mapping->map, context);
	if (err) {
		kfree(mapping);
		return ERR_PTR(err);
	}
	return mapping;
}

/**
 * pinion_ring_make - allocate a ring and, for a process, offer it for mapping
 * @ring: filled on success
 * @entries: slots, a power of two
 * @stride: bytes a slot
 * @context: whose process may map it, or NULL
 * @mapping: what to give back to pinion_ring_unmake(), NULL without a @context
 * @info: where and what it is, with a @context
 *
 * Return: 0 or a negative errno.
 */
int pinion_ring_make(struct pinion_ring *ring, u32 entries, u32 stride,
		     struct ib_ucontext *context, struct rdma_user_mmap_entry **mapping,
		     struct pinion_ring_info *info)
{
	struct ring_mapping *made;
	int err;

	*mapping = NULL;
	err = pinion_ring_alloc(ring, entries, stride);
	if (err || !context)
		return err;
	made = offer(ring, context);
	if (IS_ERR(made)) {
		pinion_ring_free(ring);
		return PTR_ERR(made);
	}
	*mapping = &made->map.entry;
	*info = (struct pinion_ring_info){
		.mmap_offset = pinion_mapping_offset(&made->map),
		.mmap_length = ring->size,
		.entries = entries,
		.stride = stride,
	};
	return 0;
}

/**
 * pinion_ring_unmake - the end of a ring nobody in the kernel uses any more
 * @ring: empty afterwards
 * @mapping: as pinion_ring_make() gave it
 *
 * A process that mapped the ring keeps its pages, not the ring.
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
