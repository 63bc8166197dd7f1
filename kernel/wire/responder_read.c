// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * READs: a responder answers them burst by burst, and answers again what it was asked for
 * before. resp.lock is held.
 */
#include "../path/fault.h"
#include "responder.h"

/* Remember the READ whose answer begins. */
static struct pinion_asked *responder_remember_asked(struct pinion_conn *conn,
						     const struct pinion_msg *msg)
{
	u32 i = conn->num_asked_for++ % ARRAY_SIZE(conn->asked_for);

	conn->asked_for[i] = (struct pinion_asked){
		.number = pinion_receiver_number(&conn->receiver, msg->psn),
		.addr = msg->remote_addr,
		.packets = msg->packets,
		.length = msg->length,
		.rkey = msg->rkey,
		.srqn = msg->srqn,
	};
	return &conn->asked_for[i];
}

/* Does the READ @msg ask for (a rest of) what @asked asked for, at the same addresses? */
static bool asked_is(const struct pinion_asked *asked, const struct pinion_msg *msg, u64 number,
		     u32 mtu)
{
	u64 offset = (number - asked->number) * mtu;

	return msg->rkey == asked->rkey && msg->srqn == asked->srqn &&
	       msg->remote_addr == asked->addr + offset && msg->length + offset <= asked->length;
}

/*
 * A duplicate READ is answered only if it asks for the same memory as the original. Return: that,
 * or NULL.
 */
static struct pinion_asked *responder_was_asked(struct pinion_conn *conn,
						const struct pinion_msg *msg)
{
	u32 i, count = min_t(u64, conn->num_asked_for, ARRAY_SIZE(conn->asked_for));
	u64 number = pinion_receiver_number(&conn->receiver, msg->psn);
	struct pinion_asked *asked = conn->asked_for;

	for (i = 0; i < count; i++, asked++)
		if (number >= asked->number && number - asked->number < asked->packets)
			return asked_is(asked, msg, number, conn->qp->mtu) ? asked : NULL;
	return NULL;
}

static void responder_begin_reading(struct pinion_conn *conn, struct pinion_msg *msg, bool again)
{
	struct pinion_reading *reading = &conn->reading;
	enum pinion_verdict verdict;

	verdict = pinion_respond_read(conn->qp, msg, &reading->source, again);
	if (verdict != PINION_ACK) {
		pinion_responder_refuse(conn, msg->psn, verdict);
		return;
	}
	reading->active = true;
	reading->again = again;
	reading->doubtful = conn->qp->resp.doubtful;
	reading->psn = msg->psn;
	reading->srqn = msg->srqn;
	reading->offset = 0;
	reading->length = msg->length;
}

void pinion_responder_read_new(struct pinion_conn *conn, struct pinion_msg *msg,
			       const struct pinion_packet *packet)
{
	responder_begin_reading(conn, msg, false);
	if (!conn->reading.active)
		return;
	pinion_receiver_take(&conn->receiver, packet);
	conn->reading.asked = responder_remember_asked(conn, msg);
}

void pinion_responder_read_again(struct pinion_conn *conn, struct pinion_msg *msg)
{
	struct pinion_asked *asked = responder_was_asked(conn, msg);

	if (!asked) {
		pinion_stat_inc(conn->qp, rx_unanswered);
		return;
	}
	responder_begin_reading(conn, msg, true);
	conn->reading.asked = asked;
	/* The requester may have a part of the answer: the rest must be of the same memory. */
	conn->reading.source.era = asked->era;
}

static u8 reading_code(const struct pinion_reading *reading, u32 bytes)
{
	bool last = reading->offset + bytes == reading->length;

	if (!reading->offset)
		return last ? PINION_READ_ONLY : PINION_READ_FIRST;
	return last ? PINION_READ_LAST : PINION_READ_MIDDLE;
}

/* Copy the next @bytes of a READ's memory to @copy. */
static enum pinion_verdict responder_read(struct pinion_conn *conn, u32 bytes,
					  struct pinion_cursor *copy)
{
	struct pinion_reading *reading = &conn->reading;
	enum pinion_verdict verdict;
	struct pinion_msg msg = {
		.op = pinion_op(PINION_OP_RDMA_READ),
		.opcode = PINION_OP_RDMA_READ,
		.service = conn->qp->service,
		.xrc = pinion_conn_transport(conn->qp) == PINION_TRANSPORT_XRC,
		.length = bytes,
		.payload = copy,
		.fault = reading->doubtful ? NULL : conn->fault,
		.psn = reading->psn,
		.srqn = reading->srqn,
	};

	if (!bytes)
		return PINION_ACK;
	if (!pinion_responder_page_came(conn, &msg))
		return PINION_PEER_PAGE;
	verdict = pinion_respond_give(conn->qp, &msg, &reading->source,
				      reading->again || reading->doubtful);
	reading->asked->era = reading->source.era;
	if (verdict == PINION_PEER_PAGE)
		pinion_responder_await_page(conn, &msg);
	return verdict;
}

