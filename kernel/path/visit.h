/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A stranger is a thread that works on an object of another user: it owns a half of his queue pair,
 * or holds a reference to it. System calls of that user, and the end of his process, wait for the
 * stranger, who may be of any priority. So from the beginning of a visit to its end he does not
 * sleep and is not preempted. What is done meanwhile is short: one message, or one buffer of
 * packets, and of long messages one stretch; if need_resched() says so he leaves.
 *
 * With PREEMPT_RT the spinlocks that are taken meanwhile sleep, so preemption stays on. A half is a
 * mutex, whose owner inherits the priority of its waiters there.
 */
#ifndef PINION_PATH_VISIT_H
#define PINION_PATH_VISIT_H

#include <linux/preempt.h>

static inline void pinion_visit_begin(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
}

static inline void pinion_visit_end(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
}

#endif
