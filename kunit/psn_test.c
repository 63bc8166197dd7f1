// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packet sequence numbers, against counting packets one by one.
 */
#include <kunit/test.h>
#include <linux/minmax.h>

#include "../kernel/logic/psn.h"
#include "random.h"

/* IBTA: the path MTUs. */
static const u32 mtus[] = { 256, 512, 1024, 2048, 4096 };

#define LONGEST_MESSAGE 0x80000000ULL

static u32 count_packets(u64 length, u32 mtu)
{
	u32 packets = 0;

	do {
		packets++;
		length -= min_t(u64, length, mtu);
	} while (length);
	return packets;
}

static void a_psn_wraps_at_2_to_24(struct kunit *test)
{
	u32 psn, next, i;

	KUNIT_EXPECT_EQ(test, pinion_psn_add(0xffffff, 0), 0xffffff);
	KUNIT_EXPECT_EQ(test, pinion_psn_add(0xffffff, 1), 0);
	KUNIT_EXPECT_EQ(test, pinion_psn_add(0xffffff, 0xffffff), 0xfffffe);
	KUNIT_EXPECT_EQ(test, pinion_psn_add(0x800000, 0x800000), 0);
	for (psn = next = 0xfffff0, i = 0; i < 100; i++) {
		KUNIT_EXPECT_EQ(test, pinion_psn_add(0xfffff0, i), next);
		KUNIT_EXPECT_EQ(test, psn, next);
		psn = pinion_psn_add(psn, 1);
		next = next == 0xffffff ? 0 : next + 1;
	}
}

static void adding_in_parts_is_adding_at_once(struct kunit *test)
{
	struct rnd_state rnd;
	u32 psn, first, second, i;

	random_begin(&rnd, 1);
	for (i = 0; i < 10000; i++) {
		psn = random_below(&rnd, 1 << 24);
		first = random_below(&rnd, 1 << 24);
		second = random_below(&rnd, 1 << 24);
		KUNIT_EXPECT_EQ(test, pinion_psn_add(pinion_psn_add(psn, first), second),
				pinion_psn_add(psn, first + second));
		KUNIT_EXPECT_LT(test, pinion_psn_add(psn, first), 1U << 24);
	}
}

static void an_empty_message_is_one_packet(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mtus); i++)
		KUNIT_EXPECT_EQ(test, pinion_psn_packets(0, mtus[i]), 1);
}

static void packets_are_full_but_for_the_last(struct kunit *test)
{
	u64 length;
	u32 i, mtu, full;

	for (i = 0; i < ARRAY_SIZE(mtus); i++) {
		mtu = mtus[i];
		for (length = 0; length <= 3 * mtu + 1; length++)
			KUNIT_EXPECT_EQ(test, pinion_psn_packets(length, mtu),
					count_packets(length, mtu));
		for (full = 4; full < 1000; full += 83)
			for (length = full * mtu - 2; length <= full * mtu + 2; length++)
				KUNIT_EXPECT_EQ(test, pinion_psn_packets(length, mtu),
						count_packets(length, mtu));
	}
}

static void the_longest_message_is_counted(struct kunit *test)
{
	static const u32 most[] = { 1 << 23, 1 << 22, 1 << 21, 1 << 20, 1 << 19 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mtus); i++) {
		KUNIT_EXPECT_EQ(test, pinion_psn_packets(LONGEST_MESSAGE, mtus[i]), most[i]);
		KUNIT_EXPECT_EQ(test, pinion_psn_packets(LONGEST_MESSAGE - 1, mtus[i]), most[i]);
		KUNIT_EXPECT_EQ(test, pinion_psn_packets(LONGEST_MESSAGE - mtus[i], mtus[i]),
				most[i] - 1);
		KUNIT_EXPECT_EQ(test, pinion_psn_packets(U32_MAX, mtus[i]), 2 * most[i]);
	}
}

/* Start values for walks through all PSNs. */
static const u32 psns[] = { 0, 0x7fffff, 0xabcdef };

/* The distance is the number of steps; less than 2^23 steps count as ahead. */
static void a_distance_is_counted_in_steps(struct kunit *test)
{
	u32 i, psn, steps;
	u32 wrong = 0;

	for (i = 0; i < ARRAY_SIZE(psns); i++)
		for (psn = psns[i], steps = 0; steps < 1 << 24; steps++) {
			s32 ahead = steps < 1 << 23 ? (s32)steps : (s32)steps - (1 << 24);

			wrong += pinion_psn_ahead(psn, psns[i]) != ahead;
			psn = psn == 0xffffff ? 0 : psn + 1;
		}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static void a_distance_by_hand(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, pinion_psn_ahead(0, 0xffffff), 1);
	KUNIT_EXPECT_EQ(test, pinion_psn_ahead(0xffffff, 0), -1);
	KUNIT_EXPECT_EQ(test, pinion_psn_ahead(5, 5), 0);
	KUNIT_EXPECT_EQ(test, pinion_psn_ahead(0x7fffff, 0), 0x7fffff);
	/* At half of all numbers, each PSN is behind the other. */
	KUNIT_EXPECT_EQ(test, pinion_psn_ahead(0x800000, 0), -0x800000);
	KUNIT_EXPECT_EQ(test, pinion_psn_ahead(0, 0x800000), -0x800000);
}

static void a_window_holds_what_is_counted_into_it(struct kunit *test)
{
	static const u32 sizes[] = { 0, 1, 2, 300, 1 << 23, (1 << 24) - 1, 1 << 24 };
	u32 i, j, psn, steps;
	u32 wrong = 0;

	for (i = 0; i < ARRAY_SIZE(psns); i++)
		for (psn = psns[i], steps = 0; steps < 1 << 24; steps++) {
			for (j = 0; j < ARRAY_SIZE(sizes); j++)
				wrong += pinion_psn_within(psn, psns[i], sizes[j]) !=
					 (steps < sizes[j]);
			psn = psn == 0xffffff ? 0 : psn + 1;
		}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_psn_wraps_at_2_to_24),
	KUNIT_CASE(adding_in_parts_is_adding_at_once),
	KUNIT_CASE(an_empty_message_is_one_packet),
	KUNIT_CASE(packets_are_full_but_for_the_last),
	KUNIT_CASE(the_longest_message_is_counted),
	KUNIT_CASE(a_distance_by_hand),
	KUNIT_CASE_SLOW(a_distance_is_counted_in_steps),
	KUNIT_CASE_SLOW(a_window_holds_what_is_counted_into_it),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_psn",
	.test_cases = cases,
};

kunit_test_suites(&suite);
