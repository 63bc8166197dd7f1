// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The sender of a reliable connection, event by event. connection_test.c tests streams with a
 * receiver.
 */
#include <kunit/test.h>

#include "../kernel/logic/psn.h"
#include "../kernel/logic/sender.c"
#include "random.h"

#define ACK	(PINION_AETH_ACK | PINION_AETH_UNLIMITED)
#define RNR	(PINION_AETH_RNR | 12)
#define NAK(code) (PINION_AETH_NAK | PINION_NAK_CODE_##code)

/* 100 packets are in flight; their PSNs begin with 0xffffce and wrap. */
#define FIRST 0xffffceU

static void begin(struct pinion_sender *sender, u8 retry_count, u8 rnr_retry)
{
	pinion_sender_init(sender, FIRST, retry_count, rnr_retry);
	pinion_sender_sent(sender, 100);
}

static u32 nth(u32 i)
{
	return pinion_psn_add(FIRST, i);
}

#define EXPECT_ACK(test, sender, i, syndrome, step)					\
	KUNIT_EXPECT_EQ(test, pinion_sender_acknowledge(sender, nth(i), syndrome),	\
			PINION_SENDER_##step)
#define EXPECT_ANSWER(test, sender, i, step)						\
	KUNIT_EXPECT_EQ(test, pinion_sender_answer(sender, nth(i)), PINION_SENDER_##step)

static void expect_at(struct kunit *test, const struct pinion_sender *sender, u32 una_i, u32 next_i)
{
	KUNIT_EXPECT_EQ(test, sender->una, nth(una_i));
	KUNIT_EXPECT_EQ(test, sender->next, nth(next_i));
}

static void an_ack_is_of_all_up_to_it(struct kunit *test)
{
	struct pinion_sender s;

	begin(&s, 7, 7);
	EXPECT_ACK(test, &s, 0, ACK, ADVANCED);
	expect_at(test, &s, 1, 100);
	EXPECT_ACK(test, &s, 60, ACK, ADVANCED);
	expect_at(test, &s, 61, 100);
	EXPECT_ACK(test, &s, 99, ACK, ADVANCED);
	expect_at(test, &s, 100, 100);
	KUNIT_EXPECT_FALSE(test, pinion_sender_awaits(&s));
}

static void what_is_not_under_way_is_not_acknowledged(struct kunit *test)
{
	static const u8 syndromes[] = { ACK, RNR, NAK(SEQUENCE), NAK(REQUEST), 0x40, 0x80, 0xff };
	struct pinion_sender s, before;
	u32 i, psn;

	begin(&s, 7, 7);
	EXPECT_ACK(test, &s, 9, ACK, ADVANCED);
	before = s;
	for (i = 0; i < ARRAY_SIZE(syndromes); i++)
		for (psn = 0; psn <= PINION_PSN_MASK; psn += psn < 200 || psn > 0xffff00 ? 1 : 97) {
			if (pinion_psn_within(psn, nth(10), 90))
				continue;
			if (pinion_sender_acknowledge(&s, psn, syndromes[i]) !=
			    PINION_SENDER_STALE || memcmp(&s, &before, sizeof(s)))
				break;
		}
	KUNIT_EXPECT_GT(test, psn, PINION_PSN_MASK);
	/* Syndromes that no receiver sends are ignored. */
	EXPECT_ACK(test, &s, 50, 0x40, STALE);
	EXPECT_ACK(test, &s, 50, 0x80, STALE);
	EXPECT_ACK(test, &s, 50, PINION_AETH_NAK | 4, STALE);
	KUNIT_EXPECT_MEMEQ(test, &s, &before, sizeof(s));
}

static void one_goes_back_to_what_is_missing(struct kunit *test)
{
	struct pinion_sender s;

	begin(&s, 1, 7);
	EXPECT_ACK(test, &s, 30, NAK(SEQUENCE), RESEND);
	expect_at(test, &s, 30, 30);
	/* Only once, until something from there on has arrived. */
	EXPECT_ACK(test, &s, 30, NAK(SEQUENCE), STALE);
	pinion_sender_sent(&s, 10);
	EXPECT_ACK(test, &s, 30, NAK(SEQUENCE), STALE);
	expect_at(test, &s, 30, 40);
	EXPECT_ACK(test, &s, 35, NAK(SEQUENCE), RESEND);
	expect_at(test, &s, 35, 35);
	/* A late ACK: the packets sent before going back have all arrived. */
	EXPECT_ACK(test, &s, 79, ACK, ADVANCED);
	expect_at(test, &s, 80, 80);
	KUNIT_EXPECT_EQ(test, s.end, nth(100));
}

static void who_answers_too_seldom_is_given_up(struct kunit *test)
{
	struct pinion_sender s;
	u32 i;

	begin(&s, 3, 7);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, pinion_sender_timeout(&s), PINION_SENDER_RESEND);
		expect_at(test, &s, 0, 0);
		/* Without packets in flight there is no timeout. */
		KUNIT_EXPECT_EQ(test, pinion_sender_timeout(&s), PINION_SENDER_STALE);
		pinion_sender_sent(&s, 1);
	}
	KUNIT_EXPECT_EQ(test, pinion_sender_timeout(&s), PINION_SENDER_GIVE_UP);
	/* An acknowledgment resets the retry counter. */
	begin(&s, 3, 7);
	for (i = 0; i < 3; i++) {
		pinion_sender_timeout(&s);
		pinion_sender_sent(&s, 5);
	}
	EXPECT_ACK(test, &s, 1, ACK, ADVANCED);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, pinion_sender_timeout(&s), PINION_SENDER_RESEND);
		pinion_sender_sent(&s, 5);
	}
	KUNIT_EXPECT_EQ(test, pinion_sender_timeout(&s), PINION_SENDER_GIVE_UP);
	begin(&s, 0, 7);
	EXPECT_ACK(test, &s, 30, NAK(SEQUENCE), GIVE_UP);
	KUNIT_EXPECT_EQ(test, s.una, nth(30));
}

