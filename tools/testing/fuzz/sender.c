// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random events at the sender of a connection: it sends, timers expire, and numbers come that a peer or a
 * stranger chose. Its numbers stay in order, what is to be sent stays in the window, and what belongs to
 * nothing under way changes nothing. The input is four bytes with the first number, the window and the
 * retries, then three bytes for each event.
 */
#include <linux/kernel.h>

#include "../../../kernel/logic/numbers.c"
#include "../../../kernel/logic/sender.c"

#include "must.h"

enum event {
	SEND,
	ASK,
	ACKNOWLEDGE,
	NAK,
	ANSWER,
	GAP,
	EARLY,
	OWE,
	OWE_NONE,
	SETTLE,
	HEARD,
	TIMEOUT,
	WAKE,
	EVENTS
};

static u32 window;

static u32 under_way(const struct pinion_sender *s)
{
	return pinion_psn_ahead(s->end, s->una);
}

/* A number near those under way. */
static u32 some_number(const struct pinion_sender *s, u8 n)
{
	return pinion_psn_add(s->una, n - 32);
}

static bool is_within(const struct pinion_sender *s, u32 psn)
{
	return pinion_psn_within(psn, s->una, under_way(s));
}

static u32 weight(const struct pinion_numbers *numbers)
{
	return pinion_numbers_count(numbers, 0, PINION_NUMBERS);
}

/* Are all numbers of this set among the @count from @from on? */
static void must_be_among(const struct pinion_numbers *numbers, u32 from,
			  u32 count)
{
	MUST(pinion_numbers_count(numbers, from, count) == weight(numbers));
}

static void must_be_in_order(const struct pinion_sender *s)
{
	u32 sent = pinion_psn_ahead(s->next, s->una);
	u32 first = pinion_sender_first(s), room;

	MUST(under_way(s) <= window && sent <= under_way(s));
	MUST(pinion_psn_ahead(s->done, s->una) >= 0 &&
	     pinion_psn_ahead(s->end, s->done) >= 0);
	if (s->owed)
		MUST(pinion_psn_ahead(s->due, s->una) >= 0 &&
		     pinion_psn_ahead(s->end, s->due) >= 0);
	must_be_among(&s->lost, s->una, sent);
	must_be_among(&s->ends, s->una, under_way(s));
	MUST(s->retry_left <= s->retry_count && s->rnr_left <= s->rnr_retry);
	MUST(first == s->next || pinion_psn_within(first, s->una, sent));
	room = pinion_sender_room(s, window);
	MUST(pinion_psn_ahead(first, s->una) + room <= window);
	MUST(!s->waiting || !room);
	if (first != s->next)
		MUST(room <= pinion_sender_lost(s, first));
}

static void must_be_same(const struct pinion_sender *a,
			 const struct pinion_sender *b)
{
	MUST(!memcmp(a, b, sizeof(*a)));
}

/* Numbers are acknowledged in order, and only those that were sent. */
static void must_have_advanced(const struct pinion_sender *s,
			       const struct pinion_sender *before)
{
	MUST(pinion_psn_ahead(s->una, before->una) >= 0 &&
	     pinion_psn_ahead(before->end, s->una) >= 0);
	MUST(pinion_psn_ahead(s->end, before->end) >= 0);
}

/* Send some packets, or ask for some of an answer; now and then they do not leave. */
static void send_some(struct pinion_sender *s, bool ask, u8 n, u8 leave)
{
	u32 room = pinion_sender_room(s, window), left;
	u32 first = pinion_sender_first(s);

	if (!room)
		return;
	left = min(room, n % 64 + 1U);
	if (ask) {
		u32 part = pinion_sender_part(s, first, left, window);

		MUST(part && part <= left);
		left = part;
		pinion_sender_ask(s, left);
		MUST(pinion_numbers_has(&s->ends,
					pinion_psn_add(first, left - 1)));
	}
	pinion_sender_sent(s, left);
	MUST(pinion_psn_ahead(s->end, first) > 0);
	if (leave % 8 == 0)
		pinion_sender_unsent(s, first, left);
}

