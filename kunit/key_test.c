// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Access checks of keys, one rule a test, on one thread. gate_test.c tests several threads,
 * key_number_test.c the numbers of keys.
 */
#include "../kernel/mem/key.c"
#include "keys.h"

static void a_foreign_pd_is_refused(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, ALL_RIGHTS);
	struct keys_test *t = test->priv;

	key->pd = &t->other_pd;
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, 0, 1), PINION_SYN_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, key->value, 0, 0, 1), PINION_SYN_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, key->value, 0),
			PINION_SYN_KEY_UNKNOWN);
}

static u32 rights_of(u32 bits)
{
	static const u32 rights[] = {
		IB_ACCESS_LOCAL_WRITE, IB_ACCESS_REMOTE_WRITE, IB_ACCESS_REMOTE_READ,
		IB_ACCESS_REMOTE_ATOMIC, IB_ACCESS_FLUSH_GLOBAL, IB_ACCESS_FLUSH_PERSISTENT,
	};
	u32 i, sum = 0;

	for (i = 0; i < ARRAY_SIZE(rights); i++)
		sum |= bits & 1 << i ? rights[i] : 0;
	return sum;
}

/* Every set of rights against every request: all requested rights must be in the set. */
static void every_right_that_is_wanted_must_be_granted(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, 0);
	u32 granted, wanted, i;
	bool all;

	for (granted = 0; granted < 64; granted++)
		for (wanted = 0; wanted < 64; wanted++) {
			key->rights = rights_of(granted);
			for (all = true, i = 0; i < 6; i++)
				if (wanted & 1 << i && !(granted & 1 << i))
					all = false;
			KUNIT_EXPECT_EQ(test, may_enter(test, key->value, rights_of(wanted), 0, 1),
					all ? 0 : PINION_SYN_KEY_RIGHTS);
		}
}

static void local_reading_needs_no_right(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, 0);

	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, 0, 4096), 0);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, IB_ACCESS_LOCAL_WRITE, 0, 4096),
			PINION_SYN_KEY_RIGHTS);
}

struct span {
	u64 base, length;
};

/* Zero-based, ordinary, unaligned, longer than 4 GiB, ending at 2^64. */
static const struct span spans[] = {
	{ 0, 4096 }, { 0, 1 }, { 0x7f0000001000, 8192 }, { 0x7f0000001fff, 3 },
	{ 0x7f0000000123, (5ULL << 30) + 7 }, { 0, 1ULL << 40 },
	{ 0xfffffffffffff000ULL, 4096 }, { U64_MAX, 1 }, { 1ULL << 63, 1ULL << 63 },
};

static void name_span(const struct span *span, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%llu bytes at %#llx", span->length, span->base);
}

KUNIT_ARRAY_PARAM(spans, spans, name_span);

static void only_what_is_inside_is_let_in(struct kunit *test)
{
	const struct span *span = test->param_value;
	struct pinion_key *key = new_region(test, span->base, span->length, 0);
	u64 base = span->base, length = span->length;
	struct pinion_pass pass;

	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, base, length), 0);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, base, 1), 0);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, base, length + 1),
			PINION_SYN_KEY_RANGE);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, base + length - 1, 2),
			PINION_SYN_KEY_RANGE);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, base + length, 1),
			PINION_SYN_KEY_RANGE);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, base - 1, 1), PINION_SYN_KEY_RANGE);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, base - 1, 2), PINION_SYN_KEY_RANGE);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, base, U64_MAX),
			PINION_SYN_KEY_RANGE);
	/* A range from the last byte around 2^64 to before the first is refused. */
	if (length > 1)
		KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, base + length - 1, 1 - length),
				PINION_SYN_KEY_RANGE);

	KUNIT_ASSERT_EQ(test, try_enter(test, key->value, 0, base + length - 1, 1, &pass), 0);
	KUNIT_EXPECT_EQ(test, pass.offset, length - 1);
	KUNIT_EXPECT_PTR_EQ(test, pass.key, key);
	KUNIT_EXPECT_PTR_EQ(test, pass.region, key);
	pinion_key_leave(&pass);
	KUNIT_EXPECT_NULL(test, pass.key);
}

static void a_free_key_is_known_but_shut(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, ALL_RIGHTS);

	key->state = PINION_KEY_FREE;
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, 0, 1), PINION_SYN_KEY_STATE);
	key->state = PINION_KEY_DEAD;
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, 0, 1), PINION_SYN_KEY_UNKNOWN);
}

