/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A control group with this process in it.
 */
#ifndef PINION_TEST_CGROUP_H
#define PINION_TEST_CGROUP_H

#include "harness.h"

/* Enter a new one that has @controller, or skip the test. */
void cgroup_enter(const char *controller);
void cgroup_leave(void);

/* Remove the empty group @path; its last processes may take a moment to leave it. */
int cgroup_remove(const char *path);

/* Write to one of its files; read the number behind @name in one. */
void cgroup_set(const char *file, const char *value);
long long cgroup_get(const char *file, const char *name);

#endif /* PINION_TEST_CGROUP_H */
