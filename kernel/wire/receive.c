// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Takes received packets out of the sockets of a namespace: in its work item, or in the thread of a
 * sender on this host (errand.h). wire.turn is held meanwhile; deliver.c does the rest.
 */
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
/* A work item that waits so long for its CPU is in the way there. Mostly it is microseconds. */
#define LATE_NS		(500 * NSEC_PER_USEC)

/* The netdev that has the destination address of @skb, or NULL. RCU is held. */
static struct net_device *wire_netdev_of(struct net *net, const struct sk_buff *skb)
{
	if (ip_hdr(skb)->version == 4)
		return __ip_dev_find(net, ip_hdr(skb)->daddr, false);
	return IS_ENABLED(CONFIG_IPV6) ? ipv6_dev_find(net, &ipv6_hdr(skb)->daddr, NULL) : NULL;
}

/* Find out which netdev @skb was received by, and its VLAN. It may be gone. */
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
	bool several = skb_is_gso(skb);
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
	if (several && !(skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4))
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
		consume_skb(skb);
	return true;
}

/* Receive up to @most buffers from each socket. Return: whether there may be more. */
static bool wire_receive_some(struct pinion_wire *wire, int most, struct pinion_errand *errand)
{
	struct sock *sock4 = pinion_wire_sock_get(&wire->sock4);
	struct sock *sock6 = pinion_wire_sock_get(&wire->sock6);
	bool any = true;
	int i;

	lockdep_assert_held(&wire->turn);
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

void pinion_wire_receive(struct pinion_wire *wire, struct pinion_errand *errand)
{
	bool more;

	/* If another thread holds @turn, it may have read the sockets before this came. */
	if (mutex_trylock(&wire->turn)) {
		more = wire_receive_some(wire, ERRAND, errand);
		mutex_unlock(&wire->turn);
	} else {
		more = !wire_will_look(wire);
	}
	if (more)
		pinion_wire_leave(wire);
}

static bool wire_sock_waits(struct sock __rcu *const *at)
{
	struct sock *sk;
	bool waits;

	rcu_read_lock();
	sk = rcu_dereference(*at);
	waits = sk && !skb_queue_empty_lockless(&sk->sk_receive_queue);
	rcu_read_unlock();
	return waits;
}

/* Have packets arrived that nobody has begun to process? */
static bool wire_waits(const void *object)
{
	const struct pinion_wire *wire = object;

	return wire_sock_waits(&wire->sock4) || wire_sock_waits(&wire->sock6);
}

/* Return: whether there may be more. */
static bool wire_receive_burst(struct pinion_wire *wire, bool lingers)
{
	struct pinion_errand errand = { .lingers = lingers };
	bool more;

	mutex_lock(&wire->turn);
	more = wire_receive_some(wire, TURN, &errand);
	mutex_unlock(&wire->turn);
	pinion_errand_run(&errand);
	return more;
}

/*
 * The work item was moved to another CPU at @moved. If that has kept it waiting, for instance since
 * the receiving program polls there without rest, it is better off on the sender's.
 */
static void wire_judge(struct pinion_wire *wire, u64 moved)
{
	pinion_crowding_judge(&wire->crowding, ktime_get_ns() - moved > LATE_NS);
}

/*
 * The work item. If it was moved away from the sender's CPU it lingers, so that the sender need not
 * wake it for each message.
 */
static void wire_receive_turn(struct work_struct *work)
{
	struct pinion_wire *wire = container_of(work, struct pinion_wire, work);
	unsigned long end = jiffies + msecs_to_jiffies(PINION_LINGER_MS);
	/* It does not give way to others by a sleep: the packets would wait. */
	struct pinion_linger linger = { .gave_way = true };
	u64 moved = xchg(&wire->moved, 0);
	bool more;

	if (moved)
		wire_judge(wire, moved);
	WRITE_ONCE(wire->goes_on, true);
	do
		more = wire_receive_burst(wire, moved);
	while (time_before(jiffies, end) &&
	       (more || (moved && pinion_linger(&linger, wire_waits, wire))));
	WRITE_ONCE(wire->goes_on, false);
	/* Pairs with the barrier in wire_will_look(). */
	smp_mb();
	if (!more && !wire_waits(wire))
		return;
	/* On this CPU, behind other work items. */
	if (moved)
		WRITE_ONCE(wire->moved, ktime_get_ns());
	pinion_wire_leave(wire);
}

/* A requester on this CPU goes on to send: receive on another, where the work item may linger. */
static void wire_move(struct pinion_wire *wire)
{
	/* Not again for each packet that arrives while it waits. */
	if (!READ_ONCE(wire->moved))
		WRITE_ONCE(wire->moved, ktime_get_ns());
	queue_work_on(pinion_linger_cpu(raw_smp_processor_id()), pinion_wire_wq, &wire->work);
}

/* In softirq. */
void pinion_wire_arrived(struct pinion_wire *wire)
{
	if (pinion_errand_take(wire) || wire_will_look(wire))
		return;
	if (pinion_errand_is_stream() && pinion_crowding_is_over(&wire->crowding))
		wire_move(wire);
	else
		pinion_wire_leave(wire);
}

void pinion_wire_receive_init(struct pinion_wire *wire)
{
	mutex_init(&wire->turn);
	pinion_users_init(&wire->users);
	INIT_WORK(&wire->work, wire_receive_turn);
}

void pinion_wire_receive_end(struct pinion_wire *wire)
{
	pinion_users_drain(&wire->users);
	cancel_work_sync(&wire->work);
}
