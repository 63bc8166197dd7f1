/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Intervals of polling, and of retries.
 */
#ifndef PINION_LOGIC_PACE_H
#define PINION_LOGIC_PACE_H

#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/* No interval is longer on account of what a poll costs, if nobody shares its time. */
#define PINION_PACE_MOST_NS	(10 * NSEC_PER_MSEC)
/* Polling takes 1/PINION_PACE_SHARE of a CPU at most, in sum over all sharers. */
#define PINION_PACE_SHARE	32
/* The cost of a poll beyond the time measured: the interrupt and its effects, in ns. */
#define PINION_PACE_ENTRY_NS	1000

/*
 * The next pause after a try without success: twice the last one (@pause; 0: first try). So a wait
 * takes at most twice as long as necessary.
 */
static inline u64 pinion_pace_slower(u64 pause, u64 least, u64 most)
{
	return clamp(2 * pause, least, most);
}

/*
 * Return the time in ns until the next poll, if all objects are polled once per @pause ns, in
 * @batches (not 0) polls. The last poll took @took ns. @sharers (not 0) share the CPU time.
 */
u64 pinion_pace(u64 pause, u32 batches, u64 took, u32 sharers);

#endif
