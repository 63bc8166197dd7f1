// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Where a work item lingers, for how long, and when it is not worth it.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/topology.h>

#include "linger.h"

/*
 * Several times what a doorbell's system call costs: about 1 us on most machines, 10 us in
 * user-mode Linux.
 */
#define LINGER_NS	(50 * NSEC_PER_USEC)
/*
 * What waits so long for its CPU is in the way there, as where a program polls without rest. Mostly
 * it is microseconds.
 */
#define LATE_NS		(500 * NSEC_PER_USEC)
/*
 * The sleep that lets another task run, once in a run of the work item. A task that only wakes and
 * sleeps again needs a few microseconds.
 */
#define WAY_US		10
/* The pause after a run whose CPU other tasks wanted; doubled each time. */
#define MIN_PAUSE_MS	10
#define MAX_PAUSE_MS	1600

static bool streams = true;
module_param(streams, bool, 0644);
MODULE_PARM_DESC(streams, "let idle processors look for requests and packets of those who send one after the other (default Y)");

/* The online CPU of @among that follows @busy, cyclically. None: @busy, or nr_cpu_ids or more. */
static int linger_next_cpu(int busy, const struct cpumask *among)
{
	int cpu = cpumask_next_and(busy, among, cpu_online_mask);

	return cpu < nr_cpu_ids ? cpu : cpumask_first_and(among, cpu_online_mask);
}

/*
 * An unbound workqueue left to itself would stay on the current CPU if CPUs share no cache. If they
 * do, the scheduler moves the work item to an idle CPU near the one that is returned. Memory of
 * another node would cost more than is won, so leave the node only if it has no other CPU.
 */
int pinion_linger_cpu(int busy)
{
	int cpu = linger_next_cpu(busy, cpumask_of_node(cpu_to_node(busy)));

	return cpu < nr_cpu_ids && cpu != busy ? cpu : linger_next_cpu(busy, cpu_online_mask);
}

static bool linger_is_alone(void)
{
	return single_task_running() && !need_resched();
}

/* Return: whether no other task wants the CPU any more. */
static bool linger_gives_way(struct pinion_linger *linger)
{
	if (linger->gave_way)
		return false;
	linger->gave_way = true;
	usleep_range(WAY_US, 2 * WAY_US);
	return linger_is_alone();
}

bool pinion_linger(struct pinion_linger *linger, bool (*comes)(const void *object),
		   const void *object)
{
	u64 until = ktime_get_ns() + LINGER_NS;

	do {
		linger->crowded = !linger_is_alone() && !linger_gives_way(linger);
		if (linger->crowded)
			return false;
		if (comes(object))
			return true;
		cpu_relax();
	} while (ktime_get_ns() <= until);
	return false;
}

bool pinion_crowding_allows(const struct pinion_crowding *crowding)
{
	if (!READ_ONCE(streams) || num_online_cpus() == 1)
		return false;
	return !READ_ONCE(crowding->pause) || !time_before(jiffies, READ_ONCE(crowding->end));
}

void pinion_crowding_judge(struct pinion_crowding *crowding, bool crowded)
{
	unsigned long pause = 0;

	if (crowded)
		pause = clamp(2 * crowding->pause, msecs_to_jiffies(MIN_PAUSE_MS),
			      msecs_to_jiffies(MAX_PAUSE_MS));
	WRITE_ONCE(crowding->end, jiffies + pause);
	WRITE_ONCE(crowding->pause, pause);
}

void pinion_crowding_move(struct pinion_crowding *crowding, struct workqueue_struct *wq,
			  struct work_struct *work)
{
	/* Not again while it waits: the time would be too late. */
	if (!READ_ONCE(crowding->moved))
		WRITE_ONCE(crowding->moved, ktime_get_ns());
	queue_work_on(pinion_linger_cpu(raw_smp_processor_id()), wq, work);
}

bool pinion_crowding_is_late(const struct pinion_crowding *crowding)
{
	u64 moved = READ_ONCE(crowding->moved);

	/* The clocks of two CPUs may differ a little. */
	return moved && (s64)(ktime_get_ns() - moved) > (s64)LATE_NS;
}

bool pinion_crowding_was_late(struct pinion_crowding *crowding)
{
	bool late;

	if (!READ_ONCE(crowding->moved))
		return false;
	late = pinion_crowding_is_late(crowding);
	WRITE_ONCE(crowding->moved, 0);
	if (late) {
		pinion_crowding_judge(crowding, true);
	} else {
		/* It may be luck: if the next one is late, remember most of the last pause. */
		WRITE_ONCE(crowding->end, jiffies);
		WRITE_ONCE(crowding->pause, crowding->pause - crowding->pause / 4);
	}
	return late;
}
