// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_reg_mr(3), on-demand paging: nothing is pinned, and what the device sees is
 * what the process sees (items A29 to A32 and A41 to A52, but A50, which is in
 * odp_load.c).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "memory.h"
#include "pins.h"
#include "resources.h"
#include "slow.h"
#include "transfer.h"

enum {
	ODP = IBV_ACCESS_ON_DEMAND,
	LEN = 50001,
};

static struct link link_;
static struct region all;

static void begin(void)
{
	need_odp();
	link_make(&link_, NULL);
	all = region_new(LEN, 1234, ALL_ACCESS);
}

static struct region on_demand(size_t length, size_t offset, int access)
{
	return region_new(length, offset, access | ODP);
}

static void no_access(uint64_t addr, uint32_t rkey, enum ibv_wr_opcode opcode)
{
	refused(&link_, opcode, sge_of(&all, 0, 8), addr, rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
}

/* A region on demand pins nothing, is subject to no limit of locked memory, and data arrive. */
static void a29_explicit(void)
{
	struct rlimit none = {};
	struct region r;
	long pins;

	begin();
	pins = vm_pin(0);
	r = on_demand(LEN, 77, ALL_ACCESS);
	CHECK_EQ(vm_pin(0), pins);
	exchange(&link_, &all, &r);
	exchange(&link_, &r, &all);
	CHECK_EQ(vm_pin(0), pins);
	region_free(&r);
	/* RLIMIT_MEMLOCK does not apply. */
	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	if (geteuid() == 0)
		CHECK_EQ(setresuid(65534, 65534, 65534), 0);
	r = on_demand(LEN, 77, ALL_ACCESS);
	exchange(&link_, &all, &r);
}

/* HUGETLB with ON_DEMAND works on memory of huge pages. */
static void a31_hugetlb(void)
{
	struct buf *buf;
	struct region r;

	begin();
	buf = memory_new(&memory_hugetlb, LEN, 77);
	r = region_reg(dev.pd, buf, ODP_ALL | IBV_ACCESS_HUGETLB);
	exchange(&link_, &all, &r);
}

/*
 * IBV_ACCESS_HUGETLB for normal pages: some devices refuse it, at registration or at access, and
 * some ignore it.
 */
static void a32_no_hugetlb(void)
{
	struct buf *buf = buf_new(LEN, 77);
	struct region r;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	begin();
	mr = ibv_reg_mr(dev.pd, buf->data, LEN, ODP_ALL | IBV_ACCESS_HUGETLB);
	if (!mr) {
		CHECK(!dev.pinion);
		return;
	}
	r = region_of(buf, mr, (uintptr_t)buf->data);
	wc = rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 9), r.base,
		  r.rkey);
	/* A kernel without huge pages ignores the flag. */
	if (wc.status == IBV_WC_SUCCESS &&
	    (!dev.pinion || access("/sys/kernel/mm/hugepages", F_OK)))
		exchange(&link_, &all, &r);
	else
		expect(wc, IBV_WC_REM_ACCESS_ERR);
}

/* An implicit region covers what is mapped after it, and not what is unmapped. */
static void a41_implicit(void)
{
	struct ibv_mr *mr;
	struct region r;
	int i;

	begin();
	need_implicit();
	mr = MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL));
	CHECK_EQ(vm_pin(0), (all.buf->map_length - 2 * PAGE) / 1024);
	for (i = 0; i < 5; i++) {
		struct buf *later = buf_new(LEN, rnd_below(PAGE));

		r = region_of(later, mr, (uintptr_t)later->data);
		exchange(&link_, &all, &r);
		exchange(&link_, &r, &all);
		buf_free(later);
		no_access((r.base + 7) & ~7ULL, r.rkey, IBV_WR_RDMA_READ);
	}
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

