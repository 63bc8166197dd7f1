// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The window of TCP: doubled in the time of a round trip up to half of what was too much, and one
 * more in such a time from there on.
 */
#include <linux/minmax.h>

#include "inflight.h"

/* After a loss the window grows fast at least to this. */
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
	inflight->safe = max(inflight->window / 2, min(INFLIGHT_LEAST, inflight->most));
	inflight->part = 0;
}

void pinion_inflight_lost(struct pinion_inflight *inflight)
{
	inflight_too_much(inflight);
	inflight->window = max(inflight->window / 2, 1);
}

void pinion_inflight_late(struct pinion_inflight *inflight)
{
	/* Late again, and nothing was acknowledged: it says nothing about how much is too much. */
	if (inflight->window > 1)
		inflight_too_much(inflight);
	inflight->window = 1;
}
