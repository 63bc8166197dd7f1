// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Who has how much of a device. What a context holds is counted for whoever made the context,
 * to whomever its file is passed on.
 */
#include <linux/cred.h>
#include <linux/slab.h>

#include "user.h"

static const u32 shares[] = {
	[PINION_USER_MR]	= PINION_MAX_MR,
	[PINION_USER_MW]	= PINION_MAX_MW,
	[PINION_USER_UMEM]	= BIT(PINION_LOG_MAX_UMEM),
	[PINION_USER_MCAST]	= PINION_MAX_MCAST,
};

static_assert(ARRAY_SIZE(shares) == PINION_USER_NUM_COUNTED);

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
 * pinion_user_get - the user that runs now
 * @dev: of which device
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
		list_add(&user->list, &dev->users);
	}
	mutex_unlock(&dev->users_lock);
	kfree(fresh);
	return user;
}

void pinion_user_put(struct pinion_user *user)
{
	struct mutex *lock = &user->dev->users_lock;
	int i;

	if (!refcount_dec_and_mutex_lock(&user->ref, lock))
		return;
	list_del(&user->list);
	mutex_unlock(lock);
	for (i = 0; i < PINION_USER_NUM_COUNTED; i++)
		WARN_ON(atomic_read(&user->counts[i]));
	WARN_ON(atomic64_read(&user->dm_used));
	kfree(user);
}

bool pinion_user_count_in(struct pinion_user *user, enum pinion_user_counted kind)
{
	return !user || atomic_add_unless(&user->counts[kind], 1, shares[kind]);
}

void pinion_user_count_out(struct pinion_user *user, enum pinion_user_counted kind)
{
	if (user)
		atomic_dec(&user->counts[kind]);
}
