// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder of a connection to another host. logic/receiver.c decides about the order of
 * packets; they become pieces of messages for path/respond.c, and its verdicts become
 * acknowledgments and answers.
 *
 * Everything here runs with resp.lock held, in process context: in the thread that delivers
 * packets, or in conn->work.
 */
#include <rdma/ib_user_verbs.h>

#include "../logic/psn.h"
#include "../logic/timing.h"
#include "../path/fault.h"
#include "../path/refuse.h"
#include "conn.h"
#include "harm.h"

/*
 * RNR timer fields for a sender whose packet lacks a page: 0.64 ms at first, doubled each time, up
 * to 40.96 ms. Two steps of the field double the time.
 */
#define PAGE_RNR_TIMER		12
#define PAGE_RNR_TIMER_LAST	24
#define RNR_TIMER_TWICE		2

/* ------------------------------------------------------------------ answers */

static void responder_send(struct pinion_conn *conn, const struct pinion_burst *burst,
			   struct sk_buff *skb)
{
	struct pinion_qp *qp = conn->qp;
	const struct pinion_way way = {
		.av = &qp->av,
		.flow = pinion_conn_flow(qp),
		.route = &conn->answer_route,
		.errand = conn->bringer,
	};

	/* If it is lost, the requester sends its request again. */
	pinion_harm_send(qp, &conn->held, &way, burst, skb);
}

static struct pinion_packet responder_packet(const struct pinion_conn *conn, u8 code, u32 psn,
					     u8 syndrome)
{
	return (struct pinion_packet){
		.opcode = pinion_conn_transport(conn->qp) | code,
		.migrated = true,
		.selective = pinion_kept_is_wanted(),
		.pkey = PINION_PKEY_DEFAULT,
		.qpn = conn->qp->attr.dest_qp_num,
		.psn = psn,
		.syndrome = syndrome,
		.msn = conn->receiver.msn,
	};
}

/* An answer for packet @psn was sent. It acknowledges all packets before it, too. */
static void responder_said(struct pinion_conn *conn, u32 psn)
{
	if (pinion_psn_ahead(psn, conn->ack_psn) >= 0)
		conn->ack_due = false;
}

/*
 * Send an acknowledgment or an answer without payload. It may exceed the socket's send buffer,
 * since these packets are few and small. Nothing is sent on unreliable connections.
 */
static void responder_say(struct pinion_conn *conn, const struct pinion_packet *packet)
{
	struct pinion_burst burst = pinion_burst_of_one(packet);
	struct pinion_qp *qp = conn->qp;
	struct pinion_cursor none;
	struct sk_buff *skb;

	if (!pinion_qp_is_reliable(qp))
		return;
	responder_said(conn, packet->psn);
	skb = pinion_wire_make(conn->outlet, &qp->av, &burst, true, &none);
	if (!skb)
		return;
	pinion_wire_put(skb, &burst, 0, packet);
	responder_send(conn, &burst, skb);
}

static void responder_acknowledge(struct pinion_conn *conn, u32 psn, u8 syndrome)
{
	struct pinion_packet packet = responder_packet(conn, PINION_ACKNOWLEDGE, psn, syndrome);

	responder_say(conn, &packet);
}

/*
 * Send the acknowledgment that is due. It must not have the PSN of a READ or an atomic: some
 * requesters would take it for the answer.
 */
static void responder_acknowledge_due(struct pinion_conn *conn)
{
	if (conn->ack_due)
		responder_acknowledge(conn, conn->ack_psn, PINION_AETH_ACK | PINION_AETH_UNLIMITED);
}

static void responder_refuse(struct pinion_conn *conn, u32 psn, enum pinion_verdict verdict)
{
	u8 code = PINION_NAK_CODE_REQUEST;

	if (verdict == PINION_SILENCE)
		return;
	if (verdict == PINION_NAK_ACCESS)
		code = PINION_NAK_CODE_ACCESS;
	else if (verdict == PINION_NAK_OPERATION)
		code = PINION_NAK_CODE_OPERATION;
	responder_acknowledge(conn, psn, PINION_AETH_NAK | code);
}

