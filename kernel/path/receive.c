// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Takes receive requests for messages, fills and completes them. respond.c has decided before that
 * the message is admitted.
 */
#include "carry.h"
#include "complete.h"
#include "grh.h"
#include "late.h"
#include "move.h"
#include "raw_qp.h"
#include "receive.h"
#include "refuse.h"
#include "remote.h"

/*
 * No reference to the shared queue was kept, only its number. Another queue may have the number by
 * now, so check that it is one of the same XRC domain.
 */
void pinion_give_back(struct pinion_qp *qp)
{
	struct pinion_srq *srq;

	pinion_half_assert(&qp->resp.lock);
	if (qp->ibqp.qp_type != IB_QPT_XRC_TGT || !qp->resp.recv_kept)
		return;
	qp->resp.recv_kept = false;
	srq = pinion_srq_get(qp->node, qp->resp.recv_kept_srqn);
	if (!srq)
		return;
	if (srq->ibsrq.srq_type == IB_SRQT_XRC && srq->ibsrq.ext.xrc.xrcd == qp->ibqp.xrcd)
		pinion_complete_recv_error(qp, to_pinion_cq(srq->ibsrq.ext.cq),
					   IB_WC_WR_FLUSH_ERR, PINION_SYN_REMOTE);
	pinion_srq_put(srq);
}

static int recv_take_shared(struct pinion_qp *qp, const struct pinion_target *target)
{
	int err = pinion_srq_take(target->srq, qp->resp.recv);

	/* mlx5's completions carry the queue pair's user index, unknown to a shared queue. */
	if (qp->raw && target->srq->rq.raw && !target->xrc)
		qp->resp.recv->wr_id |= (u64)qp->raw->user_index << 32;
	return err;
}

static int recv_take(struct pinion_qp *qp, const struct pinion_target *target)
{
	if (target->xrc && target->srq->srqn != qp->resp.recv_kept_srqn)
		pinion_give_back(qp);
	if (qp->resp.recv_kept) {
		qp->resp.recv_kept = false;
		return 0;
	}
	return target->srq ? recv_take_shared(qp, target) :
			     pinion_recvq_take(&qp->rq, qp->resp.recv);
}

/* There is no completion that could report it, so an event does. */
static enum pinion_verdict recv_break_by_event(struct pinion_qp *qp)
{
	return pinion_break(qp, PINION_NAK_OPERATION, IB_EVENT_QP_FATAL);
}

static enum pinion_verdict recv_finish(struct pinion_qp *qp, const struct pinion_target *target,
				       const struct pinion_msg *msg)
{
	struct pinion_cqe cqe = {
		.wr_id = qp->resp.recv->wr_id,
		.qpn = qp->ibqp.qp_num,
		.src_qp = msg->src_qpn,
		.byte_len = qp->resp.before + msg->length,
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
		if (msg->av->vlan != PINION_NO_VLAN) {
			cqe.flags |= PINION_CQE_WITH_VLAN;
			cqe.vlan_id = msg->av->vlan;
		}
	}
	return pinion_complete(target->cq, &cqe) ? PINION_ACK : recv_break_by_event(qp);
}

/*
 * The receive request itself is bad: break the queue pair on any service, and complete the request
 * with an error. In this order: what is posted after the completion was seen must be flushed. No
 * event, since the completion reports it.
 */
static enum pinion_verdict recv_fail(struct pinion_qp *qp, const struct pinion_target *target,
				     enum pinion_syndrome syndrome,
				     enum pinion_verdict verdict)
{
	pinion_stat_inc(qp, invalid_requests);
	verdict = pinion_break(qp, verdict, PINION_NO_EVENT);
	pinion_complete_recv_error(qp, target->cq, pinion_local_status(syndrome), syndrome);
	return verdict;
}

/*
 * The message has failed on the sender's side after a receive request was taken. Keep the request
 * for the next message. With XRC that may name another queue, so the request is completed as
 * flushed instead.
 */
