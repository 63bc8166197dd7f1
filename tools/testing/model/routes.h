/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Finds regions, windows and links for messages.
 */
#ifndef PINION_TEST_ROUTES_H
#define PINION_TEST_ROUTES_H

#include "scatter.h"

/* What a message needs of its two sides. */
struct needs {
	int local, remote; /* rights */
	bool local_write, remote_write;
	bool may_inline;
};

/* The two sides of a message, and the link. */
struct route {
	const struct needs *needs;
	int link;
	const struct model_region *from, *to;
	const struct model_window *window; /* NULL: by the region's key */
	uint32_t length;
	bool inlined; /* the local side is memory of the process */
	struct scatter local, remote;
};

/*
 * Takes a route by random numbers or, mostly, one whose keys are valid. False: there is none, or
 * the model cannot tell what would come of it.
 */
bool route_find(struct route *route, const uint32_t *n);
/*
 * A region by random numbers or, mostly, one in @pd with these rights, and long enough; NULL: it has
 * no key.
 */
const struct model_region *route_region(uint32_t n, int pd, int rights,
					uint32_t length);
/* Now and then the local side is inline data, if the message may have that and the process can read some. */
void route_inline(struct route *route, const uint32_t *n);
/* The local side for a work request; @no_key: the key of inline data, which does not matter. */
int route_sges(const struct route *route, struct ibv_sge *sges,
	       uint32_t no_key);

/* ------------------------------------------------------------------ outcomes */

/* Check how the requester of a message to remote memory has completed. */
void route_expect(struct ibv_wc wc, const struct route *route);
/*
 * Check the completion of a request that failed at its own side, before the peer has seen it or
 * meanwhile.
 */
void route_expect_local(struct ibv_wc wc, const struct scatter *local);
/* For tell(). */
const char *route_text(const struct route *route);
void route_count(const struct route *route, bool good);
/* How many bytes can have arrived although the message failed. */
uint32_t route_arrived_at_most(const struct scatter *local,
			       const struct scatter *remote);

#endif /* PINION_TEST_ROUTES_H */
