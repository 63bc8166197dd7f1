// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connections: creation, events, queries and deletion. post.c and flush.c transfer data.
 */
#include "conn.h"
#include "log.h"
#include "peer_cfg.h"

int conn_new(struct rpma_conn_req *req, struct rpma_conn **conn_ptr)
{
	struct rpma_conn *conn = calloc(1, sizeof(*conn));
	int rc;

	if (!conn)
		return RPMA_E_NOMEM;
	rc = flush_sink_new(&conn->sink, req->peer);
	if (rc) {
		free(conn);
		return rc;
	}
	conn->peer = req->peer;
	conn->id = req->id;
	conn->events = req->events;
	conn->queues = req->queues;
	conn->data = req->data;
	*conn_ptr = conn;
	return 0;
}

int rpma_conn_delete(struct rpma_conn **conn_ptr)
{
	struct rpma_conn *conn;
	int result, rc;

	if (!conn_ptr)
		return RPMA_E_INVAL;
	conn = *conn_ptr;
	*conn_ptr = NULL;
	if (!conn)
		return 0;
	result = queues_delete(&conn->queues, conn->id);
	rc = flush_sink_delete(&conn->sink);
	if (!result)
		result = rc;
	if (rdma_destroy_id(conn->id) && !result)
		result = PROVIDER_FAILED("rdma_destroy_id()", errno);
	rdma_destroy_event_channel(conn->events);
	private_data_drop(&conn->data);
	free(conn);
	return result;
}

int rpma_conn_disconnect(struct rpma_conn *conn)
{
	if (!conn)
		return RPMA_E_INVAL;
	if (rdma_disconnect(conn->id))
		return PROVIDER_FAILED("rdma_disconnect()", errno);
	return 0;
}

static int understand(struct rpma_conn *conn, const struct rdma_cm_event *cm,
		      enum rpma_conn_event *event)
{
	switch (cm->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		*event = RPMA_CONN_ESTABLISHED;
		/* The data of an incoming connection came with its request. */
		return conn->data.ptr ? 0 : private_data_copy(&conn->data, cm);
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		*event = RPMA_CONN_LOST;
		return 0;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		*event = RPMA_CONN_CLOSED;
		return 0;
	case RDMA_CM_EVENT_REJECTED:
		*event = RPMA_CONN_REJECTED;
		return 0;
	case RDMA_CM_EVENT_UNREACHABLE:
		*event = RPMA_CONN_UNREACHABLE;
		return 0;
	default:
		LOG(ERROR, "unexpected event %s", rdma_event_str(cm->event));
		return RPMA_E_UNKNOWN;
	}
}

int rpma_conn_next_event(struct rpma_conn *conn, enum rpma_conn_event *event)
{
	enum rpma_conn_event what;
	struct rdma_cm_event *cm;
	int rc;

	if (!conn || !event)
		return RPMA_E_INVAL;
	if (rdma_get_cm_event(conn->events, &cm)) {
		if (errno == EAGAIN || errno == ENODATA)
			return RPMA_E_NO_EVENT;
		return PROVIDER_FAILED("rdma_get_cm_event()", errno);
	}
	rc = understand(conn, cm, &what);
	if (rdma_ack_cm_event(cm) && !rc)
		rc = PROVIDER_FAILED("rdma_ack_cm_event()", errno);
	if (rc)
		return rc;
	LOG(NOTICE, "%s", rpma_utils_conn_event_2str(what));
	*event = what;
	return 0;
}

int rpma_conn_get_event_fd(const struct rpma_conn *conn, int *fd)
{
	if (!conn || !fd)
		return RPMA_E_INVAL;
	*fd = conn->events->fd;
	return 0;
}

int rpma_conn_get_private_data(const struct rpma_conn *conn,
			       struct rpma_conn_private_data *pdata)
{
	if (!conn || !pdata)
		return RPMA_E_INVAL;
	*pdata = conn->data;
	return 0;
}

int rpma_conn_apply_remote_peer_cfg(struct rpma_conn *conn,
				    const struct rpma_peer_cfg *pcfg)
{
	if (!conn || !pcfg)
		return RPMA_E_INVAL;
	atomic_store(&conn->direct_write_to_pmem,
		     atomic_load(&pcfg->direct_write_to_pmem));
	return 0;
}

int rpma_conn_get_qp_num(const struct rpma_conn *conn, uint32_t *qp_num)
{
	if (!conn || !qp_num)
		return RPMA_E_INVAL;
	*qp_num = conn->id->qp->qp_num;
	return 0;
}

int rpma_conn_get_cq(const struct rpma_conn *conn, struct rpma_cq **cq_ptr)
{
	if (!conn || !cq_ptr)
		return RPMA_E_INVAL;
	*cq_ptr = conn->queues.cq;
	return 0;
}

int rpma_conn_get_rcq(const struct rpma_conn *conn, struct rpma_cq **rcq_ptr)
{
	if (!conn || !rcq_ptr)
		return RPMA_E_INVAL;
	*rcq_ptr = conn->queues.rcq;
	return 0;
}

int rpma_conn_get_compl_fd(const struct rpma_conn *conn, int *fd)
{
	if (!conn || !fd)
		return RPMA_E_INVAL;
	if (!conn->queues.channel)
		return RPMA_E_NOT_SHARED_CHNL;
	*fd = conn->queues.channel->fd;
	return 0;
}

int rpma_conn_wait(struct rpma_conn *conn, int flags, struct rpma_cq **cq,
		   bool *is_rcq)
{
	struct ibv_cq *ibv_cq;
	bool receive;
	int rc;

	(void)flags; /* no flag changes anything */
	if (!conn || !cq)
		return RPMA_E_INVAL;
	if (!conn->queues.channel)
		return RPMA_E_NOT_SHARED_CHNL;
	rc = channel_wait(conn->queues.channel, &ibv_cq);
	if (rc)
		return rc;
	receive = conn->queues.rcq && ibv_cq == conn->queues.rcq->ibv_cq;
	if (!receive && ibv_cq != conn->queues.cq->ibv_cq)
		return RPMA_E_UNKNOWN;
	*cq = receive ? conn->queues.rcq : conn->queues.cq;
	if (is_rcq)
		*is_rcq = receive;
	return 0;
}
