/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The queue pair and the completion queues of a connection. Made for its request, and
 * then owned by the connection.
 */
#ifndef PINION_RPMA_QUEUES_H
#define PINION_RPMA_QUEUES_H

#include <rdma/rdma_cma.h>

#include "conn_cfg.h"
#include "cq.h"
#include "peer.h"

struct queues {
	struct ibv_comp_channel *channel; /* of both queues, or NULL */
	struct rpma_cq *cq;
	struct rpma_cq *rcq; /* or NULL */
};

/* @cfg may be NULL: the defaults. The queue pair belongs to @id. */
int queues_new(struct queues *queues, struct rpma_peer *peer,
	       struct rdma_cm_id *id, const struct rpma_conn_cfg *cfg);

/* Destroys all that exist, even if an error is returned. */
int queues_delete(struct queues *queues, struct rdma_cm_id *id);

#endif /* PINION_RPMA_QUEUES_H */
