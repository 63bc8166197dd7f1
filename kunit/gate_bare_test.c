// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A gate alone, without a key: slots, closing, and waiting for readers, on one thread and on one
 * for each processor.
 */
#include "../kernel/mem/gate.h"
#include "movers.h"

static struct pinion_gate *new_gate(struct kunit *test)
{
	struct pinion_gate *gate = kunit_kzalloc(test, sizeof(*gate), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, gate);
	pinion_gate_init(gate);
	return gate;
}

static void who_is_inside_is_not_preempted(struct kunit *test)
{
	struct pinion_gate *first = new_gate(test), *second = new_gate(test);
	int before = preempt_count(), in_one, in_two, closed, after, a, b;

	a = pinion_gate_enter(first);
	in_one = preempt_count() - before;
	b = pinion_gate_enter(second);
	in_two = preempt_count() - before;
	/* In any order. */
	pinion_gate_leave(a);
	pinion_gate_leave(b);
	pinion_gate_close(first);
	closed = preempt_count() - before;
	pinion_gate_open(first);
	after = preempt_count() - before;
	KUNIT_EXPECT_EQ(test, after, 0);
	if (IS_ENABLED(CONFIG_PREEMPT_COUNT)) {
		KUNIT_EXPECT_EQ(test, in_one, 1);
		KUNIT_EXPECT_EQ(test, in_two, 2);
		KUNIT_EXPECT_EQ(test, closed, 1);
	}
}

static void a_closed_gate_lets_nobody_in_and_keeps_no_slot(struct kunit *test)
{
	struct pinion_gate *gate = new_gate(test);
	int before = preempt_count(), after, i, slot;
	bool refused = true;

	pinion_gate_close(gate);
	/* Far more attempts than slots: a refused one keeps no slot. */
	for (i = 0; i < 100; i++)
		refused &= pinion_gate_enter(gate) == -EBUSY;
	pinion_gate_open(gate);
	after = preempt_count();
	KUNIT_EXPECT_TRUE(test, refused);
	KUNIT_EXPECT_EQ(test, after, before);
	slot = pinion_gate_enter(gate);
	if (slot >= 0)
		pinion_gate_leave(slot);
	KUNIT_EXPECT_GE(test, slot, 0);
}

static void a_processor_may_be_in_several_gates_and_twice_in_one(struct kunit *test)
{
	struct pinion_gate *gate = new_gate(test), *other = new_gate(test);
	int slot[PINION_GATE_DEPTH], i, j, same = 0;

	for (i = 0; i < PINION_GATE_DEPTH; i++)
		slot[i] = pinion_gate_enter(i % 3 ? gate : other);
	for (i = 0; i < PINION_GATE_DEPTH; i++)
		for (j = 0; j < i; j++)
			same += slot[i] == slot[j];
	for (i = 0; i < PINION_GATE_DEPTH; i++)
		pinion_gate_leave(slot[i]);
	KUNIT_EXPECT_EQ(test, same, 0);
	/* All readers have left, otherwise this would not return. */
	pinion_gate_close(gate);
	pinion_gate_open(gate);
	pinion_gate_sync(other);
}

/* -------------------------------------------------------- several processors */

struct crowd {
	struct pinion_gate gate;
	/* Protected by the gate: two words, which readers must always find equal. */
	u64 one, two;
	/* And a pointer that one store replaces. */
	u64 *place, old[2];
	atomic_t stays, refusals, mixtures, strays;
};

#define GONE	0xdeadULL

static int crowd_mover(void *arg)
{
	struct crowd *c = arg;
	struct rnd_state rnd;
	u64 *place, one;
	int slot;

	random_begin(&rnd, (unsigned long)current);
	while (!kthread_should_stop()) {
		slot = pinion_gate_enter(&c->gate);
		if (slot < 0) {
			atomic_inc(&c->refusals);
			pinion_gate_wait(&c->gate);
			continue;
		}
		place = READ_ONCE(c->place);
		one = READ_ONCE(c->one);
		linger(&rnd);
		if (READ_ONCE(c->two) != one)
			atomic_inc(&c->mixtures);
		if (READ_ONCE(*place) == GONE)
			atomic_inc(&c->strays);
		pinion_gate_leave(slot);
		atomic_inc(&c->stays);
		/* Mostly enter again at once, so that there is almost always a reader. */
		if (random_one_in(&rnd, 64))
			step_aside(&rnd);
	}
	return 0;
}

static struct crowd *new_crowd(struct kunit *test)
{
	struct crowd *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	pinion_gate_init(&c->gate);
	c->place = &c->old[0];
	return c;
}

static void expect_order(struct kunit *test, struct crowd *c, u32 rounds)
{
	KUNIT_EXPECT_EQ(test, atomic_read(&c->mixtures), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->strays), 0);
	KUNIT_EXPECT_GT(test, rounds, 100);
	KUNIT_EXPECT_GT(test, atomic_read(&c->stays), 100);
	kunit_info(test, "%u rounds, %d stays, %d refusals", rounds, atomic_read(&c->stays),
		   atomic_read(&c->refusals));
}

static void what_is_changed_behind_a_closed_gate_is_seen_whole(struct kunit *test)
{
	struct crowd *c = new_crowd(test);
	struct movers *movers = start_movers(test, crowd_mover, c);
	struct pastime time = start_pastime();
	struct rnd_state rnd;
	u32 rounds = 0;

	random_begin(&rnd, 11);
	while (go_on(&time, rounds > 100 && atomic_read(&c->stays) > 100)) {
		pinion_gate_close(&c->gate);
		WRITE_ONCE(c->one, ++rounds);
		linger(&rnd);
		WRITE_ONCE(c->two, rounds);
		pinion_gate_open(&c->gate);
		step_aside(&rnd);
	}
	stop_movers(movers);
	expect_order(test, c, rounds);
}

/* As an MMU notifier does: replace the pointer, wait for readers, reuse the old object. */
static void what_is_taken_away_is_out_of_use_after_the_wait(struct kunit *test)
{
	struct crowd *c = new_crowd(test);
	struct movers *movers = start_movers(test, crowd_mover, c);
	struct pastime time = start_pastime();
	struct rnd_state rnd;
	u32 rounds = 0;

	random_begin(&rnd, 12);
	while (go_on(&time, rounds > 100 && atomic_read(&c->stays) > 100)) {
		u64 *old = c->place;
		u64 *new = &c->old[old == &c->old[0]];

		WRITE_ONCE(*new, rounds++);
		smp_wmb(); /* the object is initialized before it is published */
		WRITE_ONCE(c->place, new);
		pinion_gate_sync(&c->gate);
		WRITE_ONCE(*old, GONE);
		linger(&rnd);
		step_aside(&rnd);
	}
	stop_movers(movers);
	expect_order(test, c, rounds);
	/* No reader was refused. */
	KUNIT_EXPECT_EQ(test, atomic_read(&c->refusals), 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(who_is_inside_is_not_preempted),
	KUNIT_CASE(a_closed_gate_lets_nobody_in_and_keeps_no_slot),
	KUNIT_CASE(a_processor_may_be_in_several_gates_and_twice_in_one),
	KUNIT_CASE(what_is_changed_behind_a_closed_gate_is_seen_whole),
	KUNIT_CASE(what_is_taken_away_is_out_of_use_after_the_wait),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_gate_bare",
	.test_cases = cases,
};

kunit_test_suites(&suite);
