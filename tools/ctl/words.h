/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Prints bits by their names.
 */
#ifndef PINIONCTL_WORDS_H
#define PINIONCTL_WORDS_H

#include "row.h"

struct bit {
	uint64_t bit; /* 0: the end */
	const char *word;
};

/* Add the names of the bits in @value, and bits without a name as one number. */
void row_bits(struct row *row, const char *name, uint64_t value,
	      const struct bit *bits);
/* Add the access rights of a region: IBV_ACCESS_*. */
void row_access(struct row *row, const char *name, uint64_t access);

#endif
