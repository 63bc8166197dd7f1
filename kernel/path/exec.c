// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The executor of a send queue: fetches a private copy of the next request, checks it, performs it
 * or hands it to an engine, and completes it. It never blocks on a peer: a request that must wait
 * parks, and a timer or a fault has it tried again.
 */
#include <linux/sched/signal.h>

#include "../logic/pace.h"
#include "../logic/psn.h"
#include "../logic/timing.h"
#include "../logic/wqe.h"
#include "../mem/inject.h"
#include "complete.h"
#include "engine.h"
#include "exec.h"
#include "fault.h"
#include "local.h"
#include "message.h"
#include "move.h"
#include "overflow.h"
#include "peers.h"
#include "raw_qp.h"
#include "trace.h"

/* This value of the retry counters (three bits) means: without limit. */
#define FOREVER 7

/*
 * Pauses that double each time. AGAIN_*: before a fault is tried again that could not be started
 * or told nothing about the page. BUSY_*: before a peer is tried again whose responder has another
 * owner, mostly a system call of the peer. RNR_MOST_NS: the limit for a receiver that is never
 * ready, if the sender retries without limit.
 */
#define AGAIN_NS	NSEC_PER_MSEC
#define AGAIN_MOST_NS	NSEC_PER_SEC
#define BUSY_NS		(20 * NSEC_PER_USEC)
#define BUSY_MOST_NS	(4 * NSEC_PER_MSEC)
#define RNR_MOST_NS	(4 * NSEC_PER_MSEC)

/*
 * How long one caller performs requests; then the work item goes on, behind others. The time is
 * compared between two requests: modify_qp, destroy_qp and others that wait for the half wait that
 * long, and for the request that is being performed. To queue the work item takes some
 * microseconds, less than a thousandth of this.
 */
#define TURN_MS	20

static void sq_limits(const struct pinion_qp *qp, struct pinion_wqe_limits *limits)
{
	*limits = (struct pinion_wqe_limits){
		.service = qp->service,
		.user = qp->user,
		.raw = qp->raw,
		.max_sge = qp->sq.max_sge,
		.max_inline = qp->sq.max_inline,
		.max_length = qp->service == PINION_SVC_UD ? qp->mtu : PINION_MAX_MSG_SIZE,
		.depth = qp->attr.max_rd_atomic,
	};
}

/* Copy @shared to private memory, and check its form. Return: 0 or a syndrome. */
static enum pinion_syndrome request_fetch(struct pinion_qp *qp, struct pinion_request *request,
					  const struct pinion_sq_wqe *shared)
{
	struct pinion_wqe_limits limits;
	enum pinion_syndrome syndrome;

	sq_limits(qp, &limits);
	memcpy(request->wqe, shared, sizeof(*shared));
	request->rnr_left = qp->attr.rnr_retry;
	request->rnr_pause = 0;
	request->retry_left = qp->attr.retry_cnt;
	syndrome = pinion_wqe_check_head(request->wqe, &limits, &request->op);
	if (syndrome)
		return syndrome;
	memcpy(request->wqe + 1, shared + 1, pinion_wqe_tail(request->wqe));
	return pinion_wqe_measure(request->wqe, request->op, &limits, &request->length);
}

/*
 * The next that is posted is begun: there is room for it, and it is there. *@syndrome says what
 * is wrong with it, or 0.
 */
struct pinion_request *pinion_sq_fetch(struct pinion_qp *qp, enum pinion_syndrome *syndrome)
{
	struct pinion_sq *sq = &qp->sq;
	u32 next = sq->head + pinion_requests_count(&sq->requests);
	struct pinion_request *request = pinion_requests_add(&sq->requests);

	*syndrome = request_fetch(qp, request, pinion_ring_at(&sq->ring, next));
	/* stream.c reads it without the lock. */
	WRITE_ONCE(sq->last_length, request->length);
	trace_request_begin(qp, request, *syndrome);
	return request;
}

