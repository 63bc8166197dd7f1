/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A set of packet numbers (PSNs). All of them are among the PINION_NUMBERS from some base on, which
 * the caller knows: two numbers that are farther apart than that would be taken for one.
 */
#ifndef PINION_LOGIC_NUMBERS_H
#define PINION_LOGIC_NUMBERS_H

#include <linux/bitmap.h>

#define PINION_NUMBERS	256

struct pinion_numbers {
	DECLARE_BITMAP(set, PINION_NUMBERS);
};

static inline void pinion_numbers_clear(struct pinion_numbers *numbers)
{
	bitmap_zero(numbers->set, PINION_NUMBERS);
}

static inline bool pinion_numbers_any(const struct pinion_numbers *numbers)
{
	return !bitmap_empty(numbers->set, PINION_NUMBERS);
}

static inline bool pinion_numbers_has(const struct pinion_numbers *numbers, u32 psn)
{
	return test_bit(psn % PINION_NUMBERS, numbers->set);
}

/* Add the @count numbers from @psn on, which are at most PINION_NUMBERS. */
void pinion_numbers_add(struct pinion_numbers *numbers, u32 psn, u32 count);
/* Remove the @count numbers from @psn on, any number of them; they need not be in the set. */
void pinion_numbers_remove(struct pinion_numbers *numbers, u32 psn, u32 count);
/* How far the first number of the set is ahead of @base; PINION_NUMBERS: the set is empty. */
u32 pinion_numbers_first(const struct pinion_numbers *numbers, u32 base);
/* How many of the @count numbers from @psn on, at most PINION_NUMBERS, are in the set. */
u32 pinion_numbers_count(const struct pinion_numbers *numbers, u32 psn, u32 count);
/* How many consecutive numbers from @psn on are in the set. */
u32 pinion_numbers_run(const struct pinion_numbers *numbers, u32 psn);

#endif
