// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues: sizes, resizing with completions in it, overflow, events,
 * solicited or not, timestamps (items CQ1 to CQ22).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "event.h"
#include "link.h"
#include "memory.h"

enum { LEN = 20000 };

static struct link link_;
static struct region a, b;

static void begin(struct ibv_cq *scq, struct ibv_cq *rcq)
{
	struct qp_cfg at_a = { .scq = scq, .wr = 512 };
	struct qp_cfg at_b = { .rcq = rcq, .wr = 512 };

	link_make2(&link_, &at_a, &at_b);
	a = region_new(LEN, 1003, ALL_ACCESS);
	b = region_new(LEN, 2017, ALL_ACCESS);
}

static struct ibv_cq *new_cq(int cqe, struct ibv_comp_channel *channel)
{
	return MUST(ibv_create_cq(dev.ctx, cqe, &link_, channel, 0));
}

/* Completes before it returns, because a single request is not part of a stream. */
static void complete(uint64_t wr_id)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};

	CHECK_EQ(ibv_poll_cq(link_.a.scq, 0, NULL), 0);
	post(&link_.a, &wr);
}

static void message(unsigned int flags)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.send_flags = flags,
	};

	post_recv(&link_.b, NULL, 0, 0);
	post(&link_.a, &wr);
}

/* Sizes of completion queues: what is reported is what there is, and what is beyond is refused. */
static void cq1_sizes(void)
{
	int most = dev.attr.orig_attr.max_cqe;
	struct ibv_cq *cq;

	MUST_NOT(ibv_create_cq(dev.ctx, 0, NULL, NULL, 0), EINVAL);
	MUST_NOT(ibv_create_cq(dev.ctx, most + 1, NULL, NULL, 0), EINVAL);
	MUST_NOT(ibv_create_cq(dev.ctx, -1, NULL, NULL, 0), EINVAL);
	CHECK(!ibv_create_cq(dev.ctx, 1, NULL, NULL,
			     dev.ctx->num_comp_vectors));
	cq = new_cq(1, NULL);
	CHECK(cq->cqe >= 1);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	cq = new_cq(1000, NULL);
	CHECK(cq->cqe >= 1000);
	CHECK(cq->cq_context == &link_);
	CHECK_EQ(ibv_resize_cq(cq, 2000), 0);
	CHECK(cq->cqe >= 2000);
	CHECK(ibv_resize_cq(cq, 0));
	CHECK(ibv_resize_cq(cq, most + 1));
	CHECK_EQ(ibv_destroy_cq(cq), 0);
}

/* The largest completion queue that is reported can be made. */
static void cq1_largest(void)
{
	struct ibv_cq *cq = new_cq(dev.attr.orig_attr.max_cqe, NULL);

	CHECK_EQ(ibv_destroy_cq(cq), 0);
}

/* A completion queue that a queue pair uses cannot be destroyed. */
static void cq2_busy(void)
{
	struct ibv_cq *cq = new_cq(16, NULL);

	begin(cq, NULL);
	CHECK_EQ(ibv_destroy_cq(cq), EBUSY);
	end_free(&link_.a);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
}

/* Queues that are resized at random keep all completions, in order. */
static void cq3_resize(void)
{
	struct ibv_cq *cq = new_cq(64, NULL);
	uint64_t posted = 0, polled = 0;
	int round;

	begin(cq, NULL);
	for (round = 0; round < 300; round++) {
		int room = cq->cqe - (posted - polled), n;

		for (n = rnd_below(room + 1); n; n--)
			complete(posted++);
		for (n = rnd_below(posted - polled + 1); n; n--)
			CHECK_EQ(await(cq).wr_id, polled++);
		n = rnd_in(1, 300);
		if ((uint64_t)n >= posted - polled) {
			CHECK_EQ(ibv_resize_cq(cq, n), 0);
			CHECK(cq->cqe >= n);
		} else if (!ibv_resize_cq(cq, n)) {
			CHECK((uint64_t)cq->cqe >= posted - polled);
		}
	}
	while (polled < posted)
		CHECK_EQ(await(cq).wr_id, polled++);
	expect_none(cq, 0.01);
}

