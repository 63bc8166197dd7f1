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
	/* What happens to it once it has its contents; NULL: nothing. */
	void (*after)(struct buf *buf);
};

extern const struct memory_kind memory_anonymous, memory_thp, memory_hugetlb,
	memory_shared, memory_file, memory_file_private;
/*
 * Private memory that was read only, so that it is the zero page; that is in swap; whose pages were
 * merged with equal ones; and half of a huge page, whose other half is unmapped. Call
 * memory_settle() once it has its contents, and before that need_swap() or merge_begin().
 */
extern const struct memory_kind memory_zero, memory_swapped, memory_merged,
	memory_thp_part;
void memory_settle(const struct memory_kind *kind, struct buf *buf);

struct buf *memory_new(const struct memory_kind *kind, size_t length,
		       size_t offset);
/* Does all of the buffer consist of pages of the wanted kind now? */
bool memory_is(const struct memory_kind *kind, const struct buf *buf);
void memory_free(const struct memory_kind *kind, struct buf *buf);

/* The page frame number of @byte, from /proc/self/pagemap. For root; the page must be present. */
uint64_t memory_page_number(int pagemap, const void *byte);

/* Map one piece of memory repeatedly: for regions larger than the memory of the machine. */
enum { MEMORY_PIECE = 16 << 20 };
void *memory_again(size_t length);
/*
 * The same with a smaller piece of contiguous pages. For root. A process of user-mode Linux
 * needs a mapping on the host for each run of contiguous pages, and hangs for ever if there
 * are more than 65530 of them.
 */
void *memory_again_side_by_side(size_t length);

/*
 * The same with one page, which is present everywhere: no two pages beside each other are contiguous, so that
 * a table needs an entry for each.
 */
void *memory_of_one_page(size_t length);

/* Make further mappings fail, if not @room; or allow them again. */
void memory_room(bool room);

#endif /* PINION_TEST_MEMORY_H */
