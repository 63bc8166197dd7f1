/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The sender's side of a reliable connection: which packets are acknowledged, and where to go on
 * sending. The caller sends packets, retires acknowledged requests, and runs the timers.
 *
 * A request has as many numbers (PSNs) as it has packets, a READ as many as its answer. Numbers
 * from @una on are not acknowledged; those that are @lost, and then those from @next on, are to be
 * sent (again).
 */
#ifndef PINION_LOGIC_SENDER_H
#define PINION_LOGIC_SENDER_H

#include "numbers.h"
#include "packet.h"

/* This value of the rnr_retry attribute means: without limit. */
#define PINION_RNR_RETRY_FOREVER	7

/* State of one requester, protected by sq.exec. */
struct pinion_sender {
	u32 una;			/* the oldest number that is not acknowledged */
	u32 next;			/* the next number to be sent */
	u32 end;			/* behind the highest number that was ever sent */

	/*
	 * @owed: between @una and @end is a request whose answer has data (READ, atomic). @due is
	 * the first number of that answer that has not come. No acknowledgment replaces it.
	 */
	bool owed;
	u32 due;
	u32 done;			/* those before it were performed, answers may be missing */

	/*
	 * Numbers between @una and @end that a request with an answer has ended with: a READ is
	 * asked for in parts, and again in parts of these. A peer knows the parts that it was asked
	 * for, and answers only what lies within one.
	 */
	struct pinion_numbers ends;
	bool others;			/* see pinion_sender_heard() */

	/*
	 * Numbers between @una and @next that are known to be missing, while others behind them
	 * have come (selective repeat). They are sent again; @again has those that were sent again
	 * since something was acknowledged, which is not done twice.
	 */
	struct pinion_numbers lost;
	struct pinion_numbers again;

	bool back;			/* has sent again, since something was acknowledged */
	bool waiting;			/* an RNR NAK came: send nothing until woken */
	u8 retry_count;			/* attributes of the queue pair */
	u8 rnr_retry;
	u8 retry_left;			/* reset when something is acknowledged, or by an RNR NAK */
	u8 rnr_left;			/* reset when something is acknowledged */
};

enum pinion_sender_step {
	PINION_SENDER_STALE,		/* nothing new */
	PINION_SENDER_ADVANCED,		/* @una has advanced */
	PINION_SENDER_ANSWERED,		/* the answer @due has come: store its data, then take it */
	PINION_SENDER_RESEND,		/* send again from @una (@next) on, or what is @lost */
	PINION_SENDER_WAIT,		/* wait for the RNR timer, then pinion_sender_wake() */
	PINION_SENDER_REFUSED,		/* the request at @una failed; see the NAK's syndrome */
	PINION_SENDER_GIVE_UP,		/* the request at @una failed: no answer, retries used up */
	PINION_SENDER_GIVE_UP_RNR,	/* likewise: not ready, retries used up */
};

void pinion_sender_init(struct pinion_sender *sender, u32 psn, u8 retry_count, u8 rnr_retry);

/* The number to be sent next: the first that is @lost, else @next. */
u32 pinion_sender_first(const struct pinion_sender *sender);

/* How many numbers from @psn on are @lost, so that only these are sent again. */
static inline u32 pinion_sender_lost(const struct pinion_sender *sender, u32 psn)
{
	return pinion_numbers_run(&sender->lost, psn);
}

/*
 * Return how many packets may be sent from pinion_sender_first() on. @window (< 2^23) may be
 * unacknowledged.
 */
u32 pinion_sender_room(const struct pinion_sender *sender, u32 window);

/*
 * Packet @psn of a READ's answer and those behind it, @left of them, are to be asked for, and
 * @window is as above. Return: how many by one request.
 */
u32 pinion_sender_part(const struct pinion_sender *sender, u32 psn, u32 left, u32 window);

/*
 * The next request, which asks for an answer, has the @packets numbers from pinion_sender_first()
 * on. Called before pinion_sender_sent().
 */
void pinion_sender_ask(struct pinion_sender *sender, u32 packets);
/* How many such requests are under way? */
u32 pinion_sender_asked(const struct pinion_sender *sender);

/* The @packets numbers from pinion_sender_first() on were sent. */
void pinion_sender_sent(struct pinion_sender *sender, u32 packets);

/*
 * The @packets numbers from @psn on, which were sent last, have not left this host: they are @lost,
 * which uses up no retry.
 */
void pinion_sender_unsent(struct pinion_sender *sender, u32 psn, u32 packets);

/*
 * Set @due to the next answer with data. Needed if that is not the number behind the last one,
 * which pinion_sender_take() sets.
 */
void pinion_sender_owe(struct pinion_sender *sender, u32 due);
void pinion_sender_owe_none(struct pinion_sender *sender);

/*
 * A packet with number @psn came, which is still to be processed, and says that its sender takes
 * part in selective repeat, or not. Some of those who do not answer nothing any more that lies
 * before what they were asked for again: of them a part is asked for again up to its end, at once.
 */
void pinion_sender_heard(struct pinion_sender *sender, u32 psn, bool selective);

/*
 * An acknowledgment (or NAK) or a packet of an answer came, with its number. @una may have advanced
 * whatever is returned: the caller retires the requests before it.
 */
enum pinion_sender_step pinion_sender_acknowledge(struct pinion_sender *sender, u32 psn,
						  u8 syndrome);
enum pinion_sender_step pinion_sender_answer(struct pinion_sender *sender, u32 psn);

/*
 * Selective repeat: a NAK with number @psn came that names missing numbers: @count from @gap on.
 * They become @lost, apart from those that are to be sent anyway.
 */
enum pinion_sender_step pinion_sender_gap(struct pinion_sender *sender, u32 psn, u32 gap,
					  u32 count);

/* Does packet @psn of an answer come early: others before it are missing? */
bool pinion_sender_is_early(const struct pinion_sender *sender, u32 psn);
/* Such a packet came, and is kept: the numbers from @gap on, before @end, are missing. */
enum pinion_sender_step pinion_sender_early(struct pinion_sender *sender, u32 gap, u32 end);

/*
 * Acknowledge what is known to be performed, which had to wait for answers before it, now that
 * pinion_sender_owe() or pinion_sender_owe_none() says which are still due. Return: whether @una
 * has advanced.
 */
bool pinion_sender_settle(struct pinion_sender *sender);

/* Called after PINION_SENDER_ANSWERED. The next number is due then, or what the caller sets. */
void pinion_sender_take(struct pinion_sender *sender);

/* The ACK timer has expired. */
enum pinion_sender_step pinion_sender_timeout(struct pinion_sender *sender);

/* The RNR timer has expired. */
void pinion_sender_wake(struct pinion_sender *sender);

/* Is something unacknowledged, so that the ACK timer must run? */
static inline bool pinion_sender_awaits(const struct pinion_sender *sender)
{
	return !sender->waiting && sender->una != sender->next;
}

#endif
