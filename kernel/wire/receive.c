// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Takes received packets out of the sockets of a namespace: in its work item, or in the thread of a
 * sender on this host (errand.h). wire.turn is held meanwhile, if it can be had in time; deliver.c
 * does the rest.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include <net/udp.h>
#include <rdma/ib_addr.h>

#include "buffer.h"

/* Buffers that one run of the work item takes from each socket. */
#define TURN		64
/* Likewise for a sender's errand. */
#define ERRAND		8

/* How long the work item waits for one turn of another thread to end, in jiffies. */
#define PATIENCE	(HZ / 5)

/*
 * The netdev that has the destination address of @skb, which came by the loopback; or NULL. If
 * several have it, IPv6 knows whose the route was. RCU is held.
 */
static struct net_device *wire_netdev_of(struct net *net, const struct sk_buff *skb)
{
	struct net_device *netdev;

	if (ip_hdr(skb)->version == 4)
		return __ip_dev_find(net, ip_hdr(skb)->daddr, false);
	if (!IS_ENABLED(CONFIG_IPV6))
		return NULL;
	netdev = dev_get_by_index_rcu(net, inet6_iif(skb));
	if (netdev && !(netdev->flags & IFF_LOOPBACK))
		return netdev;
	return ipv6_dev_find(net, &ipv6_hdr(skb)->daddr, NULL);
}

/* The MAC that @skb came from; what the network stack has looped back has none. */
static void wire_find_sender(const struct net_device *netdev, const struct sk_buff *skb,
			     struct pinion_wire_cb *cb)
{
	if (netdev->type == ARPHRD_ETHER && skb_mac_header_was_set(skb) &&
	    skb_network_offset(skb) - skb_mac_offset(skb) >= ETH_HLEN)
		ether_addr_copy(cb->smac, eth_hdr(skb)->h_source);
}

/* Find out which netdev @skb was received by, its VLAN, and the sender's MAC. It may be gone. */
static void wire_find_entrance(const struct pinion_wire *wire, const struct sk_buff *skb,
			       struct pinion_wire_cb *cb)
{
	struct net_device *netdev = NULL;
	struct net *net;

	cb->vlan = PINION_NO_VLAN;
	rcu_read_lock();
	net = READ_ONCE(wire->net);
	if (net)
		netdev = dev_get_by_index_rcu(net, skb->skb_iif);
	if (netdev)
		wire_find_sender(netdev, skb, cb);
	/* Packets of this host come by the loopback: take the netdev of the destination. */
	if (netdev && netdev->flags & IFF_LOOPBACK)
		netdev = wire_netdev_of(net, skb) ?: netdev;
	if (netdev && is_vlan_dev(netdev)) {
		cb->vlan = vlan_dev_vlan_id(netdev);
		netdev = vlan_dev_real_dev(netdev);
	}
	if (netdev)
		cb->ifindex = netdev->ifindex;
	rcu_read_unlock();
}

static bool wire_is_marked(const struct sk_buff *skb)
{
	u8 class = ip_hdr(skb)->version == 4 ? ip_hdr(skb)->tos : ipv6_get_dsfield(ipv6_hdr(skb));

	return INET_ECN_is_ce(class);
}

/* Prepare @skb, and check its UDP checksum. Return: whether it is accepted. */
static bool wire_accept(struct pinion_wire *wire, struct sk_buff *skb)
{
	bool several = skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4;
	u32 stride = max_t(u32, several ? skb_shinfo(skb)->gso_size : skb->len, 1);
	struct pinion_wire_cb cb = {
		.net = wire->cookie,
		.stride = stride,
		.marked = wire_is_marked(skb),
	};

	wire_find_entrance(wire, skb, &cb);
	/* UDP sockets use skb->dev for something else (dev_scratch). */
	skb->dev = NULL;
	skb_scrub_packet(skb, true);
	*pinion_wire_cb_of(skb) = cb;
	/* Fragments of one datagram that were never made are no packets of ours. */
	if (skb_is_gso(skb) && !several)
		return false;
	return skb_csum_unnecessary(skb) || !__skb_checksum_complete(skb);
}

