// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The gate with several threads: while it is closed there is no reader, and no reader sees a
 * mixture of two states. Readers compare what they find inside; the test checks their counts.
 */
#include <linux/completion.h>

#include "../kernel/mem/gate.c"
#include "../kernel/mem/mtt.h"
#include "../kernel/mem/window.h"
#include "movers.h"

#define MEANINGS 4

/* No field has the same value in two of them. */
struct meaning {
	u64 base;
	u64 length;
	u32 rights;
	struct pinion_mtt *mtt;
	u64 address;
};

static const u32 rights_of_meaning[MEANINGS] = {
	IB_ACCESS_REMOTE_READ, IB_ACCESS_REMOTE_WRITE, IB_ACCESS_REMOTE_ATOMIC,
	IB_ACCESS_LOCAL_WRITE,
};

struct changing {
	struct pinion_keys *keys;
	struct pinion_key *key;
	struct ib_pd *pd;
	u32 value;
	struct meaning meaning[MEANINGS];
	bool ended;

	atomic_t inside;
	/* counted by readers */
	atomic_t entries;
	atomic_t mixtures;
	atomic_t after_the_end;
	atomic_t odd_errors;
};

static bool means(const struct changing *c, const struct pinion_pass *pass, u32 i)
{
	const struct meaning *meaning = &c->meaning[i];
	const struct pinion_key *key = pass->region;
	void *kva;

	return pass->key == c->key && key == c->key && !pass->offset &&
	       READ_ONCE(key->base) == meaning->base &&
	       READ_ONCE(key->length) == meaning->length &&
	       READ_ONCE(key->rights) == meaning->rights &&
	       READ_ONCE(key->mtt) == meaning->mtt &&
	       pinion_pass_run(pass, 0, 16, &kva) == 16 &&
	       kva == pinion_dma_to_kva(meaning->address);
}

static void look_around(struct changing *c, struct pinion_pass *pass, u32 i,
			struct rnd_state *rnd)
{
	atomic_inc(&c->inside);
	atomic_inc(&c->entries);
	if (READ_ONCE(c->ended))
		atomic_inc(&c->after_the_end);
	if (!means(c, pass, i))
		atomic_inc(&c->mixtures);
	linger(rnd);
	if (!means(c, pass, i))
		atomic_inc(&c->mixtures);
	atomic_dec(&c->inside);
}

static int change_mover(void *arg)
{
	struct changing *c = arg;
	struct pinion_want want = { .pd = c->pd, .key = c->value };
	struct pinion_pass pass;
	struct rnd_state rnd;
	u32 i;
	int err;

	random_begin(&rnd, (unsigned long)current);
	while (!kthread_should_stop()) {
		i = random_below(&rnd, MEANINGS);
		want.addr = c->meaning[i].base;
		want.length = c->meaning[i].length;
		want.rights = c->meaning[i].rights;
		err = pinion_key_enter(c->keys, &want, &pass);
		if (!err) {
			look_around(c, &pass, i, &rnd);
			pinion_key_leave(&pass);
		} else if (err == PINION_SYN_CLOSED) {
			pinion_key_wait(c->keys, c->value);
		} else if (err != PINION_SYN_KEY_RIGHTS && err != PINION_SYN_KEY_UNKNOWN) {
			/* The key has changed or was killed. */
			atomic_inc(&c->odd_errors);
		}
		step_aside(&rnd);
	}
	return 0;
}

static void free_tables(void *arg)
{
	struct changing *c = arg;
	u32 i;

	for (i = 0; i < MEANINGS; i++)
		pinion_mtt_free(c->meaning[i].mtt);
}

