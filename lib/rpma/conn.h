/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A connection, and the request that it is made from. It owns its id, its queues and a
 * channel for connection events.
 */
#ifndef PINION_RPMA_CONN_H
#define PINION_RPMA_CONN_H

#include <stdatomic.h>

#include "mr.h"
#include "private_data.h"
#include "queues.h"

struct rpma_conn_req {
	struct rpma_peer *peer;
	struct rdma_cm_id *id;
	struct rdma_event_channel *events;
	struct queues queues;
	bool incoming;
	struct rpma_conn_private_data data; /* of an incoming one */
};

/* The target of READs that flush. The data is not used. */
struct flush_sink {
	struct rpma_mr_local *mr;
	uint64_t *bytes;
};

struct rpma_conn {
	struct rpma_peer *peer;
	struct rdma_cm_id *id;
	struct rdma_event_channel *events;
	struct queues queues;
	struct rpma_conn_private_data data;
	struct flush_sink sink;
	atomic_bool direct_write_to_pmem; /* from the peer's configuration */
};

/*
 * Make a request from @event of an endpoint. On success it owns the event's id.
 * conn_req_own_events() is to follow, when the event is acknowledged.
 */
int conn_req_from_event(struct rpma_peer *peer, struct rdma_cm_event *event,
			const struct rpma_conn_cfg *cfg,
			struct rpma_conn_req **req_ptr);

/*
 * Have the events of the request's id come by a channel of its own. Waits until all earlier ones
 * are acknowledged. If it fails the request is gone.
 */
int conn_req_own_events(struct rpma_conn_req *req);

/*
 * Make a connection of @req. On success the connection owns the id, its channel and the queues.
 */
int conn_new(struct rpma_conn_req *req, struct rpma_conn **conn_ptr);

/* flush.c */
int flush_sink_new(struct flush_sink *sink, struct rpma_peer *peer);
int flush_sink_delete(struct flush_sink *sink);

#endif /* PINION_RPMA_CONN_H */