/* Receive one buffer from @sk, which may be NULL. Return: whether there was one. */
static bool wire_receive_from(struct pinion_wire *wire, struct sock *sk,
			      struct pinion_errand *errand)
{
	struct sk_buff *skb;
	int err;

	skb = sk ? skb_recv_udp(sk, MSG_DONTWAIT, &err) : NULL;
	if (!skb)
		return false;
	if (wire_accept(wire, skb))
		pinion_wire_deliver(skb, errand);
	else
		pinion_wire_drop_malformed(skb);
	return true;
}

/* Receive up to @most buffers from each socket. Return: whether there may be more. */
static bool wire_receive_some(struct pinion_wire *wire, int most, struct pinion_errand *errand)
{
	struct sock *sock4 = pinion_wire_sock_get(&wire->sock4);
	struct sock *sock6 = pinion_wire_sock_get(&wire->sock6);
	bool any = true;
	int i;

	for (i = 0; i < most && any; i++) {
		any = wire_receive_from(wire, sock4, errand);
		any |= wire_receive_from(wire, sock6, errand);
		cond_resched();
	}
	if (sock4)
		sock_put(sock4);
	if (sock6)
		sock_put(sock6);
	return any;
}

void pinion_wire_leave(struct pinion_wire *wire)
{
	queue_work(pinion_wire_wq, &wire->work);
}

/* Packets are in a socket: will the work item see them, though it is not queued again? */
static bool wire_will_look(const struct pinion_wire *wire)
{
	/*
	 * The work item clears @goes_on, then looks at the sockets once more; the packets were
	 * added to one, now read @goes_on. With a barrier on both sides none is left behind.
	 */
	smp_mb();
	return READ_ONCE(wire->goes_on);
}

/* Return: whether the turn was taken. */
static bool wire_try_turn(struct pinion_wire *wire)
{
	if (!mutex_trylock(&wire->turn))
		return false;
	WRITE_ONCE(wire->turns, wire->turns + 1);
	return true;
}

static void wire_end_turn(struct pinion_wire *wire)
{
	mutex_unlock(&wire->turn);
	if (wq_has_sleeper(&wire->turn_ends))
		wake_up(&wire->turn_ends);
}

void pinion_wire_receive(struct pinion_wire *wire, struct pinion_errand *errand)
{
	bool more;

	/* If another thread holds @turn, it may have read the sockets before this came. */
	if (wire_try_turn(wire)) {
		more = wire_receive_some(wire, ERRAND, errand);
		wire_end_turn(wire);
	} else {
		more = !wire_will_look(wire);
	}
	if (more)
		pinion_wire_leave(wire);
}

void pinion_wire_help(struct pinion_wire *wire, struct pinion_errand *errand)
{
	/* What is left is for the work item, which is queued. */
	if (READ_ONCE(wire->goes_on) || !wire_try_turn(wire))
		return;
	wire_receive_some(wire, ERRAND, errand);
	wire_end_turn(wire);
}

static bool wire_sock_waits(struct sock __rcu *const *at)
{
	struct sock *sk;
	bool waits;

	rcu_read_lock();
	sk = rcu_dereference(*at);
	/* One who takes a packet moves all to the second queue. */
	waits = sk && (!skb_queue_empty_lockless(&sk->sk_receive_queue) ||
		       !skb_queue_empty_lockless(&udp_sk(sk)->reader_queue));
	rcu_read_unlock();
	return waits;
}

/* Are there packets in the sockets? */
static bool wire_waits(const struct pinion_wire *wire)
{
	return wire_sock_waits(&wire->sock4) || wire_sock_waits(&wire->sock6);
}

/* Are there any that no other thread is processing? */
static bool wire_has_work(const void *object)
{
	const struct pinion_wire *wire = object;

	return wire_waits(wire) && !mutex_is_locked((struct mutex *)&wire->turn);
}

