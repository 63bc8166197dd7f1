// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * When a work item takes over a user's send queue, and how long it stays. Executes
 * nothing itself.
 *
 * A message is cheap beside the system call that announces it. So while requests
 * keep coming, a processor that has nothing else to do waits for them for a moment.
 * Where none is free this only makes things slower; that shows by others wanting the
 * work item's processor, and the queue is then left to its doorbells for a while.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sched/rt.h>
#include <linux/sched/stat.h>

#include "engine.h"
#include "raw_qp.h"
#include "stream.h"

/* So many requests without asking for completions: their user will not miss us. */
#define STREAK		16
/* Of messages that are not much longer, beside which a system call does not count. */
#define STREAM_LENGTH	(256 * 1024)
/* How long nothing may come. A system call and its way back, some times over. */
#define LINGER_NS	(50 * NSEC_PER_USEC)
/* For whom it gives way. */
#define WAY_US		10
/* How long it may last, so that others that wait for a work item have their turn. */
#define STINT_MS	20
/* How long until the next after one that had to share its processor: doubled each time. */
#define MIN_PAUSE_MS	10
#define MAX_PAUSE_MS	1600

/*
 * Any processor but ours. Near it, the scheduler takes one that is idle; left to
 * itself, the workqueue would stay here where processors share no cache.
 */
static int stream_elsewhere(void)
{
	int cpu = cpumask_next(raw_smp_processor_id(), cpu_online_mask);

	return cpu < nr_cpu_ids ? cpu : cpumask_first(cpu_online_mask);
}

static bool streams = true;
module_param(streams, bool, 0644);
MODULE_PARM_DESC(streams, "let idle processors look for requests of who posts one after the other (default Y)");

/* May a processor be spent on waiting for what @qp's user posts? */
static bool stream_is_allowed(struct pinion_qp *qp)
{
	struct pinion_sq *sq = &qp->sq;

	if (!READ_ONCE(streams) || num_online_cpus() == 1)
		return false;
	/* Its doorbells are not all that is waited for. */
	if (pinion_qp_has_window(qp))
		return false;
	/* Nothing holds back who is faster than a receiver without acknowledgments. */
	if (!qp->has_sq || qp->service != PINION_SVC_RC)
		return false;
	/* Of the last one: those of a stream are mostly alike. */
	if (READ_ONCE(sq->last_length) > STREAM_LENGTH)
		return false;
	return !READ_ONCE(sq->pause) || !time_before(jiffies, READ_ONCE(sq->pause_end));
}

/* The flag in the ring has one writer, the work item: it cannot be left behind. */
static void stream_ask(struct pinion_qp *qp)
{
	WRITE_ONCE(qp->sq.asked, true);
}

bool pinion_stream_take(struct pinion_qp *qp)
{
	if (!stream_is_allowed(qp) || READ_ONCE(qp->sq.ring.hdr->streak) < STREAK)
		return false;
	/* The work item would wait for those who are not to wait for anybody. */
	if (rt_or_dl_task(current))
		return false;
	stream_ask(qp);
	queue_work_on(stream_elsewhere(), qp->wq, &qp->sq.work);
	return true;
}

bool pinion_stream_ring(struct pinion_qp *qp)
{
	bool stream = stream_is_allowed(qp);
	int cpu = WORK_CPU_UNBOUND;

	if (stream) {
		stream_ask(qp);
		/* Where the user runs is not known: not here, if this was an idle processor. */
		cpu = is_idle_task(current) ? raw_smp_processor_id() : stream_elsewhere();
	}
	queue_work_on(cpu, qp->wq, &qp->sq.work);
	return stream;
}

void pinion_stint_begin(struct pinion_qp *qp, struct pinion_stint *stint)
{
	struct pinion_sq *sq = &qp->sq;

	*stint = (struct pinion_stint){
		.streaming = xchg(&sq->asked, false),
		.seen = READ_ONCE(sq->head),
		.end = jiffies + msecs_to_jiffies(STINT_MS),
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

static bool stream_is_alone(void)
{
	return single_task_running() && !need_resched();
}

/* Once a stint somebody may want the processor for a moment, as bell.c does. */
static bool stream_gives_way(struct pinion_stint *stint)
{
	if (stint->gave_way)
		return false;
	stint->gave_way = true;
	usleep_range(WAY_US, 2 * WAY_US);
	return stream_is_alone();
}

/* Return: whether something came before patience, or the processor, was used up. */
static bool stream_linger(struct pinion_qp *qp, struct pinion_stint *stint)
{
	u64 until = ktime_get_ns() + LINGER_NS;

	do {
		stint->crowded = !stream_is_alone() && !stream_gives_way(stint);
		if (stint->crowded)
			return false;
		if (stream_more_came(qp))
			return true;
		cpu_relax();
	} while (!READ_ONCE(qp->dying) && ktime_get_ns() <= until);
	return false;
}

static void stream_judge(struct pinion_sq *sq, bool crowded)
{
	unsigned long pause = 0;

	if (crowded)
		pause = clamp(2 * sq->pause, msecs_to_jiffies(MIN_PAUSE_MS),
			      msecs_to_jiffies(MAX_PAUSE_MS));
	WRITE_ONCE(sq->pause_end, jiffies + pause);
	WRITE_ONCE(sq->pause, pause);
}

bool pinion_stint_goes_on(struct pinion_qp *qp, struct pinion_stint *stint)
{
	struct pinion_sq *sq = &qp->sq;
	u32 head = READ_ONCE(sq->head);
	bool moved = head != stint->seen;

	if (!stint->streaming)
		return false;
	stint->seen = head;
	/* A queue that waits, or may not run, is its timer's or its user's affair. */
	if (moved && READ_ONCE(qp->state) == IB_QPS_RTS &&
	    time_before(jiffies, stint->end) && stream_linger(qp, stint))
		return true;
	stream_judge(sq, stint->crowded);
	stint->streaming = false;
	WRITE_ONCE(sq->ring.hdr->flags, 0);
	/* Pairs with the barrier between publishing and looking at the flag. */
	smp_mb();
	return stream_more_came(qp);
}
