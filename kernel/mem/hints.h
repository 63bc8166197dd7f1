/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Hints that are not followed yet, of one user: an open device file, or all of the kernel's
 * consumers. Memory may take as long as some file system likes to come, or for ever, and each
 * hint that waits for it has a worker; so a user has few at a time, and others have theirs.
 */
#ifndef PINION_MEM_HINTS_H
#define PINION_MEM_HINTS_H

#include <linux/err.h>
#include <linux/mutex.h>

#include "sleepers.h"

/* How many are followed at a time, and how many may wait: more are not worth their memory. */
#define PINION_HINTS_ACTIVE	4
#define PINION_HINTS_WAITING	1024

extern const struct pinion_sleepers_kind pinion_hints_kind;

struct pinion_hints {
	struct mutex lock;		/* @sleepers are being made */
	kuid_t user;
	struct pinion_sleepers *sleepers; /* NULL before the first hint */
};

/* @user: INVALID_UID for the kernel. */
static inline void pinion_hints_init(struct pinion_hints *hints, kuid_t user)
{
	mutex_init(&hints->lock);
	hints->user = user;
	hints->sleepers = NULL;
}

/* Who follows them; NULL: nobody can now, and a hint may be forgotten. */
static inline struct pinion_sleepers *pinion_hints_sleepers(struct pinion_hints *hints)
{
	struct pinion_sleepers *sleepers;

	mutex_lock(&hints->lock);
	sleepers = hints->sleepers;
	if (!sleepers) {
		sleepers = pinion_sleepers_create(&pinion_hints_kind, hints->user);
		if (IS_ERR(sleepers))
			sleepers = NULL;
		hints->sleepers = sleepers;
	}
	mutex_unlock(&hints->lock);
	return sleepers;
}

/* No region that a hint could be about is left. Waits for none that waits for memory. */
static inline void pinion_hints_destroy(struct pinion_hints *hints)
{
	pinion_sleepers_abandon(hints->sleepers);
	mutex_destroy(&hints->lock);
}

#endif