static void responder_say_found(struct pinion_conn *conn, u32 psn, u64 before)
{
	struct pinion_packet packet = responder_packet(conn, PINION_ATOMIC_ACKNOWLEDGE, psn,
						       PINION_AETH_ACK | PINION_AETH_UNLIMITED);

	packet.before = before;
	responder_say(conn, &packet);
}

/* Answer a FLUSH or an ATOMIC_WRITE. */
static void responder_say_done(struct pinion_conn *conn, u32 psn)
{
	struct pinion_packet packet = responder_packet(conn, PINION_READ_ONLY, psn,
						       PINION_AETH_ACK | PINION_AETH_UNLIMITED);

	responder_say(conn, &packet);
}

/* Remember the result of an atomic; @psn is of the packet that was performed last. */
static void responder_remember(struct pinion_conn *conn, u32 psn, u64 before)
{
	conn->found[conn->num_found++ % ARRAY_SIZE(conn->found)] = (struct pinion_found){
		.number = pinion_receiver_number(&conn->receiver, psn),
		.before = before,
	};
}

static void responder_say_found_again(struct pinion_conn *conn, u32 psn)
{
	u32 i, count = min_t(u32, conn->num_found, ARRAY_SIZE(conn->found));
	u64 number = pinion_receiver_number(&conn->receiver, psn);

	for (i = 0; i < count; i++)
		if (conn->found[i].number == number)
			responder_say_found(conn, psn, conn->found[i].before);
}

/* Remember the arguments of a READ that was performed. */
static void responder_remember_asked(struct pinion_conn *conn, const struct pinion_msg *msg)
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
}

/* Does the READ @msg ask for (a rest of) what @asked asked for, at the same addresses? */
static bool asked_is(const struct pinion_asked *asked, const struct pinion_msg *msg, u64 number,
		     u32 mtu)
{
	u64 offset = (number - asked->number) * mtu;

	return msg->rkey == asked->rkey && msg->srqn == asked->srqn &&
	       msg->remote_addr == asked->addr + offset && msg->length + offset <= asked->length;
}

/* A duplicate READ is answered only if it asks for the same memory as the original. */
static bool responder_was_asked(const struct pinion_conn *conn, const struct pinion_msg *msg)
{
	u32 i, count = min_t(u32, conn->num_asked_for, ARRAY_SIZE(conn->asked_for));
	u64 number = pinion_receiver_number(&conn->receiver, msg->psn);
	const struct pinion_asked *asked = conn->asked_for;

	for (i = 0; i < count; i++, asked++)
		if (number >= asked->number && number - asked->number < asked->packets)
			return asked_is(asked, msg, number, conn->qp->mtu);
	return false;
}

/* --------------------------------------------------------------- a packet */

static void responder_message(struct pinion_conn *conn, const struct pinion_packet *packet,
			      struct pinion_msg *msg)
{
	const struct pinion_packet_kind *kind = pinion_packet_kind(packet->opcode);
	struct pinion_qp *qp = conn->qp;

