/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Runs pinionctl, from the folder above the test's, and parses its output.
 */
#ifndef PINION_TEST_TOOL_H
#define PINION_TEST_TOOL_H

#include <stdbool.h>
#include <stdint.h>

struct said {
	int status; /* exit status */
	char *out; /* stdout and stderr */
};

/* Runs `pinionctl' with these words. Frees the output of the previous call. */
struct said tool(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same; must exit with 0. */
const char *tool_says(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* The path of the program; valid until the next call. */
const char *tool_path(void);

/* The value in a line `    NAME   VALUE', or NULL; valid until the next call. */
const char *tool_value(const char *out, const char *name);
uint64_t tool_number(const char *out, const char *name);
#define tool_is(out, name, want) tool_is_at(__FILE__, __LINE__, out, name, want)
void tool_is_at(const char *file, int line, const char *out, const char *name,
		const char *want);
int tool_lines(const char *out);

#endif /* PINION_TEST_TOOL_H */
