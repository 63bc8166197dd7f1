// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The rate after notifications of congestion, against an oracle whose timers expire one by one, and
 * against the bytes that a greedy sender can send.
 */
#include <kunit/test.h>

#include "../kernel/logic/rate.c"
#include "random.h"

/* The oracle: handles one event at a time, with divisions instead of shifts. */
struct oracle {
	bool limited;
	u64 rate, target, cut, next_decay, next_raise, bytes;
	u32 alpha, by_time, by_bytes;
};

static void oracle_raise(struct oracle *o)
{
	u32 i, both = min(o->by_time, o->by_bytes);

	if (both > 5) {
		for (i = 5; i < both; i++)
			o->target += 50000000;
	} else if (o->by_time > 5 || o->by_bytes > 5) {
		o->target += 5000000;
	}
	o->rate += (o->target - o->rate) / 2;
	if (o->rate >= 12500000000ULL)
		o->limited = false;
}

static void oracle_until(struct oracle *o, u64 now)
{
	while (o->limited && min(o->next_decay, o->next_raise) <= now) {
		if (o->next_decay < o->next_raise) {
			o->next_decay += 55000;
			o->alpha -= o->alpha / 256;
		} else {
			o->next_raise += 300000;
			o->by_time++;
			oracle_raise(o);
		}
	}
}

static bool oracle_notified(struct oracle *o, u64 now, u64 measured)
{
	oracle_until(o, now);
	if (!o->limited) {
		o->limited = true;
		o->rate = clamp(measured ?: 12500000000ULL, 1000000ULL, 12500000000ULL);
		o->alpha = 65536;
	} else if (now - o->cut < 50000) {
		return false;
	}
	o->target = o->rate;
	o->rate = max(o->rate - o->rate * o->alpha / 131072, 1000000ULL);
	o->alpha = o->alpha + (65536 - o->alpha) / 256;
	o->cut = now;
	o->next_decay = now + 55000;
	o->next_raise = now + 300000;
	o->by_time = 0;
	o->by_bytes = 0;
	o->bytes = 0;
	return true;
}

static void oracle_sent(struct oracle *o, u64 bytes, u64 now)
{
	oracle_until(o, now);
	if (!o->limited)
		return;
	o->bytes += bytes;
	for (; o->limited && o->bytes >= 10485760; o->bytes -= 10485760) {
		o->by_bytes++;
		oracle_raise(o);
	}
}

static void expect_same(struct kunit *test, const struct pinion_rate *rate, const struct oracle *o)
{
	KUNIT_ASSERT_EQ(test, rate->limited, o->limited);
	if (!o->limited)
		return;
	KUNIT_ASSERT_EQ(test, rate->rate, o->rate);
	KUNIT_ASSERT_EQ(test, rate->target, o->target);
	KUNIT_ASSERT_EQ(test, rate->alpha, o->alpha);
	KUNIT_ASSERT_GE(test, rate->rate, PINION_RATE_LEAST);
	KUNIT_ASSERT_LT(test, rate->rate, PINION_RATE_MOST);
	KUNIT_ASSERT_LE(test, rate->alpha, ALPHA_ONE);
}

/* The rate is as if each timer had expired, however rarely the functions are called. */
static void nothing_runs_and_all_is_as_if(struct kunit *test)
{
	struct pinion_rate rate;
	struct oracle o = {};
	struct rnd_state rnd;
	u64 now = 12345, measured, bytes;
	int i, limited = 0;

	random_begin(&rnd, 1);
	pinion_rate_init(&rate);
	for (i = 0; i < 100000; i++) {
		now += random_one_in(&rnd, 5000) ? 2 * NSEC_PER_SEC :
		       random_below(&rnd, random_one_in(&rnd, 100) ? 20000000 : 200000);
		switch (random_below(&rnd, 8)) {
		case 0:
			measured = rate.measured;
			if (rate.limited && rate.raised + RAISE_NS <= now) {
				/* If the limit has ended, the measurement was reset. */
				pinion_rate_pause(&rate, now);
				measured = rate.measured;
			}
			KUNIT_ASSERT_EQ(test, pinion_rate_notified(&rate, now),
					oracle_notified(&o, now, measured));
			break;
		case 1:
			pinion_rate_pause(&rate, now);
			oracle_until(&o, now);
			break;
		default:
			bytes = random_below(&rnd, 30000000);
			pinion_rate_sent(&rate, bytes, now);
			oracle_sent(&o, bytes, now);
			break;
		}
		expect_same(test, &rate, &o);
		limited += o.limited;
	}
	/* Both states occurred, limited and not. */
	KUNIT_EXPECT_GT(test, limited, 10000);
	KUNIT_EXPECT_LT(test, limited, 100000);
}

