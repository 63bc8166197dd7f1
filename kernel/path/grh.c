// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Builds the header that receivers of datagrams find in front of the payload.
 */
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "grh.h"

/* Bytes of UDP header, BTH, DETH and ICRC, which count in the length of a packet. */
#define OVERHEAD (8 + 12 + 8 + 4)

static void grh_build_ipv4(struct iphdr *ip, const struct pinion_av *av, u64 length)
{
	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->tos = av->traffic_class;
	ip->tot_len = htons(sizeof(*ip) + OVERHEAD + length);
	ip->frag_off = htons(IP_DF);
	ip->ttl = av->hop_limit;
	ip->protocol = IPPROTO_UDP;
	memcpy(&ip->saddr, &av->sgid.raw[12], sizeof(ip->saddr));
	memcpy(&ip->daddr, &av->dgid.raw[12], sizeof(ip->daddr));
	ip_send_check(ip);
}

static void grh_build_ipv6(struct ipv6hdr *ip, const struct pinion_av *av, u64 length)
{
	ip6_flow_hdr(ip, av->traffic_class, htonl(av->flow_label & 0xfffff));
	ip->payload_len = htons(OVERHEAD + length);
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = av->hop_limit;
	memcpy(&ip->saddr, &av->sgid, sizeof(ip->saddr));
	memcpy(&ip->daddr, &av->dgid, sizeof(ip->daddr));
}

void pinion_grh_build(u8 grh[PINION_GRH_SIZE], const struct pinion_av *av, u64 length)
{
	memset(grh, 0, PINION_GRH_SIZE);
	if (av->ipv4)
		grh_build_ipv4((struct iphdr *)(grh + PINION_GRH_SIZE - sizeof(struct iphdr)), av,
			       length);
	else
		grh_build_ipv6((struct ipv6hdr *)grh, av, length);
}
