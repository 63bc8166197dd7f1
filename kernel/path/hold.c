// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Held completions; see hold.h.
 */
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "../mem/inject.h"
#include "hold.h"

/* Limit of a queue, as all may have to be written at once under fill_lock. Then the oldest are. */
#define MAX_HELD	4096

/* Allocations are made with any lock of the data path held. */
#define HOLD_GFP	(GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN)

struct held {
	struct list_head node;
	u64 until;		/* ktime_get_ns(); 0: only behind others; U64_MAX: no end */
	struct pinion_cqe cqe;
};

static struct held *hold_oldest(struct pinion_hold *hold)
{
	return list_first_entry_or_null(&hold->held, struct held, node);
}

/* Orders were removed: check again. Called with the lock of the wait queue held. */
static int hold_look(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	struct pinion_hold *hold = container_of(entry, struct pinion_hold, ended);

	mod_delayed_work(hold->wq, &hold->over, 0);
	return 0;
}

void pinion_hold_init(struct pinion_hold *hold, work_func_t over, struct workqueue_struct *wq,
		      pid_t pid, bool user)
{
	INIT_LIST_HEAD(&hold->held);
	INIT_DELAYED_WORK(&hold->over, over);
	init_waitqueue_func_entry(&hold->ended, hold_look);
	hold->wq = wq;
	hold->pid = pid;
	hold->flushed_at_once = !user;
}

void pinion_hold_fini(struct pinion_hold *hold)
{
	cancel_delayed_work_sync(&hold->over);
}

/* Schedule the work item for when the oldest is due. */
static void hold_arm(struct pinion_hold *hold)
{
	const struct held *oldest = hold_oldest(hold);
	u64 now = ktime_get_ns();

	if (oldest->until == U64_MAX)
		return;
	mod_delayed_work(hold->wq, &hold->over,
			 oldest->until > now ? nsecs_to_jiffies(oldest->until - now) + 1 : 0);
}

static u64 hold_until(u32 us)
{
	if (!us)
		return 0;
	if (us == PINION_INJECT_FOREVER)
		return U64_MAX;
	return ktime_get_ns() + (u64)us * NSEC_PER_USEC;
}

static bool hold_keep(struct pinion_hold *hold, const struct pinion_cqe *cqe, u32 us)
{
	struct held *held;

	if (hold->count == MAX_HELD)
		return false;
	held = kmalloc(sizeof(*held), HOLD_GFP);
	if (!held)
		return false;
	held->cqe = *cqe;
	held->until = hold_until(us);
	list_add_tail(&held->node, &hold->held);
	if (!hold->count++) {
		pinion_inject_keep(&hold->ended);
		hold_arm(hold);
	}
	return true;
}

bool pinion_hold_add(struct pinion_hold *hold, const struct pinion_cqe *cqe)
{
	bool kept;
	u32 us;

	if (hold->flushed_at_once && cqe->status == IB_WC_WR_FLUSH_ERR)
		return false;
	/* For pinion_inject_keep(). */
	rcu_read_lock();
	us = pinion_inject(PINION_INJECT_HOLD, hold->pid, cqe->qpn);
	kept = (us || hold->count) && hold_keep(hold, cqe, us);
	rcu_read_unlock();
	return kept;
}

static bool hold_is_due(const struct pinion_hold *hold, const struct held *held)
{
	return held->until <= ktime_get_ns() ||
	       !pinion_inject_lasts(PINION_INJECT_HOLD, hold->pid, held->cqe.qpn);
}

const struct pinion_cqe *pinion_hold_next(struct pinion_hold *hold, bool all)
{
	struct held *oldest = hold_oldest(hold);

	if (!oldest)
		return NULL;
	if (all || hold_is_due(hold, oldest))
		return &oldest->cqe;
	hold_arm(hold);
	return NULL;
}

static void hold_free(struct pinion_hold *hold, struct held *held)
{
	list_del(&held->node);
	kfree(held);
	if (!--hold->count)
		pinion_inject_let_go(&hold->ended);
}

void pinion_hold_drop(struct pinion_hold *hold)
{
	hold_free(hold, hold_oldest(hold));
}

void pinion_hold_forget(struct pinion_hold *hold, u32 qpn)
{
	struct held *held, *next;

	list_for_each_entry_safe(held, next, &hold->held, node)
		if (!qpn || held->cqe.qpn == qpn)
			hold_free(hold, held);
	/* The oldest now may be one that only was behind another. */
	if (hold->count)
		mod_delayed_work(hold->wq, &hold->over, 0);
}
