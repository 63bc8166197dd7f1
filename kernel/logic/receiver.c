// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The order of packets at the receiver.
 */
#include <rdma/pinion-abi.h>

#include "op.h"
#include "psn.h"
#include "receiver.h"
#include "wqe.h"

void pinion_receiver_init(struct pinion_receiver *receiver, u32 psn, u32 mtu, bool reliable)
{
	*receiver = (struct pinion_receiver){
		.expected = psn & PINION_PSN_MASK,
		.mtu = mtu,
		.reliable = reliable,
		.others = true,
	};
}

/* For packets with payload, which are of SENDs or WRITEs. */
static bool receiver_is_write(const struct pinion_packet_kind *kind)
{
	return pinion_op(kind->op)->traits & PINION_OP_REMOTE_MEM;
}

/* Is it of a SEND or WRITE? The others have an answer beyond an acknowledgment. */
static bool receiver_has_data(const struct pinion_packet_kind *kind)
{
	return kind->payload != PINION_PAYLOAD_NONE && kind->payload != PINION_PAYLOAD_WORD;
}

/* Does the packet fit between the packets before it? */
static bool receiver_is_in_turn(const struct pinion_receiver *receiver,
				const struct pinion_packet_kind *kind)
{
	if (kind->position & PINION_BEGINS)
		return !receiver->within;
	return receiver->within && receiver->writes == receiver_is_write(kind);
}

/* Bytes of the message still to come, with this packet; of a SEND: at most. */
static u32 receiver_left(const struct pinion_receiver *receiver,
			 const struct pinion_packet_kind *kind,
			 const struct pinion_packet *packet)
{
	if (!(kind->position & PINION_BEGINS))
		return receiver->left;
	return receiver_is_write(kind) ? packet->length : PINION_MAX_MSG_SIZE;
}

static bool receiver_has_room(const struct pinion_receiver *receiver,
			      const struct pinion_packet_kind *kind,
			      const struct pinion_packet *packet)
{
	u32 left = receiver_left(receiver, kind, packet);

	/* The range of a FLUSH may be longer than a message can be. */
	if (!receiver_has_data(kind))
		return kind->op != PINION_OP_RDMA_READ || packet->length <= PINION_MAX_MSG_SIZE;
	if (!receiver_is_write(kind))
		return packet->payload <= left;
	if (left > PINION_MAX_MSG_SIZE)
		return false;
	return kind->position & PINION_ENDS ? packet->payload == left : packet->payload < left;
}

/* A FLUSH must ask for something, and at a level that exists. */
static bool receiver_can_flush(const struct pinion_packet *packet)
{
	return packet->flush_types & (PINION_FETH_GLOBAL | PINION_FETH_PERSISTENT) &&
	       packet->flush_level <= PINION_FETH_REGION;
}

static bool receiver_is_valid(const struct pinion_receiver *receiver,
			      const struct pinion_packet_kind *kind,
			      const struct pinion_packet *packet)
{
	if (kind->op == PINION_OP_FLUSH && !receiver_can_flush(packet))
		return false;
	return receiver_is_in_turn(receiver, kind) &&
	       pinion_packet_fits(packet, receiver->mtu) &&
	       receiver_has_room(receiver, kind, packet);
}

u32 pinion_receiver_numbers(const struct pinion_packet *packet, u32 mtu)
{
	if (packet->opcode % PINION_PACKET_CODES != PINION_READ_REQUEST)
		return 1;
	return pinion_psn_packets(packet->length, mtu);
}

/*
 * A duplicate: its number was expected @behind numbers ago. A READ whose numbers reach to @expected
 * or beyond was never performed like this: its answer would use numbers of later requests.
 */
static enum pinion_arrival receiver_look_again(const struct pinion_receiver *receiver,
					       const struct pinion_packet_kind *kind,
					       const struct pinion_packet *packet, u32 behind)
{
	if (receiver_has_data(kind))
		return PINION_ARRIVAL_AGAIN;
	return pinion_receiver_numbers(packet, receiver->mtu) > behind ?
	       PINION_ARRIVAL_UNANSWERED : PINION_ARRIVAL_ANSWER_AGAIN;
}

