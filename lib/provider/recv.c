// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posts receive work requests, to a QP's own queue or a shared one. Enters the kernel
 * only if PINION_RING_NEED_DOORBELL is set.
 */
#include <errno.h>

#include "provider.h"

static int write_recv_wqe(struct ibv_context *context, struct pinion_rq *rq,
			  const struct ibv_recv_wr *wr)
{
	struct pinion_rq_wqe *wqe;

	if ((uint32_t)wr->num_sge > rq->max_sge)
		return pinion_refuse(context, EINVAL,
				     "num_sge %d, the queue has max_sge %u",
				     wr->num_sge, rq->max_sge);
	if (pinion_ring_full(&rq->ring))
		return pinion_refuse(context, ENOMEM,
				     "all %u receives are posted",
				     rq->ring.mask + 1);

	wqe = pinion_ring_slot(&rq->ring, rq->ring.next);
	*wqe = (struct pinion_rq_wqe){
		.wr_id = wr->wr_id,
		.num_sge = wr->num_sge,
	};
	pinion_copy_sges(wqe + 1, wr->sg_list, wr->num_sge);
	rq->ring.next++;
	return 0;
}

/* The lock is held. The caller publishes what was written, also after an error. */
static int write_recv_wqes(struct ibv_context *context, struct pinion_rq *rq,
			   struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	int err;

	for (; wr; wr = wr->next) {
		err = write_recv_wqe(context, rq, wr);
		if (err) {
			*bad_wr = wr;
			return err;
		}
	}
	return 0;
}

int pinion_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr)
{
	struct pinion_qp *qp = to_pinion_qp(ibqp);
	struct pinion_rq *rq = &qp->rq;
	int err, bell_err;
	uint32_t flags;

	/* Without a ring the QP has an SRQ, or does not receive. */
	if (ibqp->state == IBV_QPS_RESET || !rq->ring.hdr) {
		*bad_wr = wr;
		return pinion_refuse(
			ibqp->context, EINVAL, "QP %u %s", ibqp->qp_num,
			rq->ring.hdr ? "is in RESET" : "has no receive queue");
	}
	pinion_lock(&rq->lock);
	err = write_recv_wqes(ibqp->context, rq, wr, bad_wr);
	flags = pinion_ring_publish_and_look(&rq->ring);
	pinion_unlock(&rq->lock);
	if (!(flags & PINION_RING_NEED_DOORBELL))
		return err;

	bell_err = pinion_doorbell_ring(&qp->bell);
	if (bell_err) {
		*bad_wr = wr;
		return pinion_failed(ibqp->context, bell_err,
				     "doorbell of QP %u", ibqp->qp_num);
	}
	return err;
}

int pinion_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad_wr)
{
	struct pinion_rq *rq = &to_pinion_srq(srq)->rq;
	int err;

	pinion_lock(&rq->lock);
	err = write_recv_wqes(srq->context, rq, wr, bad_wr);
	pinion_ring_publish(&rq->ring);
	pinion_unlock(&rq->lock);
	return err;
}
