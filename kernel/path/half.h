/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The ownership of a half of a queue pair: one thread at a time works on it.
 *
 * Its own side (system calls and work items of the process or kernel consumer that the queue pair
 * belongs to) waits for it. Strangers (executors of peers, and threads that deliver packets) only
 * try. If that fails, they leave the work to the half's own side, or try again later. While a
 * stranger owns it he does not sleep, and is not preempted (visit.h): he allocates only what is
 * there at once, waits for no other half, and leaves the rest to the half's own side. So no thread
 * waits for a stranger's thread that is not scheduled.
 *
 * A thread that will change the half, or end it, marks it as wanted. The owner checks that between
 * requests, packets and stretches of payload, and releases the half; then strangers do not get it
 * before that thread does.
 *
 * This is a mutex, not a spinlock with a flag as sockets have. No owner is in softirq, and a mutex
 * keeps its waiters in order, spins while the owner runs, and is checked by lockdep.
 */
#ifndef PINION_PATH_HALF_H
#define PINION_PATH_HALF_H

#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#include "visit.h"

struct pinion_half {
	struct mutex lock;		/* held by the owner */
	bool visited;			/* the owner, who alone accesses this, is a stranger */
	atomic_t wanted;		/* calls of pinion_half_want() that are in force */
};

/* A macro, so that the two halves of a queue pair are two classes for lockdep. */
#define pinion_half_init(half)				\
	do {						\
		mutex_init(&(half)->lock);		\
		(half)->visited = false;		\
		atomic_set(&(half)->wanted, 0);		\
	} while (0)

static inline void pinion_half_destroy(struct pinion_half *half)
{
	mutex_destroy(&half->lock);
}

static inline void pinion_half_assert(const struct pinion_half *half)
{
	lockdep_assert_held(&half->lock);
}

/* For its own side, to do work. Sleeps. */
static inline void pinion_half_own(struct pinion_half *half)
{
	mutex_lock(&half->lock);
}

/* Likewise. Return: false if the caller is being killed; then it is not owned. */
static inline bool pinion_half_own_killable(struct pinion_half *half)
{
	return !mutex_lock_killable(&half->lock);
}

/* Is the owner to release the half as soon as it can? A hint: needs no lock and no barrier. */
static inline bool pinion_half_is_wanted(const struct pinion_half *half)
{
	return atomic_read(&half->wanted);
}

/*
 * For its own side, to do work only if that need not wait. Does not sleep. Return: false if it has
 * an owner or is wanted. The caller must then leave its work to a work item.
 */
static inline bool pinion_half_try(struct pinion_half *half)
{
	return !pinion_half_is_wanted(half) && mutex_trylock(&half->lock);
}

static inline void pinion_half_release(struct pinion_half *half)
{
	mutex_unlock(&half->lock);
}

/*
 * For strangers: a visit until pinion_half_leave(). Return: as pinion_half_try(). The caller must
 * then leave its work where the half's own side finds it, or try again.
 */
static inline bool pinion_half_visit(struct pinion_half *half)
{
	pinion_visit_begin();
	if (!pinion_half_try(half)) {
		pinion_visit_end();
		return false;
	}
	half->visited = true;
	return true;
}

static inline void pinion_half_leave(struct pinion_half *half)
{
	half->visited = false;
	pinion_half_release(half);
	pinion_visit_end();
}

/*
 * How the owner allocates. Without I/O, as storage may depend on what he does. For a stranger it
 * may fail at any time; and nothing is charged to him.
 */
static inline gfp_t pinion_half_gfp(const struct pinion_half *half)
{
	return (half->visited ? GFP_NOWAIT : GFP_NOIO) | __GFP_NOWARN;
}

/* For the owner, between the steps of long work. A stranger gives way instead of this. */
static inline void pinion_half_resched(const struct pinion_half *half)
{
	if (!half->visited)
		cond_resched();
}

/* Have the owner release it early, and keep strangers out, until pinion_half_allow(). */
static inline void pinion_half_want(struct pinion_half *half)
{
	atomic_inc(&half->wanted);
}

static inline void pinion_half_allow(struct pinion_half *half)
{
	atomic_dec(&half->wanted);
}

/* For its own side, to change it. Sleeps until the owner has released it. */
static inline void pinion_half_interrupt(struct pinion_half *half)
{
	pinion_half_want(half);
	pinion_half_own(half);
	pinion_half_allow(half);
}

#endif
