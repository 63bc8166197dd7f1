// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults in work items. Knows nothing of messages: it wakes a queue pair when a page has come.
 */
#include <linux/slab.h>

#include "fault.h"

/* A page that never comes occupies a kernel thread for ever, so their number is limited. */
static const struct pinion_sleepers_kind faulters = {
	.name = "pinion_fault",
	.most = 64,
	.own = 4,
	.most_shared = 256,
	.most_threads = 512,
};

struct pinion_sleepers *pinion_faulter_create(kuid_t user)
{
	return pinion_sleepers_create(&faulters, user);
}

static void fault_put(struct pinion_fault *fault)
{
	if (refcount_dec_and_test(&fault->ref))
		kfree(fault);
}

static void fault_run(struct work_struct *work)
{
	struct pinion_fault *fault = container_of(work, struct pinion_fault, work);
	struct pinion_sleepers *faulter = fault->faulter;
	int err;

	/* Also if the owner's file is closed by now: the waiter may be a peer. */
	err = pinion_missing_fault(&fault->missing);
	spin_lock(&fault->lock);
	fault->err = err;
	fault->running = false;
	/* pinion_fault_leave() clears @waiter under the lock, so the queue pair still exists. */
	if (fault->waiter)
		fault->wake(fault->waiter);
	fault->waiter = NULL;
	spin_unlock(&fault->lock);
	fault_put(fault);
	pinion_sleepers_end(faulter);
	pinion_sleepers_leave(faulter);
}

struct pinion_fault *pinion_fault_alloc(gfp_t gfp)
{
	struct pinion_fault *fault = kzalloc(sizeof(*fault), gfp);

	if (!fault)
		return NULL;
	refcount_set(&fault->ref, 1);
	INIT_WORK(&fault->work, fault_run);
	spin_lock_init(&fault->lock);
	return fault;
}

bool pinion_fault_start(struct pinion_fault *fault, struct pinion_sleepers *faulter,
			struct pinion_missing *missing, u64 left)
{
	if (!fault || !pinion_sleepers_enter_and_begin(faulter)) {
		pinion_missing_put(missing);
		return false;
	}
	fault->faulter = faulter;
	fault->missing = *missing;
	fault->left = left;
	fault->err = 0;
	fault->running = true;
	refcount_inc(&fault->ref);
	queue_work(faulter->wq, &fault->work);
	return true;
}

void pinion_fault_wait(struct pinion_fault *fault, struct pinion_qp *qp,
		       void (*wake)(struct pinion_qp *qp))
{
	spin_lock(&fault->lock);
	fault->wake = wake;
	if (fault->running)
		fault->waiter = qp;
	else
		wake(qp);
	spin_unlock(&fault->lock);
}

bool pinion_fault_is_running(struct pinion_fault *fault)
{
	bool running;

	spin_lock(&fault->lock);
	running = fault->running;
	spin_unlock(&fault->lock);
	return running;
}

int pinion_fault_result(struct pinion_fault *fault)
{
	int err;

	spin_lock(&fault->lock);
	err = fault->err;
	spin_unlock(&fault->lock);
	return err;
}

void pinion_fault_leave(struct pinion_fault *fault)
{
	spin_lock(&fault->lock);
	fault->waiter = NULL;
	spin_unlock(&fault->lock);
	fault_put(fault);
}