	*msg = (struct pinion_msg){
		.op = pinion_op(kind->op),
		.opcode = kind->op,
		.service = qp->service,
		.xrc = pinion_conn_transport(qp) == PINION_TRANSPORT_XRC,
		.solicited = packet->solicited,
		.begins = kind->position & PINION_BEGINS,
		.ends = kind->position & PINION_ENDS,
		.length = packet->payload,
		.whole = packet->length,
		.src_qpn = qp->attr.dest_qp_num,
		.dst_qpn = packet->qpn,
		.fault = conn->fault,
		.psn = packet->psn,
		.packets = 1,
		.srqn = packet->srqn,
		.remote_addr = packet->addr,
		.rkey = packet->rkey,
		.operand = packet->swap_add,
		.av = &qp->av,
	};
	msg->ex = msg->op->traits & PINION_OP_HAS_INV ? packet->invalidate :
							 (__force u32)packet->imm;
	if (kind->op == PINION_OP_ATOMIC_CMP_AND_SWP) {
		msg->operand = packet->compare;
		msg->swap = packet->swap_add;
	}
	if (kind->op == PINION_OP_RDMA_READ || kind->op == PINION_OP_FLUSH)
		msg->length = packet->length;
	if (msg->op->traits & PINION_OP_WORD)
		msg->length = sizeof(u64);
	if (kind->op == PINION_OP_RDMA_READ)
		msg->packets = pinion_psn_packets(packet->length, qp->mtu);
	if (packet->flush_types & PINION_FETH_GLOBAL)
		msg->flush_rights |= IB_ACCESS_FLUSH_GLOBAL;
	if (packet->flush_types & PINION_FETH_PERSISTENT)
		msg->flush_rights |= IB_ACCESS_FLUSH_PERSISTENT;
	msg->flush_all = packet->flush_level == PINION_FETH_REGION;
}

/*
 * Take the result of a fault that was started. Return: false if it is still running; else whether
 * to try the packet, with the result in @msg.
 */
static bool responder_page_came(struct pinion_conn *conn, struct pinion_msg *msg)
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

/* The packet lacks a page. Note whether conn->fault was started; allocate it for the next try. */
static void responder_await_page(struct pinion_conn *conn, const struct pinion_msg *msg)
{
	conn->asked = msg->asked;
	conn->asked_psn = msg->psn;
	if (!conn->fault)
		conn->fault = pinion_fault_alloc(GFP_NOIO | __GFP_ACCOUNT | __GFP_NOWARN);
}

/* The RNR timer for packet @psn, which lacks a page. Longer each time. */
static u8 responder_page_timer(struct pinion_conn *conn, u32 psn)
{
	if (conn->page_timer && psn == conn->page_psn)
		conn->page_timer = min(conn->page_timer + RNR_TIMER_TWICE, PAGE_RNR_TIMER_LAST);
	else
		conn->page_timer = PAGE_RNR_TIMER;
	conn->page_psn = psn;
	return conn->page_timer;
}

/* The sender sends everything again then, so nothing is kept. */
static void responder_defer(struct pinion_conn *conn, u32 psn, u8 timer)
{
	pinion_kept_forget(&conn->kept_requests);
	pinion_receiver_defer(&conn->receiver);
	responder_acknowledge(conn, psn, PINION_AETH_RNR | timer);
}

static void responder_page_is_there(struct pinion_qp *qp)
{
	queue_work(qp->wq, &qp->conn->work);
}

/* Unreliable: packet @psn, which lacks a page, stays in the line until the page may be there. */
static void responder_hold(struct pinion_conn *conn, u32 psn)
{
	if (conn->asked)
		pinion_fault_wait(conn->fault, conn->qp, responder_page_is_there);
	else
		hrtimer_start(&conn->pause,
			      ns_to_ktime(pinion_rnr_timer_ns(responder_page_timer(conn, psn))),
			      HRTIMER_MODE_REL);
}

static void responder_begin_reading(struct pinion_conn *conn, struct pinion_msg *msg, bool again)
{
	struct pinion_reading *reading = &conn->reading;
	enum pinion_verdict verdict;

	verdict = pinion_respond_read(conn->qp, msg, &reading->source, again);
	if (verdict != PINION_ACK) {
		responder_refuse(conn, msg->psn, verdict);
		return;
	}
	reading->active = true;
	reading->again = again;
	reading->psn = msg->psn;
	reading->srqn = msg->srqn;
	reading->offset = 0;
	reading->length = msg->length;
}

/*
 * @msg was performed; @packet is its last packet. Send its answer, or note that an acknowledgment
 * is due. @ack_request: one of its packets has asked for an acknowledgment.
 */
