/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * dma-bufs of all exporters of this machine, as memory with a model; and operations that
 * only the exporter for tests (../exporter) has.
 */
#ifndef PINION_TEST_DMABUF_H
#define PINION_TEST_DMABUF_H

#include "../exporter/exporter.h"
#include "buf.h"
#include "device.h"

struct dmabuf_kind {
	const char *name;
	int (*get)(size_t size); /* pages: an fd, or the test is skipped */
};

enum { DMABUF_KINDS = 6 };
/* udmabuf, the system heap, graphics drivers; the exporter for tests, scattered and contiguous */
extern struct dmabuf_kind dmabuf_kinds[DMABUF_KINDS];
/* Does this machine have an exporter of this kind? */
bool dmabuf_there(struct dmabuf_kind *kind);

struct dmabuf {
	int fd;
	size_t size;
	struct buf *all; /* mapped */
};

struct dmabuf dmabuf_new(struct dmabuf_kind *kind, size_t size);
/* A dma-buf of the exporter for tests. @flags: EXPORTER_*. */
struct dmabuf dmabuf_own(size_t size, unsigned int flags);
/* Unmap and close it. */
void dmabuf_free(struct dmabuf *dmabuf);
/* A buffer for [@at, @at + @length) that shares memory and model of @dmabuf. */
struct buf *dmabuf_view(const struct dmabuf *dmabuf, size_t at, size_t length);
/* Register a region of such a view. */
struct region dmabuf_region(const struct dmabuf *dmabuf, size_t at,
			    size_t length, uint64_t iova, int access);
/* Likewise, at @device. */
struct region dmabuf_region_at(const struct device *device,
			       const struct dmabuf *dmabuf, size_t at,
			       size_t length, uint64_t iova, int access);
/* Deregister the region; the memory stays. */
void dmabuf_region_free(struct region *region);

void need_exporter(void);
/* Have the exporter move the memory. Returns 0 or an errno. */
int dmabuf_move(const struct dmabuf *dmabuf, unsigned int delay_ms);
void dmabuf_revoke(const struct dmabuf *dmabuf);
void dmabuf_fail(const struct dmabuf *dmabuf, enum exporter_step step,
		 int error);
/* Let the next @times mappings fail with @error, and no others. */
void dmabuf_fail_maps(const struct dmabuf *dmabuf, int error,
		      unsigned int times);
struct exporter_stat dmabuf_stat(const struct dmabuf *dmabuf);
/* The pin count of the dma-buf now. */
uint64_t dmabuf_pins(const struct dmabuf *dmabuf);
/*
 * How many pins a mapping for a dynamic importer takes by itself: 0, but 1 (for all importers
 * together) on a kernel 6.x without DMABUF_MOVE_NOTIFY. Measured with a buffer of its own.
 */
uint64_t dmabuf_pins_mapped(void);
/*
 * The test fails if anything is still attached, mapped or pinned, if an importer kept a mapping too
 * long, or if old memory was written after a move.
 */
#define dmabuf_check_unused(dmabuf) \
	dmabuf_check_unused_at(__FILE__, __LINE__, dmabuf)
void dmabuf_check_unused_at(const char *file, int line,
			    const struct dmabuf *dmabuf);
/* How many buffers the exporter for tests has, of all processes. */
uint64_t dmabuf_live(void);
/* Wait until there are at most @most. The last reference may be put asynchronously. */
void dmabuf_await_live(uint64_t most);

#endif /* PINION_TEST_DMABUF_H */
