// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connections to other hosts: creation, changes of state, destruction, and the delivery of packets
 * to the two lines.
 */
#include <linux/slab.h>

#include "../compat/compat.h"
#include "../logic/psn.h"
#include "../path/exec.h"
#include "../path/fault.h"
#include "conn.h"
#include "harm.h"

/* Steps of one run of conn->work; see pinion_responder_turn(). */
#define BURST	64

static enum hrtimer_restart conn_expire(struct hrtimer *timer)
{
	struct pinion_qp *qp = container_of(timer, struct pinion_conn, timer)->qp;

	queue_work(qp->wq, &qp->sq.work);
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart conn_resume(struct hrtimer *timer)
{
	struct pinion_conn *conn = container_of(timer, struct pinion_conn, pause);

	queue_work(conn->qp->wq, &conn->work);
	return HRTIMER_NORESTART;
}

/* resp.lock is held. */
static void conn_turn(struct pinion_conn *conn, int budget)
{
	if (pinion_qp_is_connected(conn->qp))
		pinion_responder_turn(conn, budget);
	else
		pinion_datagram_turn(conn, budget);
}

/* The work item: responds to packets that the delivering thread has left. */
static void conn_respond(struct work_struct *work)
{
	struct pinion_conn *conn = container_of(work, struct pinion_conn, work);

	pinion_half_own(&conn->qp->resp.lock);
	conn_turn(conn, BURST);
	pinion_half_release(&conn->qp->resp.lock);
}

static void conn_wake_responder(struct pinion_qp *qp)
{
	queue_work(qp->wq, &qp->conn->work);
}

struct pinion_conn *pinion_conn_attach(struct pinion_qp *qp)
{
	size_t bytes = pinion_qp_is_connected(qp) ? sizeof(struct pinion_conn) :
						   offsetof(struct pinion_conn, found);
	struct pinion_conn *conn = kzalloc(bytes, GFP_KERNEL_ACCOUNT);

