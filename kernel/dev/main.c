// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The module: parameters, init and exit. Devices are created by `rdma link add' (link.c).
 */
#include <linux/module.h>
#include <pinion/version.h>
#include <rdma/rdma_netlink.h>

#include "../mem/sleepers.h"
#include "../wire/wire.h"
#include "dev.h"

/* Programs may choose features by vendor_id and vendor_part_id. */
u32 pinion_vendor_id = 0x50494e;
module_param_named(vendor_id, pinion_vendor_id, uint, 0644);
MODULE_PARM_DESC(vendor_id, "vendor_id that devices made from now on report (default 0x50494e)");

u32 pinion_vendor_part_id = 1;
module_param_named(vendor_part_id, pinion_vendor_part_id, uint, 0644);
MODULE_PARM_DESC(vendor_part_id, "vendor_part_id likewise (default 1)");

u32 pinion_wire_wanted;
module_param_named(wire, pinion_wire_wanted, uint, 0644);
MODULE_PARM_DESC(wire, "Devices of type pinion made from now on send RoCEv2 packets: 0 none (default), 1 to other hosts and network namespaces, 2 also within one");

/* If no parent can be made here, let modprobe fail, not each `rdma link add' later. */
static int __init parent_prove(void)
{
	struct device *parent = pinion_parent_create("pinion", false);

	if (IS_ERR(parent))
		return PTR_ERR(parent);
	pinion_parent_destroy(parent);
	return 0;
}

static int __init pinion_init(void)
{
	int err;

	err = parent_prove();
	if (err)
		return err;
	err = pinion_sleepers_init();
	if (err)
		return err;
	err = pinion_wire_init();
	if (err)
		goto err_sleepers;
	err = pinion_netdev_init();
	if (err)
		goto err_wire;
	pinion_debugfs_init();
	err = pinion_link_register();
	if (err)
		goto err_debugfs;
	return 0;

err_debugfs:
	pinion_debugfs_exit();
	pinion_netdev_exit();
err_wire:
	pinion_wire_exit();
err_sleepers:
	pinion_sleepers_exit();
	return err;
}

static void __exit pinion_exit(void)
{
	pinion_link_unregister();
	pinion_kin_end();
	pinion_netdev_exit();
	pinion_wire_exit();
	pinion_debugfs_exit();
	/* Last: it runs the work that frees what sleepers (mem/sleepers.h) kept. */
	pinion_sleepers_exit();
}

module_init(pinion_init);
module_exit(pinion_exit);

MODULE_AUTHOR("The pinion authors");
MODULE_DESCRIPTION("Software RDMA device with complete memory registration");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(PINION_VERSION);
MODULE_ALIAS_RDMA_LINK("pinion");
MODULE_ALIAS_RDMA_LINK("pinion-loop");
MODULE_ALIAS_RDMA_LINK("pinion-auto");
MODULE_ALIAS_RDMA_LINK("pinion-wire");
MODULE_ALIAS_RDMA_LINK("pinion-mlx5");
