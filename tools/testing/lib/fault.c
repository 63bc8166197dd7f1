// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Talks to the kernel's fault injection. Knows nothing of verbs.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fault.h"
#include "file.h"
#include "undo.h"

/* Calls of a stack that are looked at. */
enum { DEEP = 32 };

/* Of this thread: fail-nth, and make-it-fail. */
static int fd = -1, asks_fd = -1;

static void set(const char *file, const char *value)
{
	int err = file_write(value, "/sys/kernel/debug/%s", file);

	/* Without this setting faults would hit fewer calls than the test is meant for. */
	if (err)
		FAIL("%s: errno %d", file, err);
}

/* False: there is none. */
static bool seek_function(const char *function, unsigned long *start,
			  unsigned long *end)
{
	FILE *file = MUST(fopen("/proc/kallsyms", "r"));
	char line[256], name[128];
	unsigned long address;
	bool there = false;

	*start = 0;
	*end = -1UL;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx %*c %127s", &address, name) == 2 &&
		    !strcmp(name, function)) {
			*start = address;
			there = true;
		}
	}
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx", &address) == 1 && address > *start &&
		    address < *end)
			*end = address;
	}
	fclose(file);
	/* Zero if kallsyms hides addresses. */
	CHECK(!there || *start);
	return there;
}

/*
 * Where a function of the kernel begins, and what is behind it. False: there is none. It is sought once
 * only, as there are many.
 */
static bool find_function(const char *function, unsigned long *start,
			  unsigned long *end)
{
	static struct known {
		const char *name;
		bool there;
		unsigned long start, end;
	} known[16];
	struct known *at = known;

	while (at->name && strcmp(at->name, function))
		at++;
	CHECK(at < known + ARRAY_SIZE(known) - 1);
	if (!at->name) {
		at->there = seek_function(function, &at->start, &at->end);
		at->name = function;
	}
	*start = at->start;
	*end = at->end;
	return at->there;
}

static void set_number(const char *file, unsigned long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%#lx", value);
	set(file, text);
}

static void set_of_kind(const char *kind, const char *name, unsigned long value)
{
	char file[64];

	snprintf(file, sizeof(file), "%s/%s", kind, name);
	set_number(file, value);
}

/*
 * Exclude the allocations of a function from faults of this kind, instead of those of the function that was
 * excluded before: there is one range only. False: the kernel has no such function.
 */
static bool spare(const char *kind, const char *function)
{
	unsigned long start, end;

	if (!find_function(function, &start, &end))
		return false;
	set_of_kind(kind, "reject-start", start);
	set_of_kind(kind, "reject-end", end);
	set_of_kind(kind, "stacktrace-depth", DEEP);
	return true;
}

static void spare_some(void)
{
	/* The reference trackers of the network warn loudly if they get no memory. */
	spare("failslab", "ref_tracker_alloc");
	/*
	 * Small objects fail by themselves. The pages they are in are needed by chance: with them the
	 * same call would have one place more now and then where it can fail.
	 */
	spare("fail_page_alloc", "new_slab");
}

static void open_own(void)
{
	fd = open("/proc/thread-self/fail-nth", O_RDWR);
	asks_fd = open("/proc/thread-self/make-it-fail", O_RDWR);
}

/* The settings of failing allocations that both ways of use have in common. */
static void let_allocations_fail(void)
{
	/* Verbs use allocations that may sleep, so those must be able to fail. */
	set("failslab/ignore-gfp-wait", "N");
	set("failslab/verbose", "0");
	set("fail_page_alloc/ignore-gfp-wait", "N");
	set("fail_page_alloc/ignore-gfp-highmem", "N");
	set("fail_page_alloc/min-order", "0");
	set("fail_page_alloc/verbose", "0");
	spare_some();
}

void fault_prepare(void)
{
	size_t room = 8 << 20;

	open_own();
	if (fd < 0 || asks_fd < 0)
		skip("this kernel injects no faults");
	let_allocations_fail();
	set("fail_usercopy/verbose", "0");
	/* The heap must not grow while armed: the faults would hit its page faults. */
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, room * 2);
	mallopt(M_TOP_PAD, room);
	free(memset(MUST(malloc(room)), 0, room));
	CHECK_EQ(mlockall(MCL_CURRENT), 0);
}

