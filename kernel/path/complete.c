// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The only file that writes completions, and notifies. Never decides what happened; it is told.
 */
#include <linux/timekeeping.h>

#include "../mem/inject.h"
#include "complete.h"
#include "overflow.h"
#include "raw_cq.h"
#include "trace.h"

static_assert((int)IB_WC_RECV == 128);
static_assert((int)IB_WC_REG_MR == 10);
/* It is copied whole from the stack to user memory: no padding that would leak bytes. */
static_assert(offsetofend(struct pinion_cqe, reserved) == sizeof(struct pinion_cqe));

/* What has become of completions that were handed to a queue. */
struct cq_news {
	bool there;		/* the last one is in the queue, or is held and will be */
	bool wanted;		/* somebody waits for what came */
	bool lost_first;	/* the queue has overflowed just now */
};

static void cq_tell(struct pinion_cq *cq)
{
	if (cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

/* Disarm the queue. Return: whether it was armed for this kind of completion. */
static bool cq_disarm(struct pinion_cq *cq, bool solicited)
{
	u32 *armed = &cq->ring.hdr->arm;
	u32 arm;

	/* A program without a completion channel polls: spare it the barrier. */
	if (cq->user && !cq->ibcq.cq_context)
		return false;
	/*
	 * We publish the completion, then look at the arm word. A consumer arms, then polls once
	 * more. With a full barrier on both sides one of the two sees the other.
	 */
	smp_mb();
	if (cq->raw)
		return READ_ONCE(cq->ibcq.comp_handler) && pinion_raw_cq_disarm(cq->raw, cq->tail);
	arm = READ_ONCE(*armed);
	if (arm == PINION_ARM_NONE || (arm == PINION_ARM_SOLICITED && !solicited))
		return false;
	return xchg(armed, PINION_ARM_NONE) != PINION_ARM_NONE;
}

/* The moderation period is over: wake a waiter although fewer than max_count came. */
static void cq_period_over(struct work_struct *work)
{
	struct pinion_cq *cq = container_of(work, struct pinion_cq, moderation.over);
	bool solicited, wanted;

	spin_lock(&cq->fill_lock);
	wanted = pinion_moderation_over(&cq->moderation, &solicited) && cq_disarm(cq, solicited);
	spin_unlock(&cq->fill_lock);
	if (wanted)
		cq_tell(cq);
}

/* raw->late: the queue was armed for completions that were there already; see bell.c. */
static void cq_tell_late(struct work_struct *work)
{
	struct pinion_raw_cq *raw = container_of(work, struct pinion_raw_cq, late);
	struct pinion_cq *cq = raw->cq;
	bool wanted;

	spin_lock(&cq->fill_lock);
	wanted = !pinion_moderation_holds(&cq->moderation) && pinion_raw_cq_disarm(raw, cq->tail);
	spin_unlock(&cq->fill_lock);
	if (wanted)
		cq_tell(cq);
}

static void cq_raise_overflow(struct pinion_cq *cq)
{
	struct ib_event event = {
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	pinion_stat_inc(cq->node, cq_overflows);
	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
	/* Its queue pairs are broken in a work item: our caller holds a lock of one of them. */
	queue_work(cq->node->wq, &cq->overflowed);
}

/* fill_lock is held. A user index that makes no sense reads as full; the user harms himself. */
static bool cq_has_room(const struct pinion_cq *cq)
{
	if (cq->raw)
		return pinion_raw_cq_has_room(cq->raw, cq->tail);
	return pinion_ring_used(cq->tail, pinion_ring_user_idx(&cq->ring)) < cq->ring.entries;
}

/* Likewise; there is room. */
static void cq_put(struct pinion_cq *cq, const struct pinion_cqe *cqe)
{
	lockdep_assert_held(&cq->fill_lock);
	if (cq->raw) {
		pinion_raw_cq_put(cq->raw, cq->tail++, cqe);
		return;
	}
	memcpy(pinion_ring_at(&cq->ring, cq->tail), cqe, sizeof(*cqe));
	pinion_ring_publish(&cq->ring, ++cq->tail);
}

/* fill_lock is held. Is it time, by moderation, to wake a waiter, and is there one? */
static bool cq_is_wanted(struct pinion_cq *cq, const struct pinion_cqe *cqe)
{
	bool solicited = cqe->status || cqe->flags & PINION_CQE_SOLICITED;

	return pinion_moderation_due(&cq->moderation, &solicited) && cq_disarm(cq, solicited);
}

/*
 * fill_lock is held. Nobody is woken for a completion that is lost. The core queues an event until
 * it is read, so a user who arms a full queue again and again could queue any number of them.
 */
static void cq_put_or_lose(struct pinion_cq *cq, const struct pinion_cqe *cqe, bool full,
			   struct cq_news *news)
{
	news->there = !cq->overflow && !full && cq_has_room(cq);
	if (news->there) {
		cq_put(cq, cqe);
		news->wanted |= cq_is_wanted(cq, cqe);
	} else if (!cq->overflow) {
		WRITE_ONCE(cq->overflow, true);
		WRITE_ONCE(cq->ring.hdr->flags, PINION_RING_OVERFLOW);
		news->lost_first = true;
	}
}

/* fill_lock is held. Write what was held: all, or only what is due. */
static void cq_put_held(struct pinion_cq *cq, bool all, struct cq_news *news)
{
	const struct pinion_cqe *cqe;

	while ((cqe = pinion_hold_next(&cq->hold, all))) {
		cq_put_or_lose(cq, cqe, false, news);
		pinion_hold_drop(&cq->hold);
	}
}

/* fill_lock is held. Return: is the completion held by order? If not, none is any more. */
static bool cq_holds(struct pinion_cq *cq, const struct pinion_cqe *cqe, struct cq_news *news)
{
	if (pinion_hold_add(&cq->hold, cqe))
		return true;
	cq_put_held(cq, true, news);
	return false;
}

/* fill_lock is held, so that times do not go backwards from one completion to the next. */
static void cq_stamp(const struct pinion_cq *cq, struct pinion_cqe *cqe)
{
	if (cq->flags & PINION_CQ_TIMESTAMP)
		cqe->timestamp = ktime_get_raw_ns();
	if (cq->flags & PINION_CQ_WALLCLOCK)
		cqe->wallclock = ktime_get_real_ns();
}

static void cq_fill(struct pinion_cq *cq, struct pinion_cqe *cqe, struct cq_news *news)
{
	bool full = pinion_inject(PINION_INJECT_OVERFLOW, cq->pid, cqe->qpn);

	/* A resize exchanges the ring under this lock, so it is not used outside of it. */
	spin_lock(&cq->fill_lock);
	cq_stamp(cq, cqe);
	if (static_branch_unlikely(&pinion_injecting) && !full && cq_holds(cq, cqe, news))
		news->there = true;
	else
		cq_put_or_lose(cq, cqe, full, news);
	spin_unlock(&cq->fill_lock);
}

/* Tell those who want to know. */
static void cq_spread(struct pinion_cq *cq, const struct cq_news *news)
{
	if (news->lost_first)
		cq_raise_overflow(cq);
	if (news->wanted)
		cq_tell(cq);
}

/* hold.over: completions that are held may be due. */
static void cq_release(struct work_struct *work)
{
	struct pinion_cq *cq = container_of(to_delayed_work(work), struct pinion_cq, hold.over);
	struct cq_news news = {};

	spin_lock(&cq->fill_lock);
	cq_put_held(cq, false, &news);
	spin_unlock(&cq->fill_lock);
	cq_spread(cq, &news);
}

void pinion_cq_init(struct pinion_cq *cq, bool user, u32 flags)
{
	spin_lock_init(&cq->fill_lock);
	spin_lock_init(&cq->poll_lock);
	pinion_overflow_init(cq);
	pinion_moderation_init(&cq->moderation, cq_period_over, cq->node->wq);
	if (cq->raw) {
		cq->raw->cq = cq;
		INIT_WORK(&cq->raw->late, cq_tell_late);
	}
	cq->user = user;
	cq->pid = user ? task_tgid_nr(current) : 0;
	pinion_hold_init(&cq->hold, cq_release, cq->node->wq, cq->pid, user);
	cq->flags = flags;
}

void pinion_cq_fini(struct pinion_cq *cq)
{
	/* What is held ends here: nobody waits for it. */
	spin_lock(&cq->fill_lock);
	pinion_hold_forget(&cq->hold, 0);
	spin_unlock(&cq->fill_lock);
	pinion_hold_fini(&cq->hold);
	pinion_moderation_fini(&cq->moderation);
	if (cq->raw)
		cancel_work_sync(&cq->raw->late);
	pinion_overflow_fini(cq);
}

bool pinion_complete(struct pinion_cq *cq, struct pinion_cqe *cqe)
{
	struct cq_news news = {};

	trace_completion(cqe);
	cq_fill(cq, cqe, &news);
	cq_spread(cq, &news);
	return news.there;
}

static void cq_forget(struct ib_cq *ibcq, u32 qpn)
{
	struct pinion_cq *cq;

	/* Of XRC, one side has none. */
	if (!ibcq)
		return;
	cq = to_pinion_cq(ibcq);
	spin_lock(&cq->fill_lock);
	pinion_hold_forget(&cq->hold, qpn);
	spin_unlock(&cq->fill_lock);
}

void pinion_complete_forget(struct pinion_qp *qp)
{
	/* While something is held, it is on. */
	if (!static_branch_unlikely(&pinion_injecting))
		return;
	cq_forget(qp->ibqp.send_cq, qp->ibqp.qp_num);
	cq_forget(qp->ibqp.recv_cq, qp->ibqp.qp_num);
}

/* By the names that mlx5 has for them. */
static void send_count_error(struct pinion_qp *qp, enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_WR_FLUSH_ERR:
		pinion_stat_inc(qp, req_cqe_flush_error);
		break;
	case IB_WC_REM_ACCESS_ERR:
		pinion_stat_inc(qp, req_remote_access_errors);
		break;
	case IB_WC_REM_INV_REQ_ERR:
		pinion_stat_inc(qp, req_remote_invalid_request);
		break;
	case IB_WC_RETRY_EXC_ERR:
		pinion_stat_inc(qp, req_transport_retries_exceeded);
		break;
	case IB_WC_RNR_RETRY_EXC_ERR:
		pinion_stat_inc(qp, req_rnr_retries_exceeded);
		break;
	default:
		break;
	}
}

bool pinion_complete_send(struct pinion_qp *qp, const struct pinion_request *request,
			  enum ib_wc_status status, enum pinion_syndrome syndrome)
{
	const struct pinion_sq_wqe *wqe = request->wqe;
	struct pinion_cqe cqe = {
		.wr_id = wqe->wr_id,
		.qpn = qp->ibqp.qp_num,
		.status = status,
		.opcode = request->op ? request->op->wc_opcode : 0,
		.byte_len = status ? 0 : request->length,
		.vendor_err = syndrome,
	};

	trace_request_end(qp, request, status, syndrome);
	if (status == IB_WC_SUCCESS && !qp->sq.sig_all &&
	    !(wqe->flags & PINION_WQE_SIGNALED))
		return true;
	if (status)
		send_count_error(qp, status);
	return pinion_complete(to_pinion_cq(qp->ibqp.send_cq), &cqe);
}

bool pinion_complete_recv_error(struct pinion_qp *qp, struct pinion_cq *cq,
				enum ib_wc_status status, enum pinion_syndrome syndrome)
{
	struct pinion_cqe cqe = {
		.wr_id = qp->resp.recv->wr_id,
		.qpn = qp->ibqp.qp_num,
		.status = status,
		.opcode = IB_WC_RECV,
		.vendor_err = syndrome,
	};

	if (status == IB_WC_WR_FLUSH_ERR)
		pinion_stat_inc(qp, resp_cqe_flush_error);
	else if (status == IB_WC_LOC_LEN_ERR)
		pinion_stat_inc(qp, resp_local_length_error);
	return pinion_complete(cq, &cqe);
}

void pinion_qp_event(struct pinion_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
		.event = type,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}

enum ib_wc_status pinion_local_status(enum pinion_syndrome syndrome)
{
	switch (syndrome) {
	case PINION_SYN_LENGTH:
		return IB_WC_LOC_LEN_ERR;
	case PINION_SYN_KEY_UNKNOWN:
	case PINION_SYN_KEY_RIGHTS:
	case PINION_SYN_KEY_RANGE:
	case PINION_SYN_KEY_STATE:
	case PINION_SYN_FAULT:
		return IB_WC_LOC_PROT_ERR;
	case PINION_SYN_BIND:
		return IB_WC_MW_BIND_ERR;
	default:
		return IB_WC_LOC_QP_OP_ERR;
	}
}

int pinion_cq_moderate(struct ib_cq *ibcq, u16 count, u16 period_us)
{
	struct pinion_cq *cq = to_pinion_cq(ibcq);

	spin_lock(&cq->fill_lock);
	pinion_moderation_set(&cq->moderation, count, period_us);
	spin_unlock(&cq->fill_lock);
	return 0;
}

int pinion_cq_switch_ring(struct pinion_cq *cq, struct pinion_ring *ring)
{
	u32 head = pinion_ring_user_idx(&cq->ring);
	u32 copied = 0, used;

	/* Copy without the lock but for the last few; others may go on to fill the old ring. */
	for (;;) {
		spin_lock(&cq->fill_lock);
		used = pinion_ring_used(cq->tail, head);
		if (used > cq->ring.entries || used > ring->entries) {
			spin_unlock(&cq->fill_lock);
			return -EINVAL;
		}
		if (used - copied <= PINION_RING_FEW)
			break;
		spin_unlock(&cq->fill_lock);
		pinion_ring_copy(ring, &cq->ring, head, copied, used);
		copied = used;
	}
	pinion_ring_copy_few(ring, &cq->ring, head, copied, used);
	ring->hdr->arm = READ_ONCE(cq->ring.hdr->arm);
	ring->hdr->flags = cq->overflow ? PINION_RING_OVERFLOW : 0;
	ring->hdr->kern_idx = used;
	cq->tail = used;
	swap(cq->ring, *ring);
	spin_unlock(&cq->fill_lock);
	return 0;
}

int pinion_cq_exchange_raw(struct pinion_cq *cq, struct pinion_raw_ring *ring)
{
	int err;

	spin_lock(&cq->fill_lock);
	err = pinion_raw_cq_exchange(cq->raw, cq->tail, ring);
	if (!err) {
		cq->tail++;
		cq->ibcq.cqe = cq->raw->entries - 1;
	}
	spin_unlock(&cq->fill_lock);
	return err;
}