	if (!conn)
		return NULL;
	conn->outlet = pinion_outlet_get(qp);
	if (!conn->outlet) {
		kfree(conn);
		return NULL;
	}
	conn->qp = qp;
	/*
	 * Only what a reliable requester sends is received on another CPU: an unreliable one, which
	 * nobody slows down, would lose more.
	 */
	conn->errand.requester = pinion_qp_is_reliable(qp) ? qp : NULL;
	pinion_line_init(&conn->answers, qp->waiting);
	pinion_line_init(&conn->requests, qp->waiting);
	pinion_kept_init(&conn->kept_answers, qp);
	pinion_kept_init(&conn->kept_requests, qp);
	pinion_outlet_wait_init(&conn->requests_wait, qp, pinion_qp_wake);
	pinion_outlet_wait_init(&conn->answers_wait, qp, conn_wake_responder);
	pinion_congestion_init(&conn->congestion);
	hrtimer_setup(&conn->timer, conn_expire, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	hrtimer_setup(&conn->pause, conn_resume, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	INIT_WORK(&conn->work, conn_respond);
	pinion_route_init(&conn->route, qp->node->wire);
	pinion_route_init(&conn->answer_route, qp->node->wire);
	/* Always open for UD: pinion_respond() checks the state for each datagram. */
	if (!pinion_qp_is_connected(qp))
		pinion_line_open(&conn->requests);
	return conn;
}

/*
 * qp->dying is set, and both locks have been taken since: neither half starts the timers or queues
 * the work item any more, apart from one that is running now.
 */
void pinion_conn_detach(struct pinion_qp *qp)
{
	struct pinion_conn *conn = qp->conn;

	pinion_outlet_leave(conn->outlet, &conn->requests_wait);
	pinion_outlet_leave(conn->outlet, &conn->answers_wait);
	cancel_work_sync(&conn->work);
	pinion_responder_end(conn);
	if (conn->fault)
		pinion_fault_leave(conn->fault);
	hrtimer_cancel(&conn->pause);
	/* The work item may have started @pause, and @pause or the fault may have queued it. */
	cancel_work_sync(&conn->work);
	hrtimer_cancel(&conn->timer);
	pinion_conn_close_answers(conn);
	pinion_kept_forget(&conn->kept_answers);
	pinion_harm_forget(&conn->held);
	pinion_route_end(&conn->route, qp->node->wire);
	pinion_route_end(&conn->answer_route, qp->node->wire);
	pinion_outlet_put(conn->outlet);
	kfree(conn);
}

static void conn_begin_to_send(struct pinion_conn *conn)
{
	const struct ib_qp_attr *attr = &conn->qp->attr;

	pinion_requester_forget(conn);
	pinion_harm_forget(&conn->held);
	pinion_sender_init(&conn->sender, conn->qp->sq.psn, attr->retry_cnt, attr->rnr_retry);
	conn->deadline = 0;
	conn->lateness = 0;
	conn->paced = 0;
	conn->full_until = 0;
	conn->full_pause = 0;
	pinion_inflight_init(&conn->inflight, PINION_CONN_WINDOW);
	pinion_congestion_forget(conn);
	conn->una = conn->sender.una;
	pinion_line_open(&conn->answers);
}

static void conn_begin_to_receive(struct pinion_conn *conn)
{
	const struct pinion_qp *qp = conn->qp;

	pinion_responder_forget(conn);
	pinion_receiver_init(&conn->receiver, qp->resp.psn, qp->mtu, pinion_qp_is_reliable(qp));
	conn->ack_psn = pinion_psn_add(conn->receiver.expected, -1);
	pinion_line_open(&conn->requests);
}

void pinion_conn_modified(struct pinion_qp *qp, enum ib_qp_state before, int mask)
{
	struct pinion_conn *conn = qp->conn;

	pinion_half_assert(&qp->sq.exec);
	pinion_half_assert(&qp->resp.lock);
	if (!pinion_qp_is_connected(qp)) {
		/* What waits is for what was before: its Q_Key may be the same afterwards. */
		if (mask & IB_QP_STATE && qp->state == IB_QPS_RESET)
			pinion_stat_add(qp, rx_overruns, pinion_line_forget(&conn->requests));
		return;
	}
	conn->sender.retry_count = qp->attr.retry_cnt;
	conn->sender.rnr_retry = qp->attr.rnr_retry;
	/* The address may be another one now, and even of the other family. */
	pinion_route_forget(&conn->route);
	pinion_route_forget(&conn->answer_route);
	if (!(mask & IB_QP_STATE))
		return;
	switch (qp->state) {
	case IB_QPS_RESET:
	case IB_QPS_ERR:
		pinion_requester_forget(conn);
		pinion_responder_forget(conn);
		break;
	case IB_QPS_SQE:
		pinion_requester_forget(conn);
		break;
	case IB_QPS_RTR:
		conn_begin_to_receive(conn);
		break;
	case IB_QPS_RTS:
		/* Not from SQD: packets may be under way there. */
		if (before == IB_QPS_RTR || before == IB_QPS_SQE)
			conn_begin_to_send(conn);
		break;
	default:
		break;
	}
}

u8 pinion_conn_transport(const struct pinion_qp *qp)
{
	switch (qp->ibqp.qp_type) {
	case IB_QPT_UC:
		return PINION_TRANSPORT_UC;
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return PINION_TRANSPORT_XRC;
	default:
		return PINION_TRANSPORT_RC;
	}
}

bool pinion_conn_is_peer(const struct pinion_qp *qp, const struct pinion_av *av)
{
	return !memcmp(&av->sgid, &qp->av.dgid, sizeof(av->sgid)) &&
	       !memcmp(&av->dgid, &qp->av.sgid, sizeof(av->dgid)) && av->vlan == qp->av.vlan;
}

/* Queue the executor, which has something to do since an answer came. */
static void conn_send_more(struct pinion_qp *qp, const struct pinion_errand *errand)
{
	struct pinion_sq *sq = &qp->sq;

	/* The thread that brought the answer keeps its CPU for what arrives: send elsewhere. */
	if (errand && errand->lingers && pinion_crowding_allows(&sq->crowding))
		pinion_crowding_move(&sq->crowding, qp->wq, &sq->work);
	else
		queue_work(qp->wq, &sq->work);
}

/* Has @qp begun a request? Else nothing waits for an answer. */
static bool conn_awaits_answer(struct pinion_qp *qp)
{
	return qp->has_sq && pinion_requests_count(&qp->sq.requests);
}

/* Deliver an answer. */
static bool conn_arrived_answer(struct pinion_qp *qp, struct sk_buff *skb,
				const struct pinion_errand *errand)
{
	bool glanced = false;

	if (!pinion_line_add(&qp->conn->answers, skb))
		return false;
	/* Pairs with the barrier at the end of pinion_requester_turn(). */
	smp_mb();
	if (READ_ONCE(qp->conn->attended))
		return true;
	/* If no executor runs, process it here, which saves waking another thread. */
	if (pinion_half_visit(&qp->sq.exec)) {
		glanced = pinion_requester_glance(qp);
		pinion_half_leave(&qp->sq.exec);
	}
	if (!glanced)
		conn_send_more(qp, errand);
	return true;
}

/*
 * Does @errand belong to the executor of our peer, and does that wait for answers? It holds the
 * peer's sq.exec, and we hold resp.lock, so neither address changes.
 */
static bool conn_peer_waits(const struct pinion_qp *qp, const struct pinion_errand *errand)
{
	const struct pinion_qp *peer = errand ? errand->requester : NULL;

	return peer && errand->waits && pinion_qp_is_connected(qp) &&
	       qp->attr.dest_qp_num == peer->ibqp.qp_num &&
	       peer->attr.dest_qp_num == qp->ibqp.qp_num && pinion_conn_is_peer(qp, &peer->av);
}

static bool conn_arrived_request(struct pinion_qp *qp, struct sk_buff *skb,
				 struct pinion_errand *errand, bool at_once)
{
	struct pinion_conn *conn = qp->conn;
	u32 packets = pinion_wire_packets(skb);

	if (!pinion_line_add(&conn->requests, skb))
		return false;
	/*
	 * If no other thread responds, do it here, which saves waking one. But only for these
	 * packets and the first packet of an answer: packets for other queue pairs wait. If the
	 * peer's own thread has nothing else to do, it sends as much of an answer as the largest
	 * buffer of a WRITE has. In another namespace another CPU may receive that meanwhile.
	 */
	if (!at_once || !pinion_half_visit(&qp->resp.lock)) {
		queue_work(qp->wq, &conn->work);
		return true;
	}
	conn->bringer = errand;
	if (conn_peer_waits(qp, errand))
		conn->answers_here = SZ_64K / qp->mtu;
	conn_turn(conn, packets + 1);
	conn->answers_here = 0;
	conn->bringer = NULL;
	pinion_half_leave(&qp->resp.lock);
	return true;
}

bool pinion_conn_arrived(struct pinion_qp *qp, struct sk_buff *skb, enum pinion_packet_role role,
			 struct pinion_errand *errand, bool at_once)
{
	if (role == PINION_RESPONSE && !conn_awaits_answer(qp)) {
		pinion_stat_add(qp, rx_stale, pinion_wire_packets(skb));
		return false;
	}
	if (role == PINION_RESPONSE ? conn_arrived_answer(qp, skb, errand) :
				      conn_arrived_request(qp, skb, errand, at_once))
		return true;
	pinion_stat_add(qp, rx_overruns, pinion_wire_packets(skb));
	return false;
}
