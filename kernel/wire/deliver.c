// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * From a received buffer to the lines of queue pairs, and groups. Its contents cannot be trusted:
 * the ICRC excludes errors of transmission only, since anybody can send packets.
 *
 * A buffer may have several packets (GSO on this host, or GRO). Then the queue pair is looked up
 * once, and requester and responder handle consecutive packets of a message as one (train.h). No
 * ICRC is computed before the queue pair is found; for a group it always is.
 *
 * Process context. The caller holds wire.turn, so that packets stay in order, but for one who has
 * waited too long for it; queue pairs are found under RCU, and visited while packets are delivered.
 */
#include <linux/etherdevice.h>
#include <net/ipv6.h>

#include "../path/mcast.h"
#include "../path/respond.h"
#include "buffer.h"
#include "conn.h"

/* Members of a group that are looked up at once. */
#define MEMBERS		16
/*
 * To so many of them a datagram is delivered here. The work items of their users deliver it to
 * others, and several packets at a time to all: else a buffer for a large group, which costs its
 * sender nothing, would keep all packets of the namespace waiting.
 */
#define AT_ONCE		4

/* Whom a run of packets is for. */
struct wire_target {
	struct pinion_packet packet;	/* the first */
	const struct pinion_av *av;
	struct pinion_qp *qp;		/* visited; or NULL: the members of a group */
	struct pinion_mcast_reach reach;
};

/* The node of this namespace that has the address of @av; see pinion_peers_own(). Under RCU. */
static struct pinion_node *wire_node_of(const struct sk_buff *skb, const struct pinion_av *av)
{
	const struct pinion_wire_cb *cb = pinion_wire_cb_of(skb);

	return pinion_peers_own(cb->net, cb->ifindex, av);
}

static bool wire_is_served(const struct pinion_packet *packet)
{
	return packet->payload <= 4096 &&
	       (packet->pkey & 0x7fff) == (PINION_PKEY_DEFAULT & 0x7fff);
}

static bool wire_is_datagram(const struct pinion_packet *packet)
{
	return (packet->opcode & PINION_TRANSPORT_MASK) == PINION_TRANSPORT_UD;
}

/* Visit a member of the group that @skb is for; or NULL. */
static struct pinion_qp *wire_any_member(const struct sk_buff *skb, const struct pinion_av *av)
{
	const struct pinion_mcast_reach reach = {
		.mgid = &av->dgid,
		.net = pinion_wire_cb_of(skb)->net,
		.ifindex = pinion_wire_cb_of(skb)->ifindex,
	};
	struct pinion_mcast_walk walk = {};
	struct pinion_qp *member;

	if (!reach.ifindex || !pinion_mcast_members(&reach, &walk, &member, 1))
		return NULL;
	return member;
}

/* Count packets that are dropped, for the device of a member of the group that they are for. */
static void wire_count_for_group(const struct sk_buff *skb, const struct pinion_av *av,
				 enum pinion_stat reason, u32 packets)
{
	struct pinion_qp *member = wire_any_member(skb, av);

	if (!member)
		return;
	pinion_stat_add_to(member->node, reason, packets);
	pinion_qp_leave(member);
}

/* Count packets that are dropped, for the device with their destination address. */
static void wire_count(const struct sk_buff *skb, const struct pinion_av *av,
		       enum pinion_stat reason, u32 packets)
{
	struct pinion_node *node;

	if (pinion_mcast_is_group(&av->dgid)) {
		wire_count_for_group(skb, av, reason, packets);
		return;
	}
	rcu_read_lock();
	node = wire_node_of(skb, av);
	if (node)
		pinion_stat_add_to(node, reason, packets);
	rcu_read_unlock();
}

void pinion_wire_drop_malformed(struct sk_buff *skb)
{
	struct pinion_av av;

	pinion_wire_addresses(skb, &av);
	wire_count(skb, &av, PINION_STAT_rx_malformed, max(pinion_wire_packets(skb), 1));
	kfree_skb(skb);
}

/*
 * Find the queue pair for @packet and those that go along, @packets of @skb in all, and visit it.
 * Their ICRCs are computed later: who sends to no queue pair costs one look-up.
 */
