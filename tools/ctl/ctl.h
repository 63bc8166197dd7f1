/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * pinionctl: what every command of it uses. A command is a function of its words that
 * returns the exit status.
 */
#ifndef PINIONCTL_CTL_H
#define PINIONCTL_CTL_H

#include <stdbool.h>
#include <stdint.h>

enum {
	EXIT_GOOD = 0,
	EXIT_FOUND =
		1, /* something is wrong, or what was asked for is not there */
	EXIT_CANNOT = 2, /* it could not be done, or was asked for wrongly */
};

/* Says why and ends with EXIT_CANNOT. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* There is always memory, or there is no point. */
void *need(void *memory);
/* Memory of the caller's from here on. */
char *print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A line of a file without its end, or NULL. Valid until the next call. */
const char *file_line(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* Redraw each @seconds, if that is not 0, by the same function. */
extern unsigned int watch_seconds;
int watch(int (*draw)(char **words), char **words);

/*
 * What came behind `--', or NULL; it is taken from @words. With nothing behind it the program
 * ends.
 */
char **command_of(char **words);

/* --------------------------------------------------------------------- commands */

/* @words end with NULL. */
int dev_command(char **words);
int mr_command(char **words);
int object_command(const char *name, char **words);
int key_command(char **words);
int stat_command(char **words);
int caps_command(char **words);
int doctor_command(char **words);
int trace_command(char **words);
int inject_command(char **words);
int record_command(char **words);
int replay_command(char **words);

/* of mr, in files of their own */
int mr_map(char **words);
int mr_check(char **words);

/* Which of a command's parts @word is: the first if there is none. */
struct part {
	const char *name; /* NULL: there are no more */
	int (*run)(char **words);
};
int part_run(const char *command, const struct part *parts, char **words);

#endif
