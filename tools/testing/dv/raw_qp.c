// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs made by command on umems: traffic, errors, queries, refusals, and hostile rings
 * (items VR1 to VR21).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "raw_queue.h"

enum { LEN = 20000 };

static struct raw_queue a, b;
static struct region from, to;

static void begin(bool wide)
{
	dv_begin();
	from = region_new(LEN, 3, ALL_ACCESS);
	to = region_new(LEN, 5, ALL_ACCESS);
	raw_make_pair(&a, &b, wide);
}

static void end(void)
{
	raw_free(&a);
	raw_free(&b);
}

/* Expects the sender's completion. */
static void sent(uint8_t opcode, uint16_t counter)
{
	struct raw_cqe cqe = raw_await(&a);

	CHECK_EQ(cqe.opcode, REQUEST);
	CHECK_EQ(cqe.sent, opcode);
	CHECK_EQ(cqe.counter, counter);
	CHECK_EQ(cqe.qpn, a.qpn);
	CHECK_EQ(cqe.user_index, a.asked.user_index);
}

static void rdma_one(uint8_t opcode, uint32_t at, uint32_t length)
{
	uint8_t segments[2 * SEGMENT];
	uint16_t counter = a.sq;

	raw_address(segments, &to, at);
	raw_data(segments + SEGMENT, &from, at, length);
	raw_post(&a, opcode, RAW_SIGNALED, 0, segments, 2);
	raw_ring(&a);
	sent(opcode, counter);
	CHECK(!memcmp(from.buf->data + at, to.buf->data + at, length));
}

/* Writes and reads through queues by command, many times around the ring. */
static void vr1_rdma(void)
{
	int i;

	begin(false);
	for (i = 0; i < 100; i++) {
		rnd_fill(from.buf->data, LEN);
		rdma_one(RAW_WRITE, rnd_in(0, LEN / 2), rnd_in(1, LEN / 2));
		memset(to.buf->data, i, LEN);
		rdma_one(RAW_READ, rnd_in(0, LEN / 2), rnd_in(1, LEN / 2));
	}
	end();
}

/* Writes one byte, and polls for the completion without sleeping. */
static void write_byte(uint32_t at)
{
	uint8_t segments[2 * SEGMENT];
	double limit = now() + patience(PATIENCE);
	uint16_t counter = a.sq;
	struct raw_cqe cqe;

	raw_address(segments, &to, at);
	raw_data(segments + SEGMENT, &from, at, 1);
	raw_post(&a, RAW_WRITE, RAW_SIGNALED, 0, segments, 2);
	raw_ring(&a);
	while (!raw_poll(&a, &cqe)) {
		if (now() > limit)
			FAIL("no doorbell is heard");
	}
	CHECK_EQ(cqe.opcode, REQUEST);
	CHECK_EQ(cqe.counter, counter);
	CHECK_EQ(to.buf->data[at], from.buf->data[at]);
}

/*
 * Each request follows the one before at once, or about the time when the kernel stops polling all
 * the time and polls at intervals, or long after that.
 */
static void vr12_doorbells(void)
{
	double until = now() + opt.seconds, next;
	uint32_t n = 0;

	begin(false);
	while (n < 2000 || now() < until) {
		write_byte(n % LEN);
		to.buf->data[n++ % LEN] ^= 0xff;
		if (n % 4)
			continue;
		next = now() + rnd_in(0, n % 64 ? 120 : 3000) * 1e-6;
		while (now() < next)
			;
	}
	printf("# %u doorbells\n", n);
	end();
}

/* SENDs with lists of pieces, several times round the rings. @wide: completions of 128 bytes. */
static void vr2_sends(int wide)
{
	enum { PIECES = 7 };
	uint8_t segments[PIECES * SEGMENT], sink[2 * SEGMENT];
	struct raw_cqe cqe;
	uint32_t pieces, length, i, n;
	uint16_t counter;

	begin(wide);
	for (n = 0; n < 200; n++) {
		pieces = rnd_in(1, PIECES);
		for (i = 0, length = 0; i < pieces; i++) {
			uint32_t each = rnd_in(1, 1000);

			raw_data(segments + i * SEGMENT, &from, length, each);
			length += each;
		}
		memset(to.buf->data, n, LEN);
		raw_data(sink, &to, 0, 100);
		raw_data(sink + SEGMENT, &to, 100, LEN - 100);
		raw_post_recv(&b, sink, 2);
		counter = a.sq;
		raw_post(&a, n & 1 ? RAW_SEND_IMM : RAW_SEND, RAW_SIGNALED,
			 0x1000 + n, segments, pieces);
		raw_ring(&a);
		cqe = raw_await(&b);
		CHECK_EQ(cqe.opcode, n & 1 ? RECV_IMM : RECV);
		CHECK_EQ(cqe.length, length);
		CHECK_EQ(cqe.imm, n & 1 ? 0x1000 + n : 0);
		CHECK_EQ(cqe.counter, n);
		CHECK_EQ(cqe.qpn, b.qpn);
		CHECK(!memcmp(from.buf->data, to.buf->data, length));
		CHECK_EQ(to.buf->data[length], n & 0xff);
		sent(n & 1 ? RAW_SEND_IMM : RAW_SEND, counter);
	}
	end();
}

