// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The timers of a requester, and what it does when logic/sender.c has decided: wait, send again, or
 * give up. sq.exec is held.
 */
#include "../logic/timing.h"
#include "../path/trace.h"
#include "requester.h"

/* The ACK timeout is doubled each time nothing comes, at most to 2^MAX_LATENESS times. */
#define MAX_LATENESS 2

static void requester_set_deadline(struct pinion_conn *conn, u64 ns)
{
	conn->deadline = ns ? ktime_get_ns() + ns : 0;
}

void pinion_requester_advanced(struct pinion_conn *conn)
{
	u32 count = (conn->sender.una - conn->una) & PINION_PSN_MASK;

	conn->una = conn->sender.una;
	conn->deadline = 0;
	conn->lateness = 0;
	pinion_inflight_acknowledged(&conn->inflight, count);
}

/*
 * The ACK timer has expired. Packets or answers may just be waiting somewhere, where sending them
 * again makes it worse: shrink the window, and wait longer next time.
 */
static void requester_is_late(struct pinion_conn *conn)
{
	pinion_inflight_late(&conn->inflight);
	conn->lateness = min(conn->lateness + 1, MAX_LATENESS);
}

/* When the timer must expire next; 0: not at all. */
static u64 requester_due(const struct pinion_conn *conn)
{
	if (!conn->deadline || !conn->paced)
		return conn->deadline ?: conn->paced;
	return min(conn->deadline, conn->paced);
}

void pinion_requester_watch(struct pinion_conn *conn)
{
	struct hrtimer *timer = &conn->timer;
	u64 due;

	WRITE_ONCE(conn->qp->sq.waits_for_peer, conn->sender.waiting || conn->lateness);
	if (!conn->sender.waiting) {
		if (!pinion_sender_awaits(&conn->sender) || !pinion_qp_is_reliable(conn->qp))
			conn->deadline = 0;
		else if (!conn->deadline)
			requester_set_deadline(conn, pinion_ack_timeout_ns(conn->qp->attr.timeout)
						     << conn->lateness);
	}
	/* A timer that expires before a later deadline is started again by the next turn. */
	due = requester_due(conn);
	if (!due || conn->qp->dying)
		return;
	if (!hrtimer_active(timer) || ktime_to_ns(hrtimer_get_expires(timer)) > due)
		hrtimer_start(timer, ns_to_ktime(due), HRTIMER_MODE_ABS);
}

void pinion_requester_obey(struct pinion_conn *conn, enum pinion_sender_step step, u8 syndrome)
{
	struct pinion_qp *qp = conn->qp;
	struct pinion_request *request;
	u64 pause;

	switch (step) {
	case PINION_SENDER_STALE:
	/* requester_take_answer() checks the answer first. */
	case PINION_SENDER_ANSWERED:
		break;
	case PINION_SENDER_ADVANCED:
		pinion_requester_advanced(conn);
		break;
	case PINION_SENDER_RESEND:
		pinion_stat_inc(qp, retries);
		conn->deadline = 0;
		pinion_inflight_lost(&conn->inflight);
		break;
	case PINION_SENDER_WAIT:
		pinion_stat_inc(qp, rnr_nak_retry_err);
		request = pinion_requester_find(conn, conn->sender.una);
		if (WARN_ON_ONCE(!request))
			break;
		pause = pinion_sq_rnr_pause(qp, request, syndrome & ~PINION_AETH_KIND);
		trace_request_wait(qp, pause);
		requester_set_deadline(conn, pause);
		break;
	case PINION_SENDER_REFUSED:
		if (syndrome == (PINION_AETH_NAK | PINION_NAK_CODE_ACCESS))
			pinion_requester_fail(conn, IB_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
		else if (syndrome == (PINION_AETH_NAK | PINION_NAK_CODE_OPERATION))
			pinion_requester_fail(conn, IB_WC_REM_OP_ERR, PINION_SYN_REMOTE);
		else
			pinion_requester_fail(conn, IB_WC_REM_INV_REQ_ERR, PINION_SYN_REMOTE);
		break;
	case PINION_SENDER_GIVE_UP:
		pinion_requester_fail(conn, IB_WC_RETRY_EXC_ERR, PINION_SYN_NO_RESPONSE);
		break;
	case PINION_SENDER_GIVE_UP_RNR:
		pinion_requester_fail(conn, IB_WC_RNR_RETRY_EXC_ERR, PINION_SYN_RNR);
		break;
	}
}

void pinion_requester_look_at_clock(struct pinion_conn *conn)
{
	u64 now;

	if (!requester_due(conn))
		return;
	now = ktime_get_ns();
	if (now >= conn->paced)
		conn->paced = 0;
	if (!conn->deadline || now < conn->deadline)
		return;
	conn->deadline = 0;
	if (conn->sender.waiting) {
		pinion_sender_wake(&conn->sender);
		return;
	}
	pinion_stat_inc(conn->qp, local_ack_timeout_err);
	/* Its packets may take a wrong way: the next one looks for a route again. See route.c. */
	pinion_route_forget(&conn->route);
	requester_is_late(conn);
	pinion_requester_obey(conn, pinion_sender_timeout(&conn->sender), 0);
}
