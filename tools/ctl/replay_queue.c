// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * replay: queues. Queue pairs are connected to each other as in the recording, or to strangers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "replay.h"

static void create_cq(const struct call *call)
{
	struct cq *cq = need(calloc(1, sizeof(*cq)));

	cq->cq = ibv_create_cq(replay_device.context, call_value(call, "cqe"),
			       NULL, NULL, 0);
	replay_compare(call, call_value(call, "errno"), cq->cq ? 0 : errno);
	if (cq->cq && call_value(call, "cq"))
		object_set(KIND_CQ, call->pid, call_value(call, "cq"), cq);
	else
		free(cq);
}

static void destroy_cq(const struct call *call)
{
	struct cq *cq = object_find(KIND_CQ, call->pid, call_value(call, "cq"));
	int err;

	if (!cq) {
		replay_left();
		return;
	}
	err = ibv_destroy_cq(cq->cq);
	replay_compare(call, 0, err);
	if (!err)
		object_set(KIND_CQ, call->pid, call_value(call, "cq"), NULL);
}

static void create_srq(const struct call *call)
{
	struct ibv_pd *pd =
		object_find(KIND_PD, call->pid, call_value(call, "pd"));
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = call_value(call, "wr"),
			  .max_sge = call_value(call, "sge") },
	};
	struct ibv_srq *srq;

	if (!pd) {
		replay_left();
		return;
	}
	srq = ibv_create_srq(pd, &init);
	replay_compare(call, call_value(call, "errno"), srq ? 0 : errno);
	if (call_value(call, "srq"))
		object_set(KIND_SRQ, call->pid, call_value(call, "srq"), srq);
}

static void destroy_srq(const struct call *call)
{
	struct ibv_srq *srq =
		object_find(KIND_SRQ, call->pid, call_value(call, "srq"));
	int err;

	if (!srq) {
		replay_left();
		return;
	}
	err = ibv_destroy_srq(srq);
	replay_compare(call, 0, err);
	if (!err)
		object_set(KIND_SRQ, call->pid, call_value(call, "srq"), NULL);
}

/* ----------------------------------------------------------------------- queue pairs */

/* Queue pairs of iWARP can be connected by rdma_cm only. */
static bool type_is_known(enum ibv_qp_type type)
{
	if (replay_device.context->device->transport_type ==
	    IBV_TRANSPORT_IWARP)
		return false;
	return type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_UD;
}

static void queue_keep(const struct call *call, struct queue *queue)
{
	object_set(KIND_QP, call->pid, call_value(call, "qp"), queue);
	object_set(KIND_QPN, call->pid, queue->qpn, queue);
	object_set(KIND_QPN, 0, queue->qpn, queue);
}

static void create_qp(const struct call *call)
{
	struct ibv_pd *pd =
		object_find(KIND_PD, call->pid, call_value(call, "pd"));
	struct cq *send_cq =
		object_find(KIND_CQ, call->pid, call_value(call, "send_cq"));
	struct cq *recv_cq =
		object_find(KIND_CQ, call->pid, call_value(call, "recv_cq"));
	struct ibv_qp_init_attr init = {
		.qp_type = call_value(call, "type"),
		.sq_sig_all = call_value(call, "all_signaled"),
		.srq = object_find(KIND_SRQ, call->pid,
				   call_value(call, "srq")),
		.cap = { .max_send_wr = call_value(call, "send_wr"),
			 .max_recv_wr = call_value(call, "recv_wr"),
			 .max_send_sge = call_value(call, "send_sge"),
			 .max_recv_sge = call_value(call, "recv_sge"),
			 .max_inline_data = call_value(call, "inline") },
	};
	struct queue *queue;

	if (!type_is_known(init.qp_type) || !pd || !send_cq || !recv_cq) {
		replay_left();
		return;
	}
	init.send_cq = send_cq->cq;
	init.recv_cq = recv_cq->cq;
	queue = need(calloc(1, sizeof(*queue)));
	*queue = (struct queue){ .pid = call->pid,
				 .qpn = call_value(call, "qpn"),
				 .type = init.qp_type,
				 .all_signaled = init.sq_sig_all };
	queue->qp = ibv_create_qp(pd, &init);
	replay_compare(call, call_value(call, "errno"), queue->qp ? 0 : errno);
	if (queue->qp && call_value(call, "qp"))
		queue_keep(call, queue);
	else
		free(queue);
}

