/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Layouts: keys made of ranges of other keys, in sequence and possibly repeated. A work request
 * (UMR) sets the ranges, and a later one may change them. A layout has no reference to its regions:
 * each range is looked up by its key's number, in that key's gate, when a message accesses it. So
 * these regions may be deregistered and changed like any other.
 */
#ifndef PINION_MEM_LAYOUT_H
#define PINION_MEM_LAYOUT_H

#include <linux/types.h>
#include <rdma/pinion-abi.h>

#include "../logic/mlx5_wqe.h"

struct ib_pd;
struct pinion_keys;

/* The most ranges of a layout. */
#define PINION_MAX_RANGES	PINION_MLX5_MAX_RANGES

struct pinion_range_of_key {
	u64 addr;
	u32 key;
	u32 length;
	u64 start;			/* offset of its first byte in the first round */
	u32 stride;			/* distance of @addr between rounds */
};

struct pinion_layout {
	struct pinion_layout *other;	/* the spare one, filled by the next change */
	u32 num;			/* ranges; 0: never set */
	u32 most;
	u32 times;			/* number of rounds */
	u64 length;			/* bytes of one round */
	struct pinion_range_of_key range[] __counted_by(most);
};

/* Allocate a layout, and its spare one, for @most ranges. Return NULL if there is no memory. */
struct pinion_layout *pinion_layout_alloc(u32 most);
void pinion_layout_free(struct pinion_layout *layout);

/*
 * Find the range of the byte at @offset, which the caller has checked. *@range begins at that byte
 * and has at most @want bytes.
 */
void pinion_layout_find(const struct pinion_layout *layout, u64 offset, u64 want,
			struct pinion_range_of_key *range);

/*
 * Change key change->key of @pd as @change says, to its change->num @ranges. Return: 0; or an enum
 * pinion_syndrome, and the key is unchanged. May sleep; no gate is held.
 */
enum pinion_syndrome pinion_layout_set(struct pinion_keys *keys, struct ib_pd *pd,
				       const struct pinion_wqe_layout *change,
				       const struct pinion_wqe_range *ranges);

#endif
