// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Polls and arms completion queues, without system calls.
 */
#include <errno.h>

#include "provider.h"

static unsigned int wc_flags(const struct pinion_cqe *cqe)
{
	unsigned int flags = 0;

	if (cqe->flags & PINION_CQE_GRH)
		flags |= IBV_WC_GRH;
	if (cqe->flags & PINION_CQE_WITH_IMM)
		flags |= IBV_WC_WITH_IMM;
	if (cqe->flags & PINION_CQE_WITH_INV)
		flags |= IBV_WC_WITH_INV;
	return flags;
}

/*
 * Packets of RoCE v2 have no service level. As with ConnectX, this field tells for
 * datagrams what the packet was: bits 0-2 the layer 3 header, bit 3 set for UDP. UCX
 * reads it here.
 */
enum {
	PACKET_IPV6 = 1,
	PACKET_IPV4 = 2,
	PACKET_UDP = 8,
};

static uint8_t wc_sl(const struct pinion_cqe *cqe)
{
	if (!(cqe->flags & PINION_CQE_GRH))
		return cqe->sl;
	if (cqe->flags & PINION_CQE_NET_IPV6)
		return PACKET_UDP | PACKET_IPV6;
	return PACKET_UDP | PACKET_IPV4;
}

/* RoCE has no LIDs, hence no slid and no dlid_path_bits. */
static void fill_wc(struct ibv_wc *wc, const struct pinion_cqe *cqe)
{
	*wc = (struct ibv_wc){
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = cqe->opcode,
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.imm_data = cqe->ex,
		.qp_num = cqe->qpn,
		.src_qp = cqe->src_qp,
		.wc_flags = wc_flags(cqe),
		.pkey_index = cqe->pkey_index,
		.sl = wc_sl(cqe),
	};
}

/* Asked when the queue is empty: were completions lost? */
static bool overflowed(const struct pinion_ring *ring)
{
	return pinion_ring_flags(ring) & PINION_RING_OVERFLOW;
}

static int completions_lost(struct ibv_context *context)
{
	return pinion_refuse(context, EOVERFLOW,
			     "completions were lost: the CQ was too small");
}

/* A poll ends the streak of send queues that complete here: see send.c. */
static void lock_for_poll(struct pinion_cq *cq)
{
	pinion_lock(&cq->lock);
	__atomic_store_n(&cq->polls, cq->polls + 1, __ATOMIC_RELAXED);
}

int pinion_poll_cq(struct ibv_cq *ibcq, int num, struct ibv_wc *wc)
{
	struct pinion_cq *cq = to_pinion_cq(ibcq);
	struct pinion_ring *ring = &cq->ring;
	int count;

	lock_for_poll(cq);
	for (count = 0; count < num && !pinion_ring_empty(ring); count++)
		fill_wc(wc + count, pinion_ring_slot(ring, ring->next++));
	if (count)
		pinion_ring_publish(ring);
	else if (num > 0 && overflowed(ring))
		count = -completions_lost(ibcq->context);
	pinion_unlock(&cq->lock);
	return count;
}

/*
 * The kernel publishes a completion, then reads whether the queue is armed; we arm,
 * then the application polls. With a full barrier on both sides at least one sees the
 * other's write. Arming for any completion includes solicited ones.
 */
