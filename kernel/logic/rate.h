/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The rate of a sender that is told of congestion (DCQCN, its reaction point). A notification
 * (CNP) cuts the rate; without any it rises again, by time and by bytes sent, until there is no
 * limit any more.
 *
 * There are no timers: each call first applies what has become due since the last one.
 * Times are in ns, of any clock that does not go back; rates are in bytes per second. Packets are
 * not delayed one by one: a sender may be ahead of its rate by PINION_RATE_AHEAD_NS, and then
 * pauses until it is not ahead at all.
 */
#ifndef PINION_LOGIC_RATE_H
#define PINION_LOGIC_RATE_H

#include <linux/time64.h>
#include <linux/types.h>

/* The least time between two notifications that are obeyed. */
#define PINION_RATE_CUT_NS	(50 * NSEC_PER_USEC)
/* How far a sender may be ahead of its rate, and how far behind without losing credit. */
#define PINION_RATE_AHEAD_NS	(100 * NSEC_PER_USEC)
/* The lowest rate, and the highest: a rate that reaches it is not limited any more. */
#define PINION_RATE_LEAST	1000000ULL
#define PINION_RATE_MOST	12500000000ULL

struct pinion_rate {
	bool limited;			/* else only @begun, @count and @measured are used */
	u64 rate;			/* allowed now */
	u64 target;			/* @rate rises towards it */
	u32 alpha;			/* estimated congestion: the next cut is by half of it */
	u64 cut;			/* when @rate was cut */
	u64 decayed;			/* when @alpha fell last without a notification, */
	u64 raised;			/* and @rate rose */
	u32 periods;			/* times that @rate rose by time since it was cut, */
	u32 rounds;			/* and by bytes */
	u64 sent;			/* bytes sent since it rose by bytes */
	u64 due;			/* when all that was sent will have left at this rate */

	/* The rate without a limit, from which the first cut is made. */
	u64 begun;			/* when this measurement began; 0: none */
	u64 count;			/* bytes since then */
	u64 measured;			/* result of the last measurement; 0: none */
};

void pinion_rate_init(struct pinion_rate *rate);

/* Handle a notification. Return: false if it is ignored because it is too early. */
bool pinion_rate_notified(struct pinion_rate *rate, u64 now);

/*
 * Count @bytes that are sent. While there is no limit, @now may be of a coarse clock, which may be
 * behind that of the other calls.
 */
void pinion_rate_sent(struct pinion_rate *rate, u64 bytes, u64 now);

/* Return the pause before the next packet, in ns; 0 if it may be sent now. */
u64 pinion_rate_pause(struct pinion_rate *rate, u64 now);

/* Return the bytes that may be sent now; one packet may be sent in any case. */
u64 pinion_rate_room(const struct pinion_rate *rate, u64 now);

#endif
