// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keys that are killed while threads use them: once the kill has returned, no thread acts on the
 * key, and a region is not killed while windows are bound to it.
 */
#include <linux/completion.h>

#include "../kernel/mem/mtt.h"
#include "../kernel/mem/window.h"
#include "movers.h"

/* ------------------------------------------------ with a reader inside */

struct insider {
	struct kunit *test;
	struct pinion_key *key;
	bool binds;		/* binds a window after the gate was closed */
	struct task_struct *task;
	bool inside, outside;
	bool over;		/* the call that kills the key has returned */
	/* what the reader saw while the gate was closed */
	bool met_the_end, saw_it_over;
	int again;
};

/* Busy on its processor while inside, so the test continues on another one. */
static int stay_inside(void *arg)
{
	struct insider *in = arg;
	u32 value = in->key->value, us;
	struct pinion_pass pass;

	if (try_enter(in->test, value, 0, 0, 1, &pass))
		goto out;
	WRITE_ONCE(in->inside, true);
	/* For up to a second, until the kill closes the gate. */
	for (us = 0; us < USEC_PER_SEC && !gate_is_closed_now(in->key); us += 5)
		udelay(5);
	in->met_the_end = gate_is_closed_now(in->key);
	in->again = may_enter(in->test, value, 0, 0, 1);
	if (in->binds)
		atomic_inc(&in->key->lent);
	mdelay(2);
	in->saw_it_over = READ_ONCE(in->over);
	WRITE_ONCE(in->outside, true);
	pinion_key_leave(&pass);
out:
	return wait_for_stop();
}

static void start_inside(struct kunit *test, struct insider *in)
{
	unsigned long limit = jiffies + msecs_to_jiffies(LIMIT_MS);
	unsigned int cpu = other_processor(test);

	in->test = test;
	in->task = kthread_create(stay_inside, in, "pinion_insider");
	KUNIT_ASSERT_FALSE(test, IS_ERR(in->task));
	kthread_bind(in->task, cpu);
	wake_up_process(in->task);
	while (!READ_ONCE(in->inside) && time_before(jiffies, limit))
		cpu_relax();
}

/* Expect that the kill has waited for the reader, and has returned. */
static void expect_waited(struct kunit *test, struct insider *in)
{
	KUNIT_EXPECT_TRUE(test, READ_ONCE(in->outside));
	WRITE_ONCE(in->over, true);
	kthread_stop(in->task);
	KUNIT_EXPECT_TRUE(test, in->inside);
	KUNIT_EXPECT_TRUE(test, in->met_the_end);
	KUNIT_EXPECT_FALSE(test, in->saw_it_over);
	KUNIT_EXPECT_EQ(test, in->again, PINION_SYN_CLOSED);
}

static void the_end_waits_for_those_inside_and_lets_nobody_in(struct kunit *test)
{
	struct insider in = { .key = new_region(test, 0, 4096, 0) };
	struct keys_test *t = test->priv;
	u32 value = in.key->value;
	struct pinion_key *looked_at;

	start_inside(test, &in);
	/* A reference keeps the key in memory for the checks below, even if they fail. */
	looked_at = pinion_key_get(&t->keys, value);
	pinion_key_kill(in.key);
	expect_waited(test, &in);
	pinion_key_put(looked_at);
	KUNIT_EXPECT_EQ(test, may_enter(test, value, 0, 0, 1), PINION_SYN_KEY_UNKNOWN);
}

/* Listing takes references, and may look at a key after its owner has freed its memory. */
static void a_dead_key_leads_nowhere(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0, 4096, 0);
	struct keys_test *t = test->priv;
	struct pinion_key *looked_at;
	struct pinion_mtt *mtt;

	mtt = pinion_mtt_alloc(1, PAGE_SHIFT, 0);
	KUNIT_ASSERT_NOT_NULL(test, mtt);
	key->mtt = mtt;
	looked_at = pinion_key_get(&t->keys, key->value);
	KUNIT_EXPECT_EQ(test, pinion_key_kill_unbound(key), 0);
	pinion_mtt_free(mtt);
	KUNIT_EXPECT_EQ(test, looked_at->state, PINION_KEY_DEAD);
	KUNIT_EXPECT_NULL(test, looked_at->mtt);
	pinion_key_put(looked_at);
}

