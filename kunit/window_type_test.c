// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Differences between windows of type 1 and type 2, and random binds of both. The numbers are
 * those of the InfiniBand specification, volume 1, chapter 10.
 */
#include "random.h"
#include "windows.h"

/* ------------------------------------------------------------------ type 1 */

static void type_1_is_bound_again_elsewhere(struct kunit *test)
{
	struct pair pair = new_pair(test, IB_MW_TYPE_1);
	struct pinion_key *first = pair.region;
	struct pinion_wqe_bind bind = bind_all(&pair);

	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	pair.region = new_region(test, 0x5000, 0x1000, ALL_RIGHTS);
	bind = bind_all(&pair);
	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&first->lent), 0);
	KUNIT_EXPECT_EQ(test, kref_read(&first->ref), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair.region->lent), 1);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE, 1),
			PINION_SYN_KEY_RANGE);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, 0x5000, 0x1000), 0);

	/* A window may be bound again to its own region, too. */
	bind = bind_all(&pair);
	bind.length = 1;
	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair.region->lent), 1);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, 0x5000, 2),
			PINION_SYN_KEY_RANGE);
}

static void type_1_that_is_bound_again_is_of_a_later_era(struct kunit *test)
{
	struct pair pair = new_pair(test, IB_MW_TYPE_1);
	struct pinion_wqe_bind bind = bind_all(&pair);
	u64 first;

	bind.new_rkey = bind.mw_rkey;
	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	first = era_of(test, bind.new_rkey, BASE);
	KUNIT_EXPECT_EQ(test, era_of(test, bind.new_rkey, BASE), first);
	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_GT(test, era_of(test, bind.new_rkey, BASE), first);
}

static void type_1_is_unbound_by_length_0(struct kunit *test)
{
	struct pair pair = new_pair(test, IB_MW_TYPE_1);
	struct pinion_wqe_bind bind = bind_all(&pair);

	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	bind = bind_all(&pair);
	bind.length = 0;
	/* Without a length the region's key is ignored. */
	bind.mr_lkey = 0;
	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_EQ(test, pair.window->state, PINION_KEY_FREE);
	KUNIT_EXPECT_PTR_EQ(test, pair.window->region, NULL);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair.region->lent), 0);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE, 1),
			PINION_SYN_KEY_STATE);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE, 0),
			PINION_SYN_KEY_STATE);
	bind = bind_all(&pair);
	KUNIT_EXPECT_EQ(test, do_bind(test, &bind), 0);
}

static void type_1_that_is_refused_stays_bound_as_it_was(struct kunit *test)
{
	struct pair pair = new_pair(test, IB_MW_TYPE_1);
	struct pinion_wqe_bind bind = bind_all(&pair);
	u32 rkey = bind.new_rkey;

	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	bind = bind_all(&pair);
	bind.length = LENGTH + 1;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_RANGE);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, rkey, 0, BASE, LENGTH), 0);
}

static void type_1_is_open_to_any_queue(struct kunit *test)
{
	struct pair pair = new_pair(test, IB_MW_TYPE_1);
	struct pinion_wqe_bind bind = bind_all(&pair);

	KUNIT_ASSERT_EQ(test, bind_on(test, OTHER_QPN, &bind), 0);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE, 1), 0);
}

static void type_1_is_not_zero_based(struct kunit *test)
{
	struct pair pair = new_pair(test, IB_MW_TYPE_1);
	struct pinion_wqe_bind bind = bind_all(&pair);

	bind.access |= IB_ZERO_BASED;
	expect_refused(test, &pair, &bind, PINION_SYN_BIND);
}

static void type_1_is_not_invalidated(struct kunit *test)
{
	struct pair pair = new_pair(test, IB_MW_TYPE_1);
	struct pinion_wqe_bind bind = bind_all(&pair);

	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_EQ(test, invalidate(test, bind.new_rkey), PINION_SYN_KEY_RIGHTS);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE, 1), 0);
}

/* ------------------------------------------------------------------ type 2 */

/* o10-37.2.30 */
static void type_2_is_bound_only_when_free(struct kunit *test)
{
	struct pair pair = new_pair(test, IB_MW_TYPE_2);
	struct pinion_wqe_bind bind = bind_all(&pair);

	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	bind = bind_all(&pair);
	expect_refused(test, &pair, &bind, PINION_SYN_BIND);
	KUNIT_ASSERT_EQ(test, invalidate(test, pair.window->value), 0);
	KUNIT_EXPECT_EQ(test, do_bind(test, &bind), 0);
}

