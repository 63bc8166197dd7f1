// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copies within the memory of one program, posted as requests of queue pairs made by command
 * (items VP1 to VP3).
 */
#include <string.h>

#include "raw.h"
#include "raw_queue.h"
#include "slow.h"

enum { LEN = 20000, MOST = 1 << 20, MMO = 0x2f, IS_COPY = 1 };

/* The syndrome of a local protection error. */
enum { LOCAL_PROTECTION = 0x04 };

static struct raw_queue a, b;
static struct region from, to;

static void begin(void)
{
	dv_begin();
	from = region_new(LEN, 3, ALL_ACCESS);
	to = region_new(LEN, 5, ALL_ACCESS);
	raw_make_pair(&a, &b, false);
}

/* Source or sink of a copy: @at bytes into @region. */
struct place {
	const struct region *region;
	uint32_t at;
};

static struct place place(const struct region *region, uint32_t at)
{
	return (struct place){ .region = region, .at = at };
}

static void copy_post(struct place source, struct place sink, uint32_t length)
{
	/* The first segment is for a result, and is ignored. */
	uint8_t segments[3 * SEGMENT] = {};
	uint8_t *ctrl = a.buf->data + SQ_AT + a.sq % (1 << SQ_LOG) * BLOCK;

	raw_data(segments + SEGMENT, source.region, source.at, length);
	raw_data(segments + 2 * SEGMENT, sink.region, sink.at, length);
	raw_post(&a, MMO, RAW_SIGNALED, 0, segments, 3);
	ctrl[0] = IS_COPY;
	raw_ring(&a);
}

static void copied(void)
{
	struct raw_cqe cqe = raw_await(&a);

	CHECK_EQ(cqe.opcode, REQUEST);
	CHECK_EQ(cqe.sent, MMO);
}

/* Expects an error, and replaces the queue pair, which is broken by it. */
static void copy_refused(uint8_t syndrome)
{
	struct raw_cqe cqe = raw_await(&a);

	CHECK_EQ(cqe.opcode, BAD_REQUEST);
	if (syndrome)
		CHECK_EQ(cqe.syndrome, syndrome);
	CHECK_EQ(raw_state(&a), STATE_ERR);
	raw_free(&a);
	raw_make(&a, false);
	raw_connect(&a, b.qpn);
}

/* Copies of any length between pinned memory and pages that are missing. */
static void vp1_anywhere(void)
{
	struct region paged;
	int i;

	begin();
	paged = region_new(LEN, 11, ODP_ALL);
	for (i = 0; i < 60; i++) {
		uint32_t length = rnd_in(1, LEN);
		struct place source = place(i % 3 ? &from : &paged,
					    rnd_below(LEN - length + 1));
		struct place sink = place(i % 3 == 1 ? &paged : &to,
					  rnd_below(LEN - length + 1));

		context("copy %d", i);
		buf_fill(source.region->buf);
		buf_fill(sink.region->buf);
		/* Drop the pages of the sink. */
		if (sink.region == &paged)
			buf_forget(paged.buf);
		memcpy(sink.region->buf->want + sink.at,
		       source.region->buf->data + source.at, length);
		copy_post(source, sink, length);
		copied();
		buf_check(source.region->buf);
		buf_check(sink.region->buf);
	}
	raw_free(&a);
	raw_free(&b);
}

/* Missing rights and lengths that are too large: no byte is written. */
static void vp2_refused(void)
{
	struct region readable, strange, large, larger;
	struct ibv_pd *pd;

	begin();
	readable = region_new(LEN, 9, IBV_ACCESS_REMOTE_READ);
	pd = MUST(ibv_alloc_pd(dev.ctx));
	strange = region_reg(pd, buf_new(LEN, 7), ALL_ACCESS);
	large = region_new(MOST + 1, 13, ALL_ACCESS);
	larger = region_new(MOST + 1, 15, ALL_ACCESS);

	copy_post(place(&from, 0), place(&readable, 0), 100);
	copy_refused(LOCAL_PROTECTION);
	copy_post(place(&from, 0), place(&strange, 0), 100);
	copy_refused(LOCAL_PROTECTION);
	copy_post(place(&strange, 0), place(&to, 0), 100);
	copy_refused(LOCAL_PROTECTION);
	/* One byte beyond the end of the source, or of the sink. */
	copy_post(place(&from, 1), place(&to, 0), LEN);
	copy_refused(LOCAL_PROTECTION);
	copy_post(place(&from, 0), place(&to, 1), LEN);
	copy_refused(LOCAL_PROTECTION);
	copy_post(place(&large, 0), place(&larger, 0), MOST + 1);
	copy_refused(0);
	buf_check(readable.buf);
	buf_check(strange.buf);
	buf_check(to.buf);
	buf_check(larger.buf);
	/* The greatest length works. */
	memcpy(larger.buf->want + 1, large.buf->data, MOST);
	copy_post(place(&large, 0), place(&larger, 1), MOST);
	copied();
	buf_check(larger.buf);
	raw_free(&a);
	raw_free(&b);
	region_free(&strange);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

/* The region has the memory of @buf then, at the same address and with the same keys. */
static void exchange_under(const struct region *region, const struct buf *buf)
{
	struct ib_uverbs_rereg_mr cmd = {
		.mr_handle = region->mr->handle,
		.flags = IBV_REREG_MR_CHANGE_TRANSLATION,
		.start = (uintptr_t)buf->data,
		.length = buf->length,
		.hca_va = region->base,
	};

	CHECK_EQ(raw_rereg_mr(dev.ctx->cmd_fd, &cmd), 0);
}

/*
 * The sink's memory is exchanged by a rereg while the copy waits for a page of the source: the copy
 * fails, and writes nothing to the new memory.
 */
static void vp3_exchanged(void)
{
	struct buf *other = buf_new(LEN, 5);
	struct slow memory = slow_new();
	struct region slow;

	begin();
	/* The memory was not touched before, so no page is present. */
	slow_hold(&memory, true);
	slow = region_of(
		NULL, MUST(ibv_reg_mr(dev.pd, memory.map, SLOW_LEN, ODP_ALL)),
		(uintptr_t)memory.map);
	copy_post(place(&slow, 10), place(&to, 10), 100);
	slow_await(&memory);
	exchange_under(&to, other);
	slow_hold(&memory, false);
	copy_refused(LOCAL_PROTECTION);
	buf_check(other);
	buf_check(to.buf);
	/* The new memory can be used afterwards. */
	rnd_fill(memory.map, PAGE);
	memcpy(other->want + 10, memory.map + 10, 100);
	copy_post(place(&slow, 10), place(&to, 10), 100);
	copied();
	buf_check(other);
	raw_free(&a);
	raw_free(&b);
}

static const struct test tests[] = {
	TEST(vp1_anywhere, "VP1 copies, from and to anywhere"),
	TEST(vp2_refused, "VP2 copies that are refused"),
	TEST(vp3_exchanged, "VP3 memory that is exchanged under a copy"),
};

HARNESS_MAIN("DEVX copies on pinion", tests)
