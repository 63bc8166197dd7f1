// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keys in umems, against an oracle that lays out the umem page by page and the key byte by byte;
 * and large numbers of all kinds.
 */
#include <kunit/test.h>

#include "random.h"

#include "../kernel/logic/mkey_place.c"

/* Applies the rules one by one, for small numbers. -1: invalid. */
static s64 lay_out(const struct pinion_umem_shape *umem, const struct pinion_devx_mkey *asked)
{
	u64 page = asked->page_shift ? 1ULL << asked->page_shift : PAGE_SIZE;
	u64 start, byte, at, pages = 0, last = U64_MAX;

	if (page < PAGE_SIZE || page > 1ULL << umem->shift || asked->umem_offset >= umem->length)
		return -1;
	/* The page that contains the byte at the offset. */
	for (start = 0; start + page <= umem->first + asked->umem_offset; start += page)
		;
	at = umem->first + asked->umem_offset - start;
	if (at && at != asked->base % page)
		return -1;
	for (byte = 0; byte < asked->length; byte++) {
		at = start + asked->base % page + byte;
		if (at < umem->first || at >= umem->first + umem->length)
			return -1;
		if (at / page != last)
			pages++;
		last = at / page;
	}
	/* A key of no bytes must have a valid place, too. */
	at = start + asked->base % page;
	if (at < umem->first || at > umem->first + umem->length)
		return -1;
	if (!asked->length && asked->base % page)
		pages = 1;
	if (asked->entries && asked->entries < pages)
		return -1;
	return at - umem->first;
}

static u64 around(struct rnd_state *rnd, u64 value)
{
	return max_t(s64, 0, (s64)value + random_below(rnd, 3) - 1);
}

static void a_key_is_where_it_is_laid_out(struct kunit *test)
{
	static const u8 shifts[] = { 0, 11, 12, 12, 13, 14, 15 };
	u32 i, wrong = 0, placed = 0;
	struct rnd_state rnd;

	random_begin(&rnd, 12);
	for (i = 0; i < 20000; i++) {
		struct pinion_umem_shape umem = { .shift = 12 + random_below(&rnd, 3) };
		struct pinion_devx_mkey asked = {
			.page_shift = shifts[random_below(&rnd, ARRAY_SIZE(shifts))],
		};
		u64 page = 1ULL << max(asked.page_shift, 12);
		u64 offset = 0;
		bool there;
		s64 want;

		umem.first = random_one_in(&rnd, 2) ? 0 : random_below(&rnd, 1 << umem.shift);
		umem.length = 1 + random_below(&rnd, 5 * page);
		asked.umem_offset = around(&rnd, random_below(&rnd, 6) * page - umem.first % page);
		if (random_one_in(&rnd, 8))
			asked.umem_offset = random_below(&rnd, umem.length + 2);
		asked.base = random_below(&rnd, 3) * page;
		if (!random_one_in(&rnd, 3))
			asked.base += (umem.first + asked.umem_offset) % page;
		if (random_one_in(&rnd, 4))
			asked.base += random_below(&rnd, page);
		asked.length = random_one_in(&rnd, 3) ?
			around(&rnd, umem.length - min(umem.length, asked.umem_offset)) :
			random_below(&rnd, umem.length + 2);
		asked.entries = random_one_in(&rnd, 2) ? 0 :
			around(&rnd, asked.length / page + 1);
		want = lay_out(&umem, &asked);
		there = want >= 0;
		placed += there;
		if (pinion_mkey_place(&umem, &asked, &offset) != there)
			wrong++;
		else if (there)
			wrong += offset != want;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	/* Enough cases were valid, and enough invalid. */
	KUNIT_EXPECT_GT(test, placed, 2000);
	KUNIT_EXPECT_LT(test, placed, 18000);
}

/* A valid key is always inside of the umem. */
static void no_number_leads_beyond_the_umem(struct kunit *test)
{
	static const u64 large[] = { 0, 1, 4095, 4096, U32_MAX, 1ULL << 32, S64_MAX, 1ULL << 63,
				     U64_MAX - 4096, U64_MAX - 4095, U64_MAX - 1, U64_MAX };
	const struct pinion_umem_shape umem = { .first = 77, .length = 3 * 4096, .shift = 12 };
	u32 a, b, c, d, shift, wrong = 0;
	u64 offset;

	for (shift = 0; shift < 64; shift++) {
		for (a = 0; a < ARRAY_SIZE(large); a++) {
			for (b = 0; b < ARRAY_SIZE(large); b++) {
				for (c = 0; c < ARRAY_SIZE(large) * 2; c++) {
					d = c / 2;
					struct pinion_devx_mkey asked = {
						.page_shift = shift, .umem_offset = large[a],
						.base = large[b], .length = large[d],
						.entries = c % 2 ? U32_MAX : 0,
					};

					offset = 0;
					if (!pinion_mkey_place(&umem, &asked, &offset))
						continue;
					wrong += (shift && shift != 12) ||
						 (u128)offset + asked.length > umem.length;
				}
			}
		}
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_key_is_where_it_is_laid_out),
	KUNIT_CASE(no_number_leads_beyond_the_umem),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_mkey_place",
	.test_cases = cases,
};

kunit_test_suites(&suite);
