/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets of one message that came in one buffer: they are taken as one.
 */
#ifndef PINION_WIRE_TRAIN_H
#define PINION_WIRE_TRAIN_H

#include "../path/cursor.h"
#include "wire.h"

/*
 * Packets of one buffer, one behind another, whose payloads are taken as one: all are of the same
 * size, but for the last, and so are what is between them.
 */
struct pinion_train {
	const struct sk_buff *skb;
	u32 next;			/* which packet */
	struct pinion_packet packet;	/* the last that was coupled */
	const u8 *payload;		/* of the first */
	u64 bytes;			/* of all payload */
	u32 packets;
};

/* Packet @i of @skb as a train of one. Return: false if it is none. */
bool pinion_train_begin(struct pinion_train *train, const struct sk_buff *skb, u32 i);
/* The next packet, if its payload is in line with the others; not coupled yet. */
bool pinion_train_look(const struct pinion_train *train, struct pinion_packet *packet);
void pinion_train_couple(struct pinion_train *train, const struct pinion_packet *packet);
void pinion_train_payload(const struct pinion_train *train, struct pinion_cursor *payload);

#endif