/*
 * If the larger ring cannot be mapped, the resize fails, and the old ring keeps all completions
 * and stays in use.
 */
static void cq3_no_room(void)
{
	struct ibv_cq *cq = new_cq(64, NULL);
	int size = cq->cqe, round, i;

	begin(cq, NULL);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 20; i++)
			complete(i);
		memory_room(false);
		i = ibv_resize_cq(cq, 5000);
		memory_room(true);
		CHECK_EQ(i, ENOMEM);
		CHECK_EQ(cq->cqe, size);
		for (i = 20; i < 40; i++)
			complete(i);
		for (i = 0; i < 40; i++)
			CHECK_EQ(await(cq).wr_id, i);
	}
	complete(7);
	CHECK_EQ(ibv_resize_cq(cq, 5000), 0);
	CHECK(cq->cqe >= 5000);
	complete(8);
	CHECK_EQ(await(cq).wr_id, 7);
	CHECK_EQ(await(cq).wr_id, 8);
}

/*
 * A completion too many: queue and queue pair fail with events, and what came before can be
 * polled.
 */
static void cq4_overflow(void)
{
	struct ibv_async_event event;
	struct ibv_wc wc;
	struct ibv_cq *cq = new_cq(8, NULL);
	int i;

	begin(cq, NULL);
	event_forget();
	for (i = 0; i < cq->cqe; i++)
		complete(i);
	event_none(IBV_EVENT_CQ_ERR, 0.05);
	complete(i);
	complete(i + 1);
	event = event_await(IBV_EVENT_CQ_ERR);
	CHECK(event.element.cq == cq);
	event = event_await(IBV_EVENT_QP_FATAL);
	CHECK(event.element.qp == link_.a.qp);
	CHECK_EQ(end_state(&link_.a), IBV_QPS_ERR);
	event_none(IBV_EVENT_CQ_ERR, 0.05);
	/* Completions of before can be polled; then ibv_poll_cq() reports the overflow. */
	for (i = 0; i < cq->cqe; i++)
		CHECK_EQ(await(cq).wr_id, i);
	CHECK(ibv_poll_cq(cq, 1, &wc) < 0);
}

static struct ibv_comp_channel *channel_;

static struct ibv_cq *armed_cq(int solicited_only)
{
	struct ibv_cq *cq;

	channel_ = MUST(ibv_create_comp_channel(dev.ctx));
	cq = new_cq(64, channel_);
	CHECK_EQ(ibv_req_notify_cq(cq, solicited_only), 0);
	return cq;
}

/* Each request for notification gives one event, whatever comes after it. */
static void cq5_events(void)
{
	struct ibv_cq *cq = armed_cq(0);
	int i;

	begin(cq, NULL);
	CHECK(!channel_next(channel_, 0.02));
	for (i = 0; i < 20; i++) {
		complete(i);
		channel_await(channel_);
		/* Each request for notification gives one event. */
		complete(i);
		CHECK(!channel_next(channel_, 0.01));
		CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
		CHECK_EQ(drain(cq), 2);
	}
}

/* Who asks for solicited completions gets an event only for those, and for errors. */
static void cq6_solicited(void)
{
	struct ibv_cq *cq = armed_cq(1);

	begin(NULL, cq);
	message(0);
	CHECK(!channel_next(channel_, 0.05));
	message(IBV_SEND_SOLICITED);
	channel_await(channel_);
	/* A request for any completion is not weakened by a later one for solicited completions. */
	CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
	CHECK_EQ(ibv_req_notify_cq(cq, 1), 0);
	message(0);
	channel_await(channel_);
	/* An error counts as solicited. */
	CHECK_EQ(ibv_req_notify_cq(cq, 1), 0);
	post_recv(&link_.b, NULL, 0, 0);
	CHECK_EQ(end_set_state(&link_.b, IBV_QPS_ERR), 0);
	channel_await(channel_);
}

