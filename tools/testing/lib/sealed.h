/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A file in memory for the buffers of one test, of all its processes. When they have ended, it can
 * be sealed against writing only if nobody holds a page of it: the kernel counts every reference,
 * also those that are no pins.
 */
#ifndef PINION_TEST_SEALED_H
#define PINION_TEST_SEALED_H

#include <stdbool.h>
#include <stddef.h>

/* For the harness: before it forks the test's process, and when that and its children are gone. */
void sealed_begin(void);
void sealed_end(void);
/* Is a page still referenced? Somebody who is about to drop it is waited for. */
bool sealed_is_held(void);

/* In the test's process: is its first buffer part of the file? Every second one is. */
void sealed_first(bool first);
/* Map a part of the file; NULL if this buffer is to be private, or there is no room. */
void *sealed_map(size_t length);

#endif /* PINION_TEST_SEALED_H */
