/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Threads that enter and leave gates while the test changes the protected data.
 */
#ifndef PINION_KUNIT_MOVERS_H
#define PINION_KUNIT_MOVERS_H

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>

#include "keys.h"
#include "random.h"

#define MOVERS	3

/* Duration of a test, and its limit on a busy machine if too little has happened. */
#define TIME_MS		300
#define LIMIT_MS	60000

struct pastime {
	unsigned long end;
	unsigned long limit;
};

static inline struct pastime start_pastime(void)
{
	return (struct pastime){
		.end = jiffies + msecs_to_jiffies(TIME_MS),
		.limit = jiffies + msecs_to_jiffies(LIMIT_MS),
	};
}

static inline bool go_on(const struct pastime *time, bool seen_enough)
{
	return time_before(jiffies, seen_enough ? time->end : time->limit);
}

struct movers {
	struct task_struct *task[MOVERS];
	u32 running;
};

static inline void stop_movers(void *arg)
{
	struct movers *movers = arg;

	while (movers->running)
		kthread_stop(movers->task[--movers->running]);
}

/* Stopped at the end of the test at the latest, also if it fails. */
static inline struct movers *start_movers(struct kunit *test, int (*function)(void *),
					  void *arg)
{
	struct movers *movers = kunit_kzalloc(test, sizeof(*movers), GFP_KERNEL);
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, movers);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stop_movers, movers), 0);
	while (movers->running < MOVERS) {
		task = kthread_run(function, arg, "pinion_mover/%u", movers->running);
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		movers->task[movers->running++] = task;
	}
	return movers;
}

/* A processor other than this thread's; the test is skipped if there is only one. */
static inline unsigned int other_processor(struct kunit *test)
{
	unsigned int mine = cpumask_first(cpu_online_mask);

	if (num_online_cpus() < 2)
		kunit_skip(test, "one processor");
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(mine)), 0);
	return cpumask_next(mine, cpu_online_mask);
}

/* Keeps the thread until kthread_stop(). */
static inline int wait_for_stop(void)
{
	while (!kthread_should_stop())
		usleep_range(500, 1000);
	return 0;
}

/* A short random delay inside of a gate. */
static inline void linger(struct rnd_state *rnd)
{
	u32 i = random_below(rnd, 100);

	while (i--)
		cpu_relax();
}

/* Outside of all gates: yield, because there may be fewer processors than threads. */
static inline void step_aside(struct rnd_state *rnd)
{
	if (random_one_in(rnd, 32))
		usleep_range(20, 50);
	else
		cond_resched();
}

#endif
