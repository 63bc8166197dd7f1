/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completions that are held back by an order (mem/inject.h, PINION_INJECT_HOLD), and those behind
 * them in the same completion queue, which stay in sequence. Protected by the queue's fill_lock.
 * complete.c writes them when they are due or the order was removed.
 */
#ifndef PINION_PATH_HOLD_H
#define PINION_PATH_HOLD_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/pinion-abi.h>

struct pinion_hold {
	struct list_head held;		/* oldest first */
	u32 count;			/* of @held */
	bool flushed_at_once;		/* a request that is flushed ends the wait of all */
	pid_t pid;			/* whose orders are meant */
	struct workqueue_struct *wq;
	struct delayed_work over;	/* on @wq: the oldest may be written */
	struct wait_queue_entry ended;	/* for pinion_inject_keep(), while @held is not empty */
};

/*
 * @over writes the completions that pinion_hold_next() returns. @user: the queue belongs to a
 * process. Flushed requests of kernel consumers are not held: draining a queue waits for them.
 */
void pinion_hold_init(struct pinion_hold *hold, work_func_t over, struct workqueue_struct *wq,
		      pid_t pid, bool user);
/* Called when nothing is held and no more is added. Waits for the work item. */
void pinion_hold_fini(struct pinion_hold *hold);

/*
 * Hold a copy of @cqe, if an order says so. If not, return false: the caller writes all held
 * completions and then @cqe.
 */
bool pinion_hold_add(struct pinion_hold *hold, const struct pinion_cqe *cqe);

/* The oldest held completion if it is due, or in any case if @all; else NULL. */
const struct pinion_cqe *pinion_hold_next(struct pinion_hold *hold, bool all);
/* Drop the oldest, which was written. */
void pinion_hold_drop(struct pinion_hold *hold);

/* Drop the completions of queue pair @qpn, which is reset or destroyed; 0: all. */
void pinion_hold_forget(struct pinion_hold *hold, u32 qpn);

#endif