/* A queue that is resized after a request for notification still gives its event. */
static void cq7_armed_and_resized(void)
{
	struct ibv_cq *cq = armed_cq(0);

	begin(cq, NULL);
	CHECK_EQ(ibv_resize_cq(cq, 1000), 0);
	complete(1);
	channel_await(channel_);
	complete(2);
	CHECK(!channel_next(channel_, 0.02));
}

static _Atomic bool stop;
static _Atomic unsigned long consumed;

static void *consume(void *arg)
{
	struct ibv_cq *cq = arg;

	while (!stop) {
		if (!channel_next(channel_, 0.2))
			continue;
		CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
		consumed += drain(cq);
	}
	return NULL;
}

/* A consumer that sleeps on events is woken for every completion. */
static void cq8_no_lost_wakeup(void)
{
	struct ibv_cq *cq = armed_cq(0);
	double end = now() + opt.seconds;
	unsigned long count = 0;
	pthread_t thread;

	begin(cq, NULL);
	CHECK_EQ(pthread_create(&thread, NULL, consume, cq), 0);
	while (now() < end) {
		double limit = now() + patience(PATIENCE);
		int n = rnd_in(1, 3), i;

		for (i = 0; i < n; i++)
			complete(count++);
		while (consumed < count) {
			if (now() > limit)
				FAIL("%lu of %lu completions seen", consumed,
				     count);
			usleep(rnd_below(30));
		}
	}
	stop = true;
	pthread_join(thread, NULL);
	note("%lu completions", count);
}

/* A channel cannot be destroyed before its queues, and an event names its queue. */
static void cq9_unacknowledged(void)
{
	struct ibv_cq *cq = armed_cq(0), *got;
	void *context;

	begin(cq, NULL);
	complete(1);
	CHECK_EQ(ibv_get_cq_event(channel_, &got, &context), 0);
	CHECK(got == cq && context == &link_);
	ibv_ack_cq_events(cq, 1);
	end_free(&link_.a);
	CHECK_EQ(ibv_destroy_comp_channel(channel_), EBUSY);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel_), 0);
}

