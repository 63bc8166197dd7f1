// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address handles: the kernel resolves and keeps the address, we keep the number
 * by which a work request names it.
 */
#include <errno.h>
#include <stdlib.h>

#include "provider.h"

struct ibv_ah *pinion_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct {
		struct ib_uverbs_create_ah_resp core;
		struct pinion_create_ah_resp pinion;
	} resp = {};
	struct pinion_ah *ah;
	int err;

	ah = pinion_zalloc(pd->context, sizeof(*ah), "an address handle");
	if (!ah)
		return NULL;

	err = ibv_cmd_create_ah(pd, &ah->ah, attr, &resp.core, sizeof(resp));
	if (err) {
		free(ah);
		errno = err;
		return NULL;
	}
	ah->number = resp.pinion.ah;
	return &ah->ah;
}

int pinion_destroy_ah(struct ibv_ah *ibah)
{
	int err;

	err = ibv_cmd_destroy_ah(ibah);
	if (!err)
		free(to_pinion_ah(ibah));
	return err;
}
