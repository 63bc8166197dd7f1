// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sends the packets of a request: one, or as many of a message as share a buffer. They are sent if
 * the window, the rate and the socket have room. sq.exec is held.
 */
#include "../logic/pace.h"
#include "../mem/inject.h"
#include "../path/message.h"
#include "../path/move.h"
#include "harm.h"
#include "requester.h"

/* How long nothing is sent after a queue of the netdev was full: doubled each time. */
#define FULL_LEAST	(50 * NSEC_PER_USEC)
#define FULL_MOST	(4 * NSEC_PER_MSEC)

/*
 * A burst of @first and the packets behind it, as far as the window has room, and the rate for
 * @bytes. Headers of the same length are needed: the first packet of a WRITE has longer headers, so
 * only one other goes with it, and those of the last packet of a message may be longer.
 */
static struct pinion_burst requester_burst(struct pinion_conn *conn,
					   const struct pinion_request *request,
					   const struct pinion_msg *msg,
					   const struct pinion_packet *first, u64 bytes)
{
	u32 left = request->packets - ((first->psn - request->psn) & PINION_PSN_MASK);
	u32 room = pinion_sender_room(&conn->sender, conn->inflight.window);
	struct pinion_burst burst = pinion_burst_of_one(first);
	struct pinion_packet last;
	u32 packets, most;

	if (first->payload != conn->qp->mtu || left == 1)
		return burst;
	most = min3(left, room, pinion_burst_limit(burst.headers, burst.payload, bytes));
	if (pinion_packet_headers(first->opcode) & PINION_RETH)
		most = min(most, 2);
	if (most < 2)
		return burst;
	pinion_requester_packet(conn, request, msg, pinion_psn_add(first->psn, most - 1), &last,
				&packets);
	if (pinion_packet_header_bytes(last.opcode) <= burst.headers)
		return pinion_burst_until(burst, most, &last);
	burst.packets = most - 1;
	return burst;
}

/* Copy payload from packet @psn on to @copy. Return: DONE, also if it failed; PARKED: no page. */
static enum pinion_step requester_load(struct pinion_conn *conn, struct pinion_request *request,
				       u32 psn, u64 left, struct pinion_cursor *copy)
{
	u64 offset = pinion_request_offset(conn, request, psn);
	struct pinion_missing missing;

	if (!left)
		return PINION_STEP_DONE;
	pinion_request_seek(request, offset);
	request->at += left;
	switch (pinion_move(conn->qp->node, copy, &request->payload, &left, &missing)) {
	case PINION_MOVED:
		return PINION_STEP_DONE;
	case PINION_MOVE_NO_SOURCE:
		return pinion_requester_lack(conn, request, &missing);
	default:
		pinion_request_stick_local(conn->qp, request, request->payload.syndrome);
		return PINION_STEP_DONE;
	}
}

/* @taken: no full queue has dropped them. */
static void requester_sent(struct pinion_conn *conn, u32 packets, bool taken)
{
	struct pinion_sender *sender = &conn->sender;
	s32 again = pinion_psn_ahead(sender->end, pinion_sender_first(sender));

	if (again > 0 && taken)
		pinion_stat_add(conn->qp, resent_packets, min_t(u32, packets, again));
	pinion_sender_sent(sender, packets);
	/* Nothing acknowledges packets of an unreliable connection. */
	if (!pinion_qp_is_reliable(conn->qp)) {
		pinion_sender_acknowledge(sender, pinion_psn_add(sender->next, -1),
					  PINION_AETH_ACK);
		pinion_requester_retire(conn);
		return;
	}
	pinion_requester_owe(conn);
}

bool pinion_requester_has_room(const struct pinion_conn *conn, u32 packets)
{
	const struct pinion_sender *sender = &conn->sender;

	if (pinion_sender_first(sender) == sender->una)
		packets = 1;
	return pinion_sender_room(sender, conn->inflight.window) >= packets;
}

/* max_rd_atomic counts as 1 at least: it may have been set to 0 after the request was begun. */
static bool requester_may_send(struct pinion_conn *conn, const struct pinion_request *request,
			       u32 packets)
{
	if (!pinion_requester_has_room(conn, packets))
		return false;
	/* What was lost is counted as under way. */
	return !(request->op->traits & PINION_OP_HAS_ANSWER) ||
	       pinion_sender_first(&conn->sender) != conn->sender.next ||
	       pinion_sender_asked(&conn->sender) < max_t(u32, conn->qp->attr.max_rd_atomic, 1);
}

/*
 * A queue of the netdev was full, and has dropped @packets from @psn on. They are sent again after
 * a pause. That uses up no retry, as the peer knows nothing of it. But the ACK timer goes on: if
 * the queue takes nothing any more, the connection ends as one whose network loses all.
 */
static void requester_was_full(struct pinion_conn *conn, u32 psn, u32 packets)
{
	u32 before = pinion_psn_ahead(psn, conn->sender.una);

	pinion_sender_unsent(&conn->sender, psn, packets);
	if (!conn->full_pause)
		pinion_inflight_full(&conn->inflight, before);
	conn->full_pause = pinion_pace_slower(conn->full_pause, FULL_LEAST, FULL_MOST);
	conn->full_until = ktime_get_ns() + conn->full_pause;
	conn->paced = conn->full_until;
}

/* Is it too early to try again? */
static bool requester_awaits_queue(struct pinion_conn *conn)
{
	if (!conn->full_until)
		return false;
	if (ktime_get_ns() < conn->full_until) {
		conn->paced = conn->full_until;
		return true;
	}
	conn->full_until = 0;
	return false;
}

/*
 * Does the rate demand a pause, or a full queue? If not, *@room is set to the bytes that may be
 * sent now.
 */
