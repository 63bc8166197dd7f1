// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which binds are allowed, and what accesses a bound window allows. The numbers are those of the
 * InfiniBand specification, volume 1, chapter 10.
 */
#include "../kernel/mem/window.c"
#include "windows.h"

static const enum ib_mw_type types[] = { IB_MW_TYPE_1, IB_MW_TYPE_2 };

static void name_type(const enum ib_mw_type *type, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "type %u", *type);
}

KUNIT_ARRAY_PARAM(types, types, name_type);

static struct pair typed_pair(struct kunit *test)
{
	return new_pair(test, *(const enum ib_mw_type *)test->param_value);
}

static void only_types_1_and_2_are_made(struct kunit *test)
{
	struct keys_test *t = test->priv;
	struct pinion_mw mw = { .ibmw.type = 3 };

	KUNIT_EXPECT_EQ(test, pinion_alloc_mw(&t->keys, &mw.ibmw), -EINVAL);
	mw.ibmw.type = 0;
	KUNIT_EXPECT_EQ(test, pinion_alloc_mw(&t->keys, &mw.ibmw), -EINVAL);
	KUNIT_EXPECT_EQ(test, live_keys(test), 0);
}

static void an_unbound_window_lets_nothing_in(struct kunit *test)
{
	struct pair pair = typed_pair(test);

	KUNIT_EXPECT_EQ(test, may_enter_remote(test, pair.window->value, 0, 0, 0),
			PINION_SYN_KEY_STATE);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, pair.window->value, 0, BASE, 1),
			PINION_SYN_KEY_STATE);
}

static void a_bound_window_opens_its_part_of_the_region(struct kunit *test)
{
	struct pair pair = typed_pair(test);
	struct pinion_wqe_bind bind = bind_all(&pair);
	struct pinion_pass pass;

	bind.addr = BASE + 0x123;
	bind.length = 0x1000;
	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_EQ(test, pair.window->value, bind.new_rkey);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair.region->lent), 1);

	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, REMOTE_RIGHTS, BASE + 0x123,
					       0x1000), 0);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE + 0x122, 1),
			PINION_SYN_KEY_RANGE);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE + 0x123, 0x1001),
			PINION_SYN_KEY_RANGE);

	KUNIT_ASSERT_EQ(test, try_enter_remote(test, bind.new_rkey, IB_ACCESS_REMOTE_READ,
					       BASE + 0x200, 16, &pass), 0);
	KUNIT_EXPECT_PTR_EQ(test, pass.key, pair.window);
	KUNIT_EXPECT_PTR_EQ(test, pass.region, pair.region);
	KUNIT_EXPECT_EQ(test, pass.offset, 0x200ULL);
	KUNIT_EXPECT_FALSE(test, gate_is_free(pair.window));
	KUNIT_EXPECT_FALSE(test, gate_is_free(pair.region));
	pinion_key_leave(&pass);
	KUNIT_EXPECT_TRUE(test, gate_is_free(pair.window));
	KUNIT_EXPECT_TRUE(test, gate_is_free(pair.region));
}

static void a_closed_region_shuts_its_window_for_a_while(struct kunit *test)
{
	struct pair pair = typed_pair(test);
	struct pinion_wqe_bind bind = bind_all(&pair);

	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	pinion_key_close(pair.region);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE, 1), PINION_SYN_CLOSED);
	pinion_key_open(pair.region);
	KUNIT_EXPECT_TRUE(test, gate_is_free(pair.window));
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE, 1), 0);
}

static void a_window_serves_no_local_access(struct kunit *test)
{
	struct pair pair = typed_pair(test);
	struct pinion_wqe_bind bind = bind_all(&pair);

	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_EQ(test, may_enter(test, bind.new_rkey, 0, BASE, 1), PINION_SYN_KEY_RIGHTS);
	KUNIT_EXPECT_EQ(test, may_enter(test, bind.new_rkey, IB_ACCESS_LOCAL_WRITE, BASE, 1),
			PINION_SYN_KEY_RIGHTS);
}

