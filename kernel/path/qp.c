// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The life of a queue pair: beginning, changes of attributes and state, end. run.c says when its
 * requests are performed, and exec.c performs them.
 */
#include <linux/slab.h>

#include "../logic/wqe.h"
#include "../mem/dwell.h"
#include "bell.h"
#include "complete.h"
#include "engine.h"
#include "exec.h"
#include "fault.h"
#include "late.h"
#include "overflow.h"
#include "raw_qp.h"
#include "receive.h"
#include "run.h"

/*
 * How many requests of a send queue may be begun: one if its peers are reached without packets,
 * since each is performed to its end; more if they may be reached by packets.
 */
#define REQUESTS_BEGUN		1
#define REQUESTS_UNDER_WAY	16

static u8 qp_service_of(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_UC:
		return PINION_SVC_UC;
	case IB_QPT_UD:
	case IB_QPT_GSI:
		return PINION_SVC_UD;
	default:
		return PINION_SVC_RC;
	}
}

/* May packets wait for this queue pair? Then the wire has a struct pinion_conn for it. */
static bool qp_may_wait(const struct pinion_qp *qp)
{
	return qp->node->others && qp->node->others->attach;
}

/* The engine is chosen when it is connected, so until then this is only a possibility. */
static bool qp_may_have_window(const struct pinion_qp *qp)
{
	return pinion_qp_is_connected(qp) && qp_may_wait(qp);
}

static u32 qp_requests(const struct pinion_qp *qp)
{
	return qp_may_have_window(qp) ? REQUESTS_UNDER_WAY : REQUESTS_BEGUN;
}

/**
 * pinion_qp_init - make a queue pair ready, in RESET
 * @qp: with what path/qp.h says the caller sets
 * @sig_all: every send completes with a completion
 *
 * Return: 0 or -ENOMEM.
 */
int pinion_qp_init(struct pinion_qp *qp, bool sig_all)
{
	struct pinion_sq *sq = &qp->sq;

	pinion_half_init(&sq->exec);
	pinion_half_init(&qp->resp.lock);
	spin_lock_init(&sq->post_lock);
	pinion_users_init(&qp->finders);
	INIT_LIST_HEAD(&qp->memberships);
	pinion_late_init(qp);
	pinion_run_init(qp);
	sq->sig_all = sig_all;
	qp->service = qp_service_of(qp->ibqp.qp_type);
	qp->state = IB_QPS_RESET;
	qp->pid = qp->user ? task_tgid_nr(current) : 0;
	if (qp->has_sq && pinion_requests_init(&sq->requests, qp_requests(qp),
					       pinion_sq_stride(sq->max_sge, sq->max_inline)))
		return -ENOMEM;
	qp->resp.recv = kzalloc(struct_size(qp->resp.recv, sge, PINION_MAX_SGE),
				GFP_KERNEL_ACCOUNT);
	if (!qp->resp.recv)
		goto err_requests;
	if (qp_may_wait(qp)) {
		qp->conn = qp->node->others->attach(qp);
		if (!qp->conn)
			goto err_recv;
	}
	pinion_overflow_watch(qp);
	return 0;

err_recv:
	kfree(qp->resp.recv);
err_requests:
	pinion_requests_destroy(&sq->requests);
	return -ENOMEM;
}

void pinion_qp_fini(struct pinion_qp *qp)
{
	pinion_half_interrupt(&qp->sq.exec);
	pinion_half_interrupt(&qp->resp.lock);
	WRITE_ONCE(qp->dying, true);
	pinion_late_forget(qp);
	pinion_give_back(qp);
	pinion_half_release(&qp->resp.lock);
	/* A page that a fault brings for us may never come: stop waiting for it. */
	pinion_sq_turn_away(&qp->sq);
	pinion_half_release(&qp->sq.exec);
	pinion_late_stop(qp);
	if (qp->conn)
		qp->node->others->detach(qp);
	pinion_overflow_unwatch(qp);
	hrtimer_cancel(&qp->sq.timer);
	cancel_work_sync(&qp->sq.work);
	pinion_complete_forget(qp);
	/* A process may keep the ring mapped: tell it that posting needs a doorbell again. */
	if (qp->has_sq)
		WRITE_ONCE(qp->sq.ring.hdr->flags, 0);
	pinion_half_destroy(&qp->sq.exec);
	pinion_half_destroy(&qp->resp.lock);
	if (qp->sq.fault)
		pinion_fault_leave(qp->sq.fault);
	pinion_requests_destroy(&qp->sq.requests);
	kfree(qp->resp.recv);
}

