// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Files in debugfs by which processes use kernel verbs: calls.c and peer.c. Each has one user at a
 * time, and objects on the first pinion device, made when the file is opened.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>

#include "kverbs.h"

/* Held by each operation of a file, and while the device comes or goes. */
static DEFINE_MUTEX(files_lock);
static struct ib_device *files_device;
static struct dentry *files_dir;
static struct kverbs_file *const files[] = { &calls_file, &peer_file };

static void kverbs_file_end(struct kverbs_file *f)
{
	if (f->made)
		f->free();
	f->made = false;
}

static int kverbs_file_open(struct inode *inode, struct file *file)
{
	struct kverbs_file *f = inode->i_private;
	int err;

	guard(mutex)(&files_lock);
	if (!files_device)
		return -ENODEV;
	if (f->busy)
		return -EBUSY;
	err = f->make(files_device);
	if (err) {
		f->free();
		return err;
	}
	f->busy = true;
	f->made = true;
	file->private_data = f;
	return 0;
}

static int kverbs_file_release(struct inode *inode, struct file *file)
{
	struct kverbs_file *f = file->private_data;

	guard(mutex)(&files_lock);
	kverbs_file_end(f);
	f->busy = false;
	return 0;
}

static ssize_t kverbs_file_read(struct file *file, char __user *to, size_t length, loff_t *offset)
{
	struct kverbs_file *f = file->private_data;

	guard(mutex)(&files_lock);
	if (!f->made)
		return -ENODEV;
	return f->read ? f->read(to, length, offset) : -EINVAL;
}

static ssize_t kverbs_file_write(struct file *file, const char __user *from, size_t length,
				 loff_t *offset)
{
	struct kverbs_file *f = file->private_data;

	guard(mutex)(&files_lock);
	if (!f->made)
		return -ENODEV;
	return f->write(from, length, offset);
}

static const struct file_operations kverbs_file_ops = {
	.owner = THIS_MODULE,
	.open = kverbs_file_open,
	.release = kverbs_file_release,
	.read = kverbs_file_read,
	.write = kverbs_file_write,
};

static int files_add(struct ib_device *device)
{
	guard(mutex)(&files_lock);
	if (files_device || strncmp(dev_name(&device->dev), "pinion", 6))
		return -EOPNOTSUPP;
	files_device = device;
	return 0;
}

/* Nobody else keeps objects of a device that goes. */
static void files_remove(struct ib_device *device, void *data)
{
	int i;

	guard(mutex)(&files_lock);
	for (i = 0; i < ARRAY_SIZE(files); i++)
		kverbs_file_end(files[i]);
	files_device = NULL;
}

static struct ib_client files_client = {
	.name = "pinion_kverbs_files",
	.add = files_add,
	.remove = files_remove,
};

int kverbs_files_init(void)
{
	int i, err = ib_register_client(&files_client);

	if (err)
		return err;
	files_dir = debugfs_create_dir("kverbs", NULL);
	for (i = 0; i < ARRAY_SIZE(files); i++)
		debugfs_create_file(files[i]->name, 0600, files_dir, files[i], &kverbs_file_ops);
	return 0;
}

void kverbs_files_exit(void)
{
	debugfs_remove(files_dir);
	ib_unregister_client(&files_client);
}
