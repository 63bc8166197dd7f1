// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Computes intervals of polling.
 */
#include <linux/math64.h>

#include "pace.h"

/*
 * The interval that keeps the cost within PINION_PACE_SHARE. @took is wall-clock time, which is
 * capped: a guest's CPU may have been stopped meanwhile.
 */
static u64 pace_of_cost(u64 took)
{
	u64 cost = min(took, PINION_PACE_MOST_NS) + PINION_PACE_ENTRY_NS;

	return min(PINION_PACE_SHARE * cost, PINION_PACE_MOST_NS);
}

u64 pinion_pace(u64 pause, u32 batches, u64 took, u32 sharers)
{
	u64 each = div_u64(pause, batches);

	return max(each, pace_of_cost(took) * sharers);
}
