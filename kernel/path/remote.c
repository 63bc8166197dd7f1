// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a message does to memory that it names by an rkey: RDMA WRITE and READ, words,
 * FLUSH. Takes no receive request.
 */
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

enum pinion_verdict pinion_remote_move(struct pinion_qp *qp, const struct pinion_target *target,
				       struct pinion_msg *msg)
{
	bool read = msg->op->traits & PINION_OP_WRITES_SGES;
	struct pinion_cursor remote;
	bool moved;

	/* No bytes, no key: the specification says not to look. */
	if (!msg->length)
		return PINION_ACK;
	remote_cursor(qp, target, msg, &remote, msg->length, msg->op->remote_rights);
	moved = read ? pinion_move(qp->node, msg->payload, &remote, msg->length) :
		       pinion_move(qp->node, &remote, msg->payload, msg->length);
	if (moved)
		return PINION_ACK;
	return remote.syndrome ? pinion_refuse_key(qp, remote.syndrome) : PINION_OWN_FAULT;
}

static enum pinion_verdict do_word(struct pinion_qp *qp, const struct pinion_target *target,
				   struct pinion_msg *msg)
{
	enum pinion_word_op op = PINION_WORD_STORE;
	struct pinion_cursor word, value;
	u64 operand = msg->operand;

	if (msg->remote_addr & (sizeof(u64) - 1))
		return pinion_refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);
	if (msg->opcode == PINION_OP_ATOMIC_CMP_AND_SWP)
		op = PINION_WORD_CMP_SWAP;
	else if (msg->opcode == PINION_OP_ATOMIC_FETCH_AND_ADD)
		op = PINION_WORD_FETCH_ADD;
	if (op == PINION_WORD_STORE) {
		pinion_cursor_memory(&value, &operand);
		if (!pinion_move(qp->node, &value, msg->payload, sizeof(operand)))
			return PINION_OWN_FAULT;
	}
	remote_cursor(qp, target, msg, &word, sizeof(u64), msg->op->remote_rights);
	if (pinion_move_word(qp->node, &word, op, operand, msg->swap, &msg->before))
		return PINION_ACK;
	if (word.syndrome == PINION_SYN_ALIGN)
		return pinion_refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);
	return word.syndrome ? pinion_refuse_key(qp, word.syndrome) : PINION_OWN_FAULT;
}

/*
 * Memory is coherent here, so visibility is an ordering matter. But nothing is said to
 * be flushed, be it no bytes, that the key does not allow.
 */
static enum pinion_verdict do_flush(struct pinion_qp *qp, const struct pinion_target *target,
				    struct pinion_msg *msg)
{
	struct pinion_want want = {
		.pd = target->pd,
		.qpn = qp->ibqp.qp_num,
		.key = msg->rkey,
		.rights = msg->flush_rights,
		.addr = msg->remote_addr,
		.length = msg->length,
		.whole = msg->flush_all,
		.remote = true,
	};
	int syndrome = pinion_key_ask(&qp->node->keys, &want);

	if (syndrome)
		return pinion_refuse_key(qp, syndrome);
	/* What came before is visible to all before the answer is. */
	smp_mb();
	return PINION_ACK;
}

enum pinion_verdict pinion_remote_perform(struct pinion_qp *qp,
					  const struct pinion_target *target,
					  struct pinion_msg *msg)
{
	if (msg->opcode == PINION_OP_FLUSH)
		return do_flush(qp, target, msg);
	if (msg->op->traits & PINION_OP_WORD)
		return do_word(qp, target, msg);
	return pinion_remote_move(qp, target, msg);
}