/* SIZE_MAX is an implicit region at address 0 only. */
static void a42_size_max(void)
{
	need_odp();
	MUST_NOT(ibv_reg_mr(dev.pd, (void *)PAGE, SIZE_MAX, ODP_ALL), EINVAL);
	MUST_NOT(ibv_reg_mr_iova(dev.pd, NULL, SIZE_MAX, PAGE, ODP_ALL),
		 EINVAL);
	if (!(dev.attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT))
		CHECK(!ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL));
}

/* Holes in the memory are refused until something is mapped there. */
static void a43_unmapped(void)
{
	struct buf *buf;
	struct region r;
	void *map;

	begin();
	buf = buf_new(8 * PAGE, 0);
	r = region_reg(dev.pd, buf, ODP_ALL);
	CHECK_EQ(munmap(buf->data + 3 * PAGE, 2 * PAGE), 0);
	no_access(r.base + 3 * PAGE, r.rkey, IBV_WR_RDMA_READ);
	no_access(r.base + 4 * PAGE, r.rkey, IBV_WR_RDMA_WRITE);
	/* Across the edge of the hole. */
	no_access(r.base + 3 * PAGE - 4, r.rkey, IBV_WR_RDMA_READ);
	expect_why(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&r, 3 * PAGE, 9),
			all.base, all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_FAULT);
	link_renew(&link_);
	map = mmap(buf->data + 3 * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(map == buf->data + 3 * PAGE);
	exchange(&link_, &all, &r);
}

/* The device may do with a page only what the mapping's protection permits. */
static void a44_protection(void)
{
	struct region r;
	struct buf *buf;

	begin();
	r = on_demand(6 * PAGE, 0, ALL_ACCESS);
	buf = r.buf;
	exchange(&link_, &all, &r);
	CHECK_EQ(mprotect(buf->data, 6 * PAGE, PROT_READ), 0);
	no_access(r.base + 8, r.rkey, IBV_WR_RDMA_WRITE);
	no_access(r.base + PAGE, r.rkey, IBV_WR_ATOMIC_FETCH_AND_ADD);
	check_read(&link_, &all, 3, &r, 5, 5 * PAGE);
	check_write(&link_, &r, 3, &all, 5, 5 * PAGE);
	expect_why(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&r, 9, 9), all.base,
			all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_FAULT);
	link_renew(&link_);
	buf_check(buf);
	buf_check(all.buf);
	CHECK_EQ(mprotect(buf->data, 6 * PAGE, PROT_NONE), 0);
	no_access(r.base, r.rkey, IBV_WR_RDMA_READ);
	CHECK_EQ(mprotect(buf->data, 6 * PAGE, PROT_READ | PROT_WRITE), 0);
	exchange(&link_, &all, &r);
}

/*
 * Pages are replaced, dropped, written and shared by fork(): messages always see the current
 * ones.
 */
static void a45_invalidation(void)
{
	struct region r;
	struct buf *buf;
	int round, pid;

	begin();
	r = region_private(16 * PAGE, 0, ODP_ALL);
	buf = r.buf;
	exchange(&link_, &all, &r);
	for (round = 0; round < 20; round++) {
		size_t at = rnd_below(12) * PAGE;
		size_t n = rnd_in(1, 4) * PAGE;

		context("round %d", round);
		switch (round % 4) {
		case 0:
			buf_replace(buf, at, n);
			break;
		case 1:
			buf_drop(buf, at, n);
			break;
		case 2:
			memset(buf->data + at, round, n);
			memset(buf->want + at, round, n);
			break;
		default:
			/* After a fork pages are shared, and copied when they are written. */
			pid = buf_spoil_copy(buf);
			check_write(&link_, &all, 0, &r, 100, LEN - 1000);
			buf_check(buf);
			rnd_fill(buf->want, 16 * PAGE);
			memcpy(buf->data, buf->want, 16 * PAGE);
			check_read(&link_, &all, 0, &r, 5000, 40000);
			buf_check(all.buf);
			reap_ok(pid);
		}
		check_read(&link_, &all, 7, &r, at + 3, n - 3);
		buf_check(all.buf);
		check_write(&link_, &all, 9, &r, at, n);
		buf_check(buf);
	}
}

