// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The one responder: admission, receive requests, remote keys, atomics, and the
 * verdict. Knows no engine and no requester state.
 */
#include "../logic/psn.h"
#include "complete.h"
#include "grh.h"
#include "move.h"
#include "respond.h"

/* XRC initiators only send: they have no receive queue, and nobody asks them for memory. */
static bool listening(const struct pinion_qp *qp)
{
	if (qp->failing || qp->ibqp.qp_type == IB_QPT_XRC_INI)
		return false;
	return qp->state == IB_QPS_RTR || qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD ||
	       qp->state == IB_QPS_SQE;
}

static bool is_connected(const struct pinion_qp *qp)
{
	return qp->service != PINION_SVC_UD;
}

static bool is_reliable(const struct pinion_qp *qp)
{
	return qp->service == PINION_SVC_RC;
}

static bool is_xrc_target(const struct pinion_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_XRC_TGT;
}

/* Is this message for this QP at all? What is not is dropped without a word. */
static bool admit(struct pinion_qp *qp, const struct pinion_msg *msg)
{
	if (!listening(qp) || msg->service != qp->service ||
	    msg->xrc != is_xrc_target(qp))
		return false;
	if (qp->service == PINION_SVC_UD)
		return msg->qkey == qp->attr.qkey;
	if (msg->src_qpn != qp->attr.dest_qp_num ||
	    memcmp(&msg->av->sgid, &qp->av.dgid, sizeof(union ib_gid)))
		return false;
	/* An unreliable connection takes up again with whatever comes next. */
	return !is_reliable(qp) || msg->psn == qp->attr.rq_psn;
}

static void count_refusal(struct pinion_node *node, int syndrome)
{
	switch (syndrome) {
	case PINION_SYN_KEY_UNKNOWN:
		pinion_stat_inc(node, remote_key_unknown);
		break;
	case PINION_SYN_KEY_PD:
		pinion_stat_inc(node, remote_key_foreign_pd);
		break;
	case PINION_SYN_KEY_RIGHTS:
		pinion_stat_inc(node, remote_key_rights);
		break;
	case PINION_SYN_KEY_RANGE:
		pinion_stat_inc(node, remote_key_range);
		break;
	default:
		pinion_stat_inc(node, remote_key_state);
	}
}

/*
 * A reliable responder that refuses is broken from here on. Its state is changed
 * by its own executor, whose lock ranks above the one we hold. Any other lives on:
 * a stranger's datagram must not be able to break it.
 */
static enum pinion_verdict refuse(struct pinion_qp *qp, enum pinion_verdict verdict,
				  enum ib_event_type event)
{
	pinion_stat_inc(qp->node, invalid_requests);
	if (!is_reliable(qp))
		return PINION_SILENCE;
	pinion_qp_fail(qp, event);
	return verdict;
}

static enum pinion_verdict refuse_key(struct pinion_qp *qp, int syndrome)
{
	count_refusal(qp->node, syndrome);
	return refuse(qp, PINION_NAK_ACCESS, IB_EVENT_QP_ACCESS_ERR);
}

/* What a message acts upon. With XRC it names a receive queue, and that the rest. */
struct target {
	struct ib_pd *pd;		/* of remote keys */
	struct ib_pd *recv_pd;		/* of receive requests: who posts knows the queue only */
	struct pinion_srq *srq;		/* or the QP's own queue */
	struct pinion_cq *cq;
	bool xrc;			/* @srq was found by number: put it */
};

static bool find_target(struct pinion_qp *qp, const struct pinion_msg *msg,
			struct target *target)
{
	*target = (struct target){ .pd = qp->ibqp.pd, .recv_pd = qp->ibqp.pd };
	if (!is_xrc_target(qp)) {
		target->cq = to_pinion_cq(qp->ibqp.recv_cq);
		if (qp->ibqp.srq) {
			target->srq = to_pinion_srq(qp->ibqp.srq);
			target->recv_pd = qp->ibqp.srq->pd;
		}
		return true;
	}
	target->srq = pinion_srq_get(qp->node, msg->srqn);
	if (!target->srq)
		return false;
	if (target->srq->ibsrq.srq_type != IB_SRQT_XRC ||
	    target->srq->ibsrq.ext.xrc.xrcd != qp->ibqp.xrcd) {
		pinion_srq_put(target->srq);
		return false;
	}
	target->xrc = true;
	target->cq = to_pinion_cq(target->srq->ibsrq.ext.cq);
	target->pd = target->srq->ibsrq.pd;
	target->recv_pd = target->pd;
	return true;
}

static int take(struct pinion_qp *qp, const struct target *target)
{
	if (qp->resp.kept) {
		qp->resp.kept = false;
		return 0;
	}
	return target->srq ? pinion_srq_take(target->srq, qp->resp.recv) :
			     pinion_recvq_take(&qp->rq, qp->resp.recv);
}