static void who_is_not_ready_is_waited_for(struct kunit *test)
{
	struct pinion_sender s;
	u32 i;

	begin(&s, 1, 2);
	for (i = 0; i < 2; i++) {
		EXPECT_ACK(test, &s, 20, RNR, WAIT);
		expect_at(test, &s, 20, 20);
		KUNIT_EXPECT_EQ(test, pinion_sender_room(&s, 50), 0);
		KUNIT_EXPECT_FALSE(test, pinion_sender_awaits(&s));
		/* Neither a duplicate RNR NAK nor a sequence NAK counts. */
		EXPECT_ACK(test, &s, 20, RNR, STALE);
		EXPECT_ACK(test, &s, 20, NAK(SEQUENCE), STALE);
		KUNIT_EXPECT_EQ(test, pinion_sender_timeout(&s), PINION_SENDER_STALE);
		pinion_sender_wake(&s);
		KUNIT_EXPECT_EQ(test, pinion_sender_room(&s, 50), 50);
		pinion_sender_sent(&s, 50);
		/* It is a reply to packets sent before the pause. */
		EXPECT_ACK(test, &s, 20, NAK(SEQUENCE), STALE);
	}
	EXPECT_ACK(test, &s, 20, RNR, GIVE_UP_RNR);
	/* An acknowledgment resets the RNR retry counter. */
	EXPECT_ACK(test, &s, 20, ACK, ADVANCED);
	for (i = 0; i < 2; i++) {
		EXPECT_ACK(test, &s, 21, RNR, WAIT);
		pinion_sender_wake(&s);
		pinion_sender_sent(&s, 1);
	}
	EXPECT_ACK(test, &s, 21, RNR, GIVE_UP_RNR);
	begin(&s, 1, PINION_RNR_RETRY_FOREVER);
	for (i = 0; i < 1000; i++) {
		EXPECT_ACK(test, &s, 20, RNR, WAIT);
		pinion_sender_wake(&s);
		pinion_sender_sent(&s, 1);
	}
	/* The request was executed after all, so the wait ends. */
	EXPECT_ACK(test, &s, 20, RNR, WAIT);
	EXPECT_ACK(test, &s, 20, ACK, ADVANCED);
	KUNIT_EXPECT_EQ(test, pinion_sender_room(&s, 50), 50);
}

