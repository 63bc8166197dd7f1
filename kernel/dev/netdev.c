// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The netdev below a device changes, or goes: the device follows. Never sends.
 */
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <rdma/ib_addr.h>

#include "../compat/compat.h"
#include "dev.h"

void pinion_netdev_refresh(struct pinion_dev *dev, struct net_device *ndev)
{
	/* What RoCE headers leave of it; 0 if that is less than the least. */
	enum ib_mtu mtu = iboe_get_mtu(ndev->mtu) ?: IB_MTU_256;

	ASSERT_RTNL();
	WRITE_ONCE(dev->active_mtu, mtu);
	pinion_node_set_link(&dev->node, ndev->dev_addr, ib_mtu_enum_to_int(mtu),
			     pinion_port_state(ndev) == IB_PORT_ACTIVE);
}

static struct ib_device *find(struct net_device *ndev)
{
	return ib_device_get_by_netdev(ndev, (enum rdma_driver_id)PINION_DRIVER_ID);
}

static void catch_up(struct ib_device *ibdev, struct net_device *ndev, const struct net *net)
{
	struct pinion_dev *dev = to_pinion_dev(ibdev);

	if (ndev->reg_state != NETREG_REGISTERED || !net_eq(dev_net(ndev), net)) {
		ib_unregister_device_queued(ibdev);
		return;
	}
	pinion_netdev_refresh(dev, ndev);
	/* Nobody is to hear of a port that is as it was said to be. */
	if (pinion_port_state(ndev) != dev->state)
		pinion_port_notify(dev, ndev);
}

void pinion_netdev_catch_up(struct net_device *ndev, const struct net *net)
{
	struct ib_device *ibdev;

	rtnl_lock();
	ibdev = find(ndev);
	if (ibdev) {
		catch_up(ibdev, ndev, net);
		ib_device_put(ibdev);
	}
	rtnl_unlock();
}

static int notify(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(arg);
	struct ib_device *ibdev = find(ndev);

	if (!ibdev)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UNREGISTER:
		/* Not here: RTNL is held, and consumers need it to let go. */
		ib_unregister_device_queued(ibdev);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
	case NETDEV_CHANGEADDR:
		pinion_netdev_refresh(to_pinion_dev(ibdev), ndev);
		pinion_port_notify(to_pinion_dev(ibdev), ndev);
		break;
	}
	ib_device_put(ibdev);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = {
	.notifier_call = notify,
};

int pinion_netdev_init(void)
{
	return register_netdevice_notifier(&notifier);
}

void pinion_netdev_exit(void)
{
	unregister_netdevice_notifier(&notifier);
}
