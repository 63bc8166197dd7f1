/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A fault brings a page that a message lacks. It runs in a work item that belongs to the owner of
 * the memory (mem/sleepers.h), while the queue pair that waits holds no lock and no reference of
 * its peer's. So memory that never comes holds up only messages from and to it. The queue pair
 * may stop waiting at any moment, and nobody waits for the work item.
 */
#ifndef PINION_PATH_FAULT_H
#define PINION_PATH_FAULT_H

#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../mem/sleepers.h"
#include "cursor.h"

struct pinion_qp;

/*
 * The work items for the memory of one open device file, or, with @user INVALID_UID, of a node's
 * kernel consumers. Return: as pinion_sleepers_create(). Ended by pinion_sleepers_abandon().
 */
struct pinion_sleepers *pinion_faulter_create(kuid_t user);

/* One wait for a page. Referenced by its queue pair, and by the work item while that runs. */
struct pinion_fault {
	refcount_t ref;
	struct work_struct work;
	struct pinion_sleepers *faulter;
	struct pinion_missing missing;
	u64 left;			/* bytes of the message left when it lacked the page */

	spinlock_t lock;		/* of what follows; process context */
	struct pinion_qp *waiter;	/* passed to @wake when the fault is over; or NULL */
	void (*wake)(struct pinion_qp *qp);
	bool running;
	int err;			/* of the last one: see pinion_pager_fault() */
};

/* Return: a fault that is not running, or NULL if there is no memory. */
struct pinion_fault *pinion_fault_alloc(gfp_t gfp);

/*
 * Have a work item of @faulter bring @missing, whose reference is taken over. @fault may be NULL
 * and is not running. The caller keeps @faulter from ending. Return: false if nothing was
 * started, for want of memory or because too many faults run: try again after a pause.
 */
bool pinion_fault_start(struct pinion_fault *fault, struct pinion_sleepers *faulter,
			struct pinion_missing *missing, u64 left);

/* Call @wake(@qp) when the fault is over, at once if it is. @wake may not sleep. */
void pinion_fault_wait(struct pinion_fault *fault, struct pinion_qp *qp,
		       void (*wake)(struct pinion_qp *qp));

bool pinion_fault_is_running(struct pinion_fault *fault);
/* The result of a fault that is over: 0 or an errno, see pinion_pager_fault(). */
int pinion_fault_result(struct pinion_fault *fault);

/* Stop waiting, and give up the caller's reference. @fault may still be running. */
void pinion_fault_leave(struct pinion_fault *fault);

#endif
