// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sums the per-CPU counters.
 */
#include "stats.h"

u64 pinion_stat_read(struct pinion_stats __percpu *stats, enum pinion_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->count[stat]);
	return sum;
}
