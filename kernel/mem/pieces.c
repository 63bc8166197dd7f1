// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Lists of pieces of regions. A region that has a piece in a list is counted as one with
 * a window bound, so it neither ends nor changes, and its table is read without its gate.
 */
#include <linux/overflow.h>
#include <linux/slab.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "../logic/devx_cmd.h"
#include "../logic/range.h"
#include "key.h"
#include "mtt.h"
#include "pieces.h"

struct piece {
	struct pinion_key *region;	/* a reference, and counted there */
	u64 offset;			/* of its first byte in the region */
	u64 start;			/* of its first byte among all */
};

struct pinion_pieces {
	u32 num;
	struct piece piece[] __counted_by(num);
};

/* May this region, whose gate is held, lend that piece? */
static int refuse(const struct pinion_key *region, struct ib_pd *pd,
		  const struct pinion_devx_klm *klm, bool writing)
{
	if (region->kind != PINION_KEY_REGION || region->state != PINION_KEY_VALID ||
	    region->value != klm->key || region->pd != pd)
		return PINION_DEVX_BAD_RESOURCE;
	/* What comes and goes cannot be lent. */
	if (region->pager || region->invalidatable)
		return PINION_DEVX_BAD_PARAM;
	if (writing && !(region->rights & IB_UVERBS_ACCESS_LOCAL_WRITE))
		return PINION_DEVX_BAD_PARAM;
	if (!klm->length ||
	    !pinion_range_holds(region->base, region->length, klm->addr, klm->length))
		return PINION_DEVX_BAD_PARAM;
	if (atomic_read(&region->windows) >= PINION_MAX_WINDOWS)
		return PINION_DEVX_LIMIT;
	return 0;
}

static int claim(struct piece *piece, struct pinion_keys *keys, struct ib_pd *pd,
		 const struct pinion_devx_klm *klm, bool writing)
{
	struct pinion_key *region = pinion_key_get(keys, klm->key);
	int err;

	if (!region)
		return PINION_DEVX_BAD_RESOURCE;
	down_read(&region->gate);
	err = refuse(region, pd, klm, writing);
	if (!err)
		atomic_inc(&region->windows);
	up_read(&region->gate);
	if (err) {
		pinion_key_put(region);
		return err;
	}
	piece->region = region;
	piece->offset = klm->addr - region->base;
	return 0;
}

int pinion_pieces_claim(struct pinion_pieces **result, struct pinion_keys *keys,
			struct ib_pd *pd, const struct pinion_devx_mkey *asked,
			const u8 *klms, bool writing)
{
	struct pinion_pieces *pieces;
	u64 length = 0;
	int err = 0;
	u32 i;

	pieces = kvzalloc(struct_size(pieces, piece, asked->num_klms), GFP_KERNEL_ACCOUNT);
	if (!pieces)
		return -ENOMEM;
	for (i = 0; i < asked->num_klms && !err; i++) {
		struct pinion_devx_klm klm = pinion_devx_klm(klms, i);

		/* As far as it is claimed. */
		pieces->num = i + 1;
		err = claim(&pieces->piece[i], keys, pd, &klm, writing);
		pieces->piece[i].start = length;
		length += klm.length;
	}
	if (!err && length < asked->length)
		err = PINION_DEVX_BAD_PARAM;
	if (err) {
		pinion_pieces_release(pieces);
		return err;
	}
	*result = pieces;
	return 0;
}

void pinion_pieces_release(struct pinion_pieces *pieces)
{
	u32 i;

	if (!pieces)
		return;
	for (i = 0; i < pieces->num; i++) {
		struct pinion_key *region = pieces->piece[i].region;

		if (!region)
			continue;
		atomic_dec(&region->windows);
		pinion_key_put(region);
	}
	kvfree(pieces);
}

/* The last that begins at or before @offset. */
static u32 find(const struct pinion_pieces *pieces, u64 offset)
{
	u32 low = 0, end = pieces->num;

	while (end - low > 1) {
		u32 middle = low + (end - low) / 2;

		if (pieces->piece[middle].start <= offset)
			low = middle;
		else
			end = middle;
	}
	return low;
}

u64 pinion_pieces_run(const struct pinion_pieces *pieces, u64 offset, u64 want, void **kva)
{
	u32 i = find(pieces, offset);
	const struct piece *piece = &pieces->piece[i];
	u64 within = offset - piece->start;

	if (i + 1 < pieces->num)
		want = min(want, piece[1].start - offset);
	return pinion_mtt_run(piece->region->mtt, piece->offset + within, want, kva);
}
