// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_reg_mr(3), implicit on-demand paging: one region of the whole address space (items A41,
 * A42, and A43 to A52 for implicit regions).
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "memory.h"
#include "pins.h"
#include "resources.h"
#include "transfer.h"
#include "window.h"

enum {
	LEN = 50001,
	/* The length of a child. */
	CHILD = 2 << 20,
};

static struct link link_;
static struct region all; /* pinned */
static struct ibv_mr *whole;

static struct ibv_mr *implicit(int access)
{
	return MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX,
			       access | IBV_ACCESS_ON_DEMAND));
}

static void begin(void)
{
	need_odp();
	need_implicit();
	link_make(&link_, NULL);
	all = region_new(LEN, 1234, ALL_ACCESS);
	whole = implicit(ALL_ACCESS);
}

/* Memory with a border between children @before bytes from its start. */
static struct buf *across(size_t before, size_t length)
{
	size_t map_length = length + 3 * CHILD;
	uint8_t *map = mmap(NULL, map_length, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *border, *first;
	size_t use;

	CHECK(map != MAP_FAILED);
	border = (uint8_t *)(((uintptr_t)map + before + PAGE + CHILD - 1) &
			     ~((uintptr_t)CHILD - 1));
	first = (uint8_t *)((uintptr_t)(border - before - 1) & ~(PAGE - 1));
	use = (border - before - first + length + 2 * PAGE) & ~(PAGE - 1);
	CHECK_EQ(mprotect(first, use, PROT_READ | PROT_WRITE), 0);
	return buf_of(first, use, border - before - first, length);
}

static struct region part(struct buf *buf, struct ibv_mr *mr)
{
	return region_of(buf, mr, (uintptr_t)buf->data);
}

static void no_access(uint64_t addr, enum ibv_wr_opcode opcode)
{
	refused(&link_, opcode, sge_of(&all, 0, 8), addr, whole->rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
}

static void no_local(uint64_t addr, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = { .addr = addr, .length = 9, .lkey = whole->lkey };

	expect_why(rdma(&link_.a, opcode, sge, all.base, all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_FAULT);
	link_renew(&link_);
}

static uint64_t counter(const char *name)
{
	return key_counter(whole->rkey, name);
}

/* The implicit region has address 0 and length SIZE_MAX, and pins nothing. */
static void a41_whole(void)
{
	struct rlimit none = {};
	long pins = vm_pin(0);
	struct ibv_mr *mr;

	begin();
	CHECK_EQ((uintptr_t)whole->addr, 0);
	CHECK(whole->length == SIZE_MAX);
	CHECK_EQ(vm_pin(0) - pins, ((1234 + LEN + PAGE - 1) / PAGE) * 4);
	/* One more region, with a memlock limit of zero. */
	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	if (geteuid() == 0)
		CHECK_EQ(setresuid(65534, 65534, 65534), 0);
	mr = implicit(ALL_ACCESS);
	CHECK(mr->rkey != whole->rkey);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

/* Messages across the borders of the region's children arrive, whatever is missing. */
static void a41_borders(void)
{
	static const size_t befores[] = { 1,   4095,  4096,    4097,
					  777, 25000, LEN - 1, LEN };
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(befores); i++) {
		struct buf *buf = across(befores[i], LEN);
		struct region r = part(buf, whole);

		context("border at %zu", befores[i]);
		buf_forget(buf);
		check_write(&link_, &all, 3, &r, 0, LEN - 3);
		buf_check(buf);
		buf_forget(buf);
		check_read(&link_, &r, 1, &all, 0, LEN - 1);
		buf_check(buf);
		exchange(&link_, &all, &r);
		exchange(&link_, &r, &all);
		buf_forget(buf);
		check_send(&link_, &all, 0, &r, 5, LEN - 5);
		check_send(&link_, &r, 5, &all, 0, LEN - 5);
		buf_check(buf);
		buf_check(all.buf);
		buf_free(buf);
	}
}

/* Many children in one message, scattered lists, every opcode. */
static void a47_shapes(void)
{
	struct region a, b;
	uint64_t longest = in_short() ? 3 << 20 : 6 << 20;
	int i, rounds = in_short() ? 20 : 40;

	begin();
	a = part(across(3 << 20, 13 << 20), whole);
	b = part(across(777, 13 << 20), whole);
	for (i = 0; i < rounds; i++) {
		struct transfer t = transfer_in_pieces(
			transfer_opcodes[i % TRANSFER_OPCODES],
			rnd_below(i % 6 ? 70000 : longest));

		if (i % 3 == 0)
			buf_forget(i & 1 ? a.buf : b.buf);
		context("%s, %u bytes", opcode_name(t.opcode), t.length);
		transfer(&link_, &a, &b, &t);
	}
}

/* Atomics and their results across the border of two children. */
static void a48_words(void)
{
	struct region r;
	uint64_t add = rnd();
	int i;

	begin();
	r = part(across(8, 64), whole);
	for (i = 0; i < 8; i++) {
		buf_forget(r.buf);
		expect(atomic_op(&link_.a, IBV_WR_ATOMIC_FETCH_AND_ADD,
				 sge_of(&all, 3, 8), r.base + i * 8, r.rkey,
				 add, 0),
		       IBV_WC_SUCCESS);
		memcpy(r.buf->want + i * 8, &add, 8);
		/* The result of an atomic is written across two children. */
		expect(atomic_op(&link_.a, IBV_WR_ATOMIC_CMP_AND_SWP,
				 sge_of(&r, i, 8), all.base + 6, all.rkey, 0,
				 0),
		       IBV_WC_SUCCESS);
		memcpy(r.buf->want + i, all.buf->data + 6, 8);
		buf_check(r.buf);
	}
}

/* Memory that is mapped later can be accessed, and not any more once it is unmapped. */
static void a41_later_maps(void)
{
	struct buf *later;
	struct region r;
	int i;

	begin();
	for (i = 0; i < 30; i++) {
		later = across(rnd_below(LEN), LEN);
		r = part(later, whole);
		exchange(&link_, &all, &r);
		exchange(&link_, &r, &all);
		munmap(later->map, later->map_length);
		no_access((r.base + 7) & ~7ULL, IBV_WR_RDMA_READ);
		no_local(r.base, IBV_WR_RDMA_WRITE);
	}
}

/* An implicit region covers memory of each kind. */
static void a41_kind(const void *kind)
{
	struct region r;

	begin();
	r = part(memory_new(kind, LEN, 77), whole);
	exchange(&link_, &all, &r);
	exchange(&link_, &r, &all);
}

/* Any other address, iova, length or flag is no implicit region: EINVAL. */
static void a42_refused(void)
{
	begin();
	MUST_NOT(ibv_reg_mr(dev.pd, (void *)PAGE, SIZE_MAX, ODP_ALL), EINVAL);
	MUST_NOT(ibv_reg_mr_iova(dev.pd, NULL, SIZE_MAX, PAGE, ODP_ALL),
		 EINVAL);
	MUST_NOT(ibv_reg_mr_iova(dev.pd, NULL, SIZE_MAX, 1ULL << 63, ODP_ALL),
		 EINVAL);
	MUST_NOT(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ALL_ACCESS), EINVAL);
	MUST_NOT(ibv_reg_mr(dev.pd, NULL, SIZE_MAX - PAGE, ODP_ALL), EINVAL);
	MUST_NOT(ibv_reg_mr(dev.pd, NULL, SIZE_MAX,
			    ODP_ALL | IBV_ACCESS_HUGETLB),
		 EINVAL);
	MUST_NOT(ibv_reg_mr(dev.pd, NULL, SIZE_MAX,
			    IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_WRITE),
		 EINVAL);
}

/* Addresses without a mapping are refused, anywhere in 64 bits, and cost no memory. */
static void a43_holes(void)
{
	static const uint64_t nowhere[] = {
		0,
		8,
		PAGE,
		1ULL << 46,
		1ULL << 47,
		(1ULL << 47) - 8,
		1ULL << 56,
		1ULL << 63,
		-(uint64_t)CHILD,
		-(uint64_t)4096,
		/* the end of all addresses */
		-16ULL,
	};
	enum { HOLES = 200 };
	struct buf *buf = across(2 * PAGE, 4 * PAGE);
	size_t i, hole = (HOLES + 2) * (size_t)CHILD;
	uint64_t children;
	char *map;

	begin();
	for (i = 0; i < ARRAY_SIZE(nowhere); i++) {
		context("address %#llx", (unsigned long long)nowhere[i]);
		no_access(nowhere[i], IBV_WR_RDMA_WRITE);
		no_access(nowhere[i], IBV_WR_RDMA_READ);
		no_local(nowhere[i], IBV_WR_RDMA_WRITE);
	}
	/* An address range that wraps is refused. */
	no_access(-4ULL, IBV_WR_RDMA_WRITE);
	/* Unmapped addresses create no children, however many are accessed. */
	map = mmap(NULL, hole, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(map != MAP_FAILED);
	children = counter("children");
	/* Later mappings of the process are small, and at one end of this place. */
	CHECK_EQ(munmap(map, hole), 0);
	for (i = 1; i <= HOLES; i++)
		no_access((uintptr_t)map + i * CHILD, IBV_WR_RDMA_READ);
	CHECK(counter("children") <= children + 1);
	context("across the edge");
	CHECK_EQ(munmap(buf->data + 3 * PAGE, PAGE), 0);
	no_access((uintptr_t)buf->data + 3 * PAGE - 4, IBV_WR_RDMA_READ);
}

/* The protection of the mapping is that of the device's accesses. */
static void a44_protection(void)
{
	struct buf *buf = across(2 * PAGE, 6 * PAGE);
	struct region r;

	begin();
	r = part(buf, whole);
	exchange(&link_, &all, &r);
	CHECK_EQ(mprotect(buf->map, buf->map_length, PROT_READ), 0);
	no_access(r.base + PAGE, IBV_WR_RDMA_WRITE);
	no_access((r.base + PAGE + 7) & ~7ULL, IBV_WR_ATOMIC_FETCH_AND_ADD);
	no_local(r.base + PAGE, IBV_WR_RDMA_READ);
	check_read(&link_, &all, 3, &r, 5, 5 * PAGE);
	check_write(&link_, &r, 3, &all, 5, 5 * PAGE);
	buf_check(buf);
	buf_check(all.buf);
	CHECK_EQ(mprotect(buf->map, buf->map_length, PROT_NONE), 0);
	no_access(r.base, IBV_WR_RDMA_READ);
	no_local(r.base + PAGE, IBV_WR_RDMA_WRITE);
	CHECK_EQ(mprotect(buf->map, buf->map_length, PROT_READ | PROT_WRITE),
		 0);
	exchange(&link_, &all, &r);
}

/* The access flags of the key count, even if the mapping allows more. */
static void a41_rights(void)
{
	struct buf *buf = across(2 * PAGE, 6 * PAGE);
	struct ibv_mr *reads, *none;

	begin();
	reads = implicit(IBV_ACCESS_REMOTE_READ);
	none = implicit(0);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 8),
		(uintptr_t)buf->data, reads->rkey, IBV_WC_REM_ACCESS_ERR, -1);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 8),
		(uintptr_t)buf->data, none->rkey, IBV_WC_REM_ACCESS_ERR, -1);
	{
		struct region r = part(buf, reads), n = part(buf, none);

		check_read(&link_, &all, 3, &r, 5, 5 * PAGE);
		check_write(&link_, &n, 3, &all, 5, 5 * PAGE);
		buf_check(all.buf);
	}
}

