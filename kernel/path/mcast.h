/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Multicast groups of UD queue pairs.
 */
#ifndef PINION_PATH_MCAST_H
#define PINION_PATH_MCAST_H

#include "qp.h"

/* Limits on members of one group on one node: those of one user, and all. */
#define PINION_MCAST_MAX_QPS	64
#define PINION_MCAST_MAX_MEMBERS	(2 * PINION_MCAST_MAX_QPS)

/* Is @gid that of a group? */
bool pinion_mcast_is_group(const union ib_gid *gid);

/* They sleep, and take RTNL if there is an engine to other hosts. */
int pinion_mcast_attach(struct pinion_qp *qp, const union ib_gid *mgid, const void *owner);
int pinion_mcast_detach(struct pinion_qp *qp, const union ib_gid *mgid);
void pinion_mcast_leave_all(struct pinion_qp *qp);

/* Selects the members of a group that get a message. */
struct pinion_mcast_reach {
	const union ib_gid *mgid;
	u64 net;			/* in this network namespace */
	u32 ifindex;			/* on this netdev; 0: on any */
	/* But not the sender itself, queue pair @qpn of @node; only compared. */
	const struct pinion_node *node;
	u32 qpn;
};

/* Position in a walk over them; zeroed to begin. */
struct pinion_mcast_walk {
	u64 seen;
};

/*
 * Find the next members, as pinion_qp_visit() does; leave each (pinion_qp_leave()). Return: how
 * many; fewer than @max means that there are no more. A queue pair that joins after the walk has
 * begun is not found.
 */
u32 pinion_mcast_members(const struct pinion_mcast_reach *reach, struct pinion_mcast_walk *walk,
			 struct pinion_qp **found, u32 max);

#endif
