// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages of the model: with which status and syndrome each completes, and what it does to
 * which bytes.
 */
#define _GNU_SOURCE
#include <string.h>

#include "place.h"

static struct region scratch[PDS];

void message_set_up(void)
{
	int i;

	for (i = 0; i < PDS; i++)
		scratch[i] = region_reg(pds[i], buf_new(PAGES * PAGE, 0),
					ALL_ACCESS);
}

/* ------------------------------------------------------- looking at memory */

/* One message from the region itself to memory of ours. */
static void fetch_once(const struct place *place, uint32_t length)
{
	const struct model_region *r = place->region;
	struct region *to = &scratch[r->pd];
	struct ibv_sge sge = { place->addr, length, r->lkey };

	/* The first two links are in one domain each. */
	expect(rdma(&links[r->pd].a, IBV_WR_RDMA_WRITE, sge, to->base,
		    to->rkey),
	       IBV_WC_SUCCESS);
}

/*
 * Read the first @length bytes of @place as the device sees them, also if the process does not
 * see them any more. Of memory on demand, which the process sees, rxe would take other bytes.
 */
static const uint8_t *fetch(struct place place, uint32_t length)
{
	const struct model_region *r = place.region;
	uint8_t *to = scratch[r->pd].buf->data;

	if (region_on_demand(r) && !dev.pinion) {
		memcpy(to, r->space->map + r->at + place.off, length);
		return to;
	}
	place.addr = r->base + place.off;
	fetch_once(&place, length);
	return to;
}

/*
 * A message failed, and may have written the first bytes of @place: some of them are as in
 * @fresh, the others as before. @whole: all are, or none.
 */
static void settle(const struct place *place, const uint8_t *fresh,
		   uint32_t length, bool whole)
{
	uint8_t before[MOST], got[MOST];
	uint32_t same = 0;

	if (!length || place->region->kind == REGION_NULL)
		return;
	place_gather(place, before, length);
	memcpy(got, fetch(*place, length), length);
	while (same < length && got[same] == fresh[same])
		same++;
	if (whole && same < length)
		same = 0;
	if (memcmp(got + same, before + same, length - same))
		FAIL("not all of the bytes behind the first %u of %u are as before",
		     same, length);
	place_scatter(place, got, length);
}

/* --------------------------------------------------------- what they do */

static const struct {
	enum ibv_wr_opcode opcode;
	int local, remote;
	bool local_write, remote_write;
} ops[MESSAGE_OPS] = {
	{ IBV_WR_RDMA_WRITE, 0, IBV_ACCESS_REMOTE_WRITE, false, true },
	{ IBV_WR_RDMA_READ, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ,
	  true, false },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_LOCAL_WRITE,
	  IBV_ACCESS_REMOTE_ATOMIC, true, true },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_ACCESS_LOCAL_WRITE,
	  IBV_ACCESS_REMOTE_ATOMIC, true, true },
};

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
	       opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

/* What an atomic leaves in the memory that now has @before. */
static uint64_t after(enum ibv_wr_opcode opcode, uint64_t before,
		      uint64_t number, uint64_t swap)
{
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return before + number;
	return before == number ? swap : before;
}

static void carry_out(enum ibv_wr_opcode opcode, const struct place *local,
		      const struct place *remote, uint64_t number,
		      uint64_t swap)
{
	const struct place *from = remote, *to = local;
	uint8_t data[MOST];
	uint64_t word;

	if (opcode == IBV_WR_RDMA_WRITE) {
		from = local;
		to = remote;
	}
	place_gather(from, data, from->length);
	place_scatter(to, data, to->length);
	if (!is_atomic(opcode))
		return;
	memcpy(&word, data, sizeof(word));
	word = after(opcode, word, number, swap);
	place_scatter(remote, (uint8_t *)&word, sizeof(word));
}

/* How many bytes can have arrived although the message failed. */
static uint32_t arrived_at_most(const struct place *local,
				const struct place *remote)
{
	if (local->refused || remote->refused)
		return 0;
	return local->good < remote->good ? local->good : remote->good;
}

/* Can the word have been changed although the message failed? */
static bool word_may_have_changed(const struct place *local,
				  const struct place *remote)
{
	if (remote->refused || remote->good < sizeof(uint64_t))
		return false;
	/* rxe looks at the key for the answer when that comes. */
	return !local->refused || !dev.pinion;
}

