/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Trains: consecutive packets of one message in one buffer, which are handled as one.
 */
#ifndef PINION_WIRE_TRAIN_H
#define PINION_WIRE_TRAIN_H

#include "../path/cursor.h"
#include "wire.h"

/*
 * Consecutive packets of one buffer. All payloads but the last have the same size, and all have
 * the same distance, so that one cursor in pieces covers them. So only within a train of two
 * packets may their headers differ in length.
 */
struct pinion_train {
	const struct sk_buff *skb;
	u32 next;			/* index in the buffer of the packet behind the train */
	struct pinion_packet packet;	/* the last packet of the train */
	const u8 *payload;		/* of the first packet */
	u32 distance;			/* from a payload to the next, if there are several */
	u64 bytes;			/* payload of all packets */
	u32 packets;
};

/* Make a train of packet @i of @skb. Return: false if that cannot be parsed. */
bool pinion_train_begin(struct pinion_train *train, const struct sk_buff *skb, u32 i);
/* Parse the next packet. Return: whether its payload has the right size and distance. */
bool pinion_train_look(const struct pinion_train *train, struct pinion_packet *packet);
/* Add that packet to the train. The caller has checked that it is the next of the message. */
void pinion_train_couple(struct pinion_train *train, const struct pinion_packet *packet);
/* A cursor for the payload of all packets. */
void pinion_train_payload(const struct pinion_train *train, struct pinion_cursor *payload);

#endif
