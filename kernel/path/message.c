// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Turns a work request into a message: payload, address, and remote memory. Does not send it.
 */
#include "../logic/psn.h"
#include "../logic/wqe.h"
#include "message.h"
#include "raw_qp.h"

void pinion_message_payload(struct pinion_qp *qp, struct pinion_request *request)
{
	struct pinion_cursor *payload = &request->payload;
	struct pinion_sq_wqe *wqe = request->wqe;

	if (wqe->flags & PINION_WQE_INLINE) {
		pinion_cursor_memory(payload, wqe + 1);
		return;
	}
	pinion_cursor_local(payload, &qp->node->keys, qp->ibqp.pd, pinion_wqe_sges(wqe),
			    wqe->num_sge,
			    request->op->traits & PINION_OP_WRITES_SGES ?
				    IB_ACCESS_LOCAL_WRITE : 0);
	if (wqe->flags & PINION_WQE_LEAD)
		payload->lead = (struct pinion_sge *)(wqe + 1) + wqe->num_sge;
}

/* Set the destination of a datagram, which its work request names. Return: 0 or a syndrome. */
static enum pinion_syndrome message_address_datagram(struct pinion_qp *qp,
						     const struct pinion_wqe_ud *ud,
						     struct pinion_msg *msg, struct pinion_av *av)
{
	if (qp->raw)
		*av = qp->raw->sq.avs[ud->ah];
	else if (pinion_node_copy_av(qp->node, ud->ah, qp->ibqp.pd, av))
		return PINION_SYN_AH;
	msg->av = av;
	/* IBTA 10.2.5: the high bit asks for the queue's own Q_Key. */
	msg->qkey = ud->remote_qkey & BIT(31) ? qp->attr.qkey : ud->remote_qkey;
	msg->dst_qpn = ud->remote_qpn & 0xffffff;
	return 0;
}

static void message_address_memory(const struct pinion_sq_wqe *wqe, struct pinion_msg *msg)
{
	if (msg->opcode == PINION_OP_FLUSH) {
		msg->remote_addr = wqe->flush.remote_addr;
		msg->rkey = wqe->flush.rkey;
		msg->length = wqe->flush.length;
		msg->flush_all = wqe->flush.level == IB_FLUSH_MR;
		if (wqe->flush.type & IB_FLUSH_GLOBAL)
			msg->flush_rights |= IB_ACCESS_FLUSH_GLOBAL;
		if (wqe->flush.type & IB_FLUSH_PERSISTENT)
			msg->flush_rights |= IB_ACCESS_FLUSH_PERSISTENT;
	} else if (pinion_op_is_atomic(msg->op)) {
		msg->remote_addr = wqe->atomic.remote_addr;
		msg->rkey = wqe->atomic.rkey;
		msg->operand = wqe->atomic.compare_add;
		msg->swap = wqe->atomic.swap;
	} else {
		msg->remote_addr = wqe->rdma.remote_addr;
		msg->rkey = wqe->rdma.rkey;
	}
}

enum pinion_syndrome pinion_message_of(struct pinion_qp *qp, struct pinion_request *request,
				       struct pinion_msg *msg, struct pinion_av *av)
{
	const struct pinion_sq_wqe *wqe = request->wqe;

	*msg = (struct pinion_msg){
		.op = request->op,
		.opcode = wqe->opcode,
		.service = qp->service,
		.xrc = qp->ibqp.qp_type == IB_QPT_XRC_INI,
		.solicited = wqe->flags & PINION_WQE_SOLICITED,
		.begins = true,
		.ends = true,
		.yields = pinion_qp_is_connected(qp),
		.length = request->length,
		.whole = request->length,
		.ex = wqe->ex,
		.src_qpn = qp->ibqp.qp_num,
		.dst_qpn = qp->attr.dest_qp_num,
		.payload = &request->payload,
		.token = request->token,
		.fault = qp->sq.fault,
		.fault_err = request->fault_err,
		.fault_left = request->fault_left,
		.psn = request->psn,
		.packets = request->packets,
		.srqn = wqe->xrc_srqn,
		.av = &qp->av,
	};
	if (msg->op->traits & PINION_OP_REMOTE_MEM)
		message_address_memory(wqe, msg);
	if (qp->service != PINION_SVC_UD)
		return 0;
	return message_address_datagram(qp, &wqe->ud, msg, av);
}