/* A queue with an event that nobody has read can be destroyed, and the event is gone. */
static void cq10_event_pending(void)
{
	struct ibv_cq *cq = armed_cq(0);

	begin(cq, NULL);
	complete(1);
	/* An event that was not read does not keep the CQ from being destroyed. */
	end_free(&link_.a);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK(!channel_next(channel_, 0.02));
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Timestamps of completions are between the times before and after, by both clocks. */
static void cq11_timestamps(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 64,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	struct ibv_poll_cq_attr poll = {};
	struct ibv_cq_ex *cq;
	uint64_t first, wall, ts;
	int i;

	cq = ibv_create_cq_ex(dev.ctx, &attr);
	if (!cq)
		lacks("no timestamps: errno %d", errno);
	begin(ibv_cq_ex_to_cq(cq), NULL);
	CHECK_EQ(ibv_start_poll(cq, &poll), ENOENT);
	for (i = 0; i < 10; i++) {
		first = clock_ns(CLOCK_MONOTONIC_RAW);
		wall = clock_ns(CLOCK_REALTIME);
		complete(i);
		complete(100 + i);
		CHECK_EQ(ibv_start_poll(cq, &poll), 0);
		CHECK_EQ(cq->wr_id, i);
		CHECK_EQ(cq->status, IBV_WC_SUCCESS);
		CHECK_EQ(ibv_wc_read_opcode(cq), IBV_WC_RDMA_WRITE);
		CHECK_EQ(ibv_wc_read_qp_num(cq), link_.a.qp->qp_num);
		ts = ibv_wc_read_completion_ts(cq);
		CHECK(ts >= first && ts <= clock_ns(CLOCK_MONOTONIC_RAW));
		ts = ibv_wc_read_completion_wallclock_ns(cq);
		CHECK(ts >= wall && ts <= clock_ns(CLOCK_REALTIME));
		CHECK_EQ(ibv_next_poll(cq), 0);
		CHECK_EQ(cq->wr_id, 100 + i);
		CHECK_EQ(ibv_next_poll(cq), ENOENT);
		ibv_end_poll(cq);
	}
}

/* A small queue goes around many times: completions come once and in order. */
static void cq12_wrap(void)
{
	struct ibv_cq *cq = new_cq(4, NULL);
	struct ibv_wc wcs[3];
	uint64_t posted = 0, polled = 0;
	int i, got;

	begin(cq, NULL);
	for (i = 0; i < 3000; i++) {
		while (posted - polled < (uint64_t)rnd_in(1, cq->cqe))
			complete(posted++);
		got = ibv_poll_cq(cq, rnd_in(1, 3), wcs);
		CHECK(got >= 1);
		while (got--)
			polled++;
		CHECK_EQ(wcs[0].status, IBV_WC_SUCCESS);
	}
	while (polled < posted)
		CHECK_EQ(await(cq).wr_id, polled++);
}

struct poller {
	struct ibv_cq *cq;
	uint8_t *seen;
};

enum { MESSAGES = 4000 };

static void *poll_on(void *arg)
{
	struct poller *p = arg;
	struct ibv_wc wcs[7];
	int i, got;

	while (consumed < MESSAGES) {
		got = ibv_poll_cq(p->cq, 7, wcs);
		CHECK(got >= 0);
		for (i = 0; i < got; i++)
			CHECK(!__atomic_fetch_add(&p->seen[wcs[i].wr_id], 1,
						  __ATOMIC_RELAXED));
		consumed += got;
	}
	return NULL;
}

/* Several threads poll: each completion is seen once. */
static void cq13_pollers(void)
{
	static uint8_t seen[MESSAGES];
	struct poller poller = { .cq = new_cq(256, NULL), .seen = seen };
	pthread_t threads[3];
	unsigned long i;

	begin(poller.cq, NULL);
	for (i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, poll_on, &poller),
			 0);
	for (i = 0; i < MESSAGES; i++) {
		while (i - consumed > 200)
			usleep(10);
		complete(i);
	}
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < MESSAGES; i++)
		CHECK_EQ(seen[i], 1);
}

/* Queue pairs share one completion queue: each completion names its own. */
static void cq14_shared(void)
{
	struct ibv_cq *cq = new_cq(64, NULL);
	struct qp_cfg cfg = { .scq = cq, .rcq = cq };
	struct link links[3];
	int i, j;

	for (i = 0; i < 3; i++)
		link_make(&links[i], &cfg);
	for (i = 0; i < 3; i++) {
		int sends = 0, recvs = 0;

		link_ = links[i];
		message(IBV_SEND_SIGNALED);
		for (j = 0; j < 2; j++) {
			struct ibv_wc wc = await(cq);

			expect(wc, IBV_WC_SUCCESS);
			if (wc.opcode == IBV_WC_RECV) {
				CHECK_EQ(wc.qp_num, link_.b.qp->qp_num);
				recvs++;
			} else {
				CHECK_EQ(wc.qp_num, link_.a.qp->qp_num);
				sends++;
			}
		}
		CHECK(sends == 1 && recvs == 1);
	}
}

