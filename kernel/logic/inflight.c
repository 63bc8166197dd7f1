// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The window of TCP: it doubles in each round trip up to half of the window that was too large,
 * then grows by one packet in each round trip.
 */
#include <linux/minmax.h>

#include "inflight.h"

/* Lower limit of @safe, up to which the window grows fast after a loss. */
#define INFLIGHT_LEAST	2

void pinion_inflight_init(struct pinion_inflight *inflight, u32 most)
{
	*inflight = (struct pinion_inflight){
		.window = most,
		.most = most,
		.safe = most,
	};
}

void pinion_inflight_acknowledged(struct pinion_inflight *inflight, u32 packets)
{
	u32 fast = 0;

	if (inflight->window < inflight->safe)
		fast = min(packets, inflight->safe - inflight->window);
	inflight->window += fast;
	inflight->part += packets - fast;
	while (inflight->part >= inflight->window && inflight->window < inflight->most) {
		inflight->part -= inflight->window;
		inflight->window++;
	}
	if (inflight->window == inflight->most)
		inflight->part = 0;
}

static void inflight_too_much(struct pinion_inflight *inflight)
{
	/*
	 * At window 1 a loss says nothing about the network's limit: keep @safe. After a timeout
	 * packets are lost at window 1, those that are sent again.
	 */
	if (inflight->window > 1)
		inflight->safe = max(inflight->window / 2, min(INFLIGHT_LEAST, inflight->most));
	inflight->part = 0;
}

void pinion_inflight_lost(struct pinion_inflight *inflight)
{
	inflight_too_much(inflight);
	inflight->window = max(inflight->window / 2, 1);
}

void pinion_inflight_full(struct pinion_inflight *inflight, u32 packets)
{
	u32 window = inflight->window;

	pinion_inflight_lost(inflight);
	inflight->window = clamp(packets + 1, inflight->window, window);
}

void pinion_inflight_late(struct pinion_inflight *inflight)
{
	inflight_too_much(inflight);
	inflight->window = 1;
}
