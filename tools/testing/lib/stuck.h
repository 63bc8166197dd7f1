/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shows where processes hang: a line and a stack for each of their threads, and for each
 * worker of the kernel that is not idle.
 */
#ifndef PINION_TEST_STUCK_H
#define PINION_TEST_STUCK_H

#include <stdio.h>
#include <sys/types.h>

/* For the process group @group, as KTAP comments. Stacks need root. Returns the threads shown. */
int stuck_print(FILE *to, pid_t group);

#endif /* PINION_TEST_STUCK_H */
