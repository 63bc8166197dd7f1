// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completions that are held back: their order and their times, against an oracle that knows all
 * that ever came. The clock, the work item and the orders are this test's.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../kernel/mem/inject.h"
#include "random.h"

/* Queue pairs 1 to QPS complete in one queue. */
#define QPS	4
#define MOST	400

static u64 clock_ns;
/* When the work item runs; U64_MAX: it is not scheduled. */
static u64 work_ns;
static int keepers;
/* Of a queue pair: microseconds of its order; 0: it has none. Does the next completion match? */
static u32 ordered_us[QPS + 1];
static bool order_is_due;

static u64 hooked_now(void)
{
	return clock_ns;
}

static bool hooked_schedule(struct workqueue_struct *wq, struct delayed_work *work,
			    unsigned long delay)
{
	work_ns = clock_ns + jiffies_to_nsecs(delay);
	return false;
}

static int hooked_inject(enum pinion_inject_kind kind, pid_t pid, u32 qpn)
{
	return order_is_due ? ordered_us[qpn] : 0;
}

static bool hooked_lasts(enum pinion_inject_kind kind, pid_t pid, u32 qpn)
{
	return ordered_us[qpn];
}

static void hooked_keep(struct wait_queue_entry *entry)
{
	keepers++;
}

static void hooked_let_go(struct wait_queue_entry *entry)
{
	keepers--;
}

#define ktime_get_ns hooked_now
#define mod_delayed_work hooked_schedule
#define pinion_inject hooked_inject
#define pinion_inject_lasts hooked_lasts
#define pinion_inject_keep hooked_keep
#define pinion_inject_let_go hooked_let_go

#include "../kernel/path/hold.c"

static struct pinion_hold hold;

/* The oracle: all completions in the order in which they came. */
static struct came {
	u32 qpn;
	u64 until;			/* 0: not held for itself; U64_MAX: no end */
	bool out, forgotten;
} came[MOST];
static u32 num_came;

/* Those that were written, by number. */
static u32 written[MOST];
static u32 num_written;

static void write_one(const struct pinion_cqe *cqe)
{
	written[num_written++] = cqe->wr_id;
	came[cqe->wr_id].out = true;
}

/* As cq_put_held() of complete.c. */
static void write_held(bool all)
{
	const struct pinion_cqe *cqe;

	while ((cqe = pinion_hold_next(&hold, all))) {
		write_one(cqe);
		pinion_hold_drop(&hold);
	}
}

static void never_called(struct work_struct *work)
{
}

static void begin(bool user)
{
	/* What a test that failed left is not this one's. */
	memset(&hold, 0, sizeof(hold));
	pinion_hold_init(&hold, never_called, NULL, 0, user);
	memset(ordered_us, 0, sizeof(ordered_us));
	num_came = 0;
	num_written = 0;
	keepers = 0;
	clock_ns = NSEC_PER_SEC;
	work_ns = U64_MAX;
}

static void run_work(void)
{
	if (work_ns > clock_ns)
		return;
	work_ns = U64_MAX;
	write_held(false);
}

static bool is_due(const struct came *one, u64 now)
{
	return one->until <= now || !ordered_us[one->qpn];
}

/* How many may be written at @now, by definition: up to the first that has to wait. */
static u32 oracle_out(u64 now)
{
	u32 i, num = 0;

	for (i = 0; i < num_came; i++) {
		if (came[i].forgotten)
			continue;
		if (!came[i].out && !is_due(&came[i], now))
			break;
		num++;
	}
	return num;
}

static void check(struct kunit *test)
{
	u32 i, n = 0, waiting = 0;

	/* In order, none twice, none that was forgotten before. */
	for (i = 1; i < num_written; i++)
		KUNIT_ASSERT_LT(test, written[i - 1], written[i]);
	/* None before another that waits, and none too early. */
	for (i = 0; i < num_came; i++) {
		waiting += !came[i].out && !came[i].forgotten;
		n += came[i].out && !came[i].forgotten;
		KUNIT_ASSERT_FALSE(test, waiting && came[i].out && !came[i].forgotten);
	}
	KUNIT_ASSERT_LE(test, n, oracle_out(clock_ns));
	KUNIT_ASSERT_EQ(test, hold.count, waiting);
	KUNIT_ASSERT_EQ(test, keepers, waiting ? 1 : 0);
}

/* Whatever was due two ticks ago has been written. */
static void check_not_late(struct kunit *test)
{
	u32 i, n = 0, due = oracle_out(clock_ns);

	for (i = 0; i < 4; i++) {
		clock_ns += jiffies_to_nsecs(1) / 2;
		run_work();
	}
	for (i = 0; i < num_came; i++)
		n += came[i].out && !came[i].forgotten;
	KUNIT_ASSERT_GE(test, n, due);
}

