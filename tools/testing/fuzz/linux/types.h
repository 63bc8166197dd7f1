/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The kernel's type names, for its code built as a program. */
#ifndef PINION_FUZZ_TYPES_H
#define PINION_FUZZ_TYPES_H

#include <stdbool.h>
#include <stddef.h>

#include_next <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;

#endif
