// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The ops of kernel consumers. These may be in any context, so they leave the execution to the work
 * item.
 */
#include "../logic/wqe.h"
#include "post.h"
#include "sge.h"

static u8 post_wqe_flags(const struct ib_send_wr *wr)
{
	u8 flags = 0;

	if (wr->send_flags & IB_SEND_FENCE)
		flags |= PINION_WQE_FENCE;
	if (wr->send_flags & IB_SEND_SIGNALED)
		flags |= PINION_WQE_SIGNALED;
	if (wr->send_flags & IB_SEND_SOLICITED)
		flags |= PINION_WQE_SOLICITED;
	if (wr->send_flags & IB_SEND_INLINE)
		flags |= PINION_WQE_INLINE;
	return flags;
}

static int post_put_inline(struct pinion_qp *qp, const struct ib_send_wr *wr,
			   struct pinion_sq_wqe *wqe)
{
	void *to = wqe + 1;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > qp->sq.max_inline - wqe->inline_length)
			return -EINVAL;
		memcpy(to + wqe->inline_length, (void *)(uintptr_t)sge->addr, sge->length);
		wqe->inline_length += sge->length;
	}
	return 0;
}

static int post_put_op(struct pinion_qp *qp, const struct ib_send_wr *wr, struct pinion_sq_wqe *wqe)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE_WITH_IMM:
		wqe->ex = (__force u32)wr->ex.imm_data;
		fallthrough;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_READ:
	case IB_WR_ATOMIC_WRITE:
		wqe->rdma.remote_addr = rdma_wr(wr)->remote_addr;
		wqe->rdma.rkey = rdma_wr(wr)->rkey;
		return 0;
	case IB_WR_SEND_WITH_IMM:
		wqe->ex = (__force u32)wr->ex.imm_data;
		fallthrough;
	case IB_WR_SEND:
		if (qp->service != PINION_SVC_UD)
			return 0;
		wqe->ud.ah = to_pinion_ah(ud_wr(wr)->ah)->number;
		wqe->ud.remote_qpn = ud_wr(wr)->remote_qpn;
		wqe->ud.remote_qkey = ud_wr(wr)->remote_qkey;
		return 0;
	case IB_WR_SEND_WITH_INV:
	case IB_WR_LOCAL_INV:
		wqe->ex = wr->ex.invalidate_rkey;
		return 0;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		wqe->atomic.remote_addr = atomic_wr(wr)->remote_addr;
		wqe->atomic.compare_add = atomic_wr(wr)->compare_add;
		wqe->atomic.swap = atomic_wr(wr)->swap;
		wqe->atomic.rkey = atomic_wr(wr)->rkey;
		return 0;
	case IB_WR_REG_MR:
		wqe->reg.key = reg_wr(wr)->key;
		wqe->reg.access = reg_wr(wr)->access;
		return 0;
	default:
		return -EINVAL;
	}
}

static_assert((int)IB_WR_REG_MR == (int)PINION_OP_REG_MR);

static int post_send_one(struct pinion_qp *qp, const struct ib_send_wr *wr)
{
	struct pinion_sq *sq = &qp->sq;
	struct pinion_sq_wqe *wqe = pinion_ring_at(&sq->ring, sq->tail);
	int err;

	if (pinion_ring_used(sq->tail, READ_ONCE(sq->ring.hdr->kern_idx)) >= sq->ring.entries)
		return -ENOMEM;
	if (wr->num_sge < 0 || wr->num_sge > sq->max_sge)
		return -EINVAL;
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->flags = post_wqe_flags(wr);
	err = post_put_op(qp, wr, wqe);
	if (!err && wr->send_flags & IB_SEND_INLINE)
		err = post_put_inline(qp, wr, wqe);
	else if (!err)
		wqe->num_sge = pinion_sges_put(wqe + 1, wr->sg_list, wr->num_sge);
	if (err)
		return err;
	/* Pairs with pinion_ring_user_idx() of the executor. */
	smp_store_release(&sq->ring.hdr->user_idx, ++sq->tail);
	return 0;
}

/**
 * pinion_post_send - ib_device_ops.post_send, any context
 * @ibqp: a kernel consumer's queue pair
 * @wr: list of requests
 * @bad_wr: the first that was not taken
 *
 * Return: 0 or a negative errno.
 */
int pinion_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad_wr)
{
	struct pinion_qp *qp = to_pinion_qp(ibqp);
	enum ib_qp_state state = READ_ONCE(qp->state);
	unsigned long flags;
	int err = 0;

	if (qp->user || !qp->has_sq || state < IB_QPS_RTS) {
		*bad_wr = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->sq.post_lock, flags);
	for (; wr; wr = wr->next) {
		err = post_send_one(qp, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&qp->sq.post_lock, flags);
	queue_work(qp->wq, &qp->sq.work);
	return err;
}

/**
 * pinion_post_recv - ib_device_ops.post_recv, any context
 * @ibqp: a kernel consumer's queue pair
 * @wr: list of requests
 * @bad_wr: the first that was not taken
 *
 * Return: 0 or a negative errno.
 */
int pinion_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad_wr)
{
	struct pinion_qp *qp = to_pinion_qp(ibqp);
	int err;

	if (qp->user || !qp->has_rq || READ_ONCE(qp->state) == IB_QPS_RESET) {
		*bad_wr = wr;
		return -EINVAL;
	}
	err = pinion_recvq_post(&qp->rq, wr, bad_wr);
	/* In the error state the work item flushes them. Pairs with the barrier in recvq.c. */
	smp_mb();
	if (READ_ONCE(qp->rq.ring.hdr->flags) & PINION_RING_NEED_DOORBELL)
		queue_work(qp->wq, &qp->sq.work);
	return err;
}
