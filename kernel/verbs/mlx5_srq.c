// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues for libmlx5. Slots are linked, so that libmlx5 may post them in any order.
 * Those of kernel users are the same as on any pinion device.
 */
#include <linux/log2.h>
#include <rdma/mlx5-abi.h>

#include "../path/raw_cq.h"
#include "../path/raw_qp.h"
#include "../path/recvq.h"
#include "device.h"
#include "mlx5.h"
#include "ops.h"
#include "rings.h"
#include "ucontext.h"
#include "udata.h"
#include "user.h"

#define MAX_UIDX	0xffffff

struct mlx5_srq {
	struct pinion_srq srq;
	struct pinion_raw_rq raw;
	struct pinion_view ring;
	struct pinion_view record;
	struct ib_ucontext *context;
};

static struct mlx5_srq *to_mlx5_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct mlx5_srq, srq.ibsrq);
}

/* Bytes of a slot, computed as libmlx5 does. */
static u32 mlx5_srq_stride(u32 max_sge)
{
	return roundup_pow_of_two(PINION_MLX5_LINK + max(max_sge, 1U) * sizeof(struct pinion_sge));
}

static int mlx5_srq_read_req(const struct ib_srq_init_attr *init, struct ib_udata *udata,
			     struct mlx5_ib_create_srq *req)
{
	int err;

	if (init->srq_type != IB_SRQT_BASIC && init->srq_type != IB_SRQT_XRC)
		return -EOPNOTSUPP;
	if (init->attr.max_wr > MLX5_SRQ_SLOTS || init->attr.max_sge >= PINION_MAX_SGE)
		return -EINVAL;
	err = pinion_udata_in(udata, req, sizeof(*req),
			      offsetof(struct mlx5_ib_create_srq, flags));
	if (err)
		return err;
	if (req->flags || req->reserved0 || req->reserved1)
		return -EOPNOTSUPP;
	/* Only XRC uses uidx. Completions of a basic SRQ carry the index of the queue pair. */
	return init->srq_type == IB_SRQT_XRC && req->uidx > MAX_UIDX ? -EINVAL : 0;
}

static void mlx5_srq_forget_places(struct mlx5_srq *queue)
{
	pinion_mlx5_place_end(&queue->record, queue->context);
	pinion_mlx5_place_end(&queue->ring, queue->context);
}

static int mlx5_srq_find_places(struct mlx5_srq *queue, const struct ib_srq_init_attr *init,
				const struct mlx5_ib_create_srq *req)
{
	u32 stride = mlx5_srq_stride(init->attr.max_sge);
	struct pinion_raw_rq *raw = &queue->raw;
	int err;

	raw->entries = roundup_pow_of_two(init->attr.max_wr + 1);
	err = pinion_mlx5_place_make(&queue->ring, queue->context, req->buf_addr,
				     (u64)raw->entries * stride, PINION_MLX5_BLOCK);
	if (!err)
		err = pinion_mlx5_place_make(&queue->record, queue->context, req->db_addr,
					     PINION_RAW_RECORD, PINION_RAW_RECORD);
	if (err) {
		mlx5_srq_forget_places(queue);
		return err;
	}
	raw->slots = queue->ring.at;
	raw->record = queue->record.at;
	raw->shared = true;
	raw->linked = true;
	raw->num_sge = (stride - PINION_MLX5_LINK) / sizeof(struct pinion_sge);
	raw->user_index = init->srq_type == IB_SRQT_XRC ? req->uidx : 0;
	return 0;
}

