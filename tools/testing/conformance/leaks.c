// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests the checks that the harness makes after each test: leaks are found (lib/resources.c),
 * and a process that does not exit is located (lib/stuck.c).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buf.h"
#include "device.h"
#include "pins.h"
#include "resources.h"
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

static const struct test tests[] = {
	TEST(each_kind, "leaks: each kind of object is seen"),
	TEST(not_known, "leaks: what is not known is no answer"),
	TEST(by_name, "leaks: by name"),
	TEST(pins, "leaks: each page that is pinned is seen"),
	TEST(stuck, "leaks: where one is that does not end"),
};

HARNESS_MAIN("What the harness sees of what a test leaves", tests)
