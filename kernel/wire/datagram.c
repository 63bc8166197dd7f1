// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Received datagrams: each is a message for path/respond.c. Nothing is sent back. resp.lock is
 * held, as in responder.c.
 */
#include "../path/respond.h"
#include "conn.h"

/* Deliver packet @i of @skb. Nobody but us knows if it is not received. */
static void datagram_deliver(struct pinion_qp *qp, const struct sk_buff *skb, u32 i)
{
	const struct pinion_packet_kind *kind;
	struct pinion_cursor cursor;
	struct pinion_packet packet;
	struct pinion_msg msg;
	struct pinion_av av;
	const u8 *payload = pinion_wire_parse(skb, i, &packet);

	if (!payload || !pinion_wire_addresses(skb, &av))
		return;
	/* The cast drops const: a source cursor is only read. */
	pinion_cursor_memory(&cursor, (void *)payload);
	kind = pinion_packet_kind(packet.opcode);
	msg = (struct pinion_msg){
		.op = pinion_op(kind->op),
		.opcode = kind->op,
		.service = PINION_SVC_UD,
		.solicited = packet.solicited,
		.begins = true,
		.ends = true,
		.length = packet.payload,
		.ex = (__force u32)packet.imm,
		.src_qpn = packet.src_qpn,
		.dst_qpn = packet.qpn,
		.payload = &cursor,
		.packets = 1,
		.qkey = packet.qkey,
		.av = &av,
	};
	if (pinion_respond(qp, &msg) != PINION_ACK)
		pinion_stat_inc(qp, ud_drops);
}

void pinion_datagram_turn(struct pinion_conn *conn, int packets)
{
	struct pinion_qp *qp = conn->qp;
	struct pinion_half *half = &qp->resp.lock;
	struct sk_buff *skb;
	int i;

	pinion_half_assert(half);
	if (qp->dying)
		return;
	for (i = 0; i < packets && (!i || !pinion_half_is_wanted(half)); i++) {
		skb = pinion_line_look(&conn->requests);
		if (!skb)
			return;
		datagram_deliver(qp, skb, conn->requests.next);
		pinion_line_pass(&conn->requests, 1);
	}
	if (pinion_line_waits(&conn->requests))
		queue_work(qp->wq, &conn->work);
}
