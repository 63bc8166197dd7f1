// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests the checks that the harness makes after each test: leaks are found (lib/resources.c),
 * and a process that does not exit is located (lib/stuck.c).
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buf.h"
#include "device.h"
#include "dmabuf.h"
#include "pins.h"
#include "raw.h"
#include "resources.h"
#include "sealed.h"
#include "stuck.h"

static char text[256];

static bool differ(const struct resources *a, const struct resources *b)
{
	text[0] = 0;
	return resources_differ(a, b, text, sizeof(text));
}

static void is_seen(const struct resources *before, const char *kind)
{
	struct resources after;

	resources_read(&after);
	CHECK(differ(before, &after));
	if (!strstr(text, kind))
		FAIL("of a %s it says: %s", kind, text);
	/* A difference in the other direction is found, too. */
	CHECK(differ(&after, before));
	CHECK_EQ(resources_count(&after, kind),
		 resources_count(before, kind) + 1);
}

/* Each kind of object that is made is seen as left behind. */
static void each_kind(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct resources before, after;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	void *page = MUST(aligned_alloc(PAGE, PAGE));

	resources_read(&before);
	CHECK(before.known);
	if (debugfs_is_due())
		CHECK(resources_count(&before, "keys") >= 0);
	resources_read(&after);
	if (differ(&before, &after))
		FAIL("of nothing it says: %s", text);
	pd = MUST(ibv_alloc_pd(dev.ctx));
	is_seen(&before, "pd");
	cq = MUST(ibv_create_cq(dev.ctx, 1, NULL, NULL, 0));
	is_seen(&before, "cq");
	mr = MUST(ibv_reg_mr(pd, page, PAGE, 0));
	is_seen(&before, "mr");
	attr.send_cq = attr.recv_cq = cq;
	attr.cap.max_send_wr = attr.cap.max_recv_wr = 1;
	qp = MUST(ibv_create_qp(pd, &attr));
	is_seen(&before, "qp");
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	resources_await(&before);
	free(page);
}

/* So are those that only the driver and the kernel's list of dma-bufs tell of. */
static void driver_kinds(void)
{
	struct ibv_alloc_dm_attr dm_attr = { .length = PAGE };
	struct ibv_ah_attr path = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = dev.gid, .sgid_index = dev.gid_index },
	};
	struct resources before, after;
	void *page = MUST(aligned_alloc(PAGE, PAGE));
	uint32_t umem, id;
	struct ibv_ah *ah;
	struct ibv_mw *mw;
	static const char *const ended[] = { "driver ah", "driver mw",
					     "driver dm", "keys" };
	struct ibv_dm *dm;
	size_t i;

	need_root();
	if (!dev.pinion)
		skip("other drivers do not tell");
	resources_read(&before);
	ah = MUST(ibv_create_ah(dev.pd, &path));
	is_seen(&before, "driver ah");
	mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2));
	is_seen(&before, "driver mw");
	memset(page, 1, PAGE);
	CHECK_EQ(raw_reg_umem(dev.ctx->cmd_fd, page, PAGE, &umem, &id), 0);
	is_seen(&before, "driver umem");
	dm = MUST(ibv_alloc_dm(dev.ctx, &dm_attr));
	resources_read(&after);
	CHECK(differ(&before, &after));
	CHECK(strstr(text, "driver dm"));
	CHECK_EQ(resources_count(&after, "driver dm"),
		 resources_count(&before, "driver dm") + PAGE);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	resources_read(&after);
	for (i = 0; i < ARRAY_SIZE(ended); i++)
		CHECK_EQ(resources_count(&after, ended[i]),
			 resources_count(&before, ended[i]));
	CHECK_EQ(resources_count(&after, "driver umem"), 1);
	free(page);
}

/* Any dma-buf that somebody still has is seen. */
static void dmabufs(void)
{
	struct resources before;
	size_t i;

	need_root();
	resources_read(&before);
	if (resources_count(&before, "dma-bufs") < 0)
		skip("the kernel does not list dma-bufs");
	for (i = 0; i < DMABUF_KINDS && !dmabuf_there(&dmabuf_kinds[i]); i++)
		;
	if (i == DMABUF_KINDS)
		skip("no exporter of dma-bufs");
	dmabuf_new(&dmabuf_kinds[i], 4 * PAGE);
	is_seen(&before, "dma-bufs");
}

/*
 * A page of a test's buffers that somebody holds is seen, although the test has unmapped it, and
 * not any more when it is free. This seals the file, so that the test can have no more of it.
 */
static void held(void)
{
	struct region r = region_new(3 * PAGE, 0, ALL_ACCESS);
	bool first = r.buf->shared;

	/* Of two buffers one is in the file. */
	if (!first)
		r = region_new(3 * PAGE, 0, ALL_ACCESS);
	CHECK(r.buf->shared);
	CHECK_EQ(munmap(r.buf->map, r.buf->map_length), 0);
	CHECK(sealed_is_held());
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	CHECK(!sealed_is_held());
}

/* If the resources could not be read, that counts as a difference. */
static void not_known(void)
{
	struct resources known, unknown = {};

	resources_read(&known);
	CHECK(known.known);
	CHECK(differ(&known, &unknown));
	CHECK(differ(&unknown, &known));
	CHECK(differ(&unknown, &unknown));
}

