// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requester of a connection to another host: requests become packets, as far as the window has
 * room, and retire when they are acknowledged. logic/sender.c keeps track of acknowledged packets;
 * requester_*.c handle requests, their memory, and the timers. This file has the turn of the
 * executor, which begins requests.
 *
 * Everything here runs with sq.exec held, in process context.
 */
#include "../mem/inject.h"
#include "../path/fault.h"
#include "../path/local.h"
#include "../path/message.h"
#include "requester.h"

/* Packets, or bursts of them, sent in one turn. */
#define BURST	32

static struct pinion_request *requester_newest(struct pinion_requests *requests)
{
	return requests->next == requests->oldest ? NULL :
	       pinion_requester_slot(requests, requests->next - 1);
}

/* @request has failed. Complete it if it is the oldest, else wait for those before it. */
static enum pinion_step requester_fail_stuck(struct pinion_conn *conn,
					     struct pinion_request *request)
{
	if (request != pinion_requests_oldest(&conn->qp->sq.requests))
		return PINION_STEP_PARKED;
	return pinion_sq_fail(conn->qp, request->status, request->syndrome);
}

/*
 * Begin the newest request: assign its PSNs, or perform it if it is local. Local and fenced
 * requests wait until all before them have retired.
 */
static enum pinion_step requester_begin(struct pinion_conn *conn, struct pinion_request *request)
{
	struct pinion_qp *qp = conn->qp;
	bool alone = request == pinion_requests_oldest(&qp->sq.requests);
	bool is_local = request->op->traits & PINION_OP_IS_LOCAL;
	enum pinion_syndrome syndrome;

	if (!alone && (is_local || request->wqe->flags & PINION_WQE_FENCE))
		return PINION_STEP_PARKED;
	if (is_local) {
		conn->lacking = request;
		return pinion_local_perform(qp, request);
	}
	pinion_message_payload(qp, request);
	syndrome = pinion_cursor_check(&request->payload);
	if (syndrome) {
		pinion_request_stick_local(qp, request, syndrome);
		return PINION_STEP_DONE;
	}
	request->psn = qp->sq.psn;
	request->packets = pinion_psn_packets(request->length, qp->mtu);
	request->begun = true;
	qp->sq.psn = pinion_psn_add(request->psn, request->packets);
	return PINION_STEP_DONE;
}

/* Fetch the next posted request. Return: PARKED if there is none, or it must wait. */
static enum pinion_step requester_fetch(struct pinion_conn *conn, u32 tail)
{
	struct pinion_qp *qp = conn->qp;
	struct pinion_requests *requests = &qp->sq.requests;
	u32 count = pinion_requests_count(requests);
	struct pinion_request *request;
	enum pinion_step step;
	enum pinion_syndrome syndrome;

	if (qp->state != IB_QPS_RTS || qp->sq.head + count == tail || count == requests->depth)
		return PINION_STEP_PARKED;
	/* Injected failures are for the oldest request: fetch no others while there are orders. */
	if (count && static_branch_unlikely(&pinion_injecting))
		return PINION_STEP_PARKED;
	request = pinion_sq_fetch(qp, &syndrome);
	if (syndrome)
		pinion_request_stick(request, pinion_local_status(syndrome), syndrome);
	else if (!count && pinion_sq_injected(qp, &step))
		return step;
	return PINION_STEP_DONE;
}

/* Send the next packets, or begin the next request. Return: PARKED if nothing can be done. */
static enum pinion_step requester_talk(struct pinion_conn *conn, u32 tail)
{
	struct pinion_qp *qp = conn->qp;
	struct pinion_request *request;

	if (pinion_sender_first(&conn->sender) != qp->sq.psn) {
		request = pinion_requester_find(conn, pinion_sender_first(&conn->sender));
		if (WARN_ON_ONCE(!request))
			return PINION_STEP_PARKED;
		return request->stuck ? requester_fail_stuck(conn, request) :
					pinion_requester_send(conn, request);
	}
	request = requester_newest(&qp->sq.requests);
	if (!request || request->begun)
		return requester_fetch(conn, tail);
	return request->stuck ? requester_fail_stuck(conn, request) :
				requester_begin(conn, request);
}

