// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requester of a connection to another host: requests become packets, as far as the window has
 * room, and retire when they are acknowledged. logic/sender.c keeps track of acknowledged packets;
 * this file handles requests, their memory, and the timers.
 *
 * Everything here runs with sq.exec held, in process context.
 */
#include <rdma/ib_user_verbs.h>

#include "../logic/psn.h"
#include "../logic/timing.h"
#include "../mem/inject.h"
#include "../path/exec.h"
#include "../path/fault.h"
#include "../path/local.h"
#include "../path/message.h"
#include "../path/move.h"
#include "conn.h"
#include "harm.h"

/*
 * A READ is sent as several requests, for this many packets of answer each, so that the next piece
 * is requested before the last has arrived. If packets are requested again, the pieces keep their
 * limits: the peer accepts a duplicate only if it is within one request that it had before.
 */
#define PIECE	(PINION_CONN_WINDOW / 4)
/* Within a message, each so-many-th packet asks for an acknowledgment. */
#define ACK_EVERY (PINION_CONN_WINDOW / 4)
/* The ACK timeout is doubled each time nothing comes, at most to 2^MAX_LATENESS times. */
#define MAX_LATENESS 2
/* Packets processed, and sent, in one turn. */
#define BURST	32

/* In other states the executor flushes requests. */
static bool requester_runs(const struct pinion_qp *qp)
{
	return qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD;
}

static struct pinion_request *requester_slot(struct pinion_requests *requests, u32 i)
{
	return &requests->slots[i & (requests->depth - 1)];
}

/* Find the request that has packet @psn. */
static struct pinion_request *requester_find(struct pinion_conn *conn, u32 psn)
{
	struct pinion_requests *requests = &conn->qp->sq.requests;
	struct pinion_request *request;
	u32 i;

	for (i = requests->oldest; i != requests->next; i++) {
		request = requester_slot(requests, i);
		if (request->begun && pinion_psn_within(psn, request->psn, request->packets))
			return request;
	}
	return NULL;
}

static struct pinion_request *requester_newest(struct pinion_requests *requests)
{
	return requests->next == requests->oldest ? NULL :
						    requester_slot(requests, requests->next - 1);
}

/* Does the request have an answer of its own, instead of an acknowledgment? */
static bool request_is_answered(const struct pinion_request *request)
{
	return request->op->traits & PINION_OP_HAS_ANSWER ||
	       request->wqe->opcode == PINION_OP_FLUSH;
}

static bool request_is_atomic(const struct pinion_request *request)
{
	return request->op->traits & PINION_OP_WORD && request->op->traits & PINION_OP_WRITES_SGES;
}

static u64 request_offset(const struct pinion_conn *conn, const struct pinion_request *request,
			  u32 psn)
{
	return (u64)((psn - request->psn) & PINION_PSN_MASK) * conn->qp->mtu;
}

static void request_seek(struct pinion_request *request, u64 offset)
{
	if (request->at != offset)
		pinion_cursor_seek(&request->payload, offset);
	request->at = offset;
}

/* The request has failed. It is completed with this status when it is the oldest. */
static void request_stick(struct pinion_request *request, enum ib_wc_status status,
			  enum pinion_syndrome syndrome)
{
	request->stuck = true;
	request->status = status;
	request->syndrome = syndrome;
}

static void request_stick_local(struct pinion_qp *qp, struct pinion_request *request,
				enum pinion_syndrome syndrome)
{
	if (syndrome)
		pinion_stat_inc(qp, local_key_errors);
	request_stick(request, pinion_local_status(syndrome), syndrome);
}

/* ---------------------------------------------------------------- the window */

/* Tell conn->sender the number of the next answer that is due. */
static void requester_owe(struct pinion_conn *conn)
{
	struct pinion_requests *requests = &conn->qp->sq.requests;
	struct pinion_sender *sender = &conn->sender;
	u32 sent = (sender->end - sender->una) & PINION_PSN_MASK;
	struct pinion_request *request;
	u32 i;

	for (i = requests->oldest; i != requests->next; i++) {
		request = requester_slot(requests, i);
		if (!request->begun)
			break;
		if (!request_is_answered(request))
			continue;
		if (pinion_psn_within(sender->una, request->psn, request->packets) && sent) {
			pinion_sender_owe(sender, sender->una);
			return;
		}
		if (pinion_psn_within(request->psn, sender->una, sent)) {
			pinion_sender_owe(sender, request->psn);
			return;
		}
	}
	pinion_sender_owe_none(sender);
}

