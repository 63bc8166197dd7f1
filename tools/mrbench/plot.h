/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What was reported, as a picture that gnuplot draws.
 */
#ifndef MRBENCH_PLOT_H
#define MRBENCH_PLOT_H

#include "report.h"

/* Ends the program where there is no gnuplot: before all that takes time. */
void plot_open(const char *file);
/* A point of the line of @target; nothing without plot_open(). */
void plot_add(const char *what, const char *target, const char *by,
	      uint64_t label, const struct figure *figures, int num);
void plot_close(void);

#endif
