/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Figures of many rounds, printed as a table or as JSON lines.
 */
#ifndef MRBENCH_REPORT_H
#define MRBENCH_REPORT_H

#include "mrbench.h"

/* Sorts @values. */
uint64_t min_of(uint64_t *values, int num);
/* Of an even number it is the mean of the two in the middle. */
uint64_t median_of(uint64_t *values, int num);
/* Sorts @values. The smallest value that at least @percent per cent of them do not exceed. */
uint64_t share_of(uint64_t *values, int num, int percent);

/* A row of named figures. */
struct figure {
	const char *name;
	double value; /* NAN: none; a difference may be negative */
	int decimals;
};

/*
 * Print a row. A heading is printed if @what differs from that of the row before. @label is the
 * row's value of column @by.
 */
void report_row(const char *what, const char *target, const char *by,
		uint64_t label, const struct figure *figures, int num);
void report_failure(const char *what, const char *target, const char *by,
		    uint64_t label, int err);

/* "4K", "1G" for multiples of such units, else the number. */
const char *size_name(uint64_t size);

#endif
