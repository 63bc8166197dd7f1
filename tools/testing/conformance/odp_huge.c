// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_reg_mr(3), IBV_ACCESS_HUGETLB: on-demand memory that consists of huge pages, fetched in
 * whole huge pages (items A31 to A33).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "memory.h"
#include "resources.h"

enum {
	HUGE_ALL = ODP_ALL | IBV_ACCESS_HUGETLB,
	LEN = 50001,
	HUGE = 2 << 20,
};

static struct link link_;
static struct region all; /* pinned */

static void begin(void)
{
	need_odp();
	/* A kernel without huge pages ignores the flag. */
	if (access("/sys/kernel/mm/hugepages/hugepages-2048kB", F_OK))
		skip("no huge pages of 2 MiB in this kernel");
	link_make(&link_, NULL);
	all = region_new(LEN, 1234, ALL_ACCESS);
}

/* Messages across the borders of huge pages arrive. */
static void a31_crossing(void)
{
	struct region r;
	struct buf *buf;
	int i;

	begin();
	buf = memory_new(&memory_hugetlb, 3 * HUGE - 99999, 77777);
	r = region_reg(dev.pd, buf, HUGE_ALL);
	exchange(&link_, &all, &r);
	exchange(&link_, &r, &all);
	for (i = 1; i < 3; i++) {
		/* Access across the border of two huge pages. */
		uint64_t border = (uint64_t)i * HUGE - r.base % HUGE;

		check_write(&link_, &all, 3, &r, border - 1 - 4096, 30001);
		check_read(&link_, &all, 7, &r, border - 1, LEN - 7);
		check_send(&link_, &all, 9, &r, border - 20000, LEN - 9);
		buf_check(buf);
		buf_check(all.buf);
	}
}

/* Huge pages are brought, counted and invalidated as a whole. */
static void a31_granule(void)
{
	struct ibv_sge sge;
	struct region r;
	uint64_t faults, gone;
	struct buf *buf;

	begin();
	buf = memory_new(&memory_hugetlb, 2 * HUGE - 8192, 4096);
	r = region_reg(dev.pd, buf, HUGE_ALL);
	faults = region_counter(&r, "page_faults");
	check_write(&link_, &all, 0, &r, 5, 9);
	CHECK_EQ(region_counter(&r, "page_faults") - faults, HUGE / PAGE);
	/* The whole huge page was fetched: no further fault. */
	check_write(&link_, &all, 0, &r, HUGE - 8192 - LEN, LEN);
	CHECK_EQ(region_counter(&r, "page_faults") - faults, HUGE / PAGE);
	sge = sge_of(&r, 0, 2 * HUGE - 8192);
	CHECK_EQ(ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
		 0);
	CHECK_EQ(region_counter(&r, "page_prefetch"), HUGE / PAGE);
	gone = region_counter(&r, "page_invalidations");
	CHECK_EQ(munmap((void *)((r.base + HUGE) & ~(HUGE - 1ULL)), HUGE), 0);
	CHECK_EQ(region_counter(&r, "page_invalidations") - gone, HUGE / PAGE);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 9), r.base + HUGE,
		r.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	check_write(&link_, &all, 0, &r, 100, LEN);
}

/* Registration succeeds for normal pages; the first access fails. */
static void a32_broken(void)
{
	struct buf *buf = buf_new(5 * HUGE, 77);
	struct ibv_sge sge;
	struct region r;

	begin();
	CHECK_EQ(madvise(buf->map, buf->map_length, MADV_NOHUGEPAGE), 0);
	buf_forget(buf);
	r = region_reg(dev.pd, buf, HUGE_ALL);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 9), r.base + HUGE,
		r.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 9), r.base + HUGE,
		r.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	expect_why(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&r, HUGE, 9),
			all.base, all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_FAULT);
	link_renew(&link_);
	sge = sge_of(&r, HUGE, 9);
	CHECK_EQ(ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
			       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
		 EINVAL);
	buf_check(buf);
	CHECK_EQ(region_counter(&r, "page_faults"), 0);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	buf_check(all.buf);
}

/* HUGETLB is refused for an implicit region, and has no effect on a pinned one. */
static void a33_elsewhere(void)
{
	struct region r;

	begin();
	MUST_NOT(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, HUGE_ALL), EINVAL);
	/* Without ON_DEMAND the flag has no effect. */
	r = region_new(LEN, 77, ALL_ACCESS | IBV_ACCESS_HUGETLB);
	exchange(&link_, &all, &r);
}

static const struct test tests[] = {
	TEST(a31_crossing, "A31 messages across huge pages"),
	TEST(a31_granule, "A31 whole huge pages come and go"),
	TEST(a32_broken, "A32 a promise that is broken"),
	TEST(a33_elsewhere, "A33 HUGETLB elsewhere"),
};

HARNESS_MAIN("ibv_reg_mr(3): huge pages on demand", tests)
