/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Routes of packets. The route of a connection is kept, and looked up again only after the routing
 * of the namespace has changed. A datagram may go to another peer each time: its route is looked up
 * each time.
 */
#ifndef PINION_WIRE_ROUTE_H
#define PINION_WIRE_ROUTE_H

#include <linux/list.h>
#include <linux/types.h>

struct dst_entry;
struct net;
struct pinion_av;
struct pinion_wire;
struct sk_buff;

/* The route of packets to one address with one flow. It belongs to one half of a queue pair. */
struct pinion_route {
	struct list_head node;		/* in pinion_wire.routes */
	struct dst_entry *dst;		/* NULL: not looked up yet; else with a reference */
	u32 cookie;			/* dst_check() compares it */
};

void pinion_route_init(struct pinion_route *route, struct pinion_wire *wire);
/* Nobody uses it any more. */
void pinion_route_end(struct pinion_route *route, struct pinion_wire *wire);
/*
 * Have the next packet look the route up again: the address changes, or nobody answers. Any
 * context; the caller owns the half that the route belongs to.
 */
void pinion_route_forget(struct pinion_route *route);

/*
 * Set the route of @skb, which has all its headers, to @av. Under RCU, which is held until @skb was
 * handed to the network. @route: where it is kept, its owner's lock is held; or NULL. Return: false
 * if there is no route, or the source address is not of this host any more.
 */
bool pinion_route_set(struct pinion_route *route, struct net *net, const struct pinion_av *av,
		      struct sk_buff *skb);

void pinion_routes_init(struct pinion_wire *wire);
/* The namespace ends. Nobody calls pinion_route_set() for it any more. Sleeps. */
void pinion_routes_forget(struct pinion_wire *wire);

#endif
