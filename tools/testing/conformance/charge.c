// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Everything that is charged is uncharged, also if a call fails: pinned pages, objects of the
 * rdma control group, memory of the memory control group (items CG1 to CG7).
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cgroup.h"
#include "file.h"
#include "memory.h"
#include "pins.h"
#include "resources.h"
#include "window.h"

static long long charged(void)
{
	return cgroup_get("rdma.current", "hca_object");
}

static void allow(const char *objects)
{
	char text[128];

	snprintf(text, sizeof(text), "%s hca_object=%s", device_name(),
		 objects);
	cgroup_set("rdma.max", text);
}

static int take_rights(struct ibv_mr *mr)
{
	return ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) ?
		       errno :
		       0;
}

/*
 * Objects are charged to the control group of the process that creates them, and uncharged
 * there.
 */
static void cg1_objects(void)
{
	struct buf *buf = buf_new(20000, 5);
	struct ibv_mr *mrs[4];
	int i;

	cgroup_enter("rdma");
	CHECK_EQ(charged(), 0);
	allow("4");
	for (i = 0; i < 4; i++)
		mrs[i] = MUST(ibv_reg_mr(dev.pd, buf->data, 9000, ALL_ACCESS));
	CHECK_EQ(charged(), 4);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, 9000, ALL_ACCESS), EAGAIN);
	MUST_NOT(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1), EAGAIN);
	MUST_NOT(ibv_alloc_pd(dev.ctx), EAGAIN);
	CHECK_EQ(charged(), 4);
	CHECK_EQ(vm_pin(0), 4 * 3 * 4);
	/* For a rereg the core charges a new object first, in case the driver returns one. */
	CHECK_EQ(take_rights(mrs[0]), EAGAIN);
	CHECK_EQ(charged(), 4);
	CHECK_EQ(ibv_dereg_mr(mrs[3]), 0);
	CHECK_EQ(charged(), 3);
	CHECK_EQ(take_rights(mrs[0]), 0);
	CHECK_EQ(charged(), 3);
	mrs[3] = MUST(ibv_reg_mr(dev.pd, buf->data, 9000, 0));
	for (i = 0; i < 4; i++)
		CHECK_EQ(ibv_dereg_mr(mrs[i]), 0);
	CHECK_EQ(charged(), 0);
	CHECK_EQ(vm_pin(0), 0);
	/* In 6.12 a limit outlives its group, and removing the device would use freed memory. */
	allow("max");
	cgroup_leave();
}

/* ------------------------------------------------------ calls that fail */

static struct link link_;
static struct region bound, plain;
static struct buf *holed, *read_only;

static int reg(void *at, size_t length, int access)
{
	return ibv_reg_mr(dev.pd, at, length, access) ? 0 : errno;
}

static int of_hole(void)
{
	return reg(holed->data, holed->length, ALL_ACCESS);
}

static int of_late_hole(void)
{
	return reg(holed->data, holed->length, 0);
}

static int of_read_only(void)
{
	return reg(read_only->data, read_only->length, ALL_ACCESS);
}

static int of_nothing(void)
{
	return reg(plain.buf->data, 0, ALL_ACCESS);
}

static int beyond_the_end(void)
{
	return reg(plain.buf->data, -PAGE, ALL_ACCESS);
}

static int iova_beyond_the_end(void)
{
	uint64_t iova = -PAGE + ((uintptr_t)plain.buf->data & (PAGE - 1));

	return ibv_reg_mr_iova(dev.pd, plain.buf->data, 9000, iova, 0) ? 0 :
									 errno;
}

static int without_local_write(void)
{
	return reg(plain.buf->data, 9000, IBV_ACCESS_REMOTE_WRITE);
}

static int unknown_access(void)
{
	return reg(plain.buf->data, 9000, 1 << 30);
}

static int rereg(struct region *r, int flags, void *at, size_t length,
		 int access)
{
	return ibv_rereg_mr(r->mr, flags, NULL, at, length, access) ? errno : 0;
}

