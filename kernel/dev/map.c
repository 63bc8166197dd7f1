// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * /sys/kernel/debug/pinion/DEVICE/map: where all memory of one key is. Who opens it writes the
 * key's number and reads, as often as he likes; each who has opened it has a key of his own.
 *
 *	key KEY base BASE length LENGTH block_size SIZE generation N
 *	OFFSET LENGTH ADDRESS r|w
 *	...
 *
 * A line is a run of memory: bytes of the region that follow each other at a DMA address.
 * Neighbours that would be one run may be two lines. Nothing is kept between two lines but the
 * offset, so the region may change or end at any time, and then the lines are over; what was
 * read is of one table if the generation is the same afterwards.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "../mem/look.h"
#include "dev.h"

struct map_reader {
	struct pinion_dev *dev;
	u32 key;			/* 0: none yet; under the lock of the seq_file */
	struct pinion_run run;		/* at the position */
};

/* Position 0 is the key itself, and any other the byte before it. */
#define MAP_POSITION(offset)	((loff_t)(offset) + 1)

static void *map_find(struct map_reader *reader, loff_t *pos)
{
	struct pinion_keys *keys = &reader->dev->node.keys;

	if (!reader->key)
		return NULL;
	if (!*pos)
		return reader;
	/* Nobody has memory up there, and positions are signed. */
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

	/* Of this reader, at 0 only: any other has found a run. */
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

/* The key to read about, from its beginning. */
static ssize_t map_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
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
	.write = map_write,
	.llseek = seq_lseek,
	.release = seq_release_private,
};
