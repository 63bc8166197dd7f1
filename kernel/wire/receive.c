// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Received packets, from the socket to the lines of queue pairs. Their contents cannot be trusted:
 * the ICRC excludes errors of transmission only, since anybody can send packets.
 *
 * A buffer may have several packets (GSO on this host, or GRO). Then the queue pair is looked up
 * once, and requester and responder handle consecutive packets of a message as one (train.h).
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
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/udp.h>
#include <rdma/ib_addr.h>

#include "../logic/icrc.h"
#include "../logic/packet.h"
#include "../path/mcast.h"
#include "../path/respond.h"
#include "conn.h"

/* Buffers that one run of the work item takes from each socket. */
#define TURN		64
/* Likewise for a sender's errand. */
#define ERRAND		8
/* Members of a group that are looked up at once. */
#define MEMBERS		16

/* Data about a buffer, in skb->cb. */
struct wire_cb {
	u64 net;			/* cookie of the network namespace */
	u32 stride;			/* bytes of each packet but the last */
	u32 first;			/* index of its first packet behind the IP header's */
	u32 ifindex;			/* of the netdev it came by, below VLANs; 0: gone */
	u16 vlan;
	bool marked;			/* by a router, as congested (ECN) */
};

static struct wire_cb *wire_cb_of(const struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct wire_cb) > sizeof(skb->cb));
	return (struct wire_cb *)skb->cb;
}

u32 pinion_wire_stride(const struct sk_buff *skb)
{
	return wire_cb_of(skb)->stride;
}

u32 pinion_wire_packets(const struct sk_buff *skb)
{
	return DIV_ROUND_UP(skb->len, wire_cb_of(skb)->stride);
}

u32 pinion_wire_take_marks(struct sk_buff *skb)
{
	struct wire_cb *cb = wire_cb_of(skb);

	if (!cb->marked)
		return 0;
	cb->marked = false;
	return pinion_wire_packets(skb);
}

/* The bytes of packet @i, from BTH to ICRC. */
static const u8 *wire_bytes_of(const struct sk_buff *skb, u32 i, u32 *bytes)
{
	u32 stride = wire_cb_of(skb)->stride;

	*bytes = min(stride, skb->len - i * stride);
	return skb->data + i * stride;
}

bool pinion_wire_addresses(const struct sk_buff *skb, struct pinion_av *av)
{
	const struct ipv6hdr *ip6 = ipv6_hdr(skb);
	const struct iphdr *ip4 = ip_hdr(skb);

	*av = (struct pinion_av){ .vlan = wire_cb_of(skb)->vlan };
	if (ip4->version == 4) {
		if (ip4->ihl != sizeof(*ip4) / 4)
			return false;
		av->ipv4 = true;
		ipv6_addr_set_v4mapped(ip4->saddr, (struct in6_addr *)&av->sgid);
		ipv6_addr_set_v4mapped(ip4->daddr, (struct in6_addr *)&av->dgid);
		av->traffic_class = ip4->tos;
		av->hop_limit = ip4->ttl;
		return true;
	}
	if (ip4->version != 6 || ip6->nexthdr != IPPROTO_UDP)
		return false;
	*(struct in6_addr *)&av->sgid = ip6->saddr;
	*(struct in6_addr *)&av->dgid = ip6->daddr;
	av->traffic_class = ipv6_get_dsfield(ip6);
	av->flow_label = ntohl(ip6_flowlabel(ip6));
	av->hop_limit = ip6->hop_limit;
	return true;
}

const u8 *pinion_wire_parse(const struct sk_buff *skb, u32 i, struct pinion_packet *packet)
{
	u32 bytes;
	const u8 *bth = wire_bytes_of(skb, i, &bytes);

	if (pinion_packet_parse(bth, bytes, packet) != PINION_PACKET_SOUND)
		return NULL;
	return bth + pinion_packet_header_bytes(packet->opcode);
}

/* Is the ICRC right, if this is packet @index behind the one that the IP header is of? */
static bool wire_icrc_is(const struct sk_buff *skb, u32 i, u32 index)
{
	bool ipv4 = ip_hdr(skb)->version == 4;
	u32 bytes, crc;
	const u8 *bth = wire_bytes_of(skb, i, &bytes);

	crc = pinion_icrc_begin_of(skb_network_header(skb),
				   ipv4 ? PINION_ICRC_IPV4 : PINION_ICRC_IPV6, index, bytes, bth);
	crc = pinion_icrc_add(crc, bth + PINION_BTH_BYTES,
			      bytes - PINION_BTH_BYTES - PINION_ICRC_BYTES);
	return pinion_icrc_is(crc, bth + bytes - PINION_ICRC_BYTES);
}

/*
 * Packets that were sent as one have consecutive IPv4 identifications. Some that a network card has
 * merged all have the same.
 */
