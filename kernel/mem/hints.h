/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Advice that is not followed yet, of one user: an open device file, or all of the kernel's
 * consumers. Memory may take as long as some file system likes to come, or for ever, and each
 * piece of advice that waits for it has a worker; so a user has few at a time, and others have
 * theirs. A hint is left for later, for a flush its caller waits.
 */
#ifndef PINION_MEM_HINTS_H
#define PINION_MEM_HINTS_H

#include <linux/cleanup.h>
#include <linux/err.h>
#include <linux/mutex.h>

#include "sleepers.h"

/* How many are followed at a time, and how many may wait: more are not worth their memory. */
#define PINION_HINTS_ACTIVE	4
#define PINION_HINTS_WAITING	1024

extern const struct pinion_sleepers_kind pinion_hints_kind;
extern const struct pinion_sleepers_kind pinion_flushes_kind;

struct pinion_hints {
	struct mutex lock;		/* the others are being made */
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

/* Who follows them; an ERR_PTR: nobody can now. A hint may be forgotten. */
static inline struct pinion_sleepers *pinion_hints_sleepers(struct pinion_hints *hints)
{
	return pinion_hints_make(hints, &hints->sleepers, &pinion_hints_kind);
}

static inline struct pinion_sleepers *pinion_hints_flushes(struct pinion_hints *hints)
{
	return pinion_hints_make(hints, &hints->flushes, &pinion_flushes_kind);
}

/* No region that they could be about is left. Waits for none that waits for memory. */
static inline void pinion_hints_destroy(struct pinion_hints *hints)
{
	pinion_sleepers_abandon(hints->sleepers);
	pinion_sleepers_abandon(hints->flushes);
	mutex_destroy(&hints->lock);
}

#endif
