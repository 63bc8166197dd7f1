/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Keys (mkeys) created by DEVX commands: for a range of a umem, for pieces of other keys, or for
 * ranges that requests set later (UMR).
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
	struct pinion_devx_mkey asked;	/* arguments of the command */
	struct pinion_umem *umem;	/* MTT mode: holds a use count */
	struct pinion_mtt view;		/* MTT mode: a copy of umem->mtt with our first byte */
	struct pinion_pieces *pieces;	/* KLM mode */
	struct pinion_layout *layout;	/* KLM mode with UMR */
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
