// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues for libmlx5. Those of kernel users are the same as on any pinion device.
 */
#include <linux/bitops.h>
#include <linux/log2.h>
#include <rdma/mlx5-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "../path/bell.h"
#include "../path/cq.h"
#include "../path/raw_cq.h"
#include "device.h"
#include "devx_name.h"
#include "mlx5.h"
#include "ops.h"
#include "ucontext.h"
#include "udata.h"
#include "user.h"

/* Completions go to user memory. This ring holds none; code that completes reads its header. */
#define DUMMY_ENTRIES	1

#define CREATE_FLAGS (IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION | \
		      IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)

#define REQ_FLAGS (MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX | MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD)

struct mlx5_cq {
	struct pinion_cq cq;
	struct pinion_raw_cq raw;
	struct ib_ucontext *context;
	struct pinion_devx_name name;	/* unique among DEVX CQs; commands cannot find it */
};

static struct mlx5_cq *to_mlx5_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct mlx5_cq, cq.ibcq);
}

static int mlx5_cq_check(const struct ib_cq_init_attr *attr, const struct mlx5_ib_create_cq *req)
{
	if (attr->flags & ~CREATE_FLAGS || req->flags & ~REQ_FLAGS || req->reserved0 ||
	    req->reserved1)
		return -EOPNOTSUPP;
	if (req->flags & MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD && req->cqe_size != 128)
		return -EOPNOTSUPP;
	/* The program may allow compressed completions. The driver writes none. */
	if (req->cqe_comp_en > 1 || req->cqe_comp_res_format & ~MLX5_CQE_FORMATS ||
	    hweight8(req->cqe_comp_res_format) != req->cqe_comp_en)
		return -EINVAL;
	/* libmlx5 rounds up to a power of two, and passes one less. */
	if (!attr->cqe || attr->cqe >= PINION_MAX_CQE)
		return -EINVAL;
	return req->cqe_size == 64 || req->cqe_size == 128 ? 0 : -EINVAL;
}

static void mlx5_cq_forget_places(struct mlx5_cq *queue)
{
	pinion_mlx5_place_end(&queue->raw.record, queue->context);
	pinion_mlx5_place_end(&queue->raw.ring, queue->context);
}

static int mlx5_cq_find_places(struct mlx5_cq *queue, const struct mlx5_ib_create_cq *req,
			       unsigned int cqe)
{
	struct pinion_raw_cq *raw = &queue->raw;
	int err;

	raw->entries = roundup_pow_of_two(cqe + 1);
	raw->stride = req->cqe_size;
	err = pinion_mlx5_place_make(&raw->ring, queue->context, req->buf_addr,
				     (u64)raw->entries * raw->stride, 64);
	if (!err)
		err = pinion_mlx5_place_make(&raw->record, queue->context, req->db_addr,
					     PINION_RAW_RECORD, PINION_RAW_RECORD);
	if (err)
		mlx5_cq_forget_places(queue);
	return err;
}

static int mlx5_cq_make(struct mlx5_cq *queue, const struct ib_cq_init_attr *attr,
			const struct mlx5_ib_create_cq *req, struct ib_udata *udata)
{
	struct pinion_dev *dev = to_pinion_dev(queue->cq.ibcq.device);
	struct mlx5_ib_create_cq_resp resp = {};
	struct pinion_cq *cq = &queue->cq;
	int err;

	queue->context = pinion_udata_context(udata);
	err = mlx5_cq_find_places(queue, req, attr->cqe);
	if (err)
		return err;
	err = pinion_ring_alloc(&cq->ring, DUMMY_ENTRIES, sizeof(struct pinion_cqe));
	if (err)
		goto err_places;
	err = pinion_devx_name_take(&dev->devx_cqs, 2 * PINION_MAX_CQ, &queue->name);
	if (err)
		goto err_ring;
	cq->raw = &queue->raw;
	cq->node = &dev->node;
	pinion_cq_init(cq, true, PINION_CQ_TIMESTAMP);
	cq->ibcq.cqe = queue->raw.entries - 1;
	/* The first arm word of a program may be 0, so 0 must not look like an old one. */
	queue->raw.fired = ~0;
	queue->raw.overruns = attr->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN;
	/* Whether the program has polled is seen from the consumer index, if it writes that. */
	queue->raw.polls = !queue->raw.overruns;
	queue->raw.pads = req->flags & MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD;
	resp.cqn = queue->name.number;
	err = pinion_udata_out(udata, &resp, sizeof(resp));
	if (err)
		goto err_name;
	/* ib_uverbs sets cq_context if the queue has a completion channel. */
	if (cq->ibcq.cq_context)
		pinion_bells_join_cq(&to_pinion_ucontext(queue->context)->user->bells, &queue->raw);
	return 0;

err_name:
	pinion_devx_name_end(&dev->devx_cqs, &queue->name);
err_ring:
	pinion_ring_free(&cq->ring);
err_places:
	mlx5_cq_forget_places(queue);
	return err;
}

