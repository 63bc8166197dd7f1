// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The clock page, with which libmlx5 converts timestamps of completions to wall-clock time, without
 * a system call. All contexts share one page, since all timestamps are of the same clock
 * (CLOCK_MONOTONIC_RAW, in ns).
 */
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>
#include <rdma/mlx5-abi.h>

#include "mlx5.h"

/* Update period: the two clocks drift, and the wall clock may be set. */
#define PERIOD	HZ

static DEFINE_MUTEX(clock_lock);		/* protects the next two */
static u32 clock_contexts;
static struct page *clock_page;			/* NULL while there are no contexts */

/* Called by one thread at a time. Programs read again if @sign is odd or changes meanwhile. */
static void clock_write(struct mlx5_ib_clock_info *info)
{
	u64 before, after, day;

	preempt_disable();
	before = ktime_get_raw_ns();
	day = ktime_get_real_ns();
	after = ktime_get_raw_ns();
	preempt_enable();
	WRITE_ONCE(info->sign, info->sign | MLX5_IB_CLOCK_INFO_KERNEL_UPDATING);
	/* The odd sign is visible before any of the new values. */
	smp_wmb();
	WRITE_ONCE(info->nsec, day);
	WRITE_ONCE(info->cycles, before + (after - before) / 2);
	/* The last values are visible before the sign is even again. */
	smp_store_release(&info->sign, info->sign + MLX5_IB_CLOCK_INFO_KERNEL_UPDATING);
}

static void clock_tick(struct work_struct *work)
{
	clock_write(page_address(clock_page));
	schedule_delayed_work(to_delayed_work(work), PERIOD);
}

static DECLARE_DELAYED_WORK(clock_work, clock_tick);

int pinion_mlx5_clock_open(void)
{
	struct mlx5_ib_clock_info *info;

	guard(mutex)(&clock_lock);
	if (!clock_contexts) {
		clock_page = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!clock_page)
			return -ENOMEM;
		info = page_address(clock_page);
		info->mult = 1;
		info->mask = U64_MAX;
		info->overflow_period = jiffies_to_nsecs(PERIOD);
		clock_write(info);
		schedule_delayed_work(&clock_work, PERIOD);
	}
	clock_contexts++;
	return 0;
}

void pinion_mlx5_clock_close(void)
{
	guard(mutex)(&clock_lock);
	if (--clock_contexts)
		return;
	cancel_delayed_work_sync(&clock_work);
	/* Mappings have references of their own, and keep the last contents. */
	__free_page(clock_page);
	clock_page = NULL;
}

int pinion_mlx5_clock_map(struct vm_area_struct *vma)
{
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	if (!(vma->vm_flags & VM_SHARED) || vma_pages(vma) != 1)
		return -EINVAL;
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE | VM_MAYEXEC);
	/* The caller's context is open, so the page exists. */
	return vm_insert_page(vma, vma->vm_start, clock_page);
}
