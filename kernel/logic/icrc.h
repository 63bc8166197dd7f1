/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The invariant CRC of RoCEv2, over all fields that routers do not change. It is a CRC-32 of eight
 * bytes of ones (in place of InfiniBand's local route header), then of the packet from its network
 * header on, with ones in the fields that routers change.
 */
#ifndef PINION_LOGIC_ICRC_H
#define PINION_LOGIC_ICRC_H

#include <linux/types.h>
#include <linux/unaligned.h>

#include "crc.h"

enum pinion_icrc_network {
	PINION_ICRC_IPV4,		/* without options: RoCEv2 has none */
	PINION_ICRC_IPV6,		/* without extensions, likewise */
};

/*
 * The CRC of a packet. @headers: its network and UDP header, or those of the first of several
 * packets that are sent or received as one (GSO, GRO). Then the packet is number @index behind the
 * first one. It has its BTH at @bth, and @bytes bytes from the BTH to the end of the ICRC, from
 * which the lengths in the headers follow. With IPv4 each packet has the next identification.
 *
 * The bytes must not change until they are sent: the sender copies payload first, and this reads
 * the copy.
 */
u32 pinion_icrc(const u8 *headers, enum pinion_icrc_network network, u32 index, const u8 *bth,
		u32 bytes);

/* The ICRC is little-endian, unlike the headers. */
static inline void pinion_icrc_put(u32 crc, u8 *icrc)
{
	put_unaligned_le32(~crc, icrc);
}

static inline bool pinion_icrc_is(u32 crc, const u8 *icrc)
{
	return get_unaligned_le32(icrc) == ~crc;
}

#endif
