/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Figures of many rounds, and how they are told: as a table, or as JSON lines.
 */
#ifndef MRBENCH_REPORT_H
#define MRBENCH_REPORT_H

#include "mrbench.h"

/* Sorts @values. */
uint64_t min_of(uint64_t *values, int num);
uint64_t median_of(uint64_t *values, int num);
/* The least that so many of a hundred do not exceed. */
uint64_t share_of(uint64_t *values, int num, int percent);

/* A row of named figures. */
struct figure {
	const char *name;
	double value; /* < 0: there is none */
	int decimals;
};

/*
 * The heading is printed when it is another @what than that of the row before;
 * @label names the row in its column @by.
 */
void report_row(const char *what, const char *target, const char *by,
		uint64_t label, const struct figure *figures, int num);
void report_failure(const char *what, const char *target, const char *by,
		    uint64_t label, int err);

/* "4K", "1G" where it is even, else the number. */
const char *size_name(uint64_t size);

#endif
