/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The device's keys: from a number to the key that has it.
 *
 * A hash table whose hash is the upper bits of the index. Indices are random, so its lists are
 * about equally long, and the table grows with the number of keys, so a list has about one key.
 * Adding a key allocates nothing and cannot fail. Finding one takes no lock, also while the
 * table is resized.
 */
#ifndef PINION_MEM_KEYS_H
#define PINION_MEM_KEYS_H

#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "hints.h"

/* Half of all indices, so that a random one is free every second time. */
#define PINION_MAX_KEYS	SZ_8M

#define PINION_KEYS_LOCKS	64

struct ib_device;
struct pinion_key;
struct pinion_key_table;

struct pinion_keys {
	/* Each message reads this, so what each registration writes is in other cache lines. */
	struct pinion_key_table __rcu *table;
	atomic64_t era;			/* see pinion_keys_era(); fast registrations write it */
	struct pinion_key *null;	/* local only: reads as zeros, swallows writes */
	void *sink;			/* a page that is written and never read */
	struct ib_device *ibdev;	/* embeds this; NULL in tests */
	u32 max;			/* PINION_MAX_KEYS; fewer in tests */
	/* Registrations write this. */
	refcount_t ref ____cacheline_aligned_in_smp;	/* the device, each pager, each hint */
	atomic_t live;
	u32 moved;			/* keys with an index below this are in @next, too */
	struct pinion_key_table *next;	/* about to replace @table; or NULL. See keys.c */
	struct work_struct resize;	/* on @reaps */
	spinlock_t locks[PINION_KEYS_LOCKS];	/* each protects the lists of some indices */
	/* On demand. */
	struct pinion_hints hints;	/* of kernel consumers; users have their own */
	struct workqueue_struct *reaps;	/* ends empty children, resizes the table */
};

int pinion_keys_init(struct pinion_keys *keys, struct ib_device *ibdev);
/*
 * The device ends; its keys are all dead. Faults that still run keep the table, and the memory
 * of the device that it is part of, until they return.
 */
void pinion_keys_destroy(struct pinion_keys *keys);

static inline void pinion_keys_get(struct pinion_keys *keys)
{
	refcount_inc(&keys->ref);
}

/* Sleeps. */
void pinion_keys_put(struct pinion_keys *keys);

/*
 * The eras of the device: a new one begins whenever other memory is put behind any of its keys, and
 * the key remembers it (key->era). A message remembers the era in which it has begun, and is
 * refused by a key of a later one: it may have accessed that key's old memory already. The first
 * era is 1.
 *
 * A new era begins while the gate of its key is closed. So a reader that has seen an era finds the
 * memory of that era, and of those before, behind any gate that it enters later. In any context.
 */
static inline u64 pinion_keys_era(const struct pinion_keys *keys)
{
	return atomic64_read_acquire(&keys->era);
}

/* Give @key a random number that no other key has, and publish it. Neither of the two sleeps. */
void pinion_keys_add(struct pinion_keys *keys, struct pinion_key *key);
/* Unpublish @key, if it was ever added. Readers under RCU may still see it. */
void pinion_keys_remove(struct pinion_keys *keys, struct pinion_key *key);

/* The key whose number has the index of @value, or NULL. */
struct pinion_key *pinion_keys_find_rcu(const struct pinion_keys *keys, u32 value);

/* The first key from *@index on, with a reference and its index there; or NULL. */
struct pinion_key *pinion_keys_next(struct pinion_keys *keys, u32 *index);

#endif
