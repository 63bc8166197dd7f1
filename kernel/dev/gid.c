// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The core keeps the GID table; the node is told what is in it. Decides nothing.
 */
#include "dev.h"

static int add_gid(const struct ib_gid_attr *attr, void **context)
{
	pinion_node_set_gid(&to_pinion_dev(attr->device)->node, attr->index, &attr->gid);
	return 0;
}

static int del_gid(const struct ib_gid_attr *attr, void **context)
{
	pinion_node_set_gid(&to_pinion_dev(attr->device)->node, attr->index, &zgid);
	return 0;
}

const struct ib_device_ops pinion_gid_ops = {
	.add_gid = add_gid,
	.del_gid = del_gid,
};
