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
 * Copy @bytes; @last says that they end the message. Programs poll the last bytes to see that a
 * message has come, and expect an aligned word of 8 bytes to be written by one store. The
 * specification does not promise it, but hardware does so. So the last word is copied last, and by
 * one load and one store where it is aligned.
 *
 * Return: false if the source's memory has failed; some bytes may have been copied.
 */
static bool move_copy(void *to, const void *from, size_t bytes, bool last)
{
	size_t head = bytes < sizeof(u64) ? 0 : bytes - sizeof(u64);

	if (!last)
		return !copy_mc_to_kernel(to, from, bytes);
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

/* Fill @missing for @lacking, then leave its gate and that of @other, which may be NULL. */
static void move_miss(struct pinion_cursor *lacking, struct pinion_cursor *other, u64 want,
		      struct pinion_missing *missing)
{
	pinion_cursor_missing(lacking, want, missing);
	pinion_cursor_leave(lacking);
	if (other)
		pinion_cursor_leave(other);
}

enum pinion_moved pinion_move_stretch(struct pinion_node *node, struct pinion_cursor *to,
				      struct pinion_cursor *from, u64 *left,
				      struct pinion_missing *missing)
{
	u64 stretch = pinion_stretch(), bytes;
	void *source, *sink;

	while (*left && stretch) {
		if (!move_enter_both(node, to, from, *left))
			return PINION_MOVE_REFUSED;
		bytes = pinion_cursor_run(from, min(*left, stretch), &source);
		if (!bytes) {
			move_miss(from, to, *left, missing);
			return PINION_MOVE_NO_SOURCE;
		}
		bytes = pinion_cursor_run(to, bytes, &sink);
		if (!bytes) {
			move_miss(to, from, *left, missing);
			return PINION_MOVE_NO_SINK;
		}
		pinion_dwell(PINION_DWELL_COPY);
		if (!move_copy(sink, source, bytes, bytes == *left)) {
			pinion_cursor_leave(to);
			pinion_cursor_leave(from);
			from->syndrome = PINION_SYN_FAULT;
			return PINION_MOVE_REFUSED;
		}
		pinion_cursor_advance(from, bytes);
		pinion_cursor_advance(to, bytes);
		*left -= bytes;
		stretch = pinion_stretch_after(stretch, bytes);
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

	while ((moved = pinion_move_stretch(node, to, from, left, missing)) == PINION_MOVE_ON)
		cond_resched();
	return moved;
}

enum pinion_moved pinion_move_word(struct pinion_node *node, struct pinion_cursor *word,
				   enum pinion_word_op op, u64 operand, u64 swap, u64 *before,
				   struct pinion_missing *missing)
{
	enum pinion_syndrome syndrome;
	atomic64_t *target;
	void *kva;
	u64 run;

	while ((syndrome = pinion_cursor_enter(word, sizeof(u64))) == PINION_SYN_CLOSED) {
		pinion_stat_inc(node, gate_waits);
		pinion_cursor_wait(word);
	}
	if (syndrome)
		return PINION_MOVE_REFUSED;
	run = pinion_cursor_run(word, sizeof(u64), &kva);
	if (!run) {
		move_miss(word, NULL, sizeof(u64), missing);
		return PINION_MOVE_NO_SINK;
	}
	/*
	 * The address in the request may be aligned although the memory is not, since regions can
	 * begin at any iova; and in a region of pieces the word may cross two of them.
	 */
	if (run < sizeof(u64) || !IS_ALIGNED((uintptr_t)kva, sizeof(u64))) {
		pinion_cursor_leave(word);
		word->syndrome = PINION_SYN_ALIGN;
		return PINION_MOVE_REFUSED;
	}
	if (!move_word_intact(kva)) {
		pinion_cursor_leave(word);
		word->syndrome = PINION_SYN_FAULT;
		return PINION_MOVE_REFUSED;
	}
	target = kva;
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
