// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Layouts, against a list of their bytes; who may change them, and ranges whose region is gone.
 */
#include "../kernel/mem/layout.c"
#include "keys.h"
#include "random.h"

#define REGIONS		4
#define REGION_LENGTH	0x3000u
#define MOST		12
#define BASE		0x7f0000000123ULL

struct layout_test {
	struct pinion_key *regions[REGIONS];
	struct pinion_layout *layout;
	struct pinion_key *key;
	struct pinion_wqe_layout change;
	struct pinion_wqe_range ranges[MOST];
};

/* Each byte of each region has a unique address. */
static u32 address_of(u32 region, u32 offset)
{
	u32 at = 0x123 + offset;

	return 0x10000000 * (region + 1) + (at >> PAGE_SHIFT) * 2 * PAGE_SIZE +
	       offset_in_page(at);
}

static struct layout_test *new_layout(struct kunit *test, u32 rights)
{
	struct layout_test *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct keys_test *t = test->priv;
	u32 i, block;

	KUNIT_ASSERT_NOT_NULL(test, l);
	for (i = 0; i < REGIONS; i++) {
		struct pinion_mtt *mtt = pinion_mtt_alloc(4, PAGE_SHIFT, 0x123);

		KUNIT_ASSERT_NOT_NULL(test, mtt);
		for (block = 0; block < 4; block++)
			*pinion_mtt_slot(mtt, block) = 0x10000000ULL * (i + 1) +
						       block * 2 * PAGE_SIZE;
		l->regions[i] = new_region(test, BASE, REGION_LENGTH, rights);
		l->regions[i]->mtt = mtt;
	}
	l->layout = pinion_layout_alloc(MOST);
	KUNIT_ASSERT_NOT_NULL(test, l->layout);
	l->key = pinion_key_alloc(&t->keys, PINION_KEY_LAYOUT, GFP_KERNEL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(l->key));
	l->key->pd = &t->pd;
	l->key->layout = l->layout;
	l->key->invalidatable = true;
	pinion_key_publish(l->key);
	l->change = (struct pinion_wqe_layout){
		.key = l->key->value, .new_key = l->key->value, .times = 1,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ,
		.flags = PINION_LAYOUT_RANGES | PINION_LAYOUT_ACCESS,
	};
	return l;
}

static void end_layout(struct layout_test *l)
{
	struct pinion_layout *layout = l->layout;
	u32 i;

	/* The tables are freed first; nothing uses the regions any more. */
	for (i = 0; i < REGIONS; i++)
		pinion_mtt_free(l->regions[i]->mtt);
	pinion_key_kill(l->key);
	pinion_layout_free(layout);
}

static void add(struct layout_test *l, u32 key, u64 addr, u32 length, u32 stride)
{
	l->ranges[l->change.num++] = (struct pinion_wqe_range){
		.key = key, .addr = addr, .length = length, .stride = stride,
	};
}

static int set(struct kunit *test, struct layout_test *l)
{
	struct keys_test *t = test->priv;

	return pinion_layout_set(&t->keys, &t->pd, &l->change, l->ranges);
}

/*
 * Chooses random ranges, which may repeat, within their regions; @addresses gets the address of
 * each byte.
 */
static u32 choose(struct layout_test *l, struct rnd_state *rnd, u32 *addresses)
{
	u32 num = 1 + random_below(rnd, MOST), times = 1 + random_below(rnd, 5);
	u32 region[MOST], from[MOST], i, time, byte, n = 0;

	l->change.num = 0;
	l->change.times = times;
	for (i = 0; i < num; i++) {
		u32 length = random_below(rnd, REGION_LENGTH / times);
		u32 stride = random_below(rnd, (REGION_LENGTH - length) / times);

		region[i] = random_below(rnd, REGIONS);
		from[i] = random_below(rnd, REGION_LENGTH - length - stride * (times - 1));
		if (random_one_in(rnd, 5))
			length = 0;
		add(l, l->regions[region[i]]->value, BASE + from[i], length, stride);
	}
	for (time = 0; time < times; time++)
		for (i = 0; i < num; i++)
			for (byte = 0; byte < l->ranges[i].length; byte++)
				addresses[n++] = address_of(region[i], from[i] + byte +
							    time * l->ranges[i].stride);
	return n;
}

