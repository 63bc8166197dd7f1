// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sets of packet numbers, against an array with a flag for each number.
 */
#include <kunit/test.h>

#include "../kernel/logic/numbers.c"
#include "../kernel/logic/psn.h"
#include "random.h"

struct oracle {
	u32 base;
	bool has[PINION_NUMBERS];	/* from @base on */
};

static void compare(struct kunit *test, const struct pinion_numbers *numbers,
		    const struct oracle *oracle)
{
	u32 i, run, first = PINION_NUMBERS, wrong = 0, count = 0;

	for (i = PINION_NUMBERS; i--;) {
		if (oracle->has[i])
			first = i;
		count += oracle->has[i];
		if (i % 64 == 0)
			wrong += pinion_numbers_count(numbers, pinion_psn_add(oracle->base, i),
						      PINION_NUMBERS - i) != count;
		wrong += oracle->has[i] !=
			 pinion_numbers_has(numbers, pinion_psn_add(oracle->base, i));
	}
	KUNIT_ASSERT_EQ(test, wrong, 0);
	KUNIT_ASSERT_EQ(test, pinion_numbers_first(numbers, oracle->base), first);
	KUNIT_ASSERT_EQ(test, pinion_numbers_any(numbers), first < PINION_NUMBERS);
	if (first == PINION_NUMBERS)
		return;
	for (run = 0; first + run < PINION_NUMBERS && oracle->has[first + run]; run++)
		;
	/* Behind the last number comes the first, which cannot be told from one. */
	if (first + run < PINION_NUMBERS || !oracle->has[0])
		KUNIT_ASSERT_EQ(test, pinion_numbers_run(numbers,
							 pinion_psn_add(oracle->base, first)), run);
}

static void mark(struct oracle *oracle, u32 i, u32 count, bool has)
{
	for (; count && i < PINION_NUMBERS; i++, count--)
		oracle->has[i] = has;
}

static void oracle_advance(struct oracle *oracle, u32 by)
{
	u32 i;

	oracle->base = pinion_psn_add(oracle->base, by);
	for (i = 0; i < PINION_NUMBERS; i++)
		oracle->has[i] = i + by < PINION_NUMBERS && oracle->has[i + by];
}

static void a_set_is_what_was_added_and_not_removed(struct kunit *test)
{
	struct oracle *oracle = kunit_kzalloc(test, sizeof(*oracle), GFP_KERNEL);
	struct pinion_numbers numbers;
	struct rnd_state rnd;
	u32 round, at, count;

	KUNIT_ASSERT_NOT_NULL(test, oracle);
	random_begin(&rnd, 91);
	pinion_numbers_clear(&numbers);
	oracle->base = 0xfffff0;
	for (round = 0; round < 30000; round++) {
		at = random_below(&rnd, PINION_NUMBERS);
		count = random_below(&rnd, random_one_in(&rnd, 4) ? PINION_NUMBERS : 20);
		count = min(count, PINION_NUMBERS - at);
		switch (random_below(&rnd, 3)) {
		case 0:
			pinion_numbers_add(&numbers, pinion_psn_add(oracle->base, at), count);
			mark(oracle, at, count, true);
			break;
		case 1:
			pinion_numbers_remove(&numbers, pinion_psn_add(oracle->base, at), count);
			mark(oracle, at, count, false);
			break;
		default:
			/* The window moves: those that it leaves behind are removed. */
			count = random_one_in(&rnd, 50) ? PINION_NUMBERS + at : count / 4;
			pinion_numbers_remove(&numbers, oracle->base, count);
			oracle_advance(oracle, count);
		}
		compare(test, &numbers, oracle);
	}
}

static void a_full_set_has_all(struct kunit *test)
{
	struct pinion_numbers numbers;

	pinion_numbers_clear(&numbers);
	pinion_numbers_add(&numbers, 0xffffff, PINION_NUMBERS);
	KUNIT_EXPECT_EQ(test, pinion_numbers_run(&numbers, 0xffffff), PINION_NUMBERS);
	KUNIT_EXPECT_EQ(test, pinion_numbers_first(&numbers, 77), 0);
	pinion_numbers_remove(&numbers, 5, 1 << 23);
	KUNIT_EXPECT_FALSE(test, pinion_numbers_any(&numbers));
	KUNIT_EXPECT_EQ(test, pinion_numbers_first(&numbers, 77), PINION_NUMBERS);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_set_is_what_was_added_and_not_removed),
	KUNIT_CASE(a_full_set_has_all),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_numbers",
	.test_cases = cases,
};

kunit_test_suites(&suite);
