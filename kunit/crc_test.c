// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The fast CRC against a bitwise one.
 */
#include <kunit/test.h>

#include "../kernel/logic/crc.c"
#include "random.h"

#define LONGEST	5000
#define HEAD_LANES 5

static u32 crc_by_bits(u32 crc, const u8 *data, u32 bytes)
{
	u32 i, bit;

	for (i = 0; i < bytes; i++) {
		crc ^= data[i];
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* Of a head of @lanes lanes at @data, and @bytes bytes behind it. */
static void crc_compare(struct kunit *test, u32 crc, const u8 *data, u32 lanes, u32 bytes)
{
	u32 head = lanes * PINION_CRC_LANE;

	KUNIT_EXPECT_EQ_MSG(test, pinion_crc(crc, data, head, data + head, bytes),
			    crc_by_bits(crc, data, head + bytes), "%u lanes and %u bytes at %lu",
			    lanes, bytes, (unsigned long)data % 64);
}

static void every_length_is_right(struct kunit *test)
{
	struct rnd_state rnd;
	u32 bytes, lanes, i;
	u8 *data;

	data = kunit_kmalloc(test, LONGEST + 64, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, data);
	random_begin(&rnd, 35);
	prandom_bytes_state(&rnd, data, LONGEST + 64);
	for (lanes = 1; lanes <= HEAD_LANES; lanes++)
		for (bytes = 0; bytes < 300; bytes++)
			crc_compare(test, prandom_u32_state(&rnd), data + bytes % 64, lanes, bytes);
	for (i = 0; i < 200; i++)
		crc_compare(test, prandom_u32_state(&rnd), data + random_below(&rnd, 64),
			    1 + random_below(&rnd, HEAD_LANES),
			    random_below(&rnd, LONGEST - HEAD_LANES * PINION_CRC_LANE));
}

/* Each bit of the data and of the initial value changes the CRC, wherever it is. */
static void every_bit_counts(struct kunit *test)
{
	static const u32 lanes = 3, bytes = 4 * 128 + 37;
	u32 bit, all = lanes * PINION_CRC_LANE + bytes;
	u8 *data = kunit_kzalloc(test, all, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, data);
	for (bit = 0; bit < all * 8; bit++) {
		data[bit / 8] ^= BIT(bit % 8);
		crc_compare(test, 0, data, lanes, bytes);
		data[bit / 8] ^= BIT(bit % 8);
	}
	for (bit = 0; bit < 32; bit++)
		crc_compare(test, BIT(bit), data, lanes, bytes);
}

/* The head may be elsewhere. */
static void the_head_is_read_where_it_is(struct kunit *test)
{
	u8 data[2 * PINION_CRC_LANE + 100];
	u8 head[2 * PINION_CRC_LANE];
	struct rnd_state rnd;
	u32 want;

	random_begin(&rnd, 36);
	prandom_bytes_state(&rnd, data, sizeof(data));
	memcpy(head, data, sizeof(head));
	want = crc_by_bits(7, data, sizeof(data));
	memset(data, 0, sizeof(head));
	KUNIT_EXPECT_EQ(test, pinion_crc(7, head, sizeof(head), data + sizeof(head), 100), want);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(every_length_is_right),
	KUNIT_CASE(every_bit_counts),
	KUNIT_CASE(the_head_is_read_where_it_is),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_crc",
	.test_cases = cases,
};

kunit_test_suites(&suite);
