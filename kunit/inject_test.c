// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Orders of failures: parsing, targets, and counting.
 */
#include <kunit/test.h>

#include "../kernel/mem/inject.c"
#include "../kernel/mem/inject_attr.c"
#include "../kernel/mem/inject_attr_files.c"

static int order(const char *text)
{
	char line[MAX_LINE];

	strscpy(line, text, sizeof(line));
	return pinion_inject_order(line);
}

/*
 * How many of @tries by process @pid with key @number fail; @which gets a bit for each of the
 * first 64.
 */
static int ask(pid_t pid, u32 number, int tries, u64 *which)
{
	int i, failed = 0;

	*which = 0;
	for (i = 0; i < tries; i++) {
		if (!pinion_inject(PINION_INJECT_FAULT, pid, number))
			continue;
		failed++;
		if (i < 64)
			*which |= BIT_ULL(i);
	}
	return failed;
}

static void off_by_itself(struct kunit *test)
{
	u64 which;

	KUNIT_EXPECT_FALSE(test, static_key_enabled(&pinion_injecting));
	KUNIT_EXPECT_EQ(test, ask(1, 1, 10, &which), 0);
	KUNIT_ASSERT_EQ(test, order("fault"), 0);
	KUNIT_EXPECT_TRUE(test, static_key_enabled(&pinion_injecting));
	KUNIT_EXPECT_EQ(test, order("off"), 0);
	KUNIT_EXPECT_FALSE(test, static_key_enabled(&pinion_injecting));
	KUNIT_EXPECT_EQ(test, ask(1, 1, 10, &which), 0);
}

static void which_time(struct kunit *test)
{
	static const struct {
		const char *order;
		u64 which;	/* bits of 12 tries */
	} cases[] = {
		{ "fault", 0x001 },
		{ "fault skip 4", 0x010 },
		{ "fault count 3", 0x007 },
		{ "fault count 0", 0xfff },
		{ "fault every 3 count 0", 0x924 },
		{ "fault skip 2 every 3 count 2", 0x090 },
		{ "fault percent 0 count 0", 0x000 },
		{ "  fault\tskip  0x3 ", 0x008 },
	};
	u64 which;
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_ASSERT_EQ_MSG(test, order(cases[i].order), 0, "%s", cases[i].order);
		KUNIT_EXPECT_EQ_MSG(test, ask(5, 9, 12, &which), hweight64(cases[i].which), "%s",
				    cases[i].order);
		KUNIT_EXPECT_EQ_MSG(test, which, cases[i].which, "%s", cases[i].order);
		pinion_inject_clear();
	}
}

static void by_chance(struct kunit *test)
{
	u64 first, again, other;
	int num;

	order("fault percent 30 seed 7 count 0");
	num = ask(1, 1, 1000, &first);
	KUNIT_EXPECT_GT(test, num, 200);
	KUNIT_EXPECT_LT(test, num, 400);
	pinion_inject_clear();
	order("fault percent 30 seed 7 count 0");
	KUNIT_EXPECT_EQ(test, ask(1, 1, 1000, &again), num);
	KUNIT_EXPECT_EQ(test, again, first);
	pinion_inject_clear();
	order("fault percent 30 seed 8 count 0");
	ask(1, 1, 1000, &other);
	KUNIT_EXPECT_NE(test, other, first);
}

static void whose(struct kunit *test)
{
	u64 which;

	order("fault pid 5 count 0");
	KUNIT_EXPECT_EQ(test, ask(4, 9, 3, &which), 0);
	KUNIT_EXPECT_EQ(test, ask(0, 9, 3, &which), 0);
	KUNIT_EXPECT_EQ(test, ask(5, 8, 3, &which), 3);
	pinion_inject_clear();
	order("fault number 0x900 count 0");
	KUNIT_EXPECT_EQ(test, ask(5, 0, 3, &which), 0);
	KUNIT_EXPECT_EQ(test, ask(5, 0x901, 3, &which), 0);
	KUNIT_EXPECT_EQ(test, ask(5, 0x900, 3, &which), 3);
	/* Tries of other targets are not counted. */
	pinion_inject_clear();
	order("fault pid 5 skip 1");
	ask(4, 9, 3, &which);
	ask(5, 9, 3, &which);
	KUNIT_EXPECT_EQ(test, which, 2);
	KUNIT_EXPECT_EQ(test, pinion_inject(PINION_INJECT_PIN, 5, 9), 0);
}

