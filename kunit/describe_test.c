// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The blocks of a table of pinned memory. The addresses are made up and never dereferenced.
 */
/* The module pinion has the trace points. */
#define NOTRACE
#include <kunit/test.h>
#include <linux/sizes.h>

#include "../kernel/mem/describe.c"
#include "random.h"

#define GIB	((u64)SZ_1G)
#define START	(64 * GIB)
#define DMA	(1024 * GIB)
#define PIECES	2

/* Contiguous, and aligned to its size: larger than any block. */
static struct ib_umem *new_umem(struct kunit *test)
{
	struct ib_umem *umem = kunit_kzalloc(test, sizeof(*umem), GFP_KERNEL);
	struct scatterlist *sg = kunit_kcalloc(test, PIECES, sizeof(*sg), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, umem);
	KUNIT_ASSERT_NOT_NULL(test, sg);
	sg_init_table(sg, PIECES);
	for (i = 0; i < PIECES; i++) {
		sg_dma_address(&sg[i]) = DMA + i * 2 * GIB;
		sg_dma_len(&sg[i]) = 2 * GIB;
	}
	umem->sgt_append.sgt.sgl = sg;
	umem->sgt_append.sgt.nents = PIECES;
	umem->sgt_append.sgt.orig_nents = PIECES;
	umem->address = START;
	umem->length = PIECES * 2 * GIB;
	return umem;
}

static void no_block_is_larger_than_a_gigabyte(struct kunit *test)
{
	static const u64 sizes[] = { U64_MAX & PAGE_MASK, GIB, 2 * GIB | GIB, 8 * GIB | GIB };
	struct ib_umem *umem = new_umem(test);
	struct pinion_mtt *mtt;
	u64 block;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		mtt = pinion_describe_in(umem, sizes[i]);
		KUNIT_ASSERT_FALSE(test, IS_ERR(mtt));
		KUNIT_EXPECT_EQ(test, mtt->shift, 30);
		KUNIT_EXPECT_EQ(test, mtt->num_blocks, PIECES * 2);
		for (block = 0; block < mtt->num_blocks; block++)
			KUNIT_EXPECT_EQ(test, *pinion_mtt_slot(mtt, block), DMA + block * GIB);
		pinion_mtt_free(mtt);
	}
}

static void only_larger_blocks_are_none(struct kunit *test)
{
	struct ib_umem *umem = new_umem(test);
	struct pinion_mtt *mtt;

	mtt = pinion_describe_in(umem, 2 * GIB | 4 * GIB);
	KUNIT_EXPECT_PTR_EQ(test, mtt, ERR_PTR(-EINVAL));
	if (!IS_ERR(mtt))
		pinion_mtt_free(mtt);
}

#define MOST_PIECES	6
#define PIECE_PAGES	48
#define ROUNDS		3000

/*
 * A umem of some pieces with gaps between them, whose addresses agree with those of the process
 * in a random number of bits.
 */
static void umem_scatter(struct rnd_state *rnd, struct ib_umem *umem, struct scatterlist *sg)
{
	u32 pieces = 1 + random_below(rnd, MOST_PIECES), agree = PAGE_SHIFT + random_below(rnd, 8);
	u64 start = START + random_below(rnd, PIECE_PAGES) * PAGE_SIZE, va = start;
	u32 i, head = random_below(rnd, PAGE_SIZE), tail = random_below(rnd, PAGE_SIZE - head);

	sg_init_table(sg, pieces);
	for (i = 0; i < pieces; i++) {
		sg_dma_address(&sg[i]) = DMA + i * GIB + (random_u64_below(rnd, 1000) << agree) +
					 (va & (BIT_ULL(agree) - 1));
		sg_dma_len(&sg[i]) = (1 + random_below(rnd, PIECE_PAGES)) * PAGE_SIZE;
		va += sg_dma_len(&sg[i]);
	}
	*umem = (struct ib_umem){ .address = start + head, .length = va - start - head - tail };
	umem->sgt_append.sgt.sgl = sg;
	umem->sgt_append.sgt.nents = pieces;
	umem->sgt_append.sgt.orig_nents = pieces;
}

/* Page by page, where the list has it. */
static u64 page_of_list(const struct ib_umem *umem, u64 page)
{
	const struct scatterlist *sg = umem->sgt_append.sgt.sgl;
	u64 at = page * PAGE_SIZE;

	while (at >= sg_dma_len(sg))
		at -= sg_dma_len(sg++);
	return sg_dma_address(sg) + at;
}

static u64 page_of_table(const struct pinion_mtt *mtt, const struct ib_umem *umem, u64 page)
{
	u64 size = BIT_ULL(mtt->shift);
	u64 at = (umem->address & PAGE_MASK & (size - 1)) + page * PAGE_SIZE;

	return *pinion_mtt_slot(mtt, at / size) + (at & (size - 1));
}

static void each_page_is_where_the_list_has_it(struct kunit *test)
{
	struct ib_umem *umem = kunit_kzalloc(test, sizeof(*umem), GFP_KERNEL);
	struct scatterlist *sg = kunit_kcalloc(test, MOST_PIECES, sizeof(*sg), GFP_KERNEL);
	u32 round, large = 0, small = 0;
	struct pinion_mtt *mtt;
	struct rnd_state rnd;
	u64 page, pages;

	KUNIT_ASSERT_NOT_NULL(test, umem);
	KUNIT_ASSERT_NOT_NULL(test, sg);
	random_begin(&rnd, 0xde5c);
	for (round = 0; round < ROUNDS; round++) {
		umem_scatter(&rnd, umem, sg);
		mtt = pinion_describe(umem);
		KUNIT_ASSERT_FALSE(test, IS_ERR(mtt));
		large += mtt->shift > PAGE_SHIFT && umem->sgt_append.sgt.nents > 1;
		small += mtt->shift == PAGE_SHIFT;
		pages = ib_umem_num_pages(umem);
		for (page = 0; page < pages; page++)
			if (page_of_table(mtt, umem, page) != page_of_list(umem, page))
				break;
		if (page < pages)
			KUNIT_FAIL(test, "round %u: page %llu of %llu, blocks of %lu", round, page,
				   pages, BIT(mtt->shift));
		pinion_mtt_free(mtt);
	}
	/* Large ones that end at a gap, too. */
	KUNIT_EXPECT_GT(test, large, ROUNDS / 50);
	KUNIT_EXPECT_GT(test, small, ROUNDS / 50);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(no_block_is_larger_than_a_gigabyte),
	KUNIT_CASE(only_larger_blocks_are_none),
	KUNIT_CASE(each_page_is_where_the_list_has_it),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_describe",
	.test_cases = cases,
};

kunit_test_suites(&suite);
