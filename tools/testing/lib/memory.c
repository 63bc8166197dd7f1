// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Maps memory of each kind.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "memory.h"
#include "merge.h"
#include "swap.h"

#define HUGE_PAGE ((size_t)2 << 20)

static void *checked(void *map)
{
	if (map == MAP_FAILED)
		FAIL("mmap: errno %d", errno);
	return map;
}

static void *map_anonymous(size_t length)
{
	return checked(mmap(NULL, length, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void *map_thp(size_t length)
{
	uintptr_t at;
	char *map;

	if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK))
		skip("no transparent huge pages in this kernel");
	map = map_anonymous(length + HUGE_PAGE);
	at = ((uintptr_t)map + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	if (madvise((void *)at, length, MADV_HUGEPAGE))
		skip("no transparent huge pages: errno %d", errno);
	return (void *)at;
}

static void *map_hugetlb(size_t length)
{
	void *map;

	map = mmap(NULL, length, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (map == MAP_FAILED)
		skip("no huge pages to be had");
	return map;
}

static int memory_file_of(size_t length)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, length), 0);
	return fd;
}

/* The mapping keeps the file open. */
static void *map_and_close(int fd, size_t length, int flags)
{
	void *map = checked(
		mmap(NULL, length, PROT_READ | PROT_WRITE, flags, fd, 0));

	close(fd);
	return map;
}

static void *map_shared(size_t length)
{
	return map_and_close(memory_file_of(length), length, MAP_SHARED);
}

static int temporary_file(size_t length)
{
	const char *const folders[] = { getenv("TEST_FILES") ?: ".", "/var/tmp",
					"/tmp", "." };
	struct statfs fs;
	char path[256];
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s/pinion-test-XXXXXX",
			 folders[i]);
		fd = mkstemp(path);
		if (fd < 0)
			continue;
		unlink(path);
		if (!fstatfs(fd, &fs) && fs.f_type != TMPFS_MAGIC &&
		    fs.f_type != 0x794c7630 /* overlayfs */ &&
		    !ftruncate(fd, length))
			return fd;
		close(fd);
	}
	skip("no file system here that writes pages back");
}

static void *map_file(size_t length)
{
	return map_and_close(temporary_file(length), length, MAP_SHARED);
}

static void *map_file_private(size_t length)
{
	return map_and_close(memory_file_of(length), length, MAP_PRIVATE);
}

/* Bytes in transparent huge pages of the mapping that begins at @at. */
static size_t huge_at(const void *at)
{
	FILE *file = MUST(fopen("/proc/self/smaps", "r"));
	bool inside = false;
	unsigned long begin, end;
	size_t kib = 0;
	char line[512];

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			inside = begin == (uintptr_t)at;
		else if (inside &&
			 sscanf(line, "AnonHugePages: %zu", &kib) == 1)
			break;
	}
	fclose(file);
	return kib << 10;
}

/* Drop what it was filled with, and read. */
static void become_zero(struct buf *buf)
{
	volatile const uint8_t *byte = buf->map;
	size_t at;

	CHECK_EQ(madvise(buf->map, buf->map_length, MADV_DONTNEED), 0);
	memset(buf->model, 0, buf->map_length);
	for (at = 0; at < buf->map_length; at += PAGE)
		CHECK_EQ(byte[at], 0);
}

static void become_swapped(struct buf *buf)
{
	long least = buf->map_length >> 10;

	if (swap_page_out(buf) < least)
		FAIL("less than %ld KiB are in swap", least);
}

/* From the last page of the buffer on. */
static void become_part(struct buf *buf)
{
	uintptr_t end = (uintptr_t)buf->data + buf->length;
	uintptr_t rest = (end + 2 * PAGE) & ~(PAGE - 1);
	size_t length = buf->map_length - (rest - (uintptr_t)buf->map);

	if (huge_at(buf->map) < buf->map_length)
		skip("no huge pages were to be had");
	CHECK_EQ(munmap((void *)rest, length), 0);
	buf->map_length -= length;
}

const struct memory_kind memory_anonymous = { PAGE, map_anonymous, NULL };
const struct memory_kind memory_thp = { HUGE_PAGE, map_thp, NULL };
const struct memory_kind memory_hugetlb = { HUGE_PAGE, map_hugetlb, NULL };
const struct memory_kind memory_shared = { PAGE, map_shared, NULL };
const struct memory_kind memory_file = { PAGE, map_file, NULL };
const struct memory_kind memory_file_private = { PAGE, map_file_private, NULL };
const struct memory_kind memory_zero = { PAGE, map_anonymous, become_zero };
const struct memory_kind memory_swapped = { PAGE, map_anonymous,
					    become_swapped };
