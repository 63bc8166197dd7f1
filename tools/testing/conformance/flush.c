// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * FLUSH: says nothing is visible or persistent that its key does not speak for (items
 * FL1 to FL4).
 */
#define _GNU_SOURCE
#include <string.h>

#include "link.h"

#ifdef HAVE_WR_FLUSH
enum { LEN = 20000 };

static struct link link_;
static struct region r;

static void begin(void)
{
	struct qp_cfg cfg = { .access = IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_FLUSH_GLOBAL };

	link_make(&link_, &cfg);
	if (!link_.a.ex)
		skip("no work request builder");
	r = region_new(LEN, 77, ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL);
}

struct asked {
	uint32_t rkey;
	uint64_t addr;
	size_t length;
	uint8_t type, level;
};

/* A flush, and what becomes of it; the link is made good again. */
static void answered(struct asked a, enum ibv_wc_status status)
{
	ibv_wr_start(link_.a.ex);
	link_.a.ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(link_.a.ex, a.rkey, a.addr, a.length, a.type, a.level);
	CHECK_EQ(ibv_wr_complete(link_.a.ex), 0);
	expect(await(link_.a.scq), status);
	if (status)
		link_renew(&link_);
}

static struct asked whole(uint32_t rkey, uint64_t addr, size_t length)
{
	return (struct asked){ rkey, addr, length, IBV_FLUSH_GLOBAL,
			       IBV_FLUSH_MR };
}

static struct asked range(uint32_t rkey, uint64_t addr, size_t length)
{
	return (struct asked){ rkey, addr, length, IBV_FLUSH_GLOBAL,
			       IBV_FLUSH_RANGE };
}

static void fl1_ranges(void)
{
	long long bytes;

	begin();
	bytes = device_counter("rx_bytes");
	answered(range(r.rkey, r.base, LEN), IBV_WC_SUCCESS);
	/* It names bytes, and moves none. */
	if (dev.pinion)
		CHECK_EQ(device_counter("rx_bytes"), bytes);
	answered(range(r.rkey, r.base + 777, 1), IBV_WC_SUCCESS);
	answered(range(r.rkey, r.base + LEN, 0), IBV_WC_SUCCESS);
	answered(range(r.rkey, r.base, LEN + 1), IBV_WC_REM_ACCESS_ERR);
	answered(range(r.rkey, r.base - 1, 1), IBV_WC_REM_ACCESS_ERR);
	answered(range(r.rkey, r.base - 1, 0), IBV_WC_REM_ACCESS_ERR);
}

/* Address and length are then of no account. */
static void fl2_whole(void)
{
	begin();
	answered(whole(r.rkey, r.base, LEN), IBV_WC_SUCCESS);
	answered(whole(r.rkey, 0, 0), IBV_WC_SUCCESS);
	answered(whole(r.rkey, 0, LEN), IBV_WC_SUCCESS);
	answered(whole(r.rkey, -1, UINT32_MAX), IBV_WC_SUCCESS);
}

/* Of whatever length, and of none. */
static void key_refused(uint32_t rkey)
{
	answered(whole(rkey, 0, 0), IBV_WC_REM_ACCESS_ERR);
	answered(whole(rkey, r.base, LEN), IBV_WC_REM_ACCESS_ERR);
	answered(range(rkey, r.base, 0), IBV_WC_REM_ACCESS_ERR);
	answered(range(rkey, r.base, LEN), IBV_WC_REM_ACCESS_ERR);
}

static void fl3_keys(void)
{
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	struct ibv_mr *mr;
	uint32_t rkey;

	begin();
	context("no key");
	key_refused(r.rkey ^ 1);
	context("not for flushes");
	mr = MUST(ibv_reg_mr(dev.pd, r.buf->data, LEN, ALL_ACCESS));
	key_refused(mr->rkey);
	context("of another domain");
	mr = MUST(ibv_reg_mr(pd, r.buf->data, LEN,
			     ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL));
	key_refused(mr->rkey);
	context("gone");
	mr = MUST(ibv_reg_mr(dev.pd, r.buf->data, LEN,
			     ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL));
	rkey = mr->rkey;
	answered(range(rkey, (uintptr_t)r.buf->data, 1), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	key_refused(rkey);
}

/* Asks for nothing, or for what there is not: the sender's own mistake. */
static void fl4_nonsense(void)
{
	struct asked a;

	begin();
	a = whole(r.rkey, 0, 0);
	a.type = 0;
	answered(a, IBV_WC_LOC_QP_OP_ERR);
	a.type = 4 | IBV_FLUSH_GLOBAL;
	answered(a, IBV_WC_LOC_QP_OP_ERR);
	a = whole(r.rkey, 0, 0);
	a.level = 2;
	answered(a, IBV_WC_LOC_QP_OP_ERR);
	/* The queue pair's own right is missing. */
	a = whole(r.rkey, 0, 0);
	a.type = IBV_FLUSH_PERSISTENT;
	answered(a, IBV_WC_REM_INV_REQ_ERR);
}

static const struct test tests[] = {
	TEST(fl1_ranges, "FL1 ranges"),
	TEST(fl2_whole, "FL2 the whole region"),
	TEST(fl3_keys, "FL3 keys"),
	TEST(fl4_nonsense, "FL4 what is no flush"),
};
#else
static void fl1_ranges(void)
{
	skip("libibverbs has no ibv_wr_flush");
}

static const struct test tests[] = {
	TEST(fl1_ranges, "FL1 ranges"),
};
#endif

HARNESS_MAIN("FLUSH", tests)
