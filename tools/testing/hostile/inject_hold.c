// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completions that are held back by order (items IN50 to IN59; kernel/path/hold.c): they come when
 * their time has come or the order is gone, in order, and never after their queue pair or
 * completion queue has ended.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orders.h"
#include "resources.h"
#include "unplug.h"

enum { LENGTH = 4096, MANY = 20 };

static struct link link_;
static struct region own, remote;

static void begin(const struct qp_cfg *cfg)
{
	orders_begin();
	link_make(&link_, cfg);
	own = region_new(LENGTH, 50, ALL_ACCESS);
	remote = region_new(LENGTH, 7, ALL_ACCESS);
}

static void write_posted(struct end *end, uint64_t wr_id)
{
	post_rdma(end, IBV_WR_RDMA_WRITE, sge_of(&own, 0, LENGTH), remote.base,
		  remote.rkey, wr_id);
}

/* The messages are performed although no completion says so. */
static void await_data(void)
{
	double end = now() + patience(PATIENCE);

	while (memcmp(remote.buf->data, own.buf->data, LENGTH))
		CHECK(now() < end);
}

/* By packets they come some time after the data. */
static void await_held(unsigned int num)
{
	double end = now() + patience(PATIENCE);

	while (ordered("failed") < num)
		CHECK(now() < end);
	CHECK_EQ(ordered("failed"), num);
}

/* A completion is held for a while although the data have arrived. */
static void in50_a_while(void)
{
	enum { US = 400000 };
	struct ibv_wc wc;
	double begun;

	begin(NULL);
	order("hold number %u value %d", link_.a.qp->qp_num, US);
	begun = now();
	write_posted(&link_.a, 1);
	await_data();
	if (poll_one(link_.a.scq, &wc))
		note("the machine was too busy to see that it had not come");
	else
		wc = await(link_.a.scq);
	CHECK(now() - begun >= US / 1e6);
	expect(wc, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, 1);
	orders_over(1);
	exchange(&link_, &own, &remote);
}

/* All of them come at once with `off', in order, before it returns. */
static void in51_until_off(void)
{
	struct ibv_wc wc;
	int i;

	begin(NULL);
	order("hold number %u count 0", link_.a.qp->qp_num);
	for (i = 0; i < MANY; i++)
		write_posted(&link_.a, i);
	await_data();
	await_held(MANY);
	expect_none(link_.a.scq, 0.3);
	orders_off();
	for (i = 0; i < MANY; i++) {
		CHECK_EQ(poll_one(link_.a.scq, &wc), 1);
		expect(wc, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, i);
	}
	expect_none(link_.a.scq, 0.1);
	exchange(&link_, &own, &remote);
}

/* What another queue pair completes in the same queue comes behind, and a waiter is woken. */
static void in52_behind(void)
{
	struct ibv_comp_channel *channel =
		MUST(ibv_create_comp_channel(dev.ctx));
	struct qp_cfg cfg = {
		.scq = MUST(ibv_create_cq(dev.ctx, 100, NULL, channel, 0)),
	};
	struct link other;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	begin(&cfg);
	link_make(&other, &cfg);
	CHECK_EQ(ibv_req_notify_cq(cfg.scq, 0), 0);
	order("hold number %u", link_.a.qp->qp_num);
	write_posted(&link_.a, 1);
	write_posted(&other.a, 2);
	write_posted(&link_.a, 3);
	await_data();
	expect_none(cfg.scq, 0.3);
	orders_over(1);
	CHECK_EQ(ibv_get_cq_event(channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	CHECK_EQ(await(cq).wr_id, 1);
	wc = await(cq);
	CHECK_EQ(wc.wr_id, 2);
	CHECK_EQ(wc.qp_num, other.a.qp->qp_num);
	CHECK_EQ(await(cq).wr_id, 3);
}

/* A receive is held likewise; what is flushed comes behind what is held. */
static void in53_receives(void)
{
	struct ibv_sge mine, sink;
	struct ibv_wc wc;
	int i;

	begin(NULL);
	mine = sge_of(&own, 0, LENGTH);
	sink = sge_of(&remote, 0, LENGTH);
	for (i = 0; i < 3; i++)
		post_recv(&link_.b, &sink, 1, i);
	order("hold number %u count 0", link_.b.qp->qp_num);
	expect(send_sge(&link_.a, mine), IBV_WC_SUCCESS);
	await_data();
	CHECK_EQ(end_set_state(&link_.b, IBV_QPS_ERR), 0);
	await_held(3);
	expect_none(link_.b.rcq, 0.3);
	orders_off();
	for (i = 0; i < 3; i++) {
		wc = await(link_.b.rcq);
		expect(wc, i ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, i);
	}
}

/* It ends with its queue pair, which does not wait; others of the queue stay. */
static void in54_destroyed(void)
{
	struct qp_cfg cfg = {
		.scq = MUST(ibv_create_cq(dev.ctx, 100, NULL, NULL, 0)),
	};
	struct link other;
	struct ibv_wc wc;
	double begun;

	begin(&cfg);
	link_make(&other, &cfg);
	order("hold pid %d count 0", getpid());
	write_posted(&link_.a, 1);
	write_posted(&other.a, 2);
	write_posted(&link_.a, 3);
	await_data();
	await_held(3);
	expect_none(cfg.scq, 0.3);
	begun = now();
	CHECK_EQ(ibv_destroy_qp(link_.a.qp), 0);
	CHECK(now() - begun < patience(5));
	orders_off();
	wc = await(cfg.scq);
	CHECK_EQ(wc.wr_id, 2);
	expect_none(cfg.scq, 0.1);
}

/* A held completion is dropped by a reset, and never comes. */
static void in55_reset(void)
{
	begin(NULL);
	order("hold number %u", link_.a.qp->qp_num);
	write_posted(&link_.a, 1);
	await_data();
	await_held(1);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RESET), 0);
	orders_over(1);
	expect_none(link_.a.scq, 0.3);
	link_renew(&link_);
	exchange(&link_, &own, &remote);
}