static void who_is_refused_holds_no_gate(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0x1000, 4096, 0);
	struct keys_test *t = test->priv;

	may_enter(test, key->value ^ 1, 0, 0x1000, 1);
	KUNIT_EXPECT_TRUE(test, gate_is_free(key));
	may_enter(test, key->value, IB_ACCESS_LOCAL_WRITE, 0x1000, 1);
	KUNIT_EXPECT_TRUE(test, gate_is_free(key));
	may_enter(test, key->value, 0, 0, 1);
	KUNIT_EXPECT_TRUE(test, gate_is_free(key));
	key->pd = &t->other_pd;
	may_enter(test, key->value, 0, 0x1000, 1);
	KUNIT_EXPECT_TRUE(test, gate_is_free(key));
	key->pd = &t->pd;
	key->state = PINION_KEY_FREE;
	may_enter(test, key->value, 0, 0x1000, 1);
	KUNIT_EXPECT_TRUE(test, gate_is_free(key));
}

static void who_is_inside_holds_the_gate_and_others_may_join(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, 0);
	struct pinion_pass first, second;

	KUNIT_ASSERT_EQ(test, try_enter(test, key->value, 0, 0, 1, &first), 0);
	KUNIT_EXPECT_FALSE(test, gate_is_free(key));
	KUNIT_ASSERT_EQ(test, try_enter(test, key->value, 0, 0, 4096, &second), 0);
	pinion_key_leave(&first);
	KUNIT_EXPECT_FALSE(test, gate_is_free(key));
	pinion_key_leave(&second);
	KUNIT_EXPECT_TRUE(test, gate_is_free(key));
}

static void a_closed_gate_is_busy_whatever_is_asked(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, 0);

	pinion_key_close(key);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, 0, 1), PINION_SYN_CLOSED);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, 5000, 1), PINION_SYN_CLOSED);
	pinion_key_open(key);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, 0, 1), 0);
}

static void a_dma_key_is_all_of_memory_as_it_is(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, U64_MAX, IB_ACCESS_LOCAL_WRITE);
	struct pinion_pass pass;
	void *kva;

	key->kind = PINION_KEY_DMA;
	KUNIT_ASSERT_EQ(test, try_enter(test, key->value, IB_ACCESS_LOCAL_WRITE, 0x12345678,
					1 << 30, &pass), 0);
	KUNIT_EXPECT_EQ(test, pinion_pass_run(&pass, 0x1000, 1 << 20, &kva), 1ULL << 20);
	KUNIT_EXPECT_PTR_EQ(test, kva, pinion_dma_to_kva(0x12345678 + 0x1000));
	pinion_key_leave(&pass);
}

static void a_dma_key_names_no_address_without_memory(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, U64_MAX, IB_ACCESS_LOCAL_WRITE);
	void *page = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
	u64 there, nowhere = 1ULL << 51;

	KUNIT_ASSERT_NOT_NULL(test, page);
	there = virt_to_phys(page);
	key->kind = PINION_KEY_DMA;
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, there, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, nowhere, 1), PINION_SYN_KEY_RANGE);
	/* Only its first and last byte are inside. */
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, there, nowhere),
			PINION_SYN_KEY_RANGE);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, there, 0ULL - PAGE_SIZE),
			PINION_SYN_KEY_RANGE);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, U64_MAX - 7, 8),
			PINION_SYN_KEY_RANGE);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, nowhere, 0), 0);
}

static void the_null_key_reads_as_zeros_and_swallows_writes(struct kunit *test)
{
	static const u64 addrs[] = { 0, 1, 0x12345678, U64_MAX };
	struct keys_test *t = test->priv;
	u32 null = t->keys.null->value, i;
	struct pinion_pass pass;
	void *kva;
	u64 run;

	for (i = 0; i < ARRAY_SIZE(addrs); i++) {
		KUNIT_ASSERT_EQ(test, try_enter(test, null, 0, addrs[i], 1 << 30, &pass), 0);
		run = pinion_pass_run(&pass, 5000, 1 << 20, &kva);
		KUNIT_EXPECT_GT(test, run, 0ULL);
		KUNIT_EXPECT_LE(test, run, 1ULL << 20);
		KUNIT_EXPECT_NULL(test, memchr_inv(kva, 0, run));
		KUNIT_EXPECT_EQ(test, pinion_pass_run(&pass, 0, 8, &kva), 8ULL);
		pinion_key_leave(&pass);

		KUNIT_ASSERT_EQ(test, try_enter(test, null, IB_ACCESS_LOCAL_WRITE, addrs[i],
						1 << 30, &pass), 0);
		run = pinion_pass_run(&pass, 5000, 1 << 20, &kva);
		KUNIT_EXPECT_LE(test, run, 1ULL << 20);
		memset(kva, 0xee, run);
		pinion_key_leave(&pass);
	}
}

