// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of the model: frames, and which of them the process has mapped where. Changes both the
 * process's memory and the model of it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model.h"

struct space spaces[SPACES];
int spaces_count;

/*
 * Far from where the kernel puts mappings, whether it begins at the top or at the bottom: nothing
 * else gets mapped in a hole. Each space has a multiple of 2 MiB in the middle, where an implicit
 * region's child ends.
 */
#define SPACES_BASE 0x200000000000UL
#define SPACES_APART (2UL << 20)
#define ALL_PROT (PROT_READ | PROT_WRITE)

static struct frame *frame_new(void)
{
	return MUST(calloc(1, sizeof(struct frame)));
}

/* -------------------------------------------------------------- the spaces */

static void page_set(struct space *space, size_t i, struct frame *frame)
{
	space->page[i].frame = frame;
	space->page[i].prot = frame ? ALL_PROT : PROT_NONE;
}

/* Private memory is new; a file shows what it has there. */
static void map_again(struct space *space, size_t first, size_t count)
{
	bool shared = space->kind == SPACE_SHARED;
	size_t i;
	void *map;

	map = mmap(space->map + first * PAGE, count * PAGE, ALL_PROT,
		   MAP_FIXED |
			   (shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS),
		   space->fd, shared ? first * PAGE : 0);
	CHECK(map == space->map + first * PAGE);
	for (i = first; i < first + count; i++)
		page_set(space, i, shared ? space->file[i] : frame_new());
}

static void fill(struct space *space)
{
	size_t i;

	for (i = 0; i < PAGES; i++) {
		rnd_fill(space->page[i].frame->bytes, PAGE);
		if (space->map)
			memcpy(space->map + i * PAGE,
			       space->page[i].frame->bytes, PAGE);
		else
			CHECK_EQ(ibv_memcpy_to_dm(space->dm, i * PAGE,
						  space->page[i].frame->bytes,
						  PAGE),
				 0);
	}
}

static struct space *space_new(enum space_kind kind)
{
	struct space *space = &spaces[spaces_count++];
	size_t i;

	*space = (struct space){ .kind = kind, .fd = -1 };
	for (i = 0; i < PAGES; i++) {
		space->file[i] = frame_new();
		page_set(space, i, space->file[i]);
	}
	return space;
}

static void space_of_process(enum space_kind kind)
{
	struct space *space = space_new(kind);

	space->map = (uint8_t *)(SPACES_BASE + SPACES_APART * spaces_count -
				 PAGES / 2 * PAGE);
	if (kind == SPACE_SHARED) {
		space->fd = memfd_create("model", MFD_CLOEXEC);
		CHECK(space->fd >= 0);
		CHECK_EQ(ftruncate(space->fd, PAGES * PAGE), 0);
	}
	map_again(space, 0, PAGES);
	fill(space);
}

static void space_of_dmabuf(void)
{
	static struct dmabuf_kind *const kinds[] = { &dmabuf_kinds[4],
						     &dmabuf_kinds[5],
						     &dmabuf_kinds[0] };
	size_t which = rnd_below(2);
	struct space *space;

	if (!dmabuf_there(kinds[which]))
		which = 2;
	if (!dmabuf_there(kinds[which]))
		return;
	space = space_new(SPACE_DMABUF);
	space->dmabuf = dmabuf_new(kinds[which], PAGES * PAGE);
	space->map = space->dmabuf.all->map;
	space->moves = which < 2;
	fill(space);
}

static void space_of_device(void)
{
	struct ibv_alloc_dm_attr attr = { .length = PAGES * PAGE };
	struct space *space;

	if (!dev.attr.max_dm_size)
		return;
	space = space_new(SPACE_DEVICE);
	space->dm = MUST(ibv_alloc_dm(dev.ctx, &attr));
	fill(space);
}

void memory_set_up(bool special)
{
	spaces_count = 0;
	space_of_process(SPACE_PRIVATE);
	space_of_process(SPACE_PRIVATE);
	space_of_process(SPACE_PRIVATE);
	space_of_process(SPACE_SHARED);
	if (!special || !dev.pinion)
		return;
	space_of_dmabuf();
	space_of_device();
}

struct space *memory_space_at(uint64_t addr)
{
	struct space *space;

	for (space = spaces; space < spaces + spaces_count; space++) {
		if (space->kind <= SPACE_SHARED &&
		    addr - (uintptr_t)space->map < PAGES * PAGE)
			return space;
	}
	return NULL;
}