/* The number here of a recorded peer; of a stranger if the peer was not recorded. */
static uint32_t peer_number(struct queue *queue, uint32_t qpn)
{
	struct queue *peer = object_find(KIND_QPN, 0, qpn);
	struct ibv_qp *stranger;

	if (peer)
		return peer->qp->qp_num;
	stranger = stranger_new(queue);
	return stranger ? stranger->qp_num : 0;
}

static void attr_path(struct ibv_qp_attr *attr)
{
	attr->ah_attr = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = replay_device.gid,
			 .sgid_index = replay_device.gid_index,
			 .hop_limit = 1 },
		.dlid = replay_device.port.lid,
	};
}

static struct ibv_qp_attr attr_of(const struct call *call, struct queue *queue,
				  int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = call_value(call, "state"),
		.port_num = 1,
		.qp_access_flags = call_value(call, "access"),
		.qkey = call_value(call, "qkey"),
		.path_mtu = call_value(call, "mtu"),
		.rq_psn = call_value(call, "rq_psn"),
		.sq_psn = call_value(call, "sq_psn"),
		.max_dest_rd_atomic = call_value(call, "dest_rd"),
		.max_rd_atomic = call_value(call, "rd"),
		.min_rnr_timer = call_value(call, "min_rnr"),
		.timeout = call_value(call, "timeout"),
		.retry_cnt = call_value(call, "retry"),
		.rnr_retry = call_value(call, "rnr_retry"),
	};

	/* Lower a valid MTU to the port's; leave an invalid one as it is. */
	if (attr.path_mtu <= IBV_MTU_4096 &&
	    attr.path_mtu > replay_device.port.active_mtu)
		attr.path_mtu = replay_device.port.active_mtu;
	if (mask & IBV_QP_AV)
		attr_path(&attr);
	if (mask & IBV_QP_DEST_QPN)
		attr.dest_qp_num =
			peer_number(queue, call_value(call, "dest_qpn"));
	return attr;
}

static void queue_remember(struct queue *queue, const struct ibv_qp_attr *attr,
			   int mask)
{
	if (mask & IBV_QP_QKEY)
		queue->qkey = attr->qkey;
	if (mask & IBV_QP_SQ_PSN)
		queue->sq_psn = attr->sq_psn;
	if (mask & IBV_QP_RQ_PSN)
		queue->rq_psn = attr->rq_psn;
	if (mask & IBV_QP_AV)
		queue->attr = *attr;
}

static void modify_qp(const struct call *call)
{
	const int known =
		~(IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE | IBV_QP_RATE_LIMIT);
	struct queue *queue =
		object_find(KIND_QP, call->pid, call_value(call, "qp"));
	int mask = call_value(call, "mask") & known, err;
	struct ibv_qp_attr attr;

	if (!queue) {
		replay_left();
		return;
	}
	attr = attr_of(call, queue, mask);
	err = ibv_modify_qp(queue->qp, &attr, mask);
	replay_compare(call, 0, err);
	if (err)
		return;
	queue_remember(queue, &attr, mask);
	if ((mask & IBV_QP_STATE) && attr.qp_state == IBV_QPS_RESET)
		sent_forget(queue);
	if ((mask & IBV_QP_STATE) && attr.qp_state == IBV_QPS_RTS)
		stranger_connect(queue);
}

static void destroy_qp(const struct call *call)
{
	struct queue *queue =
		object_find(KIND_QP, call->pid, call_value(call, "qp"));
	int err;

	if (!queue) {
		replay_left();
		return;
	}
	err = ibv_destroy_qp(queue->qp);
	replay_compare(call, 0, err);
	if (err)
		return;
	if (queue->stranger)
		ibv_destroy_qp(queue->stranger);
	object_set(KIND_QP, call->pid, call_value(call, "qp"), NULL);
	object_set(KIND_QPN, call->pid, queue->qpn, NULL);
	if (object_find(KIND_QPN, 0, queue->qpn) == queue)
		object_set(KIND_QPN, 0, queue->qpn, NULL);
	sent_forget(queue);
	free(queue);
}

bool replay_queue(const struct call *call)
{
	static const struct replay_call calls[] = {
		{ "create_cq", create_cq },   { "destroy_cq", destroy_cq },
		{ "create_srq", create_srq }, { "destroy_srq", destroy_srq },
		{ "create_qp", create_qp },   { "modify_qp", modify_qp },
		{ "destroy_qp", destroy_qp }, {},
	};

	return replay_run(calls, call);
}
