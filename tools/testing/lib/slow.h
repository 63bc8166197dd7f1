/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory whose page faults the test can hold back: that of ../exporter, where a thread that touches a
 * held page waits in the fault handler and cannot be killed; or a file of FUSE, where it waits for an
 * answer of the server.
 */
#ifndef PINION_TEST_SLOW_H
#define PINION_TEST_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SLOW_LEN = 64 * 4096 };

struct slow_file;

struct slow {
	int fd;
	uint8_t *map; /* also mapped in children */
	struct slow_file *file; /* NULL: of the exporter */
};

/* Faults are not held back yet. Skips the test if ../exporter is missing. */
struct slow slow_new(void);
/* The same with a file of FUSE, one at a time. Skips the test if the kernel has no FUSE; for root. */
struct slow slow_file_new(void);
/* Nobody uses the memory any more. */
void slow_end(struct slow *slow);
void slow_hold(const struct slow *slow, bool hold);
/* How many faults are held back now. */
unsigned int slow_waiting(const struct slow *slow);
/* Wait until at least one fault is held back. */
void slow_await(const struct slow *slow);

/* Between slow.c and slow_file.c, nobody else. */
void slow_file_hold(struct slow_file *file, bool hold);
unsigned int slow_file_waiting(const struct slow_file *file);
void slow_file_end(struct slow_file *file);

#endif /* PINION_TEST_SLOW_H */