/* Pages are replaced, dropped, moved and shared across a border: messages see the current ones. */
static void a45_invalidation(void)
{
	struct buf *buf = across(8 * PAGE, 16 * PAGE);
	struct region r;
	int round, pid;

	begin();
	r = part(buf, whole);
	exchange(&link_, &all, &r);
	for (round = 0; round < 24; round++) {
		uint8_t *page = (uint8_t *)((uintptr_t)buf->data & ~(PAGE - 1));
		size_t at = rnd_below(12) * PAGE;
		size_t n = rnd_in(1, 4) * PAGE;
		void *moved;

		context("round %d", round);
		at += page + PAGE - buf->data;
		at %= 12 * PAGE;
		switch (round % 4) {
		case 0:
			buf_replace(buf, at, n);
			break;
		case 1:
			CHECK_EQ(madvise(buf->data + at, n, MADV_DONTNEED), 0);
			memset(buf->want + at, 0, n);
			break;
		case 2:
			/*
			 * The pages move away, and the place gets new ones. One page only, so
			 * that it is one mapping.
			 */
			n = PAGE;
			moved = mremap(buf->data + at, n, n,
				       MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
			CHECK(moved != MAP_FAILED);
			CHECK_EQ(memcmp(moved, buf->want + at, n), 0);
			memset(buf->want + at, 0, n);
			munmap(moved, n);
			break;
		default:
			pid = buf_spoil_copy(buf);
			check_write(&link_, &all, 0, &r, 100, LEN - 1000);
			buf_check(buf);
			reap_ok(pid);
		}
		check_read(&link_, &all, 7, &r, at + 3, n - 3);
		buf_check(all.buf);
		check_write(&link_, &all, 9, &r, at, n);
		buf_check(buf);
	}
}

static void await_children(uint64_t most)
{
	double end = now() + patience(PATIENCE);

	while (counter("children") > most) {
		if (now() > end)
			FAIL("%llu children are left",
			     (unsigned long long)counter("children"));
		usleep(1000);
	}
}

/* Children are created when touched, and freed when nothing is left in them. */
static void a41_reclaim(void)
{
	enum { CHILDREN = 64 };
	size_t length = (CHILDREN + 1) * (size_t)CHILD;
	uint64_t before, round;
	bool all_there = false;
	uint8_t *map;
	size_t i;

	begin();
	before = counter("children");
	for (round = 0; round < 5; round++) {
		map = mmap(NULL, length, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		CHECK(map != MAP_FAILED);
		/* khugepaged would replace the pages, and so invalidate them. */
		madvise(map, length, MADV_NOHUGEPAGE);
		context("round %d", (int)round);
		for (i = 0; i < CHILDREN; i++) {
			struct ibv_sge sge = sge_of(&all, i, 9);

			expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge,
				    (uintptr_t)map + i * CHILD + i * PAGE,
				    whole->rkey),
			       IBV_WC_SUCCESS);
		}
		/*
		 * Compaction may empty some children before they are counted, but not in every
		 * round.
		 */
		all_there |= counter("children") >= before + CHILDREN;
		CHECK_EQ(munmap(map, length), 0);
		await_children(before);
	}
	context("%s", "");
	CHECK(all_there);
}

