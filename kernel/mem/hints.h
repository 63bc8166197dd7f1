/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Hints that are not followed yet, of one user: an open device file, or all of the kernel's
 * consumers. Memory may take as long as some file system likes to come, or for ever, and each
 * hint that waits for it has a worker; so a user has few at a time, and others have theirs.
 */
#ifndef PINION_MEM_HINTS_H
#define PINION_MEM_HINTS_H

#include <linux/atomic.h>
#include <linux/workqueue.h>

/* How many are followed at a time, and how many may wait: more are not worth their memory. */
#define PINION_HINTS_ACTIVE	4
#define PINION_HINTS_WAITING	1024

struct pinion_hints {
	struct workqueue_struct *queue;
	atomic_t waiting;		/* those that are not done */
};

static inline int pinion_hints_init(struct pinion_hints *hints)
{
	atomic_set(&hints->waiting, 0);
	hints->queue = alloc_workqueue("pinion_prefetch", WQ_UNBOUND, PINION_HINTS_ACTIVE);
	return hints->queue ? 0 : -ENOMEM;
}

/* No region that a hint could be about is left. Waits for what is on its way. */
static inline void pinion_hints_destroy(struct pinion_hints *hints)
{
	destroy_workqueue(hints->queue);
}

#endif
