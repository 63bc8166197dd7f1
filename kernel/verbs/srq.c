// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues, basic and XRC: creation, modification and destruction.
 */
#include "../path/recvq.h"
#include "device.h"
#include "ops.h"
#include "rings.h"
#include "ucontext.h"
#include "udata.h"
#include "user.h"

static int srq_check_size(u32 max_wr, u32 max_sge)
{
	return max_wr <= PINION_MAX_SRQ_WR && max_sge <= PINION_MAX_SGE ? 0 : -EINVAL;
}

static int srq_make_ring(struct pinion_srq *srq, const struct ib_srq_attr *attr,
			 const struct pinion_ring_place *place, struct ib_udata *udata,
			 struct pinion_create_srq_resp *resp)
{
	struct pinion_ring_want want = {
		.entries = pinion_ring_entries(attr->max_wr),
		.stride = pinion_rq_stride(attr->max_sge),
		.context = pinion_udata_context(udata),
		.place = *place,
	};
	int err;

	err = pinion_ring_make(&srq->rq.ring, &want, &srq->resize.mmap, &resp->ring);
	if (err)
		return err;
	pinion_recvq_init(&srq->rq, pinion_recvq_sges(want.stride));
	return 0;
}

/* ib_device_ops.create_srq. srq_limit is ignored, as ibv_create_srq(3) says. */
int pinion_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct pinion_dev *dev = to_pinion_dev(ibsrq->device);
	struct pinion_srq *srq = to_pinion_srq(ibsrq);
	struct pinion_create_srq_resp resp = {};
	struct pinion_create_srq_req req = {};
	struct pinion_ucontext *ucontext;
	int err;

	if (init->srq_type != IB_SRQT_BASIC && init->srq_type != IB_SRQT_XRC)
		return -EOPNOTSUPP;
	err = srq_check_size(init->attr.max_wr, init->attr.max_sge);
	if (!err && udata)
		err = pinion_udata_in(udata, &req, sizeof(req), 0);
	if (err)
		return err;
	srq->owner = pinion_user_of_udata(udata);
	err = pinion_count_verb(dev, srq->owner, PINION_COUNT_SRQ);
	if (err)
		return err;

	srq->node = &dev->node;
	srq->user = udata;
	mutex_init(&srq->resize.lock);
	srq->faulter = dev->node.faulter;
	if (udata) {
		ucontext = to_pinion_ucontext(pinion_udata_context(udata));
		err = pinion_ucontext_make_workers(ucontext);
		if (err)
			goto err_count;
		srq->faulter = ucontext->faulter;
	}
	err = srq_make_ring(srq, &init->attr, &req.place, udata, &resp);
	if (err)
		goto err_count;
	err = pinion_node_add_srq(&dev->node, srq);
	if (err)
		goto err_ring;
	if (udata) {
		resp.srqn = srq->srqn;
		resp.max_sge = srq->rq.max_sge;
		err = pinion_udata_out(udata, &resp, sizeof(resp));
		if (err)
			goto err_del;
	}
	if (init->srq_type == IB_SRQT_XRC)
		ibsrq->ext.xrc.srq_num = srq->srqn;
	init->attr.max_wr = srq->rq.ring.entries;
	init->attr.max_sge = srq->rq.max_sge;
	return 0;

err_del:
	pinion_node_del_srq(&dev->node, srq);
err_ring:
	pinion_ring_unmake(&srq->rq.ring, srq->resize.mmap);
err_count:
	pinion_count_out(dev, srq->owner, PINION_COUNT_SRQ);
	return err;
}

/* ib_device_ops.destroy_srq */
int pinion_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct pinion_dev *dev = to_pinion_dev(ibsrq->device);
	struct pinion_srq *srq = to_pinion_srq(ibsrq);
	struct pinion_ring ring;

	pinion_node_del_srq(&dev->node, srq);
	/* On some kernels dev/restrack.c may still read the ring, under rq.lock. */
	spin_lock(&srq->rq.lock);
	ring = pinion_ring_take(&srq->rq.ring);
	spin_unlock(&srq->rq.lock);
	pinion_resize_end(&srq->resize, &ring);
	pinion_count_out(dev, srq->owner, PINION_COUNT_SRQ);
	return 0;
}

