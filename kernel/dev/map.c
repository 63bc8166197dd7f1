// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * /sys/kernel/debug/pinion/DEVICE/map: where all memory of one key is. Write the value of a key,
 * then read, any number of times. Each open file has a key of its own.
 *
 *	key KEY base BASE length LENGTH block_size SIZE generation N
 *	OFFSET LENGTH ADDRESS r|w
 *	...
 *
 * A line is a run: bytes of the region that are contiguous from a DMA address on. A long run may be
 * shown in several lines. Between two lines only the offset is kept, so the region may change or be
 * deregistered at any time; then there are no more lines. To know that all lines are of the same
 * memory, read the first line again and compare the generation.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "../mem/look.h"
#include "dev.h"

struct map_reader {
	struct pinion_dev *dev;
	u32 key;			/* 0: none yet; protected by seq_file.lock */
	struct pinion_run run;		/* the run at the current position */
};

/* Position 0 is the line of the key. Position N is the run at byte N - 1. */
#define MAP_POSITION(offset)	((loff_t)(offset) + 1)

static void *map_find(struct map_reader *reader, loff_t *pos)
{
	struct pinion_keys *keys = &reader->dev->node.keys;

	if (!reader->key)
		return NULL;
	if (!*pos)
		return reader;
	/* Positions are signed. No memory can be beyond S64_MAX. */
	if (pinion_key_look_run(keys, reader->key, *pos - 1, &reader->run) ||
	    reader->run.offset >= S64_MAX)
		return NULL;
	*pos = MAP_POSITION(reader->run.offset);
	return reader;
}

static void *map_start(struct seq_file *file, loff_t *pos)
{
	return map_find(file->private, pos);
}

static void *map_next(struct seq_file *file, void *v, loff_t *pos)
{
	struct map_reader *reader = file->private;

	*pos = *pos ? MAP_POSITION(reader->run.offset + reader->run.length) : MAP_POSITION(0);
	return map_find(reader, pos);
}

static void map_stop(struct seq_file *file, void *v)
{
}

static int map_show_key(struct seq_file *file, const struct map_reader *reader)
{
	struct pinion_key_view view;

	if (pinion_key_look(&reader->dev->node.keys, reader->key, &view))
		return SEQ_SKIP;
	seq_printf(file, "key %#010x base %#llx length %#llx block_size %#llx generation %u\n",
		   reader->key, view.base, view.length, view.shift ? BIT_ULL(view.shift) : 0,
		   view.generation);
	return 0;
}

static int map_show(struct seq_file *file, void *v)
{
	const struct map_reader *reader = v;

	/* Index 0 is the line of the key; otherwise map_find() has found a run. */
	if (!file->index)
		return map_show_key(file, reader);
	seq_printf(file, "%#llx %#llx %#llx %c\n", reader->run.offset, reader->run.length,
		   reader->run.addr, reader->run.writable ? 'w' : 'r');
	return 0;
}

static const struct seq_operations map_sops = {
	.start = map_start,
	.next = map_next,
	.stop = map_stop,
	.show = map_show,
};

static int map_open(struct inode *inode, struct file *file)
{
	struct map_reader *reader = __seq_open_private(file, &map_sops, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->dev = inode->i_private;
	return 0;
}

/* Set the key, and go back to the first line. */
static ssize_t map_set_key(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	struct seq_file *seq = file->private_data;
	struct map_reader *reader = seq->private;
	u32 key;
	int err;

	err = kstrtou32_from_user(buf, count, 0, &key);
	if (err)
		return err;
	mutex_lock(&seq->lock);
	reader->key = key;
	seq->index = 0;
	seq->count = 0;
	seq->from = 0;
	seq->read_pos = 0;
	mutex_unlock(&seq->lock);
	*pos = 0;
	return count;
}

const struct file_operations pinion_map_fops = {
	.owner = THIS_MODULE,
	.open = map_open,
	.read = seq_read,
	.write = map_set_key,
	.llseek = seq_lseek,
	.release = seq_release_private,
};