/* Make the headers of the next packet of the answer. */
static struct pinion_packet responder_answer(const struct pinion_conn *conn,
					     const struct pinion_reading *reading)
{
	u32 bytes = min(reading->length - reading->offset, conn->qp->mtu);
	struct pinion_packet packet =
		pinion_responder_packet(conn, reading_code(reading, bytes), reading->psn,
					PINION_AETH_ACK | PINION_AETH_UNLIMITED);

	packet.payload = bytes;
	return packet;
}

static void reading_advance(struct pinion_reading *reading, u32 packets, u32 bytes)
{
	reading->psn = pinion_psn_add(reading->psn, packets);
	reading->offset += bytes;
	reading->active = reading->offset != reading->length;
}

/*
 * A burst of @first and the packets behind it, as far as the rate has room for @bytes. Middle
 * packets have just a BTH, the first and the last an AETH, too. So only one other goes with the
 * first, and the last is not in a burst.
 */
static struct pinion_burst responder_burst(const struct pinion_conn *conn,
					   const struct pinion_packet *first, u64 bytes)
{
	struct pinion_burst burst = pinion_burst_of_one(first);
	struct pinion_reading ahead = conn->reading;
	struct pinion_packet second;
	u32 mtu = conn->qp->mtu;
	u32 most;

	if (first->payload != mtu)
		return burst;
	most = min((ahead.length - ahead.offset - 1) / mtu,
		   pinion_burst_limit(burst.headers, mtu, bytes));
	if (most < 2)
		return burst;
	reading_advance(&ahead, 1, mtu);
	second = responder_answer(conn, &ahead);
	return pinion_burst_until(burst, burst.headers == PINION_BTH_BYTES ? most : 2, &second);
}

static void responder_put(struct pinion_conn *conn, struct sk_buff *skb,
			  const struct pinion_burst *burst)
{
	struct pinion_reading reading = conn->reading;
	struct pinion_packet packet;
	u32 i;

	for (i = 0; i < burst->packets; i++) {
		packet = responder_answer(conn, &reading);
		pinion_wire_put(skb, burst, i, &packet);
		reading_advance(&reading, 1, packet.payload);
	}
}

/* Go on with the answer after @ns. */
static u32 responder_pause(struct pinion_conn *conn, u64 ns)
{
	hrtimer_start(&conn->pause, ns_to_ktime(ns), HRTIMER_MODE_REL);
	return 0;
}

/* Packet @psn of the answer lacks a page: it is to be asked for later. */
static void responder_say_later(struct pinion_conn *conn, u32 psn)
{
	u8 timer = pinion_responder_page_timer(conn, psn);

	pinion_responder_acknowledge(conn, psn, PINION_AETH_RNR | timer);
}

/*
 * The rest of the answer cannot be given now, or not at all. If the request had been kept it may be
 * somebody else's: the peer is asked for its own, and told more if that comes, too.
 */
static void responder_end_answer(struct pinion_conn *conn, enum pinion_verdict verdict)
{
	struct pinion_reading *reading = &conn->reading;

	reading->active = false;
	if (reading->doubtful)
		pinion_responder_acknowledge(conn, reading->psn,
					     PINION_AETH_NAK | PINION_NAK_CODE_SEQUENCE);
	else if (verdict == PINION_PEER_PAGE)
		responder_say_later(conn, reading->psn);
	else
		pinion_responder_refuse(conn, reading->psn, verdict);
}

u32 pinion_responder_give(struct pinion_conn *conn)
{
	gfp_t gfp = pinion_half_gfp(&conn->qp->resp.lock);
	struct pinion_reading *reading = &conn->reading;
	struct pinion_packet packet = responder_answer(conn, reading);
	enum pinion_verdict verdict;
	struct pinion_burst burst;
	struct pinion_cursor copy;
	struct sk_buff *skb;
	u64 pause, room;
	u32 bytes;

	pause = pinion_congestion_pause(conn, &room);
	if (pause)
		return responder_pause(conn, pause);
	pinion_outlet_leave(conn->outlet, &conn->answers_wait);
	if (conn->answers_here)
		room = min_t(u64, room, conn->answers_here * conn->qp->mtu);
	burst = responder_burst(conn, &packet, room);
	skb = pinion_wire_make(conn->outlet, &conn->qp->av, &burst, false, gfp, &copy);
	while (!skb && burst.packets > 1) {
		burst = responder_burst(conn, &packet, pinion_burst_payload(&burst) / 2);
		skb = pinion_wire_make(conn->outlet, &conn->qp->av, &burst, false, gfp, &copy);
	}
	if (!skb)
		return responder_pause(conn, pinion_outlet_await(conn->outlet,
								 &conn->answers_wait));
	bytes = pinion_burst_payload(&burst);
	verdict = responder_read(conn, bytes, &copy);
	if (verdict != PINION_ACK) {
		/* The requester asks for the rest again, or has failed. */
		kfree_skb(skb);
		responder_end_answer(conn, verdict);
		return 1;
	}
	pinion_responder_said(conn, pinion_psn_add(packet.psn, burst.packets - 1));
	responder_put(conn, skb, &burst);
	pinion_congestion_sent(conn, skb->len);
	pinion_responder_send(conn, &burst, skb);
	reading_advance(reading, burst.packets, bytes);
	return burst.packets;
}
