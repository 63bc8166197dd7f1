/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Moderation of a completion queue's events (modify_cq): who waits is told of @count
 * completions at once, or of fewer when a period is over.
 */
#ifndef PINION_PATH_MODERATE_H
#define PINION_PATH_MODERATE_H

#include <linux/hrtimer.h>
#include <linux/workqueue.h>

/* All but the timer and the work item is under the queue's fill_lock. */
struct pinion_moderation {
	u16 count;			/* 0: who waits is told of each completion */
	u16 period_us;			/* from the first that nobody was told of */
	u16 untold;			/* less than @count */
	bool solicited;			/* one of them was, or is an error */
	struct hrtimer timer;
	struct work_struct over;	/* its period is */
	struct workqueue_struct *wq;
};

/* @over runs on @wq. Moderates nothing yet. */
void pinion_moderation_init(struct pinion_moderation *moderation, work_func_t over,
			    struct workqueue_struct *wq);
/* Nothing completes any more. Waits for the work item. */
void pinion_moderation_fini(struct pinion_moderation *moderation);
/* A @count or @period_us of 0 ends it, and a @count of 1. */
void pinion_moderation_set(struct pinion_moderation *moderation, u16 count, u16 period_us);
/*
 * There is another completion. Return: it is time to tell who waits, and *@solicited is
 * whether any that it is about was.
 */
bool pinion_moderation_due(struct pinion_moderation *moderation, bool *solicited);
/* The same when the period is over. */
bool pinion_moderation_over(struct pinion_moderation *moderation, bool *solicited);

#endif
