// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Statistics and output.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"
#include "report.h"

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t min_of(uint64_t *values, int num)
{
	qsort(values, num, sizeof(*values), compare);
	return values[0];
}

uint64_t median_of(uint64_t *values, int num)
{
	qsort(values, num, sizeof(*values), compare);
	return values[(num - 1) / 2] +
	       (values[num / 2] - values[(num - 1) / 2]) / 2;
}

uint64_t share_of(uint64_t *values, int num, int percent)
{
	int at = ((int64_t)num * percent + 99) / 100 - 1;

	qsort(values, num, sizeof(*values), compare);
	return values[at < 0 ? 0 : at];
}

const char *size_name(uint64_t size)
{
	static const char units[] = " KMGT";
	static char name[32];
	int unit = 0;

	while (size && size % 1024 == 0 && units[unit + 1]) {
		size /= 1024;
		unit++;
	}
	snprintf(name, sizeof(name), "%llu%.*s", (unsigned long long)size,
		 unit > 0, &units[unit]);
	return name;
}

/* Only bytes are printed with units. */
static const char *label_name(const char *by, uint64_t label)
{
	static char name[32];

	if (!strcmp(by, "bytes"))
		return size_name(label);
	snprintf(name, sizeof(name), "%llu", (unsigned long long)label);
	return name;
}

static void json_begin(const char *what, const char *target, const char *by,
		       uint64_t label)
{
	printf("{\"what\":\"%s\",\"target\":\"%s\",\"%s\":%llu", what, target,
	       by, (unsigned long long)label);
}

void report_row(const char *what, const char *target, const char *by,
		uint64_t label, const struct figure *figures, int num)
{
	static const char *last;
	int i;

	plot_add(what, target, by, label, figures, num);
	if (opt.json) {
		json_begin(what, target, by, label);
		for (i = 0; i < num; i++)
			if (!isnan(figures[i].value))
				printf(",\"%s\":%.*f", figures[i].name,
				       figures[i].decimals, figures[i].value);
		printf("}\n");
		fflush(stdout);
		return;
	}
	if (what != last) {
		printf("%s%s\n%-9s %-10s", last ? "\n" : "", what, by,
		       "target");
		for (i = 0; i < num; i++)
			printf(" %13s", figures[i].name);
		printf("\n");
		last = what;
	}
	printf("%-9s %-10s", label_name(by, label), target);
	for (i = 0; i < num; i++) {
		if (isnan(figures[i].value))
			printf(" %13s", "-");
		else
			printf(" %13.*f", figures[i].decimals,
			       figures[i].value);
	}
	printf("\n");
	fflush(stdout);
}

void report_failure(const char *what, const char *target, const char *by,
		    uint64_t label, int err)
{
	if (opt.json) {
		json_begin(what, target, by, label);
		printf(",\"error\":\"%s\"}\n", strerror(err));
	} else {
		printf("%-9s %-10s %s: %s\n", label_name(by, label), target,
		       what, strerror(err));
	}
	fflush(stdout);
}
