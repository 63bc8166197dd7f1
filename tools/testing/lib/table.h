/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Compare translation tables with page tables. Comparing data is not enough: a wrong entry reads
 * the right bytes if two pages have the same contents.
 */
#ifndef PINION_TEST_TABLE_H
#define PINION_TEST_TABLE_H

#include "buf.h"

/* Result of comparing the table of a key with the memory of its region. */
struct table_facts {
	size_t pages; /* entries that were compared, by pages of the process */
	size_t differ; /* entries with another page than the process */
	size_t absent; /* of these, where the process has no page now */
	size_t writable; /* entries to which the device may write */
	size_t too_writable; /* of these, in mappings to which the process may not */
	uint64_t first; /* offset in the buffer of the first of these */
	uint64_t bytes; /* of the buffer, covered by all entries */
	unsigned int looks; /* how often they were compared */
};

/* Can tables be read here: a pinion device, debugfs, root? */
bool table_is_readable(void);

/*
 * Compare the table of @key with the memory of @region; again if they differ, as on-demand pages
 * may move meanwhile, but not if pinned memory has another page, which is wrong at once. Nothing is
 * compared for dma-bufs and device memory, whose page tables the kernel does not tell.
 */
struct table_facts table_compare(const struct region *region, uint32_t key);

/*
 * The test fails if they differ, if the device may write to what the process may not, or if memory
 * that is known to be pinned is not all there. Does nothing for other drivers and ordinary users, nor
 * outside of our beds if there is no debugfs.
 */
#define table_check(region, key) table_check_at(__FILE__, __LINE__, region, key)
void table_check_at(const char *file, int line, const struct region *region,
		    uint32_t key);

#endif /* PINION_TEST_TABLE_H */