static bool requester_must_pause(struct pinion_conn *conn, u64 *room)
{
	u64 pause = pinion_congestion_pause(conn, room);

	conn->paced = pause ? ktime_get_ns() + pause : 0;
	return pause || requester_awaits_queue(conn);
}

/* Return: false if a full queue has dropped @skb. */
static bool requester_transmit(struct pinion_conn *conn, const struct pinion_burst *burst,
			       struct sk_buff *skb)
{
	struct pinion_qp *qp = conn->qp;
	/* Read before @skb is sent: it may be freed at once then. */
	u32 bytes = skb->len;
	const struct pinion_way way = {
		.av = &qp->av,
		.flow = pinion_conn_flow(qp),
		.route = &conn->route,
		.errand = &conn->errand,
	};

	if (pinion_harm_send(qp, &conn->held, &way, burst, skb) == PINION_SENT_FULL) {
		pinion_stat_add(qp, tx_drops, burst->packets);
		return false;
	}
	/* Also without a route: there may be one when the packet is sent again. */
	pinion_congestion_sent(conn, bytes);
	return true;
}

static void requester_put(struct pinion_conn *conn, const struct pinion_request *request,
			  const struct pinion_msg *msg, struct sk_buff *skb,
			  const struct pinion_burst *burst)
{
	/* With a limited rate a pause follows, which may be longer than the ACK timeout. */
	bool pauses = READ_ONCE(conn->qp->rate);
	u32 i, packets, psn = pinion_sender_first(&conn->sender);
	struct pinion_packet packet;

	for (i = 0; i < burst->packets; i++) {
		pinion_requester_packet(conn, request, msg, pinion_psn_add(psn, i), &packet,
					&packets);
		packet.ack_request |= pauses && i == burst->packets - 1;
		pinion_wire_put(skb, burst, i, &packet);
	}
}

/*
 * Does an order say that the receiver is not ready for this message? Then its packets are lost, and
 * the answer comes at once.
 */
static bool requester_injected_rnr(const struct pinion_conn *conn,
				   const struct pinion_request *request, u32 psn)
{
	const struct pinion_qp *qp = conn->qp;

	return psn == request->psn && psn == conn->sender.una && pinion_qp_is_reliable(qp) &&
	       pinion_inject(PINION_INJECT_RNR, qp->pid, qp->ibqp.qp_num);
}

static void requester_obey_rnr(struct pinion_conn *conn)
{
	u8 syndrome = PINION_AETH_RNR | PINION_INJECTED_RNR_TIMER;

	pinion_requester_obey(conn, pinion_sender_acknowledge(&conn->sender, conn->sender.una,
							      syndrome), syndrome);
}

/* The queue is parked first: it may be woken at once. */
static void requester_await_room(struct pinion_conn *conn)
{
	u64 pause;

	pinion_sq_park(conn->qp, PINION_OUTLET_LONG);
	pause = pinion_outlet_await(conn->outlet, &conn->requests_wait);
	if (pause != PINION_OUTLET_LONG)
		pinion_sq_park(conn->qp, pause);
}

enum pinion_step pinion_requester_send(struct pinion_conn *conn, struct pinion_request *request)
{
	u32 psn = pinion_sender_first(&conn->sender);
	struct pinion_packet packet;
	struct pinion_qp *qp = conn->qp;
	gfp_t gfp = pinion_half_gfp(&qp->sq.exec);
	struct pinion_burst burst;
	struct pinion_cursor copy;
	struct pinion_msg msg;
	struct pinion_av av;
	enum pinion_step step;
	struct sk_buff *skb;
	enum pinion_syndrome syndrome;
	u32 packets;
	bool not_ready, taken = true;
	u64 room;

	syndrome = pinion_message_of(qp, request, &msg, &av);
	if (syndrome) {
		pinion_request_stick(request, IB_WC_LOC_QP_OP_ERR, syndrome);
		return PINION_STEP_DONE;
	}
	pinion_requester_packet(conn, request, &msg, psn, &packet, &packets);
	if (!requester_may_send(conn, request, packets) || requester_must_pause(conn, &room))
		return PINION_STEP_PARKED;
	burst = requester_burst(conn, request, &msg, &packet, room);
	skb = pinion_wire_make(conn->outlet, &qp->av, &burst, false, gfp, &copy);
	while (!skb && burst.packets > 1) {
		burst = requester_burst(conn, request, &msg, &packet,
					pinion_burst_payload(&burst) / 2);
		skb = pinion_wire_make(conn->outlet, &qp->av, &burst, false, gfp, &copy);
	}
	if (!skb) {
		requester_await_room(conn);
		return PINION_STEP_PARKED;
	}
	step = requester_load(conn, request, psn, pinion_burst_payload(&burst), &copy);
	if (step == PINION_STEP_PARKED || request->stuck) {
		kfree_skb(skb);
		return step;
	}
	not_ready = requester_injected_rnr(conn, request, psn);
	requester_put(conn, request, &msg, skb, &burst);
	if (not_ready)
		kfree_skb(skb);
	else
		taken = requester_transmit(conn, &burst, skb);
	packets = max(packets, burst.packets);
	if (request->op->traits & PINION_OP_HAS_ANSWER)
		pinion_sender_ask(&conn->sender, packets);
	requester_sent(conn, packets, taken);
	if (not_ready)
		requester_obey_rnr(conn);
	/* Nobody repeats the packets of an unreliable connection. */
	if (taken || !pinion_qp_is_reliable(qp)) {
		conn->full_pause = 0;
		return PINION_STEP_DONE;
	}
	requester_was_full(conn, psn, packets);
	return PINION_STEP_PARKED;
}