/* An overflow breaks all queue pairs of the CQ, also those without traffic. */
static void cq15_overflow_breaks_all(void)
{
	struct ibv_cq *cq = new_cq(4, NULL);
	struct qp_cfg sends = { .scq = cq }, receives = { .rcq = cq };
	struct ibv_async_event event;
	struct link other;
	int i, told = 0;

	begin(cq, NULL);
	link_make2(&other, &sends, &receives);
	event_forget();
	for (i = 0; i <= cq->cqe; i++)
		complete(i);
	end_await_state(&link_.a, IBV_QPS_ERR);
	end_await_state(&other.a, IBV_QPS_ERR);
	end_await_state(&other.b, IBV_QPS_ERR);
	/* The QP that does not use this CQ goes on. */
	CHECK_EQ(end_state(&link_.b), IBV_QPS_RTS);
	while (told < 3) {
		event = event_await(IBV_EVENT_QP_FATAL);
		CHECK(event.element.qp == link_.a.qp ||
		      event.element.qp == other.a.qp ||
		      event.element.qp == other.b.qp);
		told++;
	}
	event_none(IBV_EVENT_QP_FATAL, 0.05);
	/* Polling makes no room: the CQ stays in error, and a QP that is reset fails again. */
	for (i = 0; i < cq->cqe; i++)
		await(cq);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RESET), 0);
	CHECK_EQ(end_try_init(&link_.a), 0);
	end_await_state(&link_.a, IBV_QPS_ERR);
	event = event_await(IBV_EVENT_QP_FATAL);
	CHECK(event.element.qp == link_.a.qp);
}

/* If the completion of a receive is lost, the responder answers with an error. */
static void cq16_receiver(int type)
{
	struct ibv_cq *cq = new_cq(1, NULL);
	struct qp_cfg at_a = { .type = type };
	struct qp_cfg at_b = { .type = type, .rcq = cq };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_async_event event;
	enum ibv_wc_status said = IBV_WC_SUCCESS;
	int i;

	if (type == IBV_QPT_RC)
		said = IBV_WC_REM_OP_ERR;
	link_make2(&link_, &at_a, &at_b);
	event_forget();
	for (i = 0; i < cq->cqe; i++) {
		post_recv(&link_.b, NULL, 0, i);
		post(&link_.a, &wr);
		expect(await(link_.a.scq), IBV_WC_SUCCESS);
	}
	post_recv(&link_.b, NULL, 0, i);
	post(&link_.a, &wr);
	expect(await(link_.a.scq), said);
	end_await_state(&link_.b, IBV_QPS_ERR);
	event_await(IBV_EVENT_CQ_ERR);
	event = event_await(IBV_EVENT_QP_FATAL);
	CHECK(event.element.qp == link_.b.qp);
	event_none(IBV_EVENT_QP_FATAL, 0.05);
}

/* An event comes only with a completion to poll. Otherwise a full CQ would give events for ever. */
static void cq17_nothing_to_poll(void)
{
	struct ibv_comp_channel *channel =
		MUST(ibv_create_comp_channel(dev.ctx));
	struct ibv_cq *cq = new_cq(1, channel);
	int i;

	begin(cq, NULL);
	for (i = 0; i < cq->cqe; i++)
		complete(i);
	for (i = 0; i < 12; i++) {
		CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
		complete(i);
		CHECK(!channel_next(channel, 0.01));
	}
}

/* ------------------------------------------------------------- moderation */

enum { LONGEST_US = UINT16_MAX };

static int moderate(struct ibv_cq *cq, uint16_t count, uint16_t period_us)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = count, .cq_period = period_us },
	};

	return ibv_modify_cq(cq, &attr);
}

static void need_moderation(void)
{
	struct ibv_device_attr_ex attr;

	CHECK_EQ(ibv_query_device_ex(dev.ctx, NULL, &attr), 0);
	if (!attr.cq_mod_caps.max_cq_count)
		lacks("no moderation of completion queues");
	CHECK_EQ(attr.cq_mod_caps.max_cq_period, LONGEST_US);
}

/* A queue that gives an event after @of completions has @n. */
struct moderated {
	int of, n;
	bool told; /* there is an event then */
};

