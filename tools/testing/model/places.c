// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Finds what the two sides of a message are in the model.
 */
#define _GNU_SOURCE
#include <string.h>

#include "place.h"

/* Fill in the pieces. */
static void place_look(struct place *place, bool write)
{
	const struct model_region *r = place->region;
	uint32_t within = 0, bytes;
	struct frame *frame;

	if (r->kind == REGION_NULL) {
		place->good = place->length;
		return;
	}
	while (place->good < place->length && place->count < PAGES) {
		frame = region_frame(r, place->off + place->good, write,
				     &within);
		if (!frame)
			return;
		bytes = place->length - place->good;
		if (bytes > PAGE - within)
			bytes = PAGE - within;
		place->pieces[place->count++] =
			(struct piece){ frame, within, bytes };
		place->good += bytes;
	}
}

static void refuse(struct place *place, int syndrome)
{
	place->refused = true;
	place->syndrome = syndrome;
}

struct place place_in_region(const struct model_region *r, uint64_t off,
			     uint32_t length, int pd, int needs, bool remote,
			     bool write)
{
	struct place place = { .region = r,
			       .off = off,
			       .addr = r->base + off,
			       .key = remote ? r->rkey : r->lkey,
			       .length = length };

	/* All null regions have one key, which is the device's: it does not end with them. */
	if (r->kind == REGION_NULL && remote)
		refuse(&place, PINION_SYN_KEY_RIGHTS);
	else if (r->kind == REGION_NULL)
		place_look(&place, write);
	/* Who may not know that there is a key is not told what it allows. */
	else if (!r->mr || r->pd != pd)
		refuse(&place, PINION_SYN_KEY_UNKNOWN);
	else if ((r->access & needs) != needs)
		refuse(&place, PINION_SYN_KEY_RIGHTS);
	else if (off > r->length || length > r->length - off)
		refuse(&place, PINION_SYN_KEY_RANGE);
	else
		place_look(&place, write);
	return place;
}

struct place place_in_space(const struct space *space, uint64_t at,
			    uint32_t length)
{
	struct place place = { .addr = (uintptr_t)space->map + at,
			       .length = length };
	uint32_t bytes;

	for (; place.good < length; place.good += bytes, at += bytes) {
		bytes = length - place.good;
		if (bytes > PAGE - at % PAGE)
			bytes = PAGE - at % PAGE;
		place.pieces[place.count++] =
			(struct piece){ space->page[at / PAGE].frame, at % PAGE,
					bytes };
	}
	return place;
}

struct place place_in_window(const struct model_window *w, uint64_t off,
			     uint32_t length, int link, int needs, bool write)
{
	struct place place = {
		.off = off, .addr = off, .key = w->mw->rkey, .length = length
	};
	const struct model_region *r;

	if (w->region < 0) {
		refuse(&place, PINION_SYN_KEY_STATE);
		return place;
	}
	r = &regions[w->region];
	place.region = r;
	place.off = w->at + off;
	if (!(w->access & IBV_ACCESS_ZERO_BASED))
		place.addr = r->base + w->at + off;
	if (w->link != link || (w->access & needs) != needs)
		refuse(&place, PINION_SYN_KEY_STATE);
	else if (off > w->length || length > w->length - off)
		refuse(&place, PINION_SYN_KEY_RANGE);
	else
		place_look(&place, write);
	return place;
}

bool place_overlaps(const struct place *a, const struct place *b)
{
	int i, j;

	for (i = 0; i < a->count; i++) {
		for (j = 0; j < b->count; j++) {
			const struct piece *p = &a->pieces[i];
			const struct piece *q = &b->pieces[j];

			if (p->frame == q->frame && p->at < q->at + q->length &&
			    q->at < p->at + p->length)
				return true;
		}
	}
	return false;
}

void place_gather(const struct place *place, uint8_t *to, uint32_t length)
{
	const struct piece *p;
	uint32_t bytes;

	memset(to, 0, length);
	for (p = place->pieces; p < place->pieces + place->count && length;
	     p++) {
		bytes = p->length < length ? p->length : length;
		memcpy(to, p->frame->bytes + p->at, bytes);
		to += bytes;
		length -= bytes;
	}
}

void place_scatter(const struct place *place, const uint8_t *from,
		   uint32_t length)
{
	const struct piece *p;
	uint32_t bytes;

	for (p = place->pieces; p < place->pieces + place->count && length;
	     p++) {
		bytes = p->length < length ? p->length : length;
		memcpy(p->frame->bytes + p->at, from, bytes);
		from += bytes;
		length -= bytes;
	}
}

bool place_is_gone(const struct place *place)
{
	const struct model_region *r = place->region;
	uint64_t at;
	int i;

	if (!r || r->kind != REGION_USER || region_on_demand(r))
		return false;
	at = (r->at + place->off) / PAGE;
	for (i = 0; i < place->count; i++)
		if (place->pieces[i].frame != r->space->page[at + i].frame)
			return true;
	return false;
}

bool place_fails(const struct place *place)
{
	return place->refused || place->good < place->length;
}

bool place_moves_on_demand(const struct place *place)
{
	const struct model_region *r = place->region;

	return r && !place->refused && place->good && r->kind != REGION_NULL &&
	       region_on_demand(r);
}
