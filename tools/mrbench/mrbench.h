/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared by the parts of mrbench: options, clock, and error exit.
 */
#ifndef MRBENCH_H
#define MRBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define MAX_TARGETS 8
#define MAX_STEPS 64
#define MAX_THREADS 256

enum pages { PAGES_4K, PAGES_THP, PAGES_HUGE };

struct options {
	uint64_t sizes[MAX_STEPS];
	int num_sizes;
	uint64_t live[MAX_STEPS];
	int num_live;
	uint64_t writes[MAX_STEPS];
	int num_writes;
	uint64_t touch[MAX_STEPS]; /* threads */
	int num_touch;
	uint64_t at_exit; /* MRs that a process leaves at its exit; 0: not measured */
	uint64_t on_demand; /* on-demand regions deregistered; 0: not measured */
	int threads; /* at once; 0: the usual table of one */
	enum pages pages;
	uint64_t memory; /* that backs the buffer repeatedly; 0: the whole buffer */
	bool scatter;
	bool kernel;
	bool rereg;
	bool json;
	int iterations; /* 0: as many as fit the time */
	double seconds; /* per row and target */
};

extern struct options opt;

/* Exit status: 1 for wrong usage, 2 for errors. */
void die(int status, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

#endif
