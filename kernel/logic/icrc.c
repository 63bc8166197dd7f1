// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The invariant CRC: some fields of the headers up to the BTH are masked in a copy of them.
 */
#include <linux/build_bug.h>
#include <linux/string.h>

#include "icrc.h"
#include "packet.h"

#define IPV4_BYTES	20
#define IPV6_BYTES	40
#define UDP_BYTES	8

/*
 * What is before the payload, or other headers, fills lanes (crc.h). In place of InfiniBand's route
 * header are eight bytes of ones. With IPv6 four of them are in the initial value: of the usual one
 * and these it becomes zero.
 */
#define IPV4_ONES	8
#define IPV6_ONES	4
#define HEAD_MAX	(IPV6_ONES + IPV6_BYTES + UDP_BYTES + PINION_BTH_BYTES)

/* Offsets of fields that differ between packets sent as one; two bytes each. */
#define IPV4_LENGTH	2
#define IPV4_ID		4
#define IPV6_LENGTH	4
#define UDP_LENGTH	4

/* Offsets of masked fields (replaced by ones), from the UDP header on: */
#define UDP_CHECKSUM	6		/* two bytes */
#define BTH_NOTICE	(UDP_BYTES + 4)	/* FECN, BECN and reserved bits */

static u32 icrc_network_bytes(enum pinion_icrc_network network)
{
	return network == PINION_ICRC_IPV4 ? IPV4_BYTES : IPV6_BYTES;
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

/* @masked: from the network header to the BTH. */
static void icrc_mask(u8 *masked, enum pinion_icrc_network network)
{
	u8 *transport = masked + icrc_network_bytes(network);

	if (network == PINION_ICRC_IPV4)
		icrc_mask_ipv4(masked);
	else
		icrc_mask_ipv6(masked);
	memset(transport + UDP_CHECKSUM, 0xff, 2);
	transport[BTH_NOTICE] = 0xff;
}

/* Fill in what differs between packets that are sent as one. @masked as in icrc_mask(). */
static void icrc_say_which(u8 *masked, enum pinion_icrc_network network, u32 index, u32 bytes)
{
	u32 before = icrc_network_bytes(network);

	if (network == PINION_ICRC_IPV4) {
		put_unaligned_be16(before + UDP_BYTES + bytes, masked + IPV4_LENGTH);
		put_unaligned_be16(get_unaligned_be16(masked + IPV4_ID) + index, masked + IPV4_ID);
	} else {
		put_unaligned_be16(UDP_BYTES + bytes, masked + IPV6_LENGTH);
	}
	put_unaligned_be16(UDP_BYTES + bytes, masked + before + UDP_LENGTH);
}

u32 pinion_icrc(const u8 *headers, enum pinion_icrc_network network, u32 index, const u8 *bth,
		u32 bytes)
{
	u32 ones = network == PINION_ICRC_IPV4 ? IPV4_ONES : IPV6_ONES;
	u32 before = icrc_network_bytes(network) + UDP_BYTES;
	u32 crc = network == PINION_ICRC_IPV4 ? ~0 : 0;
	u8 head[HEAD_MAX] __aligned(8);
	u8 *masked = head + ones;

	BUILD_BUG_ON((IPV4_ONES + IPV4_BYTES + UDP_BYTES + PINION_BTH_BYTES) % PINION_CRC_LANE);
	BUILD_BUG_ON(HEAD_MAX % PINION_CRC_LANE);
	memset(head, 0xff, ones);
	memcpy(masked, headers, before);
	memcpy(masked + before, bth, PINION_BTH_BYTES);
	icrc_say_which(masked, network, index, bytes);
	icrc_mask(masked, network);
	return pinion_crc(crc, head, ones + before + PINION_BTH_BYTES, bth + PINION_BTH_BYTES,
			  bytes - PINION_BTH_BYTES - PINION_ICRC_BYTES);
}