static void the_rights_are_the_windows_own(struct kunit *test)
{
	u32 rights[] = { 0, IB_ACCESS_REMOTE_READ, IB_ACCESS_REMOTE_WRITE, IB_ACCESS_REMOTE_ATOMIC,
			 REMOTE_RIGHTS };
	struct pinion_wqe_bind bind;
	struct pair pair;
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(rights); i++) {
		/* The region grants no remote access. */
		pair = typed_pair(test);
		bind = bind_all(&pair);
		bind.access = rights[i];
		KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
		for (j = 0; j < ARRAY_SIZE(rights); j++)
			KUNIT_EXPECT_EQ(test,
					may_enter_remote(test, bind.new_rkey, rights[j], BASE, 1),
					rights[j] & ~rights[i] ? PINION_SYN_KEY_RIGHTS : 0);
	}
}

static void the_old_rkey_ends_when_the_new_begins(struct kunit *test)
{
	struct pair pair = typed_pair(test);
	struct pinion_wqe_bind bind = bind_all(&pair);

	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.mw_rkey, 0, BASE, 1),
			PINION_SYN_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE, 1), 0);
	/* Repeating the same request fails. */
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_UNKNOWN);
}

/* The user chooses only the tag of the new key. */
static void an_rkey_keeps_its_index(struct kunit *test)
{
	struct pinion_wqe_bind bind;
	struct pair pair;
	u32 bit, value;

	for (bit = 8; bit < 32; bit++) {
		pair = typed_pair(test);
		bind = bind_all(&pair);
		value = bind.new_rkey;
		bind.new_rkey ^= 1U << bit;
		KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
		KUNIT_EXPECT_EQ(test, pair.window->value, value);
		KUNIT_EXPECT_EQ(test, may_enter_remote(test, value, 0, BASE, 1), 0);
		KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE, 1),
				PINION_SYN_KEY_UNKNOWN);
	}
}

static void a_window_is_no_region_and_a_region_no_window(struct kunit *test)
{
	struct pair pair = typed_pair(test), other = typed_pair(test);
	struct pinion_key *dma = new_region(test, 0, U64_MAX, ALL_RIGHTS);
	struct keys_test *t = test->priv;
	struct pinion_wqe_bind bind = bind_all(&pair);

	dma->kind = PINION_KEY_DMA;
	bind.mw_rkey = pair.region->value;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_UNKNOWN);
	bind = bind_all(&pair);
	bind.mw_rkey = dma->value;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_UNKNOWN);
	bind = bind_all(&pair);
	bind.mr_lkey = pair.window->value;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_UNKNOWN);
	bind.mr_lkey = other.window->value;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_UNKNOWN);
	bind.mr_lkey = t->keys.null->value;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_UNKNOWN);
	bind.mr_lkey = dma->value;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_UNKNOWN);
	bind.mr_lkey = pair.region->value ^ 1;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_UNKNOWN);
	bind = bind_all(&pair);
	bind.mw_rkey ^= 1;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_UNKNOWN);
}

/* C10-72 */
static void queue_window_and_region_share_a_pd(struct kunit *test)
{
	struct pair pair = typed_pair(test);
	struct pinion_wqe_bind bind = bind_all(&pair);
	struct keys_test *t = test->priv;

	pair.window->pd = &t->other_pd;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_UNKNOWN);
	pair.window->pd = &t->pd;
	pair.region->pd = &t->other_pd;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_UNKNOWN);
	/* Window and region are in the same domain, the queue pair is not. */
	pair.window->pd = &t->other_pd;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_UNKNOWN);
}

/* C10-73 */
static void a_region_must_allow_windows(struct kunit *test)
{
	struct pair pair = typed_pair(test);
	struct pinion_wqe_bind bind = bind_all(&pair);

	pair.region->rights = ALL_RIGHTS & ~IB_ACCESS_MW_BIND;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_RIGHTS);
	pair.region->rights = pinion_key_rights(ALL_RIGHTS | IB_ZERO_BASED);
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_RIGHTS);
}

/* C10-74 */
static void a_window_to_write_needs_a_region_to_write(struct kunit *test)
{
	struct pair pair = typed_pair(test);
	struct pinion_wqe_bind bind = bind_all(&pair);

	pair.region->rights = IB_ACCESS_MW_BIND | REMOTE_RIGHTS;
	bind.access = IB_ACCESS_REMOTE_WRITE;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_RIGHTS);
	bind.access = IB_ACCESS_REMOTE_ATOMIC;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_RIGHTS);
	bind.access = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_RIGHTS);
	bind.access = IB_ACCESS_REMOTE_READ;
	KUNIT_EXPECT_EQ(test, do_bind(test, &bind), 0);
}

