/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One verb with its first, second, ... fault, and what exists compared after each.
 */
#ifndef PINION_TEST_SWEEP_H
#define PINION_TEST_SWEEP_H

#include "fault.h"
#include "link.h"

/* A verb under test, told to be undone if it succeeded. */
struct op {
	const char *name;
	int (*attempt)(void); /* 0 or an errno */
	void (*undo)(void);
	/*
	 * Fewer faults than this, 1 if it is not said, and the sweep has not tested what
	 * it is for: about half of what there are.
	 */
	unsigned int at_least;
	/*
	 * What fails is the end of a process that has done @attempt, with all that it
	 * still has.
	 */
	bool exits;
};

/* @link is made first, when nothing fails yet, and works when all sweeps are over. */
void sweeps_begin(struct link *link);
void sweeps_end(struct link *link);

/* Until there is no fault left to hit; with `--seconds 1' not each of the later ones. */
void sweep(const struct op *op);
/* The same in random steps of up to @stride, where most faults are not ours. */
void sweep_some(const struct op *op, unsigned int stride);

#endif /* PINION_TEST_SWEEP_H */
