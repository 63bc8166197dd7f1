/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completions that are held back by order (mem/inject.h, PINION_INJECT_HOLD), and those behind them
 * in the same completion queue: their order never changes. All of it is under the queue's
 * fill_lock. complete.c writes them when their time has come or the order is gone.
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
 * @over writes what pinion_hold_next() tells. @user: a queue of a process; a kernel consumer's has
 * flushed requests at once, since whoever drains a queue pair waits for them.
 */
void pinion_hold_init(struct pinion_hold *hold, work_func_t over, struct workqueue_struct *wq,
		      pid_t pid, bool user);
/* The end: all that is held has been forgotten, and no more comes. Waits for the work item. */
void pinion_hold_fini(struct pinion_hold *hold);

/*
 * Is @cqe to be held? Then it was copied. If not, the caller writes all that is held, and then
 * @cqe.
 */
bool pinion_hold_add(struct pinion_hold *hold, const struct pinion_cqe *cqe);

/* The next to be written, of all that is held or of what may be. NULL: none now. */
const struct pinion_cqe *pinion_hold_next(struct pinion_hold *hold, bool all);
/* It was written. */
void pinion_hold_drop(struct pinion_hold *hold);

/* Forget what is held of queue pair @qpn, which is reset or destroyed; 0: all of it. */
void pinion_hold_forget(struct pinion_hold *hold, u32 qpn);

#endif
