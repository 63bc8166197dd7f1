// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows of both types: what binding grants, who may bind and invalidate,
 * and that it is over when it is over (items W1 to W20).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "link.h"

enum {
	LEN = 30011,
	AT = 1003,
	WINDOW = 20001,
	REMOTE_ALL = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC,
	BINDABLE = ALL_ACCESS | IBV_ACCESS_MW_BIND,
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

static struct ibv_mw_bind_info part(struct region *r, uint64_t at,
				    uint64_t length, int access)
{
	return (struct ibv_mw_bind_info){
		.mr = r->mr,
		.addr = r->base + at,
		.length = length,
		.mw_access_flags = access,
	};
}

static struct ibv_wc bind1(struct ibv_mw *mw, struct ibv_mw_bind_info info)
{
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = info };

	CHECK_EQ(ibv_bind_mw(link_.b.qp, mw, &bind), 0);
	return await(link_.b.scq);
}

static struct ibv_wc bind2_as(struct ibv_mw *mw, uint32_t rkey,
			      struct ibv_mw_bind_info info)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = mw, .rkey = rkey, .bind_info = info },
	};
	struct ibv_wc wc;

	post(&link_.b, &wr);
	wc = await(link_.b.scq);
	if (wc.status == IBV_WC_SUCCESS)
		mw->rkey = rkey;
	return wc;
}

static struct ibv_wc bind2(struct ibv_mw *mw, struct ibv_mw_bind_info info)
{
	return bind2_as(mw, ibv_inc_rkey(mw->rkey), info);
}

static struct ibv_wc bind(struct ibv_mw *mw, struct ibv_mw_bind_info info)
{
	return mw->type == IBV_MW_TYPE_1 ? bind1(mw, info) : bind2(mw, info);
}

static struct ibv_wc invalidate(struct end *end, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = rkey,
	};

	post(end, &wr);
	return await(end->scq);
}

static struct ibv_mw *new_window(enum ibv_mw_type type)
{
	return MUST(ibv_alloc_mw(dev.pd, type));
}

/* What of the region is reached through the window. */
static struct region through(struct region *r, struct ibv_mw *mw)
{
	struct region seen = *r;

	seen.rkey = mw->rkey;
	return seen;
}

static void no_access(uint64_t addr, uint32_t rkey, enum ibv_wr_opcode opcode)
{
	refused(&link_, opcode, sge_of(&all, 0, 8), (addr + 7) & ~7ULL, rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
}

static void bounds(struct ibv_mw *mw, uint64_t base, uint64_t length)
{
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 1), base - 1,
		mw->rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 1), base + length,
		mw->rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 100),
		base + length - 99, mw->rkey, IBV_WC_REM_ACCESS_ERR,
		PINION_SYN_REMOTE);
}

static void whole(enum ibv_mw_type type)
{
	struct ibv_mw *mw;
	struct region seen;

	begin();
	mw = new_window(type);
	CHECK_EQ(mw->type, type);
	expect(bind(mw, part(&target, 0, LEN, REMOTE_ALL)), IBV_WC_SUCCESS);
	seen = through(&target, mw);
	exchange(&link_, &all, &seen);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	no_access(target.base, seen.rkey, IBV_WR_RDMA_READ);
	CHECK_EQ(ibv_dereg_mr(target.mr), 0);
}

static void w1_type1(void)
{
	whole(IBV_MW_TYPE_1);
}

static void w1_type2(void)
{
	whole(IBV_MW_TYPE_2);
}

static void part_of(enum ibv_mw_type type)
{
	struct ibv_mw *mw;
	struct region seen;

	begin();
	mw = new_window(type);
	expect(bind(mw, part(&target, AT, WINDOW, REMOTE_ALL)), IBV_WC_SUCCESS);
	seen = through(&target, mw);
	check_write(&link_, &all, 1, &seen, AT, WINDOW);
	check_read(&link_, &all, 5, &seen, AT + 3, WINDOW - 3);
	buf_check(all.buf);
	bounds(mw, target.base + AT, WINDOW);
	buf_check(target.buf);
	buf_check(all.buf);
}

static void w2_type1(void)
{
	part_of(IBV_MW_TYPE_1);
}

static void w2_type2(void)
{
	part_of(IBV_MW_TYPE_2);
}

