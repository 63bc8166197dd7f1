// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Decides when the work item takes over a send queue, and how long it keeps polling.
 *
 * A short message costs less than the system call of its doorbell. So while requests keep coming,
 * an idle CPU polls for them. If no CPU is idle, polling only makes things slower: then other tasks
 * want the work item's CPU, the stint ends, and for a pause doorbells execute again.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/sched/rt.h>
#include <linux/sizes.h>

#include "engine.h"
#include "raw_qp.h"
#include "stream.h"

/*
 * A stint begins after so many requests without a poll for completions (hdr->streak). A program
 * that polls after each list of up to 16 would gain nothing: it would wait for the other CPU to
 * wake.
 */
#define STREAK		16
/*
 * Not for longer messages: the work item checks between two of them whether other tasks want its
 * CPU. A system call costs little next to copying them, but it may move the caller to another CPU,
 * whose cache does not have the buffers.
 */
#define STREAM_LENGTH	SZ_16M

/* May the work item poll for requests of @qp? No lock; softirq, too. */
static bool stream_is_allowed(struct pinion_qp *qp)
{
	struct pinion_sq *sq = &qp->sq;

	/* With a window, progress depends on packets, not on doorbells alone. */
	if (pinion_qp_has_window(qp))
		return false;
	/* An unreliable sender is not slowed down by its receiver: it would lose more messages. */
	if (!qp->has_sq || qp->service != PINION_SVC_RC)
		return false;
	/* The length of the last request: those of a stream are mostly alike. */
	if (READ_ONCE(sq->last_length) > STREAM_LENGTH)
		return false;
	return pinion_crowding_allows(&sq->crowding);
}

/*
 * Ask the work item to begin a stint. Only the work item writes PINION_RING_RUNNING, so that the
 * flag cannot be set while no stint runs.
 */
static void stream_ask(struct pinion_qp *qp)
{
	WRITE_ONCE(qp->sq.stint_asked, true);
}

bool pinion_stream_take(struct pinion_qp *qp)
{
	if (!stream_is_allowed(qp) || READ_ONCE(qp->sq.ring.hdr->streak) < STREAK)
		return false;
	/* The work item is no real-time task: a real-time thread would have to wait for others. */
	if (rt_or_dl_task(current))
		return false;
	stream_ask(qp);
	queue_work_on(pinion_linger_cpu(raw_smp_processor_id()), qp->wq, &qp->sq.work);
	return true;
}

bool pinion_stream_ring(struct pinion_qp *qp)
{
	bool stream = stream_is_allowed(qp);
	int cpu = WORK_CPU_UNBOUND;

	if (stream) {
		stream_ask(qp);
		/* We may be on any CPU. If this one is idle, the program does not run here. */
		cpu = raw_smp_processor_id();
		if (!is_idle_task(current))
			cpu = pinion_linger_cpu(cpu);
	}
	queue_work_on(cpu, qp->wq, &qp->sq.work);
	return stream;
}

void pinion_stint_begin(struct pinion_qp *qp, struct pinion_stint *stint)
{
	struct pinion_sq *sq = &qp->sq;

	*stint = (struct pinion_stint){
		.streaming = xchg(&sq->stint_asked, false),
		.seen = READ_ONCE(sq->head),
		.end = jiffies + msecs_to_jiffies(PINION_LINGER_MS),
	};
	if (!stint->streaming)
		return;
	pinion_stat_inc(qp, streams);
	WRITE_ONCE(sq->ring.hdr->flags, PINION_RING_RUNNING);
}

static bool stream_more_came(const struct pinion_qp *qp)
{
	if (qp->raw && pinion_raw_sq_has_more(qp))
		return true;
	return pinion_ring_user_idx(&qp->sq.ring) != READ_ONCE(qp->sq.head);
}

/* What a stint waits for. */
static bool stream_has_work(const void *object)
{
	const struct pinion_qp *qp = object;

	return READ_ONCE(qp->dying) || stream_more_came(qp);
}

bool pinion_stint_goes_on(struct pinion_qp *qp, struct pinion_stint *stint)
{
	struct pinion_sq *sq = &qp->sq;
	u32 head = READ_ONCE(sq->head);
	bool moved = head != stint->seen;

	if (!stint->streaming)
		return false;
	stint->seen = head;
	/* If the last run made no progress the queue is parked or stopped: do not poll. */
	if (moved && READ_ONCE(qp->state) == IB_QPS_RTS &&
	    time_before(jiffies, stint->end) &&
	    pinion_linger(&stint->linger, stream_has_work, qp))
		return true;
	pinion_crowding_judge(&sq->crowding, stint->linger.crowded);
	stint->streaming = false;
	WRITE_ONCE(sq->ring.hdr->flags, 0);
	/*
	 * Pairs with the barrier in the provider, which writes user_idx, then reads the flag: we
	 * see its request below, or it sees the cleared flag and rings the doorbell.
	 */
	smp_mb();
	return stream_more_came(qp);
}
