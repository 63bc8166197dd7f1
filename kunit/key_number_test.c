// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Numbers of keys: allocation, look-up and release.
 */
#include <linux/kthread.h>
#include <linux/preempt.h>

#include "../kernel/mem/keys.c"
#include "keys.h"
#include "random.h"

static void a_key_is_found_once_published_until_killed(struct kunit *test)
{
	struct keys_test *t = test->priv;
	struct pinion_key *key = pinion_key_alloc(&t->keys, PINION_KEY_REGION, GFP_KERNEL);
	u32 value;

	KUNIT_ASSERT_FALSE(test, IS_ERR(key));
	KUNIT_EXPECT_EQ(test, key->value, 0);
	KUNIT_EXPECT_NULL(test, pinion_key_get(&t->keys, 0));
	key->pd = &t->pd;
	key->length = 1;
	key->state = PINION_KEY_VALID;
	KUNIT_EXPECT_EQ(test, may_enter(test, 0, 0, 0, 1), PINION_SYN_KEY_UNKNOWN);
	pinion_key_publish(key);
	value = key->value;
	KUNIT_ASSERT_PTR_EQ(test, pinion_key_get(&t->keys, value), key);
	pinion_key_put(key);
	KUNIT_EXPECT_EQ(test, may_enter(test, value, 0, 0, 1), 0);
	pinion_key_kill(key);
	KUNIT_EXPECT_NULL(test, pinion_key_get(&t->keys, value));
	KUNIT_EXPECT_EQ(test, may_enter(test, value, 0, 0, 1), PINION_SYN_KEY_UNKNOWN);
	pinion_key_wait(&t->keys, value);
}

static void an_unpublished_key_can_be_killed(struct kunit *test)
{
	struct keys_test *t = test->priv;
	struct pinion_key *key = pinion_key_alloc(&t->keys, PINION_KEY_REGION, GFP_KERNEL);

	KUNIT_ASSERT_FALSE(test, IS_ERR(key));
	KUNIT_EXPECT_EQ(test, live_keys(test), 1);
	pinion_key_kill(key);
	KUNIT_EXPECT_EQ(test, live_keys(test), 0);
}

static void a_held_key_outlives_its_death_and_stays_dead(struct kunit *test)
{
	struct keys_test *t = test->priv;
	struct pinion_key *key = new_region(test, 0, 4096, 0);

	KUNIT_ASSERT_PTR_EQ(test, pinion_key_get(&t->keys, key->value), key);
	pinion_key_kill(key);
	KUNIT_EXPECT_EQ(test, key->state, PINION_KEY_DEAD);
	KUNIT_EXPECT_TRUE(test, gate_is_free(key));
	pinion_key_put(key);
}

static void all_32_bits_are_compared(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, 0);
	struct keys_test *t = test->priv;
	u32 bit, other;

	for (bit = 0; bit < 32; bit++) {
		other = key->value ^ 1U << bit;
		KUNIT_EXPECT_NULL(test, pinion_key_get(&t->keys, other));
		KUNIT_EXPECT_EQ(test, may_enter(test, other, 0, 0, 1), PINION_SYN_KEY_UNKNOWN);
		KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, other, 0),
				PINION_SYN_KEY_UNKNOWN);
	}
	KUNIT_EXPECT_EQ(test, may_enter(test, 0, 0, 0, 1), PINION_SYN_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, 0, 1), 0);
}

static void any_tag_finds_the_index(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, 0);
	struct keys_test *t = test->priv;
	u32 tag;

	for (tag = 0; tag < 256; tag++) {
		KUNIT_ASSERT_PTR_EQ(test, pinion_key_get_any_tag(&t->keys, key->value ^ tag), key);
		pinion_key_put(key);
	}
	KUNIT_EXPECT_NULL(test, pinion_key_get_any_tag(&t->keys, key->value ^ 256));
}

