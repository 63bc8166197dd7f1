// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The core maintains the GID table. Each entry is added to the addresses by which peers find the
 * node (path/peers.c).
 */
#include <rdma/ib_cache.h>

#include "dev.h"

static int gid_add(const struct ib_gid_attr *attr, void **context)
{
	struct pinion_node *node = &to_pinion_dev(attr->device)->node;
	u16 vlan;
	int err;

	/* The address may belong to a VLAN netdev on top of ours. */
	err = rdma_read_gid_l2_fields(attr, &vlan, NULL);
	if (err)
		return err;
	*context = pinion_peers_add(node, &attr->gid, vlan);
	return *context ? 0 : -ENOMEM;
}

static int gid_del(const struct ib_gid_attr *attr, void **context)
{
	pinion_peers_del(*context);
	*context = NULL;
	return 0;
}

const struct ib_device_ops pinion_gid_ops = {
	.add_gid = gid_add,
	.del_gid = gid_del,
};