static int advise(enum ibv_advise_mr_advice advice, unsigned int flags,
		  void *addr, uint32_t length, uint32_t lkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)addr,
			       .length = length,
			       .lkey = lkey };

	return ibv_advise_mr(dev.pd, advice, flags, &sge, 1);
}

/* Prefetched pages of an implicit region are there; what is not mapped or permitted is refused. */
static void a51_advise(void)
{
	const unsigned int sync = IBV_ADVISE_MR_FLAG_FLUSH;
	struct buf *buf = across(3 * PAGE + 5, 3 * CHILD);
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	struct ibv_mr *reads, *foreign;
	uint64_t faults, prefetched, gone;
	struct region r;
	int err;

	begin();
	r = part(buf, whole);
	madvise(buf->map, buf->map_length, MADV_NOHUGEPAGE);
	reads = implicit(IBV_ACCESS_REMOTE_READ);
	foreign = MUST(ibv_reg_mr(pd, NULL, SIZE_MAX, ODP_ALL));
	buf_forget(buf);
	prefetched = counter("page_prefetch");
	gone = counter("page_invalidations");
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, sync, buf->data,
			buf->length, whole->lkey),
		 0);
	CHECK(counter("page_prefetch") >= prefetched + buf->length / PAGE);
	/* All pages are present now, unless memory was compacted. */
	faults = counter("page_faults");
	check_write(&link_, &all, 0, &r, 7, LEN);
	check_write(&link_, &all, 0, &r, 2 * CHILD + 7, LEN);
	faults = counter("page_faults") - faults;
	CHECK(!faults || counter("page_invalidations") != gone);
	buf_check(buf);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, sync, buf->data,
			buf->length, reads->lkey),
		 0);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, sync, buf->data,
			buf->length, reads->lkey),
		 EPERM);
	err = advise(IBV_ADVISE_MR_ADVICE_PREFETCH, sync, buf->data,
		     buf->length, foreign->lkey);
	if (dev.pinion)
		CHECK_EQ(err, ENOENT);
	CHECK(err == ENOENT || err == EPERM);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, 0, buf->data,
			buf->length, reads->lkey),
		 0);
	/* Unmapped memory: an error, but not for a hint. */
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, sync, NULL, 9,
			whole->lkey),
		 EFAULT);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, sync,
			(void *)(1ULL << 63), 9, whole->lkey),
		 EFAULT);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, sync, (void *)-4ULL, 9,
			whole->lkey),
		 EFAULT);
	CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 9, reads->lkey),
		 0);
	/* Deregister with the prefetch of the hint still queued. */
	CHECK_EQ(ibv_dereg_mr(reads), 0);
	/* NO_FAULT does not fetch pages that are missing, and creates no child. */
	buf_forget(buf);
	await_children(64);
	faults = counter("children");
	CHECK_EQ(advise(2 /* NO_FAULT */, sync, buf->data, buf->length,
			whole->lkey),
		 0);
	CHECK(counter("children") <= faults + 1);
}

