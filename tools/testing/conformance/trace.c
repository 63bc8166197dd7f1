// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the tracepoints tell of registration: sizes and durations that can be true
 * (items TR1 to TR7), and how large the blocks of a table are (item A15).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "link.h"
#include "memory.h"
#include "tracing.h"

static uint64_t now_ns(void)
{
	return now() * 1e9;
}

static const char *of_key(uint32_t key)
{
	static char text[32];

	snprintf(text, sizeof(text), "key=%#010x ", key);
	return text;
}

/* The driver was busy for some of the time the call took. */
static void lasted(const char *line, uint64_t begun)
{
	uint64_t took = now_ns() - begun, ns = tracing_value(line, "ns");

	context("%s", line);
	CHECK(ns > 0 && ns <= took);
}

static void is_region(const char *line, const struct region *r, int access)
{
	context("%s", line);
	CHECK_EQ(tracing_value(line, "base"), r->base);
	CHECK_EQ(tracing_value(line, "length"), r->buf->length);
	CHECK_EQ(tracing_value(line, "access"), access);
}

/* As many equal blocks as hold it, and no more. */
static void is_table(const char *line, const struct buf *buf, uint64_t least)
{
	uint64_t size = tracing_value(line, "size");
	uint64_t blocks = tracing_value(line, "blocks");
	uint64_t first = tracing_value(line, "first");

	context("%s", line);
	CHECK(size >= least && !(size & (size - 1)));
	CHECK_EQ(first, (uintptr_t)buf->data & (size - 1));
	CHECK_EQ(blocks, (first + buf->length + size - 1) / size);
}

static const size_t lengths[] = { 1, 5000, 1 << 20 };

/* mr_reg tells of each registration, once, with its fields and duration. */
static void tr1_reg(void)
{
	size_t i;

	tracing_start();
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct buf *buf = buf_new(lengths[i], 77);
		uint64_t begun = now_ns();
		struct region r = region_reg(dev.pd, buf, ALL_ACCESS);
		const char *line = tracing_last("mr_reg", of_key(r.rkey));

		lasted(line, begun);
		is_region(line, &r, ALL_ACCESS);
		CHECK_EQ(tracing_count("mr_reg", of_key(r.rkey)), 1);
	}
	tracing_stop();
}

/* mtt_write tells of each table that is written, with its entries. */
static void tr2_table(void)
{
	size_t i;

	tracing_start();
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct region r = region_new(lengths[i], 77, ALL_ACCESS);
		uint64_t whole = tracing_value(
			tracing_last("mr_reg", of_key(r.rkey)), "ns");
		const char *line = tracing_last("mtt_write", "");

		is_table(line, r.buf, PAGE);
		CHECK(tracing_value(line, "ns") <= whole);
	}
	CHECK_EQ(tracing_count("mtt_write", ""), ARRAY_SIZE(lengths));
	tracing_stop();
}

/* mr_rereg tells of each change, and mtt_write only of those of memory. */
static void tr3_rereg(void)
{
	struct buf *more = buf_new(70000, 1001);
	struct region r;
	uint64_t begun;

	tracing_start();
	r = region_new(9000, 1, ALL_ACCESS);
	begun = now_ns();
	region_rereg(&r, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, more, 0);
	lasted(tracing_last("mr_rereg", of_key(r.rkey)), begun);
	is_region(tracing_last("mr_rereg", of_key(r.rkey)), &r, ALL_ACCESS);
	is_table(tracing_last("mtt_write", ""), more, PAGE);
	region_rereg(&r, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0);
	is_region(tracing_last("mr_rereg", of_key(r.rkey)), &r, 0);
	/* The same table. */
	CHECK_EQ(tracing_count("mtt_write", ""), 2);
	tracing_stop();
}

/* mr_dereg tells of the end of a region. */
static void tr4_dereg(void)
{
	struct region r;
	uint64_t begun;

	tracing_start();
	r = region_new(300000, 1, ALL_ACCESS);
	CHECK_EQ(tracing_count("mr_dereg", of_key(r.rkey)), 0);
	begun = now_ns();
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	lasted(tracing_last("mr_dereg", of_key(r.rkey)), begun);
	is_region(tracing_last("mr_dereg", of_key(r.rkey)), &r, ALL_ACCESS);
	tracing_stop();
}

static void fails(const char *what, int err)
{
	char why[32];

	CHECK_EQ(tracing_count("mr_reg_fail", what), 1);
	snprintf(why, sizeof(why), "(%d)", -err);
	context("%s", why);
	CHECK(strstr(tracing_last("mr_reg_fail", what), why));
}

