// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder of a connection to another host. logic/receiver.c decides about the order of
 * packets; they become pieces of messages for path/respond.c, and its verdicts become
 * acknowledgments and answers. responder_*.c do this. This file has the turn, which takes packets
 * from the line and from those that were kept, in their order.
 *
 * Everything here runs with resp.lock held, in process context: in the thread that delivers
 * packets, or in conn->work.
 */
#include "../path/fault.h"
#include "../path/refuse.h"
#include "responder.h"

/* The peer asks again: perhaps the answers take a wrong way. Let the next one look for a route. */
static void responder_doubt_route(struct pinion_conn *conn)
{
	pinion_route_forget(&conn->answer_route);
}

/* Process packet @i, and those coupled with it. Return: how many are done. */
static u32 responder_take(struct pinion_conn *conn, struct sk_buff *skb, u32 i)
{
	enum pinion_verdict verdict;
	struct pinion_train train;
	struct pinion_av av;

	if (!pinion_wire_addresses(skb, &av) || !pinion_conn_is_peer(conn->qp, &av)) {
		pinion_stat_add(conn->qp, rx_strangers, pinion_wire_packets(skb) - i);
		return pinion_wire_packets(skb);
	}
	pinion_congestion_look(conn, skb, conn->bringer);
	if (!pinion_train_begin(&train, skb, i))
		return 1;
	train.packet.selective &= pinion_kept_is_wanted();
	switch (pinion_receiver_look(&conn->receiver, &train.packet)) {
	case PINION_ARRIVAL_RESTART:
		/* Of two that may be forged neither is to be believed more: the peer is asked. */
		if (conn->receiver.reliable && conn->qp->resp.doubtful) {
			pinion_responder_drop_doubtful(conn);
			break;
		}
		fallthrough;
	case PINION_ARRIVAL_NEW:
		if (!pinion_responder_perform(conn, &train))
			return 0;
		break;
	case PINION_ARRIVAL_LOST:
	case PINION_ARRIVAL_DROP:
		pinion_stat_inc(conn->qp, rx_gap_drops);
		pinion_stat_inc(conn->qp, out_of_sequence);
		break;
	case PINION_ARRIVAL_UNANSWERED:
		pinion_stat_inc(conn->qp, duplicate_request);
		pinion_stat_inc(conn->qp, rx_unanswered);
		break;
	case PINION_ARRIVAL_AGAIN:
		pinion_stat_inc(conn->qp, duplicate_request);
		responder_doubt_route(conn);
		conn->ack_due = true;
		break;
	case PINION_ARRIVAL_ANSWER_AGAIN:
		pinion_stat_inc(conn->qp, duplicate_request);
		responder_doubt_route(conn);
		pinion_responder_answer_again(conn, &train.packet);
		break;
	case PINION_ARRIVAL_GAP:
		pinion_stat_inc(conn->qp, rx_gap_drops);
		pinion_stat_inc(conn->qp, out_of_sequence);
		pinion_responder_say_lost(conn);
		break;
	case PINION_ARRIVAL_EARLY:
		return pinion_responder_keep(conn, train.packet.psn, skb, i);
	case PINION_ARRIVAL_INVALID:
		verdict = pinion_refuse(conn->qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);
		pinion_responder_refuse(conn, train.packet.psn, verdict);
		break;
	}
	return train.packets;
}

/* Is it the turn of a packet that came early? Then process it. Return: how many are done. */
static u32 responder_go_on_with_kept(struct pinion_conn *conn)
{
	struct pinion_kept *kept = &conn->kept_requests;
	u32 i, packets, mtu = conn->receiver.mtu;
	struct sk_buff *skb;

	skb = pinion_kept_look(kept, conn->receiver.expected, &i);
	if (!skb)
		return 0;
	/* A packet that breaks the connection, or is deferred, ends the keeping of all. */
	skb_get(skb);
	conn->qp->resp.doubtful = true;
	packets = responder_take(conn, skb, i);
	conn->qp->resp.doubtful = false;
	pinion_kept_pass(kept, skb, packets, mtu, conn->receiver.expected);
	consume_skb(skb);
	return max(packets, 1);
}