void pinion_sq_park(struct pinion_qp *qp, u64 ns)
{
	trace_request_wait(qp, ns);
	qp->sq.waiting = true;
	WRITE_ONCE(qp->sq.expired, false);
	/* Without a timer only pinion_qp_wake() or a change of state ends the wait. */
	if (ns && !qp->dying)
		hrtimer_start(&qp->sq.timer, ns_to_ktime(ns), HRTIMER_MODE_REL);
}

void pinion_qp_wake(struct pinion_qp *qp)
{
	WRITE_ONCE(qp->sq.expired, true);
	/* If the work is queued already it has not begun, and will see @expired. */
	queue_work(qp->wq, &qp->sq.work);
}

/* The ring or the completion queue cannot be used any more. Not by a stranger, as it waits. */
static void sq_break_fatally(struct pinion_qp *qp)
{
	pinion_qp_enter_error(qp, IB_QPS_ERR);
	/* If the responder has failed it raises an event of its own. */
	if (!READ_ONCE(qp->failing))
		pinion_qp_event(qp, IB_EVENT_QP_FATAL);
}

/*
 * Retire and complete the oldest request. Its slot is freed first: a user who sees the completion
 * may post into it at once.
 */
static void sq_retire(struct pinion_qp *qp, enum ib_wc_status status, enum pinion_syndrome syndrome)
{
	struct pinion_sq *sq = &qp->sq;
	struct pinion_request *request = pinion_requests_oldest(&sq->requests);

	pinion_requests_retire(&sq->requests);
	sq->again = 0;
	/* stream.c reads it without the lock. */
	WRITE_ONCE(sq->head, sq->head + 1);
	pinion_ring_publish(&sq->ring, sq->head);
	if (pinion_complete_send(qp, request, status, syndrome) || qp->state == IB_QPS_ERR)
		return;
	if (sq->exec.visited)
		queue_work(qp->wq, &sq->work);
	else
		sq_break_fatally(qp);
}

enum pinion_step pinion_sq_fail(struct pinion_qp *qp, enum ib_wc_status status,
				enum pinion_syndrome syndrome)
{
	sq_retire(qp, status, syndrome);
	/* Only a reliable connection breaks for good; others can leave SQE again. */
	if (qp->state != IB_QPS_ERR)
		pinion_qp_enter_error(qp, pinion_qp_is_reliable(qp) ? IB_QPS_ERR : IB_QPS_SQE);
	return PINION_STEP_DONE;
}

enum pinion_step pinion_sq_fail_local(struct pinion_qp *qp, enum pinion_syndrome syndrome)
{
	/* Without a syndrome the memory is fine: the process is being killed. */
	if (syndrome)
		pinion_stat_inc(qp, local_key_errors);
	return pinion_sq_fail(qp, pinion_local_status(syndrome), syndrome);
}

enum pinion_step pinion_sq_succeed(struct pinion_qp *qp, const struct pinion_request *request)
{
	pinion_stat_inc(qp, tx_messages);
	pinion_stat_add(qp, tx_bytes, request->length);
	sq_retire(qp, IB_WC_SUCCESS, PINION_SYN_NONE);
	return PINION_STEP_DONE;
}

/* The port's counters, as on a wire; the other side is resp_count_traffic(). */
void pinion_sq_count_traffic(struct pinion_qp *qp, const struct pinion_request *request)
{
	if (pinion_op_is_read(request->op)) {
		pinion_stat_inc(qp, port_xmit_packets);
		pinion_stat_add(qp, port_rcv_packets, request->packets);
		pinion_stat_add(qp, port_rcv_bytes, request->length);
	} else {
		pinion_stat_add(qp, port_xmit_packets, request->packets);
		pinion_stat_add(qp, port_xmit_bytes, request->length);
	}
}

u64 pinion_sq_rnr_pause(const struct pinion_qp *qp, struct pinion_request *request, u8 rnr_timer)
{
	u64 least = pinion_rnr_timer_ns(rnr_timer);

	if (qp->attr.rnr_retry != FOREVER)
		return least;
	request->rnr_pause = pinion_pace_slower(request->rnr_pause, least,
						max(least, RNR_MOST_NS));
	return request->rnr_pause;
}

