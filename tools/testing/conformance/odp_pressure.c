// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand regions when memory is short: pages in swap, pages that are fetched and reclaimed,
 * merged pages, and processes that the OOM killer ends because of their faults (items A45 and
 * A50). The test knows each byte.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "file.h"
#include "link.h"
#include "merge.h"
#include "resources.h"
#include "swap.h"
#include "undo.h"
#include "victim.h"

enum {
	LEN = (4 << 20) + 777,
	PIECE = 1 << 20,
};

static struct link link_;
static struct region local;

static void begin(void)
{
	need_odp();
	need_root();
	link_make(&link_, NULL);
	local = region_new(PIECE, 1234, ALL_ACCESS);
}

static struct region region_way(struct buf *buf, bool implicit)
{
	return implicit ? region_of(buf,
				    MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX,
						    ODP_ALL)),
				    (uintptr_t)buf->data) :
			  region_reg(dev.pd, buf, ODP_ALL);
}

static int fetch(const struct region *r)
{
	struct ibv_sge sge = sge_of(r, 0, r->buf->length);

	return ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			     IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

static void set(const char *path, const char *value)
{
	int err = file_write(value, "%s", path);

	if (err)
		skip("%s: errno %d", path, err);
}

/* The device brings pages back from swap, reads what was there, and what it writes is not lost. */
static void a45_swap(int implicit)
{
	struct buf *buf;
	struct region r;
	long out = 0;
	int i, rounds = in_short() ? 6 : 12;

	begin();
	need_swap();
	buf = buf_private(LEN, 777);
	r = region_way(buf, implicit);
	for (i = 0; i < rounds; i++) {
		uint64_t at = rnd_below(LEN - PIECE);

		out += swap_page_out(buf);
		context("round %d", i);
		/* The device fetches pages from swap, and they are paged out again. */
		check_read(&link_, &local, 0, &r, at, PIECE);
		buf_check(local.buf);
		buf_fill(local.buf);
		check_write(&link_, &local, 3, &r, at, PIECE - 3);
		if (i & 1)
			out += swap_page_out(buf);
		check_write(&link_, &r, at, &local, 0, PIECE);
		buf_check(local.buf);
		buf_check(buf);
	}
	note("%ld KiB were swapped out", out);
	CHECK(out > LEN / 1024);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
}

/* ------------------------------------------------------- groups short of memory */

static const char groups[] = "/sys/fs/cgroup";
static char group[64];

static void group_set(const char *file, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", group, file);
	set(path, value);
}

static void group_end(void)
{
	CHECK_EQ(cgroup_remove(group), 0);
}

static void group_drop(void)
{
	cgroup_remove(group);
}

/* Creates a group whose @limit is set to @most. */
static void group_begin(const char *limit, const char *most,
			const char *most_swap)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/cgroup.controllers", groups);
	if (access(path, F_OK) && mount("none", groups, "cgroup2", 0, NULL))
		skip("no control groups: errno %d", errno);
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", groups);
	set(path, "+memory");
	snprintf(group, sizeof(group), "%s/pinion-test-%d", groups, getpid());
	CHECK_EQ(mkdir(group, 0755), 0);
	undo_at_end(group_drop);
	group_set(limit, most);
	group_set("memory.swap.max", most_swap);
}

static void group_join(void)
{
	group_set("cgroup.procs", "0");
}

/* Uses a region all over with less memory than it needs. */
static void squeezed(void *arg)
{
	double end = now() + opt.seconds;
	struct region r;
	struct buf *buf;
	long rounds = 0, enough = in_short() ? 10 : 40, out = 0;

	group_join();
	device_open();
	link_make(&link_, NULL);
	local = region_new(PIECE, 1234, ALL_ACCESS);
	buf = buf_private(20 << 20, 777);
	r = region_way(buf, *(bool *)arg);
	for (; now() < end || rounds < enough; rounds++) {
		uint64_t at = rnd_below((20 << 20) - PIECE);
		long swapped;

		buf_fill(local.buf);
		check_write(&link_, &local, 0, &r, at, PIECE);
		at = rnd_below((20 << 20) - PIECE);
		check_read(&link_, &local, 0, &r, at, PIECE);
		buf_check(local.buf);
		swapped = file_number("VmSwap:", "/proc/self/status");
		out = swapped > out ? swapped : out;
	}
	buf_check(buf);
	note("%ld rounds, at most %ld KiB in swap", rounds, out);
	CHECK(out > 4096);
}

