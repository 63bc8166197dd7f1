// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fast registration: the meaning of a page list before, during and after its registration. The
 * pages are made up and never touched.
 */
/* The module itself has the tracepoints. */
#define NOTRACE
#include <linux/sched/mm.h>
#include <linux/sizes.h>

#include "../kernel/mem/fastreg.c"
#include "fastregs.h"

/* First and last byte within pages; no two pages are contiguous. */
static const struct piece ragged[] = {
	{ 0x10000a00, 0x600 }, { 0x20000000, 0x1000 }, { 0x18000000, 0x1000 },
	{ 0x30000000, 0x123 },
};

static void only_regions_of_memory_of_some_pages_are_made(struct kunit *test)
{
	struct keys_test *t = test->priv;

	KUNIT_EXPECT_PTR_EQ(test, pinion_alloc_mr(&t->keys, &t->pd, IB_MR_TYPE_INTEGRITY, 8),
			    ERR_PTR(-EOPNOTSUPP));
	KUNIT_EXPECT_PTR_EQ(test, pinion_alloc_mr(&t->keys, &t->pd, IB_MR_TYPE_MEM_REG, 0),
			    ERR_PTR(-EINVAL));
	KUNIT_EXPECT_PTR_EQ(test, pinion_alloc_mr(&t->keys, &t->pd, IB_MR_TYPE_MEM_REG,
						  PINION_MAX_FASTREG_PAGES + 1), ERR_PTR(-EINVAL));
	KUNIT_EXPECT_EQ(test, live_keys(test), 0);
}

static void a_region_is_shut_until_it_is_registered(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_MEM_REG);

	KUNIT_EXPECT_EQ(test, mr->ibmr.lkey, mr->key->value);
	KUNIT_EXPECT_EQ(test, mr->ibmr.rkey, mr->key->value);
	KUNIT_EXPECT_EQ(test, may_enter(test, mr->key->value, 0, 0, 0), PINION_SYN_KEY_STATE);
	/* Nothing is mapped yet, so registration fails. */
	KUNIT_EXPECT_NE(test, reg(test, mr, 0), 0);
	KUNIT_EXPECT_EQ(test, map(test, mr, SZ_4K, ragged, 4), 4);
	KUNIT_EXPECT_EQ(test, may_enter(test, mr->key->value, 0, ragged[0].address, 1),
			PINION_SYN_KEY_STATE);
	end_fastreg(test, mr);
}

static void a_registered_list_is_where_its_pieces_are(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_MEM_REG);

	put_in_force(test, mr, SZ_4K, ragged, 4, 0);
	expect_pieces(test, mr, ragged, 4);
	end_fastreg(test, mr);
}

static void pages_need_not_be_the_kernels(struct kunit *test)
{
	static const struct piece small[] = {
		{ 0x10000f00, 0x100 }, { 0x20000200, 0x200 }, { 0x20000800, 0x200 },
		{ 0x18000000, 0x80 },
	};
	static const struct piece large[] = {
		{ 0x10001234, 0x10000 - 0x1234 }, { 0x20000000, 0x10000 }, { 0x40000000, 0x8001 },
	};
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_MEM_REG);

	put_in_force(test, mr, 512, small, 4, 0);
	expect_pieces(test, mr, small, 4);
	KUNIT_ASSERT_EQ(test, invalidate(test, mr), 0);
	put_in_force(test, mr, SZ_64K, large, 3, 0);
	expect_pieces(test, mr, large, 3);
	KUNIT_EXPECT_EQ(test, map(test, mr, 3000, large, 1), -EINVAL);
	end_fastreg(test, mr);
}

static void a_list_too_long_is_cut_at_what_fits(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_MEM_REG);
	struct piece pieces[MAX_PAGES + 2];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pieces); i++)
		pieces[i] = (struct piece){ SZ_1M * (10ULL - i), SZ_4K };
	KUNIT_EXPECT_EQ(test, map(test, mr, SZ_4K, pieces, MAX_PAGES + 2), MAX_PAGES);
	KUNIT_ASSERT_EQ(test, reg(test, mr, 0), 0);
	expect_pieces(test, mr, pieces, MAX_PAGES);
	end_fastreg(test, mr);
}

static void the_address_may_be_another_than_the_first_pages(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_MEM_REG);

	KUNIT_ASSERT_EQ(test, map(test, mr, SZ_4K, ragged, 4), 4);
	mr->ibmr.iova = 0x777700000000ULL | (mr->ibmr.iova & 0xffffffff);
	KUNIT_ASSERT_EQ(test, reg(test, mr, 0), 0);
	expect_pieces(test, mr, ragged, 4);
	end_fastreg(test, mr);
}

