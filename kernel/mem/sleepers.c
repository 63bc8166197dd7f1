// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counts, limits and frees sleepers; see sleepers.h.
 *
 * A work item that faults occupies a kernel thread, perhaps for ever. The limits of processes and
 * open files do not limit these threads: if a process is killed while a work item faults in its
 * memory, that memory stays, and by its mappings the file stays open, too. So threads are counted
 * per user. Each owner has a few threads (kind->own) that faults of the user's other owners cannot
 * use up; further threads come from a common limit. At most_threads the user gets no more threads,
 * and cannot create new owners.
 */
#include <linux/err.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "sleepers.h"

/* All sleepers of one kind and user. */
struct pinion_crowd {
	struct list_head list;		/* under crowds_lock */
	const struct pinion_sleepers_kind *kind;
	kuid_t user;
	u32 owners;			/* under crowds_lock */
	spinlock_t lock;		/* protects the fields below, and sleepers->threads */
	int threads;
	int shared;			/* threads beyond kind->own of their owner */
};

static DEFINE_MUTEX(crowds_lock);
static LIST_HEAD(crowds);

/*
 * Runs the work of pinion_end_later(). A work item drops its reference to the module before its
 * code has ended; destroying its work queue waits for that, and unloading the module destroys all
 * of them, this one last.
 */
static struct workqueue_struct *sleepers_ends;

static struct pinion_crowd *crowd_find(const struct pinion_sleepers_kind *kind, kuid_t user)
{
	struct pinion_crowd *crowd;

	lockdep_assert_held(&crowds_lock);
	list_for_each_entry(crowd, &crowds, list)
		if (crowd->kind == kind && uid_eq(crowd->user, user))
			return crowd;
	return NULL;
}

/* Find or make the crowd, and count an owner. ERR_PTR: see pinion_sleepers_create(). */
static struct pinion_crowd *crowd_get(const struct pinion_sleepers_kind *kind, kuid_t user)
{
	struct pinion_crowd *crowd;

	guard(mutex)(&crowds_lock);
	crowd = crowd_find(kind, user);
	if (!crowd) {
		crowd = kzalloc(sizeof(*crowd), GFP_KERNEL_ACCOUNT);
		if (!crowd)
			return ERR_PTR(-ENOMEM);
		crowd->kind = kind;
		crowd->user = user;
		spin_lock_init(&crowd->lock);
		list_add(&crowd->list, &crowds);
	} else if (READ_ONCE(crowd->threads) >= kind->most_threads) {
		return ERR_PTR(-EAGAIN);
	}
	crowd->owners++;
	return crowd;
}

static void crowd_put(struct pinion_crowd *crowd)
{
	bool last;

	mutex_lock(&crowds_lock);
	last = !--crowd->owners;
	if (last)
		list_del(&crowd->list);
	mutex_unlock(&crowds_lock);
	if (last)
		kfree(crowd);
}

/* All work items have left, so destroy_workqueue() waits at most for some to return. */
static void sleepers_destroy(struct pinion_sleepers *sleepers)
{
	destroy_workqueue(sleepers->wq);
	crowd_put(sleepers->crowd);
	kfree(sleepers);
}

static void sleepers_end(struct work_struct *work)
{
	sleepers_destroy(container_of(work, struct pinion_sleepers, end));
}

struct pinion_sleepers *pinion_sleepers_create(const struct pinion_sleepers_kind *kind,
					       kuid_t user)
{
	struct pinion_sleepers *sleepers = kzalloc(sizeof(*sleepers), GFP_KERNEL_ACCOUNT);
	struct pinion_crowd *crowd;

	if (!sleepers)
		return ERR_PTR(-ENOMEM);
	crowd = crowd_get(kind, user);
	if (IS_ERR(crowd)) {
		kfree(sleepers);
		return ERR_CAST(crowd);
	}
	sleepers->kind = kind;
	sleepers->crowd = crowd;
	atomic_set(&sleepers->count, 0);
	refcount_set(&sleepers->ref, 1);
	INIT_WORK(&sleepers->end, sleepers_end);
	sleepers->wq = alloc_workqueue("%s", WQ_UNBOUND, kind->active, kind->name);
	if (!sleepers->wq) {
		crowd_put(crowd);
		kfree(sleepers);
		return ERR_PTR(-ENOMEM);
	}
	return sleepers;
}

void pinion_sleepers_abandon(struct pinion_sleepers *sleepers)
{
	if (!sleepers)
		return;
	WRITE_ONCE(sleepers->abandoned, true);
	/* Let queued work items run now, though others are in a fault: they only leave. */
	workqueue_set_max_active(sleepers->wq, sleepers->kind->most);
	/* Free it here, not in a work item, so that files cannot be opened faster than freed. */
	if (refcount_dec_and_test(&sleepers->ref))
		sleepers_destroy(sleepers);
}

bool pinion_sleepers_enter(struct pinion_sleepers *sleepers)
{
	if (!atomic_add_unless(&sleepers->count, 1, sleepers->kind->most))
		return false;
	if (!try_module_get(THIS_MODULE)) {
		atomic_dec(&sleepers->count);
		return false;
	}
	refcount_inc(&sleepers->ref);
	return true;
}

void pinion_sleepers_leave(struct pinion_sleepers *sleepers)
{
	atomic_dec(&sleepers->count);
	if (refcount_dec_and_test(&sleepers->ref))
		pinion_end_later(&sleepers->end);
	module_put(THIS_MODULE);
}

bool pinion_sleepers_begin(struct pinion_sleepers *sleepers)
{
	const struct pinion_sleepers_kind *kind = sleepers->kind;
	struct pinion_crowd *crowd = sleepers->crowd;

	if (READ_ONCE(sleepers->abandoned))
		return false;
	guard(spinlock)(&crowd->lock);
	/* Not only in crowd_get(): many owners may have been made before any had a thread. */
	if (crowd->threads >= kind->most_threads)
		return false;
	if (sleepers->threads >= kind->own) {
		if (crowd->shared >= kind->most_shared)
			return false;
		crowd->shared++;
	}
	sleepers->threads++;
	WRITE_ONCE(crowd->threads, crowd->threads + 1);
	return true;
}

void pinion_sleepers_end(struct pinion_sleepers *sleepers)
{
	struct pinion_crowd *crowd = sleepers->crowd;

	guard(spinlock)(&crowd->lock);
	WRITE_ONCE(crowd->threads, crowd->threads - 1);
	if (sleepers->threads-- > sleepers->kind->own)
		crowd->shared--;
}

bool pinion_sleepers_enter_and_begin(struct pinion_sleepers *sleepers)
{
	if (!pinion_sleepers_enter(sleepers))
		return false;
	if (pinion_sleepers_begin(sleepers))
		return true;
	pinion_sleepers_leave(sleepers);
	return false;
}

void pinion_end_later(struct work_struct *work)
{
	queue_work(sleepers_ends, work);
}

int pinion_sleepers_init(void)
{
	sleepers_ends = alloc_workqueue("pinion_end", WQ_UNBOUND, 0);
	return sleepers_ends ? 0 : -ENOMEM;
}

/* No device is left, and no work item that could call pinion_end_later(). */
void pinion_sleepers_exit(void)
{
	destroy_workqueue(sleepers_ends);
	/*
	 * The core frees parts of the queue in a thread of its own, then by RCU. A kernel with
	 * allocation profiling takes what is not freed when the module has gone for a leak of ours.
	 */
	synchronize_rcu();
	rcu_barrier();
}
