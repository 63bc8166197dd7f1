/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory whose pages come when the test lets them: until then whoever touches one waits and
 * cannot be killed. Of ../exporter.
 */
#ifndef PINION_TEST_SLOW_H
#define PINION_TEST_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SLOW_LEN = 64 * 4096 };

struct slow {
	int fd;
	uint8_t *map; /* in children, too */
};

/* Not held back; the test is skipped if there is none. */
struct slow slow_new(void);
void slow_hold(const struct slow *slow, bool hold);
/* How many faults wait. */
unsigned int slow_waiting(const struct slow *slow);
/* One does, soon. */
void slow_await(const struct slow *slow);

#endif /* PINION_TEST_SLOW_H */