/*
 * One step: packets of a message that are coupled, or as much of an answer as shares a buffer.
 * Return: how many packets; 0 if there is nothing to do now.
 */
static u32 responder_go_on(struct pinion_conn *conn)
{
	struct sk_buff *skb;
	u32 packets;

	if (conn->reading.active)
		return pinion_responder_give(conn);
	packets = responder_go_on_with_kept(conn);
	if (packets)
		return packets;
	skb = pinion_line_look(&conn->requests);
	if (!skb)
		return 0;
	packets = responder_take(conn, skb, conn->requests.next);
	if (packets)
		pinion_line_pass(&conn->requests, packets);
	return packets ?: !!conn->flushing.token;
}

static bool responder_has_more(const struct pinion_conn *conn)
{
	return conn->reading.active || pinion_line_waits(&conn->requests) ||
	       pinion_kept_waits(&conn->kept_requests, conn->receiver.expected);
}

static bool responder_may_go_on(const struct pinion_conn *conn, int budget)
{
	return budget > 0 || (conn->reading.active && conn->answers_here);
}

/*
 * A step was taken, of so many packets. Return: how much of @budget it costs. A stranger keeps
 * others waiting for what he delivers: so count packets for him.
 */
static int responder_spend(struct pinion_conn *conn, u32 packets, bool answers, int budget)
{
	if (answers && conn->answers_here) {
		conn->answers_here -= min(packets, conn->answers_here);
		/* The rest of the answer is the work item's. */
		return conn->answers_here || !conn->reading.active ? 0 : budget;
	}
	return conn->qp->resp.lock.visited ? packets : 1;
}

void pinion_responder_turn(struct pinion_conn *conn, int budget)
{
	struct pinion_qp *qp = conn->qp;
	struct pinion_half *half = &qp->resp.lock;
	bool goes_on = true, answers;
	u32 packets;
	int i;

	pinion_half_assert(half);
	if (qp->dying || !pinion_qp_has_window(qp))
		return;
	if (!pinion_responder_catch_up(conn))
		return;
	for (i = 0; goes_on && responder_may_go_on(conn, budget) &&
	     (!i || !pinion_half_is_wanted(half)); i++) {
		answers = conn->reading.active;
		if (!pinion_resp_listens(qp)) {
			pinion_responder_forget(conn);
			return;
		}
		packets = responder_go_on(conn);
		goes_on = packets && !conn->has_unsaid;
		budget -= responder_spend(conn, packets, answers, budget);
		pinion_half_resched(half);
	}
	if (!conn->has_unsaid)
		pinion_responder_acknowledge_due(conn);
	qp->resp.psn = conn->receiver.expected;
	if (goes_on && responder_has_more(conn))
		queue_work(qp->wq, &conn->work);
}

void pinion_responder_forget(struct pinion_conn *conn)
{
	pinion_half_assert(&conn->qp->resp.lock);
	/* A refusal, perhaps, that has broken this queue pair. */
	pinion_responder_catch_up(conn);
	pinion_conn_close_requests(conn);
	pinion_kept_forget(&conn->kept_requests);
	pinion_outlet_leave(conn->outlet, &conn->answers_wait);
	conn->reading.active = false;
	conn->ack_due = false;
	conn->num_found = 0;
	conn->num_asked_for = 0;
	conn->flushing.token = 0;
	conn->asked = false;
	conn->page_timer = 0;
	/* Do not wait for the fault: it may never end. */
	if (conn->fault)
		pinion_fault_leave(conn->fault);
	conn->fault = NULL;
}

void pinion_responder_end(struct pinion_conn *conn)
{
	/* A receiver that has its completion may end at once; its sender waits for the answer. */
	pinion_responder_catch_up(conn);
	pinion_conn_close_requests(conn);
	pinion_kept_forget(&conn->kept_requests);
}
