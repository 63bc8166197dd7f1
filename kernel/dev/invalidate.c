// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * /sys/kernel/debug/pinion/DEVICE/invalidate: writing KEY [OFFSET LENGTH] invalidates pages of that
 * region once, as the owner of the memory may at any time; see mem/inject.h. For root and tests.
 */
#include <linux/debugfs.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../mem/inject.h"
#include "dev.h"

#define MAX_LINE	80

/* Parse @line, which is modified. Return: 0 or -EINVAL. */
static int invalidate_parse(char *line, u64 *key, u64 *offset, u64 *length)
{
	u64 *const numbers[] = { key, offset, length };
	char *word;
	int num = 0;

	while ((word = strsep(&line, " \t"))) {
		if (!*word)
			continue;
		if (num == ARRAY_SIZE(numbers) || kstrtou64(word, 0, numbers[num]))
			return -EINVAL;
		num++;
	}
	if (num != 1 && num != ARRAY_SIZE(numbers))
		return -EINVAL;
	return *key > U32_MAX || (num > 1 && !*length) ? -EINVAL : 0;
}

static ssize_t invalidate_write(struct file *file, const char __user *from, size_t count,
				loff_t *pos)
{
	struct pinion_dev *dev = file->private_data;
	u64 key, offset = 0, length = 0;
	char *line;
	int err;

	if (!count || count >= MAX_LINE)
		return -EINVAL;
	line = memdup_user_nul(from, count);
	if (IS_ERR(line))
		return PTR_ERR(line);
	err = invalidate_parse(strim(line), &key, &offset, &length);
	kfree(line);
	if (!err)
		err = pinion_inject_invalidate(&dev->node.keys, key, offset, length);
	return err ?: count;
}

const struct file_operations pinion_invalidate_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = invalidate_write,
};
