// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Makes the queues of a connection, as its settings say.
 */
#include "log.h"
#include "queues.h"
#include "srq.h"

/* Without a native operation an atomic write has 8 bytes of inline data. */
enum { INLINE_SIZE = 8 };

static void ask_for_native(struct ibv_qp_init_attr_ex *attr,
			   const struct rpma_peer *peer)
{
#ifdef HAVE_WR_FLUSH
	/* With send_ops_flags all operations that are used must be listed. */
	const uint64_t basic =
		IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
		IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
		IBV_QP_EX_WITH_RDMA_READ;

	if (peer->native_atomic_write)
		attr->send_ops_flags |= IBV_QP_EX_WITH_ATOMIC_WRITE;
	if (peer->native_flush)
		attr->send_ops_flags |= IBV_QP_EX_WITH_FLUSH;
	if (attr->send_ops_flags) {
		attr->send_ops_flags |= basic;
		attr->comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	}
#else
	(void)attr;
	(void)peer;
#endif
}

static int make_qp(struct queues *queues, struct rpma_peer *peer,
		   struct rdma_cm_id *id, const struct rpma_conn_cfg *cfg)
{
	struct rpma_srq *srq = cfg->srq;
	struct rpma_cq *rcq = queues->cq;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = queues->cq->ibv_cq,
		.cap = { .max_send_wr = cfg->sq_size,
			 .max_recv_wr = cfg->rq_size,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = INLINE_SIZE },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = peer->pd,
	};

	if (srq)
		attr.srq = srq->ibv_srq;
	if (srq && srq->rcq)
		rcq = srq->rcq;
	else if (queues->rcq)
		rcq = queues->rcq;
	attr.recv_cq = rcq->ibv_cq;
	ask_for_native(&attr, peer);
	if (rdma_create_qp_ex(id, &attr))
		return PROVIDER_FAILED("rdma_create_qp_ex()", errno);
	return 0;
}

static int make(struct queues *queues, struct rpma_peer *peer,
		struct rdma_cm_id *id, const struct rpma_conn_cfg *cfg)
{
	struct rpma_srq *srq = cfg->srq;
	/* Receives complete with the shared queue then. */
	bool elsewhere = srq && srq->rcq;
	int rc;

	if (cfg->shared_channel && elsewhere) {
		LOG(ERROR,
		    "no channel for both queues: the receives' is another one");
		return RPMA_E_INVAL;
	}
	if (cfg->shared_channel) {
		queues->channel = ibv_create_comp_channel(id->verbs);
		if (!queues->channel)
			return PROVIDER_FAILED("ibv_create_comp_channel()",
					       errno);
	}
	rc = cq_new(id->verbs, cfg->cq_size, queues->channel, &queues->cq);
	if (!rc && cfg->rcq_size && !elsewhere)
		rc = cq_new(id->verbs, cfg->rcq_size, queues->channel,
			    &queues->rcq);
	return rc ? rc : make_qp(queues, peer, id, cfg);
}

int queues_new(struct queues *queues, struct rpma_peer *peer,
	       struct rdma_cm_id *id, const struct rpma_conn_cfg *cfg)
{
	int rc;

	*queues = (struct queues){};
	rc = make(queues, peer, id, cfg ? cfg : &conn_cfg_default);
	if (rc)
		queues_delete(queues, id);
	return rc;
}

int queues_delete(struct queues *queues, struct rdma_cm_id *id)
{
	int result, rc;

	if (id->qp)
		rdma_destroy_qp(id);
	result = cq_delete(&queues->rcq);
	rc = cq_delete(&queues->cq);
	if (!result)
		result = rc;
	rc = queues->channel ? ibv_destroy_comp_channel(queues->channel) : 0;
	if (rc && !result)
		result = PROVIDER_FAILED("ibv_destroy_comp_channel()", rc);
	queues->channel = NULL;
	return result;
}