/* C10-75 */
static void a_window_is_inside_its_region(struct kunit *test)
{
	struct pair pair = typed_pair(test);
	struct pinion_wqe_bind bind = bind_all(&pair);

	bind.length = LENGTH + 1;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_RANGE);
	bind.length = U64_MAX;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_RANGE);
	bind.addr = BASE - 1;
	bind.length = 2;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_RANGE);
	bind.addr = BASE + LENGTH;
	bind.length = 1;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_RANGE);
	bind.addr = 0xfffffffffffffc00ULL;
	bind.length = 0x400;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_RANGE);
	bind.addr = BASE + LENGTH - 1;
	bind.length = 1;
	KUNIT_EXPECT_EQ(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_EQ(test, pair.window->region_offset, LENGTH - 1);
}

static void a_window_may_end_at_2_to_64(struct kunit *test)
{
	struct pair pair = typed_pair(test);
	struct pinion_wqe_bind bind;

	pair.region->base = -LENGTH;
	bind = bind_all(&pair);
	bind.addr = -1;
	bind.length = 1;
	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, -1, 1), 0);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, -1, 2),
			PINION_SYN_KEY_RANGE);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, 0, 1),
			PINION_SYN_KEY_RANGE);
}

/* Other access flags, known or optional, are ignored. */
static void a_window_gives_remote_rights_only(struct kunit *test)
{
	u32 others[] = { IB_ACCESS_LOCAL_WRITE, IB_ACCESS_MW_BIND, IB_ACCESS_ON_DEMAND,
			 IB_ACCESS_HUGETLB, IB_ACCESS_OPTIONAL };
	struct pinion_wqe_bind bind;
	struct pair pair;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		pair = typed_pair(test);
		bind = bind_all(&pair);
		bind.access = IB_ACCESS_REMOTE_READ | others[i];
		KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
		KUNIT_EXPECT_EQ(test, pair.window->rights, (u32)IB_ACCESS_REMOTE_READ);
		KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, others[i], BASE, 1),
				PINION_SYN_KEY_RIGHTS);
	}
}

static void a_region_must_be_valid(struct kunit *test)
{
	struct pair pair = typed_pair(test);
	struct pinion_wqe_bind bind = bind_all(&pair);

	pair.region->state = PINION_KEY_FREE;
	KUNIT_EXPECT_NE(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_EQ(test, pair.window->state, PINION_KEY_FREE);
	pair.region->state = PINION_KEY_DEAD;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_UNKNOWN);
	pair.region->state = PINION_KEY_VALID;
	KUNIT_EXPECT_EQ(test, do_bind(test, &bind), 0);
}

static void a_dead_window_is_not_bound(struct kunit *test)
{
	struct pair pair = typed_pair(test);
	struct pinion_wqe_bind bind = bind_all(&pair);

	pair.window->state = PINION_KEY_DEAD;
	expect_refused(test, &pair, &bind, PINION_SYN_KEY_UNKNOWN);
}

static void a_bound_region_is_neither_killed_nor_invalidated(struct kunit *test)
{
	struct pair pair = typed_pair(test);
	struct pinion_wqe_bind bind = bind_all(&pair);

	pair.region->invalidatable = true;
	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_EQ(test, pinion_key_kill_unbound(pair.region), -EBUSY);
	KUNIT_EXPECT_EQ(test, invalidate(test, pair.region->value), PINION_SYN_BIND);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE, 1), 0);
	pinion_key_kill(pair.window);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair.region->lent), 0);
	KUNIT_EXPECT_EQ(test, pinion_key_kill_unbound(pair.region), 0);
}

