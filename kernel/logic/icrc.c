// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The invariant CRC of a packet's headers up to the BTH, some fields of which are masked.
 */
#include <linux/string.h>

#include "icrc.h"
#include "packet.h"

#define IPV4_BYTES	20
#define IPV6_BYTES	40
#define UDP_BYTES	8
#define PREFIX_MAX	(IPV6_BYTES + UDP_BYTES + PINION_BTH_BYTES)

/* Offsets of fields that differ between packets sent as one; two bytes each. */
#define IPV4_LENGTH	2
#define IPV4_ID		4
#define IPV6_LENGTH	4
#define UDP_LENGTH	4

/* The CRC of eight bytes of ones, with the initial value of all ones. */
#define ICRC_ROUTE	0xdebb20e3

/* Offsets of masked fields (replaced by ones), from the UDP header on: */
#define UDP_CHECKSUM	6		/* two bytes */
#define BTH_NOTICE	(UDP_BYTES + 4)	/* FECN, BECN and reserved bits */

static u32 icrc_network_bytes(enum pinion_icrc_network network)
{
	return network == PINION_ICRC_IPV4 ? IPV4_BYTES : IPV6_BYTES;
}

u32 pinion_icrc_prefix(enum pinion_icrc_network network)
{
	return icrc_network_bytes(network) + UDP_BYTES + PINION_BTH_BYTES;
}

static void icrc_mask_ipv4(u8 *ip)
{
	ip[1] = 0xff;			/* type of service */
	ip[8] = 0xff;			/* time to live */
	memset(ip + 10, 0xff, 2);	/* checksum */
}

static void icrc_mask_ipv6(u8 *ip)
{
	ip[0] |= 0x0f;			/* traffic class and flow label, behind the version */
	memset(ip + 1, 0xff, 3);
	ip[7] = 0xff;			/* hop limit */
}

/* @masked has the headers from the network header to the BTH, and is modified. */
static u32 icrc_begin_masked(u8 *masked, enum pinion_icrc_network network)
{
	u8 *transport = masked + icrc_network_bytes(network);

	if (network == PINION_ICRC_IPV4)
		icrc_mask_ipv4(masked);
	else
		icrc_mask_ipv6(masked);
	memset(transport + UDP_CHECKSUM, 0xff, 2);
	transport[BTH_NOTICE] = 0xff;
	return pinion_icrc_add(ICRC_ROUTE, masked, pinion_icrc_prefix(network));
}

u32 pinion_icrc_begin(const u8 *packet, enum pinion_icrc_network network)
{
	u8 masked[PREFIX_MAX];

	memcpy(masked, packet, pinion_icrc_prefix(network));
	return icrc_begin_masked(masked, network);
}

u32 pinion_icrc_begin_of(const u8 *headers, enum pinion_icrc_network network, u32 index, u32 bytes,
			 const u8 *bth)
{
	u32 before = icrc_network_bytes(network);
	u8 masked[PREFIX_MAX];

	memcpy(masked, headers, before + UDP_BYTES);
	memcpy(masked + before + UDP_BYTES, bth, PINION_BTH_BYTES);
	if (network == PINION_ICRC_IPV4) {
		put_unaligned_be16(before + UDP_BYTES + bytes, masked + IPV4_LENGTH);
		put_unaligned_be16(get_unaligned_be16(masked + IPV4_ID) + index, masked + IPV4_ID);
	} else {
		put_unaligned_be16(UDP_BYTES + bytes, masked + IPV6_LENGTH);
	}
	put_unaligned_be16(UDP_BYTES + bytes, masked + before + UDP_LENGTH);
	return icrc_begin_masked(masked, network);
}
