/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Runs commands of an administrator.
 */
#ifndef PINION_TEST_COMMAND_H
#define PINION_TEST_COMMAND_H

/* Has a shell run "@format...", which must succeed. */
__attribute__((format(printf, 1, 2))) void must_run(const char *format, ...);

#endif /* PINION_TEST_COMMAND_H */
