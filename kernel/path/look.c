// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads the state of queues under spinlocks only: it does not wait for sq.exec or resp.lock, so it
 * works on a queue that is stuck, too. Fields that these spinlocks do not protect may be stale.
 * Process context; the core keeps the queue from being destroyed meanwhile.
 */
#include <rdma/pinion-abi.h>

#include "cq.h"
#include "look.h"
#include "qp.h"
#include "raw_cq.h"
#include "raw_qp.h"

/* The lock that protects the ring is held, so the ring is not exchanged or freed meanwhile. */
static void look_at_ring(const struct pinion_ring *ring, u32 own, struct pinion_ring_facts *facts)
{
	facts->entries = ring->entries;
	facts->stride = ring->stride;
	facts->kern_idx = own;
	if (ring->hdr)
		facts->user_idx = READ_ONCE(ring->hdr->user_idx);
}

static void look_at_recvq(struct pinion_recvq *rq, struct pinion_ring_facts *facts)
{
	spin_lock(&rq->lock);
	if (rq->raw)
		pinion_raw_rq_look(rq->raw, facts);
	else
		look_at_ring(&rq->ring, rq->head, facts);
	spin_unlock(&rq->lock);
}

static u32 look_at_sq_flags(const struct pinion_qp *qp)
{
	const struct pinion_sq *sq = &qp->sq;
	u32 flags = 0;

	switch (READ_ONCE(sq->awaits)) {
	case PINION_AWAITS_OWN:
		flags |= PINION_QUEUE_AWAITS_OWN_PAGE;
		break;
	case PINION_AWAITS_PEER:
		flags |= PINION_QUEUE_AWAITS_PEER_PAGE;
		break;
	case PINION_AWAITS_NONE:
		break;
	}
	if (READ_ONCE(sq->waiting) || READ_ONCE(sq->waits_for_peer))
		flags |= PINION_QUEUE_WAITING;
	return flags;
}

void pinion_qp_look(struct ib_qp *ibqp, struct pinion_queue_facts *facts)
{
	struct pinion_qp *qp = to_pinion_qp(ibqp);

	*facts = (struct pinion_queue_facts){
		.magic = PINION_QUEUE_FACTS_MAGIC,
		.kind = PINION_QUEUE_QP,
		.number = ibqp->qp_num,
	};
	if (qp->has_sq) {
		spin_lock_irq(&qp->sq.post_lock);
		if (qp->raw)
			pinion_raw_sq_look(qp, &facts->ring[0]);
		else
			look_at_ring(&qp->sq.ring, READ_ONCE(qp->sq.head), &facts->ring[0]);
		spin_unlock_irq(&qp->sq.post_lock);
		facts->flags |= look_at_sq_flags(qp);
		facts->begun = pinion_requests_count(&qp->sq.requests);
	}
	if (qp->has_rq)
		look_at_recvq(&qp->rq, &facts->ring[1]);
	if (READ_ONCE(qp->failing))
		facts->flags |= PINION_QUEUE_BROKEN;
	facts->late = READ_ONCE(qp->resp.num_late);
}

/* In a completion queue the kernel fills the ring and user space empties it. */
void pinion_cq_look(struct ib_cq *ibcq, struct pinion_queue_facts *facts)
{
	struct pinion_cq *cq = to_pinion_cq(ibcq);

	*facts = (struct pinion_queue_facts){
		.magic = PINION_QUEUE_FACTS_MAGIC,
		.kind = PINION_QUEUE_CQ,
		.number = ibcq->res.id,
	};
	spin_lock(&cq->fill_lock);
	if (cq->raw)
		pinion_raw_cq_look(cq->raw, cq->tail, &facts->ring[0]);
	else
		look_at_ring(&cq->ring, cq->tail, &facts->ring[0]);
	if (cq->overflow)
		facts->flags |= PINION_QUEUE_BROKEN;
	if (!cq->raw && cq->ring.hdr && READ_ONCE(cq->ring.hdr->arm) != PINION_ARM_NONE)
		facts->flags |= PINION_QUEUE_ARMED;
	spin_unlock(&cq->fill_lock);
}

void pinion_srq_look(struct ib_srq *ibsrq, struct pinion_queue_facts *facts)
{
	struct pinion_srq *srq = to_pinion_srq(ibsrq);

	*facts = (struct pinion_queue_facts){
		.magic = PINION_QUEUE_FACTS_MAGIC,
		.kind = PINION_QUEUE_SRQ,
		.number = ibsrq->res.id,
	};
	look_at_recvq(&srq->rq, &facts->ring[0]);
	if (READ_ONCE(srq->limit))
		facts->flags |= PINION_QUEUE_ARMED;
}
