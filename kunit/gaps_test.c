// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fast registration of lists with gaps: pieces at any address, of any length. The memory is made
 * up and never touched.
 */
#include <linux/sizes.h>

#include "fastregs.h"
#include "random.h"

/* Unaligned pieces: there is no common page size. */
static const struct piece gaps[] = {
	{ 0x10000a01, 0x333 }, { 0x20000fff, 1 }, { 0x18000800, 0x2345 }, { 0x20000000, 7 },
	{ 0x7000000000005ULL, 0x10001 },
};

static void pieces_begin_and_end_anywhere(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_SG_GAPS);

	KUNIT_ASSERT_EQ(test, map(test, mr, SZ_4K, gaps, 5), 5);
	KUNIT_EXPECT_EQ(test, mr->ibmr.iova, gaps[0].address);
	KUNIT_ASSERT_EQ(test, reg(test, mr, 0), 0);
	expect_pieces(test, mr, gaps, 5);
	end_fastreg(test, mr);
}

/* NFS sets the upper half of the iova after mapping. */
static void the_address_is_as_it_was_set_after_mapping(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_SG_GAPS);

	KUNIT_ASSERT_EQ(test, map(test, mr, SZ_4K, gaps, 3), 3);
	mr->ibmr.iova = 0x1234567800000000ULL | (u32)mr->ibmr.iova;
	KUNIT_ASSERT_EQ(test, reg(test, mr, 0), 0);
	expect_pieces(test, mr, gaps, 3);
	end_fastreg(test, mr);
}

static void a_shorter_list_after_a_longer_is_itself_only(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_SG_GAPS);
	u32 num;

	/* Both tables of the region have had the longest list. */
	for (num = 5; num; num--) {
		put_in_force(test, mr, SZ_4K, gaps, num, 0);
		expect_pieces(test, mr, gaps, num);
		KUNIT_ASSERT_EQ(test, invalidate(test, mr), 0);
		put_in_force(test, mr, SZ_4K, gaps, 5, 0);
		KUNIT_ASSERT_EQ(test, invalidate(test, mr), 0);
	}
	end_fastreg(test, mr);
}

static void pieces_that_follow_on_are_one_run(struct kunit *test)
{
	static const struct piece follow[] = {
		{ 0x10000123, 0x10 }, { 0x10000133, 0x20 }, { 0x10000153, 0x30 }, { 0x10000100, 9 },
	};
	static const struct piece runs[] = { { 0x10000123, 0x60 }, { 0x10000100, 9 } };
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_SG_GAPS);

	put_in_force(test, mr, SZ_4K, follow, 4, 0);
	expect_pieces(test, mr, runs, 2);
	end_fastreg(test, mr);
}

static void what_is_too_long_is_cut_between_pieces(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_SG_GAPS);
	struct piece pieces[MAX_PAGES + 2];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pieces); i++)
		pieces[i] = (struct piece){ SZ_1M * (20ULL - i) + i, 1000 + i };
	KUNIT_EXPECT_EQ(test, map(test, mr, SZ_4K, pieces, MAX_PAGES + 2), MAX_PAGES);
	KUNIT_ASSERT_EQ(test, reg(test, mr, 0), 0);
	expect_pieces(test, mr, pieces, MAX_PAGES);
	end_fastreg(test, mr);
}

static void the_first_may_be_entered_in_the_middle(struct kunit *test)
{
	static const struct piece rest[] = { { 0x10000a01 + 0x100, 0x233 }, { 0x20000fff, 1 } };
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_SG_GAPS);
	unsigned int offset = 0x100;
	struct scatterlist sg[2];
	u32 i;

	sg_init_table(sg, 2);
	for (i = 0; i < 2; i++) {
		sg_dma_address(&sg[i]) = gaps[i].address;
		sg_dma_len(&sg[i]) = gaps[i].length;
	}
	KUNIT_ASSERT_EQ(test, pinion_map_mr_sg(&mr->ibmr, sg, 2, &offset), 2);
	KUNIT_EXPECT_EQ(test, offset, 0);
	KUNIT_ASSERT_EQ(test, reg(test, mr, 0), 0);
	expect_pieces(test, mr, rest, 2);

	/* An access beyond the end is refused, and so is registering an empty list. */
	KUNIT_ASSERT_EQ(test, invalidate(test, mr), 0);
	offset = gaps[0].length + 1;
	KUNIT_EXPECT_EQ(test, pinion_map_mr_sg(&mr->ibmr, sg, 2, &offset), -EINVAL);
	KUNIT_EXPECT_EQ(test, pinion_map_mr_sg(&mr->ibmr, sg, 0, NULL), -EINVAL);
	KUNIT_EXPECT_NE(test, reg(test, mr, 0), 0);
	end_fastreg(test, mr);
}

/* The slow way: the place of the byte at @offset, and in @run the number of contiguous bytes. */
static u64 oracle(const struct piece *pieces, u32 num, u64 offset, u64 *run)
{
	u64 at;
	u32 i;

	for (i = 0; offset >= pieces[i].length; i++)
		offset -= pieces[i].length;
	at = pieces[i].address + offset;
	*run = pieces[i].length - offset;
	while (++i < num && pieces[i].address == at + *run)
		*run += pieces[i].length;
	return at;
}

static void any_list_agrees_with_the_oracle(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_SG_GAPS);
	struct piece pieces[MAX_PAGES];
	struct rnd_state rnd;
	u64 run, want, offset, length;
	u32 round, probe, num, i;

	random_begin(&rnd, 4711);
	for (round = 0; round < 300; round++) {
		num = 1 + random_below(&rnd, MAX_PAGES);
		for (i = 0; i < num; i++) {
			pieces[i].address = random_u64_below(&rnd, 1ULL << 46);
			if (i && random_one_in(&rnd, 3))
				pieces[i].address = pieces[i - 1].address + pieces[i - 1].length;
			pieces[i].length = 1 + (random_magnitude(&rnd) & (SZ_1G - 1));
		}
		put_in_force(test, mr, SZ_4K, pieces, num, 0);
		length = mr->ibmr.length;
		for (probe = 0; probe < 50; probe++) {
			offset = random_u64_below(&rnd, length);
			KUNIT_ASSERT_EQ(test,
					find(test, mr, mr->ibmr.iova + offset, length - offset,
					     &run),
					oracle(pieces, num, offset, &want));
			KUNIT_ASSERT_EQ(test, run, want);
		}
		KUNIT_ASSERT_EQ(test, invalidate(test, mr), 0);
	}
	end_fastreg(test, mr);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(pieces_begin_and_end_anywhere),
	KUNIT_CASE(the_address_is_as_it_was_set_after_mapping),
	KUNIT_CASE(a_shorter_list_after_a_longer_is_itself_only),
	KUNIT_CASE(pieces_that_follow_on_are_one_run),
	KUNIT_CASE(what_is_too_long_is_cut_between_pieces),
	KUNIT_CASE(the_first_may_be_entered_in_the_middle),
	KUNIT_CASE(any_list_agrees_with_the_oracle),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_gaps",
	.init = keys_test_init,
	.exit = keys_test_exit,
	.test_cases = cases,
};

kunit_test_suites(&suite);
