// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * From a received buffer to the lines of queue pairs, and groups. Its contents cannot be trusted:
 * the ICRC excludes errors of transmission only, since anybody can send packets.
 *
 * A buffer may have several packets (GSO on this host, or GRO). Then the queue pair is looked up
 * once, and requester and responder handle consecutive packets of a message as one (train.h).
 *
 * Process context. The caller holds wire.turn, so that packets stay in order; queue pairs are found
 * under RCU, and referred to while packets are delivered.
 */
#include "../path/mcast.h"
#include "../path/respond.h"
#include "buffer.h"
#include "conn.h"

/* Members of a group that are looked up at once. */
#define MEMBERS		16

static bool wire_is_served(const struct pinion_packet *packet)
{
	return packet->payload <= 4096 &&
	       (packet->pkey & 0x7fff) == (PINION_PKEY_DEFAULT & 0x7fff);
}

static bool wire_is_datagram(const struct pinion_packet *packet)
{
	return (packet->opcode & PINION_TRANSPORT_MASK) == PINION_TRANSPORT_UD;
}

/* Count a packet that cannot be parsed, for the device with its destination address. */
static void wire_count_malformed(const struct sk_buff *skb, const struct pinion_av *av)
{
	struct pinion_node *node;

	rcu_read_lock();
	node = pinion_peers_own(pinion_wire_cb_of(skb)->net, av);
	if (node)
		pinion_stat_inc(node, rx_malformed);
	rcu_read_unlock();
}