/* First step of resizing: see pinion_resize_offer(). */
static int srq_offer(struct pinion_srq *srq, u32 max_wr, u64 resp_addr, struct ib_udata *udata)
{
	struct pinion_ring_want want = {
		.entries = pinion_ring_entries(max_wr),
		.stride = srq->rq.ring.stride,
		.context = pinion_udata_context(udata),
	};
	struct pinion_create_srq_resp resp = {
		.srqn = srq->srqn,
		.max_sge = srq->rq.max_sge,
	};
	struct pinion_ring_offer made;
	int err;

	err = pinion_ring_make(&made.ring, &want, &made.mmap, &resp.ring);
	if (err)
		return err;
	if (copy_to_user(u64_to_user_ptr(resp_addr), &resp, sizeof(resp)))
		err = -EFAULT;
	return pinion_resize_offer(&srq->resize, &made, err);
}

/* What pinion_modify_srq() is to change. */
struct srq_change {
	const struct ib_srq_attr *attr;
	u32 mask;
};

/*
 * Switch to @ring and set the limit, both under resize->lock: no other call can make the ring
 * smaller in between, and srq_check_modify() has compared the limit with this size. So setting the
 * limit does not fail.
 */
static int srq_use_ring(struct pinion_resize *resize, struct pinion_ring *ring, const void *how)
{
	struct pinion_srq *srq = container_of(resize, struct pinion_srq, resize);
	const struct srq_change *change = how;
	int err = pinion_recvq_switch_ring(&srq->rq, ring);

	if (!err && change->mask & IB_SRQ_LIMIT)
		WARN_ON_ONCE(pinion_srq_set_limit(srq, change->attr->srq_limit));
	return err;
}

static int srq_take(struct pinion_srq *srq, const struct ib_srq_attr *attr, u32 mask)
{
	const struct srq_change change = { .attr = attr, .mask = mask };

	return pinion_resize_take(&srq->resize, pinion_ring_entries(attr->max_wr), srq_use_ring,
				  &change);
}

static int srq_check_modify(const struct pinion_srq *srq, const struct ib_srq_attr *attr, u32 mask)
{
	if (mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return -EINVAL;
	if (!(mask & IB_SRQ_MAX_WR))
		return 0;
	/* Kernel consumers post under post_lock, which does not exclude an exchange of the ring. */
	if (!srq->user)
		return -EOPNOTSUPP;
	if (!attr->max_wr || srq_check_size(attr->max_wr, 0))
		return -EINVAL;
	if (mask & IB_SRQ_LIMIT && attr->srq_limit > pinion_ring_entries(attr->max_wr))
		return -EINVAL;
	return 0;
}

/* ib_device_ops.modify_srq */
int pinion_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		      struct ib_udata *udata)
{
	struct pinion_srq *srq = to_pinion_srq(ibsrq);
	struct pinion_modify_srq_req req = {};
	int err;

	err = srq_check_modify(srq, attr, mask);
	if (!err && udata)
		err = pinion_udata_in(udata, &req, sizeof(req), 0);
	if (err)
		return err;
	if (req.reserved)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_MAX_WR))
		return mask & IB_SRQ_LIMIT ? pinion_srq_set_limit(srq, attr->srq_limit) : 0;
	switch (req.step) {
	case PINION_RESIZE_OFFER:
		return srq_offer(srq, attr->max_wr, req.resp_addr, udata);
	case PINION_RESIZE_TAKE:
		return srq_take(srq, attr, mask);
	default:
		return -EINVAL;
	}
}

/* ib_device_ops.query_srq */
int pinion_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct pinion_srq *srq = to_pinion_srq(ibsrq);

	spin_lock(&srq->rq.lock);
	attr->max_wr = srq->rq.ring.entries;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = srq->limit;
	spin_unlock(&srq->rq.lock);
	return 0;
}

const struct ib_device_ops pinion_srq_ops = {
	.create_srq = pinion_create_srq,
	.destroy_srq = pinion_destroy_srq,
	.modify_srq = pinion_modify_srq,
	.post_srq_recv = pinion_post_srq_recv,
	.query_srq = pinion_query_srq,

	INIT_RDMA_OBJ_SIZE(ib_srq, pinion_srq, ibsrq),
};