/* Destroying all that they are of waits for nothing, whatever the order says. */
static void in56_all_destroyed(void)
{
	struct resources before;
	double begun;
	int i;

	orders_begin();
	resources_read(&before);
	begin(NULL);
	order("hold pid %d count 0", getpid());
	for (i = 0; i < MANY; i++)
		write_posted(&link_.a, i);
	await_data();
	await_held(MANY);
	begun = now();
	link_free(&link_);
	CHECK(now() - begun < patience(5));
	region_free(&own);
	region_free(&remote);
	resources_await(&before);
	orders_off();
}

static void holds(void *arg)
{
	int *pipe_ = arg;
	char told = 1;

	opt.device = UNPLUG_DEVICE;
	device_open();
	begin(NULL);
	order("hold pid %d count 0", getpid());
	write_posted(&link_.a, 1);
	await_data();
	await_held(1);
	expect_none(link_.a.scq, 0.1);
	CHECK_EQ(write(pipe_[1], &told, 1), 1);
	/* Until the device is gone. */
	CHECK_EQ(read(pipe_[0], &told, 1), 1);
}

/* A device is removed at once although completions are held. */
static void in57_device_gone(void)
{
	int pipes[2][2], pid;
	double begun;
	char told = 0;

	orders_begin();
	unplug_begin();
	CHECK_EQ(pipe(pipes[0]), 0);
	CHECK_EQ(pipe(pipes[1]), 0);
	pid = spawn(holds, (int[]){ pipes[0][0], pipes[1][1] });
	CHECK_EQ(read(pipes[1][0], &told, 1), 1);
	begun = now();
	CHECK_EQ(system("rdma link del " UNPLUG_DEVICE), 0);
	CHECK(now() - begun < patience(10));
	CHECK_EQ(write(pipes[0][1], &told, 1), 1);
	reap_ok(pid);
	CHECK_EQ(ordered("failed"), 1);
	orders_off();
	unplug_end();
}

/* As many as overflow the queue: it does when they are written. */
static void in58_overflow(void)
{
	struct qp_cfg cfg = { .cqe = 16, .wr = 64 };
	struct ibv_async_event event;
	int i;

	begin(&cfg);
	order("hold number %u count 0", link_.a.qp->qp_num);
	for (i = 0; i < 40; i++)
		write_posted(&link_.a, i);
	await_data();
	await_held(40);
	CHECK_EQ(end_state(&link_.a), IBV_QPS_RTS);
	orders_off();
	CHECK_EQ(ibv_get_async_event(dev.ctx, &event), 0);
	CHECK_EQ(event.event_type, IBV_EVENT_CQ_ERR);
	ibv_ack_async_event(&event);
	end_await_state(&link_.a, IBV_QPS_ERR);
}

/* The order is removed before the time has come. */
static void in59_off_early(void)
{
	enum { SECONDS = 30 };
	struct ibv_wc wc;
	double begun;

	begin(NULL);
	order("hold number %u value %d", link_.a.qp->qp_num, SECONDS * 1000000);
	begun = now();
	write_posted(&link_.a, 1);
	await_held(1);
	orders_off();
	CHECK_EQ(poll_one(link_.a.scq, &wc), 1);
	expect(wc, IBV_WC_SUCCESS);
	CHECK(now() - begun < SECONDS);
}

static const struct test tests[] = {
	TEST(in50_a_while, "IN50 hold, for a while"),
	TEST(in51_until_off, "IN51 hold, until off"),
	TEST(in52_behind, "IN52 hold, and who is behind"),
	TEST(in53_receives, "IN53 hold, receives"),
	TEST(in54_destroyed, "IN54 hold, the queue pair goes (class 19)"),
	TEST(in55_reset, "IN55 hold, reset"),
	TEST(in56_all_destroyed, "IN56 hold, all goes (class 19)"),
	LONG_TEST(in57_device_gone, "IN57 hold, the device goes (class 20)",
		  90),
	TEST(in58_overflow, "IN58 hold, more than the queue has"),
	TEST(in59_off_early, "IN59 hold, off before its time"),
};

ORDERS_MAIN("Completions held back by order", tests)
