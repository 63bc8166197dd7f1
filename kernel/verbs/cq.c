// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues: creation, resizing and destruction.
 */
#include <rdma/uverbs_ioctl.h>

#include "../path/cq.h"
#include "device.h"
#include "mlx5.h"
#include "ops.h"
#include "rings.h"
#include "udata.h"
#include "user.h"

/*
 * IGNORE_OVERRUN is a program's promise not to overrun the queue. It is accepted and changes
 * nothing.
 */
#define CREATE_FLAGS (IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION | \
		      IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)

#define CQ_FLAGS (PINION_CQ_TIMESTAMP | PINION_CQ_WALLCLOCK)

/* @req is zeroed by the caller. */
static int cq_read_req(const struct ib_cq_init_attr *attr, struct ib_udata *udata,
		       struct pinion_create_cq_req *req)
{
	int err;

	if (attr->flags & ~CREATE_FLAGS)
		return -EOPNOTSUPP;
	if (udata) {
		err = pinion_udata_in(udata, req, sizeof(*req), 0);
		if (err)
			return err;
		if (req->flags & ~CQ_FLAGS || req->reserved)
			return -EOPNOTSUPP;
	}
	if (attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		req->flags |= PINION_CQ_TIMESTAMP;
	return 0;
}

static struct pinion_ring_want cq_want_ring(unsigned int cqe, struct ib_udata *udata)
{
	return (struct pinion_ring_want){
		.entries = pinion_ring_entries(cqe),
		.stride = sizeof(struct pinion_cqe),
		.context = pinion_udata_context(udata),
	};
}

static int cq_check_size(unsigned int cqe)
{
	return cqe && cqe <= PINION_MAX_CQE ? 0 : -EINVAL;
}

/* ib_device_ops.create_cq */
int pinion_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		     struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct pinion_dev *dev = to_pinion_dev(ibcq->device);
	struct pinion_cq *cq = to_pinion_cq(ibcq);
	struct pinion_create_cq_resp resp = {};
	struct pinion_create_cq_req req = {};
	struct pinion_ring_want want;
	int err;

	err = cq_check_size(attr->cqe);
	if (!err)
		err = cq_read_req(attr, udata, &req);
	if (err)
		return err;
	want = cq_want_ring(attr->cqe, udata);
	want.place = req.place;
	cq->owner = pinion_user_of_udata(udata);
	err = pinion_count_verb(dev, cq->owner, PINION_COUNT_CQ);
	if (err)
		return err;
	err = pinion_ring_make(&cq->ring, &want, &cq->resize.mmap, &resp.ring);
	if (err)
		goto err_count;
	cq->node = &dev->node;
	pinion_cq_init(cq, udata, req.flags);
	mutex_init(&cq->resize.lock);
	ibcq->cqe = cq->ring.entries;
	if (!udata)
		return 0;
	err = pinion_udata_out(udata, &resp, sizeof(resp));
	if (err)
		goto err_ring;
	return 0;

err_ring:
	pinion_ring_unmake(&cq->ring, cq->resize.mmap);
err_count:
	pinion_count_out(dev, cq->owner, PINION_COUNT_CQ);
	return err;
}

/* ib_device_ops.destroy_cq */
int pinion_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct pinion_cq *cq = to_pinion_cq(ibcq);
	struct pinion_ring ring;

	pinion_cq_fini(cq);
	/* On some kernels dev/restrack.c may still read the ring, under fill_lock. */
	spin_lock(&cq->fill_lock);
	ring = pinion_ring_take(&cq->ring);
	spin_unlock(&cq->fill_lock);
	pinion_resize_end(&cq->resize, &ring);
	pinion_count_out(to_pinion_dev(ibcq->device), cq->owner, PINION_COUNT_CQ);
	return 0;
}

/* First step of resizing: see pinion_resize_offer(). */
static int cq_offer(struct pinion_cq *cq, unsigned int cqe, struct ib_udata *udata)
{
	struct pinion_ring_want want = cq_want_ring(cqe, udata);
	struct pinion_create_cq_resp resp = {};
	struct pinion_ring_offer made;
	int err;

	err = pinion_ring_make(&made.ring, &want, &made.mmap, &resp.ring);
	if (err)
		return err;
	return pinion_resize_offer(&cq->resize, &made,
				   pinion_udata_out(udata, &resp, sizeof(resp)));
}

static int cq_use_ring(struct pinion_resize *resize, struct pinion_ring *ring, const void *how)
{
	struct pinion_cq *cq = container_of(resize, struct pinion_cq, resize);
	int err = pinion_cq_switch_ring(cq, ring);

	if (!err)
		cq->ibcq.cqe = cq->ring.entries;
	return err;
}

/*
 * Second step. The (empty) answer is copied first, since the switch cannot be undone if copying
 * fails.
 */
static int cq_take(struct pinion_cq *cq, unsigned int cqe, struct ib_udata *udata)
{
	int err = pinion_udata_out(udata, NULL, 0);

	return err ?: pinion_resize_take(&cq->resize, pinion_ring_entries(cqe), cq_use_ring, NULL);
}

/**
 * pinion_resize_cq - replace a process's ring by one of another size
 * @ibcq: a process's queue; kernel consumers cannot resize theirs
 * @cqe: completions the new ring must hold at least
 * @udata: struct pinion_resize_cq_req; answered with struct pinion_create_cq_resp
 *
 * Completions that were not polled are copied to the new ring. A ring in a umem is replaced by one
 * to map, and the umem is no longer in use.
 *
 * Return: 0, or a negative errno; then the queue goes on as before.
 */
int pinion_resize_cq(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata)
{
	struct pinion_cq *cq = to_pinion_cq(ibcq);
	struct pinion_resize_cq_req req = {};
	int err;

	if (!udata || !cq->user)
		return -EOPNOTSUPP;
	if (cq->raw)
		return pinion_mlx5_resize_cq(cq, cqe, udata);
	err = cq_check_size(cqe);
	if (!err)
		err = pinion_udata_in(udata, &req, sizeof(req), 0);
	if (err)
		return err;
	if (req.reserved)
		return -EOPNOTSUPP;
	switch (req.step) {
	case PINION_RESIZE_OFFER:
		return cq_offer(cq, cqe, udata);
	case PINION_RESIZE_TAKE:
		return cq_take(cq, cqe, udata);
	default:
		return -EINVAL;
	}
}

const struct ib_device_ops pinion_cq_ops = {
	.create_cq = pinion_create_cq,
	.destroy_cq = pinion_destroy_cq,
	.modify_cq = pinion_cq_moderate,
	.poll_cq = pinion_cq_poll,
	.req_notify_cq = pinion_cq_req_notify,

	INIT_RDMA_OBJ_SIZE(ib_cq, pinion_cq, ibcq),
};
