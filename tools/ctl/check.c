// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mr check: compares the entries of a region's table with the page tables of the process, for
 * pinned memory and memory on demand. Other memory has no process to compare with.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "facts.h"
#include "object.h"
#include "table.h"

#define PAGEMAP_PRESENT (1ULL << 63)
#define PAGEMAP_PFN ((1ULL << 55) - 1)

/* Memory that changes meanwhile: only what differs in each of so many tries counts. */
#define TRIES 5
/* Differences that are printed. */
#define MOST_TOLD 16

/* The page tables of a process, a piece of them at a time. */
struct pagemap {
	int fd;
	uint64_t first; /* page */
	uint64_t num;
	uint64_t entry[8192];
};

struct check {
	const struct selection *selection;
	struct pagemap pages;
	unsigned long regions, wrong;
};

/* The result for one region. */
struct outcome {
	uint64_t pages, differ;
	uint64_t told;
	const char *result;
};

static uint64_t page_size(void)
{
	static uint64_t size;

	if (!size)
		size = sysconf(_SC_PAGESIZE);
	return size;
}

static void pagemap_read(struct pagemap *pages, uint64_t page, uint64_t want)
{
	const uint64_t room = sizeof(pages->entry) / sizeof(*pages->entry);
	ssize_t length;

	pages->first = page;
	pages->num = 0;
	length = pread(pages->fd, pages->entry,
		       (want < room ? want : room) * sizeof(*pages->entry),
		       page * sizeof(*pages->entry));
	if (length > 0)
		pages->num = length / sizeof(*pages->entry);
}

/* The entry of @page, or 0. @want: how many from there on will be read. */
static uint64_t pagemap_at(struct pagemap *pages, uint64_t page, uint64_t want)
{
	if (page < pages->first || page >= pages->first + pages->num)
		pagemap_read(pages, page, want);
	if (page >= pages->first + pages->num)
		return 0;
	return pages->entry[page - pages->first];
}

static void pagemap_forget(struct pagemap *pages)
{
	pages->num = 0;
}

/* Without the capability the kernel reports frame 0 for all pages. */
static void pagemap_needs_rights(uint64_t entry)
{
	if (entry & PAGEMAP_PRESENT && !(entry & PAGEMAP_PFN))
		die("mr check needs CAP_SYS_ADMIN to read page tables");
}

static void tell(struct outcome *outcome, uint64_t virtual, uint64_t entry,
		 uint64_t page)
{
	if (outcome->told++ >= MOST_TOLD)
		return;
	fprintf(stderr, "    %#" PRIx64 ": the table has %#" PRIx64, virtual,
		entry);
	if (page & PAGEMAP_PRESENT)
		fprintf(stderr, ", the process %#" PRIx64 "\n",
			(uint64_t)(page & PAGEMAP_PFN) * page_size());
	else
		fprintf(stderr, ", the process nothing\n");
}

/* @say: print the differences; else only count them. */
static void compare_run(struct pagemap *pages, uint64_t virtual,
			const struct run *run, struct outcome *outcome,
			bool say)
{
	uint64_t size = page_size(), end = virtual + run->length;
	uint64_t at, next, entry, page, last = (end - 1) / size;

	for (at = virtual; at < end; at = next) {
		next = (at / size + 1) * size;
		page = pagemap_at(pages, at / size, last - at / size + 1);
		pagemap_needs_rights(page);
		entry = run->address + (at - virtual);
		outcome->pages++;
		if (page & PAGEMAP_PRESENT &&
		    (page & PAGEMAP_PFN) == entry / size &&
		    at % size == entry % size)
			continue;
		outcome->differ++;
		if (say)
			tell(outcome, at, entry, page);
	}
}

static void compare(struct check *check, const char *device, uint32_t key,
		    uint64_t address, struct outcome *outcome, bool say)
{
	struct table table;
	struct run run;

	memset(outcome, 0, sizeof(*outcome));
	outcome->result = "gone";
	if (!table_open(&table, device, key))
		return;
	pagemap_forget(&check->pages);
	while (table_next(&table, &run))
		compare_run(&check->pages, address + run.offset, &run, outcome,
			    say);
	if (!table_close(&table))
		outcome->result = "changed";
	else
		outcome->result = outcome->differ ? "differs" : "same";
}

/* Try again if something differs: pages may change between the two readings. */
static void compare_often(struct check *check, const char *device, uint32_t key,
			  uint64_t address, struct outcome *outcome)
{
	int try;

	for (try = 1; try <= TRIES; try++) {
		compare(check, device, key, address, outcome, try == TRIES);
		if (!strcmp(outcome->result, "same") ||
		    !strcmp(outcome->result, "gone"))
			return;
		usleep(20000);
	}
}

static void check_region(struct check *check, const struct device *device,
			 const struct row *row, struct outcome *outcome)
{
	const struct field *pid = row_find(row, "pid");
	uint64_t address = row_value(row, "address");
	char *path;

	memset(outcome, 0, sizeof(*outcome));
	if (!row_has(row, "kind", "pinned") &&
	    !row_has(row, "kind", "on-demand")) {
		outcome->result = "skipped";
		return;
	}
	outcome->result = "no process";
	if (!pid)
		return;
	path = print("/proc/%s/pagemap", pid->text);
	check->pages.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (check->pages.fd < 0 && errno != ENOENT && errno != ESRCH)
		die("%s: %m", path);
	free(path);
	if (check->pages.fd < 0)
		return;
	compare_often(check, device->name, row_value(row, "lkey"), address,
		      outcome);
	close(check->pages.fd);
}

static void check_one(const struct device *device, struct row *row, void *arg)
{
	struct check *check = arg;
	struct outcome outcome;

	/* The core keeps keys from who may not read the facts either, and root may lack the right. */
	if (!row_find(row, "lkey"))
		die("mr check needs CAP_NET_ADMIN to find the memory of regions");
	if (!facts_of(device, row_value(row, "mrn"), row) ||
	    !selection_has(check->selection, row))
		return;
	check_region(check, device, row, &outcome);
	row_number(row, "pages", outcome.pages);
	row_number(row, "differ", outcome.differ);
	row_text(row, "result", outcome.result);
	out_row(row);
	check->regions++;
	if (!strcmp(outcome.result, "differs"))
		check->wrong++;
}

int mr_check(char **words)
{
	static const struct column columns[] = {
		{ "dev", -8 },	 { "mrn", 5 },	    { "lkey", 10 },
		{ "kind", -9 },	 { "pid", 6 },	    { "pages", 10 },
		{ "differ", 8 }, { "result", -10 }, {},
	};
	struct selection selection = selection_of(words);
	struct check *check = need(calloc(1, sizeof(*check)));
	unsigned long regions, wrong;

	if (geteuid())
		die("mr check reads page tables: it must run as root");
	check->selection = &selection;
	out_begin(LAYOUT_TABLE, columns);
	objects_each(object_named("mr"), &selection, check_one, check);
	out_end();
	regions = check->regions;
	wrong = check->wrong;
	free(check);
	if (!regions && *selection.pairs)
		return EXIT_FOUND;
	return wrong ? EXIT_FOUND : EXIT_GOOD;
}