static enum pinion_step sq_not_ready(struct pinion_qp *qp, struct pinion_request *request,
				     const struct pinion_msg *msg)
{
	if (qp->attr.rnr_retry != FOREVER && !request->rnr_left--)
		return pinion_sq_fail(qp, IB_WC_RNR_RETRY_EXC_ERR, PINION_SYN_RNR);
	/* As in logic/sender.c: the peer has answered, so what was lost before does not count. */
	request->retry_left = qp->attr.retry_cnt;
	pinion_stat_inc(qp, rnr_nak_retry_err);
	pinion_sq_park(qp, pinion_sq_rnr_pause(qp, request, msg->rnr_timer));
	return PINION_STEP_PARKED;
}

/* @request was sent: the next one gets the numbers behind it. */
static void sq_advance_psn(struct pinion_qp *qp, const struct pinion_request *request)
{
	qp->sq.psn = pinion_psn_add(request->psn, request->packets);
}

static enum pinion_step sq_no_answer(struct pinion_qp *qp, struct pinion_request *request,
				     const struct pinion_msg *msg)
{
	if (!pinion_qp_is_reliable(qp)) {
		/* Nobody acknowledges it, so for the sender it is sent. */
		sq_advance_psn(qp, request);
		pinion_sq_count_traffic(qp, request);
		pinion_stat_inc(qp, ud_drops);
		return pinion_sq_succeed(qp, request);
	}
	if (!request->retry_left--)
		return pinion_sq_fail(qp, IB_WC_RETRY_EXC_ERR, PINION_SYN_NO_RESPONSE);
	pinion_stat_inc(qp, retries);
	pinion_sq_park(qp, pinion_ack_timeout_ns(qp->attr.timeout));
	return PINION_STEP_PARKED;
}

/* ------------------------------------------------------------ missing pages */

static enum pinion_step sq_try_again(struct pinion_qp *qp, u64 least, u64 most)
{
	struct pinion_sq *sq = &qp->sq;

	sq->again = pinion_pace_slower(sq->again, least, most);
	pinion_sq_park(qp, sq->again);
	return PINION_STEP_PARKED;
}

enum pinion_step pinion_sq_try_later(struct pinion_qp *qp)
{
	return sq_try_again(qp, AGAIN_NS, AGAIN_MOST_NS);
}

/* Wait for sq.fault, if it was started (@asked); else try again later. */
static enum pinion_step sq_await_page(struct pinion_qp *qp, enum pinion_awaits whose, bool asked)
{
	if (!asked)
		return pinion_sq_try_later(qp);
	pinion_sq_park(qp, 0);
	qp->sq.awaits = whose;
	pinion_fault_wait(qp->sq.fault, qp, pinion_qp_wake);
	return PINION_STEP_PARKED;
}

/*
 * Allocate sq.fault when it is first needed. False: no memory now; its own side tries again later.
 */
static bool sq_have_fault(struct pinion_qp *qp)
{
	struct pinion_sq *sq = &qp->sq;
	gfp_t gfp = sq->exec.visited ? pinion_half_gfp(&sq->exec) : GFP_KERNEL_ACCOUNT;

	if (sq->fault)
		return true;
	pinion_peer_leave(qp);
	sq->fault = pinion_fault_alloc(gfp);
	return sq->fault;
}

/*
 * A page of the sender's own is missing. We hold nothing of the peer's. The doorbell could fault
 * here, but does not: the page may never come, and device removal waits for system calls.
 */
enum pinion_step pinion_sq_bring_own(struct pinion_qp *qp, struct pinion_missing *missing)
{
	sq_have_fault(qp);
	return sq_await_page(qp, PINION_AWAITS_OWN,
			     pinion_fault_start(qp->sq.fault, qp->faulter, missing, 0));
}

static enum pinion_step sq_await_peer(struct pinion_qp *qp, const struct pinion_msg *msg)
{
	if (!msg->fault)
		return sq_have_fault(qp) ? PINION_STEP_AGAIN : pinion_sq_try_later(qp);
	return sq_await_page(qp, PINION_AWAITS_PEER, msg->asked);
}

