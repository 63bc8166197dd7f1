// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What comes back to a requester: acknowledgments, and answers, which are stored in the memory that
 * their requests name. Nothing in them is trusted. sq.exec is held.
 */
#include "../path/move.h"
#include "requester.h"

/* Packets, or trains of them, processed in one turn. */
#define BURST	32

/* What is processed: packet @i of @skb, and those behind it. */
struct requester_heard {
	struct sk_buff *skb;
	u32 i;
	bool kept;			/* it came early; else it is the next of the line */
};

/*
 * The next @packets are done. This comes before all that may end the requests: what still waits
 * then is dropped, and counted.
 */
static void requester_pass(struct pinion_conn *conn, const struct requester_heard *heard,
			   u32 packets)
{
	if (heard->kept)
		pinion_kept_pass(&conn->kept_answers, heard->skb, packets, conn->qp->mtu,
				 conn->sender.due);
	else
		pinion_line_pass(&conn->answers, packets);
}

/* The next packet changes nothing. */
static void requester_drop(struct pinion_conn *conn, const struct requester_heard *heard)
{
	pinion_stat_inc(conn->qp, rx_stale);
	requester_pass(conn, heard, 1);
}

/*
 * Copy @bytes of an answer from @source to @offset of the request's payload. Return: DONE, also if
 * the request has failed; or PARKED, if a page is missing, or the executor is to fail it.
 */
static enum pinion_step requester_store(struct pinion_conn *conn, struct pinion_request *request,
					u64 offset, struct pinion_cursor *source, u64 bytes)
{
	struct pinion_missing missing;

	pinion_request_seek(request, offset);
	request->at += bytes;
	switch (pinion_move(conn->qp->node, &request->payload, source, &bytes, &missing)) {
	case PINION_MOVED:
		return PINION_STEP_DONE;
	case PINION_MOVE_NO_SINK:
		return pinion_requester_lack(conn, request, &missing);
	default:
		pinion_request_stick_local(conn->qp, request, request->payload.syndrome);
		return pinion_requester_fail_oldest(conn, request->status, request->syndrome);
	}
}

/* Does @packet have the kind and the length of @request's answer? Its PSN is one of @request. */
static bool answer_fits(const struct pinion_conn *conn, const struct pinion_request *request,
			const struct pinion_packet *packet)
{
	u64 offset = pinion_request_offset(conn, request, packet->psn);

	if (pinion_op_is_atomic(request->op))
		return packet->opcode % PINION_PACKET_CODES == PINION_ATOMIC_ACKNOWLEDGE;
	if (packet->opcode % PINION_PACKET_CODES == PINION_ATOMIC_ACKNOWLEDGE)
		return false;
	if (!pinion_op_is_read(request->op))
		return !packet->payload;
	return packet->payload == min_t(u64, request->length - offset, conn->qp->mtu);
}

/* Couple the packets that follow in the buffer, if they are the next ones of the same answer. */
static void requester_couple(struct pinion_conn *conn, const struct pinion_request *request,
			     struct pinion_train *train)
{
	u32 sent = (conn->sender.end - train->packet.psn) & PINION_PSN_MASK;
	struct pinion_packet packet;

	while (train->packets < sent && pinion_train_look(train, &packet) &&
	       packet.psn == pinion_psn_add(train->packet.psn, 1) &&
	       packet.opcode % PINION_PACKET_CODES != PINION_ACKNOWLEDGE &&
	       pinion_psn_within(packet.psn, request->psn, request->packets) &&
	       answer_fits(conn, request, &packet))
		pinion_train_couple(train, &packet);
}

/*
 * The answer that is due had been kept, and is not one. Anybody may have guessed one of the numbers
 * that are kept, so ask again, for the peer's own.
 */
static enum pinion_step requester_drop_kept(struct pinion_conn *conn, u32 due)
{
	enum pinion_sender_step step;

	pinion_stat_inc(conn->qp, rx_early_drops);
	step = pinion_sender_early(&conn->sender, due, pinion_psn_add(due, 1));
	pinion_requester_obey(conn, step, 0);
	return PINION_STEP_DONE;
}

