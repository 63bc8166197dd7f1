/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Translation tables against page tables: right bytes can be read through a wrong entry, if two
 * pages have the same content.
 */
#ifndef PINION_TEST_TABLE_H
#define PINION_TEST_TABLE_H

#include "buf.h"

/* What a key's table has of the memory that it was registered for. */
struct table_facts {
	size_t pages; /* entries that were compared, by pages of the process */
	size_t differ; /* are not the page that the process has there */
	uint64_t first; /* where in the buffer the first of them is */
	uint64_t bytes; /* in the buffer, by all entries together */
};

/* Can tables be read here: a pinion device, debugfs, root? */
bool table_is_readable(void);

/* Compare @region's key @key. Tried again while pages come and go on demand. */
struct table_facts table_compare(const struct region *region, uint32_t key);

/* It must not differ. Does nothing where tables cannot be read. */
#define table_check(region, key) table_check_at(__FILE__, __LINE__, region, key)
void table_check_at(const char *file, int line, const struct region *region,
		    uint32_t key);

#endif /* PINION_TEST_TABLE_H */
