/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The kinds of memory that can be registered. A test is skipped if its kind is missing.
 */
#ifndef PINION_TEST_MEMORY_H
#define PINION_TEST_MEMORY_H

#include "buf.h"

struct memory_kind {
	size_t page; /* page size */
	void *(*map)(size_t length);
};

extern const struct memory_kind memory_anonymous, memory_thp, memory_hugetlb,
	memory_shared, memory_file, memory_file_private;

struct buf *memory_new(const struct memory_kind *kind, size_t length,
		       size_t offset);
/* Does all of the buffer consist of pages of the wanted kind now? */
bool memory_is(const struct memory_kind *kind, const struct buf *buf);
void memory_free(const struct memory_kind *kind, struct buf *buf);

/* The page frame number of @byte, of /proc/self/pagemap. For root; the page must be present. */
uint64_t memory_page_number(int pagemap, const void *byte);

/* A piece of memory, mapped repeatedly: for regions larger than the memory of the machine. */
enum { MEMORY_PIECE = 16 << 20 };
void *memory_again(size_t length);
/*
 * The same of fewer pages, which are contiguous: for root. A process of user-mode Linux has
 * a mapping on the host for each run of pages that it maps, and with more than 65530 of them
 * it hangs for ever.
 */
void *memory_again_side_by_side(size_t length);

/* Is there room for further mappings? There is, until a test says otherwise. */
void memory_room(bool room);

#endif /* PINION_TEST_MEMORY_H */
