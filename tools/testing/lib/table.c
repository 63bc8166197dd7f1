// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads a key's table (/sys/kernel/debug/pinion/DEVICE/map) and /proc/self/pagemap, and compares
 * the two page by page.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "table.h"

/*
 * Memory on demand and dma-bufs may change between the two readings, so a difference counts only
 * if it persists. Pinned memory stays, so another page there is wrong at once; but while the kernel
 * tries to migrate such a page, which fails, it is not in the page table for a moment.
 */
enum { TRIES = 5 };

#define PRESENT (1ULL << 63)
#define FRAME ((1ULL << 55) - 1)

/* The page tables of a buffer's mapping. */
struct pages {
	uint64_t first; /* the number of the first page */
	size_t num, present;
	uint64_t *entry;
	bool *writable; /* the process may write there */
};

static const char *table_path(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/pinion/%s/map",
		 device_name());
	return path;
}

bool table_is_readable(void)
{
	return dev.pinion && !geteuid() && !access(table_path(), R_OK | W_OK);
}

/* Which pages are in mappings that the process may write to. */
static void pages_read_rights(struct pages *pages)
{
	FILE *file = MUST(fopen("/proc/self/maps", "re"));
	uint64_t first = pages->first * PAGE, end = first + pages->num * PAGE;
	uint64_t from, to, at;
	char line[512], write;

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%c", &from, &to,
			   &write) != 3)
			continue;
		for (at = from > first ? from : first; at < to && at < end;
		     at += PAGE)
			pages->writable[at / PAGE - pages->first] = write ==
								    'w';
	}
	fclose(file);
}

static struct pages pages_read(const struct buf *buf)
{
	uintptr_t from = (uintptr_t)buf->data, to = from + buf->length;
	volatile const uint8_t *byte = buf->data;
	size_t i;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	struct pages pages;
	size_t size;

	CHECK(fd >= 0);
	pages.first = from / PAGE;
	pages.num = (to - 1) / PAGE + 1 - pages.first;
	size = pages.num * sizeof(*pages.entry);
	pages.entry = MUST(malloc(size));
	pages.writable = MUST(calloc(pages.num, sizeof(*pages.writable)));
	for (i = 0; i < buf->length; i += PAGE)
		(void)byte[i];
	(void)byte[buf->length - 1];
	CHECK_EQ(pread(fd, pages.entry, size,
		       pages.first * sizeof(*pages.entry)),
		 (ssize_t)size);
	close(fd);
	pages.present = 0;
	for (i = 0; i < pages.num; i++)
		pages.present += !!(pages.entry[i] & PRESENT);
	pages_read_rights(&pages);
	return pages;
}

static void pages_free(struct pages *pages)
{
	free(pages->entry);
	free(pages->writable);
}

static bool pages_present(const struct pages *pages, uint64_t virtual)
{
	return pages->entry[virtual / PAGE - pages->first] & PRESENT;
}

static bool pages_have(const struct pages *pages, uint64_t virtual,
		       uint64_t physical)
{
	uint64_t entry = pages->entry[virtual / PAGE - pages->first];

	return entry & PRESENT && (entry & FRAME) == physical / PAGE &&
	       virtual % PAGE == physical % PAGE;
}

/* Compare a contiguous run of the table that begins @at bytes into the buffer. */
static void run_compare(const struct pages *pages, const struct buf *buf,
			uint64_t at, uint64_t length, uint64_t physical,
			bool writable, struct table_facts *facts)
{
	uint64_t virtual = (uintptr_t)buf->data + at, end = virtual + length;
	uint64_t next;

	facts->bytes += length;
	for (; virtual < end; physical += next - virtual, virtual = next) {
		next = (virtual / PAGE + 1) * PAGE;
		facts->pages++;
		facts->writable += writable;
		facts->too_writable +=
			writable &&
			!pages->writable[virtual / PAGE - pages->first];
		if (pages_have(pages, virtual, physical))
			continue;
		facts->absent += !pages_present(pages, virtual);
		if (!facts->differ++)
			facts->first = virtual - (uintptr_t)buf->data;
	}
}

/* Compare a line of the table: offset in the key, length and physical address. */
static void line_compare(const struct pages *pages, const struct region *region,
			 uint64_t base, const char *line,
			 struct table_facts *facts)
{
	uint64_t offset, length, physical, skip, at;
	char right;

	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %c", &offset,
		   &length, &physical, &right) != 4 ||
	    (right != 'r' && right != 'w'))
		FAIL("no line of a table: %s", line);
	/* A region of all memory has entries in front of the buffer and behind it. */
	at = base + offset - region->base;
	skip = (int64_t)at < 0 ? -at : 0;
	at += skip;
	if (skip >= length || at >= region->buf->length)
		return;
	length -= skip;
	if (length > region->buf->length - at)
		length = region->buf->length - at;
	run_compare(pages, region->buf, at, length, physical + skip,
		    right == 'w', facts);
}

static struct table_facts table_compare_once(const struct region *region,
					     uint32_t key)
{
	struct table_facts facts = {};
	uint64_t base, length;
	struct pages pages;
	char line[256];
	FILE *file;

	file = fopen(table_path(), "r+e");
	CHECK(file);
	CHECK(fprintf(file, "%#x\n", key) > 0);
	CHECK_EQ(fflush(file), 0);
	rewind(file);
	if (!fgets(line, sizeof(line), file) ||
	    sscanf(line, "key %*x base %" SCNx64 " length %" SCNx64, &base,
		   &length) != 2)
		FAIL("key %#x has no table", key);
	pages = pages_read(region->buf);
	/* No page is present in pagemap for dma-bufs and device memory (VM_PFNMAP). */
	while (pages.present && fgets(line, sizeof(line), file))
		line_compare(&pages, region, base, line, &facts);
	pages_free(&pages);
	fclose(file);
	return facts;
}

/* Is all that differs only absent for the moment, so that it may be right the next time? */
static bool table_may_settle(const struct table_facts *facts)
{
	return facts->differ && facts->differ == facts->absent;
}

struct table_facts table_compare(const struct region *region, uint32_t key)
{
	struct table_facts facts;
	unsigned int looks;

	for (looks = 1; looks <= TRIES; looks++) {
		facts = table_compare_once(region, key);
		facts.looks = looks;
		if (region->pinned ? !table_may_settle(&facts) :
				     !facts.differ && !facts.too_writable)
			break;
		usleep(10000);
	}
	return facts;
}

void table_check_at(const char *file, int line, const struct region *region,
		    uint32_t key)
{
	struct table_facts facts;

	/* Of the device under test only; not of the one at the other end of a cable. */
	if (region->mr && region->mr->context->device != dev.ctx->device)
		return;
	if (!table_is_readable()) {
		if (debugfs_is_due())
			failed(file, line, "%s cannot be read", table_path());
		return;
	}
	facts = table_compare(region, key);
	if (facts.differ)
		failed(file, line,
		       "key %#x: %zu of %zu pages are not the process's, the first %" PRIu64
		       " bytes into the buffer",
		       key, facts.differ, facts.pages, facts.first);
	if (facts.too_writable)
		failed(file, line,
		       "key %#x: the device may write to %zu of %zu pages to which the process may not",
		       key, facts.too_writable, facts.pages);
	/* Pinned memory is in the table from the beginning; on demand, what was accessed is. */
	if (region->pinned && facts.bytes != region->buf->length)
		failed(file, line,
		       "key %#x: its table has %" PRIu64
		       " of the region's %zu bytes",
		       key, facts.bytes, region->buf->length);
}
