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

#include "device.h"
#include "ucontext.h"

enum pinion_user_counted {
	PINION_USER_MR,
	PINION_USER_MW,
	PINION_USER_UMEM,
	PINION_USER_MCAST,
	PINION_USER_NUM_COUNTED
};

struct pinion_user {
	struct list_head list;		/* of the device's, under its users_lock */
	struct pinion_dev *dev;
	kuid_t uid;
	refcount_t ref;			/* open files, and device memory that is mapped */
	atomic_t counts[PINION_USER_NUM_COUNTED];
	atomic64_t dm_used;		/* bytes of device memory */
};

/* Who runs now; or an ERR_PTR. */
struct pinion_user *pinion_user_get(struct pinion_dev *dev);
void pinion_user_put(struct pinion_user *user);

/* Count one more in; false if that exceeds the user's share. NULL, the kernel, has no limit. */
bool pinion_user_count_in(struct pinion_user *user, enum pinion_user_counted kind);
void pinion_user_count_out(struct pinion_user *user, enum pinion_user_counted kind);

/* Whose an object of a domain is. */
static inline struct pinion_user *pinion_user_of_pd(const struct ib_pd *pd)
{
	return pd->uobject ? to_pinion_ucontext(pd->uobject->context)->user : NULL;
}

#endif
