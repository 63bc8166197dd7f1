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
/*
 * The same, and after it each allocation fails, also one that tries once more: so what follows where an
 * xarray or an ida has no memory is reached only by this. Copies do not fail again. Between
 * fault_lasting_prepare() and fault_lasting_end().
 */
void fault_arm_lasting(unsigned int nth);
/* @but_in: a function of the kernel, with what it calls, where none of them fails; or NULL. */
void fault_lasting_prepare(const char *but_in);
void fault_lasting_end(const char *but_in);
/*
 * Disarm; true if a call failed. Also before a test is about to look, within an attempt, at what has
 * become of its call. If nothing is armed the result is the last one.
 */
bool fault_disarm(void);

/* In a new child process: use the child's own files. Then call fault_arm(). */
void fault_inherit(void);
/* Did a call fail in the process @pid? It has exited but is not reaped yet. */
bool fault_hit(int pid);

/*
 * After fault_prepare(): from now on only such calls count that are made in @module, or in what it
 * calls, at most @depth calls below it; or in @function of the kernel, however deep. By
 * fault_anywhere() all count again, as they do when the test ends.
 */
void fault_only_in_module(const char *module, unsigned int depth);
void fault_only_in_function(const char *function);
void fault_anywhere(void);
/* But not those that are made in one of @count functions beside each other, or in what they call. */
void fault_not_in(const char *const *functions, size_t count);
/*
 * The next faults are not among the allocations by which the kernel's debugging of objects stocks up:
 * they are some hundred of this thread, or none, since another thread has made them.
 */
void fault_not_in_checks(void);

/*
 * For all processes and contexts: allocations fail that are made in functions of @module, or in
 * what those call. fault_often_end() returns how many did.
 */
void fault_often_prepare(const char *module);
void fault_often(unsigned int percent);
uint64_t fault_often_end(void);

/*
 * After fault_often_prepare(): the first allocation fails, whoever makes it. Has it been made? Then
 * no other fails.
 */
void fault_once(void);
bool fault_once_hit(void);

#endif /* PINION_TEST_FAULT_H */
