// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The window of packets in flight, against an oracle that counts packet by packet, and over a
 * simulated network of limited capacity.
 */
#include <kunit/test.h>

#include "../kernel/logic/inflight.c"
#include "random.h"

/* The oracle: acknowledges a single packet. */
static void acknowledge_one(struct pinion_inflight *o)
{
	if (o->window == o->most)
		return;
	if (o->window < o->safe)
		o->window++;
	else if (++o->part >= o->window)
		o->part -= o->window++;
	if (o->window == o->most)
		o->part = 0;
}

static void expect_same(struct kunit *test, const struct pinion_inflight *a,
			const struct pinion_inflight *b)
{
	KUNIT_ASSERT_EQ(test, a->window, b->window);
	KUNIT_ASSERT_EQ(test, a->safe, b->safe);
	KUNIT_ASSERT_EQ(test, a->part, b->part);
	KUNIT_ASSERT_GE(test, a->window, 1);
	KUNIT_ASSERT_LE(test, a->window, a->most);
}

/* One acknowledgment of many packets has the same effect as many of one packet. */
static void many_at_a_time_are_one_by_one(struct kunit *test)
{
	struct pinion_inflight a, b;
	struct rnd_state rnd;
	u32 i, j, n;

	random_begin(&rnd, 1);
	for (i = 0; i < 200; i++) {
		pinion_inflight_init(&a, 1 + random_below(&rnd, 300));
		b = a;
		for (j = 0; j < 200; j++) {
			n = 1 + random_below(&rnd, 2 * a.most);
			switch (random_below(&rnd, 10)) {
			case 0:
				pinion_inflight_lost(&a);
				pinion_inflight_lost(&b);
				break;
			case 1:
				pinion_inflight_late(&a);
				pinion_inflight_late(&b);
				break;
			default:
				pinion_inflight_acknowledged(&a, n);
				while (n--)
					acknowledge_one(&b);
				break;
			}
			expect_same(test, &a, &b);
		}
	}
}

/*
 * A network that loses packets beyond its capacity (@room): after the first losses the window stays
 * near the capacity, and most of the capacity is used.
 */
static void it_finds_the_room_there_is(struct kunit *test)
{
	u32 room, rounds, lost, used;
	struct pinion_inflight inflight;

	for (room = 8; room < 200; room += 7) {
		pinion_inflight_init(&inflight, 256);
		/* The initial window is far too large. */
		while (inflight.window > room)
			pinion_inflight_lost(&inflight);
		lost = 0;
		used = 0;
		for (rounds = 0; rounds < 1000; rounds++) {
			KUNIT_ASSERT_GE(test, inflight.window, room / 4);
			KUNIT_ASSERT_LE(test, inflight.window, room + 1);
			used += inflight.window;
			if (inflight.window > room) {
				pinion_inflight_lost(&inflight);
				lost++;
			} else {
				pinion_inflight_acknowledged(&inflight, inflight.window);
			}
		}
		KUNIT_EXPECT_GT(test, used, 1000 * room * 2 / 3);
		/* At most one loss per room / 2 round trips. */
		KUNIT_EXPECT_LE(test, lost, 1000 / (room / 2) + 1);
	}
}

/*
 * A timeout sets the window to one packet, from which it grows again. As in wire/requester_clock.c,
 * what is sent again then is regarded as lost.
 */
static void late_is_one_packet_at_a_time(struct kunit *test)
{
	struct pinion_inflight inflight;
	u32 i;

	pinion_inflight_init(&inflight, 256);
	for (i = 0; i < 10; i++) {
		pinion_inflight_late(&inflight);
		pinion_inflight_lost(&inflight);
		KUNIT_EXPECT_EQ(test, inflight.window, 1);
	}
	/* However many timeouts there were, half of the first window is regarded as safe. */
	for (i = 0; i < 7; i++)
		pinion_inflight_acknowledged(&inflight, inflight.window);
	KUNIT_EXPECT_EQ(test, inflight.window, 128);
	pinion_inflight_acknowledged(&inflight, 128);
	KUNIT_EXPECT_EQ(test, inflight.window, 129);
}

/* What has not left this host can be sent again, whatever is acknowledged. */
static void what_has_not_left_has_room(struct kunit *test)
{
	struct pinion_inflight inflight;
	u32 packets;

	for (packets = 0; packets < 256; packets++) {
		pinion_inflight_init(&inflight, 256);
		pinion_inflight_full(&inflight, packets);
		KUNIT_EXPECT_EQ(test, inflight.window, max(128, packets + 1));
		KUNIT_EXPECT_EQ(test, inflight.safe, 128);
	}
	for (packets = 0; packets < 10; packets++)
		pinion_inflight_full(&inflight, 0);
	KUNIT_EXPECT_EQ(test, inflight.window, 1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(many_at_a_time_are_one_by_one),
	KUNIT_CASE(it_finds_the_room_there_is),
	KUNIT_CASE(late_is_one_packet_at_a_time),
	KUNIT_CASE(what_has_not_left_has_room),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_inflight",
	.test_cases = cases,
};

kunit_test_suites(&suite);
