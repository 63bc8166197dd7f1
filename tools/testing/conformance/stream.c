// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests posted one after the other without waiting, which another processor may execute:
 * order, completions, and errors in the middle.
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "link.h"

enum { QUEUE = 64, AREA = 300000, LARGE = 4 << 20 };

static struct link link_;
static struct region a, b;

/* Requests by packets are not executed in streams. */
static bool there_are_streams(void)
{
	return dev.pinion && !dev.packets && sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

static void begin(uint32_t length)
{
	struct qp_cfg cfg = { .wr = QUEUE, .cqe = 4 * QUEUE };

	link_make(&link_, &cfg);
	a = region_new(length, 1003, ALL_ACCESS);
	b = region_new(length, 2017, ALL_ACCESS);
}

static void post_write(uint64_t id, uint64_t from, uint64_t to, uint32_t length)
{
	post_rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&a, from, length),
		  b.base + to, b.rkey, id);
}

/* Posts as many large writes as fit, without checking, and waits a short random time. */
static void post_large(void)
{
	int i;

	for (i = 0; i < QUEUE; i++)
		post_write(i, 0, 0, LARGE);
	usleep(rnd_below(3000));
}

/*
 * Overlapping writes, whose order shows in the result. The queue is always full: each completion
 * makes room for one request, also if another processor executes.
 */
static void in_order(void)
{
	long long streams = device_counter("streams");
	uint64_t id, done = 0;
	struct ibv_wc wc;

	begin(AREA);
	for (id = 0; id < 20000; id++) {
		uint32_t length = rnd_below(rnd_below(10) ? 300 : 30000);
		uint64_t from = rnd_below(AREA - length);
		uint64_t to = rnd_below(AREA - length);

		if (id - done == QUEUE) {
			/* Polls without sleeping, so that the next request is posted at once. */
			while (!poll_one(link_.a.scq, &wc))
				;
			CHECK_EQ(wc.wr_id, done++);
		}
		post_write(id, from, to, length);
		memcpy(b.buf->want + to, a.buf->want + from, length);
	}
	while (done < id)
		CHECK_EQ(await(link_.a.scq).wr_id, done++);
	expect_none(link_.a.scq, 0);
	buf_check(b.buf);
	if (there_are_streams())
		CHECK(device_counter("streams") > streams);
}

/* Small unsignaled writes, and after a pause a signaled one, which must complete. */
static void after_a_pause(void)
{
	int round, i;

	begin(AREA);
	for (round = 0; round < 200; round++) {
		for (i = 0; i < QUEUE / 2; i++)
			post_write(i, 0, 8 * i, 8);
		usleep(rnd_below(200));
		post_write(i, 8, AREA - 8, 8);
		while (await(link_.a.scq).wr_id != QUEUE / 2)
			;
	}
}

/* Each request completes once, in order: successfully at first, then flushed. */
static void into_the_error_state(void)
{
	uint64_t done;
	bool flushed;
	int round;

	begin(LARGE);
	for (round = 0; round < 10; round++) {
		post_large();
		CHECK_EQ(end_set_state(&link_.a, IBV_QPS_ERR), 0);
		flushed = false;
		for (done = 0; done < QUEUE; done++) {
			struct ibv_wc wc = await(link_.a.scq);

			CHECK_EQ(wc.wr_id, done);
			if (flushed || wc.status)
				CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
			flushed = wc.status;
		}
		expect_none(link_.a.scq, 0);
		link_renew(&link_);
	}
}

/* Waits a moment, and checks that nothing is written to the memory. */
static void expect_untouched(void)
{
	uint8_t *to = b.buf->data;
	int i;

	memset(to, 0x5a, LARGE);
	usleep(20000);
	for (i = 0; i < LARGE; i++)
		CHECK_EQ(to[i], 0x5a);
}

