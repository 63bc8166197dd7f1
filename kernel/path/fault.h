/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Pages that a message lacks: brought by a work item of who owns them, in its own time, while
 * a queue waits and holds nothing of the peer's. Memory that never comes holds up messages
 * from and to it, and nobody else: who waits may turn away at any moment, and nobody waits for
 * the work item.
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
 * Whose memory it is: an open device file's, or that of a node's kernel consumers (@user
 * INVALID_UID). Or an ERR_PTR, as of pinion_sleepers_create(). Ended by
 * pinion_sleepers_abandon().
 */
struct pinion_sleepers *pinion_faulter_create(kuid_t user);

/* A wait for a page. Belongs to one queue and, while the page is brought, to the work item. */
struct pinion_fault {
	refcount_t ref;
	struct work_struct work;
	struct pinion_sleepers *faulter;
	struct pinion_missing missing;
	u64 left;			/* of the message, where it lacked the page */

	spinlock_t lock;		/* process context */
	struct pinion_qp *waiter;	/* to be woken by @wake */
	void (*wake)(struct pinion_qp *qp);
	bool running;
	int err;			/* of the last one: see pinion_pager_fault() */
};

/* By who will wait; NULL: no memory. */
struct pinion_fault *pinion_fault_alloc(gfp_t gfp);

/*
 * Have @faulter bring @missing, which is taken over. The caller holds something that keeps
 * @faulter, may hold any lock above those of work queues, and @fault, if there is one, is not
 * running. Return: false if it is not tried: wait for a while, then ask again.
 */
bool pinion_fault_start(struct pinion_fault *fault, struct pinion_sleepers *faulter,
			struct pinion_missing *missing, u64 left);

/* Call @wake, which may not sleep, when it is over: here, if it is. */
void pinion_fault_wait(struct pinion_fault *fault, struct pinion_qp *qp,
		       void (*wake)(struct pinion_qp *qp));

bool pinion_fault_is_running(struct pinion_fault *fault);
/* It is over: what came of it. */
int pinion_fault_result(struct pinion_fault *fault);

/* Nobody waits any more, and @fault is not the caller's any more; it may be running. */
void pinion_fault_leave(struct pinion_fault *fault);

#endif
