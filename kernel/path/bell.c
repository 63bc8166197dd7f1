// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Looks at doorbell records. Takes nothing out of any queue: that is its executor's.
 */
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "../compat/compat.h"
#include "../logic/pace.h"
#include "bell.h"
#include "cq.h"
#include "qp.h"
#include "stream.h"

/* Until the next look after one that found something; doubled by each that does not. */
#define MIN_PAUSE_NS	(50 * NSEC_PER_USEC)
#define MAX_PAUSE_NS	PINION_PACE_MOST_NS
/* Who has very many queue pairs has so many looked at in an interrupt, the others in the next. */
#define BATCH		32

/* So long it takes to poll, even if others have the processor in between. */
#define FORGOTTEN	(HZ / 20)

/* In one look. */
struct bells_seen {
	bool rang;		/* and the work item will not look itself */
	bool streams;		/* it does, or will */
};

/* Is there anything that its work item would do? What it can only do later, it does by itself. */
static bool bells_is_due(const struct pinion_raw_qp *raw)
{
	enum ib_qp_state state = READ_ONCE(raw->qp->state);

	if (state == IB_QPS_ERR && pinion_raw_rq_count(&raw->rq))
		return true;
	if (state < IB_QPS_RTS || !pinion_raw_sq_has_more(raw->qp))
		return false;
	/* A record that cannot be believed breaks it, and then no more. */
	if (!pinion_raw_sq_is_sane(raw->qp))
		return state != IB_QPS_ERR;
	return pinion_raw_sq_has_room(raw->qp);
}

/*
 * Did its record change since it was last looked at? After a reset it may be back to where it
 * was before the next look: what is due is found all the same, if later.
 */
static void bells_look_at(struct pinion_raw_qp *raw, struct bells_seen *seen)
{
	u64 now = READ_ONCE(*(u64 *)raw->record.at);
	u64 bell = raw->sq.bell ? be64_to_cpu(READ_ONCE(*raw->sq.bell)) : 0;
	bool changed = now != raw->seen || bell != raw->seen_bell;

	/* Its executor looks, and has us look again once it no longer does. */
	if (pinion_stream_runs(raw->qp)) {
		seen->streams = true;
		return;
	}
	raw->seen = now;
	raw->seen_bell = bell;
	/* If it is queued already it has yet to look, and sees it. */
	if (bells_is_due(raw) && pinion_stream_ring(raw->qp))
		seen->streams = true;
	else if (changed)
		seen->rang = true;
}

/*
 * Who polls after he has asked takes for nothing what he is told of that he has seen. He is told
 * only if he has not polled for a while: a completion that came as he asked may have seen no word
 * of his, nor he of it.
 */
static bool bells_is_forgotten(const struct pinion_raw_cq *raw, u32 arm)
{
	u32 polled = pinion_raw_cq_consumer(raw) ^ be32_to_cpu((__force __be32)arm);

	return !(polled & 0xffffff) && time_after(jiffies, raw->since + FORGOTTEN);
}

static void bells_look_at_cq(struct pinion_raw_cq *raw, struct bells_seen *seen)
{
	u32 arm = READ_ONCE(((u32 *)raw->record.at)[1]);

	if (arm != raw->seen) {
		seen->rang = true;
		raw->since = jiffies;
	}
	raw->seen = arm;
	if (raw->polls && !bells_is_forgotten(raw, arm))
		return;
	if (pinion_raw_cq_is_due(raw, READ_ONCE(raw->cq->tail)))
		queue_work(raw->cq->node->wq, &raw->late);
}

static u64 bells_next(const struct pinion_bells *bells, const struct bells_seen *seen)
{
	if (seen->rang)
		return MIN_PAUSE_NS;
	/* Looking disturbs who has the processor for himself. */
	return seen->streams ? MAX_PAUSE_NS :
			       pinion_pace_slower(bells->pause, MIN_PAUSE_NS, MAX_PAUSE_NS);
}

/*
 * A look that is to come sooner is left as it is: whoever asks for one again and again would
 * else put it off for ever, for all of them.
 */
static void bells_pause(struct pinion_bells *bells, u64 pause)
{
	u32 batches = DIV_ROUND_UP(max(bells->count, bells->cq_count), BATCH);
	ktime_t at;

	lockdep_assert_held(&bells->lock);
	bells->pause = pause;
	if (!batches)
		return;
	at = ktime_add_ns(ktime_get(), pinion_pace(pause, batches, bells->took));
	if (hrtimer_is_queued(&bells->timer) &&
	    !ktime_before(at, hrtimer_get_expires(&bells->timer)))
		return;
	hrtimer_start(&bells->timer, at, HRTIMER_MODE_ABS_SOFT);
}

/* In softirq: waking a thread to find that nothing rang would cost many times as much. */
static enum hrtimer_restart bells_look(struct hrtimer *timer)
{
	struct pinion_bells *bells = container_of(timer, struct pinion_bells, timer);
	struct bells_seen seen = { };
	struct pinion_raw_qp *raw;
	struct pinion_raw_cq *cq;
	u64 begin;
	u32 i;

	spin_lock(&bells->lock);
	begin = ktime_get_ns();
	for (i = min(bells->count, BATCH); i; i--) {
		raw = list_first_entry(&bells->qps, struct pinion_raw_qp, list);
		list_move_tail(&raw->list, &bells->qps);
		bells_look_at(raw, &seen);
	}
	for (i = min(bells->cq_count, BATCH); i; i--) {
		cq = list_first_entry(&bells->cqs, struct pinion_raw_cq, list);
		list_move_tail(&cq->list, &bells->cqs);
		bells_look_at_cq(cq, &seen);
	}
	bells->took = ktime_get_ns() - begin;
	bells_pause(bells, bells_next(bells, &seen));
	spin_unlock(&bells->lock);
	return HRTIMER_NORESTART;
}

void pinion_bells_init(struct pinion_bells *bells)
{
	spin_lock_init(&bells->lock);
	INIT_LIST_HEAD(&bells->qps);
	INIT_LIST_HEAD(&bells->cqs);
	hrtimer_setup(&bells->timer, bells_look, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

void pinion_bells_fini(struct pinion_bells *bells)
{
	/* With nobody to look for, it does not start again. */
	hrtimer_cancel(&bells->timer);
}

void pinion_bells_join(struct pinion_raw_qp *raw)
{
	struct pinion_bells *bells = raw->bells;

	guard(spinlock_bh)(&bells->lock);
	list_add(&raw->list, &bells->qps);
	bells->count++;
	bells_pause(bells, MIN_PAUSE_NS);
}

void pinion_bells_hurry(struct pinion_raw_qp *raw)
{
	struct pinion_bells *bells = raw->bells;

	guard(spinlock_bh)(&bells->lock);
	bells_pause(bells, MIN_PAUSE_NS);
}

void pinion_bells_leave(struct pinion_raw_qp *raw)
{
	struct pinion_bells *bells = raw->bells;

	guard(spinlock_bh)(&bells->lock);
	list_del(&raw->list);
	bells->count--;
}

void pinion_bells_join_cq(struct pinion_bells *bells, struct pinion_raw_cq *raw)
{
	guard(spinlock_bh)(&bells->lock);
	raw->bells = bells;
	list_add(&raw->list, &bells->cqs);
	bells->cq_count++;
	bells_pause(bells, MIN_PAUSE_NS);
}

void pinion_bells_leave_cq(struct pinion_raw_cq *raw)
{
	struct pinion_bells *bells = raw->bells;

	guard(spinlock_bh)(&bells->lock);
	list_del(&raw->list);
	bells->cq_count--;
}