static bool write_number(int file, unsigned int number)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", number);

	return pwrite(file, text, length, 0) == length;
}

void fault_inherit(void)
{
	close(fd);
	close(asks_fd);
	open_own();
	CHECK(fd >= 0 && asks_fd >= 0);
}

static bool is_spent(int file)
{
	char text[16] = "";

	return pread(file, text, sizeof(text) - 1, 0) > 0 && atoi(text) == 0;
}

bool fault_hit(int pid)
{
	char path[64];
	bool hit;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/fail-nth", pid);
	file = open(path, O_RDONLY);
	CHECK(file >= 0);
	hit = is_spent(file);
	close(file);
	return hit;
}

/* ----------------------------------------------------------------- in some places only */

static const char *const kinds[] = { "failslab", "fail_page_alloc",
				     "fail_usercopy" };

enum { ALLOCATIONS = 2 }; /* of the kinds */

static void set_each(size_t count, const char *name, unsigned long value)
{
	size_t i;

	for (i = 0; i < count; i++)
		set_of_kind(kinds[i], name, value);
}

/* "Y" or "N" */
static void only_tasks_that_ask(const char *value)
{
	char file[64];
	size_t i;

	for (i = 0; i < ALLOCATIONS; i++) {
		snprintf(file, sizeof(file), "%s/task-filter", kinds[i]);
		set(file, value);
	}
}

/* Only what this part of the kernel calls fails. */
static bool in_part;

static void require(unsigned long start, unsigned long end, unsigned int depth)
{
	in_part = start;
	set_each(ARRAY_SIZE(kinds), "require-start", start);
	set_each(ARRAY_SIZE(kinds), "require-end", end);
	set_each(ARRAY_SIZE(kinds), "stacktrace-depth", depth);
}

void fault_anywhere(void)
{
	require(0, -1UL, DEEP);
	set_each(ALLOCATIONS, "reject-start", 0);
	set_each(ALLOCATIONS, "reject-end", 0);
	spare_some();
}

/*
 * In this order: if the filter went first, each allocation of each process would fail until the
 * probability is 0.
 */
static void stop_failing(void)
{
	set_each(ALLOCATIONS, "probability", 0);
	set_each(ALLOCATIONS, "times", 0);
	fault_anywhere();
}

void fault_not_in(const char *const *functions, size_t count)
{
	unsigned long first = -1UL, last = 0, start, end;
	size_t i;

	for (i = 0; i < count; i++) {
		if (!find_function(functions[i], &start, &end))
			FAIL("no function %s", functions[i]);
		if (start < first)
			first = start;
		if (end > last)
			last = end;
	}
	set_each(ALLOCATIONS, "reject-start", first);
	set_each(ALLOCATIONS, "reject-end", last);
	set_each(ALLOCATIONS, "stacktrace-depth", DEEP);
}

void fault_not_in_checks(void)
{
	spare("failslab", "debug_objects_fill_pool");
}

/* /proc/modules: "pinion 1234 0 - Live 0x61000000 (O)" */
static void find_module(const char *module, unsigned long *start,
			unsigned long *size)
{
	FILE *file = MUST(fopen("/proc/modules", "r"));
	char line[512], name[64];

	*start = 0;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %lu %*s %*s %*s %lx", name, size,
			   start) == 3 &&
		    !strcmp(name, module))
			break;
		*start = 0;
	}
	fclose(file);
	/* Also if addresses are hidden. */
	if (!*start)
		FAIL("no address of module %s", module);
}

/* The calls of the fault injection and of the allocator, which are on each stack. */
enum { OWN_CALLS = 7 };

void fault_only_in_module(const char *module, unsigned int depth)
{
	unsigned long start, size;

	find_module(module, &start, &size);
	undo_at_end(stop_failing);
	require(start, start + size, OWN_CALLS + depth);
}

void fault_only_in_function(const char *function)
{
	unsigned long start, end;

	if (!find_function(function, &start, &end))
		FAIL("no function %s", function);
	undo_at_end(stop_failing);
	require(start, end, DEEP);
}

/* ------------------------------------------------- one, or all from one on */

/* What fault_arm() or fault_arm_lasting() has begun, and whether the last of them had an effect. */
static enum { IDLE, ONE, LASTING } armed;
static bool was_hit;

