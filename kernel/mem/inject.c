// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Orders of failures: parses, keeps, matches and counts them; see inject.h.
 */
#include <linux/cleanup.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>
#include <rdma/ib_verbs.h>

#include "inject.h"
#include "inject_attr.h"
#include "mtt.h"
#include "odp.h"

#define MAX_ORDERS	16
#define MAX_LINE	256
/* The longest delay: others may wait for a fault or a request that is delayed. */
#define MAX_US		((u32)USEC_PER_SEC)
/* Sizes as they are by themselves are the largest; a word of 8 bytes is copied in one piece. */
#define MAX_ENTRIES	BIT(PINION_MTT_LEAF_SHIFT)
#define MAX_PAGES	BIT(PINION_CHILD_SHIFT - PAGE_SHIFT)
#define MIN_STRETCH	((u32)sizeof(u64))

static const struct pinion_inject_info inject_kinds[] = {
	[PINION_INJECT_PIN]		= { "pin", ENOMEM, MAX_ERRNO },
	[PINION_INJECT_WATCH]		= { "watch", ENOMEM, MAX_ERRNO },
	[PINION_INJECT_TABLE]		= { "table", ENOMEM, MAX_ERRNO },
	[PINION_INJECT_KEY]		= { "key", ENOMEM, MAX_ERRNO },
	[PINION_INJECT_COPY_OUT]	= { "copy-out", EFAULT, MAX_ERRNO },
	[PINION_INJECT_ATTACH]		= { "attach", ENODEV, MAX_ERRNO },
	[PINION_INJECT_MAP]		= { "map", ENOMEM, MAX_ERRNO },
	[PINION_INJECT_FAULT]		= { "fault", EFAULT, MAX_ERRNO },
	[PINION_INJECT_FAULT_DELAY]	= { "fault-delay", 10000, MAX_US },
	[PINION_INJECT_INVALIDATE]	= { "invalidate", 1, 1 },
	[PINION_INJECT_LEAF]		= { "leaf", 4, MAX_ENTRIES },
	[PINION_INJECT_SPAN]		= { "span", 4, MAX_PAGES },
	[PINION_INJECT_BATCH]		= { "batch", 1, MAX_PAGES },
	[PINION_INJECT_STRETCH]		= { "stretch", 64, PINION_STRETCH, MIN_STRETCH },
	[PINION_INJECT_STATUS]		= { "status", IB_WC_GENERAL_ERR, IB_WC_GENERAL_ERR },
	[PINION_INJECT_FATAL]		= { "fatal", 1, 1 },
	[PINION_INJECT_LATE]		= { "late", 10000, MAX_US },
	[PINION_INJECT_LOSS]		= { "loss", 1, 1 },
	[PINION_INJECT_CORRUPT]		= { "corrupt", 1, 1 },
	[PINION_INJECT_DUPLICATE]	= { "duplicate", 1, 1 },
	[PINION_INJECT_REORDER]		= { "reorder", 1, 1 },
	[PINION_INJECT_RNR]		= { "rnr", 1, 1 },
	[PINION_INJECT_OVERFLOW]	= { "overflow", 1, 1 },
	[PINION_INJECT_HOLD]		= { "hold", PINION_INJECT_FOREVER, PINION_INJECT_FOREVER },
};

static_assert(ARRAY_SIZE(inject_kinds) == PINION_INJECT_NUM_KINDS);

/* 0 in @pid or @number matches any. */
struct inject_order {
	u32 id;				/* 0: this slot is free */
	enum pinion_inject_kind kind;
	u32 value;
	u32 pid;
	u32 number;
	u32 skip;			/* the first @skip matches do not fail */
	u32 every;			/* of the others, each @every-th is considered, */
	u32 percent;			/* and fails with this probability */
	u32 seed;			/* of @chance */
	u32 count;			/* the number of failures; 0: no limit */
	u64 met;			/* matches so far */
	u64 failed;			/* failures so far */
	struct rnd_state chance;
};

DEFINE_STATIC_KEY_FALSE(pinion_injecting);

/* Protects inject_orders. Taken in any context, also inside gates, so it must not sleep. */
static DEFINE_RAW_SPINLOCK(inject_lock);
static struct inject_order inject_orders[MAX_ORDERS];
static u32 inject_last_id;

/* Held while orders are added or removed and the static key is switched. Before inject_lock. */
static DEFINE_MUTEX(inject_change);

/* Other reasons to have the static key on. inject_change is held. */
static u32 inject_uses;

/* Those who keep something because of an order: told when orders are removed, and counted. */
static DECLARE_WAIT_QUEUE_HEAD(inject_removed);
static atomic_t inject_keepers;

/* ------------------------------------------------------------------ matching */

