// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The only file that accesses payload. Copies between cursors inside their gates. Does not sleep
 * while a gate is held, and does not wait for pages.
 */
#include <linux/uaccess.h>
#include <linux/unaligned.h>

#include "../mem/dwell.h"
#include "../mem/inject.h"
#include "move.h"

/* Spans of memory that are looked up at a time: most messages are of one, some of many pages. */
#define MOVE_SPANS	16

/*
 * Nobody can keep us here by closing a gate again and again: it is open for longer in between than
 * we need to enter it (see locking.rst).
 */
static bool move_enter_both(struct pinion_node *node, struct pinion_cursor *to,
			    struct pinion_cursor *from, u64 need)
{
	enum pinion_syndrome syndrome;
	struct pinion_cursor *stuck;

	for (;;) {
		stuck = to;
		syndrome = pinion_cursor_enter(to, need);
		if (!syndrome) {
			stuck = from;
			syndrome = pinion_cursor_enter(from, need);
		}
		if (!syndrome)
			return true;
		pinion_cursor_leave(to);
		pinion_cursor_leave(from);
		if (syndrome != PINION_SYN_CLOSED)
			return false;
		pinion_stat_inc(node, gate_waits);
		pinion_cursor_wait(stuck);
	}
}

/*
 * Can these 8 bytes be read? If the memory has failed, a plain load would be a fatal machine check;
 * copy_mc_to_kernel() recovers. On CPUs without that this compiles to nothing.
 */
static bool move_word_intact(const void *from)
{
	u64 word;

	return !copy_mc_to_kernel(&word, from, sizeof(word));
}

/*
 * Copy @bytes, which end the message. Programs poll the last bytes to see that a message has come,
 * and expect an aligned word of 8 bytes to be written by one store. The specification does not
 * promise it, but hardware does so. So the last word is copied last, and by one load and one store
 * where it is aligned.
 *
 * Return: false if the source's memory has failed; some bytes may have been copied.
 */
static bool move_copy_last(void *to, const void *from, size_t bytes)
{
	size_t head = bytes < sizeof(u64) ? 0 : bytes - sizeof(u64);

	if (bytes >= sizeof(u64) && !move_word_intact(from + head))
		return false;
	if (head && copy_mc_to_kernel(to, from, head))
		return false;
	/* All earlier bytes of the message must be visible before its last bytes are. */
	smp_wmb();
	to += head;
	from += head;
	if (bytes < sizeof(u64))
		return !copy_mc_to_kernel(to, from, bytes);
	if (IS_ALIGNED((uintptr_t)to, sizeof(u64)))
		WRITE_ONCE(*(u64 *)to, get_unaligned((const u64 *)from));
	else
		put_unaligned(get_unaligned((const u64 *)from), (u64 *)to);
	return true;
}

static void move_span_advance(struct pinion_span **span, u64 bytes)
{
	(*span)->kva += bytes;
	(*span)->length -= bytes;
	if (!(*span)->length)
		(*span)++;
}

/* Fill @missing for @lacking, then leave its gate and that of @other, which may be NULL. */
static void move_miss(struct pinion_cursor *lacking, struct pinion_cursor *other, u64 want,
		      struct pinion_missing *missing)
{
	pinion_cursor_missing(lacking, want, missing);
	pinion_cursor_leave(lacking);
	if (other)
		pinion_cursor_leave(other);
}

/*
 * Copy @bytes, which both have, of the @left bytes of the message; or less, if the stretch is over
 * before. Return: how many were copied; 0 if memory of the source has failed.
 */
static u64 move_spans(struct pinion_span *sink, struct pinion_span *source, u64 bytes, u64 left,
		      u64 *stretch)
{
	u64 before = left, end = left - bytes, run;

	for (;;) {
		run = min(source->length, sink->length);
		left -= run;
		pinion_dwell(PINION_DWELL_COPY);
		if (!left)
			return move_copy_last(sink->kva, source->kva, run) ? before : 0;
		if (copy_mc_to_kernel(sink->kva, source->kva, run))
			return 0;
		*stretch = pinion_stretch_after(*stretch, run);
		if (left == end || !*stretch)
			return before - left;
		move_span_advance(&source, run);
		move_span_advance(&sink, run);
	}
}