/*
 * Another processor's process must not use a page that is gone. User-mode Linux lets it, unless it
 * has scripts/bed/patches/um-tlb.patch; a developer's own kernel has not.
 */
static void need_pages_that_go(void)
{
	bool there = !in_user_mode_linux();
	FILE *file = MUST(fopen("/proc/kallsyms", "r"));
	char line[256];

	while (!there && fgets(line, sizeof(line), file))
		there = strstr(line, " um_tlb_stop_user");
	fclose(file);
	if (!there)
		skip("user-mode Linux without um-tlb.patch");
}

/* A process with too little room for its region is paged out all the time: data are right. */
static void a45_pressure(void)
{
	bool implicit;
	int pid, i;

	begin();
	need_swap();
	need_pages_that_go();
	/*
	 * The model needs as much memory as the region. memory.high makes processes wait and
	 * page out; at memory.max the kernel sometimes kills although swap has room.
	 */
	group_begin("memory.high", "32M", "max");
	for (i = 0; i < 2; i++) {
		implicit = i;
		pid = spawn(squeezed, &implicit);
		reap_ok(pid);
	}
	group_end();
}

/* ------------------------------------------------------- the machine itself */

struct board {
	_Atomic bool stop;
	_Atomic long looks, wrong;
};

/* Reads pages that hold their own number, again and again. */
static void reader(void *arg)
{
	enum { PAGES = 2048, WORDS = PAGE / sizeof(uint64_t) };
	struct board *board = *(struct board **)arg;
	uint64_t page, *words;
	size_t i;

	group_join();
	words = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(words != MAP_FAILED);
	for (i = 0; i < (size_t)PAGES * WORDS; i++)
		words[i] = i / WORDS;
	while (!board->stop) {
		for (page = 0; page < PAGES; page++) {
			for (i = 0; i < WORDS; i++)
				board->wrong += words[page * WORDS + i] != page;
		}
		board->looks++;
	}
}

/* Fills more memory than the group may have, so that the reader is paged out. */
static void eater(void *arg)
{
	enum { WORDS = (24 << 20) / sizeof(uint64_t) };
	struct board *board = *(struct board **)arg;
	uint64_t i, *words;

	group_join();
	words = mmap(NULL, WORDS * sizeof(*words), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(words != MAP_FAILED);
	for (i = 0; !board->stop; i++)
		words[i % WORDS] = ~i;
}

/*
 * A page is freed when no processor uses it any more. This tests the kernel, without any device:
 * otherwise other tests here fail now and then.
 */
static void a45_gone(void)
{
	long long begun, enough = in_short() ? 20000 : 200000;
	struct board *board;
	int pids[2], i;

	begin();
	need_swap();
	need_pages_that_go();
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(board != MAP_FAILED);
	group_begin("memory.high", "16M", "max");
	begun = swap_written();
	pids[0] = spawn(reader, &board);
	pids[1] = spawn(eater, &board);
	while (!board->wrong &&
	       (board->looks < 3 || swap_written() - begun < enough))
		usleep(10000);
	note("read %ld times, %lld pages written to swap", board->looks,
	     swap_written() - begun);
	board->stop = true;
	for (i = 0; i < 2; i++)
		reap_ok(pids[i]);
	CHECK_EQ(board->wrong, 0);
	group_end();
}

/* Fetches more and more pages until memory runs out. */
static void greedy(void *arg)
{
	size_t length = 256 << 20, at;
	uint8_t *map;
	struct ibv_mr *mr;

	group_join();
	device_open();
	link_make(&link_, NULL);
	local = region_new(PIECE, 0, ALL_ACCESS);
	map = mmap(NULL, length, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(map != MAP_FAILED);
	mr = *(bool *)arg ? MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL)) :
			    MUST(ibv_reg_mr(dev.pd, map, length, ODP_ALL));
	for (at = 0; at < length; at += PIECE)
		rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&local, 0, PIECE),
		     (uintptr_t)map + at, mr->rkey);
	FAIL("there was more memory than the group may have");
}

/* A process that the kernel kills for want of memory leaves nothing, and others do not notice. */
static void a50_oom(void)
{
	volatile struct victim *bystander;
	struct resources before;
	int round, status;

	begin();
	group_begin("memory.max", "24M", "0");
	bystander = victim_start();
	resources_read(&before);
	for (round = 0; round < (in_short() ? 2 : 4); round++) {
		bool implicit = round & 1;

		context("round %d", round);
		status = reap(spawn(greedy, &implicit));
		CHECK(WIFSIGNALED(status));
		CHECK_EQ(WTERMSIG(status), SIGKILL);
		resources_await(&before);
	}
	victim_end(bystander);
	group_end();
}

