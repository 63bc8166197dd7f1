// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * From a work request to a message: what is sent, to whom, and what it asks of memory
 * there. Sends nothing.
 */
#include "../logic/psn.h"
#include "../logic/wqe.h"
#include "message.h"

void pinion_message_payload(struct pinion_qp *qp)
{
	struct pinion_cursor *payload = &qp->sq.payload;
	struct pinion_sq_wqe *wqe = qp->sq.wqe;

	if (wqe->flags & PINION_WQE_INLINE)
		pinion_cursor_memory(payload, wqe + 1);
	else
		pinion_cursor_local(payload, &qp->node->keys, qp->ibqp.pd,
				    pinion_wqe_sges(wqe), wqe->num_sge,
				    qp->sq.op->traits & PINION_OP_WRITES_SGES ?
				    IB_ACCESS_LOCAL_WRITE : 0);
}

/* A datagram names its destination itself. Return: 0 or a syndrome. */
static int message_address_datagram(struct pinion_qp *qp, struct pinion_msg *msg,
				    struct pinion_av *av, u32 *qpn)
{
	const struct pinion_wqe_ud *ud = &qp->sq.wqe->ud;

	if (pinion_node_copy_av(qp->node, ud->ah, qp->ibqp.pd, av))
		return PINION_SYN_AH;
	msg->av = av;
	/* IBTA 10.2.5: the high bit asks for the queue's own Q_Key. */
	msg->qkey = ud->remote_qkey & BIT(31) ? qp->attr.qkey : ud->remote_qkey;
	*qpn = ud->remote_qpn & 0xffffff;
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
	} else if (msg->op->traits & PINION_OP_WORD &&
		   msg->op->traits & PINION_OP_WRITES_SGES) {
		msg->remote_addr = wqe->atomic.remote_addr;
		msg->rkey = wqe->atomic.rkey;
		msg->operand = wqe->atomic.compare_add;
		msg->swap = wqe->atomic.swap;
	} else {
		msg->remote_addr = wqe->rdma.remote_addr;
		msg->rkey = wqe->rdma.rkey;
	}
}

int pinion_message_of(struct pinion_qp *qp, struct pinion_msg *msg, struct pinion_av *av,
		      u32 *qpn)
{
	const struct pinion_sq_wqe *wqe = qp->sq.wqe;

	*msg = (struct pinion_msg){
		.op = qp->sq.op,
		.opcode = wqe->opcode,
		.service = qp->service,
		.xrc = qp->ibqp.qp_type == IB_QPT_XRC_INI,
		.solicited = wqe->flags & PINION_WQE_SOLICITED,
		.length = qp->sq.length,
		.ex = wqe->ex,
		.src_qpn = qp->ibqp.qp_num,
		.payload = &qp->sq.payload,
		.token = qp->sq.token,
		.fault = qp->sq.fault,
		.fault_err = qp->sq.fault_err,
		.fault_left = qp->sq.fault_left,
		.psn = qp->attr.sq_psn,
		.packets = pinion_psn_packets(qp->sq.length, qp->mtu),
		.srqn = wqe->xrc_srqn,
		.av = &qp->av,
	};
	*qpn = qp->attr.dest_qp_num;
	if (msg->op->traits & PINION_OP_REMOTE_MEM)
		message_address_memory(wqe, msg);
	return qp->service == PINION_SVC_UD ? message_address_datagram(qp, msg, av, qpn) : 0;
}
