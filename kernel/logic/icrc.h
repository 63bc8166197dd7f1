/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The invariant CRC of RoCEv2: over all that no router on the way changes. It is a CRC-32
 * of the packet from its network header on, behind eight bytes of ones (where InfiniBand has
 * its local route header), and with ones in place of what routers change.
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

/* Bytes from the network header to the end of the BTH: what pinion_icrc_begin() reads. */
u32 pinion_icrc_prefix(enum pinion_icrc_network network);

/* @packet begins with the network header; UDP header and BTH follow. */
u32 pinion_icrc_begin(const u8 *packet, enum pinion_icrc_network network);

/*
 * Likewise, of one of several packets that are sent, or came, as one: what is at @headers, from the
 * network header to the UDP header, is of the first. This is packet @index behind it, of @bytes
 * from its BTH at @bth to its ICRC. By IPv4 each has the next identification.
 */
u32 pinion_icrc_begin_of(const u8 *headers, enum pinion_icrc_network network, u32 index, u32 bytes,
			 const u8 *bth);

/*
 * What follows, in as many parts as it is in: other headers, payload, pad. Of bytes that
 * cannot change any more: a sender's are copied first, and this reads the copy, which is in
 * the cache then.
 */
static inline u32 pinion_icrc_add(u32 crc, const void *data, u32 bytes)
{
	return pinion_crc(crc, data, bytes);
}

/* The least significant byte is first, other than in all headers. */
static inline void pinion_icrc_put(u32 crc, u8 *icrc)
{
	put_unaligned_le32(~crc, icrc);
}

static inline bool pinion_icrc_is(u32 crc, const u8 *icrc)
{
	return get_unaligned_le32(icrc) == ~crc;
}

#endif
