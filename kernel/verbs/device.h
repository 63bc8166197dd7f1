/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The device as verbs see it: the node its peers reach, its limits, its port.
 * Layout and the one table of limits only.
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
#include "../path/node.h"

/*
 * Every one of them is reported, and kept: it is what one user may have. All together have
 * twice as many (verbs/user.h).
 */
#define PINION_MAX_QP		SZ_256K
#define PINION_MAX_CQ		SZ_256K
#define PINION_MAX_SRQ		SZ_64K
#define PINION_MAX_PD		SZ_64K
#define PINION_MAX_AH		SZ_256K
#define PINION_MAX_UAR		SZ_64K
#define PINION_MAX_MR		SZ_2M
#define PINION_MAX_MW		SZ_1M
/* Memberships of all groups together; so there are no more groups, either. */
#define PINION_MAX_MCAST	SZ_16K

/* Of one object. Queues are powers of two, so these are, too. */
#define PINION_MAX_QP_WR	SZ_32K
#define PINION_MAX_SRQ_WR	SZ_64K
#define PINION_MAX_CQE		SZ_4M
/* The core pins at most this many pages at once. */
#define PINION_MAX_MR_SIZE	((u64)U32_MAX << PAGE_SHIFT)
#define PINION_MAX_ODP_SIZE	BIT_ULL(63)

/* Wherever a key is used it may be of an on-demand region: one cursor serves all. */
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
	struct device *parent;		/* what memory is mapped for */
	struct device *data_direct;	/* and dma-bufs, if that was asked for */
	bool is_mlx5;			/* speaks mlx5's ABI: verbs/mlx5.h */
	struct list_head list;		/* dev/kin.c's, if so */
	const struct net_device *ndev;	/* likewise; to be compared, not to be used */
	struct dentry *debugfs;

	u32 vendor_id;
	u32 vendor_part_id;
	__be64 guid;

	/* As the netdev is now; written under RTNL, read anywhere. */
	enum ib_mtu active_mtu;
	enum ib_port_state state;	/* of which consumers were told last; compat/port.c */

	struct ida pdns;
	struct xarray pds;		/* by number, those that DEVX commands may name */
	struct xarray devx_cqs;		/* completion queues made by commands, by number */
	struct xarray devx_rmps;	/* and shared receive queues, */
	struct xarray devx_uars;	/* and doorbell pages */
	struct pinion_umems umems;
	atomic64_t dm_used;		/* bytes of device memory given out, to all users */
	struct list_head users;
	struct mutex users_lock;	/* of the list, and of a user's last reference */
	atomic_t counts[PINION_NUM_COUNTED];
};

static inline struct pinion_dev *to_pinion_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct pinion_dev, ibdev);
}

static inline enum ib_port_state pinion_port_state(const struct net_device *ndev)
{
	return netif_running(ndev) && netif_carrier_ok(ndev) ? IB_PORT_ACTIVE : IB_PORT_DOWN;
}

void pinion_counts_end(struct pinion_dev *dev);

/* Every op the verbs layer has, of which kind the device is. */
void pinion_verbs_set_ops(struct pinion_dev *dev);

#endif
