// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_reg_mr(3), access flags: each grants what it says and nothing else, by key
 * alone and to the byte (items A21 to A40; those of ON_DEMAND are in odp.c).
 */
#define _GNU_SOURCE
#include <string.h>

#include "newer.h"

enum { LEN = 20011 };

static struct link link_;
static struct region all; /* may do everything */

static void begin(void)
{
	link_make(&link_, NULL);
	all = region_new(LEN, 1234, ALL_ACCESS);
}

static struct region with(int access)
{
	return region_new(LEN, 77, access);
}

static void refuses(struct region *r, enum ibv_wr_opcode opcode)
{
	uint64_t at = (r->base + 7) & ~7ULL;

	buf_fill(r->buf);
	buf_fill(all.buf);
	refused(&link_, opcode, sge_of(&all, 3, 8), at, r->rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	buf_check(r->buf);
	buf_check(all.buf);
}

/* Only with LOCAL_WRITE may the device write to the region by its lkey, for reads and receives. */
static void a21_local_write(void)
{
	struct region yes, no;
	struct ibv_sge sink;

	begin();
	yes = with(IBV_ACCESS_LOCAL_WRITE);
	no = with(IBV_ACCESS_REMOTE_READ);
	check_read(&link_, &yes, 3, &all, 5, 19001);
	check_send(&link_, &all, 1, &yes, 2, 19001);
	buf_check(yes.buf);

	expect_why(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&no, 3, 9000),
			all.base, all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_RIGHTS);
	link_renew(&link_);
	sink = sge_of(&no, 3, 9000);
	post_recv(&link_.b, &sink, 1, 0);
	expect_why(send_sge(&link_.a, sge_of(&all, 0, 5000)), IBV_WC_REM_OP_ERR,
		   PINION_SYN_REMOTE);
	expect_why(await(link_.b.rcq), IBV_WC_LOC_PROT_ERR,
		   PINION_SYN_KEY_RIGHTS);
	buf_check(no.buf);
}