/* Keeps the page at @at, so that its memory is not used for another one. */
static void keep_page(void *at)
{
	struct iovec page = { at, PAGE };
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(vmsplice(ends[1], &page, 1, 0), PAGE);
}

/*
 * A page is exchanged while a look-up that has found it already waits for the page behind it: the
 * look-up is out of date, and must not bring the old one.
 */
static void a45_meanwhile(void)
{
	struct ibv_sge sge;
	struct slow slow;
	struct ibv_mr *mr;
	uint8_t *at;

	begin();
	slow = slow_new();
	at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(at != MAP_FAILED);
	CHECK(mmap(at + PAGE, PAGE, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_FIXED, slow.fd, 0) == at + PAGE);
	rnd_fill(at, PAGE);
	keep_page(at);
	mr = MUST(ibv_reg_mr(dev.pd, at, 2 * PAGE, ODP_ALL));
	sge = (struct ibv_sge){ (uintptr_t)at, 2 * PAGE, mr->lkey };
	slow_hold(&slow, true);
	CHECK_EQ(ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0,
			       &sge, 1),
		 0);
	slow_await(&slow);
	CHECK_EQ(madvise(at, PAGE, MADV_DONTNEED), 0);
	rnd_fill(at, PAGE);
	slow_hold(&slow, false);
	/* This waits for the look-up. */
	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge, all.base, all.rkey),
	       IBV_WC_SUCCESS);
	memcpy(all.buf->want, at, 2 * PAGE);
	buf_check(all.buf);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

/* The device brings pages that nobody has accessed before. */
static void a46_first_access(void)
{
	struct region r;

	begin();
	r = on_demand(16 * PAGE, 100, ALL_ACCESS);
	/* Drop the pages, so that only the device accesses them. */
	buf_forget(r.buf);
	check_read(&link_, &all, 1, &r, 3 * PAGE + 7, 2 * PAGE);
	check_write(&link_, &all, 5, &r, 9 * PAGE + 99, 3 * PAGE);
	buf_check(all.buf);
	buf_check(r.buf);
	buf_forget(r.buf);
	check_send(&link_, &all, 5, &r, 99, 9 * PAGE);
	buf_check(r.buf);
}

/* Messages of all kinds, shapes and lengths between regions whose pages come and go. */
static void a47_shapes(void)
{
	struct region a, b;
	int i;

	begin();
	a = on_demand(5 << 20, 1003, ALL_ACCESS);
	b = on_demand(5 << 20, 2017, ALL_ACCESS);
	for (i = 0; i < 60; i++) {
		struct transfer t = transfer_in_pieces(
			transfer_opcodes[i % TRANSFER_OPCODES],
			rnd_below(i % 6 ? 70000 : 2 << 20));
		struct region *drop = i & 1 ? &a : &b;

		if (i % 3 == 0)
			buf_forget(drop->buf);
		context("%s, %u bytes", opcode_name(t.opcode), t.length);
		transfer(&link_, &a, &b, &t);
	}
}

