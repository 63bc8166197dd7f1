/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The kernel's helpers for arithmetic that logic/ uses. */
#ifndef PINION_FUZZ_KERNEL_H
#define PINION_FUZZ_KERNEL_H

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))

#endif
