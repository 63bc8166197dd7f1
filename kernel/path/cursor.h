/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A cursor is one end of a copy: a list of (key, address, length), or plain kernel memory, walked
 * from front to back. All sources and sinks of the data path are cursors, so that one loop
 * (move.c) copies between any two.
 *
 * A cursor that is *inside* is inside the gate of its current key (mem/gate.h), with preemption
 * disabled. Leave all gates before sleeping.
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
	void *lead;			/* the first sge is of this plain memory; or NULL */
	struct pinion_sge one;		/* storage where there is no list */
	void *memory;
	u32 piece;			/* plain memory in pieces: bytes of each; 0: in one */
	u32 stride;			/* bytes from the start of a piece to that of the next */

	u32 at;				/* the current sge */
	u64 within;			/* bytes into it */
	bool inside;
	u64 entered;			/* @within when the gate was entered */
	u64 era;			/* of the device, when the message began; 0: it has not */
	struct pinion_pass pass;
	enum pinion_syndrome syndrome;	/* the reason, once an access was refused */
};

/* Memory that a local work request names: @rights is 0 or IB_ACCESS_LOCAL_WRITE. */
void pinion_cursor_local(struct pinion_cursor *cursor, struct pinion_keys *keys,
			 struct ib_pd *pd, const struct pinion_sge *sge, u32 num_sge,
			 u32 rights);

/* Memory that a peer names by an rkey, in a message to QP @qpn. */
void pinion_cursor_remote(struct pinion_cursor *cursor, struct pinion_keys *keys,
			  struct ib_pd *pd, u32 qpn, u64 addr, u32 length, u32 rkey,
			  u32 rights);

void pinion_cursor_memory(struct pinion_cursor *cursor, void *memory);

/* Memory in pieces of @piece bytes, each @stride bytes behind the one before it. */
void pinion_cursor_pieces(struct pinion_cursor *cursor, void *memory, u32 piece, u32 stride);

/*
 * pinion_cursor_rewind(): the message begins anew, at its first byte; what it has accessed does not
 * count. pinion_cursor_seek(): it goes on at @offset. @cursor must not be inside.
 */
void pinion_cursor_rewind(struct pinion_cursor *cursor);
void pinion_cursor_seek(struct pinion_cursor *cursor, u64 offset);

/*
 * Check all keys of the list in advance, without entering their gates: a key may change afterwards,
 * and pinion_cursor_enter() checks again. Return: 0, or the syndrome, which is in cursor->syndrome,
 * too. @cursor must not be inside.
 */
enum pinion_syndrome pinion_cursor_check(struct pinion_cursor *cursor);

/*
 * Enter the gate at the current position; nothing to do if @cursor is inside. Only the @need bytes
 * that the message will touch are checked. If the key's memory was exchanged since the message
 * began (its era is a later one), the access is refused: a message must not be half in the old
 * memory and half in the new. Return: 0; PINION_SYN_CLOSED: leave all gates and call
 * pinion_cursor_wait(); or another syndrome, which is in cursor->syndrome, too.
 */
enum pinion_syndrome pinion_cursor_enter(struct pinion_cursor *cursor, u64 need);
void pinion_cursor_leave(struct pinion_cursor *cursor);
/* Spin until the gate that was closed is open. No gate may be held. */
void pinion_cursor_wait(struct pinion_cursor *cursor);

/*
 * The memory from the current position on, at most @want bytes, as contiguous spans, at most @most
 * of them; @cursor is inside. Return: the bytes of all of them; 0 if the page is missing: then call
 * pinion_cursor_missing(), leave all gates, and have the page faulted.
 */
u64 pinion_cursor_spans(const struct pinion_cursor *cursor, u64 want, struct pinion_span *spans,
			u32 most);

/* A missing page at @offset of the pager's region, and the range that will be accessed. */
struct pinion_missing {
	struct pinion_pager *pager;
	u64 offset;
	u64 length;
	bool write;
};

/*
 * Fill @missing for the current position, and take a reference to its pager. @cursor is inside. The
 * range that is to be brought is @want bytes; of memory that a peer names, all that its message
 * will touch.
 */
void pinion_cursor_missing(const struct pinion_cursor *cursor, u64 want,
			   struct pinion_missing *missing);

/*
 * pinion_missing_fault() faults the pages, then drops the reference; pinion_missing_put() only
 * drops it. The fault may never end: hold no gate, and no lock that anybody else waits for.
 * Return: as pinion_pager_fault().
 */
int pinion_missing_fault(struct pinion_missing *missing);
void pinion_missing_put(struct pinion_missing *missing);

/* Go on by @bytes, which are within the current sge. At its end its gate is left. */
void pinion_cursor_advance(struct pinion_cursor *cursor, u64 bytes);

#endif
