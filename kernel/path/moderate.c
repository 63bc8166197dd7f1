// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Decides when a moderated completion queue raises an event. complete.c raises it. The queue's
 * fill_lock is held, but in init and fini.
 */
#include "../compat/compat.h"
#include "moderate.h"

static enum hrtimer_restart moderation_expire(struct hrtimer *timer)
{
	struct pinion_moderation *moderation =
		container_of(timer, struct pinion_moderation, timer);

	/* This is an interrupt; fill_lock is taken in process context only. */
	queue_work(moderation->wq, &moderation->over);
	return HRTIMER_NORESTART;
}

void pinion_moderation_init(struct pinion_moderation *moderation, work_func_t over,
			    struct workqueue_struct *wq)
{
	INIT_WORK(&moderation->over, over);
	hrtimer_setup(&moderation->timer, moderation_expire, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	moderation->wq = wq;
}

void pinion_moderation_fini(struct pinion_moderation *moderation)
{
	hrtimer_cancel(&moderation->timer);
	cancel_work_sync(&moderation->over);
}

void pinion_moderation_set(struct pinion_moderation *moderation, u16 count, u16 period_us)
{
	moderation->count = count > 1 && period_us ? count : 0;
	moderation->period_us = period_us;
	/* Raise the event for completions that the old setting has held back. */
	if (moderation->unannounced)
		queue_work(moderation->wq, &moderation->over);
}

bool pinion_moderation_over(struct pinion_moderation *moderation, bool *solicited)
{
	bool due = moderation->unannounced;

	*solicited = moderation->solicited;
	moderation->unannounced = 0;
	moderation->solicited = false;
	return due;
}

bool pinion_moderation_due(struct pinion_moderation *moderation, bool *solicited)
{
	if (!moderation->count)
		return true;
	moderation->solicited |= *solicited;
	if (++moderation->unannounced >= moderation->count) {
		/* If the timer has expired already, @over finds fewer completions, or none. */
		hrtimer_try_to_cancel(&moderation->timer);
		return pinion_moderation_over(moderation, solicited);
	}
	if (moderation->unannounced == 1)
		hrtimer_start(&moderation->timer,
			      ns_to_ktime((u64)moderation->period_us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL);
	return false;
}