static void a_window_that_came_before_the_gate_closed_is_seen(struct kunit *test)
{
	struct insider in = { .key = new_region(test, 0, 4096, 0), .binds = true };
	u32 value = in.key->value;

	start_inside(test, &in);
	KUNIT_EXPECT_EQ(test, pinion_key_kill_unbound(in.key), -EBUSY);
	expect_waited(test, &in);
	KUNIT_ASSERT_EQ(test, may_enter(test, value, 0, 0, 1), 0);
	atomic_dec(&in.key->lent);
}

/* ----------------------------------------- many lives of keys */

#define SLOTS	4
#define LIVES	20000

/* Life n of a key has the base n << 32. */
struct lives {
	struct pinion_keys *keys;
	struct ib_pd *pd;
	u64 slot[SLOTS];	/* key and life, in one word */
	u8 over[LIVES];		/* the kill of this life has returned */

	atomic_t entries;
	atomic_t ghosts;
	atomic_t odd_errors;
};

static void haunt(struct lives *l, struct pinion_pass *pass, u32 life, struct rnd_state *rnd)
{
	u64 base = (u64)life << 32;

	atomic_inc(&l->entries);
	if (READ_ONCE(l->over[life]) || READ_ONCE(pass->region->base) != base)
		atomic_inc(&l->ghosts);
	linger(rnd);
	if (READ_ONCE(l->over[life]) || READ_ONCE(pass->region->base) != base ||
	    READ_ONCE(pass->region->state) != PINION_KEY_VALID)
		atomic_inc(&l->ghosts);
}

static int lives_mover(void *arg)
{
	struct lives *l = arg;
	struct pinion_want want = { .pd = l->pd, .length = 4096 };
	struct pinion_pass pass;
	struct rnd_state rnd;
	u64 slot;
	int err;

	random_begin(&rnd, (unsigned long)current);
	while (!kthread_should_stop()) {
		slot = READ_ONCE(l->slot[random_below(&rnd, SLOTS)]);
		want.key = slot >> 32;
		want.addr = slot << 32;
		if (random_one_in(&rnd, 4))
			linger(&rnd);
		err = pinion_key_enter(l->keys, &want, &pass);
		if (!err) {
			haunt(l, &pass, (u32)slot, &rnd);
			pinion_key_leave(&pass);
		} else if (err == PINION_SYN_CLOSED) {
			pinion_key_wait(l->keys, want.key);
		} else if (err != PINION_SYN_KEY_UNKNOWN) {
			atomic_inc(&l->odd_errors);
		}
		step_aside(&rnd);
	}
	return 0;
}

static void nobody_is_inside_a_key_that_was_killed(struct kunit *test)
{
	struct lives *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct pinion_key *key[SLOTS], *old;
	u32 life[SLOTS], next, i, over;
	struct keys_test *t = test->priv;
	struct movers *movers;
	struct rnd_state rnd;
	struct pastime time;

	KUNIT_ASSERT_NOT_NULL(test, l);
	l->keys = &t->keys;
	l->pd = &t->pd;
	for (next = 0; next < SLOTS; next++) {
		life[next] = next;
		key[next] = new_region(test, (u64)next << 32, 4096, 0);
		l->slot[next] = (u64)key[next]->value << 32 | next;
	}
	movers = start_movers(test, lives_mover, l);
	random_begin(&rnd, 8);
	time = start_pastime();
	while (next < LIVES && go_on(&time, next > 100 && atomic_read(&l->entries) > 100)) {
		i = next % SLOTS;
		old = key[i];
		over = life[i];
		life[i] = next;
		key[i] = new_region(test, (u64)next << 32, 4096, 0);
		WRITE_ONCE(l->slot[i], (u64)key[i]->value << 32 | next);
		if (next % 2)
			pinion_key_kill(old);
		else
			KUNIT_EXPECT_EQ(test, pinion_key_kill_unbound(old), 0);
		WRITE_ONCE(l->over[over], true);
		next++;
		step_aside(&rnd);
	}
	stop_movers(movers);

	KUNIT_EXPECT_EQ(test, atomic_read(&l->ghosts), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&l->odd_errors), 0);
	KUNIT_EXPECT_EQ(test, live_keys(test), SLOTS);
	KUNIT_EXPECT_GT(test, next, 100);
	KUNIT_EXPECT_GT(test, atomic_read(&l->entries), 100);
	kunit_info(test, "%u lives, %d entries", next, atomic_read(&l->entries));
}

