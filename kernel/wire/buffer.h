/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A received buffer: what is known of it from the socket on. It has one packet, or several that
 * were sent as one (GSO) or merged (GRO). What others need of them is in wire.h.
 */
#ifndef PINION_WIRE_BUFFER_H
#define PINION_WIRE_BUFFER_H

#include "wire.h"

/* Data about a buffer, in skb->cb. */
struct pinion_wire_cb {
	u64 net;			/* cookie of the network namespace */
	u32 stride;			/* bytes of each packet but the last */
	u32 first;			/* index of its first packet behind the IP header's */
	u32 ifindex;			/* of the netdev it came by, below VLANs; 0: gone */
	u16 vlan;
	u8 smac[ETH_ALEN];		/* its sender's on that link; zeros: unknown */
	bool marked;			/* by a router, as congested (ECN) */
};

static inline struct pinion_wire_cb *pinion_wire_cb_of(const struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct pinion_wire_cb) > sizeof(skb->cb));
	return (struct pinion_wire_cb *)skb->cb;
}

/*
 * Is the ICRC of packet @i right? Packets that were sent as one have consecutive IPv4
 * identifications. Some that a network card has merged all have the same.
 */
bool pinion_wire_icrc_is_right(const struct sk_buff *skb, u32 i);
/*
 * Make a buffer of @packets packets of @skb, from packet @i on, with the headers before them. It is
 * a copy: a clone would keep all of @skb allocated, and would have to be charged for it. NULL: no
 * memory.
 */
struct sk_buff *pinion_wire_cut_out(const struct sk_buff *skb, u32 i, u32 packets);
/*
 * Copy a buffer that the kernel has merged into fragments. It may have 64 KiB, so the allocation
 * may sleep. Consumes @skb, unless it returns NULL: no memory.
 */
struct sk_buff *pinion_wire_unite(struct sk_buff *skb);

/* deliver.c: deliver the packets of @skb to queue pairs. Consumes it. Process context. */
void pinion_wire_deliver(struct sk_buff *skb, struct pinion_errand *errand);
/* Drop @skb, which is no packet of ours, and count it for the device that it is for. Likewise. */
void pinion_wire_drop_malformed(struct sk_buff *skb);

#endif
