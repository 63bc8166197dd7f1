// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Mapping our memory into processes. Never knows what the memory is for.
 */
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "mmap.h"
#include "ops.h"

static struct pinion_mapping *to_mapping(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct pinion_mapping, entry);
}

int pinion_mapping_offer(struct pinion_mapping *map, struct ib_ucontext *context)
{
	return rdma_user_mmap_entry_insert(context, &map->entry, map->size);
}

static void mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct pinion_mapping *map = to_mapping(entry);

	map->release(map);
}

/* So many at a time: what their addresses need is on the stack. */
#define BATCH	32

static int mmap_map_some(struct vm_area_struct *vma, void *area, size_t at, unsigned long count)
{
	struct page *pages[BATCH];
	unsigned long i;

	for (i = 0; i < count; i++)
		pages[i] = vmalloc_to_page(area + at + i * PAGE_SIZE);
	return vm_insert_pages(vma, vma->vm_start + at, pages, &count);
}

/*
 * Each page is mapped with a reference of its own, so it may outlive area and module. Not by
 * rdma_user_mmap_io(): those mappings are taken away when the device is removed, which takes
 * mmap_lock, and a fault that never ends may hold that.
 */
static int mmap_map_pages(struct vm_area_struct *vma, const struct pinion_mapping *map)
{
	unsigned long count;
	size_t at;
	int err;

	for (at = 0; at < map->size; at += count * PAGE_SIZE) {
		count = min_t(size_t, BATCH, (map->size - at) / PAGE_SIZE);
		err = mmap_map_some(vma, map->area, at, count);
		if (err)
			return err;
		cond_resched();
	}
	return 0;
}

static int mmap_map_area(struct ib_ucontext *context, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	int err;

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	/* Only whole and only shared. */
	entry = rdma_user_mmap_entry_get(context, vma);
	if (!entry)
		return -EINVAL;
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	err = mmap_map_pages(vma, to_mapping(entry));
	rdma_user_mmap_entry_put(entry);
	return err;
}

const struct ib_device_ops pinion_mmap_ops = {
	.mmap = mmap_map_area,
	.mmap_free = mmap_free,
};
