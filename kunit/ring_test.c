// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ring indices, against counting one by one.
 */
#include <kunit/test.h>

#include "../kernel/logic/ring.h"

/* Interesting indices: near the signed and the unsigned wrap, and others. */
static const u32 starts[] = { 0, 1, 1000, S32_MAX - 5U, S32_MAX, U32_MAX - 5, U32_MAX };

static void used_counts_slots_across_the_wrap(struct kunit *test)
{
	u32 i, producer, published;

	for (i = 0; i < ARRAY_SIZE(starts); i++)
		for (producer = starts[i], published = 0; published < 300; producer++, published++)
			KUNIT_EXPECT_EQ(test, pinion_ring_used(producer, starts[i]), published);
	KUNIT_EXPECT_EQ(test, pinion_ring_used(5, 6), U32_MAX);
}

/* Valid: 0 to @entries steps lead from consumer to producer. */
static bool reachable(u32 producer, u32 consumer, u32 entries)
{
	u32 steps;

	for (steps = 0; steps <= entries; steps++)
		if (consumer + steps == producer)
			return true;
	return false;
}

static void a_producer_within_the_ring_is_sane_and_no_other(struct kunit *test)
{
	u32 i, entries, producer;
	int distance;

	for (i = 0; i < ARRAY_SIZE(starts); i++)
		for (entries = 1; entries <= 64; entries *= 2)
			for (distance = -150; distance <= 150; distance++) {
				producer = starts[i] + distance;
				KUNIT_EXPECT_EQ(test,
						pinion_ring_sane(producer, starts[i], entries),
						reachable(producer, starts[i], entries));
			}
}

static void a_large_ring_is_sane_up_to_its_size(struct kunit *test)
{
	u32 i, entries;

	for (i = 0; i < ARRAY_SIZE(starts); i++)
		for (entries = 1; entries; entries <<= 1) {
			u32 full = starts[i] + entries;

			KUNIT_EXPECT_TRUE(test, pinion_ring_sane(starts[i], starts[i], entries));
			KUNIT_EXPECT_TRUE(test, pinion_ring_sane(full - 1, starts[i], entries));
			KUNIT_EXPECT_TRUE(test, pinion_ring_sane(full, starts[i], entries));
			KUNIT_EXPECT_FALSE(test, pinion_ring_sane(full + 1, starts[i], entries));
			KUNIT_EXPECT_FALSE(test,
					   pinion_ring_sane(starts[i] - 1, starts[i], entries));
		}
}

static void slots_follow_each_other_round_the_ring(struct kunit *test)
{
	u32 entries, slot, next, index, i;

	for (entries = 1; entries <= 1024; entries *= 2) {
		index = U32_MAX - 2000;
		slot = index % entries;
		for (i = 0; i < 4000; i++, index++) {
			KUNIT_EXPECT_EQ(test, pinion_ring_slot(index, entries), slot);
			next = slot + 1;
			slot = next == entries ? 0 : next;
		}
	}
	KUNIT_EXPECT_EQ(test, pinion_ring_slot(U32_MAX, 1U << 31), (u32)S32_MAX);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(used_counts_slots_across_the_wrap),
	KUNIT_CASE(a_producer_within_the_ring_is_sane_and_no_other),
	KUNIT_CASE(a_large_ring_is_sane_up_to_its_size),
	KUNIT_CASE(slots_follow_each_other_round_the_ring),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_ring",
	.test_cases = cases,
};

kunit_test_suites(&suite);
