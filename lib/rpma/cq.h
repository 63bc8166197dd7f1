/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A completion queue, with a channel of its own to wait for it, or with a channel that
 * it shares with others.
 */
#ifndef PINION_RPMA_CQ_H
#define PINION_RPMA_CQ_H

#include <pinion/librpma.h>

struct rpma_cq {
	struct ibv_cq *ibv_cq;
	struct ibv_comp_channel *channel;
	bool shared; /* the channel belongs to somebody else */
};

/* @shared: the channel to use, or NULL. The queue is armed on return. */
int cq_new(struct ibv_context *ctx, uint32_t size,
	   struct ibv_comp_channel *shared, struct rpma_cq **cq_ptr);

/* *cq_ptr may be NULL. It is freed even if an error is returned. */
int cq_delete(struct rpma_cq **cq_ptr);

/*
 * Take the next event from @channel, acknowledge it, and arm the queue again. *cq is set
 * to the queue.
 */
int channel_wait(struct ibv_comp_channel *channel, struct ibv_cq **cq);

#endif /* PINION_RPMA_CQ_H */
