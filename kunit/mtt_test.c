// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Translation tables of made-up addresses, against a list with the address of every byte. No
 * address is ever dereferenced.
 */
#include <kunit/device.h>
#include <kunit/test.h>
#include <linux/dma-direct.h>
#include <linux/sizes.h>

#include "../kernel/mem/mtt.c"
#include "random.h"

/* Kernel addresses of memory that does not exist: only differences are compared. */
static u64 dma_of(const void *kva)
{
	return (unsigned long)kva - (unsigned long)pinion_dma_to_kva(0);
}

static void free_mtt(void *mtt)
{
	pinion_mtt_free(mtt);
}

static void free_kv(void *memory)
{
	kvfree(memory);
}

static struct pinion_mtt *new_mtt(struct kunit *test, u64 num_blocks, u8 shift, u64 first)
{
	struct pinion_mtt *mtt = pinion_mtt_alloc(num_blocks, shift, first);

	KUNIT_ASSERT_NOT_NULL(test, mtt);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_mtt, mtt), 0);
	return mtt;
}

/* Blocks that are contiguous, repeat, go back, leave a gap, or are random. */
static void fill_randomly(struct rnd_state *rnd, struct pinion_mtt *mtt)
{
	u64 size = 1ULL << mtt->shift;
	u64 block, at = size * (1 + random_below(rnd, 1000));

	for (block = 0; block < mtt->num_blocks; block++) {
		*pinion_mtt_slot(mtt, block) = at;
		switch (random_below(rnd, 10)) {
		case 0:
			break;
		case 1:
			at -= min(at, size);
			break;
		case 2:
			at += 2 * size;
			break;
		case 3:
			at = size * random_below(rnd, 1000);
			break;
		default:
			at += size;
		}
	}
}

/* -------------------------------------------------- one byte at a time */

struct bytes {
	u64 *at;	/* address of each byte */
	u64 *run;	/* contiguous bytes from each on */
	u64 count;
};

static struct bytes *list_bytes(struct kunit *test, const struct pinion_mtt *mtt)
{
	struct bytes *bytes = kunit_kzalloc(test, sizeof(*bytes), GFP_KERNEL);
	u64 block, entry, i, n = 0;

	KUNIT_ASSERT_NOT_NULL(test, bytes);
	bytes->count = mtt->num_blocks * (1U << mtt->shift);
	bytes->at = kvmalloc_array(bytes->count, 2 * sizeof(u64), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bytes->at);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_kv, bytes->at), 0);
	bytes->run = bytes->at + bytes->count;

	for (block = 0; block < mtt->num_blocks; block++) {
		entry = mtt->leaves[block / 512][block % 512];
		for (i = 0; i < 1U << mtt->shift; i++, n++) {
			bytes->at[n] = entry + i;
			bytes->run[n] = 1;
		}
	}
	for (i = n - 1; i--;)
		if (bytes->at[i + 1] == bytes->at[i] + 1)
			bytes->run[i] += bytes->run[i + 1];
	return bytes;
}

static u32 differs(const struct pinion_mtt *mtt, const struct bytes *bytes, u64 offset, u64 want)
{
	u64 byte = mtt->first + offset;
	void *kva;
	u64 run;

	run = pinion_mtt_run(mtt, offset, want, &kva);
	return run != min(bytes->run[byte], want) || dma_of(kva) != bytes->at[byte];
}

/* Together the spans are what repeated look-ups of one run each would give. */
static u32 spans_differ(const struct pinion_mtt *mtt, const struct bytes *bytes, u64 offset,
			u64 want, u32 most)
{
	u64 byte = mtt->first + offset, end = byte + want, there;
	struct pinion_span spans[17];
	u32 i, wrong = 0;

	spans[most].kva = spans;
	there = byte + pinion_mtt_spans(mtt, offset, want, spans, most);
	if (there == byte || there > end || spans[most].kva != spans)
		return 1;
	for (i = 0; i < most && byte < there; byte += spans[i++].length)
		wrong += spans[i].length != min(bytes->run[byte], end - byte) ||
			 dma_of(spans[i].kva) != bytes->at[byte];
	/* They are as long as was said, and no fewer than there is room for. */
	return wrong + (byte != there) + (i < most && there != end);
}

