// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast groups: which UD queue pairs hear which address. Groups reach across
 * the devices of one network namespace.
 */
#include <linux/slab.h>

#include "../compat/compat.h"
#include "qp.h"

/* One membership. */
struct member {
	struct list_head list;
	u64 number;
	union ib_gid mgid;
	struct pinion_qp *qp;
};

/* Of every node: groups span nodes, and joining is rare. */
static DEFINE_MUTEX(mcast_lock);
static LIST_HEAD(members);	/* in the order in which they came */
static u64 last_number;

static bool same_group(const struct member *m, const union ib_gid *mgid)
{
	return !memcmp(&m->mgid, mgid, sizeof(*mgid));
}

/**
 * pinion_mcast_attach - let a queue pair hear a group
 * @qp: a UD queue pair
 * @mgid: the group
 *
 * Return: 0; -EEXIST if it heard it already; -ENOMEM, also when the group is full.
 */
int pinion_mcast_attach(struct pinion_qp *qp, const union ib_gid *mgid)
{
	struct member *m, *new;
	u32 count = 0;

	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return -ENOMEM;
	new->mgid = *mgid;
	new->qp = qp;

	mutex_lock(&mcast_lock);
	list_for_each_entry(m, &members, list) {
		if (!same_group(m, mgid))
			continue;
		if (m->qp == qp) {
			mutex_unlock(&mcast_lock);
			kfree(new);
			return -EEXIST;
		}
		count += m->qp->node == qp->node;
	}
	if (count >= PINION_MCAST_MAX_QPS) {
		mutex_unlock(&mcast_lock);
		kfree(new);
		return -ENOMEM;
	}
	new->number = ++last_number;
	list_add_tail(&new->list, &members);
	mutex_unlock(&mcast_lock);
	return 0;
}

/**
 * pinion_mcast_detach - undo pinion_mcast_attach()
 * @qp: a queue pair
 * @mgid: the group
 *
 * Return: 0, or -EINVAL if it did not hear the group.
 */
int pinion_mcast_detach(struct pinion_qp *qp, const union ib_gid *mgid)
{
	struct member *m;
	int err = -EINVAL;

	mutex_lock(&mcast_lock);
	list_for_each_entry(m, &members, list) {
		if (m->qp == qp && same_group(m, mgid)) {
			list_del(&m->list);
			kfree(m);
			err = 0;
			break;
		}
	}
	mutex_unlock(&mcast_lock);
	return err;
}

void pinion_mcast_leave_all(struct pinion_qp *qp)
{
	struct member *m, *next;

	if (qp->service != PINION_SVC_UD)
		return;
	mutex_lock(&mcast_lock);
	list_for_each_entry_safe(m, next, &members, list) {
		if (m->qp == qp) {
			list_del(&m->list);
			kfree(m);
		}
	}
	mutex_unlock(&mcast_lock);
}

u32 pinion_mcast_members(struct pinion_node *from, const union ib_gid *mgid,
			 const struct pinion_qp *except, struct pinion_mcast_walk *walk,
			 struct pinion_qp **found, u32 max)
{
	struct net *net = rdma_dev_net(from->ibdev);
	struct member *m;
	u32 count = 0;

	if (!READ_ONCE(from->up))
		return 0;
	mutex_lock(&mcast_lock);
	/* Else who joins again and again could keep it from ending. */
	if (!walk->last)
		walk->last = last_number;
	list_for_each_entry(m, &members, list) {
		if (count == max || m->number > walk->last)
			break;
		if (m->number <= walk->seen)
			continue;
		walk->seen = m->number;
		if (m->qp == except || !READ_ONCE(m->qp->node->up) || !same_group(m, mgid) ||
		    !net_eq(rdma_dev_net(m->qp->ibqp.device), net))
			continue;
		refcount_inc(&m->qp->refs);
		found[count++] = m->qp;
	}
	mutex_unlock(&mcast_lock);
	return count;
}
