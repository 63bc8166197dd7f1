/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A device of this test that is removed repeatedly, while a process uses memory through it
 * and changes that memory.
 */
#ifndef PINION_TEST_UNPLUG_H
#define PINION_TEST_UNPLUG_H

#include "link.h"

enum { UNPLUG_LENGTH = 60 * 4096 };

/* Memory of UNPLUG_LENGTH bytes, in the process that uses it. */
struct unplug_kind {
	/* Called when the device is open. Messages use target->base and ->rkey. */
	void (*make)(struct region *target);
	/* Called repeatedly, before and after the removal; NULL if it cannot change. */
	void (*change)(struct region *target);
	/* Called after the removal. Calls may fail, but they must return. */
	void (*end)(struct region *target);
};

void unplug(const struct unplug_kind *kind);

/*
 * unplug_begin() makes a netdev and a device on it, or skips the test. unplug_add() makes the
 * device again after its removal. unplug_end() removes the netdev, and with it the device.
 */
#define UNPLUG_DEVICE "unplug0"
void unplug_begin(void);
void unplug_add(void);
void unplug_end(void);

#endif /* PINION_TEST_UNPLUG_H */
