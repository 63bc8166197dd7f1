/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How many packets of a reliable connection may be in flight: less after a loss, which shows that
 * the network, or the peer, cannot take more; then slowly more again.
 */
#ifndef PINION_LOGIC_INFLIGHT_H
#define PINION_LOGIC_INFLIGHT_H

#include <linux/types.h>

struct pinion_inflight {
	u32 window;			/* packets that may be unacknowledged; at least 1 */
	u32 most;			/* limit of @window */
	u32 safe;			/* up to here it grows fast: half of what was too much */
	u32 part;			/* acknowledged since it grew slowly by one */
};

void pinion_inflight_init(struct pinion_inflight *inflight, u32 most);
/* @packets more are acknowledged. */
void pinion_inflight_acknowledged(struct pinion_inflight *inflight, u32 packets);
/* A packet is known to be lost. */
void pinion_inflight_lost(struct pinion_inflight *inflight);
/* Nothing came back in time: nothing is known to be in flight any more. */
void pinion_inflight_late(struct pinion_inflight *inflight);

#endif