/*
 * The work item takes the turn. A sender of low priority may hold it while its processor is busy,
 * and not be scheduled for long; everybody in the namespace would wait for it. So if one turn does
 * not end for a while, go on without it. The packets that the sender has taken are overtaken then,
 * as in a network. Return: whether the turn was taken.
 */
static bool wire_take_turn(struct pinion_wire *wire)
{
	bool taken = wire_try_turn(wire);
	u32 turns;

	/* If the same turn lasts since the last run, do not wait for it again. */
	while (!taken && READ_ONCE(wire->turns) != wire->overtaken) {
		turns = READ_ONCE(wire->turns);
		taken = wait_event_timeout(wire->turn_ends, wire_try_turn(wire), PATIENCE);
		/* If others had turns meanwhile, they took what is in the sockets. */
		if (!taken && READ_ONCE(wire->turns) == turns)
			wire->overtaken = turns;
	}
	return taken;
}

/* Return: whether there may be more. */
static bool wire_receive_burst(struct pinion_wire *wire, bool lingers)
{
	struct pinion_errand errand = { .lingers = lingers };
	bool more, taken = wire_take_turn(wire);

	more = wire_receive_some(wire, TURN, &errand);
	if (taken)
		wire_end_turn(wire);
	pinion_errand_run(&errand, false);
	return more;
}

/*
 * A run of the work item begins. Return: whether it has a CPU of its own, where it may linger: it
 * was moved there just now, or before its last run, which has queued it again.
 */
static bool wire_is_away(struct pinion_wire *wire)
{
	WRITE_ONCE(wire->taken_back, false);
	if (!READ_ONCE(wire->crowding.moved))
		return wire->away;
	return !pinion_crowding_was_late(&wire->crowding);
}

/*
 * The work item. If it was moved away from the sender's CPU it lingers, so that the sender need not
 * wake it for each message.
 */
static void wire_receive_turn(struct work_struct *work)
{
	struct pinion_wire *wire = container_of(work, struct pinion_wire, work);
	/* It does not give way to others by a sleep: the packets would wait. */
	struct pinion_linger linger = { .gave_way = true };
	unsigned long end = jiffies;
	bool more, away;

	WRITE_ONCE(wire->goes_on, true);
	away = wire_is_away(wire);
	if (away)
		end += msecs_to_jiffies(PINION_LINGER_MS);
	do
		more = wire_receive_burst(wire, away);
	while (time_before(jiffies, end) &&
	       (more || pinion_linger(&linger, wire_has_work, wire)));
	WRITE_ONCE(wire->goes_on, false);
	/* Pairs with the barrier in wire_will_look(). */
	smp_mb();
	more |= wire_waits(wire);
	wire->away = more && away && !linger.crowded;
	if (more)
		pinion_wire_leave(wire);
}

/*
 * The work item was moved, and waits too long for its CPU: take it back, once, since everybody in
 * this namespace waits for it. If it just begins, it is left alone.
 */
static void wire_take_back(struct pinion_wire *wire)
{
	if (READ_ONCE(wire->taken_back) || !pinion_crowding_is_late(&wire->crowding) ||
	    !cancel_work(&wire->work))
		return;
	WRITE_ONCE(wire->taken_back, true);
	pinion_wire_leave(wire);
}

/* In softirq. */
void pinion_wire_arrived(struct pinion_wire *wire)
{
	if (pinion_errand_take(wire) || wire_will_look(wire))
		return;
	wire_take_back(wire);
	/* A requester on this CPU goes on to send: receive on another, where we may linger. */
	if (pinion_errand_is_stream() && pinion_crowding_allows(&wire->crowding))
		pinion_crowding_move(&wire->crowding, pinion_wire_wq, &wire->work);
	else
		pinion_wire_leave(wire);
}

void pinion_wire_receive_init(struct pinion_wire *wire)
{
	mutex_init(&wire->turn);
	init_waitqueue_head(&wire->turn_ends);
	pinion_users_init(&wire->users);
	INIT_WORK(&wire->work, wire_receive_turn);
}

void pinion_wire_receive_end(struct pinion_wire *wire)
{
	pinion_users_drain(&wire->users);
	cancel_work_sync(&wire->work);
}
