// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Performs messages on memory that they name by an rkey: RDMA WRITE, RDMA READ, atomics and
 * ATOMIC_WRITE. FLUSH is in flush.c.
 */
#include "carry.h"
#include "flush.h"
#include "move.h"
#include "refuse.h"
#include "remote.h"

static void remote_cursor(struct pinion_qp *qp, const struct pinion_target *target,
			  const struct pinion_msg *msg, struct pinion_cursor *cursor,
			  u64 length, u32 rights)
{
	pinion_cursor_remote(cursor, &qp->node->keys, target->pd, qp->ibqp.qp_num,
			     msg->remote_addr, length, msg->rkey, rights);
}

enum pinion_syndrome pinion_remote_ask(struct pinion_qp *qp, const struct pinion_target *target,
				       const struct pinion_msg *msg, u64 length)
{
	struct pinion_want want = {
		.pd = target->pd,
		.qpn = qp->ibqp.qp_num,
		.key = msg->rkey,
		.rights = msg->op->remote_rights,
		.addr = msg->remote_addr,
		.length = length,
		.remote = true,
	};

	return pinion_key_ask(&qp->node->keys, &want);
}

/*
 * Set resp.cursor for a WRITE, at its first piece. The range of all pieces is checked here, so that
 * a WRITE that is not allowed as a whole writes nothing. Return: 0 or a syndrome.
 */
static enum pinion_syndrome remote_open_sink(struct pinion_qp *qp,
					     const struct pinion_target *target,
					     const struct pinion_msg *msg)
{
	enum pinion_syndrome syndrome = 0;

	if (!msg->ends)
		syndrome = pinion_remote_ask(qp, target, msg, msg->whole);
	remote_cursor(qp, target, msg, &qp->resp.cursor, msg->whole, msg->op->remote_rights);
	return syndrome;
}

enum pinion_verdict pinion_remote_move(struct pinion_qp *qp, const struct pinion_target *target,
				       struct pinion_msg *msg)
{
	struct pinion_resp *resp = &qp->resp;
	enum pinion_verdict verdict;
	enum pinion_syndrome syndrome = 0;

	/* By the specification, the key of a message without payload is not checked. */
	if (!msg->length)
		return PINION_ACK;
	if (!msg->resumed) {
		if (msg->begins)
			syndrome = remote_open_sink(qp, target, msg);
		resp->left = msg->length;
	}
	/*
	 * XRC: the shared receive queue, and with it the domain, is found by number for each
	 * piece. It may be another one than for the first piece.
	 */
	resp->cursor.want.pd = target->pd;
	if (syndrome)
		return pinion_refuse_key(qp, syndrome);
	verdict = pinion_carry(qp, target, msg, msg->op->traits & PINION_OP_WRITES_SGES);
	return resp->cursor.syndrome ? pinion_refuse_key(qp, resp->cursor.syndrome) : verdict;
}

void pinion_remote_source(struct pinion_qp *qp, const struct pinion_target *target,
			  const struct pinion_msg *msg, struct pinion_cursor *source)
{
	remote_cursor(qp, target, msg, source, msg->length, msg->op->remote_rights);
}

enum pinion_verdict pinion_remote_give(struct pinion_qp *qp, const struct pinion_target *target,
				       struct pinion_msg *msg, struct pinion_cursor *source)
{
	struct pinion_resp *resp = &qp->resp;

	/* XRC: the queue is found by number each time, so its domain may be another one now. */
	source->want.pd = target->pd;
	/* A FLUSH that left before its end cannot continue, as this uses its resp.left. */
	resp->token = 0;
	resp->left = msg->length;
	switch (pinion_move(qp->node, msg->payload, source, &resp->left, &msg->missing)) {
	case PINION_MOVED:
		return PINION_ACK;
	case PINION_MOVE_NO_SOURCE:
		if (pinion_lacks(qp, target, msg, source) == PINION_PEER_PAGE)
			return PINION_PEER_PAGE;
		break;
	default:
		break;
	}
	return PINION_NAK_ACCESS;
}

/* Copy the word that ATOMIC_WRITE stores out of the payload. */
static enum pinion_verdict remote_fetch_operand(struct pinion_qp *qp, struct pinion_msg *msg,
						u64 *operand)
{
	struct pinion_cursor value;
	u64 left = sizeof(*operand);

	pinion_cursor_memory(&value, operand);
	switch (pinion_move(qp->node, &value, msg->payload, &left, &msg->missing)) {
	case PINION_MOVED:
		return PINION_ACK;
	case PINION_MOVE_NO_SOURCE:
		return PINION_OWN_PAGE;
	default:
		return PINION_OWN_FAULT;
	}
}

static enum pinion_verdict remote_do_word(struct pinion_qp *qp, const struct pinion_target *target,
					  struct pinion_msg *msg)
{
	struct pinion_cursor *word = &qp->resp.cursor;
	enum pinion_word_op op = PINION_WORD_STORE;
	enum pinion_verdict verdict = PINION_ACK;
	u64 operand = msg->operand;
	enum pinion_moved moved;

	if (msg->remote_addr & (sizeof(u64) - 1))
		return pinion_refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);
	if (msg->opcode == PINION_OP_ATOMIC_CMP_AND_SWP)
		op = PINION_WORD_CMP_SWAP;
	else if (msg->opcode == PINION_OP_ATOMIC_FETCH_AND_ADD)
		op = PINION_WORD_FETCH_ADD;
	if (op == PINION_WORD_STORE)
		verdict = remote_fetch_operand(qp, msg, &operand);
	if (verdict != PINION_ACK)
		return verdict;
	remote_cursor(qp, target, msg, word, sizeof(u64), msg->op->remote_rights);
	qp->resp.left = sizeof(u64);
	moved = pinion_move_word(qp->node, word, op, operand, msg->swap, &msg->before,
				 &msg->missing);
	if (moved == PINION_MOVED)
		return PINION_ACK;
	if (moved == PINION_MOVE_NO_SINK)
		verdict = pinion_lacks(qp, target, msg, word);
	if (word->syndrome == PINION_SYN_ALIGN)
		return pinion_refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);
	return word->syndrome ? pinion_refuse_key(qp, word->syndrome) : verdict;
}

enum pinion_verdict pinion_remote_perform(struct pinion_qp *qp,
					  const struct pinion_target *target,
					  struct pinion_msg *msg)
{
	if (msg->opcode == PINION_OP_FLUSH)
		return pinion_flush(qp, target, msg);
	if (msg->op->traits & PINION_OP_WORD)
		return remote_do_word(qp, target, msg);
	return pinion_remote_move(qp, target, msg);
}