/* Inline data and atomics through queues by command. */
static void vr4_inline_and_atomics(void)
{
	uint8_t segments[3 * SEGMENT] = {};
	uint64_t *word, before;
	int i;

	begin(false);
	raw_address(segments, &to, 0);
	prm_put32(segments, SEGMENT, 1U << 31 | 20);
	memcpy(segments + SEGMENT + 4, "what is in the ring.", 20);
	raw_post(&a, RAW_WRITE, RAW_SIGNALED, 0, segments, 3);
	raw_ring(&a);
	sent(RAW_WRITE, 0);
	CHECK(!memcmp(to.buf->data, "what is in the ring.", 20));

	/* The first aligned word: both regions begin at odd addresses. */
	word = (uint64_t *)(to.buf->data + 3);
	*word = 100;
	for (i = 0; i < 10; i++) {
		raw_address(segments, &to, 3);
		prm_put64(segments, SEGMENT, 7);
		prm_put64(segments, SEGMENT + 8, 0);
		raw_data(segments + 2 * SEGMENT, &from, 0, 8);
		raw_post(&a, RAW_FETCH_ADD, RAW_SIGNALED, 0, segments, 3);
		raw_ring(&a);
		sent(RAW_FETCH_ADD, a.sq - 1);
		memcpy(&before, from.buf->data, 8);
		CHECK_EQ(before, 100 + i * 7);
	}
	raw_address(segments, &to, 3);
	prm_put64(segments, SEGMENT, 5);
	prm_put64(segments, SEGMENT + 8, 170);
	raw_post(&a, RAW_CMP_SWP, RAW_SIGNALED, 0, segments, 3);
	raw_ring(&a);
	sent(RAW_CMP_SWP, a.sq - 1);
	CHECK_EQ(*word, 5);
	end();
}

/* Fills @segments with @length random bytes inline. Returns the number of segments. */
static uint32_t inline_bytes(uint8_t *segments, uint32_t length)
{
	uint32_t i;

	prm_put32(segments, 0, 1U << 31 | length);
	for (i = 0; i < length; i++)
		segments[4 + i] = rnd();
	return (4 + length + SEGMENT - 1) / SEGMENT;
}

/* Requests whose first bytes are inline, and whose other bytes are in pieces of a region. */
static void vr17_inline_then_pieces(void)
{
	enum { INLINE = 60, PIECES = 3, ALL = 4 + PIECES };
	uint8_t segments[(1 + ALL) * SEGMENT], sink[SEGMENT], *data;
	uint32_t lead, pieces, length, count, each, i, n;
	struct raw_cqe cqe;

	begin(false);
	for (n = 0; n < 200; n++) {
		bool writes = n & 1;

		memset(to.buf->data, n, LEN);
		raw_address(segments, &to, 0);
		data = segments + (writes ? SEGMENT : 0);
		lead = rnd_in(0, INLINE);
		pieces = rnd_in(1, PIECES);
		count = inline_bytes(data, lead);
		for (i = 0, length = 0; i < pieces; i++) {
			each = rnd_in(1, 3000);
			raw_data(data + count++ * SEGMENT, &from, length, each);
			length += each;
		}
		raw_data(sink, &to, 0, LEN);
		raw_post_recv(&b, sink, 1);
		raw_post(&a, writes ? RAW_WRITE_IMM : RAW_SEND_IMM,
			 RAW_SIGNALED, n, segments, writes + count);
		raw_ring(&a);
		cqe = raw_await(&b);
		CHECK_EQ(cqe.opcode, writes ? RECV_WRITE_IMM : RECV_IMM);
		CHECK_EQ(cqe.length, lead + length);
		CHECK(!memcmp(to.buf->data, data + 4, lead));
		CHECK(!memcmp(to.buf->data + lead, from.buf->data, length));
		CHECK_EQ(to.buf->data[lead + length], n & 0xff);
		CHECK_EQ(raw_await(&a).opcode, REQUEST);
	}
	end();
}

