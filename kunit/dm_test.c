// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions of device memory: the first page and the number of pages of their tables.
 */
/* The module itself has the tracepoints. */
#define NOTRACE
#include "../kernel/mem/dm.c"
#include "keys.h"

/* These stand in for the real ones, because only the table is tested here. */
struct ib_mr *pinion_region_make(struct pinion_keys *keys, struct ib_pd *pd,
				 const struct pinion_backing *backing, u64 base, u64 length,
				 int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

int pinion_mr_refused(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
		      const char *reason, int err)
{
	return err;
}

#define PAGES	3
#define SIZE	(PAGES * PAGE_SIZE)

static const struct {
	u64 offset, length;
	u64 first, pages;	/* pages of the table */
} cases_of_parts[] = {
	{ 0, SIZE, 0, 3 },
	{ 0, 1, 0, 1 },
	{ PAGE_SIZE - 1, 1, 0, 1 },
	{ PAGE_SIZE - 1, 2, 0, 2 },
	{ PAGE_SIZE + 8, PAGE_SIZE, 1, 2 },
	{ SIZE - 1, 1, 2, 1 },
	/* Regions of no bytes. */
	{ 0, 0, 0, 1 },
	{ PAGE_SIZE, 0, 1, 1 },
	{ SIZE - 4, 0, 2, 1 },
	{ SIZE, 0, 2, 1 },
};

static void tables_are_of_the_memorys_pages(struct kunit *test)
{
	atomic64_t used = ATOMIC64_INIT(0);
	struct pinion_dm *dm = pinion_dm_alloc(&used, SIZE);
	struct pinion_mtt *mtt;
	u64 block;
	u32 i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(dm));
	for (i = 0; i < ARRAY_SIZE(cases_of_parts); i++) {
		mtt = dm_describe(dm, cases_of_parts[i].offset, cases_of_parts[i].length);
		KUNIT_EXPECT_NOT_NULL(test, mtt);
		if (!mtt)
			break;
		KUNIT_EXPECT_EQ(test, mtt->num_blocks, cases_of_parts[i].pages);
		KUNIT_EXPECT_EQ(test, mtt->first, offset_in_page(cases_of_parts[i].offset));
		for (block = 0; block < cases_of_parts[i].pages; block++) {
			void *page = dm->memory + (cases_of_parts[i].first + block) * PAGE_SIZE;

			KUNIT_EXPECT_EQ_MSG(test, *pinion_mtt_slot(mtt, block),
					    page_to_phys(vmalloc_to_page(page)),
					    "part %u, block %llu", i, block);
		}
		pinion_mtt_free(mtt);
	}
	pinion_dm_free(dm);
	KUNIT_EXPECT_EQ(test, atomic64_read(&used), 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(tables_are_of_the_memorys_pages),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_dm",
	.test_cases = cases,
};

kunit_test_suites(&suite);