static int rereg_to_hole(void)
{
	return rereg(&plain, IBV_REREG_MR_CHANGE_TRANSLATION, holed->data,
		     holed->length, 0);
}

static int rereg_to_read_only(void)
{
	return rereg(&plain, IBV_REREG_MR_CHANGE_TRANSLATION, read_only->data,
		     read_only->length, 0);
}

static int rereg_to_wrong_access(void)
{
	return rereg(&plain, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0,
		     IBV_ACCESS_REMOTE_WRITE);
}

static int rereg_bound(void)
{
	return rereg(&bound, IBV_REREG_MR_CHANGE_TRANSLATION, plain.buf->data,
		     9000, 0);
}

static int dereg_bound(void)
{
	return ibv_dereg_mr(bound.mr);
}

static int of_no_dmabuf(void)
{
	return ibv_reg_dmabuf_mr(dev.pd, 0, 9000, 0, -1, ALL_ACCESS) ? 0 :
								       errno;
}

static int window_of_no_type(void)
{
	return ibv_alloc_mw(dev.pd, 77) ? 0 : errno;
}

static int device_memory_too_large(void)
{
	struct ibv_alloc_dm_attr attr = { .length = dev.attr.max_dm_size + 1 };

	return ibv_alloc_dm(dev.ctx, &attr) ? 0 : errno;
}

static const struct {
	const char *name;
	int (*attempt)(void);
} attempts[] = {
	{ "a hole at the end, to be written", of_hole },
	{ "a hole at the end", of_late_hole },
	{ "read-only memory, to be written", of_read_only },
	{ "no bytes", of_nothing },
	{ "beyond the end", beyond_the_end },
	{ "iova beyond the end", iova_beyond_the_end },
	{ "without local write", without_local_write },
	{ "unknown access", unknown_access },
	{ "rereg to a hole", rereg_to_hole },
	{ "rereg to read-only memory", rereg_to_read_only },
	{ "rereg to wrong access", rereg_to_wrong_access },
	{ "rereg while windows are bound", rereg_bound },
	{ "dereg while windows are bound", dereg_bound },
	{ "no dma-buf", of_no_dmabuf },
	{ "a window of no type", window_of_no_type },
	{ "too much device memory", device_memory_too_large },
};

