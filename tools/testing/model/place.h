/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Where one side of a message is: whether its key allows it, and which bytes of which frames
 * it is then.
 */
#ifndef PINION_TEST_PLACE_H
#define PINION_TEST_PLACE_H

#include "model.h"

/* Consecutive bytes of a frame. */
struct piece {
	struct frame *frame;
	uint32_t at, length;
};

/* One side of a message: a key, an address, and what the model knows of the memory. */
struct place {
	const struct model_region *region; /* NULL: inline data, or no key */
	uint64_t off; /* in the region */
	uint64_t addr;
	uint32_t key, length;
	bool refused; /* the key does not allow it */
	int syndrome; /* then: with which, at this side */
	uint32_t good; /* so many bytes from the start on can be accessed; 0 if refused */
	struct piece pieces[PAGES];
	int count;
};

/*
 * [@off, + @length) of a region, by its lkey or, @remote, its rkey, on a queue pair in domain @pd.
 * @needs: rights; @write: the memory is written to.
 */
struct place place_in_region(const struct model_region *r, uint64_t off,
			     uint32_t length, int pd, int needs, bool remote,
			     bool write);
/* The same of a window, by its rkey, on @link. */
struct place place_in_window(const struct model_window *w, uint64_t off,
			     uint32_t length, int link, int needs, bool write);
/* Memory as the process sees it, for inline data: of no region. */
struct place place_in_space(const struct space *space, uint64_t at,
			    uint32_t length);
/* Is something wrong with it? */
bool place_fails(const struct place *place);
bool place_overlaps(const struct place *a, const struct place *b);
/* Does it access a page that is not where the process had it when it was pinned? */
bool place_is_gone(const struct place *place);
/* Are any bytes of memory on demand moved from or to it? */
bool place_moves_on_demand(const struct place *place);
/* Copy its first @length bytes from the model, or to it. */
void place_gather(const struct place *place, uint8_t *to, uint32_t length);
void place_scatter(const struct place *place, const uint8_t *from,
		   uint32_t length);

#endif /* PINION_TEST_PLACE_H */