/* Find the queue pair for @packet, packet @i of @skb, and take a reference. RCU is held. */
static struct pinion_qp *wire_find_qp(const struct sk_buff *skb, u32 i, struct pinion_node *node,
				      const struct pinion_packet *packet)
{
	struct pinion_qp *qp = NULL;

	if (!pinion_wire_icrc_is_right(skb, i)) {
		pinion_stat_inc(node, rx_icrc_encapsulated);
		return NULL;
	}
	if (wire_is_served(packet))
		qp = pinion_qp_get(node, packet->qpn);
	/* All packets of the buffer are for the same queue pair: see wire_run(). */
	if (!qp)
		pinion_stat_add(node, rx_no_queue, pinion_wire_packets(skb));
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

/* Deliver @skb, whose first packet is @packet, to @qp. Return: whether it was taken. */
static bool wire_deliver(struct pinion_qp *qp, struct sk_buff *skb,
			 const struct pinion_packet *packet, const struct pinion_av *av,
			 struct pinion_errand *errand)
{
	enum pinion_packet_role role = pinion_packet_kind(packet->opcode)->role;
	/* Read before @skb is delivered: it may be freed at once then. */
	u32 packets = pinion_wire_packets(skb);

	if (!qp->conn || (wire_is_datagram(packet) ? pinion_qp_is_connected(qp) :
						     !wire_is_connected(qp, packet, av))) {
		pinion_stat_add(qp, rx_strangers, packets);
		return false;
	}
	if (role == PINION_NOTICE) {
		pinion_congestion_notified(qp);
		return false;
	}
	if (packets > 1)
		pinion_stat_add(qp, rx_burst_packets, packets);
	if (pinion_conn_arrived(qp, skb, role, errand))
		return true;
	pinion_stat_add(qp, rx_overruns, packets);
	return false;
}

/* Is packet @i valid, and for the same half of the same queue pair as @first? */
static bool wire_goes_along(const struct sk_buff *skb, u32 i, const struct pinion_packet *first)
{
	struct pinion_packet packet;

	return pinion_wire_parse(skb, i, &packet) && wire_is_served(&packet) &&
	       packet.qpn == first->qpn &&
	       !((packet.opcode ^ first->opcode) & PINION_TRANSPORT_MASK) &&
	       pinion_packet_kind(packet.opcode)->role ==
	       pinion_packet_kind(first->opcode)->role &&
	       pinion_wire_icrc_is_right(skb, i);
}

/* How many packets from packet @i on are for the same half of the same queue pair; at least 1. */
static u32 wire_run(const struct sk_buff *skb, u32 i)
{
	u32 packets = pinion_wire_packets(skb), end = i + 1;
	struct pinion_packet first;

	if (end >= packets || !pinion_wire_parse(skb, i, &first))
		return 1;
	while (end < packets && wire_goes_along(skb, end, &first))
		end++;
	return end - i;
}

/*
 * Is it known to come from a device of this namespace that hands messages to members on this host
 * itself? Also note the sender, who does not hear itself.
 */
static bool wire_is_delivered(const struct sk_buff *skb, const struct pinion_av *av,
			      struct pinion_mcast_reach *reach)
{
	const struct pinion_av back = { .dgid = av->sgid, .vlan = av->vlan };
	bool delivered;

	rcu_read_lock();
	reach->node = pinion_peers_own(pinion_wire_cb_of(skb)->net, &back);
	delivered = reach->node && !reach->node->all_others;
	rcu_read_unlock();
	return delivered;
}

/* Count a wrong ICRC, for the device of a member. */
static void wire_count_damaged(const struct pinion_mcast_reach *reach)
{
	struct pinion_mcast_walk walk = {};
	struct pinion_qp *qp;

	if (!pinion_mcast_members(reach, &walk, &qp, 1))
		return;
	pinion_stat_inc(qp->node, rx_icrc_encapsulated);
	pinion_qp_put(qp);
}

static void wire_deliver_to_member(struct pinion_qp *qp, struct sk_buff *skb,
				   const struct pinion_packet *packet, const struct pinion_av *av,
				   struct pinion_errand *errand)
{
	struct sk_buff *copy = skb_clone(skb, GFP_NOIO | __GFP_NOWARN);

	if (copy && !wire_deliver(qp, copy, packet, av, errand))
		consume_skb(copy);
}

/* Deliver @skb, whose first packet is @packet, to all members on the device that it came by. */
static void wire_receive_group(struct sk_buff *skb, const struct pinion_packet *packet,
			       const struct pinion_av *av, struct pinion_errand *errand)
{
	struct pinion_mcast_reach reach = {
		.mgid = &av->dgid,
		.net = pinion_wire_cb_of(skb)->net,
		.ifindex = pinion_wire_cb_of(skb)->ifindex,
		.qpn = packet->src_qpn,
	};
	struct pinion_mcast_walk walk = {};
	struct pinion_qp *members[MEMBERS];
	u32 count, i;

	if (!reach.ifindex || packet->qpn != PINION_MULTICAST_QPN || !wire_is_datagram(packet) ||
	    !wire_is_served(packet) || wire_is_delivered(skb, av, &reach))
		return;
	if (!pinion_wire_icrc_is_right(skb, 0)) {
		wire_count_damaged(&reach);
		return;
	}
	do {
		count = pinion_mcast_members(&reach, &walk, members, ARRAY_SIZE(members));
		for (i = 0; i < count; i++) {
			wire_deliver_to_member(members[i], skb, packet, av, errand);
			pinion_qp_put(members[i]);
		}
		cond_resched();
	} while (count == ARRAY_SIZE(members));
}

/* All packets of @skb are for one queue pair, or group. Return: whether @skb was taken. */
static bool wire_receive_one(struct sk_buff *skb, const struct pinion_av *av,
			     struct pinion_errand *errand)
{
	struct pinion_packet packet;
	struct pinion_node *node;
	struct pinion_qp *qp;
	bool taken;

	if (!pinion_wire_parse(skb, 0, &packet)) {
		wire_count_malformed(skb, av);
		return false;
	}
	if (pinion_mcast_is_group(&av->dgid)) {
		wire_receive_group(skb, &packet, av, errand);
		return false;
	}
	rcu_read_lock();
	node = pinion_peers_own(pinion_wire_cb_of(skb)->net, av);
	qp = node ? wire_find_qp(skb, 0, node, &packet) : NULL;
	rcu_read_unlock();
	if (!qp)
		return false;
	taken = wire_deliver(qp, skb, &packet, av, errand);
	pinion_qp_put(qp);
	return taken;
}

/*
 * The packets of @skb are for several queue pairs or halves: deliver run by run; the first has @run
 * packets. We never send such, but the kernel may merge requests and answers of one connection.
 */
static void wire_receive_runs(const struct sk_buff *skb, u32 run, const struct pinion_av *av,
			      struct pinion_errand *errand)
{
	u32 i, packets = pinion_wire_packets(skb);
	struct sk_buff *cut;

	for (i = 0; i < packets; i += run) {
		if (i)
			run = wire_run(skb, i);
		cut = pinion_wire_cut_out(skb, i, run);
		if (!cut)
			return;
		if (!wire_receive_one(cut, av, errand))
			consume_skb(cut);
		cond_resched();
	}
}

/*
 * Fill @av. Return: false if @skb must be dropped. A buffer of several packets must be for a node
 * of ours before all their ICRCs are computed; for a single packet that is found out later, but
 * also before its ICRC.
 */
static bool wire_is_for_us(const struct sk_buff *skb, struct pinion_av *av)
{
	bool ours;

	if (!pinion_wire_addresses(skb, av))
		return false;
	if (pinion_wire_packets(skb) == 1 || pinion_mcast_is_group(&av->dgid))
		return true;
	rcu_read_lock();
	ours = pinion_peers_own(pinion_wire_cb_of(skb)->net, av);
	rcu_read_unlock();
	return ours;
}

void pinion_wire_deliver(struct sk_buff *skb, struct pinion_errand *errand)
{
	struct pinion_av av;
	bool taken = false;
	u32 run;

	skb = pinion_wire_unite(skb);
	if (!skb)
		return;
	if (wire_is_for_us(skb, &av)) {
		run = wire_run(skb, 0);
		if (run >= pinion_wire_packets(skb))
			taken = wire_receive_one(skb, &av, errand);
		else
			wire_receive_runs(skb, run, &av, errand);
	}
	if (!taken)
		consume_skb(skb);
}