static struct pinion_qp *wire_find_qp(const struct sk_buff *skb, const struct pinion_av *av,
				      const struct pinion_packet *packet, u32 packets)
{
	struct pinion_qp *qp = NULL;
	struct pinion_node *node;

	rcu_read_lock();
	node = wire_node_of(skb, av);
	if (node && wire_is_served(packet))
		qp = pinion_qp_visit(node, packet->qpn);
	if (node && !qp)
		pinion_stat_add(node, rx_no_queue, packets);
	rcu_read_unlock();
	return qp;
}

/* Could @packet be of the connection? */
static bool wire_is_connected(const struct pinion_qp *qp, const struct pinion_packet *packet,
			      const struct pinion_av *av)
{
	u8 transport = packet->opcode & PINION_TRANSPORT_MASK;

	if (!pinion_qp_is_connected(qp) || READ_ONCE(qp->engine) != &pinion_wire_engine ||
	    (transport != PINION_TRANSPORT_CNP && transport != pinion_conn_transport(qp)))
		return false;
	/* Without a lock; checked again under it when the packet is processed. */
	return data_race(pinion_conn_is_peer(qp, av));
}

/*
 * Deliver @skb to @qp, which is @target's, or a member of its group. @at_once: here, if no other
 * thread has its lock. Return: whether it was taken.
 */
static bool wire_deliver(const struct wire_target *target, struct pinion_qp *qp,
			 struct sk_buff *skb, struct pinion_errand *errand, bool at_once)
{
	const struct pinion_packet *packet = &target->packet;
	enum pinion_packet_role role = pinion_packet_kind(packet->opcode)->role;
	/* Read before @skb is delivered: it may be freed at once then. */
	u32 packets = pinion_wire_packets(skb);

	if (!qp->conn || (wire_is_datagram(packet) ? pinion_qp_is_connected(qp) :
						     !wire_is_connected(qp, packet, target->av))) {
		pinion_stat_add(qp, rx_strangers, packets);
		return false;
	}
	if (role == PINION_NOTICE) {
		pinion_congestion_notified(qp);
		pinion_stat_add(qp, rp_cnp_ignored, packets - 1);
		return false;
	}
	if (packets > 1)
		pinion_stat_add(qp, rx_burst_packets, packets);
	return pinion_conn_arrived(qp, skb, role, errand, at_once);
}

/* Is packet @i valid, but perhaps for its ICRC, and for the same half of the same queue pair? */
static bool wire_goes_along(const struct sk_buff *skb, u32 i, const struct pinion_packet *first)
{
	struct pinion_packet packet;

	return pinion_wire_parse(skb, i, &packet) && wire_is_served(&packet) &&
	       packet.qpn == first->qpn &&
	       !((packet.opcode ^ first->opcode) & PINION_TRANSPORT_MASK) &&
	       pinion_packet_kind(packet.opcode)->role ==
	       pinion_packet_kind(first->opcode)->role;
}

/* The end of the run of packets from @i on, of which @first is the first, for the same half. */
static u32 wire_end_of_run(const struct sk_buff *skb, u32 i, const struct pinion_packet *first)
{
	u32 packets = pinion_wire_packets(skb), end = i + 1;

	while (wire_is_served(first) && end < packets && wire_goes_along(skb, end, first))
		end++;
	return end;
}

/* How many packets from @i on, before @end, have a right ICRC: up to the first that has not. */
static u32 wire_count_right(const struct sk_buff *skb, u32 i, u32 end)
{
	u32 right = 0;

	while (i + right < end && pinion_wire_icrc_is_right(skb, i + right))
		right++;
	return right;
}

/*
 * Is it known to come from a device of this namespace that hands messages to members on this host
 * itself? Also note the sender, who does not hear itself. A link-local address may be somebody
 * else's on another link, so the MAC must be the device's, too.
 */
static bool wire_is_delivered(const struct sk_buff *skb, const struct pinion_av *av,
			      struct pinion_mcast_reach *reach)
{
	struct pinion_av back = { .dgid = av->sgid, .vlan = av->vlan };
	bool delivered;