/* For every byte: the shortest lengths, a random one, and the rest. */
static void check_every_byte(struct kunit *test, const struct pinion_mtt *mtt,
			     struct rnd_state *rnd)
{
	struct bytes *bytes = list_bytes(test, mtt);
	u64 offset, left;
	u32 wrong = 0;

	for (offset = 0; offset < bytes->count - mtt->first; offset++) {
		left = bytes->count - mtt->first - offset;
		wrong += differs(mtt, bytes, offset, 1);
		wrong += differs(mtt, bytes, offset, min(left, 2));
		wrong += differs(mtt, bytes, offset, 1 + random_u64_below(rnd, left));
		wrong += differs(mtt, bytes, offset, left);
		wrong += spans_differ(mtt, bytes, offset, left, 1 + random_u64_below(rnd, 16));
		wrong += spans_differ(mtt, bytes, offset, 1 + random_u64_below(rnd, left), 16);
	}
	KUNIT_EXPECT_EQ_MSG(test, wrong, 0, "%llu blocks of 2^%u from %llu", mtt->num_blocks,
			    mtt->shift, mtt->first);
}

struct shape {
	u32 blocks;
	u8 shift;
};

/* Block sizes below, equal to and above a page; numbers below, equal to and above a leaf. */
static const struct shape shapes[] = {
	{ 1, 9 }, { 2, 9 }, { 40, 9 }, { 512, 4 }, { 513, 4 }, { 1025, 4 }, { 1700, 3 },
	{ 1, 12 }, { 2, 12 }, { 9, 12 }, { 3, 13 }, { 2, 14 },
};

static void name_shape(const struct shape *shape, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u blocks of 2^%u", shape->blocks, shape->shift);
}

KUNIT_ARRAY_PARAM(shapes, shapes, name_shape);

static void every_byte_is_where_the_list_says(struct kunit *test)
{
	const struct shape *shape = test->param_value;
	u64 size = 1ULL << shape->shift;
	u64 firsts[] = { 0, 1, size / 2, size - 1 };
	struct pinion_mtt *mtt;
	struct rnd_state rnd;
	u32 i;

	random_begin(&rnd, 100 * shape->blocks + shape->shift);
	mtt = new_mtt(test, shape->blocks, shape->shift, 0);
	for (i = 0; i < ARRAY_SIZE(firsts); i++) {
		mtt->first = firsts[i];
		fill_randomly(&rnd, mtt);
		check_every_byte(test, mtt, &rnd);
	}
}

static void memory_in_one_piece_is_one_run(struct kunit *test)
{
	struct pinion_mtt *mtt = new_mtt(test, 1300, 9, 100);
	u64 block, offset, left;
	void *kva;

	for (block = 0; block < 1300; block++)
		*pinion_mtt_slot(mtt, block) = SZ_1M + 512 * block;
	for (offset = 0; offset < 1300 * 512 - 100; offset += 97) {
		left = 1300 * 512 - 100 - offset;
		KUNIT_EXPECT_EQ(test, pinion_mtt_run(mtt, offset, left, &kva), left);
		KUNIT_EXPECT_EQ(test, dma_of(kva), (u64)SZ_1M + 100 + offset);
		/* A run ends at the end of the table. */
		KUNIT_EXPECT_EQ(test, pinion_mtt_run(mtt, offset, U64_MAX, &kva), left);
	}
}

