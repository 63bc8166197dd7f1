// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The fast CRC against a bitwise one.
 */
#include <kunit/test.h>

#include "../kernel/logic/crc.c"
#include "random.h"

#define LONGEST	5000

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

static void crc_compare(struct kunit *test, u32 crc, const u8 *data, u32 bytes)
{
	KUNIT_EXPECT_EQ_MSG(test, pinion_crc(crc, data, bytes), crc_by_bits(crc, data, bytes),
			    "%u bytes at %lu", bytes, (unsigned long)data % 64);
}

static void every_length_is_right(struct kunit *test)
{
	struct rnd_state rnd;
	u32 bytes, i;
	u8 *data;

	data = kunit_kmalloc(test, LONGEST + 64, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, data);
	random_begin(&rnd, 35);
	prandom_bytes_state(&rnd, data, LONGEST + 64);
	for (bytes = 0; bytes < 600; bytes++)
		crc_compare(test, prandom_u32_state(&rnd), data + bytes % 64, bytes);
	for (i = 0; i < 200; i++)
		crc_compare(test, prandom_u32_state(&rnd), data + random_below(&rnd, 64),
			    random_below(&rnd, LONGEST));
}

/* Each bit of the data and of the initial value changes the CRC, wherever it is. */
static void every_bit_counts(struct kunit *test)
{
	static const u32 bytes = 4 * 128 + 37;
	u8 *data = kunit_kzalloc(test, bytes, GFP_KERNEL);
	u32 bit;

	KUNIT_ASSERT_NOT_NULL(test, data);
	for (bit = 0; bit < bytes * 8; bit++) {
		data[bit / 8] ^= BIT(bit % 8);
		crc_compare(test, 0, data, bytes);
		data[bit / 8] ^= BIT(bit % 8);
	}
	for (bit = 0; bit < 32; bit++)
		crc_compare(test, BIT(bit), data, bytes);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(every_length_is_right),
	KUNIT_CASE(every_bit_counts),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_crc",
	.test_cases = cases,
};

kunit_test_suites(&suite);
