// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbell records: that each is heard, whatever waits beside it (item VB1).
 */
#include <string.h>
#include <unistd.h>

#include "raw_queue.h"

enum { LEN = 4096, REQUEST = 0 };

/* The code of the time after which a sender may ask again: 10 us. */
enum { RNR_SHORT = 1 };

static struct region from, to;

/* RESET to RTS. @rnr_timer: what it tells who finds it without a receive request. */
static void connect_slowly(struct raw_queue *q, uint32_t remote_qpn,
			   uint32_t rnr_timer)
{
	static const uint16_t steps[] = { PRM_RST2INIT_QP, PRM_INIT2RTR_QP,
					  PRM_RTR2RTS_QP };
	enum { PSN = 0x123456, RNR_TIMER = PRM_QPC + 0x94 };
	struct prm_path path = raw_path(remote_qpn, PSN);
	uint8_t in[PRM_QP], out[PRM_HEAD] = {};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		prm_change_qp(in, steps[i], q->qpn, &path);
		prm_put32(in, RNR_TIMER, rnr_timer << 24 | PSN);
		CHECK_EQ(mlx5dv_devx_obj_modify(q->qp, in, sizeof(in), out,
						sizeof(out)),
			 0);
	}
}

static void pair_make(struct raw_queue *a, struct raw_queue *b,
		      uint32_t rnr_timer)
{
	raw_make(a, false);
	raw_make(b, false);
	connect_slowly(a, b->qpn, rnr_timer);
	connect_slowly(b, a->qpn, rnr_timer);
}

static void pair_free(struct raw_queue *a, struct raw_queue *b)
{
	raw_free(a);
	raw_free(b);
}

static void begin(void)
{
	dv_begin();
	from = region_new(LEN, 3, ALL_ACCESS);
	to = region_new(LEN, 5, ALL_ACCESS);
}

static void post_send(struct raw_queue *q)
{
	uint8_t segment[SEGMENT];

	raw_data(segment, &from, 0, 100);
	raw_post(q, RAW_SEND, RAW_SIGNALED, 0, segment, 1);
}

static void write_some(struct raw_queue *q, uint32_t at)
{
	uint8_t segments[2 * SEGMENT];
	uint16_t counter = q->sq;
	struct raw_cqe cqe;

	raw_address(segments, &to, at);
	raw_data(segments + SEGMENT, &from, at, 100);
	raw_post(q, RAW_WRITE, RAW_SIGNALED, 0, segments, 2);
	raw_ring(q);
	cqe = raw_await(q);
	CHECK_EQ(cqe.opcode, REQUEST);
	CHECK_EQ(cqe.counter, counter);
	CHECK(!memcmp(to.buf->data + at, from.buf->data + at, 100));
}

static void await_waits(long long least)
{
	double limit = now() + patience(PATIENCE);

	while (device_counter("rnr_waits") < least) {
		if (now() > limit)
			FAIL("nobody waits for a receiver");
		usleep(1000);
	}
}

/* ------------------------------------------------------------------- being heard */

/* Senders that are told again and again to come later keep no other from being heard. */
static void vb1_beside_those_that_wait(void)
{
	enum { PAIRS = 64, MESSAGES = 20 };
	static struct raw_queue waiting[PAIRS], deaf[PAIRS];
	struct raw_queue a, b;
	long long before;
	int i;

	begin();
	pair_make(&a, &b, RNR_SHORT);
	before = device_counter("rnr_waits");
	for (i = 0; i < PAIRS; i++) {
		pair_make(&waiting[i], &deaf[i], RNR_SHORT);
		post_send(&waiting[i]);
		raw_ring(&waiting[i]);
	}
	await_waits(before + PAIRS);
	for (i = 0; i < MESSAGES; i++)
		write_some(&a, i * 100);
	for (i = 0; i < PAIRS; i++)
		pair_free(&waiting[i], &deaf[i]);
	pair_free(&a, &b);
}

static const struct test tests[] = {
	TEST(vb1_beside_those_that_wait, "VB1 heard beside queues that wait"),
};

HARNESS_MAIN("Doorbell records on pinion", tests)
