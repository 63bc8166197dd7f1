/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The measurements. Targets are measured in turns, so that disturbances of the machine affect all
 * of them.
 */
#ifndef MRBENCH_EXPERIMENTS_H
#define MRBENCH_EXPERIMENTS_H

#include "target.h"

/* Registration by size. */
void measure_sizes(struct target *targets, int num);

/* The same by several threads at once. */
void measure_threads(struct target *targets, int num);

/* Registration by the number of existing regions. */
void measure_live(struct target *targets, int num);

/* The end of a process with many regions. */
void measure_exit(struct target *targets, int num);

/* An RDMA WRITE from a device to itself. */
void measure_writes(struct target *targets, int num);

/* On-demand regions. */
void measure_on_demand(struct target *targets, int num);

/* The first access to each 2 MiB of one on-demand region, by several threads at once. */
void measure_touch(struct target *targets, int num);

#endif
