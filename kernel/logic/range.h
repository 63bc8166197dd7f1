/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Checks of ranges. They subtract instead of adding, so numbers chosen by users cannot overflow.
 */
#ifndef PINION_LOGIC_RANGE_H
#define PINION_LOGIC_RANGE_H

#include <linux/limits.h>
#include <linux/types.h>

/* Is [addr, addr + want) inside [base, base + length)? @base + @length may be 2^64. */
static inline bool pinion_range_holds(u64 base, u64 length, u64 addr, u64 want)
{
	return addr >= base && addr - base <= length && want <= length - (addr - base);
}

/* Does [base, base + length) end at or below 2^64? */
static inline bool pinion_range_valid(u64 base, u64 length)
{
	return !length || base <= U64_MAX - (length - 1);
}

#endif
