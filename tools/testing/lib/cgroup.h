/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A control group with this process in it.
 */
#ifndef PINION_TEST_CGROUP_H
#define PINION_TEST_CGROUP_H

#include "harness.h"

/* Enter a new control group that has @controller, or skip the test. */
void cgroup_enter(const char *controller);
void cgroup_leave(void);

/* Remove the empty group @path. Retries while its last processes are still exiting. */
int cgroup_remove(const char *path);

/* Write a file of the group; read the number that follows @name in a file of the group. */
void cgroup_set(const char *file, const char *value);
long long cgroup_get(const char *file, const char *name);

#endif /* PINION_TEST_CGROUP_H */
