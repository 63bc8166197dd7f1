/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How long until the next look, or try, for who has to look by himself whether anything happened.
 */
#ifndef PINION_LOGIC_PACE_H
#define PINION_LOGIC_PACE_H

#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/* The longest pause there is, whatever a look has cost: nobody is unheard for longer. */
#define PINION_PACE_MOST_NS	(10 * NSEC_PER_MSEC)
/* Looking takes no more than this part of a processor: 1 in ... */
#define PINION_PACE_SHARE	32
/* What a look costs beside the time it takes: an interrupt, and what is lost by it. */
#define PINION_PACE_ENTRY_NS	1000

/*
 * After one that came to nothing: twice as long as before (0: it is the first), so that nobody
 * waits for more than twice as long as he had to.
 */
static inline u64 pinion_pace_slower(u64 pause, u64 least, u64 most)
{
	return clamp(2 * pause, least, most);
}

/*
 * All are to be looked at once in @pause ns, in @batches looks (not 0), the last of which took
 * @took ns: the time until the next.
 */
u64 pinion_pace(u64 pause, u32 batches, u64 took);

#endif
