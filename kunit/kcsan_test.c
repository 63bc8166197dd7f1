// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On a kernel with KCSAN: a race on purpose is reported. So this kernel sees races of modules at
 * all, and its reports reach the console.
 */
#include <kunit/test.h>

#ifdef CONFIG_KCSAN

#include <trace/events/printk.h>

#include "movers.h"

struct racers {
	unsigned long count;
	atomic_t rounds, reports;
};

static noinline void race_on_purpose(struct racers *r)
{
	r->count++;
}

static int racer(void *arg)
{
	struct racers *r = arg;

	while (!kthread_should_stop()) {
		race_on_purpose(r);
		atomic_inc(&r->rounds);
		cond_resched();
	}
	return 0;
}

static void racers_line(void *arg, const char *text, size_t len)
{
	struct racers *r = arg;

	if (strnstr(text, "KCSAN: data-race in race_on_purpose", len))
		atomic_inc(&r->reports);
}

static void racers_unwatch(void *arg)
{
	unregister_trace_console(racers_line, arg);
	tracepoint_synchronize_unregister();
}

static void a_race_on_purpose_is_reported(struct kunit *test)
{
	struct racers *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct pastime time = start_pastime();
	struct movers *movers;

	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_ASSERT_EQ(test, register_trace_console(racers_line, r), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, racers_unwatch, r), 0);
	/* For the search of the console. KCSAN repeats the report of a race after seconds. */
	pr_info("box: expect 100 KCSAN: data-race in race_on_purpose\n");
	movers = start_movers(test, racer, r);
	while (go_on(&time, atomic_read(&r->reports)))
		msleep(20);
	stop_movers(movers);
	pr_info("box: expect no more\n");
	KUNIT_EXPECT_GT(test, atomic_read(&r->reports), 0);
	kunit_info(test, "%d rounds, %d reports", atomic_read(&r->rounds),
		   atomic_read(&r->reports));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_race_on_purpose_is_reported),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_kcsan",
	.test_cases = cases,
};

kunit_test_suites(&suite);

#endif /* CONFIG_KCSAN */
