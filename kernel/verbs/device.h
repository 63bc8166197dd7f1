/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The device as verbs see it: struct pinion_dev and all limits.
 */
#ifndef PINION_VERBS_DEVICE_H
#define PINION_VERBS_DEVICE_H

#include <linux/idr.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/sizes.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/pinion-abi.h>

#include "../mem/umem.h"
#include "../path/bell.h"
#include "../path/node.h"

/*
 * Objects that one user may have; these limits are reported by query_device. All users together
 * may have twice as many (verbs/user.h).
 */
#define PINION_MAX_QP		SZ_256K
#define PINION_MAX_CQ		SZ_256K
#define PINION_MAX_SRQ		SZ_64K
#define PINION_MAX_PD		SZ_64K
#define PINION_MAX_AH		SZ_256K
#define PINION_MAX_UAR		SZ_64K
#define PINION_MAX_MR		SZ_2M
#define PINION_MAX_MW		SZ_1M
/* Memberships in all groups together, which limits the number of groups, too. */
#define PINION_MAX_MCAST	SZ_16K

/* Limits of one object. Queues have a power of two entries, so these are powers of two. */
#define PINION_MAX_QP_WR	SZ_32K
#define PINION_MAX_SRQ_WR	SZ_64K
#define PINION_MAX_CQE		SZ_4M
/* The core pins at most this many pages at once. */
#define PINION_MAX_MR_SIZE	((u64)U32_MAX << PAGE_SHIFT)
#define PINION_MAX_ODP_SIZE	BIT_ULL(63)

/* On-demand regions work wherever keys do: all accesses use the same cursors. */
#define PINION_ODP_MESSAGES	(IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV | \
				 IB_ODP_SUPPORT_SRQ_RECV)
#define PINION_ODP_MEMORY	(IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_READ | IB_ODP_SUPPORT_ATOMIC)

/* The kinds of objects that are counted against a limit. */
enum pinion_counted {
	PINION_COUNT_QP,
	PINION_COUNT_CQ,
	PINION_COUNT_SRQ,
	PINION_COUNT_AH,
	PINION_COUNT_PD,
	PINION_COUNT_MR,
	PINION_COUNT_MW,
	PINION_COUNT_MCAST,
	PINION_COUNT_UMEM,
	PINION_COUNT_UAR,
	PINION_NUM_COUNTED
};

struct pinion_dev {
	struct ib_device ibdev;
	struct pinion_node node;
	struct device *parent;		/* memory is DMA-mapped for this device */
	struct device *data_direct;	/* for dma-bufs registered with data direct */
	bool is_mlx5;			/* speaks mlx5's ABI: verbs/mlx5.h */
	struct list_head list;		/* in dev/kin.c, if @is_mlx5 */
	const struct net_device *ndev;	/* for dev/kin.c: no reference, only to be compared */
	struct dentry *debugfs;

	u32 vendor_id;
	u32 vendor_part_id;
	__be64 guid;

	/* Follow the netdev. Written under RTNL, read without a lock. */
	enum ib_mtu active_mtu;
	enum ib_port_state state;	/* last reported to consumers, see compat/port.c */

	/* By order of root, see dev/force.c. Read without a lock. */
	bool port_down;			/* whatever the netdev says; written under RTNL */
	bool broken;			/* for good: nothing can be made on the device any more */

	struct ida pdns;
	struct xarray pds;		/* by number; only those that DEVX commands may name */
	struct xarray devx_cqs;		/* completion queues created by DEVX commands, by number */
	struct xarray devx_rmps;	/* shared receive queues of DEVX commands, by number */
	struct xarray devx_uars;	/* doorbell pages of DEVX commands, by number */
	struct pinion_umems umems;
	atomic64_t dm_used;		/* bytes of device memory allocated by all users */
	struct list_head users;
	struct mutex users_lock;	/* for @users, and to drop a user's last reference */
	atomic_t counts[PINION_NUM_COUNTED];
	struct pinion_bells_crowd bells_crowd;
};

static inline struct pinion_dev *to_pinion_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct pinion_dev, ibdev);
}

static inline enum ib_port_state pinion_port_state(const struct pinion_dev *dev,
						   const struct net_device *ndev)
{
	if (READ_ONCE(dev->port_down))
		return IB_PORT_DOWN;
	return netif_running(ndev) && netif_carrier_ok(ndev) ? IB_PORT_ACTIVE : IB_PORT_DOWN;
}

void pinion_counts_end(struct pinion_dev *dev);

/* Set all ops of the verbs layer, for an mlx5 device also mlx5's. */
void pinion_verbs_set_ops(struct pinion_dev *dev);

#endif