/* The index of packet @psn of a READ's answer in its piece. */
static u32 request_in_piece(const struct pinion_request *request, u32 psn)
{
	return ((psn - request->psn) & PINION_PSN_MASK) % PIECE;
}

/* How many READ pieces and atomics are under way: max_rd_atomic limits them. */
static u32 requester_count_owed(struct pinion_conn *conn)
{
	struct pinion_requests *requests = &conn->qp->sq.requests;
	const struct pinion_sender *sender = &conn->sender;
	struct pinion_request *request;
	u32 i, from, under_way, count = 0;

	for (i = requests->oldest; i != requests->next; i++) {
		request = requester_slot(requests, i);
		if (!request->begun || !(request->op->traits & PINION_OP_HAS_ANSWER))
			continue;
		from = pinion_psn_within(sender->una, request->psn, request->packets) ?
		       sender->una : request->psn;
		under_way = (sender->next - sender->una) & PINION_PSN_MASK;
		if (!pinion_psn_within(from, sender->una, under_way))
			continue;
		under_way = min((sender->next - from) & PINION_PSN_MASK,
				(request->psn + request->packets - from) & PINION_PSN_MASK);
		count += DIV_ROUND_UP(request_in_piece(request, from) + under_way, PIECE);
	}
	return count;
}

/* Retire requests that are acknowledged. Return: whether there were any. */
static bool requester_retire(struct pinion_conn *conn)
{
	struct pinion_qp *qp = conn->qp;
	struct pinion_request *request;
	bool any = false;

	while (requester_runs(qp) && (request = pinion_requests_oldest(&qp->sq.requests)) &&
	       request->begun &&
	       !pinion_psn_within(conn->sender.una, request->psn, request->packets)) {
		pinion_sq_count_traffic(qp, request);
		pinion_sq_succeed(qp, request);
		any = true;
	}
	/* Without requests the line is not read any more, so drop late duplicates. */
	if (any && !pinion_requests_count(&qp->sq.requests))
		pinion_line_forget(&conn->answers);
	requester_owe(conn);
	return any;
}

static void requester_fail(struct pinion_conn *conn, enum ib_wc_status status,
			   enum pinion_syndrome syndrome)
{
	requester_retire(conn);
	if (requester_runs(conn->qp) && pinion_requests_oldest(&conn->qp->sq.requests))
		pinion_sq_fail(conn->qp, status, syndrome);
}

/* --------------------------------------------------------------- the clock */

static void requester_set_deadline(struct pinion_conn *conn, u64 ns)
{
	conn->deadline = ns ? ktime_get_ns() + ns : 0;
}

/* Packets were acknowledged: reset the timer, and let the window grow. */
static void requester_advanced(struct pinion_conn *conn)
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

