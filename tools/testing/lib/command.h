/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Runs commands of an administrator.
 */
#ifndef PINION_TEST_COMMAND_H
#define PINION_TEST_COMMAND_H

#include <pthread.h>

/* Skips the test if there is no command of this name. */
void need_command(const char *name);

/* Has a shell run "@format...", which must succeed. */
__attribute__((format(printf, 1, 2))) void must_run(const char *format, ...);

/* Runs one in another thread, which ends with it, while the caller goes on. */
pthread_t command_begin(char *command);

#endif /* PINION_TEST_COMMAND_H */
