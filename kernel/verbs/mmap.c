// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Maps kernel memory (rings, device memory, doorbell pages) into processes.
 */
#include <linux/mm.h>
#include <linux/vmalloc.h>
#include <rdma/mlx5-abi.h>

#include "../path/trap.h"
#include "device.h"
#include "mlx5.h"
#include "mmap.h"
#include "ops.h"

static struct pinion_mapping *to_mapping(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct pinion_mapping, entry);
}

/*
 * For a device that speaks mlx5's ABI. An offset in pages is made of a command, which is its
 * second byte, and an index of 16 bits, whose low byte is the first byte of the offset and whose
 * high byte is the third. The answers about device memory have room for the index only, so its
 * command is fixed: MLX5_DM.
 */
#define MLX5_DM		MLX5_IB_MMAP_DEVICE_MEM
#define MLX5_OTHERS	(MLX5_DM + 1)
#define MLX5_LAST	0xff

/* The only offset that is the same in all contexts. */
#define MLX5_CLOCK	(MLX5_IB_MMAP_CLOCK_INFO << 8 | MLX5_IB_CLOCK_INFO_V1)

static u32 mmap_mlx5_entry(u64 pgoff)
{
	return (pgoff >> 8 & 0xff) << 16 | (pgoff >> 16 & 0xff) << 8 | (pgoff & 0xff);
}

static u64 mmap_mlx5_pgoff(u32 entry)
{
	return (entry >> 8 & 0xff) << 16 | (entry >> 16 & 0xff) << 8 | (entry & 0xff);
}

static bool mmap_is_mlx5(const struct ib_ucontext *context)
{
	return to_pinion_dev(context->device)->is_mlx5;
}

int pinion_mapping_offer(struct pinion_mapping *map, struct ib_ucontext *context)
{
	u32 first = map->is_dm ? MLX5_DM : MLX5_OTHERS;
	u32 last = map->is_dm ? MLX5_DM : MLX5_LAST;

	if (!mmap_is_mlx5(context))
		return rdma_user_mmap_entry_insert(context, &map->entry, map->size);
	return rdma_user_mmap_entry_insert_range(context, &map->entry, map->size, first << 16,
						 last << 16 | U16_MAX);
}

u64 pinion_mapping_offset(const struct rdma_user_mmap_entry *entry)
{
	if (!mmap_is_mlx5(entry->ucontext))
		return rdma_user_mmap_get_offset(entry);
	return mmap_mlx5_pgoff(entry->start_pgoff) << PAGE_SHIFT;
}

static void mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct pinion_mapping *map = to_mapping(entry);

	map->release(map);
}

/* Pages inserted at a time; their addresses are on the stack. */
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
 * Each mapped page gets a reference of its own, so it may outlive @map and the module. We do not
 * use rdma_user_mmap_io(): the core zaps such mappings when the device is removed, and takes
 * mmap_lock for that, which a thread in a fault that never ends may hold.
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

static int mmap_map(struct vm_area_struct *vma, const struct pinion_mapping *map)
{
	if (!map->trap)
		return mmap_map_pages(vma, map);
	pinion_trap_add(map->trap, vma, vmalloc_to_page(map->area));
	return 0;
}

/* Like rdma_user_mmap_entry_get(), but the offset has mlx5's form. */
static struct rdma_user_mmap_entry *mmap_mlx5_get(struct ib_ucontext *context,
						  struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;

	if (!(vma->vm_flags & VM_SHARED))
		return NULL;
	entry = rdma_user_mmap_entry_get_pgoff(context, mmap_mlx5_entry(vma->vm_pgoff));
	if (!entry || entry->npages == vma_pages(vma))
		return entry;
	rdma_user_mmap_entry_put(entry);
	return NULL;
}

static int mmap_map_area(struct ib_ucontext *context, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	int err;

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	if (mmap_is_mlx5(context) && vma->vm_pgoff == MLX5_CLOCK)
		return pinion_mlx5_clock_map(vma);
	/* Both refuse private mappings and mappings of a part. */
	if (mmap_is_mlx5(context))
		entry = mmap_mlx5_get(context, vma);
	else
		entry = rdma_user_mmap_entry_get(context, vma);
	if (!entry)
		return -EINVAL;
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	err = mmap_map(vma, to_mapping(entry));
	rdma_user_mmap_entry_put(entry);
	return err;
}

const struct ib_device_ops pinion_mmap_ops = {
	.mmap = mmap_map_area,
	.mmap_free = mmap_free,
};
