/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * pinionctl: functions that all commands use. A command is a function that gets its words and
 * returns the exit status.
 */
#ifndef PINIONCTL_CTL_H
#define PINIONCTL_CTL_H

#include <stdbool.h>
#include <stdint.h>

enum {
	EXIT_GOOD = 0,
	EXIT_FOUND = 1, /* something is wrong, or does not exist */
	EXIT_CANNOT = 2, /* an error, or wrong usage */
};

/* Print a message and exit with EXIT_CANNOT. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* Exit if @memory is NULL. */
void *need(void *memory);
/* The caller frees the result. */
char *print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The next line of a file without its newline, or NULL. Valid until the next call. */
const char *file_line(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/*
 * Exit if @err, with which a file in debugfs could not be opened, says that the kernel
 * refuses; and say why.
 */
void die_if_refused(const char *path, int err);
/*
 * Write @line to a file of a pinion device below /sys/kernel/debug/pinion, or exit if it cannot be
 * opened. Return: 0 or the errno of writing.
 */
int device_tell(const char *device, const char *file, const char *line);

/* Call the function again each so many seconds, if that is not 0, and redraw. */
extern unsigned int watch_seconds;
int watch(int (*draw)(char **words), char **words);

/*
 * The command behind `--', which is removed from @words, or NULL. Exits if there is nothing behind
 * it.
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

/* parts of mr that have their own files */
int mr_map(char **words);
int mr_invalidate(char **words);
int mr_check(char **words);

/* Find the part of a command that @word names; without a word the first. */
struct part {
	const char *name; /* NULL: there are no more */
	int (*run)(char **words);
};
int part_run(const char *command, const struct part *parts, char **words);

#endif
