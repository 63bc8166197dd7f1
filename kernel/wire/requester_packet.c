// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The headers of a request's packets. They are made anew for each packet, also if it is sent again.
 * sq.exec is held.
 */
#include <rdma/ib_user_verbs.h>

#include "../path/message.h"
#include "requester.h"

/* Within a message, each so-many-th packet asks for an acknowledgment. */
#define ACK_EVERY (PINION_CONN_WINDOW / 4)

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
static void requester_name_memory(const struct pinion_conn *conn, const struct pinion_msg *msg,
				  u64 offset, struct pinion_packet *packet, u32 *packets)
{
	u64 left = msg->whole - offset;
	u32 mtu = conn->qp->mtu;

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
		*packets = pinion_sender_part(&conn->sender, packet->psn,
					      pinion_psn_packets(left, mtu),
					      conn->inflight.window);
		packet->length = min(left, (u64)*packets * mtu);
	} else if (msg->opcode == PINION_OP_ATOMIC_CMP_AND_SWP) {
		packet->swap_add = msg->swap;
		packet->compare = msg->operand;
	} else {
		packet->swap_add = msg->operand;
	}
}

/*
 * Should packet @psn, inside a message, ask for an acknowledgment? Each ACK_EVERY-th of the
 * message, and the last that the window has room for.
 */
static bool requester_wants_to_know(const struct pinion_conn *conn,
				    const struct pinion_request *request, u32 psn)
{
	u32 before = (psn - pinion_sender_first(&conn->sender)) & PINION_PSN_MASK;
	u32 index = (psn - request->psn) & PINION_PSN_MASK;

	return index % ACK_EVERY == ACK_EVERY - 1 ||
	       pinion_sender_room(&conn->sender, conn->inflight.window) <= before + 1;
}

void pinion_requester_packet(struct pinion_conn *conn, const struct pinion_request *request,
			     const struct pinion_msg *msg, u32 psn, struct pinion_packet *packet,
			     u32 *packets)
{
	u64 offset = pinion_request_offset(conn, request, psn);
	struct pinion_qp *qp = conn->qp;
	bool first = !offset, last, alone;
	u8 code;

	code = requester_code_alone(msg->opcode);
	alone = code != PINION_PACKET_CODES;
	last = alone || request->length - offset <= qp->mtu;
	if (!alone)
		code = requester_code(msg->op, first, last);
	*packet = (struct pinion_packet){
		.opcode = pinion_conn_transport(qp) | code,
		.solicited = last && msg->solicited,
		.migrated = true,
		.ack_request = last || requester_wants_to_know(conn, request, psn),
		.selective = pinion_kept_is_wanted(),
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
	if (msg->op->traits & PINION_OP_REMOTE_MEM && (first || alone))
		requester_name_memory(conn, msg, offset, packet, packets);
}