/* Start the ACK timer if it is needed and does not run. (A deadline of 0 means that.) */
static void requester_watch(struct pinion_conn *conn)
{
	struct hrtimer *timer = &conn->timer;
	u64 due;

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

/* Do what conn->sender has decided. */
static void requester_obey(struct pinion_conn *conn, enum pinion_sender_step step, u8 syndrome)
{
	struct pinion_qp *qp = conn->qp;

	switch (step) {
	case PINION_SENDER_STALE:
	/* requester_take_answer() checks the answer first. */
	case PINION_SENDER_ANSWERED:
		break;
	case PINION_SENDER_ADVANCED:
		requester_advanced(conn);
		break;
	case PINION_SENDER_RESEND:
		pinion_stat_inc(qp, retries);
		conn->deadline = 0;
		pinion_inflight_lost(&conn->inflight);
		break;
	case PINION_SENDER_WAIT:
		pinion_stat_inc(qp, rnr_waits);
		requester_set_deadline(conn, pinion_rnr_timer_ns(syndrome & ~PINION_AETH_KIND));
		break;
	case PINION_SENDER_REFUSED:
		if (syndrome == (PINION_AETH_NAK | PINION_NAK_CODE_ACCESS))
			requester_fail(conn, IB_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
		else if (syndrome == (PINION_AETH_NAK | PINION_NAK_CODE_OPERATION))
			requester_fail(conn, IB_WC_REM_OP_ERR, PINION_SYN_REMOTE);
		else
			requester_fail(conn, IB_WC_REM_INV_REQ_ERR, PINION_SYN_REMOTE);
		break;
	case PINION_SENDER_GIVE_UP:
		requester_fail(conn, IB_WC_RETRY_EXC_ERR, PINION_SYN_NO_RESPONSE);
		break;
	case PINION_SENDER_GIVE_UP_RNR:
		requester_fail(conn, IB_WC_RNR_RETRY_EXC_ERR, PINION_SYN_RNR);
		break;
	}
}

static void requester_look_at_clock(struct pinion_conn *conn)
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
	requester_is_late(conn);
	requester_obey(conn, pinion_sender_timeout(&conn->sender), 0);
}

/* ---------------------------------------------------------- what comes back */

/* @request lacks a page of its own: start the fault. The packet is begun anew afterwards. */
static enum pinion_step requester_lack(struct pinion_conn *conn, struct pinion_request *request,
				       struct pinion_missing *missing)
{
	request->at = U64_MAX;
	conn->lacking = request;
	return pinion_sq_bring_own(conn->qp, missing);
}

/*
 * Copy @bytes of an answer from @source to @offset of the request's payload. Return: DONE, also if
 * the request has failed; or PARKED, if a page is missing.
 */
static enum pinion_step requester_store(struct pinion_conn *conn, struct pinion_request *request,
					u64 offset, struct pinion_cursor *source, u64 bytes)
{
	struct pinion_missing missing;

	request_seek(request, offset);
	request->at += bytes;
	switch (pinion_move(conn->qp->node, &request->payload, source, &bytes, &missing)) {
	case PINION_MOVED:
		return PINION_STEP_DONE;
	case PINION_MOVE_NO_SINK:
		return requester_lack(conn, request, &missing);
	default:
		pinion_sq_fail_local(conn->qp, request->payload.syndrome);
		return PINION_STEP_DONE;
	}
}

/* Does @packet have the kind and the length of @request's answer? Its PSN is one of @request. */
static bool answer_fits(const struct pinion_conn *conn, const struct pinion_request *request,
			const struct pinion_packet *packet)
{
	u64 offset = request_offset(conn, request, packet->psn);

	if (request_is_atomic(request))
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

static enum pinion_step requester_take_answer(struct pinion_conn *conn, struct pinion_train *train)
{
	const struct pinion_packet first = train->packet;
	enum pinion_sender_step sent = pinion_sender_answer(&conn->sender, first.psn);
	struct pinion_request *request;
	enum pinion_step step = PINION_STEP_DONE;
	struct pinion_cursor source;
	u32 i;

	requester_obey(conn, sent, 0);
	requester_retire(conn);
	if (sent != PINION_SENDER_ANSWERED)
		return PINION_STEP_DONE;
	request = requester_find(conn, first.psn);
	if (!request || request != pinion_requests_oldest(&conn->qp->sq.requests))
		return PINION_STEP_DONE;
	/* A wrong answer: asking again would not help. */
	if (!answer_fits(conn, request, &first))
		return pinion_sq_fail(conn->qp, IB_WC_BAD_RESP_ERR, PINION_SYN_REMOTE);
	if (request_is_atomic(request)) {
		/* The cast drops const: a source cursor is only read. */
		pinion_cursor_memory(&source, (void *)&first.before);
		step = requester_store(conn, request, 0, &source, sizeof(first.before));
	} else if (first.payload) {
		requester_couple(conn, request, train);
		pinion_train_payload(train, &source);
		step = requester_store(conn, request, request_offset(conn, request, first.psn),
				       &source, train->bytes);
	}
	if (step == PINION_STEP_PARKED || !requester_runs(conn->qp))
		return step;
	for (i = 0; i < train->packets; i++)
		pinion_sender_take(&conn->sender);
	requester_advanced(conn);
	requester_retire(conn);
	return PINION_STEP_DONE;
}

/*
 * Process the next packet, and those coupled with it; *@packets is set to their number. Return:
 * PARKED if a page is missing, and they must be processed again.
 */
static enum pinion_step requester_hear(struct pinion_conn *conn, struct sk_buff *skb, u32 *packets)
{
	const struct pinion_packet *packet;
	enum pinion_step step = PINION_STEP_DONE;
	struct pinion_train train;
	struct pinion_av av;

	*packets = pinion_wire_packets(skb);
	if (!pinion_wire_addresses(skb, &av) || !pinion_conn_is_peer(conn->qp, &av))
		return PINION_STEP_DONE;
	*packets = 1;
	/* Not as an errand: pinion_requester_glance() runs none. */
	pinion_congestion_look(conn, skb, NULL);
	if (!pinion_train_begin(&train, skb, conn->answers.next))
		return PINION_STEP_DONE;
	packet = &train.packet;
	if (packet->opcode % PINION_PACKET_CODES != PINION_ACKNOWLEDGE) {
		step = requester_take_answer(conn, &train);
		*packets = train.packets;
		return step;
	}
	if (packet->syndrome == (PINION_AETH_NAK | PINION_NAK_CODE_SEQUENCE))
		pinion_stat_inc(conn->qp, packet_seq_err);
	requester_obey(conn, pinion_sender_acknowledge(&conn->sender, packet->psn,
						       packet->syndrome), packet->syndrome);
	requester_retire(conn);
	return PINION_STEP_DONE;
}

/* Process waiting packets, at most BURST. Return: DONE if there were any. */
static enum pinion_step requester_listen(struct pinion_conn *conn)
{
	enum pinion_step step = PINION_STEP_PARKED;
	enum pinion_step heard;
	struct sk_buff *skb;
	u32 packets;
	int i;

	for (i = 0; i < BURST && requester_runs(conn->qp); i++) {
		skb = pinion_line_look(&conn->answers);
		if (!skb)
			break;
		/* A request that fails closes the line. */
		skb_get(skb);
		heard = requester_hear(conn, skb, &packets);
		consume_skb(skb);
		if (heard == PINION_STEP_PARKED)
			return PINION_STEP_PARKED;
		pinion_line_pass(&conn->answers, packets);
		step = PINION_STEP_DONE;
	}
	return step;
}

/* -------------------------------------------------------------- what is sent */

/* The packet code of SENDs and WRITEs, whose codes are in the same order. */
static u8 requester_code(const struct pinion_op *op, bool first, bool last)
{
	u8 code = op->traits & PINION_OP_REMOTE_MEM ? PINION_WRITE_FIRST : PINION_SEND_FIRST;

	if (last && op->traits & PINION_OP_HAS_INV)
		return first ? PINION_SEND_ONLY_INV : PINION_SEND_LAST_INV;
	if (last)
		code += (first ? PINION_SEND_ONLY : PINION_SEND_LAST) +
			!!(op->traits & PINION_OP_HAS_IMM);
	else if (!first)
		code += PINION_SEND_MIDDLE;
	return code;
}

static u8 requester_code_alone(u8 opcode)
{
	switch (opcode) {
	case PINION_OP_RDMA_READ:
		return PINION_READ_REQUEST;
	case PINION_OP_ATOMIC_CMP_AND_SWP:
		return PINION_COMPARE_SWAP;
	case PINION_OP_ATOMIC_FETCH_AND_ADD:
		return PINION_FETCH_ADD;
	case PINION_OP_ATOMIC_WRITE:
		return PINION_ATOMIC_WRITE;
	case PINION_OP_FLUSH:
		return PINION_FLUSH_REQUEST;
	default:
		return PINION_PACKET_CODES;
	}
}

/* Fill in remote address, key and length, from @offset on. */
static void requester_name_memory(const struct pinion_msg *msg, u64 offset, u32 mtu,
				  struct pinion_packet *packet, u32 *packets)
{
	u64 piece = (u64)PIECE * mtu;

	packet->addr = msg->remote_addr + offset;
	packet->rkey = msg->rkey;
	packet->length = msg->whole;
	if (msg->opcode == PINION_OP_FLUSH) {
		packet->length = msg->length;
		packet->flush_level = msg->flush_all ? PINION_FETH_REGION : PINION_FETH_RANGE;
		if (msg->flush_rights & IB_ACCESS_FLUSH_GLOBAL)
			packet->flush_types |= PINION_FETH_GLOBAL;
		if (msg->flush_rights & IB_ACCESS_FLUSH_PERSISTENT)
			packet->flush_types |= PINION_FETH_PERSISTENT;
	} else if (pinion_op_is_read(msg->op)) {
		packet->length = min(msg->whole - offset, piece - (offset & (piece - 1)));
		*packets = pinion_psn_packets(packet->length, mtu);
	} else if (msg->opcode == PINION_OP_ATOMIC_CMP_AND_SWP) {
		packet->swap_add = msg->swap;
		packet->compare = msg->operand;
	} else {
		packet->swap_add = msg->operand;
	}
}

/*
 * Should packet @psn, inside a message, ask for an acknowledgment? Each ACK_EVERY-th, and the last
 * that the window has room for.
 */
static bool requester_wants_to_know(const struct pinion_conn *conn, u32 psn)
{
	u32 before = (psn - conn->sender.next) & PINION_PSN_MASK;

	return !(psn % ACK_EVERY) ||
	       pinion_sender_room(&conn->sender, conn->inflight.window) <= before + 1;
}

/* Make the headers of packet @psn of @request. *@packets is set to the numbers that it takes. */
static void requester_packet(struct pinion_conn *conn, const struct pinion_request *request,
			     const struct pinion_msg *msg, u32 psn, struct pinion_packet *packet,
			     u32 *packets)
{
	u64 offset = request_offset(conn, request, psn);
	struct pinion_qp *qp = conn->qp;
	bool first = !offset, last;
	u8 code;

	code = requester_code_alone(msg->opcode);
	last = code != PINION_PACKET_CODES || request->length - offset <= qp->mtu;
	if (code == PINION_PACKET_CODES)
		code = requester_code(msg->op, first, last);
	*packet = (struct pinion_packet){
		.opcode = pinion_conn_transport(qp) | code,
		.solicited = last && msg->solicited,
		.migrated = true,
		.ack_request = last || requester_wants_to_know(conn, psn),
		.pkey = PINION_PKEY_DEFAULT,
		.qpn = msg->dst_qpn,
		.psn = psn,
		.srqn = msg->srqn,
		.imm = (__force __be32)msg->ex,
		.invalidate = msg->ex,
	};
	*packets = 1;
	if (msg->op->traits & PINION_OP_READS_SGES)
		packet->payload = min_t(u64, request->length - offset, qp->mtu);
	if (msg->op->traits & PINION_OP_REMOTE_MEM)
		requester_name_memory(msg, offset, qp->mtu, packet, packets);
}

/*
 * A burst of @first and the packets behind it, as far as the window has room, and the rate for
 * @bytes, and their headers have the same length. The first packet of a WRITE has more headers than
 * the others, and so may the last packet of any message.
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
	u32 packets;

	if (first->payload != conn->qp->mtu || left == 1 ||
	    pinion_packet_headers(first->opcode) & PINION_RETH)
		return burst;
	burst.packets = min3(left, room, pinion_burst_limit(burst.headers, burst.payload, bytes));
	requester_packet(conn, request, msg, pinion_psn_add(first->psn, burst.packets - 1), &last,
			 &packets);
	if (pinion_packet_header_bytes(last.opcode) != burst.headers)
		burst.packets--;
	else
		burst.last = last.payload;
	return burst;
}

static u64 burst_payload(const struct pinion_burst *burst)
{
	return (u64)(burst->packets - 1) * burst->payload + burst->last;
}

/* Copy payload from packet @psn on to @copy. Return: DONE, also if it failed; PARKED: no page. */
static enum pinion_step requester_load(struct pinion_conn *conn, struct pinion_request *request,
				       u32 psn, u64 left, struct pinion_cursor *copy)
{
	u64 offset = request_offset(conn, request, psn);
	struct pinion_missing missing;

	if (!left)
		return PINION_STEP_DONE;
	request_seek(request, offset);
	request->at += left;
	switch (pinion_move(conn->qp->node, copy, &request->payload, &left, &missing)) {
	case PINION_MOVED:
		return PINION_STEP_DONE;
	case PINION_MOVE_NO_SOURCE:
		return requester_lack(conn, request, &missing);
	default:
		request_stick_local(conn->qp, request, request->payload.syndrome);
		return PINION_STEP_DONE;
	}
}

static void requester_sent(struct pinion_conn *conn, u32 packets)
{
	struct pinion_sender *sender = &conn->sender;

	pinion_sender_sent(sender, packets);
	/* Nothing acknowledges packets of an unreliable connection. */
	if (!pinion_qp_is_reliable(conn->qp)) {
		pinion_sender_acknowledge(sender, pinion_psn_add(sender->next, -1),
					  PINION_AETH_ACK);
		requester_retire(conn);
		return;
	}
	requester_owe(conn);
}

/* Does the window have room? If nothing is under way, any packet may be sent. */
static bool requester_has_room(const struct pinion_conn *conn, u32 packets)
{
	const struct pinion_sender *sender = &conn->sender;

	if (sender->next == sender->una)
		packets = 1;
	return pinion_sender_room(sender, conn->inflight.window) >= packets;
}

/* max_rd_atomic counts as 1 at least: it may have been set to 0 after the request was begun. */
static bool requester_may_send(struct pinion_conn *conn, const struct pinion_request *request,
			       u32 packets)
{
	if (!requester_has_room(conn, packets))
		return false;
	return !(request->op->traits & PINION_OP_HAS_ANSWER) ||
	       requester_count_owed(conn) < max_t(u32, conn->qp->attr.max_rd_atomic, 1);
}

/* Does the rate demand a pause? If not, *@room is set to the bytes that may be sent now. */
static bool requester_must_pause(struct pinion_conn *conn, u64 *room)
{
	u64 pause = pinion_congestion_pause(conn, room);

	conn->paced = pause ? ktime_get_ns() + pause : 0;
	return pause;
}

static void requester_transmit(struct pinion_conn *conn, const struct pinion_burst *burst,
			       struct sk_buff *skb)
{
	struct pinion_qp *qp = conn->qp;

	pinion_congestion_sent(conn, skb->len);
	/* If there is no route now, there may be one when the packet is sent again. */
	pinion_harm_send(qp, &conn->held, &qp->av, pinion_conn_flow(qp), burst, skb,
			 &conn->errand);
}

static void requester_put(struct pinion_conn *conn, const struct pinion_request *request,
			  const struct pinion_msg *msg, struct sk_buff *skb,
			  const struct pinion_burst *burst)
{
	struct pinion_packet packet;
	u32 i, packets;

	for (i = 0; i < burst->packets; i++) {
		requester_packet(conn, request, msg, pinion_psn_add(conn->sender.next, i), &packet,
				 &packets);
		pinion_wire_put(skb, burst, i, &packet);
	}
}

/* Send the next packets of @request. Return: DONE if they were sent, or the request has failed. */
static enum pinion_step requester_send(struct pinion_conn *conn, struct pinion_request *request)
{
	u32 psn = conn->sender.next;
	struct pinion_packet packet;
	struct pinion_qp *qp = conn->qp;
	struct pinion_burst burst;
	struct pinion_cursor copy;
	struct pinion_msg msg;
	struct pinion_av av;
	enum pinion_step step;
	struct sk_buff *skb;
	enum pinion_syndrome syndrome;
	u32 packets;
	u64 room;

	syndrome = pinion_message_of(qp, request, &msg, &av);
	if (syndrome) {
		request_stick(request, IB_WC_LOC_QP_OP_ERR, syndrome);
		return PINION_STEP_DONE;
	}
	requester_packet(conn, request, &msg, psn, &packet, &packets);
	if (!requester_may_send(conn, request, packets) || requester_must_pause(conn, &room))
		return PINION_STEP_PARKED;
	burst = requester_burst(conn, request, &msg, &packet, room);
	skb = pinion_wire_make(qp->node->wire, &qp->av, &burst, false, &copy);
	if (!skb && burst.packets > 1) {
		burst = pinion_burst_of_one(&packet);
		skb = pinion_wire_make(qp->node->wire, &qp->av, &burst, false, &copy);
	}
	if (!skb) {
		pinion_sq_park(qp, pinion_wire_pause(qp->node->wire));
		return PINION_STEP_PARKED;
	}
	step = requester_load(conn, request, psn, burst_payload(&burst), &copy);
	if (step == PINION_STEP_PARKED || request->stuck) {
		kfree_skb(skb);
		return step;
	}
	requester_put(conn, request, &msg, skb, &burst);
	requester_transmit(conn, &burst, skb);
	requester_sent(conn, burst.packets > 1 ? burst.packets : packets);
	return PINION_STEP_DONE;
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
		request_stick_local(qp, request, syndrome);
		return PINION_STEP_DONE;
	}
	request->psn = qp->attr.sq_psn;
	request->packets = pinion_psn_packets(request->length, qp->mtu);
	request->begun = true;
	qp->attr.sq_psn = pinion_psn_add(request->psn, request->packets);
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
		request_stick(request, pinion_local_status(syndrome), syndrome);
	else if (!count && pinion_sq_injected(qp, &step))
		return step;
	return PINION_STEP_DONE;
}

/* Send the next packets, or begin the next request. Return: PARKED if nothing can be done. */
static enum pinion_step requester_talk(struct pinion_conn *conn, u32 tail)
{
	struct pinion_qp *qp = conn->qp;
	struct pinion_request *request;

	if (conn->sender.next != qp->attr.sq_psn) {
		request = requester_find(conn, conn->sender.next);
		if (WARN_ON_ONCE(!request))
			return PINION_STEP_PARKED;
		return request->stuck ? requester_fail_stuck(conn, request) :
					requester_send(conn, request);
	}
	request = requester_newest(&qp->sq.requests);
	if (!request || request->begun)
		return requester_fetch(conn, tail);
	return request->stuck ? requester_fail_stuck(conn, request) :
				requester_begin(conn, request);
}

/* ---------------------------------------------------------------- the turn */

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
		request_stick_local(conn->qp, conn->lacking, PINION_SYN_FAULT);
	return true;
}