bool memory_allows(const struct space *space, uint64_t at, uint64_t length,
		   bool write)
{
	int prot = write ? ALL_PROT : PROT_READ;
	uint64_t i;

	for (i = at / PAGE; i <= (at + length - 1) / PAGE; i++)
		if (!space->page[i].frame ||
		    (space->page[i].prot & prot) != prot)
			return false;
	return true;
}

/* --------------------------------------------------------------- the check */

static void check_page(const struct space *space, size_t page,
		       const uint8_t *got)
{
	const uint8_t *want = space->page[page].frame->bytes;
	size_t i, first = PAGE, last = 0, wrong = 0;

	if (!memcmp(got, want, PAGE))
		return;
	for (i = 0; i < PAGE; i++) {
		if (got[i] == want[i])
			continue;
		if (!wrong++)
			first = i;
		last = i;
	}
	FAIL("%zu bytes differ, from %zu to %zu of page %zu of space %d", wrong,
	     first, last, page, (int)(space - spaces));
}

static void check_space(const struct space *space)
{
	uint8_t copy[PAGE];
	size_t i;

	for (i = 0; i < PAGES; i++) {
		if (space->kind == SPACE_DEVICE) {
			CHECK_EQ(ibv_memcpy_from_dm(copy, space->dm, i * PAGE,
						    PAGE),
				 0);
			check_page(space, i, copy);
		} else if (space->page[i].frame &&
			   space->page[i].prot & PROT_READ) {
			check_page(space, i, space->map + i * PAGE);
		}
	}
}

void memory_check(void)
{
	int i;

	for (i = 0; i < spaces_count; i++)
		check_space(&spaces[i]);
}

void memory_check_exporter(void)
{
	struct exporter_stat stat;
	int i;

	for (i = 0; i < spaces_count; i++) {
		if (!spaces[i].moves)
			continue;
		stat = dmabuf_stat(&spaces[i].dmabuf);
		CHECK_EQ(stat.late, 0);
		CHECK_EQ(stat.touched, 0);
	}
}

/* ------------------------------------------------------------- the changes */

/* Pages of a space of the process, but not the first and the last one. */
struct range {
	struct space *space;
	size_t first, count;
};

static struct range some_range(const uint32_t *n)
{
	struct range range = { &spaces[n[0] % 4], 1 + n[1] % (PAGES - 2), 0 };

	range.count = 1 + n[2] % 3;
	if (range.count > PAGES - 1 - range.first)
		range.count = PAGES - 1 - range.first;
	return range;
}

static void tell_range(const char *what, const struct range *range)
{
	tell("space %d: %zu pages from page %zu are %s",
	     (int)(range->space - spaces), range->count, range->first, what);
}

/* The next run of pages of @range from *@at on that are mapped. Returns its length. */
static size_t next_mapped(const struct range *range, size_t *at)
{
	size_t end = range->first + range->count, last;

	while (*at < end && !range->space->page[*at].frame)
		++*at;
	for (last = *at; last < end && range->space->page[last].frame;)
		last++;
	return last - *at;
}

void call_poke(const uint32_t *n)
{
	struct space *space = &spaces[n[0] % spaces_count];
	uint64_t at = PAGE + n[1] % LEN, length = 1 + n[2] % MOST, i;
	uint64_t state = n[3];

	if (!space->map)
		return;
	if (length > PAGE + LEN - at)
		length = PAGE + LEN - at;
	if (!memory_allows(space, at, length, true))
		return;
	tell("space %d: the process writes %lu bytes at %lu",
	     (int)(space - spaces), length, at);
	for (i = at; i < at + length; i++) {
		space->map[i] = rnd_next(&state);
		space->page[i / PAGE].frame->bytes[i % PAGE] = space->map[i];
	}
	counts->done[POKE]++;
}

void call_drop(const uint32_t *n)
{
	struct range range = some_range(n);
	size_t at = range.first, count, i;

	tell_range("dropped", &range);
	while ((count = next_mapped(&range, &at))) {
		CHECK_EQ(madvise(range.space->map + at * PAGE, count * PAGE,
				 MADV_DONTNEED),
			 0);
		/* A file has its pages still. */
		for (i = at; i < at + count; i++)
			if (range.space->kind == SPACE_PRIVATE)
				range.space->page[i].frame = frame_new();
		at += count;
	}
	counts->done[DROP]++;
}

