// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which peers of a device are reached by packets: chosen when the device is created, by the type
 * of its link or by the module parameter `wire', and shown in the device's sysfs directory.
 */
#include <linux/device.h>

#include "../wire/wire.h"
#include "dev.h"

/* A netdev of @net that has a device of rdma_rxe, or NULL. Under RCU, which keeps it. */
static const struct net_device *wire_rxe_netdev(struct net *net)
{
	struct net_device *ndev;
	struct ib_device *rxe;

	for_each_netdev_rcu(net, ndev) {
		rxe = ib_device_get_by_netdev(ndev, RDMA_DRIVER_RXE);
		if (!rxe)
			continue;
		ib_device_put(rxe);
		return ndev;
	}
	return NULL;
}

/*
 * Log that the device @name has no engine to other hosts, the @result, and why: @err, in @net.
 * Older rdma_rxe has the port of the initial namespace only, wherever its devices are.
 */
static void wire_complain(const char *name, struct net *net, int err, const char *result)
{
	const struct net_device *rxe;

	if (err != -EADDRINUSE) {
		pr_warn("pinion: %s: %s (%d)\n", name, result, err);
		return;
	}
	guard(rcu)();
	rxe = wire_rxe_netdev(net);
	if (rxe)
		pr_warn("pinion: %s: %s: UDP port 4791 is rdma_rxe's there, it seems (on %s)\n",
			name, result, rxe->name);
	else
		pr_warn("pinion: %s: %s: UDP port 4791 is another's there (ss -lunp)\n",
			name, result);
}

/*
 * Open the engine to other hosts. If that fails, for example because the UDP port is in use, the
 * device reaches its own network namespace only, unless the type of its link requires packets.
 */
int pinion_dev_open_wire(struct pinion_dev *dev, const char *name, struct net *net,
			 struct pinion_wire_choice choice)
{
	int err;

	if (choice.peers == PINION_WIRE_NONE)
		return 0;
	dev->node.wire = pinion_wire_open(net, &err);
	if (dev->node.wire) {
		dev->node.others = &pinion_wire_engine;
		dev->node.all_others = choice.peers > PINION_WIRE_OTHERS;
		return 0;
	}
	if (choice.must) {
		wire_complain(name, net, err, "refused");
		return err;
	}
	dev->node.lacks_others = true;
	wire_complain(name, net, err, "reaches its own network namespace only");
	return 0;
}

/* Show which peers are reached by packets, as a value of the module parameter `wire'. */
static ssize_t wire_show(struct device *device, struct device_attribute *attr, char *page)
{
	struct pinion_dev *dev = rdma_device_to_drv_device(device, struct pinion_dev, ibdev);
	enum pinion_wire_peers peers = PINION_WIRE_NONE;

	if (dev->node.others)
		peers = dev->node.all_others ? PINION_WIRE_ALL : PINION_WIRE_OTHERS;
	return sysfs_emit(page, "%d\n", peers);
}

static DEVICE_ATTR_RO(wire);

static struct attribute *wire_attributes[] = {
	&dev_attr_wire.attr,
	NULL,
};

static const struct attribute_group wire_attribute_group = {
	.attrs = wire_attributes,
};

const struct ib_device_ops pinion_sysfs_ops = {
	.device_group = &wire_attribute_group,
};
