// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The ownership of a half of a queue pair: there is one owner at a time, no work is lost that
 * strangers leave, and owners give way.
 */
#include <kunit/test.h>

#include "movers.h"

#include "../kernel/path/half.h"

/* The steps of a stranger that is not interrupted. */
#define STEPS	100000

struct half_test {
	struct pinion_half half;
	atomic_t left;			/* work that strangers have left */
	u64 taken;			/* and the own side has done */
	atomic_t inside;		/* owners */
	atomic_t seconds;		/* times that there was a second owner */
	u64 done;			/* all work; not atomic, so two owners would lose some */
	atomic64_t meant;		/* the same, atomic */
	atomic_t refused;		/* tries that failed */
	atomic_t gave_way;
};

static struct half_test *make_half(struct kunit *test)
{
	struct half_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	pinion_half_init(&t->half);
	return t;
}

static void come_in(struct half_test *t)
{
	if (atomic_inc_return(&t->inside) != 1)
		atomic_inc(&t->seconds);
}

static void go_out(struct half_test *t)
{
	atomic_dec(&t->inside);
}

static void work_once(struct half_test *t)
{
	atomic64_inc(&t->meant);
	WRITE_ONCE(t->done, READ_ONCE(t->done) + 1);
}

/* Do what strangers have left; the half is owned. */
static void work_off(struct half_test *t)
{
	int left = atomic_xchg(&t->left, 0);

	t->taken += left;
	while (left--)
		work_once(t);
}

/* A peer: tries; works until the half is wanted, or leaves a piece of work. */
static int stranger(void *arg)
{
	struct half_test *t = arg;
	u32 i;

	while (!kthread_should_stop()) {
		if (!pinion_half_visit(&t->half)) {
			atomic_inc(&t->refused);
			atomic_inc(&t->left);
			cond_resched();
			continue;
		}
		come_in(t);
		for (i = 0; i < STEPS; i++) {
			work_once(t);
			if (pinion_half_is_wanted(&t->half)) {
				atomic_inc(&t->gave_way);
				break;
			}
		}
		go_out(t);
		pinion_half_leave(&t->half);
		cond_resched();
	}
	return 0;
}

/* Sleeps until the counter is greater than @count: strangers run meanwhile, however busy all is. */
static void await_more(const atomic_t *counter, int count, const struct pastime *time)
{
	while (atomic_read(counter) <= count && go_on(time, false))
		usleep_range(100, 200);
}

static bool enough(struct half_test *t, u32 round)
{
	return round > 100 && atomic_read(&t->gave_way) > 10 && atomic_read(&t->refused) > 10;
}

static void there_is_one_owner_who_gives_way(struct kunit *test)
{
	struct half_test *t = make_half(test);
	struct pastime time = start_pastime();
	struct movers *strangers = start_movers(test, stranger, t);
	u32 round;

	for (round = 0; go_on(&time, enough(t, round)); round++) {
		/* Some of the interruptions meet a stranger for sure. */
		if (round % 4 == 1)
			await_more(&t->inside, 0, &time);
		if (round % 2) {
			pinion_half_interrupt(&t->half);
		} else if (!pinion_half_own_killable(&t->half)) {
			KUNIT_FAIL(test, "nobody kills this");
			break;
		}
		come_in(t);
		work_off(t);
		KUNIT_EXPECT_FALSE(test, pinion_half_is_wanted(&t->half));
		/* Strangers try meanwhile, also if there is only one processor. */
		if (round % 8 == 7)
			await_more(&t->refused, atomic_read(&t->refused), &time);
		go_out(t);
		pinion_half_release(&t->half);
		cond_resched();
	}
	stop_movers(strangers);
	pinion_half_own(&t->half);
	work_off(t);
	pinion_half_release(&t->half);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->seconds), 0);
	KUNIT_EXPECT_EQ(test, t->done, (u64)atomic64_read(&t->meant));
	KUNIT_EXPECT_EQ(test, t->taken, (u64)atomic_read(&t->refused));
	KUNIT_EXPECT_GT(test, atomic_read(&t->gave_way), 10);
	KUNIT_EXPECT_GT(test, atomic_read(&t->refused), 10);
	KUNIT_EXPECT_FALSE(test, pinion_half_is_wanted(&t->half));
	pinion_half_destroy(&t->half);
}

static int owner_for_long(void *arg)
{
	struct half_test *t = arg;

	pinion_half_own(&t->half);
	come_in(t);
	wait_for_stop();
	go_out(t);
	pinion_half_release(&t->half);
	return 0;
}

/* A try returns at once, however long the owner sleeps. */
static void who_tries_does_not_wait(struct kunit *test)
{
	struct half_test *t = make_half(test);
	struct task_struct *task = kthread_run(owner_for_long, t, "pinion_owner");
	u32 i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	while (!atomic_read(&t->inside))
		usleep_range(100, 200);
	for (i = 0; i < 1000; i++) {
		KUNIT_EXPECT_FALSE(test, pinion_half_try(&t->half));
		KUNIT_EXPECT_FALSE(test, pinion_half_visit(&t->half));
	}
	kthread_stop(task);
	KUNIT_EXPECT_TRUE(test, pinion_half_try(&t->half));
	pinion_half_release(&t->half);
	pinion_half_destroy(&t->half);
}

static void it_is_wanted_until_nobody_wants_it(struct kunit *test)
{
	struct half_test *t = make_half(test);
	u32 i;

	for (i = 0; i < 5; i++) {
		pinion_half_want(&t->half);
		KUNIT_EXPECT_TRUE(test, pinion_half_is_wanted(&t->half));
	}
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_TRUE(test, pinion_half_is_wanted(&t->half));
		/* It is free, but only for its own side. */
		KUNIT_EXPECT_FALSE(test, pinion_half_try(&t->half));
		pinion_half_allow(&t->half);
	}
	KUNIT_EXPECT_FALSE(test, pinion_half_is_wanted(&t->half));
	KUNIT_EXPECT_TRUE(test, pinion_half_try(&t->half));
	pinion_half_release(&t->half);
	pinion_half_destroy(&t->half);
}

/* Its own side waits for memory, but not for I/O. A stranger waits for nothing. */
static void strangers_do_not_wait_for_memory(struct kunit *test)
{
	struct half_test *t = make_half(test);

	pinion_half_own(&t->half);
	KUNIT_EXPECT_TRUE(test, gfpflags_allow_blocking(pinion_half_gfp(&t->half)));
	KUNIT_EXPECT_FALSE(test, pinion_half_gfp(&t->half) & (__GFP_IO | __GFP_FS));
	pinion_half_release(&t->half);
	KUNIT_ASSERT_TRUE(test, pinion_half_visit(&t->half));
	KUNIT_EXPECT_FALSE(test, gfpflags_allow_blocking(pinion_half_gfp(&t->half)));
	pinion_half_leave(&t->half);
	KUNIT_ASSERT_TRUE(test, pinion_half_try(&t->half));
	KUNIT_EXPECT_TRUE(test, gfpflags_allow_blocking(pinion_half_gfp(&t->half)));
	pinion_half_release(&t->half);
	pinion_half_destroy(&t->half);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(there_is_one_owner_who_gives_way),
	KUNIT_CASE(who_tries_does_not_wait),
	KUNIT_CASE(it_is_wanted_until_nobody_wants_it),
	KUNIT_CASE(strangers_do_not_wait_for_memory),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_half",
	.test_cases = cases,
};

kunit_test_suites(&suite);
