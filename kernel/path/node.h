/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A node is a device as its peers reach it: addresses (peers.h), and objects with numbers.
 *
 * Objects that are found by number (QPs, shared receive queues) count their finders. To destroy
 * one: remove it from the table, then wait until the count is 0. Address handles are copied under
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

/* The addresses of a message: destination and source. */
struct pinion_av {
	union ib_gid dgid;
	union ib_gid sgid;
	u8 dmac[ETH_ALEN];		/* a user may have set it: only compared, not sent to */
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
	struct pinion_user *owner;	/* for limits, used by verbs */
	u32 number;
	struct pinion_av av;
};

struct pinion_node {
	struct ib_device *ibdev;
	struct pinion_keys keys;
	struct xarray qps;		/* by QPN; finders are counted under its xa_lock */
	struct xarray srqs;		/* by number, likewise */
	struct xarray ahs;		/* by number; see pinion_node_add_ah() */
	struct workqueue_struct *wq;	/* executors of kernel consumers' queue pairs */
	struct pinion_sleepers *faulter;	/* faults pages of kernel consumers */

	struct pinion_link link;	/* peers.c */
	const struct pinion_engine *others;	/* engine for packets, or NULL */
	struct pinion_wire *wire;	/* data of that engine */
	bool all_others;		/* packets even within the network namespace */
	bool lacks_others;		/* was to have that engine, and could not get it */
	struct pinion_stats __percpu *stats;	/* of everything that has no tally */
	struct pinion_tallies tallies;
};

static inline struct pinion_ah *to_pinion_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct pinion_ah, ibah);
}

int pinion_node_init(struct pinion_node *node, struct ib_device *ibdev);
void pinion_node_destroy(struct pinion_node *node);

/* A counter's value with all tallies. */
u64 pinion_node_count(struct pinion_node *node, enum pinion_stat stat);

/* Publish @qp under a random unused number in [2, PINION_MAX_QPN], or under 1 if @gsi. */
int pinion_node_add_qp(struct pinion_node *node, struct pinion_qp *qp, bool gsi);
/* Unpublish @qp, remove it from its groups, and wait until no finder is left. */
void pinion_node_del_qp(struct pinion_node *node, struct pinion_qp *qp);
/* The first queue pair from number *@qpn on, with a reference, and in *@qpn its number; or NULL. */
struct pinion_qp *pinion_node_next_qp(struct pinion_node *node, unsigned long *qpn);
void pinion_qp_put(struct pinion_qp *qp);

int pinion_node_add_srq(struct pinion_node *node, struct pinion_srq *srq);
void pinion_node_del_srq(struct pinion_node *node, struct pinion_srq *srq);

/* @gfp as the caller's context allows: kernel consumers create AHs in atomic context, too. */
int pinion_node_add_ah(struct pinion_node *node, struct pinion_ah *ah, gfp_t gfp);
void pinion_node_del_ah(struct pinion_node *node, struct pinion_ah *ah);
/* Copy of the AV; -ENOENT, or -EPERM if the AH is not @pd's. */
int pinion_node_copy_av(struct pinion_node *node, u32 number, struct ib_pd *pd,
			struct pinion_av *av);

/*
 * Find QP @qpn of @node. A reference, and a visit (visit.h), last until pinion_qp_leave(). NULL,
 * and no visit, if there is none. @node must not be freed meanwhile: the caller is in an RCU
 * read-side section, or holds something of the node's.
 */
struct pinion_qp *pinion_qp_visit(struct pinion_node *node, u32 qpn);
void pinion_qp_leave(struct pinion_qp *qp);

struct pinion_srq *pinion_srq_get(struct pinion_node *node, u32 srqn);
void pinion_srq_put(struct pinion_srq *srq);

#endif