/* Inline bytes behind a piece are refused, and so is a piece with a wrong key behind them. */
static void vr18_inline_then_wrong(void)
{
	enum { BAD_OPERATION = 2, LOCAL_PROTECTION = 4 };
	uint8_t segments[3 * SEGMENT];
	struct region wrong;
	struct raw_cqe cqe;
	int i;

	for (i = 0; i < 2; i++) {
		context("mistake %d", i);
		begin(false);
		memset(to.buf->data, 0xee, LEN);
		wrong = from;
		wrong.lkey ^= 0x5500;
		raw_address(segments, &to, 0);
		raw_data(segments + (1 + i) * SEGMENT, i ? &wrong : &from, 0,
			 9);
		inline_bytes(segments + (2 - i) * SEGMENT, 9);
		raw_post(&a, RAW_WRITE, RAW_SIGNALED, 0, segments, 3);
		raw_ring(&a);
		cqe = raw_await(&a);
		CHECK_EQ(cqe.opcode, BAD_REQUEST);
		CHECK_EQ(cqe.syndrome, i ? LOCAL_PROTECTION : BAD_OPERATION);
		CHECK_EQ(to.buf->data[0], 0xee);
		end();
	}
}

/* A NOP has only a control segment. It completes behind all requests before it. */
static void vr19_nop(void)
{
	uint8_t segments[2 * SEGMENT];
	uint16_t counter;
	uint32_t i, n;

	begin(false);
	for (n = 0; n < 50; n++) {
		memset(to.buf->data, n, LEN);
		for (i = 0; i < n % 4; i++) {
			raw_address(segments, &to, i * 4000);
			raw_data(segments + SEGMENT, &from, i * 4000, 4000);
			raw_post(&a, RAW_WRITE, 0, 0, segments, 2);
		}
		counter = a.sq;
		raw_post(&a, RAW_NOP, RAW_SIGNALED, 0, NULL, 0);
		raw_ring(&a);
		sent(RAW_NOP, counter);
		CHECK(!memcmp(from.buf->data, to.buf->data, i * 4000));
		CHECK_EQ(to.buf->data[i * 4000], n & 0xff);
	}
	end();
}

/* Post a WRITE, and take its completion without updating the consumer index. */
static void write_untold(const uint8_t *segments, int counter)
{
	time_t until = time(NULL) + PATIENCE;
	struct raw_cqe cqe;

	raw_post(&a, RAW_WRITE, RAW_SIGNALED, 0, segments, 2);
	raw_ring(&a);
	while (!raw_peek(&a, &cqe))
		CHECK(time(NULL) < until);
	CHECK_EQ(cqe.opcode, REQUEST);
	CHECK_EQ(cqe.counter, counter);
}

/*
 * Its program has promised to poll in time, and never updates the consumer index: completions
 * come, one round after another.
 */
static void vr20_overruns(void)
{
	enum { OVERRUNS = 1 << 17 };
	uint8_t segments[2 * SEGMENT], in[PRM_HEAD], out[PRM_CQ_OUT] = {};
	int i;

	dv_begin();
	from = region_new(LEN, 3, ALL_ACCESS);
	to = region_new(LEN, 5, ALL_ACCESS);
	raw_places_overrun(&a);
	a.qp = MUST(raw_try_qp(&a, out));
	a.qpn = prm_number(out);
	raw_make(&b, false);
	raw_connect(&a, b.qpn);
	raw_connect(&b, a.qpn);
	raw_address(segments, &to, 0);
	raw_data(segments + SEGMENT, &from, 0, 10);
	for (i = 0; i < 3 << CQ_LOG; i++)
		write_untold(segments, i);
	CHECK_EQ(raw_state(&a), STATE_RTS);
	prm_head(in, PRM_QUERY_CQ, a.cqn);
	CHECK_EQ(mlx5dv_devx_obj_query(a.cq, in, sizeof(in), out, sizeof(out)),
		 0);
	CHECK_EQ(prm_get32(out, 0x10), 1 << 25 | OVERRUNS);
	CHECK_EQ(prm_get32(out, 0x3c), 3 << CQ_LOG);
	end();
}