static void w3_rights(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD
	};
	static const int rights[] = { IBV_ACCESS_REMOTE_WRITE,
				      IBV_ACCESS_REMOTE_READ,
				      IBV_ACCESS_REMOTE_ATOMIC };
	size_t type, i, j;

	begin();
	for (type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		for (i = 0; i < 3; i++) {
			struct ibv_mw *mw = new_window(type);

			context("type %zu, right %#x", type, rights[i]);
			expect(bind(mw, part(&target, 0, LEN,
					     REMOTE_ALL & ~rights[i])),
			       IBV_WC_SUCCESS);
			no_access(target.base, mw->rkey, opcodes[i]);
			for (j = 0; j < 2; j++) {
				if (i == j)
					continue;
				expect(rdma(&link_.a, opcodes[j],
					    sge_of(&all, 0, 8), target.base,
					    mw->rkey),
				       IBV_WC_SUCCESS);
			}
			CHECK_EQ(ibv_dealloc_mw(mw), 0);
		}
	}
}

/* The window's rights count, not the region's: that is what windows are for. */
static void w4_rights_of_region(void)
{
	struct region r;
	struct ibv_mw *mw;

	begin();
	r = region_new(LEN, 9, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	mw = new_window(IBV_MW_TYPE_1);
	expect(bind(mw, part(&r, 0, LEN, REMOTE_ALL)), IBV_WC_SUCCESS);
	check_write(&link_, &all, 0,
		    &(struct region){
			    .buf = r.buf, .base = r.base, .rkey = mw->rkey },
		    0, LEN);
	buf_check(r.buf);
	no_access(r.base, r.rkey, IBV_WR_RDMA_WRITE);
}

static void w5_rebind_type1(void)
{
	struct region other;
	struct ibv_mw *mw;
	uint32_t first;
	struct region seen;

	begin();
	other = region_new(LEN, 9, BINDABLE);
	mw = new_window(IBV_MW_TYPE_1);
	expect(bind(mw, part(&target, 0, LEN, REMOTE_ALL)), IBV_WC_SUCCESS);
	first = mw->rkey;
	expect(bind(mw, part(&other, 0, LEN, REMOTE_ALL)), IBV_WC_SUCCESS);
	CHECK(mw->rkey != first);
	seen = through(&other, mw);
	exchange(&link_, &all, &seen);
	no_access(target.base, mw->rkey, IBV_WR_RDMA_READ);
	no_access(other.base, first, IBV_WR_RDMA_READ);
	CHECK_EQ(ibv_dereg_mr(target.mr), 0);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

static void w6_unbind_type1(void)
{
	struct ibv_mw *mw;
	int i;

	begin();
	mw = new_window(IBV_MW_TYPE_1);
	for (i = 0; i < 3; i++) {
		expect(bind(mw, part(&target, 0, LEN, REMOTE_ALL)),
		       IBV_WC_SUCCESS);
		expect(bind(mw, (struct ibv_mw_bind_info){}), IBV_WC_SUCCESS);
		no_access(target.base, mw->rkey, IBV_WR_RDMA_READ);
		expect(bind(mw, (struct ibv_mw_bind_info){}), IBV_WC_SUCCESS);
	}
	CHECK_EQ(ibv_dereg_mr(target.mr), 0);
}

static void bad_bind(struct ibv_wc wc)
{
	expect_why(wc, IBV_WC_MW_BIND_ERR, PINION_SYN_BIND);
	link_renew(&link_);
}

/* Of a new key only the tag is the user's to choose. */
static void w7_new_key(void)
{
	struct ibv_mw *mw;
	uint32_t own, asked;
	struct ibv_wc wc;
	int bit;

	begin();
	for (bit = 8; bit < 32; bit++) {
		context("bit %d", bit);
		mw = new_window(IBV_MW_TYPE_2);
		own = mw->rkey;
		asked = own ^ 1U << bit ^ 0x55;
		wc = bind2_as(mw, asked, part(&target, 0, LEN, REMOTE_ALL));
		if (wc.status != IBV_WC_SUCCESS) {
			bad_bind(wc);
			continue;
		}
		no_access(target.base, asked, IBV_WR_RDMA_READ);
		no_access(target.base, own, IBV_WR_RDMA_READ);
		expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&all, 0, 5),
			    target.base, own ^ 0x55),
		       IBV_WC_SUCCESS);
	}
	context("%s", "");
	mw = new_window(IBV_MW_TYPE_2);
	expect(bind2_as(mw, mw->rkey ^ 0x55, part(&target, 0, LEN, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	no_access(target.base, mw->rkey ^ 1, IBV_WR_RDMA_READ);
}

static void w8_rebind_type2(void)
{
	struct ibv_mw *mw;

	begin();
	mw = new_window(IBV_MW_TYPE_2);
	expect(bind(mw, part(&target, 0, LEN, REMOTE_ALL)), IBV_WC_SUCCESS);
	bad_bind(bind(mw, part(&target, 0, 5, REMOTE_ALL)));
	expect(invalidate(&link_.b, mw->rkey), IBV_WC_SUCCESS);
	no_access(target.base, mw->rkey, IBV_WR_RDMA_READ);
	expect(bind(mw, part(&target, 0, 5, REMOTE_ALL)), IBV_WC_SUCCESS);
	expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&all, 0, 5), target.base,
		    mw->rkey),
	       IBV_WC_SUCCESS);
}

