/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What registration and reregistration of the model share.
 */
#ifndef PINION_TEST_REGION_H
#define PINION_TEST_REGION_H

#include "model.h"

/* No right, and none that may be ignored. */
#define REGION_NO_RIGHT (1 << 11)

/* Access flags; mostly useful ones. */
int region_some_access(uint32_t r, bool on_demand);
/* Does the core let them through? */
bool region_access_is_good(int access);
/* Is memory pinned for writing with them? */
bool region_access_writes(int access);
/* Can it be a region? Memory on demand is not looked at before it is used. */
bool region_can_be_taken(int access, const struct space *space, uint64_t at,
			 uint64_t length);
/* @r is of this memory from now on. */
void region_take_memory(struct model_region *r, enum region_kind kind,
			struct space *space, uint64_t at, uint64_t length,
			uint64_t base);

#endif /* PINION_TEST_REGION_H */
