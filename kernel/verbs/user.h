/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Users of a device, by uid: whatever there is only so much of, one of them has half of at
 * most, in however many processes, so that there is some for others.
 */
#ifndef PINION_VERBS_USER_H
#define PINION_VERBS_USER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/uidgid.h>

#include "../path/bell.h"
#include "device.h"
#include "rings.h"
#include "ucontext.h"

struct pinion_user {
	struct list_head list;		/* of the device's, under its users_lock */
	struct pinion_dev *dev;
	kuid_t uid;
	refcount_t ref;			/* open files, and what may outlive them */
	atomic_t counts[PINION_NUM_COUNTED];
	atomic64_t dm_used;		/* bytes of device memory */
	atomic_t waiting;		/* bytes of packets that wait for queue pairs */
	struct pinion_bells bells;	/* of the raw queue pairs of all his files */
};

/* Who runs now; or an ERR_PTR. */
struct pinion_user *pinion_user_get(struct pinion_dev *dev);
void pinion_user_put(struct pinion_user *user);	/* may be NULL */

static inline void pinion_user_hold(struct pinion_user *user)
{
	refcount_inc(&user->ref);
}

/*
 * Count one more object in, among the user's and among all. @user is NULL for what the kernel
 * has, of which only all are limited. Any context. Return: 0; -EDQUOT: the user has as many as
 * one may; -ENOMEM: there are as many as there may be.
 */
int pinion_count_in(struct pinion_dev *dev, struct pinion_user *user, enum pinion_counted kind);
void pinion_count_out(struct pinion_dev *dev, struct pinion_user *user, enum pinion_counted kind);

/* Whose an object is that a verb makes; and one of a domain. NULL: the kernel's. */
static inline struct pinion_user *pinion_user_of_udata(struct ib_udata *udata)
{
	struct ib_ucontext *context = pinion_udata_context(udata);

	return context ? to_pinion_ucontext(context)->user : NULL;
}

static inline struct pinion_user *pinion_user_of_pd(const struct ib_pd *pd)
{
	return pd->uobject ? to_pinion_ucontext(pd->uobject->context)->user : NULL;
}

#endif