static void answer(struct pinion_sender *s, u32 psn,
		   enum pinion_sender_step *step)
{
	bool of_answer = s->owed &&
			 pinion_psn_within(psn, s->due,
					   pinion_psn_ahead(s->end, s->due));
	struct pinion_sender before = *s;

	*step = pinion_sender_answer(s, psn);
	if (!of_answer) {
		MUST(*step == PINION_SENDER_STALE);
		must_be_same(s, &before);
	}
	if (*step == PINION_SENDER_ANSWERED) {
		MUST(psn == before.due && s->una == psn);
		pinion_sender_take(s);
		MUST(s->una == pinion_psn_add(psn, 1));
	}
}

static void early(struct pinion_sender *s, u32 psn, u8 n,
		  enum pinion_sender_step *step)
{
	if (pinion_sender_is_early(s, psn))
		*step = pinion_sender_early(
			s,
			pinion_psn_add(s->due,
				       n % pinion_psn_ahead(psn, s->due)),
			psn);
}

/* The next answer with data is somewhere under way. */
static void owe(struct pinion_sender *s, u8 n)
{
	if (under_way(s))
		pinion_sender_owe(s, pinion_psn_add(s->una, n % under_way(s)));
}

static enum pinion_sender_step happen(struct pinion_sender *s, enum event event,
				      u8 a, u8 b)
{
	enum pinion_sender_step step = PINION_SENDER_STALE;
	u32 psn = some_number(s, a);

	switch (event) {
	case SEND:
	case ASK:
		send_some(s, event == ASK, a, b);
		break;
	case ACKNOWLEDGE:
		step = pinion_sender_acknowledge(s, psn, b & 0x1f);
		break;
	case NAK:
		step = pinion_sender_acknowledge(s, psn, b);
		break;
	case ANSWER:
		answer(s, psn, &step);
		break;
	case GAP:
		step = pinion_sender_gap(s, psn, pinion_psn_add(psn, b % 8),
					 b / 8);
		break;
	case EARLY:
		early(s, psn, b, &step);
		break;
	case OWE:
		owe(s, a);
		break;
	case OWE_NONE:
		pinion_sender_owe_none(s);
		break;
	case SETTLE:
		pinion_sender_settle(s);
		break;
	case HEARD:
		pinion_sender_heard(s, psn, b & 1);
		break;
	case TIMEOUT:
		step = pinion_sender_timeout(s);
		break;
	default:
		pinion_sender_wake(s);
	}
	return step;
}

/* Returns whether the connection goes on. */
static bool must_be_right(const struct pinion_sender *s,
			  const struct pinion_sender *before, enum event event,
			  u8 a, enum pinion_sender_step step)
{
	u32 psn = some_number(before, a);

	must_be_in_order(s);
	must_have_advanced(s, before);
	if ((event == ACKNOWLEDGE || event == NAK || event == GAP ||
	     event == HEARD) &&
	    !is_within(before, psn)) {
		MUST(step == PINION_SENDER_STALE);
		must_be_same(s, before);
	}
	switch (step) {
	case PINION_SENDER_GIVE_UP:
		MUST(!s->retry_left);
		return false;
	case PINION_SENDER_GIVE_UP_RNR:
		MUST(!s->rnr_left && s->rnr_retry != PINION_RNR_RETRY_FOREVER);
		return false;
	case PINION_SENDER_REFUSED:
		MUST(event == NAK);
		return false;
	case PINION_SENDER_WAIT:
		MUST(event == NAK && s->waiting);
		return true;
	default:
		return true;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct pinion_sender sender, before;
	enum pinion_sender_step step;
	enum event event;

	if (size < 4)
		return 0;
	/* Numbers wrap soon, or not. */
	memset(&sender, 0, sizeof(sender));
	window = data[1] + 1;
	pinion_sender_init(&sender, 0xffff00 + 2 * data[0], data[2] % 8,
			   data[3] % 8);
	for (data += 4, size -= 4; size >= 3; data += 3, size -= 3) {
		event = data[0] % EVENTS;
		memcpy(&before, &sender, sizeof(before));
		step = happen(&sender, event, data[1], data[2]);
		if (!must_be_right(&sender, &before, event, data[1], step))
			break;
	}
	return 0;
}
