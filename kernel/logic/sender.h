/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the sender of a reliable connection makes of what comes back, and of what does not:
 * which packets are acknowledged, and where to go on sending. Knows no memory, no clock and
 * no request: who asks retires the requests that are acknowledged, and has the timers.
 *
 * A request has as many numbers as it has packets; a READ as many as its answer has. Those from
 * @una on are not acknowledged, those from @next on are to be sent (again).
 */
#ifndef PINION_LOGIC_SENDER_H
#define PINION_LOGIC_SENDER_H

#include "packet.h"

/* As the attribute has it: as often as it takes. */
#define PINION_RNR_RETRY_FOREVER	7

/* One per requester. Whoever executes for the queue pair has it. */
struct pinion_sender {
	u32 una;
	u32 next;
	u32 end;			/* behind all that were ever sent */

	/*
	 * Between @una and @end is a request of which an answer has to come, more than that
	 * it was performed, and this is the first number of it that did not:
	 */
	bool owed;
	u32 due;

	bool back;			/* went back to @una, and nothing was acknowledged since */
	bool waiting;			/* the receiver is not ready */
	u8 retry_count;			/* as the attributes have them */
	u8 rnr_retry;
	u8 retry_left;			/* since something was acknowledged */
	u8 rnr_left;
};

enum pinion_sender_step {
	PINION_SENDER_STALE,		/* nothing new */
	PINION_SENDER_ADVANCED,		/* @una did */
	PINION_SENDER_ANSWERED,		/* what was due came: place it, and take it */
	PINION_SENDER_RESEND,		/* from @una, where @next is now */
	PINION_SENDER_WAIT,		/* as long as it says; then pinion_sender_wake() */
	PINION_SENDER_REFUSED,		/* the request of @una, for the reason that was given */
	PINION_SENDER_GIVE_UP,		/* the request of @una: no answer, too often */
	PINION_SENDER_GIVE_UP_RNR,	/* likewise: not ready, too often */
};

void pinion_sender_init(struct pinion_sender *sender, u32 psn, u8 retry_count, u8 rnr_retry);

/* How many packets may be sent from @next on, if @window may be under way; at most 2^23 - 1. */
u32 pinion_sender_room(const struct pinion_sender *sender, u32 window);

/* Those of @next to @next + @packets were sent, and no others. */
void pinion_sender_sent(struct pinion_sender *sender, u32 packets);

/*
 * What @due is from now on, where that is not what pinion_sender_take() makes it; and that there
 * is no such thing.
 */
void pinion_sender_owe(struct pinion_sender *sender, u32 due);
void pinion_sender_owe_none(struct pinion_sender *sender);

/*
 * An acknowledgment came, of whatever kind, or a packet of an answer, with its number. What may
 * have been acknowledged before the step that is returned is behind @una in any case.
 */
enum pinion_sender_step pinion_sender_acknowledge(struct pinion_sender *sender, u32 psn,
						  u8 syndrome);
enum pinion_sender_step pinion_sender_answer(struct pinion_sender *sender, u32 psn);

/* After PINION_SENDER_ANSWERED; then the next number is due, unless it is said otherwise. */
void pinion_sender_take(struct pinion_sender *sender);

/* Nothing came for too long. */
enum pinion_sender_step pinion_sender_timeout(struct pinion_sender *sender);

/* The receiver may be ready by now. */
void pinion_sender_wake(struct pinion_sender *sender);

/* Something was sent that may be lost: it needs a timer. */
static inline bool pinion_sender_awaits(const struct pinion_sender *sender)
{
	return !sender->waiting && sender->una != sender->next;
}

#endif
