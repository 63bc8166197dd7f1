// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The timer fields of a reliable connection, against the specification's tables.
 */
#include <kunit/test.h>

#include "../kernel/logic/timing.c"

/* IBTA, "Encoding for RNR NAK Timer Field", in milliseconds there. */
static const u32 rnr_timer_us[] = {
	655360,	/* 655.36 */
	10,	/* 0.01 */
	20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960,
	1280,	/* 1.28 */
	1920, 2560, 3840, 5120, 7680,
	10240,	/* 10.24 */
	15360, 20480, 30720, 40960, 61440, 81920,
	122880,	/* 122.88 */
	163840, 245760, 327680,
	491520,	/* 491.52 */
};

static void rnr_timers_are_those_of_the_table(struct kunit *test)
{
	u32 field;

	KUNIT_ASSERT_EQ(test, ARRAY_SIZE(rnr_timer_us), 32);
	for (field = 0; field < 32; field++)
		KUNIT_EXPECT_EQ(test, pinion_rnr_timer_ns(field), 1000ULL * rnr_timer_us[field]);
}

static void rnr_timers_grow_and_0_is_the_longest(struct kunit *test)
{
	u32 field;

	for (field = 2; field < 32; field++)
		KUNIT_EXPECT_GT(test, pinion_rnr_timer_ns(field), pinion_rnr_timer_ns(field - 1));
	KUNIT_EXPECT_GT(test, pinion_rnr_timer_ns(0), pinion_rnr_timer_ns(31));
}

static void ack_timeouts_double_from_8_us(struct kunit *test)
{
	u64 ns = 8192;
	u32 field;

	for (field = 1; field < 32; field++, ns *= 2)
		KUNIT_EXPECT_EQ(test, pinion_ack_timeout_ns(field), ns);
	/* Two well-known ones: 67 ms and 4.3 s. */
	KUNIT_EXPECT_EQ(test, pinion_ack_timeout_ns(14), 67108864ULL);
	KUNIT_EXPECT_EQ(test, pinion_ack_timeout_ns(20), 4294967296ULL);
}

static void ack_timeout_0_is_never(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, pinion_ack_timeout_ns(0), 0ULL);
}

static void only_five_bits_of_a_field_count(struct kunit *test)
{
	u32 field;

	for (field = 32; field < 256; field++) {
		KUNIT_EXPECT_EQ(test, pinion_rnr_timer_ns(field), pinion_rnr_timer_ns(field % 32));
		KUNIT_EXPECT_EQ(test, pinion_ack_timeout_ns(field),
				pinion_ack_timeout_ns(field % 32));
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(rnr_timers_are_those_of_the_table),
	KUNIT_CASE(rnr_timers_grow_and_0_is_the_longest),
	KUNIT_CASE(ack_timeouts_double_from_8_us),
	KUNIT_CASE(ack_timeout_0_is_never),
	KUNIT_CASE(only_five_bits_of_a_field_count),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_timing",
	.test_cases = cases,
};

kunit_test_suites(&suite);
