/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The kernel's attributes of fault injection (probability, interval, times, space, task-filter and
 * the others of its Documentation/fault-injection) for each kind of injected failure, next to the
 * orders of inject.h. Only in kernels with CONFIG_FAULT_INJECTION_DEBUG_FS. They are in effect
 * while root has them switched on; until then they cost nothing, as pinion_injecting is off.
 */
#ifndef PINION_MEM_INJECT_ATTR_H
#define PINION_MEM_INJECT_ATTR_H

#include "inject.h"

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS

#include <linux/fault-inject.h>

struct pinion_inject_attr {
	struct fault_attr fault;
	u32 value;			/* as that of an order, within its limits */
};

struct pinion_inject_attr *pinion_inject_attr_of(enum pinion_inject_kind kind);

/*
 * Do the attributes want this occasion to fail? They know the calling task and its stack, but no
 * target. Any context. Return: 0: no; else the value.
 */
int pinion_inject_attr_ask(enum pinion_inject_kind kind);
/* May occasions of this kind fail? Does not count as one. Any context. */
bool pinion_inject_attr_lasts(enum pinion_inject_kind kind);

bool pinion_inject_attr_is_on(void);
/*
 * Return: whether this changed anything. The caller sees to the static key, and tells who keeps
 * something (pinion_inject_use()). Calls do not overlap.
 */
bool pinion_inject_attr_switch(bool on);

/* inject_attr_files.c: the directory `fault' below @root. */
void pinion_inject_attr_add_files(struct dentry *root);
/* After the files were removed: nothing is in effect any more. Sleeps. */
void pinion_inject_attr_end(void);

#else

static inline int pinion_inject_attr_ask(enum pinion_inject_kind kind)
{
	return 0;
}

static inline bool pinion_inject_attr_lasts(enum pinion_inject_kind kind)
{
	return false;
}

static inline void pinion_inject_attr_add_files(struct dentry *root)
{
}

static inline void pinion_inject_attr_end(void)
{
}

#endif

#endif