static void w9_remote_invalidate(void)
{
	struct ibv_sge sink;
	struct ibv_mw *mw;
	struct ibv_send_wr wr = {
		.num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_INV,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_sge sge;
	struct ibv_wc wc;

	begin();
	mw = new_window(IBV_MW_TYPE_2);
	expect(bind(mw, part(&target, 0, LEN, REMOTE_ALL)), IBV_WC_SUCCESS);
	sink = sge_of(&target, 100, 5000);
	post_recv(&link_.b, &sink, 1, 9);
	sge = sge_of(&all, 3, 4999);
	wr.sg_list = &sge;
	wr.invalidate_rkey = mw->rkey;
	post(&link_.a, &wr);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	wc = await(link_.b.rcq);
	expect(wc, IBV_WC_SUCCESS);
	CHECK(wc.wc_flags & IBV_WC_WITH_INV);
	CHECK_EQ(wc.invalidated_rkey, mw->rkey);
	CHECK_EQ(wc.byte_len, 4999);
	memcpy(target.buf->want + 100, all.buf->want + 3, 4999);
	buf_check(target.buf);
	no_access(target.base, mw->rkey, IBV_WR_RDMA_READ);
	expect(bind(mw, part(&target, 0, LEN, REMOTE_ALL)), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(ibv_dereg_mr(target.mr), 0);
}

static void w10_other_qp(void)
{
	struct ibv_mw *mw;
	struct link other;
	struct ibv_wc wc;

	begin();
	link_make(&other, NULL);
	mw = new_window(IBV_MW_TYPE_2);
	expect(bind(mw, part(&target, 0, LEN, REMOTE_ALL)), IBV_WC_SUCCESS);
	wc = rdma(&other.a, IBV_WR_RDMA_READ, sge_of(&all, 0, 5), target.base,
		  mw->rkey);
	expect(wc, IBV_WC_REM_ACCESS_ERR);
	expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&all, 0, 5), target.base,
		    mw->rkey),
	       IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	/* A window of type 1 belongs to the domain. */
	link_renew(&other);
	mw = new_window(IBV_MW_TYPE_1);
	expect(bind(mw, part(&target, 0, LEN, REMOTE_ALL)), IBV_WC_SUCCESS);
	expect(rdma(&other.a, IBV_WR_RDMA_READ, sge_of(&all, 0, 5), target.base,
		    mw->rkey),
	       IBV_WC_SUCCESS);
}

