// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Numbers for keys, and keys by number. What a key means is no business of this file.
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rculist_bl.h>
#include <linux/workqueue.h>

#include "key.h"

/* Indices of one list. */
#define LIST_SHIFT	6
#define NUM_INDICES	BIT(32 - PINION_KEY_INDEX_SHIFT)
#define NUM_LISTS	(NUM_INDICES >> LIST_SHIFT)

static_assert(2 * PINION_MAX_KEYS <= NUM_INDICES);

static struct hlist_bl_head *list_of(const struct pinion_keys *keys, u32 index)
{
	return &keys->lists[index >> LIST_SHIFT];
}

/* In its list, which is locked or read under RCU. */
static struct pinion_key *find(struct hlist_bl_head *list, u32 index)
{
	struct hlist_bl_node *node;
	struct pinion_key *key;

	hlist_bl_for_each_entry_rcu(key, node, list, node)
		if (key->index == index)
			return key;
	return NULL;
}

/* Unless @index has a key already. */
static bool try_add(struct pinion_keys *keys, struct pinion_key *key, u32 index)
{
	struct hlist_bl_head *list = list_of(keys, index);
	bool added = false;

	hlist_bl_lock(list);
	if (!find(list, index)) {
		key->index = index;
		hlist_bl_add_head_rcu(&key->node, list);
		added = true;
	}
	hlist_bl_unlock(list);
	return added;
}

void pinion_keys_add(struct pinion_keys *keys, struct pinion_key *key)
{
	u32 value;

	/*
	 * Random index and tag, so that holding some keys tells nothing about others. At
	 * most half of all indices are in use, so this is over soon. Index 0 would make
	 * the "no key" of many users a key.
	 */
	do {
		value = get_random_u32();
		key->value = value;
	} while (!(value >> PINION_KEY_INDEX_SHIFT) ||
		 !try_add(keys, key, value >> PINION_KEY_INDEX_SHIFT));
}

void pinion_keys_remove(struct pinion_keys *keys, struct pinion_key *key)
{
	struct hlist_bl_head *list = list_of(keys, key->index);

	if (hlist_bl_unhashed(&key->node))
		return;
	hlist_bl_lock(list);
	hlist_bl_del_rcu(&key->node);
	hlist_bl_unlock(list);
}

struct pinion_key *pinion_keys_find_rcu(const struct pinion_keys *keys, u32 value)
{
	u32 index = value >> PINION_KEY_INDEX_SHIFT;

	return find(list_of(keys, index), index);
}

/* The least index of a list that is not below @index. */
static struct pinion_key *least(struct hlist_bl_head *list, u32 index)
{
	struct pinion_key *key, *found = NULL;
	struct hlist_bl_node *node;

	hlist_bl_for_each_entry_rcu(key, node, list, node)
		if (key->index >= index && (!found || key->index < found->index))
			found = key;
	return found;
}

/**
 * pinion_keys_next - walk all keys in the order of their numbers
 * @keys: the table
 * @index: where to look from; the index of what was found
 *
 * Keys come and go meanwhile; those that are there all the time are seen once.
 *
 * Return: a key with a reference, or NULL at the end.
 */
struct pinion_key *pinion_keys_next(struct pinion_keys *keys, u32 *index)
{
	struct pinion_key *key = NULL;

	rcu_read_lock();
	while (*index < NUM_INDICES) {
		key = least(list_of(keys, *index), *index);
		if (!key) {
			*index = round_down(*index, BIT(LIST_SHIFT)) + BIT(LIST_SHIFT);
			continue;
		}
		*index = key->index;
		if (kref_get_unless_zero(&key->ref))
			break;
		key = NULL;
		++*index;
	}
	rcu_read_unlock();
	return key;
}

/**
 * pinion_keys_init - make a key table with nothing but the null key
 * @keys: the table
 *
 * Return: 0 or a negative errno.
 */
int pinion_keys_init(struct pinion_keys *keys)
{
	int err = -ENOMEM;

	atomic_set(&keys->live, 0);
	keys->max = PINION_MAX_KEYS;
	keys->lists = kvcalloc(NUM_LISTS, sizeof(*keys->lists), GFP_KERNEL);
	if (!keys->lists)
		return -ENOMEM;
	err = pinion_hints_init(&keys->hints);
	if (err)
		goto err_free_lists;
	err = -ENOMEM;
	keys->reaps = alloc_workqueue("pinion_reap", WQ_UNBOUND, 0);
	if (!keys->reaps)
		goto err_destroy_hints;
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
err_destroy_hints:
	pinion_hints_destroy(&keys->hints);
err_free_lists:
	kvfree(keys->lists);
	return err;
}

/**
 * pinion_keys_destroy - the end of a table, all of whose keys are killed
 * @keys: the table
 */
void pinion_keys_destroy(struct pinion_keys *keys)
{
	pinion_hints_destroy(&keys->hints);
	destroy_workqueue(keys->reaps);
	pinion_key_kill(keys->null);
	free_page((unsigned long)keys->sink);
	WARN_ON(atomic_read(&keys->live));
	kvfree(keys->lists);
}