static void responder_performed(struct pinion_conn *conn, const struct pinion_packet *packet,
				const struct pinion_msg *msg, bool ack_request)
{
	if (!(msg->op->traits & PINION_OP_WORD) && msg->opcode != PINION_OP_FLUSH) {
		conn->ack_due |= ack_request;
		conn->ack_psn = packet->psn;
	} else if (msg->op->traits & PINION_OP_WRITES_SGES) {
		responder_remember(conn, packet->psn, msg->before);
		responder_say_found(conn, packet->psn, msg->before);
	} else {
		responder_say_done(conn, packet->psn);
	}
}

static enum pinion_verdict responder_try(struct pinion_conn *conn, struct pinion_msg *msg,
					 const struct pinion_train *train)
{
	struct pinion_resp *resp = &conn->qp->resp;
	struct pinion_cursor stood = resp->cursor, source;
	enum pinion_verdict verdict;

	if (!responder_page_came(conn, msg))
		return PINION_PEER_PAGE;
	pinion_train_payload(train, &source);
	msg->payload = &source;
	verdict = pinion_respond(conn->qp, msg);
	if (verdict != PINION_PEER_PAGE)
		return verdict;
	/* The sender sends the whole piece again: go back to its begin. */
	resp->cursor = stood;
	resp->token = 0;
	responder_await_page(conn, msg);
	return verdict;
}

/*
 * Couple the packets that follow in the buffer, if they are the next ones of the same message.
 * @ahead becomes the receiver's state after all of them. While the result of a fault is pending
 * nothing is coupled, since it is about that one packet. Return: whether any packet asks for an
 * acknowledgment.
 */
static bool responder_couple(struct pinion_conn *conn, struct pinion_train *train,
			     struct pinion_receiver *ahead)
{
	bool ack_request = train->packet.ack_request;
	struct pinion_receiver next;
	struct pinion_packet packet;

	pinion_receiver_take(ahead, &train->packet);
	while (ahead->within && !conn->asked && pinion_train_look(train, &packet)) {
		next = *ahead;
		if (pinion_receiver_look(&next, &packet) != PINION_ARRIVAL_NEW)
			break;
		pinion_receiver_take(&next, &packet);
		*ahead = next;
		pinion_train_couple(train, &packet);
		ack_request |= packet.ack_request;
	}
	return ack_request;
}

/*
 * Make the message of a train. The last packet tells the operation (with immediate, for instance);
 * the first has the address.
 */
static void responder_message_of(struct pinion_conn *conn, const struct pinion_train *train,
				 const struct pinion_packet *first, struct pinion_msg *msg)
{
	const struct pinion_packet_kind *kind = pinion_packet_kind(first->opcode);
	struct pinion_packet packet = train->packet;

	packet.psn = first->psn;
	packet.srqn = first->srqn;
	packet.addr = first->addr;
	packet.rkey = first->rkey;
	packet.length = first->length;
	responder_message(conn, &packet, msg);
	msg->begins = kind->position & PINION_BEGINS;
	if (train->packets > 1)
		msg->length = train->bytes;
	msg->packets = train->packets;
}

/* Perform a train. Return: false if it stays in the line, to be tried again. */
static bool responder_perform(struct pinion_conn *conn, struct pinion_train *train)
{
	const struct pinion_packet first = train->packet;
	struct pinion_receiver ahead = conn->receiver;
	enum pinion_verdict verdict;
	struct pinion_msg msg;
	bool ack_request;

	responder_message(conn, &first, &msg);
	if (msg.opcode == PINION_OP_RDMA_READ) {
		responder_begin_reading(conn, &msg, false);
		if (conn->reading.active) {
			pinion_receiver_take(&conn->receiver, &first);
			responder_remember_asked(conn, &msg);
		}
		return true;
	}
	ack_request = responder_couple(conn, train, &ahead);
	responder_message_of(conn, train, &first, &msg);
	verdict = responder_try(conn, &msg, train);
	if (verdict == PINION_ACK) {
		conn->receiver = ahead;
		responder_performed(conn, &train->packet, &msg, ack_request);
	} else if (verdict == PINION_RNR) {
		responder_defer(conn, first.psn, conn->qp->attr.min_rnr_timer);
	} else if (verdict == PINION_PEER_PAGE && !pinion_qp_is_reliable(conn->qp)) {
		responder_hold(conn, first.psn);
		return false;
	} else if (verdict == PINION_PEER_PAGE) {
		responder_defer(conn, first.psn, responder_page_timer(conn, first.psn));
	} else {
		responder_refuse(conn, first.psn, verdict);
	}
	return true;
}

