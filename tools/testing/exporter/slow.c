// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A mapping of the device whose page faults wait until released, without reacting to signals, as
 * for a file system whose server is dead.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "slow.h"

struct slow {
	struct page *pages[EXPORTER_SLOW_PAGES];
	bool held;
	atomic_t waiting;
	wait_queue_head_t queue;
};

static vm_fault_t slow_fault(struct vm_fault *vmf)
{
	struct slow *slow = vmf->vma->vm_private_data;

	if (vmf->pgoff >= EXPORTER_SLOW_PAGES)
		return VM_FAULT_SIGBUS;
	atomic_inc(&slow->waiting);
	wait_event(slow->queue, !READ_ONCE(slow->held));
	atomic_dec(&slow->waiting);
	vmf->page = slow->pages[vmf->pgoff];
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct slow_vm_ops = {
	.fault = slow_fault,
};

static void slow_free(struct slow *slow)
{
	int i;

	for (i = 0; i < EXPORTER_SLOW_PAGES; i++)
		if (slow->pages[i])
			put_page(slow->pages[i]);
	kfree(slow);
}

int exporter_open(struct inode *inode, struct file *file)
{
	struct slow *slow = kzalloc(sizeof(*slow), GFP_KERNEL);
	int i;

	if (!slow)
		return -ENOMEM;
	for (i = 0; i < EXPORTER_SLOW_PAGES; i++) {
		slow->pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!slow->pages[i]) {
			slow_free(slow);
			return -ENOMEM;
		}
	}
	init_waitqueue_head(&slow->queue);
	file->private_data = slow;
	return 0;
}

int exporter_close(struct inode *inode, struct file *file)
{
	slow_free(file->private_data);
	return 0;
}

int exporter_mmap_slow(struct file *file, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vma->vm_ops = &slow_vm_ops;
	vma->vm_private_data = file->private_data;
	return 0;
}

void exporter_hold(struct file *file, bool hold)
{
	struct slow *slow = file->private_data;

	WRITE_ONCE(slow->held, hold);
	wake_up_all(&slow->queue);
}

u32 exporter_waiting(struct file *file)
{
	struct slow *slow = file->private_data;

	return atomic_read(&slow->waiting);
}
