// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Limits made smaller by order (items IN38 to IN42; kernel/mem/inject.h): small buffers then
 * cross their boundaries, and the data are right.
 */
#include <string.h>
#include <unistd.h>

#include "orders.h"
#include "resources.h"
#include "transfer.h"

enum { PAGES = 40, LENGTH = PAGES * PAGE };

static struct link link_;
static struct region own;

static void begin(void)
{
	orders_begin();
	link_make(&link_, NULL);
	own = region_new(LENGTH, 50, ALL_ACCESS);
}

/* Each kind of message between scattered pieces, both ways; large messages, and atomics. */
static void all_good(struct region *region)
{
	size_t i;

	exchange(&link_, &own, region);
	exchange(&link_, region, &own);
	check_write(&link_, &own, 0, region, 0, LENGTH);
	check_read(&link_, &own, 1, region, 3, LENGTH - 3);
	for (i = 0; i < TRANSFER_OPCODES; i++) {
		struct transfer t =
			transfer_in_pieces(transfer_opcodes[i], 15 * PAGE + 3);

		transfer(&link_, &own, region, &t);
	}
	buf_check(region->buf);
	buf_check(own.buf);
}

/* Blocks are found in tables with leaves of any size. */
static void in38_leaf(void)
{
	static const int sizes[] = { 1, 2, 3, 16, 512 };
	struct region region;
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		order("leaf pid %d value %d count 0", getpid(), sizes[i]);
		region = region_new(LENGTH, 7, ALL_ACCESS);
		CHECK(ordered("failed") >= 1);
		all_good(&region);
		orders_off();
		/* The region keeps its leaves; new tables have normal ones. */
		all_good(&region);
		region_rereg(&region, IBV_REREG_MR_CHANGE_TRANSLATION, dev.pd,
			     buf_new(LENGTH, 100), 0);
		all_good(&region);
		region_free(&region);
	}
}

/* With shorter spans an implicit table has more children, and data are right. */
static void in39_span(void)
{
	static const struct {
		int pages, children;
	} cases[] = { { 1, PAGES + 1 },
		      { 4, PAGES / 4 + 1 },
		      { 5, PAGES / 4 + 1 },
		      { 512, 1 } };
	struct region region;
	uint64_t children;
	size_t i;

	need_odp();
	begin();
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		order("span pid %d value %d", getpid(), cases[i].pages);
		region = region_new(LENGTH, 7, ODP_ALL);
		orders_over(1);
		all_good(&region);
		children = region_counter(&region, "children");
		/* The region begins within a span. */
		CHECK(children >= (uint64_t)cases[i].children &&
		      children <= (uint64_t)cases[i].children + 1);
		buf_forget(region.buf);
		all_good(&region);
		region_free(&region);
	}
}

/* Faults it takes to fetch all pages of the region. */
static uint64_t faults(struct region *region)
{
	uint64_t before = region_counter(region, "page_faults_handled");

	CHECK_EQ(orders_invalidate("%u", region->rkey), 0);
	check_write(&link_, &own, 0, region, 0, LENGTH);
	return region_counter(region, "page_faults_handled") - before;
}

/* With smaller batches a message needs more faults, and data are right. */
static void in40_batch(void)
{
	struct region region;

	need_odp();
	begin();
	if (dev.packets)
		skip("each packet faults for itself");
	region = region_new(LENGTH, 7, ODP_ALL);
	CHECK(faults(&region) <= 2);
	order("batch pid %d count 0", getpid());
	CHECK_EQ(faults(&region), PAGES + 1);
	all_good(&region);
	orders_off();
	order("batch number %u value 8 count 0", region.rkey);
	CHECK(faults(&region) >= PAGES / 8);
	orders_off();
	CHECK(faults(&region) <= 2);
	buf_check(region.buf);
}

/* With shorter stretches a message is copied in more pieces, and data are right. */
static void in41_stretch(void)
{
	static const unsigned int sizes[] = { 8, 9, 100, 4096, 131072 };
	struct region region;
	size_t i;

	begin();
	region = region_new(LENGTH, 7, ALL_ACCESS);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		order("stretch value %u count 0", sizes[i]);
		check_write(&link_, &own, 0, &region, 0, LENGTH);
		CHECK(ordered("failed") >= LENGTH / sizes[i]);
		buf_check(region.buf);
		/* The smallest sizes need thousands of pieces a message, which takes long. */
		if (sizes[i] >= 100)
			all_good(&region);
		orders_off();
	}
}

/* All at once, and vanishing pages. */
static void in42_together(void)
{
	struct region region;

	need_odp();
	begin();
	if (dev.packets)
		skip("each packet faults for itself");
	order("stretch value 1000 count 0");
	order("span value 2 count 0");
	order("batch value 1 count 0");
	order("leaf value 1 count 0");
	order("invalidate percent 20 seed 1 count 0");
	region = region_new(LENGTH, 7, ODP_ALL);
	all_good(&region);
	CHECK(region_counter(&region, "page_invalidations") > 5);
	orders_off();
	all_good(&region);
	region_free(&region);
}

static const struct test tests[] = {
	TEST(in38_leaf, "IN38 leaf"),
	TEST(in39_span, "IN39 span"),
	TEST(in40_batch, "IN40 batch"),
	TEST(in41_stretch, "IN41 stretch"),
	TEST(in42_together, "IN42 all that is small"),
};

ORDERS_MAIN("Sizes by order", tests)
