// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * doctor: runs all checks and prints their results.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "doctor.h"
#include "row.h"

static bool wrong;

static const char *const findings[] = { "ok", "hint", "WRONG" };

void found(enum finding finding, const char *about, char *what, char *todo)
{
	struct row row = {};

	if (json) {
		row_text(&row, "finding", findings[finding]);
		row_text(&row, "about", about);
		row_text(&row, "what", what);
		row_text(&row, "todo", todo ? todo : "");
		out_row(&row);
		row_clear(&row);
		free(row.fields);
	} else {
		printf("%-5s %-12s %s%s%s\n", findings[finding], about, what,
		       todo ? ": " : "", todo ? todo : "");
	}
	wrong |= finding == WRONG;
	free(what);
	free(todo);
}

int doctor_command(char **words)
{
	char **command = command_of(words);
	struct device *devices;
	int i, num;

	if (words[0])
		die("doctor: `%s': it looks at all devices; a command comes behind `--'",
		    words[0]);
	if (command)
		return doctor_run(command);
	/* Without titles. */
	out_begin(LAYOUT_BLOCKS, NULL);
	devices = devices_try(&num);
	doctor_kernel(num);
	for (i = 0; i < num; i++)
		doctor_device(&devices[i]);
	free(devices);
	doctor_limits();
	out_end();
	return wrong ? EXIT_FOUND : EXIT_GOOD;
}
