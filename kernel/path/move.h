/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copying payload between cursors, and atomic operations on payload.
 */
#ifndef PINION_PATH_MOVE_H
#define PINION_PATH_MOVE_H

#include "cursor.h"
#include "node.h"

enum pinion_moved {
	PINION_MOVED,
	PINION_MOVE_REFUSED,	/* by a cursor, which has a syndrome */
	PINION_MOVE_NO_SINK,	/* a page that would be written is missing */
	PINION_MOVE_NO_SOURCE,	/* a page that would be read is missing */
	PINION_MOVE_ON,		/* pinion_move_stretch() only: there is more to copy */
};

/*
 * Copy *@left bytes from @from to @to, each from its current position; both advance, and *@left is
 * what was not copied. If a page is missing, *@missing holds a reference to its pager; call again
 * when the page is there. On return no gate is held. Does not sleep.
 */
enum pinion_moved pinion_move(struct pinion_node *node, struct pinion_cursor *to,
			      struct pinion_cursor *from, u64 *left,
			      struct pinion_missing *missing);

/* Likewise, but only as much as is copied in one go. The caller may do something else meanwhile. */
enum pinion_moved pinion_move_stretch(struct pinion_node *node, struct pinion_cursor *to,
				      struct pinion_cursor *from, u64 *left,
				      struct pinion_missing *missing);

enum pinion_word_op {
	PINION_WORD_CMP_SWAP,
	PINION_WORD_FETCH_ADD,
	PINION_WORD_STORE,
};

/*
 * One atomic operation on the 8 bytes at @word, by a CPU instruction. *@before is set to the old
 * value, but not by PINION_WORD_STORE. Refused with PINION_SYN_ALIGN if the bytes are not aligned
 * or not contiguous in memory. Return and context: as pinion_move(); a missing page is
 * PINION_MOVE_NO_SINK.
 */
enum pinion_moved pinion_move_word(struct pinion_node *node, struct pinion_cursor *word,
				   enum pinion_word_op op, u64 operand, u64 swap, u64 *before,
				   struct pinion_missing *missing);

#endif