/* Return: PARKED if a page is missing, or the request has failed: then the answer still waits. */
static enum pinion_step requester_take_answer(struct pinion_conn *conn,
					      const struct requester_heard *heard,
					      struct pinion_train *train)
{
	const struct pinion_packet first = train->packet;
	enum pinion_sender_step sent = pinion_sender_answer(&conn->sender, first.psn);
	struct pinion_request *request;
	enum pinion_step step = PINION_STEP_DONE;
	struct pinion_cursor source;
	u32 i;

	if (sent == PINION_SENDER_RESEND)
		pinion_stat_inc(conn->qp, implied_nak_seq_err);
	if (sent != PINION_SENDER_ANSWERED)
		requester_drop(conn, heard);
	pinion_requester_obey(conn, sent, 0);
	pinion_requester_retire(conn);
	if (sent != PINION_SENDER_ANSWERED)
		return PINION_STEP_DONE;
	request = pinion_requester_find(conn, first.psn);
	if (!request || request != pinion_requests_oldest(&conn->qp->sq.requests)) {
		requester_drop(conn, heard);
		return PINION_STEP_DONE;
	}
	if (!answer_fits(conn, request, &first) && heard->kept) {
		requester_pass(conn, heard, 1);
		return requester_drop_kept(conn, first.psn);
	}
	/* A wrong answer: asking again would not help. */
	if (!answer_fits(conn, request, &first))
		return pinion_requester_fail_oldest(conn, IB_WC_BAD_RESP_ERR,
						    PINION_SYN_REMOTE);
	if (pinion_op_is_atomic(request->op)) {
		/* The cast drops const: a source cursor is only read. */
		pinion_cursor_memory(&source, (void *)&first.before);
		step = requester_store(conn, request, 0, &source, sizeof(first.before));
	} else if (first.payload) {
		requester_couple(conn, request, train);
		pinion_train_payload(train, &source);
		step = requester_store(conn, request,
				       pinion_request_offset(conn, request, first.psn), &source,
				       train->bytes);
	}
	if (step == PINION_STEP_PARKED || !pinion_requester_runs(conn->qp))
		return step;
	for (i = 0; i < train->packets; i++)
		pinion_sender_take(&conn->sender);
	requester_pass(conn, heard, train->packets);
	pinion_requester_advanced(conn);
	pinion_requester_retire(conn);
	return PINION_STEP_DONE;
}

static enum pinion_sender_step requester_acknowledged(struct pinion_conn *conn,
						      const struct pinion_packet *packet)
{
	u32 gap = pinion_psn_add(packet->psn, packet->msn >> PINION_GAP_BITS);

	if (packet->syndrome == (PINION_AETH_NAK | PINION_NAK_CODE_SEQUENCE))
		pinion_stat_inc(conn->qp, packet_seq_err);
	if (packet->syndrome != (PINION_AETH_NAK | PINION_NAK_CODE_GAP))
		return pinion_sender_acknowledge(&conn->sender, packet->psn, packet->syndrome);
	/* Nobody sends these unasked. */
	if (!pinion_kept_is_wanted())
		return PINION_SENDER_STALE;
	pinion_stat_inc(conn->qp, packet_seq_err);
	return pinion_sender_gap(&conn->sender, packet->psn, gap,
				 packet->msn & PINION_GAP_MASK);
}

/*
 * @packet of an answer came early: keep it and those that follow it, and ask again for those that
 * are missing. Return: false if it is not kept, but must be taken for a sign that all is lost.
 */
static bool requester_keep(struct pinion_conn *conn, const struct requester_heard *heard,
			   const struct pinion_packet *packet)
{
	struct pinion_sender *sender = &conn->sender;
	struct pinion_kept *kept = &conn->kept_answers;
	enum pinion_sender_step step = PINION_SENDER_STALE;
	u32 gap, first, packets;

	if (!packet->selective || !pinion_kept_is_wanted() ||
	    !pinion_sender_is_early(sender, packet->psn))
		return false;
	switch (pinion_kept_add(kept, heard->skb, heard->i, conn->qp->mtu, sender->due, &gap,
				&packets)) {
	case PINION_KEEPING_FULL:
		return false;
	case PINION_KEEPING_KNOWN:
		pinion_stat_inc(conn->qp, rx_early_drops);
		requester_pass(conn, heard, 1);
		return true;
	case PINION_KEEPING:
		break;
	}
	pinion_stat_add(conn->qp, rx_early_packets, packets);
	requester_pass(conn, heard, packets);
	/* The first since something came: what was asked for again before may be lost again. */
	if (!sender->back) {
		first = pinion_early_first(&kept->early)->psn;
		step = pinion_sender_early(sender, sender->due, first);
		if (step == PINION_SENDER_RESEND)
			pinion_stat_inc(conn->qp, implied_nak_seq_err);
		pinion_requester_obey(conn, step, 0);
	}
	if (step != PINION_SENDER_GIVE_UP && gap != packet->psn) {
		step = pinion_sender_early(sender, gap, packet->psn);
		pinion_requester_obey(conn, step, 0);
	}
	pinion_requester_retire(conn);
	return true;
}

