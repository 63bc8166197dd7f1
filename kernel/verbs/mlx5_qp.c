// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs for libmlx5. Those of kernel consumers, and XRC targets, which have no queues, are
 * the same as on any pinion device.
 */
#include <linux/log2.h>
#include <linux/string.h>
#include <rdma/mlx5-abi.h>

#include "../logic/wqe.h"
#include "../path/bell.h"
#include "../path/raw_cq.h"
#include "../path/raw_qp.h"
#include "device.h"
#include "mlx5.h"
#include "ops.h"
#include "qp.h"
#include "rings.h"
#include "ucontext.h"
#include "udata.h"
#include "user.h"

#define LOG_SEGMENT	4
#define MAX_UIDX	0xffffff

/*
 * Flags that are accepted without effect: any doorbell page will do, and payloads are never put
 * into completions. (Completions have a flag for that, so libmlx5 notices.)
 */
#define QP_FLAGS (MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_ALLOW_SCATTER_CQE | \
		  MLX5_QP_FLAG_UAR_PAGE_INDEX)

struct mlx5_qp {
	struct pinion_qp qp;
	struct pinion_raw_qp raw;
	struct ib_ucontext *context;
};

static struct mlx5_qp *to_mlx5_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct mlx5_qp, qp.ibqp);
}

static bool mlx5_qp_is_size(u32 count)
{
	return !count || (is_power_of_2(count) && count <= PINION_MAX_QP_WR);
}

static int mlx5_qp_read_req(struct ib_udata *udata, struct mlx5_ib_create_qp *req)
{
	int err;

	err = pinion_udata_in(udata, req, sizeof(*req),
			      offsetof(struct mlx5_ib_create_qp, sq_buf_addr));
	if (err)
		return err;
	/* ece_options only propose features to the peer; none is supported, so ignore them. */
	if (req->flags & ~(u32)QP_FLAGS || req->sq_buf_addr || req->reserved)
		return -EOPNOTSUPP;
	if (req->uidx > MAX_UIDX || !mlx5_qp_is_size(req->sq_wqe_count) ||
	    !mlx5_qp_is_size(req->rq_wqe_count))
		return -EINVAL;
	if (req->rq_wqe_count && (req->rq_wqe_shift < LOG_SEGMENT ||
				  req->rq_wqe_shift > LOG_SEGMENT + ilog2(PINION_MAX_SGE)))
		return -EINVAL;
	return 0;
}

static void mlx5_qp_forget_places(struct mlx5_qp *pair)
{
	pinion_mlx5_place_end(&pair->raw.record, pair->context);
	pinion_mlx5_place_end(&pair->raw.ring, pair->context);
}

/* Without @receives_here the program may still have allocated a receive ring: do not use it. */
static int mlx5_qp_find_places(struct mlx5_qp *pair, const struct mlx5_ib_create_qp *req,
			       bool receives_here)
{
	/* rq_wqe_shift is valid, and was checked, only if there are receives. */
	u64 receives = req->rq_wqe_count ? (u64)req->rq_wqe_count << req->rq_wqe_shift : 0;
	u64 sends = (u64)req->sq_wqe_count * PINION_MLX5_BLOCK;
	struct pinion_raw_qp *raw = &pair->raw;
	const __be32 *record;
	int err;

	if (!receives && !sends)
		return -EINVAL;
	err = pinion_mlx5_place_make(&raw->ring, pair->context, req->buf_addr, receives + sends,
				     PINION_MLX5_BLOCK);
	if (!err)
		err = pinion_mlx5_place_make(&raw->record, pair->context, req->db_addr,
					     PINION_RAW_RECORD, PINION_RAW_RECORD);
	if (err) {
		mlx5_qp_forget_places(pair);
		return err;
	}
	record = raw->record.at;
	raw->rq.entries = receives_here ? req->rq_wqe_count : 0;
	raw->rq.num_sge = receives ? BIT(req->rq_wqe_shift - LOG_SEGMENT) : 0;
	raw->rq.slots = raw->ring.at;
	raw->rq.record = &record[0];
	raw->rq.user_index = req->uidx;
	raw->sq.size = req->sq_wqe_count;
	raw->sq.blocks = raw->ring.at + receives;
	raw->sq.record = &record[1];
	raw->user_index = req->uidx;
	return 0;
}

/* Rings of the kernel: copies of send requests; a receive ring of which only the header is used. */
static int mlx5_qp_make_rings(struct pinion_qp *qp, bool receives)
{
	int err;

	qp->sq.max_sge = PINION_MAX_SGE;
	qp->sq.max_inline = PINION_RAW_INLINE;
	err = pinion_ring_alloc(&qp->sq.ring, PINION_RAW_SENDS,
				pinion_sq_stride(PINION_MAX_SGE, PINION_RAW_INLINE));
	if (err)
		return err;
	qp->has_sq = true;
	if (!receives)
		return 0;
	err = pinion_ring_alloc(&qp->rq.ring, 1, pinion_rq_stride(1));
	if (err)
		return err;
	pinion_recvq_init(&qp->rq, PINION_MAX_SGE);
	qp->has_rq = true;
	return 0;
}

static void mlx5_qp_free_rings(struct pinion_ring *sq, struct pinion_ring *rq)
{
	pinion_ring_free(rq);
	pinion_ring_free(sq);
}

