/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Run a verb with its first, second, ... fault, and compare the resources after each.
 */
#ifndef PINION_TEST_SWEEP_H
#define PINION_TEST_SWEEP_H

#include "fault.h"
#include "link.h"

/* A verb under test, and how to undo it if it succeeded. */
struct op {
	const char *name;
	int (*attempt)(void); /* 0 or an errno */
	void (*undo)(void);
	/*
	 * If there are fewer faults than this (default 1), the sweep fails, because it has not
	 * tested what it is meant to. About half of the faults that there are now.
	 */
	unsigned int at_least;
	/*
	 * The faults hit the exit of a process that has done @attempt and still owns all
	 * its objects.
	 */
	bool exits;
};

/* @link is made before the first fault. sweeps_end() checks that it still works. */
void sweeps_begin(struct link *link);
void sweeps_end(struct link *link);

/* Until there is no fault left to hit; with `--seconds 1' not each of the later ones. */
void sweep(const struct op *op);
/* The same in random steps of up to @stride, where most faults are not ours. */
void sweep_some(const struct op *op, unsigned int stride);

#endif /* PINION_TEST_SWEEP_H */