/* o10-37.2.40 */
static void type_2_is_not_bound_to_nothing(struct kunit *test)
{
	struct pair pair = new_pair(test, IB_MW_TYPE_2);
	struct pinion_wqe_bind bind = bind_all(&pair);

	bind.length = 0;
	expect_refused(test, &pair, &bind, PINION_SYN_BIND);
}

static void type_2_that_is_invalidated_lets_go_of_its_region(struct kunit *test)
{
	struct pair pair = new_pair(test, IB_MW_TYPE_2);
	struct pinion_wqe_bind bind = bind_all(&pair);

	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_EQ(test, invalidate(test, bind.new_rkey), 0);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE, 1),
			PINION_SYN_KEY_STATE);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair.region->lent), 0);
	KUNIT_EXPECT_EQ(test, kref_read(&pair.region->ref), 1);
	KUNIT_EXPECT_EQ(test, pinion_key_kill_unbound(pair.region), 0);
}

static void type_2_is_open_to_the_queue_it_was_bound_on(struct kunit *test)
{
	struct pair pair = new_pair(test, IB_MW_TYPE_2);
	struct pinion_wqe_bind bind = bind_all(&pair);
	struct keys_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, bind_on(test, OTHER_QPN, &bind), 0);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE, 1),
			PINION_SYN_KEY_STATE);
	/* The connected queue pair may invalidate it, another one may not. */
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, bind.new_rkey, TEST_QPN),
			PINION_SYN_KEY_STATE);
	KUNIT_EXPECT_EQ(test, pair.window->state, PINION_KEY_VALID);
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, bind.new_rkey, OTHER_QPN),
			0);
	/* Then it belongs to no queue pair, and may be bound on another one. */
	bind = bind_all(&pair);
	KUNIT_ASSERT_EQ(test, bind_on(test, TEST_QPN, &bind), 0);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE, 1), 0);
}

static void type_2_that_is_bound_again_is_of_a_later_era(struct kunit *test)
{
	struct pair pair = new_pair(test, IB_MW_TYPE_2);
	struct pinion_wqe_bind bind = bind_all(&pair);
	u64 first;

	bind.new_rkey = bind.mw_rkey;
	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	first = era_of(test, bind.new_rkey, BASE);
	KUNIT_ASSERT_EQ(test, invalidate(test, bind.new_rkey), 0);
	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_GT(test, era_of(test, bind.new_rkey, BASE), first);
}

static void type_2_may_count_from_0(struct kunit *test)
{
	struct pair pair = new_pair(test, IB_MW_TYPE_2);
	struct pinion_wqe_bind bind = bind_all(&pair);
	struct pinion_pass pass;

	bind.addr = BASE + 0x321;
	bind.length = 0x100;
	bind.access |= IB_ZERO_BASED;
	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, 0, 0x100), 0);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, 0, 0x101),
			PINION_SYN_KEY_RANGE);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE + 0x321, 1),
			PINION_SYN_KEY_RANGE);
	KUNIT_ASSERT_EQ(test, try_enter_remote(test, bind.new_rkey, 0, 0x10, 1, &pass), 0);
	KUNIT_EXPECT_EQ(test, pass.offset, 0x331ULL);
	pinion_key_leave(&pass);
}

/* ---------------------------------------------------------------- random binds */

/* All rules, written once more: is this bind allowed? */
static bool allowed(const struct keys_test *t, const struct pinion_key *window,
		    const struct pinion_key *region, const struct pinion_wqe_bind *bind)
{
	bool type2 = window->invalidatable, bound = window->state == PINION_KEY_VALID;
	bool writes = bind->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC);

	if (bind->mw_rkey != window->value || window->pd != &t->pd)
		return false;
	if (type2 ? bound : bind->access & IB_ZERO_BASED)
		return false;
	if (!bind->length)
		return !type2;
	return bind->mr_lkey == region->value && region->pd == &t->pd &&
	       region->rights & IB_ACCESS_MW_BIND &&
	       (region->rights & IB_ACCESS_LOCAL_WRITE || !writes) &&
	       (u128)bind->addr + bind->length <= (u128)region->base + region->length &&
	       bind->addr >= region->base;
}

static u64 near(struct rnd_state *rnd, u64 value)
{
	return value + random_below(rnd, 3) - 1;
}

static struct pinion_wqe_bind random_bind(struct rnd_state *rnd, const struct pair *pair)
{
	struct pinion_wqe_bind bind = bind_all(pair);

