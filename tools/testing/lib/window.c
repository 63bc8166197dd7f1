// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Binds and invalidates memory windows.
 */
#include "window.h"

struct ibv_mw_bind_info window_part(struct region *r, uint64_t at,
				    uint64_t length, int access)
{
	return (struct ibv_mw_bind_info){
		.mr = r->mr,
		.addr = r->base + at,
		.length = length,
		.mw_access_flags = access,
	};
}

static struct ibv_wc bind1(struct end *end, struct ibv_mw *mw,
			   struct ibv_mw_bind_info info)
{
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = info };

	CHECK_EQ(ibv_bind_mw(end->qp, mw, &bind), 0);
	return await(end->scq);
}

struct ibv_wc window_bind_as(struct end *end, struct ibv_mw *mw, uint32_t rkey,
			     struct ibv_mw_bind_info info)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = mw, .rkey = rkey, .bind_info = info },
	};
	struct ibv_wc wc;

	post(end, &wr);
	wc = await(end->scq);
	if (wc.status == IBV_WC_SUCCESS)
		mw->rkey = rkey;
	return wc;
}

static struct ibv_wc bind2(struct end *end, struct ibv_mw *mw,
			   struct ibv_mw_bind_info info)
{
	return window_bind_as(end, mw, ibv_inc_rkey(mw->rkey), info);
}

struct ibv_wc window_bind(struct end *end, struct ibv_mw *mw,
			  struct ibv_mw_bind_info info)
{
	return mw->type == IBV_MW_TYPE_1 ? bind1(end, mw, info) :
					   bind2(end, mw, info);
}

struct ibv_wc window_invalidate(struct end *end, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = rkey,
	};

	post(end, &wr);
	return await(end->scq);
}

struct ibv_mw *window_new(enum ibv_mw_type type)
{
	return MUST(ibv_alloc_mw(dev.pd, type));
}

struct region window_seen(struct region *r, struct ibv_mw *mw)
{
	struct region seen = *r;

	seen.rkey = mw->rkey;
	return seen;
}
