// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fills the source of an address from the GID table, and the whole address of mlx5's datagrams.
 * Destination MACs come from the caller: nothing is resolved here.
 */
#include <linux/etherdevice.h>
#include <rdma/ib_cache.h>

#include "../logic/mlx5_wqe.h"
#include "av.h"
#include "node.h"

int pinion_av_from(struct pinion_av *av, const struct ib_gid_attr *source)
{
	enum rdma_network_type net = rdma_gid_attr_network_type(source);
	struct net_device *ndev;

	if (net != RDMA_NETWORK_IPV4 && net != RDMA_NETWORK_IPV6)
		return -EINVAL;
	if (rdma_read_gid_l2_fields(source, &av->vlan, NULL))
		return -EINVAL;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(source);
	/* 0 means any: the netdev is being removed. */
	av->ifindex = IS_ERR(ndev) ? 0 : ndev->ifindex;
	rcu_read_unlock();
	av->sgid = source->gid;
	av->ipv4 = net == RDMA_NETWORK_IPV4;
	return 0;
}

int pinion_av_of_mlx5(struct pinion_av *av, struct ib_device *ibdev,
		      const struct pinion_mlx5_av *asked)
{
	const struct ib_gid_attr *source;
	int err;

	source = rdma_get_gid_attr(ibdev, 1, asked->sgid_index);
	if (IS_ERR(source))
		return PTR_ERR(source);
	*av = (struct pinion_av){
		.sl = asked->sl,
		.traffic_class = asked->traffic_class,
		.hop_limit = asked->hop_limit,
		.flow_label = asked->flow_label,
	};
	memcpy(av->dgid.raw, asked->dgid, sizeof(av->dgid.raw));
	ether_addr_copy(av->dmac, asked->dmac);
	err = pinion_av_from(av, source);
	rdma_put_gid_attr(source);
	return err;
}
