// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Persistent memory. The kernel's resource tree says which memory is persistent. Stores are in the
 * CPU's caches at first; arch_wb_cache_pmem() writes them back.
 */
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/sched.h>

#include "mtt.h"
#include "persist.h"
#include "trace.h"

bool pinion_persist_possible(void)
{
	return IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API);
}

static bool persist_is_of(const void *kva, u64 length, unsigned long desc)
{
	return region_intersects(virt_to_phys((void *)kva), length, IORESOURCE_MEM, desc) ==
	       REGION_INTERSECTS;
}

/* LEGACY: the type used by firmware older than ACPI 6, and by memmap= on the command line. */
static bool persist_is_persistent(const void *kva, u64 length)
{
	return persist_is_of(kva, length, IORES_DESC_PERSISTENT_MEMORY) ||
	       persist_is_of(kva, length, IORES_DESC_PERSISTENT_MEMORY_LEGACY);
}

int pinion_persist_check_table(const struct pinion_mtt *mtt, u64 length)
{
	u64 done, run;
	void *kva;

	for (done = 0; done < length; done += run) {
		run = pinion_mtt_run(mtt, done, length - done, &kva);
		if (!persist_is_persistent(kva, run))
			return -EINVAL;
		cond_resched();
	}
	return 0;
}

/* A device DAX mapping has no file system, so no blocks are allocated: it needs no MAP_SYNC. */
static bool persist_vma_keeps(struct vm_area_struct *vma)
{
	if (!vma_is_dax(vma))
		return false;
	return vma->vm_flags & VM_SYNC || S_ISCHR(file_inode(vma->vm_file)->i_mode);
}

int pinion_persist_check_range(u64 start, u64 length)
{
	u64 at = start, end = start + length;
	struct vm_area_struct *vma;
	int err = -EINVAL;

	/* The implicit region, or a range beyond user addresses. */
	if (!current->mm || end <= start || end > TASK_SIZE)
		return -EINVAL;
	if (mmap_read_lock_killable(current->mm))
		return -EINTR;
	while (at < end) {
		vma = find_vma(current->mm, at);
		if (!vma || vma->vm_start > at || !persist_vma_keeps(vma))
			goto out;
		at = vma->vm_end;
	}
	err = 0;
out:
	mmap_read_unlock(current->mm);
	return err;
}

/* Ask for a block of so many bytes first: those that follow are probably in it. */
#define PERSIST_BLOCK	SZ_2M

bool pinion_persist_ask(struct pinion_persistent *known, const void *kva, u64 length)
{
	const void *start = (const void *)ALIGN_DOWN((uintptr_t)kva, PERSIST_BLOCK);
	u64 block = ALIGN(kva + length - start, PERSIST_BLOCK);

	if (!persist_is_persistent(start, block)) {
		start = kva;
		block = length;
		if (!persist_is_persistent(start, block))
			return false;
	}
	*known = (struct pinion_persistent){ .start = start, .length = block };
	return true;
}

void pinion_persist_run(void *kva, u64 length)
{
	arch_wb_cache_pmem(kva, length);
	trace_persist(virt_to_phys(kva), length);
}

void pinion_persist_barrier(void)
{
	pmem_wmb();
}
