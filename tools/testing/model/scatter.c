// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Lists of places: makes them by random numbers, and answers for all places of a list.
 */
#define _GNU_SOURCE
#include <string.h>

#include "scatter.h"

/* --------------------------------------------------------------- making one */

uint64_t scatter_offset_in(uint32_t n, uint64_t room, uint32_t length)
{
	if (n % 8 == 0 || length > room)
		return n / 8 % (room + 8);
	if (n % 8 == 1)
		return room - length;
	return n / 8 % (room - length + 1);
}

uint64_t scatter_offset(const struct model_region *r, uint32_t where,
			uint32_t n, uint32_t length)
{
	uint64_t first, room;

	region_span(r, where, &first, &room);
	return first + scatter_offset_in(n, room, length);
}

void scatter_need(struct scatter *s, uint32_t length)
{
	const struct part *part;
	uint32_t left = length, some;

	s->length = length;
	s->count = 0;
	for (part = s->part; part < s->part + s->parts && left; part++) {
		some = part->length < left ? part->length : left;
		s->at[s->count++] = place_in_region(part->region, part->off,
						    some, s->pd, s->needs,
						    false, s->write);
		left -= some;
	}
}

bool scatter_crosses_itself(const struct scatter *s)
{
	int i, j;

	for (i = 0; i < s->count; i++)
		for (j = 0; j < i; j++)
			if (place_overlaps(&s->at[i], &s->at[j]))
				return true;
	return false;
}

/* Another region, now and then, if that has or had a key. */
static const struct model_region *or_another(const struct model_region *r,
					     uint32_t n)
{
	const struct model_region *other = &regions[n / 4 % REGIONS];

	return n % 4 == 0 && other->lkey ? other : r;
}

static void cut(struct scatter *s, const struct model_region *r,
		uint32_t length, int parts, uint64_t n)
{
	uint32_t left = length, some;
	int i;

	s->parts = parts;
	for (i = 0; i < parts; i++) {
		uint32_t where = rnd_next(&n), off = rnd_next(&n);

		some = i == parts - 1 ?
			       left :
			       1 + rnd_next(&n) % (left - (parts - 1 - i));
		if (i)
			r = or_another(r, rnd_next(&n));
		s->part[i] = (struct part){ r,
					    scatter_offset(r, where, off, some),
					    some };
		left -= some;
	}
	scatter_need(s, length);
}

struct scatter scatter_some(const struct model_region *r, uint32_t length,
			    uint32_t n, int pd, int needs, bool write)
{
	struct scatter s = { .pd = pd, .needs = needs, .write = write };
	int parts = n % 2 ? 1 + n / 2 % SGES : 1;

	if (!length)
		return s;
	if (length >= SGES)
		cut(&s, r, length, parts, n);
	if (!s.parts || (write && scatter_crosses_itself(&s)))
		cut(&s, r, length, 1, n);
	return s;
}

struct scatter scatter_of(struct place place)
{
	return (struct scatter){ .at = { place },
				 .count = 1,
				 .length = place.length };
}

int scatter_sges(const struct scatter *s, struct ibv_sge *sges)
{
	int i;

	for (i = 0; i < s->parts; i++) {
		const struct part *part = &s->part[i];

		sges[i] = (struct ibv_sge){ part->region->base + part->off,
					    part->length, part->region->lkey };
	}
	return s->parts;
}

/* ----------------------------------------------------------- asking all of it */

static const struct place *first_place(const struct scatter *s,
				       bool (*is)(const struct place *place))
{
	const struct place *place;

	for (place = s->at; place < s->at + s->count; place++)
		if (is(place))
			return place;
	return NULL;
}

static bool is_refused(const struct place *place)
{
	return place->refused;
}

const struct place *scatter_refused(const struct scatter *s)
{
	return first_place(s, is_refused);
}

const struct place *scatter_failing(const struct scatter *s)
{
	return first_place(s, place_fails);
}

bool scatter_fails(const struct scatter *s)
{
	return scatter_failing(s);
}

uint32_t scatter_good(const struct scatter *s)
{
	const struct place *place;
	uint32_t good = 0;

	for (place = s->at; place < s->at + s->count; place++) {
		good += place->good;
		if (place_fails(place))
			break;
	}
	return good;
}

bool scatter_overlaps(const struct scatter *a, const struct scatter *b)
{
	int i, j;

	for (i = 0; i < a->count; i++)
		for (j = 0; j < b->count; j++)
			if (place_overlaps(&a->at[i], &b->at[j]))
				return true;
	return false;
}

/* Has the key of a region that is gone been given to another one? */
static bool key_is_given_again(const struct place *place)
{
	const struct model_region *r = place->region, *other;

	if (!r || r->mr || r->kind == REGION_NULL)
		return false;
	for (other = regions; other < regions + REGIONS; other++)
		if (other->mr &&
		    (other->lkey == place->key || other->rkey == place->key))
			return true;
	return false;
}

bool scatter_is_given_again(const struct scatter *s)
{
	return first_place(s, key_is_given_again);
}

bool scatter_moves_on_demand(const struct scatter *s)
{
	return first_place(s, place_moves_on_demand);
}

bool scatter_is_gone(const struct scatter *s)
{
	return first_place(s, place_is_gone);
}

/* -------------------------------------------------------------------- bytes */

void scatter_gather(const struct scatter *s, uint8_t *to, uint32_t length)
{
	const struct place *place;
	uint32_t some;

	memset(to, 0, length);
	for (place = s->at; place < s->at + s->count && length; place++) {
		some = place->length < length ? place->length : length;
		place_gather(place, to, some);
		to += some;
		length -= some;
	}
}

void scatter_put(const struct scatter *s, const uint8_t *from, uint32_t length)
{
	const struct place *place;
	uint32_t some;

	for (place = s->at; place < s->at + s->count && length; place++) {
		some = place->length < length ? place->length : length;
		place_scatter(place, from, some);
		from += some;
		length -= some;
	}
}

const char *scatter_text(const struct scatter *s, char *text, size_t size)
{
	const struct place *place;
	size_t used = 0;

	text[0] = 0;
	for (place = s->at; place < s->at + s->count && used < size; place++)
		used += snprintf(
			text + used, size - used,
			"%s%u of %d at %#lx key %#x%s", used ? ", " : "",
			place->length,
			place->region ? (int)(place->region - regions) : -1,
			place->addr, place->key,
			place->refused		    ? " (bad)" :
			place->good < place->length ? " (not all there)" :
						      "");
	return text;
}