/* Take the result of a fault that was waited for. Return: whether the request may go on. */
static bool sq_page_came(struct pinion_qp *qp, struct pinion_request *request,
			 enum pinion_step *step)
{
	struct pinion_sq *sq = &qp->sq;
	enum pinion_awaits whose = sq->awaits;
	int err;

	sq->awaits = PINION_AWAITS_NONE;
	if (whose == PINION_AWAITS_NONE)
		return true;
	err = pinion_fault_result(sq->fault);
	if (err == -EAGAIN) {
		*step = pinion_sq_try_later(qp);
		return false;
	}
	sq->again = 0;
	if (err && whose == PINION_AWAITS_OWN) {
		*step = pinion_sq_fail_local(qp, PINION_SYN_FAULT);
		return false;
	}
	/*
	 * The responder decides what a failed fault of its page means. That of a page of ours
	 * has no say in it: the fault that failed may have removed this very page.
	 */
	if (whose == PINION_AWAITS_PEER) {
		request->fault_err = err;
		request->fault_left = sq->fault->left;
	}
	return true;
}

void pinion_sq_turn_away(struct pinion_sq *sq)
{
	pinion_half_assert(&sq->exec);
	if (sq->awaits == PINION_AWAITS_NONE)
		return;
	sq->awaits = PINION_AWAITS_NONE;
	pinion_fault_leave(sq->fault);
	sq->fault = NULL;
}

/* ----------------------------------------------------------------- messages */

/*
 * Store the old value of an atomic where its request says. The atomic itself is done and is not
 * repeated, however often this lacks a page.
 */
static enum pinion_step sq_store_answer(struct pinion_qp *qp, struct pinion_request *request)
{
	struct pinion_missing missing;
	struct pinion_cursor answer;
	u64 left = sizeof(request->answer);

	pinion_cursor_memory(&answer, &request->answer);
	pinion_cursor_rewind(&request->payload);
	switch (pinion_move(qp->node, &request->payload, &answer, &left, &missing)) {
	case PINION_MOVED:
		return pinion_sq_succeed(qp, request);
	case PINION_MOVE_NO_SINK:
		return pinion_sq_bring_own(qp, &missing);
	default:
		return pinion_sq_fail_local(qp, request->payload.syndrome);
	}
}

static enum pinion_step sq_acknowledged(struct pinion_qp *qp, struct pinion_request *request,
					const struct pinion_msg *msg)
{
	sq_advance_psn(qp, request);
	pinion_sq_count_traffic(qp, request);
	if (!pinion_op_is_atomic(msg->op))
		return pinion_sq_succeed(qp, request);
	request->answer = msg->before;
	request->answered = true;
	return sq_store_answer(qp, request);
}

static enum pinion_step sq_judge(struct pinion_qp *qp, struct pinion_request *request,
				 struct pinion_msg *msg, enum pinion_verdict verdict)
{
	switch (verdict) {
	case PINION_ACK:
		return sq_acknowledged(qp, request, msg);
	case PINION_SILENCE:
		return sq_no_answer(qp, request, msg);
	case PINION_RNR:
		return sq_not_ready(qp, request, msg);
	case PINION_NAK_REQUEST:
		return pinion_sq_fail(qp, IB_WC_REM_INV_REQ_ERR, PINION_SYN_REMOTE);
	case PINION_NAK_ACCESS:
		return pinion_sq_fail(qp, IB_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	case PINION_NAK_OPERATION:
		return pinion_sq_fail(qp, IB_WC_REM_OP_ERR, PINION_SYN_REMOTE);
	case PINION_OWN_FAULT:
		return pinion_sq_fail_local(qp, msg->payload->syndrome);
	case PINION_OWN_PAGE:
		return pinion_sq_bring_own(qp, &msg->missing);
	case PINION_PEER_PAGE:
		return sq_await_peer(qp, msg);
	case PINION_GAVE_WAY:
		qp->sq.again = 0;
		return PINION_STEP_AGAIN;
	case PINION_BUSY:
		return sq_try_again(qp, BUSY_NS, BUSY_MOST_NS);
	}
	return pinion_sq_fail(qp, IB_WC_GENERAL_ERR, PINION_SYN_NONE);
}

/* Check our own keys, once, before the peer sees anything. Return: 0 or a syndrome. */
static enum pinion_syndrome request_begin(struct pinion_qp *qp, struct pinion_request *request)
{
	if (request->begun)
		return 0;
	request->begun = true;
	pinion_message_payload(qp, request);
	return pinion_cursor_check(&request->payload);
}

static enum pinion_step sq_send(struct pinion_qp *qp, struct pinion_request *request)
{
	enum pinion_verdict verdict;
	struct pinion_msg msg;
	struct pinion_av av;
	enum pinion_syndrome syndrome;

