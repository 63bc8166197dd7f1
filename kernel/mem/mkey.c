// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creates and destroys the keys of DEVX commands.
 */
#include "../logic/mkey_place.h"
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

int pinion_mkey_make(struct pinion_mkey *mkey, struct pinion_keys *keys,
		     struct pinion_umems *umems, const void *owner, struct ib_pd *pd,
		     const struct pinion_devx_mkey *asked, const u8 *klms)
{
	bool list = asked->mode == PINION_DEVX_MODE_KLM;
	struct pinion_key *key;
	int err;

	key = pinion_key_alloc(keys, list ? PINION_KEY_PIECES : PINION_KEY_REGION,
			       GFP_KERNEL_ACCOUNT);
	if (IS_ERR(key))
		return PTR_ERR(key);
	mkey->key = key;
	err = list ? mkey_of_pieces(mkey, keys, pd, asked, klms) :
		     mkey_of_umem(mkey, umems, owner, asked);
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
	return 0;
}