static void finish_recv(struct pinion_qp *qp, const struct target *target,
			const struct pinion_msg *msg)
{
	struct pinion_cqe cqe = {
		.wr_id = qp->resp.recv->wr_id,
		.qpn = qp->ibqp.qp_num,
		.src_qp = msg->src_qpn,
		.byte_len = msg->length,
		.status = IB_WC_SUCCESS,
		.opcode = msg->op->recv_wc_opcode,
		.flags = msg->solicited ? PINION_CQE_SOLICITED : 0,
	};

	if (msg->op->traits & PINION_OP_HAS_IMM)
		cqe.flags |= PINION_CQE_WITH_IMM;
	if (msg->op->traits & PINION_OP_HAS_INV)
		cqe.flags |= PINION_CQE_WITH_INV;
	if (msg->op->traits & (PINION_OP_HAS_IMM | PINION_OP_HAS_INV))
		cqe.ex = msg->ex;
	if (!is_connected(qp)) {
		cqe.byte_len += PINION_GRH_SIZE;
		cqe.flags |= PINION_CQE_GRH;
		if (!msg->av->ipv4)
			cqe.flags |= PINION_CQE_NET_IPV6;
		cqe.sl = msg->av->sl;
	}
	pinion_complete(target->cq, &cqe);
}

static enum pinion_verdict fail_recv(struct pinion_qp *qp, const struct target *target,
				     enum pinion_syndrome syndrome,
				     enum pinion_verdict verdict)
{
	pinion_complete_recv_error(qp, target->cq, qp->resp.recv->wr_id,
				   pinion_local_status(syndrome), syndrome);
	return refuse(qp, verdict, IB_EVENT_QP_REQ_ERR);
}

/*
 * A message came to nothing after its receive request was taken, and that is nobody's
 * affair but its sender's: the request serves the next one. Only where that may ask for
 * another queue's it is given back.
 */
static void keep_recv(struct pinion_qp *qp, const struct target *target)
{
	qp->resp.kept = !target->xrc;
	if (target->xrc)
		pinion_complete_recv_error(qp, target->cq, qp->resp.recv->wr_id,
					   IB_WC_WR_FLUSH_ERR, PINION_SYN_REMOTE);
}

/* Longer than the request has room for. A stranger's datagram must not cost that. */
static enum pinion_verdict refuse_length(struct pinion_qp *qp, const struct target *target)
{
	if (is_reliable(qp))
		return fail_recv(qp, target, PINION_SYN_LENGTH, PINION_NAK_REQUEST);
	keep_recv(qp, target);
	return refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);
}

/* Payload into the receive request just taken. */
static enum pinion_verdict scatter(struct pinion_qp *qp, const struct target *target,
				   struct pinion_msg *msg)
{
	struct pinion_recv *recv = qp->resp.recv;
	struct pinion_cursor sink, header;
	u8 grh[PINION_GRH_SIZE];
	u64 needed = msg->length;
	bool moved = true;

	if (!is_connected(qp))
		needed += PINION_GRH_SIZE;
	if (recv->length < needed)
		return refuse_length(qp, target);
	pinion_cursor_local(&sink, &qp->node->keys, target->recv_pd, recv->sge, recv->num_sge,
			    IB_ACCESS_LOCAL_WRITE);
	if (!is_connected(qp)) {
		pinion_grh_build(grh, msg->av, msg->length);
		pinion_cursor_memory(&header, grh);
		moved = pinion_move(qp->node, &sink, &header, sizeof(grh));
	}
	if (moved && pinion_move(qp->node, &sink, msg->payload, msg->length))
		return PINION_ACK;
	if (sink.syndrome)
		return fail_recv(qp, target, sink.syndrome, PINION_NAK_OPERATION);
	keep_recv(qp, target);
	return PINION_OWN_FAULT;
}

static enum pinion_verdict invalidate(struct pinion_qp *qp, const struct target *target,
				      const struct pinion_msg *msg)
{
	int syndrome = pinion_key_invalidate(&qp->node->keys, target->pd, msg->ex,
					     qp->ibqp.qp_num);

	return syndrome ? refuse_key(qp, syndrome) : PINION_ACK;
}

static void remote_cursor(struct pinion_qp *qp, const struct target *target,
			  const struct pinion_msg *msg, struct pinion_cursor *cursor,
			  u64 length, u32 rights)
{
	pinion_cursor_remote(cursor, &qp->node->keys, target->pd, qp->ibqp.qp_num,
			     msg->remote_addr, length, msg->rkey, rights);
}

/* RDMA WRITE and READ: between the requester's cursor and a remote key. */
static enum pinion_verdict move_remote(struct pinion_qp *qp, const struct target *target,
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
	return remote.syndrome ? refuse_key(qp, remote.syndrome) : PINION_OWN_FAULT;
}

static enum pinion_verdict do_word(struct pinion_qp *qp, const struct target *target,
				   struct pinion_msg *msg)
{
	enum pinion_word_op op = PINION_WORD_STORE;
	struct pinion_cursor word, value;
	u64 operand = msg->operand;

