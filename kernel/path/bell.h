/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Doorbells of raw queue pairs: a store of their user's, of which no system call tells. Their
 * records are looked at from time to time, the more rarely the longer none has changed.
 */
#ifndef PINION_PATH_BELL_H
#define PINION_PATH_BELL_H

#include <linux/hrtimer.h>
#include <linux/spinlock.h>

#include "raw_cq.h"
#include "raw_qp.h"

/* Of a user, who may have any number of open files: one looks for all of his queues. */
struct pinion_bells {
	spinlock_t lock;		/* of the rest, and taken by the timer in softirq */
	struct list_head qps;		/* struct pinion_raw_qp; who is looked at next is first */
	u32 count;
	struct list_head cqs;		/* struct pinion_raw_cq; likewise */
	u32 cq_count;
	u64 pause;			/* ns, for all of them to be looked at once */
	u64 took;			/* ns, for the last look */
	struct hrtimer timer;
};

void pinion_bells_init(struct pinion_bells *bells);
/* No queue pair is left. */
void pinion_bells_fini(struct pinion_bells *bells);

/* From here on @raw->qp runs when its record changes; no more once it has left. */
void pinion_bells_join(struct pinion_raw_qp *raw);
void pinion_bells_leave(struct pinion_raw_qp *raw);

/*
 * Likewise of a completion queue whose user is to be told of completions: while there are others
 * he is told as they come, but he may begin to wait when they are there already.
 */
void pinion_bells_join_cq(struct pinion_bells *bells, struct pinion_raw_cq *raw);
void pinion_bells_leave_cq(struct pinion_raw_cq *raw);

/*
 * @raw has just been run, and got further: whoever rang once may ring again. By its work item,
 * which ends before the open file does; it may have left meanwhile.
 */
void pinion_bells_hurry(struct pinion_raw_qp *raw);

#endif
