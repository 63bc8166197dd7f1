// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Plots a line for each device and figure; x is the row's label. Both axes are logarithmic.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "plot.h"

/* The figure of a row that is drawn: the first of these that it has, and its companion. */
static const char *const drawn[][2] = {
	{ "both_ns", NULL },   { "reg_p50_ns", "reg_p99_ns" },
	{ "median_ns", NULL }, { "reg_ns", NULL },
	{ "ns_each", NULL },
};

struct point {
	struct point *next;
	char *line;
	double x, y;
};

static const char *plot_file;
static char *plot_by;
static struct point *points, **points_end = &points;

void plot_open(const char *file)
{
	if (system("gnuplot --version >/dev/null 2>&1"))
		die(2,
		    "--plot: gnuplot is not here: apt-get install gnuplot-nox");
	if (strpbrk(file, "'\n\\"))
		die(1,
		    "--plot: no quotes, backslashes or newlines in the name of its file");
	plot_file = file;
}

static void point_add(const char *what, const char *target, const char *figure,
		      uint64_t x, double y)
{
	struct point *point = calloc(1, sizeof(*point));

	if (!point ||
	    asprintf(&point->line, "%s, %s: %s", target, what, figure) < 0)
		die(2, "no memory");
	point->x = x;
	point->y = y;
	*points_end = point;
	points_end = &point->next;
}

static const struct figure *figure_of(const struct figure *figures, int num,
				      const char *name)
{
	int i;

	for (i = 0; i < num; i++)
		if (!strcmp(figures[i].name, name) && figures[i].value > 0)
			return &figures[i];
	return NULL;
}

void plot_add(const char *what, const char *target, const char *by,
	      uint64_t label, const struct figure *figures, int num)
{
	const struct figure *figure = NULL;
	size_t i;
	int j;

	if (!plot_file || !label)
		return;
	if (!plot_by)
		plot_by = strdup(by);
	for (i = 0; i < sizeof(drawn) / sizeof(*drawn) && !figure; i++) {
		for (j = 0; j < 2 && drawn[i][j]; j++) {
			figure = figure_of(figures, num, drawn[i][j]);
			if (figure)
				point_add(what, target, figure->name, label,
					  figure->value);
		}
	}
}

/* Sort the points by line. */
static void line_write(FILE *gnuplot, const char *line)
{
	struct point *point;

	for (point = points; point; point = point->next)
		if (!strcmp(point->line, line))
			fprintf(gnuplot, "%.0f %.1f\n", point->x, point->y);
	fprintf(gnuplot, "e\n");
}

static bool is_first(const struct point *point)
{
	const struct point *before;

	for (before = points; before != point; before = before->next)
		if (!strcmp(before->line, point->line))
			return false;
	return true;
}

void plot_close(void)
{
	const char *comma = "plot";
	struct point *point;
	FILE *gnuplot;
	int status;

	if (!plot_file)
		return;
	if (!points)
		die(2, "--plot: there is nothing to draw");
	gnuplot = popen("gnuplot", "we");
	if (!gnuplot)
		die(2, "gnuplot: %m");
	fprintf(gnuplot,
		"set terminal svg size 900,600 dynamic background 'white'\n"
		"set output '%s'\nset logscale xy\nset grid\nset key left top noenhanced\n"
		"set xlabel '%s'\nset ylabel 'ns'\n",
		plot_file, plot_by);
	if (!strcmp(plot_by, "bytes"))
		fprintf(gnuplot, "set logscale x 2\nset format x '%%.0b%%B'\n");
	for (point = points; point; point = point->next) {
		if (!is_first(point))
			continue;
		fprintf(gnuplot, "%s '-' with linespoints title '%s'", comma,
			point->line);
		comma = ",";
	}
	fprintf(gnuplot, "\n");
	for (point = points; point; point = point->next)
		if (is_first(point))
			line_write(gnuplot, point->line);
	status = pclose(gnuplot);
	if (status)
		die(2, "gnuplot failed: status %d", WEXITSTATUS(status));
}
