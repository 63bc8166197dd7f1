/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work items that wait for memory of users, of one owner (an open device file, or all consumers
 * in the kernel) and one kind. That may take for ever, so nobody waits for them: neither who
 * ends a region, nor who closes the file, nor who removes the device. Their owner abandons
 * them, and each has references to all it uses. Among that is the module, whose removal is
 * refused meanwhile.
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
	int active;			/* of one owner at a time; 0: as many as the kernel lets */
	int most;			/* of one owner, with those that have yet to begin */
	/* Threads of the kernel: */
	int own;			/* of one owner, that no other can take from it */
	int most_shared;		/* of all owners of a user, beyond those */
	int most_threads;		/* of a user, whatever he owns */
};

struct pinion_sleepers {
	const struct pinion_sleepers_kind *kind;
	struct workqueue_struct *wq;
	struct pinion_crowd *crowd;	/* all of the user's */
	atomic_t count;
	int threads;			/* under the crowd's lock */
	bool abandoned;			/* what has yet to begin is not worth it any more */
	refcount_t ref;			/* the owner, and each of them */
	struct work_struct end;
};

/*
 * @user: INVALID_UID for the kernel. Or an ERR_PTR: -ENOMEM; -EAGAIN: too much of the user's
 * waits already.
 */
struct pinion_sleepers *pinion_sleepers_create(const struct pinion_sleepers_kind *kind,
					       kuid_t user);
/* By the owner, who does not use it any more. Waits for nobody who waits. NULL is fine. */
void pinion_sleepers_abandon(struct pinion_sleepers *sleepers);

/*
 * Count a work item in, by whom something else keeps @sleepers; it counts itself out, and does
 * nothing more. False: there are enough, or the module goes.
 */
bool pinion_sleepers_enter(struct pinion_sleepers *sleepers);
void pinion_sleepers_leave(struct pinion_sleepers *sleepers);

/*
 * By or for a work item that was counted in: a thread for what may take for ever, until that
 * ends. False: there are enough, or nobody wants it any more.
 */
bool pinion_sleepers_begin(struct pinion_sleepers *sleepers);
void pinion_sleepers_end(struct pinion_sleepers *sleepers);

/* Both, for one that is to be queued then; or neither. */
bool pinion_sleepers_enter_and_begin(struct pinion_sleepers *sleepers);

/*
 * The end of something whose last user may be anybody, holding whatever: @work is run soon, and
 * before the module goes.
 */
void pinion_end_later(struct work_struct *work);

/* With the module. */
int pinion_sleepers_init(void);
void pinion_sleepers_exit(void);

#endif
