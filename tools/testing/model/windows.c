// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows of the model.
 */
#include "model.h"

struct model_window windows[WINDOWS];

void window_set_up(void)
{
	int i;

	for (i = 0; i < WINDOWS; i++)
		windows[i] = (struct model_window){
			.mw = MUST(
				ibv_alloc_mw(pds[i % LASTING], IBV_MW_TYPE_2)),
			.region = -1,
		};
}

void window_unbound(struct model_window *w)
{
	regions[w->region].windows--;
	w->region = -1;
}

static void replace(struct model_window *w, int pd)
{
	CHECK_EQ(ibv_dealloc_mw(w->mw), 0);
	if (w->region >= 0)
		window_unbound(w);
	w->mw = MUST(ibv_alloc_mw(pds[pd], IBV_MW_TYPE_2));
}

/*
 * The model does not know the state of a window that is bound to a queue pair when that is
 * reset, so such windows are replaced.
 */
void window_leave(int link)
{
	struct model_window *w;

	for (w = windows; w < windows + WINDOWS; w++)
		if (w->region >= 0 && w->link == link)
			replace(w, link_pds[link][1]);
}

void window_move(int window, int pd)
{
	if (windows[window].region < 0)
		replace(&windows[window], pd);
}

/* Whether it is in the region: [@at, + @length). */
static bool in_region(const struct model_region *r, uint64_t at,
		      uint64_t length)
{
	return at < r->length && length <= r->length - at;
}

static bool can_bind(const struct model_window *w, const struct model_region *r,
		     int pd, int access, uint64_t at, uint64_t length)
{
	return w->region < 0 && r->pd == pd && r->access & IBV_ACCESS_MW_BIND &&
	       !(r->access & IBV_ACCESS_ZERO_BASED) &&
	       in_region(r, at, length) &&
	       (r->access & IBV_ACCESS_LOCAL_WRITE ||
		!(access &
		  (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)));
}

/* A region by random numbers or, mostly, one that a window of this domain can be bound to. */
static struct model_region *some_region(const uint32_t *n, int pd)
{
	struct model_region *r;
	int i;

	for (i = 0; i < REGIONS && n[9] % 8; i++) {
		r = &regions[(n[1] + i) % REGIONS];
		if (r->mr && r->pd == pd && r->access & IBV_ACCESS_MW_BIND &&
		    !(r->access & IBV_ACCESS_ZERO_BASED))
			return r;
	}
	return &regions[n[1] % REGIONS];
}

/* Binds a window, which may be bound already, in the domain of the responding end. */
void call_bind(const uint32_t *n)
{
	struct model_window *w = &windows[n[0] % WINDOWS];
	int link = n[2] % LINKS, pd = link_pds[link][1];
	struct model_region *r = some_region(n, pd);
	int access = (n[3] & 1 ? IBV_ACCESS_REMOTE_WRITE : 0) |
		     (n[3] & 2 ? IBV_ACCESS_REMOTE_READ : 0) |
		     (n[3] & 4 ? IBV_ACCESS_REMOTE_ATOMIC : 0) |
		     (n[3] & 24 ? 0 : IBV_ACCESS_ZERO_BASED);
	uint64_t first, room, at = n[4] % LEN, length = 1 + n[5] % MOST;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = w->mw, .rkey = ibv_inc_rkey(w->mw->rkey) },
	};
	enum ibv_wc_status status;
	bool good, allowed;
	int err;

	if (!r->mr || w->mw->pd != pds[pd])
		return;
	region_span(r, n[8], &first, &room);
	if (n[6] % 8)
		at %= room;
	if (n[7] % 8 && length > room - at % room)
		length = room - at % room;
	at += first;
	if ((r->pd != pd && other_lacks(LACK_WINDOW_DOMAIN)) ||
	    (access & IBV_ACCESS_ZERO_BASED && !in_region(r, at, length) &&
	     other_lacks(LACK_WINDOW_ZERO)))
		return;
	tell("window %d: region %d from %#lx, %lu bytes, access %#x, link %d",
	     (int)(w - windows), (int)(r - regions), at, length, access, link);
	allowed = can_bind(w, r, pd, access, at, length);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){ r->mr, r->base + at,
							  length, access };
	err = try_post(&links[link].b, &wr);
	status = err ? IBV_WC_MW_BIND_ERR : await(links[link].b.scq).status;
	good = status == IBV_WC_SUCCESS;
	judge_good(BIND, good, allowed);
	if (!good && dev.pinion)
		CHECK_EQ(status, IBV_WC_MW_BIND_ERR);
	if (good) {
		w->mw->rkey = wr.bind_mw.rkey;
		w->region = r - regions;
		w->link = link;
		w->access = access;
		w->at = at;
		w->length = length;
		r->windows++;
	} else if (!err) {
		link_again(link);
	}
}

void call_invalidate(const uint32_t *n)
{
	struct model_window *w = &windows[n[0] % WINDOWS];
	int link = w->link;

	if (w->region < 0)
		return;
	tell("window %d is invalidated", (int)(w - windows));
	judge_good(INVALIDATE,
		   window_invalidate(&links[link].b, w->mw->rkey).status ==
			   IBV_WC_SUCCESS,
		   true);
	window_unbound(w);
}
