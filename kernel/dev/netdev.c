// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Follows the netdev of a device: its state, MTU, MAC, links, and its removal.
 */
#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <rdma/ib_addr.h>

#include "../compat/compat.h"
#include "dev.h"

/* The peer of a veth, netkit and the like, or NULL. RTNL is held, so the peer cannot be removed. */
static struct net_device *netdev_peer(struct net_device *ndev)
{
	struct net_device *peer = NULL;

	rcu_read_lock();
	if (ndev->netdev_ops->ndo_get_peer_dev)
		peer = ndev->netdev_ops->ndo_get_peer_dev(ndev);
	rcu_read_unlock();
	return peer;
}

static struct net_device *netdev_bridge(struct net_device *ndev)
{
	struct net_device *master = netdev_master_upper_dev_get(ndev);

	return master && netif_is_bridge_master(master) ? master : NULL;
}

/*
 * Two netdevs are joined if they have an end in common: themselves, their bridges, and the same of
 * their peers. A loopback has none.
 */
static void netdev_find_ends(struct net_device *ndev, struct pinion_link *link)
{
	struct net_device *peer = netdev_peer(ndev);

	if (ndev->flags & IFF_LOOPBACK)
		return;
	link->ends[0] = ndev;
	link->ends[1] = netdev_bridge(ndev);
	link->ends[2] = peer;
	link->ends[3] = peer ? netdev_bridge(peer) : NULL;
}

void pinion_netdev_refresh(struct pinion_dev *dev, struct net_device *ndev)
{
	/* iboe_get_mtu() leaves room for RoCE headers; 0: too small even for 256. */
	enum ib_mtu mtu = iboe_get_mtu(ndev->mtu) ?: IB_MTU_256;
	struct pinion_link link = {
		.mac = ether_addr_to_u64(ndev->dev_addr),
		.net = dev_net(ndev)->net_cookie,
		.ifindex = ndev->ifindex,
		.mtu = ib_mtu_enum_to_int(mtu),
		.up = pinion_port_state(dev, ndev) == IB_PORT_ACTIVE,
	};

	ASSERT_RTNL();
	WRITE_ONCE(dev->active_mtu, mtu);
	netdev_find_ends(ndev, &link);
	pinion_peers_set_link(&dev->node, &link);
}

static void netdev_catch_up(struct ib_device *ibdev, struct net_device *ndev, const struct net *net)
{
	struct pinion_dev *dev = to_pinion_dev(ibdev);

	if (ndev->reg_state != NETREG_REGISTERED || !net_eq(dev_net(ndev), net)) {
		ib_unregister_device_queued(ibdev);
		return;
	}
	pinion_netdev_refresh(dev, ndev);
	/* Raise no event if the state is as it was when the device was created. */
	if (pinion_port_state(dev, ndev) != dev->state)
		pinion_port_notify(dev, ndev);
}

void pinion_netdev_catch_up(struct net_device *ndev, const struct net *net)
{
	struct ib_device *ibdev;

	rtnl_lock();
	ibdev = pinion_kin_find(ndev);
	if (ibdev) {
		netdev_catch_up(ibdev, ndev, net);
		ib_device_put(ibdev);
	}
	rtnl_unlock();
}

/* The links of @ndev have changed: update its device, if it has one. @ndev may be NULL. */
static void netdev_rejoin(struct net_device *ndev)
{
	struct ib_device *ibdev = ndev ? pinion_kin_find(ndev) : NULL;

	if (!ibdev)
		return;
	pinion_netdev_refresh(to_pinion_dev(ibdev), ndev);
	ib_device_put(ibdev);
}

static int netdev_notify(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(arg);
	struct ib_device *ibdev;

	if (event == NETDEV_CHANGEUPPER) {
		netdev_rejoin(ndev);
		netdev_rejoin(netdev_peer(ndev));
		return NOTIFY_DONE;
	}
	ibdev = pinion_kin_find(ndev);
	if (!ibdev)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UNREGISTER:
		/* Queued: RTNL is held here, and consumers take it when they detach. */
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
	.notifier_call = netdev_notify,
};

int pinion_netdev_init(void)
{
	return register_netdevice_notifier(&notifier);
}

void pinion_netdev_exit(void)
{
	unregister_netdevice_notifier(&notifier);
}
