// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast groups: which UD queue pairs hear which address. Groups reach across
 * the devices of one network namespace.
 */
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "mcast.h"

/* One membership. */
struct member {
	struct hlist_node node;		/* in groups */
	struct list_head of_qp;		/* in qp->memberships */
	u64 number;			/* they are counted as they come */
	u32 times;			/* that it joined and did not leave since */
	union ib_gid mgid;
	struct pinion_qp *qp;
	const void *owner;		/* whose the queue pair is: only compared */
};

/*
 * Of every node, since groups span nodes. A message to a group looks at those of a few
 * groups only, whoever joined whatever else; in front are who came last.
 */
static DEFINE_HASHTABLE(groups, 10);
static u64 last_number;
static DEFINE_MUTEX(mcast_lock);

/* Users choose addresses, and are not to know which others are looked at with theirs. */
static u32 group_hash_of(const union ib_gid *mgid)
{
	static u32 seed;

	lockdep_assert_held(&mcast_lock);
	if (!seed)
		seed = get_random_u32() | 1;
	return jhash(mgid->raw, sizeof(mgid->raw), seed);
}

static bool group_is_same(const struct member *m, const union ib_gid *mgid)
{
	return !memcmp(&m->mgid, mgid, sizeof(*mgid));
}

static struct member *group_find(struct pinion_qp *qp, const union ib_gid *mgid)
{
	struct member *m;

	hash_for_each_possible(groups, m, node, group_hash_of(mgid))
		if (m->qp == qp && group_is_same(m, mgid))
			return m;
	return NULL;
}

/*
 * Is there room for one more of @node? Half of it is for others than @owner, so that nobody
 * keeps them out of a group.
 */
static bool group_has_room(const struct pinion_node *node, const union ib_gid *mgid,
			   const void *owner)
{
	u32 all = 0, owned = 0;
	struct member *m;

	hash_for_each_possible(groups, m, node, group_hash_of(mgid))
		if (m->qp->node == node && group_is_same(m, mgid)) {
			all++;
			owned += m->owner == owner;
		}
	return all < PINION_MCAST_MAX_MEMBERS && owned < PINION_MCAST_MAX_QPS;
}

static void group_leave(struct member *m)
{
	lockdep_assert_held(&mcast_lock);
	hash_del(&m->node);
	list_del(&m->of_qp);
	kfree(m);
}

/**
 * pinion_mcast_attach - let a queue pair hear a group
 * @qp: a UD queue pair
 * @mgid: the group
 * @owner: its user, which outlives the membership
 *
 * Return: 0; -EEXIST if it heard it already, and has to be detached once more than it had;
 * -ENOMEM, also when the group is full, or has as many of this owner as one may have.
 */
int pinion_mcast_attach(struct pinion_qp *qp, const union ib_gid *mgid, const void *owner)
{
	struct member *new, *there;
	int err = 0;

	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return -ENOMEM;
	new->mgid = *mgid;
	new->qp = qp;
	new->owner = owner;
	new->times = 1;

	mutex_lock(&mcast_lock);
	there = group_find(qp, mgid);
	if (there) {
		there->times++;
		err = -EEXIST;
	} else if (!group_has_room(qp->node, mgid, owner)) {
		err = -ENOMEM;
	} else {
		new->number = ++last_number;
		hash_add(groups, &new->node, group_hash_of(mgid));
		list_add(&new->of_qp, &qp->memberships);
	}
	mutex_unlock(&mcast_lock);
	if (err)
		kfree(new);
	return err;
}

/**
 * pinion_mcast_detach - undo pinion_mcast_attach()
 * @qp: a queue pair
 * @mgid: the group
 *
 * Return: 0; -EEXIST if it hears it still, having been attached more often; -EINVAL if it did
 * not hear the group.
 */
int pinion_mcast_detach(struct pinion_qp *qp, const union ib_gid *mgid)
{
	struct member *m;
	int err = -EINVAL;

	mutex_lock(&mcast_lock);
	m = group_find(qp, mgid);
	if (m) {
		err = --m->times ? -EEXIST : 0;
		if (!err)
			group_leave(m);
	}
	mutex_unlock(&mcast_lock);
	return err;
}

void pinion_mcast_leave_all(struct pinion_qp *qp)
{
	struct member *m, *next;

	/* It is being destroyed, so it joins none any more. */
	if (list_empty(&qp->memberships))
		return;
	mutex_lock(&mcast_lock);
	list_for_each_entry_safe(m, next, &qp->memberships, of_qp)
		group_leave(m);
	mutex_unlock(&mcast_lock);
}

static bool group_hears(const struct member *m, const union ib_gid *mgid,
			const struct pinion_node *from)
{
	return group_is_same(m, mgid) && READ_ONCE(m->qp->node->link.up) &&
	       pinion_peers_same_net(m->qp->node, from);
}

u32 pinion_mcast_members(struct pinion_node *from, const union ib_gid *mgid,
			 const struct pinion_qp *except, struct pinion_mcast_walk *walk,
			 struct pinion_qp **found, u32 max)
{
	struct member *m;
	u32 count = 0;

	if (!READ_ONCE(from->link.up))
		return 0;
	mutex_lock(&mcast_lock);
	hash_for_each_possible(groups, m, node, group_hash_of(mgid)) {
		/* Those who came later are in front, so it is over whoever joins meanwhile. */
		if (walk->seen && m->number >= walk->seen)
			continue;
		if (count == max)
			break;
		walk->seen = m->number;
		if (m->qp == except || !group_hears(m, mgid, from))
			continue;
		pinion_users_get(&m->qp->finders);
		found[count++] = m->qp;
	}
	mutex_unlock(&mcast_lock);
	return count;
}