/* @order matches; count that. Return: whether to fail this time. inject_lock is held. */
static bool inject_is_due(struct inject_order *order)
{
	u64 nth = order->met++;
	u32 rest;

	if (nth < order->skip || (order->count && order->failed >= order->count))
		return false;
	div_u64_rem(nth - order->skip + 1, order->every, &rest);
	if (rest)
		return false;
	if (order->percent < 100 &&
	    prandom_u32_state(&order->chance) % 100 >= order->percent)
		return false;
	order->failed++;
	return true;
}

static bool inject_is_of(const struct inject_order *order, enum pinion_inject_kind kind,
			 pid_t pid, u32 number)
{
	return order->id && order->kind == kind && (!order->pid || order->pid == pid) &&
	       (!order->number || order->number == number);
}

/*
 * All orders that match count. If several are due, the value is that of the first. Where none is
 * due, the attributes are asked.
 */
int pinion_inject_ask(enum pinion_inject_kind kind, pid_t pid, u32 number)
{
	struct inject_order *order;
	unsigned long flags;
	int value = 0;

	raw_spin_lock_irqsave(&inject_lock, flags);
	for (order = inject_orders; order < inject_orders + MAX_ORDERS; order++) {
		if (inject_is_of(order, kind, pid, number) && inject_is_due(order) && !value)
			value = order->value;
	}
	raw_spin_unlock_irqrestore(&inject_lock, flags);
	return value ?: pinion_inject_attr_ask(kind);
}

bool pinion_inject_lasts(enum pinion_inject_kind kind, pid_t pid, u32 number)
{
	struct inject_order *order;
	unsigned long flags;
	bool lasts = false;

	raw_spin_lock_irqsave(&inject_lock, flags);
	for (order = inject_orders; order < inject_orders + MAX_ORDERS; order++)
		lasts |= inject_is_of(order, kind, pid, number);
	raw_spin_unlock_irqrestore(&inject_lock, flags);
	return lasts || pinion_inject_attr_lasts(kind);
}

const struct pinion_inject_info *pinion_inject_info(enum pinion_inject_kind kind)
{
	return &inject_kinds[kind];
}

/* ------------------------------------------------------------------ what is kept */

void pinion_inject_keep(struct wait_queue_entry *entry)
{
	atomic_inc(&inject_keepers);
	add_wait_queue(&inject_removed, entry);
}

void pinion_inject_let_go(struct wait_queue_entry *entry)
{
	remove_wait_queue(&inject_removed, entry);
	if (atomic_dec_and_test(&inject_keepers))
		wake_up_var(&inject_keepers);
}

/* Who found an order before it was removed is one of its keepers by the end of the grace period. */
static void inject_tell_keepers(void)
{
	synchronize_rcu();
	wake_up_all(&inject_removed);
}

/* ------------------------------------------------------------------ orders */

/* inject_change is held. */
static bool inject_is_wanted(void)
{
	bool any = inject_uses;
	int i;

	for (i = 0; i < MAX_ORDERS; i++)
		any |= inject_orders[i].id;
	return any;
}

/*
 * Orders were added or removed; inject_change is held. The key is on until the last keeper has let
 * go: where it is off, nobody looks whether something is kept.
 */
static void inject_switch(void)
{
	if (inject_is_wanted()) {
		static_branch_enable(&pinion_injecting);
		return;
	}
	wait_var_event(&inject_keepers, !atomic_read(&inject_keepers));
	static_branch_disable(&pinion_injecting);
}

void pinion_inject_use(bool on)
{
	guard(mutex)(&inject_change);
	inject_uses += on ? 1 : -1;
	if (!on)
		inject_tell_keepers();
	inject_switch();
}

/* Find an order by number, or with 0 a free slot. NULL: none. inject_change is held. */
static struct inject_order *inject_find(u32 id)
{
	int i;

	for (i = 0; i < MAX_ORDERS; i++) {
		if (inject_orders[i].id == id)
			return &inject_orders[i];
	}
	return NULL;
}

static int inject_add(struct inject_order *new)
{
	struct inject_order *place = inject_find(0);

	if (!place)
		return -ENOSPC;
	do {
		new->id = ++inject_last_id;
	} while (!new->id || inject_find(new->id));
	prandom_seed_state(&new->chance, new->seed);
	raw_spin_lock_irq(&inject_lock);
	*place = *new;
	raw_spin_unlock_irq(&inject_lock);
	return 0;
}

/* Remove an order, or with 0 all. inject_change is held. */
static int inject_remove(u32 id)
{
	int i, found = 0;

	raw_spin_lock_irq(&inject_lock);
	for (i = 0; i < MAX_ORDERS; i++) {
		if (id && inject_orders[i].id != id)
			continue;
		found++;
		inject_orders[i].id = 0;
	}
	raw_spin_unlock_irq(&inject_lock);
	inject_tell_keepers();
	return found || !id ? 0 : -ENOENT;
}