/* The device only reads requests and their records: a umem that is pinned for reading will do. */
static void vr21_read_only(void)
{
	umem_t read_only;
	uint8_t out[PRM_HEAD];
	int i;

	dv_begin();
	from = region_new(LEN, 3, ALL_ACCESS);
	to = region_new(LEN, 5, ALL_ACCESS);
	raw_places(&a, false);
	read_only = MUST(dv_umem(a.buf->data, RAW_LEN, 0, ~0ULL));
	a.asked.umem_id = read_only->umem_id;
	a.asked.record_umem_id = read_only->umem_id;
	a.qp = MUST(raw_try_qp(&a, out));
	a.qpn = prm_number(out);
	raw_make(&b, false);
	raw_connect(&a, b.qpn);
	raw_connect(&b, a.qpn);
	CHECK_EQ(mlx5dv_devx_umem_dereg(read_only), EBUSY);
	for (i = 0; i < 100; i++)
		rdma_one(RAW_WRITE, rnd_in(0, LEN / 2), rnd_in(1, LEN / 2));
	end();
	CHECK_EQ(mlx5dv_devx_umem_dereg(read_only), 0);
}

/* A request with an unknown key fails. Later requests and receives are flushed. */
static void vr5_errors(void)
{
	enum { LOCAL_PROTECTION = 4, FLUSHED = 5, REMOTE_ACCESS = 0x13 };
	uint8_t segments[2 * SEGMENT], out[PRM_HEAD];
	struct prm_path path = raw_path(0, 0);
	struct region wrong;
	struct raw_cqe cqe;

	begin(false);
	raw_data(segments, &to, 0, 100);
	raw_post_recv(&a, segments, 1);
	wrong = to;
	wrong.rkey ^= 0x5500;
	raw_address(segments, &wrong, 0);
	raw_data(segments + SEGMENT, &from, 0, 100);
	raw_post(&a, RAW_WRITE, 0, 0, segments, 2);
	raw_post(&a, RAW_WRITE, 0, 0, segments, 2);
	raw_ring(&a);
	cqe = raw_await(&a);
	CHECK_EQ(cqe.opcode, BAD_REQUEST);
	CHECK_EQ(cqe.syndrome, REMOTE_ACCESS);
	CHECK_EQ(cqe.counter, 0);
	cqe = raw_await(&a);
	CHECK(cqe.opcode == BAD_REQUEST || cqe.opcode == BAD_RECV);
	CHECK_EQ(cqe.syndrome, FLUSHED);
	cqe = raw_await(&a);
	CHECK_EQ(cqe.syndrome, FLUSHED);
	CHECK_EQ(raw_state(&a), STATE_ERR);
	/* Requests posted from now on are flushed, too. */
	raw_post_recv(&a, segments, 1);
	CHECK_EQ(raw_await(&a).opcode, BAD_RECV);
	raw_post(&a, RAW_WRITE, 0, 0, segments, 2);
	raw_ring(&a);
	CHECK_EQ(raw_await(&a).opcode, BAD_REQUEST);
	/* After a reset of both queue pairs traffic works again. */
	CHECK_EQ(raw_change(&a, PRM_2RST_QP, &path, out), 0);
	CHECK_EQ(raw_change(&b, PRM_2RST_QP, &path, out), 0);
	CHECK_EQ(raw_state(&a), STATE_RESET);
	memset(a.buf->data + QP_RECORD_AT, 0, 8);
	memset(b.buf->data + QP_RECORD_AT, 0, 8);
	a.sq = 0;
	a.rq = 0;
	b.sq = 0;
	b.rq = 0;
	raw_connect(&a, b.qpn);
	raw_connect(&b, a.qpn);
	rdma_one(RAW_WRITE, 10, 1000);
	end();
}

