/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * dma-bufs of the exporters there are, as memory with a model; and what only the
 * exporter for tests (../exporter) can do.
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
/* udmabuf, the system heap, graphics drivers, ours scattered and contiguous */
extern struct dmabuf_kind dmabuf_kinds[DMABUF_KINDS];
/* Is there anything of this kind? */
bool dmabuf_there(struct dmabuf_kind *kind);

struct dmabuf {
	int fd;
	size_t size;
	struct buf *all; /* mapped */
};

struct dmabuf dmabuf_new(struct dmabuf_kind *kind, size_t size);
/* Of our own exporter: EXPORTER_* flags. */
struct dmabuf dmabuf_own(size_t size, unsigned int flags);
/* The mapping goes, too. */
void dmabuf_free(struct dmabuf *dmabuf);
/* Of the same memory with the same model: [@at, @at + @length). */
struct buf *dmabuf_view(const struct dmabuf *dmabuf, size_t at, size_t length);
/* A region of that. */
struct region dmabuf_region(const struct dmabuf *dmabuf, size_t at,
			    size_t length, uint64_t iova, int access);
/* End it; the memory stays. */
void dmabuf_region_free(struct region *region);

void need_exporter(void);
/* 0 or an errno. */
int dmabuf_move(const struct dmabuf *dmabuf, unsigned int delay_ms);
void dmabuf_revoke(const struct dmabuf *dmabuf);
void dmabuf_fail(const struct dmabuf *dmabuf, enum exporter_step step,
		 int error);
/* So the next so many mappings do, and no others. */
void dmabuf_fail_maps(const struct dmabuf *dmabuf, int error,
		      unsigned int times);
struct exporter_stat dmabuf_stat(const struct dmabuf *dmabuf);
/* How often it is pinned now. */
uint64_t dmabuf_pins(const struct dmabuf *dmabuf);
/*
 * How often what is mapped for us is pinned by that alone: never, but a 6.x without
 * DMABUF_MOVE_NOTIFY pins once for all importers.
 */
uint64_t dmabuf_pins_mapped(void);
/* What was attached, mapped and pinned is not any more, and nothing was late. */
#define dmabuf_check_unused(dmabuf) \
	dmabuf_check_unused_at(__FILE__, __LINE__, dmabuf)
void dmabuf_check_unused_at(const char *file, int line,
			    const struct dmabuf *dmabuf);
/* Buffers of our exporter, of all processes. */
uint64_t dmabuf_live(void);
/* No more than @most: the last reference may go a little later. */
void dmabuf_await_live(uint64_t most);

#endif /* PINION_TEST_DMABUF_H */
