/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PINION_FUZZ_BITS_H
#define PINION_FUZZ_BITS_H

#define BIT(n) (1UL << (n))

#endif