/* After a reset the record has the same numbers as before, which the kernel must notice. */
static void vr10_same_numbers(void)
{
	struct prm_path path = raw_path(0, 0);
	uint8_t out[PRM_HEAD];
	int i;

	begin(false);
	for (i = 0; i < 20; i++) {
		rdma_one(RAW_WRITE, i, 100);
		CHECK_EQ(raw_change(&a, PRM_2RST_QP, &path, out), 0);
		CHECK_EQ(raw_change(&b, PRM_2RST_QP, &path, out), 0);
		raw_connect(&b, a.qpn);
		a.sq = 0;
		path = raw_path(b.qpn, 0x123456);
		CHECK_EQ(raw_change(&a, PRM_RST2INIT_QP, &path, out), 0);
		CHECK_EQ(raw_change(&a, PRM_INIT2RTR_QP, &path, out), 0);
		/* The record is 0 for a very short time only. */
		raw_ring(&a);
		CHECK_EQ(raw_change(&a, PRM_RTR2RTS_QP, &path, out), 0);
	}
	end();
}

/* The consumer index is never updated: the last completion is lost, and none is overwritten. */
static void vr11_overflow(void)
{
	enum { LOST = 9 };
	uint8_t segments[2 * SEGMENT], in[PRM_HEAD], out[PRM_CQ_OUT] = {};
	struct raw_cqe cqe;
	time_t until;
	int i;

	begin(false);
	raw_address(segments, &to, 0);
	raw_data(segments + SEGMENT, &from, 0, 10);
	for (i = 0; i < 1 << CQ_LOG; i++)
		write_untold(segments, i);
	raw_post(&a, RAW_WRITE, RAW_SIGNALED, 0, segments, 2);
	raw_ring(&a);
	for (until = time(NULL) + PATIENCE; raw_state(&a) != STATE_ERR;)
		CHECK(time(NULL) < until);
	CHECK(!raw_peek(&a, &cqe));
	CHECK_EQ(prm_get32(a.buf->data + CQ_AT, 60) >> 16, 0);
	prm_head(in, PRM_QUERY_CQ, a.cqn);
	CHECK_EQ(mlx5dv_devx_obj_query(a.cq, in, sizeof(in), out, sizeof(out)),
		 0);
	CHECK_EQ(prm_get32(out, 0x10) >> 28, LOST);
	CHECK_EQ(prm_get32(out, 0x3c), 1 << CQ_LOG);
	/* Leave all objects for the kernel to clean up. */
}

/* A queue pair takes each step from the right state only, and a query tells its values. */
static void vr6_states(void)
{
	static const struct {
		uint16_t opcode;
		uint8_t from, to;
	} steps[] = {
		{ PRM_RST2INIT_QP, STATE_RESET, STATE_INIT },
		{ PRM_INIT2RTR_QP, STATE_INIT, STATE_RTR },
		{ PRM_RTR2RTS_QP, STATE_RTR, STATE_RTS },
		{ PRM_RTS2RTS_QP, STATE_RTS, STATE_RTS },
	};
	uint8_t in[PRM_QP], out[PRM_QP_OUT] = {};
	struct prm_path path;
	size_t i, j;

	dv_begin();
	raw_make(&a, false);
	path = raw_path(a.qpn, 77);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		for (j = 0; j < ARRAY_SIZE(steps); j++) {
			if (steps[j].from == steps[i].from)
				continue;
			dv_refused(raw_change(&a, steps[j].opcode, &path, out),
				   out, PRM_QP_STATE);
		}
		CHECK_EQ(raw_state(&a), steps[i].from);
		CHECK_EQ(raw_change(&a, steps[i].opcode, &path, out), 0);
		CHECK_EQ(raw_state(&a), steps[i].to);
	}
	prm_head(in, PRM_QUERY_QP, a.qpn);
	CHECK_EQ(mlx5dv_devx_obj_query(a.qp, in, PRM_HEAD, out, sizeof(out)),
		 0);
	CHECK_EQ(prm_get32(out, PRM_QPC + 0x04) & 0xffffff, dv_pdn(dev.pd));
	CHECK_EQ(prm_get32(out, PRM_QPC + 0x14), a.qpn);
	CHECK(!memcmp(out + PRM_QPC + 0x28, path.gid, 16));
	CHECK(!memcmp(out + PRM_QPC + 0x3e, path.mac, 6));
	CHECK_EQ(prm_get32(out, PRM_QPC + 0x78), 77);
	CHECK_EQ(prm_get32(out, PRM_QPC + 0x7c), a.cqn);
	CHECK_EQ(prm_get32(out, PRM_QPC + 0x9c), a.cqn);
	CHECK_EQ(prm_get64(out, PRM_QPC + 0xa0), QP_RECORD_AT);
	/* An invalid source address: the queue pair stays in its state. */
	CHECK_EQ(raw_change(&a, PRM_2RST_QP, &path, out), 0);
	CHECK_EQ(raw_change(&a, PRM_RST2INIT_QP, &path, out), 0);
	path.sgid_index = 250;
	dv_refused(raw_change(&a, PRM_INIT2RTR_QP, &path, out), out,
		   PRM_QP_ATTRIBUTE);
	CHECK_EQ(raw_state(&a), STATE_INIT);
	CHECK_EQ(raw_change(&a, PRM_2ERR_QP, &path, out), 0);
	CHECK_EQ(raw_state(&a), STATE_ERR);
	raw_free(&a);
}

