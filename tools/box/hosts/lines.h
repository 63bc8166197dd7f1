/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copies the output of a host by whole lines, with the name of the host before each.
 */
#ifndef BOX_LINES_H
#define BOX_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct lines {
	int from, to; /* from: a pipe; -1 after its end */
	size_t have;
	char part[4096]; /* the incomplete line so far */
};

/* Read once and copy complete lines. A line that is too long is cut. */
void lines_carry(struct lines *l, const char *name);

#endif /* BOX_LINES_H */