static struct changing *new_changing(struct kunit *test)
{
	struct changing *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct keys_test *t = test->priv;
	struct meaning *meaning;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, c);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_tables, c), 0);
	for (i = 0; i < MEANINGS; i++) {
		meaning = &c->meaning[i];
		meaning->base = (i + 1ULL) << 40;
		meaning->length = (i + 1) * 100;
		meaning->rights = rights_of_meaning[i];
		meaning->address = (i + 1) << 20;
		meaning->mtt = pinion_mtt_alloc(1, 12, i);
		KUNIT_ASSERT_NOT_NULL(test, meaning->mtt);
		*pinion_mtt_slot(meaning->mtt, 0) = meaning->address - i;
	}
	c->keys = &t->keys;
	c->pd = &t->pd;
	meaning = &c->meaning[0];
	c->key = pinion_key_alloc(&t->keys, PINION_KEY_REGION, GFP_KERNEL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(c->key));
	c->key->pd = &t->pd;
	c->key->base = meaning->base;
	c->key->length = meaning->length;
	c->key->rights = meaning->rights;
	c->key->mtt = meaning->mtt;
	c->key->state = PINION_KEY_VALID;
	pinion_key_publish(c->key);
	c->value = c->key->value;
	return c;
}

/* Slowly, one word after the other. Return: number of readers seen inside. */
static u32 change_meaning(struct changing *c, u32 i, struct rnd_state *rnd)
{
	const struct meaning *meaning = &c->meaning[i];
	struct pinion_key *key = c->key;
	u32 intruders;

	pinion_key_close(key);
	intruders = atomic_read(&c->inside);
	WRITE_ONCE(key->base, meaning->base);
	linger(rnd);
	WRITE_ONCE(key->rights, meaning->rights);
	linger(rnd);
	WRITE_ONCE(key->mtt, meaning->mtt);
	linger(rnd);
	WRITE_ONCE(key->length, meaning->length);
	intruders += atomic_read(&c->inside);
	pinion_key_open(key);
	return intruders;
}

static void nobody_is_inside_a_closed_gate_or_sees_two_meanings(struct kunit *test)
{
	struct changing *c = new_changing(test);
	struct movers *movers = start_movers(test, change_mover, c);
	struct pastime time = start_pastime();
	u32 changes = 0, intruders = 0;
	struct rnd_state rnd;

	random_begin(&rnd, 7);
	while (go_on(&time, changes > 100 && atomic_read(&c->entries) > 100)) {
		intruders += change_meaning(c, random_below(&rnd, MEANINGS), &rnd);
		changes++;
		linger(&rnd);
		step_aside(&rnd);
	}
	pinion_key_kill(c->key);
	intruders += atomic_read(&c->inside);
	WRITE_ONCE(c->ended, true);
	msleep(20);
	stop_movers(movers);

	KUNIT_EXPECT_EQ(test, intruders, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->mixtures), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->after_the_end), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->odd_errors), 0);
	KUNIT_EXPECT_GT(test, changes, 100);
	KUNIT_EXPECT_GT(test, atomic_read(&c->entries), 100);
	kunit_info(test, "%u changes, %d entries", changes, atomic_read(&c->entries));
}

/* ----------------------------------------------------------------- waiting */

/* On a processor of its own, as who waits for a gate spins. The caller wakes it up. */
static struct task_struct *start_on(struct kunit *test, unsigned int cpu, int (*function)(void *),
				    void *arg, const char *name)
{
	struct task_struct *task = kthread_create(function, arg, "%s", name);

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, cpu);
	return task;
}

struct waiting {
	struct pinion_keys *keys;
	u32 value;
	struct completion done;
};

static int waiter(void *arg)
{
	struct waiting *w = arg;

	pinion_key_wait(w->keys, w->value);
	complete(&w->done);
	return wait_for_stop();
}

/* Wait until somebody has found @key, which had @refs references without him. */
static void await_finder(struct pinion_key *key, unsigned int refs)
{
	unsigned long limit = jiffies + msecs_to_jiffies(LIMIT_MS);

	while (kref_read(&key->ref) == refs && time_before(jiffies, limit))
		usleep_range(500, 1000);
}

/*
 * A thread that waits for @value continues when @gate opens, and not before. Return: how many
 * references the key of @gate had meanwhile.
 */
