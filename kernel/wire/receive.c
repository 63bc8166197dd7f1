// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets that arrive, from the socket to the responder. All that is in them is anybody's word
 * until the invariant CRC is right; and then still anybody's who can send.
 */
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>

#include "../logic/icrc.h"
#include "../logic/packet.h"
#include "../path/respond.h"
#include "conn.h"

/* Of one namespace, until they are looked at; what comes beyond that is lost, as packets may be. */
#define BACKLOG_BYTES	(64 << 20)
/* Packets in a turn of the work item. */
#define TURN		64

/* What of a packet is not in its bytes. */
struct wire_cb {
	struct pinion_wire *wire;	/* whose backlog it is of */
	u64 net;			/* cookie */
	u32 bytes;			/* of its backlog */
	u16 vlan;
};

static struct wire_cb *wire_cb_of(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct wire_cb) > sizeof(skb->cb));
	return (struct wire_cb *)skb->cb;
}

static void wire_leave_backlog(struct sk_buff *skb)
{
	atomic_sub(wire_cb_of(skb)->bytes, &wire_cb_of(skb)->wire->backlog_bytes);
}

/* The netdev that has the destination address of @skb, or NULL. RCU is held. */
static struct net_device *wire_netdev_of(const struct sk_buff *skb)
{
	struct net *net = dev_net(skb->dev);

	if (ip_hdr(skb)->version == 4)
		return __ip_dev_find(net, ip_hdr(skb)->daddr, false);
	return IS_ENABLED(CONFIG_IPV6) ? ipv6_dev_find(net, &ipv6_hdr(skb)->daddr, NULL) : NULL;
}

static u16 wire_vlan_of(const struct sk_buff *skb)
{
	const struct net_device *netdev = skb->dev;

	/* What this host sends to itself comes by another than it would from elsewhere. */
	if (netdev->flags & IFF_LOOPBACK)
		netdev = wire_netdev_of(skb) ?: netdev;
	return is_vlan_dev(netdev) ? vlan_dev_vlan_id(netdev) : PINION_NO_VLAN;
}

void pinion_wire_arrived(struct pinion_wire *wire, struct sk_buff *skb)
{
	struct wire_cb *cb = wire_cb_of(skb);
	u32 bytes = skb->truesize;

	if (atomic_add_return(bytes, &wire->backlog_bytes) > BACKLOG_BYTES) {
		atomic_sub(bytes, &wire->backlog_bytes);
		kfree_skb(skb);
		return;
	}
	cb->net = dev_net(skb->dev)->net_cookie;
	cb->vlan = wire_vlan_of(skb);
	/* Its netdev may go now, and nothing else of the namespace's waits for the line. */
	skb_orphan(skb);
	skb_scrub_packet(skb, true);
	skb->dev = NULL;
	cb->wire = wire;
	cb->bytes = bytes;
	skb->destructor = wire_leave_backlog;
	skb_queue_tail(&wire->backlog, skb);
	queue_work(pinion_wire_wq, &wire->work);
}

/* Where a packet says that it comes from and goes to, as the responder has it. */
static bool wire_read_addresses(struct sk_buff *skb, struct pinion_av *av)
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

