// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads how much memory is pinned or allocated.
 */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "harness.h"
#include "pins.h"

long long pinned_pages(void)
{
	long long count, pages = 0;
	char line[256];
	FILE *file;

	/* Fold the per-CPU counters into the global one. */
	file_write("1", "/proc/sys/vm/stat_refresh");
	file = MUST(fopen("/proc/vmstat", "r"));
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "nr_foll_pin_acquired %lld", &count) == 1)
			pages += count;
		if (sscanf(line, "nr_foll_pin_released %lld", &count) == 1)
			pages -= count;
	}
	fclose(file);
	return pages;
}

/*
 * A line is: bytes, objects, FILE:LINE, [MODULE] if it is one's, func:NAME. Returns false if @word of
 * @format is in no line, or the kernel counts nothing; else *@sum is of all objects.
 */
static bool sum_allocated(const char *format, const char *word, long long *sum)
{
	FILE *file = fopen("/proc/allocinfo", "r");
	char line[512], name[128];
	char start[8];
	long long count;
	bool known = false;

	snprintf(start, sizeof(start), "%.*s", (int)strcspn(format, "%"),
		 format);
	*sum = 0;
	while (file && fgets(line, sizeof(line), file)) {
		char *at = strstr(line, start);

		if (at && sscanf(at, format, name) == 1 &&
		    !strcmp(name, word) &&
		    sscanf(line, "%*d %lld", &count) == 1) {
			*sum += count;
			known = true;
		}
	}
	if (file)
		fclose(file);
	return known;
}

long long allocated_by(const char *function)
{
	long long sum;

	if (access("/proc/allocinfo", R_OK))
		return 0;
	if (!sum_allocated(" func:%127s", function, &sum))
		FAIL("nothing is allocated in %s() any more", function);
	return sum;
}

long long allocated_in(const char *module)
{
	long long sum;

	if (access("/proc/allocinfo", R_OK))
		return -1;
	if (!sum_allocated(" [%127[^]]", module, &sum))
		FAIL("nothing is allocated in %s", module);
	return sum;
}

void free_collected(void)
{
	glob_t caches;
	size_t i;

	if (glob("/sys/kernel/slab/kmalloc-*/shrink", 0, NULL, &caches))
		return;
	for (i = 0; i < caches.gl_pathc; i++)
		file_write("1", "%s", caches.gl_pathv[i]);
	globfree(&caches);
}

long vm_pin(int pid)
{
	return pid ? file_number("VmPin:", "/proc/%d/status", pid) :
		     file_number("VmPin:", "/proc/self/status");
}
