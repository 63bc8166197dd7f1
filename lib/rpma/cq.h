/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A completion queue that can be waited for: by its own channel, or by one shared
 * with others that somebody else waits for.
 */
#ifndef PINION_RPMA_CQ_H
#define PINION_RPMA_CQ_H

#include <pinion/librpma.h>

struct rpma_cq {
	struct ibv_cq *ibv_cq;
	struct ibv_comp_channel *channel;
	bool shared; /* the channel is not ours */
};

/* @shared: NULL, or the channel to use. Armed when it returns. */
int cq_new(struct ibv_context *ctx, uint32_t size,
	   struct ibv_comp_channel *shared, struct rpma_cq **cq_ptr);

/* NULL is fine. Whatever it returns, *cq_ptr is gone. */
int cq_delete(struct rpma_cq **cq_ptr);

/*
 * The next event on @channel, acknowledged and its queue armed again; *cq is whose
 * it was.
 */
int channel_wait(struct ibv_comp_channel *channel, struct ibv_cq **cq);

#endif /* PINION_RPMA_CQ_H */
