/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What data flows through on a connection: its queue pair and completion queues.
 * Made for a request, handed on to the connection it becomes.
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

/* @cfg: NULL for the defaults. The queue pair becomes @id's. */
int queues_new(struct queues *queues, struct rpma_peer *peer,
	       struct rdma_cm_id *id, const struct rpma_conn_cfg *cfg);

/* Whatever it returns, all of it is gone. What is not there is fine. */
int queues_delete(struct queues *queues, struct rdma_cm_id *id);

#endif /* PINION_RPMA_QUEUES_H */
