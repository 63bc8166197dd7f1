/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What can be measured. Targets take turns, so that what disturbs the machine
 * disturbs all of them.
 */
#ifndef MRBENCH_EXPERIMENTS_H
#define MRBENCH_EXPERIMENTS_H

#include "target.h"

/* Registration by size. */
void measure_sizes(struct target *targets, int num);

/* The same by several threads at once. */
void measure_threads(struct target *targets, int num);

/* Registration by the number of regions that there are already. */
void measure_live(struct target *targets, int num);

/* What a process leaves behind. */
void measure_exit(struct target *targets, int num);

/* An RDMA write to oneself. */
void measure_writes(struct target *targets, int num);

/* On-demand regions. */
void measure_on_demand(struct target *targets, int num);

#endif
