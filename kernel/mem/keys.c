// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Gives keys their numbers and finds them by number. Knows nothing of what a key means.
 *
 * A work item resizes the table so that there are about as many lists as keys. A key has two
 * links, and successive tables alternate between them. So the work item can link keys into the new
 * table, list by list, while readers follow the lists of the old one. A key that is added or
 * removed meanwhile changes both tables, if its list is linked into the new one already.
 * If there is no memory for a new table the old one stays: its lists are longer than they should
 * be, but right.
 *
 * Adding and removing keys takes a spinlock for a few keys at a time, and never waits for the work
 * item. With a lock that its holder could be preempted with, an idle-priority thread of one user
 * that registers could hold up all others, and the end of their processes.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <rdma/ib_verbs.h>

#include "key.h"

#define NUM_INDICES	BIT(32 - PINION_KEY_INDEX_SHIFT)

/* log2 of how many lists there may be. */
#define MIN_BITS	8
#define MAX_BITS	(32 - PINION_KEY_INDEX_SHIFT - 1)

/* log2 of the indices that one of keys->locks protects, in any table. A list has one lock only. */
#define LOCK_SPAN	(32 - PINION_KEY_INDEX_SHIFT - 6)

static_assert(2 * PINION_MAX_KEYS <= NUM_INDICES);
static_assert(NUM_INDICES >> LOCK_SPAN == PINION_KEYS_LOCKS);
static_assert(32 - PINION_KEY_INDEX_SHIFT - MIN_BITS <= LOCK_SPAN);

struct pinion_key_table {
	u8 bits;
	u8 link;			/* which of a key's two its lists use */
	struct pinion_key __rcu *lists[];
};

static struct pinion_key_table *table_alloc(u8 bits, u8 link)
{
	struct pinion_key_table *table;

	table = kvzalloc(struct_size(table, lists, BIT(bits)), GFP_KERNEL | __GFP_NOWARN);
	if (!table)
		return NULL;
	table->bits = bits;
	table->link = link;
	return table;
}

/* log2 of the indices that are in one list. */
static u8 table_span(const struct pinion_key_table *table)
{
	return 32 - PINION_KEY_INDEX_SHIFT - table->bits;
}

/* How large the table should be, or @bits if its present size will do. */
static u8 table_bits(struct pinion_keys *keys, u8 bits)
{
	u64 live = max(atomic_read(&keys->live), 1);

	if (live <= BIT_ULL(bits) && live >= BIT_ULL(bits) / 8)
		return bits;
	return clamp(order_base_2(live) + 1, MIN_BITS, MAX_BITS);
}

/* The caller holds the lock of the list, or RCU. */
static struct pinion_key *table_find(const struct pinion_key_table *table, u32 index)
{
	struct pinion_key *key;

	/* Keys are freed by RCU. Callers that add or remove hold the list's lock instead. */
	key = rcu_dereference_check(table->lists[index >> table_span(table)], true);
	while (key && key->index != index)
		key = rcu_dereference_check(key->next[table->link], true);
	return key;
}

/* The list is locked. Readers see @key only when it is complete. */
static void table_add(struct pinion_key_table *table, struct pinion_key *key)
{
	struct pinion_key __rcu **list = &table->lists[key->index >> table_span(table)];

	RCU_INIT_POINTER(key->next[table->link], rcu_dereference_protected(*list, true));
	rcu_assign_pointer(*list, key);
}

/* The list is locked. @key keeps its link, so a reader that is at it can go on. */
static void table_remove(struct pinion_key_table *table, struct pinion_key *key)
{
	struct pinion_key __rcu **at = &table->lists[key->index >> table_span(table)];
	struct pinion_key *other;

	while ((other = rcu_dereference_protected(*at, true)) && other != key)
		at = &other->next[table->link];
	if (!WARN_ON_ONCE(!other))
		rcu_assign_pointer(*at, rcu_dereference_protected(key->next[table->link], true));
}

/* ------------------------------------------------------------------ both tables */

static spinlock_t *keys_lock_of(struct pinion_keys *keys, u32 index)
{
	return &keys->locks[index >> LOCK_SPAN];
}

/*
 * The table that readers look at. The lock of @index is held, so it is not freed, and as long as
 * it is not, all keys of this lock are in it.
 */
static struct pinion_key_table *keys_table(struct pinion_keys *keys, u32 index)
{
	return rcu_dereference_protected(keys->table,
					 lockdep_is_held(keys_lock_of(keys, index)));
}

/*
 * The table that is about to replace @table, if the list of @index is linked into it already; else
 * NULL. The lock of @index is held, as it was when that list was linked.
 */
