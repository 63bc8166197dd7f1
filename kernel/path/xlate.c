// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Cursors: translate (key, address, length) into contiguous runs of memory. path/move.c accesses
 * the payload.
 */
#include <rdma/ib_verbs.h>

#include "../mem/pager.h"
#include "cursor.h"

void pinion_cursor_local(struct pinion_cursor *cursor, struct pinion_keys *keys,
			 struct ib_pd *pd, const struct pinion_sge *sge, u32 num_sge,
			 u32 rights)
{
	memset(cursor, 0, sizeof(*cursor));
	cursor->keys = keys;
	cursor->want.pd = pd;
	cursor->want.rights = rights;
	cursor->sge = sge;
	cursor->num_sge = num_sge;
}

void pinion_cursor_remote(struct pinion_cursor *cursor, struct pinion_keys *keys,
			  struct ib_pd *pd, u32 qpn, u64 addr, u32 length, u32 rkey,
			  u32 rights)
{
	memset(cursor, 0, sizeof(*cursor));
	cursor->keys = keys;
	cursor->want.pd = pd;
	cursor->want.qpn = qpn;
	cursor->want.rights = rights;
	cursor->want.remote = true;
	cursor->one = (struct pinion_sge){ .addr = addr, .length = length, .lkey = rkey };
	cursor->sge = &cursor->one;
	cursor->num_sge = 1;
}

void pinion_cursor_memory(struct pinion_cursor *cursor, void *memory)
{
	memset(cursor, 0, sizeof(*cursor));
	cursor->memory = memory;
}

void pinion_cursor_pieces(struct pinion_cursor *cursor, void *memory, u32 piece, u32 stride)
{
	pinion_cursor_memory(cursor, memory);
	cursor->piece = piece;
	cursor->stride = stride;
}

void pinion_cursor_rewind(struct pinion_cursor *cursor)
{
	cursor->at = 0;
	cursor->within = 0;
	cursor->era = 0;
}

void pinion_cursor_seek(struct pinion_cursor *cursor, u64 offset)
{
	cursor->at = 0;
	while (cursor->at < cursor->num_sge && offset > cursor->sge[cursor->at].length)
		offset -= cursor->sge[cursor->at++].length;
	cursor->within = offset;
}

/* Is the current position in plain memory, which has no gate? */
static bool cursor_is_plain(const struct pinion_cursor *cursor)
{
	return !cursor->keys || (cursor->lead && !cursor->at);
}

static enum pinion_syndrome cursor_refuse(struct pinion_cursor *cursor,
					  enum pinion_syndrome syndrome)
{
	cursor->syndrome = syndrome;
	return syndrome;
}

enum pinion_syndrome pinion_cursor_enter(struct pinion_cursor *cursor, u64 need)
{
	enum pinion_syndrome syndrome;
	const struct pinion_sge *sge;

	if (cursor->inside || !cursor->keys)
		return 0;
	while (cursor->at < cursor->num_sge &&
	       cursor->within == cursor->sge[cursor->at].length) {
		cursor->at++;
		cursor->within = 0;
	}
	/* Cannot happen: callers compare the lengths before they copy. */
	if (WARN_ON_ONCE(cursor->at >= cursor->num_sge))
		return cursor_refuse(cursor, PINION_SYN_LENGTH);
	if (cursor_is_plain(cursor))
		return 0;

	sge = &cursor->sge[cursor->at];
	cursor->want.key = sge->lkey;
	cursor->want.addr = sge->addr + cursor->within;
	cursor->want.length = min_t(u64, sge->length - cursor->within, need);
	/* The sum above may have wrapped. The key's bounds refuse a range that wraps later. */
	if (cursor->want.addr < sge->addr)
		return cursor_refuse(cursor, PINION_SYN_KEY_RANGE);
	syndrome = pinion_key_enter(cursor->keys, &cursor->want, &cursor->pass);
	/* It begins here, in the gate: one that had to wait for a change has not begun before. */
	if (!syndrome && !cursor->era)
		cursor->era = pinion_keys_era(cursor->keys);
	if (!syndrome && cursor->pass.era > cursor->era) {
		pinion_key_leave(&cursor->pass);
		syndrome = PINION_SYN_KEY_STATE;
	}
	if (syndrome)
		return syndrome == PINION_SYN_CLOSED ? syndrome : cursor_refuse(cursor, syndrome);
	cursor->inside = true;
	cursor->entered = cursor->within;
	return 0;
}