enum pinion_moved pinion_move_stretch(struct pinion_node *node, struct pinion_cursor *to,
				      struct pinion_cursor *from, u64 *left,
				      struct pinion_missing *missing)
{
	struct pinion_span source[MOVE_SPANS] __uninitialized, sink[MOVE_SPANS] __uninitialized;
	u64 stretch = pinion_stretch(), bytes;

	while (*left && stretch) {
		if (!move_enter_both(node, to, from, *left))
			return PINION_MOVE_REFUSED;
		bytes = pinion_cursor_spans(from, min(*left, stretch), source, MOVE_SPANS);
		if (!bytes) {
			move_miss(from, to, *left, missing);
			return PINION_MOVE_NO_SOURCE;
		}
		/* No more than the source has: what is behind a packet is for the next one. */
		bytes = pinion_cursor_spans(to, bytes, sink, MOVE_SPANS);
		if (!bytes) {
			move_miss(to, from, *left, missing);
			return PINION_MOVE_NO_SINK;
		}
		bytes = move_spans(sink, source, bytes, *left, &stretch);
		if (!bytes) {
			pinion_cursor_leave(to);
			pinion_cursor_leave(from);
			from->syndrome = PINION_SYN_FAULT;
			return PINION_MOVE_REFUSED;
		}
		pinion_cursor_advance(from, bytes);
		pinion_cursor_advance(to, bytes);
		*left -= bytes;
	}
	pinion_cursor_leave(to);
	pinion_cursor_leave(from);
	return *left ? PINION_MOVE_ON : PINION_MOVED;
}

enum pinion_moved pinion_move(struct pinion_node *node, struct pinion_cursor *to,
			      struct pinion_cursor *from, u64 *left,
			      struct pinion_missing *missing)
{
	enum pinion_moved moved;

	do
		moved = pinion_move_stretch(node, to, from, left, missing);
	while (moved == PINION_MOVE_ON);
	return moved;
}

enum pinion_moved pinion_move_word(struct pinion_node *node, struct pinion_cursor *word,
				   enum pinion_word_op op, u64 operand, u64 swap, u64 *before,
				   struct pinion_missing *missing)
{
	enum pinion_syndrome syndrome;
	struct pinion_span span;
	atomic64_t *target;

	while ((syndrome = pinion_cursor_enter(word, sizeof(u64))) == PINION_SYN_CLOSED) {
		pinion_stat_inc(node, gate_waits);
		pinion_cursor_wait(word);
	}
	if (syndrome)
		return PINION_MOVE_REFUSED;
	if (!pinion_cursor_spans(word, sizeof(u64), &span, 1)) {
		move_miss(word, NULL, sizeof(u64), missing);
		return PINION_MOVE_NO_SINK;
	}
	/*
	 * The address in the request may be aligned although the memory is not, since regions can
	 * begin at any iova; and in a region of pieces the word may cross two of them.
	 */
	if (span.length < sizeof(u64) || !IS_ALIGNED((uintptr_t)span.kva, sizeof(u64))) {
		pinion_cursor_leave(word);
		word->syndrome = PINION_SYN_ALIGN;
		return PINION_MOVE_REFUSED;
	}
	if (!move_word_intact(span.kva)) {
		pinion_cursor_leave(word);
		word->syndrome = PINION_SYN_FAULT;
		return PINION_MOVE_REFUSED;
	}
	target = span.kva;
	pinion_dwell(PINION_DWELL_COPY);
	switch (op) {
	case PINION_WORD_CMP_SWAP:
		*before = atomic64_cmpxchg(target, operand, swap);
		break;
	case PINION_WORD_FETCH_ADD:
		*before = atomic64_fetch_add(operand, target);
		break;
	case PINION_WORD_STORE:
		/* Nobody is told the old value. Earlier writes are visible before this one. */
		atomic64_set_release(target, operand);
		break;
	}
	pinion_cursor_leave(word);
	return PINION_MOVED;
}
