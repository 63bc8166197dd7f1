// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Compares translation tables with the page tables, page by page (items TB1 to TB5). Tests that
 * exchange data between two regions do this, too; this test shows that the comparison finds
 * errors.
 */
#include <string.h>
#include <sys/mman.h>

#include "link.h"
#include "memory.h"
#include "table.h"

static void need_tables(void)
{
	if (!dev.pinion)
		skip("other drivers do not tell their tables");
	if (!table_is_readable())
		skip("no debugfs, or not root");
}

static size_t pages_of(const struct buf *buf)
{
	uintptr_t from = (uintptr_t)buf->data;

	return (from + buf->length - 1) / PAGE - from / PAGE + 1;
}

static void all_is_there(const struct region *r, uint32_t key)
{
	struct table_facts facts = table_compare(r, key);

	CHECK_EQ(facts.differ, 0);
	CHECK_EQ(facts.bytes, r->buf->length);
	/* A page in two runs of the table is compared twice. */
	CHECK(facts.pages >= pages_of(r->buf));
}

/* The table of a pinned region has each page of the process, and no other. */
static void pinned(const void *with)
{
	const struct memory_kind *kind = with;
	/* The kernel pins pages of files for reading only. */
	int access = kind == &memory_file ? 0 : ALL_ACCESS;
	size_t length, offset;
	struct region r;
	struct buf *buf;
	int round;

	need_tables();
	for (round = 0; round < 8; round++) {
		length = rnd_in(1, 300000);
		offset = rnd_below(PAGE);
		context("%zu bytes at %zu", length, offset);
		buf = memory_new(kind, length, offset);
		r = region_reg(dev.pd, buf, access);
		all_is_there(&r, r.lkey);
		all_is_there(&r, r.rkey);
		CHECK_EQ(ibv_dereg_mr(r.mr), 0);
		memory_free(kind, buf);
	}
}

/* Pages that the process no longer has are found in the table, until it registers again. */
static void wrong(void)
{
	struct region r;
	struct table_facts facts;
	int tries = 0;

	need_tables();
	r = region_new(20 * PAGE, 300, ALL_ACCESS);
	all_is_there(&r, r.lkey);
	/* The process gets other pages with the same contents: transfers cannot show that. */
	buf_replace(r.buf, 5 * PAGE - 300, 3 * PAGE);
	memcpy(r.buf->data + 5 * PAGE - 300, r.buf->want + 5 * PAGE - 300,
	       3 * PAGE);
	/* A page that the kernel tries to migrate just now is absent for a moment. */
	do {
		facts = table_compare(&r, r.lkey);
	} while (facts.absent && ++tries < 100);
	CHECK_EQ(facts.differ, 3);
	/* What is pinned is wrong at once, even if it were right a moment later. */
	CHECK_EQ(facts.looks, 1);
	CHECK_EQ(facts.first, 5 * PAGE - 300);
	CHECK_EQ(facts.bytes, 20 * PAGE);
	/* After rereg the table has the new pages. */
	region_rereg(&r, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, r.buf, 0);
	all_is_there(&r, r.lkey);
	region_free(&r);
}

/* A page is in the table once it was written to, and not any more after it was dropped. */
static void on_demand(void)
{
	struct region r, local;
	struct table_facts facts;
	struct link link;

	need_tables();
	need_odp();
	link_make(&link, NULL);
	local = region_new(7 * PAGE, 5, ALL_ACCESS);
	r = region_new(7 * PAGE, 0, ODP_ALL);
	facts = table_compare(&r, r.rkey);
	CHECK_EQ(facts.bytes, 0);
	check_write(&link, &local, 0, &r, 0, 7 * PAGE);
	all_is_there(&r, r.rkey);
	buf_drop(r.buf, 2 * PAGE, PAGE);
	facts = table_compare(&r, r.rkey);
	CHECK_EQ(facts.differ, 0);
	CHECK_EQ(facts.bytes, 6 * PAGE);
	region_free(&r);
	region_free(&local);
}

/* Write at most where the process may: a table on demand says of each page which it is. */
static void rights(void)
{
	struct region r, local;
	struct table_facts facts;
	struct link link;

	need_tables();
	need_odp();
	link_make(&link, NULL);
	local = region_new(7 * PAGE, 5, ALL_ACCESS);
	r = region_private(7 * PAGE, 0, ODP_ALL);
	check_write(&link, &local, 0, &r, 0, 7 * PAGE);
	facts = table_compare(&r, r.rkey);
	CHECK_EQ(facts.writable, 7);
	CHECK_EQ(facts.too_writable, 0);
	CHECK_EQ(mprotect(r.buf->data + 2 * PAGE, 3 * PAGE, PROT_READ), 0);
	check_read(&link, &local, 0, &r, 0, 7 * PAGE);
	facts = table_compare(&r, r.rkey);
	CHECK_EQ(facts.bytes, 7 * PAGE);
	CHECK_EQ(facts.differ, 0);
	CHECK_EQ(facts.writable, 4);
	CHECK_EQ(facts.too_writable, 0);
	region_free(&r);
	/* Pinned memory stays as it was pinned; so what is too much is seen. */
	r = region_private(7 * PAGE, 0, ALL_ACCESS);
	CHECK_EQ(mprotect(r.buf->data + 2 * PAGE, 3 * PAGE, PROT_READ), 0);
	facts = table_compare(&r, r.rkey);
	CHECK_EQ(facts.differ, 0);
	CHECK_EQ(facts.writable, 7);
	CHECK_EQ(facts.too_writable, 3);
	region_free(&r);
	region_free(&local);
}

/* An implicit region: the part of its table that covers the buffer. */
static void all_of_memory(void)
{
	struct buf *buf;
	struct region r, local;
	struct link link;

	need_tables();
	need_odp();
	link_make(&link, NULL);
	local = region_new(5 * PAGE, 5, ALL_ACCESS);
	buf = buf_new(5 * PAGE, 0);
	r = region_of(buf, MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL)),
		      (uintptr_t)buf->data);
	check_write(&link, &local, 0, &r, 0, 5 * PAGE);
	all_is_there(&r, r.rkey);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	buf_free(buf);
	region_free(&local);
}

static const struct test tests[] = {
	TEST_WITH(pinned, &memory_anonymous,
		  "TB1 a table has the process's pages, anonymous memory"),
	TEST_WITH(pinned, &memory_shared,
		  "TB1 a table has the process's pages, shared memory"),
	TEST_WITH(pinned, &memory_file,
		  "TB1 a table has the process's pages, a file"),
	TEST_WITH(pinned, &memory_file_private,
		  "TB1 a table has the process's pages, a private file"),
	TEST(wrong, "TB2 one that is not the process's page is found"),
	TEST(on_demand, "TB3 a table on demand has what is there"),
	TEST(rights, "TB5 the device writes where the process may"),
	TEST(all_of_memory, "TB4 a region of all memory likewise"),
};

HARNESS_MAIN("translation tables", tests)
