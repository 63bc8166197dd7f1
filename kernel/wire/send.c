// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets to another host, and a datagram as one. The payload is copied first, under its gates, and
 * the CRC is of the copy: after a deregistration no byte of the region is read.
 */
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>

#include "../logic/icrc.h"
#include "../logic/packet.h"
#include "../path/move.h"
#include "conn.h"

/* Room before the network header, whatever the netdev adds. */
#define HEADROOM	LL_MAX_HEADER
/* Source ports, by which routers choose one of several ways; the range of rdma_flow_label. */
#define FIRST_PORT	0xc000

static u32 wire_network_bytes(const struct pinion_av *av)
{
	return av->ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
}

/* @msg as a packet of one. */
static void wire_packet_of(const struct pinion_msg *msg, struct pinion_packet *packet)
{
	*packet = (struct pinion_packet){
		.opcode = PINION_TRANSPORT_UD | (msg->op->traits & PINION_OP_HAS_IMM ?
						 PINION_SEND_ONLY_IMM : PINION_SEND_ONLY),
		.solicited = msg->solicited,
		.migrated = true,
		.pkey = PINION_PKEY_DEFAULT,
		.qpn = msg->dst_qpn,
		.psn = msg->psn,
		.qkey = msg->qkey,
		.src_qpn = msg->src_qpn,
		.imm = (__force __be32)msg->ex,
		.payload = msg->length,
	};
}

static void wire_put_udp(struct sk_buff *skb, u32 flow)
{
	struct udphdr *udp = skb_push(skb, sizeof(*udp));

	skb_reset_transport_header(skb);
	*udp = (struct udphdr){
		.source = htons(FIRST_PORT | (flow & 0x3fff)),
		.dest = htons(PINION_UDP_PORT),
		.len = htons(skb->len),
	};
}

static void wire_put_ipv4(struct sk_buff *skb, const struct pinion_av *av)
{
	struct iphdr *ip = skb_push(skb, sizeof(*ip));

	skb_reset_network_header(skb);
	*ip = (struct iphdr){
		.version = 4,
		.ihl = sizeof(*ip) / 4,
		.tos = av->traffic_class,
		.tot_len = htons(skb->len),
		.frag_off = htons(IP_DF),
		.ttl = av->hop_limit ?: IPDEFTTL,
		.protocol = IPPROTO_UDP,
		.saddr = *(__be32 *)&av->sgid.raw[12],
		.daddr = *(__be32 *)&av->dgid.raw[12],
	};
	skb->protocol = htons(ETH_P_IP);
}

static void wire_put_ipv6(struct sk_buff *skb, const struct pinion_av *av)
{
	struct ipv6hdr *ip = skb_push(skb, sizeof(*ip));

	skb_reset_network_header(skb);
	ip6_flow_hdr(ip, av->traffic_class, htonl(av->flow_label & 0xfffff));
	ip->payload_len = htons(skb->len - sizeof(*ip));
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = av->hop_limit ?: IPDEFTTL;
	ip->saddr = *(struct in6_addr *)&av->sgid;
	ip->daddr = *(struct in6_addr *)&av->dgid;
	skb->protocol = htons(ETH_P_IPV6);
}

static void wire_put_headers(struct sk_buff *skb, const struct pinion_av *av, u32 flow,
			     const struct pinion_packet *packet)
{
	u32 pad = pinion_packet_pad(packet->payload);
	u8 *bth;
	u32 crc;

	memset(skb_put(skb, pad), 0, pad);
	bth = skb_push(skb, pinion_packet_header_bytes(packet->opcode));
	pinion_packet_build(bth, packet);
	skb_put(skb, PINION_ICRC_BYTES);
	wire_put_udp(skb, flow);
	if (av->ipv4)
		wire_put_ipv4(skb, av);
	else
		wire_put_ipv6(skb, av);
	crc = pinion_icrc_begin(skb->data, av->ipv4 ? PINION_ICRC_IPV4 : PINION_ICRC_IPV6);
	crc = pinion_icrc_add(crc, bth + PINION_BTH_BYTES,
			      skb_tail_pointer(skb) - bth - PINION_BTH_BYTES - PINION_ICRC_BYTES);
	pinion_icrc_put(crc, skb_tail_pointer(skb) - PINION_ICRC_BYTES);
}

static enum pinion_verdict wire_copy_payload(struct pinion_qp *qp, struct pinion_msg *msg, void *to)
{
	struct pinion_cursor copy;
	u64 left = msg->length;

	pinion_cursor_memory(&copy, to);
	pinion_cursor_rewind(msg->payload);
	switch (pinion_move(qp->node, &copy, msg->payload, &left, &msg->missing)) {
	case PINION_MOVED:
		return PINION_ACK;
	case PINION_MOVE_NO_SOURCE:
		return PINION_OWN_PAGE;
	default:
		return PINION_OWN_FAULT;
	}
}

/*
 * By all that a rule or a policy of the namespace may ask for, as for any packet of the socket's.
 * An address that is no longer ours is nobody's to send from.
 */