static void the_table_is_full_at_its_limit(struct kunit *test)
{
	struct keys_test *t = test->priv;
	struct pinion_key *key[3], *one_more;
	u32 i;

	t->keys.max = t->own + 3;
	for (i = 0; i < 3; i++)
		key[i] = new_region(test, 0, 1, 0);
	for (i = 0; i < 5; i++) {
		one_more = pinion_key_alloc(&t->keys, PINION_KEY_REGION, GFP_KERNEL);
		KUNIT_EXPECT_PTR_EQ(test, one_more, ERR_PTR(-ENOMEM));
	}
	pinion_key_kill(key[1]);
	key[1] = new_region(test, 0, 1, 0);
	KUNIT_EXPECT_EQ(test, live_keys(test), 3);
}

#define MANY 10000

/* Ten standard deviations of a fair coin thrown MANY times. */
#define FAIR(count, expected) (abs((int)(count) - (int)(expected)) < 500)

static void numbers_are_distinct_and_look_random(struct kunit *test)
{
	u32 ones[32] = {}, top[16] = {}, tag[16] = {}, rises = 0, steps = 0;
	u32 i, bit, index, last = 0, wrong = 0, found = 0;
	struct keys_test *t = test->priv;
	struct pinion_key *key;

	for (i = 0; i < MANY; i++) {
		key = pinion_key_alloc(&t->keys, PINION_KEY_REGION, GFP_KERNEL);
		KUNIT_ASSERT_FALSE(test, IS_ERR(key));
		pinion_key_publish(key);
		wrong += key->value >> 8 != key->index || !key->index;
		for (bit = 0; bit < 32; bit++)
			ones[bit] += key->value >> bit & 1;
		top[key->value >> 28]++;
		tag[key->value & 15]++;
		rises += key->value > last;
		steps += abs((int)(key->index - (last >> 8))) < 256;
		last = key->value;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, live_keys(test), MANY);
	/* All are found, so no two share an index. */
	for (index = 0, last = 0; (key = pinion_keys_next(&t->keys, &index)); index++) {
		found += key->index == index && key->index > last && key != t->keys.null;
		last = key->index;
		pinion_key_put(key);
	}
	KUNIT_EXPECT_EQ(test, found, MANY);
	for (bit = 0; bit < 32; bit++)
		KUNIT_EXPECT_TRUE_MSG(test, FAIR(ones[bit], MANY / 2), "bit %u: %u", bit,
				      ones[bit]);
	for (i = 0; i < 16; i++) {
		KUNIT_EXPECT_TRUE_MSG(test, FAIR(top[i], MANY / 16), "index %x...: %u", i, top[i]);
		KUNIT_EXPECT_TRUE_MSG(test, FAIR(tag[i], MANY / 16), "tag .%x: %u", i, tag[i]);
	}
	/* Neither an up or down counter nor one in small steps. */
	KUNIT_EXPECT_TRUE_MSG(test, FAIR(rises, MANY / 2), "%u", rises);
	KUNIT_EXPECT_LT(test, steps, 20);
}

/* ------------------------------------------------------ the table grows and shrinks */

struct resizing {
	struct pinion_keys *keys;
	struct pinion_key *kept[64];
	unsigned long lookups, missed, foreign;
};

/* Looks up keys that exist all the time; each must be found at once. */
static int look_for_those_kept(void *arg)
{
	struct resizing *r = arg;
	struct pinion_key *key, *found;
	u32 i;

	while (!kthread_should_stop()) {
		for (i = 0; i < ARRAY_SIZE(r->kept); i++) {
			key = r->kept[i];
			rcu_read_lock();
			found = pinion_keys_find_rcu(r->keys, key->value);
			rcu_read_unlock();
			r->lookups++;
			r->missed += !found;
			r->foreign += found && found != key;
		}
		cond_resched();
	}
	return 0;
}

static u8 bits_of(struct pinion_keys *keys)
{
	flush_workqueue(keys->reaps);
	return rcu_dereference_protected(keys->table, true)->bits;
}

static void add_many(struct kunit *test, struct pinion_key **many)
{
	struct keys_test *t = test->priv;
	u32 i;

	for (i = 0; i < MANY; i++) {
		many[i] = pinion_key_alloc(&t->keys, PINION_KEY_REGION, GFP_KERNEL);
		KUNIT_ASSERT_FALSE(test, IS_ERR(many[i]));
		pinion_key_publish(many[i]);
		cond_resched();
	}
}

