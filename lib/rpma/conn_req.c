// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests for a connection, outgoing and incoming, until they are connected or
 * deleted.
 */
#include "address.h"
#include "conn.h"
#include "log.h"
#include "post.h"

/* On success the request owns @id. */
static int req_new(struct rpma_peer *peer, struct rdma_cm_id *id,
		   const struct rpma_conn_cfg *cfg,
		   struct rpma_conn_req **req_ptr)
{
	struct rpma_conn_req *req = calloc(1, sizeof(*req));
	int rc;

	if (!req)
		return RPMA_E_NOMEM;
	rc = queues_new(&req->queues, peer, id, cfg);
	if (rc) {
		free(req);
		return rc;
	}
	req->peer = peer;
	req->id = id;
	*req_ptr = req;
	return 0;
}

/* Free @req and everything it still owns. */
static int req_end(struct rpma_conn_req *req, bool refuse)
{
	int result = 0, rc;

	if (refuse && rdma_reject(req->id, NULL, 0))
		result = PROVIDER_FAILED("rdma_reject()", errno);
	rc = queues_delete(&req->queues, req->id);
	if (!result)
		result = rc;
	if (rdma_destroy_id(req->id) && !result)
		result = PROVIDER_FAILED("rdma_destroy_id()", errno);
	if (req->events)
		rdma_destroy_event_channel(req->events);
	private_data_drop(&req->data);
	free(req);
	return result;
}

int conn_req_own_events(struct rpma_conn_req *req)
{
	struct rdma_event_channel *events = rdma_create_event_channel();
	int rc;

	if (!events) {
		rc = PROVIDER_FAILED("rdma_create_event_channel()", errno);
		goto err_end;
	}
	if (rdma_migrate_id(req->id, events)) {
		rc = PROVIDER_FAILED("rdma_migrate_id()", errno);
		goto err_destroy_events;
	}
	req->events = events;
	return 0;

err_destroy_events:
	rdma_destroy_event_channel(events);
err_end:
	req_end(req, req->incoming);
	return rc;
}

int conn_req_from_event(struct rpma_peer *peer, struct rdma_cm_event *event,
			const struct rpma_conn_cfg *cfg,
			struct rpma_conn_req **req_ptr)
{
	struct rpma_conn_private_data data = {};
	int rc;

	rc = private_data_copy(&data, event);
	if (rc)
		return rc;
	rc = req_new(peer, event->id, cfg, req_ptr);
	if (rc) {
		private_data_drop(&data);
		return rc;
	}
	(*req_ptr)->incoming = true;
	(*req_ptr)->data = data;
	return 0;
}

/* An id without an event channel is synchronous: each call waits for its end. */
static int resolve(struct rdma_cm_id *id, const char *addr, const char *port,
		   int timeout_ms)
{
	struct rdma_addrinfo *address;
	int rc;

	rc = address_lookup(addr, port, false, &address);
	if (rc)
		return rc;
	if (rdma_resolve_addr(id, NULL, address->ai_dst_addr, timeout_ms))
		rc = PROVIDER_FAILED("rdma_resolve_addr()", errno);
	else if (rdma_resolve_route(id, timeout_ms))
		rc = PROVIDER_FAILED("rdma_resolve_route()", errno);
	rdma_freeaddrinfo(address);
	return rc;
}

int rpma_conn_req_new(struct rpma_peer *peer, const char *addr,
		      const char *port, const struct rpma_conn_cfg *cfg,
		      struct rpma_conn_req **req_ptr)
{
	int timeout_ms = (cfg ? cfg : &conn_cfg_default)->timeout_ms;
	struct rpma_conn_req *req;
	struct rdma_cm_id *id;
	int rc;

	if (!peer || !addr || !port || !req_ptr)
		return RPMA_E_INVAL;
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return PROVIDER_FAILED("rdma_create_id()", errno);
	rc = resolve(id, addr, port, timeout_ms);
	if (!rc)
		rc = req_new(peer, id, cfg, &req);
	if (rc) {
		rdma_destroy_id(id);
		return rc;
	}
	rc = conn_req_own_events(req);
	if (!rc)
		*req_ptr = req;
	return rc;
}

int rpma_conn_req_delete(struct rpma_conn_req **req_ptr)
{
	struct rpma_conn_req *req;

	if (!req_ptr)
		return RPMA_E_INVAL;
	req = *req_ptr;
	*req_ptr = NULL;
	return req ? req_end(req, req->incoming) : 0;
}

int rpma_conn_req_connect(struct rpma_conn_req **req_ptr,
			  const struct rpma_conn_private_data *pdata,
			  struct rpma_conn **conn_ptr)
{
	struct rdma_conn_param param = {
		.private_data = pdata ? pdata->ptr : NULL,
		.private_data_len = pdata ? pdata->len : 0,
		.responder_resources = RDMA_MAX_RESP_RES,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
		.flow_control = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	bool incoming;
	int rc;

	if (!req_ptr || !*req_ptr)
		return RPMA_E_INVAL;
	req = *req_ptr;
	*req_ptr = NULL;
	incoming = req->incoming;
	if (!conn_ptr || (pdata && (!pdata->len || !pdata->ptr)))
		rc = RPMA_E_INVAL;
	else
		rc = conn_new(req, &conn);
	if (rc) {
		req_end(req, incoming);
		return rc;
	}
	free(req);
	if (incoming && rdma_accept(conn->id, &param))
		rc = PROVIDER_FAILED("rdma_accept()", errno);
	else if (!incoming && rdma_connect(conn->id, &param))
		rc = PROVIDER_FAILED("rdma_connect()", errno);
	if (rc)
		rpma_conn_delete(&conn);
	else
		*conn_ptr = conn;
	return rc;
}

int rpma_conn_req_recv(struct rpma_conn_req *req, struct rpma_mr_local *dst,
		       size_t offset, size_t len, const void *op_context)
{
	if (!req)
		return RPMA_E_INVAL;
	return post_recv(req->id->qp, dst, offset, len, op_context);
}

int rpma_conn_req_get_private_data(const struct rpma_conn_req *req,
				   struct rpma_conn_private_data *pdata)
{
	if (!req || !pdata)
		return RPMA_E_INVAL;
	*pdata = req->data;
	return 0;
}
