/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests that a send queue has begun: private copies, and how far each has come. They
 * are taken out of the shared ring once, in order, and retire in order, from the oldest, whoever
 * is through first. The shared slot of one is its user's again only when it retires.
 */
#ifndef PINION_PATH_REQUEST_H
#define PINION_PATH_REQUEST_H

#include "../logic/op.h"
#include "cursor.h"

/* Whoever holds sq.exec has all of it, but what names another. */
struct pinion_request {
	/* A user may change the slot it came from at any time: nobody looks there again. */
	struct pinion_sq_wqe *wqe;
	const struct pinion_op *op;	/* NULL: there is no such operation */
	u64 length;			/* of its payload */
	u32 psn;			/* of its first packet, once @begun */
	u32 packets;			/* at least one */
	u8 rnr_left;			/* how often it may still be tried again */
	u8 retry_left;
	u64 rnr_pause;			/* ns that were waited last for its receiver */

	/* It cannot be performed, as is told when it is the oldest; of an engine with a window */
	bool stuck;
	int status;			/* enum ib_wc_status */
	int syndrome;
	u64 at;				/* where @payload stands; likewise */

	/* How far it has come: one that lacks a page is performed again when it is there. */
	bool begun;			/* @payload is made, and was checked */
	bool answered;			/* a word was changed, and what it was */
	u64 answer;			/* is still to be stored */
	struct pinion_cursor payload;
	u64 token;			/* see struct pinion_msg */
	int fault_err;
	u64 fault_left;
};

/* The requests of one send queue that were begun and did not retire. */
struct pinion_requests {
	struct pinion_request *slots;
	void *wqes;			/* theirs */
	u32 depth;			/* how many may be begun; a power of two */
	u32 oldest;			/* these two only grow, and wrap */
	u32 next;
};

/* Room for @depth requests, each with a copy of @stride bytes. Return: 0 or -ENOMEM. */
int pinion_requests_init(struct pinion_requests *requests, u32 depth, size_t stride);
void pinion_requests_destroy(struct pinion_requests *requests);

/* Also for who asks from without: it may have changed then. */
static inline u32 pinion_requests_count(const struct pinion_requests *requests)
{
	return READ_ONCE(requests->next) - READ_ONCE(requests->oldest);
}

/* The one to retire next; NULL: none is begun. */
static inline struct pinion_request *pinion_requests_oldest(struct pinion_requests *requests)
{
	if (requests->next == requests->oldest)
		return NULL;
	return &requests->slots[requests->oldest & (requests->depth - 1)];
}

/* One more, of which only @wqe is valid, and not what is in it. NULL: there is no room. */
struct pinion_request *pinion_requests_add(struct pinion_requests *requests);

/* The oldest is over. Its memory is good until the next is added. */
void pinion_requests_retire(struct pinion_requests *requests);

/* All are, without a word. */
void pinion_requests_forget(struct pinion_requests *requests);

#endif
