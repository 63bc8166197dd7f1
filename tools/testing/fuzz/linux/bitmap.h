/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The kernel's bitmaps, bit by bit. */
#ifndef PINION_FUZZ_BITMAP_H
#define PINION_FUZZ_BITMAP_H

#include <string.h>

#include <linux/types.h>

#define BITS_PER_LONG (8 * sizeof(long))
#define BITS_TO_LONGS(bits) (((bits) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define DECLARE_BITMAP(name, bits) unsigned long name[BITS_TO_LONGS(bits)]

static inline bool test_bit(unsigned int at, const unsigned long *map)
{
	return map[at / BITS_PER_LONG] >> at % BITS_PER_LONG & 1;
}

static inline void bitmap_zero(unsigned long *map, unsigned int bits)
{
	memset(map, 0, BITS_TO_LONGS(bits) * sizeof(long));
}

static inline void bitmap_set(unsigned long *map, unsigned int at,
			      unsigned int count)
{
	for (; count; count--, at++)
		map[at / BITS_PER_LONG] |= 1UL << at % BITS_PER_LONG;
}

static inline void bitmap_clear(unsigned long *map, unsigned int at,
				unsigned int count)
{
	for (; count; count--, at++)
		map[at / BITS_PER_LONG] &= ~(1UL << at % BITS_PER_LONG);
}

static inline unsigned int find_next(const unsigned long *map,
				     unsigned int bits, unsigned int at,
				     bool value)
{
	while (at < bits && test_bit(at, map) != value)
		at++;
	return at;
}

#define find_next_bit(map, bits, at) find_next(map, bits, at, true)
#define find_next_zero_bit(map, bits, at) find_next(map, bits, at, false)
#define find_first_bit(map, bits) find_next(map, bits, 0, true)
#define find_first_zero_bit(map, bits) find_next(map, bits, 0, false)
#define bitmap_empty(map, bits) (find_first_bit(map, bits) == (bits))

#endif