static unsigned int expect_wait(struct kunit *test, u32 value, struct pinion_key *gate)
{
	struct keys_test *t = test->priv;
	struct waiting w = { .keys = &t->keys, .value = value };
	unsigned int refs = kref_read(&gate->ref);
	struct task_struct *task;

	init_completion(&w.done);
	task = start_on(test, other_processor(test), waiter, &w, "pinion_waiter");
	shut(gate);
	wake_up_process(task);
	await_finder(gate, refs);
	KUNIT_EXPECT_EQ(test, kref_read(&gate->ref), refs + 1);
	KUNIT_EXPECT_EQ(test, wait_for_completion_timeout(&w.done, msecs_to_jiffies(20)), 0);
	KUNIT_EXPECT_FALSE(test, gate_has_reader(gate));
	refs = kref_read(&gate->ref);
	unshut(gate);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&w.done, msecs_to_jiffies(LIMIT_MS)), 0);
	kthread_stop(task);
	return refs;
}

static void a_wait_ends_when_the_gate_opens(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, 0);

	expect_wait(test, key->value, key);
}

static void a_wait_for_a_window_is_for_its_region_too(struct kunit *test)
{
	struct pinion_key *region = new_region(test, 0, 4096, IB_ACCESS_MW_BIND);
	struct pinion_key *window = new_window(test, IB_MW_TYPE_2)->key;
	struct keys_test *t = test->priv;
	struct pinion_wqe_bind bind = {
		.length = 4096, .mr_lkey = region->value, .mw_rkey = window->value,
		.new_rkey = window->value,
	};

	KUNIT_ASSERT_EQ(test, pinion_window_bind(&t->keys, &t->pd, TEST_QPN, &bind), 0);
	expect_wait(test, window->value, window);
	/* Its owner, the window, and who waits: then it may end meanwhile. */
	KUNIT_EXPECT_EQ(test, expect_wait(test, window->value, region), 3);
	KUNIT_EXPECT_EQ(test, kref_read(&region->ref), 2);
}

static void a_wait_for_no_key_is_no_wait(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, 0);
	struct keys_test *t = test->priv;

	shut(key);
	pinion_key_wait(&t->keys, key->value ^ 1);
	pinion_key_wait(&t->keys, key->value ^ 256);
	unshut(key);
}

/* Takes all time of a processor, until told that it is enough, or for HOG_MS. */
struct hog {
	bool on, enough, over;
};

#define HOG_MS	300

static int hog(void *arg)
{
	unsigned long end = jiffies + msecs_to_jiffies(HOG_MS);
	struct hog *hog = arg;

	WRITE_ONCE(hog->on, true);
	while (!READ_ONCE(hog->enough) && time_before(jiffies, end))
		cpu_relax();
	WRITE_ONCE(hog->over, true);
	return wait_for_stop();
}

static void close_and_open(struct pinion_key *key)
{
	pinion_key_close(key);
	pinion_key_open(key);
}

/* As the notifier of an on-demand region does, so in munmap() and madvise(). */
static void sync_with_key(struct pinion_key *key)
{
	pinion_gate_sync(&key->gate);
}

struct inside {
	struct pinion_gate *gate;
	bool in, leave;
};

/* Not for ever: who waits for it could not end it. */
static int stay_inside(void *arg)
{
	unsigned long end = jiffies + msecs_to_jiffies(LIMIT_MS);
	struct inside *inside = arg;
	int slot = pinion_gate_enter(inside->gate);

	WRITE_ONCE(inside->in, true);
	while (!READ_ONCE(inside->leave) && time_before(jiffies, end))
		cpu_relax();
	if (slot >= 0)
		pinion_gate_leave(slot);
	return wait_for_stop();
}

/*
 * Another thread wants the processor of one that is inside. It gets it when that one has left, so
 * @drain does not wait for both.
 */
