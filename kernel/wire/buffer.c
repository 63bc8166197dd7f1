// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The packets of a received buffer: where each is, its addresses, its ICRC. Nothing in them can be
 * trusted. Who has the buffer calls these, in process context; there are no locks.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/dsfield.h>
#include <net/ipv6.h>

#include "../logic/icrc.h"
#include "buffer.h"

u32 pinion_wire_stride(const struct sk_buff *skb)
{
	return pinion_wire_cb_of(skb)->stride;
}

u32 pinion_wire_packets(const struct sk_buff *skb)
{
	return DIV_ROUND_UP(skb->len, pinion_wire_cb_of(skb)->stride);
}

u32 pinion_wire_take_marks(struct sk_buff *skb)
{
	struct pinion_wire_cb *cb = pinion_wire_cb_of(skb);

	if (!cb->marked)
		return 0;
	cb->marked = false;
	return pinion_wire_packets(skb);
}

/* The bytes of packet @i, from BTH to ICRC. */
static const u8 *wire_bytes_of(const struct sk_buff *skb, u32 i, u32 *bytes)
{
	u32 stride = pinion_wire_cb_of(skb)->stride;

	*bytes = min(stride, skb->len - i * stride);
	return skb->data + i * stride;
}

bool pinion_wire_addresses(const struct sk_buff *skb, struct pinion_av *av)
{
	const struct ipv6hdr *ip6 = ipv6_hdr(skb);
	const struct iphdr *ip4 = ip_hdr(skb);

	*av = (struct pinion_av){ .vlan = pinion_wire_cb_of(skb)->vlan };
	if (ip4->version == 4) {
		av->ipv4 = true;
		ipv6_addr_set_v4mapped(ip4->saddr, (struct in6_addr *)&av->sgid);
		ipv6_addr_set_v4mapped(ip4->daddr, (struct in6_addr *)&av->dgid);
		av->traffic_class = ip4->tos;
		av->hop_limit = ip4->ttl;
		return ip4->ihl == sizeof(*ip4) / 4;
	}
	if (ip4->version != 6)
		return false;
	*(struct in6_addr *)&av->sgid = ip6->saddr;
	*(struct in6_addr *)&av->dgid = ip6->daddr;
	av->traffic_class = ipv6_get_dsfield(ip6);
	av->flow_label = ntohl(ip6_flowlabel(ip6));
	av->hop_limit = ip6->hop_limit;
	return ip6->nexthdr == IPPROTO_UDP;
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

	crc = pinion_icrc(skb_network_header(skb), ipv4 ? PINION_ICRC_IPV4 : PINION_ICRC_IPV6,
			  index, bth, bytes);
	return pinion_icrc_is(crc, bth + bytes - PINION_ICRC_BYTES);
}

bool pinion_wire_icrc_is_right(const struct sk_buff *skb, u32 i)
{
	u32 index = pinion_wire_cb_of(skb)->first + i;

	return wire_icrc_is(skb, i, index) || (index && wire_icrc_is(skb, i, 0));
}

struct sk_buff *pinion_wire_cut_out(const struct sk_buff *skb, u32 i, u32 packets)
{
	u32 headers = -skb_network_offset(skb);
	u32 last, bytes;
	const u8 *from = wire_bytes_of(skb, i, &bytes);
	struct sk_buff *cut;

	bytes = wire_bytes_of(skb, i + packets - 1, &last) + last - from;
	cut = alloc_skb(headers + bytes, GFP_NOWAIT | __GFP_NOWARN);
	if (!cut)
		return NULL;
	skb_put_data(cut, skb_network_header(skb), headers);
	skb_reset_network_header(cut);
	skb_pull(cut, headers);
	skb_put_data(cut, from, bytes);
	*pinion_wire_cb_of(cut) = *pinion_wire_cb_of(skb);
	pinion_wire_cb_of(cut)->first += i;
	return cut;
}

struct sk_buff *pinion_wire_unite(struct sk_buff *skb)
{
	struct sk_buff *whole;

	if (!skb_is_nonlinear(skb))
		return skb;
	whole = skb_copy(skb, GFP_NOIO | __GFP_NOWARN);
	if (whole)
		consume_skb(skb);
	return whole;
}
