// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads how much memory is pinned or allocated.
 */
#include <stdio.h>
#include <string.h>

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

long long allocated_by(const char *function)
{
	FILE *file = fopen("/proc/allocinfo", "r");
	char line[512], name[128];
	long long count, sum = 0;
	bool known = false;

	while (file && fgets(line, sizeof(line), file)) {
		char *at = strstr(line, " func:");

		if (at && sscanf(at, " func:%127s", name) == 1 &&
		    !strcmp(name, function) &&
		    sscanf(line, "%*d %lld", &count) == 1) {
			sum += count;
			known = true;
		}
	}
	if (!file)
		return 0;
	fclose(file);
	if (!known)
		FAIL("nothing is allocated in %s() any more", function);
	return sum;
}

long vm_pin(int pid)
{
	return pid ? file_number("VmPin:", "/proc/%d/status", pid) :
		     file_number("VmPin:", "/proc/self/status");
}
