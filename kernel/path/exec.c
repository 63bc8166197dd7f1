// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The executor of a send queue: fetch a private copy of the next request, check
 * it, perform it here or through an engine, complete it. Never waits for a peer: a
 * request that must wait parks, and the timer has it tried again.
 */
#include <linux/sched/signal.h>

#include "../logic/psn.h"
#include "../logic/timing.h"
#include "../logic/wqe.h"
#include "../mem/window.h"
#include "complete.h"
#include "exec.h"
#include "local.h"
#include "loop.h"
#include "message.h"
#include "move.h"

/* Infinite, in the three-bit retry counters. */
#define FOREVER 7

/* How long who performs requests goes on before the work item does, behind others. */
#define TURN_MS	20

enum step {
	STEP_DONE,	/* completed, well or badly: go on with the next */
	STEP_PARKED,
};

static void limits_of(const struct pinion_qp *qp, struct pinion_wqe_limits *limits)
{
	*limits = (struct pinion_wqe_limits){
		.service = qp->service,
		.user = qp->user,
		.max_sge = qp->sq.max_sge,
		.max_inline = qp->sq.max_inline,
		.max_length = qp->service == PINION_SVC_UD ? qp->mtu : PINION_MAX_MSG_SIZE,
	};
}

/* The request at head into private memory. Return: 0 or a syndrome. */
static int fetch(struct pinion_qp *qp)
{
	struct pinion_sq *sq = &qp->sq;
	const struct pinion_sq_wqe *shared = pinion_ring_at(&sq->ring, sq->head);
	struct pinion_wqe_limits limits;
	int syndrome;

	limits_of(qp, &limits);
	memcpy(sq->wqe, shared, sizeof(*shared));
	sq->length = 0;
	sq->rnr_left = qp->attr.rnr_retry;
	sq->retry_left = qp->attr.retry_cnt;
	sq->fetched = true;
	syndrome = pinion_wqe_check_head(sq->wqe, &limits, &sq->op);
	if (syndrome)
		return syndrome;
	memcpy(sq->wqe + 1, shared + 1, pinion_wqe_tail(sq->wqe));
	return pinion_wqe_measure(sq->wqe, sq->op, &limits, &sq->length);
}

static void park(struct pinion_qp *qp, u64 ns)
{
	qp->sq.waiting = true;
	WRITE_ONCE(qp->sq.expired, false);
	/* No timer means for ever: only a change of state ends it. */
	if (ns && !qp->dying)
		hrtimer_start(&qp->sq.timer, ns_to_ktime(ns), HRTIMER_MODE_REL);
}

/* Free the slot first: a user who sees the completion may post into it at once. */
static void finish(struct pinion_qp *qp, enum ib_wc_status status, int syndrome)
{
	struct pinion_sq *sq = &qp->sq;

	sq->fetched = false;
	/* path/stream.c looks at it from without. */
	WRITE_ONCE(sq->head, sq->head + 1);
	pinion_ring_publish(&sq->ring, sq->head);
	pinion_complete_send(qp, status, syndrome);
}

static enum step fail(struct pinion_qp *qp, enum ib_wc_status status, int syndrome)
{
	finish(qp, status, syndrome);
	/* A datagram or unreliable queue can be taken up again; a connection cannot. */
	pinion_qp_enter_error(qp, pinion_qp_is_reliable(qp) ? IB_QPS_ERR : IB_QPS_SQE);
	return STEP_DONE;
}

static enum step fail_local(struct pinion_qp *qp, int syndrome)
{
	pinion_stat_inc(qp->node, local_key_errors);
	return fail(qp, pinion_local_status(syndrome), syndrome);
}

static enum step succeed(struct pinion_qp *qp)
{
	pinion_stat_inc(qp->node, tx_messages);
	pinion_stat_add(qp->node, tx_bytes, qp->sq.length);
	finish(qp, IB_WC_SUCCESS, PINION_SYN_NONE);
	return STEP_DONE;
}

static enum step not_ready(struct pinion_qp *qp, const struct pinion_msg *msg)
{
	struct pinion_sq *sq = &qp->sq;

	if (qp->attr.rnr_retry != FOREVER && !sq->rnr_left--)
		return fail(qp, IB_WC_RNR_RETRY_EXC_ERR, PINION_SYN_RNR);
	pinion_stat_inc(qp->node, rnr_waits);
	park(qp, pinion_rnr_timer_ns(msg->rnr_timer));
	return STEP_PARKED;
}

static enum step no_answer(struct pinion_qp *qp)
{
	struct pinion_sq *sq = &qp->sq;

	if (!pinion_qp_is_reliable(qp)) {
		pinion_stat_inc(qp->node, ud_drops);
		return succeed(qp);
	}
	if (!sq->retry_left--)
		return fail(qp, IB_WC_RETRY_EXC_ERR, PINION_SYN_NO_RESPONSE);
	pinion_stat_inc(qp->node, retries);
	park(qp, pinion_ack_timeout_ns(qp->attr.timeout));
	return STEP_PARKED;
}

/* The old value of an atomic goes where its request says. */
static bool store_answer(struct pinion_qp *qp, struct pinion_msg *msg)
{
	struct pinion_cursor answer;

	if (!(msg->op->traits & PINION_OP_WORD) || !(msg->op->traits & PINION_OP_WRITES_SGES))
		return true;
	pinion_cursor_memory(&answer, &msg->before);
	return pinion_move(qp->node, msg->payload, &answer, sizeof(msg->before));
}

