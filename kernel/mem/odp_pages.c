// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Looks up which pages a process has at the addresses of a child, and faults those that it lacks.
 *
 * ib_umem_odp_map_dma_and_lock() does so, too. But it waits for mmap_lock even if its caller is
 * killed, and it faults in mappings of any kind. In a system call neither may be: another thread of
 * the process may hold that lock in a fault that never ends, and device removal waits for system
 * calls.
 */
#include <linux/hmm.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/userfaultfd_k.h>

#include "../compat/odp.h"
#include "odp.h"

/*
 * Do all faults in [@start, @end) end? Those of anonymous memory do. The mappings stay as they are
 * until mmap_lock, which is held, is released.
 */
static bool pages_will_come(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;

	mmap_assert_locked(mm);
	for_each_vma_range(vmi, vma, end)
		if (!vma_is_anonymous(vma) || userfaultfd_armed(vma))
			return false;
	return true;
}

static int pages_find(struct mm_struct *mm, struct hmm_range *range, enum pinion_bring bring)
{
	int err;

	if (bring == PINION_BRING_OWN && mm != current->mm)
		return -EAGAIN;
	err = mmap_read_lock_killable(mm);
	if (err)
		return err;
	if (bring == PINION_BRING_OWN && !pages_will_come(mm, range->start, range->end))
		err = -EAGAIN;
	else
		err = hmm_range_fault(range);
	mmap_read_unlock(mm);
	return err;
}

static unsigned long pages_wanted(bool write, enum pinion_bring bring)
{
	if (bring == PINION_BRING_PRESENT)
		return 0;
	return HMM_PFN_REQ_FAULT | (write ? HMM_PFN_REQ_WRITE : 0);
}

/**
 * pinion_odp_look_up - look up pages of a process, and keep them from going
 * @umem: its addresses
 * @va: the first address
 * @length: in bytes, of whole pages
 * @write: fault pages so that they can be written
 * @bring: which pages to fault
 *
 * The core's list of pages is written, without a lock: the caller keeps others from doing the same.
 *
 * Return: 0, and umem_mutex is held, so that no page goes; or a negative errno: -EAGAIN for memory
 * that PINION_BRING_OWN does not fault, -EINTR if the caller is killed.
 */
int pinion_odp_look_up(struct ib_umem_odp *umem, u64 va, u64 length, bool write,
		       enum pinion_bring bring)
{
	unsigned long limit = jiffies + msecs_to_jiffies(HMM_RANGE_DEFAULT_TIMEOUT);
	struct mm_struct *mm = umem->umem.owning_mm;
	struct hmm_range range = {
		.notifier = &umem->notifier,
		.start = va,
		.end = va + length,
		.hmm_pfns = pinion_odp_pfns(umem) + ((va - ib_umem_start(umem)) >> PAGE_SHIFT),
		.default_flags = pages_wanted(write, bring),
	};
	int err;

	/* The process has ended. */
	if (!mmget_not_zero(mm))
		return -EINVAL;
	do {
		range.notifier_seq = mmu_interval_read_begin(range.notifier);
		err = pages_find(mm, &range, bring);
		if (!err) {
			mutex_lock(&umem->umem_mutex);
			/* No invalidation ran meanwhile, and none can run now. */
			if (!mmu_interval_read_retry(range.notifier, range.notifier_seq))
				break;
			mutex_unlock(&umem->umem_mutex);
			err = -EBUSY;
		}
		if (fatal_signal_pending(current))
			err = -EINTR;
	} while (err == -EBUSY && !time_after(jiffies, limit));
	mmput_async(mm);
	return err;
}