/* From the BTH on: @bytes at @bth. */
static bool wire_icrc_is_right(struct sk_buff *skb, const u8 *bth, u32 bytes, bool ipv4)
{
	u32 crc = pinion_icrc_begin(skb_network_header(skb),
				    ipv4 ? PINION_ICRC_IPV4 : PINION_ICRC_IPV6);

	crc = pinion_icrc_add(crc, bth + PINION_BTH_BYTES,
			      bytes - PINION_BTH_BYTES - PINION_ICRC_BYTES);
	return pinion_icrc_is(crc, bth + bytes - PINION_ICRC_BYTES);
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

/* To a device, as far as that can be said, but no packet. */
static void wire_count_malformed(struct sk_buff *skb)
{
	struct pinion_node *node;
	struct pinion_av av;

	if (!wire_read_addresses(skb, &av))
		return;
	rcu_read_lock();
	node = pinion_peers_own(wire_cb_of(skb)->net, &av);
	if (node)
		pinion_stat_inc(node, rx_malformed);
	rcu_read_unlock();
}

/* The queue that @packet is for, with a reference. */
static struct pinion_qp *wire_find_qp(struct sk_buff *skb, const struct pinion_av *av,
				      const struct pinion_packet *packet, const u8 *bth, u32 bytes)
{
	struct pinion_qp *qp = NULL;
	struct pinion_node *node;

	rcu_read_lock();
	node = pinion_peers_own(wire_cb_of(skb)->net, av);
	if (!node)
		goto out;
	if (!wire_icrc_is_right(skb, bth, bytes, av->ipv4)) {
		pinion_stat_inc(node, rx_icrc_encapsulated);
		goto out;
	}
	if (wire_is_served(packet))
		qp = pinion_qp_get(node, packet->qpn);
	if (!qp)
		pinion_stat_inc(node, rx_no_queue);
out:
	rcu_read_unlock();
	return qp;
}

const u8 *pinion_wire_parse(struct sk_buff *skb, struct pinion_av *av,
			    struct pinion_packet *packet)
{
	const u8 *bth = skb->data + sizeof(struct udphdr);

	if (skb->len < sizeof(struct udphdr) || !wire_read_addresses(skb, av) ||
	    pinion_packet_parse(bth, skb->len - sizeof(struct udphdr),
				packet) != PINION_PACKET_SOUND)
		return NULL;
	return bth + pinion_packet_header_bytes(packet->opcode);
}

/* May it be for a connection? Who it is from is asked once more when it is looked at. */
static bool wire_is_connected(const struct pinion_qp *qp, const struct pinion_packet *packet,
			      const struct pinion_av *av)
{
	return pinion_qp_is_connected(qp) && READ_ONCE(qp->engine) == &pinion_wire_engine &&
	       (packet->opcode & PINION_TRANSPORT_MASK) == pinion_conn_transport(qp) &&
	       data_race(pinion_conn_is_peer(qp, av));
}

/* Return: whether @qp has @skb now. */
static bool wire_deliver(struct pinion_qp *qp, struct sk_buff *skb,
			 const struct pinion_packet *packet, const struct pinion_av *av)
{
	if (!qp->conn || (wire_is_datagram(packet) ? pinion_qp_is_connected(qp) :
						     !wire_is_connected(qp, packet, av))) {
		pinion_stat_inc(qp, rx_strangers);
		return false;
	}
	if (pinion_conn_arrived(qp, skb, pinion_packet_kind(packet->opcode)->role))
		return true;
	pinion_stat_inc(qp, rx_overruns);
	return false;
}

/* Return: whether somebody else has @skb now. */
static bool wire_receive(struct sk_buff *skb)
{
	struct pinion_packet packet;
	struct pinion_qp *qp;
	struct pinion_av av;
	bool taken;

	if (skb_linearize(skb))
		return false;
	if (!pinion_wire_parse(skb, &av, &packet)) {
		wire_count_malformed(skb);
		return false;
	}
	qp = wire_find_qp(skb, &av, &packet, skb->data + sizeof(struct udphdr),
			  skb->len - sizeof(struct udphdr));
	if (!qp)
		return false;
	taken = wire_deliver(qp, skb, &packet, &av);
	pinion_qp_put(qp);
	return taken;
}

static void wire_receive_turn(struct work_struct *work)
{
	struct pinion_wire *wire = container_of(work, struct pinion_wire, work);
	struct sk_buff *skb;
	int i;

	for (i = 0; i < TURN; i++) {
		skb = skb_dequeue(&wire->backlog);
		if (!skb)
			return;
		if (!wire_receive(skb))
			consume_skb(skb);
		cond_resched();
	}
	queue_work(pinion_wire_wq, &wire->work);
}

void pinion_wire_receive_init(struct pinion_wire *wire)
{
	skb_queue_head_init(&wire->backlog);
	atomic_set(&wire->backlog_bytes, 0);
	INIT_WORK(&wire->work, wire_receive_turn);
}

void pinion_wire_receive_end(struct pinion_wire *wire)
{
	cancel_work_sync(&wire->work);
	skb_queue_purge(&wire->backlog);
	WARN_ON(atomic_read(&wire->backlog_bytes));
}
