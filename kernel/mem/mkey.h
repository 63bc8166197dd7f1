/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Keys made by DEVX commands: of a range of a umem, or of pieces of other keys, or of such as
 * requests say.
 */
#ifndef PINION_MEM_MKEY_H
#define PINION_MEM_MKEY_H

#include "../logic/devx_cmd.h"
#include "key.h"
#include "mtt.h"

struct pinion_layout;
struct pinion_pieces;
struct pinion_umem;
struct pinion_umems;

struct pinion_mkey {
	struct pinion_key *key;
	struct pinion_devx_mkey asked;	/* as it was asked for */
	struct pinion_umem *umem;	/* MTT: a use of it */
	struct pinion_mtt view;		/* MTT: the umem's table, from our first byte on */
	struct pinion_pieces *pieces;	/* KLM */
	struct pinion_layout *layout;	/* KLM that requests fill in */
};

/*
 * Make a key as @asked, in @pd; in KLM mode of the pieces in @klms. @owner is the context whose
 * umems it may name. The key has its number, but is not valid before pinion_mkey_enable(). Return:
 * 0, an enum pinion_devx_refusal, or a negative errno.
 */
int pinion_mkey_make(struct pinion_mkey *mkey, struct pinion_keys *keys,
		     struct pinion_umems *umems, const void *owner, struct ib_pd *pd,
		     const struct pinion_devx_mkey *asked, const u8 *klms);

/* Make the key valid: from here on messages and other keys may use it. */
void pinion_mkey_enable(struct pinion_mkey *mkey);

/* Destroy the key. -EBUSY while pieces of it are part of other keys; then nothing has changed. */
int pinion_mkey_end(struct pinion_mkey *mkey);

#endif
