// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The routes of a namespace that ends: all are released, each once, and few at a time, since others
 * spin for the lock. Meanwhile queue pairs are made and end. The routes are this test's.
 */
#include <kunit/test.h>
#include <linux/sched.h>
#include <net/dst.h>

#include "../kernel/wire/route.h"
#include "../kernel/wire/wire.h"

static void hooked_dst_release(struct dst_entry *dst);
static void hooked_cond_resched(void);

#undef cond_resched
#define cond_resched hooked_cond_resched
#define dst_release hooked_dst_release
#include "../kernel/wire/route.c"

/* Many times as many as may be released at once. */
#define ROUTES	5000
#define AT_ONCE	100

struct one {
	struct pinion_route route;
	u32 released;
	bool ended;
};

struct world {
	struct pinion_wire wire;
	struct one *ones;
	struct pinion_route young;	/* begins in the first pause */
	u32 at_once, most;		/* released since the last pause; the largest number */
	u32 pauses;
	bool locked;			/* the lock was held in a pause */
};

static struct world *world;

/* The route that is passed is the number of its owner, from 1 on. */
static void hooked_dst_release(struct dst_entry *dst)
{
	if (!dst)
		return;
	world->ones[(unsigned long)dst - 1].released++;
	world->at_once++;
	world->most = max(world->most, world->at_once);
}

static void end_one(u32 i)
{
	struct one *one = &world->ones[i];

	if (one->ended)
		return;
	one->ended = true;
	pinion_route_end(&one->route, &world->wire);
}

/* Others have the lock now: the first and the last that have not ended end, and one begins. */
static void hooked_cond_resched(void)
{
	if (!spin_trylock(&world->wire.routes_lock)) {
		world->locked = true;
		return;
	}
	spin_unlock(&world->wire.routes_lock);
	if (!world->pauses)
		pinion_route_init(&world->young, &world->wire);
	end_one(world->pauses);
	end_one(ROUTES - 1 - world->pauses);
	world->pauses++;
	world->at_once = 0;
}

static void begin(struct kunit *test)
{
	u32 i;

	world = kunit_kzalloc(test, sizeof(*world), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, world);
	world->ones = kunit_kcalloc(test, ROUTES, sizeof(*world->ones), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, world->ones);
	pinion_routes_init(&world->wire);
	for (i = 0; i < ROUTES; i++) {
		pinion_route_init(&world->ones[i].route, &world->wire);
		/* Every third has never sent. */
		if (i % 3)
			world->ones[i].route.dst = (struct dst_entry *)(unsigned long)(i + 1);
	}
}

static void all_are_released_few_at_a_time(struct kunit *test)
{
	u32 i;

	begin(test);
	pinion_routes_forget(&world->wire);
	for (i = 0; i < ROUTES; i++)
		KUNIT_ASSERT_EQ(test, world->ones[i].released, !!(i % 3));
	KUNIT_EXPECT_GT(test, world->pauses, 0);
	KUNIT_EXPECT_FALSE(test, world->locked);
	KUNIT_EXPECT_LE(test, world->most, AT_ONCE);
}

/* All of them can end afterwards, and then the list is empty. */
static void all_end_afterwards(struct kunit *test)
{
	u32 i;

	begin(test);
	pinion_routes_forget(&world->wire);
	KUNIT_ASSERT_GT(test, world->pauses, 0);
	pinion_route_end(&world->young, &world->wire);
	for (i = 0; i < ROUTES; i++)
		end_one(i);
	KUNIT_EXPECT_TRUE(test, list_empty(&world->wire.routes));
	for (i = 0; i < ROUTES; i++)
		KUNIT_ASSERT_EQ(test, world->ones[i].released, !!(i % 3));
}

/* Without queue pairs there is nothing to do. */
static void none_is_none(struct kunit *test)
{
	world = kunit_kzalloc(test, sizeof(*world), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, world);
	pinion_routes_init(&world->wire);
	pinion_routes_forget(&world->wire);
	KUNIT_EXPECT_TRUE(test, list_empty(&world->wire.routes));
	KUNIT_EXPECT_EQ(test, world->pauses, 0);
}

static struct kunit_case route_cases[] = {
	KUNIT_CASE(all_are_released_few_at_a_time),
	KUNIT_CASE(all_end_afterwards),
	KUNIT_CASE(none_is_none),
	{}
};

static struct kunit_suite route_suite = {
	.name = "pinion_route",
	.test_cases = route_cases,
};

kunit_test_suite(route_suite);