static void the_rights_are_those_asked_for(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_MEM_REG);
	u64 addr = ragged[0].address;

	put_in_force(test, mr, SZ_4K, ragged, 4, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, may_enter(test, mr->key->value, IB_ACCESS_LOCAL_WRITE, addr, 1), 0);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, mr->key->value, IB_ACCESS_REMOTE_READ, addr,
					       1), 0);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, mr->key->value, IB_ACCESS_REMOTE_WRITE, addr,
					       1), PINION_SYN_KEY_RIGHTS);
	KUNIT_ASSERT_EQ(test, invalidate(test, mr), 0);
	put_in_force(test, mr, SZ_4K, ragged, 4, 0);
	KUNIT_EXPECT_EQ(test, may_enter(test, mr->key->value, IB_ACCESS_LOCAL_WRITE, addr, 1),
			PINION_SYN_KEY_RIGHTS);
	end_fastreg(test, mr);
}

static void what_is_in_force_is_invalidated_before_the_next(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_MEM_REG);

	put_in_force(test, mr, SZ_4K, ragged, 4, 0);
	KUNIT_ASSERT_EQ(test, map(test, mr, SZ_4K, ragged + 1, 2), 2);
	KUNIT_EXPECT_EQ(test, reg(test, mr, 0), PINION_SYN_KEY_STATE);
	KUNIT_ASSERT_EQ(test, invalidate(test, mr), 0);
	KUNIT_EXPECT_EQ(test, may_enter(test, mr->key->value, 0, ragged[0].address, 1),
			PINION_SYN_KEY_STATE);
	KUNIT_ASSERT_EQ(test, reg(test, mr, 0), 0);
	expect_pieces(test, mr, ragged + 1, 2);
	end_fastreg(test, mr);
}

static void mapping_the_next_leaves_what_is_in_force(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_MEM_REG);
	u64 run;

	put_in_force(test, mr, SZ_4K, ragged, 4, 0);
	KUNIT_ASSERT_EQ(test, map(test, mr, SZ_64K, ragged + 2, 1), 1);
	KUNIT_EXPECT_EQ(test, find(test, mr, ragged[0].address, 0x1000, &run), ragged[0].address);
	KUNIT_EXPECT_EQ(test, run, (u64)ragged[0].length);
	KUNIT_EXPECT_EQ(test, find(test, mr, ragged[0].address + 0x600, 0x1000, &run),
			ragged[1].address);
	end_fastreg(test, mr);
}

static void a_list_that_is_registered_again_is_the_same_memory_or_refused(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_MEM_REG);

	put_in_force(test, mr, SZ_4K, ragged, 4, 0);
	KUNIT_ASSERT_EQ(test, invalidate(test, mr), 0);
	if (!reg(test, mr, 0))
		expect_pieces(test, mr, ragged, 4);
	else
		KUNIT_EXPECT_EQ(test, may_enter(test, mr->key->value, 0, ragged[0].address, 1),
				PINION_SYN_KEY_STATE);
	end_fastreg(test, mr);
}

/* A message that resumes in the middle must notice that the memory has changed. */
static void other_memory_is_of_a_later_era(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_MEM_REG);
	u64 first, second;

	put_in_force(test, mr, SZ_4K, ragged, 4, 0);
	first = era_of(test, mr->key->value, ragged[0].address);
	KUNIT_EXPECT_EQ(test, era_of(test, mr->key->value, ragged[0].address), first);
	KUNIT_ASSERT_EQ(test, invalidate(test, mr), 0);
	put_in_force(test, mr, SZ_4K, ragged, 4, 0);
	second = era_of(test, mr->key->value, ragged[0].address);
	KUNIT_EXPECT_LT(test, first, second);
	end_fastreg(test, mr);
}

static void a_new_tag_ends_the_old(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_MEM_REG);
	struct keys_test *t = test->priv;
	struct pinion_wqe_reg wqe = { .key = mr->key->value ^ 0x5a };
	u32 old = mr->key->value;

	KUNIT_ASSERT_EQ(test, map(test, mr, SZ_4K, ragged, 4), 4);
	KUNIT_ASSERT_EQ(test, pinion_fastreg(&t->keys, &t->pd, &wqe), 0);
	KUNIT_EXPECT_EQ(test, may_enter(test, wqe.key, 0, ragged[0].address, 1), 0);
	KUNIT_EXPECT_EQ(test, may_enter(test, old, 0, ragged[0].address, 1),
			PINION_SYN_KEY_UNKNOWN);
	end_fastreg(test, mr);
}