static void each_byte_is_where_its_range_has_it(struct kunit *test)
{
	u32 *addresses = kunit_kcalloc(test, MOST * REGION_LENGTH, sizeof(u32), GFP_KERNEL);
	struct layout_test *l = new_layout(test, IB_ACCESS_LOCAL_WRITE);
	u32 round, length, offset, passes = 0;
	struct rnd_state rnd;

	KUNIT_ASSERT_NOT_NULL(test, addresses);
	random_begin(&rnd, 61);
	for (round = 0; round < 100; round++) {
		length = choose(l, &rnd, addresses);
		if (!length)
			continue;
		/* The key may be shorter than its ranges. */
		l->change.length = length - random_below(&rnd, min(length, 9u));
		KUNIT_ASSERT_EQ(test, set(test, l), 0);
		for (offset = 0; offset < l->change.length; passes++) {
			u64 want = min(1 + random_below(&rnd, 2 * PAGE_SIZE),
				       l->change.length - offset);
			struct pinion_pass pass;
			u64 got, byte;
			void *kva;

			KUNIT_ASSERT_EQ(test, try_enter(test, l->key->value, IB_ACCESS_LOCAL_WRITE,
							offset, want, &pass), 0);
			KUNIT_ASSERT_GT(test, pass.length, 0ULL);
			KUNIT_ASSERT_LE(test, pass.length, want);
			got = pinion_pass_run(&pass, 0, want, &kva);
			pinion_key_leave(&pass);
			KUNIT_ASSERT_GT(test, got, 0ULL);
			KUNIT_ASSERT_LE(test, got, pass.length);
			for (byte = 0; byte < got; byte++)
				KUNIT_ASSERT_PTR_EQ(test, kva + byte,
						    pinion_dma_to_kva(addresses[offset + byte]));
			offset += got;
		}
		KUNIT_ASSERT_EQ(test, may_enter(test, l->key->value, 0, 0, l->change.length + 1),
				PINION_SYN_KEY_RANGE);
	}
	KUNIT_EXPECT_GT(test, passes, 1000);
	KUNIT_EXPECT_TRUE(test, gate_is_free(l->key));
	end_layout(l);
}

static void lengths_have_to_be_there(struct kunit *test)
{
	static const struct {
		u32 length, times;
		u64 all;
		int syndrome;
	} cases[] = {
		{ 7, 1, 7, 0 }, { 7, 1, 8, PINION_SYN_BIND }, { 7, 3, 21, 0 }, { 7, 3, 1, 0 },
		{ 7, 3, 22, PINION_SYN_BIND }, { 7, 0, 0, PINION_SYN_BIND },
		{ 0, 5, 0, PINION_SYN_BIND }, { 7, 1, U64_MAX, PINION_SYN_BIND },
		{ 7, U32_MAX, U64_MAX, PINION_SYN_BIND }, { U32_MAX, U32_MAX, U64_MAX,
							    PINION_SYN_BIND },
		{ U32_MAX, U32_MAX, (u64)U32_MAX * U32_MAX, 0 },
		{ U32_MAX, U32_MAX, (u64)U32_MAX * U32_MAX + 1, PINION_SYN_BIND },
	};
	struct layout_test *l = new_layout(test, 0);
	u32 generation;
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		generation = l->key->generation;
		l->change.num = 0;
		add(l, l->regions[0]->value, BASE, cases[i].length, 0);
		l->change.times = cases[i].times;
		l->change.length = cases[i].all;
		KUNIT_EXPECT_EQ_MSG(test, set(test, l), cases[i].syndrome, "%d", i);
		/* A refused change has no effect. */
		KUNIT_EXPECT_EQ(test, l->key->generation - generation, !cases[i].syndrome);
		KUNIT_EXPECT_EQ(test, l->key->length == cases[i].all, !cases[i].syndrome);
	}
	l->change.times = 1;
	l->change.length = 1;
	l->change.num = 0;
	KUNIT_EXPECT_EQ(test, set(test, l), PINION_SYN_BIND);
	l->change.num = MOST + 1;
	KUNIT_EXPECT_EQ(test, set(test, l), PINION_SYN_BIND);
	end_layout(l);
}