/* Once a queue pair is reset, no request of its list writes any more. */
static void nothing_after_reset(void)
{
	int round;

	begin(LARGE);
	for (round = 0; round < 5; round++) {
		post_large();
		CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RESET), 0);
		/* Packets that were sent may still arrive: stop the receiver, too. */
		if (dev.packets)
			CHECK_EQ(end_set_state(&link_.b, IBV_QPS_RESET), 0);
		expect_untouched();
		expect_none(link_.a.scq, 0);
		link_renew(&link_);
	}
}

/* Once a queue pair is destroyed, no request of its list writes any more. */
static void nothing_after_destroy(void)
{
	int round;

	for (round = 0; round < 5; round++) {
		begin(LARGE);
		post_large();
		link_free(&link_);
		expect_untouched();
		region_free(&a);
		region_free(&b);
	}
}

/*
 * Posts more work than fits into one system call: the call must return early, and destroying the
 * QP must not wait for the rest.
 */
static bool left_in_the_middle(void *arg)
{
	/* Too few requests for a stream. */
	enum { FEW = 12, HUGE = 1 << 30 };
	/* From the null region: takes time but no memory. */
	const struct ibv_mr *null = arg;
	struct ibv_sge sge = { 0, HUGE, null->lkey };
	struct ibv_send_wr wr[FEW];
	bool left;
	int i;

	begin(8);
	for (i = 0; i < FEW; i++) {
		wr[i] = (struct ibv_send_wr){
			.wr_id = i,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.next = i + 1 < FEW ? &wr[i + 1] : NULL,
		};
		post_recv(&link_.b, &sge, 1, i);
	}
	post(&link_.a, wr);
	left = drain(link_.a.scq) < FEW;
	link_free(&link_);
	region_free(&a);
	region_free(&b);
	return left;
}

/* Who looks into memory while a long list of requests is executed sees a part of them done. */
static void in_turns(void)
{
	struct ibv_mr *null = ibv_alloc_null_mr(dev.pd);

	if (!null)
		lacks("no null region: errno %d", errno);
	CHECK(one_of(10, "who looks late sees all of them", left_in_the_middle,
		     null));
	CHECK_EQ(ibv_dereg_mr(null), 0);
}

static void let_streams(const char *yes_or_no)
{
	CHECK_EQ(file_write(yes_or_no, "/sys/module/pinion/parameters/streams"),
		 0);
}

/* Posts enough writes at a time that streams begin. Returns how many did. */
static long long streams_of_some(void)
{
	long long before;
	int round, i;

	/* The kernel refreshes these counters only some times a second. */
	usleep(100000);
	before = device_counter("streams");
	for (round = 0; round < 50; round++) {
		for (i = 0; i < QUEUE; i++)
			post_write(i, 0, 8 * i, 8);
		for (i = 0; i < QUEUE; i++)
			CHECK_EQ(await(link_.a.scq).wr_id, i);
	}
	usleep(100000);
	return device_counter("streams") - before;
}

/* With the parameter `streams' off nothing streams, and with it on again it does. */
static void switched_off(void)
{
	long long off, on;

	need_root();
	if (!there_are_streams())
		skip("nothing streams here");
	begin(AREA);
	let_streams("N");
	off = streams_of_some();
	let_streams("Y");
	on = streams_of_some();
	CHECK_EQ(off, 0);
	CHECK(on > 0);
}

static const struct test tests[] = {
	TEST(in_turns, "streams: nobody waits for all of a long list"),
	TEST(in_order, "streams: in order, with a slot for each completion"),
	TEST(after_a_pause, "streams: a pause, then one request more"),
	TEST(into_the_error_state, "streams: the error state in the middle"),
	TEST(nothing_after_reset, "streams: nothing is written after a reset"),
	TEST(nothing_after_destroy,
	     "streams: nothing is written after destroy"),
	TEST(switched_off, "streams: switched off"),
};

HARNESS_MAIN("Streams of requests", tests)
