/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Processes that make random calls, beside a bystander whose traffic goes on.
 */
#ifndef PINION_TEST_FUZZ_H
#define PINION_TEST_FUZZ_H

#include "device.h"

enum { FUZZ_KINDS = 64, FUZZ_ERRNOS = 160 };

/* Sums over all processes of a test, in shared memory. */
struct fuzz_seen {
	unsigned long processes; /* that got as far as their first call */
	unsigned long calls; /* that returned */
	unsigned long good; /* of these, succeeded */
	unsigned long good_of[FUZZ_KINDS]; /* the same, of each kind of calls */
	unsigned long failed[FUZZ_ERRNOS]; /* by errno */
};

extern struct fuzz_seen *fuzz_seen;

struct fuzz {
	const char *
		word; /* what the calls are counted as, by scripts/bed/counts.sh */
	void (*begin)(
		void); /* in each process, with a device opened; NULL: nothing */
	void (*call)(void); /* says by fuzz_returned() what came of it */
	void (*end)(void); /* NULL: the end of the process is enough */
	/* Has enough succeeded? The test goes on until then, but not for ever. */
	bool (*enough)(void);
	int calls, calls_in_short; /* of a process */
};

/*
 * Make calls for --seconds. Returns when all processes have ended; none of them has failed or was
 * killed, except by its alarm while a call waited, and the bystander's messages were all right.
 */
void fuzz_run(const struct fuzz *fuzz);

/* A call has returned 0 or @err; with @kind -1 it is none of the kinds. */
void fuzz_returned(int kind, int err);
/* How many kinds have succeeded; with how many errnos calls have failed. */
unsigned int fuzz_kinds(void);
unsigned int fuzz_errnos(void);
/* One of these @n kinds of which no call has succeeded; -1: there is none. */
int fuzz_missing(const uint8_t *kinds, size_t n);

/*
 * Memory for arguments and answers: @length bytes, and nothing behind them. Bits of its addresses
 * may be flipped: then the kernel writes to no other memory of the process.
 */
uint8_t *fuzz_arena(size_t length);

/* Flip bits of @length bytes: mostly one or two, sometimes a few more. */
void fuzz_flip(void *bytes, size_t length);

#endif /* PINION_TEST_FUZZ_H */