void fault_arm(unsigned int nth)
{
	armed = ONE;
	CHECK(write_number(fd, nth));
}

/* More than one call makes, unless it tries again and again. */
enum { ENOUGH = 10000 };

void fault_arm_lasting(unsigned int nth)
{
	set_each(ALLOCATIONS, "times", ENOUGH);
	armed = LASTING;
	/* Nothing allocates between these two. */
	CHECK(write_number(asks_fd, 1));
	CHECK(write_number(fd, nth));
}

static void check_end(void)
{
	size_t i;

	for (i = 0; i < ALLOCATIONS; i++)
		if (!file_number("", "/sys/kernel/debug/%s/times", kinds[i]))
			FAIL("%u allocations of one call failed: it does not give up",
			     ENOUGH);
}

bool fault_disarm(void)
{
	bool lasting = armed == LASTING;

	if (armed == IDLE)
		return was_hit;
	/* Read first: a fault in the calls that follow does not count. They allocate nothing. */
	was_hit = is_spent(fd);
	while (lasting && !write_number(asks_fd, 0))
		;
	while (!write_number(fd, 0))
		;
	armed = IDLE;
	if (lasting)
		check_end();
	return was_hit;
}

static __attribute__((noinline)) void touch_stack(void)
{
	volatile char deep[256 << 10];
	size_t i;

	for (i = 0; i < sizeof(deep); i += 1024)
		deep[i] = 0;
}

/* Of two calls that allocate, the second fails by the settings alone, as fail-nth is spent by the first. */
static void check_lasting(void)
{
	int first, second;

	fault_arm_lasting(1);
	first = eventfd(0, 0);
	second = eventfd(0, 0);
	CHECK(fault_disarm());
	CHECK(first < 0);
	CHECK(second < 0);
}

/*
 * While a thread counts calls to the one that is to fail (fail-nth), the kernel does not look at the
 * settings of the kinds; from that one on it does. These let each allocation fail, but only of threads
 * that ask for it (make-it-fail). Copies do not fail again, or no thread could end it.
 */
void fault_lasting_prepare(const char *but_in)
{
	if (but_in && !spare("failslab", but_in))
		FAIL("no function %s", but_in);
	only_tasks_that_ask("Y");
	set_each(ALLOCATIONS, "interval", 1);
	set_each(ALLOCATIONS, "probability", 100);
	/*
	 * No page of this process may be missing, or be shared with a child since a fork(): without memory
	 * for it the process would try again without end.
	 */
	touch_stack();
	CHECK_EQ(mlockall(MCL_CURRENT), 0);
	/* Else none of its two calls is in that part. */
	if (!in_part)
		check_lasting();
}

/* Should a test end before this, nobody asks. */
void fault_lasting_end(const char *but_in)
{
	set_each(ALLOCATIONS, "probability", 0);
	only_tasks_that_ask("N");
	if (but_in)
		spare_some();
}

/* ------------------------------------------------------ everywhere, now and then */

enum { MANY = 1000000000 };

void fault_often_prepare(const char *module)
{
	unsigned long start, size;

	if (access("/sys/kernel/debug/failslab", F_OK))
		skip("this kernel injects no faults");
	undo_at_end(stop_failing);
	fault_lasting_end(NULL);
	let_allocations_fail();
	find_module(module, &start, &size);
	require(start, start + size, DEEP);
	set_each(ALLOCATIONS, "interval", 1);
}

void fault_often(unsigned int percent)
{
	set_each(ALLOCATIONS, "times", MANY);
	set_each(ALLOCATIONS, "probability", percent);
}

uint64_t fault_often_end(void)
{
	uint64_t hits = 0;
	size_t i;

	set_each(ALLOCATIONS, "probability", 0);
	for (i = 0; i < ALLOCATIONS; i++) {
		long long left =
			file_number("", "/sys/kernel/debug/%s/times", kinds[i]);

		CHECK(left >= 0);
		hits += MANY - left;
	}
	stop_failing();
	return hits;
}

void fault_once(void)
{
	set("failslab/times", "1");
	set("failslab/probability", "100");
}

bool fault_once_hit(void)
{
	long long left = file_number("", "/sys/kernel/debug/failslab/times");

	CHECK(left >= 0);
	if (!left)
		set("failslab/probability", "0");
	return !left;
}
