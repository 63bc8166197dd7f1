/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The memory of a key that is made of pieces of regions.
 */
#ifndef PINION_MEM_PIECES_H
#define PINION_MEM_PIECES_H

#include <linux/types.h>

struct ib_pd;
struct pinion_devx_mkey;
struct pinion_key;
struct pinion_keys;
struct pinion_pieces;

/*
 * Claim all regions that the list @klms names, which must be of @pd: they cannot be deregistered or
 * changed until pinion_pieces_release(). Return: 0; an enum pinion_devx_refusal, or a negative
 * errno, and none is claimed.
 */
int pinion_pieces_claim(struct pinion_pieces **pieces, struct pinion_keys *keys,
			struct ib_pd *pd, const struct pinion_devx_mkey *asked,
			const u8 *klms, bool writing);
void pinion_pieces_release(struct pinion_pieces *pieces);

/* As pinion_mtt_run(), with @offset into the memory of all pieces together. */
u64 pinion_pieces_run(const struct pinion_pieces *pieces, u64 offset, u64 want, void **kva);

#endif
