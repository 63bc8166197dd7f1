// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows of both types: what a bind grants, who may bind and invalidate, and that
 * invalidation ends all access (items W1 to W9).
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "window.h"

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

/* A window over a whole region gives the same access, until it is freed. */
static void w1_whole(int type)
{
	struct ibv_mw *mw;
	struct region seen;

	begin();
	mw = window_new(type);
	CHECK_EQ(mw->type, type);
	expect(window_bind(&link_.b, mw,
			   window_part(&target, 0, LEN, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	seen = window_seen(&target, mw);
	exchange(&link_, &all, &seen);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	access_refused(&link_, &all, target.base, seen.rkey, IBV_WR_RDMA_READ);
	CHECK_EQ(ibv_dereg_mr(target.mr), 0);
}

/* A window over a part ends exactly at its bytes. */
static void w2_part(int type)
{
	struct ibv_mw *mw;
	struct region seen;

	begin();
	mw = window_new(type);
	expect(window_bind(&link_.b, mw,
			   window_part(&target, AT, WINDOW, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	seen = window_seen(&target, mw);
	check_write(&link_, &all, 1, &seen, AT, WINDOW);
	check_read(&link_, &all, 5, &seen, AT + 3, WINDOW - 3);
	buf_check(all.buf);
	bounds(mw, target.base + AT, WINDOW);
	buf_check(target.buf);
	buf_check(all.buf);
}

/* A window without a right refuses that alone. */
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
			struct ibv_mw *mw = window_new(type);

			context("type %zu, right %#x", type, rights[i]);
			expect(window_bind(&link_.b, mw,
					   window_part(&target, 0, LEN,
						       REMOTE_ALL & ~rights[i])),
			       IBV_WC_SUCCESS);
			access_refused(&link_, &all, target.base, mw->rkey,
				       opcodes[i]);
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

/* The rights of the window count, not the remote rights of the region. */
static void w4_rights_of_region(void)
{
	struct region r;
	struct ibv_mw *mw;

	begin();
	r = region_new(LEN, 9, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	mw = window_new(IBV_MW_TYPE_1);
	expect(window_bind(&link_.b, mw, window_part(&r, 0, LEN, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	check_write(&link_, &all, 0,
		    &(struct region){
			    .buf = r.buf, .base = r.base, .rkey = mw->rkey },
		    0, LEN);
	buf_check(r.buf);
	access_refused(&link_, &all, r.base, r.rkey, IBV_WR_RDMA_WRITE);
}

/* A window of type 1 that is bound elsewhere has a new key, and the old one is refused. */
static void w5_rebind_type1(void)
{
	struct region other;
	struct ibv_mw *mw;
	uint32_t first;
	struct region seen;

	begin();
	other = region_new(LEN, 9, BINDABLE);
	mw = window_new(IBV_MW_TYPE_1);
	expect(window_bind(&link_.b, mw,
			   window_part(&target, 0, LEN, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	first = mw->rkey;
	expect(window_bind(&link_.b, mw,
			   window_part(&other, 0, LEN, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	CHECK(mw->rkey != first);
	seen = window_seen(&other, mw);
	exchange(&link_, &all, &seen);
	access_refused(&link_, &all, target.base, mw->rkey, IBV_WR_RDMA_READ);
	access_refused(&link_, &all, other.base, first, IBV_WR_RDMA_READ);
	CHECK_EQ(ibv_dereg_mr(target.mr), 0);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

/* A window of type 1 that is bound to nothing refuses accesses, and lets its region go. */
static void w6_unbind_type1(void)
{
	struct ibv_mw *mw;
	int i;

	begin();
	mw = window_new(IBV_MW_TYPE_1);
	for (i = 0; i < 3; i++) {
		expect(window_bind(&link_.b, mw,
				   window_part(&target, 0, LEN, REMOTE_ALL)),
		       IBV_WC_SUCCESS);
		expect(window_bind(&link_.b, mw, (struct ibv_mw_bind_info){}),
		       IBV_WC_SUCCESS);
		access_refused(&link_, &all, target.base, mw->rkey,
			       IBV_WR_RDMA_READ);
		expect(window_bind(&link_.b, mw, (struct ibv_mw_bind_info){}),
		       IBV_WC_SUCCESS);
	}
	CHECK_EQ(ibv_dereg_mr(target.mr), 0);
}

static void bad_bind(struct ibv_wc wc)
{
	expect_why(wc, IBV_WC_MW_BIND_ERR, PINION_SYN_BIND);
	link_renew(&link_);
}

/* A type 2 bind chooses only the low byte of the new key. */
static void w7_new_key(void)
{
	struct ibv_mw *mw;
	uint32_t own, asked;
	struct ibv_wc wc;
	int bit;

	begin();
	for (bit = 8; bit < 32; bit++) {
		context("bit %d", bit);
		mw = window_new(IBV_MW_TYPE_2);
		own = mw->rkey;
		asked = own ^ 1U << bit ^ 0x55;
		wc = window_bind_as(&link_.b, mw, asked,
				    window_part(&target, 0, LEN, REMOTE_ALL));
		if (wc.status != IBV_WC_SUCCESS) {
			bad_bind(wc);
			continue;
		}
		access_refused(&link_, &all, target.base, asked,
			       IBV_WR_RDMA_READ);
		access_refused(&link_, &all, target.base, own,
			       IBV_WR_RDMA_READ);
		expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&all, 0, 5),
			    target.base, own ^ 0x55),
		       IBV_WC_SUCCESS);
	}
	context("%s", "");
	mw = window_new(IBV_MW_TYPE_2);
	expect(window_bind_as(&link_.b, mw, mw->rkey ^ 0x55,
			      window_part(&target, 0, LEN, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	access_refused(&link_, &all, target.base, mw->rkey ^ 1,
		       IBV_WR_RDMA_READ);
}

/* A window of type 2 is bound again only after it was invalidated. */
static void w8_rebind_type2(void)
{
	struct ibv_mw *mw;

	begin();
	mw = window_new(IBV_MW_TYPE_2);
	expect(window_bind(&link_.b, mw,
			   window_part(&target, 0, LEN, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	bad_bind(window_bind(&link_.b, mw,
			     window_part(&target, 0, 5, REMOTE_ALL)));
	expect(window_invalidate(&link_.b, mw->rkey), IBV_WC_SUCCESS);
	access_refused(&link_, &all, target.base, mw->rkey, IBV_WR_RDMA_READ);
	expect(window_bind(&link_.b, mw,
			   window_part(&target, 0, 5, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&all, 0, 5), target.base,
		    mw->rkey),
	       IBV_WC_SUCCESS);
}

/* A send invalidates the receiver's window, which is told which one. */
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
	mw = window_new(IBV_MW_TYPE_2);
	expect(window_bind(&link_.b, mw,
			   window_part(&target, 0, LEN, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
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
	access_refused(&link_, &all, target.base, mw->rkey, IBV_WR_RDMA_READ);
	expect(window_bind(&link_.b, mw,
			   window_part(&target, 0, LEN, REMOTE_ALL)),
	       IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(ibv_dereg_mr(target.mr), 0);
}

static const struct test tests[] = {
	TEST_OF(w1_whole, IBV_MW_TYPE_1, "W1 a whole region, type 1"),
	TEST_OF(w1_whole, IBV_MW_TYPE_2, "W1 a whole region, type 2"),
	TEST_OF(w2_part, IBV_MW_TYPE_1, "W2 a part, exact to the byte, type 1"),
	TEST_OF(w2_part, IBV_MW_TYPE_2, "W2 a part, exact to the byte, type 2"),
	TEST(w3_rights, "W3 each right alone"),
	TEST(w4_rights_of_region, "W4 the rights of the window count"),
	TEST(w5_rebind_type1, "W5 type 1 bound elsewhere"),
	TEST(w6_unbind_type1, "W6 type 1 bound to nothing"),
	TEST(w7_new_key, "W7 the new key differs in its tag only"),
	TEST(w8_rebind_type2,
	     "W8 type 2 is invalidated before it is bound again"),
	TEST(w9_remote_invalidate, "W9 invalidated by a send"),
};

HARNESS_MAIN("Memory windows", tests)
