// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows: who may bind what, who may use it, and that invalidation ends all access
 * (items W10 to W19).
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "window.h"
#include "writer.h"

enum {
	LEN = 30011,
	AT = 1003,
	WINDOW = 20001,
};

/* Windows are made at b, where the memory is, and used from a. */
static struct link link_;
static struct region all, target;

static void begin(void)
{
	link_make(&link_, NULL);
	all = region_new(LEN, 1234, ALL_ACCESS);
	target = region_new(LEN, 77, BINDABLE);
}

static void bad_bind(struct ibv_wc wc)
{
	expect_why(wc, IBV_WC_MW_BIND_ERR, PINION_SYN_BIND);
	link_renew(&link_);
}

/* A window of type 2 works on its own queue pair only, one of type 1 on all of its domain. */
static void w10_other_qp(void)
{
	struct ibv_mw *mw;
	struct link other;
	struct ibv_wc wc;

	begin();
	link_make(&other, NULL);
	mw = window_new(IBV_MW_TYPE_2);
	expect(window_bind(&link_.b, mw,
			   window_part(&target, 0, LEN, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	wc = rdma(&other.a, IBV_WR_RDMA_READ, sge_of(&all, 0, 5), target.base,
		  mw->rkey);
	expect(wc, IBV_WC_REM_ACCESS_ERR);
	expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&all, 0, 5), target.base,
		    mw->rkey),
	       IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	/* A type 1 window may be used by any QP of its domain. */
	link_renew(&other);
	mw = window_new(IBV_MW_TYPE_1);
	expect(window_bind(&link_.b, mw,
			   window_part(&target, 0, LEN, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	expect(rdma(&other.a, IBV_WR_RDMA_READ, sge_of(&all, 0, 5), target.base,
		    mw->rkey),
	       IBV_WC_SUCCESS);
}

/* Windows, regions and queue pairs of different domains are not bound together. */
static void w11_other_pd(void)
{
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	struct ibv_mw *mw1, *mw2;
	struct region foreign;

	begin();
	foreign = region_reg(pd, buf_new(LEN, 3), BINDABLE);
	mw1 = MUST(ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	mw2 = MUST(ibv_alloc_mw(pd, IBV_MW_TYPE_2));
	bad_bind(window_bind(&link_.b, mw2,
			     window_part(&target, 0, LEN, REMOTE_ALL)));
	bad_bind(window_bind(&link_.b, mw2,
			     window_part(&foreign, 0, LEN, REMOTE_ALL)));
	bad_bind(window_bind(&link_.b, window_new(IBV_MW_TYPE_2),
			     window_part(&foreign, 0, LEN, REMOTE_ALL)));
	CHECK_EQ(ibv_dereg_mr(foreign.mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_dealloc_mw(mw1), 0);
	CHECK_EQ(ibv_dealloc_mw(mw2), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

/* A window outside of its region is refused, in all ways to compute the range. */
static void w12_range(void)
{
	static const struct {
		long at;
		uint64_t length;
	} bad[] = { { -1, 10 },	   { 0, LEN + 1 },    { LEN - 9, 10 },
		    { LEN, 1 },	   { 8, UINT64_MAX }, { -8, UINT64_MAX },
		    { LEN + 1, 1 } };
	struct ibv_mw *mw;
	size_t i;

	begin();
	mw = window_new(IBV_MW_TYPE_2);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		context("%ld + %#llx", bad[i].at,
			(unsigned long long)bad[i].length);
		bad_bind(window_bind(&link_.b, mw,
				     window_part(&target, bad[i].at,
						 bad[i].length, REMOTE_ALL)));
	}
	expect(window_bind(&link_.b, mw,
			   window_part(&target, LEN - 1, 1, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
}

/* A window to be written by needs a region with LOCAL_WRITE. */
static void w13_local_write(void)
{
	struct region r;

	begin();
	r = region_new(LEN, 9, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	bad_bind(window_bind(&link_.b, window_new(IBV_MW_TYPE_2),
			     window_part(&r, 0, LEN, IBV_ACCESS_REMOTE_WRITE)));
	bad_bind(
		window_bind(&link_.b, window_new(IBV_MW_TYPE_2),
			    window_part(&r, 0, LEN, IBV_ACCESS_REMOTE_ATOMIC)));
	expect(window_bind(&link_.b, window_new(IBV_MW_TYPE_2),
			   window_part(&r, 0, LEN, IBV_ACCESS_REMOTE_READ)),
	       IBV_WC_SUCCESS);
}

/* A window's key is no lkey. */
static void w14_not_local(void)
{
	struct ibv_mw *mw;
	struct ibv_sge sge;

	begin();
	mw = window_new(IBV_MW_TYPE_1);
	expect(window_bind(&link_.b, mw,
			   window_part(&target, 0, LEN, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	sge = sge_of(&target, 0, 8);
	sge.lkey = mw->rkey;
	expect_why(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge, all.base, all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_RIGHTS);
}

/* A zero-based window begins at address 0; type 1 cannot be. */
static void w15_zero_based(void)
{
	struct ibv_mw_bind bind1_zero = { .send_flags = IBV_SEND_SIGNALED };
	struct region seen;
	struct ibv_mw *mw;

	begin();
	mw = window_new(IBV_MW_TYPE_2);
	expect(window_bind(&link_.b, mw,
			   window_part(&target, AT, WINDOW,
				       REMOTE_ALL | IBV_ACCESS_ZERO_BASED)),
	       IBV_WC_SUCCESS);
	seen = (struct region){ .buf = target.buf,
				.base = -(uint64_t)AT,
				.rkey = mw->rkey };
	check_write(&link_, &all, 1, &seen, AT, WINDOW);
	check_read(&link_, &all, 1, &seen, AT + WINDOW - 1, 1);
	buf_check(target.buf);
	buf_check(all.buf);
	access_refused(&link_, &all, target.base + AT, mw->rkey,
		       IBV_WR_RDMA_READ);
	access_refused(&link_, &all, WINDOW, mw->rkey, IBV_WR_RDMA_READ);
	bind1_zero.bind_info = window_part(&target, AT, WINDOW,
					   REMOTE_ALL | IBV_ACCESS_ZERO_BASED);
	CHECK(ibv_bind_mw(link_.b.qp, window_new(IBV_MW_TYPE_1), &bind1_zero));
}

/* Regions, unknown keys and windows of type 1 are not invalidated by a request. */
static void w16_invalidate_others(void)
{
	struct ibv_mw *mw;

	begin();
	expect(window_invalidate(&link_.b, target.rkey), IBV_WC_LOC_PROT_ERR);
	link_renew(&link_);
	expect_why(window_invalidate(&link_.b, 0x12345678), IBV_WC_LOC_PROT_ERR,
		   PINION_SYN_KEY_UNKNOWN);
	link_renew(&link_);
	mw = window_new(IBV_MW_TYPE_1);
	expect(window_bind(&link_.b, mw,
			   window_part(&target, 0, LEN, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	expect(window_invalidate(&link_.b, mw->rkey), IBV_WC_LOC_PROT_ERR);
	link_renew(&link_);
	expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&all, 0, 5), target.base,
		    mw->rkey),
	       IBV_WC_SUCCESS);
}

/* Many windows of one region, of which each keeps it busy. */
static void w17_many(void)
{
	enum { COUNT = 50 };
	struct ibv_mw *mws[COUNT];
	int i;

	begin();
	for (i = 0; i < COUNT; i++) {
		mws[i] = window_new(i & 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
		expect(window_bind(&link_.b, mws[i],
				   window_part(&target, i * 500, 500,
					       REMOTE_ALL)),
		       IBV_WC_SUCCESS);
	}
	for (i = 0; i < COUNT; i++) {
		struct region seen = window_seen(&target, mws[i]);

		check_write(&link_, &all, i, &seen, i * 500, 500);
	}
	buf_check(target.buf);
	for (i = 0; i < COUNT; i++) {
		CHECK_EQ(ibv_dereg_mr(target.mr), EBUSY);
		CHECK_EQ(ibv_dealloc_mw(mws[i]), 0);
	}
	CHECK_EQ(ibv_dereg_mr(target.mr), 0);
}

/* A window that is not bound refuses accesses. */
static void w18_unbound(void)
{
	struct ibv_mw *mw;

	begin();
	mw = window_new(IBV_MW_TYPE_1);
	access_refused(&link_, &all, target.base, mw->rkey, IBV_WR_RDMA_WRITE);
	access_refused(&link_, &all, 0, mw->rkey, IBV_WR_RDMA_READ);
	mw = window_new(IBV_MW_TYPE_2);
	access_refused(&link_, &all, target.base, mw->rkey, IBV_WR_RDMA_READ);
	expect(window_invalidate(&link_.b, mw->rkey), IBV_WC_SUCCESS);
	CHECK(!ibv_alloc_mw(dev.pd, 0));
	CHECK(!ibv_alloc_mw(dev.pd, 3));
}

/* Type 1: any QP of the domain may use the window while another one rebinds it. */
static void w19_unbind_under_load(void)
{
	struct link other;
	struct writer w = { .link = &other, .from = &all };
	double end = now() + opt.seconds;
	unsigned long rounds = 0;
	struct ibv_mw *mw;

	begin();
	link_make(&other, NULL);
	mw = window_new(IBV_MW_TYPE_1);
	w.addr = target.base;
	w.rkey = mw->rkey;
	writer_start(&w);
	for (; go_on(end, w.done && w.refused); rounds++) {
		expect(window_bind(&link_.b, mw,
				   window_part(&target, 0, LEN, REMOTE_ALL)),
		       IBV_WC_SUCCESS);
		w.rkey = mw->rkey;
		usleep(rnd_below(500));
		if (rounds & 1) {
			CHECK_EQ(ibv_dealloc_mw(mw), 0);
			mw = window_new(IBV_MW_TYPE_1);
		} else {
			expect(window_bind(&link_.b, mw,
					   (struct ibv_mw_bind_info){}),
			       IBV_WC_SUCCESS);
		}
		buf_fill(target.buf);
		usleep(rnd_below(100));
		buf_check(target.buf);
	}
	/* Each round unbinds the window. That must have been seen. */
	CHECK(w.refused);
	writer_end(&w, rounds);
}

static const struct test tests[] = {
	TEST(w10_other_qp, "W10 type 2 belongs to its queue pair"),
	TEST(w11_other_pd, "W11 foreign domains (class 17)"),
	TEST(w12_range, "W12 outside the region"),
	TEST(w13_local_write, "W13 writing needs LOCAL_WRITE of the region"),
	TEST(w14_not_local, "W14 a window's key is no lkey"),
	TEST(w15_zero_based, "W15 ZERO_BASED"),
	TEST(w16_invalidate_others, "W16 what cannot be invalidated"),
	TEST(w17_many, "W17 many windows of one region"),
	TEST(w18_unbound, "W18 unbound windows"),
	TEST(w19_unbind_under_load, "W19 no access after unbinding"),
};

HARNESS_MAIN("Memory windows: rules", tests)