static void nobody_changes_what_is_not_his(struct kunit *test)
{
	struct layout_test *l = new_layout(test, 0);
	struct keys_test *t = test->priv;

	add(l, l->regions[0]->value, BASE, 8, 0);
	l->change.length = 8;
	l->change.key = l->key->value ^ 1;
	KUNIT_EXPECT_EQ(test, set(test, l), PINION_SYN_KEY_UNKNOWN);
	l->change.key = l->regions[0]->value;
	KUNIT_EXPECT_EQ(test, set(test, l), PINION_SYN_KEY_UNKNOWN);
	l->change.key = l->key->value;
	l->key->pd = &t->other_pd;
	KUNIT_EXPECT_EQ(test, set(test, l), PINION_SYN_KEY_UNKNOWN);
	l->key->pd = &t->pd;
	/* Rights alone, before there are any ranges. */
	l->change.flags = PINION_LAYOUT_ACCESS;
	KUNIT_EXPECT_EQ(test, set(test, l), PINION_SYN_BIND);
	KUNIT_EXPECT_EQ(test, may_enter(test, l->key->value, 0, 0, 8), PINION_SYN_KEY_STATE);
	l->change.flags = PINION_LAYOUT_RANGES;
	KUNIT_ASSERT_EQ(test, set(test, l), 0);
	KUNIT_EXPECT_EQ(test, may_enter(test, l->key->value, 0, 0, 8), 0);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, l->key->value, IB_ACCESS_REMOTE_READ, 0, 8),
			PINION_SYN_KEY_RIGHTS);
	/*
	 * Rights alone, with ranges: changes the tag, too, and drops rights that such keys
	 * cannot have.
	 */
	l->change.flags = PINION_LAYOUT_ACCESS;
	l->change.access = IB_ACCESS_REMOTE_READ | IB_ACCESS_MW_BIND;
	l->change.new_key = l->key->value ^ 0x5a;
	KUNIT_ASSERT_EQ(test, set(test, l), 0);
	KUNIT_EXPECT_EQ(test, l->key->value, l->change.new_key);
	KUNIT_EXPECT_EQ(test, may_enter(test, l->change.key, 0, 0, 8), PINION_SYN_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, may_enter_remote(test, l->key->value, IB_ACCESS_REMOTE_READ, 0, 8),
			0);
	KUNIT_EXPECT_EQ(test, l->key->rights, IB_ACCESS_REMOTE_READ);
	end_layout(l);
}

/* Three ranges, of which the second has @key: accesses of the first and the third succeed. */
static void expect(struct kunit *test, struct layout_test *l, u32 key, u64 addr, u32 length,
		   u32 rights, int syndrome)
{
	l->change.num = 0;
	l->change.length = length + 16;
	add(l, l->regions[0]->value, BASE, 8, 0);
	add(l, key, addr, length, 0);
	add(l, l->regions[1]->value, BASE, 8, 0);
	KUNIT_ASSERT_EQ(test, set(test, l), 0);
	KUNIT_EXPECT_EQ(test, may_enter(test, l->key->value, 0, 0, length + 16), 0);
	KUNIT_EXPECT_EQ(test, may_enter(test, l->key->value, rights, 8, length + 8), syndrome);
	KUNIT_EXPECT_EQ(test, may_enter(test, l->key->value, 0, 8 + length, 8), 0);
	KUNIT_EXPECT_TRUE(test, gate_is_free(l->key));
	KUNIT_EXPECT_TRUE(test, gate_is_free(l->regions[2]));
}

static void a_range_is_asked_when_it_is_reached(struct kunit *test)
{
	struct layout_test *l = new_layout(test, IB_ACCESS_LOCAL_WRITE);
	struct keys_test *t = test->priv;
	struct pinion_key *region = l->regions[2];
	u32 key = region->value, writing = IB_ACCESS_LOCAL_WRITE;
	struct pinion_mtt *mtt;

	expect(test, l, key, BASE, REGION_LENGTH, writing, 0);
	expect(test, l, key ^ 1, BASE, 1, 0, PINION_SYN_KEY_UNKNOWN);
	expect(test, l, t->keys.null->value, 0, 1, 0, PINION_SYN_KEY_UNKNOWN);
	/* A range cannot refer to a key of this kind, nor to itself. */
	expect(test, l, l->key->value, 0, 1, 0, PINION_SYN_KEY_UNKNOWN);
	expect(test, l, key, BASE - 1, 2, 0, PINION_SYN_KEY_RANGE);
	expect(test, l, key, BASE + 1, REGION_LENGTH, 0, PINION_SYN_KEY_RANGE);
	expect(test, l, key, U64_MAX, U32_MAX, 0, PINION_SYN_KEY_RANGE);
	region->rights = 0;
	expect(test, l, key, BASE, 1, 0, 0);
	expect(test, l, key, BASE, 1, writing, PINION_SYN_KEY_RIGHTS);
	region->pd = &t->other_pd;
	expect(test, l, key, BASE, 1, 0, PINION_SYN_KEY_UNKNOWN);
	region->pd = &t->pd;
	/* Ranges hold no reference on a region, so it can be killed; then the range is invalid. */
	mtt = region->mtt;
	KUNIT_ASSERT_EQ(test, pinion_key_kill_unbound(region), 0);
	l->regions[2] = new_region(test, BASE, REGION_LENGTH, 0);
	l->regions[2]->mtt = mtt;
	expect(test, l, key, BASE, 1, 0, PINION_SYN_KEY_UNKNOWN);
	end_layout(l);
}