	if (request->answered)
		return sq_store_answer(qp, request);
	request->psn = qp->sq.psn;
	request->packets = pinion_psn_packets(request->length, qp->mtu);
	syndrome = pinion_message_of(qp, request, &msg, &av);
	if (syndrome)
		return pinion_sq_fail(qp, IB_WC_LOC_QP_OP_ERR, syndrome);
	syndrome = request_begin(qp, request);
	if (syndrome)
		return pinion_sq_fail_local(qp, syndrome);
	verdict = pinion_engine_of(qp, &msg)->start(qp, &msg);
	request->token = msg.token;
	/*
	 * It is for one attempt. But a responder with another owner has not seen it, nor has
	 * one whose sender lacks a page itself.
	 */
	if (verdict != PINION_BUSY && verdict != PINION_OWN_PAGE)
		request->fault_err = 0;
	return sq_judge(qp, request, &msg, verdict);
}

/* Apply a failure that was ordered for the request. Return: whether there was one. */
bool pinion_sq_injected(struct pinion_qp *qp, enum pinion_step *step)
{
	u32 qpn = qp->ibqp.qp_num;
	int value;

	*step = PINION_STEP_DONE;
	if (pinion_inject(PINION_INJECT_FATAL, qp->pid, qpn)) {
		sq_break_fatally(qp);
		return true;
	}
	value = pinion_inject(PINION_INJECT_STATUS, qp->pid, qpn);
	if (value) {
		pinion_sq_fail(qp, value, PINION_SYN_NONE);
		return true;
	}
	value = pinion_inject(PINION_INJECT_LATE, qp->pid, qpn);
	if (!value)
		return false;
	pinion_sq_park(qp, (u64)value * NSEC_PER_USEC);
	*step = PINION_STEP_PARKED;
	return true;
}

static enum pinion_step sq_step(struct pinion_qp *qp)
{
	struct pinion_request *request = pinion_requests_oldest(&qp->sq.requests);
	bool fresh = !request;
	enum pinion_syndrome syndrome = 0;
	enum pinion_step step;

	if (fresh)
		request = pinion_sq_fetch(qp, &syndrome);
	if (syndrome)
		return pinion_sq_fail(qp, pinion_local_status(syndrome), syndrome);
	if (fresh && pinion_sq_injected(qp, &step))
		return step;
	if (!sq_page_came(qp, request, &step))
		return step;
	if (!(request->op->traits & PINION_OP_IS_LOCAL))
		return sq_send(qp, request);
	pinion_peer_leave(qp);
	return pinion_local_perform(qp, request);
}

/* One step of the queue, unless it still waits. */
static enum pinion_step sq_perform_one(struct pinion_qp *qp, u32 tail)
{
	struct pinion_sq *sq = &qp->sq;