/* Returns false if it took so long that the moderation period may have ended. */
static bool told_of(void *arg)
{
	struct ibv_cq *cq = armed_cq(0);
	struct moderated *m = arg;
	bool early = false;
	double start;
	int i;

	begin(cq, NULL);
	CHECK_EQ(moderate(cq, m->of, LONGEST_US), 0);
	start = now();
	for (i = 0; i < m->n; i++) {
		early |= i < m->of && channel_next(channel_, 0);
		complete(i);
	}
	m->told = channel_next(channel_, 0.005);
	/* The period began with the first completion, so not before @start. */
	if (now() - start > LONGEST_US * 1e-6) {
		CHECK_EQ(drain(cq), m->n);
		return false;
	}
	CHECK(!early);
	CHECK_EQ(drain(cq), m->n);
	return true;
}

static bool told_after(int of, int n)
{
	struct moderated m = { .of = of, .n = n };

	CHECK(one_of(10, "the machine was slow", told_of, &m));
	return m.told;
}

/* Moderated by count, a queue gives its event with the N-th completion, not before. */
static void cq18_by_count(void)
{
	need_moderation();
	CHECK_EQ(told_after(2, 2), 1);
	CHECK_EQ(told_after(8, 7), 0);
	CHECK_EQ(told_after(8, 8), 1);
	/* A count of one is the same as no moderation. */
	CHECK_EQ(told_after(1, 1), 1);
	CHECK_EQ(told_after(0, 1), 1);
}

/*
 * Moderated by time, a queue gives its event after the period; ending moderation gives it at
 * once.
 */
static void cq19_by_period(void)
{
	struct ibv_cq *cq;
	double start;
	int i;

	need_moderation();
	cq = armed_cq(0);
	begin(cq, NULL);
	CHECK_EQ(moderate(cq, 1000, 30000), 0);
	for (i = 0; i < 5; i++) {
		start = now();
		complete(1);
		complete(2);
		channel_await(channel_);
		CHECK(now() - start >= 0.03);
		CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
		CHECK_EQ(drain(cq), 2);
	}
	/* Ending moderation delivers the event that was delayed. */
	CHECK_EQ(moderate(cq, 1000, LONGEST_US), 0);
	complete(1);
	CHECK_EQ(moderate(cq, 0, 0), 0);
	channel_await(channel_);
	CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
	CHECK_EQ(drain(cq), 1);
	complete(2);
	channel_await(channel_);
}

/* Of delayed completions one solicited one is enough for the event. */
static void cq20_solicited(void)
{
	struct ibv_cq *cq;

	need_moderation();
	cq = armed_cq(1);
	begin(NULL, cq);
	CHECK_EQ(moderate(cq, 3, 1000), 0);
	message(0);
	message(0);
	message(0);
	CHECK(!channel_next(channel_, 0.05));
	/* One solicited completion among the delayed ones is enough for an event. */
	message(IBV_SEND_SOLICITED);
	message(0);
	channel_await(channel_);
	/* The QP and the CQ may be destroyed while an event is delayed. */
	CHECK_EQ(moderate(cq, 1000, 20), 0);
	CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
	message(0);
	link_free(&link_);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
}

/* What may happen to a queue between ibv_start_poll() and ibv_end_poll(). */
enum { DESTROYED, RESET, RESIZED };

enum { BATCH = 12 };

static struct ibv_cq_ex *one_thread_cq(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 2 * BATCH,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};

	return MUST(ibv_create_cq_ex(dev.ctx, &attr));
}

/* Completions in a queue, in their order; those of @other go when that changes. */
struct batch {
	struct link other;
	uint64_t wr_id[BATCH];
	bool of_other[BATCH];
	int next;
};

static void batch_post(struct batch *batch, uint64_t *posted)
{
	int i;

	for (i = 0; i < BATCH; i++) {
		struct ibv_send_wr wr = {
			.wr_id = (*posted)++,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
		};

		batch->wr_id[i] = wr.wr_id;
		batch->of_other[i] = rnd_below(2);
		post(batch->of_other[i] ? &batch->other.a : &link_.a, &wr);
	}
	batch->next = 0;
}

