// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How much the lines of one user may have, those of which each has little included.
 */
#include <kunit/test.h>

#include "../kernel/wire/wire.h"

/* Each buffer has one packet. */
static u32 hooked_packets(const struct sk_buff *skb)
{
	return 1;
}

#define pinion_wire_packets hooked_packets
#include "../kernel/wire/line.c"

static bool add(struct kunit *test, struct pinion_line *line)
{
	struct sk_buff *skb = alloc_skb(64, GFP_KERNEL);
	bool added;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	added = pinion_line_add(line, skb);
	if (!added)
		kfree_skb(skb);
	return added;
}

static void a_line_may_have_its_floor_beyond_the_limit(struct kunit *test)
{
	atomic64_t share = ATOMIC64_INIT(PINION_MAX_WAITING);
	struct pinion_line line;

	pinion_line_init(&line, &share);
	KUNIT_EXPECT_FALSE(test, add(test, &line));
	pinion_line_open(&line);
	while (add(test, &line))
		KUNIT_ASSERT_LT(test, skb_queue_len(&line.buffers), LINE_PACKETS);
	KUNIT_EXPECT_GE(test, line.bytes, LINE_FLOOR);
	KUNIT_EXPECT_EQ(test, atomic64_read(&share), PINION_MAX_WAITING + line.bytes);
	pinion_line_close(&line);
	KUNIT_EXPECT_EQ(test, atomic64_read(&share), PINION_MAX_WAITING);
}

/* A user has any number of queue pairs: their floors must not add up without end. */
static void all_floors_together_are_limited(struct kunit *test)
{
	s64 before = PINION_MOST_WAITING - 1;
	atomic64_t share = ATOMIC64_INIT(before);
	struct pinion_line first, second;

	pinion_line_init(&first, &share);
	pinion_line_init(&second, &share);
	pinion_line_open(&first);
	pinion_line_open(&second);
	KUNIT_EXPECT_TRUE(test, add(test, &first));
	KUNIT_EXPECT_FALSE(test, add(test, &first));
	KUNIT_EXPECT_FALSE(test, add(test, &second));
	/* One that is empty again makes room for another. */
	pinion_line_pass(&first, 1);
	KUNIT_EXPECT_TRUE(test, add(test, &second));
	pinion_line_close(&first);
	pinion_line_close(&second);
	KUNIT_EXPECT_EQ(test, atomic64_read(&share), before);
}

static void kernel_consumers_have_no_limit_together(struct kunit *test)
{
	struct pinion_line line;

	pinion_line_init(&line, NULL);
	pinion_line_open(&line);
	while (add(test, &line))
		;
	KUNIT_EXPECT_EQ(test, skb_queue_len(&line.buffers), LINE_PACKETS);
	pinion_line_close(&line);
}

static struct kunit_case line_cases[] = {
	KUNIT_CASE(a_line_may_have_its_floor_beyond_the_limit),
	KUNIT_CASE(all_floors_together_are_limited),
	KUNIT_CASE(kernel_consumers_have_no_limit_together),
	{}
};

static struct kunit_suite line_suite = {
	.name = "pinion_line",
	.test_cases = line_cases,
};

kunit_test_suite(line_suite);
