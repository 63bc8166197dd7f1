/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Sleepers: the work items of one kind and one owner (an open device file, or all kernel
 * consumers) that fault pages of users. A fault may never end, so nothing waits for these work
 * items: not deregistration, not closing the file, not removal of the device. The owner abandons
 * them instead. Each work item holds references to all that it uses, also to the module, which
 * cannot be removed meanwhile.
 */
#ifndef PINION_MEM_SLEEPERS_H
#define PINION_MEM_SLEEPERS_H

#include <linux/atomic.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

struct pinion_crowd;

struct pinion_sleepers_kind {
	const char *name;
	int active;			/* max_active of an owner's work queue */
	int most;			/* work items of one owner, with those that are queued */
	/* Limits of threads: */
	int own;			/* reserved for each owner */
	int most_shared;		/* beyond those, for all owners of a user together */
	int most_threads;		/* of a user, in total */
};

struct pinion_sleepers {
	const struct pinion_sleepers_kind *kind;
	struct workqueue_struct *wq;
	struct pinion_crowd *crowd;	/* all sleepers of the same kind and user */
	atomic_t count;			/* work items that have entered */
	int threads;			/* work items that have begun; under crowd->lock */
	bool abandoned;			/* by the owner: work items must not begin any more */
	refcount_t ref;			/* the owner's, and one per work item */
	struct work_struct end;		/* frees it, if a work item is the last user */
};

/*
 * @user: INVALID_UID for the kernel. Sleeps. Return: an ERR_PTR on failure: -ENOMEM; -EAGAIN: the
 * user has most_threads threads in faults already.
 */
struct pinion_sleepers *pinion_sleepers_create(const struct pinion_sleepers_kind *kind,
					       kuid_t user);
/* The owner drops its reference. Does not wait for work items in a fault. NULL is fine. */
void pinion_sleepers_abandon(struct pinion_sleepers *sleepers);

/*
 * Count a work item before it is queued; the caller keeps @sleepers from being freed until then.
 * The work item calls pinion_sleepers_leave() as its last action. False: the limit is reached, or
 * the module is being removed.
 */
bool pinion_sleepers_enter(struct pinion_sleepers *sleepers);
void pinion_sleepers_leave(struct pinion_sleepers *sleepers);

/*
 * Get a thread for a work item that has entered, until pinion_sleepers_end(). Called by the work
 * item, or by the caller that queues it. False: the limit is reached, or the owner has abandoned
 * it.
 */
bool pinion_sleepers_begin(struct pinion_sleepers *sleepers);
void pinion_sleepers_end(struct pinion_sleepers *sleepers);

/* Both, for a work item that is queued next; false: neither was done. */
bool pinion_sleepers_enter_and_begin(struct pinion_sleepers *sleepers);

/*
 * Queue @work, which frees an object whose last user may hold any lock. Any context. The module is
 * not unloaded before @work has run.
 */
void pinion_end_later(struct work_struct *work);

/* Called on module load and unload. */
int pinion_sleepers_init(void);
void pinion_sleepers_exit(void);

#endif
