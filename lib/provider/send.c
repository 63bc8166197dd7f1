// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posts lists of send work requests. Each is checked and written into the shared ring;
 * the whole list needs one doorbell. Only the form is checked here. The kernel checks
 * keys, rights, bounds and alignment, and reports errors as completions.
 */
#include <errno.h>
#include <string.h>

#include "opcode.h"
#include "provider.h"

enum {
	WR_FLAGS = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |
		   IBV_SEND_INLINE,
};

static int copy_inline(struct pinion_qp *qp, struct pinion_sq_wqe *wqe,
		       const struct ibv_send_wr *wr)
{
	struct pinion_sq *sq = &qp->sq;
	char *to = (char *)(wqe + 1);
	uint32_t room = sq->max_inline;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (sge->length > room)
			return pinion_refuse(
				qp->vqp.qp.context, EINVAL,
				"inline data of more than max_inline_data %u",
				sq->max_inline);
		memcpy(to, (const void *)(uintptr_t)sge->addr, sge->length);
		to += sge->length;
		room -= sge->length;
	}
	wqe->inline_length = sq->max_inline - room;
	return 0;
}

static int fill_data(struct pinion_qp *qp, struct pinion_sq_wqe *wqe,
		     const struct ibv_send_wr *wr)
{
	if (wr->send_flags & IBV_SEND_INLINE)
		return copy_inline(qp, wqe, wr);

	if ((uint32_t)wr->num_sge > qp->sq.max_sge)
		return pinion_refuse(qp->vqp.qp.context, EINVAL,
				     "num_sge %d, the QP has max_send_sge %u",
				     wr->num_sge, qp->sq.max_sge);
	wqe->num_sge = wr->num_sge;
	pinion_copy_sges(wqe + 1, wr->sg_list, wr->num_sge);
	return 0;
}

static int fill_ud(struct pinion_qp *qp, struct pinion_sq_wqe *wqe,
		   const struct ibv_send_wr *wr)
{
	if (!wr->wr.ud.ah)
		return pinion_refuse(qp->vqp.qp.context, EINVAL,
				     "a datagram without address handle");

	wqe->ud.ah = to_pinion_ah(wr->wr.ud.ah)->number;
	wqe->ud.remote_qpn = wr->wr.ud.remote_qpn;
	wqe->ud.remote_qkey = wr->wr.ud.remote_qkey;
	return 0;
}

void pinion_fill_bind(struct pinion_sq_wqe *wqe, const struct ibv_mw *mw,
		      uint32_t new_rkey, const struct ibv_mw_bind_info *info)
{
	wqe->bind.addr = info->addr;
	wqe->bind.length = info->length;
	wqe->bind.mr_lkey = info->mr ? info->mr->lkey : 0;
	wqe->bind.mw_rkey = mw->rkey;
	wqe->bind.new_rkey = new_rkey;
	wqe->bind.access = info->mw_access_flags;
}

static int fill_body(struct pinion_qp *qp, struct pinion_sq_wqe *wqe,
		     const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_WRITE:
		wqe->rdma.remote_addr = wr->wr.rdma.remote_addr;
		wqe->rdma.rkey = wr->wr.rdma.rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wqe->atomic.remote_addr = wr->wr.atomic.remote_addr;
		wqe->atomic.compare_add = wr->wr.atomic.compare_add;
		wqe->atomic.swap = wr->wr.atomic.swap;
		wqe->atomic.rkey = wr->wr.atomic.rkey;
		break;
	case IBV_WR_BIND_MW:
		if (!wr->bind_mw.bind_info.mr && wr->bind_mw.bind_info.length)
			return pinion_refuse(qp->vqp.qp.context, EINVAL,
					     "a window is bound to no MR");
		pinion_fill_bind(wqe, wr->bind_mw.mw, wr->bind_mw.rkey,
				 &wr->bind_mw.bind_info);
		return 0;
	case IBV_WR_LOCAL_INV:
		return 0;
	default:
		if (qp->vqp.qp.qp_type == IBV_QPT_UD) {
			int err = fill_ud(qp, wqe, wr);

			if (err)
				return err;
		}
	}
	return fill_data(qp, wqe, wr);
}

static bool acceptable(const struct pinion_sq *sq, const struct ibv_send_wr *wr)
{
	uint32_t opcode = wr->opcode, op;

	if (opcode >= 32)
		return false;
	op = 1U << opcode;
	if (wr->send_flags & IBV_SEND_INLINE && !(op & OPS_INLINE))
		return false;
	return op & sq->allowed & OPS_POSTED && !(wr->send_flags & ~WR_FLAGS);
}