static int mlx5_cq_create(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			  struct uverbs_attr_bundle *attrs)
{
	struct mlx5_cq *queue = to_mlx5_cq(ibcq);
	struct pinion_cq *cq = &queue->cq;
	struct mlx5_ib_create_cq req;
	int err;

	if (!attrs)
		return pinion_create_cq(ibcq, attr, attrs);
	err = pinion_udata_in(&attrs->driver_udata, &req, sizeof(req),
			      offsetof(struct mlx5_ib_create_cq, flags));
	if (!err)
		err = mlx5_cq_check(attr, &req);
	if (err)
		return err;
	cq->owner = pinion_user_of_udata(&attrs->driver_udata);
	err = pinion_count_verb(to_pinion_dev(ibcq->device), cq->owner, PINION_COUNT_CQ);
	if (err)
		return err;
	err = mlx5_cq_make(queue, attr, &req, &attrs->driver_udata);
	if (err)
		pinion_count_out(to_pinion_dev(ibcq->device), cq->owner, PINION_COUNT_CQ);
	return err;
}

static int mlx5_cq_destroy(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct pinion_dev *dev = to_pinion_dev(ibcq->device);
	struct mlx5_cq *queue = to_mlx5_cq(ibcq);
	struct pinion_cq *cq = &queue->cq;
	struct pinion_ring ring;

	if (!cq->raw)
		return pinion_destroy_cq(ibcq, udata);
	if (cq->ibcq.cq_context)
		pinion_bells_leave_cq(&queue->raw);
	pinion_cq_fini(cq);
	/* A dump of the queue (dev/restrack.c) may run now, and reads the ring under this lock. */
	spin_lock(&cq->fill_lock);
	queue->raw.gone = true;
	ring = pinion_ring_take(&cq->ring);
	spin_unlock(&cq->fill_lock);
	pinion_ring_free(&ring);
	pinion_devx_name_end(&dev->devx_cqs, &queue->name);
	mlx5_cq_forget_places(queue);
	pinion_count_out(dev, cq->owner, PINION_COUNT_CQ);
	return 0;
}

/**
 * pinion_mlx5_resize_cq - exchange the ring of a user's completion queue
 * @cq: the queue
 * @cqe: completions that the new ring must be able to hold
 * @udata: struct mlx5_ib_resize_cq, with the address of the new ring
 *
 * libmlx5 holds its lock of the queue during the call, so nobody polls. Afterwards it copies the
 * completions that are left in the old ring.
 *
 * Return: 0; or a negative errno, and the old ring stays in use.
 */
int pinion_mlx5_resize_cq(struct pinion_cq *cq, unsigned int cqe, struct ib_udata *udata)
{
	struct mlx5_cq *queue = container_of(cq, struct mlx5_cq, cq);
	struct pinion_raw_ring ring = {};
	struct mlx5_ib_resize_cq req;
	int err;

	if (!cqe || cqe >= PINION_MAX_CQE)
		return -EINVAL;
	err = pinion_udata_in(udata, &req, sizeof(req), sizeof(req));
	if (err)
		return err;
	if (req.reserved0 || req.reserved1)
		return -EOPNOTSUPP;
	if (req.cqe_size != 64 && req.cqe_size != 128)
		return -EINVAL;
	/* Write the (empty) answer first, because that may fail. */
	err = pinion_udata_out(udata, NULL, 0);
	if (err)
		return err;
	ring.entries = roundup_pow_of_two(cqe + 1);
	ring.stride = req.cqe_size;
	err = pinion_mlx5_place_make(&ring.view, queue->context, req.buf_addr,
				     (u64)ring.entries * ring.stride, 64);
	if (err)
		return err;
	err = pinion_cq_exchange_raw(cq, &ring);
	/* @ring is the old one now, or still the new one if the exchange failed. */
	pinion_mlx5_place_end(&ring.view, queue->context);
	return err;
}

const struct ib_device_ops pinion_mlx5_cq_ops = {
	.create_cq = mlx5_cq_create,
	.destroy_cq = mlx5_cq_destroy,

	INIT_RDMA_OBJ_SIZE(ib_cq, mlx5_cq, cq.ibcq),
};