static void batch_change(struct batch *batch, struct ibv_cq_ex *cq, int how)
{
	int i;

	if (how == RESIZED) {
		CHECK_EQ(ibv_resize_cq(ibv_cq_ex_to_cq(cq),
				       rnd_in(BATCH, 4 * BATCH)),
			 0);
		return;
	}
	if (how == DESTROYED)
		end_free(&batch->other.a);
	else
		CHECK_EQ(end_set_state(&batch->other.a, IBV_QPS_RESET), 0);
	for (i = 0; i < BATCH; i++) {
		if (batch->of_other[i])
			batch->wr_id[i] = UINT64_MAX;
	}
}

/* @err is what polling has said: the next of the batch that is still there, or there is none. */
static void batch_expect(struct batch *batch, struct ibv_cq_ex *cq, int err)
{
	while (batch->next < BATCH && batch->wr_id[batch->next] == UINT64_MAX)
		batch->next++;
	if (batch->next == BATCH) {
		CHECK_EQ(err, ENOENT);
		return;
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(cq->wr_id, batch->wr_id[batch->next]);
	CHECK_EQ(ibv_wc_read_opcode(cq), IBV_WC_RDMA_WRITE);
	batch->next++;
}

/* Poll up to @change completions, change the queue, and poll the others. */
static void batch_poll(struct batch *batch, struct ibv_cq_ex *cq, int how,
		       int change)
{
	struct ibv_poll_cq_attr attr = {};
	uint32_t qpn;
	int i;

	batch_expect(batch, cq, ibv_start_poll(cq, &attr));
	for (i = 0; i < change; i++)
		batch_expect(batch, cq, ibv_next_poll(cq));
	qpn = ibv_wc_read_qp_num(cq);
	batch_change(batch, cq, how);
	/* The one that is being read can still be read. */
	CHECK_EQ(ibv_wc_read_qp_num(cq), qpn);
	CHECK_EQ(ibv_wc_read_opcode(cq), IBV_WC_RDMA_WRITE);
	if (rnd_below(2)) {
		ibv_end_poll(cq);
		i = ibv_start_poll(cq, &attr);
		batch_expect(batch, cq, i);
		if (i)
			return;
	}
	do {
		i = ibv_next_poll(cq);
		batch_expect(batch, cq, i);
	} while (!i);
	ibv_end_poll(cq);
}

/*
 * A queue for one thread has no lock, so in the middle of a poll this thread may destroy or reset a
 * queue pair, or resize the queue: it then finds all other completions, each once.
 */
static void cq21_changed_in_a_poll(int how)
{
	struct ibv_cq_ex *cq;
	struct qp_cfg cfg = { .wr = 512 };
	uint64_t posted = 0;
	struct batch batch;
	int round;

	if (!dev.pinion)
		skip("of other drivers not all remove completions");
	cq = one_thread_cq();
	cfg.scq = ibv_cq_ex_to_cq(cq);
	begin(cfg.scq, NULL);
	for (round = 0; round < 100; round++) {
		context("round %d", round);
		link_make2(&batch.other, &cfg, &(struct qp_cfg){ .wr = 512 });
		batch_post(&batch, &posted);
		batch_poll(&batch, cq, how, rnd_below(BATCH));
		if (how != DESTROYED)
			end_free(&batch.other.a);
		end_free(&batch.other.b);
		expect_none(cfg.scq, 0);
	}
}

/* ------------------------------------------------- times of two senders */

/* Has at most WINDOW requests under way. */
enum { WINDOW = 16 };

struct timed {
	pthread_t thread;
	struct link link;
	_Atomic unsigned long done;
};

static struct timed timed_[2];

static void *send_timed(void *arg)
{
	struct timed *timed = arg;
	unsigned long posted = 0;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};

	for (;;) {
		while (posted - timed->done == WINDOW)
			sched_yield();
		post(&timed->link.a, &wr);
		posted++;
	}
	return NULL;
}

