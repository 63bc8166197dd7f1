// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Pages invalidated by an order or at once (items IN30 to IN37; kernel/mem/inject_pages.c): they
 * are gone, are fetched again, and no byte is lost.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "dmabuf.h"
#include "orders.h"
#include "resources.h"
#include "writer.h"

/* Regions begin WITHIN a page. */
enum { PAGES = 20, LENGTH = PAGES * PAGE, WITHIN = 7 };

static struct link link_;
static struct region own;

static void begin(void)
{
	orders_begin();
	link_make(&link_, NULL);
	own = region_new(LENGTH, 50, ALL_ACCESS);
}

static uint64_t gone(const struct region *region)
{
	return region_counter(region, "page_invalidations");
}

/* An on-demand region with all pages present. */
static struct region there(void)
{
	struct region region;

	need_odp();
	region = region_new(LENGTH, WITHIN, ODP_ALL);
	check_write(&link_, &own, 0, &region, 0, LENGTH);
	CHECK_EQ(gone(&region), 0);
	return region;
}

/* Exactly pages [from, to) are missing, according to the map in debugfs. */
static void only_gone(const struct region *region, uint64_t from, uint64_t to)
{
	uint64_t first = from ? from * PAGE - WITHIN : 0;
	uint64_t end = to * PAGE < LENGTH ? to * PAGE - WITHIN : LENGTH;
	uint64_t offset, length, addr, sum = 0;
	char path[128], line[256], key[16];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/kernel/debug/pinion/%s/map",
		 ibv_get_device_name(dev.ctx->device));
	file = MUST(fopen(path, "r+e"));
	snprintf(key, sizeof(key), "%u", region->rkey);
	CHECK(fputs(key, file) >= 0 && !fflush(file));
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "0x%lx 0x%lx 0x%lx", &offset, &length,
			   &addr) != 3)
			continue;
		sum += length;
		if (offset < end && offset + length > first)
			FAIL("there are bytes of pages %lu to %lu: %s", from,
			     to, line);
	}
	fclose(file);
	CHECK_EQ(sum, LENGTH - (end - first));
}

/* Pages are invalidated under one message: it is right, and they are gone. */
static void in30_under_a_message(void)
{
	struct region region, other;

	begin();
	region = there();
	other = there();
	order("invalidate number %u", region.rkey);
	check_write(&link_, &own, 33, &other, 5, 3 * PAGE);
	CHECK_EQ(ordered("met"), 0);
	check_write(&link_, &own, 33, &region, 5, 3 * PAGE);
	orders_over(1);
	/* A packet covers fewer pages. */
	CHECK(dev.packets || gone(&region) == 4);
	CHECK(gone(&region));
	CHECK_EQ(gone(&other), 0);
	buf_check(region.buf);
	exchange(&link_, &own, &region);
}

/*
 * Pages vanish during each message, of any kind: it still completes. By packets it takes longer,
 * because pages that are missing one after the other make pauses grow.
 */
static void in31_again_and_again(void)
{
	int percent = dev.packets ? 10 : 100;
	struct region region;
	uint64_t before;

	begin();
	region = there();
	order("invalidate number %u percent %d seed 1 count 0", region.rkey,
	      percent);
	exchange(&link_, &own, &region);
	exchange(&link_, &region, &own);
	CHECK(ordered("failed") >= 4);
	orders_off();
	before = gone(&region);
	CHECK(before >= 4);
	exchange(&link_, &own, &region);
	CHECK_EQ(gone(&region), before);
	buf_check(region.buf);
}

/* Pages are invalidated by chance, the same with the same seed. */
static void in32_by_chance(void)
{
	unsigned long long first;
	struct region region;
	int i, round;

	begin();
	region = there();
	for (round = 0, first = 0; round < 2; round++) {
		order("invalidate pid %d percent 30 seed 3 count 0", getpid());
		for (i = 0; i < 50; i++)
			check_write(&link_, &own, i, &region, 2 * i, 100);
		CHECK_EQ(ordered("met"), 50);
		CHECK(!round || ordered("failed") == first);
		first = ordered("failed");
		orders_off();
	}
	CHECK(first > 5 && first < 30);
	buf_check(region.buf);
}

/* As if the exporter moved it: it is mapped again, with the same contents. */
static void in33_dmabuf(void)
{
	struct exporter_stat before, after;
	struct dmabuf dmabuf;
	struct region region;

	need_exporter();
	begin();
	dmabuf = dmabuf_own(LENGTH, 0);
	region = dmabuf_region(&dmabuf, 0, LENGTH, 0, ALL_ACCESS);
	before = dmabuf_stat(&dmabuf);
	order("invalidate number %u", region.rkey);
	check_write(&link_, &own, 9, &region, 77, 2 * PAGE);
	orders_over(1);
	after = dmabuf_stat(&dmabuf);
	CHECK_EQ(after.maps - before.maps, 1);
	CHECK_EQ(after.moves, before.moves);
	CHECK_EQ(gone(&region), PAGES);
	CHECK_EQ(orders_invalidate("%u", region.rkey), 0);
	CHECK_EQ(gone(&region), 2 * PAGES);
	check_read(&link_, &own, 9, &region, 77, 2 * PAGE);
	CHECK_EQ(dmabuf_stat(&dmabuf).maps - after.maps, 1);
	dmabuf_region_free(&region);
	dmabuf_check_unused(&dmabuf);
	dmabuf_free(&dmabuf);
}

