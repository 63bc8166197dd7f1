// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues and their settings.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "log.h"
#include "peer.h"
#include "post.h"
#include "srq.h"

struct rpma_srq_cfg {
	_Atomic uint32_t rq_size, rcq_size;
};

enum { DEFAULT_SIZE = 100 };

int rpma_srq_cfg_new(struct rpma_srq_cfg **cfg_ptr)
{
	struct rpma_srq_cfg *cfg;

	if (!cfg_ptr)
		return RPMA_E_INVAL;
	cfg = malloc(sizeof(*cfg));
	if (!cfg)
		return RPMA_E_NOMEM;
	atomic_init(&cfg->rq_size, DEFAULT_SIZE);
	atomic_init(&cfg->rcq_size, DEFAULT_SIZE);
	*cfg_ptr = cfg;
	return 0;
}

int rpma_srq_cfg_delete(struct rpma_srq_cfg **cfg_ptr)
{
	if (!cfg_ptr)
		return RPMA_E_INVAL;
	free(*cfg_ptr);
	*cfg_ptr = NULL;
	return 0;
}

int rpma_srq_cfg_set_rq_size(struct rpma_srq_cfg *cfg, uint32_t rq_size)
{
	if (!cfg)
		return RPMA_E_INVAL;
	atomic_store(&cfg->rq_size, rq_size);
	return 0;
}

int rpma_srq_cfg_get_rq_size(const struct rpma_srq_cfg *cfg, uint32_t *rq_size)
{
	if (!cfg || !rq_size)
		return RPMA_E_INVAL;
	*rq_size = atomic_load(&cfg->rq_size);
	return 0;
}

int rpma_srq_cfg_set_rcq_size(struct rpma_srq_cfg *cfg, uint32_t rcq_size)
{
	if (!cfg)
		return RPMA_E_INVAL;
	atomic_store(&cfg->rcq_size, rcq_size);
	return 0;
}

int rpma_srq_cfg_get_rcq_size(const struct rpma_srq_cfg *cfg,
			      uint32_t *rcq_size)
{
	if (!cfg || !rcq_size)
		return RPMA_E_INVAL;
	*rcq_size = atomic_load(&cfg->rcq_size);
	return 0;
}

int rpma_srq_new(struct rpma_peer *peer, struct rpma_srq_cfg *cfg,
		 struct rpma_srq **srq_ptr)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = cfg ? cfg->rq_size : DEFAULT_SIZE,
			  .max_sge = 1 },
	};
	uint32_t rcq_size = cfg ? cfg->rcq_size : DEFAULT_SIZE;
	struct rpma_srq *srq;
	int rc = 0;

	if (!peer || !srq_ptr)
		return RPMA_E_INVAL;
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return RPMA_E_NOMEM;
	srq->ibv_srq = ibv_create_srq(peer->pd, &attr);
	if (!srq->ibv_srq)
		rc = PROVIDER_FAILED("ibv_create_srq()", errno);
	else if (rcq_size)
		rc = cq_new(peer->pd->context, rcq_size, NULL, &srq->rcq);
	if (rc)
		rpma_srq_delete(&srq);
	else
		*srq_ptr = srq;
	return rc;
}

int rpma_srq_delete(struct rpma_srq **srq_ptr)
{
	struct rpma_srq *srq;
	int result, rc;

	if (!srq_ptr)
		return RPMA_E_INVAL;
	srq = *srq_ptr;
	*srq_ptr = NULL;
	if (!srq)
		return 0;
	result = cq_delete(&srq->rcq);
	rc = srq->ibv_srq ? ibv_destroy_srq(srq->ibv_srq) : 0;
	if (rc && !result)
		result = PROVIDER_FAILED("ibv_destroy_srq()", rc);
	free(srq);
	return result;
}

int rpma_srq_get_rcq(const struct rpma_srq *srq, struct rpma_cq **rcq_ptr)
{
	if (!srq || !rcq_ptr)
		return RPMA_E_INVAL;
	*rcq_ptr = srq->rcq;
	return 0;
}

int rpma_srq_recv(struct rpma_srq *srq, struct rpma_mr_local *dst,
		  size_t offset, size_t len, const void *op_context)
{
	struct ibv_recv_wr wr, *bad;
	struct ibv_sge sge;
	int rc;

	if (!srq)
		return RPMA_E_INVAL;
	rc = recv_wr_fill(&wr, &sge, dst, offset, len, op_context);
	if (rc)
		return rc;
	rc = ibv_post_srq_recv(srq->ibv_srq, &wr, &bad);
	return rc ? PROVIDER_FAILED("ibv_post_srq_recv()", rc) : 0;
}
