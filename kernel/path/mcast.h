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

/* All take mcast_lock, and sleep. */
int pinion_mcast_attach(struct pinion_qp *qp, const union ib_gid *mgid, const void *owner);
int pinion_mcast_detach(struct pinion_qp *qp, const union ib_gid *mgid);
void pinion_mcast_leave_all(struct pinion_qp *qp);

/* Position in a walk over the members of a group; zeroed to begin. */
struct pinion_mcast_walk {
	u64 seen;
};

/*
 * Find the next members of @mgid that @from reaches, without @except, and take a reference to each
 * (pinion_qp_put()). Return: how many; fewer than @max means that there are no more. A queue pair
 * that joins after the walk has begun is not found.
 */
u32 pinion_mcast_members(struct pinion_node *from, const union ib_gid *mgid,
			 const struct pinion_qp *except, struct pinion_mcast_walk *walk,
			 struct pinion_qp **found, u32 max);

#endif