static void the_null_key_is_for_local_use_and_for_good(struct kunit *test)
{
	struct keys_test *t = test->priv;
	u32 null = t->keys.null->value;

	KUNIT_EXPECT_EQ(test, may_enter_remote(test, null, 0, 0, 1), PINION_SYN_KEY_RIGHTS);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, null, IB_ACCESS_REMOTE_WRITE, 0, 1),
			PINION_SYN_KEY_RIGHTS);
	KUNIT_EXPECT_EQ(test, may_enter(test, null ^ 1, 0, 0, 1), PINION_SYN_KEY_UNKNOWN);
	KUNIT_EXPECT_NE(test, pinion_key_invalidate(&t->keys, &t->pd, null, 0), 0);
	KUNIT_EXPECT_NE(test, pinion_key_invalidate(&t->keys, NULL, null, 0), 0);
	KUNIT_EXPECT_EQ(test, may_enter(test, null, 0, 0, 1), 0);
	KUNIT_EXPECT_TRUE(test, gate_is_free(t->keys.null));
}

static void a_run_starts_where_the_pass_was_given(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0x5004, 2 * 4096 - 0x10, 0);
	struct pinion_pass pass;
	void *kva;

	key->mtt = pinion_mtt_alloc(2, 12, 8);
	KUNIT_ASSERT_NOT_NULL(test, key->mtt);
	*pinion_mtt_slot(key->mtt, 0) = 0x70000;
	*pinion_mtt_slot(key->mtt, 1) = 0x30000;
	KUNIT_ASSERT_EQ(test, try_enter(test, key->value, 0, 0x5104, 5000, &pass), 0);
	KUNIT_EXPECT_EQ(test, pass.offset, 0x100ULL);
	KUNIT_EXPECT_EQ(test, pinion_pass_run(&pass, 0x20, 5000, &kva), 4096ULL - 0x128);
	KUNIT_EXPECT_PTR_EQ(test, kva, pinion_dma_to_kva(0x70128));
	KUNIT_EXPECT_EQ(test, pinion_pass_run(&pass, 4096, 100, &kva), 100ULL);
	KUNIT_EXPECT_PTR_EQ(test, kva, pinion_dma_to_kva(0x30108));
	pinion_key_leave(&pass);
	pinion_mtt_free(key->mtt);
}

/* A region of two pages without a table: one may be read, one is missing. */
static bool first_page_writable;

static u64 run_of_two_pages(struct pinion_pager *pager, u64 offset, u64 want, bool writes,
			    void **kva)
{
	if (offset >= PAGE_SIZE || (writes && !first_page_writable))
		return 0;
	return min(want, PAGE_SIZE - offset);
}

static struct pinion_key *new_on_demand(struct kunit *test)
{
	static const struct pinion_pager_ops ops = { .run = run_of_two_pages };
	struct pinion_key *key = new_region(test, 0, 2 * PAGE_SIZE, ALL_RIGHTS);
	/* Only its run operation is called. */
	static struct pinion_pager pager = { .ops = &ops };

	key->pager = &pager;
	first_page_writable = false;
	return key;
}

static u64 run_of(struct kunit *test, u32 value, u32 rights, u64 addr, bool remote)
{
	struct pinion_pass pass;
	void *kva;
	u64 run;

	KUNIT_ASSERT_EQ(test, enter_as(test, value, rights, addr, 8, remote, &pass), 0);
	run = pinion_pass_run(&pass, 0, 8, &kva);
	pinion_key_leave(&pass);
	return run;
}

static void a_missing_page_is_no_run(struct kunit *test)
{
	struct pinion_key *key = new_on_demand(test);

	KUNIT_EXPECT_EQ(test, run_of(test, key->value, 0, 0, false), 8ULL);
	KUNIT_EXPECT_EQ(test, run_of(test, key->value, 0, PAGE_SIZE, false), 0ULL);
	KUNIT_EXPECT_EQ(test, run_of(test, key->value, 0, PAGE_SIZE - 3, false), 3ULL);
}

static void writing_needs_a_page_that_can_be_written_and_reading_none(struct kunit *test)
{
	static const u32 reads[] = { 0, IB_ACCESS_REMOTE_READ };
	static const u32 writes[] = { IB_ACCESS_LOCAL_WRITE, IB_ACCESS_REMOTE_WRITE,
				      IB_ACCESS_REMOTE_ATOMIC };
	struct pinion_key *key = new_on_demand(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(reads); i++)
		KUNIT_EXPECT_EQ(test, run_of(test, key->value, reads[i], 0, reads[i]), 8ULL);
	for (i = 0; i < ARRAY_SIZE(writes); i++)
		KUNIT_EXPECT_EQ(test, run_of(test, key->value, writes[i], 0, i > 0), 0ULL);
	first_page_writable = true;
	for (i = 0; i < ARRAY_SIZE(writes); i++)
		KUNIT_EXPECT_EQ(test, run_of(test, key->value, writes[i], 0, i > 0), 8ULL);
}

