// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The table of addresses on this host. The same address may exist many times, in network
 * namespaces that know nothing of each other. Of the nodes that have it, a message reaches the
 * sender's own node, else one in the sender's namespace, else one whose netdev is joined to the
 * sender's, unless one of the two could not get its engine for packets. It reaches no other,
 * whatever MAC the sender's neighbour table has.
 *
 * Each message looks here, so there is no lock: endpoints are freed by RCU, and a node's link is
 * read word by word. A reader that runs while the link changes may see old and new words
 * together; the message may then be lost, as a frame would be at that moment.
 */
#include <linux/etherdevice.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "node.h"
#include "peers.h"
#include "qp.h"

struct pinion_endpoint {
	struct hlist_node hash;		/* in endpoints */
	struct pinion_node *node;
	union ib_gid gid;
	u16 vlan;
	struct rcu_head rcu;
};

static DEFINE_HASHTABLE(endpoints, 10);
static DEFINE_SPINLOCK(endpoints_lock);	/* held to add or remove */

static u32 endpoint_hash(const union ib_gid *gid)
{
	static u32 seed __read_mostly;

	get_random_once(&seed, sizeof(seed));
	return jhash(gid->raw, sizeof(gid->raw), seed);
}

struct pinion_endpoint *pinion_peers_add(struct pinion_node *node, const union ib_gid *gid,
					 u16 vlan)
{
	struct pinion_endpoint *endpoint = kzalloc(sizeof(*endpoint), GFP_KERNEL);

	if (!endpoint)
		return NULL;
	endpoint->node = node;
	endpoint->gid = *gid;
	endpoint->vlan = vlan;
	spin_lock(&endpoints_lock);
	hash_add_rcu(endpoints, &endpoint->hash, endpoint_hash(gid));
	spin_unlock(&endpoints_lock);
	return endpoint;
}

void pinion_peers_del(struct pinion_endpoint *endpoint)
{
	spin_lock(&endpoints_lock);
	hash_del_rcu(&endpoint->hash);
	spin_unlock(&endpoints_lock);
	kfree_rcu(endpoint, rcu);
}

void pinion_peers_set_link(struct pinion_node *node, const struct pinion_link *link)
{
	int i;

	WRITE_ONCE(node->link.mac, link->mac);
	WRITE_ONCE(node->link.net, link->net);
	for (i = 0; i < PINION_LINK_ENDS; i++)
		WRITE_ONCE(node->link.ends[i], link->ends[i]);
	WRITE_ONCE(node->link.ifindex, link->ifindex);
	WRITE_ONCE(node->link.mtu, link->mtu);
	WRITE_ONCE(node->link.up, link->up);
}

/* How near a node is to the sender. Of those that have the address the nearest is meant. */
enum nearness {
	APART,
	JOINED,		/* by a veth, or by a bridge that both are ports of */
	SAME_NET,
	SAME_NODE,
};

static bool peers_are_joined(const struct pinion_link *a, const struct pinion_link *b)
{
	const void *end;
	int i, j;

	for (i = 0; i < PINION_LINK_ENDS; i++) {
		end = READ_ONCE(a->ends[i]);
		for (j = 0; end && j < PINION_LINK_ENDS; j++)
			if (end == READ_ONCE(b->ends[j]))
				return true;
	}
	return false;
}

static bool peers_are_in_one_net(const struct pinion_node *a, const struct pinion_node *b)
{
	return READ_ONCE(a->link.net) == READ_ONCE(b->link.net);
}

/*
 * A node without an engine for packets reaches joined namespaces by the loop, past their filters,
 * but only if it was made so: not because it could not get that engine.
 */
static enum nearness peer_nearness(const struct pinion_node *from, const struct pinion_node *node)
{
	if (node == from)
		return SAME_NODE;
	if (peers_are_in_one_net(from, node))
		return SAME_NET;
	if (from->lacks_others || node->lacks_others)
		return APART;
	return peers_are_joined(&from->link, &node->link) ? JOINED : APART;
}

