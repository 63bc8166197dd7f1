/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A device of our own that is removed, again and again, while a process uses memory by
 * it and changes that memory.
 */
#ifndef PINION_TEST_UNPLUG_H
#define PINION_TEST_UNPLUG_H

#include "link.h"

enum { UNPLUG_LENGTH = 60 * 4096 };

/* Memory of UNPLUG_LENGTH bytes, in the process that uses it. */
struct unplug_kind {
	/* Once the device is open: .base and .rkey are what messages go to. */
	void (*make)(struct region *target);
	/* Now and then, before and after the device went; NULL if it cannot change. */
	void (*change)(struct region *target);
	/* The device is gone. What calls say does not matter, but that they return. */
	void (*end)(struct region *target);
};

void unplug(const struct unplug_kind *kind);

/* A device of our own by that name, or the test is skipped; gone with its netdev at the end. */
#define UNPLUG_DEVICE "unplug0"
void unplug_begin(void);
void unplug_add(void);
void unplug_end(void);

#endif /* PINION_TEST_UNPLUG_H */