/* Take the result of a fault that was waited for. Return: whether to go on. */
static bool requester_page_came(struct pinion_conn *conn)
{
	struct pinion_sq *sq = &conn->qp->sq;
	int err;

	if (sq->awaits == PINION_AWAITS_NONE)
		return true;
	sq->awaits = PINION_AWAITS_NONE;
	err = pinion_fault_result(sq->fault);
	/* Answers were not processed meanwhile, so restart the ACK timer. */
	if (!conn->sender.waiting)
		conn->deadline = 0;
	if (err == -EAGAIN) {
		pinion_sq_try_later(conn->qp);
		return false;
	}
	sq->again = 0;
	if (err && conn->lacking)
		pinion_request_stick_local(conn->qp, conn->lacking, PINION_SYN_FAULT);
	return true;
}

/* Was the queue parked for room? Neither the outlet nor the timer may end the next wait. */
static void requester_leave_outlet(struct pinion_conn *conn)
{
	if (!conn->requests_wait.waits)
		return;
	pinion_outlet_leave(conn->outlet, &conn->requests_wait);
	hrtimer_cancel(&conn->qp->sq.timer);
}

enum pinion_step pinion_requester_turn(struct pinion_qp *qp, u32 tail)
{
	struct pinion_conn *conn = qp->conn;
	struct pinion_request *request;
	enum pinion_step step;
	bool further = false;
	int i;

	pinion_half_assert(&qp->sq.exec);
	conn->looked = tail;
	pinion_crowding_was_late(&qp->sq.crowding);
	requester_leave_outlet(conn);
	if (!requester_page_came(conn))
		return PINION_STEP_PARKED;
	/* Before processing answers: a request whose memory has failed must not take any. */
	request = pinion_requests_oldest(&qp->sq.requests);
	if (request && request->stuck)
		further = requester_fail_stuck(conn, request) == PINION_STEP_DONE;
	WRITE_ONCE(conn->attended, true);
	further |= pinion_requester_listen(conn) == PINION_STEP_DONE;
	pinion_requester_look_at_clock(conn);
	for (i = 0; i < BURST && pinion_requester_goes_on(qp, i) && !qp->sq.waiting; i++) {
		step = requester_talk(conn, tail);
		if (step == PINION_STEP_PARKED)
			break;
		further = true;
	}
	pinion_requester_watch(conn);
	/* If we are not stopped by BURST alone, only what comes back lets us send more. */
	if (pinion_half_is_wanted(&qp->sq.exec))
		pinion_errand_leave(&conn->errand);
	else
		pinion_errand_run(&conn->errand,
				  i < BURST || !pinion_requester_has_room(conn, 1));
	WRITE_ONCE(conn->attended, false);
	/*
	 * conn_arrived_answer() adds to the line, then reads @attended; we clear @attended, then
	 * read the line. With a barrier on both sides no answer is left behind.
	 */
	smp_mb();
	if (pinion_requester_hears(conn))
		further = true;
	return further && !qp->sq.waiting ? PINION_STEP_DONE : PINION_STEP_PARKED;
}

/* Is there work that needs the executor: answers, packets to send, or requests it has not begun? */
static bool requester_has_more(struct pinion_conn *conn)
{
	struct pinion_qp *qp = conn->qp;
	struct pinion_requests *requests = &qp->sq.requests;
	const struct pinion_request *oldest = pinion_requests_oldest(requests);

	/* It has waited for those before it: a fence, or what is done without packets. */
	if (oldest && !oldest->begun)
		return true;
	if (pinion_requester_hears(conn) ||
	    (pinion_sender_first(&conn->sender) != qp->sq.psn && !conn->paced))
		return true;
	/*
	 * Those that were posted since an executor looked have a doorbell to come, which sends them
	 * without waking another CPU.
	 */
	return conn->looked != qp->sq.head + pinion_requests_count(requests);
}

void pinion_requester_forget(struct pinion_conn *conn)
{
	pinion_half_assert(&conn->qp->sq.exec);
	pinion_conn_close_answers(conn);
	pinion_outlet_leave(conn->outlet, &conn->requests_wait);
	pinion_kept_forget(&conn->kept_answers);
	WRITE_ONCE(conn->qp->sq.waits_for_peer, false);
}

bool pinion_requester_glance(struct pinion_qp *qp)
{
	struct pinion_conn *conn = qp->conn;

	pinion_half_assert(&qp->sq.exec);
	if (qp->state != IB_QPS_RTS || qp->dying || qp->raw || qp->sq.waiting ||
	    qp->sq.awaits != PINION_AWAITS_NONE || pinion_requester_is_stuck(qp))
		return false;
	pinion_requester_listen(conn);
	pinion_requester_watch(conn);
	return qp->state == IB_QPS_RTS && !qp->sq.waiting && !pinion_requester_is_stuck(qp) &&
	       !requester_has_more(conn);
}
