// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Devices are created by `rdma link add'. They are removed by `rdma link del', together with their
 * netdev, or when the module is unloaded.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/rdma_netlink.h>

#include "../compat/compat.h"
#include "../mem/table.h"
#include "../wire/wire.h"
#include "dev.h"

/* Held from the check whether @ndev has a device until there is one. */
static DEFINE_MUTEX(link_lock);

/* Called by the core as the last op, also if the device was never registered. */
static void link_dealloc_driver(struct ib_device *ibdev)
{
	struct pinion_dev *dev = to_pinion_dev(ibdev);

	pinion_kin_leave(dev);
	pinion_debugfs_del(dev);
	pinion_force_end(dev);
	if (dev->node.wire)
		pinion_wire_close(dev->node.wire);
	pinion_node_destroy(&dev->node);
	pinion_parent_destroy(dev->data_direct);
	pinion_parent_destroy(dev->parent);
	WARN_ON(!ida_is_empty(&dev->pdns));
	ida_destroy(&dev->pdns);
	WARN_ON(!pinion_table_is_empty(&dev->pds));
	xa_destroy(&dev->pds);
	pinion_umems_destroy(&dev->umems);
	WARN_ON(!pinion_table_is_empty(&dev->devx_rmps));
	xa_destroy(&dev->devx_rmps);
	WARN_ON(!pinion_table_is_empty(&dev->devx_cqs));
	xa_destroy(&dev->devx_cqs);
	WARN_ON(!pinion_table_is_empty(&dev->devx_uars));
	xa_destroy(&dev->devx_uars);
	pinion_counts_end(dev);
}

/* Called on registration, and again when the device has moved to another network namespace. */
static int link_enable_driver(struct ib_device *ibdev)
{
	pinion_debugfs_add(to_pinion_dev(ibdev));
	return 0;
}

/* To be told of new names, which drivers are not told of, clients say of which devices. */
static int link_is_ours(struct ib_device *ibdev)
{
	return ibdev->ops.enable_driver == link_enable_driver ? 0 : -EOPNOTSUPP;
}

static void link_renamed(struct ib_device *ibdev, void *unused)
{
	pinion_debugfs_renamed(to_pinion_dev(ibdev));
}

static struct ib_client link_client = {
	.name = "pinion",
	.add = link_is_ours,
	.rename = link_renamed,
};

static const struct ib_device_ops link_ops = {
	.dealloc_driver = link_dealloc_driver,
	.enable_driver = link_enable_driver,
};

/* Set what does not change later. */
static void link_identify(struct pinion_dev *dev, const struct net_device *ndev)
{
	struct ib_device *ibdev = &dev->ibdev;
	u8 mac[ETH_ALEN];

	ether_addr_copy(mac, ndev->dev_addr);
	/* A loopback netdev has no MAC, but connection managers need a GUID. */
	if (is_zero_ether_addr(mac))
		eth_random_addr(mac);
	addrconf_addr_eui48((u8 *)&dev->guid, (const char *)mac);

	dev->vendor_id = READ_ONCE(pinion_vendor_id);
	dev->vendor_part_id = READ_ONCE(pinion_vendor_part_id);
	dev->state = pinion_port_state(dev, ndev);

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->node_guid = dev->guid;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	ibdev->dev.parent = dev->parent;
	strscpy(ibdev->node_desc, "pinion", sizeof(ibdev->node_desc));
	ib_mark_name_assigned_by_user(ibdev);
}

/* After success ib_dealloc_device() undoes everything, through link_dealloc_driver(). */
static int link_construct(struct pinion_dev *dev, bool is_mlx5)
{
	int err;

	dev->is_mlx5 = is_mlx5;
	INIT_LIST_HEAD(&dev->list);

	dev->parent = pinion_parent_create("pinion", is_mlx5);
	if (IS_ERR(dev->parent))
		return PTR_ERR(dev->parent);
	dev->data_direct = pinion_parent_create("pinion-data-direct", false);
	if (IS_ERR(dev->data_direct)) {
		err = PTR_ERR(dev->data_direct);
		goto err_destroy_parent;
	}
	err = pinion_node_init(&dev->node, &dev->ibdev);
	if (err)
		goto err_destroy_data_direct;
	ida_init(&dev->pdns);
	xa_init_flags(&dev->pds, XA_FLAGS_ACCOUNT);
	pinion_umems_init(&dev->umems);
	xa_init_flags(&dev->devx_cqs, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->devx_rmps, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->devx_uars, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&dev->users);
	mutex_init(&dev->users_lock);

	pinion_verbs_set_ops(dev);
	ib_set_device_ops(&dev->ibdev, &pinion_gid_ops);
	ib_set_device_ops(&dev->ibdev, &pinion_restrack_ops);
	ib_set_device_ops(&dev->ibdev, &pinion_sysfs_ops);
	ib_set_device_ops(&dev->ibdev, &link_ops);
	return 0;

err_destroy_data_direct:
	pinion_parent_destroy(dev->data_direct);
err_destroy_parent:
	pinion_parent_destroy(dev->parent);
	return err;
}

