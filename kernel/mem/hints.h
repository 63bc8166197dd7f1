/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Hints that are not followed yet, of one user: an open device file, or all of the kernel's
 * consumers. Memory may take as long as some file system likes to come, or for ever, and each
 * hint that waits for it has a worker; so a user has few at a time, and others have theirs.
 */
#ifndef PINION_MEM_HINTS_H
#define PINION_MEM_HINTS_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

/* How many are followed at a time, and how many may wait: more are not worth their memory. */
#define PINION_HINTS_ACTIVE	4
#define PINION_HINTS_WAITING	1024

struct pinion_hints {
	struct mutex lock;		/* @queue is being made */
	struct workqueue_struct *queue;	/* NULL before the first hint */
	atomic_t waiting;		/* those that are not done */
};

static inline void pinion_hints_init(struct pinion_hints *hints)
{
	mutex_init(&hints->lock);
	hints->queue = NULL;
	atomic_set(&hints->waiting, 0);
}

/* Where they are followed; NULL: there is no memory for it, and a hint may be forgotten. */
static inline struct workqueue_struct *pinion_hints_queue(struct pinion_hints *hints)
{
	struct workqueue_struct *queue;

	mutex_lock(&hints->lock);
	if (!hints->queue)
		hints->queue = alloc_workqueue("pinion_prefetch", WQ_UNBOUND,
					       PINION_HINTS_ACTIVE);
	queue = hints->queue;
	mutex_unlock(&hints->lock);
	return queue;
}

/* No region that a hint could be about is left. Waits for what is on its way. */
static inline void pinion_hints_destroy(struct pinion_hints *hints)
{
	if (hints->queue)
		destroy_workqueue(hints->queue);
	mutex_destroy(&hints->lock);
}

#endif