/*
 * A peer that says again and again that it is not ready is not given up, though both retries are
 * used up before each such answer; without any answer it is.
 */
static void who_is_not_ready_is_not_given_up(struct kunit *test)
{
	struct pinion_sender s;
	u32 i;

	begin(&s, 2, PINION_RNR_RETRY_FOREVER);
	for (i = 0; i < 100; i++) {
		KUNIT_EXPECT_EQ(test, pinion_sender_timeout(&s), PINION_SENDER_RESEND);
		pinion_sender_sent(&s, 1);
		KUNIT_EXPECT_EQ(test, pinion_sender_timeout(&s), PINION_SENDER_RESEND);
		pinion_sender_sent(&s, 1);
		EXPECT_ACK(test, &s, 0, RNR, WAIT);
		pinion_sender_wake(&s);
		pinion_sender_sent(&s, 1);
	}
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, pinion_sender_timeout(&s), PINION_SENDER_RESEND);
		pinion_sender_sent(&s, 1);
	}
	KUNIT_EXPECT_EQ(test, pinion_sender_timeout(&s), PINION_SENDER_GIVE_UP);
}

static void what_is_refused_is_first_then(struct kunit *test)
{
	static const u8 refusals[] = { NAK(REQUEST), NAK(ACCESS), NAK(OPERATION) };
	struct pinion_sender s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		begin(&s, 7, 7);
		EXPECT_ACK(test, &s, 33, refusals[i], REFUSED);
		KUNIT_EXPECT_EQ(test, s.una, nth(33));
	}
}

static void what_is_due_is_not_acknowledged(struct kunit *test)
{
	struct pinion_sender s;

	/* 20 to 39 are the response of a READ. */
	begin(&s, 7, 7);
	pinion_sender_owe(&s, nth(20));
	EXPECT_ACK(test, &s, 19, ACK, ADVANCED);
	expect_at(test, &s, 20, 100);
	EXPECT_ACK(test, &s, 50, ACK, RESEND);
	expect_at(test, &s, 20, 20);
	pinion_sender_sent(&s, 80);
	EXPECT_ACK(test, &s, 60, ACK, STALE);
	EXPECT_ANSWER(test, &s, 20, ANSWERED);
	pinion_sender_take(&s);
	expect_at(test, &s, 21, 100);
	EXPECT_ANSWER(test, &s, 20, STALE);
	EXPECT_ANSWER(test, &s, 22, RESEND);
	expect_at(test, &s, 21, 21);
	pinion_sender_sent(&s, 79);
	/* The rest of the first response must not cause a second repeat. */
	EXPECT_ANSWER(test, &s, 23, STALE);
	EXPECT_ANSWER(test, &s, 39, STALE);
	expect_at(test, &s, 21, 100);
	EXPECT_ACK(test, &s, 70, NAK(ACCESS), STALE);
	EXPECT_ANSWER(test, &s, 21, ANSWERED);
	/* A response counts only once it was taken. */
	expect_at(test, &s, 21, 100);
	EXPECT_ANSWER(test, &s, 21, ANSWERED);
	pinion_sender_take(&s);
	EXPECT_ACK(test, &s, 70, NAK(ACCESS), RESEND);
	expect_at(test, &s, 22, 22);
	pinion_sender_owe_none(&s);
	EXPECT_ANSWER(test, &s, 22, STALE);
	EXPECT_ACK(test, &s, 70, NAK(ACCESS), REFUSED);
	expect_at(test, &s, 70, 70);
}

static void an_answer_acknowledges_what_was_before(struct kunit *test)
{
	struct pinion_sender s;

	begin(&s, 7, 7);
	pinion_sender_owe(&s, nth(20));
	EXPECT_ANSWER(test, &s, 19, STALE);
	EXPECT_ANSWER(test, &s, 20, ANSWERED);
	expect_at(test, &s, 20, 100);
	EXPECT_ANSWER(test, &s, 100, STALE);
}

