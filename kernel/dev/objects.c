// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * /sys/kernel/debug/pinion/DEVICE/objects: how many objects of each kind that has a limit there
 * are, and how many bytes of device memory; of several kinds nothing else tells it. For root and
 * tests; read-only.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "../verbs/user.h"
#include "dev.h"

static const char *const object_kinds[] = {
	[PINION_COUNT_QP]	= "qp",
	[PINION_COUNT_CQ]	= "cq",
	[PINION_COUNT_SRQ]	= "srq",
	[PINION_COUNT_AH]	= "ah",
	[PINION_COUNT_PD]	= "pd",
	[PINION_COUNT_MR]	= "mr",
	[PINION_COUNT_MW]	= "mw",
	[PINION_COUNT_MCAST]	= "mcast",
	[PINION_COUNT_UMEM]	= "umem",
	[PINION_COUNT_UAR]	= "uar",
};

static_assert(ARRAY_SIZE(object_kinds) == PINION_NUM_COUNTED);

static s64 objects_device_memory(struct pinion_dev *dev)
{
	struct pinion_user *user;
	s64 bytes = 0;

	mutex_lock(&dev->users_lock);
	list_for_each_entry(user, &dev->users, list)
		bytes += atomic64_read(&user->dm_used);
	mutex_unlock(&dev->users_lock);
	return bytes;
}

static int object_counts_show(struct seq_file *file, void *v)
{
	struct pinion_dev *dev = file->private;
	int i;

	for (i = 0; i < PINION_NUM_COUNTED; i++)
		seq_printf(file, "%s %d\n", object_kinds[i], atomic_read(&dev->counts[i]));
	seq_printf(file, "dm %lld\n", objects_device_memory(dev));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(object_counts);

void pinion_objects_add_file(struct pinion_dev *dev)
{
	debugfs_create_file("objects", 0400, dev->debugfs, dev, &object_counts_fops);
}