/* Two threads complete on one queue: no completion is earlier than the one before it. */
static void cq22_times_do_not_fall(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 2 * WINDOW,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	unsigned long count = 0, turns = 0;
	double end = now() + opt.seconds;
	struct qp_cfg cfg = { .wr = WINDOW };
	struct ibv_poll_cq_attr poll = {};
	int i, whose, before = 0;
	struct ibv_cq_ex *cq;
	uint64_t ts, last = 0;

	cq = ibv_create_cq_ex(dev.ctx, &attr);
	if (!cq)
		lacks("no timestamps: errno %d", errno);
	cfg.scq = ibv_cq_ex_to_cq(cq);
	for (i = 0; i < 2; i++) {
		link_make2(&timed_[i].link, &cfg, NULL);
		CHECK_EQ(pthread_create(&timed_[i].thread, NULL, send_timed,
					&timed_[i]),
			 0);
	}
	while (go_on(end, count > 1000 && turns > 20)) {
		if (ibv_start_poll(cq, &poll)) {
			sched_yield();
			continue;
		}
		CHECK_EQ(cq->status, IBV_WC_SUCCESS);
		ts = ibv_wc_read_completion_ts(cq);
		whose = ibv_wc_read_qp_num(cq) == timed_[1].link.a.qp->qp_num;
		ibv_end_poll(cq);
		timed_[whose].done++;
		context("completion %lu of %d after %d", count, whose, before);
		CHECK(ts >= last);
		last = ts;
		count++;
		turns += whose != before;
		before = whose;
	}
	note("%lu completions, %lu times of the other sender", count, turns);
	CHECK(count > 1000 && turns > 20);
}

static const struct test tests[] = {
	TEST(cq1_sizes, "CQ1 sizes"),
	TEST(cq1_largest, "CQ1 the largest there may be"),
	TEST(cq2_busy, "CQ2 in use"),
	TEST(cq3_resize, "CQ3 resized with completions in it"),
	TEST(cq3_no_room, "CQ3 resized where there is no room to map it"),
	TEST(cq4_overflow, "CQ4 overflow"),
	TEST(cq5_events, "CQ5 events"),
	TEST(cq6_solicited, "CQ6 solicited events"),
	TEST(cq7_armed_and_resized, "CQ7 armed, then resized"),
	TEST(cq8_no_lost_wakeup, "CQ8 no wake-up is lost"),
	TEST(cq9_unacknowledged, "CQ9 channels and queues"),
	TEST(cq10_event_pending, "CQ10 the end with an event pending"),
	TEST(cq11_timestamps, "CQ11 timestamps"),
	TEST(cq12_wrap, "CQ12 a small queue, many times around"),
	TEST(cq13_pollers, "CQ13 several threads poll"),
	TEST(cq14_shared, "CQ14 one queue for several queue pairs"),
	TEST(cq15_overflow_breaks_all, "CQ15 overflow breaks all queue pairs"),
	TEST_OF(cq16_receiver, IBV_QPT_RC, "CQ16 a receiver's overflow: RC"),
	TEST_OF(cq16_receiver, IBV_QPT_UC, "CQ16 a receiver's overflow: UC"),
	TEST(cq17_nothing_to_poll, "CQ17 no event for what is lost"),
	TEST(cq18_by_count, "CQ18 moderated by count"),
	TEST(cq19_by_period, "CQ19 moderated by period"),
	TEST(cq20_solicited, "CQ20 moderated and solicited"),
	TEST_OF(cq21_changed_in_a_poll, DESTROYED,
		"CQ21 a queue pair destroyed in a poll"),
	TEST_OF(cq21_changed_in_a_poll, RESET,
		"CQ21 a queue pair reset in a poll"),
	TEST_OF(cq21_changed_in_a_poll, RESIZED, "CQ21 resized in a poll"),
	TEST(cq22_times_do_not_fall, "CQ22 times do not fall"),
};

HARNESS_MAIN("Completion queues", tests)
