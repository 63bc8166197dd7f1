// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posts receive work requests, to a QP's own queue or a shared one; enters the
 * kernel only where it asked to be told.
 */
#include <errno.h>

#include "provider.h"

static int write_wqe(struct pinion_rq *rq, const struct ibv_recv_wr *wr)
{
	struct pinion_rq_wqe *wqe;

	if ((uint32_t)wr->num_sge > rq->max_sge)
		return EINVAL;
	if (pinion_ring_full(&rq->ring))
		return ENOMEM;

	wqe = pinion_ring_slot(&rq->ring, rq->ring.next);
	*wqe = (struct pinion_rq_wqe){
		.wr_id = wr->wr_id,
		.num_sge = wr->num_sge,
	};
	pinion_copy_sges(wqe + 1, wr->sg_list, wr->num_sge);
	rq->ring.next++;
	return 0;
}

static int post(struct pinion_rq *rq, struct ibv_recv_wr *wr,
		struct ibv_recv_wr **bad_wr)
{
	struct ibv_recv_wr *first = wr;
	bool need_doorbell = false;
	int err = 0, bell_err;

	pinion_lock(&rq->lock);
	for (; wr; wr = wr->next) {
		err = write_wqe(rq, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	if (wr != first)
		need_doorbell = pinion_ring_publish_and_look(&rq->ring) &
				PINION_RING_NEED_DOORBELL;
	pinion_unlock(&rq->lock);

	if (!need_doorbell)
		return err;

	bell_err = pinion_doorbell_ring(rq->bell);
	if (bell_err) {
		*bad_wr = first;
		return bell_err;
	}
	return err;
}

int pinion_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr)
{
	struct pinion_qp *qp = to_pinion_qp(ibqp);

	/* Not in RESET, and not where an SRQ or nothing takes its place. */
	if (ibqp->state == IBV_QPS_RESET || !qp->rq.ring.hdr) {
		*bad_wr = wr;
		return EINVAL;
	}
	return post(&qp->rq, wr, bad_wr);
}

int pinion_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad_wr)
{
	return post(&to_pinion_srq(srq)->rq, wr, bad_wr);
}
