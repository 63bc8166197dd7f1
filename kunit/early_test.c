// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets that came early, against an array that says for each number whether it is known.
 */
#include <kunit/test.h>

#include "../kernel/logic/early.c"
#include "random.h"

#define RUNS	400

struct world {
	struct pinion_early early;
	struct pinion_run runs[RUNS];
	bool used[RUNS];
	u32 expected;
	bool known[PINION_EARLY_WINDOW];	/* from @expected on */
};

static struct pinion_run *spare(struct world *w)
{
	u32 i;

	for (i = 0; i < RUNS && w->used[i]; i++)
		;
	return i < RUNS ? &w->runs[i] : NULL;
}

/* What must be said of the numbers [at, at + count), counted from the expected one. */
static void try_to_add(struct kunit *test, struct world *w, u32 at, u32 count)
{
	struct pinion_run *run = spare(w);
	u32 gap, last, i;
	bool added;

	/* There are at most as many runs as numbers in the window. */
	KUNIT_ASSERT_NOT_NULL(test, run);
	run->psn = pinion_psn_add(w->expected, at);
	run->numbers = count;
	added = pinion_early_add(&w->early, run, w->expected, &gap);
	KUNIT_ASSERT_EQ(test, added, at < PINION_EARLY_WINDOW && !w->known[at]);
	if (!added)
		return;
	w->used[run - w->runs] = true;
	for (last = at; last && !w->known[last - 1]; last--)
		;
	KUNIT_ASSERT_EQ(test, gap, pinion_psn_add(w->expected, last));
	for (i = at; i < PINION_EARLY_WINDOW && count && !w->known[i]; i++, count--)
		w->known[i] = true;
	KUNIT_ASSERT_EQ(test, run->numbers, i - at);
}

/* All runs are sorted and apart, and are what is known. */
static void compare(struct kunit *test, struct world *w)
{
	u32 end = 0, at, wrong = 0, i;
	struct pinion_run *run;

	list_for_each_entry(run, &w->early.runs, node) {
		at = pinion_psn_ahead(run->psn, w->expected);
		KUNIT_ASSERT_GE(test, at, end);
		for (i = end; i < at; i++)
			wrong += w->known[i];
		end = at + run->numbers;
		KUNIT_ASSERT_LE(test, end, PINION_EARLY_WINDOW);
		for (i = at; i < end; i++)
			wrong += !w->known[i];
	}
	for (i = end; i < PINION_EARLY_WINDOW; i++)
		wrong += w->known[i];
	KUNIT_ASSERT_EQ(test, wrong, 0);
}

static void take_one(struct world *w)
{
	w->expected = pinion_psn_add(w->expected, 1);
	memmove(w->known, w->known + 1, sizeof(w->known) - sizeof(*w->known));
	w->known[PINION_EARLY_WINDOW - 1] = false;
}

/* The expected number comes, and then all that are known behind it. */
static void go_on(struct kunit *test, struct world *w)
{
	struct pinion_run *run;
	u32 i;

	do
		take_one(w);
	while (w->known[0]);
	while ((run = pinion_early_first(&w->early)) && pinion_early_is_due(run, w->expected)) {
		KUNIT_ASSERT_TRUE(test, pinion_early_is_over(run, w->expected));
		pinion_early_remove(run);
		w->used[run - w->runs] = false;
	}
	for (i = 0; i < PINION_EARLY_WINDOW && !w->known[i]; i++)
		;
	KUNIT_ASSERT_EQ(test, run ? pinion_psn_ahead(run->psn, w->expected) :
				    PINION_EARLY_WINDOW, i);
}

static void runs_are_the_numbers_that_came(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	u32 round, most = 0, runs, i;
	struct rnd_state rnd;

	KUNIT_ASSERT_NOT_NULL(test, w);
	random_begin(&rnd, 92);
	pinion_early_init(&w->early);
	w->expected = 0xffff00;
	for (round = 0; round < 20000; round++) {
		if (random_one_in(&rnd, 20))
			go_on(test, w);
		else
			try_to_add(test, w, 1 + random_below(&rnd, PINION_EARLY_WINDOW + 20),
				   1 + random_below(&rnd, random_one_in(&rnd, 9) ? 1 << 20 : 4));
		compare(test, w);
		for (i = 0, runs = 0; i < RUNS; i++)
			runs += w->used[i];
		most = max(most, runs);
	}
	kunit_info(test, "at most %u runs", most);
	KUNIT_EXPECT_GT(test, most, 10);
}

/* A peer that sends each other number only. */
static void the_window_limits_the_runs(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, w);
	pinion_early_init(&w->early);
	for (i = 1000; i > 1; i -= 2)
		try_to_add(test, w, i, 1);
	compare(test, w);
	KUNIT_EXPECT_EQ(test, list_count_nodes(&w->early.runs), PINION_EARLY_WINDOW / 2 - 1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(runs_are_the_numbers_that_came),
	KUNIT_CASE(the_window_limits_the_runs),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_early",
	.test_cases = cases,
};

kunit_test_suites(&suite);