static void qp_refused(uint32_t syndrome)
{
	uint8_t out[PRM_HEAD];

	CHECK(!raw_try_qp(&a, out));
	dv_refused(errno, out, syndrome);
}

/* Queue pairs with wrong numbers, places, sizes and services are refused, with the syndrome. */
static void vr7_refused(void)
{
	struct prm_qp good;
	uint8_t in[PRM_QP], out[PRM_HEAD] = {};

	dv_begin();
	raw_places(&a, false);
	good = a.asked;
	a.asked.pdn++;
	qp_refused(PRM_NO_PD);
	a.asked = good;
	a.asked.recv_cqn ^= 1;
	qp_refused(PRM_NO_CQ);
	a.asked = good;
	a.asked.send_cqn = 0;
	qp_refused(PRM_NO_CQ);
	a.asked = good;
	a.asked.record = RAW_LEN - 4;
	qp_refused(PRM_QUEUE_UMEM);
	a.asked = good;
	a.asked.offset = RAW_LEN - 64;
	qp_refused(PRM_QUEUE_UMEM);
	a.asked = good;
	a.asked.umem_id ^= 0x400;
	qp_refused(PRM_NO_UMEM);
	a.asked = good;
	a.asked.log_stride = 7;
	qp_refused(PRM_QUEUE_SIZE);
	/* A service that is not supported. */
	good.service = PRM_XRC;
	prm_create_qp(in, &good);
	good.service = PRM_RC;
	CHECK(!mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out,
				      sizeof(out)));
	dv_refused(errno, out, PRM_QP_FEATURE);
	a.asked = good;
	raw_free(&a);
}

/* Requests with a wrong index, opcode, modifier or length are refused. */
static void vr8_garbage(void)
{
	enum { BAD_REQUEST_SYNDROME = 2 };
	static const struct {
		uint8_t at, value;
	} lies[] = { { 1, 0x77 }, { 2, 0x77 }, { 3, 0xee },
		     { 0, 0x01 }, { 7, 0x3f }, { 7, 0 } };
	uint8_t segments[2 * SEGMENT], *ctrl;
	struct raw_cqe cqe;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		context("byte %d", lies[i].at);
		begin(false);
		raw_address(segments, &to, 0);
		raw_data(segments + SEGMENT, &from, 0, 10);
		ctrl = a.buf->data + SQ_AT;
		raw_post(&a, RAW_WRITE, RAW_SIGNALED, 0, segments, 2);
		ctrl[lies[i].at] = lies[i].value;
		raw_ring(&a);
		cqe = raw_await(&a);
		CHECK_EQ(cqe.opcode, BAD_REQUEST);
		CHECK_EQ(cqe.syndrome, BAD_REQUEST_SYNDROME);
		CHECK_EQ(raw_state(&a), STATE_ERR);
		end();
	}
}

static bool stop;

/* Writes all over a umem with both of its queues and records in it. */
static void *scribble(void *of)
{
	struct raw_queue *q = of;
	uint64_t *words = (uint64_t *)q->buf->data;
	uint64_t state = q->qpn, word;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		word = rnd_next(&state);
		words[rnd_next(&state) % (RAW_LEN / 8)] = word;
		if (!(word & 0xff00))
			memset(q->buf->data + QP_RECORD_AT, word, 64);
	}
	return NULL;
}

/*
 * The umem changes all the time, the record may be in a ring, and the queue pairs are reset or
 * destroyed meanwhile: this causes nothing but errors of these queue pairs.
 */