/* Only with REMOTE_WRITE may a peer write to the region. */
static void a22_remote_write(void)
{
	struct region yes, no;

	begin();
	yes = with(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	no = with(ALL_ACCESS & ~IBV_ACCESS_REMOTE_WRITE);
	check_write(&link_, &all, 3, &yes, 4095, 15000);
	buf_check(yes.buf);
	refuses(&no, IBV_WR_RDMA_WRITE);
	check_write(&link_, &all, 3, &yes, 0, LEN - 3);
	buf_check(yes.buf);
}

/* Only with REMOTE_READ may a peer read from the region. */
static void a23_remote_read(void)
{
	struct region yes, no;

	begin();
	yes = with(IBV_ACCESS_REMOTE_READ);
	no = with(ALL_ACCESS & ~IBV_ACCESS_REMOTE_READ);
	check_read(&link_, &all, 3, &yes, 4095, 15000);
	buf_check(all.buf);
	refuses(&no, IBV_WR_RDMA_READ);
}

static void atomics_work(struct region *r)
{
	uint64_t value = rnd(), before, *word;
	size_t at = -r->base & 7;

	word = (void *)(r->buf->want + at);
	memcpy(r->buf->data + at, &value, 8);
	*word = value;
	expect(atomic_op(&link_.a, IBV_WR_ATOMIC_FETCH_AND_ADD,
			 sge_of(&all, 5, 8), r->base + at, r->rkey, 7, 0),
	       IBV_WC_SUCCESS);
	memcpy(&before, all.buf->data + 5, 8);
	CHECK_EQ(before, value);
	*word = value + 7;
	buf_check(r->buf);
	expect(atomic_op(&link_.a, IBV_WR_ATOMIC_CMP_AND_SWP,
			 sge_of(&all, 5, 8), r->base + at, r->rkey, value, 9),
	       IBV_WC_SUCCESS);
	memcpy(&before, all.buf->data + 5, 8);
	CHECK_EQ(before, value + 7);
	buf_check(r->buf);
	expect(atomic_op(&link_.a, IBV_WR_ATOMIC_CMP_AND_SWP,
			 sge_of(&all, 5, 8), r->base + at, r->rkey, value + 7,
			 9),
	       IBV_WC_SUCCESS);
	*word = 9;
	buf_check(r->buf);
	memcpy(all.buf->want + 5, &before, 8);
	buf_check(all.buf);
}

/* Only with REMOTE_ATOMIC may a peer use atomics on the region. */
static void a24_remote_atomic(void)
{
	struct region yes, no;

	begin();
	if (dev.attr.orig_attr.atomic_cap == IBV_ATOMIC_NONE)
		lacks("no atomics");
	yes = with(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	no = with(ALL_ACCESS & ~IBV_ACCESS_REMOTE_ATOMIC);
	atomics_work(&yes);
	refuses(&no, IBV_WR_ATOMIC_FETCH_AND_ADD);
	refuses(&no, IBV_WR_ATOMIC_CMP_AND_SWP);
}

/* Atomics at addresses that are no multiple of eight are refused, and change nothing. */
static void a25_misaligned_atomic(void)
{
	int at;

	begin();
	for (at = 0; at < 9; at++) {
		struct ibv_sge sge = sge_of(&all, 0, 8);
		uint64_t remote = all.base + 100 + at;
		struct ibv_send_wr *bad, wr = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.atomic = { .remote_addr = remote,
				       .rkey = all.rkey },
		};

		if (!(remote & 7))
			continue;
		/* Some devices refuse a misaligned address when the request is posted. */
		if (ibv_post_send(link_.a.qp, &wr, &bad)) {
			CHECK(!dev.pinion);
			continue;
		}
		expect(await(link_.a.scq), IBV_WC_REM_INV_REQ_ERR);
		link_renew(&link_);
	}
	buf_check(all.buf);
}

/* Each combination of rights: remote writes and atomics without LOCAL_WRITE are EINVAL. */
static void a26_needs_local_write(void)
{
	struct buf *buf = buf_new(LEN, 5);
	int access;

	for (access = 0; access < 16; access++) {
		bool writes = access & (IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_REMOTE_ATOMIC);

		context("access %#x", access);
		if (writes && !(access & IBV_ACCESS_LOCAL_WRITE))
			MUST_NOT(ibv_reg_mr(dev.pd, buf->data, LEN, access),
				 EINVAL);
		else
			MUST(ibv_reg_mr(dev.pd, buf->data, LEN, access));
	}
}

/* A window can be bound to a region with MW_BIND, and not to one without. */
static void a27_mw_bind(void)
{
	struct region yes, no;
	struct ibv_mw *mw;
	struct ibv_mw_bind bind = {
		.wr_id = 5,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .length = 100,
			       .mw_access_flags = IBV_ACCESS_REMOTE_READ },
	};

	begin();
	yes = with(ALL_ACCESS | IBV_ACCESS_MW_BIND);
	no = with(ALL_ACCESS);
	mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1));
	bind.bind_info.mr = yes.mr;
	bind.bind_info.addr = yes.base + 33;
	CHECK_EQ(ibv_bind_mw(link_.a.qp, mw, &bind), 0);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	expect(rdma(&link_.b, IBV_WR_RDMA_READ, sge_of(&all, 1, 100),
		    yes.base + 33, mw->rkey),
	       IBV_WC_SUCCESS);
	memcpy(all.buf->want + 1, yes.buf->want + 33, 100);
	buf_check(all.buf);

	mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1));
	bind.bind_info.mr = no.mr;
	bind.bind_info.addr = no.base;
	if (ibv_bind_mw(link_.a.qp, mw, &bind)) {
		CHECK(!dev.pinion);
		return;
	}
	expect_why(await(link_.a.scq), IBV_WC_MW_BIND_ERR, PINION_SYN_BIND);
}

/* A zero-based region begins at address 0 for both keys, and its own address is out of range. */
static void a28_zero_based(void)
{
	struct region r;
	struct buf *buf;
	struct ibv_mr *mr;

	begin();
	buf = buf_new(LEN, 1007);
	mr = MUST(ibv_reg_mr(dev.pd, buf->data, LEN,
			     ALL_ACCESS | IBV_ACCESS_ZERO_BASED));
	r = region_of(buf, mr, 0);
	exchange(&link_, &all, &r);
	exchange(&link_, &r, &all);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 1), LEN, r.rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 1),
		(uintptr_t)buf->data, r.rkey, IBV_WC_REM_ACCESS_ERR,
		PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 1), UINT64_MAX,
		r.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	expect_why(rdma(&link_.a, IBV_WR_RDMA_WRITE,
			(struct ibv_sge){ (uintptr_t)buf->data, 1, r.lkey },
			all.base, all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_RANGE);
	buf_check(buf);
	buf_check(all.buf);
}