static void who_may_not_register_does_not(struct kunit *test)
{
	struct pinion_key *plain = new_region(test, 0, 4096, 0);
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_MEM_REG);
	struct keys_test *t = test->priv;
	struct pinion_wqe_reg wqe = { .key = mr->key->value };

	KUNIT_ASSERT_EQ(test, map(test, mr, SZ_4K, ragged, 4), 4);
	KUNIT_EXPECT_EQ(test, pinion_fastreg(&t->keys, &t->other_pd, &wqe), PINION_SYN_KEY_UNKNOWN);
	wqe.key ^= 0x100;
	KUNIT_EXPECT_EQ(test, pinion_fastreg(&t->keys, &t->pd, &wqe), PINION_SYN_KEY_UNKNOWN);
	wqe.key = plain->value;
	KUNIT_EXPECT_EQ(test, pinion_fastreg(&t->keys, &t->pd, &wqe), PINION_SYN_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, mr->key->state, PINION_KEY_FREE);
	KUNIT_EXPECT_TRUE(test, gate_is_free(mr->key));
	KUNIT_EXPECT_TRUE(test, gate_is_free(plain));
	end_fastreg(test, mr);
}

#ifdef CONFIG_FAULT_INJECTION
/* Makes one more allocation fail in each round. Return: how many failed. */
static u32 let_allocations_fail(struct kunit *test, enum ib_mr_type type)
{
	struct keys_test *t = test->priv;
	struct ib_mr *ibmr;
	bool hit;
	u32 nth;

	for (nth = 1; nth < 100; nth++) {
		current->fail_nth = nth;
		ibmr = pinion_alloc_mr(&t->keys, &t->pd, type, PINION_MAX_FASTREG_PAGES);
		hit = !current->fail_nth;
		current->fail_nth = 0;
		if (IS_ERR(ibmr)) {
			KUNIT_EXPECT_TRUE(test, hit);
			KUNIT_EXPECT_PTR_EQ(test, ibmr, ERR_PTR(-ENOMEM));
		} else {
			end_fastreg(test, to_pinion_mr(ibmr));
		}
		KUNIT_EXPECT_EQ(test, live_keys(test), 0);
		if (!hit)
			break;
	}
	return nth - 1;
}

static void any_allocation_may_fail(struct kunit *test)
{
	u32 pages = let_allocations_fail(test, IB_MR_TYPE_MEM_REG);
	u32 pieces = let_allocations_fail(test, IB_MR_TYPE_SG_GAPS);

	if (!pages)
		kunit_skip(test, "failslab spares these allocations");
	kunit_info(test, "%u faults with pages, %u with pieces", pages, pieces);
	/* Region, key, and two tables, each in two or three parts. */
	KUNIT_EXPECT_GE(test, pages, 6);
	KUNIT_EXPECT_GE(test, pieces, 8);
}
#else
static void any_allocation_may_fail(struct kunit *test)
{
	kunit_skip(test, "no fault injection in this kernel");
}
#endif

/*
 * So they cannot fail for lack of memory. lockdep complains about an allocation in the reclaim
 * context in which they run here.
 */
static void registering_and_invalidating_allocate_nothing(struct kunit *test)
{
	struct pinion_mr *mr = new_fastreg(test, IB_MR_TYPE_MEM_REG);
	int registered, invalidated;

	KUNIT_ASSERT_EQ(test, map(test, mr, SZ_4K, ragged, 4), 4);
	fs_reclaim_acquire(GFP_KERNEL);
	registered = reg(test, mr, 0);
	invalidated = invalidate(test, mr);
	fs_reclaim_release(GFP_KERNEL);
	KUNIT_EXPECT_EQ(test, registered, 0);
	KUNIT_EXPECT_EQ(test, invalidated, 0);
	end_fastreg(test, mr);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(only_regions_of_memory_of_some_pages_are_made),
	KUNIT_CASE(a_region_is_shut_until_it_is_registered),
	KUNIT_CASE(a_registered_list_is_where_its_pieces_are),
	KUNIT_CASE(pages_need_not_be_the_kernels),
	KUNIT_CASE(a_list_too_long_is_cut_at_what_fits),
	KUNIT_CASE(the_address_may_be_another_than_the_first_pages),
	KUNIT_CASE(the_rights_are_those_asked_for),
	KUNIT_CASE(what_is_in_force_is_invalidated_before_the_next),
	KUNIT_CASE(mapping_the_next_leaves_what_is_in_force),
	KUNIT_CASE(a_list_that_is_registered_again_is_the_same_memory_or_refused),
	KUNIT_CASE(other_memory_is_of_a_later_era),
	KUNIT_CASE(a_new_tag_ends_the_old),
	KUNIT_CASE(who_may_not_register_does_not),
	KUNIT_CASE(any_allocation_may_fail),
	KUNIT_CASE(registering_and_invalidating_allocate_nothing),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_fastreg",
	.init = keys_test_init,
	.exit = keys_test_exit,
	.test_cases = cases,
};

kunit_test_suites(&suite);
