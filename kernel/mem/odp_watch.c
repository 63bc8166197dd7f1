// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the kernel makes of a process the first time anybody watches its memory. It locks
 * all mappings for that (mm_take_all_locks()), which takes milliseconds where there are
 * thousands, and gives up with -EINTR at any signal. So it is done when a region is
 * registered: a message that needs a child finds it there, and whoever sends it, maybe
 * another process with signals of its own, has nothing to give up.
 *
 * It lasts as long as the mm, so one notifier that comes and goes is enough.
 */
#include <linux/mmu_notifier.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

#include "../compat/odp.h"
#include "odp.h"

static bool watch_nothing(struct mmu_interval_notifier *notifier,
			  const struct mmu_notifier_range *range, unsigned long seq)
{
	return true;
}

static const struct mmu_interval_notifier_ops watch_ops = {
	.invalidate = watch_nothing,
};

/* Whoever calls keeps @mm from ending. */
static int watch_once(struct mm_struct *mm)
{
	struct mmu_interval_notifier notifier = {};
	int err;

	err = mmu_interval_notifier_insert(&notifier, mm, 0, PAGE_SIZE, &watch_ops);
	if (!err)
		mmu_interval_notifier_remove(&notifier);
	return err;
}

struct watch {
	struct work_struct work;
	struct mm_struct *mm;
	int err;
};

static void watch_work(struct work_struct *work)
{
	struct watch *watch = container_of(work, struct watch, work);

	watch->err = watch_once(watch->mm);
}

int pinion_odp_watch(void)
{
	struct watch watch = { .mm = current->mm };
	int err;

	err = watch_once(watch.mm);
	/* The signal stays until we return, and trying again does not help: a worker has none. */
	if (err != -EINTR || fatal_signal_pending(current))
		return err;
	INIT_WORK_ONSTACK(&watch.work, watch_work);
	queue_work(system_dfl_wq, &watch.work);
	flush_work(&watch.work);
	destroy_work_on_stack(&watch.work);
	return watch.err;
}
