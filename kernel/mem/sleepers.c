// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Who counts, keeps and ends work items that nobody waits for. Knows nothing of what they do.
 *
 * Each that waits for memory has a thread of the kernel. Neither processes nor open files are a
 * measure of how many there may be: a process that is killed leaves its memory, and by its
 * mappings its file, to whoever still faults there. So threads are counted by user. An owner has a
 * few that dead memory of his other owners cannot take from it, more come out of what they all
 * share; and who has very many gets no more, and no new owners.
 */
#include <linux/err.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "sleepers.h"

/* All of one kind and user. */
struct pinion_crowd {
	struct list_head list;		/* under crowds_lock */
	const struct pinion_sleepers_kind *kind;
	kuid_t user;
	u32 owners;			/* under crowds_lock */
	spinlock_t lock;		/* the rest, and @threads of each owner */
	int threads;
	int shared;			/* of those, beyond what owners have of their own */
};

static DEFINE_MUTEX(crowds_lock);
static LIST_HEAD(crowds);

/*
 * What the last one ends. It belongs to no device, and the module waits for it: the module's
 * code is run to its last instruction, though it is let go before.
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

/* Those of @kind and @user, with an owner more; or an ERR_PTR, see pinion_sleepers_create(). */
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

/* All of them have counted themselves out, and at most are about to return. */
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
	/* Those that have yet to begin need not wait for those that did: they go at once. */
	workqueue_set_max_active(sleepers->wq, sleepers->kind->most);
	/* Here, or who makes and ends many would be faster than the work item. */
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
	/* Owners cost no thread: any number of them may have been made before. */
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

/* Neither devices nor work items are left that could have something to end. */
void pinion_sleepers_exit(void)
{
	destroy_workqueue(sleepers_ends);
}
