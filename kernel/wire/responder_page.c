// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a responder does with packets that cannot be performed yet, because a page is missing, or a
 * receive request. resp.lock is held.
 */
#include "../logic/timing.h"
#include "../path/fault.h"
#include "responder.h"

/*
 * RNR timer fields for a sender whose packet lacks a page: 0.64 ms at first, doubled each time, up
 * to 40.96 ms. Two steps of the field double the time.
 */
#define PAGE_RNR_TIMER		12
#define PAGE_RNR_TIMER_LAST	24
#define RNR_TIMER_TWICE		2

bool pinion_responder_page_came(struct pinion_conn *conn, struct pinion_msg *msg)
{
	int err;

	if (!conn->asked)
		return true;
	if (pinion_fault_is_running(conn->fault))
		return false;
	conn->asked = false;
	err = pinion_fault_result(conn->fault);
	/* Unreliable: nobody sends the packet again, so pause before the next try. */
	if (err == -EAGAIN && !pinion_qp_is_reliable(conn->qp))
		return false;
	if (err && err != -EAGAIN && conn->asked_psn == msg->psn) {
		msg->fault_err = err;
		msg->fault_left = conn->fault->left;
	}
	return true;
}

void pinion_responder_await_page(struct pinion_conn *conn, const struct pinion_msg *msg)
{
	const struct pinion_half *half = &conn->qp->resp.lock;

	conn->asked = msg->asked;
	conn->asked_psn = msg->psn;
	if (!conn->fault)
		conn->fault = pinion_fault_alloc(pinion_half_gfp(half) |
						 (half->visited ? 0 : __GFP_ACCOUNT));
}

u8 pinion_responder_page_timer(struct pinion_conn *conn, u32 psn)
{
	if (conn->page_timer && psn == conn->page_psn)
		conn->page_timer = min(conn->page_timer + RNR_TIMER_TWICE, PAGE_RNR_TIMER_LAST);
	else
		conn->page_timer = PAGE_RNR_TIMER;
	conn->page_psn = psn;
	return conn->page_timer;
}

void pinion_responder_defer(struct pinion_conn *conn, u32 psn, u8 timer)
{
	/* Those behind it come again, too, so nothing is kept. */
	pinion_kept_forget(&conn->kept_requests);
	pinion_receiver_defer(&conn->receiver);
	pinion_responder_acknowledge(conn, psn, PINION_AETH_RNR | timer);
}

static void responder_page_is_there(struct pinion_qp *qp)
{
	queue_work(qp->wq, &qp->conn->work);
}

void pinion_responder_hold(struct pinion_conn *conn, u32 psn)
{
	u64 ns;

	if (conn->asked) {
		pinion_fault_wait(conn->fault, conn->qp, responder_page_is_there);
		return;
	}
	ns = pinion_rnr_timer_ns(pinion_responder_page_timer(conn, psn));
	hrtimer_start(&conn->pause, ns_to_ktime(ns), HRTIMER_MODE_REL);
}