/*
 * Answer a duplicate. Atomics are not performed again: the old result is sent. A READ is performed
 * again, and may ask for a rest of what it asked for before.
 */
static void responder_answer_again(struct pinion_conn *conn, const struct pinion_packet *packet)
{
	struct pinion_msg msg;

	responder_message(conn, packet, &msg);
	if (msg.opcode == PINION_OP_RDMA_READ) {
		if (responder_was_asked(conn, &msg))
			responder_begin_reading(conn, &msg, true);
	} else if (msg.op->traits & PINION_OP_WRITES_SGES) {
		responder_say_found_again(conn, packet->psn);
	} else {
		responder_say_done(conn, packet->psn);
	}
}

/* Packet @expected is missing: all is to be sent again from there on. */
static void responder_say_lost(struct pinion_conn *conn)
{
	pinion_stat_inc(conn->qp, out_of_sequence);
	responder_acknowledge(conn, conn->receiver.expected,
			      PINION_AETH_NAK | PINION_NAK_CODE_SEQUENCE);
}

/* Only the packets before number @end are to be sent again, from @gap on. */
static void responder_say_gap(struct pinion_conn *conn, u32 gap, u32 end)
{
	struct pinion_packet packet = responder_packet(conn, PINION_ACKNOWLEDGE,
						       conn->receiver.expected,
						       PINION_AETH_NAK | PINION_NAK_CODE_GAP);

	packet.msn = pinion_gap_msn(pinion_psn_ahead(gap, conn->receiver.expected),
				    pinion_psn_ahead(end, gap));
	pinion_stat_inc(conn->qp, out_of_sequence);
	responder_say(conn, &packet);
}

/*
 * Packet @psn, packet @i of @skb, came early: keep it and those that follow it, and tell the sender
 * which packets are missing: those right before it, and those before all that is kept, if that was
 * not told since something was performed. Return: how many packets of @skb are done.
 */
static u32 responder_keep(struct pinion_conn *conn, u32 psn, struct sk_buff *skb, u32 i)
{
	struct pinion_kept *kept = &conn->kept_requests;
	struct pinion_receiver *receiver = &conn->receiver;
	u32 gap, first, packets;

	switch (pinion_kept_add(kept, skb, i, receiver->mtu, receiver->expected, &gap,
				&packets)) {
	case PINION_KEEPING_FULL:
		pinion_stat_inc(conn->qp, rx_early_drops);
		if (pinion_receiver_tell(receiver))
			responder_say_lost(conn);
		return 1;
	case PINION_KEEPING_KNOWN:
		pinion_stat_inc(conn->qp, rx_early_drops);
		return 1;
	case PINION_KEEPING:
		break;
	}
	pinion_stat_add(conn->qp, rx_early_packets, packets);
	first = pinion_early_first(&kept->early)->psn;
	if (pinion_receiver_tell(receiver)) {
		responder_say_gap(conn, receiver->expected, first);
		if (first == psn)
			gap = psn;
	}
	if (gap != psn)
		responder_say_gap(conn, gap, psn);
	return packets;
}

/*
 * Process packet @i, and those coupled with it. @kept: it came early. Return: how many are done.
 */
