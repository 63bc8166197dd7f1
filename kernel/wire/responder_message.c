// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The packets of a responder become messages, or pieces of them, for path/respond.c; and what
 * follows from its verdict. resp.lock is held.
 */
#include <rdma/ib_user_verbs.h>

#include "responder.h"

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
		/* It may be of any length, and a whole namespace may wait for this thread. */
		.brief = kind->op == PINION_OP_FLUSH,
		.length = packet->payload,
		.whole = packet->length,
		.src_qpn = qp->attr.dest_qp_num,
		.dst_qpn = packet->qpn,
		/* If the packet may be forged, the peer's own must not wait for a fault of it. */
		.fault = qp->resp.doubtful ? NULL : conn->fault,
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
		pinion_responder_remember(conn, packet->psn, msg->before);
		pinion_responder_say_found(conn, packet->psn, msg->before);
	} else {
		pinion_responder_say_done(conn, packet->psn);
	}
}

static bool flushing_is(const struct pinion_flushing *flushing, const struct pinion_msg *msg)
{
	return msg->opcode == PINION_OP_FLUSH && msg->psn == flushing->psn &&
	       msg->remote_addr == flushing->addr && msg->length == flushing->length &&
	       msg->rkey == flushing->rkey && msg->flush_rights == flushing->rights &&
	       msg->flush_all == flushing->all;
}

/*
 * Remember @msg if it is a FLUSH that goes on later. Return: whether it is. Called for each
 * message, so it does not write to this cache line unless there was such a FLUSH.
 */
static bool responder_goes_on(struct pinion_conn *conn, const struct pinion_msg *msg,
			      enum pinion_verdict verdict)
{
	struct pinion_flushing *flushing = &conn->flushing;

	if (flushing->token)
		flushing->token = 0;
	if (msg->opcode != PINION_OP_FLUSH || !pinion_verdict_goes_on(verdict))
		return false;
	*flushing = (struct pinion_flushing){
		.token = msg->token,
		.addr = msg->remote_addr,
		.length = msg->length,
		.rkey = msg->rkey,
		.rights = msg->flush_rights,
		.all = msg->flush_all,
		.psn = msg->psn,
	};
	return true;
}

static enum pinion_verdict responder_try(struct pinion_conn *conn, struct pinion_msg *msg,
					 const struct pinion_train *train)
{
	struct pinion_resp *resp = &conn->qp->resp;
	struct pinion_cursor stood = resp->cursor, source;
	enum pinion_verdict verdict;

	if (!pinion_responder_page_came(conn, msg))
		return PINION_PEER_PAGE;
	if (flushing_is(&conn->flushing, msg))
		msg->token = conn->flushing.token;
	pinion_train_payload(train, &source);
	msg->payload = &source;
	verdict = pinion_respond(conn->qp, msg);
	if (!responder_goes_on(conn, msg, verdict) && verdict != PINION_ACK &&
	    (verdict == PINION_PEER_PAGE || resp->doubtful)) {
		/* The sender sends the whole piece again: go back to its begin. */
		resp->cursor = stood;
		resp->token = 0;
	}
	if (verdict == PINION_PEER_PAGE)
		pinion_responder_await_page(conn, msg);
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

/*
 * Is a kept packet with this @verdict dropped, since it may be forged? A verdict of any other kind
 * has broken the queue pair, whosever packet it was, and the peer is told.
 */
static bool responder_may_drop(enum pinion_verdict verdict)
{
	return verdict == PINION_SILENCE || verdict == PINION_RNR || verdict == PINION_PEER_PAGE;
}

bool pinion_responder_perform(struct pinion_conn *conn, struct pinion_train *train)
{
	const struct pinion_packet first = train->packet;
	struct pinion_receiver ahead = conn->receiver;
	enum pinion_verdict verdict;
	struct pinion_msg msg;
	bool ack_request;

	responder_message(conn, &first, &msg);
	if (msg.opcode == PINION_OP_RDMA_READ) {
		pinion_responder_read_new(conn, &msg, &first);
		return true;
	}
	ack_request = responder_couple(conn, train, &ahead);
	responder_message_of(conn, train, &first, &msg);
	verdict = responder_try(conn, &msg, train);
	if (verdict == PINION_ACK) {
		conn->receiver = ahead;
		conn->receiver.doubtful = conn->qp->resp.doubtful;
		responder_performed(conn, &train->packet, &msg, ack_request);
	} else if (verdict == PINION_GAVE_WAY) {
		return false;
	} else if (conn->qp->resp.doubtful && responder_may_drop(verdict)) {
		pinion_responder_drop_doubtful(conn);
	} else if (verdict == PINION_SILENCE && !pinion_qp_is_reliable(conn->qp)) {
		pinion_stat_add(conn->qp, ud_drops, train->packets);
	} else if (verdict == PINION_RNR) {
		pinion_responder_defer(conn, first.psn, conn->qp->attr.min_rnr_timer);
	} else if (verdict == PINION_PEER_PAGE && !pinion_qp_is_reliable(conn->qp)) {
		pinion_responder_hold(conn, first.psn);
		return false;
	} else if (verdict == PINION_PEER_PAGE) {
		pinion_stat_add(conn->qp, rx_page_drops, train->packets);
		pinion_responder_defer(conn, first.psn,
				       pinion_responder_page_timer(conn, first.psn));
	} else {
		pinion_responder_refuse(conn, first.psn, verdict);
	}
	return true;
}

void pinion_responder_answer_again(struct pinion_conn *conn, const struct pinion_packet *packet)
{
	struct pinion_msg msg;

	responder_message(conn, packet, &msg);
	if (msg.opcode == PINION_OP_RDMA_READ)
		pinion_responder_read_again(conn, &msg);
	else if (msg.op->traits & PINION_OP_WRITES_SGES)
		pinion_responder_say_found_again(conn, packet->psn);
	else
		pinion_responder_say_done(conn, packet->psn);
}