static void scattered_memory_is_one_run_a_block(struct kunit *test)
{
	struct pinion_mtt *mtt = new_mtt(test, 1300, 9, 100);
	u64 block;
	void *kva;

	for (block = 0; block < 1300; block++)
		*pinion_mtt_slot(mtt, block) = SZ_1M + 1024 * block;
	KUNIT_EXPECT_EQ(test, pinion_mtt_run(mtt, 0, SZ_64K, &kva), 412ULL);
	for (block = 1; block < 1299; block++) {
		KUNIT_EXPECT_EQ(test, pinion_mtt_run(mtt, 512 * block - 100, SZ_16K, &kva), 512ULL);
		KUNIT_EXPECT_EQ(test, dma_of(kva), SZ_1M + 1024 * block);
		KUNIT_EXPECT_EQ(test, pinion_mtt_run(mtt, 512 * block - 101, SZ_16K, &kva), 1ULL);
	}
}

/* ------------------------------------- large blocks */

struct blocks {
	struct pinion_mtt *mtt;
	u32 *last;	/* last block contiguous with this one */
};

static u32 differs_large(const struct blocks *blocks, u64 offset, u64 want)
{
	const struct pinion_mtt *mtt = blocks->mtt;
	u64 size = 1ULL << mtt->shift;
	u64 block = (mtt->first + offset) / size;
	u64 within = (mtt->first + offset) % size;
	u64 there = (blocks->last[block] - block + 1) * size - within;
	void *kva;
	u64 run;

	run = pinion_mtt_run(mtt, offset, want, &kva);
	return run != min(there, want) ||
	       dma_of(kva) != mtt->leaves[block / 512][block % 512] + within;
}

static u32 differ_around(const struct blocks *blocks, u64 offset, struct rnd_state *rnd)
{
	const struct pinion_mtt *mtt = blocks->mtt;
	u64 size = 1ULL << mtt->shift;
	u64 length = mtt->num_blocks * size - mtt->first;
	u64 wants[] = { 1, size - 1, size, size + 1, 2 * size, 3 * size - 1, length - offset,
			random_u64_below(rnd, length) };
	u32 i, wrong = 0;

	/* The caller makes sure that all lengths are in the table. */
	for (i = 0; i < ARRAY_SIZE(wants); i++)
		wrong += differs_large(blocks, offset,
				       clamp_t(u64, wants[i], 1, length - offset));
	return wrong;
}

static void check_blocks(struct kunit *test, struct blocks *blocks, struct rnd_state *rnd)
{
	struct pinion_mtt *mtt = blocks->mtt;
	u64 size = 1ULL << mtt->shift;
	u64 length = mtt->num_blocks * size - mtt->first;
	u32 wrong = 0;
	u64 block, edge;

	blocks->last[mtt->num_blocks - 1] = mtt->num_blocks - 1;
	for (block = mtt->num_blocks - 1; block--;)
		blocks->last[block] =
			*pinion_mtt_slot(mtt, block + 1) == *pinion_mtt_slot(mtt, block) + size ?
				blocks->last[block + 1] : block;

	wrong += differ_around(blocks, 0, rnd);
	wrong += differ_around(blocks, length - 1, rnd);
	for (block = 1; block < mtt->num_blocks; block++) {
		edge = block * size - mtt->first;
		wrong += differ_around(blocks, edge - 1, rnd);
		wrong += differ_around(blocks, edge, rnd);
		wrong += differ_around(blocks, min(edge + 1, length - 1), rnd);
		wrong += differ_around(blocks, random_u64_below(rnd, length), rnd);
	}
	KUNIT_EXPECT_EQ_MSG(test, wrong, 0, "%llu blocks of 2^%u from %llu", mtt->num_blocks,
			    mtt->shift, mtt->first);
}

/* Page sizes of registration, from 512 bytes to 1 GiB: tables of up to a TiB. */
static const u8 shifts[] = {
	9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
};

static void name_shift(const u8 *shift, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "blocks of 2^%u", *shift);
}

KUNIT_ARRAY_PARAM(shifts, shifts, name_shift);

