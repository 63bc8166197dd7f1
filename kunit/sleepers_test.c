// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The threads of a user that may be in a fault: as many as there may be, whoever begins and ends at
 * the same time, and all of them again in the end.
 */
#include <kunit/test.h>

#include "movers.h"

#include "../kernel/mem/sleepers.h"

/* Fewer than threads that try, of owners that share some. */
static const struct pinion_sleepers_kind kind = {
	.name = "pinion_test",
	.active = 1,
	.most = 8,
	.own = 1,
	.most_shared = 1,
	.most_threads = 2,
};

/* What others use is not of this user: no crowd has been made for him. */
#define NOBODY	KUIDT_INIT(54321)

struct crowd_test {
	struct pinion_sleepers *sleepers;
	atomic_t inside;
	atomic_t together;		/* times that two had begun */
	atomic_t too_many;		/* times that more had begun than may */
	atomic_t refused;
};

/* Begins and ends all the time. */
static int sleeper(void *arg)
{
	struct crowd_test *t = arg;
	int inside;
	u32 i;

	while (!kthread_should_stop()) {
		for (i = 0; i < 1000; i++) {
			if (!pinion_sleepers_begin(t->sleepers)) {
				atomic_inc(&t->refused);
				continue;
			}
			inside = atomic_inc_return(&t->inside);
			if (inside > 1)
				atomic_inc(&t->together);
			if (inside > kind.most_threads)
				atomic_inc(&t->too_many);
			atomic_dec(&t->inside);
			pinion_sleepers_end(t->sleepers);
		}
		cond_resched();
	}
	return 0;
}

/* Have they met often? On one processor they hardly do. */
static bool have_met(struct crowd_test *t)
{
	return atomic_read(&t->together) >= 10000 || num_online_cpus() == 1;
}

static void no_thread_is_lost_or_won(struct kunit *test)
{
	struct crowd_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct pastime time = start_pastime();
	struct movers *movers;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->sleepers = pinion_sleepers_create(&kind, NOBODY);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->sleepers));
	movers = start_movers(test, sleeper, t);
	while (go_on(&time, have_met(t)))
		usleep_range(1000, 2000);
	stop_movers(movers);
	KUNIT_EXPECT_TRUE(test, have_met(t));
	KUNIT_EXPECT_EQ(test, atomic_read(&t->too_many), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->inside), 0);
	for (i = 0; i < kind.most_threads; i++)
		KUNIT_EXPECT_TRUE(test, pinion_sleepers_begin(t->sleepers));
	KUNIT_EXPECT_FALSE(test, pinion_sleepers_begin(t->sleepers));
	while (i--)
		pinion_sleepers_end(t->sleepers);
	pinion_sleepers_abandon(t->sleepers);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(no_thread_is_lost_or_won),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_sleepers",
	.test_cases = cases,
};

kunit_test_suites(&suite);