static struct dst_entry *wire_route4(struct net *net, const struct pinion_av *av,
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

static struct dst_entry *wire_route6(struct net *net, const struct pinion_av *av,
				     const struct sk_buff *skb)
{
	struct flowi6 fl = {
		.flowi6_oif = av->ifindex,
		.flowi6_mark = skb->sk->sk_mark,
		.flowi6_proto = IPPROTO_UDP,
		.flowi6_uid = sock_net_uid(net, skb->sk),
		.flowlabel = ip6_make_flowinfo(av->traffic_class,
					       htonl(av->flow_label & 0xfffff)),
		.saddr = *(struct in6_addr *)&av->sgid,
		.daddr = *(struct in6_addr *)&av->dgid,
		.fl6_sport = udp_hdr(skb)->source,
		.fl6_dport = udp_hdr(skb)->dest,
	};

	if (!IS_ENABLED(CONFIG_IPV6))
		return ERR_PTR(-EAFNOSUPPORT);
	if (!ipv6_chk_addr(net, &fl.saddr, NULL, 0))
		return ERR_PTR(-EADDRNOTAVAIL);
	return ip6_dst_lookup_flow(net, skb->sk, &fl, NULL);
}

static void wire_out6(struct net *net, struct sk_buff *skb)
{
	memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
	if (IS_ENABLED(CONFIG_IPV6))
		ip6_local_out(net, skb->sk, skb);
}

static void wire_out4(struct net *net, struct sk_buff *skb)
{
	memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
	ip_local_out(net, skb->sk, skb);
}

/* Takes @skb. The namespace is there while RCU is held. */
static bool wire_transmit(struct pinion_wire *wire, const struct pinion_av *av, struct sk_buff *skb)
{
	struct dst_entry *dst;
	struct net *net;
	bool sent = false;

	rcu_read_lock();
	net = READ_ONCE(wire->net);
	if (!net)
		goto drop;
	dst = av->ipv4 ? wire_route4(net, av, skb) : wire_route6(net, av, skb);
	if (IS_ERR(dst))
		goto drop;
	skb_dst_set(skb, dst);
	if (av->ipv4)
		wire_out4(net, skb);
	else
		wire_out6(net, skb);
	sent = true;
	goto out;
drop:
	kfree_skb(skb);
out:
	rcu_read_unlock();
	return sent;
}

static struct sock *wire_sock_get(struct pinion_wire *wire, const struct pinion_av *av)
{
	struct sock *sk;

	rcu_read_lock();
	sk = rcu_dereference(*(av->ipv4 ? &wire->sock4 : &wire->sock6));
	if (sk && !refcount_inc_not_zero(&sk->sk_refcnt))
		sk = NULL;
	rcu_read_unlock();
	return sk;
}

struct sk_buff *pinion_wire_make(struct pinion_wire *wire, const struct pinion_av *av,
				 const struct pinion_packet *packet, bool forced)
{
	u32 before = HEADROOM + wire_network_bytes(av) + sizeof(struct udphdr) +
		     pinion_packet_header_bytes(packet->opcode);
	u32 bytes = before + packet->payload + pinion_packet_pad(packet->payload) +
		    PINION_ICRC_BYTES;
	struct sock *sk = wire_sock_get(wire, av);
	struct sk_buff *skb;

	if (!sk)
		return NULL;
	skb = sock_wmalloc(sk, bytes, forced, sk->sk_allocation);
	sock_put(sk);
	if (skb)
		skb_reserve(skb, before);
	return skb;
}

bool pinion_wire_send(struct pinion_wire *wire, const struct pinion_av *av, u32 flow,
		      const struct pinion_packet *packet, struct sk_buff *skb)
{
	wire_put_headers(skb, av, flow, packet);
	return wire_transmit(wire, av, skb);
}

static enum pinion_verdict wire_start(struct pinion_qp *qp, struct pinion_msg *msg)
{
	struct pinion_wire *wire = qp->node->wire;
	struct pinion_packet packet;
	enum pinion_verdict verdict;
	struct sk_buff *skb;

	wire_packet_of(msg, &packet);
	skb = pinion_wire_make(wire, msg->av, &packet, false);
	if (!skb)
		return PINION_SILENCE;
	verdict = wire_copy_payload(qp, msg, skb_put(skb, packet.payload));
	if (verdict != PINION_ACK) {
		kfree_skb(skb);
		return verdict;
	}
	return pinion_wire_send(wire, msg->av, jhash_2words(msg->src_qpn, msg->dst_qpn, 0),
				&packet, skb) ? PINION_ACK : PINION_SILENCE;
}

const struct pinion_engine pinion_wire_engine = {
	.start = wire_start,
	.turn = pinion_requester_turn,
	.attach = pinion_conn_attach,
	.detach = pinion_conn_detach,
	.modified = pinion_conn_modified,
	.services = PINION_SVC_RC | PINION_SVC_UC | PINION_SVC_UD,
};