static void every_granule_is_walked_the_same(struct kunit *test)
{
	static const u32 counts[] = { 1, 2, 3, 511, 512, 513, 1030 };
	u8 shift = *(const u8 *)test->param_value;
	u64 size = 1ULL << shift;
	struct blocks blocks;
	struct rnd_state rnd;
	u32 i;

	random_begin(&rnd, shift);
	blocks.last = kunit_kcalloc(test, 1030, sizeof(u32), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, blocks.last);
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		u64 firsts[] = { 0, 1, size / 2, size - 1, random_u64_below(&rnd, size) };

		blocks.mtt = new_mtt(test, counts[i], shift,
				     firsts[random_below(&rnd, ARRAY_SIZE(firsts))]);
		fill_randomly(&rnd, blocks.mtt);
		check_blocks(test, &blocks, &rnd);
	}
}

/* --------------------------------------------------------------- the table */

static void a_table_keeps_what_each_slot_was_given(struct kunit *test)
{
	static const u32 counts[] = { 1, 2, 511, 512, 513, 1024, 1025, 5000 };
	struct pinion_mtt *mtt;
	u32 i, wrong = 0;
	u64 block;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		mtt = new_mtt(test, counts[i], 12, 0);
		for (block = 0; block < counts[i]; block++)
			wrong += *pinion_mtt_slot(mtt, block) != 0;
		for (block = 0; block < counts[i]; block++)
			*pinion_mtt_slot(mtt, block) = ~block;
		for (block = 0; block < counts[i]; block++)
			wrong += *pinion_mtt_slot(mtt, block) != ~block;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	pinion_mtt_free(NULL);
}

static void a_leaf_has_room_for_its_blocks_and_no_more(struct kunit *test)
{
	struct pinion_mtt mtt = {};
	u64 count, leaf, sum, most;

	KUNIT_EXPECT_EQ(test, PINION_MTT_LEAF_BLOCKS * sizeof(u64), 4096);
	for (count = 1; count < 3000; count++) {
		mtt.num_blocks = count;
		mtt.leaf_shift = count % 2 ? 9 : count % 10;
		most = 1ULL << mtt.leaf_shift;
		for (sum = leaf = 0; leaf * most < count; leaf++) {
			KUNIT_EXPECT_EQ(test, mtt_leaf_blocks(&mtt, leaf),
					min(count - leaf * most, most));
			sum += mtt_leaf_blocks(&mtt, leaf);
		}
		KUNIT_EXPECT_EQ(test, sum, count);
		KUNIT_EXPECT_EQ(test, pinion_mtt_num_leaves(&mtt), leaf);
	}
}

/*
 * An order makes leaves small in tables created while it holds; each entry still has its own
 * place.
 */
