// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages to files on persistent memory, before the machine is stopped (suite powercut). The files
 * are in $DAX_FILES, on a file system mounted with -o dax. What has to be in them after the next
 * boot goes to $MODEL: ranges.txt has a line `WHAT OFFSET LENGTH' for each range of the file
 * `flushed', and model.bin its contents.
 *   there  the range is as in the model
 *   kept   likewise; other bytes were written to it later and not flushed
 *   lost   the range was written and not flushed: it has zeros as before
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "newer.h"

#ifdef HAVE_WR_FLUSH
enum {
	PERSISTENT = IBV_ACCESS_FLUSH_PERSISTENT,
	SLOT = 16 * 4096, /* no two ranges share a page */
	SLOTS = 96,
	FILE_SIZE = SLOTS * SLOT,
	LINE = 64, /* the largest cache line of x86 */
	SHORTEST = 4 * LINE,
};

static struct link link_;
static struct region source, remote;
static uint8_t *model;
static FILE *ranges;

static int open_in(const char *variable, const char *name)
{
	const char *folder = getenv(variable);
	char path[256];
	int fd;

	if (!folder)
		skip("%s is not set: this is a part of the suite powercut",
		     variable);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	return fd;
}

/* A file of holes, whose name and size are persistent. */
static int file_of_holes(const char *name)
{
	int fd = open_in("DAX_FILES", name);

	CHECK_EQ(ftruncate(fd, FILE_SIZE), 0);
	CHECK_EQ(fsync(fd), 0);
	return fd;
}

/* A region of all of a file. */
static struct region region_of_file(int fd, int flags, int access)
{
	uint8_t *map =
		mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, flags, fd, 0);
	struct ibv_mr *mr;

	CHECK(map != MAP_FAILED);
	mr = MUST(ibv_reg_mr(dev.pd, map, FILE_SIZE, access));
	return (struct region){ .mr = mr,
				.base = (uintptr_t)map,
				.rkey = mr->rkey };
}

/* Random bytes go to [@at, @at + @length), by a message. */
static const uint8_t *write_to(const struct region *to, size_t at,
			       size_t length)
{
	size_t from = rnd_below(source.buf->length - length + 1);

	rnd_fill(source.buf->data + from, length);
	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&source, from, length),
		    to->base + at, to->rkey),
	       IBV_WC_SUCCESS);
	return source.buf->data + from;
}

static void flush_to_persistence(size_t at, size_t length)
{
	expect(flush(&link_.a, remote.rkey, remote.base + at, length,
		     IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE),
	       IBV_WC_SUCCESS);
}

static void range_is(const char *what, size_t at, size_t length)
{
	CHECK(fprintf(ranges, "%s %zu %zu\n", what, at, length) > 0);
}

/* Caches are written back by lines: what shares one with a flushed byte may be there or not. */
static void lost_behind(size_t at, size_t end)
{
	at = (at + LINE - 1) / LINE * LINE;
	if (at < end)
		range_is("lost", at, end - at);
}

static void slot(int kind, size_t begin)
{
	size_t length = rnd_in(SHORTEST, SLOT - 4 * LINE), half;
	size_t at = begin + rnd_in(LINE, SLOT - LINE - length);

	memcpy(model + at, write_to(&remote, at, length), length);
	switch (kind) {
	case 0:
		flush_to_persistence(at, length);
		range_is("there", at, length);
		break;
	case 1:
		range_is("lost", at, length);
		break;
	case 2:
		half = rnd_in(1, length);
		flush_to_persistence(at, half);
		range_is("there", at, half);
		lost_behind(at + half, at + length);
		break;
	default:
		flush_to_persistence(at, length);
		range_is("kept", at, length);
		write_to(&remote, at, length);
	}
}

static void save(const char *name, const void *data, size_t length)
{
	int fd = open_in("MODEL", name);

	CHECK_EQ(write(fd, data, length), (ssize_t)length);
	CHECK_EQ(close(fd), 0);
}

/*
 * Of the file `flushed' random ranges are written, some flushed, wholly or in part. The file
 * `unsynced' is mapped without MAP_SYNC, and written after that: a flush of the other one would
 * make its blocks persistent, too.
 */
static void stores(void)
{
	struct qp_cfg cfg = { .access = IBV_ACCESS_REMOTE_WRITE | PERSISTENT };
	int fd = file_of_holes("flushed"), beside = file_of_holes("unsynced");
	struct region unsynced;
	char *text;
	size_t size;
	int i;

	link_make(&link_, &cfg);
	if (!link_.a.ex)
		skip("no work request builder");
	source = region_new(SLOT, 5, ALL_ACCESS);
	model = MUST(calloc(1, FILE_SIZE));
	ranges = MUST(open_memstream(&text, &size));

	remote = region_of_file(fd, MAP_SHARED_VALIDATE | MAP_SYNC,
				ODP_ALL | PERSISTENT);
	for (i = 0; i < SLOTS; i++)
		slot(i % 4, i * SLOT);
	unsynced = region_of_file(beside, MAP_SHARED, ODP_ALL);
	for (i = 0; i < SLOTS; i += 7)
		write_to(&unsynced, i * SLOT, SLOT);

	CHECK_EQ(fclose(ranges), 0);
	save("ranges.txt", text, size);
	save("model.bin", model, FILE_SIZE);
}

static const struct test tests[] = {
	TEST(stores, "stores to files"),
};
#else
static const struct test tests[] = {
	TEST(no_wr_flush, "stores to files"),
};
#endif

HARNESS_MAIN("Messages before the machine is stopped", tests)
