/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory of ../exporter whose page faults the test can hold back. A thread that touches a held
 * page waits in the fault handler and cannot be killed.
 */
#ifndef PINION_TEST_SLOW_H
#define PINION_TEST_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SLOW_LEN = 64 * 4096 };

struct slow {
	int fd;
	uint8_t *map; /* also mapped in children */
};

/* Faults are not held back yet. Skips the test if ../exporter is missing. */
struct slow slow_new(void);
void slow_hold(const struct slow *slow, bool hold);
/* How many faults are held back now. */
unsigned int slow_waiting(const struct slow *slow);
/* Wait until at least one fault is held back. */
void slow_await(const struct slow *slow);

#endif /* PINION_TEST_SLOW_H */
