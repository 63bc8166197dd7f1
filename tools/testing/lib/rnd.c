// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random numbers. Uses nothing else of this folder: programs without the harness have it, too.
 */
#include <string.h>

#include "rnd.h"

/* splitmix64; any seed will do. Threads share the state; no two get the same number. */
static _Atomic uint64_t rnd_state;

void rnd_seed(uint64_t seed)
{
	rnd_state = seed;
}

static const uint64_t rnd_step = 0x9e3779b97f4a7c15;

static uint64_t rnd_of(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

uint64_t rnd(void)
{
	return rnd_of(rnd_state += rnd_step);
}

uint64_t rnd_next(uint64_t *state)
{
	return rnd_of(*state += rnd_step);
}

uint64_t rnd_below(uint64_t end)
{
	return end ? rnd() % end : 0;
}

uint64_t rnd_in(uint64_t first, uint64_t last)
{
	return first + rnd_below(last - first + 1);
}

void rnd_fill(void *to, size_t length)
{
	uint8_t *p = to;
	uint64_t word;

	for (; length >= sizeof(word); length -= sizeof(word)) {
		word = rnd();
		memcpy(p, &word, sizeof(word));
		p += sizeof(word);
	}
	word = rnd();
	memcpy(p, &word, length);
}
