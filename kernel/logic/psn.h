/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * 24-bit packet sequence numbers.
 */
#ifndef PINION_LOGIC_PSN_H
#define PINION_LOGIC_PSN_H

#include <linux/log2.h>
#include <linux/types.h>

#define PINION_PSN_MASK 0xffffff

static inline u32 pinion_psn_add(u32 psn, u32 packets)
{
	return (psn + packets) & PINION_PSN_MASK;
}

/*
 * How far @psn is ahead of @from, or behind it (negative). Numbers wrap, so half of them are
 * ahead and half behind: -2^23 to 2^23 - 1.
 */
static inline s32 pinion_psn_ahead(u32 psn, u32 from)
{
	return (s32)((psn - from) << 8) >> 8;
}

/* Is @psn one of the @packets numbers from @from on? */
static inline bool pinion_psn_within(u32 psn, u32 from, u32 packets)
{
	return ((psn - from) & PINION_PSN_MASK) < packets;
}

/* The packets of a message; one for 0 bytes. @mtu is a power of two. */
static inline u32 pinion_psn_packets(u64 length, u32 mtu)
{
	return length ? (length + mtu - 1) >> ilog2(mtu) : 1;
}

#endif
