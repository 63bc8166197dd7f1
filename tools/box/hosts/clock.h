/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef BOX_CLOCK_H
#define BOX_CLOCK_H

#include <time.h>

/* Monotonic time. */
static inline double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

#endif /* BOX_CLOCK_H */
