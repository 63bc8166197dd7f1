// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults on behalf of others. Knows no messages; who waits is a queue pair to be woken.
 */
#include <linux/slab.h>

#include "fault.h"
#include "qp.h"

/* A page that never comes keeps a thread of the kernel. Of one owner: */
#define MAX_RUNNING	64

bool pinion_faulter_enter(struct pinion_faulter *faulter)
{
	return atomic_add_unless(&faulter->running, 1, MAX_RUNNING);
}

void pinion_faulter_leave(struct pinion_faulter *faulter)
{
	atomic_dec(&faulter->running);
}

static void fault_put(struct pinion_fault *fault)
{
	if (refcount_dec_and_test(&fault->ref))
		kfree(fault);
}

static void fault_run(struct work_struct *work)
{
	struct pinion_fault *fault = container_of(work, struct pinion_fault, work);
	int err = pinion_missing_fault(&fault->missing);

	pinion_faulter_leave(fault->faulter);
	spin_lock(&fault->lock);
	fault->err = err;
	fault->running = false;
	/* Who turns away takes the lock, so it is still there. */
	if (fault->waiter)
		pinion_qp_wake(fault->waiter);
	fault->waiter = NULL;
	spin_unlock(&fault->lock);
	fault_put(fault);
}

struct pinion_fault *pinion_fault_alloc(void)
{
	struct pinion_fault *fault = kzalloc(sizeof(*fault), GFP_KERNEL_ACCOUNT);

	if (!fault)
		return NULL;
	refcount_set(&fault->ref, 1);
	INIT_WORK(&fault->work, fault_run);
	spin_lock_init(&fault->lock);
	return fault;
}

bool pinion_fault_start(struct pinion_fault *fault, struct pinion_faulter *faulter,
			struct pinion_missing *missing, u64 left)
{
	if (!fault || !pinion_faulter_enter(faulter)) {
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

void pinion_fault_wait(struct pinion_fault *fault, struct pinion_qp *qp)
{
	spin_lock(&fault->lock);
	if (fault->running)
		fault->waiter = qp;
	else
		pinion_qp_wake(qp);
	spin_unlock(&fault->lock);
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
