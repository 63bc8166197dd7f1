/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Random numbers that are the same in every run, so that failures can be repeated. The module's
 * parameter seed selects others.
 */
#ifndef PINION_KUNIT_RANDOM_H
#define PINION_KUNIT_RANDOM_H

#include <linux/prandom.h>

/* Set by kunit/module.c; 0 gives the default numbers. */
extern unsigned int random_offset;

/* @seed: unique to the test, so that tests have different numbers. */
static inline void random_begin(struct rnd_state *rnd, u64 seed)
{
	prandom_seed_state(rnd, seed + ((u64)random_offset << 32));
}

static inline u32 random_below(struct rnd_state *rnd, u32 end)
{
	return prandom_u32_state(rnd) % end;
}

static inline bool random_one_in(struct rnd_state *rnd, u32 n)
{
	return !random_below(rnd, n);
}

static inline u64 random_u64(struct rnd_state *rnd)
{
	return (u64)prandom_u32_state(rnd) << 32 | prandom_u32_state(rnd);
}

/* A number of any magnitude: each number of bits is equally likely. */
static inline u64 random_magnitude(struct rnd_state *rnd)
{
	return random_u64(rnd) >> random_below(rnd, 64);
}

static inline u64 random_u64_below(struct rnd_state *rnd, u64 end)
{
	return random_u64(rnd) % end;
}

#endif
