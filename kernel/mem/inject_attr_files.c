// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The directory `fault' in debugfs: the file `on', and for each kind of failure a directory with
 * the kernel's files for the attributes and the file `value'. See inject_attr.h.
 */
#include "inject_attr.h"

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS

#include <linux/cleanup.h>
#include <linux/dcache.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/mutex.h>

/* Held while they are switched on or off. Before the mutex of pinion_inject_use(). */
static DEFINE_MUTEX(inject_attr_switching);

static void inject_attr_switch_all(bool on)
{
	guard(mutex)(&inject_attr_switching);
	if (pinion_inject_attr_switch(on))
		pinion_inject_use(on);
}

static int inject_attr_set_on(void *unused, u64 on)
{
	if (on > 1)
		return -EINVAL;
	inject_attr_switch_all(on);
	return 0;
}

static int inject_attr_get_on(void *unused, u64 *on)
{
	*on = pinion_inject_attr_is_on();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(inject_attr_on_fops, inject_attr_get_on, inject_attr_set_on, "%llu\n");

/* The data of the file `value' is the number of its kind. */
static int inject_attr_set_value(void *number, u64 value)
{
	enum pinion_inject_kind kind = (uintptr_t)number;
	const struct pinion_inject_info *info = pinion_inject_info(kind);

	if (value < max(info->least, 1) || value > info->most)
		return -ERANGE;
	WRITE_ONCE(pinion_inject_attr_of(kind)->value, value);
	return 0;
}

static int inject_attr_get_value(void *number, u64 *value)
{
	*value = READ_ONCE(pinion_inject_attr_of((uintptr_t)number)->value);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(inject_attr_value_fops, inject_attr_get_value, inject_attr_set_value,
			 "%llu\n");

static void inject_attr_add_kind(struct dentry *parent, enum pinion_inject_kind kind)
{
	const struct pinion_inject_info *info = pinion_inject_info(kind);
	struct pinion_inject_attr *attr = pinion_inject_attr_of(kind);
	struct dentry *dir;

	attr->fault = (struct fault_attr)FAULT_ATTR_INITIALIZER;
	attr->value = info->usual;
	dir = fault_create_debugfs_attr(info->name, parent, &attr->fault);
	if (!IS_ERR(dir))
		debugfs_create_file_unsafe("value", 0600, dir, (void *)(uintptr_t)kind,
					   &inject_attr_value_fops);
}

void pinion_inject_attr_add_files(struct dentry *root)
{
	struct dentry *parent = debugfs_create_dir("fault", root);
	int kind;

	for (kind = 0; kind < PINION_INJECT_NUM_KINDS; kind++)
		inject_attr_add_kind(parent, kind);
	debugfs_create_file_unsafe("on", 0600, parent, NULL, &inject_attr_on_fops);
}

void pinion_inject_attr_end(void)
{
	struct fault_attr *fault;
	int kind;

	inject_attr_switch_all(false);
	/* For its name the kernel keeps a reference on each directory; no call of it drops that. */
	for (kind = 0; kind < PINION_INJECT_NUM_KINDS; kind++) {
		fault = &pinion_inject_attr_of(kind)->fault;
		dput(fault->dname);
		fault->dname = NULL;
	}
}

#endif