/* What `rdma link add' says by its type. */
struct link_choice {
	bool is_mlx5;
	struct pinion_wire_choice wire;
};

static int link_add(const char *name, struct net_device *ndev, const struct link_choice *choice)
{
	struct pinion_dev *dev = pinion_alloc_device(dev_net(ndev));
	int err;

	if (!dev)
		return -ENOMEM;
	err = link_construct(dev, choice->is_mlx5);
	if (err)
		goto err_dealloc;
	link_identify(dev, ndev);
	rtnl_lock();
	pinion_netdev_refresh(dev, ndev);
	rtnl_unlock();
	err = pinion_dev_open_wire(dev, name, dev_net(ndev), choice->wire);
	if (err)
		goto err_dealloc;
	/* During registration the core adds GIDs, so peers may reach the device already. */
	err = ib_device_set_netdev(&dev->ibdev, ndev, 1);
	if (err)
		goto err_dealloc;
	pinion_kin_join(dev, ndev);
	err = ib_register_device(&dev->ibdev, name, dev->parent);
	if (err)
		goto err_dealloc;
	/* Now it may be removed at any time: @dev must not be used any more. */
	return 0;

err_dealloc:
	ib_dealloc_device(&dev->ibdev);
	return err;
}

static bool link_name_is_taken(struct net_device *ndev)
{
	struct ib_device *ibdev;

	ibdev = pinion_kin_find(ndev);
	if (ibdev)
		ib_device_put(ibdev);
	return ibdev;
}

static int link_new(const char *name, struct net_device *ndev, struct link_choice choice)
{
	const struct net *net = dev_net(ndev);
	int err;

	/* The addresses of a VLAN belong to the device of its lower netdev. */
	if (is_vlan_dev(ndev))
		return -EPERM;
	if (ndev->type != ARPHRD_ETHER && ndev->type != ARPHRD_LOOPBACK)
		return -EOPNOTSUPP;
	mutex_lock(&link_lock);
	err = link_name_is_taken(ndev) ? -EEXIST : link_add(name, ndev, &choice);
	mutex_unlock(&link_lock);
	if (!err)
		pinion_netdev_catch_up(ndev, net);
	return err;
}

/* As the module parameter says. */
static struct pinion_wire_choice link_wire_by_default(void)
{
	return (struct pinion_wire_choice){ .peers = READ_ONCE(pinion_wire_wanted) };
}

static int link_new_pinion(const char *name, struct net_device *ndev)
{
	return link_new(name, ndev, (struct link_choice){ .wire = link_wire_by_default() });
}

static int link_new_loop(const char *name, struct net_device *ndev)
{
	return link_new(name, ndev, (struct link_choice){ .wire.peers = PINION_WIRE_NONE });
}

/* It has peers on this host even if it cannot have others. */
static int link_new_auto(const char *name, struct net_device *ndev)
{
	return link_new(name, ndev, (struct link_choice){ .wire.peers = PINION_WIRE_OTHERS });
}

static int link_new_wire(const char *name, struct net_device *ndev)
{
	return link_new(name, ndev, (struct link_choice){
		.wire = { .peers = PINION_WIRE_ALL, .must = true },
	});
}

static int link_new_mlx5(const char *name, struct net_device *ndev)
{
	return link_new(name, ndev, (struct link_choice){
		.is_mlx5 = true,
		.wire = link_wire_by_default(),
	});
}

static struct rdma_link_ops link_types[] = {
	{ .type = "pinion",		.newlink = link_new_pinion },
	{ .type = "pinion-loop",	.newlink = link_new_loop },
	{ .type = "pinion-auto",	.newlink = link_new_auto },
	{ .type = "pinion-wire",	.newlink = link_new_wire },
	/* A type of its own, since libibverbs takes such a device for one of mlx5. */
	{ .type = "pinion-mlx5",	.newlink = link_new_mlx5 },
};

int pinion_link_register(void)
{
	int err, i;

	err = ib_register_client(&link_client);
	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(link_types); i++)
		rdma_link_register(&link_types[i]);
	return 0;
}

/* Waits for `rdma link add' commands that are under way. */
void pinion_link_unregister(void)
{
	int i;

	for (i = ARRAY_SIZE(link_types); i--;)
		rdma_link_unregister(&link_types[i]);
	ib_unregister_client(&link_client);
}