static enum step judge(struct pinion_qp *qp, struct pinion_msg *msg,
		       enum pinion_verdict verdict)
{
	switch (verdict) {
	case PINION_ACK:
		qp->attr.sq_psn = pinion_psn_add(qp->attr.sq_psn, msg->packets);
		if (!store_answer(qp, msg))
			return fail_local(qp, msg->payload->syndrome);
		return succeed(qp);
	case PINION_SILENCE:
		return no_answer(qp);
	case PINION_RNR:
		return not_ready(qp, msg);
	case PINION_NAK_REQUEST:
		return fail(qp, IB_WC_REM_INV_REQ_ERR, PINION_SYN_REMOTE);
	case PINION_NAK_ACCESS:
		return fail(qp, IB_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	case PINION_NAK_OPERATION:
		return fail(qp, IB_WC_REM_OP_ERR, PINION_SYN_REMOTE);
	case PINION_OWN_FAULT:
		return fail_local(qp, msg->payload->syndrome);
	}
	return fail(qp, IB_WC_GENERAL_ERR, PINION_SYN_NONE);
}

static enum step send(struct pinion_qp *qp)
{
	struct pinion_cursor payload;
	struct pinion_msg msg;
	struct pinion_av av;
	u32 qpn;
	int syndrome;

	syndrome = pinion_message_of(qp, &msg, &payload, &av, &qpn);
	if (syndrome)
		return fail(qp, IB_WC_LOC_QP_OP_ERR, syndrome);
	/* Our own mistakes are reported before the peer sees anything. */
	syndrome = pinion_cursor_check(&payload);
	if (syndrome)
		return fail_local(qp, syndrome);
	return judge(qp, &msg, pinion_loop_send(qp, &msg, qpn));
}

static enum step step(struct pinion_qp *qp)
{
	int syndrome = 0;

	if (!qp->sq.fetched)
		syndrome = fetch(qp);
	if (syndrome)
		return fail(qp, pinion_local_status(syndrome), syndrome);
	if (!(qp->sq.op->traits & PINION_OP_IS_LOCAL))
		return send(qp);
	syndrome = pinion_local_op(qp);
	if (syndrome)
		return fail(qp, pinion_local_status(syndrome), syndrome);
	return succeed(qp);
}

/* As step(), unless the queue still waits. */
static enum step perform_one(struct pinion_qp *qp)
{
	struct pinion_sq *sq = &qp->sq;

	if (sq->waiting && !READ_ONCE(sq->expired))
		return STEP_PARKED;
	sq->waiting = false;
	return step(qp);
}

static void flush_one(struct pinion_qp *qp)
{
	if (!qp->sq.fetched)
		fetch(qp);
	finish(qp, IB_WC_WR_FLUSH_ERR, PINION_SYN_FLUSHED);
}

static bool may_start(const struct pinion_qp *qp)
{
	/* What was begun before SQD is finished, nothing new is begun. */
	return qp->state == IB_QPS_RTS || (qp->state == IB_QPS_SQD && qp->sq.fetched);
}

static bool is_flushing(const struct pinion_qp *qp)
{
	return qp->state == IB_QPS_ERR || qp->state == IB_QPS_SQE;
}

static void raise_drained(struct pinion_qp *qp)
{
	if (qp->state == IB_QPS_SQD && qp->sq.drain_event && !qp->sq.fetched) {
		qp->sq.drain_event = false;
		pinion_qp_event(qp, IB_EVENT_SQ_DRAINED);
	}
}

/*
 * Runs in the doorbell, in a work item or in modify_qp, with exec held. Others wait for us in
 * pinion_sq_interrupt(), so stop when one does (@wanted), and after TURN_MS. Stop for a
 * fatal signal, too: a work item goes on, as another process may use the queue.
 */
static bool turn_is_over(struct pinion_sq *sq, unsigned long end)
{
	return atomic_read(&sq->wanted) || time_after(jiffies, end) ||
	       fatal_signal_pending(current);
}

void pinion_sq_run(struct pinion_qp *qp)
{
	unsigned long end = jiffies + msecs_to_jiffies(TURN_MS);
	struct pinion_sq *sq = &qp->sq;
	u32 tail = pinion_ring_user_idx(&sq->ring);

	lockdep_assert_held(&sq->exec);
	if (!pinion_ring_sane(tail, sq->head, sq->ring.entries)) {
		/* Nothing in the ring can be believed; only a reset mends it. */
		if (qp->state != IB_QPS_ERR && qp->state != IB_QPS_RESET) {
			pinion_qp_enter_error(qp, IB_QPS_ERR);
			pinion_qp_event(qp, IB_EVENT_QP_FATAL);
		}
		return;
	}
	while (sq->head != tail) {
		if (is_flushing(qp))
			flush_one(qp);
		else if (!may_start(qp) || perform_one(qp) == STEP_PARKED)
			break;
		cond_resched();
		if (sq->head != tail && turn_is_over(sq, end)) {
			queue_work(qp->wq, &sq->work);
			break;
		}
	}
	raise_drained(qp);
}

/*
 * A timer that is just firing is waited for: else what it says could be taken for the
 * expiry of the next wait, which would lose a retry to it.
 */
void pinion_sq_stop_waiting(struct pinion_sq *sq)
{
	lockdep_assert_held(&sq->exec);
	hrtimer_cancel(&sq->timer);
	sq->waiting = false;
}

void pinion_sq_forget(struct pinion_sq *sq)
{
	pinion_sq_stop_waiting(sq);
	sq->fetched = false;
}
