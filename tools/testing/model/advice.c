// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Advice about regions of the model.
 */
#include "model.h"

/* What the first page that cannot be brought has an advice fail with: there is none, or it is read-only. */
static int unreachable(const struct model_region *r, uint64_t off,
		       uint64_t length, bool write)
{
	uint64_t end = off + length;
	uint32_t within;

	for (; off < end; off += PAGE - within) {
		if (!region_frame(r, off, false, &within))
			return EFAULT;
		if (!region_frame(r, off, write, &within))
			return EPERM;
	}
	return 0;
}

/* What of several faults a call has is told, as a device of pinion does it. */
static int refusal(const struct model_region *r, int pd, bool write,
		   bool within)
{
	/* The null region is that of no domain. */
	if (r->pd != pd || r->kind == REGION_NULL)
		return ENOENT;
	if (!region_on_demand(r))
		return EINVAL;
	if (write && !(r->access & IBV_ACCESS_LOCAL_WRITE))
		return EPERM;
	return within ? 0 : EFAULT;
}

void call_advise(const uint32_t *n)
{
	struct model_region *r = &regions[n[0] % REGIONS];
	/* For reading, for writing, or what is there anyhow. */
	int advice = n[1] % 3, pd = n[2] % 8 ? r->pd : domain_some(n[2] / 8);
	bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	bool flush = n[3] % 4, within;
	int expected;
	uint64_t first, room, off;
	struct ibv_sge sge;

	if (!r->mr || !pds[pd])
		return;
	region_span(r, n[4], &first, &room);
	off = n[5] % room;
	sge = (struct ibv_sge){ .addr = r->base + first + off,
				.length = 1 + n[6] % (room - off),
				.lkey = r->lkey };
	if (n[7] % 8 == 0)
		sge.length += PAGE;
	within = r->kind == REGION_IMPLICIT ||
		 (off <= r->length && sge.length <= r->length - off);
	if ((!region_on_demand(r) && other_lacks(LACK_ADVICE_PINNED)) ||
	    (!within && other_lacks(LACK_ADVICE_RANGE)) ||
	    (!(r->access & IBV_ACCESS_LOCAL_WRITE) &&
	     other_lacks(LACK_ADVICE_RIGHTS)))
		return;
	tell("region %d, advice %d%s: %u bytes at %#lx, domain %d",
	     (int)(r - regions), advice, flush ? ", flush" : "", sge.length,
	     sge.addr, pd);
	expected = refusal(r, pd, write, within);
	if (!expected && flush &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		expected = unreachable(r, first + off, sge.length, write);
	judge(ADVISE,
	      ibv_advise_mr(pds[pd], advice,
			    flush ? IBV_ADVISE_MR_FLAG_FLUSH : 0, &sge, 1),
	      expected);
}