/* A revocable exporter revokes the buffer; another one only moves it. */
static void in34_revoked(void)
{
	struct dmabuf dmabuf;
	struct region region;

	need_exporter();
	begin();
	dmabuf = dmabuf_own(LENGTH, 0);
	region = dmabuf_region(&dmabuf, 0, LENGTH, 0, ALL_ACCESS);
	order("map number %u value %d count 0", region.rkey, ENODEV);
	CHECK_EQ(orders_invalidate("%u", region.rkey), 0);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&own, 0, 100), region.base,
		region.rkey, IBV_WC_REM_ACCESS_ERR, -1);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&own, 0, 100), region.base,
		region.rkey, IBV_WC_REM_ACCESS_ERR, -1);
	CHECK(ordered("failed") >= 2);
	orders_off();
	check_write(&link_, &own, 9, &region, 77, 2 * PAGE);
	dmabuf_region_free(&region);
	dmabuf_check_unused(&dmabuf);
	dmabuf_free(&dmabuf);
}

/* Pages of a range are invalidated at once, and no others. */
static void in35_a_range(void)
{
	struct region region;

	begin();
	region = there();
	/* The range begins and ends in these pages. */
	CHECK_EQ(orders_invalidate("%u %zu %zu", region.rkey,
				   3 * PAGE - WITHIN + 5, 4 * PAGE),
		 0);
	CHECK_EQ(gone(&region), 5);
	only_gone(&region, 3, 8);
	buf_check(region.buf);
	CHECK_EQ(orders_invalidate("%#x 0 1", region.rkey), 0);
	CHECK_EQ(gone(&region), 6);
	CHECK_EQ(orders_invalidate("%u", region.rkey), 0);
	/* The region begins and ends within pages, so it has one more. */
	CHECK_EQ(gone(&region), PAGES + 1);
	CHECK_EQ(region_counter(&region, "children"), 0);
	only_gone(&region, 0, PAGES + 1);
	buf_check(region.buf);
	check_read(&link_, &own, 0, &region, 0, LENGTH);
	exchange(&link_, &own, &region);
}

static void take_away(void *arg)
{
	(void)arg;
	CHECK_EQ(setuid(65534), 0);
	CHECK_EQ(orders_invalidate("%u", own.rkey), EACCES);
}

/* What is no range of a region on demand is refused. */
static void in36_refused(void)
{
	struct region region;

	begin();
	CHECK_EQ(orders_invalidate("%u", own.rkey), EOPNOTSUPP);
	CHECK_EQ(orders_invalidate("%u", own.rkey ^ 1), ENOENT);
	CHECK_EQ(orders_invalidate("0"), ENOENT);
	CHECK_EQ(orders_invalidate("x"), EINVAL);
	CHECK_EQ(orders_invalidate(" "), EINVAL);
	CHECK_EQ(orders_invalidate("%u 5", own.rkey), EINVAL);
	CHECK_EQ(orders_invalidate("%u 5 0", own.rkey), EINVAL);
	CHECK_EQ(orders_invalidate("%u 5 1 1", own.rkey), EINVAL);
	CHECK_EQ(orders_invalidate("0x1%08x", own.rkey), EINVAL);
	reap_ok(spawn(take_away, NULL));
	region = there();
	CHECK_EQ(orders_invalidate("%u 0 %d", region.rkey, LENGTH + 1), ERANGE);
	CHECK_EQ(orders_invalidate("%u %d 1", region.rkey, LENGTH), ERANGE);
	CHECK_EQ(orders_invalidate("%u 1 0xffffffffffffffff", region.rkey),
		 ERANGE);
	CHECK_EQ(gone(&region), 0);
}

/* Writes under invalidations: each succeeds, and all bytes are there. */
static void in37_under_traffic(void)
{
	struct writer writer = { .link = &link_, .from = &own };
	struct region region;
	unsigned long rounds;
	double until;

	begin();
	region = there();
	writer.addr = region.base;
	writer.rkey = region.rkey;
	writer_start(&writer);
	until = now() + 2;
	for (rounds = 0; now() < until; rounds++)
		CHECK_EQ(orders_invalidate("%u %zu %zu", region.rkey,
					   (rounds % PAGES) * PAGE, PAGE),
			 0);
	writer_end(&writer, rounds);
	CHECK_EQ(writer.refused, 0);
	CHECK(gone(&region) > PAGES);
	CHECK(!memcmp(region.buf->data, own.buf->data, LENGTH));
}

static const struct test tests[] = {
	TEST(in30_under_a_message, "IN30 invalidate, under a message"),
	TEST(in31_again_and_again, "IN31 invalidate, again and again"),
	TEST(in32_by_chance, "IN32 invalidate, by chance"),
	TEST(in33_dmabuf, "IN33 invalidate a dma-buf"),
	TEST(in34_revoked, "IN34 a dma-buf that is revoked"),
	TEST(in35_a_range, "IN35 invalidate a range, at once"),
	TEST(in36_refused, "IN36 invalidate what cannot be"),
	TEST(in37_under_traffic, "IN37 invalidate under traffic"),
};

ORDERS_MAIN("Pages that are taken away by order", tests)
