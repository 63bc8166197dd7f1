// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * dev: lists devices, with a line for each port.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "netlink.h"
#include "object.h"
#include "row.h"

static const char *const port_states[] = { "NOP",   "DOWN",   "INIT",
					   "ARMED", "ACTIVE", "ACTIVE_DEFER" };
static const char *const phys_states[] = { "NOP",
					   "SLEEP",
					   "POLLING",
					   "DISABLED",
					   "TRAINING",
					   "LINK_UP",
					   "LINK_ERROR_RECOVERY",
					   "PHY_TEST" };

struct dev {
	struct row row;
	const struct selection *selection;
	unsigned long num;
};

static void row_name(struct row *row, const char *field,
		     const struct nlattr *attr, const char *const *names,
		     size_t num)
{
	uint64_t value;

	if (!attr)
		return;
	value = netlink_number(attr);
	if (value < num)
		row_text(row, field, names[value]);
	else
		row_number(row, field, value);
}

static void row_guid(struct row *row, const char *field,
		     const struct nlattr *attr)
{
	uint64_t guid;
	char *text;

	if (!attr)
		return;
	guid = netlink_number(attr);
	text = print("%04x:%04x:%04x:%04x", (unsigned int)(guid >> 48) & 0xffff,
		     (unsigned int)(guid >> 32) & 0xffff,
		     (unsigned int)(guid >> 16) & 0xffff,
		     (unsigned int)guid & 0xffff);
	row_text(row, field, text);
	free(text);
}

static void row_string(struct row *row, const char *field,
		       const struct nlattr *attr)
{
	if (attr)
		row_text(row, field, mnl_attr_get_str(attr));
}

static void port_visit(const struct attrs *attrs, void *arg)
{
	struct row *row = arg;

	row_name(row, "state", attrs->at[RDMA_NLDEV_ATTR_PORT_STATE],
		 port_states, sizeof(port_states) / sizeof(*port_states));
	row_name(row, "physical", attrs->at[RDMA_NLDEV_ATTR_PORT_PHYS_STATE],
		 phys_states, sizeof(phys_states) / sizeof(*phys_states));
	row_string(row, "netdev", attrs->at[RDMA_NLDEV_ATTR_NDEV_NAME]);
}

static void device_visit(const struct attrs *attrs, void *arg)
{
	struct row *row = arg;

	row_string(row, "protocol", attrs->at[RDMA_NLDEV_ATTR_DEV_PROTOCOL]);
	row_string(row, "fw", attrs->at[RDMA_NLDEV_ATTR_FW_VERSION]);
	row_guid(row, "node_guid", attrs->at[RDMA_NLDEV_ATTR_NODE_GUID]);
	row_guid(row, "sys_image_guid",
		 attrs->at[RDMA_NLDEV_ATTR_SYS_IMAGE_GUID]);
}

static void show_port(struct dev *dev, const struct device *device,
		      uint32_t port)
{
	struct question question = {
		.command = RDMA_NLDEV_CMD_PORT_GET,
		.num = 2,
		.with = { { RDMA_NLDEV_ATTR_DEV_INDEX, device->index },
			  { RDMA_NLDEV_ATTR_PORT_INDEX, port } },
	};

	row_clear(&dev->row);
	row_text(&dev->row, "dev", device->name);
	row_number(&dev->row, "port", port);
	if (netlink_ask(&question, port_visit, &dev->row))
		return;
	question.command = RDMA_NLDEV_CMD_GET;
	question.num = 1;
	if (netlink_ask(&question, device_visit, &dev->row))
		return;
	if (!selection_has(dev->selection, &dev->row))
		return;
	out_row(&dev->row);
	dev->num++;
}

static int dev_list(char **words)
{
	static const struct column columns[] = {
		{ "dev", -8 },	      { "port", 4 },
		{ "state", -6 },      { "physical", -8 },
		{ "netdev", -10 },    { "protocol", -8 },
		{ "node_guid", -19 }, {},
	};
	struct selection selection = selection_of(words);
	struct dev dev = { .selection = &selection };
	struct device one, *all = NULL;
	int i, num = 1;
	uint32_t port;

	if (selection.device)
		one = device_named(selection.device);
	else
		all = devices_all(&num);
	out_begin(LAYOUT_TABLE, columns);
	for (i = 0; i < num; i++) {
		const struct device *device = all ? &all[i] : &one;

		for (port = 1; port <= device->ports; port++)
			show_port(&dev, device, port);
	}
	out_end();
	row_clear(&dev.row);
	free(dev.row.fields);
	free(all);
	return dev.num ? EXIT_GOOD : EXIT_FOUND;
}

int dev_command(char **words)
{
	return watch(dev_list, words);
}
