// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Capabilities of DEVX, at the offsets of the device's manual.
 */
#include <kunit/test.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "../kernel/logic/devx_caps.c"

#define ROOM	4096

static const struct pinion_devx_caps caps = {
	.log_max_key = 22, .log_max_pd = 16, .log_max_umem = 20, .log_max_klms = 11,
	.log_max_message = 31, .log_max_copy = 20, .page_shift = 12, .log_max_qp = 18,
	.log_max_qp_size = 15,
	.log_max_cq = 19, .log_max_cq_size = 22, .log_max_rmp = 17,
	.odp_rc = 0x3f, .odp_uc = 0x27, .odp_ud = 0x03, .odp_xrc = 0x20,
};

static u8 *caps_room(struct kunit *test)
{
	u8 *room = kunit_kzalloc(test, ROOM, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, room);
	return room;
}

/* The word at @at in the capabilities of @kind. */
static u32 caps_word(struct kunit *test, u16 kind, u32 at)
{
	u8 *out = caps_room(test);

	KUNIT_EXPECT_EQ(test, pinion_devx_put_caps(out, ROOM, kind, &caps), PINION_DEVX_DONE);
	return get_unaligned_be32(out + PINION_DEVX_HEAD + at);
}

static void caps_are_where_they_belong(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, caps_word(test, 0, 0x04), BIT(31));
	KUNIT_EXPECT_EQ(test, caps_word(test, 0, 0x0c), 20u << 16);
	KUNIT_EXPECT_EQ(test, caps_word(test, 0, 0x10), 15u << 16 | 18);
	KUNIT_EXPECT_EQ(test, caps_word(test, 0, 0x18), 22u << 16 | 19);
	KUNIT_EXPECT_EQ(test, caps_word(test, 0, 0x1c), 22u << 16);
	KUNIT_EXPECT_EQ(test, caps_word(test, 0, 0x28), BIT(12));
	KUNIT_EXPECT_EQ(test, caps_word(test, 0, 0x34), 1u << 8 | 1);
	KUNIT_EXPECT_EQ(test, caps_word(test, 0, 0x3c), 1);
	KUNIT_EXPECT_EQ(test, caps_word(test, 0, 0x66) >> 24, BIT(3));
	KUNIT_EXPECT_EQ(test, caps_word(test, 0, 0x40), BIT(1));
	KUNIT_EXPECT_EQ(test, caps_word(test, 3, 0x08), BIT(30) | BIT(25));
	KUNIT_EXPECT_EQ(test, caps_word(test, 3, 0x10), 3);
	KUNIT_EXPECT_EQ(test, caps_word(test, 3, 0x14), 8);
	KUNIT_EXPECT_EQ(test, caps_word(test, 0x0f, 0x00), 0);
	KUNIT_EXPECT_EQ(test, caps_word(test, 0, 0x70), 17u << 24);
	KUNIT_EXPECT_EQ(test, caps_word(test, 2, 0x10), 0);
	KUNIT_EXPECT_EQ(test, caps_word(test, 2, 0x50), 0xfc000000);
	KUNIT_EXPECT_EQ(test, caps_word(test, 2, 0x54), 0xe4000000);
	KUNIT_EXPECT_EQ(test, caps_word(test, 2, 0x58), 0xc0000000);
	KUNIT_EXPECT_EQ(test, caps_word(test, 2, 0x5c), 0x04000000);
	KUNIT_EXPECT_EQ(test, caps_word(test, 2, 0xc0), BIT(31));
	KUNIT_EXPECT_EQ(test, caps_word(test, 0x20, 0x5c), BIT(30) | 15 << 24);
}

/* An answer of any length is filled, and no byte behind it is written. */
static void caps_stay_in_their_room(struct kunit *test)
{
	static const u16 kinds[] = { 0, 2, 3, 0x0f, 0x20 };
	u8 *out = caps_room(test);
	size_t length, i;
	int kind;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		for (length = 16; length <= 0x110; length++) {
			memset(out, 0, ROOM);
			KUNIT_EXPECT_EQ(test,
					pinion_devx_put_caps(out, length, kinds[kind], &caps),
					PINION_DEVX_DONE);
			for (i = length; i < ROOM && !out[i]; i++)
				;
			KUNIT_ASSERT_EQ(test, i, (size_t)ROOM);
		}
	}
}

static void other_kinds_are_refused(struct kunit *test)
{
	u8 *out = caps_room(test);
	u32 kind, told = 0;

	for (kind = 0; kind <= U16_MAX / 2; kind++)
		told += pinion_devx_put_caps(out, ROOM, kind, &caps) == PINION_DEVX_DONE;
	KUNIT_EXPECT_EQ(test, told, 5);
	KUNIT_EXPECT_EQ(test, pinion_devx_put_caps(out, ROOM, 1, &caps),
			PINION_DEVX_NO_SUCH_CAPS);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(caps_are_where_they_belong),
	KUNIT_CASE(caps_stay_in_their_room),
	KUNIT_CASE(other_kinds_are_refused),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_devx_caps",
	.test_cases = cases,
};

kunit_test_suites(&suite);
