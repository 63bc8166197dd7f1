/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a connected queue pair does with a request packet, as its number and its position in
 * the message have it. Knows no memory, no clock, and sends nothing: who asks performs the
 * packet, and says whether it was.
 */
#ifndef PINION_LOGIC_RECEIVER_H
#define PINION_LOGIC_RECEIVER_H

#include "packet.h"
#include "psn.h"

/* One per responder. Whoever responds for the queue pair has it. */
struct pinion_receiver {
	u32 expected;			/* PSN of the next packet */
	u64 taken;			/* packets of all times: the next one's number among them */
	u32 msn;			/* messages that were performed */
	u32 mtu;
	bool reliable;

	bool within;			/* a message began, and did not end: */
	bool writes;			/* it is a WRITE, else a SEND */
	u32 left;			/* bytes that are to come; of a SEND: that may */

	bool told;			/* the sender knows that @expected is missing */
};

enum pinion_arrival {
	PINION_ARRIVAL_NEW,		/* perform it: it begins or ends as its kind says */
	PINION_ARRIVAL_RESTART,		/* likewise, and the message before it is lost */
	PINION_ARRIVAL_LOST,		/* not performed, nor the rest of its message */
	PINION_ARRIVAL_DROP,		/* not performed */
	/* Reliable connections only: */
	PINION_ARRIVAL_AGAIN,		/* was performed: say once more what came */
	PINION_ARRIVAL_ANSWER_AGAIN,	/* was performed: give its answer once more */
	PINION_ARRIVAL_GAP,		/* say that @expected is missing */
	PINION_ARRIVAL_INVALID,		/* say that such a request is invalid, and break */
};

/* @psn: of the first packet that is to come. */
void pinion_receiver_init(struct pinion_receiver *receiver, u32 psn, u32 mtu, bool reliable);

/*
 * What to do with @packet, a request of @receiver's service. Of what is new nothing is noted
 * yet; it may come again.
 */
enum pinion_arrival pinion_receiver_look(struct pinion_receiver *receiver,
					 const struct pinion_packet *packet);

/* @packet was new, and is performed. */
void pinion_receiver_take(struct pinion_receiver *receiver, const struct pinion_packet *packet);

/* What number packet @psn has among those, or will have; PSNs come again. */
static inline u64 pinion_receiver_number(const struct pinion_receiver *receiver, u32 psn)
{
	return receiver->taken + pinion_psn_ahead(psn, receiver->expected);
}

/*
 * @packet was new, and cannot be performed now: the sender is told when to send it again. What
 * was under way behind it is no news until then.
 */
void pinion_receiver_defer(struct pinion_receiver *receiver);

#endif