static void a_window_that_is_freed_lets_go_of_its_region(struct kunit *test)
{
	enum ib_mw_type type = *(const enum ib_mw_type *)test->param_value;
	struct pinion_mw *mw = new_window(test, type);
	struct pair pair = {
		.region = new_region(test, BASE, LENGTH, ALL_RIGHTS), .window = mw->key,
	};
	struct pinion_wqe_bind bind = bind_all(&pair);

	KUNIT_EXPECT_EQ(test, mw->ibmw.rkey, mw->key->value);
	KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
	KUNIT_EXPECT_EQ(test, kref_read(&pair.region->ref), 2);
	KUNIT_EXPECT_EQ(test, pinion_dealloc_mw(&mw->ibmw), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair.region->lent), 0);
	KUNIT_EXPECT_EQ(test, kref_read(&pair.region->ref), 1);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, bind.new_rkey, 0, BASE, 1),
			PINION_SYN_KEY_UNKNOWN);
}

static void many_windows_share_a_region(struct kunit *test)
{
	struct pair pair = typed_pair(test);
	struct pinion_key *windows[10];
	struct pinion_wqe_bind bind;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		windows[i] = new_window(test, IB_MW_TYPE_1 + i % 2)->key;
		pair.window = windows[i];
		bind = bind_all(&pair);
		KUNIT_ASSERT_EQ(test, do_bind(test, &bind), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&pair.region->lent), i + 1);
	}
	while (i--) {
		KUNIT_EXPECT_EQ(test, pinion_key_kill_unbound(pair.region), -EBUSY);
		pinion_key_kill(windows[i]);
	}
	KUNIT_EXPECT_EQ(test, pinion_key_kill_unbound(pair.region), 0);
}

/* The count of windows is limited, so that it cannot wrap. */
static void a_region_carries_only_so_many_windows(struct kunit *test)
{
	struct pair pair = typed_pair(test);
	struct pinion_wqe_bind bind = bind_all(&pair);

	atomic_set(&pair.region->lent, PINION_MAX_LENT);
	expect_refused(test, &pair, &bind, PINION_SYN_BIND);
	atomic_set(&pair.region->lent, PINION_MAX_LENT - 1);
	KUNIT_EXPECT_EQ(test, do_bind(test, &bind), 0);
	pinion_key_kill(pair.window);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair.region->lent), PINION_MAX_LENT - 1);
	atomic_set(&pair.region->lent, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(only_types_1_and_2_are_made),
	KUNIT_CASE_PARAM(an_unbound_window_lets_nothing_in, types_gen_params),
	KUNIT_CASE_PARAM(a_bound_window_opens_its_part_of_the_region, types_gen_params),
	KUNIT_CASE_PARAM(a_closed_region_shuts_its_window_for_a_while, types_gen_params),
	KUNIT_CASE_PARAM(a_window_serves_no_local_access, types_gen_params),
	KUNIT_CASE_PARAM(the_rights_are_the_windows_own, types_gen_params),
	KUNIT_CASE_PARAM(the_old_rkey_ends_when_the_new_begins, types_gen_params),
	KUNIT_CASE_PARAM(an_rkey_keeps_its_index, types_gen_params),
	KUNIT_CASE_PARAM(a_window_is_no_region_and_a_region_no_window, types_gen_params),
	KUNIT_CASE_PARAM(queue_window_and_region_share_a_pd, types_gen_params),
	KUNIT_CASE_PARAM(a_region_must_allow_windows, types_gen_params),
	KUNIT_CASE_PARAM(a_window_to_write_needs_a_region_to_write, types_gen_params),
	KUNIT_CASE_PARAM(a_window_is_inside_its_region, types_gen_params),
	KUNIT_CASE_PARAM(a_window_may_end_at_2_to_64, types_gen_params),
	KUNIT_CASE_PARAM(a_window_gives_remote_rights_only, types_gen_params),
	KUNIT_CASE_PARAM(a_region_must_be_valid, types_gen_params),
	KUNIT_CASE_PARAM(a_dead_window_is_not_bound, types_gen_params),
	KUNIT_CASE_PARAM(a_bound_region_is_neither_killed_nor_invalidated, types_gen_params),
	KUNIT_CASE_PARAM(a_window_that_is_freed_lets_go_of_its_region, types_gen_params),
	KUNIT_CASE_PARAM(many_windows_share_a_region, types_gen_params),
	KUNIT_CASE_PARAM(a_region_carries_only_so_many_windows, types_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_window",
	.init = keys_test_init,
	.exit = keys_test_exit,
	.test_cases = cases,
};

kunit_test_suites(&suite);
