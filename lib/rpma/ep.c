// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Endpoints: they listen for connection requests.
 */
#include "address.h"
#include "conn.h"
#include "log.h"

struct rpma_ep {
	struct rpma_peer *peer;
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
};

static int listen_at(struct rdma_cm_id *id, const char *addr, const char *port)
{
	struct rdma_addrinfo *address;
	int rc;

	rc = address_lookup(addr, port, true, &address);
	if (rc)
		return rc;
	if (rdma_bind_addr(id, address->ai_src_addr))
		rc = PROVIDER_FAILED("rdma_bind_addr()", errno);
	else if (rdma_listen(id, 0))
		rc = PROVIDER_FAILED("rdma_listen()", errno);
	rdma_freeaddrinfo(address);
	return rc;
}

int rpma_ep_listen(struct rpma_peer *peer, const char *addr, const char *port,
		   struct rpma_ep **ep_ptr)
{
	struct rpma_ep *ep;
	int rc;

	if (!peer || !addr || !port || !ep_ptr)
		return RPMA_E_INVAL;
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return RPMA_E_NOMEM;
	ep->peer = peer;
	ep->events = rdma_create_event_channel();
	if (!ep->events) {
		rc = PROVIDER_FAILED("rdma_create_event_channel()", errno);
		goto err_free;
	}
	if (rdma_create_id(ep->events, &ep->id, NULL, RDMA_PS_TCP)) {
		rc = PROVIDER_FAILED("rdma_create_id()", errno);
		goto err_destroy_events;
	}
	rc = listen_at(ep->id, addr, port);
	if (rc)
		goto err_destroy_id;
	LOG(NOTICE, "listening on %s:%s", addr, port);
	*ep_ptr = ep;
	return 0;

err_destroy_id:
	rdma_destroy_id(ep->id);
err_destroy_events:
	rdma_destroy_event_channel(ep->events);
err_free:
	free(ep);
	return rc;
}

int rpma_ep_shutdown(struct rpma_ep **ep_ptr)
{
	struct rpma_ep *ep;

	if (!ep_ptr)
		return RPMA_E_INVAL;
	ep = *ep_ptr;
	if (!ep)
		return 0;
	if (rdma_destroy_id(ep->id))
		return PROVIDER_FAILED("rdma_destroy_id()", errno);
	rdma_destroy_event_channel(ep->events);
	free(ep);
	*ep_ptr = NULL;
	return 0;
}

int rpma_ep_get_fd(const struct rpma_ep *ep, int *fd)
{
	if (!ep || !fd)
		return RPMA_E_INVAL;
	*fd = ep->events->fd;
	return 0;
}

/*
 * The event is acknowledged at once, and the id leaves the endpoint's channel, so that the
 * endpoint can be shut down while the request still exists: the ids of a channel end with it.
 * If no request can be made of the event, destroy its id here.
 */
int rpma_ep_next_conn_req(struct rpma_ep *ep, const struct rpma_conn_cfg *cfg,
			  struct rpma_conn_req **req_ptr)
{
	struct rdma_cm_id *orphan = NULL;
	struct rpma_conn_req *req = NULL;
	struct rdma_cm_event *event;
	int rc;

	if (!ep || !req_ptr)
		return RPMA_E_INVAL;
	if (rdma_get_cm_event(ep->events, &event)) {
		if (errno == EAGAIN || errno == ENODATA)
			return RPMA_E_NO_EVENT;
		return PROVIDER_FAILED("rdma_get_cm_event()", errno);
	}
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		LOG(ERROR, "unexpected event %s", rdma_event_str(event->event));
		rc = RPMA_E_INVAL;
	} else {
		rc = conn_req_from_event(ep->peer, event, cfg, &req);
		if (rc)
			orphan = event->id;
	}
	rdma_ack_cm_event(event);
	if (orphan) {
		rdma_reject(orphan, NULL, 0);
		rdma_destroy_id(orphan);
	}
	if (!rc)
		rc = conn_req_own_events(req);
	if (!rc)
		*req_ptr = req;
	return rc;
}