/*
 * The next packet. What came early may have been forged, in the place of a packet that ended its
 * message: if it makes the next one invalid, the message is dropped.
 */
static enum pinion_arrival receiver_look_next(const struct pinion_receiver *receiver,
					      const struct pinion_packet_kind *kind,
					      const struct pinion_packet *packet)
{
	struct pinion_receiver without;

	if (receiver_is_valid(receiver, kind, packet))
		return PINION_ARRIVAL_NEW;
	without = *receiver;
	without.within = false;
	if (receiver->doubtful && receiver_is_valid(&without, kind, packet))
		return PINION_ARRIVAL_RESTART;
	return PINION_ARRIVAL_INVALID;
}

static enum pinion_arrival receiver_look_reliable(struct pinion_receiver *receiver,
						  const struct pinion_packet_kind *kind,
						  const struct pinion_packet *packet)
{
	s32 ahead = pinion_psn_ahead(packet->psn, receiver->expected);

	if (ahead < 0)
		return receiver_look_again(receiver, kind, packet, -ahead);
	if (!ahead)
		return receiver_look_next(receiver, kind, packet);
	/* One packet may be forged: NAK code 16 would break a peer that does not know it. */
	if (packet->selective && !receiver->others && !receiver->deferred &&
	    ahead < PINION_EARLY_WINDOW)
		return PINION_ARRIVAL_EARLY;
	return pinion_receiver_tell(receiver) ? PINION_ARRIVAL_GAP : PINION_ARRIVAL_DROP;
}

/* After a loss an unreliable connection goes on with the next message, whatever its PSN. */
static enum pinion_arrival receiver_look_unreliable(struct pinion_receiver *receiver,
						    const struct pinion_packet_kind *kind,
						    const struct pinion_packet *packet)
{
	bool in_order = packet->psn == receiver->expected;
	bool within = receiver->within;

	if (in_order && receiver_is_valid(receiver, kind, packet))
		return PINION_ARRIVAL_NEW;
	receiver->within = false;
	receiver->expected = packet->psn;
	if (receiver_is_valid(receiver, kind, packet))
		return within ? PINION_ARRIVAL_RESTART : PINION_ARRIVAL_NEW;
	receiver->expected = pinion_psn_add(packet->psn, 1);
	return within ? PINION_ARRIVAL_LOST : PINION_ARRIVAL_DROP;
}

bool pinion_receiver_tell(struct pinion_receiver *receiver)
{
	if (receiver->told)
		return false;
	receiver->told = true;
	return true;
}

enum pinion_arrival pinion_receiver_look(struct pinion_receiver *receiver,
					 const struct pinion_packet *packet)
{
	const struct pinion_packet_kind *kind = pinion_packet_kind(packet->opcode);

	if (!kind || kind->role != PINION_REQUEST)
		return PINION_ARRIVAL_DROP;
	if (receiver->reliable)
		return receiver_look_reliable(receiver, kind, packet);
	return receiver_look_unreliable(receiver, kind, packet);
}

void pinion_receiver_take(struct pinion_receiver *receiver, const struct pinion_packet *packet)
{
	const struct pinion_packet_kind *kind = pinion_packet_kind(packet->opcode);
	u32 packets = pinion_receiver_numbers(packet, receiver->mtu);

	receiver->expected = pinion_psn_add(receiver->expected, packets);
	receiver->taken += packets;
	receiver->others = !packet->selective;
	receiver->doubtful = false;
	receiver->told = false;
	receiver->deferred = false;
	if (receiver_has_data(kind)) {
		receiver->left = receiver_left(receiver, kind, packet) - packet->payload;
		receiver->writes = receiver_is_write(kind);
	}
	receiver->within = !(kind->position & PINION_ENDS);
	if (!receiver->within)
		receiver->msn = pinion_psn_add(receiver->msn, 1);
}

void pinion_receiver_defer(struct pinion_receiver *receiver)
{
	receiver->told = true;
	receiver->deferred = true;
}