void call_unmap(const uint32_t *n)
{
	struct range range = some_range(n);
	size_t i;

	tell_range("unmapped", &range);
	CHECK_EQ(munmap(range.space->map + range.first * PAGE,
			range.count * PAGE),
		 0);
	for (i = range.first; i < range.first + range.count; i++)
		page_set(range.space, i, NULL);
	counts->done[UNMAP]++;
}

void call_map(const uint32_t *n)
{
	struct range range = some_range(n);

	/* More than are unmapped at a time. */
	if (n[3] % 4 == 0) {
		range.first = 1;
		range.count = PAGES - 2;
	}
	tell_range("mapped", &range);
	map_again(range.space, range.first, range.count);
	counts->done[MAP]++;
}

void call_protect(const uint32_t *n)
{
	/* Mostly back to what it was. */
	int prot = n[3] % 8 == 0 ? PROT_NONE :
		   n[3] % 8 < 4	 ? PROT_READ :
				   ALL_PROT;
	struct range range = some_range(n);
	size_t at = range.first, count, i;

	tell_range(prot == PROT_NONE ? "inaccessible" :
		   prot == PROT_READ ? "read-only" :
				       "writable",
		   &range);
	while ((count = next_mapped(&range, &at))) {
		CHECK_EQ(mprotect(range.space->map + at * PAGE, count * PAGE,
				  prot),
			 0);
		for (i = at; i < at + count; i++)
			range.space->page[i].prot = prot;
		at += count;
	}
	counts->done[PROTECT]++;
}

/* One page, which is one mapping, to another place; with DONTUNMAP a new one stays where it was. */
void call_remap(const uint32_t *n)
{
	struct space *from = &spaces[n[0] % 3], *to = &spaces[n[1] % 3];
	size_t i = 1 + n[2] % (PAGES - 2), j = 1 + n[3] % (PAGES - 2);
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
	bool stays = n[4] % 3 == 0;
	void *moved;

	if (!from->page[i].frame || (from == to && i == j))
		return;
	tell("page %zu of space %d is moved to page %zu of space %d%s", i,
	     (int)(from - spaces), j, (int)(to - spaces),
	     stays ? ", with a new one in its place" : "");
	if (stays)
		flags |= MREMAP_DONTUNMAP;
	moved = mremap(from->map + i * PAGE, PAGE, PAGE, flags,
		       to->map + j * PAGE);
	CHECK(moved == to->map + j * PAGE);
	to->page[j] = from->page[i];
	if (stays)
		from->page[i].frame = frame_new();
	else
		page_set(from, i, NULL);
	counts->done[REMAP]++;
}

/* Pages of the file that are pinned are in it no more. */
void call_punch(const uint32_t *n)
{
	struct range range = some_range(n);
	size_t i;

	range.space = &spaces[3];
	tell_range("a hole in the file", &range);
	CHECK_EQ(fallocate(range.space->fd,
			   FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			   range.first * PAGE, range.count * PAGE),
		 0);
	for (i = range.first; i < range.first + range.count; i++) {
		range.space->file[i] = frame_new();
		if (range.space->page[i].frame)
			range.space->page[i].frame = range.space->file[i];
	}
	counts->done[PUNCH]++;
}

static struct space *some_exported(void)
{
	int i;

	for (i = 0; i < spaces_count; i++)
		if (spaces[i].moves)
			return &spaces[i];
	return NULL;
}

void call_move(const uint32_t *n)
{
	struct space *space = some_exported();

	if (!space)
		return;
	tell("space %d: the exporter moves it", (int)(space - spaces));
	/* In a tenth of the cases those who map it have to wait for its bytes. */
	CHECK_EQ(dmabuf_move(&space->dmabuf, n[0] % 10 ? 0 : 1), 0);
	space->moved = true;
	counts->done[MOVE]++;
}

void call_take(const uint32_t *n)
{
	struct space *space = some_exported();

	if (!space || (!space->away && n[0] % 3))
		return;
	tell("space %d: the exporter %s", (int)(space - spaces),
	     space->away ? "maps it again" : "maps it no more");
	space->away = !space->away;
	dmabuf_fail(&space->dmabuf, EXPORTER_MAP, space->away ? ENOMEM : 0);
	/* Only then do those who have it mapped ask again. */
	if (space->away)
		CHECK_EQ(dmabuf_move(&space->dmabuf, 0), 0);
	counts->done[TAKE]++;
}
