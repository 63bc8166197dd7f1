/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets that came early, kept by one half of a connection until those before them have come
 * (selective repeat). What is kept counts for the limit of its user, as in a line (line.h), but
 * none of it is promised a place: what is not kept is sent again. What was kept and is dropped,
 * before its turn or because that is past, counts as rx_early_drops.
 */
#ifndef PINION_WIRE_KEPT_H
#define PINION_WIRE_KEPT_H

#include <linux/skbuff.h>

#include "../logic/early.h"

struct pinion_qp;

/* Does the module take part in selective repeat? Any context. */
bool pinion_kept_is_wanted(void);

/* All functions below: the lock of that half of the queue pair is held. */
struct pinion_kept {
	struct pinion_early early;
	u32 bytes;
	struct pinion_qp *qp;
};

enum pinion_keeping {
	PINION_KEEPING,
	PINION_KEEPING_KNOWN,		/* it is there already */
	PINION_KEEPING_FULL,		/* there is no room, or no memory */
};

void pinion_kept_init(struct pinion_kept *kept, struct pinion_qp *qp);

/*
 * Keep packet @i of @skb and those behind it as far as their numbers are consecutive and not known:
 * *@packets of them, with a reference to @skb of their own. For the limits each time counts for all
 * of @skb. The number @expected is missing. *@gap is set to the first of the missing numbers right
 * before packet @i, to its own if there are none.
 */
enum pinion_keeping pinion_kept_add(struct pinion_kept *kept, struct sk_buff *skb, u32 i, u32 mtu,
				    u32 expected, u32 *gap, u32 *packets);

/*
 * The buffer that has packet @expected, now that it is its turn, or NULL; *@i is set to its next
 * packet. Those whose turn is past are dropped.
 */
struct sk_buff *pinion_kept_look(struct pinion_kept *kept, u32 expected, u32 *i);
/*
 * The next @packets of @skb, from pinion_kept_look(), have been processed, and @expected is missing
 * now. The caller may have dropped all that was kept meanwhile.
 */
void pinion_kept_pass(struct pinion_kept *kept, const struct sk_buff *skb, u32 packets, u32 mtu,
		      u32 expected);

/* Is there a buffer for pinion_kept_look()? */
static inline bool pinion_kept_waits(const struct pinion_kept *kept, u32 expected)
{
	const struct pinion_run *run = pinion_early_first(&kept->early);

	return run && pinion_early_is_due(run, expected);
}

/* Drop all packets. */
void pinion_kept_forget(struct pinion_kept *kept);

#endif
