// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of memfd_secret(2), which is not in the kernel's direct mapping: messages cannot reach
 * it, by a pinned region or an on-demand one.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "link.h"

enum {
	/* The middle pages are secret, from FIRST on. */
	PAGES = 12,
	FIRST = 4,
	END = 8,
	LEN = 3 * 4096,
};

static struct link link_;
static struct region all; /* pinned */

static struct buf *half_secret(void)
{
	int fd = syscall(SYS_memfd_secret, O_CLOEXEC);
	struct buf *buf;
	size_t n = (END - FIRST) * PAGE;

	if (fd < 0 && errno == ENOSYS)
		skip("no memfd_secret() in this kernel");
	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, n), 0);
	buf = buf_new(PAGES * PAGE, 0);
	CHECK(mmap(buf->data + FIRST * PAGE, n, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED);
	close(fd);
	buf_fill(buf);
	return buf;
}

static void refuse_secret(struct region *r, uint64_t at)
{
	struct ibv_sge mine = sge_of(&all, 0, 8);
	struct ibv_wc wc;

	context("at page %llu", (unsigned long long)(at / PAGE));
	refused(&link_, IBV_WR_RDMA_READ, mine, r->base + at, r->rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_WRITE, mine, r->base + at, r->rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	wc = atomic_op(&link_.a, IBV_WR_ATOMIC_FETCH_AND_ADD, mine,
		       r->base + at, r->rkey, 1, 0);
	expect_why(wc, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	link_renew(&link_);
	expect_why(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(r, at, 8), all.base,
			all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_FAULT);
	link_renew(&link_);
	expect_why(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(r, at, 8), all.base,
			all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_FAULT);
	link_renew(&link_);
}

static int advise(enum ibv_advise_mr_advice advice, const struct region *r,
		  uint64_t at, uint32_t length)
{
	struct ibv_sge sge = sge_of(r, at, length);

	return ibv_advise_mr(dev.pd, advice, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

static void try_all(struct region *r)
{
	size_t secret = FIRST * PAGE, n = (END - FIRST) * PAGE;

	refuse_secret(r, secret);
	refuse_secret(r, secret + n - 8);
	/* The pages around it can be accessed. */
	check_write(&link_, &all, 0, r, PAGE, LEN);
	check_read(&link_, &all, 0, r, END * PAGE, LEN);
	buf_check(r->buf);
	CHECK(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, r, secret, n));
	CHECK(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, r, secret, n));
	CHECK_EQ(advise(2 /* NO_FAULT */, r, 0, PAGES * PAGE), 0);
	refuse_secret(r, secret + PAGE);
	check_write(&link_, &all, 0, r, PAGE, LEN);
	/* Normal memory at the same place can be accessed. */
	buf_replace(r->buf, secret, n);
	check_write(&link_, &all, 0, r, secret, LEN);
	buf_check(r->buf);
}

static void begin(void)
{
	need_odp();
	link_make(&link_, NULL);
	all = region_new(LEN, 1234 * 8, ALL_ACCESS);
}

/* An explicit region with secret memory in it: what is secret is refused, the rest works. */
static void a29_explicit(void)
{
	struct buf *buf = half_secret();
	struct region r;

	begin();
	r = region_reg(dev.pd, buf, ODP_ALL);
	try_all(&r);
}

/* The same in an implicit region. */
static void a41_implicit(void)
{
	struct buf *buf = half_secret();
	struct region r;

	begin();
	need_implicit();
	r = region_of(buf, MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL)),
		      (uintptr_t)buf->data);
	try_all(&r);
}

/* Secret memory cannot be pinned: EFAULT, and nothing is. */
static void a1_pinned(void)
{
	struct buf *buf = half_secret();

	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, buf->length, ALL_ACCESS),
		 EFAULT);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data + FIRST * PAGE, 8,
			    IBV_ACCESS_REMOTE_READ),
		 EFAULT);
}

static const struct test tests[] = {
	TEST(a29_explicit, "A29 secret memory in an explicit region"),
	TEST(a41_implicit, "A41 secret memory in an implicit region"),
	TEST(a1_pinned, "A1 secret memory is not pinned"),
};

HARNESS_MAIN("ibv_reg_mr(3): memory of memfd_secret(2)", tests)
