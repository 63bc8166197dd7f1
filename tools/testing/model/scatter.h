/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One side of a message, which may be in several places, one behind the other.
 */
#ifndef PINION_TEST_SCATTER_H
#define PINION_TEST_SCATTER_H

#include "place.h"

/* What an sge names; a message may need less of it. */
struct part {
	const struct model_region *region;
	uint64_t off; /* in the region */
	uint32_t length;
};

struct scatter {
	struct part part[SGES];
	int parts;
	int pd, needs; /* whose rights count, and which it needs */
	bool write; /* the memory is written to */
	uint32_t length; /* of the message, in the following places */
	struct place at[SGES];
	int count;
};

/*
 * @length bytes of @r, or of it and others, by lkeys on a queue pair in domain @pd. @n: random.
 * What is written to does not overlap.
 */
struct scatter scatter_some(const struct model_region *r, uint32_t length,
			    uint32_t n, int pd, int needs, bool write);
/* A side of one place. */
struct scatter scatter_of(struct place place);
/* Only the first @length bytes are needed, and looked at. */
void scatter_need(struct scatter *s, uint32_t length);
/* The list for a work request, with all that was named at first. */
int scatter_sges(const struct scatter *s, struct ibv_sge *sges);

/* So many bytes from the start on can be accessed. */
uint32_t scatter_good(const struct scatter *s);
bool scatter_fails(const struct scatter *s);
/* The first place whose key does not allow it, or NULL. */
const struct place *scatter_refused(const struct scatter *s);
/* The first place with anything wrong, or NULL. */
const struct place *scatter_failing(const struct scatter *s);
bool scatter_overlaps(const struct scatter *a, const struct scatter *b);
bool scatter_crosses_itself(const struct scatter *s);
/* Is a key that has ended in it that another region has now? */
bool scatter_is_given_again(const struct scatter *s);
bool scatter_moves_on_demand(const struct scatter *s);
bool scatter_is_gone(const struct scatter *s);

/* Copy its first @length bytes from the model, or to it. */
void scatter_gather(const struct scatter *s, uint8_t *to, uint32_t length);
void scatter_put(const struct scatter *s, const uint8_t *from, uint32_t length);

/* For tell(): where it is, and what is wrong. */
const char *scatter_text(const struct scatter *s, char *text, size_t size);

/* Where in @r a message of @length bytes is: mostly within it. */
uint64_t scatter_offset(const struct model_region *r, uint32_t where,
			uint32_t n, uint32_t length);
/* An offset within @room, in one of eight cases any; near the end more often. */
uint64_t scatter_offset_in(uint32_t n, uint64_t room, uint32_t length);

/* ------------------------------------------------- what was done to memory */

/*
 * A message failed, and may have written the first @length bytes of @s: some of them are as in
 * @fresh, the others as before. @whole: all are, or none.
 */
void look_settle(const struct scatter *s, const uint8_t *fresh, uint32_t length,
		 bool whole);

/* Count what one side of a message has met. */
void count_side(const struct scatter *s, bool good);

#endif /* PINION_TEST_SCATTER_H */