static void recv_keep(struct pinion_qp *qp, const struct pinion_target *target)
{
	qp->resp.recv_kept = !target->xrc;
	if (target->xrc)
		pinion_complete_recv_error(qp, target->cq, IB_WC_WR_FLUSH_ERR,
					   PINION_SYN_REMOTE);
}

/*
 * Keep the receive request: the message lacks a page or gave way and will be tried again, or its
 * next piece will come, or another message in its place.
 */
static void recv_hold(struct pinion_qp *qp, const struct pinion_target *target)
{
	qp->resp.recv_kept = true;
	if (target->xrc)
		qp->resp.recv_kept_srqn = target->srq->srqn;
}

/*
 * The message is longer than the receive request. On a reliable connection both fail. On other
 * services, and if it is doubtful, anybody may have sent it, so the message is dropped and the
 * request kept.
 */
static enum pinion_verdict recv_refuse_length(struct pinion_qp *qp,
					      const struct pinion_target *target)
{
	if (pinion_refusal_breaks(qp))
		return recv_fail(qp, target, PINION_SYN_LENGTH, PINION_NAK_REQUEST);
	recv_hold(qp, target);
	return pinion_refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);
}

/* Write the header (GRH) that precedes the payload of a datagram. */
static enum pinion_verdict recv_put_header(struct pinion_qp *qp, const struct pinion_target *target,
					   struct pinion_msg *msg)
{
	struct pinion_cursor *sink = &qp->resp.cursor, header;
	u8 grh[PINION_GRH_SIZE];
	u64 left = sizeof(grh);

	pinion_grh_build(grh, msg->av, msg->length);
	pinion_cursor_memory(&header, grh);
	switch (pinion_move(qp->node, sink, &header, &left, &msg->missing)) {
	case PINION_MOVED:
		return PINION_ACK;
	case PINION_MOVE_NO_SINK:
		return pinion_lacks(qp, target, msg, sink);
	default:
		return PINION_NAK_OPERATION;
	}
}

/* Set resp.cursor to the memory of the receive request, for datagrams behind the header. */
static enum pinion_verdict recv_open_sink(struct pinion_qp *qp, const struct pinion_target *target,
					  struct pinion_msg *msg)
{
	struct pinion_recv *recv = qp->resp.recv;

	pinion_cursor_local(&qp->resp.cursor, &qp->node->keys, target->recv_pd, recv->sge,
			    recv->num_sge, IB_ACCESS_LOCAL_WRITE);
	return pinion_qp_is_connected(qp) ? PINION_ACK : recv_put_header(qp, target, msg);
}

/* Copy the payload into the memory of the receive request that was taken. */
static enum pinion_verdict recv_scatter(struct pinion_qp *qp, const struct pinion_target *target,
					struct pinion_msg *msg)
{
	enum pinion_verdict verdict = PINION_ACK;
	u64 needed = qp->resp.before + msg->length;

	if (!pinion_qp_is_connected(qp))
		needed += PINION_GRH_SIZE;
	if (qp->resp.recv->length < needed)
		return recv_refuse_length(qp, target);
	if (!msg->resumed)
		qp->resp.left = msg->length;
	if (!msg->resumed && msg->begins)
		verdict = recv_open_sink(qp, target, msg);
	/* XRC: the queue is found by number each time, so its domain may be another one now. */
	qp->resp.cursor.want.pd = target->recv_pd;
	if (verdict == PINION_ACK)
		verdict = pinion_carry(qp, target, msg, false);
	if (qp->resp.cursor.syndrome)
		return recv_fail(qp, target, qp->resp.cursor.syndrome, PINION_NAK_OPERATION);
	if (pinion_verdict_goes_on(verdict))
		recv_hold(qp, target);
	else if (verdict != PINION_ACK)
		recv_keep(qp, target);
	return verdict;
}

/* RDMA WRITE with immediate: the receive request is taken for its completion only. */
static enum pinion_verdict recv_write(struct pinion_qp *qp, const struct pinion_target *target,
				      struct pinion_msg *msg)
{
	enum pinion_verdict verdict = pinion_remote_move(qp, target, msg);

