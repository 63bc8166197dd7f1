/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What must be so, for whatever input: else the program ends, and libFuzzer keeps the input.
 */
#ifndef PINION_FUZZ_MUST_H
#define PINION_FUZZ_MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)                                                  \
	do {                                                             \
		if (!(condition)) {                                      \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, \
				__LINE__, #condition);                   \
			abort();                                         \
		}                                                        \
	} while (0)

#endif