static int mlx5_qp_make_queues(struct mlx5_qp *pair, const struct ib_qp_init_attr *init,
			       const struct mlx5_ib_create_qp *req)
{
	bool receives = !init->srq && init->qp_type != IB_QPT_XRC_INI;
	struct pinion_raw_qp *raw = &pair->raw;
	struct pinion_qp *qp = &pair->qp;
	int err;

	err = mlx5_qp_find_places(pair, req, receives);
	if (err)
		return err;
	err = mlx5_qp_make_rings(qp, receives);
	if (err) {
		mlx5_qp_free_rings(&qp->sq.ring, &qp->rq.ring);
		mlx5_qp_forget_places(pair);
		return err;
	}
	raw->qp = qp;
	raw->bells = &to_pinion_ucontext(pair->context)->user->bells;
	qp->raw = raw;
	if (receives)
		qp->rq.raw = &raw->rq;
	return 0;
}

static int mlx5_qp_make(struct mlx5_qp *pair, const struct ib_qp_init_attr *init,
			const struct mlx5_ib_create_qp *req, struct ib_udata *udata)
{
	struct mlx5_ib_create_qp_resp resp = {};
	struct pinion_qp *qp = &pair->qp;
	int err;

	pair->context = pinion_udata_context(udata);
	err = mlx5_qp_make_queues(pair, init, req);
	if (err)
		return err;
	err = pinion_udata_out(udata, &resp, sizeof(resp));
	if (!err)
		err = pinion_qp_show(qp, init);
	if (err) {
		mlx5_qp_free_rings(&qp->sq.ring, &qp->rq.ring);
		mlx5_qp_forget_places(pair);
		return err;
	}
	pinion_bells_join(&pair->raw);
	return 0;
}

static int mlx5_qp_create(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct mlx5_qp *pair = to_mlx5_qp(ibqp);
	struct mlx5_ib_create_qp req;
	int err;

	if (!udata || init->qp_type == IB_QPT_XRC_TGT)
		return pinion_create_qp(ibqp, init, udata);
	err = mlx5_qp_read_req(udata, &req);
	if (!err)
		err = pinion_qp_begin(&pair->qp, init, udata);
	if (err)
		return err;
	err = mlx5_qp_make(pair, init, &req, udata);
	if (err)
		pinion_qp_end(&pair->qp);
	return err;
}

/* On some kernels netlink may still describe the queue pair: see dev/restrack.c. */
static void mlx5_qp_hide_records(struct mlx5_qp *pair)
{
	struct pinion_qp *qp = &pair->qp;

	spin_lock_irq(&qp->sq.post_lock);
	pair->raw.sq.gone = true;
	spin_unlock_irq(&qp->sq.post_lock);
	if (!qp->has_rq)
		return;
	spin_lock(&qp->rq.lock);
	pair->raw.rq.gone = true;
	spin_unlock(&qp->rq.lock);
}

static int mlx5_qp_destroy(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct mlx5_qp *pair = to_mlx5_qp(ibqp);
	struct pinion_ring sq, rq;

	if (!pair->qp.raw)
		return pinion_destroy_qp(ibqp, udata);
	pinion_bells_leave(&pair->raw);
	pinion_qp_hide(&pair->qp, &sq, &rq);
	mlx5_qp_hide_records(pair);
	mlx5_qp_free_rings(&sq, &rq);
	mlx5_qp_forget_places(pair);
	pinion_qp_end(&pair->qp);
	return 0;
}

/* In mlx5_ib_modify_qp.comp_mask: allow out-of-order delivery. Missing in older headers. */
#define COMP_MASK_OOO	BIT(0)

static int mlx5_qp_modify(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			  struct ib_udata *udata)
{
	struct mlx5_ib_modify_qp req;
	int err;

	if (!to_pinion_qp(ibqp)->raw)
		return pinion_modify_qp(ibqp, attr, mask, udata);
	err = pinion_udata_in(udata, &req, sizeof(req), 0);
	if (err)
		return err;
	/* Packet pacing and ECE are not supported. */
	if (req.comp_mask & ~COMP_MASK_OOO ||
	    memchr_inv(&req.burst_info, 0, sizeof(req) - offsetof(typeof(req), burst_info)))
		return -EOPNOTSUPP;
	/* Write the (empty) answer first, because that may fail. */
	err = pinion_udata_out(udata, NULL, 0);
	return err ?: pinion_modify_qp(ibqp, attr, mask, NULL);
}

/* Return the limits of receives only: libmlx5 knows those of sends. */
static int mlx5_qp_query(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			 struct ib_qp_init_attr *init)
{
	const struct pinion_raw_qp *raw = to_pinion_qp(ibqp)->raw;
	int err;

	err = pinion_query_qp(ibqp, attr, mask, init);
	if (err || !raw)
		return err;
	attr->cap = (struct ib_qp_cap){
		.max_recv_wr = raw->rq.entries,
		.max_recv_sge = raw->rq.num_sge,
	};
	init->cap = attr->cap;
	return 0;
}

const struct ib_device_ops pinion_mlx5_qp_ops = {
	.create_qp = mlx5_qp_create,
	.destroy_qp = mlx5_qp_destroy,
	.modify_qp = mlx5_qp_modify,
	.query_qp = mlx5_qp_query,

	INIT_RDMA_OBJ_SIZE(ib_qp, mlx5_qp, qp.ibqp),
};
