// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The ibv_wr_*() interface: between wr_start and wr_complete, work requests are built
 * call by call in the shared ring. They are published by wr_complete, so an error
 * anywhere drops all of them.
 *
 * sq->wqe is the request being built. After an error it is NULL, and further calls have
 * no effect; wr_complete returns the first error.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "opcode.h"
#include "provider.h"

enum {
	WR_FLAGS = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
};

static struct pinion_sq *to_sq(struct ibv_qp_ex *qp)
{
	return &to_pinion_qp_ex(qp)->sq;
}

static void fail_with(struct pinion_sq *sq, int err)
{
	sq->wqe = NULL;
	if (!sq->err)
		sq->err = err;
}

#define fail(qp, err, ...)                                                 \
	fail_with(to_sq(qp), pinion_refuse_as((qp)->qp_base.context, #err, \
					      err, __VA_ARGS__))

static void wr_start(struct ibv_qp_ex *qp)
{
	struct pinion_sq *sq = to_sq(qp);

	pinion_lock(&sq->lock);
	sq->wqe = NULL;
	sq->rollback = sq->ring.next;
	sq->err = 0;
	if (qp->qp_base.state < IBV_QPS_RTS)
		fail(qp, EINVAL, "QP %u may not send yet, in state %d",
		     qp->qp_base.qp_num, qp->qp_base.state);
}

static void wr_abort(struct ibv_qp_ex *qp)
{
	struct pinion_sq *sq = to_sq(qp);

	sq->ring.next = sq->rollback;
	pinion_unlock(&sq->lock);
}

static int wr_complete(struct ibv_qp_ex *qp)
{
	struct pinion_sq *sq = to_sq(qp);
	bool need_doorbell;
	int err = sq->err;

	if (err || sq->ring.next == sq->rollback) {
		wr_abort(qp);
		return err;
	}
	need_doorbell = pinion_publish_sends(to_pinion_qp_ex(qp));
	pinion_unlock(&sq->lock);
	if (!need_doorbell)
		return 0;
	return pinion_failed(qp->qp_base.context,
			     pinion_doorbell_ring(&to_pinion_qp_ex(qp)->bell),
			     "doorbell of QP %u", qp->qp_base.qp_num);
}

/* Begin the next request. NULL after an error, which wr_complete will return. */
static struct pinion_sq_wqe *begin(struct ibv_qp_ex *qp, uint8_t opcode)
{
	struct pinion_sq *sq = to_sq(qp);

	if (sq->err)
		return NULL;
	if (!(1U << opcode & sq->allowed)) {
		fail(qp, EINVAL, "opcode %u on a QP of type %d", opcode,
		     qp->qp_base.qp_type);
		return NULL;
	}
	if (pinion_ring_full(&sq->ring)) {
		fail(qp, ENOMEM, "all %u requests are in use",
		     sq->ring.mask + 1);
		return NULL;
	}

	sq->wqe = pinion_ring_slot(&sq->ring, sq->ring.next++);
	*sq->wqe = (struct pinion_sq_wqe){
		.wr_id = qp->wr_id,
		.opcode = opcode,
		.flags = qp->wr_flags & WR_FLAGS,
	};
	return sq->wqe;
}

static void wr_ex(struct ibv_qp_ex *qp, uint8_t opcode, uint32_t ex)
{
	struct pinion_sq_wqe *wqe = begin(qp, opcode);

	if (wqe)
		wqe->ex = ex;
}