/* An implicit region ends while pages are being prefetched: its key is refused from then on. */
static void a87_dereg(void)
{
	struct buf *buf = across(3 * PAGE + 5, 3 * CHILD);
	struct region r;
	int i;

	begin();
	for (i = 0; i < 20; i++) {
		r = part(buf, implicit(ALL_ACCESS));
		check_write(&link_, &all, 0, &r, rnd_below(2 * CHILD), LEN);
		CHECK_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0,
				buf->data, buf->length, r.lkey),
			 0);
		CHECK_EQ(ibv_dereg_mr(r.mr), 0);
		refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 8), r.base,
			r.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	}
	buf_check(buf);
}

static void short_life(void *arg)
{
	(void)arg;
	device_open();
	CHECK_EQ(ibv_dereg_mr(implicit(ALL_ACCESS)), 0);
}

/* A region has a reference to its process, which may stay for no longer than both. */
static void a87_forgotten(void)
{
	enum { MANY = 40 };
	long long before, after;
	double end;
	int i;

	need_root();
	begin();
	before = allocated_by("alloc_pid");
	if (!before)
		skip("this kernel does not count its allocations");
	for (i = 0; i < MANY; i++)
		reap_ok(spawn(short_life, NULL));
	/* The kernel frees them later, and processes of others come and go. */
	end = now() + patience(PATIENCE);
	while ((after = allocated_by("alloc_pid")) > before + MANY / 2) {
		if (now() > end)
			FAIL("%lld processes are known, %lld before %d ended",
			     after, before, MANY);
		usleep(10000);
	}
}

