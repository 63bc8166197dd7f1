// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Chooses who sends what to whom, so that most messages have valid keys and many of these meet
 * pages that are missing; and checks the status of a message between two places.
 */
#define _GNU_SOURCE
#include <string.h>

#include "routes.h"

static struct place remote_place(const struct route *route, const uint32_t *n)
{
	const struct model_window *w = route->window;
	const struct needs *needs = route->needs;
	uint32_t length = route->length;

	if (w)
		return place_in_window(
			w, scatter_offset_in(n[7], w->length, length), length,
			route->link, needs->remote, needs->remote_write);
	return place_in_region(route->to,
			       scatter_offset(route->to, n[9], n[7], length),
			       length, link_pds[route->link][1], needs->remote,
			       true, needs->remote_write);
}

/* Fills in both places; true if all keys are valid. */
static bool route_places(struct route *route, const uint32_t *n)
{
	const struct model_window *w = route->window;
	const struct needs *needs = route->needs;

	if (!route->from->lkey || !(w ? w->mw->rkey : route->to->rkey))
		return false;
	route->local = scatter_some(route->from, route->length, n[6],
				    link_pds[route->link][0], needs->local,
				    needs->local_write);
	route->remote = scatter_of(remote_place(route, n));
	return !scatter_refused(&route->local) &&
	       !scatter_refused(&route->remote);
}

enum memory { MEMORY_ANY, MEMORY_THERE, MEMORY_MISSING };

/* The next route whose keys are valid, and whose memory is as @wanted. */
static bool route_next(struct route *route, const uint32_t *n, bool by_window,
		       enum memory wanted)
{
	bool there;
	int i;

	for (i = 0; i < LINKS * REGIONS * REGIONS; i++) {
		int other = n[2] + i / LINKS / REGIONS;

		route->link = (n[0] + i) % LINKS;
		route->from = &regions[(n[1] + i / LINKS) % REGIONS];
		route->to = &regions[(uint32_t)other % REGIONS];
		route->window =
			by_window ? &windows[(uint32_t)other % WINDOWS] : NULL;
		if (!route_places(route, n))
			continue;
		there = !scatter_fails(&route->local) &&
			!scatter_fails(&route->remote);
		if (wanted == MEMORY_ANY || there == (wanted == MEMORY_THERE))
			return true;
	}
	return false;
}

static bool route_choose(struct route *route, const uint32_t *n)
{
	static const enum memory wanted[] = { MEMORY_ANY, MEMORY_MISSING,
					      MEMORY_THERE, MEMORY_THERE };
	bool by_window = n[4] % 3 == 0;
	uint32_t mode = n[4] / 3 % 8;

	if (mode)
		return (by_window &&
			route_next(route, n, true, wanted[mode % 4])) ||
		       route_next(route, n, false, wanted[mode % 4]) ||
		       route_next(route, n, false, MEMORY_ANY);
	route->link = n[0] % LINKS;
	route->from = &regions[n[1] % REGIONS];
	route->to = &regions[n[2] % REGIONS];
	if (by_window)
		route->window = &windows[n[2] % WINDOWS];
	route_places(route, n);
	return route->local.count && route->remote.count;
}

/* Does something come before the memory that is refused? 256 is the shortest path MTU: one packet. */
static bool route_refused_late(const struct route *route)
{
	return scatter_refused(&route->local) &&
	       (route->local.count > 1 || route->length > 256);
}

static bool route_lacks(const struct route *route)
{
	const struct place *remote = &route->remote.at[0];
	bool atomic = route->needs->remote & IBV_ACCESS_REMOTE_ATOMIC;

	return ((scatter_moves_on_demand(&route->local) ||
		 (!atomic && place_moves_on_demand(remote))) &&
		other_lacks(LACK_ODP_BYTES)) ||
	       (route_refused_late(route) && other_lacks(LACK_LOCAL_PART)) ||
	       (route->window && remote->refused &&
		remote->syndrome == PINION_SYN_KEY_RANGE &&
		other_lacks(LACK_WINDOW_BOUNDS));
}

void route_inline(struct route *route, const uint32_t *n)
{
	const struct space *space = &spaces[n[8] % 4];
	uint64_t at = PAGE + n[8] / 4 % LEN;
	uint32_t length = route->length;

	if (!route->needs->may_inline || n[3] / 64 % 4 ||
	    length > INLINE_MOST || at + length > PAGE + LEN ||
	    !memory_allows(space, at, length, false))
		return;
	route->local = scatter_of(place_in_space(space, at, length));
	route->inlined = true;
}

