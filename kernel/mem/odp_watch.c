// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sets up a process's mm for mmu notifiers when a region is registered, so that no message has
 * to do it.
 *
 * The first notifier of an mm allocates its mmu_notifier_subscriptions. For that the kernel
 * locks all mappings (mm_take_all_locks()), which takes milliseconds where there are thousands,
 * and fails with -EINTR if a signal is pending. In the middle of a message that would be an
 * access error, caused by a signal of whoever sent it.
 *
 * The subscriptions live as long as the mm, so inserting and removing one notifier is enough.
 */
#include <linux/mmu_notifier.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

#include "../compat/compat.h"
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

/* The caller holds a user of @mm. */
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
	/*
	 * A signal is pending, and stays so until we return to user space: trying again here
	 * would fail again. A kernel worker has no signals.
	 */
	if (err != -EINTR || fatal_signal_pending(current))
		return err;
	INIT_WORK_ONSTACK(&watch.work, watch_work);
	queue_work(system_dfl_wq, &watch.work);
	flush_work(&watch.work);
	destroy_work_on_stack(&watch.work);
	return watch.err;
}
