// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Who executes the requests of a queue pair: a user's doorbell, in the caller's context, or the
 * work item. exec.c performs the requests.
 */
#include "../compat/compat.h"
#include "bell.h"
#include "complete.h"
#include "engine.h"
#include "exec.h"
#include "raw_qp.h"
#include "receive.h"
#include "run.h"
#include "stream.h"

/*
 * Execute sends; in the error state also flush receive requests. sq.exec is held. If the responder
 * has failed the queue pair, enter the error state first: a program may have seen the completion of
 * the failed receive before it posted these.
 */
static void qp_run(struct pinion_qp *qp)
{
	if (READ_ONCE(qp->failing) && qp->state != IB_QPS_ERR)
		pinion_qp_enter_error(qp, IB_QPS_ERR);
	if (qp->has_sq)
		pinion_sq_run(qp);
	if (qp->state != IB_QPS_ERR)
		return;
	pinion_half_interrupt(&qp->resp.lock);
	pinion_flush_recvs(qp);
	pinion_half_release(&qp->resp.lock);
}

static enum hrtimer_restart qp_expire(struct hrtimer *timer)
{
	pinion_qp_wake(container_of(timer, struct pinion_qp, sq.timer));
	return HRTIMER_NORESTART;
}

static void qp_execute_once(struct pinion_qp *qp)
{
	bool failing;

	pinion_half_own(&qp->sq.exec);
	failing = READ_ONCE(qp->failing);
	/* The engine's part of one that is dying may be freed: pinion_qp_fini() waits later. */
	if (!qp->dying)
		qp_run(qp);
	pinion_half_release(&qp->sq.exec);
	/* Also if the state was ERR already: then the event has not been raised yet. */
	if (failing && xchg(&qp->event_due, false))
		pinion_qp_event(qp, qp->fail_event);
}

/*
 * The work item: executes for kernel consumers, after a wait, for streams (stream.c), and when a
 * doorbell's turn is over.
 */
static void qp_execute(struct work_struct *work)
{
	struct pinion_qp *qp = container_of(work, struct pinion_qp, sq.work);
	u64 before = qp->raw ? pinion_raw_sq_progress(qp) : 0;
	struct pinion_stint stint;

	pinion_stint_begin(qp, &stint);
	do
		qp_execute_once(qp);
	while (pinion_stint_goes_on(qp, &stint));
	/* Look at its doorbell record sooner, but only if this run got any further. */
	if (qp->raw && pinion_raw_sq_progress(qp) != before)
		pinion_bells_hurry(qp->raw);
}

void pinion_run_init(struct pinion_qp *qp)
{
	hrtimer_setup(&qp->sq.timer, qp_expire, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	INIT_WORK(&qp->sq.work, qp_execute);
}

/*
 * Lock sq.exec for a doorbell. Return: false if it is not locked; the work item must execute then.
 * With a window (packets) most of the work is the work item's anyway, so do not wait for it.
 */
static bool doorbell_begins(struct pinion_qp *qp)
{
	if (pinion_qp_has_window(qp))
		return pinion_half_try(&qp->sq.exec);
	return pinion_half_own_killable(&qp->sq.exec);
}

/**
 * pinion_qp_doorbell - execute the requests of a user's queue pair, or queue the work item for it
 * @qp: the queue pair
 *
 * Process context, in a system call. May wait for sq.exec, which another thread holds while it
 * executes, but not while it waits for a page. If the caller is killed meanwhile, the work item
 * executes instead.
 */
void pinion_qp_doorbell(struct pinion_qp *qp)
{
	pinion_stat_inc(qp, doorbells);
	if (pinion_stream_take(qp))
		return;
	if (!doorbell_begins(qp)) {
		queue_work(qp->wq, &qp->sq.work);
		return;
	}
	qp_run(qp);
	pinion_half_release(&qp->sq.exec);
}
