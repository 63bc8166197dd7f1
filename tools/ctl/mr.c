// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mr: lists memory regions in short, in full, or as they change.
 */
#include <string.h>

#include "ctl.h"
#include "facts.h"
#include "object.h"

/* The raw attributes of the device whose regions are being listed. */
struct listing {
	const struct selection *selection;
	uint32_t index;
	struct facts *facts;
	bool counters;
	unsigned long num;
};

static void counters_visit(const struct attrs *attrs, void *arg)
{
	row_counters(arg, attrs->at[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS]);
}

/* Counters of a region, from any driver that has them. */
static void row_mr_counters(const struct device *device, struct row *row)
{
	const struct question question = {
		.command = RDMA_NLDEV_CMD_STAT_GET,
		.num = 3,
		.with = { { RDMA_NLDEV_ATTR_DEV_INDEX, device->index },
			  { RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_MR },
			  { RDMA_NLDEV_ATTR_RES_MRN, row_value(row, "mrn") } },
	};

	netlink_ask(&question, counters_visit, row);
}

static void list_one(const struct device *device, struct row *row, void *arg)
{
	struct listing *listing = arg;

	if (listing->facts && listing->index != device->index) {
		facts_free(listing->facts);
		listing->facts = NULL;
	}
	if (!listing->facts) {
		listing->index = device->index;
		listing->facts = facts_all(device);
	}
	if (row_find(row, "lkey"))
		facts_find(listing->facts, row_value(row, "lkey"), row);
	if (!selection_has(listing->selection, row))
		return;
	if (listing->counters) {
		row_mr_counters(device, row);
		/* Skip regions without counters. */
		if (!row_find(row, "page_faults"))
			return;
	}
	out_row(row);
	listing->num++;
}

static int list(char **words)
{
	const struct object *object = object_named("mr");
	struct selection selection = selection_of(words);
	struct listing listing = { .selection = &selection };

	out_begin(LAYOUT_TABLE, object_columns(object));
	objects_each(object, &selection, list_one, &listing);
	out_end();
	if (listing.facts)
		facts_free(listing.facts);
	return listing.num || !*selection.pairs ? EXIT_GOOD : EXIT_FOUND;
}

static void show_one(const struct device *device, struct row *row, void *arg)
{
	struct listing *listing = arg;

	facts_of(device, row_value(row, "mrn"), row);
	if (!selection_has(listing->selection, row))
		return;
	row_mr_counters(device, row);
	out_row(row);
	listing->num++;
}

static int show(char **words)
{
	struct selection selection = selection_of(words);
	struct listing listing = { .selection = &selection };

	out_begin(LAYOUT_BLOCKS, NULL);
	objects_each(object_named("mr"), &selection, show_one, &listing);
	out_end();
	return listing.num || !*selection.pairs ? EXIT_GOOD : EXIT_FOUND;
}

static int pages(char **words)
{
	static const struct column columns[] = {
		{ "dev", -8 },
		{ "mrn", 5 },
		{ "lkey", 10 },
		{ "length", 10 },
		{ "entries", 9 },
		{ "page_faults", 11 },
		{ "page_invalidations", 18 },
		{ "page_prefetch", 13 },
		{ "pid", 6 },
		{ "comm", -16 },
		{},
	};
	struct selection selection = selection_of(words);
	struct listing listing = { .selection = &selection, .counters = true };

	out_begin(LAYOUT_TABLE, columns);
	objects_each(object_named("mr"), &selection, list_one, &listing);
	out_end();
	if (listing.facts)
		facts_free(listing.facts);
	return EXIT_GOOD;
}

static int list_watched(char **words)
{
	return watch(list, words);
}

static int show_watched(char **words)
{
	return watch(show, words);
}

/* Always repeated; `mr show' prints the counters once. */
static int pages_watched(char **words)
{
	if (!watch_seconds)
		watch_seconds = 1;
	return watch(pages, words);
}

int mr_command(char **words)
{
	static const struct part parts[] = {
		{ "list", list_watched },
		{ "show", show_watched },
		{ "watch", pages_watched },
		{ "map", mr_map },
		{ "check", mr_check },
		{ "invalidate", mr_invalidate },
		{},
	};

	return part_run("mr", parts, words);
}
