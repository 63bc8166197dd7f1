// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Polls doorbell records in a timer (softirq), and queues the work items of queues that have
 * something to do. The executors take the requests.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "../compat/compat.h"
#include "../logic/pace.h"
#include "bell.h"
#include "cq.h"
#include "qp.h"
#include "stream.h"
#include "trap.h"

/* The pause after a record has changed; doubled each time none has, up to REST_NS. */
#define MIN_PAUSE_NS	(50 * NSEC_PER_USEC)
/* At this pause doorbell pages become traps: a store to one is noticed without polling. */
#define SELDOM_NS	PINION_PACE_MOST_NS
/*
 * What a context at rest costs is a poll in this time. Only doorbells that no trap notices, which
 * mlx5's rules do not provide for, may be as late.
 */
#define REST_NS		(160 * NSEC_PER_MSEC)
/* Queues polled in one run of the timer; the others are polled in the next runs. */
#define BATCH		32

/* A program that polls after arming does so within this time, even if it is preempted. */
#define FORGOTTEN	(HZ / 20)

/* The result of one run of the timer. */
struct bells_seen {
	bool rang;		/* a record has changed, and no stint polls that queue */
	bool streams;		/* a stint polls a queue, or will */
	bool doubts;		/* a program may need an event, which is not certain yet */
};

/*
 * Would the work item make progress? If the queue must wait (no room in the ring, for instance),
 * its work item is queued by other means when the wait is over.
 */
static bool bells_is_due(const struct pinion_raw_qp *raw)
{
	enum ib_qp_state state = READ_ONCE(raw->qp->state);

	if (state == IB_QPS_ERR && pinion_raw_rq_count(&raw->rq))
		return true;
	if (state < IB_QPS_RTS || !pinion_raw_sq_has_more(raw->qp))
		return false;
	/* A record with an impossible index breaks the queue pair, once. */
	if (!pinion_raw_sq_is_sane(raw->qp))
		return state != IB_QPS_ERR;
	return pinion_raw_sq_has_room(raw->qp);
}

/*
 * The part of the record to compare with its last value: a change means that there may be work for
 * a poll. Before RTS there is none, so 0. Receives are taken when a message comes, but a poll
 * flushes them in ERR.
 */
static u64 bells_record(const struct pinion_raw_qp *raw)
{
	enum ib_qp_state state = READ_ONCE(raw->qp->state);
	const u32 *words = raw->record.at;

	if (state < IB_QPS_RTS)
		return 0;
	return state == IB_QPS_ERR ? READ_ONCE(*(u64 *)words) : READ_ONCE(words[1]);
}

/*
 * Poll one queue pair. bells_is_due() decides whether to queue the work item; whether the record
 * has changed decides only how soon to poll again. (After a reset the record may have the value
 * seen before although there are new requests.)
 */
static void bells_look_at(struct pinion_raw_qp *raw, struct bells_seen *seen)
{
	u64 now = bells_record(raw);
	u64 bell = raw->sq.bell ? be64_to_cpu(READ_ONCE(*raw->sq.bell)) : 0;
	bool changed = now != raw->seen || bell != raw->seen_bell;

	/* A stint polls this queue; pinion_bells_hurry() has us poll again when it is over. */
	if (pinion_stream_runs(raw->qp)) {
		seen->streams = true;
		return;
	}
	raw->seen = now;
	raw->seen_bell = bell;
	/* If the work item is queued already it has not begun, and will read the record. */
	if (bells_is_due(raw) && pinion_stream_ring(raw->qp))
		seen->streams = true;
	else if (changed)
		seen->rang = true;
}

/*
 * An event is due. For a queue whose program arms it, then polls once more before it waits
 * (raw->polls), an event for completions that it finds by that poll would be spurious. So raise one
 * only if the program has not polled since it armed, for FORGOTTEN: then a completion may have come
 * while the program was arming, so that neither side saw the other's store.
 */