/* Return: was it held? If not, all are written. */
static bool comes(u32 qpn, u8 status)
{
	struct pinion_cqe cqe = { .wr_id = num_came, .qpn = qpn, .status = status };
	u32 us = order_is_due ? ordered_us[qpn] : 0;

	came[num_came++] = (struct came){
		.qpn = qpn,
		.until = !us ? 0 :
			 us == PINION_INJECT_FOREVER ? U64_MAX : clock_ns + us * 1000ULL,
	};
	if (pinion_hold_add(&hold, &cqe))
		return true;
	write_held(true);
	write_one(&cqe);
	return false;
}

static void order_ends(u32 qpn)
{
	ordered_us[qpn] = 0;
	if (keepers)
		hold.ended.func(&hold.ended, 0, 0, NULL);
}

static void forget(u32 qpn)
{
	u32 i;

	pinion_hold_forget(&hold, qpn);
	for (i = 0; i < num_came; i++) {
		if (!came[i].out && (!qpn || came[i].qpn == qpn))
			came[i].forgotten = true;
	}
}

static void one_step(struct kunit *test, struct rnd_state *rnd)
{
	u32 qpn = 1 + random_below(rnd, QPS);
	bool waiting = hold.count, held;

	switch (random_below(rnd, 12)) {
	case 0:
		ordered_us[qpn] = random_one_in(rnd, 4) ? PINION_INJECT_FOREVER :
							  1 + random_below(rnd, 50000);
		break;
	case 1:
		order_ends(qpn);
		break;
	case 2:
		if (random_one_in(rnd, 4))
			forget(random_one_in(rnd, 4) ? 0 : qpn);
		break;
	case 3:
	case 4:
		clock_ns += random_below(rnd, 30000000);
		break;
	case 5:
		check_not_late(test);
		break;
	default:
		order_is_due = random_one_in(rnd, 2);
		held = comes(qpn, 0);
		KUNIT_ASSERT_EQ(test, held, waiting || (order_is_due && ordered_us[qpn]));
	}
	run_work();
	check(test);
}

static void as_the_oracle_says(struct kunit *test)
{
	struct rnd_state rnd;
	u32 i, round, qpn;

	random_begin(&rnd, 60);
	for (round = 0; round < 200; round++) {
		begin(true);
		/* One completion a step at most. */
		for (i = 0; i < MOST; i++)
			one_step(test, &rnd);
		/* Without orders all that is left comes. */
		for (qpn = 1; qpn <= QPS; qpn++)
			order_ends(qpn);
		check_not_late(test);
		check(test);
		KUNIT_ASSERT_EQ(test, hold.count, 0);
		pinion_hold_fini(&hold);
	}
}

/* A flushed request of a kernel consumer ends the wait of all; one of a process does not. */
static void flushed(struct kunit *test)
{
	int user;

	for (user = 0; user <= 1; user++) {
		begin(user);
		ordered_us[1] = PINION_INJECT_FOREVER;
		order_is_due = true;
		KUNIT_EXPECT_TRUE(test, comes(1, 0));
		KUNIT_EXPECT_TRUE(test, comes(2, 0));
		KUNIT_EXPECT_EQ(test, comes(2, IB_WC_WR_FLUSH_ERR), user);
		KUNIT_EXPECT_EQ(test, num_written, user ? 0 : 3);
		forget(0);
		check(test);
		pinion_hold_fini(&hold);
	}
}

/* There is a limit, beyond which all are written. */
static void so_many(struct kunit *test)
{
	struct pinion_cqe cqe = { .qpn = 1 };
	const struct pinion_cqe *next;
	u32 i;

	begin(true);
	ordered_us[1] = PINION_INJECT_FOREVER;
	order_is_due = true;
	for (i = 0; i < MAX_HELD; i++) {
		cqe.wr_id = i;
		KUNIT_ASSERT_TRUE(test, pinion_hold_add(&hold, &cqe));
	}
	KUNIT_EXPECT_FALSE(test, pinion_hold_add(&hold, &cqe));
	KUNIT_EXPECT_NULL(test, pinion_hold_next(&hold, false));
	for (i = 0; (next = pinion_hold_next(&hold, true)); i++) {
		KUNIT_ASSERT_EQ(test, next->wr_id, i);
		pinion_hold_drop(&hold);
	}
	KUNIT_EXPECT_EQ(test, i, MAX_HELD);
	KUNIT_EXPECT_EQ(test, keepers, 0);
	pinion_hold_fini(&hold);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(as_the_oracle_says),
	KUNIT_CASE(flushed),
	KUNIT_CASE(so_many),
	{}
};

static struct kunit_suite hold_suite = {
	.name = "pinion_hold",
	.test_cases = cases,
};

kunit_test_suite(hold_suite);
