// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads memory of the model as the device sees it, and compares: of regions, and of what a message
 * that failed may have written.
 */
#define _GNU_SOURCE
#include <string.h>

#include "scatter.h"
#include "table.h"

enum { LOOK_LEN = PAGES * PAGE };

static struct buf *buf;
static struct region scratch[LASTING];

void look_set_up(void)
{
	int i;

	buf = buf_new(LOOK_LEN, 0);
	for (i = 0; i < LASTING; i++)
		scratch[i] = region_reg(pds[i], buf, ALL_ACCESS);
}

static void fetch_by(struct end *end, const struct place *place,
		     uint32_t length, const struct region *to)
{
	struct ibv_sge sge = { place->addr, length, place->region->lkey };

	expect(rdma(end, IBV_WR_RDMA_WRITE, sge, to->base, to->rkey),
	       IBV_WC_SUCCESS);
}

/* No queue pair stays in a domain that may end, so one is made for this message. */
static void fetch_elsewhere(const struct place *place, uint32_t length)
{
	struct ibv_pd *pd = pds[place->region->pd];
	struct qp_cfg cfg = { .pd = pd };
	struct region to;
	struct link link;

	link_make(&link, &cfg);
	to = region_reg(pd, buf, ALL_ACCESS);
	fetch_by(&link.a, place, length, &to);
	CHECK_EQ(ibv_dereg_mr(to.mr), 0);
	link_free(&link);
}

/*
 * One place, read as the device sees it. The bytes are there until the next call. Of memory on demand,
 * which the process sees, rxe would take other bytes.
 */
static const uint8_t *look_fetch(struct place place, uint32_t length)
{
	const struct model_region *r = place.region;

	if (region_on_demand(r) && !dev.pinion) {
		memcpy(buf->data, r->space->map + r->at + place.off, length);
		return buf->data;
	}
	place.addr = r->base + place.off;
	/* The first links are in one domain each. */
	if (r->pd < LASTING)
		fetch_by(&links[r->pd].a, &place, length, &scratch[r->pd]);
	else
		fetch_elsewhere(&place, length);
	return buf->data;
}

/* ----------------------------------------------------------- after an error */

/* Nobody knows what a null region was given: take it for right. */
static void fetch_all(const struct scatter *s, const uint8_t *fresh,
		      uint8_t *before, uint8_t *got, uint32_t length)
{
	const struct place *place;
	uint32_t some;

	for (place = s->at; length; place++) {
		some = place->length < length ? place->length : length;
		if (place->region->kind == REGION_NULL) {
			memcpy(before, fresh, some);
			memcpy(got, fresh, some);
		} else {
			place_gather(place, before, some);
			memcpy(got, look_fetch(*place, some), some);
		}
		before += some;
		got += some;
		fresh += some;
		length -= some;
	}
}

void look_settle(const struct scatter *s, const uint8_t *fresh, uint32_t length,
		 bool whole)
{
	uint8_t before[MOST], got[MOST];
	uint32_t same = 0;

	fetch_all(s, fresh, before, got, length);
	while (same < length && got[same] == fresh[same])
		same++;
	if (whole && same < length)
		same = 0;
	if (memcmp(got + same, before + same, length - same))
		FAIL("not all of the bytes behind the first %u of %u are as before",
		     same, length);
	scatter_put(s, got, length);
}

/* ---------------------------------------------------------- at whole regions */

/* Is this page of the region the one that the process has there, and can read? */
static bool is_visible(const struct model_region *r, uint64_t off,
		       uint32_t *within)
{
	uint64_t page = (r->at + off) / PAGE;
	const struct frame *frame = region_frame(r, off, false, within);

	return frame && frame == r->space->page[page].frame &&
	       memory_allows(r->space, page * PAGE, 1, false);
}

/*
 * Bytes of a region that the process has, too: the table has the process's pages, of pinned memory
 * all. Only on demand does it follow what the process may do.
 */
static void check_run(const struct model_region *r, uint64_t off,
		      uint64_t length)
{
	struct buf run = { .data = r->space->map + r->at + off,
			   .length = length };
	struct region region = { .buf = &run,
				 .base = r->base + off,
				 .pinned = !region_on_demand(r) };
	struct table_facts facts = table_compare(&region, r->lkey);

	CHECK_EQ(facts.differ, 0);
	if (region.pinned)
		CHECK_EQ(facts.bytes, length);
	else
		CHECK_EQ(facts.too_writable, 0);
	counts->entries[region.pinned] += facts.pages;
}

static void check_table(const struct model_region *r)
{
	uint64_t off, from = 0;
	uint32_t within;
	bool visible;

	if (r->kind != REGION_USER || !table_is_readable())
		return;
	for (off = 0; off < r->length; off += PAGE - within) {
		/* If there is no page, the next one begins there all the same. */
		within = (r->at + off) % PAGE;
		visible = is_visible(r, off, &within);
		if (!visible && off > from)
			check_run(r, from, off - from);
		if (!visible)
			from = off + PAGE - within;
	}
	if (from < r->length)
		check_run(r, from, r->length - from);
}

/* Read what there is of a region from its start, also what the process sees no more. */
bool look_at(const struct model_region *r, uint32_t part)
{
	uint8_t want[LOOK_LEN];
	uint64_t first, room, i;
	const uint8_t *got;
	struct place place;

	if (!r->mr || r->kind == REGION_NULL)
		return false;
	region_span(r, part, &first, &room);
	place = place_in_region(r, first, room, r->pd, 0, false, false);
	tell("region %d is read: %u of %u bytes", (int)(r - regions),
	     place.good, place.length);
	check_table(r);
	if (!place.good)
		return false;
	place_gather(&place, want, place.good);
	got = look_fetch(place, place.good);
	for (i = 0; i < place.good; i++)
		if (got[i] != want[i])
			FAIL("from byte %lu on it has other contents", i);
	/* With what this message has brought. */
	check_table(r);
	return true;
}

void call_look(const uint32_t *n)
{
	counts->done[LOOK] += look_at(&regions[n[0] % REGIONS], n[1]);
}

void look_at_all(void)
{
	uint32_t i;

	for (i = 0; i < REGIONS; i++)
		look_at(&regions[i], i);
}
