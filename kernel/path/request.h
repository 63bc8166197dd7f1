/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests that a send queue has begun: private copies, and the progress of each. They are
 * copied out of the shared ring once, in order, and retire in order, even if a later one is done
 * first. The slot in the shared ring is free for its user again when its request retires.
 */
#ifndef PINION_PATH_REQUEST_H
#define PINION_PATH_REQUEST_H

#include "../logic/op.h"
#include "cursor.h"

/* All of it belongs to the holder of sq.exec. */
struct pinion_request {
	/* The private copy. The slot in the ring may change at any time and is not read again. */
	struct pinion_sq_wqe *wqe;
	const struct pinion_op *op;	/* NULL: there is no such operation */
	u64 length;			/* of its payload */
	u32 psn;			/* of its first packet, once @begun */
	u32 packets;			/* at least one */
	u8 rnr_left;			/* RNR retries left */
	u8 retry_left;			/* retries without an answer left */
	u64 rnr_pause;			/* the last pause for RNR, in ns */

	/* Engines with a window: it has failed with @status, reported when it is the oldest. */
	bool stuck;
	int status;			/* enum ib_wc_status */
	enum pinion_syndrome syndrome;
	u64 at;				/* offset that @payload stands at; also of a COPY */

	/* Its progress, for a request that lacked a page and is tried again. */
	bool begun;			/* @payload is set up and was checked */
	bool answered;			/* an atomic was performed at the peer; @answer, the */
	u64 answer;			/* old value, is still to be stored */
	struct pinion_cursor payload;
	bool copying;			/* a COPY: @payload and @sink are set up and were checked */
	struct pinion_cursor sink;
	u64 token;			/* see struct pinion_msg */
	int fault_err;
	u64 fault_left;
};

/* The requests of one send queue that were begun and have not retired. */
struct pinion_requests {
	struct pinion_request *slots;
	void *wqes;			/* memory of all slots' @wqe */
	u32 depth;			/* number of slots; a power of two */
	u32 oldest;			/* counters that only grow, and wrap */
	u32 next;
};

/* Allocate @depth slots, each with a copy of @stride bytes. Return: 0 or -ENOMEM. */
int pinion_requests_init(struct pinion_requests *requests, u32 depth, size_t stride);
void pinion_requests_destroy(struct pinion_requests *requests);

/* May be called without a lock; the result may be stale then. */
static inline u32 pinion_requests_count(const struct pinion_requests *requests)
{
	return READ_ONCE(requests->next) - READ_ONCE(requests->oldest);
}

/* The request to retire next; NULL if none is begun. */
static inline struct pinion_request *pinion_requests_oldest(struct pinion_requests *requests)
{
	if (requests->next == requests->oldest)
		return NULL;
	return &requests->slots[requests->oldest & (requests->depth - 1)];
}

/* Begin a request. Its @wqe points to memory with old contents. NULL if all slots are used. */
struct pinion_request *pinion_requests_add(struct pinion_requests *requests);

/* Retire the oldest request. Its memory stays valid until the next one is added. */
void pinion_requests_retire(struct pinion_requests *requests);

/* Drop all of them without completions. */
void pinion_requests_forget(struct pinion_requests *requests);

#endif
