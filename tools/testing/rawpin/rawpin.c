// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A lower bound for the time of memory registration: pins and unpins user memory in the batches
 * of ib_umem_get(), and does nothing else. For benchmarks, for root only; it does not account
 * pinned pages.
 */
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "rawpin.h"

/* As many as fit into a page of pointers, as in the core. */
#define BATCH (PAGE_SIZE / sizeof(struct page *))

struct pinned {
	struct mutex lock;	/* one call at a time */
	struct page **pages;
	unsigned long num;
};

static void unpin(struct pinned *pinned)
{
	unsigned long done, n;

	for (done = 0; done < pinned->num; done += n) {
		n = min(pinned->num - done, BATCH);
		unpin_user_pages_dirty_lock(pinned->pages + done, n, true);
		cond_resched();
	}
	pinned->num = 0;
}

static void forget(struct pinned *pinned)
{
	unpin(pinned);
	kvfree(pinned->pages);
	pinned->pages = NULL;
}

static int pin(struct pinned *pinned, unsigned long addr, unsigned long num)
{
	long n;

	while (pinned->num < num) {
		cond_resched();
		n = pin_user_pages_fast(addr + pinned->num * PAGE_SIZE,
					min(num - pinned->num, BATCH),
					FOLL_LONGTERM | FOLL_WRITE,
					pinned->pages + pinned->num);
		if (n < 0)
			return n;
		pinned->num += n;
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return 0;
}

static int timed_pin(struct pinned *pinned, struct rawpin_range *range)
{
	unsigned long num;
	u64 begun;
	int err;

	if (pinned->pages)
		return -EBUSY;
	if (!range->length || range->addr + range->length < range->addr)
		return -EINVAL;
	num = (PAGE_ALIGN(range->addr + range->length) -
	       (range->addr & PAGE_MASK)) >>
	      PAGE_SHIFT;
	pinned->pages = kvmalloc_array(num, sizeof(*pinned->pages), GFP_KERNEL);
	if (!pinned->pages)
		return -ENOMEM;
	begun = ktime_get_ns();
	err = pin(pinned, range->addr & PAGE_MASK, num);
	range->ns = ktime_get_ns() - begun;
	if (err)
		forget(pinned);
	return err;
}

static int timed_unpin(struct pinned *pinned, struct rawpin_range *range)
{
	u64 begun;

	if (!pinned->pages)
		return -EINVAL;
	begun = ktime_get_ns();
	unpin(pinned);
	range->ns = ktime_get_ns() - begun;
	forget(pinned);
	return 0;
}

static long rawpin_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct rawpin_range __user *user = (void __user *)arg;
	struct pinned *pinned = file->private_data;
	struct rawpin_range range;
	int err;

	if (copy_from_user(&range, user, sizeof(range)))
		return -EFAULT;
	mutex_lock(&pinned->lock);
	switch (cmd) {
	case RAWPIN_PIN:
		err = timed_pin(pinned, &range);
		break;
	case RAWPIN_UNPIN:
		err = timed_unpin(pinned, &range);
		break;
	default:
		err = -ENOTTY;
	}
	mutex_unlock(&pinned->lock);
	if (!err && copy_to_user(user, &range, sizeof(range)))
		err = -EFAULT;
	return err;
}

static int rawpin_open(struct inode *inode, struct file *file)
{
	struct pinned *pinned;

	if (!capable(CAP_IPC_LOCK))
		return -EPERM;
	pinned = kzalloc(sizeof(*pinned), GFP_KERNEL);
	if (!pinned)
		return -ENOMEM;
	mutex_init(&pinned->lock);
	file->private_data = pinned;
	return 0;
}

static int rawpin_release(struct inode *inode, struct file *file)
{
	forget(file->private_data);
	kfree(file->private_data);
	return 0;
}

static const struct file_operations rawpin_fops = {
	.owner = THIS_MODULE,
	.open = rawpin_open,
	.release = rawpin_release,
	.unlocked_ioctl = rawpin_ioctl,
};

static struct miscdevice rawpin = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "rawpin",
	.mode = 0600,
	.fops = &rawpin_fops,
};
module_misc_device(rawpin);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Pins user memory and lets it go, for benchmarks");
