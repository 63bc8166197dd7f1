// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * qp, cq, srq: list queues in short or in full.
 */
#include <string.h>

#include "ctl.h"
#include "facts.h"
#include "object.h"

/* The kind of queue that is being listed, and its name. */
static const struct object *object;
static const char *called;

struct listing {
	const struct selection *selection;
	bool full;
	unsigned long num;
};

static void one(const struct device *device, struct row *row, void *arg)
{
	struct listing *listing = arg;

	if (listing->full)
		facts_of_queue(device, called, row);
	if (!selection_has(listing->selection, row))
		return;
	out_row(row);
	listing->num++;
}

static int all(enum layout layout, char **words)
{
	struct selection selection = selection_of(words);
	struct listing listing = { .selection = &selection,
				   .full = layout == LAYOUT_BLOCKS };

	out_begin(layout, object_columns(object));
	objects_each(object, &selection, one, &listing);
	out_end();
	return listing.num || !*selection.pairs ? EXIT_GOOD : EXIT_FOUND;
}

static int list(char **words)
{
	return all(LAYOUT_TABLE, words);
}

static int show(char **words)
{
	return all(LAYOUT_BLOCKS, words);
}

static int list_watched(char **words)
{
	return watch(list, words);
}

static int show_watched(char **words)
{
	return watch(show, words);
}

int object_command(const char *name, char **words)
{
	static const struct part parts[] = {
		{ "list", list_watched },
		{ "show", show_watched },
		{},
	};

	called = name;
	object = object_named(name);
	if (!object)
		die("there is no command `%s'; see --help", name);
	return part_run(name, parts, words);
}