static void leaves_are_as_small_as_ordered(struct kunit *test)
{
	u64 count, block, wrong = 0;
	struct pinion_mtt *mtt;
	char line[40];
	u32 most;

	for (most = 1; most <= 512; most = most * 3 / 2 + 1) {
		snprintf(line, sizeof(line), "leaf value %u count 0", most);
		KUNIT_ASSERT_EQ(test, pinion_inject_order(line), 0);
		count = 1 + most * 5 / 2;
		mtt = pinion_mtt_alloc(count, 12, 0);
		pinion_inject_clear();
		KUNIT_ASSERT_NOT_NULL(test, mtt);
		KUNIT_EXPECT_EQ(test, 1 << mtt->leaf_shift, rounddown_pow_of_two(most));
		for (block = 0; block < count; block++)
			*pinion_mtt_slot(mtt, block) = ~block;
		for (block = 0; block < count; block++)
			wrong += *pinion_mtt_slot(mtt, block) != ~block;
		pinion_mtt_free(mtt);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	mtt = new_mtt(test, 513, 12, 0);
	KUNIT_EXPECT_EQ(test, mtt->leaf_shift, PINION_MTT_LEAF_SHIFT);
}

/* Runs have the same addresses and lengths wherever the table is. */
static void a_table_of_one_block_moves_in_and_no_other(struct kunit *test)
{
	struct pinion_mtt_one one = {};
	struct pinion_mtt *mtt, *settled;
	u64 offset, before, after;
	void *kva, *moved;
	u32 round;

	/* The place may have had a table before. */
	for (round = 1; round < 3; round++) {
		mtt = pinion_mtt_alloc(1, 12, 100 * round);
		KUNIT_ASSERT_NOT_NULL(test, mtt);
		*pinion_mtt_slot(mtt, 0) = SZ_1G * round;
		for (offset = 0; offset < 4096 - 100 * round; offset += 13) {
			before = pinion_mtt_run(mtt, offset, 4000, &kva);
			settled = pinion_mtt_settle(&one, mtt);
			KUNIT_ASSERT_PTR_EQ(test, settled, &one.mtt);
			pinion_mtt_free(mtt);
			mtt = settled;
			after = pinion_mtt_run(settled, offset, 4000, &moved);
			KUNIT_EXPECT_EQ(test, after, before);
			KUNIT_EXPECT_PTR_EQ(test, moved, kva);
		}
		/* The place is freed by its owner. */
		pinion_mtt_free(mtt);
	}
	mtt = new_mtt(test, 2, 12, 0);
	KUNIT_EXPECT_PTR_EQ(test, pinion_mtt_settle(&one, mtt), mtt);
	KUNIT_EXPECT_NULL(test, pinion_mtt_settle(&one, NULL));
}

#define TERABYTE_BLOCKS	(SZ_1T / SZ_4K)
#define TERABYTE_LEAVES	(TERABYTE_BLOCKS / 512)

/* Only the upper level is real: 4 MiB of pointers, acceptable for a test. */
static struct pinion_mtt *terabyte(struct kunit *test)
{
	struct pinion_mtt *mtt = kunit_kzalloc(test, sizeof(*mtt), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mtt);
	KUNIT_ASSERT_EQ(test, TERABYTE_LEAVES * sizeof(u64 *), SZ_4M);
	mtt->num_blocks = TERABYTE_BLOCKS;
	mtt->shift = 12;
	mtt->leaf_shift = PINION_MTT_LEAF_SHIFT;
	mtt->leaves = kvmalloc_array(TERABYTE_LEAVES, sizeof(u64 *), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mtt->leaves);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_kv, mtt->leaves), 0);
	return mtt;
}

static void a_terabyte_of_small_pages_has_a_slot_for_each(struct kunit *test)
{
	struct pinion_mtt *mtt = terabyte(test);
	unsigned long base = SZ_1G;
	u64 leaf, wrong = 0;

	/* Leaves at consecutive made-up addresses, never read here. */
	for (leaf = 0; leaf < TERABYTE_LEAVES; leaf++) {
		mtt->leaves[leaf] = (u64 *)(base + leaf * 4096);
		wrong += mtt_leaf_blocks(mtt, leaf) != 512;
	}
	for (leaf = 0; leaf < TERABYTE_LEAVES; leaf++) {
		wrong += pinion_mtt_slot(mtt, leaf * 512) != (u64 *)(base + leaf * 4096);
		wrong += pinion_mtt_slot(mtt, leaf * 512 + 1) != (u64 *)(base + leaf * 4096 + 8);
		wrong += pinion_mtt_slot(mtt, leaf * 512 + 511) !=
			 (u64 *)(base + leaf * 4096 + 4088);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0ULL);
	KUNIT_EXPECT_PTR_EQ(test, pinion_mtt_slot(mtt, TERABYTE_BLOCKS - 1),
			    (u64 *)(base + SZ_2G - 8));
	mtt->num_blocks++;
	KUNIT_EXPECT_EQ(test, mtt_leaf_blocks(mtt, TERABYTE_LEAVES), 1ULL);
}