/* HUGETLB without ON_DEMAND has no effect: data arrive as without it. */
static void a33_hugetlb_alone(void)
{
	struct region r;
	struct buf *buf;
	struct ibv_mr *mr;

	begin();
	buf = buf_new(LEN, 3);
	errno = 0;
	mr = ibv_reg_mr(dev.pd, buf->data, LEN,
			ALL_ACCESS | IBV_ACCESS_HUGETLB);
	if (!mr) {
		/* Without ON_DEMAND the flag has no effect; some devices refuse it. */
		CHECK(!dev.pinion);
		CHECK(errno == EOPNOTSUPP || errno == EINVAL);
		return;
	}
	r = region_of(buf, mr, (uintptr_t)buf->data);
	exchange(&link_, &all, &r);
}

/* RELAXED_ORDERING is accepted, and data arrive as without it. */
static void a34_relaxed_ordering(void)
{
	struct region r;

	begin();
	r = with(ALL_ACCESS | IBV_ACCESS_RELAXED_ORDERING);
	exchange(&link_, &all, &r);
}

/* Unknown flags in the optional range are ignored, others are refused. */
static void a35_unknown_bits(void)
{
	struct buf *buf = buf_new(LEN, 0);
	int bit;

	for (bit = 20; bit < 30; bit++) {
		context("bit %d", bit);
		MUST(ibv_reg_mr(dev.pd, buf->data, LEN, ALL_ACCESS | 1 << bit));
	}
	for (bit = 10; bit < 20; bit++) {
		context("bit %d", bit);
		errno = 0;
		CHECK(!ibv_reg_mr(dev.pd, buf->data, LEN,
				  ALL_ACCESS | 1 << bit));
		if (dev.pinion)
			CHECK_EQ(errno, EINVAL);
		CHECK(errno == EINVAL || errno == EOPNOTSUPP);
	}
}

/* FLUSH_GLOBAL is accepted; FLUSH_PERSISTENT is refused for ordinary memory. */
static void a36_flush(void)
{
	struct buf *buf = buf_new(LEN, 0);
	struct ibv_mr *mr;

	begin();
	errno = 0;
	mr = ibv_reg_mr(dev.pd, buf->data, LEN,
			ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL);
	if (!mr)
		CHECK_EQ(errno, EOPNOTSUPP);
	CHECK(mr || !dev.pinion);
	/* This memory is not persistent. */
	errno = 0;
	CHECK(!ibv_reg_mr(dev.pd, buf->data, LEN,
			  ALL_ACCESS | IBV_ACCESS_FLUSH_PERSISTENT));
	if (dev.pinion)
		CHECK_EQ(errno, dev.persistent ? EINVAL : EOPNOTSUPP);
	CHECK(errno == EOPNOTSUPP || errno == EINVAL);
}

/* Keys that differ in one bit, and keys of another domain, are refused for both sides. */
static void a37_keys(void)
{
	struct ibv_pd *pd;
	struct region foreign;
	struct ibv_sge sge;
	struct ibv_wc wc;
	int bit;

	begin();
	for (bit = 0; bit < 32; bit++) {
		context("bit %d of the key", bit);
		refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 8),
			all.base + 100, all.rkey ^ 1U << bit,
			IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
		sge = sge_of(&all, 0, 8);
		sge.lkey ^= 1U << bit;
		wc = rdma(&link_.a, IBV_WR_RDMA_WRITE, sge, all.base, all.rkey);
		expect_why(wc, IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_UNKNOWN);
		link_renew(&link_);
	}
	context("%s", "");
	pd = MUST(ibv_alloc_pd(dev.ctx));
	foreign = region_reg(pd, buf_new(LEN, 9), ALL_ACCESS);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 8), foreign.base,
		foreign.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 8), foreign.base,
		foreign.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	wc = rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&foreign, 0, 8), all.base,
		  all.rkey);
	expect_why(wc, IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_UNKNOWN);
	buf_check(all.buf);
	buf_check(foreign.buf);
}

/* Accesses that begin one byte below the region are refused and change nothing. */
static void a38_below(void)
{
	struct region r;

	begin();
	r = with(ALL_ACCESS);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 1), r.base - 1,
		r.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 100), r.base - 1,
		r.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	expect_why(rdma(&link_.a, IBV_WR_RDMA_WRITE,
			(struct ibv_sge){ r.base - 1, 2, r.lkey }, all.base,
			all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_RANGE);
	buf_check(r.buf);
	buf_check(all.buf);
}

