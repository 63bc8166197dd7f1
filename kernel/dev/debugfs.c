// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The debugfs directories. /sys/kernel/debug/pinion/DEVICE/keys lists all keys and the beginning of
 * their tables; map (map.c) shows all memory of one key; queues (queues.c) lists queue pairs of
 * DEVX commands; objects (objects.c) counts objects; invalidate (invalidate.c) invalidates pages of
 * a region; port and fatal (force.c) take the port down and break the device. Next to the devices
 * are inject (mem/inject.h) and, with CONFIG_FAULT_INJECTION, fault (mem/inject_attr.h) and the
 * files of mem/dwell.h. For root and tests.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "../mem/dwell.h"
#include "../mem/inject.h"
#include "../mem/inject_attr.h"
#include "../mem/key.h"
#include "../mem/mtt.h"
#include "dev.h"

/* Per key: runs shown, and blocks read, since preemption is off inside the gate. */
#define MAX_RUNS	16
#define MAX_BLOCKS	4096

static struct dentry *root;

static const char *const kinds[] = {
	[PINION_KEY_REGION]	= "region",
	[PINION_KEY_DMA]	= "dma",
	[PINION_KEY_WINDOW]	= "window",
	[PINION_KEY_NULL]	= "null",
	[PINION_KEY_PIECES]	= "pieces",
	[PINION_KEY_LAYOUT]	= "layout",
};

static_assert(ARRAY_SIZE(kinds) == PINION_KEY_NUM_KINDS);

static const char *const states[] = {
	[PINION_KEY_FREE]	= "free",
	[PINION_KEY_VALID]	= "valid",
	[PINION_KEY_DEAD]	= "dead",
};

/* "?" for a kind or state without a name. */
static const char *key_kind_name(const char *const *names, size_t num, unsigned int i)
{
	return i < num && names[i] ? names[i] : "?";
}

/* One line for blocks that are contiguous in memory. */
static void key_show_runs(struct seq_file *file, const struct pinion_mtt *mtt)
{
	u64 block = 0, end = min_t(u64, mtt->num_blocks, MAX_BLOCKS), first, addr;
	int runs;

	for (runs = 0; block < end && runs < MAX_RUNS; runs++) {
		first = block;
		addr = *pinion_mtt_slot(mtt, block);
		do {
			block++;
		} while (block < end &&
			 *pinion_mtt_slot(mtt, block) == addr + ((block - first) << mtt->shift));
		seq_printf(file, "  block %llu+%llu at %#llx\n", first, block - first, addr);
	}
	if (block < mtt->num_blocks)
		seq_printf(file, "  ... and %llu more\n", mtt->num_blocks - block);
}

static void key_show_pieces(struct seq_file *file, const struct pinion_mtt *mtt)
{
	u32 piece, last = min_t(u32, mtt->num_pieces, MAX_RUNS);

	for (piece = 0; piece < last; piece++)
		seq_printf(file, "  piece %u to %#llx at %#llx\n", piece, mtt->ends[piece],
			   *pinion_mtt_slot(mtt, piece));
	if (last < mtt->num_pieces)
		seq_printf(file, "  ... and %u more\n", mtt->num_pieces - last);
}

static void key_show(struct seq_file *file, struct pinion_key *key)
{
	int slot = pinion_gate_enter_wait(&key->gate);

	seq_printf(file, "%#010x %s %s rights %#x base %#llx length %#llx", key->value,
		   key_kind_name(kinds, ARRAY_SIZE(kinds), key->kind),
		   key_kind_name(states, ARRAY_SIZE(states), key->state), key->rights, key->base,
		   key->length);
	if (key->mtt)
		seq_printf(file, " block_size %#llx blocks %llu first %#llx",
			   1ULL << key->mtt->shift, key->mtt->num_blocks, key->mtt->first);
	seq_putc(file, '\n');
	if (key->mtt && key->mtt->ends)
		key_show_pieces(file, key->mtt);
	else if (key->mtt)
		key_show_runs(file, key->mtt);
	pinion_gate_leave(slot);
}

/*
 * Find the next key from index *@pos on, with a reference until next or stop. Each read() starts at
 * an index again, so keys may be added and removed meanwhile.
 */
static struct pinion_key *keys_at(struct seq_file *file, loff_t *pos)
{
	struct pinion_dev *dev = file->private;
	struct pinion_key *key;
	u32 index = *pos;

	key = pinion_keys_next(&dev->node.keys, &index);
	*pos = index;
	return key;
}

static void *keys_start(struct seq_file *file, loff_t *pos)
{
	return keys_at(file, pos);
}

static void *keys_next(struct seq_file *file, void *key, loff_t *pos)
{
	pinion_key_put(key);
	cond_resched();
	++*pos;
	return keys_at(file, pos);
}

static void keys_stop(struct seq_file *file, void *key)
{
	if (key)
		pinion_key_put(key);
}

static int keys_show(struct seq_file *file, void *key)
{
	key_show(file, key);
	return 0;
}

static const struct seq_operations keys_sops = {
	.start = keys_start,
	.next = keys_next,
	.stop = keys_stop,
	.show = keys_show,
};
DEFINE_SEQ_ATTRIBUTE(keys);

void pinion_debugfs_add(struct pinion_dev *dev)
{
	if (dev->debugfs)
		return;
	dev->debugfs = debugfs_create_dir(dev_name(&dev->ibdev.dev), root);
	debugfs_create_file("keys", 0400, dev->debugfs, dev, &keys_fops);
	debugfs_create_file("map", 0600, dev->debugfs, dev, &pinion_map_fops);
	debugfs_create_file("invalidate", 0200, dev->debugfs, dev, &pinion_invalidate_fops);
	pinion_force_add_files(dev);
	pinion_queues_add_file(dev);
	pinion_objects_add_file(dev);
}

/* Waits for reads of its files that are under way. */
void pinion_debugfs_del(struct pinion_dev *dev)
{
	debugfs_remove_recursive(dev->debugfs);
	dev->debugfs = NULL;
}

/*
 * Make it anew: what its files show and set is not kept in them. The core calls this for one device
 * at a time, and not during registration and removal. So nobody has the old name when a new device
 * gets it.
 */
void pinion_debugfs_renamed(struct pinion_dev *dev)
{
	pinion_debugfs_del(dev);
	pinion_debugfs_add(dev);
}

void pinion_debugfs_init(void)
{
	root = debugfs_create_dir("pinion", NULL);
	pinion_dwell_add_files(root);
	pinion_inject_add_file(root);
	pinion_inject_attr_add_files(root);
}

void pinion_debugfs_exit(void)
{
	debugfs_remove_recursive(root);
	pinion_inject_attr_end();
	pinion_inject_clear();
}
