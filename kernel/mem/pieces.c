// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Lists of pieces of regions. A region with a piece in a list is counted in region->lent, as if
 * a window was bound. So it can be neither deregistered nor changed, and its table can be read
 * without its gate.
 */
#include <linux/overflow.h>
#include <linux/slab.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/pinion-abi.h>

#include "../logic/devx_cmd.h"
#include "key.h"
#include "mtt.h"
#include "pieces.h"

struct piece {
	struct pinion_key *region;	/* a reference, and counted in region->lent */
	u64 offset;			/* of the piece's first byte in the region */
	u64 start;			/* of the piece's first byte in the list's memory */
};

struct pinion_pieces {
	u32 num;
	struct piece piece[] __counted_by(num);
};

/* The refusal of a command for a syndrome. */
static int piece_refusal(enum pinion_syndrome syndrome)
{
	return syndrome == PINION_SYN_KEY_UNKNOWN || syndrome == PINION_SYN_KEY_STATE ?
		       PINION_DEVX_NO_SUCH_PIECE :
		       PINION_DEVX_PIECE_RANGE;
}

static int piece_claim(struct piece *piece, struct pinion_keys *keys, struct ib_pd *pd,
		       const struct pinion_devx_klm *klm, bool writing)
{
	struct pinion_want want = {
		.pd = pd,
		.key = klm->key,
		.rights = writing ? IB_UVERBS_ACCESS_LOCAL_WRITE : 0,
		.addr = klm->addr,
		.length = klm->length,
		.region = true,
	};
	enum pinion_syndrome syndrome;
	struct pinion_pass pass;
	int err = 0;

	syndrome = pinion_key_enter_wait(keys, &want, &pass);
	if (syndrome)
		return piece_refusal(syndrome);
	/* Memory that may change under the key: with a pager, or invalidatable. */
	if (pass.region->pager || pass.region->invalidatable) {
		err = PINION_DEVX_PIECE_NOT_LENT;
	} else if (!klm->length) {
		err = PINION_DEVX_PIECE_EMPTY;
	} else if (!atomic_add_unless(&pass.region->lent, 1, PINION_MAX_LENT)) {
		err = PINION_DEVX_PIECE_LENT_OUT;
	} else {
		kref_get(&pass.region->ref);
		piece->region = pass.region;
		piece->offset = pass.offset;
	}
	pinion_key_leave(&pass);
	return err;
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

		/* For pinion_pieces_release(), which skips pieces without a region. */
		pieces->num = i + 1;
		err = piece_claim(&pieces->piece[i], keys, pd, &klm, writing);
		pieces->piece[i].start = length;
		length += klm.length;
	}
	if (!err && length < asked->length)
		err = PINION_DEVX_LIST_SHORT;
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
		atomic_dec(&region->lent);
		pinion_key_put(region);
	}
	kvfree(pieces);
}

/* The last piece that begins at or before @offset. */
static u32 piece_find(const struct pinion_pieces *pieces, u64 offset)
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
	u32 i = piece_find(pieces, offset);
	const struct piece *piece = &pieces->piece[i];
	u64 within = offset - piece->start;

	if (i + 1 < pieces->num)
		want = min(want, piece[1].start - offset);
	return pinion_mtt_run(piece->region->mtt, piece->offset + within, want, kva);
}