/* Atomics and atomic writes bring the pages of their targets and results. */
static void a48_words(void)
{
	uint64_t value, add = rnd();
	struct region r;
	int i;

	begin();
	r = on_demand(LEN, 4096 - 8, ALL_ACCESS);
	for (i = 0; i < 20; i++) {
		size_t to = rnd_below(6000) * 8;

		buf_forget(r.buf);
		expect(atomic_op(&link_.a, IBV_WR_ATOMIC_FETCH_AND_ADD,
				 sge_of(&all, 3, 8), r.base + to, r.rkey, add,
				 0),
		       IBV_WC_SUCCESS);
		memcpy(r.buf->want + to, &add, 8);
		buf_check(r.buf);
		value = rnd();
		if (link_.a.ex) {
			ibv_wr_start(link_.a.ex);
			link_.a.ex->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_atomic_write(link_.a.ex, r.rkey, r.base + to,
					    &value);
			CHECK_EQ(ibv_wr_complete(link_.a.ex), 0);
			expect(await(link_.a.scq), IBV_WC_SUCCESS);
			memcpy(r.buf->want + to, &value, 8);
		}
		/* The result of an atomic is written to pages that are not present. */
		expect(atomic_op(&link_.a, IBV_WR_ATOMIC_CMP_AND_SWP,
				 sge_of(&r, 16000 + 5, 8), all.base + 6,
				 all.rkey, 0, 0),
		       IBV_WC_SUCCESS);
		memcpy(r.buf->want + 16005, all.buf->data + 6, 8);
		buf_check(r.buf);
	}
}

/* Regions on demand have any iova, exact to the byte. */
static void a49_iova(void)
{
	struct buf *buf = buf_new(LEN, 0x123);
	uint64_t iovas[] = { 0x123, 0x700000123, 1ULL << 63 | 0x123,
			     -(uint64_t)(14 * PAGE) + 0x123 };
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(iovas); i++) {
		struct region r;

		context("iova %#llx", (unsigned long long)iovas[i]);
		r = region_of(buf,
			      MUST(ibv_reg_mr_iova(dev.pd, buf->data, LEN,
						   iovas[i], ODP_ALL)),
			      iovas[i]);
		exchange(&link_, &all, &r);
		exchange(&link_, &r, &all);
		no_access((r.base + LEN + 7) & ~7ULL, r.rkey, IBV_WR_RDMA_READ);
		CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	}
}

static int advise(enum ibv_advise_mr_advice advice, unsigned int flags,
		  const struct region *r, uint64_t at, uint32_t length)
{
	struct ibv_sge sge = sge_of(r, at, length);

	return ibv_advise_mr(dev.pd, advice, flags, &sge, 1);
}

/*
 * ibv_advise_mr() accepts what is within a region and permitted, and refuses the rest with the
 * right errno.
 */
static void a51_advise(void)
{
	const unsigned int sync = IBV_ADVISE_MR_FLAG_FLUSH;
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	struct region r, pinned, reads, foreign, none;
	int err;

	begin();
	r = on_demand(LEN, 77, ALL_ACCESS);
	reads = on_demand(LEN, 77, IBV_ACCESS_REMOTE_READ);
	pinned = region_new(LEN, 77, ALL_ACCESS);
	foreign = region_reg(pd, buf_new(LEN, 0), ODP_ALL);
	none = r;
	none.lkey ^= 0x500;
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, sync, &r, 0, LEN), 0);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, sync, &r, 5, 9000),
		 0);
	CHECK_EQ(advise(2, sync, &r, 5, 9000), 0);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &r, 0, LEN), 0);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, sync, &r, 0, 0), 0);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, sync, &r, 1, LEN),
		 EFAULT);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, sync, &r, -1, 2),
		 EFAULT);
	CHECK_EQ(advise(77, sync, &r, 0, 9), EOPNOTSUPP);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, sync | 2, &r, 0, 9),
		 EINVAL);
	err = advise(IBV_ADVISE_MR_ADVICE_PREFETCH, sync, &none, 0, 9);
	if (dev.pinion)
		CHECK_EQ(err, ENOENT);
	CHECK(err == ENOENT || err == EINVAL);
	/*
	 * The same error as for an unknown key: it does not tell that the key is another
	 * domain's.
	 */
	err = advise(IBV_ADVISE_MR_ADVICE_PREFETCH, sync, &foreign, 0, 9);
	if (dev.pinion)
		CHECK_EQ(err, ENOENT);
	CHECK(err == ENOENT || err == EPERM);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, sync, &reads, 0,
			9),
		 EPERM);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, sync, &reads, 0, LEN),
		 0);
	err = advise(IBV_ADVISE_MR_ADVICE_PREFETCH, sync, &pinned, 0, 9);
	if (dev.pinion)
		CHECK_EQ(err, EINVAL);
	CHECK(err == ENOENT || err == EINVAL);
	/*
	 * Unmapped memory cannot be fetched; without FLUSH the advice is only a hint, so no
	 * error.
	 */
	CHECK_EQ(munmap(r.buf->map + 3 * PAGE, 2 * PAGE), 0);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, sync, &r, 0, LEN),
		 EFAULT);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &r, 0, LEN), 0);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
}