	if (!av->ipv4 && ipv6_addr_type((const struct in6_addr *)&av->sgid) & IPV6_ADDR_LINKLOCAL)
		ether_addr_copy(back.dmac, pinion_wire_cb_of(skb)->smac);
	rcu_read_lock();
	reach->node = wire_node_of(skb, &back);
	delivered = reach->node && !reach->node->all_others;
	rcu_read_unlock();
	return delivered;
}

static void wire_deliver_to_member(const struct wire_target *target, struct pinion_qp *qp,
				   struct sk_buff *skb, struct pinion_errand *errand, bool at_once)
{
	struct sk_buff *copy = skb_clone(skb, GFP_NOWAIT | __GFP_NOWARN);

	if (!copy)
		pinion_stat_add(qp, rx_overruns, pinion_wire_packets(skb));
	else if (!wire_deliver(target, qp, copy, errand, at_once))
		consume_skb(copy);
}

/*
 * Is it for a group, and has not been delivered otherwise? Also fill target->reach. @packets of
 * @skb go along.
 */
static bool wire_find_group(const struct sk_buff *skb, struct wire_target *target, u32 packets)
{
	const struct pinion_packet *packet = &target->packet;

	target->reach = (struct pinion_mcast_reach){
		.mgid = &target->av->dgid,
		.net = pinion_wire_cb_of(skb)->net,
		.ifindex = pinion_wire_cb_of(skb)->ifindex,
		.qpn = packet->src_qpn,
	};
	if (packet->qpn != PINION_MULTICAST_QPN || !wire_is_datagram(packet) ||
	    !wire_is_served(packet)) {
		wire_count(skb, target->av, PINION_STAT_rx_no_queue, packets);
		return false;
	}
	return target->reach.ifindex && !wire_is_delivered(skb, target->av, &target->reach);
}

/* Deliver @skb to all members on the device that it came by. */
static void wire_deliver_to_group(const struct wire_target *target, struct sk_buff *skb,
				  struct pinion_errand *errand)
{
	struct pinion_mcast_walk walk = {};
	struct pinion_qp *members[MEMBERS];
	u32 count, i, left = pinion_wire_packets(skb) == 1 ? AT_ONCE : 0;

	do {
		count = pinion_mcast_members(&target->reach, &walk, members, ARRAY_SIZE(members));
		for (i = 0; i < count; i++) {
			wire_deliver_to_member(target, members[i], skb, errand, left);
			left -= !!left;
			pinion_qp_leave(members[i]);
		}
		cond_resched();
	} while (count == ARRAY_SIZE(members));
}

/* All packets of @skb are for @target, with right ICRCs. Return: whether @skb was taken. */
static bool wire_deliver_all(const struct wire_target *target, struct sk_buff *skb,
			     struct pinion_errand *errand)
{
	if (target->qp)
		return wire_deliver(target, target->qp, skb, errand, true);
	wire_deliver_to_group(target, skb, errand);
	return false;
}

/*
 * @packets packets of @skb from @i on are for @target. If these are not all, deliver a copy of
 * them. Return: whether @skb was taken.
 */
static bool wire_deliver_part(const struct wire_target *target, struct sk_buff *skb, u32 i,
			      u32 packets, struct pinion_errand *errand)
{
	struct sk_buff *cut;

	if (packets == pinion_wire_packets(skb))
		return wire_deliver_all(target, skb, errand);
	cut = pinion_wire_cut_out(skb, i, packets);
	if (!cut && target->qp)
		pinion_stat_add(target->qp, rx_overruns, packets);
	else if (!cut)
		wire_count(skb, target->av, PINION_STAT_rx_overruns, packets);
	else if (!wire_deliver_all(target, cut, errand))
		consume_skb(cut);
	return false;
}

/* Count a packet with a wrong ICRC, for the device that it is for; one for a group, once. */
static void wire_count_damaged(const struct wire_target *target)
{
	struct pinion_mcast_walk walk = {};
	struct pinion_qp *member;

	if (target->qp) {
		pinion_stat_inc(target->qp->node, rx_icrc_encapsulated);
	} else if (pinion_mcast_members(&target->reach, &walk, &member, 1)) {
		pinion_stat_inc(member->node, rx_icrc_encapsulated);
		pinion_qp_leave(member);
	}
}

