// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counts the objects of each user of a device. Objects of a context count for the user that opened
 * it, even if the file was passed to a process of another user.
 */
#include <linux/cred.h>
#include <linux/slab.h>

#include "user.h"

static const u32 shares[] = {
	[PINION_COUNT_QP]	= PINION_MAX_QP,
	[PINION_COUNT_CQ]	= PINION_MAX_CQ,
	[PINION_COUNT_SRQ]	= PINION_MAX_SRQ,
	[PINION_COUNT_AH]	= PINION_MAX_AH,
	[PINION_COUNT_PD]	= PINION_MAX_PD,
	[PINION_COUNT_MR]	= PINION_MAX_MR,
	[PINION_COUNT_MW]	= PINION_MAX_MW,
	[PINION_COUNT_MCAST]	= PINION_MAX_MCAST,
	[PINION_COUNT_UMEM]	= BIT(PINION_LOG_MAX_UMEM),
	[PINION_COUNT_UAR]	= PINION_MAX_UAR,
};

static_assert(ARRAY_SIZE(shares) == PINION_NUM_COUNTED);
/* Regions, windows and the null key share one table; it must not be full before the limits are. */
static_assert(2 * PINION_MAX_MR + 2 * PINION_MAX_MW + 1 <= PINION_MAX_KEYS);

static struct pinion_user *user_find(struct pinion_dev *dev, kuid_t uid)
{
	struct pinion_user *user;

	lockdep_assert_held(&dev->users_lock);
	list_for_each_entry(user, &dev->users, list)
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

/**
 * pinion_user_get - find or add the user of the current process
 * @dev: the device
 *
 * Return: the user with a reference, or an ERR_PTR.
 */
struct pinion_user *pinion_user_get(struct pinion_dev *dev)
{
	struct pinion_user *user, *fresh;

	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return ERR_PTR(-ENOMEM);
	mutex_lock(&dev->users_lock);
	user = user_find(dev, current_uid());
	if (user) {
		refcount_inc(&user->ref);
	} else {
		user = fresh;
		fresh = NULL;
		user->dev = dev;
		user->uid = current_uid();
		refcount_set(&user->ref, 1);
		pinion_bells_init(&user->bells, &dev->bells_crowd);
		list_add(&user->list, &dev->users);
	}
	mutex_unlock(&dev->users_lock);
	kfree(fresh);
	return user;
}

void pinion_user_put(struct pinion_user *user)
{
	struct pinion_dev *dev;
	int i;

	if (!user)
		return;
	dev = user->dev;
	if (!refcount_dec_and_mutex_lock(&user->ref, &dev->users_lock))
		return;
	list_del(&user->list);
	mutex_unlock(&dev->users_lock);
	pinion_bells_fini(&user->bells);
	for (i = 0; i < PINION_NUM_COUNTED; i++)
		WARN_ON(atomic_read(&user->counts[i]));
	WARN_ON(atomic64_read(&user->dm_used));
	WARN_ON(atomic64_read(&user->waiting));
	kfree(user);
}

int pinion_count_in(struct pinion_dev *dev, struct pinion_user *user, enum pinion_counted kind)
{
	if (READ_ONCE(dev->broken))
		return -EIO;
	if (user && !atomic_add_unless(&user->counts[kind], 1, shares[kind]))
		return -EDQUOT;
	if (atomic_add_unless(&dev->counts[kind], 1, 2 * shares[kind]))
		return 0;
	if (user)
		atomic_dec(&user->counts[kind]);
	return -ENOMEM;
}

int pinion_count_verb(struct pinion_dev *dev, struct pinion_user *user, enum pinion_counted kind)
{
	int err = pinion_count_in(dev, user, kind);

	return err == -EDQUOT ? -ENOMEM : err;
}

void pinion_count_out(struct pinion_dev *dev, struct pinion_user *user, enum pinion_counted kind)
{
	atomic_dec(&dev->counts[kind]);
	if (user)
		atomic_dec(&user->counts[kind]);
}
