// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Trains: checks that payloads have equal sizes and distances. The callers check that the packets
 * are of one message and in order.
 */
#include "train.h"

bool pinion_train_begin(struct pinion_train *train, const struct sk_buff *skb, u32 i)
{
	train->skb = skb;
	train->next = i + 1;
	train->packets = 1;
	train->distance = 0;
	train->payload = pinion_wire_parse(skb, i, &train->packet);
	train->bytes = train->packet.payload;
	return train->payload;
}

/* The distance from the payload of the train's last packet to that of @packet, the next. */
static u32 train_distance(const struct pinion_train *train, const struct pinion_packet *packet)
{
	return pinion_wire_stride(train->skb) + pinion_packet_header_bytes(packet->opcode) -
	       pinion_packet_header_bytes(train->packet.opcode);
}

bool pinion_train_look(const struct pinion_train *train, struct pinion_packet *packet)
{
	if (train->next == pinion_wire_packets(train->skb) ||
	    !pinion_wire_parse(train->skb, train->next, packet))
		return false;
	/* Only the last may be shorter: the last one so far must be as long as the first. */
	return train->bytes == (u64)train->packets * train->packet.payload &&
	       packet->payload <= train->packet.payload &&
	       (train->packets == 1 || train_distance(train, packet) == train->distance);
}

void pinion_train_couple(struct pinion_train *train, const struct pinion_packet *packet)
{
	train->distance = train_distance(train, packet);
	train->packet = *packet;
	train->bytes += packet->payload;
	train->packets++;
	train->next++;
}

void pinion_train_payload(const struct pinion_train *train, struct pinion_cursor *payload)
{
	u32 piece = train->packets > 1 ? (train->bytes - train->packet.payload) /
					 (train->packets - 1) : 0;

	/* The cast drops const: a source cursor is only read. */
	pinion_cursor_pieces(payload, (void *)train->payload, piece, train->distance);
}
