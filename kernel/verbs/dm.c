// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Verbs of device memory: limits, allocation, mapping and export. mem/dm.c allocates the memory.
 */
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "../mem/dm.h"
#include "device.h"
#include "mlx5.h"
#include "mmap.h"
#include "ops.h"
#include "user.h"

/* The mmap entry of device memory; owns @dm. */
struct dm_mapping {
	struct pinion_mapping map;
	struct pinion_dm *dm;
	struct pinion_user *user;	/* a reference: the mapping may outlive the file */
};

/* Account @size bytes to the device. pinion_dm_alloc() has accounted them to the user. */
static bool dm_take_room(struct pinion_dev *dev, size_t size)
{
	s64 before = atomic64_read(&dev->dm_used);

	do {
		if (size > 2 * PINION_DM_SIZE - before)
			return false;
	} while (!atomic64_try_cmpxchg(&dev->dm_used, &before, before + size));
	return true;
}

static void dm_end(struct pinion_dm *dm, struct pinion_user *user)
{
	atomic64_sub(dm->size, &user->dev->dm_used);
	pinion_dm_free(dm);
	pinion_user_put(user);
}

static void dm_release(struct pinion_mapping *map)
{
	struct dm_mapping *mapping = container_of(map, struct dm_mapping, map);

	dm_end(mapping->dm, mapping->user);
	kfree(mapping);
}

static struct dm_mapping *dm_offer(struct pinion_dm *dm, struct pinion_user *user,
				   struct ib_ucontext *context)
{
	struct dm_mapping *mapping;
	int err;

	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping)
		return ERR_PTR(-ENOMEM);
	mapping->dm = dm;
	mapping->user = user;
	mapping->map.area = dm->memory;
	mapping->map.size = dm->size;
	mapping->map.is_dm = true;
	mapping->map.release = dm_release;
	err = pinion_mapping_offer(&mapping->map, context);
	if (err) {
		kfree(mapping);
		return ERR_PTR(err);
	}
	dm->mapping = &mapping->map.entry;
	return mapping;
}

/* The attribute is optional: programs that only register the memory do not map it. */
static int dm_answer(struct dm_mapping *mapping, struct uverbs_attr_bundle *attrs)
{
	struct pinion_alloc_dm_resp resp = {
		.mmap_offset = pinion_mapping_offset(&mapping->map.entry),
		.mmap_length = mapping->map.size,
	};

	if (!uverbs_attr_is_valid(attrs, PINION_ATTR_DM_ALLOC_RESP))
		return 0;
	return uverbs_copy_to_struct_or_zero(attrs, PINION_ATTR_DM_ALLOC_RESP, &resp,
					     sizeof(resp));
}

static struct ib_dm *dm_alloc(struct ib_device *ibdev, struct ib_ucontext *context,
			      struct ib_dm_alloc_attr *attr, struct uverbs_attr_bundle *attrs)
{
	struct pinion_user *user = to_pinion_ucontext(context)->user;
	struct dm_mapping *mapping;
	struct pinion_dm *dm;
	int err;

	/* The alignment is log2. The memory is aligned to pages, not to more. */
	if (attr->alignment > PAGE_SHIFT)
		return ERR_PTR(-EINVAL);
	dm = pinion_dm_alloc(&user->dm_used, attr->length);
	if (IS_ERR(dm))
		return ERR_CAST(dm);
	if (!dm_take_room(to_pinion_dev(ibdev), dm->size)) {
		pinion_dm_free(dm);
		return ERR_PTR(-ENOMEM);
	}
	pinion_user_hold(user);
	mapping = dm_offer(dm, user, context);
	if (IS_ERR(mapping)) {
		dm_end(dm, user);
		return ERR_CAST(mapping);
	}
	if (to_pinion_dev(ibdev)->is_mlx5)
		err = pinion_mlx5_answer_dm(&mapping->map.entry, attrs);
	else
		err = dm_answer(mapping, attrs);
	if (err) {
		pinion_mapping_end(&mapping->map);
		return ERR_PTR(err);
	}
	return &dm->ibdm;
}

static int dm_dealloc(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs)
{
	rdma_user_mmap_entry_remove(to_pinion_dm(ibdm)->mapping);
	return 0;
}

/**
 * pinion_dm_query - answer with the size and mmap offset of device memory, for its importers
 * @ibdm: the memory
 * @attrs: answered with struct pinion_query_dm_resp
 *
 * Return: 0 or a negative errno.
 */
int pinion_dm_query(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs)
{
	struct pinion_dm *dm = to_pinion_dm(ibdm);
	struct pinion_query_dm_resp resp = {
		.mmap_offset = pinion_mapping_offset(dm->mapping),
		.mmap_length = dm->size,
		.length = ibdm->length,
	};

	return uverbs_copy_to_struct_or_zero(attrs, PINION_ATTR_DM_QUERY_RESP, &resp,
					     sizeof(resp));
}

/**
 * pinion_dm_export - export device memory as a dma-buf
 * @ibdm: the memory; the dma-buf has whole pages
 * @attrs: answered with the descriptor
 *
 * Return: 0 or a negative errno.
 */
int pinion_dm_export(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs)
{
	struct pinion_dm *dm = to_pinion_dm(ibdm);

	return pinion_answer_export(attrs, PINION_ATTR_DM_EXPORT_FD, dm->memory, dm->size);
}

const struct ib_device_ops pinion_dm_ops = {
	.alloc_dm = dm_alloc,
	.dealloc_dm = dm_dealloc,
};
