// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Files on persistent memory that cannot be pinned, on a file system mounted with -o dax at
 * $DAX_FILES. Registration falls back to on-demand paging, data and flushes arrive in the file,
 * and the file may change meanwhile (items A15, E22).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sides.h"
#include "verbs.h"

#define ALWAYS RPMA_F_COMPLETION_ALWAYS

enum {
	SIZE = 4 << 20,
	MARGIN = 3 * 4096 + 77, /* bytes of the file around the region */
	PERSISTENT = RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT,
	VISIBILITY = RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY,
	ALL_USES = RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST |
		   RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_WRITE_DST |
		   RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV | PERSISTENT |
		   VISIBILITY,
};

static struct sides sides;
static struct memory near, far;
static int file;

static int open_file(const char *name)
{
	const char *folder = getenv("DAX_FILES");
	char path[256];
	int fd;

	if (!folder)
		skip("no file system of persistent memory: DAX_FILES is not set");
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	return fd;
}

/* Creates a sparse file and maps it. */
static struct buf *file_buf(const char *name, int *fd)
{
	struct buf *buf;
	void *map;

	*fd = open_file(name);
	CHECK_EQ(ftruncate(*fd, SIZE), 0);
	/* MAP_SYNC fails unless the mapping is DAX. */
	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		   MAP_SHARED_VALIDATE | MAP_SYNC, *fd, 0);
	CHECK(map != MAP_FAILED);
	buf = buf_of(map, SIZE, MARGIN, SIZE - 2 * MARGIN);
	/* Make it sparse again: buf_of() filled it. */
	CHECK_EQ(fallocate(*fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			   SIZE),
		 0);
	buf_accept(buf);
	return buf;
}

static void begin(void)
{
	struct buf *buf = file_buf("written", &file);
	struct rpma_peer_cfg *cfg;
	int last;

	/* The kernel refuses to pin DAX pages long-term: the file could not free its blocks. */
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, buf->length, ALL_ACCESS),
		 EOPNOTSUPP);
	sides_connect(&sides, NULL, NULL);
	CHECK_EQ(rpma_peer_cfg_new(&cfg), 0);
	CHECK_EQ(rpma_peer_cfg_set_direct_write_to_pmem(cfg, true), 0);
	CHECK_EQ(rpma_conn_apply_remote_peer_cfg(sides.conn[NEAR], cfg), 0);
	CHECK_EQ(rpma_peer_cfg_delete(&cfg), 0);

	near = memory_reg(sides.peer[NEAR], SIZE, 123, ALL_USES & ~PERSISTENT);
	registrations_reset();
	far = memory_of(sides.peer[FAR], buf, ALL_USES);
	/*
	 * libibverbs' own inner calls may be counted, too, so look at the first and the last
	 * one.
	 */
	last = registrations.calls - 1;
	CHECK(last > 0);
	CHECK(!(registrations.access[0] & IBV_ACCESS_ON_DEMAND));
	CHECK_EQ(registrations.access[last],
		 registrations.access[0] | IBV_ACCESS_ON_DEMAND);
}

static void end(void)
{
	memory_dereg(&near);
	memory_dereg(&far);
	sides_free(&sides);
	close(file);
}

static void flush(size_t at, size_t len, enum rpma_flush_type type)
{
	CHECK_EQ(rpma_flush(sides.conn[NEAR], far.remote, at, len, type, ALWAYS,
			    &far),
		 0);
	CHECK_EQ(cq_next(sides.cq[NEAR]).status, IBV_WC_SUCCESS);
}

static void write_flushed(size_t at, size_t len)
{
	size_t from = rnd_below(near.buf->length - len + 1);

	CHECK_EQ(rpma_write(sides.conn[NEAR], far.remote, at, near.local, from,
			    len, RPMA_F_COMPLETION_ON_ERROR, NULL),
		 0);
	flush(at, len, RPMA_FLUSH_TYPE_PERSISTENT);
	expect_copy(&far, at, &near, from, len);
}

static size_t some(size_t *len)
{
	*len = rnd_in(1, rnd_below(4) ? 20000 : 1 << 20);
	return rnd_below(far.buf->length - *len + 1);
}

