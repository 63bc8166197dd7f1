// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a responder says without payload: acknowledgments, refusals, and the answers of atomics,
 * FLUSHes and ATOMIC_WRITEs, also when they are asked for again. resp.lock is held.
 */
#include "harm.h"
#include "responder.h"

void pinion_responder_send(struct pinion_conn *conn, const struct pinion_burst *burst,
			   struct sk_buff *skb)
{
	struct pinion_qp *qp = conn->qp;
	const struct pinion_way way = {
		.av = &qp->av,
		.flow = pinion_conn_flow(qp),
		.route = &conn->answer_route,
		.errand = conn->bringer,
	};

	/* If it is lost, by a full queue of the netdev too, the requester asks again. */
	if (pinion_harm_send(qp, &conn->held, &way, burst, skb) == PINION_SENT_FULL)
		pinion_stat_add(qp, tx_drops, burst->packets);
}

struct pinion_packet pinion_responder_packet(const struct pinion_conn *conn, u8 code, u32 psn,
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

void pinion_responder_said(struct pinion_conn *conn, u32 psn)
{
	if (pinion_psn_ahead(psn, conn->ack_psn) >= 0)
		conn->ack_due = false;
}

/* Return: false if there is no memory. */
static bool responder_try_to_say(struct pinion_conn *conn, const struct pinion_packet *packet)
{
	struct pinion_burst burst = pinion_burst_of_one(packet);
	struct pinion_qp *qp = conn->qp;
	struct pinion_cursor none;
	struct sk_buff *skb;

	skb = pinion_wire_make(conn->outlet, &qp->av, &burst, true,
			       pinion_half_gfp(&qp->resp.lock), &none);
	if (!skb)
		return false;
	pinion_wire_put(skb, &burst, 0, packet);
	pinion_responder_send(conn, &burst, skb);
	return true;
}

/*
 * A stranger does not wait for memory. What he cannot say the work item says before all else. What
 * is to be said meanwhile, a second NAK of the same packet, is lost, as in a network.
 */
void pinion_responder_say(struct pinion_conn *conn, const struct pinion_packet *packet)
{
	struct pinion_qp *qp = conn->qp;

	if (!pinion_qp_is_reliable(qp))
		return;
	pinion_responder_said(conn, packet->psn);
	if (conn->has_unsaid || responder_try_to_say(conn, packet) || !qp->resp.lock.visited)
		return;
	conn->unsaid = *packet;
	conn->has_unsaid = true;
	queue_work(qp->wq, &conn->work);
}

bool pinion_responder_catch_up(struct pinion_conn *conn)
{
	if (!conn->has_unsaid)
		return true;
	if (conn->qp->resp.lock.visited)
		return false;
	conn->has_unsaid = false;
	responder_try_to_say(conn, &conn->unsaid);
	return true;
}

void pinion_responder_acknowledge(struct pinion_conn *conn, u32 psn, u8 syndrome)
{
	struct pinion_packet packet = pinion_responder_packet(conn, PINION_ACKNOWLEDGE, psn,
							      syndrome);

	pinion_responder_say(conn, &packet);
}

void pinion_responder_acknowledge_due(struct pinion_conn *conn)
{
	if (conn->ack_due)
		pinion_responder_acknowledge(conn, conn->ack_psn,
					     PINION_AETH_ACK | PINION_AETH_UNLIMITED);
}

void pinion_responder_say_lost(struct pinion_conn *conn)
{
	pinion_responder_acknowledge(conn, conn->receiver.expected,
				     PINION_AETH_NAK | PINION_NAK_CODE_SEQUENCE);
}

void pinion_responder_ask_again(struct pinion_conn *conn)
{
	if (pinion_receiver_tell(&conn->receiver))
		pinion_responder_say_lost(conn);
}

/*
 * Many numbers are kept, but only one is the next: who guesses numbers must not break the
 * connection more easily for that. So the sender is not told the reason: that could break the
 * connection, also an RNR NAK, which uses up a retry. It sends its own packet again, and is told if
 * that is no better.
 */
void pinion_responder_drop_doubtful(struct pinion_conn *conn)
{
	pinion_kept_forget(&conn->kept_requests);
	pinion_responder_ask_again(conn);
}

void pinion_responder_refuse(struct pinion_conn *conn, u32 psn, enum pinion_verdict verdict)
{
	u8 code = PINION_NAK_CODE_REQUEST;

	if (verdict == PINION_SILENCE) {
		if (conn->qp->resp.doubtful)
			pinion_responder_drop_doubtful(conn);
		else
			pinion_stat_inc(conn->qp, rx_overruns);
		return;
	}
	if (verdict == PINION_NAK_ACCESS)
		code = PINION_NAK_CODE_ACCESS;
	else if (verdict == PINION_NAK_OPERATION)
		code = PINION_NAK_CODE_OPERATION;
	pinion_responder_acknowledge(conn, psn, PINION_AETH_NAK | code);
}

void pinion_responder_say_found(struct pinion_conn *conn, u32 psn, u64 before)
{
	struct pinion_packet packet =
		pinion_responder_packet(conn, PINION_ATOMIC_ACKNOWLEDGE, psn,
					PINION_AETH_ACK | PINION_AETH_UNLIMITED);

	packet.before = before;
	pinion_responder_say(conn, &packet);
}

void pinion_responder_say_done(struct pinion_conn *conn, u32 psn)
{
	struct pinion_packet packet =
		pinion_responder_packet(conn, PINION_READ_ONLY, psn,
					PINION_AETH_ACK | PINION_AETH_UNLIMITED);

	pinion_responder_say(conn, &packet);
}

void pinion_responder_remember(struct pinion_conn *conn, u32 psn, u64 before)
{
	conn->found[conn->num_found++ % ARRAY_SIZE(conn->found)] = (struct pinion_found){
		.number = pinion_receiver_number(&conn->receiver, psn),
		.before = before,
	};
}

void pinion_responder_say_found_again(struct pinion_conn *conn, u32 psn)
{
	u32 i, count = min_t(u64, conn->num_found, ARRAY_SIZE(conn->found));
	u64 number = pinion_receiver_number(&conn->receiver, psn);

	for (i = 0; i < count; i++)
		if (conn->found[i].number == number) {
			pinion_responder_say_found(conn, psn, conn->found[i].before);
			return;
		}
	pinion_stat_inc(conn->qp, rx_unanswered);
}
