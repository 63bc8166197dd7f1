// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sums the per-CPU counters, and keeps the tallies.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "../mem/table.h"
#include "stats.h"

u64 pinion_stat_read(struct pinion_stats __percpu *stats, enum pinion_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->count[stat]);
	return sum;
}

void pinion_tallies_init(struct pinion_tallies *tallies)
{
	xa_init_flags(&tallies->live, XA_FLAGS_ALLOC1);
}

void pinion_tallies_destroy(struct pinion_tallies *tallies)
{
	WARN_ON(!pinion_table_is_empty(&tallies->live));
	xa_destroy(&tallies->live);
}

int pinion_tally_begin(struct pinion_tallies *tallies, u32 *number)
{
	struct pinion_tally *tally = kzalloc(sizeof(*tally), GFP_KERNEL);
	int err = -ENOMEM;

	if (!tally)
		return -ENOMEM;
	tally->stats = alloc_percpu(struct pinion_stats);
	if (!tally->stats)
		goto err_free;
	err = xa_alloc(&tallies->live, number, tally, xa_limit_31b, GFP_KERNEL);
	if (err)
		goto err_free;
	return 0;

err_free:
	free_percpu(tally->stats);
	kfree(tally);
	return err;
}

void pinion_tally_end(struct pinion_tallies *tallies, u32 number)
{
	struct pinion_tally *tally = pinion_tally_find(tallies, number);
	int i;

	/* Wait for all pinion_stat_add() that have read the pointer before it was changed. */
	synchronize_rcu();
	/* Under the lock, so that pinion_tallies_read() counts them exactly once. */
	xa_lock(&tallies->live);
	for (i = 0; i < PINION_NUM_STATS; i++)
		tallies->ended[i] += pinion_stat_read(tally->stats, i);
	__xa_erase(&tallies->live, number);
	xa_unlock(&tallies->live);
	free_percpu(tally->stats);
	kfree(tally);
}

struct pinion_tally *pinion_tally_find(struct pinion_tallies *tallies, u32 number)
{
	return xa_load(&tallies->live, number);
}

bool pinion_tally_read(struct pinion_tallies *tallies, u32 number, u64 *counts)
{
	struct pinion_tally *tally;
	int i;

	xa_lock(&tallies->live);
	tally = xa_load(&tallies->live, number);
	for (i = 0; tally && i < PINION_NUM_STATS; i++)
		counts[i] = pinion_stat_read(tally->stats, i);
	xa_unlock(&tallies->live);
	return tally;
}

u64 pinion_tallies_read(struct pinion_tallies *tallies, enum pinion_stat stat)
{
	struct pinion_tally *tally;
	unsigned long number;
	u64 sum;

	xa_lock(&tallies->live);
	sum = tallies->ended[stat];
	xa_for_each(&tallies->live, number, tally)
		sum += pinion_stat_read(tally->stats, stat);
	xa_unlock(&tallies->live);
	return sum;
}