static void requester_take_acknowledgment(struct pinion_conn *conn,
					  const struct requester_heard *heard,
					  const struct pinion_packet *packet)
{
	enum pinion_sender_step step = requester_acknowledged(conn, packet);
	bool is_nak = (packet->syndrome & PINION_AETH_KIND) == PINION_AETH_NAK;

	/* It is of a request behind one whose answer is missing. */
	if (step == PINION_SENDER_RESEND && !is_nak)
		pinion_stat_inc(conn->qp, implied_nak_seq_err);
	if (step == PINION_SENDER_STALE)
		requester_drop(conn, heard);
	else
		requester_pass(conn, heard, 1);
	pinion_requester_obey(conn, step, packet->syndrome);
	pinion_requester_retire(conn);
}

/*
 * Process the next packet, and those coupled with it. Return: PARKED if they must be processed
 * again, as a page is missing, or are dropped since their request has failed.
 */
static enum pinion_step requester_hear(struct pinion_conn *conn,
				       const struct requester_heard *heard)
{
	u32 left = pinion_wire_packets(heard->skb) - heard->i;
	struct pinion_train train;
	struct pinion_av av;

	if (!pinion_wire_addresses(heard->skb, &av) || !pinion_conn_is_peer(conn->qp, &av)) {
		pinion_stat_add(conn->qp, rx_strangers, left);
		requester_pass(conn, heard, left);
		return PINION_STEP_DONE;
	}
	/* Not as an errand: pinion_requester_glance() runs none. */
	pinion_congestion_look(conn, heard->skb, NULL);
	/* It was parsed before it was delivered. */
	if (WARN_ON_ONCE(!pinion_train_begin(&train, heard->skb, heard->i))) {
		requester_drop(conn, heard);
		return PINION_STEP_DONE;
	}
	pinion_sender_heard(&conn->sender, train.packet.psn, train.packet.selective);
	if (train.packet.opcode % PINION_PACKET_CODES == PINION_ACKNOWLEDGE) {
		requester_take_acknowledgment(conn, heard, &train.packet);
		return PINION_STEP_DONE;
	}
	if (requester_keep(conn, heard, &train.packet))
		return PINION_STEP_DONE;
	return requester_take_answer(conn, heard, &train);
}

/* The next packet: one that was kept until now, or from the line. Return: false: there is none. */
static bool requester_look(struct pinion_conn *conn, struct requester_heard *heard)
{
	*heard = (struct requester_heard){};
	if (conn->sender.owed)
		heard->skb = pinion_kept_look(&conn->kept_answers, conn->sender.due, &heard->i);
	heard->kept = heard->skb;
	if (!heard->kept) {
		heard->i = conn->answers.next;
		heard->skb = pinion_line_look(&conn->answers);
	}
	return heard->skb;
}

enum pinion_step pinion_requester_listen(struct pinion_conn *conn)
{
	enum pinion_step step = PINION_STEP_PARKED;
	struct requester_heard heard;
	int i;

	for (i = 0; i < BURST && pinion_requester_goes_on(conn->qp, i); i++) {
		if (!requester_look(conn, &heard) || pinion_requester_is_stuck(conn->qp))
			break;
		/* A request that fails closes the line, and forgets what was kept. */
		skb_get(heard.skb);
		step = requester_hear(conn, &heard);
		consume_skb(heard.skb);
		if (step == PINION_STEP_PARKED)
			break;
	}
	return step;
}