static void vr9_liars(void)
{
	struct prm_path path = raw_path(0, 0);
	pthread_t threads[2];
	uint8_t out[PRM_HEAD];
	time_t until;

	dv_begin();
	from = region_new(LEN, 3, ALL_ACCESS);
	until = time(NULL) + opt.seconds;
	do {
		raw_places(&a, false);
		raw_places(&b, false);
		if (rnd() & 1)
			a.asked.record = a.asked.offset + 64;
		if (rnd() & 1)
			b.asked.record = CQ_AT + 8;
		a.qp = MUST(raw_try_qp(&a, out));
		a.qpn = prm_number(out);
		b.qp = MUST(raw_try_qp(&b, out));
		b.qpn = prm_number(out);
		raw_connect(&a, b.qpn);
		raw_connect(&b, a.qpn);
		stop = false;
		CHECK_EQ(pthread_create(&threads[0], NULL, scribble, &a), 0);
		CHECK_EQ(pthread_create(&threads[1], NULL, scribble, &b), 0);
		usleep(rnd_in(1, 50000));
		if (rnd() & 1)
			CHECK_EQ(raw_change(&a, PRM_2RST_QP, &path, out), 0);
		if (rnd() & 1)
			CHECK_EQ(raw_change(&b, PRM_2ERR_QP, &path, out), 0);
		raw_free(&a);
		raw_free(&b);
		__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		CHECK_EQ(pthread_join(threads[0], NULL), 0);
		CHECK_EQ(pthread_join(threads[1], NULL), 0);
	} while (time(NULL) < until);
}

/* If the index claims more requests than the ring has, none of them is executed. */
static void vr13_too_far(void)
{
	double limit;
	struct raw_cqe cqe;

	begin(false);
	rdma_one(RAW_WRITE, 0, 100);
	a.sq += (1 << SQ_LOG) + 1;
	raw_ring(&a);
	limit = now() + patience(PATIENCE);
	while (raw_state(&a) != STATE_ERR && now() < limit)
		usleep(1000);
	CHECK_EQ(raw_state(&a), STATE_ERR);
	CHECK(!raw_poll(&a, &cqe));
	end();
}

/* Reads the line of the queue pair in debugfs. Returns false if it has none (any more). */
static bool find_line(char *line, size_t size)
{
	char path[200], want[16];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/kernel/debug/pinion/%s/queues",
		 ibv_get_device_name(dev.ctx->device));
	snprintf(want, sizeof(want), "%#08x ", a.qpn);
	file = fopen(path, "r");
	if (!file)
		skip("no debugfs");
	while (!found && fgets(line, size, file))
		found = !strncmp(line, want, strlen(want));
	fclose(file);
	return found;
}

/* The file `queues' shows root the state and the indices of a queue pair, until it ends. */
static void vr14_shown(void)
{
	uint8_t segments[2 * SEGMENT];
	char line[400], want[200];
	struct raw_cqe cqe;
	int i;

	begin(false);
	raw_data(segments, &to, 0, 100);
	for (i = 0; i < 3; i++)
		raw_post_recv(&a, segments, 1);
	for (i = 0; i < 2; i++)
		rdma_one(RAW_WRITE, 0, 10);
	raw_address(segments, &to, 0);
	raw_data(segments + SEGMENT, &from, 0, 10);
	raw_post(&a, RAW_WRITE, RAW_SIGNALED, 0, segments, 2);
	raw_ring(&a);
	while (!raw_peek(&a, &cqe))
		;
	snprintf(
		want, sizeof(want),
		"%#08x rc state 3 pid %d sends 3 to 3 of 32 receives 0 to 3 of 16 sent 3 to 2 of 64 received 3 to 2 of 64\n",
		a.qpn, getpid());
	CHECK(find_line(line, sizeof(line)));
	if (strcmp(line, want))
		FAIL("%s, not %s", line, want);
	a.cq_seen--;
	raw_await(&a);
	end();
	CHECK(!find_line(line, sizeof(line)));
}

/* More lines than one read() returns: each queue pair is shown once. */
static void vr15_many_shown(void)
{
	enum { MANY = 60 };
	static struct raw_queue many[MANY];
	char path[200], line[400];
	int i, seen[MANY] = {};
	uint32_t qpn;
	FILE *file;

	dv_begin();
	for (i = 0; i < MANY; i++)
		raw_make(&many[i], false);
	snprintf(path, sizeof(path), "/sys/kernel/debug/pinion/%s/queues",
		 ibv_get_device_name(dev.ctx->device));
	file = fopen(path, "r");
	if (!file)
		skip("no debugfs");
	setvbuf(file, NULL, _IOFBF, 512);
	while (fgets(line, sizeof(line), file))
		for (i = 0; i < MANY; i++)
			seen[i] += sscanf(line, "%x", &qpn) == 1 &&
				   qpn == many[i].qpn;
	fclose(file);
	for (i = 0; i < MANY; i++) {
		context("queue pair %d of %d", i, MANY);
		CHECK_EQ(seen[i], 1);
		raw_free(&many[i]);
	}
}

