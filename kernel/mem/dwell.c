// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Delays for tests; see dwell.h.
 */
#include "dwell.h"

#ifdef CONFIG_FAULT_INJECTION

#include <linux/array_size.h>
#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/minmax.h>
#include <linux/seq_file.h>
#include <linux/sprintf.h>
#include <linux/time64.h>
#include <linux/types.h>

/*
 * A copy may be delayed 128 times before it calls cond_resched() (PINION_STRETCH and
 * PINION_STRETCH_RUN): for 0.64 s, far less than the lockup detectors allow.
 */
#define MOST_US	5000U

static const char *const dwell_names[] = {
	[PINION_DWELL_COPY] = "copy",
	[PINION_DWELL_CHILD] = "child",
	[PINION_DWELL_PEER] = "peer",
	[PINION_DWELL_REAP] = "reap",
	[PINION_DWELL_OWNER] = "owner",
};

static_assert(ARRAY_SIZE(dwell_names) == PINION_DWELL_NUM_PLACES);

static u32 dwell_us[PINION_DWELL_NUM_PLACES];
static atomic_t dwellers[PINION_DWELL_NUM_PLACES];

/* Busy-waits where preemption is off, inside gates and in a visit; sleeps elsewhere. */
void pinion_dwell(enum pinion_dwell_at place)
{
	u32 us = min(READ_ONCE(dwell_us[place]), MOST_US);

	if (likely(!us))
		return;
	atomic_inc(&dwellers[place]);
	if (place == PINION_DWELL_REAP || place == PINION_DWELL_OWNER) {
		fsleep(us);
	} else {
		mdelay(us / USEC_PER_MSEC);
		udelay(us % USEC_PER_MSEC);
	}
	atomic_dec(&dwellers[place]);
}

static int dwellers_show(struct seq_file *m, void *unused)
{
	int i;

	for (i = 0; i < PINION_DWELL_NUM_PLACES; i++)
		seq_printf(m, "%s %d\n", dwell_names[i], atomic_read(&dwellers[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(dwellers);

void pinion_dwell_add_files(struct dentry *root)
{
	char name[32];
	int i;

	for (i = 0; i < PINION_DWELL_NUM_PLACES; i++) {
		snprintf(name, sizeof(name), "dwell_%s_us", dwell_names[i]);
		debugfs_create_u32(name, 0600, root, &dwell_us[i]);
	}
	debugfs_create_file("dwellers", 0400, root, NULL, &dwellers_fops);
}

#endif