enum {
	HINTS = 1000,
	BIG = 1 << 20,
};

/* Gives as many hints as may wait, and deregisters while most are not done. */
static void hint_and_end(struct region *r, const struct region *other)
{
	struct ibv_sge sges[2] = { sge_of(r, 0, BIG) };
	struct ibv_mr *again;
	uint32_t lkey = r->lkey;
	double start;
	int i;

	sges[1] = other ? sge_of(other, 0, BIG) : sges[0];
	for (i = 0; i < HINTS; i++) {
		if (i % 100 == 0)
			buf_forget(r->buf);
		CHECK_EQ(ibv_advise_mr(dev.pd,
				       IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0,
				       sges, 2),
			 0);
	}
	start = now();
	CHECK_EQ(ibv_dereg_mr(r->mr), 0);
	CHECK(now() - start < patience(PATIENCE));
	/* A new region at the same place is not affected by the old hints. */
	again = MUST(ibv_reg_mr(dev.pd, r->buf->data, BIG, ODP_ALL));
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, 0, r, 0, 9),
		 again->lkey == lkey ? 0 : ENOENT);
	*r = region_of(r->buf, again, (uintptr_t)r->buf->data);
}

static void hinting_child(void *arg)
{
	struct region r;

	(void)arg;
	device_open();
	r = on_demand(BIG, 0, ALL_ACCESS);
	hint_and_end(&r, NULL);
}

/* New hints work, whatever became of the older ones. */
static void hints_are_followed(void)
{
	void *map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double limit = now() + patience(PATIENCE);
	struct ibv_sge sge = { .addr = (uintptr_t)map, .length = PAGE };
	unsigned char there = 0;
	struct ibv_mr *mr;

	CHECK(map != MAP_FAILED);
	mr = MUST(ibv_reg_mr(dev.pd, map, PAGE, ODP_ALL));
	sge.lkey = mr->lkey;
	while (!there && now() < limit) {
		CHECK_EQ(ibv_advise_mr(dev.pd,
				       IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0,
				       &sge, 1),
			 0);
		usleep(1000);
		CHECK_EQ(mincore(map, PAGE, &there), 0);
		there &= 1;
	}
	CHECK(there);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(munmap(map, PAGE), 0);
}

/* Regions end while hints for them are queued; deregistration does not wait for all. */
static void a51_ended(void)
{
	struct region r, other;
	int pid;

	begin();
	pid = spawn(hinting_child, NULL);
	r = on_demand(BIG, 0, ALL_ACCESS);
	other = on_demand(BIG, 0, ALL_ACCESS);
	hint_and_end(&r, &other);
	hint_and_end(&other, &r);
	hints_are_followed();
	reap_ok(pid);
	buf_forget(r.buf);
	buf_forget(other.buf);
	exchange(&link_, &all, &r);
	exchange(&link_, &other, &all);
	region_free(&r);
	region_free(&other);
}

/* Pages may fault again only if some were invalidated, for example by compaction. */
static void no_faults_since(const struct region *r, uint64_t faults,
			    uint64_t gone)
{
	uint64_t seen = region_counter(r, "page_faults");

	if (region_counter(r, "page_invalidations") == gone)
		CHECK_EQ(seen, faults);
}

