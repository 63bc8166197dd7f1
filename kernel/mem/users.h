/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Who uses an object besides its owner, and the wait until nobody does: an object is
 * unpublished, so that no more come, then drained, then freed.
 */
#ifndef PINION_MEM_USERS_H
#define PINION_MEM_USERS_H

#include <linux/completion.h>
#include <linux/refcount.h>

struct pinion_users {
	refcount_t count;		/* and the owner */
	struct completion none;
};

static inline void pinion_users_init(struct pinion_users *users)
{
	refcount_set(&users->count, 1);
	init_completion(&users->none);
}

/* By who knows that it was not drained, and is not meanwhile. */
static inline void pinion_users_get(struct pinion_users *users)
{
	refcount_inc(&users->count);
}

static inline void pinion_users_put(struct pinion_users *users)
{
	if (refcount_dec_and_test(&users->count))
		complete(&users->none);
}

/* By the owner, once. */
static inline void pinion_users_drain(struct pinion_users *users)
{
	pinion_users_put(users);
	wait_for_completion(&users->none);
}

#endif
