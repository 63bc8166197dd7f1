/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a host writes, line by line with its name before each.
 */
#ifndef BOX_LINES_H
#define BOX_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct lines {
	int from, to; /* a pipe, -1 when it has ended; and where the lines go */
	size_t have;
	char part[4096]; /* of a line that goes on */
};

/* Carries what is there. A line that is too long is cut in two. */
void lines_carry(struct lines *l, const char *name);

#endif /* BOX_LINES_H */
