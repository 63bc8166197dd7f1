/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The kinds of memory a registration can meet. Each is got, or the test is skipped.
 */
#ifndef PINION_TEST_MEMORY_H
#define PINION_TEST_MEMORY_H

#include "buf.h"

struct memory_kind {
	size_t page; /* what it is made of */
	void *(*map)(size_t length);
};

extern const struct memory_kind memory_anonymous, memory_thp, memory_hugetlb,
	memory_shared, memory_file, memory_file_private;

struct buf *memory_new(const struct memory_kind *kind, size_t length,
		       size_t offset);
/* Is all of it, as it is now, what it was to be made of? */
bool memory_is(const struct memory_kind *kind, const struct buf *buf);
void memory_free(const struct memory_kind *kind, struct buf *buf);

/* The number of the page that a byte is in, by /proc/self/pagemap, for root; it is there. */
uint64_t memory_page_number(int pagemap, const void *byte);

/* A little memory, mapped again and again: regions larger than the machine. */
enum { MEMORY_PIECE = 16 << 20 };
void *memory_again(size_t length);
/*
 * The same of fewer pages, which are side by side: for root. A process of user-mode Linux has
 * a mapping of the machine below for each run of pages that it can reach, and beyond 65530 of
 * them it hangs for ever.
 */
void *memory_again_side_by_side(size_t length);

/* Is there room for further mappings? There is, until a test says otherwise. */
void memory_room(bool room);

#endif /* PINION_TEST_MEMORY_H */