/* Faults, invalidations and prefetched pages of a region are counted. */
static void a52_counters(void)
{
	uint64_t faults, gone;
	struct region r;

	begin();
	r = on_demand(16 * PAGE, 0, ALL_ACCESS);
	faults = region_counter(&r, "page_faults");
	gone = region_counter(&r, "page_invalidations");
	check_write(&link_, &all, 0, &r, 3 * PAGE, PAGE);
	CHECK(region_counter(&r, "page_faults") > faults);
	faults = region_counter(&r, "page_faults");
	check_write(&link_, &all, 0, &r, 3 * PAGE, PAGE);
	no_faults_since(&r, faults, gone);
	buf_drop(r.buf, 3 * PAGE, PAGE);
	CHECK(region_counter(&r, "page_invalidations") > gone);
	gone = region_counter(&r, "page_invalidations");
	/* Pages that were prefetched cause no fault. */
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			IBV_ADVISE_MR_FLAG_FLUSH, &r, 0, 16 * PAGE),
		 0);
	CHECK(region_counter(&r, "page_prefetch") > 0);
	faults = region_counter(&r, "page_faults");
	check_write(&link_, &all, 0, &r, 0, 12 * PAGE);
	no_faults_since(&r, faults, gone);
	buf_check(r.buf);
}

/*
 * A message fetches all its pages with few faults, also when it arrives in packets that each
 * touch only some. By packets a long READ is done in parts of 256 KiB.
 */
static void a47_at_once(void)
{
	enum { LONG = 16 << 20, MOST = 128 };
	struct region far, own;
	uint64_t faults;

	begin();
	if (!dev.pinion)
		skip("how others bring pages is theirs");
	own = region_new(LONG, 5, ALL_ACCESS);
	far = on_demand(LONG, 3, ALL_ACCESS);
	buf_fill(own.buf);
	faults = region_counter(&far, "page_faults_handled");
	check_write(&link_, &own, 0, &far, 0, LONG);
	CHECK(region_counter(&far, "page_faults") >= LONG / PAGE);
	CHECK(region_counter(&far, "page_faults_handled") - faults <= MOST);
	buf_check(far.buf);

	buf_forget(far.buf);
	faults = region_counter(&far, "page_faults_handled");
	check_read(&link_, &own, 0, &far, 0, LONG);
	CHECK(region_counter(&far, "page_faults") >= 2 * (LONG / PAGE));
	CHECK(region_counter(&far, "page_faults_handled") - faults <= MOST);
	buf_check(own.buf);
	region_free(&far);
}

static const struct test tests[] = {
	TEST(a29_explicit, "A29 explicit: nothing is pinned"),
	TEST(a31_hugetlb, "A31 HUGETLB with ON_DEMAND"),
	TEST(a32_no_hugetlb, "A32 HUGETLB with ON_DEMAND on small pages"),
	TEST(a41_implicit, "A41 implicit regions"),
	TEST(a42_size_max, "A42 SIZE_MAX at another address"),
	TEST(a43_unmapped, "A43 unmapped at registration"),
	TEST(a44_protection, "A44 protection of the mapping (class 11)"),
	TEST(a45_invalidation, "A45 invalidation"),
	TEST(a45_meanwhile, "A45 invalidation during a look-up"),
	TEST(a46_first_access, "A46 first access"),
	TEST(a47_shapes, "A47 offsets and lengths"),
	TEST(a47_at_once, "A47 a long message, few faults"),
	TEST(a48_words, "A48 atomics"),
	TEST(a49_iova, "A49 iova other than the address (class 14)"),
	TEST(a51_advise, "A51 ibv_advise_mr"),
	TEST(a51_ended, "A51 hints to regions that end (class 12)"),
	TEST(a52_counters, "A52 statistics"),
};

HARNESS_MAIN("ibv_reg_mr(3): on-demand paging", tests)