static void w11_other_pd(void)
{
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	struct ibv_mw *mw1, *mw2;
	struct region foreign;

	begin();
	foreign = region_reg(pd, buf_new(LEN, 3), BINDABLE);
	mw1 = MUST(ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	mw2 = MUST(ibv_alloc_mw(pd, IBV_MW_TYPE_2));
	bad_bind(bind2(mw2, part(&target, 0, LEN, REMOTE_ALL)));
	bad_bind(bind2(mw2, part(&foreign, 0, LEN, REMOTE_ALL)));
	bad_bind(bind2(new_window(IBV_MW_TYPE_2),
		       part(&foreign, 0, LEN, REMOTE_ALL)));
	CHECK_EQ(ibv_dereg_mr(foreign.mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_dealloc_mw(mw1), 0);
	CHECK_EQ(ibv_dealloc_mw(mw2), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

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
	mw = new_window(IBV_MW_TYPE_2);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		context("%ld + %#llx", bad[i].at,
			(unsigned long long)bad[i].length);
		bad_bind(bind2(mw, part(&target, bad[i].at, bad[i].length,
					REMOTE_ALL)));
	}
	expect(bind(mw, part(&target, LEN - 1, 1, REMOTE_ALL)), IBV_WC_SUCCESS);
}

static void w13_local_write(void)
{
	struct region r;

	begin();
	r = region_new(LEN, 9, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	bad_bind(bind2(new_window(IBV_MW_TYPE_2),
		       part(&r, 0, LEN, IBV_ACCESS_REMOTE_WRITE)));
	bad_bind(bind2(new_window(IBV_MW_TYPE_2),
		       part(&r, 0, LEN, IBV_ACCESS_REMOTE_ATOMIC)));
	expect(bind2(new_window(IBV_MW_TYPE_2),
		     part(&r, 0, LEN, IBV_ACCESS_REMOTE_READ)),
	       IBV_WC_SUCCESS);
}

static void w14_not_local(void)
{
	struct ibv_mw *mw;
	struct ibv_sge sge;

	begin();
	mw = new_window(IBV_MW_TYPE_1);
	expect(bind(mw, part(&target, 0, LEN, REMOTE_ALL)), IBV_WC_SUCCESS);
	sge = sge_of(&target, 0, 8);
	sge.lkey = mw->rkey;
	expect_why(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge, all.base, all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_RIGHTS);
}

static void w15_zero_based(void)
{
	struct ibv_mw_bind bind1_zero = { .send_flags = IBV_SEND_SIGNALED };
	struct region seen;
	struct ibv_mw *mw;

	begin();
	mw = new_window(IBV_MW_TYPE_2);
	expect(bind(mw, part(&target, AT, WINDOW,
			     REMOTE_ALL | IBV_ACCESS_ZERO_BASED)),
	       IBV_WC_SUCCESS);
	seen = (struct region){ .buf = target.buf,
				.base = -(uint64_t)AT,
				.rkey = mw->rkey };
	check_write(&link_, &all, 1, &seen, AT, WINDOW);
	check_read(&link_, &all, 1, &seen, AT + WINDOW - 1, 1);
	buf_check(target.buf);
	buf_check(all.buf);
	no_access(target.base + AT, mw->rkey, IBV_WR_RDMA_READ);
	no_access(WINDOW, mw->rkey, IBV_WR_RDMA_READ);
	bind1_zero.bind_info =
		part(&target, AT, WINDOW, REMOTE_ALL | IBV_ACCESS_ZERO_BASED);
	CHECK(ibv_bind_mw(link_.b.qp, new_window(IBV_MW_TYPE_1), &bind1_zero));
}

static void w16_invalidate_others(void)
{
	struct ibv_mw *mw;

	begin();
	expect(invalidate(&link_.b, target.rkey), IBV_WC_LOC_PROT_ERR);
	link_renew(&link_);
	expect_why(invalidate(&link_.b, 0x12345678), IBV_WC_LOC_PROT_ERR,
		   PINION_SYN_KEY_UNKNOWN);
	link_renew(&link_);
	mw = new_window(IBV_MW_TYPE_1);
	expect(bind(mw, part(&target, 0, LEN, REMOTE_ALL)), IBV_WC_SUCCESS);
	expect(invalidate(&link_.b, mw->rkey), IBV_WC_LOC_PROT_ERR);
	link_renew(&link_);
	expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&all, 0, 5), target.base,
		    mw->rkey),
	       IBV_WC_SUCCESS);
}