static struct pinion_key_table *keys_next_table(struct pinion_keys *keys,
						const struct pinion_key_table *table, u32 index)
{
	/* Pairs with keys_move(), which has set @moved to 0 before. */
	struct pinion_key_table *next = smp_load_acquire(&keys->next);

	return next && next != table && index < READ_ONCE(keys->moved) ? next : NULL;
}

static void keys_move_list(struct pinion_keys *keys, struct pinion_key_table *from, u32 list)
{
	u32 first = list << table_span(from);
	struct pinion_key *key;

	spin_lock(keys_lock_of(keys, first));
	key = rcu_dereference_protected(from->lists[list], true);
	for (; key; key = rcu_dereference_protected(key->next[from->link], true))
		table_add(keys->next, key);
	WRITE_ONCE(keys->moved, first + BIT(table_span(from)));
	spin_unlock(keys_lock_of(keys, first));
}

/* Replace the table @from by @to. Sleeps; keys come and go meanwhile. */
static void keys_move(struct pinion_keys *keys, struct pinion_key_table *from,
		      struct pinion_key_table *to)
{
	u32 list;

	WRITE_ONCE(keys->moved, 0);
	/* Pairs with keys_next_table(): who sees @next sees that nothing is moved yet. */
	smp_store_release(&keys->next, to);
	for (list = 0; list < BIT(from->bits); list++) {
		keys_move_list(keys, from, list);
		cond_resched();
	}
	rcu_assign_pointer(keys->table, to);
	/*
	 * Wait for those who follow the lists of @from, since the next table will reuse the links,
	 * and for those who add to @from under a spinlock, who must add to @to, too.
	 */
	synchronize_rcu();
	WRITE_ONCE(keys->next, NULL);
}

static void keys_resize(struct work_struct *work)
{
	struct pinion_keys *keys = container_of(work, struct pinion_keys, resize);
	/* Only this work item replaces the table. */
	struct pinion_key_table *old = rcu_dereference_protected(keys->table, true), *new;
	u8 bits;

	while ((bits = table_bits(keys, old->bits)) != old->bits) {
		new = table_alloc(bits, !old->link);
		if (!new)
			return;
		keys_move(keys, old, new);
		kvfree(old);
		old = new;
	}
}

/* The work item looks at the size again. */
static void keys_resize_if_due(struct pinion_keys *keys)
{
	u8 bits;

	rcu_read_lock();
	bits = rcu_dereference(keys->table)->bits;
	rcu_read_unlock();
	if (table_bits(keys, bits) != bits)
		queue_work(keys->reaps, &keys->resize);
}

/* Add @key with @index. False if another key has that index. */
static bool keys_try_add(struct pinion_keys *keys, struct pinion_key *key, u32 index)
{
	struct pinion_key_table *table, *next;

	guard(spinlock)(keys_lock_of(keys, index));
	table = keys_table(keys, index);
	if (table_find(table, index))
		return false;
	key->index = index;
	table_add(table, key);
	next = keys_next_table(keys, table, index);
	if (next)
		table_add(next, key);
	return true;
}

void pinion_keys_add(struct pinion_keys *keys, struct pinion_key *key)
{
	u32 value;

	/*
	 * Index and tag are random, so keys that one has tell nothing about others. At most half
	 * of all indices are in use, so a free one is found soon. Index 0 is never given: many
	 * programs take key 0 for "no key".
	 */
	do {
		value = get_random_u32();
		key->value = value;
	} while (!(value >> PINION_KEY_INDEX_SHIFT) ||
		 !keys_try_add(keys, key, value >> PINION_KEY_INDEX_SHIFT));
	keys_resize_if_due(keys);
}

void pinion_keys_remove(struct pinion_keys *keys, struct pinion_key *key)
{
	struct pinion_key_table *table, *next;

	if (!key->index)
		return;
	spin_lock(keys_lock_of(keys, key->index));
	table = keys_table(keys, key->index);
	table_remove(table, key);
	next = keys_next_table(keys, table, key->index);
	if (next)
		table_remove(next, key);
	spin_unlock(keys_lock_of(keys, key->index));
	keys_resize_if_due(keys);
}

struct pinion_key *pinion_keys_find_rcu(const struct pinion_keys *keys, u32 value)
{
	return table_find(rcu_dereference(keys->table), value >> PINION_KEY_INDEX_SHIFT);
}

/* The key with the least index >= @index in @index's list, or NULL. */
static struct pinion_key *keys_least(const struct pinion_key_table *table, u32 index)
{
	struct pinion_key *key, *found = NULL;