static void expect_no_wait_for_who_is_preempted(struct kunit *test,
						void (*drain)(struct pinion_key *key))
{
	struct pinion_key *key = new_region(test, 0, 4096, 0);
	unsigned int cpu = other_processor(test), tries = 100;
	struct inside inside = { .gate = &key->gate };
	struct task_struct *stays, *hogs;
	struct hog h = {};
	bool on, over;

	stays = start_on(test, cpu, stay_inside, &inside, "pinion_inside");
	hogs = start_on(test, cpu, hog, &h, "pinion_hog");
	sched_set_fifo(hogs);
	wake_up_process(stays);
	while (!READ_ONCE(inside.in))
		usleep_range(100, 200);
	wake_up_process(hogs);
	/* Time to be preempted. */
	while (!READ_ONCE(h.on) && tries--)
		usleep_range(100, 200);
	on = READ_ONCE(h.on);
	WRITE_ONCE(inside.leave, true);
	drain(key);
	over = READ_ONCE(h.over);
	WRITE_ONCE(h.enough, true);
	kthread_stop(stays);
	kthread_stop(hogs);
	KUNIT_EXPECT_FALSE(test, on);
	KUNIT_EXPECT_FALSE(test, over);
	KUNIT_EXPECT_TRUE(test, h.on);
}

static void who_closes_does_not_wait_for_others_than_those_inside(struct kunit *test)
{
	expect_no_wait_for_who_is_preempted(test, close_and_open);
}

static void who_syncs_does_not_wait_for_others_than_those_inside(struct kunit *test)
{
	expect_no_wait_for_who_is_preempted(test, sync_with_key);
}

/* --------------------------------------------------- without rights to the key */

struct refused {
	struct kunit *test;
	struct pinion_key *region, *window;
	struct pinion_wqe_bind bind;
	struct completion done;
};

/* Keys of another domain, with closed gates: the same error, without waiting. */
static int stranger(void *arg)
{
	struct refused *r = arg;
	struct keys_test *t = r->test->priv;
	struct pinion_wqe_bind bind = r->bind;
	struct kunit *test = r->test;
	struct pinion_pass pass;
	struct pinion_want want = { .pd = &t->other_pd, .key = r->region->value, .length = 1 };

	KUNIT_EXPECT_EQ(test, pinion_key_enter(&t->keys, &want, &pass), PINION_SYN_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, pinion_key_ask(&t->keys, &want), PINION_SYN_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, pinion_key_glance(&t->keys, &want), PINION_SYN_KEY_UNKNOWN);
	/* A glance at one's own key does not wait, either. */
	want.pd = &t->pd;
	KUNIT_EXPECT_EQ(test, pinion_key_glance(&t->keys, &want), 0);
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->other_pd, r->region->value, 0),
			PINION_SYN_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->other_pd, r->window->value, 0),
			PINION_SYN_KEY_UNKNOWN);
	/* Nor does a refused invalidation of one's own region or of the null key. */
	KUNIT_EXPECT_EQ(test, pinion_key_invalidate(&t->keys, &t->pd, r->region->value, 0),
			PINION_SYN_KEY_RIGHTS);
	KUNIT_EXPECT_NE(test, pinion_key_invalidate(&t->keys, &t->pd, t->keys.null->value, 0), 0);
	KUNIT_EXPECT_NE(test, pinion_key_invalidate(&t->keys, NULL, t->keys.null->value, 0), 0);
	KUNIT_EXPECT_EQ(test, pinion_window_bind(&t->keys, &t->other_pd, TEST_QPN, &bind),
			PINION_SYN_KEY_UNKNOWN);
	bind.mw_rkey = r->region->value;
	KUNIT_EXPECT_EQ(test, pinion_window_bind(&t->keys, &t->pd, TEST_QPN, &bind),
			PINION_SYN_KEY_UNKNOWN);
	complete(&r->done);
	return wait_for_stop();
}

static void who_is_refused_anyway_neither_closes_a_gate_nor_waits_at_one(struct kunit *test)
{
	struct refused r = {
		.test = test,
		.region = new_region(test, 0, 4096, IB_ACCESS_MW_BIND),
		.window = new_window(test, IB_MW_TYPE_2)->key,
	};
	struct keys_test *t = test->priv;
	struct task_struct *task;

	r.bind = (struct pinion_wqe_bind){
		.length = 4096, .mr_lkey = r.region->value, .mw_rkey = r.window->value,
		.new_rkey = r.window->value,
	};
	init_completion(&r.done);
	shut(r.region);
	shut(r.window);
	shut(t->keys.null);
	task = kthread_run(stranger, &r, "pinion_stranger");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&r.done, msecs_to_jiffies(LIMIT_MS)), 0);
	unshut(r.region);
	unshut(r.window);
	unshut(t->keys.null);
	kthread_stop(task);
}

