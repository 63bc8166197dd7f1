/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Decides what a connected queue pair does with a request packet, by its PSN and its position in
 * the message. The caller performs packets, and calls pinion_receiver_take() for those that were
 * performed.
 */
#ifndef PINION_LOGIC_RECEIVER_H
#define PINION_LOGIC_RECEIVER_H

#include "early.h"
#include "packet.h"
#include "psn.h"

/* State of one responder, protected by its lock. */
struct pinion_receiver {
	u32 expected;			/* PSN of the next packet */
	u64 taken;			/* packets performed so far; does not wrap like PSNs */
	u32 msn;			/* messages performed so far, 24 bits */
	u32 mtu;
	bool reliable;

	bool within;			/* a message has begun and not ended: */
	bool writes;			/* it is a WRITE, else a SEND */
	u32 left;			/* bytes still to come; of a SEND: at most */
	bool doubtful;			/* the caller says: the last one performed was kept */

	bool others;			/* none was performed, or the last not packet->selective */
	bool told;			/* a NAK for @expected was sent */
	bool deferred;			/* it was an RNR NAK */
};

enum pinion_arrival {
	PINION_ARRIVAL_NEW,		/* perform it */
	PINION_ARRIVAL_RESTART,		/* perform it; the message before it is incomplete */
	PINION_ARRIVAL_LOST,		/* drop it and the rest of its message */
	PINION_ARRIVAL_DROP,		/* drop it */
	/* Reliable connections only: */
	PINION_ARRIVAL_AGAIN,		/* duplicate: acknowledge again */
	PINION_ARRIVAL_ANSWER_AGAIN,	/* duplicate: send its answer again */
	PINION_ARRIVAL_UNANSWERED,	/* duplicate that has no answer: drop it */
	PINION_ARRIVAL_GAP,		/* send a NAK: @expected is missing */
	PINION_ARRIVAL_EARLY,		/* keep it; else see pinion_receiver_tell() */
	PINION_ARRIVAL_INVALID,		/* send a NAK: invalid request, and break */
};

/* @psn: of the first packet to be expected. */
void pinion_receiver_init(struct pinion_receiver *receiver, u32 psn, u32 mtu, bool reliable);

/*
 * Decide what to do with @packet, a request of @receiver's service. For a new packet the state does
 * not change until pinion_receiver_take(): it may be delivered again.
 */
enum pinion_arrival pinion_receiver_look(struct pinion_receiver *receiver,
					 const struct pinion_packet *packet);

/* @packet was new and has been performed. */
void pinion_receiver_take(struct pinion_receiver *receiver, const struct pinion_packet *packet);

/* The numbers that a packet takes: of a READ request those of its answer's packets, else one. */
u32 pinion_receiver_numbers(const struct pinion_packet *packet, u32 mtu);

/*
 * A packet came behind a gap. Return: whether a NAK must be sent. One per gap: the packets that are
 * sent before it arrives are all behind the gap.
 */
bool pinion_receiver_tell(struct pinion_receiver *receiver);

/* The number of packet @psn in the count of receiver->taken. Unlike PSNs it is unique. */
static inline u64 pinion_receiver_number(const struct pinion_receiver *receiver, u32 psn)
{
	return receiver->taken + pinion_psn_ahead(psn, receiver->expected);
}

/*
 * The new packet cannot be performed now, and an RNR NAK was sent. Until it comes again, packets
 * behind it are dropped without a NAK.
 */
void pinion_receiver_defer(struct pinion_receiver *receiver);

#endif