void pinion_cursor_leave(struct pinion_cursor *cursor)
{
	if (!cursor->inside)
		return;
	pinion_key_leave(&cursor->pass);
	cursor->inside = false;
}

void pinion_cursor_wait(struct pinion_cursor *cursor)
{
	pinion_key_wait(cursor->keys, cursor->pass.closed);
}

enum pinion_syndrome pinion_cursor_check(struct pinion_cursor *cursor)
{
	const struct pinion_sge *sge;
	enum pinion_syndrome syndrome;
	u32 i;

	for (i = cursor->lead ? 1 : 0; i < cursor->num_sge; i++) {
		sge = &cursor->sge[i];
		if (!sge->length)
			continue;
		cursor->want.key = sge->lkey;
		cursor->want.addr = sge->addr;
		cursor->want.length = sge->length;
		syndrome = pinion_key_glance(cursor->keys, &cursor->want);
		if (syndrome)
			return cursor_refuse(cursor, syndrome);
	}
	return 0;
}

static struct pinion_span cursor_span_of_memory(const struct pinion_cursor *cursor, u64 want)
{
	u32 piece, within;

	if (!cursor->piece)
		return (struct pinion_span){ cursor->memory + cursor->within, want };
	piece = (u32)cursor->within / cursor->piece;
	within = (u32)cursor->within % cursor->piece;
	return (struct pinion_span){
		.kva = cursor->memory + piece * cursor->stride + within,
		.length = min_t(u64, want, cursor->piece - within),
	};
}

u64 pinion_cursor_spans(const struct pinion_cursor *cursor, u64 want, struct pinion_span *spans,
			u32 most)
{
	if (!cursor->keys) {
		*spans = cursor_span_of_memory(cursor, want);
		return spans->length;
	}
	want = min_t(u64, want, cursor->sge[cursor->at].length - cursor->within);
	if (!cursor_is_plain(cursor))
		return pinion_pass_spans(&cursor->pass, cursor->within - cursor->entered, want,
					 spans, most);
	*spans = (struct pinion_span){ cursor->lead + cursor->within, want };
	return want;
}

void pinion_cursor_missing(const struct pinion_cursor *cursor, u64 want,
			   struct pinion_missing *missing)
{
	u64 rest = cursor->sge[cursor->at].length - cursor->within;
	u64 since_entered = cursor->within - cursor->entered;
	const struct pinion_pass *pass = &cursor->pass;
	u64 offset = pass->offset + since_entered;

	/*
	 * Fault a remote range to its end, since the pieces of the message that follow (@want is
	 * this one) will access it. Only this piece was checked, so do not exceed the region.
	 */
	want = cursor->want.remote ? pass->region->length - offset : want;
	*missing = (struct pinion_missing){
		.pager = pass->region->pager,
		.offset = offset,
		.length = min3(want, rest, pass->length - since_entered),
		.write = pass->writes,
	};
	pinion_pager_get(missing->pager);
}

int pinion_missing_fault(struct pinion_missing *missing)
{
	int err = pinion_pager_fault(missing->pager, missing->offset, missing->length,
				     missing->write);

	pinion_missing_put(missing);
	return err;
}

void pinion_missing_put(struct pinion_missing *missing)
{
	pinion_pager_put(missing->pager);
}

void pinion_cursor_advance(struct pinion_cursor *cursor, u64 bytes)
{
	cursor->within += bytes;
	if (cursor_is_plain(cursor))
		return;
	/* The next sge, or range of a layout, has its own key and gate. */
	if (cursor->within == cursor->sge[cursor->at].length ||
	    cursor->within - cursor->entered == cursor->pass.length)
		pinion_cursor_leave(cursor);
}