int route_sges(const struct route *route, struct ibv_sge *sges, uint32_t no_key)
{
	const struct place *local = &route->local.at[0];

	if (!route->inlined)
		return scatter_sges(&route->local, sges);
	sges[0] = (struct ibv_sge){ local->addr, local->length, no_key };
	return 1;
}

bool route_find(struct route *route, const uint32_t *n)
{
	if (!route_choose(route, n) || scatter_is_given_again(&route->local) ||
	    (!route->window && scatter_is_given_again(&route->remote)))
		return false;
	route_inline(route, n);
	return !scatter_overlaps(&route->local, &route->remote) &&
	       !route_lacks(route);
}

const struct model_region *route_region(uint32_t n, int pd, int rights,
					uint32_t length)
{
	const struct model_region *r = &regions[n % REGIONS];
	int i;

	for (i = 0; i < REGIONS && n / REGIONS % 8; i++) {
		const struct model_region *next = &regions[(n + i) % REGIONS];

		if (next->mr && next->pd == pd && next->length >= length &&
		    (next->access & rights) == rights)
			return next;
	}
	return r->lkey ? r : NULL;
}

/* ------------------------------------------------------------------ outcomes */

const char *route_text(const struct route *route)
{
	static char text[512];
	char local[200], remote[100];

	snprintf(text, sizeof(text), "link %d, %u bytes%s: %s%s%s%s",
		 route->link, route->length, route->inlined ? ", inline" : "",
		 scatter_text(&route->local, local, sizeof(local)),
		 route->remote.count ? "; " : "",
		 route->window ? "by a window " : "",
		 scatter_text(&route->remote, remote, sizeof(remote)));
	return text;
}

void route_expect_local(struct ibv_wc wc, const struct scatter *local)
{
	const struct place *refused = scatter_refused(local);

	if (wc.status == IBV_WC_WR_FLUSH_ERR && other_lacks(LACK_LOCAL_STATUS))
		return;
	/* All keys are looked at before the first byte is. */
	expect_why(wc, IBV_WC_LOC_PROT_ERR,
		   refused ? refused->syndrome : PINION_SYN_FAULT);
}

void route_expect(struct ibv_wc wc, const struct route *route)
{
	bool mine = scatter_fails(&route->local);
	bool theirs = scatter_fails(&route->remote);

	if (!mine && !theirs) {
		expect_why(wc, IBV_WC_SUCCESS, PINION_SYN_NONE);
		return;
	}
	/* Where both sides fail, only our own keys are sure to be looked at first. */
	if (mine && theirs && !(dev.pinion && scatter_refused(&route->local)))
		mine = wc.status == IBV_WC_LOC_PROT_ERR ||
		       wc.status == IBV_WC_WR_FLUSH_ERR;
	/* The requester learns of the other side only that it refused. */
	if (mine)
		route_expect_local(wc, &route->local);
	else
		expect_why(wc, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
}

uint32_t route_arrived_at_most(const struct scatter *local,
			       const struct scatter *remote)
{
	uint32_t mine = scatter_good(local), theirs = scatter_good(remote);

	if (scatter_refused(local))
		return 0;
	return mine < theirs ? mine : theirs;
}

/* Messages that met what the exporter of a dma-buf has done. */
static void count_exported(const struct place *place, bool good)
{
	struct space *space = place->region ? place->region->space : NULL;

	if (place->refused || !space)
		return;
	counts->away += place_fails(place) && space->away;
	counts->moved += good && space->moved;
	if (good)
		space->moved = false;
}

void count_side(const struct scatter *s, bool good)
{
	const struct place *place;

	for (place = s->at; place < s->at + s->count; place++) {
		count_exported(place, good);
		if (good && place->region)
			counts->kinds[place->region->kind]++;
	}
	counts->lists += good && s->count > 1;
}

void route_count(const struct route *route, bool good)
{
	const struct scatter *local = &route->local, *remote = &route->remote;
	const struct place *mine = scatter_refused(local);
	const struct place *theirs = scatter_refused(remote);

	if (route->window && (good || theirs))
		counts->by_window[good]++;
	if (mine)
		counts->why[0][mine->syndrome]++;
	else if (theirs)
		counts->why[1][theirs->syndrome]++;
	count_side(local, good);
	count_side(remote, good);
	counts->inlined += good && route->inlined;
	counts->gone += good &&
			(scatter_is_gone(local) || scatter_is_gone(remote));
	if (!mine && !theirs) {
		counts->local_faults += scatter_fails(local);
		counts->remote_faults += scatter_fails(remote);
	}
}
