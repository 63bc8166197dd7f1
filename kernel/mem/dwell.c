// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Holding what others wait for a little longer; see dwell.h.
 */
#include "dwell.h"

#if IS_ENABLED(CONFIG_FAULT_INJECTION)

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/minmax.h>

/* No more than a busy machine may take anyway, so that nothing complains. */
#define MOST_US	20000

static u32 dwell_us[PINION_DWELL_NUM_PLACES];

/* Any context: it may be inside a gate, where nobody sleeps. */
void pinion_dwell(enum pinion_dwell_at place)
{
	u32 us = min(READ_ONCE(dwell_us[place]), MOST_US);

	if (likely(!us))
		return;
	mdelay(us / USEC_PER_MSEC);
	udelay(us % USEC_PER_MSEC);
}

void pinion_dwell_add_files(struct dentry *root)
{
	static const char *const names[] = {
		[PINION_DWELL_COPY]	= "dwell_copy_us",
		[PINION_DWELL_CHILD]	= "dwell_child_us",
		[PINION_DWELL_PEER]	= "dwell_peer_us",
	};
	int i;

	static_assert(ARRAY_SIZE(names) == PINION_DWELL_NUM_PLACES);
	for (i = 0; i < PINION_DWELL_NUM_PLACES; i++)
		debugfs_create_u32(names[i], 0600, root, &dwell_us[i]);
}

#endif