	if (sq->waiting && !READ_ONCE(sq->expired))
		return PINION_STEP_PARKED;
	sq->waiting = false;
	return pinion_qp_has_window(qp) ? qp->engine->turn(qp, tail) : sq_step(qp);
}

static void sq_flush_one(struct pinion_qp *qp)
{
	enum pinion_syndrome syndrome;

	if (!pinion_requests_oldest(&qp->sq.requests))
		pinion_sq_fetch(qp, &syndrome);
	sq_retire(qp, IB_WC_WR_FLUSH_ERR, PINION_SYN_FLUSHED);
}

static bool sq_may_start(const struct pinion_qp *qp)
{
	/* What was begun before SQD is finished, nothing new is begun. */
	return qp->state == IB_QPS_RTS ||
	       (qp->state == IB_QPS_SQD && pinion_requests_count(&qp->sq.requests));
}

static bool sq_is_flushing(const struct pinion_qp *qp)
{
	return qp->state == IB_QPS_ERR || qp->state == IB_QPS_SQE;
}

static bool sq_is_alive(const struct pinion_qp *qp)
{
	return qp->state != IB_QPS_ERR && qp->state != IB_QPS_RESET;
}

static void sq_raise_drained(struct pinion_qp *qp)
{
	if (qp->state == IB_QPS_SQD && qp->sq.drain_event &&
	    !pinion_requests_count(&qp->sq.requests)) {
		qp->sq.drain_event = false;
		pinion_qp_event(qp, IB_EVENT_SQ_DRAINED);
	}
}

/*
 * Runs in the doorbell, in a work item or in modify_qp, with exec held. Stop when exec is wanted,
 * and after TURN_MS. Stop for a fatal signal, too: a work item goes on, as another process may use
 * the queue.
 */
static bool sq_turn_is_over(struct pinion_sq *sq, unsigned long end)
{
	return pinion_half_is_wanted(&sq->exec) || time_after(jiffies, end) ||
	       fatal_signal_pending(current);
}

/* What is posted is up to *@tail. Return: false if nothing there can be believed. */
static bool sq_look(struct pinion_qp *qp, u32 *tail)
{
	struct pinion_sq *sq = &qp->sq;

	/* Before it may be performed it is left where it is: a reset would lose it. */
	if (qp->raw && qp->state >= IB_QPS_RTS && !pinion_raw_sq_pull(qp))
		return false;
	*tail = pinion_ring_user_idx(&sq->ring);
	return pinion_ring_sane(*tail, sq->head, sq->ring.entries);
}

void pinion_sq_run(struct pinion_qp *qp)
{
	unsigned long end = jiffies + msecs_to_jiffies(TURN_MS);
	struct pinion_sq *sq = &qp->sq;
	u32 tail;

	pinion_half_assert(&sq->exec);
	if (sq_is_alive(qp) && pinion_qp_is_cut_off(qp))
		sq_break_fatally(qp);
	if (!sq_look(qp, &tail)) {
		/* Nothing in the ring can be believed; only a reset mends it. */
		if (sq_is_alive(qp))
			sq_break_fatally(qp);
		return;
	}
	while (sq->head != tail) {
		if (sq_is_flushing(qp))
			sq_flush_one(qp);
		else if (!sq_may_start(qp) || sq_perform_one(qp, tail) == PINION_STEP_PARKED)
			break;
		if (need_resched()) {
			pinion_peer_leave(qp);
			cond_resched();
		}
		if (sq->head != tail && sq_turn_is_over(sq, end)) {
			queue_work(qp->wq, &sq->work);
			break;
		}
	}
	pinion_peer_leave(qp);
	/* Only so many are copied at a time. */
	if (qp->raw && qp->state >= IB_QPS_RTS && sq->head == tail && pinion_raw_sq_has_more(qp))
		queue_work(qp->wq, &sq->work);
	sq_raise_drained(qp);
}

/*
 * A timer that is just firing is waited for: else what it says could be taken for the
 * expiry of the next wait, which would lose a retry to it.
 */
void pinion_sq_stop_waiting(struct pinion_sq *sq)
{
	pinion_half_assert(&sq->exec);
	hrtimer_cancel(&sq->timer);
	pinion_sq_turn_away(sq);
	sq->waiting = false;
}

void pinion_sq_forget(struct pinion_sq *sq)
{
	pinion_sq_stop_waiting(sq);
	sq->again = 0;
	pinion_requests_forget(&sq->requests);
}