static int inject_word(char **line, char **word)
{
	do {
		*word = strsep(line, " \t");
	} while (*word && !**word);
	return *word ? 0 : -EINVAL;
}

static int inject_number(char **line, u32 *number)
{
	char *word;
	int err = inject_word(line, &word);

	return err ?: kstrtou32(word, 0, number);
}

/* Set the field @name of an order to @number. */
static int inject_set(struct inject_order *order, const char *name, u32 number)
{
	const struct pinion_inject_info *kind = &inject_kinds[order->kind];
	const struct {
		const char *name;
		u32 *number;
		u32 least, most;
	} words[] = {
		{ "value", &order->value, max(kind->least, 1), kind->most },
		{ "pid", &order->pid, 1, INT_MAX },
		{ "number", &order->number, 1, U32_MAX },
		{ "skip", &order->skip, 0, U32_MAX },
		{ "every", &order->every, 1, U32_MAX },
		{ "percent", &order->percent, 0, 100 },
		{ "seed", &order->seed, 0, U32_MAX },
		{ "count", &order->count, 0, U32_MAX },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(name, words[i].name))
			continue;
		if (number < words[i].least || number > words[i].most)
			return -ERANGE;
		*words[i].number = number;
		return 0;
	}
	return -EINVAL;
}

static int inject_kind_of(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(inject_kinds); i++) {
		if (!strcmp(name, inject_kinds[i].name))
			return i;
	}
	return -EINVAL;
}

static int inject_parse(struct inject_order *order, const char *kind, char *line)
{
	char *name;
	u32 number;
	int err;

	err = inject_kind_of(kind);
	if (err < 0)
		return err;
	*order = (struct inject_order){
		.kind = err,
		.value = inject_kinds[err].usual,
		.every = 1,
		.percent = 100,
		.count = 1,
	};
	while (!inject_word(&line, &name)) {
		err = inject_number(&line, &number);
		if (!err)
			err = inject_set(order, name, number);
		if (err)
			return err;
	}
	return 0;
}

static int inject_cancel(char *line)
{
	u32 id = 0;
	char *rest;
	int err;

	if (line && *skip_spaces(line)) {
		err = inject_number(&line, &id);
		if (err || !id || !inject_word(&line, &rest))
			return -EINVAL;
	}
	return inject_remove(id);
}

int pinion_inject_order(char *line)
{
	struct inject_order order;
	char *kind;
	int err;

	err = inject_word(&line, &kind);
	if (err)
		return err;
	guard(mutex)(&inject_change);
	if (!strcmp(kind, "off")) {
		err = inject_cancel(line);
	} else {
		err = inject_parse(&order, kind, line);
		if (!err)
			err = inject_add(&order);
	}
	inject_switch();
	return err;
}

void pinion_inject_clear(void)
{
	guard(mutex)(&inject_change);
	inject_remove(0);
	inject_switch();
}

/* ------------------------------------------------------------------ the file */

static void inject_show_one(struct seq_file *file, const struct inject_order *order)
{
	seq_printf(file,
		   "%u %s value %u pid %u number %#x skip %u every %u percent %u seed %u count %u met %llu failed %llu\n",
		   order->id, inject_kinds[order->kind].name, order->value, order->pid,
		   order->number, order->skip, order->every, order->percent, order->seed,
		   order->count, order->met, order->failed);
}

static int inject_show(struct seq_file *file, void *unused)
{
	struct inject_order order;
	int i;

	for (i = 0; i < MAX_ORDERS; i++) {
		raw_spin_lock_irq(&inject_lock);
		order = inject_orders[i];
		raw_spin_unlock_irq(&inject_lock);
		if (order.id)
			inject_show_one(file, &order);
	}
	return 0;
}

static int inject_open(struct inode *inode, struct file *file)
{
	return single_open(file, inject_show, NULL);
}

static ssize_t inject_write(struct file *file, const char __user *from, size_t length,
			    loff_t *pos)
{
	char *text;
	int err;

	if (!length || length >= MAX_LINE)
		return -EINVAL;
	text = memdup_user_nul(from, length);
	if (IS_ERR(text))
		return PTR_ERR(text);
	err = pinion_inject_order(strim(text));
	kfree(text);
	return err ?: length;
}

static const struct file_operations inject_fops = {
	.owner = THIS_MODULE,
	.open = inject_open,
	.read = seq_read,
	.write = inject_write,
	.llseek = seq_lseek,
	.release = single_release,
};

void pinion_inject_add_file(struct dentry *root)
{
	debugfs_create_file("inject", 0600, root, NULL, &inject_fops);
}
