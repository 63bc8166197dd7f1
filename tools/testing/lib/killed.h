/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The end of a process that works until it is killed.
 */
#ifndef PINION_TEST_KILLED_H
#define PINION_TEST_KILLED_H

/* Kill @pid now. It was at work until then: one that failed before fails the test. */
void killed(int pid);

#endif /* PINION_TEST_KILLED_H */
