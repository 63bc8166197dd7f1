/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which code of the module system calls of this thread have run, as KCOV tells it. For root.
 */
#ifndef PINION_TEST_KCOV_H
#define PINION_TEST_KCOV_H

#include <stddef.h>
#include <stdint.h>

/* The test is skipped if this kernel has no KCOV. */
void kcov_open(void);
void kcov_begin(void);
/* Ends the recording. Returns the number of addresses and where they are; they may repeat. */
size_t kcov_end(const uint64_t **addresses);

#endif /* PINION_TEST_KCOV_H */
