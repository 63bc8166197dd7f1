// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creates, modifies and destroys queue pairs. send.c, wr.c and recv.c post to them.
 */
#include <errno.h>
#include <stdlib.h>

#include <pinion/queues.h>

#include "opcode.h"
#include "provider.h"

enum {
	QP_MASK = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
		  IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
		  IBV_QP_INIT_ATTR_CREATE_FLAGS,
	QP_FLAGS = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
};

static int check_qp_attr(struct ibv_context *context,
			 const struct ibv_qp_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, QP_MASK))
		return pinion_refuse(context, EOPNOTSUPP,
				     "comp_mask %#x of a QP", attr->comp_mask);
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	    !check_comp_mask(attr->create_flags, QP_FLAGS))
		return pinion_refuse(context, EOPNOTSUPP,
				     "create_flags %#x, there is %#x",
				     attr->create_flags, QP_FLAGS);
	return 0;
}

static int map_rings(struct pinion_qp *qp, struct ibv_context *context,
		     const struct pinion_create_qp_resp *resp)
{
	int err;

	err = pinion_home_map(&qp->sq.ring, &qp->sq.home, context, &resp->sq);
	if (err)
		return err;
	err = pinion_home_map(&qp->rq.ring, &qp->rq.home, context, &resp->rq);
	if (err && !qp->sq.home.pd)
		pinion_ring_unmap(&qp->sq.ring);
	return err;
}

static struct ibv_pd *domain(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL;
}

/* Get memory for the queues that the QP has. */
static int make_homes(struct pinion_qp *qp,
		      const struct ibv_qp_init_attr_ex *attr,
		      struct pinion_create_qp_req *req)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	int err;

	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return 0;
	err = pinion_home_make(&qp->sq.home, domain(attr), PINION_RES_TYPE_SQ,
			       cap->max_send_wr,
			       pinion_sq_stride(cap->max_send_sge,
						cap->max_inline_data),
			       &req->sq);
	if (err || attr->srq || attr->qp_type == IBV_QPT_XRC_SEND)
		return err;
	err = pinion_home_make(&qp->rq.home, domain(attr), PINION_RES_TYPE_RQ,
			       cap->max_recv_wr,
			       pinion_rq_stride(cap->max_recv_sge), &req->rq);
	if (err)
		pinion_home_end(&qp->sq.home);
	return err;
}

static void end_homes(struct pinion_qp *qp)
{
	pinion_home_end(&qp->sq.home);
	pinion_home_end(&qp->rq.home);
}

static void init_queues(struct pinion_qp *qp, struct ibv_pd *pd,
			const struct pinion_create_qp_resp *resp)
{
	bool single_threaded = pd && pinion_single_threaded(pd);
	struct ibv_qp *ibqp = &qp->vqp.qp;

	pinion_doorbell_init(&qp->bell, ibqp->context, ibqp->handle);

	pinion_lock_init(&qp->sq.lock, single_threaded);
	if (qp->sq.ring.hdr)
		qp->sq.allowed = pinion_allowed_opcodes(ibqp->qp_type);
	qp->sq.max_sge = resp->max_send_sge;
	qp->sq.max_inline = resp->max_inline;

	pinion_lock_init(&qp->rq.lock, single_threaded);
	qp->rq.max_sge = resp->max_recv_sge;
}

static int create_qp(struct ibv_context *context, struct pinion_qp *qp,
		     struct ibv_qp_init_attr_ex *attr)
{
	struct {
		struct ib_uverbs_create_qp_resp core;
		struct pinion_create_qp_resp pinion;
	} resp = {};
	struct {
		struct ibv_create_qp core;
		struct pinion_create_qp_req pinion;
	} cmd = {};
	uint32_t comp_mask = attr->comp_mask;
	int err;

	err = make_homes(qp, attr, &cmd.pinion);
	if (err)
		return err;
	/*
	 * The command has no field for flags. The one that check_qp_attr() allows changes
	 * nothing: multicast messages never come back to their sender.
	 */
	attr->comp_mask &= ~IBV_QP_INIT_ATTR_CREATE_FLAGS;
	err = ibv_cmd_create_qp_ex(context, &qp->vqp, attr, &cmd.core,
				   sizeof(cmd), &resp.core, sizeof(resp));
	attr->comp_mask = comp_mask;
	if (err)
		goto err_homes;

