/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A node is a device as its peers reach it: addresses (peers.h), and objects with numbers.
 *
 * Objects found by number (QPs, shared receive queues) carry a count of finders;
 * their destruction is unpublish, put, wait. Address handles are copied out under
 * the table's lock instead.
 */
#ifndef PINION_PATH_NODE_H
#define PINION_PATH_NODE_H

#include <linux/if_ether.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "../mem/key.h"
#include "fault.h"
#include "peers.h"
#include "stats.h"

#define PINION_GID_TABLE_LEN	256
#define PINION_MAX_QPN		0xfffffe
#define PINION_MULTICAST_QPN	0xffffff

struct pinion_engine;
struct pinion_qp;
struct pinion_srq;
struct pinion_wire;

/* Where a message goes, and where it says it comes from. */
struct pinion_av {
	union ib_gid dgid;
	union ib_gid sgid;
	u8 dmac[ETH_ALEN];		/* perhaps what a user says: to compare, not to send to */
	u16 vlan;			/* of @sgid, or PINION_NO_VLAN */
	u32 ifindex;			/* of @sgid's netdev */
	u8 sl;
	u8 traffic_class;
	u8 hop_limit;
	bool ipv4;
	u32 flow_label;
};

struct pinion_ah {
	struct ib_ah ibah;
	struct ib_pd *pd;
	struct pinion_user *owner;	/* whom verbs counts it for */
	u32 number;
	struct pinion_av av;
};

struct pinion_node {
	struct ib_device *ibdev;
	struct pinion_keys keys;
	struct xarray qps;		/* by QPN; xa_lock pins a QP for get */
	struct xarray srqs;
	struct xarray ahs;
	struct workqueue_struct *wq;	/* executors of kernel consumers' queues */
	struct pinion_sleepers *faulter;	/* bring pages of theirs */

	struct pinion_link link;	/* peers.c's */
	const struct pinion_engine *others;	/* to other hosts; NULL: there are none */
	struct pinion_wire *wire;	/* its */
	bool all_others;		/* who is on this host is taken for another */
	struct pinion_stats __percpu *stats;	/* of all that has no tally */
	struct pinion_tallies tallies;
};

static inline struct pinion_ah *to_pinion_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct pinion_ah, ibah);
}

int pinion_node_init(struct pinion_node *node, struct ib_device *ibdev);
void pinion_node_destroy(struct pinion_node *node);

/* What was counted, whether in a tally or not. */
u64 pinion_node_count(struct pinion_node *node, enum pinion_stat stat);

/* Random unused number in (1, PINION_MAX_QPN]; QP 1 is asked for by @gsi. */
int pinion_node_add_qp(struct pinion_node *node, struct pinion_qp *qp, bool gsi);
/* Unpublish and wait until no finder is left. */
void pinion_node_del_qp(struct pinion_node *node, struct pinion_qp *qp);
/*
 * The next queue pair that completes in @cq, or any, from number *@qpn on, with a reference; *@qpn
 * is the number to go on from. NULL: there is no more. Sleeps.
 */
struct pinion_qp *pinion_node_next_qp(struct pinion_node *node, const struct ib_cq *cq,
				      unsigned long *qpn);

int pinion_node_add_srq(struct pinion_node *node, struct pinion_srq *srq);
void pinion_node_del_srq(struct pinion_node *node, struct pinion_srq *srq);

/* GFP as the caller's context allows: AHs are made in any. */
int pinion_node_add_ah(struct pinion_node *node, struct pinion_ah *ah, gfp_t gfp);
void pinion_node_del_ah(struct pinion_node *node, struct pinion_ah *ah);
/* Copy of the AV; -ENOENT, or -EPERM if the AH is not @pd's. */
int pinion_node_copy_av(struct pinion_node *node, u32 number, struct ib_pd *pd,
			struct pinion_av *av);

/* The QP @qpn of @node, with a reference, or NULL. Under RCU, or by who keeps @node. */
struct pinion_qp *pinion_qp_get(struct pinion_node *node, u32 qpn);
void pinion_qp_put(struct pinion_qp *qp);

struct pinion_srq *pinion_srq_get(struct pinion_node *node, u32 srqn);
void pinion_srq_put(struct pinion_srq *srq);

#endif
