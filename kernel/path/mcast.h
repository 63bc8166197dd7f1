/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Multicast groups of UD queue pairs.
 */
#ifndef PINION_PATH_MCAST_H
#define PINION_PATH_MCAST_H

#include "qp.h"

/* Members of one group, of one node: a user's, and all. */
#define PINION_MCAST_MAX_QPS	64
#define PINION_MCAST_MAX_MEMBERS	(2 * PINION_MCAST_MAX_QPS)

int pinion_mcast_attach(struct pinion_qp *qp, const union ib_gid *mgid, const void *owner);
int pinion_mcast_detach(struct pinion_qp *qp, const union ib_gid *mgid);
void pinion_mcast_leave_all(struct pinion_qp *qp);

/* How far somebody has come among the members of a group; zeros at the beginning. */
struct pinion_mcast_walk {
	u64 seen;
};

/*
 * The next members of @mgid reachable from @from, but @except, each with a reference.
 * Returns how many; fewer than @max are the last. Who joins after the beginning is not
 * among them.
 */
u32 pinion_mcast_members(struct pinion_node *from, const union ib_gid *mgid,
			 const struct pinion_qp *except, struct pinion_mcast_walk *walk,
			 struct pinion_qp **found, u32 max);

#endif
