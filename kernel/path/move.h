/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Moving payload.
 */
#ifndef PINION_PATH_MOVE_H
#define PINION_PATH_MOVE_H

#include "cursor.h"
#include "node.h"

/*
 * Copy @length bytes from @from to @to, from where each stands. Return: true; or
 * false, and one of the two has a syndrome, or neither: the caller is killed, and a page
 * did not come. Both have left their gates. Sleeps.
 */
bool pinion_move(struct pinion_node *node, struct pinion_cursor *to,
		 struct pinion_cursor *from, u64 length);

enum pinion_word_op {
	PINION_WORD_CMP_SWAP,
	PINION_WORD_FETCH_ADD,
	PINION_WORD_STORE,
};

/*
 * One atomic operation on the 8 bytes at @word, atomic against everything on this
 * host; PINION_SYN_ALIGN if they are not aligned, or in pieces. The value before goes to
 * *@before. Return as above.
 */
bool pinion_move_word(struct pinion_node *node, struct pinion_cursor *word,
		      enum pinion_word_op op, u64 operand, u64 swap, u64 *before);

#endif
