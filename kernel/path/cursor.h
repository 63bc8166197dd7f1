/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A cursor is one end of a copy: a list of (key, address, length), or plain
 * kernel memory, walked byte by byte from the front. Every source and every sink
 * of the data path is one, so that one loop serves them all.
 *
 * A cursor that is *inside* holds a gate. Whoever moves bytes leaves all gates
 * before sleeping; see path/move.c.
 */
#ifndef PINION_PATH_CURSOR_H
#define PINION_PATH_CURSOR_H

#include "../mem/key.h"
#include <rdma/pinion-abi.h>

struct pinion_cursor {
	struct pinion_keys *keys;	/* NULL: plain memory */
	struct pinion_want want;	/* pd, qpn, rights, remote; key and range per sge */
	const struct pinion_sge *sge;
	u32 num_sge;
	struct pinion_sge one;		/* storage where there is no list */
	void *memory;
	u32 piece;			/* of plain memory that is in pieces: bytes of each, */
	u32 stride;			/* and how far the next is behind it; 0: it is in one */

	u32 at;				/* which sge */
	u64 within;			/* how far into it */
	bool inside;
	u64 entered;			/* @within when the gate was entered */
	bool begun;			/* this sge was entered before, */
	u32 generation;			/* and its key was of that generation */
	struct pinion_pass pass;
	int syndrome;			/* why it was refused, once it was */
};

/* Memory that a local work request names: @rights is 0 or IB_ACCESS_LOCAL_WRITE. */
void pinion_cursor_local(struct pinion_cursor *cursor, struct pinion_keys *keys,
			 struct ib_pd *pd, const struct pinion_sge *sge, u32 num_sge,
			 u32 rights);

/* Memory that a peer names by rkey, arriving on QP @qpn. */
void pinion_cursor_remote(struct pinion_cursor *cursor, struct pinion_keys *keys,
			  struct ib_pd *pd, u32 qpn, u64 addr, u32 length, u32 rkey,
			  u32 rights);

void pinion_cursor_memory(struct pinion_cursor *cursor, void *memory);

/* Memory in pieces of @piece bytes, each @stride bytes behind the one before it. */
void pinion_cursor_pieces(struct pinion_cursor *cursor, void *memory, u32 piece, u32 stride);

/* Back to the first byte, or to that at @offset. Not inside. */
void pinion_cursor_rewind(struct pinion_cursor *cursor);
void pinion_cursor_seek(struct pinion_cursor *cursor, u64 offset);

/*
 * Is every sge likely to be let in? Return: 0, or the syndrome, also in cursor->syndrome, if
 * not. May sleep; not inside before or after, and no gate is entered for a yes.
 */
int pinion_cursor_check(struct pinion_cursor *cursor);

/*
 * Be inside at the present position, for at most @need bytes: what a message does not
 * touch is not checked. A key whose memory was exchanged since this sge was begun
 * refuses, so that no access is half of one and half of the other. Return: 0; -EBUSY:
 * leave all gates and pinion_cursor_wait(); a syndrome, also in cursor->syndrome.
 */
int pinion_cursor_enter(struct pinion_cursor *cursor, u64 need);
void pinion_cursor_leave(struct pinion_cursor *cursor);
void pinion_cursor_wait(struct pinion_cursor *cursor);

/*
 * The run at the present position, at most @want bytes; inside. 0 if a page is missing:
 * hold on to it with pinion_cursor_missing(), leave all gates, pinion_missing_fault().
 */
u64 pinion_cursor_run(const struct pinion_cursor *cursor, u64 want, void **kva);

/* A page that is not there, and how much of what follows is wanted, too. */
struct pinion_missing {
	struct pinion_pager *pager;
	u64 offset;
	u64 length;
	bool write;
};

void pinion_cursor_missing(const struct pinion_cursor *cursor, u64 want,
			   struct pinion_missing *missing);

/*
 * Bring it and let go of it, or only that. In no gate, and holding nothing that a stranger
 * waits for: memory may take for ever. Return: as pinion_pager_fault().
 */
int pinion_missing_fault(struct pinion_missing *missing);
void pinion_missing_put(struct pinion_missing *missing);

void pinion_cursor_advance(struct pinion_cursor *cursor, u64 bytes);

#endif
