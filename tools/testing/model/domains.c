// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection domains of the model. The first two stay; others come and go.
 */
#include "model.h"

struct ibv_pd *pds[PDS];

void domain_set_up(void)
{
	int i;

	for (i = 0; i < PDS; i++)
		pds[i] = !i	     ? dev.pd :
			 i < LASTING ? MUST(ibv_alloc_pd(dev.ctx)) :
				       NULL;
}

int domain_some(uint32_t r)
{
	int pd = r % 4 ? r / 4 % LASTING : r / 4 % PDS;

	return pds[pd] ? pd : (int)(r / 4 % LASTING);
}

void call_alloc_pd(const uint32_t *n)
{
	int pd = LASTING + n[0] % (PDS - LASTING);

	if (pds[pd])
		return;
	tell("domain %d is made", pd);
	pds[pd] = ibv_alloc_pd(dev.ctx);
	judge(ALLOC_PD, pds[pd] ? 0 : errno, 0);
}

/* Null regions do not use it: they are one key of the device, and made by the provider. */
static bool domain_is_used(int pd)
{
	const struct model_region *r;
	int i;

	for (r = regions; r < regions + REGIONS; r++)
		if (r->mr && r->kind != REGION_NULL && r->pd == pd)
			return true;
	for (i = 0; i < WINDOWS; i++)
		if (windows[i].mw->pd == pds[pd])
			return true;
	for (i = 0; i < LINKS; i++)
		if (link_pds[i][0] == pd || link_pds[i][1] == pd)
			return true;
	return false;
}

void call_dealloc_pd(const uint32_t *n)
{
	/* The first ones have queue pairs, and what reads memory for the model. */
	int pd = n[0] % 8 ? LASTING + n[1] % (PDS - LASTING) :
			    (int)(n[1] % LASTING);
	bool used;
	int err;

	if (!pds[pd])
		return;
	used = domain_is_used(pd);
	tell("domain %d ends, %s", pd, used ? "used" : "not used");
	err = ibv_dealloc_pd(pds[pd]);
	judge(DEALLOC_PD, err, used ? EBUSY : 0);
	if (!err)
		pds[pd] = NULL;
}
