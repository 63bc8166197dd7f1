/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Allocations and user copies of this thread's system calls that fail on request
 * (fail-nth of the kernel's fault injection).
 */
#ifndef PINION_TEST_FAULT_H
#define PINION_TEST_FAULT_H

#include "harness.h"

/* Make it possible, or skip the test. Memory of this process is locked. */
void fault_prepare(void);
/* The @nth one that can fail, from now on, does. */
void fault_arm(unsigned int nth);
/* No more; true if one failed. */
bool fault_disarm(void);

/* For a new process: the next ones are its own. Then fault_arm(). */
void fault_inherit(void);
/* Did one fail in the process @pid, which has ended but was not waited for? */
bool fault_hit(int pid);

#endif /* PINION_TEST_FAULT_H */