/* The message failed. Its first bytes may have arrived, and an atomic may have been done. */
static void carry_out_some(enum ibv_wr_opcode opcode, const struct place *local,
			   const struct place *remote, uint64_t number,
			   uint64_t swap)
{
	uint32_t length = arrived_at_most(local, remote);
	uint8_t data[MOST];
	uint64_t word;

	if (opcode == IBV_WR_RDMA_WRITE) {
		place_gather(local, data, length);
		settle(remote, data, length, false);
		return;
	}
	place_gather(remote, data, length);
	settle(local, data, length, false);
	if (!is_atomic(opcode) || !word_may_have_changed(local, remote))
		return;
	place_gather(remote, (uint8_t *)&word, sizeof(word));
	word = after(opcode, word, number, swap);
	settle(remote, (uint8_t *)&word, sizeof(word), true);
}

/* ------------------------------------------------------------------ routes */

/* The two sides of a message, and the link. */
struct route {
	int op, link;
	const struct model_region *from, *to;
	const struct model_window *window; /* NULL: by the region's key */
	uint32_t length;
	struct place local, remote;
};

/* An offset within @room, in one of eight cases any; near the end more often. */
static uint64_t some_offset(uint32_t r, uint64_t room, uint32_t length)
{
	if (r % 8 == 0 || length > room)
		return r / 8 % (room + 8);
	if (r % 8 == 1)
		return room - length;
	return r / 8 % (room - length + 1);
}

static uint64_t some_place(const struct model_region *r, uint32_t where,
			   uint32_t n, uint32_t length)
{
	uint64_t first, room;

	region_span(r, where, &first, &room);
	return first + some_offset(n, room, length);
}

/* Fills in both places; true if both keys are valid. */
static bool route_places(struct route *route, const uint32_t *n)
{
	const struct model_window *w = route->window;
	const typeof(ops[0]) *op = &ops[route->op];
	uint32_t length = route->length;
	int link = route->link;

	if (!route->from->lkey || !(w ? w->mw->rkey : route->to->rkey))
		return false;
	route->local = place_in_region(
		route->from, some_place(route->from, n[8], n[6], length),
		length, link_pds[link][0], op->local, false, op->local_write);
	route->remote =
		w ? place_in_window(w, some_offset(n[7], w->length, length),
				    length, link, op->remote,
				    op->remote_write) :
		    place_in_region(route->to,
				    some_place(route->to, n[9], n[7], length),
				    length, link_pds[link][1], op->remote, true,
				    op->remote_write);
	return !route->local.refused && !route->remote.refused;
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
		there = !place_fails(&route->local) &&
			!place_fails(&route->remote);
		if (wanted == MEMORY_ANY || there == (wanted == MEMORY_THERE))
			return true;
	}
	return false;
}

/* Takes a route by random numbers or, mostly, one whose keys are valid. */
static bool route_find(struct route *route, const uint32_t *n)
{
	static const enum memory wanted[] = { MEMORY_ANY, MEMORY_MISSING,
					      MEMORY_THERE, MEMORY_THERE };
	bool by_window = n[4] % 3 == 0;
	uint32_t mode = n[4] / 3 % 8;

	if (mode) {
		return (by_window &&
			route_next(route, n, true, wanted[mode % 4])) ||
		       route_next(route, n, false, wanted[mode % 4]) ||
		       route_next(route, n, false, MEMORY_ANY);
	}
	route->link = n[0] % LINKS;
	route->from = &regions[n[1] % REGIONS];
	route->to = &regions[n[2] % REGIONS];
	if (by_window)
		route->window = &windows[n[2] % WINDOWS];
	route_places(route, n);
	return route->local.key && route->remote.key;
}

/* Has the key of a region that is gone been given to another one? */
static bool given_again(const struct model_region *r, uint32_t key)
{
	const struct model_region *other;

	if (r->mr || r->kind == REGION_NULL)
		return false;
	for (other = regions; other < regions + REGIONS; other++)
		if (other->mr && (other->lkey == key || other->rkey == key))
			return true;
	return false;
}

static bool route_lacks(const struct route *route)
{
	const struct place *local = &route->local, *remote = &route->remote;
	bool atomic = is_atomic(ops[route->op].opcode);

	return ((place_moves_on_demand(local) ||
		 (!atomic && place_moves_on_demand(remote))) &&
		other_lacks(LACK_ODP_BYTES)) ||
	       (route->window && remote->refused &&
		remote->syndrome == PINION_SYN_KEY_RANGE &&
		other_lacks(LACK_WINDOW_BOUNDS));
}

/* ---------------------------------------------------------------- messages */

static const char *verdict(const struct place *place)
{
	return place->refused		   ? " (bad)" :
	       place->good < place->length ? " (not all there)" :
					     "";
}