static bool wire_icrc_is_right(const struct sk_buff *skb, u32 i)
{
	u32 index = wire_cb_of(skb)->first + i;

	return wire_icrc_is(skb, i, index) || (index && wire_icrc_is(skb, i, 0));
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

/* Count a packet that cannot be parsed, for the device with its destination address. */
static void wire_count_malformed(const struct sk_buff *skb, const struct pinion_av *av)
{
	struct pinion_node *node;

	rcu_read_lock();
	node = pinion_peers_own(wire_cb_of(skb)->net, av);
	if (node)
		pinion_stat_inc(node, rx_malformed);
	rcu_read_unlock();
}

/* Find the queue pair for @packet, packet @i of @skb, and take a reference. RCU is held. */
static struct pinion_qp *wire_find_qp(const struct sk_buff *skb, u32 i, struct pinion_node *node,
				      const struct pinion_packet *packet)
{
	struct pinion_qp *qp = NULL;

	if (!wire_icrc_is_right(skb, i)) {
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
	       wire_icrc_is_right(skb, i);
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
	reach->node = pinion_peers_own(wire_cb_of(skb)->net, &back);
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
		.net = wire_cb_of(skb)->net,
		.ifindex = wire_cb_of(skb)->ifindex,
		.qpn = packet->src_qpn,
	};
	struct pinion_mcast_walk walk = {};
	struct pinion_qp *members[MEMBERS];
	u32 count, i;

	if (!reach.ifindex || packet->qpn != PINION_MULTICAST_QPN || !wire_is_datagram(packet) ||
	    !wire_is_served(packet) || wire_is_delivered(skb, av, &reach))
		return;
	if (!wire_icrc_is_right(skb, 0)) {
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
	node = pinion_peers_own(wire_cb_of(skb)->net, av);
	qp = node ? wire_find_qp(skb, 0, node, &packet) : NULL;
	rcu_read_unlock();
	if (!qp)
		return false;
	taken = wire_deliver(qp, skb, &packet, av, errand);
	pinion_qp_put(qp);
	return taken;
}

/*
 * Make a buffer of @packets packets of @skb, from packet @i on, with the headers before them. It is
 * a copy: a clone would keep all of @skb allocated, and would have to be charged for it. NULL: no
 * memory.
 */
static struct sk_buff *wire_cut_out(const struct sk_buff *skb, u32 i, u32 packets)
{
	u32 headers = -skb_network_offset(skb);
	u32 last, bytes;
	const u8 *from = wire_bytes_of(skb, i, &bytes);
	struct sk_buff *cut;

	bytes = wire_bytes_of(skb, i + packets - 1, &last) + last - from;
	cut = alloc_skb(headers + bytes, GFP_NOIO | __GFP_NOWARN);
	if (!cut)
		return NULL;
	skb_put_data(cut, skb_network_header(skb), headers);
	skb_reset_network_header(cut);
	skb_pull(cut, headers);
	skb_put_data(cut, from, bytes);
	*wire_cb_of(cut) = *wire_cb_of(skb);
	wire_cb_of(cut)->first += i;
	return cut;
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
		cut = wire_cut_out(skb, i, run);
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
	ours = pinion_peers_own(wire_cb_of(skb)->net, av);
	rcu_read_unlock();
	return ours;
}

/*
 * Copy a buffer that the kernel has merged into fragments. It may have 64 KiB, so the allocation
 * may sleep. Consumes @skb. NULL: no memory.
 */
static struct sk_buff *wire_unite(struct sk_buff *skb)
{
	struct sk_buff *whole;

	if (!skb_is_nonlinear(skb))
		return skb;
	whole = skb_copy(skb, GFP_NOIO | __GFP_NOWARN);
	consume_skb(skb);
	return whole;
}

/* Consumes @skb. */
static void wire_receive(struct sk_buff *skb, struct pinion_errand *errand)
{
	struct pinion_av av;
	bool taken = false;
	u32 run;

	skb = wire_unite(skb);
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

/* The netdev that has the destination address of @skb, or NULL. RCU is held. */
static struct net_device *wire_netdev_of(struct net *net, const struct sk_buff *skb)
{
	if (ip_hdr(skb)->version == 4)
		return __ip_dev_find(net, ip_hdr(skb)->daddr, false);
	return IS_ENABLED(CONFIG_IPV6) ? ipv6_dev_find(net, &ipv6_hdr(skb)->daddr, NULL) : NULL;
}

/* Find out which netdev @skb was received by, and its VLAN. It may be gone. */
static void wire_find_entrance(const struct pinion_wire *wire, const struct sk_buff *skb,
			       struct wire_cb *cb)
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
	struct wire_cb cb = {
		.net = wire->cookie,
		.stride = stride,
		.marked = wire_is_marked(skb),
	};

	wire_find_entrance(wire, skb, &cb);
	/* UDP sockets use skb->dev for something else (dev_scratch). */
	skb->dev = NULL;
	skb_scrub_packet(skb, true);
	*wire_cb_of(skb) = cb;
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
		wire_receive(skb, errand);
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

void pinion_wire_receive(struct pinion_wire *wire, struct pinion_errand *errand)
{
	bool more = true;

	/* If another thread holds @turn, it may have read the sockets before this came. */
	if (mutex_trylock(&wire->turn)) {
		more = wire_receive_some(wire, ERRAND, errand);
		mutex_unlock(&wire->turn);
	}
	if (more)
		pinion_wire_leave(wire);
}

static void wire_receive_turn(struct work_struct *work)
{
	struct pinion_wire *wire = container_of(work, struct pinion_wire, work);
	struct pinion_errand errand = {};
	bool more;

	mutex_lock(&wire->turn);
	more = wire_receive_some(wire, TURN, &errand);
	mutex_unlock(&wire->turn);
	pinion_errand_run(&errand);
	if (more)
		pinion_wire_leave(wire);
}

void pinion_wire_arrived(struct pinion_wire *wire)
{
	if (!pinion_errand_take(wire))
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