/* The packets of @skb from @i on, before @end, are for @target, but for damaged ones. */
static bool wire_receive_run(const struct wire_target *target, struct sk_buff *skb, u32 i, u32 end,
			     struct pinion_errand *errand)
{
	bool taken = false;
	u32 right;

	while (i < end && !taken) {
		right = wire_count_right(skb, i, end);
		if (right)
			taken = wire_deliver_part(target, skb, i, right, errand);
		i += right;
		/* The one that ended them is damaged. */
		if (i < end)
			wire_count_damaged(target);
		i++;
	}
	return taken;
}

/*
 * Deliver packet @i of @skb, and those behind it that are for the same half of the same queue pair,
 * or for the same group. *@end: behind them. We send only such in a buffer, but the kernel may
 * merge requests and answers of one connection. Return: whether @skb was taken.
 */
static bool wire_receive_next(struct sk_buff *skb, u32 i, u32 *end, const struct pinion_av *av,
			      struct pinion_errand *errand)
{
	struct wire_target target = { .av = av };
	bool taken;

	*end = i + 1;
	if (!pinion_wire_parse(skb, i, &target.packet)) {
		wire_count(skb, av, PINION_STAT_rx_malformed, 1);
		return false;
	}
	*end = wire_end_of_run(skb, i, &target.packet);
	if (pinion_mcast_is_group(&av->dgid))
		return wire_find_group(skb, &target, *end - i) &&
		       wire_receive_run(&target, skb, i, *end, errand);
	target.qp = wire_find_qp(skb, av, &target.packet, *end - i);
	if (!target.qp)
		return false;
	taken = wire_receive_run(&target, skb, i, *end, errand);
	pinion_qp_leave(target.qp);
	return taken;
}

/* Has a device of ours the destination address of @skb, or has a queue pair joined its group? */
static bool wire_has_receiver(const struct sk_buff *skb, const struct pinion_av *av)
{
	struct pinion_qp *member;
	bool ours;

	if (pinion_mcast_is_group(&av->dgid)) {
		member = wire_any_member(skb, av);
		if (member)
			pinion_qp_leave(member);
		return member;
	}
	rcu_read_lock();
	ours = wire_node_of(skb, av);
	rcu_read_unlock();
	return ours;
}

/*
 * Fill @av. Return: false if @skb must be dropped: if its packets are shorter than a BTH and an
 * ICRC, or nobody here can receive it. The latter is looked up before a buffer is copied into one
 * piece, or several packets are parsed. For a single packet in one piece its own look-up finds it
 * out.
 */
static bool wire_is_for_us(const struct sk_buff *skb, struct pinion_av *av)
{
	if (!pinion_wire_addresses(skb, av) ||
	    pinion_wire_stride(skb) < PINION_BTH_BYTES + PINION_ICRC_BYTES) {
		wire_count(skb, av, PINION_STAT_rx_malformed, max(pinion_wire_packets(skb), 1));
		return false;
	}
	if (pinion_wire_packets(skb) == 1 && !skb_is_nonlinear(skb))
		return true;
	return wire_has_receiver(skb, av);
}

void pinion_wire_deliver(struct sk_buff *skb, struct pinion_errand *errand)
{
	u32 i = 0, packets;
	struct sk_buff *whole;
	struct pinion_av av;
	bool taken = false;

	/* This reads the IP header only, which the network stack has put into the linear part. */
	if (!wire_is_for_us(skb, &av)) {
		consume_skb(skb);
		return;
	}
	packets = pinion_wire_packets(skb);
	whole = pinion_wire_unite(skb);
	if (!whole) {
		wire_count(skb, &av, PINION_STAT_rx_overruns, packets);
		kfree_skb(skb);
		return;
	}
	/* Once it is taken it may be freed. */
	while (i < packets && !taken)
		taken = wire_receive_next(whole, i, &i, &av, errand);
	if (!taken)
		consume_skb(whole);
}
