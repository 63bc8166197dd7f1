// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mlx5's events, byte by byte as in the programmers' reference.
 */
#include <kunit/test.h>

#include "../kernel/logic/mlx5_eqe.c"

static void events_say_what_they_are_of(struct kunit *test)
{
	static const u8 completion[PINION_MLX5_EQE] = { [57] = 0x12, [58] = 0x34, [59] = 0x56 };
	static const u8 limit[PINION_MLX5_EQE] = { [1] = 0x14, [57] = 0x12, [58] = 0x34,
						   [59] = 0x56 };
	static const u8 overrun[PINION_MLX5_EQE] = { [1] = 0x04, [33] = 0x12, [34] = 0x34,
						     [35] = 0x56, [43] = 1 };
	u8 got[PINION_MLX5_EQE];

	memset(got, 0xee, sizeof(got));
	pinion_mlx5_eqe_fill(got, PINION_MLX5_COMPLETION, 0x123456);
	KUNIT_EXPECT_MEMEQ(test, got, completion, sizeof(got));
	pinion_mlx5_eqe_fill(got, PINION_MLX5_SRQ_LIMIT, 0x123456);
	KUNIT_EXPECT_MEMEQ(test, got, limit, sizeof(got));
	pinion_mlx5_eqe_fill(got, PINION_MLX5_CQ_ERROR, 0x123456);
	KUNIT_EXPECT_MEMEQ(test, got, overrun, sizeof(got));
}

/* Each known type belongs to one kind of object, and all others to none. */
static void others_do_not_happen(struct kunit *test)
{
	u32 type, known = 0;

	for (type = 0; type <= U16_MAX; type++) {
		int kinds = pinion_mlx5_event_is_of(type, PINION_MLX5_OF_CQ) +
			    pinion_mlx5_event_is_of(type, PINION_MLX5_OF_QP) +
			    pinion_mlx5_event_is_of(type, PINION_MLX5_OF_SRQ);

		KUNIT_EXPECT_LE(test, kinds, 1);
		known += kinds;
	}
	KUNIT_EXPECT_EQ(test, known, 9);
	KUNIT_EXPECT_TRUE(test, pinion_mlx5_event_is_of(0x13, PINION_MLX5_OF_QP));
	KUNIT_EXPECT_FALSE(test, pinion_mlx5_event_is_of(0x14, PINION_MLX5_OF_QP));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(events_say_what_they_are_of),
	KUNIT_CASE(others_do_not_happen),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_mlx5_eqe",
	.test_cases = cases,
};

kunit_test_suites(&suite);