/*
 * If the gate of the range's region is closed, the reader waits for that gate, not for the
 * key's.
 */
static void a_closed_region_is_waited_for(struct kunit *test)
{
	struct layout_test *l = new_layout(test, 0);
	struct pinion_pass pass;

	add(l, l->regions[0]->value, BASE, 8, 0);
	l->change.length = 8;
	KUNIT_ASSERT_EQ(test, set(test, l), 0);
	shut(l->regions[0]);
	KUNIT_EXPECT_EQ(test, try_enter(test, l->key->value, 0, 0, 8, &pass), PINION_SYN_CLOSED);
	KUNIT_EXPECT_EQ(test, pass.closed, l->regions[0]->value);
	KUNIT_EXPECT_TRUE(test, gate_is_free(l->key));
	unshut(l->regions[0]);
	shut(l->key);
	KUNIT_EXPECT_EQ(test, try_enter(test, l->key->value, 0, 0, 8, &pass), PINION_SYN_CLOSED);
	KUNIT_EXPECT_EQ(test, pass.closed, l->key->value);
	unshut(l->key);
	KUNIT_EXPECT_EQ(test, may_enter(test, l->key->value, 0, 0, 8), 0);
	end_layout(l);
}

static void a_peer_invalidates_what_it_may(struct kunit *test)
{
	struct layout_test *l = new_layout(test, 0);
	struct keys_test *t = test->priv;

	add(l, l->regions[0]->value, BASE, 8, 0);
	l->change.length = 8;
	KUNIT_ASSERT_EQ(test, set(test, l), 0);
	l->key->own_only = true;
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, l->key->value, TEST_QPN),
			PINION_SYN_KEY_RIGHTS);
	KUNIT_EXPECT_EQ(test, may_enter(test, l->key->value, 0, 0, 8), 0);
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, l->key->value, 0), 0);
	KUNIT_EXPECT_EQ(test, may_enter(test, l->key->value, 0, 0, 8), PINION_SYN_KEY_STATE);
	KUNIT_ASSERT_EQ(test, set(test, l), 0);
	l->key->own_only = false;
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, l->key->value, TEST_QPN),
			0);
	KUNIT_EXPECT_EQ(test, may_enter(test, l->key->value, 0, 0, 8), PINION_SYN_KEY_STATE);
	end_layout(l);
}

/* A layout does not keep a region from changing, so who goes on in it must notice. */
static void a_region_that_changes_is_of_a_later_era(struct kunit *test)
{
	struct layout_test *l = new_layout(test, 0);
	u64 first, second;

	l->change.length = 16;
	add(l, l->regions[0]->value, BASE, 8, 0);
	add(l, l->regions[1]->value, BASE, 8, 0);
	KUNIT_ASSERT_EQ(test, set(test, l), 0);
	first = era_of(test, l->key->value, 0);
	KUNIT_EXPECT_EQ(test, era_of(test, l->key->value, 8), first);
	pinion_key_close(l->regions[1]);
	pinion_key_exchanged(l->regions[1]);
	pinion_key_open(l->regions[1]);
	second = era_of(test, l->key->value, 8);
	KUNIT_EXPECT_GT(test, second, first);
	KUNIT_EXPECT_EQ(test, era_of(test, l->key->value, 0), first);
	KUNIT_ASSERT_EQ(test, set(test, l), 0);
	KUNIT_EXPECT_GT(test, era_of(test, l->key->value, 0), second);
	end_layout(l);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(each_byte_is_where_its_range_has_it),
	KUNIT_CASE(lengths_have_to_be_there),
	KUNIT_CASE(nobody_changes_what_is_not_his),
	KUNIT_CASE(a_range_is_asked_when_it_is_reached),
	KUNIT_CASE(a_closed_region_is_waited_for),
	KUNIT_CASE(a_peer_invalidates_what_it_may),
	KUNIT_CASE(a_region_that_changes_is_of_a_later_era),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_layout",
	.init = keys_test_init,
	.exit = keys_test_exit,
	.test_cases = cases,
};

kunit_test_suites(&suite);