/* A folder of debugfs with lists is hidden from the test: then it is not known what there is. */
static void no_list(const void *folder)
{
	struct resources known, unknown;

	need_root();
	if (!debugfs_is_due())
		skip("such a list has our device, and each bed has debugfs");
	resources_read(&known);
	CHECK_EQ(unshare(CLONE_NEWNS), 0);
	CHECK_EQ(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	CHECK_EQ(mount("none", folder, "tmpfs", 0, NULL), 0);
	resources_read(&unknown);
	CHECK(known.known && !unknown.known);
	CHECK(differ(&known, &unknown));
	CHECK(differ(&unknown, &unknown));
}

/* Kinds are compared by name, in any order, also if only one list has them. */
static void by_name(void)
{
	struct resources a = { .known = true,
			       .kinds = 2,
			       .kind = { { "mr", 1 }, { "keys", 2 } } };
	struct resources b = {
		.known = true,
		.kinds = 3,
		.kind = { { "keys", 2 }, { "mr", 1 }, { "qp", 0 } }
	};

	CHECK(differ(&a, &b));
	b.kinds = 2;
	CHECK(!differ(&a, &b));
	b.kinds = 1;
	CHECK(differ(&a, &b));
	CHECK(differ(&b, &a));
	b = a;
	b.kind[1].count++;
	CHECK(differ(&a, &b));
	CHECK(!strcmp(text, "keys 3, before 2 "));
}

/* Each page that is pinned is counted, and not any more after ibv_dereg_mr(). */
static void pins(void)
{
	enum { PAGES = 5 };
	char *pages = MUST(aligned_alloc(PAGE, PAGES * PAGE));
	long long before;
	struct ibv_mr *mr;

	need_root();
	memset(pages, 1, PAGES * PAGE);
	before = pinned_pages();
	mr = MUST(ibv_reg_mr(dev.pd, pages, PAGES * PAGE, 0));
	CHECK_EQ(pinned_pages(), before + PAGES);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(pinned_pages(), before);
	free(pages);
}

/*
 * A process in its own process group reads from a pipe that nobody writes to. It must die with
 * its parent: otherwise it would keep the pipes of the harness open, whose reader would wait for
 * ever.
 */
static pid_t fork_reader(const int pipes[2])
{
	pid_t pid = fork();
	char byte;

	CHECK(pid >= 0);
	if (pid)
		return pid;
	setpgid(0, 0);
	close(pipes[1]);
	_exit(read(pipes[0], &byte, 1) != 1);
}

/* Returns the report about @group once it contains @what, or the last of many tries. */
static char *stuck_says(pid_t group, const char *what)
{
	double limit = now() + patience(10);
	size_t length;
	FILE *to;
	char *said = NULL;

	do {
		free(said);
		to = MUST(open_memstream(&said, &length));
		stuck_print(to, group);
		fclose(to);
		if (strstr(said, what))
			break;
		usleep(10000);
	} while (now() < limit);
	return said;
}

/* Of a process that does not end the system call and its state are told. */
static void stuck(void)
{
	int pipes[2], pid, status;
	char path[64], call[64], *said;

	need_root();
	CHECK_EQ(pipe(pipes), 0);
	/* Does not use wchan: a kernel without frame pointers may print any function there. */
	snprintf(call, sizeof(call), "syscall: %d %#x ", SYS_read, pipes[0]);
	pid = fork_reader(pipes);
	snprintf(path, sizeof(path), "/proc/%d/task/%d ", pid, pid);
	said = stuck_says(pid, call);
	if (!strstr(said, path) || !strstr(said, ": state S") ||
	    !strstr(said, call))
		FAIL("of a process that reads from a pipe it says: %s", said);
	free(said);
	CHECK_EQ(write(pipes[1], "", 1), 1);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void lacks_something(void *arg)
{
	dev.pinion = arg;
	be_silent();
	lacks("this");
}

/* What a pinion device lacks is a failure, what another one does is a skip. */
static void lacking(void)
{
	enum { FAILED = 1, SKIPPED = 4 };

	CHECK_EQ(WEXITSTATUS(reap(spawn(lacks_something, &dev))), FAILED);
	CHECK_EQ(WEXITSTATUS(reap(spawn(lacks_something, NULL))), SKIPPED);
}

static const struct test tests[] = {
	TEST(each_kind, "leaks: each kind of object is seen"),
	TEST(driver_kinds, "leaks: each kind that only the driver counts"),
	TEST(dmabufs, "leaks: dma-bufs"),
	TEST(held, "leaks: a page that is held is seen"),
	TEST(not_known, "leaks: what is not known is no answer"),
	TEST_WITH(no_list, "/sys/kernel/debug/pinion",
		  "leaks: keys that cannot be read are no answer"),
	TEST_WITH(no_list, "/sys/kernel/debug/dma_buf",
		  "leaks: dma-bufs that cannot be read are no answer"),
	TEST(by_name, "leaks: by name"),
	TEST(pins, "leaks: each page that is pinned is seen"),
	TEST(lacking, "leaks: what a pinion device lacks is no reason to skip"),
	TEST(stuck, "leaks: where one is that does not end"),
};

HARNESS_MAIN("What the harness sees of what a test leaves", tests)
