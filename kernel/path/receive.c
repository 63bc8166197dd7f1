// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive requests of arriving messages: taken, filled, finished, or given back. Never
 * judges whether a message may come.
 */
#include "complete.h"
#include "grh.h"
#include "move.h"
#include "receive.h"
#include "refuse.h"
#include "remote.h"

static int take(struct pinion_qp *qp, const struct pinion_target *target)
{
	if (qp->resp.kept) {
		qp->resp.kept = false;
		return 0;
	}
	return target->srq ? pinion_srq_take(target->srq, qp->resp.recv) :
			     pinion_recvq_take(&qp->rq, qp->resp.recv);
}

static void finish_recv(struct pinion_qp *qp, const struct pinion_target *target,
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
	if (!pinion_qp_is_connected(qp)) {
		cqe.byte_len += PINION_GRH_SIZE;
		cqe.flags |= PINION_CQE_GRH;
		if (!msg->av->ipv4)
			cqe.flags |= PINION_CQE_NET_IPV6;
		cqe.sl = msg->av->sl;
	}
	pinion_complete(target->cq, &cqe);
}

static enum pinion_verdict fail_recv(struct pinion_qp *qp, const struct pinion_target *target,
				     enum pinion_syndrome syndrome,
				     enum pinion_verdict verdict)
{
	pinion_complete_recv_error(qp, target->cq, pinion_local_status(syndrome), syndrome);
	return pinion_refuse(qp, verdict, IB_EVENT_QP_REQ_ERR);
}

/*
 * A message came to nothing after its receive request was taken, and that is nobody's
 * affair but its sender's: the request serves the next one. Only where that may ask for
 * another queue's it is given back.
 */
static void keep_recv(struct pinion_qp *qp, const struct pinion_target *target)
{
	qp->resp.kept = !target->xrc;
	if (target->xrc)
		pinion_complete_recv_error(qp, target->cq, IB_WC_WR_FLUSH_ERR,
					   PINION_SYN_REMOTE);
}

/* Longer than the request has room for. A stranger's datagram must not cost that. */
static enum pinion_verdict refuse_length(struct pinion_qp *qp, const struct pinion_target *target)
{
	if (pinion_qp_is_reliable(qp))
		return fail_recv(qp, target, PINION_SYN_LENGTH, PINION_NAK_REQUEST);
	keep_recv(qp, target);
	return pinion_refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);
}

/* Payload into the receive request just taken. */
static enum pinion_verdict scatter(struct pinion_qp *qp, const struct pinion_target *target,
				   struct pinion_msg *msg)
{
	struct pinion_recv *recv = qp->resp.recv;
	struct pinion_cursor sink, header;
	u8 grh[PINION_GRH_SIZE];
	u64 needed = msg->length;
	bool moved = true;

	if (!pinion_qp_is_connected(qp))
		needed += PINION_GRH_SIZE;
	if (recv->length < needed)
		return refuse_length(qp, target);
	pinion_cursor_local(&sink, &qp->node->keys, target->recv_pd, recv->sge, recv->num_sge,
			    IB_ACCESS_LOCAL_WRITE);
	if (!pinion_qp_is_connected(qp)) {
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

/* RDMA WRITE that takes a receive request only to say that it came. */
static enum pinion_verdict write(struct pinion_qp *qp, const struct pinion_target *target,
				 struct pinion_msg *msg)
{
	enum pinion_verdict verdict = pinion_remote_move(qp, target, msg);

	if (verdict == PINION_ACK)
		return verdict;
	if (pinion_qp_is_reliable(qp) && verdict != PINION_OWN_FAULT)
		pinion_complete_recv_error(qp, target->cq, IB_WC_WR_FLUSH_ERR,
					   PINION_SYN_FLUSHED);
	else
		keep_recv(qp, target);
	return verdict;
}

static enum pinion_verdict invalidate(struct pinion_qp *qp, const struct pinion_target *target,
				      const struct pinion_msg *msg)
{
	enum pinion_verdict verdict;
	int syndrome;

	syndrome = pinion_key_invalidate(&qp->node->keys, target->pd, msg->ex, qp->ibqp.qp_num);
	if (!syndrome)
		return PINION_ACK;
	verdict = pinion_refuse_key(qp, syndrome);
	pinion_complete_recv_error(qp, target->cq, IB_WC_LOC_PROT_ERR, PINION_SYN_KEY_STATE);
	return verdict;
}

enum pinion_verdict pinion_receive(struct pinion_qp *qp, const struct pinion_target *target,
				   struct pinion_msg *msg)
{
	enum pinion_verdict verdict;
	int err = take(qp, target);

	if (err == -ENOENT)
		return pinion_qp_is_reliable(qp) ? PINION_RNR : PINION_SILENCE;
	if (err)
		return fail_recv(qp, target, PINION_SYN_BAD_WQE, PINION_NAK_OPERATION);

	if (msg->op->traits & PINION_OP_REMOTE_MEM)
		verdict = write(qp, target, msg);
	else
		verdict = scatter(qp, target, msg);
	if (verdict == PINION_ACK && msg->op->traits & PINION_OP_HAS_INV)
		verdict = invalidate(qp, target, msg);
	if (verdict == PINION_ACK)
		finish_recv(qp, target, msg);
	return verdict;
}

void pinion_flush_recvs(struct pinion_qp *qp)
{
	struct pinion_cq *cq = to_pinion_cq(qp->ibqp.recv_cq);
	u32 left;

	lockdep_assert_held(&qp->resp.lock);
	if (qp->resp.kept) {
		qp->resp.kept = false;
		pinion_complete_recv_error(qp, cq, IB_WC_WR_FLUSH_ERR, PINION_SYN_FLUSHED);
	}
	if (!qp->has_rq)
		return;
	/* Only what is there now: a user who goes on posting must not keep the lock from peers. */
	for (left = pinion_recvq_count(&qp->rq); left; left--) {
		if (pinion_recvq_take(&qp->rq, qp->resp.recv) == -ENOENT)
			break;
		pinion_complete_recv_error(qp, cq, IB_WC_WR_FLUSH_ERR, PINION_SYN_FLUSHED);
		cond_resched();
	}
}
