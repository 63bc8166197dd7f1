// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues and waiting for them. Events are acknowledged before they are
 * reported, so a queue can be destroyed at any time.
 */
#include <stdlib.h>

#include "cq.h"
#include "log.h"

int channel_wait(struct ibv_comp_channel *channel, struct ibv_cq **cq)
{
	void *unused;
	int rc;

	if (ibv_get_cq_event(channel, cq, &unused))
		return RPMA_E_NO_COMPLETION;
	ibv_ack_cq_events(*cq, 1);
	/* Arm before the user polls, so that later completions raise an event. */
	rc = ibv_req_notify_cq(*cq, 0);
	return rc ? PROVIDER_FAILED("ibv_req_notify_cq()", rc) : 0;
}

/* Make the verbs objects. After an error the caller calls cq_delete(). */
static int cq_make(struct rpma_cq *cq, struct ibv_context *ctx, uint32_t size,
		   struct ibv_comp_channel *shared)
{
	int rc;

	cq->shared = shared;
	cq->channel = shared ? shared : ibv_create_comp_channel(ctx);
	if (!cq->channel)
		return PROVIDER_FAILED("ibv_create_comp_channel()", errno);
	/* The provider refuses a size that is too large. */
	cq->ibv_cq = ibv_create_cq(ctx, size < INT32_MAX ? size : INT32_MAX,
				   NULL, cq->channel, 0);
	if (!cq->ibv_cq)
		return PROVIDER_FAILED("ibv_create_cq()", errno);
	rc = ibv_req_notify_cq(cq->ibv_cq, 0);
	return rc ? PROVIDER_FAILED("ibv_req_notify_cq()", rc) : 0;
}

int cq_new(struct ibv_context *ctx, uint32_t size,
	   struct ibv_comp_channel *shared, struct rpma_cq **cq_ptr)
{
	struct rpma_cq *cq = calloc(1, sizeof(*cq));
	int rc;

	if (!cq)
		return RPMA_E_NOMEM;
	rc = cq_make(cq, ctx, size, shared);
	if (rc)
		cq_delete(&cq);
	else
		*cq_ptr = cq;
	return rc;
}

int cq_delete(struct rpma_cq **cq_ptr)
{
	struct rpma_cq *cq = *cq_ptr;
	int rc, result = 0;

	*cq_ptr = NULL;
	if (!cq)
		return 0;
	rc = cq->ibv_cq ? ibv_destroy_cq(cq->ibv_cq) : 0;
	if (rc)
		result = PROVIDER_FAILED("ibv_destroy_cq()", rc);
	rc = cq->channel && !cq->shared ?
		     ibv_destroy_comp_channel(cq->channel) :
		     0;
	if (rc && !result)
		result = PROVIDER_FAILED("ibv_destroy_comp_channel()", rc);
	free(cq);
	return result;
}

int rpma_cq_get_fd(const struct rpma_cq *cq, int *fd)
{
	if (!cq || !fd)
		return RPMA_E_INVAL;
	*fd = cq->channel->fd;
	return 0;
}

int rpma_cq_wait(struct rpma_cq *cq)
{
	struct ibv_cq *ibv_cq;

	if (!cq)
		return RPMA_E_INVAL;
	if (cq->shared)
		return RPMA_E_SHARED_CHANNEL;
	return channel_wait(cq->channel, &ibv_cq);
}

int rpma_cq_get_wc(struct rpma_cq *cq, int num_entries, struct ibv_wc *wc,
		   int *num_entries_got)
{
	int got;

	if (!cq || !wc || num_entries < 1 ||
	    (num_entries > 1 && !num_entries_got))
		return RPMA_E_INVAL;
	got = ibv_poll_cq(cq->ibv_cq, num_entries, wc);
	if (!got)
		return RPMA_E_NO_COMPLETION;
	if (got < 0)
		return PROVIDER_FAILED("ibv_poll_cq()", -got);
	if (got > num_entries)
		return RPMA_E_UNKNOWN;
	if (num_entries_got)
		*num_entries_got = got;
	return 0;
}
