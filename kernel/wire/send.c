// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Builds and sends packets, and sends datagrams. The payload is copied into the packet inside the
 * gates of its keys, and the ICRC is computed from the copy: after a deregistration nothing of the
 * region is read any more.
 */
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>

#include "../logic/icrc.h"
#include "../logic/packet.h"
#include "../path/loop.h"
#include "../path/mcast.h"
#include "../path/move.h"
#include "conn.h"
#include "harm.h"
#include "outlet.h"
#include "route.h"

/* Room before the network header for link layer headers. */
#define HEADROOM	LL_MAX_HEADER
/*
 * Limit of a burst's bytes: with the buffer's overhead it is an allocation of 64 KiB, and with an
 * IP header fewer than the 65535 bytes that this can name.
 */
#define BURST_BYTES	(SKB_WITH_OVERHEAD(64 << 10) - HEADROOM - 64)

static u32 wire_network_bytes(const struct pinion_av *av)
{
	return av->ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
}

/* Make the packet of a datagram. */
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
	/* No UDP checksum: RoCEv2 has the ICRC instead. */
	*udp = (struct udphdr){
		.source = htons(rdma_flow_label_to_udp_sport(flow)),
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

static void wire_put_ipv6(struct sk_buff *skb, const struct pinion_av *av, u32 flow)
{
	struct ipv6hdr *ip = skb_push(skb, sizeof(*ip));

	skb_reset_network_header(skb);
	ip6_flow_hdr(ip, av->traffic_class, htonl(flow));
	ip->payload_len = htons(skb->len - sizeof(*ip));
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = av->hop_limit ?: IPDEFTTL;
	ip->saddr = *(struct in6_addr *)&av->sgid;
	ip->daddr = *(struct in6_addr *)&av->dgid;
	skb->protocol = htons(ETH_P_IPV6);
}

/* Bytes from BTH to ICRC: of each packet but the last, and of the last. */
static u32 burst_stride(const struct pinion_burst *burst)
{
	return burst->headers + burst->payload + PINION_ICRC_BYTES;
}

static u32 burst_last(const struct pinion_burst *burst)
{
	return burst->last_headers + burst->last + pinion_packet_pad(burst->last) +
	       PINION_ICRC_BYTES;
}

u32 pinion_burst_limit(u32 headers, u32 payload, u64 most)
{
	u32 bytes = min_t(u64, most, BURST_BYTES);

	return max(1, bytes / (headers + payload + PINION_ICRC_BYTES));
}

static void wire_put_icrcs(struct sk_buff *skb, const struct pinion_av *av,
			   const struct pinion_burst *burst)
{
	enum pinion_icrc_network network = av->ipv4 ? PINION_ICRC_IPV4 : PINION_ICRC_IPV6;
	u8 *bth = skb_transport_header(skb) + sizeof(struct udphdr);
	u32 i, crc, bytes = burst_stride(burst);

	for (i = 0; i < burst->packets; i++, bth += bytes) {
		if (i == burst->packets - 1)
			bytes = burst_last(burst);
		crc = pinion_icrc(skb_network_header(skb), network, i, bth, bytes);
		if (burst->damaged && i == burst->packets - 1)
			crc = ~crc;
		pinion_icrc_put(crc, bth + bytes - PINION_ICRC_BYTES);
	}
}

/* Make @skb a GSO buffer. The network stack may split it, and needs a UDP checksum for that. */
static void wire_make_several(struct sk_buff *skb, const struct pinion_av *av,
			      const struct pinion_burst *burst)
{
	u32 bytes = skb->len - skb_transport_offset(skb);
	struct udphdr *udp = udp_hdr(skb);

	skb_shinfo(skb)->gso_size = burst_stride(burst);
	skb_shinfo(skb)->gso_segs = burst->packets;
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	if (av->ipv4)
		udp->check = ~csum_tcpudp_magic(ip_hdr(skb)->saddr, ip_hdr(skb)->daddr, bytes,
						IPPROTO_UDP, 0);
	else if (IS_ENABLED(CONFIG_IPV6))
		udp->check = ~csum_ipv6_magic(&ipv6_hdr(skb)->saddr, &ipv6_hdr(skb)->daddr, bytes,
					      IPPROTO_UDP, 0);
}

/*
 * The class of packets for queues of the netdev, and the priority in a tag of a VLAN, as far as the
 * VLAN maps it. As with a socket it follows from the traffic class. rdma_cm computes the service
 * level from that, as the result of the VLAN's map, so it counts only without a traffic class.
 */
static u32 wire_priority(const struct pinion_av *av)
{
	return av->traffic_class ? rt_tos2priority(av->traffic_class) :
				   min_t(u32, av->sl, TC_PRIO_CONTROL);
}

static void wire_put_headers(struct sk_buff *skb, const struct pinion_av *av, u32 flow,
			     const struct pinion_burst *burst)
{
	wire_put_udp(skb, flow);
	if (av->ipv4)
		wire_put_ipv4(skb, av);
	else
		wire_put_ipv6(skb, av, flow);
	skb->priority = wire_priority(av);
	wire_put_icrcs(skb, av, burst);
	if (burst->packets > 1)
		wire_make_several(skb, av, burst);
}

static enum pinion_verdict wire_copy_payload(struct pinion_qp *qp, struct pinion_msg *msg,
					     struct pinion_cursor *copy)
{
	u64 left = msg->length;

	pinion_cursor_rewind(msg->payload);
	switch (pinion_move(qp->node, copy, msg->payload, &left, &msg->missing)) {
	case PINION_MOVED:
		return PINION_ACK;
	case PINION_MOVE_NO_SOURCE:
		return PINION_OWN_PAGE;
	default:
		return PINION_OWN_FAULT;
	}
}

static int wire_out6(struct net *net, struct sk_buff *skb)
{
	memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
	return IS_ENABLED(CONFIG_IPV6) ? ip6_local_out(net, skb->sk, skb) : 0;
}

static int wire_out4(struct net *net, struct sk_buff *skb)
{
	memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
	return ip_local_out(net, skb->sk, skb);
}

/*
 * Does @err say that a full queue of the netdev has dropped the packet? One that only warns has
 * taken it (NET_XMIT_CN). Errors below 0 are of those who would drop it again soon, as a firewall:
 * they count as losses in the network. Others say the same as a full queue, as a bond without a
 * link; and of a buffer that is cut up this is about its last packet. It is only a hint: what is
 * sent again too early or too late costs time.
 */
static bool wire_was_full(int err)
{
	return err > 0 && net_xmit_errno(err);
}

/* Users choose source and destination: are both of one kind? */
static bool wire_is_of_one_family(const struct pinion_av *av)
{
	return av->ipv4 == ipv6_addr_v4mapped((const struct in6_addr *)&av->dgid);
}

/* Route and send @skb, which is consumed. RCU keeps the namespace meanwhile. */
static enum pinion_sent wire_transmit(struct pinion_wire *wire, const struct pinion_way *way,
				      struct sk_buff *skb)
{
	enum pinion_sent sent = PINION_SENT_NOWHERE;
	const struct pinion_av *av = way->av;
	struct net *net;
	int err;

	rcu_read_lock();
	net = READ_ONCE(wire->net);
	if (!net || !wire_is_of_one_family(av) || !pinion_route_set(way->route, net, av, skb)) {
		kfree_skb(skb);
		goto out;
	}
	pinion_errand_begin(way, skb->len);
	err = av->ipv4 ? wire_out4(net, skb) : wire_out6(net, skb);
	pinion_errand_end(way);
	sent = wire_was_full(err) ? PINION_SENT_FULL : PINION_SENT;
out:
	rcu_read_unlock();
	return sent;
}

struct sk_buff *pinion_wire_make(struct pinion_outlet *outlet, const struct pinion_av *av,
				 const struct pinion_burst *burst, bool forced, gfp_t gfp,
				 struct pinion_cursor *payload)
{
	u32 before = HEADROOM + wire_network_bytes(av) + sizeof(struct udphdr);
	u32 bytes = burst_stride(burst) * (burst->packets - 1) + burst_last(burst);
	struct sock *sk = pinion_wire_sock_get(&outlet->sk);
	struct sk_buff *skb;

	if (!sk)
		return NULL;
	/* Many pages in a row are not worth a search: the caller tries again with fewer packets. */
	if (burst->packets > 1)
		gfp = (gfp & ~__GFP_DIRECT_RECLAIM) | __GFP_NORETRY | __GFP_NOWARN;
	skb = sock_wmalloc(sk, before + bytes, forced, gfp);
	sock_put(sk);
	if (!skb)
		return NULL;
	skb_reserve(skb, before);
	pinion_cursor_pieces(payload, skb_put(skb, bytes) + burst->headers, burst->payload,
			     burst_stride(burst) + burst->last_headers - burst->headers);
	return skb;
}

void pinion_wire_put(struct sk_buff *skb, const struct pinion_burst *burst, u32 i,
		     const struct pinion_packet *packet)
{
	u32 headers = i == burst->packets - 1 ? burst->last_headers : burst->headers;
	u8 *bth = skb->data + i * burst_stride(burst);

	pinion_packet_build(bth, packet);
	memset(bth + headers + packet->payload, 0, pinion_packet_pad(packet->payload));
}

enum pinion_sent pinion_wire_send(struct pinion_wire *wire, const struct pinion_way *way,
				  const struct pinion_burst *burst, struct sk_buff *skb)
{
	wire_put_headers(skb, way->av, way->flow, burst);
	return wire_transmit(wire, way, skb);
}

/*
 * Deliver @msg, whose payload was copied to @payload, to members of its group on this host, unless
 * they get packets, too. All pages of the sender were present, so no member gets the message twice.
 */
static void wire_deliver_here(struct pinion_qp *qp, struct pinion_msg *msg, void *payload)
{
	struct pinion_cursor *sent = msg->payload, copy;

	if (msg->dst_qpn != PINION_MULTICAST_QPN || qp->node->all_others)
		return;
	pinion_cursor_memory(&copy, payload);
	msg->payload = &copy;
	pinion_loop_deliver_to_members(qp, msg);
	msg->payload = sent;
}

static enum pinion_verdict wire_start(struct pinion_qp *qp, struct pinion_msg *msg)
{
	const struct pinion_way way = {
		.av = msg->av,
		.flow = pinion_wire_flow(msg->av, msg->src_qpn, msg->dst_qpn),
	};
	struct pinion_cursor payload;
	struct pinion_packet packet;
	enum pinion_verdict verdict;
	struct pinion_burst burst;
	struct sk_buff *skb;

	wire_packet_of(msg, &packet);
	burst = pinion_burst_of_one(&packet);
	skb = pinion_wire_make(qp->conn->outlet, msg->av, &burst, false,
			       pinion_half_gfp(&qp->sq.exec), &payload);
	if (!skb)
		return PINION_SILENCE;
	verdict = wire_copy_payload(qp, msg, &payload);
	if (verdict != PINION_ACK) {
		kfree_skb(skb);
		return verdict;
	}
	wire_deliver_here(qp, msg, skb->data + burst.headers);
	pinion_wire_put(skb, &burst, 0, &packet);
	return pinion_harm_send(qp, NULL, &way, &burst, skb) == PINION_SENT ? PINION_ACK :
									      PINION_SILENCE;
}

const struct pinion_engine pinion_wire_engine = {
	.start = wire_start,
	.turn = pinion_requester_turn,
	.attach = pinion_conn_attach,
	.detach = pinion_conn_detach,
	.modified = pinion_conn_modified,
	.join = pinion_group_join,
	.leave = pinion_group_leave,
	.services = PINION_SVC_RC | PINION_SVC_UC | PINION_SVC_UD,
};
