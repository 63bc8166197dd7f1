// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The provider with several threads: they post to the same queues and poll the same completion
 * queue while it is resized, waited for, or cleaned because other queue pairs are destroyed;
 * and, in thread domains, without locks.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <unistd.h>

#include "traffic.h"

enum { THREADS = 4 };

/* Waits for events; nobody else polls. */
static void *wait_for_events(void *arg)
{
	struct worker *w = arg;
	struct traffic *t = w->t;
	struct pollfd fd = { .fd = t->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	CHECK_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(t->cq), 0), 0);
	while (traffic_poll(w))
		;
	while (!GET(t->done)) {
		if (poll(&fd, 1, 100) <= 0)
			continue;
		CHECK_EQ(ibv_get_cq_event(t->channel, &cq, &context), 0);
		CHECK(cq == ibv_cq_ex_to_cq(t->cq));
		ibv_ack_cq_events(cq, 1);
		CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
		while (traffic_poll(w))
			;
		COUNT(t->changes, 1);
	}
	return NULL;
}

static void resize_cq(struct worker *w)
{
	struct ibv_cq *cq = ibv_cq_ex_to_cq(w->t->cq);

	CHECK_EQ(ibv_resize_cq(cq, TRAFFIC_CQE << worker_rnd(w, 4)), 0);
}

static void resize_srq(struct worker *w)
{
	struct ibv_srq_attr attr = {
		.max_wr = TRAFFIC_SLOTS << worker_rnd(w, 4),
	};

	CHECK_EQ(ibv_modify_srq(w->t->srq, &attr, IBV_SRQ_MAX_WR), 0);
}

static void resize_both(struct worker *w)
{
	resize_cq(w);
	resize_srq(w);
}

static void *again_and_again(struct worker *w, void (*change)(struct worker *w))
{
	while (!GET(w->t->done)) {
		change(w);
		COUNT(w->t->changes, 1);
		usleep(worker_rnd(w, 300));
	}
	return NULL;
}

static void *keep_resizing_cq(void *arg)
{
	return again_and_again(arg, resize_cq);
}

static void *keep_resizing_srq(void *arg)
{
	return again_and_again(arg, resize_srq);
}

static void *keep_resizing_both(void *arg)
{
	return again_and_again(arg, resize_both);
}

/* A queue pair from creation to destruction: some messages, some of which are never received. */
static void live(struct worker *w, struct link *link)
{
	uint64_t id = stranger_id(w->t);
	int i, receives = worker_rnd(w, 4), sends = 1 + worker_rnd(w, 6);

	link_connect(link);
	for (i = 0; i < receives; i++) {
		struct ibv_sge sge = sge_of(&w->t->in, 0, 0);

		post_recv(&link->b, &sge, 1, id);
	}
	for (i = 0; i < sends; i++) {
		struct ibv_send_wr wr = { .wr_id = id,
					  .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED };

		post(&link->a, &wr);
	}
	if (worker_rnd(w, 2)) {
		CHECK_EQ(end_set_state(&link->a, IBV_QPS_ERR), 0);
		CHECK_EQ(end_set_state(&link->b, IBV_QPS_ERR), 0);
	}
}

/*
 * Queue pairs on the same CQ as the others' that are created and destroyed all the time. They
 * are reset or replaced; either must remove their completions.
 */
static void *come_and_go(void *arg)
{
	struct worker *w = arg;
	struct traffic *t = w->t;
	struct ibv_cq *cq = ibv_cq_ex_to_cq(t->cq);
	struct qp_cfg cfg = { .pd = t->pd, .scq = cq, .rcq = cq, .wr = 8 };
	struct link link;

	end_make(&link.a, &cfg);
	end_make(&link.b, &cfg);
	while (!GET(t->done)) {
		live(w, &link);
		if (worker_rnd(w, 4)) {
			CHECK_EQ(end_set_state(&link.a, IBV_QPS_RESET), 0);
			CHECK_EQ(end_set_state(&link.b, IBV_QPS_RESET), 0);
		} else {
			link_free(&link);
			end_make(&link.a, &cfg);
			end_make(&link.b, &cfg);
		}
		pthread_rwlock_wrlock(&t->epoch_lock);
		COUNT(t->epoch, 1);
		pthread_rwlock_unlock(&t->epoch_lock);
		COUNT(t->changes, 1);
	}
	link_free(&link);
	return NULL;
}

