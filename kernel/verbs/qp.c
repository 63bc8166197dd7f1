// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: creation, query and destruction. qp_modify.c checks changes of attributes and
 * state; path/ executes requests.
 */
#include "../path/post.h"
#include "device.h"
#include "ops.h"
#include "qp.h"
#include "rings.h"
#include "ucontext.h"
#include "udata.h"
#include "user.h"

static bool qp_is_xrc(enum ib_qp_type type)
{
	return type == IB_QPT_XRC_INI || type == IB_QPT_XRC_TGT;
}

static int qp_check_type(const struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
	case IB_QPT_XRC_INI:
		break;
	case IB_QPT_XRC_TGT:
		return init->xrcd ? 0 : -EINVAL;
	case IB_QPT_GSI:
		if (udata || init->port_num != 1)
			return -EINVAL;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (!init->send_cq)
		return -EINVAL;
	return init->recv_cq || init->qp_type == IB_QPT_XRC_INI ? 0 : -EINVAL;
}

static int qp_check_init(const struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	const struct ib_qp_cap *cap = &init->cap;
	int err;

	/* Multicast messages never come back to their sender (path/loop.c), flag or not. */
	if (init->create_flags & ~IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK || init->rwq_ind_tbl)
		return -EOPNOTSUPP;
	err = qp_check_type(init, udata);
	if (err || init->qp_type == IB_QPT_XRC_TGT)
		return err;
	if (cap->max_send_wr > PINION_MAX_QP_WR || cap->max_send_sge > PINION_MAX_SGE ||
	    cap->max_inline_data > PINION_MAX_INLINE)
		return -EINVAL;
	if (init->srq)
		return init->srq->srq_type == IB_SRQT_BASIC && !qp_is_xrc(init->qp_type) ?
		       0 : -EINVAL;
	if (!qp_is_xrc(init->qp_type) &&
	    (cap->max_recv_wr > PINION_MAX_QP_WR || cap->max_recv_sge > PINION_MAX_SGE))
		return -EINVAL;
	return 0;
}

static int qp_make_sq(struct pinion_qp *qp, const struct ib_qp_cap *cap,
		      struct ib_ucontext *context, const struct pinion_ring_place *place,
		      struct pinion_ring_info *info)
{
	struct pinion_ring_want want = {
		.entries = pinion_ring_entries(cap->max_send_wr),
		.stride = pinion_sq_stride(cap->max_send_sge, cap->max_inline_data),
		.context = context,
		.place = *place,
	};
	u32 room = want.stride - sizeof(struct pinion_sq_wqe);
	int err;

	err = pinion_ring_make(&qp->sq.ring, &want, &qp->sq_mmap, info);
	if (err)
		return err;
	/* The stride is rounded up, so there may be room for more than was asked for. */
	qp->sq.max_sge = min_t(u32, room / sizeof(struct pinion_sge), PINION_MAX_SGE);
	qp->sq.max_inline = min_t(u32, room, PINION_MAX_INLINE);
	qp->has_sq = true;
	return 0;
}

static int qp_make_rq(struct pinion_qp *qp, const struct ib_qp_cap *cap,
		      struct ib_ucontext *context, const struct pinion_ring_place *place,
		      struct pinion_ring_info *info)
{
	struct pinion_ring_want want = {
		.entries = pinion_ring_entries(cap->max_recv_wr),
		.stride = pinion_rq_stride(cap->max_recv_sge),
		.context = context,
		.place = *place,
	};
	int err;

	err = pinion_ring_make(&qp->rq.ring, &want, &qp->rq_mmap, info);
	if (err)
		return err;
	pinion_recvq_init(&qp->rq, pinion_recvq_sges(want.stride));
	qp->has_rq = true;
	return 0;
}

static void qp_unmake_queues(struct pinion_qp *qp)
{
	pinion_ring_unmake(&qp->rq.ring, qp->rq_mmap);
	pinion_ring_unmake(&qp->sq.ring, qp->sq_mmap);
}