static void a_terabyte_is_walked_to_its_last_byte(struct kunit *test)
{
	u64 *leaf = kunit_kcalloc(test, 512, sizeof(u64), GFP_KERNEL);
	struct pinion_mtt *mtt = terabyte(test);
	u64 i, offset, inside, wrong = 0;
	struct rnd_state rnd;
	void *kva;

	KUNIT_ASSERT_NOT_NULL(test, leaf);
	/* All pointers lead to the same leaf: the same 2 MiB repeat. */
	for (i = 0; i < 512; i++)
		leaf[i] = SZ_1G + i * SZ_4K;
	for (i = 0; i < TERABYTE_LEAVES; i++)
		mtt->leaves[i] = leaf;

	random_begin(&rnd, 5);
	mtt->first = 4095;
	for (i = 0; i < 100000; i++) {
		offset = random_u64_below(&rnd, SZ_1T - 4095);
		inside = (offset + 4095) % SZ_2M;
		wrong += pinion_mtt_run(mtt, offset, SZ_4M, &kva) != SZ_2M - inside;
		wrong += dma_of(kva) != SZ_1G + inside;
		wrong += pinion_mtt_run(mtt, offset, 1, &kva) != 1;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0ULL);
	KUNIT_EXPECT_EQ(test, pinion_mtt_run(mtt, SZ_1T - 4096, 1, &kva), 1ULL);
	KUNIT_EXPECT_EQ(test, dma_of(kva), (u64)SZ_1G + SZ_2M - 1);
}

static void a_dma_address_becomes_the_address_of_its_page(struct kunit *test)
{
	struct page *page = alloc_page(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_PTR_EQ(test, pinion_dma_to_kva(page_to_phys(page)), page_address(page));
	KUNIT_EXPECT_PTR_EQ(test, pinion_dma_to_kva(page_to_phys(page) + 77),
			    page_address(page) + 77);
	__free_page(page);
}

/* As where an IOMMU or bounce buffers are in between, memory has DMA addresses of its own. */
static void dma_addresses_that_are_not_physical_are_refused(struct kunit *test)
{
	static const struct bus_dma_region elsewhere[] = {
		{ .dma_start = 1ULL << 40, .size = 1ULL << 40 },
		{}
	};
	struct device *dev = kunit_device_register(test, "pinion-dma");

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	KUNIT_ASSERT_EQ(test, dma_coerce_mask_and_coherent(dev, DMA_BIT_MASK(64)), 0);
	KUNIT_EXPECT_EQ(test, pinion_dma_provable(dev), 0);
	dev->dma_range_map = elsewhere;
	KUNIT_EXPECT_EQ(test, pinion_dma_provable(dev), -EOPNOTSUPP);
	/* The core would free it. */
	dev->dma_range_map = NULL;
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(every_byte_is_where_the_list_says, shapes_gen_params),
	KUNIT_CASE(memory_in_one_piece_is_one_run),
	KUNIT_CASE(scattered_memory_is_one_run_a_block),
	KUNIT_CASE_PARAM(every_granule_is_walked_the_same, shifts_gen_params),
	KUNIT_CASE(a_table_keeps_what_each_slot_was_given),
	KUNIT_CASE(a_leaf_has_room_for_its_blocks_and_no_more),
	KUNIT_CASE(leaves_are_as_small_as_ordered),
	KUNIT_CASE(a_table_of_one_block_moves_in_and_no_other),
	KUNIT_CASE(a_terabyte_of_small_pages_has_a_slot_for_each),
	KUNIT_CASE(a_terabyte_is_walked_to_its_last_byte),
	KUNIT_CASE(a_dma_address_becomes_the_address_of_its_page),
	KUNIT_CASE(dma_addresses_that_are_not_physical_are_refused),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_mtt",
	.test_cases = cases,
};

kunit_test_suites(&suite);
