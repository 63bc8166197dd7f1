// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Buffers with a model, and regions of them. Posts nothing.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buf.h"
#include "device.h"
#include "sealed.h"

struct buf *buf_of(void *map, size_t map_length, size_t at, size_t length)
{
	struct buf *buf = MUST(calloc(1, sizeof(*buf)));

	buf->map = map;
	buf->map_length = map_length;
	buf->model = MUST(malloc(map_length));
	buf->data = buf->map + at;
	buf->want = buf->model + at;
	buf->length = length;
	buf_fill(buf);
	return buf;
}

static size_t map_length_of(size_t length, size_t offset)
{
	return (offset + length + 3 * PAGE - 1) & ~(PAGE - 1);
}

struct buf *buf_private(size_t length, size_t offset)
{
	size_t map_length = map_length_of(length, offset);
	void *map;

	map = mmap(NULL, map_length, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(map != MAP_FAILED);
	return buf_of(map, map_length, PAGE + offset, length);
}

struct buf *buf_new(size_t length, size_t offset)
{
	size_t map_length = map_length_of(length, offset);
	void *map = sealed_map(map_length);
	struct buf *buf;

	if (!map)
		return buf_private(length, offset);
	buf = buf_of(map, map_length, PAGE + offset, length);
	buf->shared = true;
	return buf;
}

void buf_free(struct buf *buf)
{
	munmap(buf->map, buf->map_length);
	free(buf->model);
	free(buf);
}

void buf_fill(struct buf *buf)
{
	rnd_fill(buf->model, buf->map_length);
	memcpy(buf->map, buf->model, buf->map_length);
}

void buf_accept(struct buf *buf)
{
	memcpy(buf->model, buf->map, buf->map_length);
}

static void drop(const struct buf *buf, uint8_t *from, size_t length)
{
	CHECK_EQ(madvise(from, length,
			 buf->shared ? MADV_REMOVE : MADV_DONTNEED),
		 0);
}

void buf_forget(struct buf *buf)
{
	drop(buf, buf->map, buf->map_length);
	memset(buf->model, 0, buf->map_length);
}

void buf_drop(struct buf *buf, size_t at, size_t length)
{
	drop(buf, buf->data + at, length);
	memset(buf->want + at, 0, length);
}

void buf_replace(struct buf *buf, size_t at, size_t length)
{
	CHECK(mmap(buf->data + at, length, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		   0) != MAP_FAILED);
	memset(buf->want + at, 0, length);
}

static void spoil(void *arg)
{
	struct buf *buf = arg;

	memset(buf->data, 0xee, buf->length);
	usleep(100000);
}

int buf_spoil_copy(struct buf *buf)
{
	return spawn(spoil, buf);
}

void buf_check_at(const char *file, int line, const struct buf *buf)
{
	size_t i, first = 0, last = 0, wrong = 0;

	if (!memcmp(buf->map, buf->model, buf->map_length))
		return;
	for (i = 0; i < buf->map_length; i++) {
		if (buf->map[i] == buf->model[i])
			continue;
		if (!wrong++)
			first = i;
		last = i;
	}
	failed(file, line,
	       "%zu bytes differ, from %td to %td of a buffer of %zu", wrong,
	       (ptrdiff_t)(first - (buf->data - buf->map)),
	       (ptrdiff_t)(last - (buf->data - buf->map)), buf->length);
}

bool bytes_are_uniform(const uint8_t *data, size_t length, size_t part)
{
	size_t at, piece;

	for (at = 0; at < length; at += piece) {
		piece = length - at < part ? length - at : part;
		if (memcmp(data + at, data + at + 1, piece - 1) != 0)
			return false;
	}
	return true;
}

struct region region_of(struct buf *buf, struct ibv_mr *mr, uint64_t base)
{
	return (struct region){
		.buf = buf,
		.mr = mr,
		.base = base,
		.lkey = mr->lkey,
		.rkey = mr->rkey,
	};
}

struct region region_reg(struct ibv_pd *pd, struct buf *buf, int access)
{
	struct ibv_mr *mr;
	struct region region;

	mr = MUST(ibv_reg_mr(pd, buf->data, buf->length, access));
	region = region_of(buf, mr, (uintptr_t)buf->data);
	region.pinned = !(access & IBV_ACCESS_ON_DEMAND);
	return region;
}

struct region region_new(size_t length, size_t offset, int access)
{
	return region_reg(dev.pd, buf_new(length, offset), access);
}

struct region region_private(size_t length, size_t offset, int access)
{
	return region_reg(dev.pd, buf_private(length, offset), access);
}

void region_free(struct region *region)
{
	CHECK_EQ(ibv_dereg_mr(region->mr), 0);
	buf_free(region->buf);
}

void region_moved(struct region *r, struct buf *buf)
{
	CHECK(r->mr->addr == buf->data);
	CHECK_EQ(r->mr->length, buf->length);
	r->buf = buf;
	r->base = (uintptr_t)buf->data;
	r->lkey = r->mr->lkey;
	r->rkey = r->mr->rkey;
}

void region_rereg(struct region *r, int flags, struct ibv_pd *pd,
		  struct buf *buf, int access)
{
	CHECK_EQ(ibv_rereg_mr(r->mr, flags, pd, buf ? buf->data : NULL,
			      buf ? buf->length : 0, access),
		 0);
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		region_moved(r, buf);
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		r->pinned = !(access & IBV_ACCESS_ON_DEMAND);
}