static void w17_many(void)
{
	enum { COUNT = 50 };
	struct ibv_mw *mws[COUNT];
	int i;

	begin();
	for (i = 0; i < COUNT; i++) {
		mws[i] = new_window(i & 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
		expect(bind(mws[i], part(&target, i * 500, 500, REMOTE_ALL)),
		       IBV_WC_SUCCESS);
	}
	for (i = 0; i < COUNT; i++) {
		struct region seen = through(&target, mws[i]);

		check_write(&link_, &all, i, &seen, i * 500, 500);
	}
	buf_check(target.buf);
	for (i = 0; i < COUNT; i++) {
		CHECK_EQ(ibv_dereg_mr(target.mr), EBUSY);
		CHECK_EQ(ibv_dealloc_mw(mws[i]), 0);
	}
	CHECK_EQ(ibv_dereg_mr(target.mr), 0);
}

static void w18_unbound(void)
{
	struct ibv_mw *mw;

	begin();
	mw = new_window(IBV_MW_TYPE_1);
	no_access(target.base, mw->rkey, IBV_WR_RDMA_WRITE);
	no_access(0, mw->rkey, IBV_WR_RDMA_READ);
	mw = new_window(IBV_MW_TYPE_2);
	no_access(target.base, mw->rkey, IBV_WR_RDMA_READ);
	expect(invalidate(&link_.b, mw->rkey), IBV_WC_SUCCESS);
	CHECK(!ibv_alloc_mw(dev.pd, 0));
	CHECK(!ibv_alloc_mw(dev.pd, 3));
}

struct writer {
	struct link link;
	volatile uint32_t rkey;
	volatile bool stop;
	unsigned long done, refused;
};

static void *write_on(void *arg)
{
	struct writer *w = arg;
	struct ibv_wc wc;

	while (!w->stop) {
		wc = rdma(&w->link.a, IBV_WR_RDMA_WRITE, sge_of(&all, 0, LEN),
			  target.base, w->rkey);
		if (wc.status == IBV_WC_SUCCESS) {
			w->done++;
			continue;
		}
		expect(wc, IBV_WC_REM_ACCESS_ERR);
		w->refused++;
		link_renew(&w->link);
	}
	return NULL;
}

/* Type 1, which any QP of the domain may use while another rebinds it. */
static void w19_unbind_under_load(void)
{
	struct writer w = {};
	double end = now() + opt.seconds;
	unsigned long rounds = 0;
	pthread_t thread;
	struct ibv_mw *mw;

	begin();
	link_make(&w.link, NULL);
	mw = new_window(IBV_MW_TYPE_1);
	w.rkey = mw->rkey;
	CHECK_EQ(pthread_create(&thread, NULL, write_on, &w), 0);
	for (; now() < end; rounds++) {
		expect(bind(mw, part(&target, 0, LEN, REMOTE_ALL)),
		       IBV_WC_SUCCESS);
		w.rkey = mw->rkey;
		usleep(rnd_below(500));
		if (rounds & 1) {
			CHECK_EQ(ibv_dealloc_mw(mw), 0);
			mw = new_window(IBV_MW_TYPE_1);
		} else {
			expect(bind(mw, (struct ibv_mw_bind_info){}),
			       IBV_WC_SUCCESS);
		}
		buf_fill(target.buf);
		usleep(rnd_below(100));
		buf_check(target.buf);
	}
	w.stop = true;
	pthread_join(thread, NULL);
	note("%lu rounds, %lu writes, %lu refused", rounds, w.done, w.refused);
}

static const struct test tests[] = {
	TEST(w1_type1, "W1 a whole region, type 1"),
	TEST(w1_type2, "W1 a whole region, type 2"),
	TEST(w2_type1, "W2 a part, exact to the byte, type 1"),
	TEST(w2_type2, "W2 a part, exact to the byte, type 2"),
	TEST(w3_rights, "W3 each right alone"),
	TEST(w4_rights_of_region, "W4 the rights of the window count"),
	TEST(w5_rebind_type1, "W5 type 1 bound elsewhere"),
	TEST(w6_unbind_type1, "W6 type 1 bound to nothing"),
	TEST(w7_new_key, "W7 the new key differs in its tag only"),
	TEST(w8_rebind_type2,
	     "W8 type 2 is invalidated before it is bound again"),
	TEST(w9_remote_invalidate, "W9 invalidated by a send"),
	TEST(w10_other_qp, "W10 type 2 belongs to its queue pair"),
	TEST(w11_other_pd, "W11 foreign domains"),
	TEST(w12_range, "W12 outside the region"),
	TEST(w13_local_write, "W13 writing needs LOCAL_WRITE of the region"),
	TEST(w14_not_local, "W14 a window's key is no lkey"),
	TEST(w15_zero_based, "W15 ZERO_BASED"),
	TEST(w16_invalidate_others, "W16 what cannot be invalidated"),
	TEST(w17_many, "W17 many windows of one region"),
	TEST(w18_unbound, "W18 unbound windows"),
	TEST(w19_unbind_under_load, "W19 no access after unbinding"),
};

HARNESS_MAIN("Memory windows", tests)
