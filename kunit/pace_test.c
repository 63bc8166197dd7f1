// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The time until the next poll, against an oracle that adds up the cost of the last one.
 */
#include <kunit/test.h>

#include "../kernel/logic/pace.c"
#include "random.h"

/* The oracle: multiplies by adding up, until the sum exceeds every limit. */
static u64 pace_added_up(u64 pause, u32 batches, u64 took, u32 sharers)
{
	u64 rest = 0, all = 0;
	u32 i;

	for (i = 0; i < PINION_PACE_SHARE && rest < PINION_PACE_MOST_NS; i++)
		rest += min(took, PINION_PACE_MOST_NS) + PINION_PACE_ENTRY_NS;
	for (i = 0; i < sharers; i++)
		all += min(rest, PINION_PACE_MOST_NS);
	return max(all, pause / batches);
}

static void a_pause_is_enough_and_no_longer(struct kunit *test)
{
	struct rnd_state rnd;
	u64 pause, took;
	u32 batches, sharers, i;

	random_begin(&rnd, 1);
	for (i = 0; i < 100000; i++) {
		/* A single batch, with the longest pauses, or many. */
		pause = random_u64_below(&rnd, 20 * PINION_PACE_MOST_NS);
		batches = 1 + random_magnitude(&rnd) % 5000;
		took = random_magnitude(&rnd);
		sharers = 1 + random_magnitude(&rnd) % 300;
		KUNIT_ASSERT_EQ(test, pinion_pace(pause, batches, took, sharers),
				pace_added_up(pause, batches, took, sharers));
	}
}

/* A poll that was delayed for a second is followed by the longest pause, not by a longer one. */
static void one_long_look_is_forgotten(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, pinion_pace(50000, 1, NSEC_PER_SEC, 1), PINION_PACE_MOST_NS);
	KUNIT_EXPECT_EQ(test, pinion_pace(50000, 1, U64_MAX, 1), PINION_PACE_MOST_NS);
	KUNIT_EXPECT_EQ(test, pinion_pace(50000, 1, 200, 1), 50000ULL);
}

/* However many sharers there are, in sum they do not exceed 1/PINION_PACE_SHARE of the time. */
static void many_take_no_more_than_one(struct kunit *test)
{
	struct rnd_state rnd;
	u64 took, pace;
	u32 sharers, i;

	random_begin(&rnd, 3);
	for (i = 0; i < 10000; i++) {
		took = random_u64_below(&rnd, 100000);
		sharers = 1 + random_u64_below(&rnd, 65536);
		pace = pinion_pace(50000, 1, took, sharers);
		KUNIT_ASSERT_LE(test, sharers * (took + PINION_PACE_ENTRY_NS) * PINION_PACE_SHARE,
				pace);
	}
}

/* No pause is longer than the time waited so far, or, at first, than @least. */
static void nobody_waits_for_more_than_twice(struct kunit *test)
{
	u64 least, most, pause, waited;
	struct rnd_state rnd;
	int i, j;

	random_begin(&rnd, 2);
	for (i = 0; i < 10000; i++) {
		most = 1 + random_u64_below(&rnd, NSEC_PER_SEC);
		least = 1 + random_u64_below(&rnd, most);
		pause = 0;
		waited = 0;
		for (j = 0; j < 40; j++) {
			pause = pinion_pace_slower(pause, least, most);
			KUNIT_ASSERT_GE(test, pause, least);
			KUNIT_ASSERT_LE(test, pause, min(most, waited + least));
			waited += pause;
		}
		KUNIT_ASSERT_EQ(test, pause, most);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_pause_is_enough_and_no_longer),
	KUNIT_CASE(one_long_look_is_forgotten),
	KUNIT_CASE(many_take_no_more_than_one),
	KUNIT_CASE(nobody_waits_for_more_than_twice),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_pace",
	.test_cases = cases,
};

kunit_test_suites(&suite);
