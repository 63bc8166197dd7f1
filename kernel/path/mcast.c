// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast groups: which UD queue pairs are members of which address. A message reaches the
 * members on all devices of its network namespace, or, if a packet has brought it, those on one
 * device. An engine to other hosts is told of each membership.
 */
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/ipv6.h>

#include "engine.h"
#include "mcast.h"

/* One membership. */
struct member {
	struct hlist_node node;		/* in groups */
	struct list_head of_qp;		/* in qp->memberships */
	u64 number;			/* ascending in the order of joining */
	u32 times;			/* attached so often more than detached */
	union ib_gid mgid;
	struct pinion_qp *qp;
	const void *owner;		/* the user that owns @qp; only compared */
	struct pinion_joined *joined;	/* by the node's engine to other hosts; or NULL */
};

/*
 * The members of all groups of all nodes, by hash of the address: a message walks one bucket only.
 * A bucket has its newest member first. All three are protected by mcast_lock.
 */
static DEFINE_HASHTABLE(groups, 10);
static u64 last_number;
/* Not a mutex: each sender takes it, and must not wait for another one that was preempted. */
static DEFINE_SPINLOCK(mcast_lock);

/*
 * The seed is random and secret. Users choose addresses; without it they could fill the bucket of
 * somebody else's group.
 */
static u32 group_hash_of(const union ib_gid *mgid)
{
	static u32 seed;

	lockdep_assert_held(&mcast_lock);
	if (!seed)
		seed = get_random_u32() | 1;
	return jhash(mgid->raw, sizeof(mgid->raw), seed);
}

bool pinion_mcast_is_group(const union ib_gid *gid)
{
	const struct in6_addr *to = (const struct in6_addr *)gid;

	return ipv6_addr_is_multicast(to) ||
	       (ipv6_addr_v4mapped(to) && ipv4_is_multicast(to->s6_addr32[3]));
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
 * May @owner have one more member on @node in this group? An owner may have half of the members at
 * most, so that no user can fill a group and keep others out.
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

/* May have to wait for RTNL, so mcast_lock, which all senders take, is not held. */
static struct member *member_new(struct pinion_qp *qp, const union ib_gid *mgid,
				 const void *owner)
{
	const struct pinion_engine *others = qp->node->others;
	struct member *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	struct pinion_joined *joined;

	if (!m)
		return ERR_PTR(-ENOMEM);
	m->mgid = *mgid;
	m->qp = qp;
	m->owner = owner;
	m->times = 1;
	if (!others || !others->join)
		return m;
	joined = others->join(qp->node, mgid);
	if (IS_ERR(joined)) {
		kfree(m);
		return ERR_CAST(joined);
	}
	m->joined = joined;
	return m;
}

/* @m is in no list. Takes RTNL, as member_new(); mcast_lock is not held. */
static void member_free(struct member *m)
{
	if (m->joined)
		m->qp->node->others->leave(m->joined);
	kfree(m);
}

static void group_leave(struct member *m)
{
	lockdep_assert_held(&mcast_lock);
	hash_del(&m->node);
	list_del(&m->of_qp);
}

/**
 * pinion_mcast_attach - make a queue pair a member of a group
 * @qp: a UD queue pair
 * @mgid: the group
 * @owner: the user that owns @qp; must outlive the membership
 *
 * Return: 0; -EEXIST if @qp is a member already: then it must be detached once more; -ENOMEM,
 * also if the group is full or @owner has reached its limit; what the network says.
 */
int pinion_mcast_attach(struct pinion_qp *qp, const union ib_gid *mgid, const void *owner)
{
	struct member *new, *there;
	int err = 0;

	new = member_new(qp, mgid, owner);
	if (IS_ERR(new))
		return PTR_ERR(new);

	spin_lock(&mcast_lock);
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
	spin_unlock(&mcast_lock);
	if (err)
		member_free(new);
	return err;
}

/**
 * pinion_mcast_detach - undo pinion_mcast_attach()
 * @qp: a queue pair
 * @mgid: the group
 *
 * Return: 0 if @qp has left the group; -EEXIST if it is still a member, having been attached more
 * often; -EINVAL if it was not a member.
 */
int pinion_mcast_detach(struct pinion_qp *qp, const union ib_gid *mgid)
{
	struct member *m;
	int err = -EINVAL;

	spin_lock(&mcast_lock);
	m = group_find(qp, mgid);
	if (m) {
		err = --m->times ? -EEXIST : 0;
		if (!err)
			group_leave(m);
	}
	spin_unlock(&mcast_lock);
	if (!err)
		member_free(m);
	return err;
}

void pinion_mcast_leave_all(struct pinion_qp *qp)
{
	struct member *m, *next;

	/* @qp is being destroyed, so it cannot join meanwhile: no lock is needed for its list. */
	if (list_empty(&qp->memberships))
		return;
	spin_lock(&mcast_lock);
	list_for_each_entry(m, &qp->memberships, of_qp)
		hash_del(&m->node);
	spin_unlock(&mcast_lock);
	list_for_each_entry_safe(m, next, &qp->memberships, of_qp)
		member_free(m);
	INIT_LIST_HEAD(&qp->memberships);
}

static bool group_hears(const struct member *m, const struct pinion_mcast_reach *reach)
{
	const struct pinion_link *link = &m->qp->node->link;

	if (!group_is_same(m, reach->mgid) || !READ_ONCE(link->up) ||
	    READ_ONCE(link->net) != reach->net ||
	    (reach->ifindex && READ_ONCE(link->ifindex) != reach->ifindex))
		return false;
	return m->qp->node != reach->node || m->qp->ibqp.qp_num != reach->qpn;
}

u32 pinion_mcast_members(const struct pinion_mcast_reach *reach, struct pinion_mcast_walk *walk,
			 struct pinion_qp **found, u32 max)
{
	struct member *m;
	u32 count = 0;

	spin_lock(&mcast_lock);
	hash_for_each_possible(groups, m, node, group_hash_of(reach->mgid)) {
		/*
		 * Numbers descend along the bucket. Skip what earlier calls have seen, and members
		 * that joined since: so the walk ends even if queue pairs keep joining.
		 */
		if (walk->seen && m->number >= walk->seen)
			continue;
		if (count == max)
			break;
		walk->seen = m->number;
		if (!group_hears(m, reach))
			continue;
		pinion_visit_begin();
		pinion_users_get(&m->qp->finders);
		found[count++] = m->qp;
	}
	spin_unlock(&mcast_lock);
	return count;
}