enum pinion_step pinion_requester_turn(struct pinion_qp *qp, u32 tail)
{
	struct pinion_conn *conn = qp->conn;
	struct pinion_request *request;
	enum pinion_step step;
	bool further;
	int i;

	pinion_half_assert(&qp->sq.exec);
	if (!requester_page_came(conn))
		return PINION_STEP_PARKED;
	/* Before processing answers: a request whose memory has failed must not take any. */
	request = pinion_requests_oldest(&qp->sq.requests);
	if (request && request->stuck)
		requester_fail_stuck(conn, request);
	WRITE_ONCE(conn->attended, true);
	further = requester_listen(conn) == PINION_STEP_DONE;
	requester_look_at_clock(conn);
	for (i = 0; i < BURST && requester_runs(qp) && !qp->sq.waiting; i++) {
		step = requester_talk(conn, tail);
		if (step == PINION_STEP_PARKED)
			break;
		further = true;
	}
	requester_watch(conn);
	pinion_errand_run(&conn->errand);
	WRITE_ONCE(conn->attended, false);
	/*
	 * conn_arrived_answer() adds to the line, then reads @attended; we clear @attended, then
	 * read the line. With a barrier on both sides no answer is left behind.
	 */
	smp_mb();
	if (pinion_line_waits(&conn->answers))
		further = true;
	return further && !qp->sq.waiting ? PINION_STEP_DONE : PINION_STEP_PARKED;
}

/* Is there work that needs the executor: answers, packets to send, or posted requests? */
static bool requester_has_more(struct pinion_conn *conn)
{
	struct pinion_qp *qp = conn->qp;
	struct pinion_requests *requests = &qp->sq.requests;

	if (pinion_line_waits(&conn->answers) ||
	    (conn->sender.next != qp->attr.sq_psn && !conn->paced))
		return true;
	return pinion_ring_user_idx(&qp->sq.ring) !=
	       qp->sq.head + pinion_requests_count(requests);
}

bool pinion_requester_glance(struct pinion_qp *qp)
{
	struct pinion_conn *conn = qp->conn;
	struct pinion_request *request = pinion_requests_oldest(&qp->sq.requests);

	pinion_half_assert(&qp->sq.exec);
	if (qp->state != IB_QPS_RTS || qp->dying || qp->raw || qp->sq.waiting ||
	    qp->sq.awaits != PINION_AWAITS_NONE || (request && request->stuck))
		return false;
	requester_listen(conn);
	requester_watch(conn);
	return qp->state == IB_QPS_RTS && !qp->sq.waiting && !requester_has_more(conn);
}