/* Compares the file as read(2) returns it with the model. */
static void check_file(void)
{
	uint8_t *back = MUST(malloc(SIZE));

	CHECK_EQ(pread(file, back, SIZE, 0), SIZE);
	CHECK(!memcmp(back, far.buf->model, SIZE));
	free(back);
}

/* Reads from a file on persistent memory, first of its holes. */
static void e22_read(void)
{
	size_t at, len;
	int i;

	begin();
	for (i = 0; i < 40; i++) {
		at = some(&len);
		/* The first rounds read holes. */
		if (i == 10)
			buf_fill(far.buf);
		CHECK_EQ(rpma_read(sides.conn[NEAR], near.local, 5, far.remote,
				   at, len, ALWAYS, NULL),
			 0);
		cq_expect(sides.cq[NEAR], IBV_WC_RDMA_READ, NULL);
		expect_copy(&near, 5, &far, at, len);
	}
	check_both(&near, &far);
	end();
}

/* Messages from and to files, on both sides. */
static void e22_send(void)
{
	struct memory other;
	struct ibv_wc wc;
	size_t at, len;
	int i, fd;

	begin();
	other = memory_of(sides.peer[NEAR], file_buf("sent", &fd), ALL_USES);
	buf_fill(other.buf);
	for (i = 0; i < 20; i++) {
		at = some(&len);
		CHECK_EQ(rpma_recv(sides.conn[FAR], far.local, at, len, &far),
			 0);
		CHECK_EQ(rpma_send(sides.conn[NEAR], other.local, at, len,
				   ALWAYS, NULL),
			 0);
		cq_expect(sides.cq[NEAR], IBV_WC_SEND, NULL);
		wc = cq_next(sides.cq[FAR]);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.byte_len, len);
		expect_copy(&far, at, &other, at, len);
	}
	check_both(&other, &far);
	memory_dereg(&other);
	close(fd);
	end();
}

/* Blocks that were punched out of the file are not written any more. */
static void e22_holes(void)
{
	const size_t half = SIZE / 2;
	size_t at, len;
	int i;

	begin();
	for (i = 0; i < 20; i++) {
		at = some(&len);
		write_flushed(at, len);
		at = rnd_below(SIZE / 4096) * 4096;
		len = rnd_in(1, SIZE - at);
		CHECK_EQ(fallocate(file,
				   FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				   at, len),
			 0);
		memset(far.buf->model + at, 0, len);
		CHECK(!memcmp(far.buf->map + at, far.buf->model + at, len));
		at = some(&len);
		write_flushed(at, len);
	}
	check_both(&near, &far);
	check_file();
	/*
	 * Beyond the end of the truncated file accesses fail; after extending it they work
	 * again.
	 */
	write_flushed(half, half / 2);
	CHECK_EQ(ftruncate(file, half), 0);
	CHECK_EQ(ftruncate(file, SIZE), 0);
	memset(far.buf->model + half, 0, half);
	check_both(&near, &far);
	write_flushed(half - 9999, 20000);
	check_both(&near, &far);
	check_file();
	CHECK_EQ(ftruncate(file, half), 0);
	CHECK_EQ(rpma_write(sides.conn[NEAR], far.remote, half, near.local, 0,
			    1, ALWAYS, NULL),
		 0);
	CHECK_EQ(cq_next(sides.cq[NEAR]).status, IBV_WC_REM_ACCESS_ERR);
}

/* Leaves a file and its expected contents, `model', for a check after the next mount. */
static void e22_write(void)
{
	size_t at, len;
	int i, model;

	begin();
	for (i = 0; i < 40; i++) {
		at = some(&len);
		write_flushed(at, len);
	}
	flush(0, 8, RPMA_FLUSH_TYPE_PERSISTENT);
	check_both(&near, &far);
	check_file();
	model = open_file("model");
	CHECK_EQ(write(model, far.buf->model, SIZE), SIZE);
	close(model);
	end();
}

static const struct test tests[] = {
	TEST(e22_read, "A15,E22 read from a file on persistent memory"),
	TEST(e22_send, "A15,E22 from file to file"),
	TEST(e22_holes, "A15,E22 a file that changes"),
	TEST(e22_write, "A15,E22 written and flushed"),
};

HARNESS_MAIN("libpinion-rpma: files on persistent memory", tests)
