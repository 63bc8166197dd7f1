// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand regions that begin and end at odd places in a page: first and last bytes, and pages
 * missing in the middle (item A47). A page to itself (item A44). Advice by the iova of a region that differs from the address
 * (items A49 and A51). A large, sparse region (item A45).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "resources.h"

static struct link link_;

/* Accesses all of @r, and its last bytes alone, with its pages dropped before. */
static void edges(struct region *all, struct region *r, size_t length)
{
	uint32_t few = length < 9 ? length : 9;

	buf_forget(r->buf);
	check_write(&link_, all, 0, r, length - few, few);
	buf_forget(r->buf);
	check_read(&link_, all, 0, r, length - few, few);
	buf_forget(r->buf);
	check_write(&link_, all, 0, r, 0, length);
	check_read(&link_, all, 0, r, 0, length);
}

/* The first and last bytes of regions of all offsets and lengths around a page. */
static void a47_edges(void)
{
	static const size_t lengths[] = {
		1, 2, 100, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE, 3 * PAGE + 1
	};
	static const size_t offsets[] = { 0, 1, 2000, PAGE - 2, PAGE - 1 };
	struct region all, r;
	size_t i, j;

	need_odp();
	link_make(&link_, NULL);
	all = region_new(4 * PAGE, 1234, ALL_ACCESS);
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		for (j = 0; j < sizeof(offsets) / sizeof(*offsets); j++) {
			context("%zu bytes, %zu into a page", lengths[i],
				offsets[j]);
			r = region_new(lengths[i], offsets[j], ODP_ALL);
			edges(&all, &r, lengths[i]);
			region_free(&r);
		}
	}
}

/* Every third page is missing, on the side that is read or on the other. */
static void a47_thirds(void)
{
	enum { LEN = 300 * PAGE };
	struct qp_cfg cfg = { .timeout = 18 };
	int fd = memfd_create("odp", MFD_CLOEXEC), side;
	struct region all, r;
	uint8_t *map;
	size_t at;

	need_odp();
	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, LEN + 2 * PAGE), 0);
	map = mmap(NULL, LEN + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   0);
	CHECK(map != MAP_FAILED);
	close(fd);
	link_make(&link_, &cfg);
	all = region_new(LEN, 77, ALL_ACCESS);
	r = region_reg(dev.pd, buf_of(map, LEN + 2 * PAGE, PAGE + 5, LEN - 5),
		       ODP_ALL);
	for (side = 0; side < 2; side++) {
		buf_fill(all.buf);
		buf_fill(r.buf);
		for (at = 0; at < LEN; at += 3 * PAGE)
			CHECK_EQ(madvise(map + at, PAGE, MADV_DONTNEED), 0);
		if (side)
			check_read(&link_, &r, 100, &all, 3, LEN - 1000);
		else
			check_read(&link_, &all, 3, &r, 100, LEN - 1000);
	}
}

/* Advice is by the iova; by the memory's own address it is EFAULT. */
static void a49_advised(void)
{
	enum { LEN = 50000 };
	const uint64_t iova = 0x900000123;
	struct buf *buf = buf_new(LEN, 0x123);
	struct region all, r;
	struct ibv_sge sge;
	int i;

	need_odp();
	link_make(&link_, NULL);
	all = region_new(LEN, 1234, ALL_ACCESS);
	r = region_of(
		buf,
		MUST(ibv_reg_mr_iova(dev.pd, buf->data, LEN, iova, ODP_ALL)),
		iova);
	for (i = 0; i < 20; i++) {
		sge = sge_of(&r, rnd_below(LEN - 1), 1);
		sge.length += rnd_below(iova + LEN - sge.addr);
		buf_forget(buf);
		CHECK_EQ(ibv_advise_mr(dev.pd,
				       IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
			 0);
		exchange(&link_, &all, &r);
	}
	sge.addr = (uintptr_t)buf->data;
	CHECK_EQ(ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
			       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
		 EFAULT);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
}

/*
 * A message from a page that may be read only to that same page is refused. The fault that fails
 * removes the page, which the message then lacks as its source, and so on.
 */
static void a44_into_its_source(void)
{
	struct ibv_sge sge;
	struct region r;

	need_odp();
	link_make(&link_, NULL);
	r = region_new(2 * PAGE, 0, ODP_ALL);
	CHECK_EQ(mprotect(r.buf->data, PAGE, PROT_READ), 0);
	sge = sge_of(&r, 0, 100);
	refused(&link_, IBV_WR_RDMA_WRITE, sge, r.base + 2000, r.rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	post_recv(&link_.b, &(struct ibv_sge){ r.base + 2000, 100, r.lkey }, 1,
		  1);
	expect(send_sge(&link_.a, sge), IBV_WC_REM_OP_ERR);
	link_renew(&link_);
	buf_check(r.buf);
}

/*
 * Only the first and the last byte of a terabyte are touched: two children. Unmapping the
 * terabyte must look only at these.
 */
static void a45_sparse(void)
{
	const size_t length = 1ULL << 40, few = 9;
	struct region all, r = {};
	uint64_t events;
	uint8_t *map;

	need_odp();
	link_make(&link_, NULL);
	all = region_new(PAGE, 1234, ALL_ACCESS);
	map = mmap(NULL, length, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		skip("no terabyte of addresses");
	madvise(map, length, MADV_NOHUGEPAGE);
	r.mr = MUST(ibv_reg_mr(dev.pd, map + 1, length - 2, ODP_ALL));
	r.base = (uintptr_t)map + 1;
	r.rkey = r.mr->rkey;
	CHECK_EQ(region_counter(&r, "children"), 0);
	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&all, 0, few), r.base,
		    r.rkey),
	       IBV_WC_SUCCESS);
	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&all, 100, few),
		    r.base + length - 2 - few, r.rkey),
	       IBV_WC_SUCCESS);
	CHECK(!memcmp(map + 1, all.buf->data, few));
	CHECK(!memcmp(map + length - 1 - few, all.buf->data + 100, few));
	CHECK_EQ(region_counter(&r, "children"), 2);
	events = region_counter(&r, "page_invalidations_handled");
	CHECK_EQ(munmap(map, length), 0);
	CHECK_EQ(region_counter(&r, "page_invalidations_handled") - events, 2);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, few), r.base, r.rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
}

static const struct test tests[] = {
	TEST(a47_edges, "A47 the first and the last bytes (class 1)"),
	TEST(a47_thirds, "A47 a read, each third page missing"),
	TEST(a44_into_its_source, "A44 from a read-only page to itself"),
	TEST(a45_sparse, "A45 a terabyte with little there (class 23)"),
	TEST(a49_advised, "A49 advice by another address (class 14)"),
};

HARNESS_MAIN("The edges of on-demand regions", tests)