	bind.addr += random_below(rnd, 0x2000);
	bind.length = random_below(rnd, 0x2000);
	if (random_one_in(rnd, 8))
		bind.length = 0;
	if (random_one_in(rnd, 4))
		bind.length = near(rnd, BASE + LENGTH - bind.addr);
	if (random_one_in(rnd, 8))
		bind.addr = near(rnd, BASE);
	if (random_one_in(rnd, 16))
		bind.addr = U64_MAX - random_below(rnd, 0x2000);
	if (random_one_in(rnd, 16))
		bind.mr_lkey ^= 1U << random_below(rnd, 32);
	if (random_one_in(rnd, 16))
		bind.mw_rkey ^= 1U << random_below(rnd, 32);
	if (random_one_in(rnd, 16))
		bind.new_rkey ^= 1U << random_below(rnd, 32);
	bind.access &= prandom_u32_state(rnd);
	if (random_one_in(rnd, 16))
		bind.access |= 1U << random_below(rnd, 8);
	return bind;
}

static void any_bind_is_done_or_refused_by_the_rules(struct kunit *test)
{
	struct pair pairs[] = { new_pair(test, IB_MW_TYPE_1), new_pair(test, IB_MW_TYPE_2) };
	struct pinion_key *regions[] = { pairs[0].region, pairs[1].region };
	struct keys_test *t = test->priv;
	struct pinion_wqe_bind bind;
	u32 i, done[2] = {};
	struct meaning before, after;
	struct rnd_state rnd;
	struct pair pair;
	bool type2, may;
	int err;

	random_begin(&rnd, 6);
	for (i = 0; i < 10000; i++) {
		type2 = random_one_in(&rnd, 2);
		pair.window = pairs[type2].window;
		pair.region = regions[random_below(&rnd, 2)];
		/* A region with windows must not change. */
		if (!atomic_read(&pair.region->lent))
			pair.region->rights = (random_one_in(&rnd, 8) ? 0 : IB_ACCESS_MW_BIND) |
					      (random_one_in(&rnd, 4) ? 0 : IB_ACCESS_LOCAL_WRITE);
		if (type2 && pair.window->state == PINION_KEY_VALID && !random_one_in(&rnd, 4))
			invalidate(test, pair.window->value);
		pair.window->pd = random_one_in(&rnd, 16) ? &t->other_pd : &t->pd;

		bind = random_bind(&rnd, &pair);
		may = allowed(t, pair.window, pair.region, &bind);
		before = meaning_of(pair.window, regions[0], regions[1]);
		err = do_bind(test, &bind);
		after = meaning_of(pair.window, regions[0], regions[1]);
		KUNIT_ASSERT_EQ_MSG(test, !err, may, "bind %u: %d", i, err);
		if (err)
			KUNIT_EXPECT_MEMEQ(test, &before, &after, sizeof(before));
		KUNIT_EXPECT_EQ(test, after.windows[0] + after.windows[1],
				(pairs[0].window->state == PINION_KEY_VALID) +
				(pairs[1].window->state == PINION_KEY_VALID));
		done[type2] += !err;
	}
	KUNIT_EXPECT_GT(test, done[0], 500);
	KUNIT_EXPECT_GT(test, done[1], 500);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(type_1_is_bound_again_elsewhere),
	KUNIT_CASE(type_1_that_is_bound_again_is_of_a_later_era),
	KUNIT_CASE(type_1_is_unbound_by_length_0),
	KUNIT_CASE(type_1_that_is_refused_stays_bound_as_it_was),
	KUNIT_CASE(type_1_is_open_to_any_queue),
	KUNIT_CASE(type_1_is_not_zero_based),
	KUNIT_CASE(type_1_is_not_invalidated),
	KUNIT_CASE(type_2_is_bound_only_when_free),
	KUNIT_CASE(type_2_is_not_bound_to_nothing),
	KUNIT_CASE(type_2_that_is_invalidated_lets_go_of_its_region),
	KUNIT_CASE(type_2_is_open_to_the_queue_it_was_bound_on),
	KUNIT_CASE(type_2_that_is_bound_again_is_of_a_later_era),
	KUNIT_CASE(type_2_may_count_from_0),
	KUNIT_CASE(any_bind_is_done_or_refused_by_the_rules),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_window_type",
	.init = keys_test_init,
	.exit = keys_test_exit,
	.test_cases = cases,
};

kunit_test_suites(&suite);