static void how(struct kunit *test)
{
	order("fault");
	KUNIT_EXPECT_EQ(test, pinion_inject(PINION_INJECT_FAULT, 1, 1), EFAULT);
	pinion_inject_clear();
	order("fault value 11");
	order("fault value 5 count 2");
	KUNIT_EXPECT_EQ(test, pinion_inject(PINION_INJECT_FAULT, 1, 1), 11);
	KUNIT_EXPECT_EQ(test, pinion_inject(PINION_INJECT_FAULT, 1, 1), 5);
	KUNIT_EXPECT_EQ(test, pinion_inject(PINION_INJECT_FAULT, 1, 1), 0);
}

static void sizes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, pinion_inject_size(PINION_INJECT_SPAN, 1, 1, 512), 512);
	order("span value 7 count 2");
	KUNIT_EXPECT_EQ(test, pinion_inject_size(PINION_INJECT_SPAN, 1, 1, 512), 7);
	/* A size never grows. */
	KUNIT_EXPECT_EQ(test, pinion_inject_size(PINION_INJECT_SPAN, 1, 1, 3), 3);
	KUNIT_EXPECT_EQ(test, pinion_inject_size(PINION_INJECT_SPAN, 1, 1, 512), 512);
	KUNIT_EXPECT_EQ(test, pinion_stretch(), 131072);
	order("stretch value 8");
	KUNIT_EXPECT_EQ(test, pinion_stretch(), 8);
}

static void not_understood(struct kunit *test)
{
	static const struct {
		const char *order;
		int err;
	} cases[] = {
		{ "", -EINVAL },
		{ "nothing", -EINVAL },
		{ "fault value", -EINVAL },
		{ "fault 5", -EINVAL },
		{ "fault value x", -EINVAL },
		{ "fault value -1", -EINVAL },
		{ "fault value 0", -ERANGE },
		{ "fault value 4096", -ERANGE },
		{ "fault value 99999999999", -ERANGE },
		{ "fault-delay value 1000001", -ERANGE },
		{ "status value 22", -ERANGE },
		{ "hold value 2147483648", -ERANGE },
		{ "leaf value 513", -ERANGE },
		{ "leaf value 0", -ERANGE },
		{ "span value 513", -ERANGE },
		{ "batch value 513", -ERANGE },
		{ "stretch value 7", -ERANGE },
		{ "stretch value 131073", -ERANGE },
		{ "fault every 0", -ERANGE },
		{ "fault percent 101", -ERANGE },
		{ "fault pid 0", -ERANGE },
		{ "fault what 1", -EINVAL },
		{ "off 1", -ENOENT },
		{ "off 99999999999", -EINVAL },
		{ "off x", -EINVAL },
		{ "off 0", -EINVAL },
		{ "off 1 2", -EINVAL },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		int err = order(cases[i].order);

		KUNIT_EXPECT_EQ_MSG(test, err, cases[i].err, "%s", cases[i].order);
		KUNIT_EXPECT_FALSE(test, static_key_enabled(&pinion_injecting));
	}
}

/* Who keeps something because of an order. */
struct keeper {
	struct wait_queue_entry entry;
	int told;
	bool lasts;
};

static int keeper_is_told(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	struct keeper *keeper = container_of(entry, struct keeper, entry);

	keeper->told++;
	keeper->lasts = pinion_inject_lasts(PINION_INJECT_HOLD, 5, 9);
	return 0;
}

