// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Talks to the kernel's fault injection. Knows nothing of verbs.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fault.h"
#include "file.h"
#include "undo.h"

static int fd = -1;

static void set(const char *file, const char *value)
{
	int err = file_write(value, "/sys/kernel/debug/%s", file);

	/* Without this setting faults would hit fewer calls than the test is meant for. */
	if (err)
		FAIL("%s: errno %d", file, err);
}

/*
 * Exclude the allocations of a function. The reference trackers of the network warn loudly if
 * they get no memory.
 */
static void spare(const char *function)
{
	unsigned long address, start = 0, end = -1UL;
	char line[256], name[128], text[32];
	FILE *file = MUST(fopen("/proc/kallsyms", "r"));
	bool there = false;

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx %*c %127s", &address, name) == 2 &&
		    !strcmp(name, function)) {
			start = address;
			there = true;
		}
	}
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx", &address) == 1 && address > start &&
		    address < end)
			end = address;
	}
	fclose(file);
	if (!there)
		return;
	/* Zero if kallsyms hides addresses: then nothing could be excluded. */
	CHECK(start);
	snprintf(text, sizeof(text), "%#lx", start);
	set("failslab/reject-start", text);
	snprintf(text, sizeof(text), "%#lx", end);
	set("failslab/reject-end", text);
	set("failslab/stacktrace-depth", "32");
}

static void open_own(void)
{
	fd = open("/proc/thread-self/fail-nth", O_RDWR);
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
	spare("ref_tracker_alloc");
}

void fault_prepare(void)
{
	size_t room = 8 << 20;

	open_own();
	if (fd < 0)
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

static bool write_count(unsigned int count)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", count);

	return pwrite(fd, text, length, 0) == length;
}

void fault_inherit(void)
{
	close(fd);
	open_own();
	CHECK(fd >= 0);
}

void fault_arm(unsigned int nth)
{
	CHECK(write_count(nth));
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

bool fault_disarm(void)
{
	bool hit;

	/* Read first: a fault in the calls of this loop does not count. */
	hit = is_spent(fd);
	while (!write_count(0))
		;
	return hit;
}

/* ------------------------------------------------------ everywhere, now and then */

enum { MANY = 1000000000 };

static const char *const kinds[] = { "failslab", "fail_page_alloc" };

static void set_each(const char *name, unsigned long value)
{
	char file[64], text[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		snprintf(file, sizeof(file), "%s/%s", kinds[i], name);
		snprintf(text, sizeof(text), "%#lx", value);
		set(file, text);
	}
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

static void stop_failing(void)
{
	set_each("probability", 0);
	set_each("times", 0);
	set_each("require-start", 0);
	set_each("require-end", -1UL);
}

void fault_often_prepare(const char *module)
{
	unsigned long start, size;

	if (access("/sys/kernel/debug/failslab", F_OK))
		skip("this kernel injects no faults");
	undo_at_end(stop_failing);
	let_allocations_fail();
	find_module(module, &start, &size);
	set_each("require-start", start);
	set_each("require-end", start + size);
	set_each("stacktrace-depth", 32);
	set_each("interval", 1);
}

void fault_often(unsigned int percent)
{
	set_each("times", MANY);
	set_each("probability", percent);
}

uint64_t fault_often_end(void)
{
	uint64_t hits = 0;
	size_t i;

	set_each("probability", 0);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		long long left =
			file_number("", "/sys/kernel/debug/%s/times", kinds[i]);

		CHECK(left >= 0);
		hits += MANY - left;
	}
	stop_failing();
	return hits;
}