static void prepare(void)
{
	struct ibv_mw *mw;

	link_make(&link_, NULL);
	plain = region_new(20000, 77, ALL_ACCESS);
	bound = region_new(20000, 77, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	mw = window_new(IBV_MW_TYPE_1);
	expect(window_bind(&link_.a, mw,
			   window_part(&bound, 0, 100, IBV_ACCESS_REMOTE_READ)),
	       IBV_WC_SUCCESS);
	/*
	 * Must fail with the window bound. After a failed dereg the core may have removed the
	 * region from its lists.
	 */
	CHECK(dereg_bound());
	/* Pinning fails late, after more than one batch of pages. */
	holed = buf_new(600 * PAGE, 0);
	CHECK_EQ(munmap(holed->data + 550 * PAGE, PAGE), 0);
	read_only = buf_new(20000, 3);
	CHECK_EQ(mprotect(read_only->map, read_only->map_length, PROT_READ), 0);
}

/* Repeats each call many times, so that a small leak adds up. */
static void each_fails(long long (*objects)(void))
{
	struct resources before;
	long long pages, charges = objects ? objects() : 0;
	long pins;
	size_t i, round;

	resources_read(&before);
	pins = vm_pin(0);
	pages = pinned_pages();
	for (i = 0; i < ARRAY_SIZE(attempts); i++) {
		context("%s", attempts[i].name);
		for (round = 0; round < 10; round++)
			CHECK(attempts[i].attempt() > 0);
		CHECK_EQ(vm_pin(0), pins);
		CHECK_EQ(pinned_pages(), pages);
		if (objects)
			CHECK_EQ(objects(), charges);
		resources_await(&before);
	}
	context("%s", "");
}

/* Registrations fail in each of their steps: afterwards no page is pinned or counted. */
static void cg2_failures(void)
{
	prepare();
	each_fails(NULL);
}

/* The same with a limit of RDMA objects: afterwards no object is charged. */
static void cg2_objects(void)
{
	cgroup_enter("rdma");
	prepare();
	CHECK(charged() > 0);
	each_fails(charged);
	cgroup_leave();
}

/* -------------------------------------------------------- many threads */

enum { LIMIT = 64, EACH = 16, THREADS = 4 };

static struct buf *racing;
static _Atomic bool stop;
static int live, most; /* atomic */
static unsigned long got, refusals;

static void *race(void *arg)
{
	(void)arg;
	while (!stop) {
		struct ibv_mr *mr;
		int now_live, so_far;

		mr = ibv_reg_mr(dev.pd, racing->data, EACH * PAGE, 0);
		if (!mr) {
			CHECK_EQ(errno, ENOMEM);
			__atomic_add_fetch(&refusals, 1, __ATOMIC_RELAXED);
			continue;
		}
		__atomic_add_fetch(&got, 1, __ATOMIC_RELAXED);
		now_live = __atomic_add_fetch(&live, 1, __ATOMIC_SEQ_CST);
		so_far = __atomic_load_n(&most, __ATOMIC_SEQ_CST);
		while (now_live > so_far &&
		       !__atomic_compare_exchange_n(&most, &so_far, now_live,
						    false, __ATOMIC_SEQ_CST,
						    __ATOMIC_SEQ_CST))
			;
		usleep(200);
		__atomic_sub_fetch(&live, 1, __ATOMIC_SEQ_CST);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	}
	return NULL;
}

/*
 * Threads register and deregister at the limit of locked memory: it is never exceeded, and in the
 * end all of it is free.
 */
static void cg3_race(void)
{
	struct rlimit limit = { LIMIT * PAGE, LIMIT * PAGE };
	pthread_t threads[THREADS * 2];
	double end;
	size_t i;

	racing = buf_new(EACH * PAGE, 0);
	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	if (geteuid() == 0)
		CHECK_EQ(setresuid(65534, 65534, 65534), 0);
	CHECK_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, race, NULL), 0);
	end = now() + opt.seconds;
	while (go_on(end, __atomic_load_n(&most, __ATOMIC_SEQ_CST) > 1))
		usleep(10000);
	stop = true;
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	note("%lu registered, %lu refused, %d at a time", got, refusals, most);
	CHECK(most > 1 && most <= LIMIT / EACH);
	CHECK_EQ(vm_pin(0), 0);
	/* Nothing is charged any more: the whole limit can be used again. */
	for (i = 0; i < LIMIT / EACH; i++)
		MUST(ibv_reg_mr(dev.pd, racing->data, EACH * PAGE, 0));
	MUST_NOT(ibv_reg_mr(dev.pd, racing->data, 1, 0), ENOMEM);
}

