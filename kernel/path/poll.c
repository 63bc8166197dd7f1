// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Kernel consumers poll their completion queues here, and arm them. Users do so in their provider.
 */
#include "cq.h"
#include "qp.h"

static void cq_to_ib_wc(const struct pinion_cqe *cqe, struct pinion_qp *qp, struct ib_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->qp = qp ? &qp->ibqp : NULL;
	wc->src_qp = cqe->src_qp;
	wc->sl = cqe->sl;
	wc->pkey_index = cqe->pkey_index;
	wc->port_num = 1;
	if (cqe->flags & PINION_CQE_WITH_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = (__force __be32)cqe->ex;
	}
	if (cqe->flags & PINION_CQE_WITH_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->ex;
	}
	if (cqe->flags & PINION_CQE_GRH) {
		wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
		wc->network_hdr_type = cqe->flags & PINION_CQE_NET_IPV6 ?
				       RDMA_NETWORK_IPV6 : RDMA_NETWORK_IPV4;
	}
	if (cqe->flags & PINION_CQE_WITH_VLAN) {
		wc->wc_flags |= IB_WC_WITH_VLAN;
		wc->vlan_id = cqe->vlan_id;
	}
}

/**
 * pinion_cq_poll - ib_device_ops.poll_cq
 * @ibcq: a kernel consumer's queue
 * @num_entries: room in @wc
 * @wc: filled
 *
 * Return: how many were filled.
 */
int pinion_cq_poll(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc)
{
	struct pinion_cq *cq = to_pinion_cq(ibcq);
	struct pinion_ring_hdr *hdr = cq->ring.hdr;
	const struct pinion_cqe *cqe;
	struct pinion_qp *qp = NULL;
	unsigned long flags;
	u32 qpn = 0;
	int n = 0;

	spin_lock_irqsave(&cq->poll_lock, flags);
	/* Pairs with pinion_ring_publish(). */
	while (n < num_entries && cq->head != smp_load_acquire(&hdr->kern_idx)) {
		cqe = pinion_ring_at(&cq->ring, cq->head);
		/* Look a queue pair up once for completions that follow each other. None is 0. */
		if (cqe->qpn != qpn) {
			qpn = cqe->qpn;
			qp = xa_load(&cq->node->qps, qpn);
		}
		cq_to_ib_wc(cqe, qp, &wc[n++]);
		/* The slot has been read: the filler may have it. */
		smp_store_release(&hdr->user_idx, ++cq->head);
	}
	spin_unlock_irqrestore(&cq->poll_lock, flags);
	return n;
}

/**
 * pinion_cq_req_notify - ib_device_ops.req_notify_cq
 * @ibcq: a kernel consumer's queue
 * @flags: IB_CQ_*
 *
 * Return: 1 if completions wait already and the caller wants to know, else 0.
 */
int pinion_cq_req_notify(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct pinion_cq *cq = to_pinion_cq(ibcq);
	struct pinion_ring_hdr *hdr = cq->ring.hdr;
	u32 arm = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED ? PINION_ARM_SOLICITED :
								      PINION_ARM_ANY;

	/* A stronger request stands. */
	if (READ_ONCE(hdr->arm) < arm)
		WRITE_ONCE(hdr->arm, arm);
	/* Pairs with cq_disarm(): we arm, then look. */
	smp_mb();
	return flags & IB_CQ_REPORT_MISSED_EVENTS &&
	       READ_ONCE(cq->head) != READ_ONCE(hdr->kern_idx);
}
