// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder: admits a message, finds what it acts upon, and gives the verdict. Knows no
 * engine and nothing of the requester. The work is done in receive.c and remote.c.
 */
#include "complete.h"
#include "late.h"
#include "receive.h"
#include "refuse.h"
#include "remote.h"

/* XRC initiators only send. */
bool pinion_resp_listens(const struct pinion_qp *qp)
{
	if (qp->failing || qp->ibqp.qp_type == IB_QPT_XRC_INI)
		return false;
	return qp->state == IB_QPS_RTR || qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD ||
	       qp->state == IB_QPS_SQE;
}

static bool resp_is_xrc_target(const struct pinion_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_XRC_TGT;
}

/*
 * Is this message for this queue pair? If not it is dropped silently. For connections the
 * engine has checked already who sent it and that it is the next.
 */
static bool resp_admit(struct pinion_qp *qp, const struct pinion_msg *msg)
{
	if (!pinion_resp_listens(qp) || msg->service != qp->service ||
	    msg->xrc != resp_is_xrc_target(qp))
		return false;
	return pinion_qp_is_connected(qp) || msg->qkey == qp->attr.qkey;
}

static bool resp_find_target(struct pinion_qp *qp, const struct pinion_msg *msg,
			     struct pinion_target *target)
{
	*target = (struct pinion_target){
		.pd = qp->ibqp.pd,
		.recv_pd = qp->ibqp.pd,
		.faulter = qp->faulter,
	};
	if (!resp_is_xrc_target(qp)) {
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
	target->faulter = target->srq->faulter;
	return true;
}

static void resp_put_target(struct pinion_target *target)
{
	if (target->xrc)
		pinion_srq_put(target->srq);
}

static u32 resp_needed_rights(const struct pinion_msg *msg)
{
	return msg->opcode == PINION_OP_FLUSH ? msg->flush_rights : msg->op->remote_rights;
}

/*
 * Does the queue pair allow this operation? Requests are performed one at a time, so of the
 * depth for READs and atomics only 0 matters.
 */
static bool resp_allows(const struct pinion_qp *qp, const struct pinion_msg *msg)
{
	u32 rights = resp_needed_rights(msg);

	if ((qp->attr.qp_access_flags & rights) != rights)
		return false;
	return !(msg->op->traits & PINION_OP_HAS_ANSWER) || qp->attr.max_dest_rd_atomic;
}

static enum pinion_verdict resp_serve(struct pinion_qp *qp, struct pinion_msg *msg)
{
	struct pinion_target target;
	enum pinion_verdict verdict;

	if (!resp_find_target(qp, msg, &target))
		return pinion_refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);
	if (msg->op->traits & PINION_OP_TAKES_RECV)
		verdict = pinion_receive(qp, &target, msg);
	else
		verdict = pinion_remote_perform(qp, &target, msg);
	resp_put_target(&target);
	return verdict;
}

/*
 * A message that lacked a page, or gave way, continues where it was, if no other was performed
 * meanwhile. Else it begins anew.
 */
static void resp_begin(struct pinion_qp *qp, struct pinion_msg *msg)
{
	msg->resumed = msg->token && msg->token == qp->resp.token;
	msg->asked = false;
	qp->resp.token = 0;
	if (msg->begins)
		qp->resp.before = 0;
	if (!msg->resumed)
		pinion_cursor_rewind(msg->payload);
}

/* A FLUSH names bytes, and moves none. */
static u64 resp_moved(const struct pinion_msg *msg)
{
	return msg->opcode == PINION_OP_FLUSH ? 0 : msg->length;
}

/*
 * Count payload packets for the port's counters, as on a wire: a READ is one packet received and
 * its data sent.
 */
static void resp_count_traffic(struct pinion_qp *qp, const struct pinion_msg *msg)
{
	if (pinion_op_is_read(msg->op)) {
		pinion_stat_inc(qp, port_rcv_packets);
		pinion_stat_add(qp, port_xmit_packets, msg->packets);
		pinion_stat_add(qp, port_xmit_bytes, msg->length);
	} else {
		pinion_stat_add(qp, port_rcv_packets, msg->packets);
		pinion_stat_add(qp, port_rcv_bytes, resp_moved(msg));
	}
}