const struct memory_kind memory_merged = { PAGE, map_anonymous,
					   merge_with_copy };
const struct memory_kind memory_thp_part = { HUGE_PAGE, map_thp, become_part };

void memory_settle(const struct memory_kind *kind, struct buf *buf)
{
	if (kind->after)
		kind->after(buf);
}

struct buf *memory_new(const struct memory_kind *kind, size_t length,
		       size_t offset)
{
	size_t map_length = offset + length + 2 * kind->page;

	map_length = (map_length + kind->page - 1) & ~(kind->page - 1);
	return buf_of(kind->map(map_length), map_length, kind->page + offset,
		      length);
}

bool memory_is(const struct memory_kind *kind, const struct buf *buf)
{
	return kind != &memory_thp || huge_at(buf->map) >= buf->map_length;
}

void memory_free(const struct memory_kind *kind, struct buf *buf)
{
	(void)kind;
	buf_free(buf);
}

/* Fill a mapping of @length with the @piece bytes at @offset of the file, repeatedly. @flags: of each mmap(). */
static void *map_again(int fd, size_t offset, size_t piece, size_t length,
		       int flags)
{
	size_t at;
	char *map;

	CHECK(!(length % piece));
	map = checked(mmap(NULL, length, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
	for (at = 0; at < length; at += piece)
		checked(mmap(map + at, piece, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_FIXED | flags, fd, offset));
	return map;
}

void *memory_again(size_t length)
{
	int fd = memory_file_of(MEMORY_PIECE);
	void *map = map_again(fd, 0, MEMORY_PIECE, length, 0);

	close(fd);
	return map;
}

/* Populated by mmap(): in user-mode Linux faults one by one take ten times as long. */
void *memory_of_one_page(size_t length)
{
	int fd = memory_file_of(PAGE);
	void *map = map_again(fd, 0, PAGE, length, MAP_POPULATE);

	close(fd);
	return map;
}

uint64_t memory_page_number(int pagemap, const void *byte)
{
	uint64_t entry;

	CHECK_EQ(pread(pagemap, &entry, sizeof(entry),
		       (uintptr_t)byte / PAGE * sizeof(entry)),
		 sizeof(entry));
	/* The page is present, and pagemap does not hide its number. */
	CHECK(entry >> 63);
	CHECK(entry & ((1ULL << 55) - 1));
	return entry & ((1ULL << 55) - 1);
}

/* The index of the first of @want physically contiguous pages of @map, or -1. */
static ssize_t find_run(const char *map, size_t pages, size_t want)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t last = 0, now;
	size_t i, run = 0;

	CHECK(pagemap >= 0);
	for (i = 0; i < pages && run < want; i++, last = now) {
		now = memory_page_number(pagemap, map + i * PAGE);
		run = run && now == last + 1 ? run + 1 : 1;
	}
	close(pagemap);
	return run == want ? (ssize_t)(i - want) : -1;
}

void *memory_again_side_by_side(size_t length)
{
	/* Fresh memory is largely contiguous, so in MOST bytes there should be such a PIECE. */
	enum { PIECE = 1 << 20, MOST = 512 << 20 };
	int fd = memory_file_of(MOST);
	size_t end = 0;
	ssize_t page;
	char *map;

	do {
		if (end == MOST)
			FAIL("nowhere are %d MiB side by side", PIECE >> 20);
		map = checked(mmap(NULL, MEMORY_PIECE, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_POPULATE, fd, end));
		memset(map, 0, MEMORY_PIECE);
		page = find_run(map, MEMORY_PIECE / PAGE, PIECE / PAGE);
		CHECK_EQ(munmap(map, MEMORY_PIECE), 0);
		end += MEMORY_PIECE;
	} while (page < 0);
	map = map_again(fd, end - MEMORY_PIECE + page * PAGE, PIECE, length, 0);
	close(fd);
	return map;
}

void memory_room(bool room)
{
	struct rlimit limit = {
		.rlim_cur = room ? RLIM_INFINITY : PAGE,
		.rlim_max = RLIM_INFINITY,
	};

	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}