static void a_table_grows_and_shrinks_and_all_are_found(struct kunit *test)
{
	struct pinion_key **many = kunit_kcalloc(test, MANY, sizeof(*many), GFP_KERNEL);
	struct keys_test *t = test->priv;
	struct task_struct *thread;
	struct resizing r = { .keys = &t->keys };
	u32 i, round, wrong = 0;

	KUNIT_ASSERT_NOT_NULL(test, many);
	for (i = 0; i < ARRAY_SIZE(r.kept); i++)
		r.kept[i] = new_region(test, 0, 1, 0);
	KUNIT_EXPECT_EQ(test, bits_of(&t->keys), MIN_BITS);
	thread = kthread_run(look_for_those_kept, &r, "pinion_finder");
	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	for (round = 0; round < 3; round++) {
		add_many(test, many);
		/* At least as many lists as keys, and at most four times that. */
		KUNIT_EXPECT_GE(test, 1U << bits_of(&t->keys), (u32)MANY);
		KUNIT_EXPECT_LE(test, 1U << bits_of(&t->keys), 4U * MANY);
		for (i = 0; i < MANY; i++) {
			rcu_read_lock();
			wrong += pinion_keys_find_rcu(&t->keys, many[i]->value) != many[i];
			rcu_read_unlock();
		}
		for (i = 0; i < MANY; i++) {
			pinion_key_kill(many[i]);
			cond_resched();
		}
		KUNIT_EXPECT_LE(test, 1U << bits_of(&t->keys), 8U * ARRAY_SIZE(r.kept) + 8);
	}
	kthread_stop(thread);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_GT(test, r.lookups, 0UL);
	KUNIT_EXPECT_EQ(test, r.missed, 0UL);
	KUNIT_EXPECT_EQ(test, r.foreign, 0UL);
}

static bool is_found(struct pinion_keys *keys, const struct pinion_key *key)
{
	bool found;

	rcu_read_lock();
	found = pinion_keys_find_rcu(keys, key->value) == key;
	rcu_read_unlock();
	return found;
}

/*
 * No lock is taken that its holder could be preempted with. The kernel complains of one that may
 * sleep.
 */
