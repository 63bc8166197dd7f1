/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Where hanging processes are: a line and a stack for each thread of some processes,
 * and for each worker of the kernel that is not idle.
 */
#ifndef PINION_TEST_STUCK_H
#define PINION_TEST_STUCK_H

#include <stdio.h>
#include <sys/types.h>

/* For the process group @group, as KTAP comments. Stacks need root. Returns the threads shown. */
int stuck_print(FILE *to, pid_t group);

#endif /* PINION_TEST_STUCK_H */
