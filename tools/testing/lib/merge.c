// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Has ksmd merge equal pages.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file.h"
#include "link.h"
#include "merge.h"
#include "undo.h"

static const char merging[] = "/proc/self/ksm_merging_pages";

void merge_await(long least)
{
	double end = now() + patience(PATIENCE);
	long merged;

	while ((merged = file_number("", merging)) < least) {
		if (now() > end)
			FAIL("%ld pages are merged, not %ld", merged, least);
		usleep(10000);
	}
}

static int pid_of(const char *name)
{
	char path[64], comm[64];
	struct dirent *entry;
	DIR *proc = MUST(opendir("/proc"));
	FILE *file;
	int pid = 0;

	while (!pid && (entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%.32s/comm", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fscanf(file, "%63s", comm) == 1 && !strcmp(comm, name))
			pid = atoi(entry->d_name);
		fclose(file);
	}
	closedir(proc);
	return pid;
}

/*
 * User-mode Linux does not flush the TLB of another processor before the process there enters
 * the kernel. Until then that process uses the old page, which may have a new owner. So ksmd and
 * the test share a processor.
 */
static void share_a_processor_with(const char *name)
{
	cpu_set_t first;

	if (!in_user_mode_linux())
		return;
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	CHECK_EQ(sched_setaffinity(0, sizeof(first), &first), 0);
	CHECK_EQ(sched_setaffinity(pid_of(name), sizeof(first), &first), 0);
}

static const char run[] = "/sys/kernel/mm/ksm/run";

/* How ksmd works here; what it was before is restored at the end. */
static struct setting {
	const char *path, *value;
	long before;
} settings[] = {
	{ "/sys/kernel/mm/ksm/pages_to_scan", "10000", 0 },
	{ "/sys/kernel/mm/ksm/sleep_millisecs", "5", 0 },
};

static void restore(void)
{
	char value[24];
	size_t i;

	file_write("2", run);
	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		snprintf(value, sizeof(value), "%ld", settings[i].before);
		file_write(value, settings[i].path);
	}
}

static void set(const char *path, const char *value)
{
	int err = file_write(value, path);

	if (err)
		skip("%s: errno %d", path, err);
}

void merge_begin(void)
{
	size_t i;

	if (file_number("", merging) < 0)
		skip("no merging of pages in this kernel");
	for (i = 0; i < ARRAY_SIZE(settings); i++)
		settings[i].before = file_number("", settings[i].path);
	/* ksmd would go on in later tests. */
	undo_at_end(restore);
	share_a_processor_with("ksmd");
	for (i = 0; i < ARRAY_SIZE(settings); i++)
		set(settings[i].path, settings[i].value);
	set(run, "1");
}

void merge_allow(void *at, size_t length)
{
	if (madvise(at, length, MADV_MERGEABLE))
		skip("no merging of pages: errno %d", errno);
}

void merge_with_copy(struct buf *buf)
{
	void *copy = mmap(NULL, buf->map_length, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(copy != MAP_FAILED);
	memcpy(copy, buf->map, buf->map_length);
	/* What was merged before no longer counts. */
	set(run, "2");
	set(run, "1");
	merge_allow(copy, buf->map_length);
	merge_allow(buf->map, buf->map_length);
	merge_await(2 * buf->map_length / PAGE);
	/* What is copied from now on stays so. */
	set(run, "0");
	CHECK_EQ(munmap(copy, buf->map_length), 0);
}