/* A key with a wrong tag is refused without waiting. */
static void another_tag_is_refused_at_a_closed_gate(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, 0);
	u32 tag;

	pinion_key_close(key);
	KUNIT_EXPECT_EQ(test, may_enter(test, key->value, 0, 0, 1), PINION_SYN_CLOSED);
	for (tag = 1; tag < 256; tag++)
		KUNIT_EXPECT_EQ(test, may_enter(test, key->value ^ tag, 0, 0, 1),
				PINION_SYN_KEY_UNKNOWN);
	pinion_key_open(key);
}

/* ------------------------------------- renamed while a change waits */

struct renaming {
	struct pinion_keys *keys;
	struct ib_pd *pd;
	struct pinion_wqe_bind bind;	/* or, without a length, invalidate mw_rkey */
	int syndrome;
	struct completion done;
};

static int latecomer(void *arg)
{
	struct renaming *r = arg;

	if (r->bind.length)
		r->syndrome = pinion_window_bind(r->keys, r->pd, TEST_QPN, &r->bind);
	else
		r->syndrome = pinion_key_invalidate(r->keys, r->pd, r->bind.mw_rkey, 0);
	complete(&r->done);
	return wait_for_stop();
}

/*
 * The thread finds @key by its number, waits for its gate, and then finds that the number is no
 * longer valid.
 */
static void expect_too_late(struct kunit *test, struct renaming *r, struct pinion_key *key)
{
	unsigned int refs = kref_read(&key->ref);
	struct keys_test *t = test->priv;
	struct task_struct *task;

	r->keys = &t->keys;
	r->pd = &t->pd;
	init_completion(&r->done);
	task = start_on(test, other_processor(test), latecomer, r, "pinion_latecomer");
	shut(key);
	wake_up_process(task);
	await_finder(key, refs);
	KUNIT_EXPECT_GT(test, kref_read(&key->ref), refs);
	WRITE_ONCE(key->value, key->value ^ 1);
	unshut(key);
	wait_for_completion(&r->done);
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, r->syndrome, PINION_SYN_KEY_UNKNOWN);
	WRITE_ONCE(key->value, key->value ^ 1);
}

static void who_comes_too_late_changes_nothing(struct kunit *test)
{
	struct pinion_key *region = new_region(test, 0, 4096, IB_ACCESS_MW_BIND);
	struct pinion_key *window = new_window(test, IB_MW_TYPE_2)->key;
	struct renaming bind = {
		.bind = { .length = 4096, .mr_lkey = region->value, .mw_rkey = window->value,
			  .new_rkey = window->value },
	};
	struct renaming invalidate = { .bind.mw_rkey = region->value };

	region->invalidatable = true;
	expect_too_late(test, &invalidate, region);
	KUNIT_EXPECT_EQ(test, region->state, PINION_KEY_VALID);
	expect_too_late(test, &bind, window);
	expect_too_late(test, &bind, region);
	KUNIT_EXPECT_EQ(test, window->state, PINION_KEY_FREE);
	KUNIT_EXPECT_EQ(test, atomic_read(&region->lent), 0);
	KUNIT_EXPECT_EQ(test, kref_read(&region->ref), 1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(nobody_is_inside_a_closed_gate_or_sees_two_meanings),
	KUNIT_CASE(a_wait_ends_when_the_gate_opens),
	KUNIT_CASE(a_wait_for_a_window_is_for_its_region_too),
	KUNIT_CASE(a_wait_for_no_key_is_no_wait),
	KUNIT_CASE(who_closes_does_not_wait_for_others_than_those_inside),
	KUNIT_CASE(who_syncs_does_not_wait_for_others_than_those_inside),
	KUNIT_CASE(who_is_refused_anyway_neither_closes_a_gate_nor_waits_at_one),
	KUNIT_CASE(another_tag_is_refused_at_a_closed_gate),
	KUNIT_CASE(who_comes_too_late_changes_nothing),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_gate",
	.init = keys_test_init,
	.exit = keys_test_exit,
	.test_cases = cases,
};

kunit_test_suites(&suite);
