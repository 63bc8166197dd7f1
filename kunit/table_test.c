// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * When a table of objects by number is empty: also where an allocation has failed, whatever nodes
 * that has left.
 */
#include <kunit/test.h>
#include <linux/sched.h>

#include "../kernel/mem/table.h"

/* Far from 0, so that several nodes lead there. */
#define FAR	BIT(20)

static int object;

static void it_is_empty_if_it_has_no_entry(struct kunit *test)
{
	static const gfp_t flags[] = { 0, XA_FLAGS_ALLOC, XA_FLAGS_ALLOC1 };
	static const unsigned long numbers[] = { 1, 63, 64, FAR };
	struct xarray table;
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		xa_init_flags(&table, flags[i]);
		KUNIT_EXPECT_TRUE(test, pinion_table_is_empty(&table));
		for (j = 0; j < ARRAY_SIZE(numbers); j++) {
			KUNIT_ASSERT_EQ(test, xa_err(xa_store(&table, numbers[j], &object,
							      GFP_KERNEL)), 0);
			KUNIT_EXPECT_FALSE(test, pinion_table_is_empty(&table));
			xa_erase(&table, numbers[j]);
			KUNIT_EXPECT_TRUE(test, pinion_table_is_empty(&table));
		}
		xa_destroy(&table);
	}
}

/* A number that is reserved for an object to come is one that somebody has not given back. */
static void a_reserved_number_is_an_entry(struct kunit *test)
{
	static const unsigned long numbers[] = { 1, 64, FAR };
	struct xarray table;
	u32 i;

	xa_init_flags(&table, XA_FLAGS_ALLOC1);
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		KUNIT_ASSERT_EQ(test, xa_reserve(&table, numbers[i], GFP_KERNEL), 0);
		KUNIT_EXPECT_FALSE(test, pinion_table_is_empty(&table));
		xa_release(&table, numbers[i]);
		KUNIT_EXPECT_TRUE(test, pinion_table_is_empty(&table));
	}
	xa_destroy(&table);
}

#ifdef CONFIG_FAILSLAB

/*
 * Store at FAR; the allocation after @left others fails. *@hit: there was one. It may be that of a
 * page for nodes, which is tried again with a smaller one. Return: 0 or -ENOMEM.
 */
static int store_where_one_fails(struct xarray *table, u32 left, bool *hit)
{
	XA_STATE(xas, table, FAR);

	xas_lock(&xas);
	/* Without xas_nomem(), which would allocate that node once more. */
	current->fail_nth = left + 1;
	xas_store(&xas, &object);
	*hit = !current->fail_nth;
	current->fail_nth = 0;
	xas_unlock(&xas);
	return xas_error(&xas);
}

/* Of the nodes that lead to an entry some were allocated before one could not be. */
static void what_a_failed_allocation_leaves_is_no_entry(struct kunit *test)
{
	static const gfp_t flags[] = { 0, XA_FLAGS_ALLOC, XA_FLAGS_ALLOC1 };
	struct xarray table;
	u32 i, left, kept;
	bool hit;
	int err;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		kept = 0;
		for (left = 0; left < 20; left++) {
			xa_init_flags(&table, flags[i]);
			err = store_where_one_fails(&table, left, &hit);
			if (!err) {
				KUNIT_EXPECT_FALSE(test, pinion_table_is_empty(&table));
			} else {
				KUNIT_EXPECT_EQ(test, err, -ENOMEM);
				KUNIT_EXPECT_TRUE(test, pinion_table_is_empty(&table));
				kept += !xa_empty(&table);
			}
			xa_destroy(&table);
			if (!hit)
				break;
		}
		/* It did fail half way, and in the end it did not. */
		KUNIT_EXPECT_GT(test, kept, 0);
		KUNIT_EXPECT_EQ(test, err, 0);
		KUNIT_EXPECT_FALSE(test, hit);
	}
}

#endif

static struct kunit_case cases[] = {
	KUNIT_CASE(it_is_empty_if_it_has_no_entry),
	KUNIT_CASE(a_reserved_number_is_an_entry),
#ifdef CONFIG_FAILSLAB
	KUNIT_CASE(what_a_failed_allocation_leaves_is_no_entry),
#endif
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_table",
	.test_cases = cases,
};

kunit_test_suites(&suite);