/* Allocates and frees more pages than the kernel may leave uncounted per processor. */
static void stir(void)
{
	size_t length = sysconf(_SC_NPROCESSORS_ONLN) * 512 * PAGE;
	void *map = mmap(NULL, length, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	CHECK(map != MAP_FAILED);
	CHECK_EQ(munmap(map, length), 0);
}

/*
 * The kernel sums up the per-CPU counts every two seconds, later if it is busy, at once if they
 * are large. Wait until the sum is between @least and @most.
 */
static long long kernel_memory(long long least, long long most)
{
	double end = now() + patience(60);
	long long bytes;

	sleep(3);
	while (stir(), bytes = cgroup_get("memory.stat", "kernel"),
	       (bytes < least || bytes > most) && now() < end)
		sleep(1);
	return bytes;
}

/*
 * A table takes 8 bytes a page, charged to the process that registers. Other memory that the
 * process needs meanwhile is much less.
 */
static void cg4_memory(void)
{
	enum { PAGES = 20000, TABLE = 8 * PAGES, MOST = TABLE / 4 * 3 };
	long long before, during, after;
	struct ibv_mr *mr;
	char *at;

	cgroup_enter("memory");
	at = memory_of_one_page(PAGES * PAGE);
	before = kernel_memory(0, LLONG_MAX);
	mr = MUST(ibv_reg_mr(dev.pd, at, PAGES * PAGE, ALL_ACCESS));
	during = kernel_memory(before + MOST, LLONG_MAX);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	after = kernel_memory(0, before + TABLE - MOST);
	note("%lld bytes for %d pages, %lld left", during - before, PAGES,
	     after - before);
	CHECK(during - before >= MOST);
	CHECK(after - before <= TABLE - MOST);
	cgroup_leave();
}

/* Tables that a prefetch creates later, in a work item, are charged to the same group. */
static void cg4_later(void)
{
	enum {
		CHILDREN = 512,
		CHILD = 2 << 20,
		/* A table of ours and a page list of the core for each child. */
		TABLES = CHILDREN / 4 * 3 * (PAGE + PAGE)
	};
	static struct ibv_sge sges[CHILDREN];
	size_t length = (size_t)(CHILDREN + 1) * CHILD;
	long long before, during;
	struct ibv_mr *mr;
	char *at;
	int i;

	need_odp();
	at = mmap(NULL, length, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(at != MAP_FAILED);
	madvise(at, length, MADV_NOHUGEPAGE);
	cgroup_enter("memory");
	mr = MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL));
	for (i = 0; i < CHILDREN; i++) {
		char *byte = at + (size_t)i * CHILD + CHILD / 2;

		/* Touch it, so that the page tables of the process exist already. */
		*byte = 1;
		sges[i] = (struct ibv_sge){ .addr = (uintptr_t)byte,
					    .length = 1,
					    .lkey = mr->lkey };
	}
	before = kernel_memory(0, LLONG_MAX);
	CHECK_EQ(ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0,
			       sges, CHILDREN),
		 0);
	during = kernel_memory(before + TABLES, LLONG_MAX);
	note("%lld bytes for %d tables", during - before, CHILDREN);
	CHECK(during - before >= TABLES);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	cgroup_leave();
}

/* A line of /proc/meminfo, in bytes. */
static long long meminfo(const char *name)
{
	return file_number(name, "/proc/meminfo") << 10;
}

static long long available(void)
{
	return meminfo("MemAvailable:");
}

