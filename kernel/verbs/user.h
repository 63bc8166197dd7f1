/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Users of a device, by uid, and their limits. A user may have half of each limited resource at
 * most, in all processes together, so that other users can have some.
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
	struct list_head list;		/* in dev->users; under dev->users_lock */
	struct pinion_dev *dev;
	kuid_t uid;
	refcount_t ref;			/* open files, and objects that may outlive them */
	atomic_t counts[PINION_NUM_COUNTED];
	atomic64_t dm_used;		/* bytes of device memory allocated */
	atomic64_t waiting;		/* bytes kept for this user's queue pairs; see path/qp.h */
	struct pinion_bells bells;	/* polls the raw queue pairs of all files of this user */
};

/* The user of the current process, with a reference; or an ERR_PTR. Sleeps. */
struct pinion_user *pinion_user_get(struct pinion_dev *dev);
void pinion_user_put(struct pinion_user *user);	/* may be NULL */

static inline void pinion_user_hold(struct pinion_user *user)
{
	refcount_inc(&user->ref);
}

/*
 * Count one more object, against the user's limit and against the device's. @user is NULL for
 * objects of the kernel, which count against the device's only. Any context. Return: 0; -EDQUOT:
 * the user's limit is reached; -ENOMEM: the device's is; -EIO: the device was broken by order.
 */
int pinion_count_in(struct pinion_dev *dev, struct pinion_user *user, enum pinion_counted kind);
/* The same for verbs, which have one errno for both limits: -ENOMEM. */
int pinion_count_verb(struct pinion_dev *dev, struct pinion_user *user, enum pinion_counted kind);
void pinion_count_out(struct pinion_dev *dev, struct pinion_user *user, enum pinion_counted kind);

/* The user that owns an object created with @udata, or in @pd. NULL: the kernel. */
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
