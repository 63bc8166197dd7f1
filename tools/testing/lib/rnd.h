/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The random numbers of all test programs.
 */
#ifndef PINION_TEST_RND_H
#define PINION_TEST_RND_H

#include <stddef.h>
#include <stdint.h>

/*
 * A random number. Programs print the seed of a run, so that a failure can be repeated. Threads
 * share one sequence.
 */
uint64_t rnd(void);
/* A number in [0, end). */
uint64_t rnd_below(uint64_t end);
/* A number in [first, last]. */
uint64_t rnd_in(uint64_t first, uint64_t last);
void rnd_fill(void *to, size_t length);
/*
 * The next number of a sequence of the caller's own: of a thread that others must not disturb, or
 * of bytes that are computed again. @state is any number at first.
 */
uint64_t rnd_next(uint64_t *state);
void rnd_seed(uint64_t seed);

#endif /* PINION_TEST_RND_H */