static void tell(uint8_t out[PRM_QP_OUT])
{
	uint8_t in[PRM_HEAD];

	prm_head(in, PRM_QUERY_QP, a.qpn);
	memset(out, 0, PRM_QP_OUT);
	CHECK_EQ(mlx5dv_devx_obj_query(a.qp, in, sizeof(in), out, PRM_QP_OUT),
		 0);
}

/*
 * RTS2RTS with one optional attribute at a time: rights and the RNR timer can be changed. Others
 * are refused, without any change, and so is a second context.
 */
static void vr16_optional(void)
{
	enum { SERVED = 7 << 1 | 1 << 6, TIMEOUT_AT = PRM_QPC + 0x20 };
	uint8_t in[PRM_QP], out[PRM_HEAD], before[PRM_QP_OUT],
		after[PRM_QP_OUT];
	struct prm_path path;
	int bit;

	begin(false);
	path = raw_path(b.qpn, 0x123456);
	tell(before);
	for (bit = 0; bit < 32; bit++) {
		context("bit %d", bit);
		path.optional = 1U << bit;
		prm_change_qp(in, PRM_RTS2RTS_QP, a.qpn, &path);
		/* The timeout differs from the present one, too. */
		in[TIMEOUT_AT] ^= 1 << 3;
		memset(out, 0, sizeof(out));
		if (SERVED >> bit & 1)
			CHECK_EQ(mlx5dv_devx_obj_modify(a.qp, in, sizeof(in),
							out, sizeof(out)),
				 0);
		else
			dv_refused(mlx5dv_devx_obj_modify(a.qp, in, sizeof(in),
							  out, sizeof(out)),
				   out, PRM_QP_ATTRIBUTE);
		tell(after);
		CHECK(!memcmp(before, after, sizeof(before)));
	}
	context(" ");
	path.optional = 0;
	prm_change_qp(in, PRM_RTS2RTS_QP, a.qpn, &path);
	prm_put32(in, 8, 1U << 31 | a.qpn);
	dv_refused(mlx5dv_devx_obj_modify(a.qp, in, sizeof(in), out,
					  sizeof(out)),
		   out, PRM_QP_FEATURE);
	CHECK_EQ(raw_state(&a), STATE_RTS);
	rdma_one(RAW_WRITE, 10, 1000);
	end();
}

static const struct test tests[] = {
	TEST(vr1_rdma, "VR1 writes and reads, one ring round after another"),
	TEST_OF(vr2_sends, false,
		"VR2 sends of many pieces, with immediate data"),
	TEST_OF(vr2_sends, true, "VR3 completions of 128 bytes"),
	TEST(vr4_inline_and_atomics, "VR4 inline data and atomics"),
	TEST(vr17_inline_then_pieces, "VR17 inline data, then pieces"),
	TEST(vr18_inline_then_wrong, "VR18 inline data and what is wrong"),
	TEST(vr19_nop, "VR19 a request for nothing completes in order"),
	TEST(vr20_overruns, "VR20 a completion queue that may be overrun"),
	TEST(vr21_read_only, "VR21 requests in memory that is only read"),
	TEST(vr5_errors, "VR5 an error, what is flushed, and a new beginning"),
	TEST(vr6_states, "VR6 states, one after the other, and what is told"),
	TEST(vr10_same_numbers, "VR10 a doorbell with the number of before"),
	TEST(vr11_overflow, "VR11 a completion queue that overflows"),
	TEST(vr12_doorbells, "VR12 doorbells, at once or after a while"),
	TEST(vr7_refused, "VR7 what is refused"),
	TEST(vr8_garbage, "VR8 requests that lie"),
	TEST(vr13_too_far, "VR13 a doorbell record beyond the ring"),
	TEST(vr14_shown, "VR14 what is shown to root"),
	TEST(vr15_many_shown, "VR15 many are shown to root"),
	TEST(vr16_optional, "VR16 what a change may change"),
	LONG_TEST(vr9_liars, "VR9 umems that change at any moment", 300),
};

HARNESS_MAIN("DEVX queue pairs on pinion", tests)