	err = map_rings(qp, context, &resp.pinion);
	if (err)
		goto err_destroy;

	init_queues(qp, domain(attr), &resp.pinion);
	qp->parent = pinion_parent_get(domain(attr));
	return 0;

err_destroy:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
err_homes:
	end_homes(qp);
	return err;
}

struct ibv_qp *pinion_create_qp_ex(struct ibv_context *context,
				   struct ibv_qp_init_attr_ex *attr)
{
	struct pinion_qp *qp;
	int err;

	err = check_qp_attr(context, attr);
	if (err) {
		errno = err;
		return NULL;
	}

	qp = pinion_zalloc(context, sizeof(*qp), "a QP");
	if (!qp)
		return NULL;

	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		err = pinion_set_wr_ops(context, &qp->vqp.qp_ex, attr->qp_type,
					attr->send_ops_flags);
		if (err)
			goto err_free;
	}

	err = create_qp(context, qp, attr);
	if (err)
		goto err_free;

	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		qp->vqp.comp_mask |= VERBS_QP_EX;
	return &qp->vqp.qp;

err_free:
	free(qp);
	errno = err;
	return NULL;
}

struct ibv_qp *pinion_create_qp(struct ibv_pd *pd,
				struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp;

	qp = pinion_create_qp_ex(pd->context, &ex);
	if (qp)
		attr->cap = ex.cap;
	return qp;
}

/* An XRC target made by someone else: it has no rings, here or there. */
struct ibv_qp *pinion_open_qp(struct ibv_context *context,
			      struct ibv_qp_open_attr *attr)
{
	struct ib_uverbs_create_qp_resp resp;
	struct ibv_open_qp cmd = {};
	struct pinion_qp *qp;
	int err;

	qp = pinion_zalloc(context, sizeof(*qp), "a QP");
	if (!qp)
		return NULL;

	err = ibv_cmd_open_qp(context, &qp->vqp, sizeof(qp->vqp), attr, &cmd,
			      sizeof(cmd), &resp, sizeof(resp));
	if (err) {
		free(qp);
		errno = err;
		return NULL;
	}

	init_queues(qp, NULL, &(struct pinion_create_qp_resp){});
	return &qp->vqp.qp;
}

int pinion_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		    struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd;

	return ibv_cmd_query_qp(qp, attr, attr_mask, init_attr, &cmd,
				sizeof(cmd));
}

static void resync(struct pinion_ring *ring, struct pinion_lock *lock)
{
	if (!ring->hdr)
		return;
	pinion_lock(lock);
	pinion_ring_resync(ring);
	pinion_unlock(lock);
}

/* Called when the kernel adds no more completions of @qp. */
static void sweep_cqs(struct ibv_qp *qp)
{
	if (qp->send_cq)
		pinion_cq_forget_qp(qp->send_cq, qp->qp_num);
	if (qp->recv_cq && qp->recv_cq != qp->send_cq)
		pinion_cq_forget_qp(qp->recv_cq, qp->qp_num);
}

int pinion_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		     int attr_mask)
{
	struct pinion_qp *qp = to_pinion_qp(ibqp);
	struct ibv_modify_qp cmd = {};
	int err;

	err = ibv_cmd_modify_qp(ibqp, attr, attr_mask, &cmd, sizeof(cmd));
	if (err)
		return err;

	/* The kernel has emptied both queues and set their indices to 0. */
	if ((attr_mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET) {
		resync(&qp->sq.ring, &qp->sq.lock);
		resync(&qp->rq.ring, &qp->rq.lock);
		sweep_cqs(ibqp);
	}
	return 0;
}

int pinion_destroy_qp(struct ibv_qp *ibqp)
{
	struct pinion_qp *qp = to_pinion_qp(ibqp);
	int err;

	err = ibv_cmd_destroy_qp(ibqp);
	if (err)
		return err;

	sweep_cqs(ibqp);
	pinion_home_unmap(&qp->sq.ring, &qp->sq.home);
	pinion_home_unmap(&qp->rq.ring, &qp->rq.home);
	pinion_parent_put(qp->parent);
	free(qp);
	return 0;
}
