// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_alloc_null_mr(3): a region that reads as zeros and ignores writes, for local use only
 * (items Z1 to Z7).
 */
#include <string.h>

#include "link.h"

enum { LEN = 70001 };

static struct link link_;
static struct region all;
static struct ibv_mr *null;

static void begin(void)
{
	link_make(&link_, NULL);
	all = region_new(LEN, 1234, ALL_ACCESS);
	null = ibv_alloc_null_mr(dev.pd);
	if (!null)
		lacks("no null region: errno %d", errno);
}

/* A piece of the null region: any address is valid. */
static struct ibv_sge nothing(uint64_t addr, uint32_t length)
{
	return (struct ibv_sge){ addr, length, null->lkey };
}

/* The null region's fields, and that there may be several. */
static void z1_what_it_is(void)
{
	begin();
	CHECK(null->pd == dev.pd);
	CHECK(null->context == dev.ctx);
	CHECK(null->length == SIZE_MAX);
	CHECK_EQ(ibv_dereg_mr(null), 0);
	/* There can be several. */
	null = MUST(ibv_alloc_null_mr(dev.pd));
	CHECK(ibv_alloc_null_mr(dev.pd) != null);
	CHECK_EQ(ibv_dereg_mr(null), 0);
}

/* What is read from the null region, at any address, is zeros. */
static void z2_reads_as_zeros(void)
{
	begin();
	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, nothing(0, LEN), all.base,
		    all.rkey),
	       IBV_WC_SUCCESS);
	memset(all.buf->want, 0, LEN);
	buf_check(all.buf);
	buf_fill(all.buf);
	/* A range that wraps around 2^64 works, too. */
	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, nothing(UINT64_MAX - 7, 8),
		    all.base + 99, all.rkey),
	       IBV_WC_SUCCESS);
	memset(all.buf->want + 99, 0, 8);
	buf_check(all.buf);
}

/* What is written to the null region is gone. */
static void z3_swallows(void)
{
	begin();
	expect(rdma(&link_.a, IBV_WR_RDMA_READ, nothing(0x1234567, LEN),
		    all.base, all.rkey),
	       IBV_WC_SUCCESS);
	buf_check(all.buf);
	/* Bytes that were written do not come back when read. */
	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, nothing(0x1234567, LEN),
		    all.base, all.rkey),
	       IBV_WC_SUCCESS);
	memset(all.buf->want, 0, LEN);
	buf_check(all.buf);
}

/* Sends from the null region carry zeros, and receives into it succeed. */
static void z4_messages(void)
{
	struct ibv_sge sge;

	begin();
	sge = nothing(4711, LEN);
	post_recv(&link_.b, &sge, 1, 1);
	expect(send_sge(&link_.a, sge_of(&all, 0, LEN)), IBV_WC_SUCCESS);
	expect(await(link_.b.rcq), IBV_WC_SUCCESS);
	buf_check(all.buf);

	sge = sge_of(&all, 0, LEN);
	post_recv(&link_.b, &sge, 1, 1);
	expect(send_sge(&link_.a, nothing(0, LEN)), IBV_WC_SUCCESS);
	expect(await(link_.b.rcq), IBV_WC_SUCCESS);
	memset(all.buf->want, 0, LEN);
	buf_check(all.buf);
}

/* The purpose of the null region: leaving out a part of a message. */
static void z5_in_a_list(void)
{
	struct region to;
	struct ibv_send_wr wr;
	struct ibv_sge sges[3];
	enum { HEAD = 4099, GAP = 9001, TAIL = 5003 };

	begin();
	to = region_new(LEN, 77, ALL_ACCESS);
	sges[0] = sge_of(&to, 0, HEAD);
	sges[1] = nothing(1, GAP);
	sges[2] = sge_of(&to, HEAD + GAP, TAIL);
	wr = (struct ibv_send_wr){
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = sges,
		.num_sge = 3,
		.wr.rdma = { all.base, all.rkey },
	};
	post(&link_.a, &wr);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	memcpy(to.buf->want, all.buf->want, HEAD);
	memcpy(to.buf->want + HEAD + GAP, all.buf->want + HEAD + GAP, TAIL);
	buf_check(to.buf);
	buf_check(all.buf);
}

/* An atomic whose old value goes to the null region still changes the memory. */
static void z6_atomics(void)
{
	uint64_t at, value;

	begin();
	/* The old value is dropped, and the new value is in memory. */
	at = -all.base & 7;
	memcpy(&value, all.buf->want + at, sizeof(value));
	expect(atomic_op(&link_.a, IBV_WR_ATOMIC_FETCH_AND_ADD, nothing(16, 8),
			 all.base + at, all.rkey, 5, 0),
	       IBV_WC_SUCCESS);
	value += 5;
	memcpy(all.buf->want + at, &value, sizeof(value));
	buf_check(all.buf);
}

/* A peer cannot use the null region's keys, nor can a window be bound to it. */
static void z7_local_only(void)
{
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .length = 8,
			       .mw_access_flags = IBV_ACCESS_REMOTE_READ },
	};
	struct ibv_mw *mw;

	begin();
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 8), 0, null->lkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 8), 0, null->rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1));
	bind.bind_info.mr = null;
	if (ibv_bind_mw(link_.a.qp, mw, &bind))
		CHECK(!dev.pinion);
	else
		expect(await(link_.a.scq), IBV_WC_MW_BIND_ERR);
}

static const struct test tests[] = {
	TEST(z1_what_it_is, "Z1 alloc and dereg"),
	TEST(z2_reads_as_zeros, "Z2 reads as zeros"),
	TEST(z3_swallows, "Z3 swallows what is written"),
	TEST(z4_messages, "Z4 messages from and to nothing"),
	TEST(z5_in_a_list, "Z5 a gap in a scatter list"),
	TEST(z6_atomics, "Z6 atomics without the old value"),
	TEST(z7_local_only, "Z7 for local use only"),
};

HARNESS_MAIN("ibv_alloc_null_mr(3)", tests)
