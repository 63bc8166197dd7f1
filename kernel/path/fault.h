/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Pages that a message lacks at its peer: brought by a work item of who owns them, in its
 * own time, while the sender's queue waits and holds nothing of the peer's. Memory that never
 * comes holds up nobody but its owner: the sender may turn away at any moment.
 */
#ifndef PINION_PATH_FAULT_H
#define PINION_PATH_FAULT_H

#include <linux/atomic.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "cursor.h"

struct pinion_qp;

/* Whose memory it is: an open device file's, or that of a node's kernel consumers. */
struct pinion_faulter {
	struct workqueue_struct *wq;
	atomic_t running;		/* work items of this kind, see pinion_faulter_enter() */
};

static inline void pinion_faulter_init(struct pinion_faulter *faulter,
				       struct workqueue_struct *wq)
{
	faulter->wq = wq;
	atomic_set(&faulter->running, 0);
}

/*
 * Count a work item in that may wait for memory, until pinion_faulter_leave(). False: there
 * are enough.
 */
bool pinion_faulter_enter(struct pinion_faulter *faulter);
void pinion_faulter_leave(struct pinion_faulter *faulter);

/* A wait for a page. Belongs to one send queue and, while the page is brought, to the work item. */
struct pinion_fault {
	refcount_t ref;
	struct work_struct work;
	struct pinion_faulter *faulter;
	struct pinion_missing missing;
	u64 left;			/* of the message, where it lacked the page */

	spinlock_t lock;		/* process context */
	struct pinion_qp *waiter;	/* to be woken */
	bool running;
	int err;			/* of the last one: see pinion_pager_fault() */
};

/* By who will wait; NULL: no memory. */
struct pinion_fault *pinion_fault_alloc(void);

/*
 * Have @faulter bring @missing, which is taken over. The caller holds something that keeps
 * @faulter, may hold any lock above those of work queues, and @fault, if there is one, is not
 * running. Return: false if it is not tried: wait for a while, then ask again.
 */
bool pinion_fault_start(struct pinion_fault *fault, struct pinion_faulter *faulter,
			struct pinion_missing *missing, u64 left);

/* Wake @qp with pinion_qp_wake() when it is over. */
void pinion_fault_wait(struct pinion_fault *fault, struct pinion_qp *qp);

/* It is over: what came of it. */
int pinion_fault_result(struct pinion_fault *fault);

/* Nobody waits any more, and @fault is not the caller's any more; it may be running. */
void pinion_fault_leave(struct pinion_fault *fault);

#endif