	key = rcu_dereference(table->lists[index >> table_span(table)]);
	for (; key; key = rcu_dereference(key->next[table->link]))
		if (key->index >= index && (!found || key->index < found->index))
			found = key;
	return found;
}

/* Lists that are looked at in one RCU section, which may have preemption off. */
#define STEP	1024

static struct pinion_key *keys_next_of_some(struct pinion_keys *keys, u32 *index)
{
	const struct pinion_key_table *table = rcu_dereference(keys->table);
	struct pinion_key *key;
	u32 span = BIT(table_span(table));
	int i;

	for (i = 0; i < STEP && *index < NUM_INDICES; i++) {
		key = keys_least(table, *index);
		if (!key) {
			*index = round_down(*index, span) + span;
			continue;
		}
		*index = key->index;
		if (kref_get_unless_zero(&key->ref))
			return key;
		++*index;
	}
	return NULL;
}

/**
 * pinion_keys_next - walk all keys in the order of their numbers
 * @keys: the table
 * @index: where to look from; the index of what was found
 *
 * Keys come and go meanwhile; those that are there all the time are seen once. May sleep.
 *
 * Return: a key with a reference, or NULL at the end.
 */
struct pinion_key *pinion_keys_next(struct pinion_keys *keys, u32 *index)
{
	struct pinion_key *key = NULL;

	while (!key && *index < NUM_INDICES) {
		rcu_read_lock();
		key = keys_next_of_some(keys, index);
		rcu_read_unlock();
		cond_resched();
	}
	return key;
}

/**
 * pinion_keys_init - make a key table with nothing but the null key
 * @keys: the table
 * @ibdev: the device that it is part of
 *
 * Return: 0 or a negative errno.
 */
int pinion_keys_init(struct pinion_keys *keys, struct ib_device *ibdev)
{
	struct pinion_key_table *table;
	int err = -ENOMEM, i;

	refcount_set(&keys->ref, 1);
	keys->ibdev = ibdev;
	atomic64_set(&keys->era, 1);
	atomic_set(&keys->live, 0);
	keys->next = NULL;
	for (i = 0; i < PINION_KEYS_LOCKS; i++)
		spin_lock_init(&keys->locks[i]);
	INIT_WORK(&keys->resize, keys_resize);
	keys->max = PINION_MAX_KEYS;
	table = table_alloc(MIN_BITS, 0);
	if (!table)
		return -ENOMEM;
	RCU_INIT_POINTER(keys->table, table);
	pinion_hints_init(&keys->hints, INVALID_UID);
	keys->reaps = alloc_workqueue("pinion_reap", WQ_UNBOUND, 0);
	if (!keys->reaps)
		goto err_free_table;
	keys->sink = (void *)__get_free_page(GFP_KERNEL);
	if (!keys->sink)
		goto err_destroy_reaps;
	keys->null = pinion_key_alloc(keys, PINION_KEY_NULL, GFP_KERNEL);
	if (IS_ERR(keys->null)) {
		err = PTR_ERR(keys->null);
		goto err_free_sink;
	}
	keys->null->state = PINION_KEY_VALID;
	pinion_key_publish(keys->null);
	return 0;

err_free_sink:
	free_page((unsigned long)keys->sink);
err_destroy_reaps:
	destroy_workqueue(keys->reaps);
err_free_table:
	kvfree(table);
	return err;
}

static void keys_end(struct pinion_keys *keys)
{
	struct ib_device *ibdev = keys->ibdev;

	destroy_workqueue(keys->reaps);
	free_page((unsigned long)keys->sink);
	WARN_ON(atomic_read(&keys->live));
	kvfree(rcu_dereference_protected(keys->table, true));
	if (!ibdev)
		return;
	put_device(ibdev->dma_device);
	put_device(&ibdev->dev);
}

void pinion_keys_put(struct pinion_keys *keys)
{
	if (refcount_dec_and_test(&keys->ref))
		keys_end(keys);
}

void pinion_keys_destroy(struct pinion_keys *keys)
{
	pinion_hints_destroy(&keys->hints);
	/* This may queue a resize; keys_end() waits for it. */
	pinion_key_kill(keys->null);
	/*
	 * Faults that still run will unmap pages of the DMA device, and then free this table, which
	 * is embedded in the device. Keep both until keys_end().
	 */
	if (keys->ibdev) {
		get_device(&keys->ibdev->dev);
		get_device(keys->ibdev->dma_device);
	}
	pinion_keys_put(keys);
}
