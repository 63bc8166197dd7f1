// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * replay: memory that replaces the recorded processes' memory. Ranges that overlapped overlap here,
 * too, and offsets in pages and in huge pages are the same.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ctl.h"
#include "replay.h"

#define PAGE 4096ULL
#define LARGE (2ULL << 20)

struct range {
	uint64_t pid;
	uint64_t start, end;
	char *base;
};

static struct range *ranges;
static size_t ranges_num, ranges_room;

/* Memory behind rkeys of recorded requests; @pid is the rkey. */
static struct range *strangers;
static size_t strangers_num, strangers_room;

static struct range *range_add(struct range **all, size_t *num, size_t *room)
{
	if (*num == *room) {
		*room = *room ? 2 * *room : 256;
		*all = need(reallocarray(*all, *room, sizeof(**all)));
	}
	return &(*all)[(*num)++];
}

static void range_note(uint64_t pid, uint64_t addr, uint64_t length)
{
	uint64_t end = addr + length;

	/* Skip the whole address space (implicit regions), and ranges that wrap. */
	if (!length || end < addr || end > UINT64_MAX - PAGE)
		return;
	*range_add(&ranges, &ranges_num, &ranges_room) = (struct range){
		.pid = pid,
		.start = addr & ~(PAGE - 1),
		.end = (end + PAGE - 1) & ~(PAGE - 1),
	};
}

static void stranger_note(uint32_t rkey, uint64_t addr, uint64_t length)
{
	struct range *range;
	size_t i;

	if (addr + length < addr)
		return;
	for (i = 0; i < strangers_num; i++) {
		range = &strangers[i];
		if (range->pid != rkey)
			continue;
		if (addr < range->start)
			range->start = addr;
		if (addr + length > range->end)
			range->end = addr + length;
		return;
	}
	*range_add(&strangers, &strangers_num, &strangers_room) =
		(struct range){ .pid = rkey,
				.start = addr,
				.end = addr + length };
}

void memory_note(const struct call *call)
{
	const struct field *kind = row_find(&call->row, "kind");
	struct segment segments[MAX_SGES];
	int num, i;

	/* If the recorded call failed with EFAULT there was no memory. */
	if (call_value(call, "errno") != EFAULT &&
	    (!strcmp(call->name, "rereg_mr") ||
	     (kind && !strcmp(kind->text, "memory"))))
		range_note(call->pid, call_value(call, "addr"),
			   call_value(call, "length"));
	if (row_find(&call->row, "remote"))
		stranger_note(call_value(call, "rkey"),
			      call_value(call, "remote"), call_length(call));
	num = call_segments(call, segments);
	for (i = 0; i < num; i++)
		range_note(call->pid, segments[i].addr, segments[i].length);
}

static int range_compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

void *memory_more(uint64_t length, uint64_t congruent)
{
	uint64_t offset = congruent % LARGE;
	char *map;

	if (length > SIZE_MAX - 2 * LARGE)
		return NULL;
	map = mmap(NULL, length + 2 * LARGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	map += LARGE - (uintptr_t)map % LARGE;
	return map + offset;
}

void memory_make(void)
{
	size_t from, to = 0;

	qsort(ranges, ranges_num, sizeof(*ranges), range_compare);
	for (from = 0; from < ranges_num; from++) {
		struct range *range = &ranges[from];
		struct range *last = to ? &ranges[to - 1] : NULL;

		if (!last || last->pid != range->pid ||
		    last->end < range->start)
			ranges[to++] = *range;
		else if (last->end < range->end)
			last->end = range->end;
	}
	ranges_num = to;
	for (to = 0; to < ranges_num; to++) {
		struct range *range = &ranges[to];

		range->base =
			memory_more(range->end - range->start, range->start);
		if (!range->base)
			die("no memory for %llu bytes of the recording: %m",
			    (unsigned long long)(range->end - range->start));
	}
}

static int range_has(const void *key, const void *element)
{
	const struct range *at = key, *range = element;

	if (at->pid != range->pid)
		return at->pid < range->pid ? -1 : 1;
	if (at->start < range->start)
		return -1;
	return at->start >= range->end;
}

void *memory_at(uint64_t pid, uint64_t addr)
{
	struct range at = { .pid = pid, .start = addr };
	struct range *range =
		bsearch(&at, ranges, ranges_num, sizeof(*ranges), range_has);

	return range ? range->base + (addr - range->start) :
		       (void *)(uintptr_t)addr;
}

bool memory_of_stranger(uint32_t rkey, uint64_t *addr, uint64_t *length)
{
	size_t i;

	for (i = 0; i < strangers_num; i++) {
		if (strangers[i].pid != rkey)
			continue;
		*addr = strangers[i].start;
		*length = strangers[i].end - strangers[i].start;
		return true;
	}
	return false;
}