/* Check how the message has completed. */
static void expect_outcome(struct ibv_wc wc, const struct route *route)
{
	const struct place *local = &route->local, *remote = &route->remote;
	bool mine = place_fails(local), theirs = place_fails(remote);

	if (!mine && !theirs) {
		expect_why(wc, IBV_WC_SUCCESS, PINION_SYN_NONE);
		return;
	}
	if (mine && wc.status == IBV_WC_WR_FLUSH_ERR &&
	    other_lacks(LACK_LOCAL_STATUS))
		return;
	/* Where both sides fail, only our own keys are sure to be looked at first. */
	if (mine && theirs && !(dev.pinion && local->refused))
		mine = wc.status == IBV_WC_LOC_PROT_ERR;
	/* The requester learns of the other side only that it refused. */
	if (!mine)
		expect_why(wc, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	else
		expect_why(wc, IBV_WC_LOC_PROT_ERR,
			   local->refused ? local->syndrome : PINION_SYN_FAULT);
}

static void count_refusal(unsigned int *why, const struct place *place)
{
	if (place->refused)
		why[place->syndrome]++;
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

static void count(const struct route *route, bool good)
{
	const struct place *local = &route->local, *remote = &route->remote;

	good ? counts->done[MESSAGE]++ : counts->refused[MESSAGE]++;
	if (route->window && (good || remote->refused))
		counts->by_window[good]++;
	count_refusal(counts->why[0], local);
	if (!local->refused)
		count_refusal(counts->why[1], remote);
	count_exported(local, good);
	count_exported(remote, good);
	if (good) {
		counts->ops[route->op]++;
		counts->kinds[local->region->kind]++;
		counts->kinds[remote->region->kind]++;
		counts->gone += place_is_gone(local) || place_is_gone(remote);
	}
	if (!local->refused && !remote->refused) {
		counts->local_faults += place_fails(local);
		counts->remote_faults += place_fails(remote);
	}
}

void call_message(const uint32_t *n)
{
	bool atomic = n[3] % 8 > 5;
	struct route route = {
		.op = atomic ? n[3] % 8 - 4 : n[3] % 2,
		.length = atomic   ? sizeof(uint64_t) :
			  n[5] % 4 ? 1 + n[5] / 4 % 3000 :
				     1 + n[5] / 4 % MOST,
	};
	enum ibv_wr_opcode opcode = ops[route.op].opcode;
	struct place *local = &route.local, *remote = &route.remote;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct end *end;

	if (!route_find(&route, n) || place_overlaps(local, remote) ||
	    given_again(route.from, local->key) ||
	    (!route.window && given_again(route.to, remote->key)) ||
	    route_lacks(&route))
		return;
	/* Atomics only on words that are aligned both as remote addresses and in memory. */
	if (atomic &&
	    (remote->addr % 8 || (remote->count && remote->pieces[0].at % 8)))
		return;
	tell("link %d, opcode %d, %u bytes: region %d from %#lx key %#x%s, %s %d at %#lx key %#x%s",
	     route.link, opcode, route.length, (int)(route.from - regions),
	     local->addr, local->key, verdict(local),
	     route.window ? "window" : "region",
	     route.window ? (int)(route.window - windows) :
			    (int)(route.to - regions),
	     remote->addr, remote->key, verdict(remote));
	end = &links[route.link].a;
	sge = (struct ibv_sge){ local->addr, route.length, local->key };
	wc = atomic ? atomic_op(end, opcode, sge, remote->addr, remote->key,
				n[8], n[9]) :
		      rdma(end, opcode, sge, remote->addr, remote->key);
	expect_outcome(wc, &route);
	count(&route, wc.status == IBV_WC_SUCCESS);
	if (wc.status == IBV_WC_SUCCESS) {
		carry_out(opcode, local, remote, n[8], n[9]);
		return;
	}
	window_renew(route.link);
	carry_out_some(opcode, local, remote, n[8], n[9]);
}

/* Read what there is of a region from its start, also what the process sees no more. */
bool message_look(const struct model_region *r, uint32_t part)
{
	uint8_t want[PAGES * PAGE];
	uint64_t first, room, i;
	const uint8_t *got;
	struct place place;

	if (!r->mr || r->kind == REGION_NULL)
		return false;
	region_span(r, part, &first, &room);
	place = place_in_region(r, first, room, r->pd, 0, false, false);
	tell("region %d is read: %u of %u bytes", (int)(r - regions),
	     place.good, place.length);
	if (!place.good)
		return false;
	place_gather(&place, want, place.good);
	got = fetch(place, place.good);
	for (i = 0; i < place.good; i++)
		if (got[i] != want[i])
			FAIL("from byte %lu on it has other contents", i);
	return true;
}

void call_look(const uint32_t *n)
{
	counts->done[LOOK] += message_look(&regions[n[0] % REGIONS], n[1]);
}

void message_look_all(void)
{
	uint32_t i;

	for (i = 0; i < REGIONS; i++)
		message_look(&regions[i], i);
}
