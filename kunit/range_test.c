// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Bounds checks, against sets of bytes for small numbers and 128-bit sums for large ones.
 */
#include <kunit/test.h>

#include "../kernel/logic/range.h"
#include "random.h"

/*
 * A universe of 32 bytes at interesting 64-bit positions. The last one ends at 2^64, so bytes
 * beyond it do not exist.
 */
#define UNIVERSE 32

static const u64 places[] = {
	0, (1ULL << 32) - UNIVERSE / 2, (1ULL << 63) - UNIVERSE / 2, U64_MAX - (UNIVERSE - 1),
};

/* A set of bytes: bit n is byte n. */
static u64 bytes(u32 first, u32 count)
{
	return ((1ULL << count) - 1) << first;
}

/* All wanted bytes are in the set; an empty range is allowed at the edges, too. */
static bool model_holds(u32 base, u32 length, u32 addr, u32 want)
{
	if (addr < base || addr > base + length)
		return false;
	return !(bytes(addr, want) & ~bytes(base, length));
}

static void a_range_holds_the_bytes_it_has_and_no_other(struct kunit *test)
{
	u32 i, base, length, addr, want, wrong = 0;
	u64 place;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		place = places[i];
		for (base = 0; base < UNIVERSE; base++)
			for (length = 0; base + length <= UNIVERSE; length++)
				for (addr = 0; addr < UNIVERSE; addr++)
					for (want = 0; want < UNIVERSE; want++)
						wrong += pinion_range_holds(place + base, length,
									    place + addr, want) !=
							 model_holds(base, length, addr, want);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static void a_range_may_end_at_2_to_64_but_not_beyond(struct kunit *test)
{
	u64 top = U64_MAX - (UNIVERSE - 1);
	u32 base, length;

	for (base = 0; base < UNIVERSE; base++)
		for (length = 0; length < 2 * UNIVERSE; length++) {
			KUNIT_EXPECT_TRUE(test, pinion_range_valid(base, length));
			KUNIT_EXPECT_EQ(test, pinion_range_valid(top + base, length),
					!length || base + length <= UNIVERSE);
		}
	KUNIT_EXPECT_TRUE(test, pinion_range_valid(0, U64_MAX));
	KUNIT_EXPECT_TRUE(test, pinion_range_valid(1, U64_MAX));
	KUNIT_EXPECT_FALSE(test, pinion_range_valid(2, U64_MAX));
	KUNIT_EXPECT_FALSE(test, pinion_range_valid(U64_MAX, U64_MAX));
	KUNIT_EXPECT_TRUE(test, pinion_range_valid(1ULL << 63, 1ULL << 63));
	KUNIT_EXPECT_FALSE(test, pinion_range_valid((1ULL << 63) + 1, 1ULL << 63));
}

static void sums_that_wrap_are_outside(struct kunit *test)
{
	/* addr + want is 2^64, that is 0: below any end */
	KUNIT_EXPECT_FALSE(test, pinion_range_holds(0, 0x10000, 0xfffffffffffffc00ULL, 0x400));
	KUNIT_EXPECT_FALSE(test, pinion_range_holds(0x1000, 0x1000, 0x1800, U64_MAX - 0x7ff));
	KUNIT_EXPECT_FALSE(test, pinion_range_holds(0x1000, 0x1000, 0x1000, U64_MAX));
	/* base + length is 2^64 */
	KUNIT_EXPECT_TRUE(test, pinion_range_holds(0xfffffffffffff000ULL, 0x1000,
						   0xfffffffffffffc00ULL, 0x400));
	KUNIT_EXPECT_FALSE(test, pinion_range_holds(0xfffffffffffff000ULL, 0x1000,
						    0xfffffffffffffc00ULL, 0x401));
	KUNIT_EXPECT_FALSE(test, pinion_range_holds(0xfffffffffffff000ULL, 0x1000, 0, 1));
	KUNIT_EXPECT_FALSE(test, pinion_range_holds(0xfffffffffffff000ULL, 0x1000, 0, 0));
	KUNIT_EXPECT_TRUE(test, pinion_range_holds(U64_MAX, 1, U64_MAX, 1));
	KUNIT_EXPECT_FALSE(test, pinion_range_holds(U64_MAX, 1, U64_MAX, 2));
}

static void lengths_of_4_gib_are_not_cut(struct kunit *test)
{
	u64 gib4 = 1ULL << 32;

	KUNIT_EXPECT_TRUE(test, pinion_range_holds(0x1000, gib4, 0x1000, gib4));
	KUNIT_EXPECT_FALSE(test, pinion_range_holds(0x1000, gib4, 0x1000, gib4 + 1));
	KUNIT_EXPECT_FALSE(test, pinion_range_holds(0x1000, gib4, 0x1001, gib4));
	KUNIT_EXPECT_TRUE(test, pinion_range_holds(0x1000, gib4, 0xfff + gib4, 1));
	KUNIT_EXPECT_TRUE(test, pinion_range_holds(0x1000, gib4 + 8, 0x1000 + gib4, 8));
	/* The rest is 8 or 4 GiB + 8, the wanted length 4 GiB: bits 0..31 are equal. */
	KUNIT_EXPECT_FALSE(test, pinion_range_holds(0x1000, 8, 0x1000, gib4));
	KUNIT_EXPECT_FALSE(test, pinion_range_holds(0x1000, 8, 0x1000, gib4 + 8));
	KUNIT_EXPECT_FALSE(test, pinion_range_holds(0x1000, 8, 0x1000 + gib4, 8));
}

static void any_range_agrees_with_128_bit_sums(struct kunit *test)
{
	u64 base, length, addr, want;
	u32 i, held = 0, wrong = 0;
	struct rnd_state rnd;
	bool holds;

	random_begin(&rnd, 2);
	for (i = 0; i < 300000; i++) {
		base = random_one_in(&rnd, 2) ? random_u64(&rnd) : U64_MAX - random_magnitude(&rnd);
		length = random_magnitude(&rnd);
		wrong += pinion_range_valid(base, length) !=
			 ((u128)base + length <= (u128)U64_MAX + 1);
		if (!pinion_range_valid(base, length))
			continue;
		/* Near the start or the end of the range, or anywhere. */
		addr = random_one_in(&rnd, 3) ? base + length : base;
		addr += random_one_in(&rnd, 2) ? random_magnitude(&rnd) : -random_below(&rnd, 3);
		want = random_one_in(&rnd, 3) ? base + length - addr + random_below(&rnd, 3) - 1 :
						random_magnitude(&rnd);
		holds = addr >= base && (u128)addr + want <= (u128)base + length;
		wrong += pinion_range_holds(base, length, addr, want) != holds;
		held += holds;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	/* Both results were frequent. */
	KUNIT_EXPECT_GT(test, held, 30000);
	KUNIT_EXPECT_LT(test, held, 270000);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_range_holds_the_bytes_it_has_and_no_other),
	KUNIT_CASE(a_range_may_end_at_2_to_64_but_not_beyond),
	KUNIT_CASE(sums_that_wrap_are_outside),
	KUNIT_CASE(lengths_of_4_gib_are_not_cut),
	KUNIT_CASE(any_range_agrees_with_128_bit_sums),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_range",
	.test_cases = cases,
};

kunit_test_suites(&suite);
