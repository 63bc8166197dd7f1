/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory with a model. A test does to the model what the device has to do to the
 * memory. Then the two are compared, including the bytes around the buffer.
 */
#ifndef PINION_TEST_BUF_H
#define PINION_TEST_BUF_H

#include <infiniband/verbs.h>

#include "harness.h"

#define PAGE ((size_t)4096)

struct buf {
	uint8_t *data; /* what is registered */
	uint8_t *want; /* the model of it */
	size_t length;
	uint8_t *map; /* all of it, with at least a page around */
	uint8_t *model;
	size_t map_length;
	bool shared; /* in the file of sealed.h */
};

enum {
	ALL_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	ODP_ALL = ALL_ACCESS | IBV_ACCESS_ON_DEMAND,
};

/*
 * Allocate memory whose @length bytes begin @offset bytes into a page. Every second buffer of a
 * process, as long as there is room, is part of a file, whose pages nobody may hold when the test
 * is over (sealed.h): children that are forked share it. The others are private.
 */
struct buf *buf_new(size_t length, size_t offset);
/* Private anonymous memory, for tests of what only that does. */
struct buf *buf_private(size_t length, size_t offset);
/* A buffer in the existing mapping @map: [@at, @at + @length) of it. buf_free() unmaps it. */
struct buf *buf_of(void *map, size_t map_length, size_t at, size_t length);
/* Unmap the memory, free the model. */
void buf_free(struct buf *buf);

/* Write random contents into memory and model, also around the buffer. */
void buf_fill(struct buf *buf);
/* Copy the memory to the model. */
void buf_accept(struct buf *buf);
/* Drop the pages of the whole mapping, of memory by buf_new(). It then reads as zeros. */
void buf_forget(struct buf *buf);
/* The same with the whole pages [@at, @at + @length) of the buffer. */
void buf_drop(struct buf *buf, size_t at, size_t length);
/* Map new zeroed memory over the whole pages [@at, @at + @length) of the buffer. */
void buf_replace(struct buf *buf, size_t at, size_t length);
/* Fork a child that overwrites its copy of a private buffer and exits. Returns its pid. */
int buf_spoil_copy(struct buf *buf);

#define buf_check(buf) buf_check_at(__FILE__, __LINE__, buf)
void buf_check_at(const char *file, int line, const struct buf *buf);
/* Is each part of so many bytes, and the rest, of one byte? */
bool bytes_are_uniform(const uint8_t *data, size_t length, size_t part);

/* A buffer, its region, and how work requests name its first byte. */
struct region {
	struct buf *buf;
	struct ibv_mr *mr;
	uint64_t base;
	uint32_t lkey, rkey;
	bool pinned; /* all of the buffer, by ibv_reg_mr() */
};

struct region region_of(struct buf *buf, struct ibv_mr *mr, uint64_t base);
struct region region_reg(struct ibv_pd *pd, struct buf *buf, int access);
/* New memory and a region of it; the second by buf_private(). */
struct region region_new(size_t length, size_t offset, int access);
struct region region_private(size_t length, size_t offset, int access);
void region_free(struct region *region);

/* Update @r after its region was registered again for the memory of @buf. */
void region_moved(struct region *r, struct buf *buf);
/* ibv_rereg_mr(); the test fails if it fails. */
void region_rereg(struct region *r, int flags, struct ibv_pd *pd,
		  struct buf *buf, int access);

#endif /* PINION_TEST_BUF_H */