	if (verdict == PINION_ACK)
		return verdict;
	if (pinion_verdict_goes_on(verdict) || qp->resp.doubtful)
		recv_hold(qp, target);
	else if (pinion_qp_is_reliable(qp) && verdict != PINION_OWN_FAULT)
		pinion_complete_recv_error(qp, target->cq, IB_WC_WR_FLUSH_ERR,
					   PINION_SYN_FLUSHED);
	else
		recv_keep(qp, target);
	return verdict;
}

static enum pinion_verdict recv_invalidate(struct pinion_qp *qp, const struct pinion_target *target,
					   const struct pinion_msg *msg)
{
	enum pinion_verdict verdict;
	enum pinion_syndrome syndrome;

	syndrome = pinion_key_invalidate(&qp->node->keys, target->pd, msg->ex, qp->ibqp.qp_num);
	if (!syndrome)
		return PINION_ACK;
	verdict = pinion_refuse_key(qp, syndrome);
	if (qp->resp.doubtful)
		recv_hold(qp, target);
	else
		pinion_complete_recv_error(qp, target->cq, IB_WC_LOC_PROT_ERR,
					   PINION_SYN_KEY_STATE);
	return verdict;
}

/*
 * May this piece be received? A piece of a SEND that is not its first needs the receive request
 * that the first has taken, with XRC of the same queue. A WRITE takes its request with its last
 * piece; it may have one already if that piece is tried again.
 */
static bool recv_goes_on(const struct pinion_qp *qp, const struct pinion_target *target,
			 const struct pinion_msg *msg)
{
	if (msg->begins || msg->op->traits & PINION_OP_REMOTE_MEM)
		return true;
	return qp->resp.recv_kept && (!target->xrc || target->srq->srqn == qp->resp.recv_kept_srqn);
}

enum pinion_verdict pinion_receive(struct pinion_qp *qp, const struct pinion_target *target,
				   struct pinion_msg *msg)
{
	enum pinion_verdict verdict;
	int err;

	if (pinion_cq_is_lost(target->cq))
		return recv_break_by_event(qp);
	if (!recv_goes_on(qp, target, msg))
		return pinion_refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);
	err = recv_take(qp, target);
	if (err == -ENOENT) {
		pinion_stat_add(qp, out_of_buffer, msg->packets);
		return pinion_qp_is_reliable(qp) ? PINION_RNR : PINION_SILENCE;
	}
	if (err == -EBADMSG)
		return recv_break_by_event(qp);
	if (err)
		return recv_fail(qp, target, PINION_SYN_BAD_WQE, PINION_NAK_OPERATION);

	if (msg->op->traits & PINION_OP_REMOTE_MEM)
		verdict = recv_write(qp, target, msg);
	else
		verdict = recv_scatter(qp, target, msg);
	if (verdict == PINION_ACK && msg->op->traits & PINION_OP_HAS_INV)
		verdict = recv_invalidate(qp, target, msg);
	if (verdict != PINION_ACK)
		return verdict;
	if (msg->ends)
		return recv_finish(qp, target, msg);
	recv_hold(qp, target);
	return PINION_ACK;
}

void pinion_flush_recvs(struct pinion_qp *qp)
{
	struct pinion_cq *cq = to_pinion_cq(qp->ibqp.recv_cq);
	u32 left;
	int err;

	pinion_half_assert(&qp->resp.lock);
	qp->resp.token = 0;
	pinion_late_forget(qp);
	pinion_give_back(qp);
	if (qp->resp.recv_kept) {
		qp->resp.recv_kept = false;
		pinion_complete_recv_error(qp, cq, IB_WC_WR_FLUSH_ERR, PINION_SYN_FLUSHED);
	}
	if (!qp->has_rq)
		return;
	/* Only those posted by now: else a program that keeps posting could hold us in the lock. */
	for (left = pinion_recvq_count(&qp->rq); left; left--) {
		err = pinion_recvq_take(&qp->rq, qp->resp.recv);
		if (err == -ENOENT || err == -EBADMSG)
			break;
		pinion_complete_recv_error(qp, cq, IB_WC_WR_FLUSH_ERR, PINION_SYN_FLUSHED);
		cond_resched();
	}
}
