// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Makes and ends the keys of DEVX commands. They pass the same gate as any other.
 */
#include "../logic/range.h"
#include "mkey.h"
#include "pieces.h"
#include "umem.h"

/*
 * Pages are counted from the one the offset leads to, and the first byte is where in it
 * the first address says. Both may say where in the page; then they have to agree.
 */
static int place(const struct pinion_umem *umem, const struct pinion_devx_mkey *asked,
		 u64 *offset)
{
	u8 shift = asked->page_shift ?: PAGE_SHIFT;
	u64 in_page = (1ULL << shift) - 1;
	u64 begin = umem->mtt->first + asked->umem_offset;
	u64 position;

	/* Larger pages than those the umem has are not there. */
	if (shift < PAGE_SHIFT || shift > umem->mtt->shift)
		return PINION_DEVX_BAD_PARAM;
	if (asked->umem_offset >= umem->length)
		return PINION_DEVX_BAD_PARAM;
	if (begin & in_page && (begin ^ asked->base) & in_page)
		return PINION_DEVX_BAD_PARAM;
	position = (begin & ~in_page) + (asked->base & in_page);
	if (position < umem->mtt->first)
		return PINION_DEVX_BAD_PARAM;
	*offset = position - umem->mtt->first;
	if (!pinion_range_holds(0, umem->length, *offset, asked->length))
		return PINION_DEVX_BAD_PARAM;
	if (asked->entries &&
	    asked->entries < ((asked->base & in_page) + asked->length + in_page) >> shift)
		return PINION_DEVX_BAD_PARAM;
	return 0;
}

static int of_umem(struct pinion_mkey *mkey, struct pinion_umems *umems, const void *owner,
		   const struct pinion_devx_mkey *asked)
{
	u64 offset;
	int err;

	mkey->umem = pinion_umem_use(umems, asked->umem_id, owner);
	if (!mkey->umem)
		return PINION_DEVX_BAD_RESOURCE;
	if (asked->rights & PINION_KEY_WRITING && !mkey->umem->writable)
		err = PINION_DEVX_BAD_PARAM;
	else
		err = place(mkey->umem, asked, &offset);
	if (err) {
		pinion_umem_unuse(mkey->umem);
		return err;
	}
	mkey->view = *mkey->umem->mtt;
	mkey->view.first += offset;
	mkey->key->mtt = &mkey->view;
	return 0;
}

static int of_pieces(struct pinion_mkey *mkey, struct pinion_keys *keys, struct ib_pd *pd,
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
	err = list ? of_pieces(mkey, keys, pd, asked, klms) :
		     of_umem(mkey, umems, owner, asked);
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
	/* The low byte is the user's to choose. */
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
