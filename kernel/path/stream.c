// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Decides when the work item takes over a send queue, and how long it keeps polling.
 *
 * A short message costs less than the system call of its doorbell. So while requests keep coming,
 * an idle CPU polls for them. If no CPU is idle, polling only makes things slower: then other tasks
 * want the work item's CPU, the stint ends, and for a pause doorbells execute again.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sched/rt.h>
#include <linux/sched/stat.h>
#include <linux/sizes.h>

#include "engine.h"
#include "raw_qp.h"
#include "stream.h"

/* A stint begins after so many requests without a poll for completions (hdr->streak). */
#define STREAK		16
/*
 * Not for longer messages: the work item checks between two of them whether other tasks want its
 * CPU. A system call costs little next to copying them, but it may move the caller to another CPU,
 * whose cache does not have the buffers.
 */
#define STREAM_LENGTH	SZ_16M
/* A stint ends if no request comes for this time: several times the cost of a system call. */
#define LINGER_NS	(50 * NSEC_PER_USEC)
/* The sleep by which a stint lets another task run, once. */
#define WAY_US		10
/* The longest stint, so that other work items have their turn. */
#define STINT_MS	20
/* The pause after a stint whose CPU other tasks wanted; doubled each time. */
#define MIN_PAUSE_MS	10
#define MAX_PAUSE_MS	1600

/*
 * Any CPU but the current one. The scheduler moves the work item to an idle CPU near that. An
 * unbound workqueue left to itself would stay on this CPU if CPUs share no cache.
 */
static int stream_elsewhere(void)
{
	int cpu = cpumask_next(raw_smp_processor_id(), cpu_online_mask);

	return cpu < nr_cpu_ids ? cpu : cpumask_first(cpu_online_mask);
}

static bool streams = true;
module_param(streams, bool, 0644);
MODULE_PARM_DESC(streams, "let idle processors look for requests of who posts one after the other (default Y)");

/* May the work item poll for requests of @qp? No lock; softirq, too. */
static bool stream_is_allowed(struct pinion_qp *qp)
{
	struct pinion_sq *sq = &qp->sq;

	if (!READ_ONCE(streams) || num_online_cpus() == 1)
		return false;
	/* With a window, progress depends on packets, not on doorbells alone. */
	if (pinion_qp_has_window(qp))
		return false;
	/* An unreliable sender is not slowed down by its receiver: it would lose more messages. */
	if (!qp->has_sq || qp->service != PINION_SVC_RC)
		return false;
	/* The length of the last request: those of a stream are mostly alike. */
	if (READ_ONCE(sq->last_length) > STREAM_LENGTH)
		return false;
	return !READ_ONCE(sq->pause) || !time_before(jiffies, READ_ONCE(sq->pause_end));
}

/*
 * Ask the work item to begin a stint. Only the work item writes PINION_RING_RUNNING, so that the
 * flag cannot be set while no stint runs.
 */
static void stream_ask(struct pinion_qp *qp)
{
	WRITE_ONCE(qp->sq.asked, true);
}

bool pinion_stream_take(struct pinion_qp *qp)
{
	if (!stream_is_allowed(qp) || READ_ONCE(qp->sq.ring.hdr->streak) < STREAK)
		return false;
	/* The work item is no real-time task: a real-time thread would have to wait for others. */
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
		/* We may be on any CPU. If this one is idle, the program does not run here. */
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

/*
 * Once in a stint, sleep to let another task run, which may need the CPU for a moment only. Return:
 * whether no other task wants the CPU any more.
 */
static bool stream_gives_way(struct pinion_stint *stint)
{
	if (stint->gave_way)
		return false;
	stint->gave_way = true;
	usleep_range(WAY_US, 2 * WAY_US);
	return stream_is_alone();
}

/* Poll. Return: true if a request came; false after LINGER_NS, or if others want the CPU. */
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
	/* If the last run made no progress the queue is parked or stopped: do not poll. */
	if (moved && READ_ONCE(qp->state) == IB_QPS_RTS &&
	    time_before(jiffies, stint->end) && stream_linger(qp, stint))
		return true;
	stream_judge(sq, stint->crowded);
	stint->streaming = false;
	WRITE_ONCE(sq->ring.hdr->flags, 0);
	/*
	 * Pairs with the barrier in the provider, which writes user_idx, then reads the flag: we
	 * see its request below, or it sees the cleared flag and rings the doorbell.
	 */
	smp_mb();
	return stream_more_came(qp);
}