	if (msg->remote_addr & (sizeof(u64) - 1))
		return refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);
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
		return refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);
	return word.syndrome ? refuse_key(qp, word.syndrome) : PINION_OWN_FAULT;
}

/*
 * Memory is coherent here, so visibility is an ordering matter. But nothing is said to
 * be flushed, be it no bytes, that the key does not allow.
 */
static enum pinion_verdict do_flush(struct pinion_qp *qp, const struct target *target,
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
		return refuse_key(qp, syndrome);
	/* What came before is visible to all before the answer is. */
	smp_mb();
	return PINION_ACK;
}

static enum pinion_verdict perform(struct pinion_qp *qp, const struct target *target,
				   struct pinion_msg *msg)
{
	if (msg->opcode == PINION_OP_FLUSH)
		return do_flush(qp, target, msg);
	if (msg->op->traits & PINION_OP_WORD)
		return do_word(qp, target, msg);
	return move_remote(qp, target, msg);
}

static enum pinion_verdict receive(struct pinion_qp *qp, const struct target *target,
				   struct pinion_msg *msg)
{
	enum pinion_verdict verdict;
	int err = take(qp, target);

	if (err == -ENOENT)
		return is_reliable(qp) ? PINION_RNR : PINION_SILENCE;
	if (err)
		return fail_recv(qp, target, PINION_SYN_BAD_WQE, PINION_NAK_OPERATION);

	if (msg->op->traits & PINION_OP_REMOTE_MEM) {
		verdict = move_remote(qp, target, msg);
		if (verdict != PINION_ACK) {
			if (is_reliable(qp) && verdict != PINION_OWN_FAULT)
				pinion_complete_recv_error(qp, target->cq, qp->resp.recv->wr_id,
							   IB_WC_WR_FLUSH_ERR, PINION_SYN_FLUSHED);
			else
				keep_recv(qp, target);
			return verdict;
		}
	} else {
		verdict = scatter(qp, target, msg);
		if (verdict != PINION_ACK)
			return verdict;
	}
	if (msg->op->traits & PINION_OP_HAS_INV) {
		verdict = invalidate(qp, target, msg);
		if (verdict != PINION_ACK) {
			pinion_complete_recv_error(qp, target->cq, qp->resp.recv->wr_id,
						   IB_WC_LOC_PROT_ERR, PINION_SYN_KEY_STATE);
			return verdict;
		}
	}
	finish_recv(qp, target, msg);
	return PINION_ACK;
}

static u32 needed_rights(const struct pinion_msg *msg)
{
	return msg->opcode == PINION_OP_FLUSH ? msg->flush_rights : msg->op->remote_rights;
}

static enum pinion_verdict serve(struct pinion_qp *qp, struct pinion_msg *msg)
{
	struct target target;
	enum pinion_verdict verdict;

	if (!find_target(qp, msg, &target))
		return refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);
	if (msg->op->traits & PINION_OP_TAKES_RECV)
		verdict = receive(qp, &target, msg);
	else
		verdict = perform(qp, &target, msg);
	if (target.xrc)
		pinion_srq_put(target.srq);
	return verdict;
}

enum pinion_verdict pinion_respond(struct pinion_qp *qp, struct pinion_msg *msg)
{
	u32 rights = needed_rights(msg);
	enum pinion_verdict verdict;

	lockdep_assert_held(&qp->resp.lock);
	if (!admit(qp, msg))
		return PINION_SILENCE;
	if (qp->state == IB_QPS_RTR && is_connected(qp) && !qp->resp.established) {
		qp->resp.established = true;
		pinion_qp_event(qp, IB_EVENT_COMM_EST);
	}
	if ((qp->attr.qp_access_flags & rights) != rights)
		return refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);

	verdict = serve(qp, msg);
	if (verdict == PINION_ACK) {
		qp->attr.rq_psn = pinion_psn_add(qp->attr.rq_psn, msg->packets);
		pinion_stat_inc(qp->node, rx_messages);
		pinion_stat_add(qp->node, rx_bytes, msg->length);
	}
	return verdict;
}

void pinion_flush_recvs(struct pinion_qp *qp)
{
	struct pinion_cq *cq = to_pinion_cq(qp->ibqp.recv_cq);
	u32 left;

	lockdep_assert_held(&qp->resp.lock);
	if (qp->resp.kept) {
		qp->resp.kept = false;
		pinion_complete_recv_error(qp, cq, qp->resp.recv->wr_id, IB_WC_WR_FLUSH_ERR,
					   PINION_SYN_FLUSHED);
	}
	if (!qp->has_rq)
		return;
	/* Who posts while we are at it rings the doorbell; the peers must not wait for that. */
	for (left = pinion_recvq_count(&qp->rq); left; left--) {
		if (pinion_recvq_take(&qp->rq, qp->resp.recv) == -ENOENT)
			break;
		pinion_complete_recv_error(qp, cq, qp->resp.recv->wr_id, IB_WC_WR_FLUSH_ERR,
					   PINION_SYN_FLUSHED);
		cond_resched();
	}
}
