/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Doorbells of raw queue pairs. Their programs ring by a store to memory, without a system call. So
 * a timer polls the doorbell records, less often the longer none has changed. When it polls seldom,
 * doorbell pages are traps (trap.h): a store to one has the records polled at once.
 *
 * By mlx5's rules a program stores to a doorbell page when it has posted sends, and when it arms a
 * completion queue. So polling is needed only while the page is mapped, and for programs that do
 * otherwise. It is not needed for receives: a message that wants one looks at the record itself.
 */
#ifndef PINION_PATH_BELL_H
#define PINION_PATH_BELL_H

#include <linux/hrtimer.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "raw_cq.h"
#include "raw_qp.h"

/* How many users of one device have queues to be polled. They share the time that it may take. */
struct pinion_bells_crowd {
	atomic_t present;
	atomic_t busy;			/* of these, polled more often than seldom */
};

/* One per user of a device, for the queues of all files of that user. */
struct pinion_bells {
	spinlock_t lock;		/* protects the other fields; taken in softirq, too */
	struct list_head qps;		/* struct pinion_raw_qp; the next to be polled is first */
	u32 count;
	struct list_head cqs;		/* struct pinion_raw_cq; likewise */
	u32 cq_count;
	u64 pause;			/* ns in which all queues are polled once: a round */
	u32 left;			/* queues of either list still to be polled in this round */
	u64 took;			/* ns that the last run of the timer took */
	struct pinion_bells_crowd *crowd;
	bool is_present;		/* counted there */
	bool is_busy;			/* likewise */
	bool untrapped;			/* doorbell pages may be mapped */
	struct file *trap;		/* for doorbell pages; NULL: there was none yet */
	struct work_struct set_trap;
	struct hrtimer timer;
};

void pinion_bells_init(struct pinion_bells *bells, struct pinion_bells_crowd *crowd);
/* All queues have left. Waits for the timer and the work item. */
void pinion_bells_fini(struct pinion_bells *bells);

/*
 * The trap for doorbell pages of this user, which is made when it is asked for first. It lasts as
 * long as @bells. Return: an ERR_PTR if there is no memory. Sleeps.
 */
struct file *pinion_bells_trap(struct pinion_bells *bells);

/* A doorbell page was mapped, by somebody who is about to store to it. */
void pinion_bells_heard(struct pinion_bells *bells);

/* Poll @raw: the work item of @raw->qp is queued when its record changes. Until it leaves. */
void pinion_bells_join(struct pinion_raw_qp *raw);
void pinion_bells_leave(struct pinion_raw_qp *raw);

/*
 * Likewise for a completion queue. An event is raised when a completion comes and the queue is
 * armed. But arming is a store to memory, too: if the completions are there already, only polling
 * the record finds that an event is due.
 */
void pinion_bells_join_cq(struct pinion_bells *bells, struct pinion_raw_cq *raw);
void pinion_bells_leave_cq(struct pinion_raw_cq *raw);

/*
 * The program of @raw may ring soon: poll sooner. @raw may have left meanwhile; the bells exist as
 * long as the file is open, and that is longer than the queue pair and its work item.
 */
void pinion_bells_hurry(struct pinion_raw_qp *raw);

#endif