/* A window on a part of an implicit region. */
static void a27_window(void)
{
	struct ibv_mw_bind_info info;
	struct region r;
	struct ibv_mw *mw;

	begin();
	r = part(across(777, LEN), implicit(ALL_ACCESS | IBV_ACCESS_MW_BIND));
	mw = window_new(IBV_MW_TYPE_2);
	info = window_part(&r, 100, 40000,
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	expect(window_bind(&link_.b, mw, info), IBV_WC_SUCCESS);
	buf_forget(r.buf);
	r.rkey = mw->rkey;
	check_write(&link_, &all, 9, &r, 100, 40000);
	buf_check(r.buf);
	CHECK_EQ(ibv_dereg_mr(r.mr), EBUSY);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 8), r.base + 99,
		r.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
}

static void on_tick(int signal)
{
	(void)signal;
}

/* Creates thousands of mappings, so that the kernel takes long to lock all. */
static void many_mappings(void)
{
	size_t length = 8000 * PAGE, at;
	uint8_t *map = mmap(NULL, length, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(map != MAP_FAILED);
	for (at = 0; at < length; at += 2 * PAGE)
		CHECK_EQ(mprotect(map + at, PAGE, PROT_READ | PROT_WRITE), 0);
}

/* The first access in a new process, with signals pending all the time. */
static void touch_under_signals(void *arg)
{
	struct sigaction act = { .sa_handler = on_tick,
				 .sa_flags = SA_RESTART };
	struct itimerval often = { .it_interval = { .tv_usec = 100 },
				   .it_value = { .tv_usec = 100 } };
	struct region r;

	device_open();
	begin();
	r = part(across(777, LEN), whole);
	CHECK_EQ(sigaction(SIGALRM, &act, NULL), 0);
	many_mappings();
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	if (arg)
		check_read(&link_, &r, 0, &all, 0, LEN);
	else
		check_read(&link_, &all, 0, &r, 0, LEN);
	often = (struct itimerval){};
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	buf_check(r.buf);
	buf_check(all.buf);
}

/* A signal with a handler must not make an access fail. */
static void a41_signals(void)
{
	int i;

	begin();
	for (i = 0; i < 10; i++)
		reap_ok(spawn(touch_under_signals, i & 1 ? &i : NULL));
}

static const struct test tests[] = {
	TEST(a41_whole, "A41 all of the address space, nothing pinned"),
	TEST(a41_borders, "A41 messages across children"),
	TEST(a41_later_maps, "A41 what is mapped later"),
	TEST_WITH(a41_kind, &memory_shared, "A41 shared memory"),
	TEST_WITH(a41_kind, &memory_file, "A41 a file"),
	TEST_WITH(a41_kind, &memory_hugetlb, "A41 huge pages"),
	TEST(a41_signals, "A41 first touched while signals come"),
	TEST(a41_rights, "A41 rights of the key"),
	TEST(a41_reclaim, "A41 children go when they are empty (class 9)"),
	TEST(a42_refused, "A42 what is no implicit region"),
	TEST(a43_holes, "A43 where nothing is mapped"),
	TEST(a44_protection, "A44 protection of the mapping"),
	TEST(a45_invalidation, "A45 invalidation"),
	TEST(a47_shapes, "A47 offsets and lengths"),
	TEST(a48_words, "A48 atomics"),
	TEST(a51_advise, "A51 ibv_advise_mr"),
	TEST(a27_window, "A27 a window"),
	TEST(a87_dereg, "A87 the end"),
	TEST(a87_forgotten, "A87 its process is forgotten"),
};

HARNESS_MAIN("ibv_reg_mr(3): implicit on-demand paging", tests)