/* @other: function of a fifth thread, or NULL. */
static void run_traffic(struct traffic *t, void *(*other)(void *arg))
{
	struct worker workers[THREADS], fifth;
	double end;
	int i;

	t->senders = THREADS;
	traffic_make(t, NULL);
	if (other)
		worker_start(&fifth, t, THREADS, other);
	for (i = 0; i < THREADS; i++)
		worker_start(&workers[i], t, i, traffic_send);
	end = now() + opt.seconds;
	while (go_on(end, traffic_seen(t) && (!other || GET(t->changes) > 1)))
		usleep(10000);
	traffic_settle(t);
	for (i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	if (other) {
		pthread_join(fifth.thread, NULL);
		CHECK(t->changes > 1);
	}
	traffic_check(t);
	traffic_free(t);
}

/* Four threads post and poll on the same queues: each message arrives once. */
static void same_queues(void)
{
	struct traffic t = {};

	run_traffic(&t, NULL);
}

/* The same with queues in memory of our allocator. */
static void own_memory(void)
{
	static struct own own;
	struct traffic t = { .own = &own };

	run_traffic(&t, NULL);
	CHECK_EQ(own.ever[(uint32_t)PINION_RES_TYPE_SRQ], 1);
	own_check(&own);
}

/* A resized ring is no longer in the allocator's memory. */
static void own_memory_resized(void)
{
	static struct own own;
	struct traffic t = { .own = &own };

	run_traffic(&t, keep_resizing_both);
	own_check(&own);
}

/* The same while the completion queue is resized. */
static void cq_resized(void)
{
	struct traffic t = {};

	run_traffic(&t, keep_resizing_cq);
}

/* The same while the shared receive queue is resized. */
static void srq_resized(void)
{
	struct traffic t = {};

	run_traffic(&t, keep_resizing_srq);
}

/* The same while both are resized. */
static void both_resized(void)
{
	struct traffic t = {};

	run_traffic(&t, keep_resizing_both);
}

/* Four threads post, and one polls when it gets an event. */
static void events(void)
{
	struct traffic t = {
		.channel = MUST(ibv_create_comp_channel(dev.ctx)),
	};

	run_traffic(&t, wait_for_events);
	CHECK_EQ(ibv_destroy_comp_channel(t.channel), 0);
}

/* The same while other queue pairs on the completion queue are reset and destroyed. */
static void strangers_on_the_cq(void)
{
	struct traffic t = {};

	run_traffic(&t, come_and_go);
}

/* Four threads, each with a thread domain of its own, whose queues have no locks. */
static void single_threaded(void)
{
	struct ibv_td_init_attr td_attr = {};
	struct worker workers[THREADS];
	struct traffic t[THREADS] = {};
	struct ibv_td *td[THREADS];
	double end;
	int i;

	for (i = 0; i < THREADS; i++) {
		td[i] = MUST(ibv_alloc_td(dev.ctx, &td_attr));
		t[i].senders = 1;
		traffic_make(&t[i], td[i]);
	}
	for (i = 0; i < THREADS; i++)
		worker_start(&workers[i], &t[i], 0, traffic_send);
	end = now() + opt.seconds;
	for (i = 0; i < THREADS; i++) {
		while (go_on(end, traffic_seen(&t[i])))
			usleep(10000);
	}
	for (i = 0; i < THREADS; i++)
		traffic_settle(&t[i]);
	for (i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		traffic_check(&t[i]);
		/* A thread domain is in use while a parent domain uses it. */
		CHECK_EQ(ibv_dealloc_td(td[i]), EBUSY);
		traffic_free(&t[i]);
		CHECK_EQ(ibv_dealloc_td(td[i]), 0);
	}
}

static const struct test tests[] = {
	TEST(same_queues, "four threads post and poll on the same queues"),
	TEST(cq_resized, "the same while the CQ is resized"),
	TEST(srq_resized, "the same while the SRQ is resized"),
	TEST(both_resized, "the same while both are resized"),
	TEST(own_memory, "four threads on queues in their own memory"),
	TEST(own_memory_resized, "the same while both are resized out of it"),
	TEST(events, "four threads post, one polls when it is told to"),
	TEST(strangers_on_the_cq,
	     "the same while others on the CQ are reset and destroyed"),
	TEST(single_threaded, "four threads, each with queues without locks"),
};

HARNESS_MAIN("The provider under several threads", tests)