static void *wait_for_the_end(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

/*
 * A process whose exit takes a while: many threads, and many present pages in an on-demand
 * region.
 */
static void slow_to_die(void *arg)
{
	struct region r;
	int i;

	device_open();
	r = region_new(LEN, 0, ODP_ALL);
	CHECK_EQ(fetch(&r), 0);
	for (i = 0; i < 60; i++) {
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, wait_for_the_end, NULL),
			 0);
	}
	CHECK_EQ(write(*(int *)arg, "", 1), 1);
	wait_for_the_end(NULL);
}

/*
 * process_mrelease() reaps a dying process as the OOM killer does, without blocking: the
 * notifier refuses to invalidate then, and the pages are freed when the process exits.
 */
static void a50_reaped(void)
{
	double end = now() + patience(20);
	int rounds = 0, refused = 0, pipes[2];
	struct resources before;

	begin();
	resources_read(&before);
	for (; refused < 5 && now() < end; rounds++) {
		int pid, fd, status;
		char ready;

		CHECK_EQ(pipe(pipes), 0);
		pid = spawn(slow_to_die, &pipes[1]);
		close(pipes[1]);
		CHECK_EQ(read(pipes[0], &ready, 1), 1);
		close(pipes[0]);
		fd = syscall(SYS_pidfd_open, pid, 0);
		CHECK(fd >= 0);
		CHECK_EQ(kill(pid, SIGKILL), 0);
		if (syscall(SYS_process_mrelease, fd, 0)) {
			if (errno == ENOSYS)
				skip("no process_mrelease() in this kernel");
			/* The process may have exited already. */
			CHECK(errno == EAGAIN || errno == ESRCH ||
			      errno == EINVAL);
			refused += errno == EAGAIN;
		}
		close(fd);
		status = reap(pid);
		CHECK(WIFSIGNALED(status));
		resources_await(&before);
	}
	note("%d of %d were asked in time", refused, rounds);
	CHECK(refused);
}

/* --------------------------------------------------------------- equal pages */

/* Equal pages of a region become one: what is written to one of them does not change the others. */
static void a45_ksm(void)
{
	enum { PAGES = 64 };
	struct region r;
	struct buf *buf;
	size_t i;
	int round;

	begin();
	merge_begin();
	buf = buf_private(PAGES * PAGE, 0);
	for (i = 1; i < PAGES; i++)
		memcpy(buf->want + i * PAGE, buf->want, PAGE);
	memcpy(buf->data, buf->want, PAGES * PAGE);
	r = region_reg(dev.pd, buf, ODP_ALL);
	merge_allow(buf->data, PAGES * PAGE);
	for (round = 0; round < 5; round++) {
		size_t page = rnd_below(PAGES);
		uint8_t was[4096];

		/*
		 * Fetch for writing, so that the device can write to all pages when they are
		 * merged.
		 */
		CHECK_EQ(fetch(&r), 0);
		merge_await(PAGES / 2);
		check_read(&link_, &local, 5, &r, 99, PAGES * PAGE - 99);
		buf_check(local.buf);
		/* Write to one page: the others that were merged with it stay as they are. */
		memcpy(was, buf->want, PAGE);
		buf_fill(local.buf);
		check_write(&link_, &local, 7, &r, page * PAGE + 100, 300);
		buf_check(buf);
		/* Make it equal to the others again. */
		memcpy(buf->data + page * PAGE, was, PAGE);
		memcpy(buf->want + page * PAGE, was, PAGE);
		check_read(&link_, &local, 5, &r, 99, PAGES * PAGE - 99);
		buf_check(local.buf);
	}
}

static const struct test tests[] = {
	LONG_TEST_OF(a45_swap, false, "A45 pages in swap, explicit", 60),
	LONG_TEST_OF(a45_swap, true, "A45 pages in swap, implicit", 60),
	LONG_TEST(a45_pressure, "A45 less room than is needed", 90),
	LONG_TEST(a45_gone, "A45 a page that is paged out is gone", 90),
	LONG_TEST(a45_ksm, "A45 equal pages merged", 60),
	LONG_TEST(a50_oom, "A50 killed for want of memory", 90),
	TEST(a50_reaped, "A50 reaped when it is killed (class 10)"),
};

HARNESS_MAIN("On-demand regions short of memory", tests)