static u32 responder_take(struct pinion_conn *conn, struct sk_buff *skb, u32 i, bool kept)
{
	struct pinion_train train;
	struct pinion_av av;

	if (!pinion_wire_addresses(skb, &av) || !pinion_conn_is_peer(conn->qp, &av))
		return pinion_wire_packets(skb);
	pinion_congestion_look(conn, skb, conn->bringer);
	if (!pinion_train_begin(&train, skb, i))
		return 1;
	train.packet.selective &= pinion_kept_is_wanted();
	switch (pinion_receiver_look(&conn->receiver, &train.packet)) {
	case PINION_ARRIVAL_NEW:
	case PINION_ARRIVAL_RESTART:
		if (!responder_perform(conn, &train))
			return 0;
		break;
	case PINION_ARRIVAL_LOST:
	case PINION_ARRIVAL_DROP:
		break;
	case PINION_ARRIVAL_AGAIN:
		pinion_stat_inc(conn->qp, duplicate_request);
		conn->ack_due = true;
		break;
	case PINION_ARRIVAL_ANSWER_AGAIN:
		pinion_stat_inc(conn->qp, duplicate_request);
		responder_answer_again(conn, &train.packet);
		break;
	case PINION_ARRIVAL_GAP:
		responder_say_lost(conn);
		break;
	case PINION_ARRIVAL_EARLY:
		return responder_keep(conn, train.packet.psn, skb, i);
	case PINION_ARRIVAL_INVALID:
		/*
		 * Many numbers are kept, but only one is the next: who guesses numbers must not
		 * break the connection more easily for that. The sender sends its own packet again.
		 */
		if (kept) {
			pinion_stat_inc(conn->qp, rx_early_drops);
			pinion_kept_forget(&conn->kept_requests);
			break;
		}
		responder_refuse(conn, train.packet.psn,
				 pinion_refuse(conn->qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR));
		break;
	}
	return train.packets;
}

/* ------------------------------------------------------------------ a READ */

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
		.fault = conn->fault,
		.psn = reading->psn,
		.srqn = reading->srqn,
	};

	if (!bytes)
		return PINION_ACK;
	if (!responder_page_came(conn, &msg))
		return PINION_PEER_PAGE;
	verdict = pinion_respond_give(conn->qp, &msg, &reading->source, reading->again);
	if (verdict == PINION_PEER_PAGE)
		responder_await_page(conn, &msg);
	return verdict;
}

