/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PINION_FUZZ_LOG2_H
#define PINION_FUZZ_LOG2_H

#define ilog2(n) (63 - __builtin_clzl(n))

#endif
