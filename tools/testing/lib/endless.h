/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Loops that call verbs of one kind until the process is killed.
 */
#ifndef PINION_TEST_ENDLESS_H
#define PINION_TEST_ENDLESS_H

#include "harness.h"

struct endless {
	const char *name;
	void (*verbs)(void); /* on the open device; never returns */
};

extern const struct endless endless[];
extern const size_t endless_count;

#endif /* PINION_TEST_ENDLESS_H */