/* Matches are asked for without counting; who keeps something hears that orders were removed. */
static void kept(struct kunit *test)
{
	struct keeper keeper = {};
	char line[32];

	init_waitqueue_func_entry(&keeper.entry, keeper_is_told);
	KUNIT_EXPECT_FALSE(test, pinion_inject_lasts(PINION_INJECT_HOLD, 5, 9));
	KUNIT_ASSERT_EQ(test, order("hold pid 5"), 0);
	KUNIT_ASSERT_EQ(test, order("fault"), 0);
	KUNIT_EXPECT_TRUE(test, pinion_inject_lasts(PINION_INJECT_HOLD, 5, 9));
	KUNIT_EXPECT_FALSE(test, pinion_inject_lasts(PINION_INJECT_HOLD, 6, 9));
	KUNIT_EXPECT_EQ(test, inject_orders[0].met, 0);
	KUNIT_EXPECT_EQ(test, pinion_inject(PINION_INJECT_HOLD, 5, 9), PINION_INJECT_FOREVER);
	/* It has done what it was to do, and is not over. */
	KUNIT_EXPECT_EQ(test, pinion_inject(PINION_INJECT_HOLD, 5, 9), 0);
	KUNIT_EXPECT_TRUE(test, pinion_inject_lasts(PINION_INJECT_HOLD, 5, 9));

	pinion_inject_keep(&keeper.entry);
	snprintf(line, sizeof(line), "off %u", inject_orders[0].id);
	KUNIT_EXPECT_EQ(test, order(line), 0);
	KUNIT_EXPECT_EQ(test, keeper.told, 1);
	KUNIT_EXPECT_FALSE(test, keeper.lasts);
	pinion_inject_let_go(&keeper.entry);
	KUNIT_EXPECT_EQ(test, order("off"), 0);
	KUNIT_EXPECT_EQ(test, keeper.told, 1);
	KUNIT_EXPECT_FALSE(test, static_key_enabled(&pinion_injecting));
}