/* A greedy sender is not faster than the rate, apart from the allowed lead, and hardly slower. */
static void a_greedy_sender_gets_its_rate(struct kunit *test)
{
	u64 now, end, allowed, sent, pause, bytes, slack;
	struct pinion_rate rate;
	struct rnd_state rnd;
	int i;

	random_begin(&rnd, 2);
	for (i = 0; i < 200; i++) {
		now = random_magnitude(&rnd) / 2;
		pinion_rate_init(&rate);
		rate.measured = random_magnitude(&rnd);
		pinion_rate_notified(&rate, now);
		end = now + 5 * NSEC_PER_MSEC;
		allowed = 0;
		sent = 0;
		while (now < end && rate.limited) {
			pause = pinion_rate_pause(&rate, now);
			if (!pause && rate.limited) {
				bytes = min(pinion_rate_room(&rate, now), 32768ULL);
				bytes = max(bytes, 1 + random_below(&rnd, 4096));
				pinion_rate_sent(&rate, bytes, now);
				sent += bytes;
			}
			/* The timer is late, by less than the sender can catch up. */
			pause = pause ? pause + random_below(&rnd, PINION_RATE_AHEAD_NS) : 100;
			allowed += div_u64(rate.rate * pause, NSEC_PER_SEC);
			now += pause;
			if (!rate.limited)
				break;
			slack = div_u64(rate.target * (2 * PINION_RATE_AHEAD_NS + RAISE_NS),
					NSEC_PER_SEC) + 4097;
			KUNIT_ASSERT_LE(test, sent, allowed + slack);
			KUNIT_ASSERT_GE(test, sent + slack + allowed / 4, allowed);
		}
	}
}

/* Endless notifications have the same effect as one per PINION_RATE_CUT_NS. */
static void a_storm_of_notifications_is_one(struct kunit *test)
{
	struct pinion_rate storm, calm;
	u64 now = 1000;
	int i, obeyed = 0;

	pinion_rate_init(&storm);
	pinion_rate_init(&calm);
	for (i = 0; i < 20000; i++, now += 1000) {
		obeyed += pinion_rate_notified(&storm, now);
		if (i % 50 == 0)
			KUNIT_ASSERT_TRUE(test, pinion_rate_notified(&calm, now));
		KUNIT_ASSERT_EQ(test, storm.rate, calm.rate);
		KUNIT_ASSERT_EQ(test, storm.alpha, calm.alpha);
	}
	KUNIT_EXPECT_EQ(test, obeyed, 400);
	KUNIT_EXPECT_EQ(test, storm.rate, PINION_RATE_LEAST);
}

/* The first cut halves the measured rate. Without another one the limit ends within a second. */
static void it_falls_and_rises(struct kunit *test)
{
	struct pinion_rate rate;
	u64 now = NSEC_PER_SEC, last;
	int i;

	pinion_rate_init(&rate);
	for (i = 0; i < 1000; i++, now += NSEC_PER_MSEC / 2)
		pinion_rate_sent(&rate, 50000, now);
	KUNIT_EXPECT_EQ(test, pinion_rate_pause(&rate, now), 0);
	KUNIT_EXPECT_TRUE(test, pinion_rate_notified(&rate, now));
	KUNIT_EXPECT_EQ(test, rate.rate, 50000000ULL);
	KUNIT_EXPECT_EQ(test, rate.target, 100000000ULL);
	for (last = 0; rate.limited; last = rate.rate, now += 100000) {
		KUNIT_ASSERT_GE(test, rate.rate, last);
		KUNIT_ASSERT_LT(test, now, 3 * NSEC_PER_SEC);
		pinion_rate_pause(&rate, now);
		if (now < 1500 * NSEC_PER_MSEC + 1400000)
			KUNIT_ASSERT_LE(test, rate.rate, 100000000ULL);
	}
	KUNIT_EXPECT_EQ(test, pinion_rate_room(&rate, now), U64_MAX);
	/* After a pause there is no measurement: the cut is to half of the highest rate. */
	pinion_rate_sent(&rate, 1, now);
	pinion_rate_sent(&rate, 1, now + NSEC_PER_SEC);
	pinion_rate_notified(&rate, now + NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, rate.rate, PINION_RATE_MOST / 2);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(nothing_runs_and_all_is_as_if),
	KUNIT_CASE(a_greedy_sender_gets_its_rate),
	KUNIT_CASE(a_storm_of_notifications_is_one),
	KUNIT_CASE(it_falls_and_rises),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_rate",
	.test_cases = cases,
};

kunit_test_suites(&suite);
