// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_reg_mr_iova(3): work requests use another address than the process (items A53 to A58).
 */
#define _GNU_SOURCE
#include "link.h"
#include "pins.h"

enum { LEN = 33333, OFFSET = 0x123 };

static struct link link_;
static struct region all;

static void begin(void)
{
	link_make(&link_, NULL);
	all = region_new(LEN, 1234, ALL_ACCESS);
}

static struct region at_iova(struct buf *buf, uint64_t iova)
{
	struct ibv_mr *mr;

	mr = MUST(ibv_reg_mr_iova(dev.pd, buf->data, buf->length, iova,
				  ALL_ACCESS));
	return region_of(buf, mr, iova);
}

static void exact(struct region *r)
{
	exchange(&link_, &all, r);
	exchange(&link_, r, &all);
	if (r->base)
		refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 1),
			r->base - 1, r->rkey, IBV_WC_REM_ACCESS_ERR,
			PINION_SYN_REMOTE);
	if (r->base + LEN)
		refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 1),
			r->base + LEN, r->rkey, IBV_WC_REM_ACCESS_ERR,
			PINION_SYN_REMOTE);
	buf_check(r->buf);
	buf_check(all.buf);
}

/* The iova is the address of the first byte for both keys. */
static void a53_base(void)
{
	struct region r;

	begin();
	r = at_iova(buf_new(LEN, OFFSET), 0x700000000 + OFFSET);
	CHECK(r.mr->addr == r.buf->data);
	CHECK_EQ(r.mr->length, LEN);
	check_write(&link_, &all, 1, &r, 5000, 20000);
	check_send(&link_, &r, 5000, &all, 1, 20000);
	buf_check(r.buf);
	exact(&r);
}

/* Iova 0 is an address like others. */
static void a54_zero(void)
{
	struct region r;

	begin();
	r = at_iova(buf_new(LEN, 0), 0);
	exact(&r);
}

/* With iova 0 memory at any offset of a page begins at 0. */
static void a54_unaligned(void)
{
	struct region r;

	begin();
	r = at_iova(buf_new(LEN, OFFSET), 0);
	check_write(&link_, &all, 1, &r, 5000, 20000);
	check_read(&link_, &all, 1, &r, 5000, 20000);
	exact(&r);
}

/* An iova with another offset into its page than the memory's is EINVAL. */
static void a55_page_offset(void)
{
	struct buf *buf = buf_new(LEN, OFFSET);

	MUST_NOT(ibv_reg_mr_iova(dev.pd, buf->data, LEN, 0x10000 + OFFSET + 1,
				 ALL_ACCESS),
		 EINVAL);
	CHECK_EQ(vm_pin(0), 0);
}

/* With an iova the memory's own address is out of range. */
static void a56_outside(void)
{
	struct region r;

	begin();
	r = at_iova(buf_new(LEN, OFFSET), 0x5000 + OFFSET);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 8),
		(uintptr_t)r.buf->data, r.rkey, IBV_WC_REM_ACCESS_ERR,
		PINION_SYN_REMOTE);
	expect_why(rdma(&link_.a, IBV_WR_RDMA_WRITE,
			(struct ibv_sge){ (uintptr_t)r.buf->data, 8, r.lkey },
			all.base, all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_RANGE);
	buf_check(r.buf);
	buf_check(all.buf);
}

/* Each iova with which the region ends beyond 2^64 is EINVAL; the last one before them works. */
static void a57_overflow(void)
{
	struct buf *buf = buf_new(LEN, OFFSET);
	uint64_t last =
		-(uint64_t)((LEN + OFFSET) & ~(PAGE - 1)) - PAGE + OFFSET;
	struct region r;
	uint64_t iova;

	begin();
	for (iova = last + PAGE; iova > last; iova += PAGE) {
		context("iova %#llx", (unsigned long long)iova);
		MUST_NOT(ibv_reg_mr_iova(dev.pd, buf->data, LEN, iova,
					 ALL_ACCESS),
			 EINVAL);
	}
	context("%s", "");
	/* The highest iova with which the region still ends below 2^64. */
	r = at_iova(buf, last);
	exact(&r);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 0x400),
		UINT64_MAX - 0x3ff + 1, r.rkey, IBV_WC_REM_ACCESS_ERR,
		PINION_SYN_REMOTE);
}

/* A region may end at 2^64 exactly, and its last byte can be accessed. */
static void a57_exactly(void)
{
	struct buf *buf = buf_new(LEN - LEN % PAGE, 0);
	struct region r;

	begin();
	r = at_iova(buf, -(uint64_t)buf->length);
	exchange(&link_, &all, &r);
	check_write(&link_, &all, 0, &r, buf->length - 0x400, 0x400);
	check_read(&link_, &all, 0, &r, buf->length - 1, 1);
	buf_check(r.buf);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 2), UINT64_MAX,
		r.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	buf_check(r.buf);
}

/* Regions with the same iova, and with a huge one, do not disturb each other. */
static void a58_independent(void)
{
	struct region a, b, huge;

	begin();
	a = region_new(LEN, OFFSET, ALL_ACCESS);
	b = at_iova(buf_new(LEN, OFFSET), a.base);
	huge = at_iova(buf_new(LEN, OFFSET), 1ULL << 63 | OFFSET);
	exact(&huge);
	exact(&b);
	buf_check(a.buf);
	exact(&a);
	buf_check(b.buf);
}

static const struct test tests[] = {
	TEST(a53_base, "A53 iova is the base of both keys"),
	TEST(a54_zero, "A54 iova 0"),
	TEST(a54_unaligned, "A54 iova 0 is zero-based at any address"),
	TEST(a55_page_offset, "A55 another offset in the page"),
	TEST(a56_outside, "A56 the memory's own address is outside"),
	TEST(a57_overflow, "A57 iova + length overflows (class 2)"),
	TEST(a57_exactly, "A57 iova + length is exactly 2^64"),
	TEST(a58_independent, "A58 huge, and equal to another region's"),
};

HARNESS_MAIN("ibv_reg_mr_iova(3)", tests)
