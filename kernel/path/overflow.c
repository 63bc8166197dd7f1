// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * All queue pairs that complete in a completion queue that has overflowed must break, since
 * completions are lost. Their executors find that out and break them (path/exec.c).
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
 * Idle queue pairs must be told, too. One that is created after this walk checks the flag by
 * itself before its first message.
 */
void pinion_overflow_work(struct work_struct *work)
{
	struct pinion_cq *cq = container_of(work, struct pinion_cq, overflowed);
	unsigned long qpn = 0;
	struct pinion_qp *qp;

	while ((qp = pinion_node_next_qp(cq->node, &cq->ibcq, &qpn))) {
		queue_work(qp->wq, &qp->sq.work);
		pinion_qp_put(qp);
	}
}
