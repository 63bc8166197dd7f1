/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Keys made by DEVX commands: of a range of a umem, or of pieces of other keys.
 */
#ifndef PINION_MEM_MKEY_H
#define PINION_MEM_MKEY_H

#include "../logic/devx_cmd.h"
#include "key.h"
#include "mtt.h"

struct pinion_pieces;
struct pinion_umem;
struct pinion_umems;

struct pinion_mkey {
	struct pinion_key *key;
	struct pinion_devx_mkey asked;	/* as it was asked for */
	struct pinion_umem *umem;	/* MTT: a use of it */
	struct pinion_mtt view;		/* MTT: the umem's table, from our first byte on */
	struct pinion_pieces *pieces;	/* KLM */
};

/*
 * Fill @mkey in as @asked, of the pieces in @klms if it is a list, with a key that has its
 * number and no meaning yet. @owner and @pd are whose it is. Return: an enum
 * pinion_devx_refusal, or a negative errno.
 */
int pinion_mkey_make(struct pinion_mkey *mkey, struct pinion_keys *keys,
		     struct pinion_umems *umems, const void *owner, struct ib_pd *pd,
		     const struct pinion_devx_mkey *asked, const u8 *klms);

/* From here on others may use it, and make keys of it. */
void pinion_mkey_enable(struct pinion_mkey *mkey);

/* -EBUSY, and it lives on, while other keys are made of pieces of it. */
int pinion_mkey_end(struct pinion_mkey *mkey);

#endif
