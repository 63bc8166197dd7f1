// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast groups as the network knows them: while a queue pair is a member of a group, so is the
 * netdev of its device. The network stack then tells routers and switches by IGMP or MLD, and hands
 * packets to the group to our sockets.
 */
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>

#include "../path/node.h"
#include "wire.h"

/*
 * One membership; the network stack counts them. It drops all of a netdev's when its IP is shut
 * down, and the netdev may then get a new one, in which we are no members: hence the references.
 */
struct pinion_joined {
	struct in6_addr addr;
	struct in_device *in4;		/* one of the two */
	struct inet6_dev *in6;
};

static int group_join4(struct pinion_joined *joined, struct net_device *ndev)
{
	struct in_device *in4 = __in_dev_get_rtnl(ndev);

	if (!in4)
		return -ENODEV;
	ip_mc_inc_group(in4, joined->addr.s6_addr32[3]);
	in_dev_hold(in4);
	joined->in4 = in4;
	return 0;
}

static int group_join6(struct pinion_joined *joined, struct net_device *ndev)
{
	struct inet6_dev *in6;
	int err;

	if (!IS_ENABLED(CONFIG_IPV6))
		return -EAFNOSUPPORT;
	in6 = in6_dev_get(ndev);
	if (!in6)
		return -ENODEV;
	err = ipv6_dev_mc_inc(ndev, &joined->addr);
	if (err)
		in6_dev_put(in6);
	else
		joined->in6 = in6;
	return err;
}

/* RTNL is held. */
static int group_join(struct pinion_joined *joined, struct net_device *ndev)
{
	return ipv6_addr_v4mapped(&joined->addr) ? group_join4(joined, ndev) :
						   group_join6(joined, ndev);
}

struct pinion_joined *pinion_group_join(struct pinion_node *node, const union ib_gid *mgid)
{
	struct pinion_joined *joined = kzalloc(sizeof(*joined), GFP_KERNEL_ACCOUNT);
	struct net_device *ndev;
	int err = -ENODEV;

	if (!joined)
		return ERR_PTR(-ENOMEM);
	joined->addr = *(const struct in6_addr *)mgid;
	ndev = ib_device_get_netdev(node->ibdev, 1);
	if (ndev) {
		rtnl_lock();
		err = group_join(joined, ndev);
		rtnl_unlock();
		dev_put(ndev);
	}
	if (!err)
		return joined;
	kfree(joined);
	return ERR_PTR(err);
}

void pinion_group_leave(struct pinion_joined *joined)
{
	rtnl_lock();
	if (joined->in4 && !joined->in4->dead)
		ip_mc_dec_group(joined->in4, joined->addr.s6_addr32[3]);
	if (IS_ENABLED(CONFIG_IPV6) && joined->in6 && !joined->in6->dead)
		ipv6_dev_mc_dec(joined->in6->dev, &joined->addr);
	rtnl_unlock();
	if (joined->in4)
		in_dev_put(joined->in4);
	if (IS_ENABLED(CONFIG_IPV6) && joined->in6)
		in6_dev_put(joined->in6);
	kfree(joined);
}
