// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The only file that touches payload. Copies between cursors inside their gates;
 * decides nothing, never sleeps while a gate is held, and never waits for a page.
 */
#include <linux/uaccess.h>
#include <linux/unaligned.h>

#include "../mem/dwell.h"
#include "move.h"

/*
 * How much is moved before the gates are left for a moment: bounds how long
 * whoever closes a gate waits, and others for the processor, at a cost that does not
 * show. Finding a run costs as much as moving some bytes.
 */
#define STRETCH (128 * 1024)
#define RUN 1024

static bool move_enter_both(struct pinion_node *node, struct pinion_cursor *to,
			    struct pinion_cursor *from, u64 need)
{
	struct pinion_cursor *stuck;
	int err;

	for (;;) {
		stuck = to;
		err = pinion_cursor_enter(to, need);
		if (!err) {
			stuck = from;
			err = pinion_cursor_enter(from, need);
		}
		if (!err)
			return true;
		pinion_cursor_leave(to);
		pinion_cursor_leave(from);
		if (err != -EBUSY)
			return false;
		pinion_stat_inc(node, gate_waits);
		pinion_cursor_wait(stuck);
	}
}

/*
 * Does memory that has failed not hold these 8 bytes? Reading them plainly would end the
 * machine then. Where the CPU cannot tell, nothing is left of this.
 */
static bool move_word_intact(const void *from)
{
	u64 word;

	return !copy_mc_to_kernel(&word, from, sizeof(word));
}

/*
 * Users poll the last bytes of a message to see that it has come, and take a word
 * of 8 bytes for one store, and one load. None of it is promised by the specification; all
 * of it holds on hardware. @last: nothing of the message comes after these.
 *
 * False: the source is memory that has failed. Some bytes may have been copied.
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
	/* A reader that polls the last bytes sees the others, also those of other pieces. */
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

/* What @lacking misses is held on to, then all gates are left, of @other too if there is one. */
static void move_miss(struct pinion_cursor *lacking, struct pinion_cursor *other, u64 want,
		      struct pinion_missing *missing)
{
	pinion_cursor_missing(lacking, want, missing);
	pinion_cursor_leave(lacking);
	if (other)
		pinion_cursor_leave(other);
}

enum pinion_moved pinion_move(struct pinion_node *node, struct pinion_cursor *to,
			      struct pinion_cursor *from, u64 *left,
			      struct pinion_missing *missing)
{
	u64 stretch = STRETCH, bytes;
	void *source, *sink;

	while (*left) {
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
		stretch -= min_t(u64, stretch, max_t(u64, bytes, RUN));
		if (!stretch) {
			pinion_cursor_leave(to);
			pinion_cursor_leave(from);
			cond_resched();
			stretch = STRETCH;
		}
	}
	pinion_cursor_leave(to);
	pinion_cursor_leave(from);
	return PINION_MOVED;
}

enum pinion_moved pinion_move_word(struct pinion_node *node, struct pinion_cursor *word,
				   enum pinion_word_op op, u64 operand, u64 swap, u64 *before,
				   struct pinion_missing *missing)
{
	atomic64_t *target;
	void *kva;
	u64 run;
	int err;

	while ((err = pinion_cursor_enter(word, sizeof(u64))) == -EBUSY) {
		pinion_stat_inc(node, gate_waits);
		pinion_cursor_wait(word);
	}
	if (err)
		return PINION_MOVE_REFUSED;
	run = pinion_cursor_run(word, sizeof(u64), &kva);
	if (!run) {
		move_miss(word, NULL, sizeof(u64), missing);
		return PINION_MOVE_NO_SINK;
	}
	/*
	 * The address as users name it says nothing of where the memory is, and in a list
	 * of pieces not even that it is in one place.
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
		*before = atomic64_xchg(target, operand);
		break;
	}
	pinion_cursor_leave(word);
	return PINION_MOVED;
}