/* Make the headers of the next packet of the answer. */
static struct pinion_packet responder_answer(const struct pinion_conn *conn,
					     const struct pinion_reading *reading)
{
	u32 bytes = min(reading->length - reading->offset, conn->qp->mtu);
	struct pinion_packet packet = responder_packet(conn, reading_code(reading, bytes),
						       reading->psn, PINION_AETH_ACK |
						       PINION_AETH_UNLIMITED);

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
 * A burst of @first and the packets behind it, as far as the rate has room for @bytes. Only middle
 * packets, which have just a BTH.
 */
static struct pinion_burst responder_burst(const struct pinion_conn *conn,
					   const struct pinion_packet *first, u64 bytes)
{
	const struct pinion_reading *reading = &conn->reading;
	struct pinion_burst burst = pinion_burst_of_one(first);
	u32 mtu = conn->qp->mtu;

	/* The last packet of the answer has an AETH, so it is not in the burst. */
	if (burst.headers == PINION_BTH_BYTES)
		burst.packets = min((reading->length - reading->offset - 1) / mtu,
				    pinion_burst_limit(burst.headers, mtu, bytes));
	return burst;
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
static bool responder_pause(struct pinion_conn *conn, u64 ns)
{
	hrtimer_start(&conn->pause, ns_to_ktime(ns), HRTIMER_MODE_REL);
	return false;
}

/* Send the next packets of the answer. Return: false for a pause: the rate, or a full socket. */
static bool responder_give(struct pinion_conn *conn)
{
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
	burst = responder_burst(conn, &packet, room);
	skb = pinion_wire_make(conn->outlet, &conn->qp->av, &burst, false, &copy);
	if (!skb && burst.packets > 1) {
		burst.packets = 1;
		skb = pinion_wire_make(conn->outlet, &conn->qp->av, &burst, false, &copy);
	}
	if (!skb)
		return responder_pause(conn, pinion_outlet_await(conn->outlet,
								 &conn->answers_wait));
	bytes = packet.payload * burst.packets;
	verdict = responder_read(conn, bytes, &copy);
	if (verdict != PINION_ACK) {
		/* The requester asks for the rest again, or has failed. */
		kfree_skb(skb);
		reading->active = false;
		if (verdict == PINION_PEER_PAGE)
			responder_acknowledge(conn, reading->psn, PINION_AETH_RNR |
					      responder_page_timer(conn, reading->psn));
		else
			responder_refuse(conn, reading->psn, verdict);
		return true;
	}
	responder_said(conn, pinion_psn_add(packet.psn, burst.packets - 1));
	responder_put(conn, skb, &burst);
	pinion_congestion_sent(conn, skb->len);
	responder_send(conn, &burst, skb);
	reading_advance(reading, burst.packets, bytes);
	return true;
}

/* ---------------------------------------------------------------- the turn */

/* Is it the turn of a packet that came early? Then process it. */
static bool responder_go_on_with_kept(struct pinion_conn *conn)
{
	struct pinion_kept *kept = &conn->kept_requests;
	u32 i, packets, mtu = conn->receiver.mtu;
	struct sk_buff *skb;

	skb = pinion_kept_look(kept, conn->receiver.expected, &i);
	if (!skb)
		return false;
	/* A packet that breaks the connection, or is deferred, ends the keeping of all. */
	skb_get(skb);
	packets = responder_take(conn, skb, i, true);
	pinion_kept_pass(kept, skb, packets, mtu, conn->receiver.expected);
	consume_skb(skb);
	return true;
}

static bool responder_go_on(struct pinion_conn *conn)
{
	struct sk_buff *skb;
	u32 packets;

	if (conn->reading.active)
		return responder_give(conn);
	if (responder_go_on_with_kept(conn))
		return true;
	skb = pinion_line_look(&conn->requests);
	if (!skb)
		return false;
	packets = responder_take(conn, skb, conn->requests.next, false);
	if (packets)
		pinion_line_pass(&conn->requests, packets);
	return packets;
}

static bool responder_has_more(const struct pinion_conn *conn)
{
	return conn->reading.active || pinion_line_waits(&conn->requests) ||
	       pinion_kept_waits(&conn->kept_requests, conn->receiver.expected);
}

void pinion_responder_turn(struct pinion_conn *conn, int packets)
{
	struct pinion_qp *qp = conn->qp;
	struct pinion_half *half = &qp->resp.lock;
	bool goes_on = true;
	int i;

	pinion_half_assert(half);
	if (qp->dying || !pinion_qp_has_window(qp))
		return;
	for (i = 0; i < packets && goes_on && (!i || !pinion_half_is_wanted(half)); i++) {
		if (!pinion_resp_listens(qp)) {
			pinion_responder_forget(conn);
			return;
		}
		goes_on = responder_go_on(conn);
	}
	responder_acknowledge_due(conn);
	qp->resp.psn = conn->receiver.expected;
	if (goes_on && responder_has_more(conn))
		queue_work(qp->wq, &conn->work);
}

void pinion_responder_forget(struct pinion_conn *conn)
{
	pinion_half_assert(&conn->qp->resp.lock);
	pinion_line_close(&conn->requests);
	pinion_kept_forget(&conn->kept_requests);
	pinion_outlet_leave(conn->outlet, &conn->answers_wait);
	conn->reading.active = false;
	conn->ack_due = false;
	conn->num_found = 0;
	conn->num_asked_for = 0;
	conn->asked = false;
	conn->page_timer = 0;
	/* Do not wait for the fault: it may never end. */
	if (conn->fault)
		pinion_fault_leave(conn->fault);
	conn->fault = NULL;
}
