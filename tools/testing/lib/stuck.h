/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Where those are who did not end: a line and a stack of each thread of some processes,
 * and of each worker of the kernel that is not idle.
 */
#ifndef PINION_TEST_STUCK_H
#define PINION_TEST_STUCK_H

#include <stdio.h>
#include <sys/types.h>

/* Of the processes of @group, as comments of KTAP. Stacks are for root. Return: threads shown. */
int stuck_print(FILE *to, pid_t group);

#endif /* PINION_TEST_STUCK_H */
