/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work items that go on looking for work for a moment, on another CPU than the one that gave it to
 * them. To queue one again, and to wake its CPU, would cost more. This is worth it only while that
 * CPU has nothing else to do.
 */
#ifndef PINION_PATH_LINGER_H
#define PINION_PATH_LINGER_H

#include <linux/types.h>
#include <linux/workqueue.h>

/* One run of the work item, kept by it. */
struct pinion_linger {
	bool crowded;		/* ended since other tasks wanted its CPU */
	bool gave_way;		/* has slept once to let another task run */
};

/*
 * Kept with the work item. Other tasks wanted its CPU: do not move it for a pause, which is written
 * by the work item, and read anywhere without a lock; who sees a new pause with an old end moves it
 * once more.
 */
struct pinion_crowding {
	u64 moved;		/* when it was queued on another CPU, until it runs; or 0 */
	unsigned long pause;	/* length of the last pause, in jiffies; 0: there was none */
	unsigned long end;	/* of the pause, in jiffies */
};

/*
 * How long a run that lingers may last, since who flushes or cancels it waits for its end. It is
 * as long as TURN_MS in exec.c.
 */
#define PINION_LINGER_MS	20

/* A CPU on which to queue a work item that would disturb who runs on CPU @busy. Any context. */
int pinion_linger_cpu(int busy);

/*
 * Poll @comes(@object), in process context. Return: true once it is true; false if other tasks want
 * the CPU, which is looked at first, or if it is not true for several times the cost of a system
 * call.
 */
bool pinion_linger(struct pinion_linger *linger, bool (*comes)(const void *object),
		   const void *object);

/*
 * May the work item be moved to another CPU now, and linger there? Not in a pause, not if there is
 * one CPU only, and not if the parameter `streams' is off. Any context.
 */
bool pinion_crowding_allows(const struct pinion_crowding *crowding);
/* The work item was moved. @crowded: it should not have been. */
void pinion_crowding_judge(struct pinion_crowding *crowding, bool crowded);

/* Queue @work on another CPU than this one, and note when. Any context. */
void pinion_crowding_move(struct pinion_crowding *crowding, struct workqueue_struct *wq,
			  struct work_struct *work);
/* Was the work item moved, and has it been waiting too long for its new CPU? Any context. */
bool pinion_crowding_is_late(const struct pinion_crowding *crowding);
/*
 * The work item begins to run. If it was moved, judge that: it should not have been if it had to
 * wait too long. Return: whether it had.
 */
bool pinion_crowding_was_late(struct pinion_crowding *crowding);

#endif
