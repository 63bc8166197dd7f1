/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Draws the results by gnuplot.
 */
#ifndef MRBENCH_PLOT_H
#define MRBENCH_PLOT_H

#include "report.h"

/* Exits if there is no gnuplot. Called before the measurements. */
void plot_open(const char *file);
/* Add a point to the line of @target. Does nothing without plot_open(). */
void plot_add(const char *what, const char *target, const char *by,
	      uint64_t label, const struct figure *figures, int num);
void plot_close(void);

#endif
