/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Regions for fast registration, page lists of made-up memory for them, and the expected places
 * of their bytes.
 */
#ifndef PINION_KUNIT_FASTREGS_H
#define PINION_KUNIT_FASTREGS_H

#include <linux/scatterlist.h>

#include "../kernel/mem/fastreg.h"
#include "../kernel/mem/mtt.h"
#include "keys.h"

#define MAX_PAGES 8

static inline struct pinion_mr *new_fastreg(struct kunit *test, enum ib_mr_type type)
{
	struct keys_test *t = test->priv;
	struct ib_mr *ibmr;

	ibmr = pinion_alloc_mr(&t->keys, &t->pd, type, MAX_PAGES);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ibmr));
	return to_pinion_mr(ibmr);
}

static inline void end_fastreg(struct kunit *test, struct pinion_mr *mr)
{
	KUNIT_EXPECT_PTR_EQ(test, mr->key->mtt, mr->backing.mtt);
	KUNIT_ASSERT_EQ(test, pinion_key_kill_unbound(mr->key), 0);
	pinion_mtt_free(mr->backing.mtt);
	pinion_mtt_free(to_pinion_fastreg(&mr->ibmr)->pages);
	kfree(mr);
}

struct piece {
	u64 address;
	u32 length;
};

/* As ib_map_mr_sg(). Return: how many pieces fit. */
static inline int map(struct kunit *test, struct pinion_mr *mr, u32 page_size,
		      const struct piece *pieces, u32 num_pieces)
{
	struct scatterlist sg[MAX_PAGES + 2];
	u32 i;

	KUNIT_ASSERT_LE(test, num_pieces, ARRAY_SIZE(sg));
	sg_init_table(sg, num_pieces);
	for (i = 0; i < num_pieces; i++) {
		sg_dma_address(&sg[i]) = pieces[i].address;
		sg_dma_len(&sg[i]) = pieces[i].length;
	}
	mr->ibmr.page_size = page_size;
	return pinion_map_mr_sg(&mr->ibmr, sg, num_pieces, NULL);
}

static inline int reg(struct kunit *test, struct pinion_mr *mr, u32 access)
{
	struct pinion_wqe_reg wqe = { .key = mr->key->value, .access = access };
	struct keys_test *t = test->priv;

	return pinion_fastreg(&t->keys, &t->pd, &wqe);
}

static inline void put_in_force(struct kunit *test, struct pinion_mr *mr, u32 page_size,
				const struct piece *pieces, u32 num_pieces, u32 access)
{
	KUNIT_ASSERT_EQ(test, map(test, mr, page_size, pieces, num_pieces), num_pieces);
	KUNIT_ASSERT_EQ(test, reg(test, mr, access), 0);
}

static inline int invalidate(struct kunit *test, struct pinion_mr *mr)
{
	struct keys_test *t = test->priv;

	return pinion_key_invalidate(&t->keys, &t->pd, mr->key->value, 0);
}

/* The place of the byte at @addr, and in @run the number of contiguous bytes from there. */
static inline u64 find(struct kunit *test, struct pinion_mr *mr, u64 addr, u64 length, u64 *run)
{
	struct pinion_pass pass;
	void *kva;

	KUNIT_ASSERT_EQ(test, try_enter(test, mr->key->value, 0, addr, length, &pass), 0);
	*run = pinion_pass_run(&pass, 0, length, &kva);
	pinion_key_leave(&pass);
	return (unsigned long)kva - (unsigned long)pinion_dma_to_kva(0);
}

static inline void expect_pieces(struct kunit *test, struct pinion_mr *mr,
				 const struct piece *pieces, u32 num_pieces)
{
	u64 addr = mr->ibmr.iova, length = mr->ibmr.length, sum = 0, run;
	u32 i;

	for (i = 0; i < num_pieces; i++) {
		KUNIT_EXPECT_EQ(test, find(test, mr, addr + sum, length - sum, &run),
				pieces[i].address);
		KUNIT_EXPECT_EQ(test, run, (u64)pieces[i].length);
		KUNIT_EXPECT_EQ(test, find(test, mr, addr + sum + pieces[i].length - 1, 1, &run),
				pieces[i].address + pieces[i].length - 1);
		sum += pieces[i].length;
	}
	KUNIT_EXPECT_EQ(test, sum, length);
	KUNIT_EXPECT_EQ(test, may_enter(test, mr->key->value, 0, addr + sum, 1),
			PINION_SYN_KEY_RANGE);
	KUNIT_EXPECT_EQ(test, may_enter(test, mr->key->value, 0, addr - 1, 1),
			PINION_SYN_KEY_RANGE);
}

#endif
