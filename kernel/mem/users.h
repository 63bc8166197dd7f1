/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counts the users of an object. To destroy the object, its owner unpublishes it, so that nobody
 * can find it any more, then waits in pinion_users_drain() until all users have left.
 */
#ifndef PINION_MEM_USERS_H
#define PINION_MEM_USERS_H

#include <linux/completion.h>
#include <linux/refcount.h>

struct pinion_users {
	refcount_t count;		/* users, and one for the owner */
	struct completion none;		/* @count is 0 */
};

static inline void pinion_users_init(struct pinion_users *users)
{
	refcount_set(&users->count, 1);
	init_completion(&users->none);
}

/* The object must not be drained before or meanwhile: it was found under its table's lock. */
static inline void pinion_users_get(struct pinion_users *users)
{
	refcount_inc(&users->count);
}

static inline void pinion_users_put(struct pinion_users *users)
{
	if (refcount_dec_and_test(&users->count))
		complete(&users->none);
}

/* Called once, by the owner. Sleeps until the last user has left. */
static inline void pinion_users_drain(struct pinion_users *users)
{
	pinion_users_put(users);
	wait_for_completion(&users->none);
}

#endif
