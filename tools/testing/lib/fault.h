/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Fault injection: allocations and user copies in the system calls of this thread fail on
 * request (fail-nth in /proc).
 */
#ifndef PINION_TEST_FAULT_H
#define PINION_TEST_FAULT_H

#include "harness.h"

/* Enable fault injection, or skip the test. Locks the memory of this process. */
void fault_prepare(void);
/* From now on, the @nth call that can fail fails. */
void fault_arm(unsigned int nth);
/* Disarm; true if a call failed. */
bool fault_disarm(void);

/* In a new child process: use the fail-nth file of the child. Then call fault_arm(). */
void fault_inherit(void);
/* Did a call fail in the process @pid? It has exited but is not reaped yet. */
bool fault_hit(int pid);

/*
 * For all processes and contexts: allocations fail that are made in functions of @module, or in
 * what those call. fault_often_end() returns how many did.
 */
void fault_often_prepare(const char *module);
void fault_often(unsigned int percent);
uint64_t fault_often_end(void);

#endif /* PINION_TEST_FAULT_H */