static int qp_make_queues(struct pinion_qp *qp, const struct ib_qp_init_attr *init,
			  struct ib_udata *udata, const struct pinion_create_qp_req *req,
			  struct pinion_create_qp_resp *resp)
{
	struct ib_ucontext *context = pinion_udata_context(udata);
	bool receives = !init->srq && !qp_is_xrc(init->qp_type);
	int err = 0;

	/* Refuse a place for a receive ring that is not made. For XRC targets @req is all 0. */
	if (!receives && (req->rq.umem_id || req->rq.offset || req->rq.reserved))
		return -EINVAL;
	if (init->qp_type != IB_QPT_XRC_TGT)
		err = qp_make_sq(qp, &init->cap, context, &req->sq, &resp->sq);
	if (!err && receives)
		err = qp_make_rq(qp, &init->cap, context, &req->rq, &resp->rq);
	if (err)
		qp_unmake_queues(qp);
	return err;
}

static void qp_fill_cap(const struct pinion_qp *qp, struct ib_qp_cap *cap)
{
	memset(cap, 0, sizeof(*cap));
	if (qp->has_sq) {
		cap->max_send_wr = qp->sq.ring.entries;
		cap->max_send_sge = qp->sq.max_sge;
		cap->max_inline_data = qp->sq.max_inline;
	}
	if (qp->has_rq) {
		cap->max_recv_wr = qp->rq.ring.entries;
		cap->max_recv_sge = qp->rq.max_sge;
	}
}

static int qp_respond(const struct ib_qp_cap *cap, struct pinion_create_qp_resp *resp,
		      struct ib_udata *udata)
{
	if (!udata)
		return 0;
	resp->max_inline = cap->max_inline_data;
	resp->max_send_sge = cap->max_send_sge;
	resp->max_recv_sge = cap->max_recv_sge;
	return pinion_udata_out(udata, resp, sizeof(*resp));
}

/* Set the work queue of the executor, and the faulter that brings missing pages. */
static int qp_set_workers(struct pinion_qp *qp, struct ib_ucontext *context)
{
	struct pinion_ucontext *ucontext = to_pinion_ucontext(context);
	int err;

	if (!context) {
		qp->wq = qp->node->wq;
		qp->faulter = qp->node->faulter;
		return 0;
	}
	err = pinion_ucontext_make_workers(ucontext);
	qp->wq = ucontext->wq;
	qp->faulter = ucontext->faulter;
	return err;
}

/*
 * Set the user that @qp is counted for, and take a reference. An XRC target has no @udata, and may
 * outlive the file that created it: it is counted for the user of the current process.
 */
static int qp_set_owner(struct pinion_qp *qp, enum ib_qp_type type, struct ib_udata *udata)
{
	qp->owner = pinion_user_of_udata(udata);
	if (qp->owner)
		pinion_user_hold(qp->owner);
	else if (type == IB_QPT_XRC_TGT)
		qp->owner = pinion_user_get(to_pinion_dev(qp->ibqp.device));
	return PTR_ERR_OR_ZERO(qp->owner);
}

static int qp_count_in(struct pinion_qp *qp, enum ib_qp_type type, struct ib_udata *udata)
{
	int err = qp_set_owner(qp, type, udata);

	if (err)
		return err;
	qp->waiting = qp->owner ? &qp->owner->waiting : NULL;
	err = pinion_count_verb(to_pinion_dev(qp->ibqp.device), qp->owner, PINION_COUNT_QP);
	if (err)
		pinion_user_put(qp->owner);
	return err;
}

int pinion_qp_begin(struct pinion_qp *qp, const struct ib_qp_init_attr *init,
		    struct ib_udata *udata)
{
	int err;

	err = qp_check_init(init, udata);
	if (!err)
		err = qp_count_in(qp, init->qp_type, udata);
	if (err)
		return err;
	qp->node = &to_pinion_dev(qp->ibqp.device)->node;
	qp->stats = qp->node->stats;
	qp->user = udata;
	err = qp_set_workers(qp, pinion_udata_context(udata));
	if (err)
		pinion_qp_end(qp);
	return err;
}