/* --------------------------------- a window, and a region being killed */

#define REGION_LENGTH	4096

struct bound {
	struct pinion_keys *keys;
	struct ib_pd *pd;
	struct pinion_key *window;
	u32 rkey;		/* of the window, since the last bind */
	u64 region;		/* key and life, in one word */
	u8 over[LIVES];

	atomic_t entries;
	atomic_t binds;
	atomic_t ghosts;
	atomic_t odd_errors;
};

static u32 life_of(const struct pinion_key *region)
{
	return region->base >> 32;
}

static int window_mover(void *arg)
{
	struct bound *b = arg;
	struct pinion_want want = { .pd = b->pd, .qpn = TEST_QPN, .remote = true, .length = 16 };
	struct pinion_pass pass;
	struct rnd_state rnd;
	int err;

	random_begin(&rnd, (unsigned long)current);
	while (!kthread_should_stop()) {
		want.key = READ_ONCE(b->rkey);
		want.addr = random_below(&rnd, 64);
		err = pinion_key_enter(b->keys, &want, &pass);
		if (!err) {
			u32 life = life_of(pass.region);

			atomic_inc(&b->entries);
			linger(&rnd);
			/* The window was bound at offset 100, and its region must be alive. */
			if (pass.offset != 100 + want.addr || READ_ONCE(b->over[life]) ||
			    READ_ONCE(pass.region->state) != PINION_KEY_VALID ||
			    life_of(pass.region) != life || !atomic_read(&pass.region->lent))
				atomic_inc(&b->ghosts);
			pinion_key_leave(&pass);
		} else if (err == PINION_SYN_CLOSED) {
			pinion_key_wait(b->keys, want.key);
		} else if (err != PINION_SYN_KEY_UNKNOWN && err != PINION_SYN_KEY_STATE) {
			atomic_inc(&b->odd_errors);
		}
		step_aside(&rnd);
	}
	return 0;
}

/* Binds to the current region, and invalidates. */
static int binder(void *arg)
{
	struct bound *b = arg;
	struct pinion_wqe_bind bind = {
		.length = 128, .mw_rkey = b->rkey,
		.access = IB_ACCESS_REMOTE_READ | IB_ZERO_BASED,
	};
	struct rnd_state rnd;
	u64 region;
	int err;

	random_begin(&rnd, 9);
	while (!kthread_should_stop()) {
		region = READ_ONCE(b->region);
		bind.mr_lkey = region >> 32;
		bind.addr = (region << 32) + 100;
		bind.new_rkey = (bind.mw_rkey & ~0xff) | (u8)(bind.mw_rkey + 1);
		err = pinion_window_bind(b->keys, b->pd, TEST_QPN, &bind);
		if (!err) {
			atomic_inc(&b->binds);
			WRITE_ONCE(b->rkey, bind.new_rkey);
			bind.mw_rkey = bind.new_rkey;
			linger(&rnd);
			step_aside(&rnd);
			if (READ_ONCE(b->over[(u32)region]))
				atomic_inc(&b->ghosts);
			if (pinion_key_invalidate(b->keys, b->pd, bind.mw_rkey, 0))
				atomic_inc(&b->odd_errors);
		} else if (err != PINION_SYN_KEY_UNKNOWN) {
			/* The only allowed error: the region was killed since. */
			atomic_inc(&b->odd_errors);
		}
		linger(&rnd);
		step_aside(&rnd);
	}
	return 0;
}

