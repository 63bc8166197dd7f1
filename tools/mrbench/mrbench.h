/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the parts of mrbench share: the options, the clock, how to give up.
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
	uint64_t at_exit; /* MRs left to the end of a process; 0: not measured */
	uint64_t on_demand; /* such regions deregistered; 0: not measured */
	int threads; /* at once; 0: the usual table of one */
	enum pages pages;
	uint64_t memory; /* behind the buffer, again and again; 0: all of it */
	bool scatter;
	bool kernel;
	bool rereg;
	bool json;
	int iterations; /* 0: as many as fit the time */
	double seconds; /* for each row and target */
};

extern struct options opt;

/* Exit status: 1 for what the user asked wrongly, 2 for what did not work. */
void die(int status, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

#endif
