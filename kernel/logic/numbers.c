// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sets of packet numbers: a bitmap that is read around its end. 2^24, where numbers wrap, is a
 * multiple of its size, so consecutive numbers are neighbours there, too.
 */
#include <linux/minmax.h>

#include "numbers.h"

void pinion_numbers_add(struct pinion_numbers *numbers, u32 psn, u32 count)
{
	u32 at = psn % PINION_NUMBERS;
	u32 first = min(count, PINION_NUMBERS - at);

	bitmap_set(numbers->set, at, first);
	bitmap_set(numbers->set, 0, min(count, PINION_NUMBERS) - first);
}

void pinion_numbers_remove(struct pinion_numbers *numbers, u32 psn, u32 count)
{
	u32 at = psn % PINION_NUMBERS;
	u32 first = min(count, PINION_NUMBERS - at);

	if (!pinion_numbers_any(numbers))
		return;
	bitmap_clear(numbers->set, at, first);
	bitmap_clear(numbers->set, 0, min(count, PINION_NUMBERS) - first);
}

u32 pinion_numbers_first(const struct pinion_numbers *numbers, u32 base)
{
	u32 at = base % PINION_NUMBERS;
	u32 found = find_next_bit(numbers->set, PINION_NUMBERS, at);

	if (found < PINION_NUMBERS)
		return found - at;
	found = find_first_bit(numbers->set, at);
	return found < at ? found + PINION_NUMBERS - at : PINION_NUMBERS;
}

u32 pinion_numbers_count(const struct pinion_numbers *numbers, u32 psn, u32 count)
{
	u32 first, found = 0;

	while ((first = pinion_numbers_first(numbers, psn)) < count) {
		psn += first + 1;
		count -= first + 1;
		found++;
	}
	return found;
}

u32 pinion_numbers_run(const struct pinion_numbers *numbers, u32 psn)
{
	u32 at = psn % PINION_NUMBERS;
	u32 end = find_next_zero_bit(numbers->set, PINION_NUMBERS, at);

	if (end < PINION_NUMBERS)
		return end - at;
	return end - at + find_first_zero_bit(numbers->set, at);
}