/* The reason is in words, and what was asked for beside it. */
static void tr5_fail(void)
{
	struct buf *buf = buf_new(8 * PAGE, 0);

	munmap(buf->data + 7 * PAGE, PAGE);
	tracing_start();
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, 7 * PAGE + 11, 0), EFAULT);
	fails("length=28683 ", EFAULT);
	CHECK(strstr(tracing_last("mr_reg_fail", "length=28683 "), "pinned"));
	MUST_NOT(ibv_reg_mr_iova(dev.pd, buf->data, 2 * PAGE, -PAGE, 0),
		 EINVAL);
	fails("length=8192 ", EINVAL);
	CHECK_EQ(tracing_value(tracing_last("mr_reg_fail", "length=8192 "),
			       "iova"),
		 -PAGE);
	CHECK_EQ(tracing_count("mr_reg", ""), 0);
	tracing_stop();
}

static void says(const char *what, int err, const char *why)
{
	fails(what, err);
	if (!strstr(tracing_last("mr_reg_fail", what), why))
		FAIL("not `%s': %s", why, tracing_last("mr_reg_fail", what));
}

/* What the device does not take at all, and what a change is refused for. */
static void tr6_reasons(void)
{
	uint64_t most = dev.attr.orig_attr.max_mr_size;
	struct buf *buf = buf_new(8 * PAGE, 0);
	struct region r = region_new(PAGE, 0, ALL_ACCESS);
	char length[48];

	munmap(buf->data + 7 * PAGE, PAGE);
	tracing_start();
	snprintf(length, sizeof(length), "length=%llu ",
		 (unsigned long long)most + 1);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, most + 1, 0), EINVAL);
	says(length, EINVAL, "longer than");

	CHECK(ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			   buf->data, 7 * PAGE + 13, 0));
	says("length=28685 ", EFAULT, "not mapped");
	CHECK(ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   ALL_ACCESS | IBV_ACCESS_ON_DEMAND));
	says("length=4096 ", EOPNOTSUPP, "new translation");
	CHECK_EQ(tracing_count("mr_rereg", ""), 0);
	tracing_stop();
}

/* As many of other kinds come as go. */
static void tr7_device_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 2 * PAGE };
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	const char *line;

	if (!dev.attr.max_dm_size)
		lacks("no device memory");
	dm = MUST(ibv_alloc_dm(dev.ctx, &attr));
	tracing_start();
	mr = MUST(ibv_reg_dm_mr(dev.pd, dm, 100, PAGE,
				ALL_ACCESS | IBV_ACCESS_ZERO_BASED));
	line = tracing_last("mr_reg", of_key(mr->rkey));
	context("%s", line);
	CHECK_EQ(tracing_value(line, "base"), 0);
	CHECK_EQ(tracing_value(line, "length"), PAGE);
	CHECK_EQ(tracing_value(line, "access"),
		 ALL_ACCESS | IBV_ACCESS_ZERO_BASED);
	CHECK_EQ(tracing_count("mr_reg", of_key(mr->rkey)), 1);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(tracing_count("mr_dereg", ""), 1);
	tracing_stop();
	CHECK_EQ(ibv_free_dm(dm), 0);
}

/* One entry a huge page, or fewer where they follow on each other. */
static void a15_entries(const struct memory_kind *kind, size_t offset)
{
	struct buf *buf = memory_new(kind, 8 * kind->page - 2 * offset, offset);
	struct region r;

	if (!memory_is(kind, buf))
		skip("no huge pages were to be had");
	tracing_start();
	r = region_reg(dev.pd, buf, ALL_ACCESS);
	is_table(tracing_last("mtt_write", ""), buf, kind->page);
	CHECK(tracing_value(tracing_last("mtt_write", ""), "blocks") <= 8);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	tracing_stop();
	memory_free(kind, buf);
}

/* A table has one entry for each huge page. */
static void a15_huge(const void *kind)
{
	a15_entries(kind, 0);
	a15_entries(kind, 12345);
}

static const struct test tests[] = {
	TEST(tr1_reg, "TR1 mr_reg"),
	TEST(tr2_table, "TR2 mtt_write"),
	TEST(tr3_rereg, "TR3 mr_rereg"),
	TEST(tr4_dereg, "TR4 mr_dereg"),
	TEST(tr5_fail, "TR5 mr_reg_fail"),
	TEST(tr6_reasons, "TR6 mr_reg_fail-of-limits-and-changes"),
	TEST(tr7_device_memory, "TR7 mr_reg-of-device-memory"),
	TEST_WITH(a15_huge, &memory_hugetlb,
		  "A15 one entry a huge page (class 15)"),
	TEST_WITH(a15_huge, &memory_thp,
		  "A15 one entry a transparent huge page"),
};

HARNESS_MAIN("Tracepoints of registration", tests)
