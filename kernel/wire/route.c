// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Looks up routes, and keeps those of connections. As with a socket, the network stack says
 * whether a kept route is still right (dst_check()). It is not after a route, a rule, an address
 * or a policy of the namespace has changed. But by IPv6 it does not notice that another table
 * (that of local addresses, or of a rule) has a better route now. So a requester forgets its
 * route each time its ACK timer expires, and a responder each time it is asked for something
 * again; TCP does so after some retransmissions (dst_negative_advice()). Unreliable connections
 * have no such occasion.
 *
 * A kept route has a reference. This does not keep its netdev, which the network stack replaces.
 * But a route of IPv6 must not outlive its namespace. So all are in a list of their wire, and are
 * released when the namespace ends.
 */
#include <linux/cleanup.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/dst.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>

#include "route.h"
#include "wire.h"

/* How many are forgotten at a time, under the lock. There are two for each queue pair. */
#define FORGET_MOST	64

void pinion_route_init(struct pinion_route *route, struct pinion_wire *wire)
{
	*route = (struct pinion_route){};
	spin_lock(&wire->routes_lock);
	list_add(&route->node, &wire->routes);
	spin_unlock(&wire->routes_lock);
}

void pinion_route_end(struct pinion_route *route, struct pinion_wire *wire)
{
	spin_lock(&wire->routes_lock);
	list_del(&route->node);
	spin_unlock(&wire->routes_lock);
	pinion_route_forget(route);
}

/* The end of the namespace may release it at the same time. */
void pinion_route_forget(struct pinion_route *route)
{
	dst_release(xchg(&route->dst, NULL));
}

void pinion_routes_init(struct pinion_wire *wire)
{
	spin_lock_init(&wire->routes_lock);
	INIT_LIST_HEAD(&wire->routes);
}

/*
 * Forget some of the routes that are @left, and give them back to the wire. Return: whether there
 * are more.
 */
static bool routes_forget_some(struct pinion_wire *wire, struct list_head *left)
{
	struct pinion_route *route;
	int i;

	guard(spinlock)(&wire->routes_lock);
	for (i = 0; i < FORGET_MOST && !list_empty(left); i++) {
		route = list_first_entry(left, struct pinion_route, node);
		pinion_route_forget(route);
		list_move(&route->node, &wire->routes);
	}
	return !list_empty(left);
}

/*
 * Routes may end meanwhile, in either list. Those that begin are in the wire's, and have nothing to
 * forget.
 */
void pinion_routes_forget(struct pinion_wire *wire)
{
	LIST_HEAD(left);

	spin_lock(&wire->routes_lock);
	list_splice_init(&wire->routes, &left);
	spin_unlock(&wire->routes_lock);
	while (routes_forget_some(wire, &left))
		cond_resched();
}

/* Find the route, by all fields that rules and policies of the namespace may use. */
static struct dst_entry *route_find4(struct net *net, const struct pinion_av *av,
				     const struct sk_buff *skb)
{
	struct flowi4 fl = {};
	struct rtable *rt;

	flowi4_init_output(&fl, av->ifindex, skb->sk->sk_mark, av->traffic_class,
			   RT_SCOPE_UNIVERSE, IPPROTO_UDP, 0,
			   *(__be32 *)&av->dgid.raw[12], *(__be32 *)&av->sgid.raw[12],
			   udp_hdr(skb)->dest, udp_hdr(skb)->source,
			   sock_net_uid(net, skb->sk));
	rt = ip_route_output_flow(net, &fl, skb->sk);
	return IS_ERR(rt) ? ERR_CAST(rt) : &rt->dst;
}

static struct dst_entry *route_find6(struct net *net, const struct pinion_av *av,
				     const struct sk_buff *skb)
{
	struct flowi6 fl = {
		.flowi6_oif = av->ifindex,
		.flowi6_mark = skb->sk->sk_mark,
		.flowi6_proto = IPPROTO_UDP,
		.flowi6_uid = sock_net_uid(net, skb->sk),
		.flowlabel = ip6_flowinfo(ipv6_hdr(skb)),
		.saddr = *(struct in6_addr *)&av->sgid,
		.daddr = *(struct in6_addr *)&av->dgid,
		.fl6_sport = udp_hdr(skb)->source,
		.fl6_dport = udp_hdr(skb)->dest,
	};

	return ip6_dst_lookup_flow(net, skb->sk, &fl, NULL);
}

static struct dst_entry *route_find(struct net *net, const struct pinion_av *av,
				    const struct sk_buff *skb)
{
	if (av->ipv4)
		return route_find4(net, av, skb);
	if (IS_ENABLED(CONFIG_IPV6))
		return route_find6(net, av, skb);
	return ERR_PTR(-EAFNOSUPPORT);
}

/*
 * Is the source address still one of this host's? By IPv4 the look-up finds that out, and a kept
 * route ends with any address.
 */
static bool route_has_source(struct net *net, const struct pinion_av *av)
{
	if (av->ipv4 || !IS_ENABLED(CONFIG_IPV6))
		return true;
	return ipv6_chk_addr(net, (const struct in6_addr *)&av->sgid, NULL, 0);
}

/* The route that is kept, if it is still right. */
static struct dst_entry *route_kept(struct pinion_route *route)
{
	if (route->dst && !dst_check(route->dst, route->cookie))
		pinion_route_forget(route);
	return route->dst;
}

/*
 * Find a route to be kept. The cookie must not be newer than the route, which would be kept
 * although it is wrong: it is read before the look-up that counts, which must find the same route.
 * If that finds another, since the routing changes just now, that is not kept. A bundle of policies
 * is another each time, but knows itself whether it is right.
 */
static struct dst_entry *route_find_to_keep(struct pinion_route *route, struct net *net,
					    const struct pinion_av *av, const struct sk_buff *skb)
{
	struct dst_entry *before = route_find(net, av, skb), *dst;

	route->cookie = 0;
	if (IS_ERR(before))
		return before;
	if (av->ipv4 || dst_xfrm(before)) {
		route->dst = before;
		return before;
	}
	route->cookie = rt6_get_cookie(dst_rt6_info(before));
	dst = route_find(net, av, skb);
	dst_release(before);
	if (dst == before)
		route->dst = dst;
	return dst;
}

bool pinion_route_set(struct pinion_route *route, struct net *net, const struct pinion_av *av,
		      struct sk_buff *skb)
{
	struct dst_entry *dst;

	if (!route_has_source(net, av))
		return false;
	dst = route ? route_kept(route) : NULL;
	if (!dst) {
		dst = route ? route_find_to_keep(route, net, av, skb) : route_find(net, av, skb);
		if (IS_ERR(dst))
			return false;
		if (!route || !route->dst) {
			skb_dst_set(skb, dst);
			return true;
		}
	}
	/* RCU keeps it until the network has got its own reference, if it needs one. */
	skb_dst_set_noref(skb, dst);
	return true;
}