int pinion_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct pinion_cq *cq = to_pinion_cq(ibcq);
	uint32_t none = PINION_ARM_NONE;

	pinion_lock(&cq->lock);
	if (solicited_only)
		__atomic_compare_exchange_n(&cq->ring.hdr->arm, &none,
					    PINION_ARM_SOLICITED, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n(&cq->ring.hdr->arm, PINION_ARM_ANY,
				 __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	pinion_unlock(&cq->lock);
	return 0;
}

/* The program has read cq->cqe. Free its slot at once: else a long batch could fill the queue. */
static void drop_current(struct pinion_cq *cq)
{
	if (cq->cqe && cq->cqe != &cq->kept) {
		cq->ring.next++;
		pinion_ring_publish(&cq->ring);
	}
	cq->cqe = NULL;
}

/*
 * The ring is about to change, with the lock held. A queue without a lock may be between start_poll
 * and end_poll: then the program goes on reading its completion in a copy.
 */
void pinion_cq_keep_current(struct pinion_cq *cq)
{
	if (!cq->cqe || cq->cqe == &cq->kept)
		return;
	cq->kept = *cq->cqe;
	drop_current(cq);
	cq->cqe = &cq->kept;
}

/*
 * Remove completions of a QP that was destroyed or reset: they could be taken for
 * completions of a later QP with this number. The others move towards the newer end,
 * where the kernel goes on, so that the older slots become free.
 */
void pinion_cq_forget_qp(struct ibv_cq *ibcq, uint32_t qpn)
{
	struct pinion_cq *cq = to_pinion_cq(ibcq);
	struct pinion_ring *ring = &cq->ring;
	uint32_t from, to;

	pinion_lock(&cq->lock);
	pinion_cq_keep_current(cq);
	ring->limit = pinion_ring_kern_idx(ring);
	to = ring->limit;
	for (from = ring->limit; from != ring->next;) {
		const struct pinion_cqe *cqe = pinion_ring_slot(ring, --from);

		if (cqe->qpn != qpn && --to != from)
			*(struct pinion_cqe *)pinion_ring_slot(ring, to) = *cqe;
	}
	if (to != ring->next) {
		ring->next = to;
		pinion_ring_publish(ring);
	}
	pinion_unlock(&cq->lock);
}

/* Set cq->cqe to the next completion. Return: 0, ENOENT, or an error if some were lost. */
static int peek(struct pinion_cq *cq)
{
	if (pinion_ring_empty(&cq->ring))
		return overflowed(&cq->ring) ?
			       completions_lost(cq->vcq.cq.context) :
			       ENOENT;

	cq->cqe = pinion_ring_slot(&cq->ring, cq->ring.next);
	cq->vcq.cq_ex.wr_id = cq->cqe->wr_id;
	cq->vcq.cq_ex.status = cq->cqe->status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct pinion_cq *cq = to_pinion_cq_ex(ibcq);
	int err;

	if (attr->comp_mask)
		return pinion_refuse(ibcq->context, EINVAL,
				     "comp_mask %#x of a poll",
				     attr->comp_mask);

	lock_for_poll(cq);
	err = peek(cq);
	if (err)
		pinion_unlock(&cq->lock);
	return err;
}

static int next_poll(struct ibv_cq_ex *ibcq)
{
	struct pinion_cq *cq = to_pinion_cq_ex(ibcq);

	drop_current(cq);
	return peek(cq);
}

static void end_poll(struct ibv_cq_ex *ibcq)
{
	struct pinion_cq *cq = to_pinion_cq_ex(ibcq);

	drop_current(cq);
	pinion_unlock(&cq->lock);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
	return to_pinion_cq_ex(cq)->cqe->opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cq)
{
	return to_pinion_cq_ex(cq)->cqe->vendor_err;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *cq)
{
	return wc_flags(to_pinion_cq_ex(cq)->cqe);
}

static uint32_t read_byte_len(struct ibv_cq_ex *cq)
{
	return to_pinion_cq_ex(cq)->cqe->byte_len;
}

/* libibverbs reads the invalidated rkey by this, too. */
static __be32 read_imm_data(struct ibv_cq_ex *cq)
{
	return to_pinion_cq_ex(cq)->cqe->ex;
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq)
{
	return to_pinion_cq_ex(cq)->cqe->qpn;
}

static uint32_t read_src_qp(struct ibv_cq_ex *cq)
{
	return to_pinion_cq_ex(cq)->cqe->src_qp;
}

static uint32_t read_slid(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

static uint8_t read_sl(struct ibv_cq_ex *cq)
{
	return wc_sl(to_pinion_cq_ex(cq)->cqe);
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *cq)
{
	return to_pinion_cq_ex(cq)->cqe->timestamp;
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *cq)
{
	return to_pinion_cq_ex(cq)->cqe->wallclock;
}

void pinion_set_poll_ops(struct ibv_cq_ex *cq, uint64_t wc_flags)
{
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
	cq->end_poll = end_poll;
	cq->read_opcode = read_opcode;
	cq->read_vendor_err = read_vendor_err;
	cq->read_wc_flags = read_wc_flags;

	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		cq->read_byte_len = read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		cq->read_imm_data = read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		cq->read_qp_num = read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		cq->read_src_qp = read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		cq->read_slid = read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		cq->read_sl = read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		cq->read_dlid_path_bits = read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		cq->read_completion_ts = read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		cq->read_completion_wallclock_ns = read_completion_wallclock_ns;
}