/* An on-demand region takes no memory for its length, charged or not. */
static void cg5_untouched(void)
{
	enum { REGIONS = 32, HUGETLB = ODP_ALL | IBV_ACCESS_HUGETLB };
	const size_t length = 4ULL << 30, pages = length / PAGE;
	struct ibv_mr *mrs[REGIONS];
	long long before, during;
	char *nowhere;
	int i;

	need_odp();
	nowhere = mmap(NULL, length, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(nowhere != MAP_FAILED);
	cgroup_enter("memory");
	cgroup_set("memory.max", "64M");
	before = available();
	for (i = 0; i < REGIONS; i++)
		mrs[i] = MUST(ibv_reg_mr(dev.pd, nowhere, length,
					 i & 1 ? ODP_ALL : HUGETLB));
	during = available();
	note("%lld bytes for %d regions of %zu pages", before - during, REGIONS,
	     pages);
	/* Less than one page list of one region would take. */
	CHECK(before - during < (long long)(8 * pages));
	for (i = 0; i < REGIONS; i++)
		CHECK_EQ(ibv_dereg_mr(mrs[i]), 0);
	cgroup_leave();
}

/*
 * A process opens the device many times. What the kernel allocates for that is charged to its group,
 * except for the core's own struct ib_uverbs_file and what belongs to it.
 */
static void cg7_opens(void)
{
	enum { OPENS = 10000, CHARGED = 256, UNCHARGED = 2048 };
	const struct rlimit files = { 4 * OPENS, 4 * OPENS };
	static struct ibv_context *contexts[OPENS];
	long long slab, charge, left;
	int i;

	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
	cgroup_enter("memory");
	/* The first ones may bring what the others share. */
	for (i = 0; i < 10; i++)
		contexts[i] = MUST(ibv_open_device(dev.ctx->device));
	charge = kernel_memory(0, LLONG_MAX);
	slab = meminfo("Slab:");
	for (; i < OPENS; i++)
		contexts[i] = MUST(ibv_open_device(dev.ctx->device));
	slab = meminfo("Slab:") - slab;
	left = charge;
	charge = kernel_memory(charge + OPENS * CHARGED, LLONG_MAX) - charge;
	note("an open file takes %lld bytes, %lld of them are charged",
	     slab / OPENS, charge / OPENS);
	CHECK(charge >= OPENS * CHARGED);
	/* Checkers make all objects larger, and have their own for each. */
	if (slow() == 1)
		CHECK(slab - charge <= OPENS * UNCHARGED);
	for (i = 0; i < OPENS; i++)
		CHECK_EQ(ibv_close_device(contexts[i]), 0);
	left = kernel_memory(0, left + charge / 10) - left;
	CHECK(left <= charge / 10);
	cgroup_leave();
}

/* ------------------------------------------------- memory.max of a group */

enum { ROOM = 48 << 20 };

static int *touched; /* shared memory: number of children that were touched */

static void touches(void *arg)
{
	const size_t child = 2 << 20, length = 64ULL << 30;
	struct ibv_sge sge = { .length = 1 };
	struct ibv_mr *mr;
	char *at;
	int err;

	(void)arg;
	/* If memory runs out, kill this process and no other of the group. */
	CHECK_EQ(file_write("1000", "/proc/self/oom_score_adj"), 0);
	device_open();
	at = mmap(NULL, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(at != MAP_FAILED);
	madvise(at, length, MADV_NOHUGEPAGE);
	mr = MUST(ibv_reg_mr(dev.pd, at, length, IBV_ACCESS_ON_DEMAND));
	sge.lkey = mr->lkey;
	for (; *touched < (int)(length / child); ++*touched) {
		sge.addr = (uintptr_t)at + *touched * child;
		err = ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
				    IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
		if (!err)
			continue;
		/* The kernel says so, or kills. */
		CHECK_EQ(err, ENOMEM);
		break;
	}
}

/*
 * The zero page is charged to no process, so the charge consists of tables: page tables, ours,
 * and the core's. The process that has too many is killed, and no other.
 */
static void cg6_room(void)
{
	struct resources before;
	char text[32];
	int status;

	need_odp();
	touched = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(touched != MAP_FAILED);
	resources_read(&before);
	cgroup_enter("memory");
	snprintf(text, sizeof(text), "%d", ROOM);
	cgroup_set("memory.max", text);
	status = reap(spawn(touches, NULL));
	note("%d children in %d MiB, then it was %s", *touched, ROOM >> 20,
	     status == SIGKILL ? "killed" : "refused more");
	CHECK(!status || status == SIGKILL);
	CHECK(*touched > 0);
	CHECK(*touched < ROOM / (5 * (int)PAGE / 2));
	cgroup_leave();
	resources_await(&before);
}

static const struct test tests[] = {
	TEST(cg1_objects, "CG1 objects of the rdma control group"),
	TEST(cg2_failures, "CG2 whatever fails leaves no pins (class 18)"),
	TEST(cg2_objects, "CG2 whatever fails leaves no charge"),
	TEST(cg3_race, "CG3 many at a time against the limit (class 18)"),
	LONG_TEST(cg4_memory, "CG4 tables are charged to who registers", 120),
	LONG_TEST(cg4_later, "CG4 and what is brought later", 120),
	TEST(cg5_untouched, "CG5 on demand, nothing by its length"),
	LONG_TEST(cg6_room, "CG6 tables on demand and memory.max", 120),
	LONG_TEST(cg7_opens, "CG7 a device that is opened 10,000 times", 120),
};

HARNESS_MAIN("What registration is charged for", tests)