/* The last byte can be accessed; whatever ends beyond it is refused. */
static void a38_beyond(void)
{
	struct region r;
	struct ibv_sge sink;

	begin();
	r = with(ALL_ACCESS);
	check_write(&link_, &all, 0, &r, LEN - 9000, 9000);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 9000),
		r.base + LEN - 8999, r.rkey, IBV_WC_REM_ACCESS_ERR,
		PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 1), r.base + LEN,
		r.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 100), UINT64_MAX - 9,
		r.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	/* An atomic of eight bytes, the last of which is outside of the region. */
	if (LEN % 8)
		refused(&link_, IBV_WR_ATOMIC_FETCH_AND_ADD, sge_of(&all, 0, 8),
			(r.base + LEN) & ~7ULL, r.rkey, IBV_WC_REM_ACCESS_ERR,
			PINION_SYN_REMOTE);
	expect_why(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&r, LEN - 99, 100),
			all.base, all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_RANGE);
	link_renew(&link_);
	sink = sge_of(&r, LEN - 99, 100);
	post_recv(&link_.b, &sink, 1, 0);
	expect_why(send_sge(&link_.a, sge_of(&all, 0, 100)), IBV_WC_REM_OP_ERR,
		   PINION_SYN_REMOTE);
	expect_why(await(link_.b.rcq), IBV_WC_LOC_PROT_ERR,
		   PINION_SYN_KEY_RANGE);
	/* The part of the message that fits may have been written, but no byte after it. */
	memcpy(r.buf->want + LEN - 99, r.buf->data + LEN - 99, 99);
	buf_check(r.buf);
	buf_check(all.buf);
}

/* Messages without bytes succeed whatever their addresses and keys are. */
static void a39_zero_length(void)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_READ };
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct ibv_send_wr wr = {
			.opcode = opcodes[i],
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { .remote_addr = rnd(), .rkey = rnd() },
		};

		post(&link_.a, &wr);
		expect(await(link_.a.scq), IBV_WC_SUCCESS);
		expect(rdma(&link_.a, opcodes[i],
			    (struct ibv_sge){ .lkey = all.lkey }, 0, 0),
		       IBV_WC_SUCCESS);
		expect(rdma(&link_.a, opcodes[i], sge_of(&all, 0, 0),
			    all.base + LEN, all.rkey),
		       IBV_WC_SUCCESS);
	}
}

/* A write that is one byte too long fails, and no byte outside of the region changes. */
static void a40_partial(void)
{
	size_t big = 3 << 20;
	struct region from, to;
	size_t i;

	begin();
	from = region_new(big, 123, ALL_ACCESS);
	to = region_new(big - 1, 321, ALL_ACCESS);
	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&from, 0, big), to.base,
		    to.rkey),
	       IBV_WC_REM_ACCESS_ERR);
	/* Each byte inside is old or new. */
	for (i = 0; i < big - 1; i++)
		if (to.buf->data[i] != to.buf->want[i] &&
		    to.buf->data[i] != from.buf->data[i])
			FAIL("byte %zu is neither old nor new", i);
	memcpy(to.buf->want, to.buf->data, big - 1);
	buf_check(to.buf);
}

static const struct test tests[] = {
	TEST(a21_local_write, "A21 LOCAL_WRITE"),
	TEST(a22_remote_write, "A22 REMOTE_WRITE"),
	TEST(a23_remote_read, "A23 REMOTE_READ"),
	TEST(a24_remote_atomic, "A24 REMOTE_ATOMIC"),
	TEST(a25_misaligned_atomic, "A25 misaligned atomics"),
	TEST(a26_needs_local_write, "A26 remote writing needs LOCAL_WRITE"),
	TEST(a27_mw_bind, "A27 MW_BIND"),
	TEST(a28_zero_based, "A28 ZERO_BASED"),
	TEST(a33_hugetlb_alone, "A33 HUGETLB without ON_DEMAND"),
	TEST(a34_relaxed_ordering, "A34 RELAXED_ORDERING"),
	TEST(a35_unknown_bits, "A35 unknown flags, optional and mandatory"),
	TEST(a36_flush, "A36 FLUSH_GLOBAL and FLUSH_PERSISTENT"),
	TEST(a37_keys, "A37 wrong keys, foreign domains"),
	TEST(a38_below, "A38 bounds: one byte below is refused"),
	TEST(a38_beyond, "A38 bounds: the last byte, and one beyond"),
	TEST(a39_zero_length, "A39 no bytes, no check"),
	TEST(a40_partial, "A40 nothing is written beyond the region"),
};

HARNESS_MAIN("ibv_reg_mr(3): access flags", tests)
