/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Run a verb again and again, with a fault in its first, second, ... call that can fail, and check
 * after each that nothing is left.
 */
#ifndef PINION_TEST_SWEEP_H
#define PINION_TEST_SWEEP_H

#include "fault.h"
#include "link.h"

/*
 * For queue pairs and counters. Of the way to a number that is far from all others, the core's table can
 * get a part only. The rest is freed with the table, but before that the core warns that it is not empty.
 * And a counter that is not in its table is in use, but cannot be found or ended.
 */
#define SWEEP_NO_RESTRACK .but_in = "rdma_restrack_add"

/* A verb under test, and how to undo it if it succeeded. */
struct op {
	const char *name;
	int (*attempt)(void); /* 0 or an errno */
	void (*undo)(void);
	/* What is done before each attempt, without a fault. May be NULL. */
	void (*prepare)(void);
	/*
	 * The sweep fails if there are fewer faults than this (default 1), because then it does
	 * not reach the code it is meant to test. Set it to about half of the present number.
	 */
	unsigned int at_least;
	/*
	 * Another thread may have the turn sometimes and do what this one allocates for. So the sweep ends
	 * when no call is left twice.
	 */
	bool others;
	/*
	 * It may survive each fault alone. Otherwise a sweep fails if it survives them all. Of those that
	 * last it must not survive all.
	 */
	bool survives;
	/*
	 * Not 0: when each fault has been tried alone, each is tried once more, and then lasts: all
	 * allocations after it fail, too, until @attempt returns, or calls fault_disarm() because it is
	 * going to find out what has become of its call. `--seconds 1' tries some of them only if this is
	 * more than 1: in random steps of up to so many.
	 */
	unsigned int lasting;
	/* A function of the kernel in which none of those that last hits. May be NULL. */
	const char *but_in;
	/*
	 * The faults hit the exit of a process that has done @attempt and still owns all
	 * its objects.
	 */
	bool exits;
	/* What else may have been left behind? Writes it to @text and returns false. May be NULL. */
	bool (*clean)(char *text, size_t size);
	/* There is no device meanwhile, so there are no resources to compare. */
	bool no_device;
};

/* @link is made before the first fault. sweeps_end() checks that it still works. */
void sweeps_begin(struct link *link);
void sweeps_end(struct link *link);

/*
 * Go on until the verb has no fault left to hit, and return how many there were. `--seconds 1' leaves
 * out some in the middle.
 */
unsigned int sweep(const struct op *op);
/* The same in random steps of up to @stride: for calls with many faults outside of the driver. */
unsigned int sweep_some(const struct op *op, unsigned int stride);

/* make() creates an object; end() destroys it and returns 0 or an errno. */
struct ending {
	const char *name;
	void *(*make)(void);
	int (*end)(void *object);
	unsigned int at_least;
	/*
	 * Set for objects whose destruction returns an answer, to the name in resource lists: if
	 * copying the answer fails, there is an error although the object is gone.
	 */
	const char *answers;
};

/* The same of objects that no list has: to destroy one again is ENOENT then. */
#define ENDING_UNLISTED ""

/* The object is destroyed or stays usable, whichever fault its end meets. */
void sweep_end(const struct ending *what);
/* The same of each of these. */
void sweep_ends(const struct ending *ends, size_t count);

#endif /* PINION_TEST_SWEEP_H */