/* ------------------------------------------------------------------ killing keys */

static void a_region_with_windows_is_not_killed(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, 0);
	struct keys_test *t = test->priv;
	u32 value = key->value;

	atomic_inc(&key->lent);
	KUNIT_EXPECT_EQ(test, pinion_key_kill_unbound(key), -EBUSY);
	KUNIT_EXPECT_EQ(test, key->state, PINION_KEY_VALID);
	KUNIT_EXPECT_TRUE(test, gate_is_free(key));
	KUNIT_EXPECT_EQ(test, may_enter(test, value, 0, 0, 1), 0);
	atomic_dec(&key->lent);
	KUNIT_EXPECT_EQ(test, pinion_key_kill_unbound(key), 0);
	KUNIT_EXPECT_NULL(test, pinion_key_get(&t->keys, value));
	KUNIT_EXPECT_EQ(test, live_keys(test), 0);
}

static void what_may_be_invalidated_becomes_free(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, ALL_RIGHTS);
	struct keys_test *t = test->priv;

	key->invalidatable = true;
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, key->value, 0), 0);
	KUNIT_EXPECT_EQ(test, key->state, PINION_KEY_FREE);
	KUNIT_EXPECT_TRUE(test, gate_is_free(key));
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, 0, 1), PINION_SYN_KEY_STATE);
	/* Invalidation works on its connected QP, too, and can be repeated. */
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, key->value, TEST_QPN), 0);
	KUNIT_EXPECT_EQ(test, key->state, PINION_KEY_FREE);
}

static void an_ordinary_region_is_not_invalidated(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, ALL_RIGHTS);
	struct keys_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, key->value, 0),
			PINION_SYN_KEY_RIGHTS);
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, key->value, TEST_QPN),
			PINION_SYN_KEY_RIGHTS);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, 0, 1), 0);
}

static void a_region_with_windows_is_not_invalidated(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, ALL_RIGHTS);
	struct keys_test *t = test->priv;

	key->invalidatable = true;
	atomic_inc(&key->lent);
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, key->value, 0),
			PINION_SYN_BIND);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, 0, 1), 0);
	atomic_dec(&key->lent);
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, key->value, 0), 0);
}

static void a_dead_key_is_not_invalidated(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, ALL_RIGHTS);
	struct keys_test *t = test->priv;

	key->invalidatable = true;
	key->state = PINION_KEY_DEAD;
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, key->value, 0),
			PINION_SYN_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, key->state, PINION_KEY_DEAD);
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, key->value ^ 256, 0),
			PINION_SYN_KEY_UNKNOWN);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_foreign_pd_is_refused),
	KUNIT_CASE(every_right_that_is_wanted_must_be_granted),
	KUNIT_CASE(local_reading_needs_no_right),
	KUNIT_CASE_PARAM(only_what_is_inside_is_let_in, spans_gen_params),
	KUNIT_CASE(a_free_key_is_known_but_shut),
	KUNIT_CASE(who_is_refused_holds_no_gate),
	KUNIT_CASE(who_is_inside_holds_the_gate_and_others_may_join),
	KUNIT_CASE(a_closed_gate_is_busy_whatever_is_asked),
	KUNIT_CASE(a_dma_key_is_all_of_memory_as_it_is),
	KUNIT_CASE(a_dma_key_names_no_address_without_memory),
	KUNIT_CASE(the_null_key_reads_as_zeros_and_swallows_writes),
	KUNIT_CASE(the_null_key_is_for_local_use_and_for_good),
	KUNIT_CASE(a_run_starts_where_the_pass_was_given),
	KUNIT_CASE(a_missing_page_is_no_run),
	KUNIT_CASE(writing_needs_a_page_that_can_be_written_and_reading_none),
	KUNIT_CASE(a_region_with_windows_is_not_killed),
	KUNIT_CASE(what_may_be_invalidated_becomes_free),
	KUNIT_CASE(an_ordinary_region_is_not_invalidated),
	KUNIT_CASE(a_region_with_windows_is_not_invalidated),
	KUNIT_CASE(a_dead_key_is_not_invalidated),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_key",
	.init = keys_test_init,
	.exit = keys_test_exit,
	.test_cases = cases,
};

kunit_test_suites(&suite);