/*
 * Zeros are no MAC: kernel users that were told none leave it so (the server of SMC-R, which learns
 * it only from peers with RoCE v1), and then the address decides alone.
 */
static bool peer_has_mac(const struct pinion_node *node, u64 mac)
{
	return !mac || READ_ONCE(node->link.mac) == mac;
}

/* Has @e's node the address of @av, with this MAC, and is its port up? */
static bool peer_is_meant(const struct pinion_endpoint *e, const struct pinion_av *av, u64 mac)
{
	return e->vlan == av->vlan && !memcmp(&e->gid, &av->dgid, sizeof(e->gid)) &&
	       READ_ONCE(e->node->link.up) && peer_has_mac(e->node, mac);
}

/* The node that @av leads to from @from. Under RCU, which keeps it. */
static struct pinion_node *peer_nearest(const struct pinion_node *from, const struct pinion_av *av)
{
	u64 mac = ether_addr_to_u64(av->dmac);
	struct pinion_node *found = NULL;
	enum nearness near, best = APART;
	struct pinion_endpoint *e;

	hash_for_each_possible_rcu(endpoints, e, hash, endpoint_hash(&av->dgid)) {
		if (!peer_is_meant(e, av, mac))
			continue;
		near = peer_nearness(from, e->node);
		if (near > best) {
			best = near;
			found = e->node;
		}
		if (best == SAME_NODE)
			break;
	}
	return found;
}

struct pinion_qp *pinion_peer_visit(struct pinion_node *from, const struct pinion_av *av,
				    u32 qpn)
{
	struct pinion_qp *qp = NULL;
	struct pinion_node *node;

	if (!READ_ONCE(from->link.up))
		return NULL;
	rcu_read_lock();
	node = peer_nearest(from, av);
	if (node)
		qp = pinion_qp_visit(node, qpn);
	rcu_read_unlock();
	return qp;
}

/*
 * Would a look-up find the kept @peer? One that is being destroyed wants its responder, and cannot
 * be found any more. If only its address has gone, messages reach it until the run ends.
 */
static bool peer_is_there(const struct pinion_qp *qp, const struct pinion_qp *peer)
{
	return !pinion_half_is_wanted(&peer->resp.lock) && READ_ONCE(qp->node->link.up) &&
	       READ_ONCE(peer->node->link.up);
}

struct pinion_qp *pinion_peer_keep(struct pinion_qp *qp)
{
	struct pinion_sq *sq = &qp->sq;

	pinion_half_assert(&sq->exec);
	if (sq->peer && peer_is_there(qp, sq->peer))
		return sq->peer;
	pinion_peer_leave(qp);
	sq->peer = pinion_peer_visit(qp->node, &qp->av, qp->attr.dest_qp_num);
	return sq->peer;
}

void pinion_peer_leave(struct pinion_qp *qp)
{
	if (qp->sq.peer)
		pinion_qp_leave(qp->sq.peer);
	qp->sq.peer = NULL;
}

bool pinion_peers_are_here(const struct pinion_node *from, const struct pinion_av *av)
{
	struct pinion_node *node;
	bool here;

	rcu_read_lock();
	node = peer_nearest(from, av);
	here = node && (!node->others || (peers_are_in_one_net(from, node) &&
					  !from->all_others && !node->all_others));
	rcu_read_unlock();
	return here;
}

struct pinion_node *pinion_peers_own(u64 net, u32 ifindex, const struct pinion_av *av)
{
	u64 mac = ether_addr_to_u64(av->dmac);
	struct pinion_node *found = NULL;
	struct pinion_endpoint *e;

	hash_for_each_possible_rcu(endpoints, e, hash, endpoint_hash(&av->dgid)) {
		if (!peer_is_meant(e, av, mac) || READ_ONCE(e->node->link.net) != net)
			continue;
		if (READ_ONCE(e->node->link.ifindex) == ifindex)
			return e->node;
		found = found ?: e->node;
	}
	return found;
}
