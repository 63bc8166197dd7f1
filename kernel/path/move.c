// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The only file that touches payload. Copies between cursors inside their gates;
 * decides nothing, and never sleeps while a gate is held.
 */
#include <linux/sched/signal.h>

#include "../mem/dwell.h"
#include "move.h"

/*
 * How much is moved before the gates are left for a moment: bounds how long
 * whoever closes a gate waits, and others for the processor, at a cost that does not
 * show. Finding a run costs as much as moving some bytes.
 */
#define STRETCH (128 * 1024)
#define RUN 1024

/* How often in a row who is killed asks for a page that has gone again when he comes. */
#define MAX_TRIES 8

static bool enter_both(struct pinion_node *node, struct pinion_cursor *to,
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
 * Users poll the last bytes of a message to see that it has come, and take a word
 * of 8 bytes for one store. Neither is promised by the specification; both hold on
 * hardware.
 */
static void copy(void *to, const void *from, size_t bytes)
{
	size_t head;

	if (bytes < sizeof(u64)) {
		memcpy(to, from, bytes);
		return;
	}
	head = bytes - sizeof(u64);
	if (head) {
		memcpy(to, from, head);
		/* A reader that polls the last bytes sees the others, too. */
		smp_wmb();
	}
	WRITE_ONCE(*(u64 *)(to + head), *(const u64 *)(from + head));
}

/*
 * Leaves the gates, of @other too if there is one, and brings the page that @lacking
 * misses. Sleeps.
 *
 * For a killed process the message ends here with an error of the fault, or after MAX_TRIES
 * pages in a row that were gone again (@tries counts these). Neither is a fault of the
 * memory, which may be a peer's, so @lacking gets no syndrome.
 */
static bool fault_in(struct pinion_cursor *lacking, struct pinion_cursor *other, u64 want,
		     u32 *tries)
{
	struct pinion_missing missing;
	int err;

	pinion_cursor_missing(lacking, want, &missing);
	pinion_cursor_leave(lacking);
	if (other)
		pinion_cursor_leave(other);
	err = pinion_missing_fault(&missing);
	if (fatal_signal_pending(current))
		return !err && ++*tries < MAX_TRIES;
	if (err)
		lacking->syndrome = PINION_SYN_FAULT;
	return !err;
}

bool pinion_move(struct pinion_node *node, struct pinion_cursor *to,
		 struct pinion_cursor *from, u64 length)
{
	u64 stretch = STRETCH, bytes;
	void *source, *sink;
	u32 tries = 0;

	while (length) {
		if (!enter_both(node, to, from, length))
			return false;
		bytes = pinion_cursor_run(from, min(length, stretch), &source);
		if (!bytes) {
			if (!fault_in(from, to, length, &tries))
				return false;
			continue;
		}
		bytes = pinion_cursor_run(to, bytes, &sink);
		if (!bytes) {
			if (!fault_in(to, from, length, &tries))
				return false;
			continue;
		}
		pinion_dwell(PINION_DWELL_COPY);
		copy(sink, source, bytes);
		tries = 0;
		pinion_cursor_advance(from, bytes);
		pinion_cursor_advance(to, bytes);
		length -= bytes;
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
	return true;
}

bool pinion_move_word(struct pinion_node *node, struct pinion_cursor *word,
		      enum pinion_word_op op, u64 operand, u64 swap, u64 *before)
{
	atomic64_t *target;
	u32 tries = 0;
	void *kva;
	u64 run;
	int err;

	for (;;) {
		while ((err = pinion_cursor_enter(word, sizeof(u64))) == -EBUSY) {
			pinion_stat_inc(node, gate_waits);
			pinion_cursor_wait(word);
		}
		if (err)
			return false;
		run = pinion_cursor_run(word, sizeof(u64), &kva);
		if (run)
			break;
		if (!fault_in(word, NULL, sizeof(u64), &tries))
			return false;
	}
	/*
	 * The address as users name it says nothing of where the memory is, and in a list
	 * of pieces not even that it is in one place.
	 */
	if (run < sizeof(u64) || !IS_ALIGNED((uintptr_t)kva, sizeof(u64))) {
		pinion_cursor_leave(word);
		word->syndrome = PINION_SYN_ALIGN;
		return false;
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
	return true;
}
