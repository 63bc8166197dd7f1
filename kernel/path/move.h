/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Moving payload.
 */
#ifndef PINION_PATH_MOVE_H
#define PINION_PATH_MOVE_H

#include "cursor.h"
#include "node.h"

enum pinion_moved {
	PINION_MOVED,
	PINION_MOVE_REFUSED,	/* by a cursor, which has a syndrome */
	PINION_MOVE_NO_SINK,	/* a page that is to be written is missing */
	PINION_MOVE_NO_SOURCE,	/* one that is to be read */
};

/*
 * Copy *@left bytes from @from to @to, from where each stands; what is not copied is left.
 * A page that is missing is in *@missing, held on to: once it is there, call again. Both have
 * left their gates. Sleeps, but for no page.
 */
enum pinion_moved pinion_move(struct pinion_node *node, struct pinion_cursor *to,
			      struct pinion_cursor *from, u64 *left,
			      struct pinion_missing *missing);

enum pinion_word_op {
	PINION_WORD_CMP_SWAP,
	PINION_WORD_FETCH_ADD,
	PINION_WORD_STORE,
};

/*
 * One atomic operation on the 8 bytes at @word, atomic against everything on this
 * host; PINION_SYN_ALIGN if they are not aligned, or in pieces. The value before goes to
 * *@before. Return as above; nothing is done if the page is missing (NO_SINK).
 */
enum pinion_moved pinion_move_word(struct pinion_node *node, struct pinion_cursor *word,
				   enum pinion_word_op op, u64 operand, u64 swap, u64 *before,
				   struct pinion_missing *missing);

#endif