void pinion_qp_end(struct pinion_qp *qp)
{
	pinion_count_out(to_pinion_dev(qp->ibqp.device), qp->owner, PINION_COUNT_QP);
	pinion_user_put(qp->owner);
}

int pinion_qp_show(struct pinion_qp *qp, const struct ib_qp_init_attr *init)
{
	int err;

	err = pinion_qp_init(qp, init->sq_sig_type == IB_SIGNAL_ALL_WR);
	if (err)
		return err;
	err = pinion_node_add_qp(qp->node, qp, init->qp_type == IB_QPT_GSI);
	if (err)
		pinion_qp_fini(qp);
	return err;
}

/* On some kernels dev/restrack.c may still read the rings, under post_lock and rq.lock. */
void pinion_qp_hide(struct pinion_qp *qp, struct pinion_ring *sq, struct pinion_ring *rq)
{
	pinion_node_del_qp(qp->node, qp);
	pinion_qp_fini(qp);
	spin_lock_irq(&qp->sq.post_lock);
	*sq = pinion_ring_take(&qp->sq.ring);
	spin_unlock_irq(&qp->sq.post_lock);
	*rq = (struct pinion_ring){};
	if (!qp->has_rq)
		return;
	spin_lock(&qp->rq.lock);
	*rq = pinion_ring_take(&qp->rq.ring);
	spin_unlock(&qp->rq.lock);
}

/*
 * ib_device_ops.create_qp. @udata is NULL for kernel consumers, and for XRC targets, which belong
 * to their XRC domain, not to a process.
 */
int pinion_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct pinion_qp *qp = to_pinion_qp(ibqp);
	struct pinion_create_qp_resp resp = {};
	struct pinion_create_qp_req req = {};
	int err;

	if (udata) {
		err = pinion_udata_in(udata, &req, sizeof(req), 0);
		if (err)
			return err;
	}
	err = pinion_qp_begin(qp, init, udata);
	if (err)
		return err;
	err = qp_make_queues(qp, init, udata, &req, &resp);
	if (err)
		goto err_end;
	qp_fill_cap(qp, &init->cap);
	err = qp_respond(&init->cap, &resp, udata);
	if (!err)
		err = pinion_qp_show(qp, init);
	if (err)
		goto err_queues;
	return 0;

err_queues:
	qp_unmake_queues(qp);
err_end:
	pinion_qp_end(qp);
	return err;
}

/* ib_device_ops.destroy_qp */
int pinion_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct pinion_qp *qp = to_pinion_qp(ibqp);
	struct pinion_ring sq, rq;

	pinion_qp_hide(qp, &sq, &rq);
	pinion_ring_unmake(&rq, qp->rq_mmap);
	pinion_ring_unmake(&sq, qp->sq_mmap);
	pinion_qp_end(qp);
	return 0;
}

/* ib_device_ops.query_qp. The core does not zero @attr and @init. */
int pinion_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_qp_init_attr *init)
{
	struct pinion_qp *qp = to_pinion_qp(ibqp);

	/*
	 * `rdma resource show qp' has an empty mask and asks all queue pairs of all users: it
	 * must not take sq.exec, which would interrupt or wait for their executors.
	 */
	if (mask)
		pinion_qp_query(qp, attr);
	else
		pinion_qp_peek(qp, attr);
	qp_fill_cap(qp, &attr->cap);

	memset(init, 0, sizeof(*init));
	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->xrcd = ibqp->xrcd;
	init->cap = attr->cap;
	init->sq_sig_type = qp->sq.sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->qp_type = ibqp->qp_type;
	init->port_num = ibqp->port;
	return 0;
}

const struct ib_device_ops pinion_qp_ops = {
	.create_qp = pinion_create_qp,
	.destroy_qp = pinion_destroy_qp,
	.modify_qp = pinion_modify_qp,
	.post_recv = pinion_post_recv,
	.post_send = pinion_post_send,
	.query_qp = pinion_query_qp,

	INIT_RDMA_OBJ_SIZE(ib_qp, pinion_qp, ibqp),
};