static void keys_come_and_go_without_sleeping(struct kunit *test)
{
	struct pinion_key **many = kunit_kcalloc(test, MANY, sizeof(*many), GFP_KERNEL);
	struct keys_test *t = test->priv;
	u32 i, wrong = 0;

	KUNIT_ASSERT_NOT_NULL(test, many);
	for (i = 0; i < MANY; i++) {
		many[i] = pinion_key_alloc(&t->keys, PINION_KEY_REGION, GFP_KERNEL);
		KUNIT_ASSERT_FALSE(test, IS_ERR(many[i]));
		preempt_disable();
		pinion_keys_add(&t->keys, many[i]);
		wrong += !is_found(&t->keys, many[i]);
		preempt_enable();
		cond_resched();
	}
	KUNIT_EXPECT_GE(test, 1U << bits_of(&t->keys), (u32)MANY);
	for (i = 0; i < MANY; i++) {
		preempt_disable();
		pinion_keys_remove(&t->keys, many[i]);
		wrong += is_found(&t->keys, many[i]);
		preempt_enable();
		many[i]->index = 0; /* it is in no table any more, for pinion_key_kill() */
		pinion_key_kill(many[i]);
		cond_resched();
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* Adds keys, keeps each for a while, and removes them; each must be found just as long. */
#define CHANGED 64

struct changer {
	struct pinion_keys *keys;
	struct pinion_key *key[CHANGED];	/* in the table */
	struct pinion_key *gone[CHANGED];	/* removed; a reference keeps the number */
	unsigned long changes, wrong;
	struct rnd_state rnd;
};

static void change_one(struct changer *c, u32 i)
{
	struct pinion_key *key = c->key[i];

	if (key) {
		c->wrong += !is_found(c->keys, key);
		if (c->gone[i])
			pinion_key_put(c->gone[i]);
		kref_get(&key->ref);
		pinion_key_kill(key);
		c->wrong += is_found(c->keys, key);
		c->gone[i] = key;
		c->key[i] = NULL;
		return;
	}
	key = pinion_key_alloc(c->keys, PINION_KEY_REGION, GFP_KERNEL);
	if (IS_ERR(key))
		return;
	pinion_key_publish(key);
	c->wrong += !is_found(c->keys, key);
	c->key[i] = key;
}

static int change_keys(void *arg)
{
	struct changer *c = arg;
	u32 i;

	while (!kthread_should_stop()) {
		i = random_below(&c->rnd, CHANGED);
		change_one(c, i);
		c->changes++;
		/* When the table was replaced, those removed meanwhile must not be back. */
		i = random_below(&c->rnd, CHANGED);
		c->wrong += c->gone[i] && is_found(c->keys, c->gone[i]);
		c->wrong += c->key[i] && !is_found(c->keys, c->key[i]);
		cond_resched();
	}
	return 0;
}

/* The table is not replaced any more. */
static void end_changer(struct kunit *test, struct changer *c)
{
	u32 i;

	KUNIT_EXPECT_GT(test, c->changes, 1000UL);
	KUNIT_EXPECT_EQ(test, c->wrong, 0UL);
	for (i = 0; i < CHANGED; i++) {
		if (c->gone[i]) {
			KUNIT_EXPECT_FALSE(test, is_found(c->keys, c->gone[i]));
			pinion_key_put(c->gone[i]);
		}
		if (c->key[i]) {
			KUNIT_EXPECT_TRUE(test, is_found(c->keys, c->key[i]));
			pinion_key_kill(c->key[i]);
		}
	}
}

#define CHANGERS 2

static void keys_that_change_while_the_table_does_are_not_lost(struct kunit *test)
{
	struct pinion_key **many = kunit_kcalloc(test, MANY, sizeof(*many), GFP_KERNEL);
	struct changer *c = kunit_kcalloc(test, CHANGERS, sizeof(*c), GFP_KERNEL);
	struct keys_test *t = test->priv;
	struct task_struct *thread[CHANGERS];
	u32 i, round;

	KUNIT_ASSERT_NOT_NULL(test, many);
	KUNIT_ASSERT_NOT_NULL(test, c);
	for (i = 0; i < CHANGERS; i++) {
		c[i].keys = &t->keys;
		random_begin(&c[i].rnd, 0x6b657973 + i);
		thread[i] = kthread_run(change_keys, &c[i], "pinion_changer");
		KUNIT_ASSERT_FALSE(test, IS_ERR(thread[i]));
	}
	for (round = 0; round < 10; round++) {
		add_many(test, many);
		flush_workqueue(t->keys.reaps);
		for (i = 0; i < MANY; i++) {
			pinion_key_kill(many[i]);
			cond_resched();
		}
		flush_workqueue(t->keys.reaps);
	}
	for (i = 0; i < CHANGERS; i++) {
		kthread_stop(thread[i]);
		end_changer(test, &c[i]);
	}
}

static void a_number_is_not_given_again_at_once(struct kunit *test)
{
	u32 recent[16] = {}, i, j;
	struct pinion_key *key;

	for (i = 0; i < 500; i++) {
		key = new_region(test, 0, 1, 0);
		for (j = 0; j < ARRAY_SIZE(recent); j++)
			KUNIT_EXPECT_NE(test, recent[j], key->value);
		recent[i % ARRAY_SIZE(recent)] = key->value;
		pinion_key_kill(key);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_key_is_found_once_published_until_killed),
	KUNIT_CASE(an_unpublished_key_can_be_killed),
	KUNIT_CASE(a_held_key_outlives_its_death_and_stays_dead),
	KUNIT_CASE(all_32_bits_are_compared),
	KUNIT_CASE(any_tag_finds_the_index),
	KUNIT_CASE(the_table_is_full_at_its_limit),
	KUNIT_CASE(numbers_are_distinct_and_look_random),
	KUNIT_CASE_SLOW(a_table_grows_and_shrinks_and_all_are_found),
	KUNIT_CASE(keys_come_and_go_without_sleeping),
	KUNIT_CASE_SLOW(keys_that_change_while_the_table_does_are_not_lost),
	KUNIT_CASE(a_number_is_not_given_again_at_once),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_key_number",
	.init = keys_test_init,
	.exit = keys_test_exit,
	.test_cases = cases,
};

kunit_test_suites(&suite);
