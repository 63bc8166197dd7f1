/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Limits the packets of a reliable connection that are in flight. A loss shows that the network,
 * or the peer, cannot take more, and reduces the window, which then grows slowly again.
 */
#ifndef PINION_LOGIC_INFLIGHT_H
#define PINION_LOGIC_INFLIGHT_H

#include <linux/types.h>

struct pinion_inflight {
	u32 window;			/* packets that may be unacknowledged; at least 1 */
	u32 most;			/* limit of @window */
	u32 safe;			/* up to here @window grows fast */
	u32 part;			/* packets acknowledged since the last slow growth by one */
};

void pinion_inflight_init(struct pinion_inflight *inflight, u32 most);
/* Note that @packets more were acknowledged. */
void pinion_inflight_acknowledged(struct pinion_inflight *inflight, u32 packets);
/* Note that a packet was lost. */
void pinion_inflight_lost(struct pinion_inflight *inflight);
/*
 * Note that a queue of this host was full, with @packets in flight. The next one can be sent: what
 * is in flight may not be acknowledged before.
 */
void pinion_inflight_full(struct pinion_inflight *inflight, u32 packets);
/* The ACK timer has expired: restart with one packet. */
void pinion_inflight_late(struct pinion_inflight *inflight);

#endif
