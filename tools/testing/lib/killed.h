/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Killing a process that works until it is killed.
 */
#ifndef PINION_TEST_KILLED_H
#define PINION_TEST_KILLED_H

/* Kill @pid. The test fails if the process had ended before. */
void killed(int pid);

#endif /* PINION_TEST_KILLED_H */
