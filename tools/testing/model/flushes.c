// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * FLUSH of the model, which moves nothing: only the key decides.
 */
#include "newer.h"
#include "routes.h"

#ifdef HAVE_WR_FLUSH
/* How they end; counts->flushes is of these. */
enum { FLUSHED, REFUSED, NOT_OF_QP, NONSENSE };

static const struct {
	enum ibv_wc_status status;
	int syndrome;
} ends[FLUSH_ENDS] = {
	[FLUSHED] = { IBV_WC_SUCCESS, PINION_SYN_NONE },
	[REFUSED] = { IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE },
	[NOT_OF_QP] = { IBV_WC_REM_INV_REQ_ERR, PINION_SYN_REMOTE },
	[NONSENSE] = { IBV_WC_LOC_QP_OP_ERR, PINION_SYN_BAD_WQE },
};

struct asked {
	int link;
	const struct model_region *r; /* NULL: by the key of a window */
	uint8_t type, level;
	uint32_t key;
	uint64_t addr;
	uint32_t length;
};

/* A window never has the right. */
static bool is_allowed(const struct asked *a, uint64_t off)
{
	const struct model_region *r = a->r;

	if (!r || !r->mr || r->kind == REGION_NULL ||
	    r->pd != link_pds[a->link][1] ||
	    !(r->access & IBV_ACCESS_FLUSH_GLOBAL))
		return false;
	return a->level == IBV_FLUSH_MR ||
	       (off <= r->length && a->length <= r->length - off);
}

void call_flush(const uint32_t *n)
{
	struct asked a = {
		.link = n[0] % LINKS,
		.type = n[1] % 16 == 0 ? 4 :
			n[1] % 16 == 1 ? IBV_FLUSH_PERSISTENT :
					 IBV_FLUSH_GLOBAL,
		.level = n[2] % 16 == 0 ? 2 :
			 n[2] % 2	? IBV_FLUSH_RANGE :
					  IBV_FLUSH_MR,
		.length = n[3] % 2 ? n[3] / 2 % 3000 : n[3] / 2 % LEN,
	};
	struct scatter key = {};
	uint64_t off = 0;
	int end;

	if (n[4] % 8 == 0) {
		a.key = windows[n[5] % WINDOWS].mw->rkey;
		a.addr = n[6];
	} else {
		a.r = route_region(n[5], link_pds[a.link][1],
				   IBV_ACCESS_FLUSH_GLOBAL, a.length);
		if (!a.r || !a.r->rkey)
			return;
		off = scatter_offset(a.r, n[7], n[6], a.length);
		a.key = a.r->rkey;
		a.addr = a.r->base + off;
		key = scatter_of((struct place){ .region = a.r, .key = a.key });
	}
	end = a.type == 4 || a.level == 2    ? NONSENSE :
	      a.type == IBV_FLUSH_PERSISTENT ? NOT_OF_QP :
	      is_allowed(&a, off)	     ? FLUSHED :
					       REFUSED;
	if (scatter_is_given_again(&key) ||
	    (end != FLUSHED && other_lacks(LACK_FLUSH)))
		return;
	tell("link %d, flush of type %u, level %u: %u bytes at %#lx, region %d, key %#x",
	     a.link, a.type, a.level, a.length, a.addr,
	     a.r ? (int)(a.r - regions) : -1, a.key);
	expect_why(flush(&links[a.link].a, a.key, a.addr, a.length, a.type,
			 a.level),
		   ends[end].status, ends[end].syndrome);
	counts->flushes[end]++;
	judge_good(FLUSH, end == FLUSHED, end == FLUSHED);
	if (end != FLUSHED)
		link_again(a.link);
}
#else
void call_flush(const uint32_t *n)
{
	(void)n;
}
#endif