static int mlx5_srq_make(struct mlx5_srq *queue, struct ib_srq_init_attr *init,
			 const struct mlx5_ib_create_srq *req, struct ib_udata *udata)
{
	struct pinion_ucontext *ucontext = to_pinion_ucontext(queue->context);
	struct mlx5_ib_create_srq_resp resp = {};
	struct pinion_srq *srq = &queue->srq;
	int err;

	err = pinion_ucontext_make_workers(ucontext);
	if (!err)
		err = mlx5_srq_find_places(queue, init, req);
	if (err)
		return err;
	srq->node = &to_pinion_dev(srq->ibsrq.device)->node;
	srq->faulter = ucontext->faulter;
	srq->user = true;
	pinion_recvq_init(&srq->rq, queue->raw.num_sge);
	srq->rq.raw = &queue->raw;
	err = pinion_node_add_srq(srq->node, srq);
	if (err)
		goto err_places;
	resp.srqn = srq->srqn;
	err = pinion_udata_out(udata, &resp, sizeof(resp));
	if (err)
		goto err_del;
	if (init->srq_type == IB_SRQT_XRC)
		srq->ibsrq.ext.xrc.srq_num = srq->srqn;
	init->attr.max_wr = queue->raw.entries - 1;
	return 0;

err_del:
	pinion_node_del_srq(srq->node, srq);
err_places:
	mlx5_srq_forget_places(queue);
	return err;
}

static int mlx5_srq_create(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
			   struct ib_udata *udata)
{
	struct mlx5_srq *queue = to_mlx5_srq(ibsrq);
	struct pinion_srq *srq = &queue->srq;
	struct mlx5_ib_create_srq req;
	int err;

	if (!udata)
		return pinion_create_srq(ibsrq, init, udata);
	err = mlx5_srq_read_req(init, udata, &req);
	if (err)
		return err;
	queue->context = pinion_udata_context(udata);
	srq->owner = pinion_user_of_udata(udata);
	err = pinion_count_verb(to_pinion_dev(ibsrq->device), srq->owner, PINION_COUNT_SRQ);
	if (err)
		return err;
	err = mlx5_srq_make(queue, init, &req, udata);
	if (err)
		pinion_count_out(to_pinion_dev(ibsrq->device), srq->owner, PINION_COUNT_SRQ);
	return err;
}

static int mlx5_srq_destroy(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct mlx5_srq *queue = to_mlx5_srq(ibsrq);
	struct pinion_srq *srq = &queue->srq;

	if (!srq->rq.raw)
		return pinion_destroy_srq(ibsrq, udata);
	pinion_node_del_srq(srq->node, srq);
	/* It may still be described. */
	spin_lock(&srq->rq.lock);
	queue->raw.gone = true;
	spin_unlock(&srq->rq.lock);
	mlx5_srq_forget_places(queue);
	pinion_count_out(to_pinion_dev(ibsrq->device), srq->owner, PINION_COUNT_SRQ);
	return 0;
}

static int mlx5_srq_modify(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			   enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct pinion_srq *srq = to_pinion_srq(ibsrq);
	int err;

	if (!srq->rq.raw)
		return pinion_modify_srq(ibsrq, attr, mask, udata);
	err = pinion_udata_none(udata);
	if (err)
		return err;
	if (mask & ~IB_SRQ_LIMIT)
		return -EINVAL;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	/* As with mlx5: one entry is never used, so not even a full queue would have as many. */
	if (attr->srq_limit >= srq->rq.raw->entries)
		return -EINVAL;
	return pinion_srq_set_limit(srq, attr->srq_limit);
}

static int mlx5_srq_query(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	const struct pinion_raw_rq *raw = to_pinion_srq(ibsrq)->rq.raw;
	int err;

	err = pinion_query_srq(ibsrq, attr);
	if (!err && raw)
		attr->max_wr = raw->entries - 1;
	return err;
}

const struct ib_device_ops pinion_mlx5_srq_ops = {
	.create_srq = mlx5_srq_create,
	.destroy_srq = mlx5_srq_destroy,
	.modify_srq = mlx5_srq_modify,
	.query_srq = mlx5_srq_query,

	INIT_RDMA_OBJ_SIZE(ib_srq, mlx5_srq, srq.ibsrq),
};