static bool seen_enough(struct bound *b)
{
	return atomic_read(&b->binds) > 20 && atomic_read(&b->entries) > 20;
}

static void stop_thread(void *task)
{
	kthread_stop(task);
}

static void a_region_ends_only_while_no_window_is_bound(struct kunit *test)
{
	struct bound *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	u32 next = 1, busy = 0, odd = 0;
	struct keys_test *t = test->priv;
	struct pinion_key *region;
	struct task_struct *task;
	struct movers *movers;
	struct rnd_state rnd;
	struct pastime time;
	int err;

	KUNIT_ASSERT_NOT_NULL(test, b);
	b->keys = &t->keys;
	b->pd = &t->pd;
	b->window = new_window(test, IB_MW_TYPE_2)->key;
	b->rkey = b->window->value;
	region = new_region(test, 0, REGION_LENGTH, IB_ACCESS_MW_BIND);
	b->region = (u64)region->value << 32;
	movers = start_movers(test, window_mover, b);
	task = kthread_run(binder, b, "pinion_binder");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stop_thread, task), 0);

	random_begin(&rnd, 10);
	time = start_pastime();
	while (next < LIVES && go_on(&time, next > 20 && busy > 20 && seen_enough(b))) {
		step_aside(&rnd);
		err = pinion_key_kill_unbound(region);
		if (err) {
			busy++;
			odd += err != -EBUSY;
			continue;
		}
		WRITE_ONCE(b->over[next - 1], true);
		region = new_region(test, (u64)next << 32, REGION_LENGTH, IB_ACCESS_MW_BIND);
		WRITE_ONCE(b->region, (u64)region->value << 32 | next);
		next++;
		/* Time for a bind. */
		if (next % 4)
			usleep_range(20, 100);
	}
	kunit_release_action(test, stop_thread, task);
	stop_movers(movers);

	KUNIT_EXPECT_EQ(test, odd, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->ghosts), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->odd_errors), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&region->lent), 0);
	KUNIT_EXPECT_GT(test, next, 20);
	KUNIT_EXPECT_GT(test, busy, 20);
	KUNIT_EXPECT_TRUE(test, seen_enough(b));
	kunit_info(test, "%u regions, %u refusals, %d binds, %d entries", next, busy,
		   atomic_read(&b->binds), atomic_read(&b->entries));
}

/* Freed memory is overwritten at once where the kernel checks that (slub_debug). */
static void who_looks_through_the_list_may_read_a_key_that_ends(struct kunit *test)
{
	struct pinion_key *key = new_region(test, 0x123, 4096, 0);
	u32 value = key->value;

	kref_get(&key->ref);
	pinion_key_kill(key);
	/* As one who has found the key before it was removed. */
	rcu_read_lock();
	pinion_key_put(key);
	KUNIT_EXPECT_EQ(test, key->value, value);
	KUNIT_EXPECT_EQ(test, key->base, 0x123ULL);
	rcu_read_unlock();
}

static struct kunit_case cases[] = {
	KUNIT_CASE(the_end_waits_for_those_inside_and_lets_nobody_in),
	KUNIT_CASE(a_dead_key_leads_nowhere),
	KUNIT_CASE(a_window_that_came_before_the_gate_closed_is_seen),
	KUNIT_CASE(nobody_is_inside_a_key_that_was_killed),
	KUNIT_CASE(a_region_ends_only_while_no_window_is_bound),
	KUNIT_CASE(who_looks_through_the_list_may_read_a_key_that_ends),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_gate_life",
	.init = keys_test_init,
	.exit = keys_test_exit,
	.test_cases = cases,
};

kunit_test_suites(&suite);