static void wr_send(struct ibv_qp_ex *qp)
{
	begin(qp, PINION_OP_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
	wr_ex(qp, PINION_OP_SEND_WITH_IMM, imm);
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	wr_ex(qp, PINION_OP_SEND_WITH_INV, rkey);
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	wr_ex(qp, PINION_OP_LOCAL_INV, rkey);
}

static struct pinion_sq_wqe *wr_rdma(struct ibv_qp_ex *qp, uint8_t opcode,
				     uint32_t rkey, uint64_t addr)
{
	struct pinion_sq_wqe *wqe = begin(qp, opcode);

	if (wqe) {
		wqe->rdma.remote_addr = addr;
		wqe->rdma.rkey = rkey;
	}
	return wqe;
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	wr_rdma(qp, PINION_OP_RDMA_WRITE, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey,
			      uint64_t addr, __be32 imm)
{
	struct pinion_sq_wqe *wqe;

	wqe = wr_rdma(qp, PINION_OP_RDMA_WRITE_WITH_IMM, rkey, addr);
	if (wqe)
		wqe->ex = imm;
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	wr_rdma(qp, PINION_OP_RDMA_READ, rkey, addr);
}

static void wr_atomic(struct ibv_qp_ex *qp, uint8_t opcode, uint32_t rkey,
		      uint64_t addr, uint64_t compare_add, uint64_t swap)
{
	struct pinion_sq_wqe *wqe = begin(qp, opcode);

	if (wqe) {
		wqe->atomic.remote_addr = addr;
		wqe->atomic.compare_add = compare_add;
		wqe->atomic.swap = swap;
		wqe->atomic.rkey = rkey;
	}
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey,
			      uint64_t addr, uint64_t compare, uint64_t swap)
{
	wr_atomic(qp, PINION_OP_ATOMIC_CMP_AND_SWP, rkey, addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey,
				uint64_t addr, uint64_t add)
{
	wr_atomic(qp, PINION_OP_ATOMIC_FETCH_AND_ADD, rkey, addr, add, 0);
}

/*
 * The 8 bytes come with the call, so they are inline data even on a QP without
 * max_inline_data: they fit where an SGE does.
 */
static void wr_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr,
			    const void *value)
{
	struct pinion_sq *sq = to_sq(qp);
	struct pinion_sq_wqe *wqe;

	wqe = wr_rdma(qp, PINION_OP_ATOMIC_WRITE, rkey, addr);
	if (!wqe)
		return;

	if (sq->ring.stride < sizeof(*wqe) + sizeof(uint64_t)) {
		fail(qp, EINVAL,
		     "an atomic write on a QP with neither SGEs nor inline data");
		return;
	}
	wqe->flags |= PINION_WQE_INLINE;
	wqe->inline_length = sizeof(uint64_t);
	memcpy(wqe + 1, value, sizeof(uint64_t));
}

static void wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr,
		     size_t length, uint8_t type, uint8_t level)
{
	struct pinion_sq_wqe *wqe = begin(qp, PINION_OP_FLUSH);

	if (!wqe)
		return;

	if (length > UINT32_MAX) {
		fail(qp, EINVAL, "a flush of %zu bytes", length);
		return;
	}
	wqe->flush.remote_addr = addr;
	wqe->flush.rkey = rkey;
	wqe->flush.length = length;
	wqe->flush.type = type;
	wqe->flush.level = level;
}

static void wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct pinion_sq_wqe *wqe = begin(qp, PINION_OP_BIND_MW);

	if (!wqe)
		return;

	if (!info->mr && info->length) {
		fail(qp, EINVAL, "a window is bound to no MR");
		return;
	}
	pinion_fill_bind(wqe, mw, rkey, info);
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct pinion_sq_wqe *wqe = to_sq(qp)->wqe;

	if (!wqe)
		return;
	wqe->ud.ah = to_pinion_ah(ah)->number;
	wqe->ud.remote_qpn = remote_qpn;
	wqe->ud.remote_qkey = remote_qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t remote_srqn)
{
	struct pinion_sq_wqe *wqe = to_sq(qp)->wqe;

	if (wqe)
		wqe->xrc_srqn = remote_srqn;
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t num,
			    const struct ibv_sge *list)
{
	struct pinion_sq *sq = to_sq(qp);

	if (!sq->wqe)
		return;
	if (num > sq->max_sge) {
		fail(qp, EINVAL, "%zu SGEs, the QP has max_send_sge %u", num,
		     sq->max_sge);
		return;
	}
	sq->wqe->num_sge = num;
	pinion_copy_sges(sq->wqe + 1, list, num);
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(qp, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t num,
				    const struct ibv_data_buf *list)
{
	struct pinion_sq *sq = to_sq(qp);
	size_t i, room = sq->max_inline;
	char *to;

	if (!sq->wqe)
		return;

	to = (char *)(sq->wqe + 1);
	for (i = 0; i < num; i++) {
		if (list[i].length > room) {
			fail(qp, EINVAL,
			     "inline data of more than max_inline_data %u",
			     sq->max_inline);
			return;
		}
		memcpy(to, list[i].addr, list[i].length);
		to += list[i].length;
		room -= list[i].length;
	}
	sq->wqe->flags |= PINION_WQE_INLINE;
	sq->wqe->inline_length = sq->max_inline - room;
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(qp, 1, &buf);
}

/*
 * Set nearly all functions, whatever was asked for: begin() refuses opcodes that the QP
 * type does not have. Not so the newest two: programs such as librpma take them for
 * supported if they are set.
 */
int pinion_set_wr_ops(struct ibv_context *context, struct ibv_qp_ex *qp,
		      enum ibv_qp_type type, uint64_t send_ops_flags)
{
	uint64_t allowed = pinion_allowed_send_ops(type);

	if (!check_comp_mask(send_ops_flags, allowed))
		return pinion_refuse(context, EOPNOTSUPP,
				     "send_ops_flags %#" PRIx64
				     ", a QP of type %d has %#" PRIx64,
				     send_ops_flags, type, allowed);

	qp->wr_start = wr_start;
	qp->wr_complete = wr_complete;
	qp->wr_abort = wr_abort;
	qp->wr_send = wr_send;
	qp->wr_send_imm = wr_send_imm;
	qp->wr_send_inv = wr_send_inv;
	qp->wr_local_inv = wr_local_inv;
	qp->wr_rdma_write = wr_rdma_write;
	qp->wr_rdma_write_imm = wr_rdma_write_imm;
	qp->wr_rdma_read = wr_rdma_read;
	qp->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	qp->wr_atomic_fetch_add = wr_atomic_fetch_add;
	if (send_ops_flags & IBV_QP_EX_WITH_ATOMIC_WRITE)
		qp->wr_atomic_write = wr_atomic_write;
	qp->wr_bind_mw = wr_bind_mw;
	qp->wr_set_ud_addr = wr_set_ud_addr;
	qp->wr_set_xrc_srqn = wr_set_xrc_srqn;
	qp->wr_set_sge = wr_set_sge;
	qp->wr_set_sge_list = wr_set_sge_list;
	qp->wr_set_inline_data = wr_set_inline_data;
	qp->wr_set_inline_data_list = wr_set_inline_data_list;
	if (send_ops_flags & IBV_QP_EX_WITH_FLUSH)
		pinion_set_wr_flush(qp, wr_flush);
	return 0;
}
