// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How long a work item that was in the way on another CPU is left where it is.
 */
#include <kunit/test.h>
#include <linux/cpu.h>

#include "../kernel/path/linger.c"

static void pauses_double_up_to_a_limit(struct kunit *test)
{
	struct pinion_crowding crowding = {};
	unsigned long least = msecs_to_jiffies(MIN_PAUSE_MS), most = msecs_to_jiffies(MAX_PAUSE_MS);
	unsigned long expected = least;
	int i;

	for (i = 0; i < 20; i++) {
		pinion_crowding_judge(&crowding, true);
		KUNIT_ASSERT_EQ(test, crowding.pause, expected);
		KUNIT_ASSERT_TRUE(test, time_after_eq(crowding.end, jiffies));
		expected = min(2 * expected, most);
	}
	KUNIT_EXPECT_EQ(test, crowding.pause, most);
	pinion_crowding_judge(&crowding, false);
	KUNIT_EXPECT_EQ(test, crowding.pause, 0);
	pinion_crowding_judge(&crowding, true);
	KUNIT_EXPECT_EQ(test, crowding.pause, least);
}

static bool moved_at_was_late(struct pinion_crowding *crowding, u64 moved)
{
	crowding->moved = moved;
	return pinion_crowding_was_late(crowding);
}

static void who_was_late_pauses_and_luck_is_not_believed(struct kunit *test)
{
	struct pinion_crowding crowding = {};
	unsigned long least = msecs_to_jiffies(MIN_PAUSE_MS), before;
	/* A time to come: it cannot be late, however slow the machine is. */
	u64 prompt = ktime_get_ns() + 1000 * NSEC_PER_SEC;
	u64 late = ktime_get_ns() - 2 * LATE_NS;
	int i;

	KUNIT_EXPECT_FALSE(test, pinion_crowding_was_late(&crowding));
	KUNIT_EXPECT_FALSE(test, moved_at_was_late(&crowding, prompt));
	KUNIT_EXPECT_EQ(test, crowding.moved, 0);
	KUNIT_EXPECT_EQ(test, crowding.pause, 0);
	KUNIT_EXPECT_TRUE(test, moved_at_was_late(&crowding, late));
	KUNIT_EXPECT_EQ(test, crowding.moved, 0);
	KUNIT_EXPECT_EQ(test, crowding.pause, least);
	for (i = 0; i < 5; i++)
		moved_at_was_late(&crowding, late);
	before = crowding.pause;
	KUNIT_EXPECT_GT(test, before, 8 * least);
	KUNIT_EXPECT_FALSE(test, moved_at_was_late(&crowding, prompt));
	KUNIT_EXPECT_LT(test, crowding.pause, before);
	KUNIT_EXPECT_GT(test, crowding.pause, before / 2);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, crowding.end));
}

static void nothing_is_moved_in_a_pause(struct kunit *test)
{
	struct pinion_crowding crowding = {};

	if (num_online_cpus() == 1)
		kunit_skip(test, "there is no other CPU");
	KUNIT_EXPECT_TRUE(test, pinion_crowding_allows(&crowding));
	crowding.pause = 1;
	crowding.end = jiffies + MAX_JIFFY_OFFSET / 2;
	KUNIT_EXPECT_FALSE(test, pinion_crowding_allows(&crowding));
	crowding.end = jiffies;
	KUNIT_EXPECT_TRUE(test, pinion_crowding_allows(&crowding));
}

static void the_other_cpu_is_online_and_another(struct kunit *test)
{
	int cpu, other;

	if (num_online_cpus() == 1)
		kunit_skip(test, "there is no other CPU");
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		other = pinion_linger_cpu(cpu);
		KUNIT_EXPECT_NE(test, other, cpu);
		KUNIT_EXPECT_TRUE(test, cpu_online(other));
	}
	cpus_read_unlock();
}

struct linger_event {
	int polls;		/* how often it was asked */
	int at;			/* it comes then; 0: never */
};

static bool linger_event_comes(const void *object)
{
	struct linger_event *event = (void *)object;

	return ++event->polls == event->at;
}

static void lingering_ends_with_the_event_or_in_time(struct kunit *test)
{
	struct pinion_linger linger = {};
	struct linger_event soon = { .at = 3 }, never = {};
	u64 begin = ktime_get_ns();

	/* Whether other tasks want this CPU is not up to the test. */
	if (pinion_linger(&linger, linger_event_comes, &soon))
		KUNIT_EXPECT_EQ(test, soon.polls, 3);
	else
		KUNIT_EXPECT_TRUE(test, linger.crowded || ktime_get_ns() - begin > LINGER_NS);
	begin = ktime_get_ns();
	KUNIT_EXPECT_FALSE(test, pinion_linger(&linger, linger_event_comes, &never));
	KUNIT_EXPECT_TRUE(test, linger.crowded || ktime_get_ns() - begin > LINGER_NS);
}

static struct kunit_case linger_cases[] = {
	KUNIT_CASE(pauses_double_up_to_a_limit),
	KUNIT_CASE(who_was_late_pauses_and_luck_is_not_believed),
	KUNIT_CASE(nothing_is_moved_in_a_pause),
	KUNIT_CASE(the_other_cpu_is_online_and_another),
	KUNIT_CASE(lingering_ends_with_the_event_or_in_time),
	{}
};

static struct kunit_suite linger_suite = {
	.name = "pinion_linger",
	.test_cases = linger_cases,
};

kunit_test_suite(linger_suite);
