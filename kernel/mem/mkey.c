// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creates and destroys the keys of DEVX commands.
 */
#include <linux/minmax.h>

#include "../logic/mkey_place.h"
#include "layout.h"
#include "mkey.h"
#include "pieces.h"
#include "umem.h"

static int mkey_of_umem(struct pinion_mkey *mkey, struct pinion_umems *umems, const void *owner,
			const struct pinion_devx_mkey *asked)
{
	int refusal = PINION_DEVX_UMEM_RIGHTS;
	struct pinion_umem_shape shape;
	u64 offset;

	mkey->umem = pinion_umem_use(umems, asked->umem_id, owner);
	if (!mkey->umem)
		return PINION_DEVX_NO_SUCH_UMEM;
	if (asked->rights & PINION_KEY_WRITING && !mkey->umem->writable)
		goto err_unuse;
	shape = (struct pinion_umem_shape){ .first = mkey->umem->mtt->first,
					    .length = mkey->umem->length,
					    .shift = mkey->umem->mtt->shift };
	refusal = PINION_DEVX_UMEM_PLACE;
	if (!pinion_mkey_place(&shape, asked, &offset))
		goto err_unuse;
	mkey->view = *mkey->umem->mtt;
	mkey->view.first += offset;
	mkey->key->mtt = &mkey->view;
	return 0;

err_unuse:
	pinion_umem_unuse(mkey->umem);
	return refusal;
}

static int mkey_of_pieces(struct pinion_mkey *mkey, struct pinion_keys *keys, struct ib_pd *pd,
			  const struct pinion_devx_mkey *asked, const u8 *klms)
{
	int err;

	err = pinion_pieces_claim(&mkey->pieces, keys, pd, asked, klms,
				  asked->rights & PINION_KEY_WRITING);
	if (err)
		return err;
	mkey->key->pieces = mkey->pieces;
	return 0;
}

/* Make a key that has no memory until a work request (UMR) sets its ranges. */
static int mkey_of_requests(struct pinion_mkey *mkey, const struct pinion_devx_mkey *asked)
{
	mkey->layout = pinion_layout_alloc(min_t(u64, asked->entries, PINION_MAX_RANGES));
	if (!mkey->layout)
		return -ENOMEM;
	mkey->key->layout = mkey->layout;
	mkey->key->invalidatable = true;
	mkey->key->own_only = !asked->peers_invalidate;
	return 0;
}

static enum pinion_key_kind mkey_kind(const struct pinion_devx_mkey *asked)
{
	if (asked->by_request)
		return PINION_KEY_LAYOUT;
	return asked->mode == PINION_DEVX_MODE_KLM ? PINION_KEY_PIECES : PINION_KEY_REGION;
}

int pinion_mkey_make(struct pinion_mkey *mkey, struct pinion_keys *keys,
		     struct pinion_umems *umems, const void *owner, struct ib_pd *pd,
		     const struct pinion_devx_mkey *asked, const u8 *klms)
{
	enum pinion_key_kind kind = mkey_kind(asked);
	struct pinion_key *key;
	int err;

	key = pinion_key_alloc(keys, kind, GFP_KERNEL_ACCOUNT);
	if (IS_ERR(key))
		return PTR_ERR(key);
	mkey->key = key;
	if (kind == PINION_KEY_LAYOUT)
		err = mkey_of_requests(mkey, asked);
	else if (kind == PINION_KEY_PIECES)
		err = mkey_of_pieces(mkey, keys, pd, asked, klms);
	else
		err = mkey_of_umem(mkey, umems, owner, asked);
	if (err) {
		pinion_key_kill(key);
		return err;
	}
	mkey->asked = *asked;
	key->pd = pd;
	key->rights = asked->rights;
	key->base = asked->base;
	key->length = asked->length;
	pinion_key_publish(key);
	/* The user chooses the tag, the low byte. The gate must be closed, as it is published. */
	pinion_key_close(key);
	WRITE_ONCE(key->value, (key->value & ~PINION_KEY_TAG) | asked->tag);
	pinion_key_open(key);
	return 0;
}

void pinion_mkey_enable(struct pinion_mkey *mkey)
{
	if (mkey->layout)
		return;
	pinion_key_close(mkey->key);
	mkey->key->state = PINION_KEY_VALID;
	pinion_key_open(mkey->key);
}

int pinion_mkey_end(struct pinion_mkey *mkey)
{
	int err;

	err = pinion_key_kill_unbound(mkey->key);
	if (err)
		return err;
	if (mkey->umem)
		pinion_umem_unuse(mkey->umem);
	pinion_pieces_release(mkey->pieces);
	pinion_layout_free(mkey->layout);
	return 0;
}