static bool bells_is_wanted(const struct pinion_raw_cq *raw, struct bells_seen *seen)
{
	if (!raw->polls)
		return true;
	if (pinion_raw_cq_was_polled(raw))
		return false;
	if (time_after(jiffies, raw->since + FORGOTTEN))
		return true;
	seen->doubts = true;
	return false;
}

static void bells_look_at_cq(struct pinion_raw_cq *raw, struct bells_seen *seen)
{
	u32 arm = READ_ONCE(((u32 *)raw->record.at)[1]);

	if (arm != raw->seen) {
		seen->rang = true;
		raw->since = jiffies;
	}
	raw->seen = arm;
	if (pinion_raw_cq_is_due(raw, READ_ONCE(raw->cq->tail)) && bells_is_wanted(raw, seen))
		queue_work(raw->cq->node->wq, &raw->late);
}

/* No pause becomes longer before all queues have been polled once more. */
static void bells_begin_round(struct pinion_bells *bells)
{
	lockdep_assert_held(&bells->lock);
	bells->left = max(bells->count, bells->cq_count);
}

/* The pause after a run of the timer. */
static u64 bells_next(struct pinion_bells *bells, const struct bells_seen *seen)
{
	bool over = bells->left <= BATCH;

	bells->left -= min(bells->left, BATCH);
	if (seen->rang || over)
		bells_begin_round(bells);
	if (seen->rang)
		return MIN_PAUSE_NS;
	/* The timer would disturb the CPU of a stint: poll the other queues seldom. */
	if (seen->streams)
		return SELDOM_NS;
	if (seen->doubts)
		return min(bells->pause, SELDOM_NS);
	return over ? pinion_pace_slower(bells->pause, MIN_PAUSE_NS, REST_NS) : bells->pause;
}

static void bells_count_as(atomic_t *count, bool *counted, bool counts)
{
	if (*counted == counts)
		return;
	*counted = counts;
	atomic_add(counts ? 1 : -1, count);
}

static void bells_count(struct pinion_bells *bells)
{
	bool present = bells->count || bells->cq_count;

	lockdep_assert_held(&bells->lock);
	bells_count_as(&bells->crowd->present, &bells->is_present, present);
	bells_count_as(&bells->crowd->busy, &bells->is_busy, present && bells->pause < SELDOM_NS);
}

/* Those who share the time for polling often, or that for polling seldom. */
static u32 bells_sharers(const struct pinion_bells *bells)
{
	const struct pinion_bells_crowd *crowd = bells->crowd;

	return atomic_read(bells->is_busy ? &crowd->busy : &crowd->present);
}

/*
 * Set the pause, and start the timer. If the timer is to expire sooner already it is left alone:
 * otherwise a queue that calls this again and again could put off the poll of all others for ever.
 */
static void bells_pause(struct pinion_bells *bells, u64 pause)
{
	u32 batches = DIV_ROUND_UP(max(bells->count, bells->cq_count), BATCH);
	ktime_t at;

	lockdep_assert_held(&bells->lock);
	bells->pause = pause;
	bells_count(bells);
	if (!batches)
		return;
	at = ktime_add_ns(ktime_get(),
			  pinion_pace(pause, batches, bells->took, bells_sharers(bells)));
	if (hrtimer_is_queued(&bells->timer) &&
	    !ktime_before(at, hrtimer_get_expires(&bells->timer)))
		return;
	hrtimer_start(&bells->timer, at, HRTIMER_MODE_ABS_SOFT);
}

/* Somebody may ring soon. */
static void bells_poll_soon(struct pinion_bells *bells)
{
	bells_begin_round(bells);
	bells_pause(bells, MIN_PAUSE_NS);
}

/* Nobody rings: doorbell pages become traps. While a stint runs they stay, for its program. */
static void bells_rest(struct pinion_bells *bells, const struct bells_seen *seen)
{
	lockdep_assert_held(&bells->lock);
	if (!bells->untrapped || seen->streams || bells->pause < SELDOM_NS)
		return;
	bells->untrapped = false;
	queue_work(system_dfl_wq, &bells->set_trap);
}

