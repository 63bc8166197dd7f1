/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PINION_FUZZ_MINMAX_H
#define PINION_FUZZ_MINMAX_H

#define min(a, b)                               \
	({                                      \
		__typeof__((a) + (b)) _a = (a); \
		__typeof__((a) + (b)) _b = (b); \
		_a < _b ? _a : _b;              \
	})
#define max(a, b)                                \
	({                                       \
		__typeof__((a) + (b)) _a2 = (a); \
		__typeof__((a) + (b)) _b2 = (b); \
		_a2 > _b2 ? _a2 : _b2;           \
	})
#define clamp(value, low, high) min(max(value, low), high)

#endif
