/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Moderation of a completion queue's events (modify_cq): an event is raised for each @count
 * completions, or for fewer when the period is over.
 */
#ifndef PINION_PATH_MODERATE_H
#define PINION_PATH_MODERATE_H

#include <linux/hrtimer.h>
#include <linux/workqueue.h>

/* Protected by the queue's fill_lock, apart from @timer, @over and @wq. */
struct pinion_moderation {
	u16 count;			/* 0: no moderation, an event for each completion */
	u16 period_us;			/* begins with the first completion without an event */
	u16 unannounced;		/* completions without an event; less than @count */
	bool solicited;			/* one of those is solicited, or an error */
	struct hrtimer timer;		/* of the period; queues @over */
	struct work_struct over;	/* raises the event when the period is over */
	struct workqueue_struct *wq;
};

/* @over will run on @wq. Moderation is off at first. */
void pinion_moderation_init(struct pinion_moderation *moderation, work_func_t over,
			    struct workqueue_struct *wq);
/* No completion can come any more. Waits for the work item, so fill_lock must not be held. */
void pinion_moderation_fini(struct pinion_moderation *moderation);
/* Change it; off if @count is 0 or 1, or @period_us is 0. */
void pinion_moderation_set(struct pinion_moderation *moderation, u16 count, u16 period_us);
/*
 * One more completion was written, and *@solicited says whether it is solicited. Return: whether
 * to raise an event; then *@solicited says whether any completion that it covers is.
 */
bool pinion_moderation_due(struct pinion_moderation *moderation, bool *solicited);
/* Are there completions whose event is delayed to the end of the period? Under fill_lock. */
static inline bool pinion_moderation_holds(const struct pinion_moderation *moderation)
{
	return moderation->unannounced;
}

/* Called by @over when the period has ended. Return: as pinion_moderation_due(). */
bool pinion_moderation_over(struct pinion_moderation *moderation, bool *solicited);

#endif
