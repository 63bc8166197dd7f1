/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work items for advice (ibv_advise_mr()) of one owner: an open device file, or all kernel
 * consumers. Each needs a thread while it faults, and a fault may take long or never end. So an
 * owner has few threads at a time, and cannot use up those of others. Hints are carried out later;
 * the caller of a FLUSH waits until it is done.
 */
#ifndef PINION_MEM_HINTS_H
#define PINION_MEM_HINTS_H

#include <linux/cleanup.h>
#include <linux/err.h>
#include <linux/mutex.h>

#include "sleepers.h"

/* Hints carried out at a time, and the number that may be queued. More are dropped. */
#define PINION_HINTS_ACTIVE	4
#define PINION_HINTS_WAITING	1024

extern const struct pinion_sleepers_kind pinion_hints_kind;
extern const struct pinion_sleepers_kind pinion_flushes_kind;

struct pinion_hints {
	struct mutex lock;		/* held while @sleepers and @flushes are made */
	kuid_t user;
	struct pinion_sleepers *sleepers; /* NULL before the first hint */
	struct pinion_sleepers *flushes; /* likewise */
};

/* @user: INVALID_UID for the kernel. */
static inline void pinion_hints_init(struct pinion_hints *hints, kuid_t user)
{
	mutex_init(&hints->lock);
	hints->user = user;
	hints->sleepers = NULL;
	hints->flushes = NULL;
}

static inline struct pinion_sleepers *pinion_hints_make(struct pinion_hints *hints,
							struct pinion_sleepers **made,
							const struct pinion_sleepers_kind *kind)
{
	struct pinion_sleepers *sleepers;

	guard(mutex)(&hints->lock);
	if (*made)
		return *made;
	sleepers = pinion_sleepers_create(kind, hints->user);
	if (!IS_ERR(sleepers))
		*made = sleepers;
	return sleepers;
}

/* Make the work items' owner when first needed. ERR_PTR: not now; then a hint is dropped. */
static inline struct pinion_sleepers *pinion_hints_sleepers(struct pinion_hints *hints)
{
	return pinion_hints_make(hints, &hints->sleepers, &pinion_hints_kind);
}

static inline struct pinion_sleepers *pinion_hints_flushes(struct pinion_hints *hints)
{
	return pinion_hints_make(hints, &hints->flushes, &pinion_flushes_kind);
}

/* All regions of the owner are gone. Does not wait for work items that are in a fault. */
static inline void pinion_hints_destroy(struct pinion_hints *hints)
{
	pinion_sleepers_abandon(hints->sleepers);
	pinion_sleepers_abandon(hints->flushes);
	mutex_destroy(&hints->lock);
}

#endif
