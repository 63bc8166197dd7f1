/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The nodes on this host, and which of them a message reaches by its destination address.
 */
#ifndef PINION_PATH_PEERS_H
#define PINION_PATH_PEERS_H

#include <linux/if_ether.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct pinion_av;
struct pinion_node;
struct pinion_qp;

/* The VLAN of an address that is in none; the core uses the same value. */
#define PINION_NO_VLAN	0xffff

/* The netdev itself, what its wire leads to, and a bridge at either end. */
#define PINION_LINK_ENDS 4

/*
 * Where a node's netdev is. @net (the cookie of the network namespace) and @ends (pointers to
 * netdevs) are only compared, never dereferenced.
 */
struct pinion_link {
	u64 mac;
	u64 net;
	const void *ends[PINION_LINK_ENDS];
	u32 ifindex;			/* in that namespace */
	u32 mtu;			/* enum ib_mtu value in bytes */
	bool up;
};

/* The link changes; traffic may run. One at a time: under RTNL. */
void pinion_peers_set_link(struct pinion_node *node, const struct pinion_link *link);

/* An address of a node. */
struct pinion_endpoint;

/* Messages to @gid in @vlan reach @node. Return: NULL without memory. Sleeps. */
struct pinion_endpoint *pinion_peers_add(struct pinion_node *node, const union ib_gid *gid,
					 u16 vlan);
/*
 * Undo pinion_peers_add(). Messages that found the node before may still be on their way, in RCU
 * read-side sections.
 */
void pinion_peers_del(struct pinion_endpoint *endpoint);

/* Visit QP @qpn of the node that @av leads to from @from, as pinion_qp_visit() does. */
struct pinion_qp *pinion_peer_visit(struct pinion_node *from, const struct pinion_av *av,
				    u32 qpn);

/*
 * The peer of @qp, which is connected, or NULL. The visit lasts until pinion_peer_leave(), so that
 * the next messages need not look for it. @qp->sq.exec is held.
 */
struct pinion_qp *pinion_peer_keep(struct pinion_qp *qp);
void pinion_peer_leave(struct pinion_qp *qp);

/*
 * Does @av lead from @from, which can send packets, to a node that is to be reached without? If
 * that node can send packets, too, this is so only in one network namespace, and only if neither
 * wants packets there: both ends see the same. A node that is made to send none is always
 * reached without.
 */
bool pinion_peers_are_here(const struct pinion_node *from, const struct pinion_av *av);

/*
 * The node that a packet to @av's address reaches in namespace @net, or NULL. @ifindex: of the
 * netdev it came by, below VLANs. Several netdevs may have the address, as link-local ones of
 * several links; if that netdev has it, its node is meant. Under RCU.
 */
struct pinion_node *pinion_peers_own(u64 net, u32 ifindex, const struct pinion_av *av);

#endif
