// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * stat: prints the counters of each port or, while watching, the increase of each per second.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "object.h"

/* The previous values, in the same order unless a device was added or removed. */
struct before {
	struct row *ports;
	int num;
};

static struct before before;

static void port_visit(const struct attrs *attrs, void *arg)
{
	row_counters(arg, attrs->at[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS]);
}

static int port_counters(const struct device *device, uint32_t port,
			 struct row *row)
{
	const struct question question = {
		.command = RDMA_NLDEV_CMD_STAT_GET,
		.num = 2,
		.with = { { RDMA_NLDEV_ATTR_DEV_INDEX, device->index },
			  { RDMA_NLDEV_ATTR_PORT_INDEX, port } },
	};

	row_text(row, "dev", device->name);
	row_number(row, "port", port);
	return netlink_ask(&question, port_visit, row);
}

static const struct row *port_before(const struct row *row)
{
	const struct field *dev = row_find(row, "dev");
	int i;

	for (i = 0; i < before.num; i++)
		if (row_has(&before.ports[i], "dev", dev->text) &&
		    row_value(&before.ports[i], "port") ==
			    row_value(row, "port"))
			return &before.ports[i];
	return NULL;
}

/* Print each counter as a row that begins with the fields of its port. */
static bool stat_port(const struct row *row, const struct selection *selection)
{
	const struct row *last = watch_seconds ? port_before(row) : NULL;
	struct row one = {};
	bool found = false;
	int i;

	for (i = 2; i < row->num; i++) {
		const struct field *field = &row->fields[i];

		row_clear(&one);
		row_text(&one, "dev", row->fields[0].text);
		row_number(&one, "port", row->fields[1].number);
		row_text(&one, "counter", field->name);
		row_number(&one, "value", field->number);
		if (last && row_find(last, field->name))
			row_number(
				&one, "per_second",
				(field->number - row_value(last, field->name)) /
					watch_seconds);
		if (!selection_has(selection, &one))
			continue;
		out_row(&one);
		found = true;
	}
	row_clear(&one);
	free(one.fields);
	return found;
}

static void keep(struct row *ports, int num)
{
	while (before.num--) {
		row_clear(&before.ports[before.num]);
		free(before.ports[before.num].fields);
	}
	free(before.ports);
	before = (struct before){ .ports = ports, .num = num };
}

static int stat_list(char **words)
{
	static const struct column once[] = {
		{ "dev", -8 },
		{ "port", 4 },
		{ "counter", -24 },
		{ "value", 20 },
		{},
	};
	static const struct column again[] = {
		{ "dev", -8 },	 { "port", 4 },	       { "counter", -24 },
		{ "value", 20 }, { "per_second", 12 }, {},
	};
	struct selection selection = selection_of(words);
	struct device one, *all = NULL;
	struct row *ports = NULL;
	int i, num = 1, found = 0, many = 0;
	uint32_t port;

	if (selection.device)
		one = device_named(selection.device);
	else
		all = devices_all(&num);
	out_begin(LAYOUT_TABLE, watch_seconds ? again : once);
	for (i = 0; i < num; i++) {
		const struct device *device = all ? &all[i] : &one;

		for (port = 1; port <= device->ports; port++) {
			ports = need(
				realloc(ports, (many + 1) * sizeof(*ports)));
			ports[many] = (struct row){};
			/* Some drivers have no counters. */
			if (!port_counters(device, port, &ports[many]))
				found += stat_port(&ports[many], &selection);
			many++;
		}
	}
	out_end();
	keep(ports, many);
	free(all);
	return found || !*selection.pairs ? EXIT_GOOD : EXIT_FOUND;
}

int stat_command(char **words)
{
	return watch(stat_list, words);
}
