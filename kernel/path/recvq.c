// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queues of receive requests: kernel consumers post, responders take.
 */
#include "../logic/wqe.h"
#include "raw_qp.h"
#include "recvq.h"
#include "sge.h"

void pinion_recvq_init(struct pinion_recvq *rq, u32 max_sge)
{
	spin_lock_init(&rq->lock);
	spin_lock_init(&rq->post_lock);
	rq->head = 0;
	rq->tail = 0;
	rq->max_sge = max_sge;
}

static int recvq_copy_request(const struct pinion_rq_wqe *shared, u32 max_sge,
			      struct pinion_recv *recv)
{
	recv->wr_id = READ_ONCE(shared->wr_id);
	recv->num_sge = READ_ONCE(shared->num_sge);
	recv->length = 0;
	if (recv->num_sge > max_sge) {
		recv->num_sge = 0;
		return -EINVAL;
	}
	memcpy(recv->sge, shared + 1, recv->num_sge * sizeof(*recv->sge));
	recv->length = pinion_sge_sum(recv->sge, recv->num_sge);
	return 0;
}

static int recvq_take_locked(struct pinion_recvq *rq, struct pinion_recv *recv)
{
	u32 tail;
	int err;

	lockdep_assert_held(&rq->lock);
	if (rq->raw)
		return pinion_raw_rq_take(rq->raw, recv);
	tail = pinion_ring_user_idx(&rq->ring);
	if (tail == rq->head || !pinion_ring_sane(tail, rq->head, rq->ring.entries))
		return -ENOENT;
	err = recvq_copy_request(pinion_ring_at(&rq->ring, rq->head), rq->max_sge, recv);
	/* pinion_recvq_switch_ring() reads it without the lock first. */
	WRITE_ONCE(rq->head, rq->head + 1);
	pinion_ring_publish(&rq->ring, rq->head);
	return err;
}

int pinion_recvq_take(struct pinion_recvq *rq, struct pinion_recv *recv)
{
	int err;

	spin_lock(&rq->lock);
	err = recvq_take_locked(rq, recv);
	spin_unlock(&rq->lock);
	return err;
}

static u32 recvq_count_locked(const struct pinion_recvq *rq)
{
	u32 used;

	lockdep_assert_held(&rq->lock);
	if (rq->raw)
		return pinion_raw_rq_count(rq->raw);
	used = pinion_ring_used(pinion_ring_user_idx(&rq->ring), rq->head);
	return used <= rq->ring.entries ? used : 0;
}

u32 pinion_recvq_count(struct pinion_recvq *rq)
{
	u32 used;

	spin_lock(&rq->lock);
	used = recvq_count_locked(rq);
	spin_unlock(&rq->lock);
	return used;
}

void pinion_recvq_set_need_doorbell(struct pinion_recvq *rq, bool need)
{
	WRITE_ONCE(rq->ring.hdr->flags, need ? PINION_RING_NEED_DOORBELL : 0);
	/*
	 * The poster writes user_idx, then reads the flag; we write the flag, then the caller
	 * reads user_idx. With a full barrier on both sides one of us sees the other's write.
	 */
	smp_mb();
}

void pinion_recvq_reset(struct pinion_recvq *rq)
{
	unsigned long flags;

	/* Not nested: post_lock needs interrupts off, rq->lock is for process context only. */
	spin_lock_irqsave(&rq->post_lock, flags);
	rq->tail = 0;
	WRITE_ONCE(rq->ring.hdr->user_idx, 0);
	spin_unlock_irqrestore(&rq->post_lock, flags);
	spin_lock(&rq->lock);
	rq->head = 0;
	if (rq->raw)
		WRITE_ONCE(rq->raw->next, 0);
	pinion_ring_publish(&rq->ring, 0);
	spin_unlock(&rq->lock);
}

int pinion_recvq_switch_ring(struct pinion_recvq *rq, struct pinion_ring *ring)
{
	u32 tail = pinion_ring_user_idx(&rq->ring);
	u32 head = READ_ONCE(rq->head);
	u32 used = pinion_ring_used(tail, head);
	int err = 0;

	if (used > rq->ring.entries || used > ring->entries || ring->stride != rq->ring.stride)
		return -EINVAL;
	pinion_ring_copy(ring, &rq->ring, head, 0, used);
	ring->hdr->user_idx = used;
	spin_lock(&rq->lock);
	/*
	 * Some may have been taken since @head was read, which is fine. But if one was taken that
	 * was posted since (the provider should hold its lock), it is not in the copy: fail.
	 */
	if (pinion_ring_used(tail, rq->head) > used) {
		err = -EINVAL;
	} else {
		rq->head -= head;
		ring->hdr->kern_idx = rq->head;
		swap(rq->ring, *ring);
	}
	spin_unlock(&rq->lock);
	return err;
}

static int recvq_post_one(struct pinion_recvq *rq, const struct ib_recv_wr *wr)
{
	struct pinion_rq_wqe *wqe = pinion_ring_at(&rq->ring, rq->tail);

	if (pinion_ring_used(rq->tail, READ_ONCE(rq->ring.hdr->kern_idx)) >= rq->ring.entries)
		return -ENOMEM;
	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
		return -EINVAL;
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = pinion_sges_put(wqe + 1, wr->sg_list, wr->num_sge);
	/* Pairs with pinion_ring_user_idx() in recvq_take_locked(). */
	smp_store_release(&rq->ring.hdr->user_idx, ++rq->tail);
	return 0;
}

int pinion_recvq_post(struct pinion_recvq *rq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&rq->post_lock, flags);
	for (; wr; wr = wr->next) {
		err = recvq_post_one(rq, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&rq->post_lock, flags);
	return err;
}

static void recvq_raise_limit_event(struct pinion_srq *srq)
{
	struct ib_event event = {
		.device = srq->ibsrq.device,
		.element.srq = &srq->ibsrq,
		.event = IB_EVENT_SRQ_LIMIT_REACHED,
	};

	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
}

int pinion_srq_take(struct pinion_srq *srq, struct pinion_recv *recv)
{
	struct pinion_recvq *rq = &srq->rq;
	bool reached = false;
	int err;

	spin_lock(&rq->lock);
	err = recvq_take_locked(rq, recv);
	if (srq->limit && err != -ENOENT && recvq_count_locked(rq) < srq->limit) {
		srq->limit = 0;
		reached = true;
	}
	spin_unlock(&rq->lock);
	if (reached)
		recvq_raise_limit_event(srq);
	return err;
}

int pinion_srq_set_limit(struct pinion_srq *srq, u32 limit)
{
	const struct pinion_recvq *rq = &srq->rq;
	int err = 0;

	spin_lock(&srq->rq.lock);
	if (limit > (rq->raw ? rq->raw->entries : rq->ring.entries))
		err = -EINVAL;
	else
		srq->limit = limit;
	spin_unlock(&srq->rq.lock);
	return err;
}

int pinion_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad_wr)
{
	return pinion_recvq_post(&to_pinion_srq(ibsrq)->rq, wr, bad_wr);
}