void pinion_qp_fail(struct pinion_qp *qp, enum ib_event_type event)
{
	pinion_half_assert(&qp->resp.lock);
	if (qp->failing)
		return;
	qp->fail_event = event;
	WRITE_ONCE(qp->event_due, event != PINION_NO_EVENT);
	WRITE_ONCE(qp->failing, true);
	queue_work(qp->wq, &qp->sq.work);
}

/* Both locks are held; @before is the state that was left for the error state. */
static void qp_break_receives(struct pinion_qp *qp, enum ib_qp_state before)
{
	/* In the error state a posted receive must be flushed, so posting needs a doorbell. */
	if (qp->has_rq)
		pinion_recvq_set_need_doorbell(&qp->rq, true);
	/* Of a raw queue pair none is rung for receives: they have to be found. */
	if (qp->raw)
		pinion_bells_hurry(qp->raw);
	pinion_flush_recvs(qp);
	if (qp->ibqp.srq && before != IB_QPS_ERR)
		pinion_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

/* Both locks are held. */
static void qp_enter_error_locked(struct pinion_qp *qp, enum ib_qp_state state)
{
	enum ib_qp_state before = qp->state;

	pinion_sq_stop_waiting(&qp->sq);
	WRITE_ONCE(qp->state, state);
	if (state == IB_QPS_ERR)
		qp_break_receives(qp, before);
	if (pinion_qp_has_window(qp))
		qp->engine->modified(qp, before, IB_QP_STATE);
}

/* The caller completes the request that it is performing, if there is one. */
void pinion_qp_enter_error(struct pinion_qp *qp, enum ib_qp_state state)
{
	pinion_half_assert(&qp->sq.exec);
	pinion_peer_leave(qp);
	pinion_half_interrupt(&qp->resp.lock);
	qp_enter_error_locked(qp, state);
	pinion_half_release(&qp->resp.lock);
}

/*
 * After this no completion in error has been seen whose error state is not entered yet. The
 * executor holds sq.exec from writing such a completion until the state has changed. A responder
 * has only resp.lock; it sets qp->failing and leaves the state to the work item. So we take both
 * locks and enter the error state ourselves if @failing is set.
 */
void pinion_qp_lock(struct pinion_qp *qp)
{
	pinion_half_interrupt(&qp->sq.exec);
	pinion_half_interrupt(&qp->resp.lock);
	if (qp->failing && qp->state != IB_QPS_ERR)
		qp_enter_error_locked(qp, IB_QPS_ERR);
}

void pinion_qp_unlock(struct pinion_qp *qp)
{
	pinion_half_release(&qp->resp.lock);
	pinion_half_release(&qp->sq.exec);
}

static void qp_reset(struct pinion_qp *qp)
{
	unsigned long flags;

	if (qp->has_sq) {
		pinion_sq_forget(&qp->sq);
		qp->sq.drain_event = false;
		spin_lock_irqsave(&qp->sq.post_lock, flags);
		qp->sq.head = 0;
		qp->sq.tail = 0;
		WRITE_ONCE(qp->sq.ring.hdr->user_idx, 0);
		pinion_ring_publish(&qp->sq.ring, 0);
		if (qp->raw)
			pinion_raw_sq_forget(qp);
		spin_unlock_irqrestore(&qp->sq.post_lock, flags);
	}
	if (qp->has_rq) {
		pinion_recvq_set_need_doorbell(&qp->rq, false);
		pinion_recvq_reset(&qp->rq);
	}
	pinion_late_forget(qp);
	pinion_give_back(qp);
	pinion_complete_forget(qp);
	qp->resp.established = false;
	qp->resp.recv_kept = false;
	qp->resp.token = 0;
	qp->failing = false;
	WRITE_ONCE(qp->event_due, false);
}

static void qp_copy_attrs(struct ib_qp_attr *to, const struct ib_qp_attr *from, int mask)
{
	if (mask & IB_QP_ACCESS_FLAGS)
		to->qp_access_flags = from->qp_access_flags;
	if (mask & IB_QP_PKEY_INDEX)
		to->pkey_index = from->pkey_index;
	if (mask & IB_QP_PORT)
		to->port_num = from->port_num;
	if (mask & IB_QP_QKEY)
		to->qkey = from->qkey;
	if (mask & IB_QP_AV) {
		to->ah_attr = from->ah_attr;
		/* The core may drop its reference to sgid_attr before the queue pair ends. */
		to->ah_attr.grh.sgid_attr = NULL;
	}
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = from->path_mtu;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = from->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = from->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = from->rnr_retry;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = from->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = from->min_rnr_timer;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qp_num = from->dest_qp_num;
}

/* Both locks are held. */
static void qp_change_state(struct pinion_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state before = qp->state;

	WRITE_ONCE(qp->state, attr->qp_state);
	switch (attr->qp_state) {
	case IB_QPS_RESET:
		qp_reset(qp);
		break;
	case IB_QPS_RTR:
		/* stream.c and the wire read it without a lock. */
		WRITE_ONCE(qp->engine, pinion_engine_choose(qp->node, qp->service, &qp->av));
		break;
	case IB_QPS_SQD:
		/* Changing attributes in SQD does not ask for another event. */
		if (before == IB_QPS_SQD)
			break;
		qp->sq.drain_event = mask & IB_QP_EN_SQD_ASYNC_NOTIFY &&
				     attr->en_sqd_async_notify;
		break;
	case IB_QPS_ERR:
		pinion_sq_stop_waiting(&qp->sq);
		qp_break_receives(qp, before);
		break;
	default:
		break;
	}
}

void pinion_qp_modify(struct pinion_qp *qp, const struct ib_qp_attr *attr, int mask,
		      const struct pinion_av *av)
{
	enum ib_qp_state before = qp->state;

	pinion_half_assert(&qp->sq.exec);
	pinion_half_assert(&qp->resp.lock);
	qp_copy_attrs(&qp->attr, attr, mask);
	if (mask & IB_QP_RQ_PSN)
		qp->resp.psn = attr->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		qp->sq.psn = attr->sq_psn;
	if (mask & IB_QP_AV)
		qp->av = *av;
	if (mask & IB_QP_PATH_MTU)
		qp->mtu = ib_mtu_enum_to_int(attr->path_mtu);
	else if (qp->service == PINION_SVC_UD)
		qp->mtu = READ_ONCE(qp->node->link.mtu);
	if (mask & IB_QP_STATE)
		qp_change_state(qp, attr, mask);
	if (pinion_qp_has_window(qp) || (qp->conn && !pinion_qp_is_connected(qp)))
		qp->node->others->modified(qp, before, mask);
}

void pinion_qp_resume(struct pinion_qp *qp)
{
	pinion_half_release(&qp->resp.lock);
	if (qp->has_sq && qp->state != IB_QPS_RESET)
		pinion_sq_run(qp);
	pinion_half_release(&qp->sq.exec);
}

void pinion_qp_peek(struct pinion_qp *qp, struct ib_qp_attr *attr)
{
	enum ib_qp_state state = READ_ONCE(qp->state);

	/* A change may run meanwhile: then some attributes are old and some new. */
	*attr = data_race(qp->attr);
	attr->rq_psn = READ_ONCE(qp->resp.psn);
	attr->sq_psn = READ_ONCE(qp->sq.psn);
	attr->qp_state = state;
	attr->cur_qp_state = state;
	attr->sq_draining = state == IB_QPS_SQD && pinion_requests_count(&qp->sq.requests);
}

void pinion_qp_query(struct pinion_qp *qp, struct ib_qp_attr *attr)
{
	pinion_qp_lock(qp);
	pinion_dwell(PINION_DWELL_OWNER);
	pinion_qp_peek(qp, attr);
	pinion_qp_unlock(qp);
}
