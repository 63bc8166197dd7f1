/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Keys that show ranges of other keys, one after the other or over and over, as a request says and
 * a later one changes. They lend nothing: each range is looked up by its key's number when bytes
 * move there, in that key's gate, so a region that has a part in one ends and changes as any.
 */
#ifndef PINION_MEM_LAYOUT_H
#define PINION_MEM_LAYOUT_H

#include <linux/types.h>
#include <rdma/pinion-abi.h>

#include "../logic/mlx5_wqe.h"

struct ib_pd;
struct pinion_keys;

/* Ranges of one. */
#define PINION_MAX_RANGES	PINION_MLX5_MAX_RANGES

struct pinion_range_of_key {
	u64 addr;
	u32 key;
	u32 length;
	u64 start;			/* of its first byte among all, the first time round */
	u32 stride;			/* how far it is on each time round */
};

struct pinion_layout {
	struct pinion_layout *other;	/* what is to come is put together there */
	u32 num;			/* 0: it was never set */
	u32 most;
	u32 times;			/* how often all of it comes */
	u64 length;			/* of all, once */
	struct pinion_range_of_key range[] __counted_by(most);
};

/* With room for @most ranges, and none yet; and the other one. NULL: no memory. */
struct pinion_layout *pinion_layout_alloc(u32 most);
void pinion_layout_free(struct pinion_layout *layout);

/*
 * The range that byte @offset is in, as it is there: *@range begins with that byte, and has no
 * more than @want. @offset is within all of it.
 */
void pinion_layout_find(const struct pinion_layout *layout, u64 offset, u64 want,
			struct pinion_range_of_key *range);

/*
 * The key of @change, of @pd, means what that says; @ranges are as many as it says. Return: 0 or
 * an enum pinion_syndrome; it is unchanged then. May sleep.
 */
int pinion_layout_set(struct pinion_keys *keys, struct ib_pd *pd,
		      const struct pinion_wqe_layout *change,
		      const struct pinion_wqe_range *ranges);

#endif