/* Poll some queues, and set the timer for the others. */
static void bells_poll(struct pinion_bells *bells)
{
	struct bells_seen seen = { };
	struct pinion_raw_qp *raw;
	struct pinion_raw_cq *cq;
	u64 begin = ktime_get_ns();
	u32 i;

	lockdep_assert_held(&bells->lock);
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
	bells_rest(bells, &seen);
}

/* In softirq: waking a thread each time, mostly to find nothing, would cost much more. */
static enum hrtimer_restart bells_expire(struct hrtimer *timer)
{
	struct pinion_bells *bells = container_of(timer, struct pinion_bells, timer);

	guard(spinlock)(&bells->lock);
	bells_poll(bells);
	return HRTIMER_NORESTART;
}

/*
 * Set the trap, then poll all queues once more before the pause becomes longer: a doorbell that
 * rang before the pages were taken away, and after the last poll, is found now. One that rings
 * later faults.
 */
static void bells_set_trap(struct work_struct *work)
{
	struct pinion_bells *bells = container_of(work, struct pinion_bells, set_trap);

	pinion_trap_set(bells->trap);
	guard(spinlock_bh)(&bells->lock);
	bells_begin_round(bells);
	bells_poll(bells);
}

struct file *pinion_bells_trap(struct pinion_bells *bells)
{
	struct file *fresh, *trap = READ_ONCE(bells->trap);

	if (trap)
		return trap;
	fresh = pinion_trap_create(bells);
	if (IS_ERR(fresh))
		return fresh;
	trap = cmpxchg(&bells->trap, NULL, fresh);
	if (!trap)
		return fresh;
	/* Another thread was quicker. */
	fput(fresh);
	return trap;
}

void pinion_bells_heard(struct pinion_bells *bells)
{
	guard(spinlock_bh)(&bells->lock);
	bells->untrapped = true;
	/* The record has been written. A doorbell in the page itself will be: poll soon again. */
	bells_poll(bells);
	bells_poll_soon(bells);
}

void pinion_bells_init(struct pinion_bells *bells, struct pinion_bells_crowd *crowd)
{
	bells->crowd = crowd;
	spin_lock_init(&bells->lock);
	INIT_LIST_HEAD(&bells->qps);
	INIT_LIST_HEAD(&bells->cqs);
	INIT_WORK(&bells->set_trap, bells_set_trap);
	hrtimer_setup(&bells->timer, bells_expire, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

void pinion_bells_fini(struct pinion_bells *bells)
{
	struct file *trap = bells->trap;

	/* From here on no fault reaches @bells. */
	if (trap)
		pinion_trap_disarm(trap);
	/* No queue is left, so bells_pause() does not start it again. */
	hrtimer_cancel(&bells->timer);
	cancel_work_sync(&bells->set_trap);
	/* The work item has used it. */
	if (trap)
		fput(trap);
}

void pinion_bells_join(struct pinion_raw_qp *raw)
{
	struct pinion_bells *bells = raw->bells;

	guard(spinlock_bh)(&bells->lock);
	list_add(&raw->list, &bells->qps);
	bells->count++;
	bells_poll_soon(bells);
}

void pinion_bells_hurry(struct pinion_raw_qp *raw)
{
	struct pinion_bells *bells = raw->bells;

	guard(spinlock_bh)(&bells->lock);
	bells_poll_soon(bells);
}

void pinion_bells_leave(struct pinion_raw_qp *raw)
{
	struct pinion_bells *bells = raw->bells;

	guard(spinlock_bh)(&bells->lock);
	list_del(&raw->list);
	bells->count--;
	bells_count(bells);
}

void pinion_bells_join_cq(struct pinion_bells *bells, struct pinion_raw_cq *raw)
{
	guard(spinlock_bh)(&bells->lock);
	raw->bells = bells;
	list_add(&raw->list, &bells->cqs);
	bells->cq_count++;
	bells_poll_soon(bells);
}

void pinion_bells_leave_cq(struct pinion_raw_cq *raw)
{
	struct pinion_bells *bells = raw->bells;

	guard(spinlock_bh)(&bells->lock);
	list_del(&raw->list);
	bells->cq_count--;
	bells_count(bells);
}
