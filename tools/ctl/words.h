/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Bits by name.
 */
#ifndef PINIONCTL_WORDS_H
#define PINIONCTL_WORDS_H

#include "row.h"

struct bit {
	uint64_t bit; /* 0: there are no more */
	const char *word;
};

/* Those of @value that have a name, and the others as one number. */
void row_bits(struct row *row, const char *name, uint64_t value,
	      const struct bit *bits);
/* What a region may be used for: IBV_ACCESS_*. */
void row_access(struct row *row, const char *name, uint64_t access);

#endif
