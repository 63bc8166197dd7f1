// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Who is woken when an outlet has room: few at a time, since interrupts are disabled meanwhile, but
 * all in the end. The socket is this test's, and what it has under way.
 */
#include <kunit/test.h>
#include <net/sock.h>

#include "../kernel/path/qp.h"
#include "../kernel/wire/outlet.h"
#include "../kernel/wire/wire.h"

static int under_way;
/* Nothing is queued there. */
static struct workqueue_struct *hooked_wq;

static int hooked_under_way(const struct sock *sk)
{
	return under_way;
}

static struct sock *hooked_sock_get(struct sock __rcu **at)
{
	return rcu_dereference_protected(*at, true);
}

static void hooked_sock_put(struct sock *sk)
{
}

#define sk_wmem_alloc_get hooked_under_way
#define pinion_wire_sock_get hooked_sock_get
#define sock_put hooked_sock_put
#define pinion_wire_wq hooked_wq
#include "../kernel/wire/outlet.c"

/* Many times as many as may be woken at once. */
#define HALVES	2000
#define AT_ONCE	100

struct half {
	struct pinion_outlet_wait wait;
	bool woken;
};

struct world {
	struct pinion_outlet outlet;
	struct sock *sk;
	struct half *halves;
	u32 woken;			/* since it was last set to 0 */
};

static struct world *world;

/* The queue pair that is passed is the half. */
static void wake(struct pinion_qp *qp)
{
	struct half *half = (struct half *)qp;

	world->woken++;
	half->woken = true;
}

/* The outlet is full, and all wait. */
static void begin(struct kunit *test)
{
	struct half *half;

	world = kunit_kzalloc(test, sizeof(*world), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, world);
	world->sk = kunit_kzalloc(test, sizeof(*world->sk), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, world->sk);
	world->halves = kunit_kcalloc(test, HALVES, sizeof(*world->halves), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, world->halves);
	spin_lock_init(&world->outlet.lock);
	INIT_LIST_HEAD(&world->outlet.waiting);
	RCU_INIT_POINTER(world->outlet.sk, world->sk);
	rcu_assign_sk_user_data(world->sk, &world->outlet);
	under_way = SEND_BYTES;
	for (half = world->halves; half < world->halves + HALVES; half++) {
		pinion_outlet_wait_init(&half->wait, (struct pinion_qp *)half, wake);
		KUNIT_ASSERT_EQ(test, pinion_outlet_await(&world->outlet, &half->wait),
				PINION_OUTLET_LONG);
	}
}

static void none_is_woken_without_room(struct kunit *test)
{
	begin(test);
	outlet_write_space(world->sk);
	under_way = FEW_BYTES + 1;
	outlet_write_space(world->sk);
	KUNIT_EXPECT_EQ(test, world->woken, 0);
}

/* One packet is freed, and then no other: those who are woken wake the others. */
static void all_are_woken_in_order_and_few_at_a_time(struct kunit *test)
{
	struct half *half;
	u32 most = 0;

	begin(test);
	under_way = 0;
	outlet_write_space(world->sk);
	for (half = world->halves; half < world->halves + HALVES; half++) {
		most = max(most, world->woken);
		world->woken = 0;
		KUNIT_ASSERT_TRUE(test, half->woken);
		pinion_outlet_leave(&world->outlet, &half->wait);
	}
	KUNIT_EXPECT_GT(test, most, 0);
	KUNIT_EXPECT_LE(test, most, AT_ONCE);
	KUNIT_EXPECT_TRUE(test, list_empty(&world->outlet.waiting));
}

/* Those who are woken fill the outlet again. The next packet that is freed wakes others. */
static void who_fills_the_outlet_wakes_nobody(struct kunit *test)
{
	struct half *half;

	begin(test);
	half = world->halves;
	under_way = 0;
	outlet_write_space(world->sk);
	KUNIT_ASSERT_TRUE(test, half->woken);
	world->woken = 0;
	under_way = SEND_BYTES;
	for (; half < world->halves + HALVES - 1 && half->woken; half++)
		pinion_outlet_leave(&world->outlet, &half->wait);
	KUNIT_EXPECT_EQ(test, world->woken, 0);
	KUNIT_EXPECT_FALSE(test, half->woken);
	under_way = FEW_BYTES;
	outlet_write_space(world->sk);
	KUNIT_EXPECT_TRUE(test, half->woken);
}

/* Who goes without having been woken, as by its timer, takes nobody's place. */
static void who_gives_up_wakes_nobody(struct kunit *test)
{
	begin(test);
	pinion_outlet_leave(&world->outlet, &world->halves[0].wait);
	under_way = 0;
	pinion_outlet_leave(&world->outlet, &world->halves[1].wait);
	KUNIT_EXPECT_EQ(test, world->woken, 0);
	outlet_write_space(world->sk);
	KUNIT_EXPECT_FALSE(test, world->halves[0].woken || world->halves[1].woken);
	KUNIT_EXPECT_TRUE(test, world->halves[2].woken);
}

static struct kunit_case outlet_cases[] = {
	KUNIT_CASE(none_is_woken_without_room),
	KUNIT_CASE(all_are_woken_in_order_and_few_at_a_time),
	KUNIT_CASE(who_fills_the_outlet_wakes_nobody),
	KUNIT_CASE(who_gives_up_wakes_nobody),
	{}
};

static struct kunit_suite outlet_suite = {
	.name = "pinion_outlet",
	.test_cases = outlet_cases,
};

kunit_test_suite(outlet_suite);
