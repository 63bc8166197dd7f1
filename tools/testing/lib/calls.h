/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Sequences of uverbs calls that are data: a call is a name and a list of words, and the same words
 * make the same call. A word of 0 is the usual, mostly valid choice, so a call without words does
 * what a well-behaved program would; other words are other handles, numbers, addresses, or a
 * missing attribute.
 */
#ifndef PINION_TEST_CALLS_H
#define PINION_TEST_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CALL_WORDS = 24, SEQUENCE_CALLS = 24, SEQUENCE_TEXT = 4096 };

struct call {
	unsigned int which; /* of calls_kinds() */
	unsigned int words;
	uint32_t word[CALL_WORDS];
};

struct sequence {
	unsigned int calls;
	struct call call[SEQUENCE_CALLS];
};

/* How many kinds of calls there are, and their names. */
unsigned int calls_kinds(void);
const char *calls_name(unsigned int which);

/* Memory for arguments, and a dma-buf. Once for each process, before the first sequence. */
void calls_begin(void);

/*
 * Carry out @sequence in a context of its own, which is closed after it. Adds to @good (of
 * calls_kinds() counters, or NULL) for each call that succeeded. Returns how many did.
 */
unsigned int sequence_run(const struct sequence *sequence, unsigned long *good);

/*
 * An answer of the last call: @length bytes for it at @at, which were filled with calls_poison
 * before. A call that writes behind them ends the test.
 */
struct answer {
	uint16_t id; /* of the attribute; UVERBS_ATTR_CORE_OUT for commands as structures */
	size_t length;
	const uint8_t *at; /* NULL: at a bad address */
};
extern uint8_t calls_poison;
unsigned int calls_answers(const struct answer **answers);

/* As text, of one line: calls and their words, separated by semicolons. */
void sequence_print(const struct sequence *sequence, char text[SEQUENCE_TEXT]);
/* False if @text is none. */
bool sequence_parse(struct sequence *sequence, const char *text);

/* Of random numbers. */
void sequence_make(struct sequence *sequence);
/* Change it a little: insert, drop, repeat or change a call, or go on as @other does. */
void sequence_mutate(struct sequence *sequence, const struct sequence *other);
/* Take out a call. */
void sequence_drop(struct sequence *sequence, unsigned int at);

#endif /* PINION_TEST_CALLS_H */
