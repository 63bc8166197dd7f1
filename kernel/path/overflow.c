// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * All queue pairs that complete in a completion queue that has overflowed must break, since
 * completions are lost. Their executors find that out and break them (path/exec.c). A completion
 * queue lists its queue pairs, so that its overflow costs other users nothing.
 */
#include "cq.h"
#include "overflow.h"

/* NULL for XRC targets, and for the receive side of XRC initiators. */
static bool overflow_is_lost(struct ib_cq *ibcq)
{
	return ibcq && pinion_cq_is_lost(to_pinion_cq(ibcq));
}

bool pinion_qp_is_cut_off(const struct pinion_qp *qp)
{
	return overflow_is_lost(qp->ibqp.send_cq) || overflow_is_lost(qp->ibqp.recv_cq);
}

/*
 * Run the executor of each queue pair of the CQ, idle ones too. One that is created later checks
 * the flag before its first message. None is destroyed meanwhile: pinion_overflow_unwatch() takes
 * qps_lock.
 */
static void overflow_work(struct work_struct *work)
{
	struct pinion_cq *cq = container_of(work, struct pinion_cq, overflowed);
	struct pinion_qp *qp;

	mutex_lock(&cq->qps_lock);
	list_for_each_entry(qp, &cq->senders, as_sender) {
		queue_work(qp->wq, &qp->sq.work);
		cond_resched();
	}
	list_for_each_entry(qp, &cq->receivers, as_receiver) {
		queue_work(qp->wq, &qp->sq.work);
		cond_resched();
	}
	mutex_unlock(&cq->qps_lock);
}

void pinion_overflow_init(struct pinion_cq *cq)
{
	mutex_init(&cq->qps_lock);
	INIT_LIST_HEAD(&cq->senders);
	INIT_LIST_HEAD(&cq->receivers);
	INIT_WORK(&cq->overflowed, overflow_work);
}

void pinion_overflow_fini(struct pinion_cq *cq)
{
	cancel_work_sync(&cq->overflowed);
	mutex_destroy(&cq->qps_lock);
}

static void overflow_enter(struct ib_cq *ibcq, struct list_head *link, bool sends)
{
	struct pinion_cq *cq;

	INIT_LIST_HEAD(link);
	if (!ibcq)
		return;
	cq = to_pinion_cq(ibcq);
	mutex_lock(&cq->qps_lock);
	list_add_tail(link, sends ? &cq->senders : &cq->receivers);
	mutex_unlock(&cq->qps_lock);
}

static void overflow_leave(struct ib_cq *ibcq, struct list_head *link)
{
	struct pinion_cq *cq;

	if (!ibcq)
		return;
	cq = to_pinion_cq(ibcq);
	mutex_lock(&cq->qps_lock);
	list_del(link);
	mutex_unlock(&cq->qps_lock);
}

void pinion_overflow_watch(struct pinion_qp *qp)
{
	overflow_enter(qp->ibqp.send_cq, &qp->as_sender, true);
	overflow_enter(qp->ibqp.recv_cq, &qp->as_receiver, false);
}

void pinion_overflow_unwatch(struct pinion_qp *qp)
{
	overflow_leave(qp->ibqp.send_cq, &qp->as_sender);
	overflow_leave(qp->ibqp.recv_cq, &qp->as_receiver);
}