/* Log why @wr is not acceptable(). */
static int refuse_wr(const struct pinion_qp *qp, const struct ibv_send_wr *wr)
{
	struct ibv_context *context = qp->vqp.qp.context;
	uint32_t opcode = wr->opcode;

	if (opcode >= 32 || !(1U << opcode & OPS_POSTED))
		return pinion_refuse(context, EINVAL,
				     "opcode %u is not one to be posted",
				     opcode);
	if (!(1U << opcode & qp->sq.allowed))
		return pinion_refuse(context, EINVAL,
				     "opcode %u on a QP of type %d", opcode,
				     qp->vqp.qp.qp_type);
	if (wr->send_flags & ~WR_FLAGS)
		return pinion_refuse(context, EINVAL, "send_flags %#x",
				     wr->send_flags);
	return pinion_refuse(context, EINVAL, "opcode %u has no inline data",
			     opcode);
}

/* Write one request into the next slot. The caller publishes it. */
static int write_send_wqe(struct pinion_qp *qp, const struct ibv_send_wr *wr)
{
	struct pinion_sq *sq = &qp->sq;
	struct pinion_sq_wqe *wqe;
	int err;

	if (!acceptable(sq, wr))
		return refuse_wr(qp, wr);
	if (pinion_ring_full(&sq->ring))
		return pinion_refuse(qp->vqp.qp.context, ENOMEM,
				     "all %u requests are in use",
				     sq->ring.mask + 1);

	wqe = pinion_ring_slot(&sq->ring, sq->ring.next);
	*wqe = (struct pinion_sq_wqe){
		.wr_id = wr->wr_id,
		.opcode = wr->opcode,
		.flags = wr->send_flags,
		/* immediate or rkey to invalidate: a union, here and in the ABI */
		.ex = wr->imm_data,
	};
	if (qp->vqp.qp.qp_type == IBV_QPT_XRC_SEND)
		wqe->xrc_srqn = wr->qp_type.xrc.remote_srqn;

	err = fill_body(qp, wqe, wr);
	if (!err)
		sq->ring.next++;
	return err;
}

/*
 * The number of requests posted since the send CQ was last polled. From a long streak
 * the kernel concludes that the program does not wait for each request, and lets
 * another CPU execute them.
 */
static uint32_t streak(struct pinion_qp *qp)
{
	const struct pinion_cq *cq = to_pinion_cq(qp->vqp.qp.send_cq);
	uint32_t polls = __atomic_load_n(&cq->polls, __ATOMIC_RELAXED);
	struct pinion_sq *sq = &qp->sq;
	uint32_t begin = pinion_ring_published(&sq->ring);

	/* Also after a reset, when nothing has been handed over yet. */
	if (polls != sq->polls || !begin) {
		sq->polls = polls;
		sq->streak_begin = begin;
	}
	return sq->ring.next - sq->streak_begin;
}

/*
 * Publish the requests that were written. The lock is held. Return: whether the doorbell
 * must be rung; do that without the lock, as the kernel may execute all requests in it.
 */
bool pinion_publish_sends(struct pinion_qp *qp)
{
	struct pinion_ring *ring = &qp->sq.ring;

	__atomic_store_n(&ring->hdr->streak, streak(qp), __ATOMIC_RELAXED);
	return !(pinion_ring_publish_and_look(ring) & PINION_RING_RUNNING);
}

int pinion_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad_wr)
{
	struct pinion_qp *qp = to_pinion_qp(ibqp);
	struct ibv_send_wr *first = wr;
	bool need_doorbell = false;
	int err = 0, bell_err;

	/* libibverbs updates ->state in ibv_modify_qp(). */
	if (ibqp->state < IBV_QPS_RTS) {
		*bad_wr = wr;
		return pinion_refuse(ibqp->context, EINVAL,
				     "QP %u may not send yet, in state %d",
				     ibqp->qp_num, ibqp->state);
	}

	pinion_lock(&qp->sq.lock);
	for (; wr; wr = wr->next) {
		err = write_send_wqe(qp, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	if (wr != first)
		need_doorbell = pinion_publish_sends(qp);
	pinion_unlock(&qp->sq.lock);

	if (!need_doorbell)
		return err;

	bell_err = pinion_doorbell_ring(&qp->bell);
	if (bell_err) {
		*bad_wr = first;
		return pinion_failed(ibqp->context, bell_err,
				     "doorbell of QP %u", ibqp->qp_num);
	}
	return err;
}

/* ibv_bind_mw() for windows of type 1: posts a request with the next rkey. */
int pinion_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		   struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind->bind_info,
		},
	};
	struct ibv_send_wr *bad_wr;
	int err;

	if (bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return pinion_refuse(qp->context, EINVAL,
				     "a window of type 1 is not zero-based");

	err = pinion_post_send(qp, &wr, &bad_wr);
	if (!err)
		mw->rkey = wr.bind_mw.rkey;
	return err;
}
