// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Divides time between looks. Never looks at a clock.
 */
#include <linux/math64.h>

#include "pace.h"

/*
 * What it took is by the clock on the wall: a processor that stood still meanwhile, as a guest's
 * may, has not worked that long.
 */
static u64 pace_of_cost(u64 took)
{
	u64 cost = min(took, PINION_PACE_MOST_NS) + PINION_PACE_ENTRY_NS;

	return min(PINION_PACE_SHARE * cost, PINION_PACE_MOST_NS);
}

u64 pinion_pace(u64 pause, u32 batches, u64 took)
{
	u64 each = div_u64(min(pause, PINION_PACE_MOST_NS), batches);

	return max(each, pace_of_cost(took));
}
