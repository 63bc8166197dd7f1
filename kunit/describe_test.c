// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The blocks of a table of pinned memory. The addresses are made up and never dereferenced.
 */
/* The module pinion has the trace points. */
#define NOTRACE
#include <kunit/test.h>
#include <linux/sizes.h>

#include "../kernel/mem/describe.c"

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

static struct kunit_case cases[] = {
	KUNIT_CASE(no_block_is_larger_than_a_gigabyte),
	KUNIT_CASE(only_larger_blocks_are_none),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_describe",
	.test_cases = cases,
};

kunit_test_suites(&suite);