static void the_window_has_an_end(struct kunit *test)
{
	struct pinion_sender s;

	begin(&s, 7, 7);
	KUNIT_EXPECT_EQ(test, pinion_sender_room(&s, 100), 0);
	KUNIT_EXPECT_EQ(test, pinion_sender_room(&s, 99), 0);
	KUNIT_EXPECT_EQ(test, pinion_sender_room(&s, 101), 1);
	KUNIT_EXPECT_EQ(test, pinion_sender_room(&s, U32_MAX), (1 << 23) - 2 - 100);
	pinion_sender_sent(&s, (1 << 23) - 2 - 100);
	KUNIT_EXPECT_EQ(test, pinion_sender_room(&s, U32_MAX), 0);
	EXPECT_ACK(test, &s, (1 << 23) - 3, ACK, ADVANCED);
	KUNIT_EXPECT_FALSE(test, pinion_sender_awaits(&s));
}

#define EXPECT_GAP(test, sender, i, gap_i, count, step)					\
	KUNIT_EXPECT_EQ(test, pinion_sender_gap(sender, nth(i), nth(gap_i), count),	\
			PINION_SENDER_##step)

static void expect_next(struct kunit *test, const struct pinion_sender *sender, u32 i, u32 room)
{
	KUNIT_EXPECT_EQ(test, pinion_sender_first(sender), nth(i));
	KUNIT_EXPECT_EQ(test, pinion_sender_room(sender, 150), room);
}

static void only_what_is_lost_is_sent_again(struct kunit *test)
{
	struct pinion_sender s;

	begin(&s, 1, 7);
	/* It acknowledges what is before the first gap. */
	EXPECT_GAP(test, &s, 30, 30, 4, RESEND);
	expect_at(test, &s, 30, 100);
	expect_next(test, &s, 30, 4);
	KUNIT_EXPECT_EQ(test, pinion_sender_room(&s, 2), 2);
	KUNIT_EXPECT_EQ(test, s.retry_left, 0);
	/* Another gap uses up no other retry. */
	EXPECT_GAP(test, &s, 30, 90, 1, STALE);
	pinion_sender_sent(&s, 3);
	expect_next(test, &s, 33, 1);
	KUNIT_EXPECT_EQ(test, pinion_sender_room(&s, 3), 0);
	/* What was sent again is not sent once more, until something is acknowledged. */
	EXPECT_GAP(test, &s, 30, 30, 4, STALE);
	expect_next(test, &s, 33, 1);
	pinion_sender_sent(&s, 1);
	expect_next(test, &s, 90, 1);
	pinion_sender_sent(&s, 1);
	/* Then it goes on where it was. */
	expect_next(test, &s, 100, 80);
	KUNIT_EXPECT_EQ(test, s.end, nth(100));
	EXPECT_GAP(test, &s, 31, 32, 2, RESEND);
	expect_next(test, &s, 32, 2);
	EXPECT_ACK(test, &s, 89, ACK, ADVANCED);
	expect_at(test, &s, 90, 100);
	expect_next(test, &s, 100, 140);
}

static void a_gap_is_of_what_was_sent(struct kunit *test)
{
	struct pinion_sender s, before;

	begin(&s, 7, 7);
	before = s;
	EXPECT_GAP(test, &s, 100, 100, 1, STALE);
	EXPECT_GAP(test, &s, -1, 20, 4, STALE);
	EXPECT_GAP(test, &s, 0, 100, 4, STALE);
	EXPECT_GAP(test, &s, 0, 4095, 4095, STALE);
	EXPECT_GAP(test, &s, 0, 50, 0, STALE);
	KUNIT_EXPECT_MEMEQ(test, &s, &before, sizeof(s));
	EXPECT_GAP(test, &s, 0, 98, 4095, RESEND);
	expect_next(test, &s, 98, 2);
	/* Everything is sent again, so nothing is left of it. */
	KUNIT_EXPECT_EQ(test, pinion_sender_timeout(&s), PINION_SENDER_RESEND);
	expect_next(test, &s, 0, 150);
	EXPECT_GAP(test, &s, 0, 0, 4095, STALE);
	pinion_sender_sent(&s, 10);
	EXPECT_GAP(test, &s, 0, 0, 4095, STALE);
	expect_next(test, &s, 0, 10);
	/* While the receiver is not ready nothing is sent. */
	EXPECT_ACK(test, &s, 0, RNR, WAIT);
	EXPECT_GAP(test, &s, 0, 0, 1, STALE);
	pinion_sender_wake(&s);
	expect_next(test, &s, 0, 150);
	begin(&s, 0, 7);
	EXPECT_GAP(test, &s, 3, 4, 1, GIVE_UP);
	KUNIT_EXPECT_EQ(test, s.una, nth(3));
}

/* Behind a lost answer no gap of requests is known. */
static void a_gap_shows_that_an_answer_is_lost(struct kunit *test)
{
	struct pinion_sender s;

	begin(&s, 7, 7);
	pinion_sender_owe(&s, nth(20));
	EXPECT_GAP(test, &s, 50, 60, 4, RESEND);
	expect_at(test, &s, 20, 20);
	expect_next(test, &s, 20, 150);
}

static void answers_may_be_kept(struct kunit *test)
{
	struct pinion_sender s;

	begin(&s, 7, 7);
	KUNIT_EXPECT_FALSE(test, pinion_sender_is_early(&s, nth(25)));
	pinion_sender_owe(&s, nth(20));
	KUNIT_EXPECT_FALSE(test, pinion_sender_is_early(&s, nth(19)));
	KUNIT_EXPECT_FALSE(test, pinion_sender_is_early(&s, nth(20)));
	KUNIT_EXPECT_FALSE(test, pinion_sender_is_early(&s, nth(100)));
	KUNIT_EXPECT_TRUE(test, pinion_sender_is_early(&s, nth(25)));
	KUNIT_EXPECT_EQ(test, pinion_sender_early(&s, nth(20), nth(25)), PINION_SENDER_RESEND);
	expect_at(test, &s, 20, 100);
	expect_next(test, &s, 20, 5);
	KUNIT_EXPECT_EQ(test, pinion_sender_early(&s, nth(30), nth(32)), PINION_SENDER_STALE);
	KUNIT_EXPECT_EQ(test, pinion_sender_early(&s, nth(32), nth(30)), PINION_SENDER_STALE);
	pinion_sender_sent(&s, 5);
	expect_next(test, &s, 30, 2);
	EXPECT_ANSWER(test, &s, 20, ANSWERED);
	pinion_sender_take(&s);
	expect_at(test, &s, 21, 100);
	expect_next(test, &s, 30, 2);
}

/* What was performed behind a missing answer is acknowledged when that has come. */
static void what_is_known_counts_later(struct kunit *test)
{
	struct pinion_sender s;

	begin(&s, 7, 7);
	pinion_sender_owe(&s, nth(20));
	KUNIT_EXPECT_EQ(test, pinion_sender_early(&s, nth(20), nth(21)), PINION_SENDER_RESEND);
	EXPECT_ACK(test, &s, 59, ACK, STALE);
	KUNIT_EXPECT_FALSE(test, pinion_sender_settle(&s));
	expect_at(test, &s, 20, 100);
	EXPECT_ANSWER(test, &s, 20, ANSWERED);
	pinion_sender_take(&s);
	/* Another answer is due, and then none. */
	pinion_sender_owe(&s, nth(40));
	KUNIT_EXPECT_TRUE(test, pinion_sender_settle(&s));
	expect_at(test, &s, 40, 100);
	KUNIT_EXPECT_FALSE(test, pinion_sender_settle(&s));
	/* Everything is to be sent again from 40 on, but not what was performed. */
	KUNIT_EXPECT_EQ(test, pinion_sender_timeout(&s), PINION_SENDER_RESEND);
	pinion_sender_owe_none(&s);
	KUNIT_EXPECT_TRUE(test, pinion_sender_settle(&s));
	expect_at(test, &s, 60, 60);
	EXPECT_ACK(test, &s, 99, ACK, ADVANCED);
	KUNIT_EXPECT_FALSE(test, pinion_sender_settle(&s));
	expect_at(test, &s, 100, 100);
}

/* Random events in any order. */
static void garbage_leaves_a_window(struct kunit *test)
{
	struct pinion_sender s;
	struct rnd_state rnd;
	s32 sent, ever;
	u32 i, psn;

	random_begin(&rnd, 36);
	begin(&s, 7, 7);
	for (i = 0; i < 200000; i++) {
		psn = pinion_psn_add(s.una, random_below(&rnd, 200) - 50);
		switch (random_below(&rnd, 11)) {
		case 0:
			pinion_sender_sent(&s, min(pinion_sender_room(&s, 150),
						   random_below(&rnd, 60)));
			break;
		case 1:
			pinion_sender_timeout(&s);
			break;
		case 2:
			pinion_sender_wake(&s);
			break;
		case 3:
			if (pinion_psn_within(psn, s.una, pinion_psn_ahead(s.end, s.una)))
				pinion_sender_owe(&s, psn);
			break;
		case 4:
			if (random_one_in(&rnd, 4))
				pinion_sender_owe_none(&s);
			break;
		case 5:
			if (pinion_sender_answer(&s, psn) == PINION_SENDER_ANSWERED)
				pinion_sender_take(&s);
			if (s.owed && s.due == s.end)
				pinion_sender_owe_none(&s);
			break;
		case 6:
			pinion_sender_gap(&s, psn, pinion_psn_add(psn, random_below(&rnd, 4096)),
					  random_below(&rnd, 4096));
			break;
		case 7:
			if (pinion_sender_is_early(&s, psn))
				pinion_sender_early(&s, s.due, psn);
			break;
		case 8:
			pinion_sender_settle(&s);
			break;
		default:
			pinion_sender_acknowledge(&s, psn, random_below(&rnd, 256));
		}
		KUNIT_ASSERT_TRUE(test, pinion_psn_ahead(pinion_sender_first(&s), s.una) >= 0);
		KUNIT_ASSERT_TRUE(test, pinion_psn_ahead(pinion_sender_first(&s), s.next) <= 0);
		sent = pinion_psn_ahead(s.next, s.una);
		ever = pinion_psn_ahead(s.end, s.una);
		KUNIT_ASSERT_TRUE(test, pinion_psn_within(s.done, s.una, ever + 1));
		KUNIT_ASSERT_TRUE(test, 0 <= sent && sent <= ever && ever <= 150);
		if (s.owed)
			KUNIT_ASSERT_TRUE(test, pinion_psn_within(s.due, s.una, ever));
	}
}

/* What has not left this host is sent before all else, and uses up no retry. */
static void what_has_not_left_is_sent_again(struct kunit *test)
{
	struct pinion_sender s;
	int i;

	begin(&s, 1, 7);
	for (i = 0; i < 3; i++) {
		pinion_sender_unsent(&s, nth(90), 10);
		KUNIT_EXPECT_EQ(test, pinion_sender_first(&s), nth(90));
		KUNIT_EXPECT_EQ(test, pinion_sender_room(&s, 256), 10);
		KUNIT_EXPECT_TRUE(test, pinion_sender_awaits(&s));
		pinion_sender_sent(&s, 10);
		KUNIT_EXPECT_EQ(test, pinion_sender_first(&s), nth(100));
	}
	pinion_sender_unsent(&s, nth(90), 10);
	EXPECT_ACK(test, &s, 89, ACK, ADVANCED);
	KUNIT_EXPECT_EQ(test, pinion_sender_first(&s), nth(90));
	/* The timer does. */
	KUNIT_EXPECT_EQ(test, pinion_sender_timeout(&s), PINION_SENDER_RESEND);
	KUNIT_EXPECT_EQ(test, pinion_sender_first(&s), nth(90));
	pinion_sender_sent(&s, 5);
	pinion_sender_unsent(&s, nth(90), 5);
	KUNIT_EXPECT_EQ(test, pinion_sender_timeout(&s), PINION_SENDER_GIVE_UP);
}

#define ASKS	512

/* All requests whose answers are not complete. Their peer may have got each of them, or not. */
struct asks {
	u32 count;
	struct ask {
		u32 psn, packets;
	} asks[ASKS];
};

/*
 * How many numbers from @psn on may one request ask for? Of each that has this number before, the
 * peer answers only what is within it. PINION_PSN_MASK: there is none.
 */
static u32 asks_limit(const struct asks *asks, u32 psn)
{
	const struct ask *ask;
	u32 limit = PINION_PSN_MASK;

	for (ask = asks->asks; ask < asks->asks + asks->count; ask++)
		if (pinion_psn_within(psn, ask->psn, ask->packets))
			limit = min_t(u32, limit,
				      pinion_psn_ahead(ask->psn + ask->packets, psn));
	return limit;
}

/* How many numbers between una and next are the last of one of them? */
static u32 asks_ends(const struct asks *asks, const struct pinion_sender *s)
{
	bool seen[PINION_NUMBERS] = {};
	u32 i, last, ends = 0;

	for (i = 0; i < asks->count; i++) {
		last = pinion_psn_add(asks->asks[i].psn, asks->asks[i].packets - 1);
		if (!pinion_psn_within(last, s->una, pinion_psn_ahead(s->next, s->una)) ||
		    seen[last % PINION_NUMBERS])
			continue;
		seen[last % PINION_NUMBERS] = true;
		ends++;
	}
	return ends;
}

static void asks_forget(struct asks *asks, u32 una)
{
	u32 i, left = 0;

	for (i = 0; i < asks->count; i++)
		if (pinion_psn_ahead(asks->asks[i].psn + asks->asks[i].packets, una) > 0)
			asks->asks[left++] = asks->asks[i];
	asks->count = left;
}

/* Ask for the next part of an endless answer, of which @left packets are left. */
static void ask(struct kunit *test, struct pinion_sender *s, struct asks *asks, u32 left,
		u32 window)
{
	u32 psn = pinion_sender_first(s), packets = pinion_sender_part(s, psn, left, window);
	u32 lost = pinion_sender_lost(s, psn) ?: left, limit = asks_limit(asks, psn);

	left = min3(left, lost, limit);
	if (limit == PINION_PSN_MASK || !s->others)
		left = min(left, clamp(window / 2, 1U, 64U));
	KUNIT_ASSERT_EQ(test, packets, left);
	if (pinion_sender_room(s, window) < (psn == s->una ? 1 : packets) || asks->count == ASKS)
		return;
	asks->asks[asks->count++] = (struct ask){ psn, packets };
	pinion_sender_ask(s, packets);
	pinion_sender_sent(s, packets);
	pinion_sender_owe(s, s->una);
}

/*
 * Random parts of an answer, under a window that changes, come or are lost: none that is asked for
 * again goes beyond what the peer may know.
 */
static void parts_have_their_ends(struct kunit *test)
{
	struct asks *asks = kunit_kzalloc(test, sizeof(*asks), GFP_KERNEL);
	u32 i, psn, window = 256, again = 0, came = 0;
	struct pinion_sender s;
	struct rnd_state rnd;

	KUNIT_ASSERT_NOT_NULL(test, asks);
	random_begin(&rnd, 52);
	pinion_sender_init(&s, FIRST, 7, 7);
	for (i = 0; i < 100000; i++) {
		if (random_one_in(&rnd, 8))
			window = 1 + random_below(&rnd, random_one_in(&rnd, 2) ? 256 : 8);
		psn = pinion_psn_add(s.una, random_below(&rnd, 80));
		s.retry_left = 7;
		switch (random_below(&rnd, 8)) {
		case 0:
			again += pinion_sender_timeout(&s) == PINION_SENDER_RESEND;
			break;
		case 1:
			if (pinion_sender_is_early(&s, psn))
				again += pinion_sender_early(&s, s.due, psn) ==
					 PINION_SENDER_RESEND;
			break;
		case 2:
			pinion_sender_heard(&s, psn, random_one_in(&rnd, 2));
			break;
		case 3:
			psn = pinion_psn_add(s.una, random_below(&rnd, 20));
			for (; s.una != psn && s.una != s.end; came++)
				pinion_sender_take(&s);
			asks_forget(asks, s.una);
			break;
		default:
			ask(test, &s, asks, 1 + random_below(&rnd, 300), window);
		}
		KUNIT_ASSERT_EQ(test, pinion_sender_asked(&s), asks_ends(asks, &s));
	}
	kunit_info(test, "%u answers, went back %u times", came, again);
	KUNIT_EXPECT_GT(test, came, 10000);
	KUNIT_EXPECT_GT(test, again, 1000);
}

/* After a timeout no more is asked for than the window has room for, nor before anybody answers. */
static void a_part_is_as_large_as_the_window_allows(struct kunit *test)
{
	struct pinion_sender s;

	pinion_sender_init(&s, FIRST, 7, 7);
	KUNIT_EXPECT_EQ(test, pinion_sender_part(&s, nth(0), 1000, 256), 64);
	pinion_sender_ask(&s, 64);
	pinion_sender_sent(&s, 64);
	pinion_sender_owe(&s, nth(0));
	KUNIT_EXPECT_EQ(test, pinion_sender_part(&s, nth(64), 936, 256), 64);
	KUNIT_EXPECT_EQ(test, pinion_sender_part(&s, nth(64), 3, 256), 3);
	KUNIT_EXPECT_EQ(test, pinion_sender_timeout(&s), PINION_SENDER_RESEND);
	KUNIT_EXPECT_EQ(test, pinion_sender_part(&s, nth(0), 1000, 1), 1);
	KUNIT_EXPECT_EQ(test, pinion_sender_part(&s, nth(0), 1000, 100), 50);
	/* What is not under way says nothing of the peer. */
	pinion_sender_heard(&s, nth(64), false);
	KUNIT_EXPECT_EQ(test, pinion_sender_part(&s, nth(0), 1000, 1), 1);
	pinion_sender_heard(&s, nth(63), false);
	KUNIT_EXPECT_EQ(test, pinion_sender_part(&s, nth(0), 1000, 1), 64);
	KUNIT_EXPECT_EQ(test, pinion_sender_part(&s, nth(10), 990, 1), 54);
	KUNIT_EXPECT_EQ(test, pinion_sender_part(&s, nth(64), 936, 1), 1);
	pinion_sender_heard(&s, nth(0), true);
	KUNIT_EXPECT_EQ(test, pinion_sender_part(&s, nth(60), 940, 256), 4);
	KUNIT_EXPECT_EQ(test, pinion_sender_part(&s, nth(0), 1000, 1), 1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(an_ack_is_of_all_up_to_it),
	KUNIT_CASE(what_is_not_under_way_is_not_acknowledged),
	KUNIT_CASE(one_goes_back_to_what_is_missing),
	KUNIT_CASE(who_answers_too_seldom_is_given_up),
	KUNIT_CASE(who_is_not_ready_is_waited_for),
	KUNIT_CASE(who_is_not_ready_is_not_given_up),
	KUNIT_CASE(what_is_refused_is_first_then),
	KUNIT_CASE(what_is_due_is_not_acknowledged),
	KUNIT_CASE(an_answer_acknowledges_what_was_before),
	KUNIT_CASE(the_window_has_an_end),
	KUNIT_CASE(only_what_is_lost_is_sent_again),
	KUNIT_CASE(a_gap_is_of_what_was_sent),
	KUNIT_CASE(a_gap_shows_that_an_answer_is_lost),
	KUNIT_CASE(answers_may_be_kept),
	KUNIT_CASE(what_is_known_counts_later),
	KUNIT_CASE(what_has_not_left_is_sent_again),
	KUNIT_CASE(garbage_leaves_a_window),
	KUNIT_CASE(a_part_is_as_large_as_the_window_allows),
	KUNIT_CASE(parts_have_their_ends),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_sender",
	.test_cases = cases,
};

kunit_test_suites(&suite);