static void used(struct kunit *test)
{
	pinion_inject_use(true);
	KUNIT_EXPECT_TRUE(test, static_key_enabled(&pinion_injecting));
	order("fault");
	pinion_inject_clear();
	KUNIT_EXPECT_TRUE(test, static_key_enabled(&pinion_injecting));
	pinion_inject_use(false);
	KUNIT_EXPECT_FALSE(test, static_key_enabled(&pinion_injecting));
}

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
/* Only while they are on, only their kind, and after the orders. */
static void by_attributes(struct kunit *test)
{
	struct pinion_inject_attr *attr = pinion_inject_attr_of(PINION_INJECT_FAULT);

	*attr = (struct pinion_inject_attr){
		.fault = FAULT_ATTR_INITIALIZER,
		.value = 7,
	};
	attr->fault.probability = 100;
	attr->fault.verbose = 0;
	atomic_set(&attr->fault.times, 3);
	order("pin count 0");
	KUNIT_EXPECT_EQ(test, pinion_inject(PINION_INJECT_FAULT, 1, 1), 0);
	KUNIT_EXPECT_FALSE(test, pinion_inject_lasts(PINION_INJECT_FAULT, 1, 1));
	pinion_inject_clear();

	KUNIT_EXPECT_EQ(test, inject_attr_set_on(NULL, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, inject_attr_set_on(NULL, 1), 0);
	KUNIT_EXPECT_EQ(test, inject_attr_set_on(NULL, 1), 0);
	KUNIT_EXPECT_TRUE(test, static_key_enabled(&pinion_injecting));
	KUNIT_EXPECT_TRUE(test, pinion_inject_lasts(PINION_INJECT_FAULT, 1, 1));
	KUNIT_EXPECT_FALSE(test, pinion_inject_lasts(PINION_INJECT_PIN, 1, 1));
	KUNIT_EXPECT_EQ(test, pinion_inject(PINION_INJECT_FAULT, 1, 1), 7);
	KUNIT_EXPECT_EQ(test, pinion_inject(PINION_INJECT_PIN, 1, 1), 0);
	order("fault pid 5 value 11");
	KUNIT_EXPECT_EQ(test, pinion_inject(PINION_INJECT_FAULT, 5, 1), 11);
	pinion_inject_clear();
	KUNIT_EXPECT_TRUE(test, static_key_enabled(&pinion_injecting));
	/* What an order did is not counted. */
	KUNIT_EXPECT_EQ(test, pinion_inject(PINION_INJECT_FAULT, 5, 1), 7);
	KUNIT_EXPECT_EQ(test, pinion_inject(PINION_INJECT_FAULT, 5, 1), 7);
	KUNIT_EXPECT_EQ(test, pinion_inject(PINION_INJECT_FAULT, 5, 1), 0);
	KUNIT_EXPECT_EQ(test, inject_attr_set_on(NULL, 0), 0);
	KUNIT_EXPECT_FALSE(test, static_key_enabled(&pinion_injecting));
}

/* The limits of a value are those of an order's. */
static void value_of_attributes(struct kunit *test)
{
	int i;

	for (i = 0; i < PINION_INJECT_NUM_KINDS; i++) {
		const struct pinion_inject_info *info = pinion_inject_info(i);
		u32 least = max(info->least, 1);
		void *number = (void *)(uintptr_t)i;
		u64 value;

		KUNIT_EXPECT_EQ(test, inject_attr_set_value(number, least - 1), -ERANGE);
		KUNIT_EXPECT_EQ(test, inject_attr_set_value(number, info->most + 1ULL), -ERANGE);
		KUNIT_EXPECT_EQ(test, inject_attr_set_value(number, least | BIT_ULL(32)), -ERANGE);
		KUNIT_EXPECT_EQ(test, inject_attr_set_value(number, least), 0);
		KUNIT_EXPECT_EQ(test, inject_attr_set_value(number, info->most), 0);
		KUNIT_EXPECT_EQ(test, inject_attr_get_value(number, &value), 0);
		KUNIT_EXPECT_EQ(test, value, info->most);
	}
}
#endif

static void so_many(struct kunit *test)
{
	char line[32];
	u32 first;
	int i;

	for (i = 0; i < MAX_ORDERS; i++)
		KUNIT_ASSERT_EQ(test, order("fault"), 0);
	KUNIT_EXPECT_EQ(test, order("fault"), -ENOSPC);
	first = inject_orders[0].id;
	snprintf(line, sizeof(line), "off %u", first);
	KUNIT_EXPECT_EQ(test, order(line), 0);
	KUNIT_EXPECT_EQ(test, order(line), -ENOENT);
	KUNIT_EXPECT_EQ(test, order("pin"), 0);
	KUNIT_EXPECT_NE(test, inject_orders[0].id, first);
	KUNIT_EXPECT_EQ(test, order("pin"), -ENOSPC);
}

static void inject_exit(struct kunit *test)
{
	pinion_inject_attr_end();
	pinion_inject_clear();
}

static struct kunit_case cases[] = {
	KUNIT_CASE(off_by_itself),
	KUNIT_CASE(which_time),
	KUNIT_CASE(by_chance),
	KUNIT_CASE(whose),
	KUNIT_CASE(how),
	KUNIT_CASE(sizes),
	KUNIT_CASE(not_understood),
	KUNIT_CASE(kept),
	KUNIT_CASE(used),
#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
	KUNIT_CASE(by_attributes),
	KUNIT_CASE(value_of_attributes),
#endif
	KUNIT_CASE(so_many),
	{}
};

static struct kunit_suite inject_suite = {
	.name = "pinion_inject",
	.exit = inject_exit,
	.test_cases = cases,
};

kunit_test_suite(inject_suite);