/* Count requests by their kind, as mlx5 does; SENDs are not. */
static void resp_count_request(struct pinion_qp *qp, const struct pinion_op *op)
{
	pinion_stat_inc(qp, rx_messages);
	if (!(op->traits & PINION_OP_REMOTE_MEM))
		return;
	if (pinion_op_is_read(op))
		pinion_stat_inc(qp, rx_read_requests);
	else if (pinion_op_is_atomic(op))
		pinion_stat_inc(qp, rx_atomic_requests);
	else if (op->traits & PINION_OP_READS_SGES)
		pinion_stat_inc(qp, rx_write_requests);
}

/* The first message in RTR raises COMM_EST, as a connection manager wants to know. */
static void resp_establish(struct pinion_qp *qp)
{
	if (qp->state != IB_QPS_RTR || !pinion_qp_is_connected(qp) || qp->resp.established)
		return;
	qp->resp.established = true;
	pinion_qp_event(qp, IB_EVENT_COMM_EST);
}

enum pinion_verdict pinion_respond(struct pinion_qp *qp, struct pinion_msg *msg)
{
	enum pinion_verdict verdict;
	bool behind;

	pinion_half_assert(&qp->resp.lock);
	/* Before the check whether @msg is admitted: one of those ahead may break @qp. */
	behind = pinion_late_is_ahead(qp, msg) && !pinion_late_catch_up(qp);
	if (!resp_admit(qp, msg))
		return PINION_SILENCE;
	if (behind)
		return pinion_late_keep(qp, msg);
	resp_establish(qp);
	if (!resp_allows(qp, msg))
		return pinion_refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);

	resp_begin(qp, msg);
	verdict = resp_serve(qp, msg);
	/* The sender of a datagram does not wait for the receiver's page: keep a copy. */
	if (verdict == PINION_PEER_PAGE && !pinion_qp_is_connected(qp) && !msg->late) {
		pinion_missing_put(&msg->missing);
		return pinion_late_keep(qp, msg);
	}
	if (verdict == PINION_ACK) {
		qp->resp.before += msg->length;
		if (msg->ends)
			resp_count_request(qp, msg->op);
		pinion_stat_add(qp, rx_bytes, resp_moved(msg));
		resp_count_traffic(qp, msg);
	}
	return verdict;
}

/* ------------------------------------------------------- READ, piece by piece */

enum pinion_verdict pinion_respond_read(struct pinion_qp *qp, struct pinion_msg *msg,
					struct pinion_cursor *source, bool again)
{
	struct pinion_target target;
	enum pinion_syndrome syndrome = 0;

	pinion_half_assert(&qp->resp.lock);
	if (!resp_admit(qp, msg))
		return PINION_SILENCE;
	resp_establish(qp);
	if (!resp_allows(qp, msg) || !resp_find_target(qp, msg, &target))
		return again ? PINION_NAK_REQUEST :
			       pinion_refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);
	if (msg->length)
		syndrome = pinion_remote_ask(qp, &target, msg, msg->length);
	pinion_remote_source(qp, &target, msg, source);
	resp_put_target(&target);
	if (syndrome)
		return again ? PINION_NAK_ACCESS : pinion_refuse_key(qp, syndrome);
	if (!again) {
		resp_count_request(qp, msg->op);
		pinion_stat_add(qp, rx_bytes, msg->length);
		resp_count_traffic(qp, msg);
	}
	return PINION_ACK;
}

enum pinion_verdict pinion_respond_give(struct pinion_qp *qp, struct pinion_msg *msg,
					struct pinion_cursor *source, bool again)
{
	struct pinion_target target;
	enum pinion_verdict verdict;

	pinion_half_assert(&qp->resp.lock);
	if (!resp_find_target(qp, msg, &target))
		return again ? PINION_NAK_REQUEST :
			       pinion_refuse(qp, PINION_NAK_REQUEST, IB_EVENT_QP_REQ_ERR);
	verdict = pinion_remote_give(qp, &target, msg, source);
	resp_put_target(&target);
	if (verdict == PINION_NAK_ACCESS && !again)
		return pinion_refuse_key(qp, source->syndrome);
	return verdict;
}
