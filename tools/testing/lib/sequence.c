// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sequences as text, and made of others. What a call does is in calls.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "harness.h"

/* Zeros at the end are not told. */
static unsigned int told(const struct call *call)
{
	unsigned int n = call->words;

	while (n && !call->word[n - 1])
		n--;
	return n;
}

void sequence_print(const struct sequence *sequence, char text[SEQUENCE_TEXT])
{
	const struct call *call;
	unsigned int i;
	int used = 0;

	text[0] = 0;
	for (call = sequence->call; call < sequence->call + sequence->calls;
	     call++) {
		used += snprintf(text + used, SEQUENCE_TEXT - used, "%s%s",
				 used ? "; " : "", calls_name(call->which));
		for (i = 0; i < told(call); i++)
			used += snprintf(text + used, SEQUENCE_TEXT - used,
					 " %x", call->word[i]);
		if (used >= SEQUENCE_TEXT)
			FAIL("a sequence of more than %d bytes", SEQUENCE_TEXT);
	}
}

static bool parse_call(struct call *call, char *text)
{
	char *left, *end, *word = strtok_r(text, " \n", &left);

	*call = (struct call){};
	if (!word)
		return false;
	while (strcmp(calls_name(call->which), word)) {
		if (++call->which == calls_kinds())
			return false;
	}
	while ((word = strtok_r(NULL, " \n", &left))) {
		if (call->words == CALL_WORDS)
			return false;
		call->word[call->words++] = strtoul(word, &end, 16);
		if (*end)
			return false;
	}
	return true;
}

bool sequence_parse(struct sequence *sequence, const char *text)
{
	char copy[SEQUENCE_TEXT], *left, *one;

	sequence->calls = 0;
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return false;
	for (one = strtok_r(copy, ";", &left); one;
	     one = strtok_r(NULL, ";", &left)) {
		if (sequence->calls == SEQUENCE_CALLS ||
		    !parse_call(&sequence->call[sequence->calls++], one))
			return false;
	}
	return sequence->calls;
}

/* Three bits say how, the others are a number; small numbers are the more useful ones. */
static uint32_t some_word(void)
{
	uint32_t how = rnd_below(8);

	switch (rnd_below(4)) {
	case 0:
		return rnd();
	case 1:
		return how | rnd_below(1 << 12) << 3;
	default:
		return how | rnd_below(16) << 3;
	}
}

/* Mostly with few words that are not 0, at any place. */
static struct call some_call(void)
{
	struct call call = { .which = rnd_below(calls_kinds()) };
	unsigned int n = rnd() & 1 ? 0 : rnd_below(4);

	while (n--) {
		unsigned int at = rnd() & 1 ? rnd_below(8) :
					      rnd_below(CALL_WORDS);

		call.word[at] = some_word();
		if (call.words <= at)
			call.words = at + 1;
	}
	return call;
}

static void insert(struct sequence *sequence, unsigned int at, struct call call)
{
	if (sequence->calls == SEQUENCE_CALLS)
		sequence->calls--;
	if (at > sequence->calls)
		at = sequence->calls;
	memmove(&sequence->call[at + 1], &sequence->call[at],
		(sequence->calls - at) * sizeof(call));
	sequence->call[at] = call;
	sequence->calls++;
}

void sequence_drop(struct sequence *sequence, unsigned int at)
{
	sequence->calls--;
	memmove(&sequence->call[at], &sequence->call[at + 1],
		(sequence->calls - at) * sizeof(sequence->call[0]));
}

void sequence_make(struct sequence *sequence)
{
	unsigned int n = rnd_in(1, SEQUENCE_CALLS / 2);

	sequence->calls = 0;
	while (n--)
		insert(sequence, sequence->calls, some_call());
}

static void change_word(struct call *call)
{
	unsigned int at = rnd() & 1 ? rnd_below(8) : rnd_below(CALL_WORDS);

	switch (rnd_below(4)) {
	case 0:
		call->word[at] ^= 1U << rnd_below(12);
		break;
	case 1:
		call->word[at] = 0;
		break;
	default:
		call->word[at] = some_word();
	}
	if (call->words <= at)
		call->words = at + 1;
}

/* The first calls of @sequence, then the last of @other. */
static void splice(struct sequence *sequence, const struct sequence *other)
{
	unsigned int at = rnd_below(other->calls);

	sequence->calls = rnd_in(1, sequence->calls);
	while (at < other->calls && sequence->calls < SEQUENCE_CALLS)
		sequence->call[sequence->calls++] = other->call[at++];
}

void sequence_mutate(struct sequence *sequence, const struct sequence *other)
{
	do {
		unsigned int at = rnd_below(sequence->calls);

		switch (rnd_below(8)) {
		case 0:
		case 1:
			insert(sequence, rnd_below(sequence->calls + 1),
			       some_call());
			break;
		case 2:
			if (sequence->calls > 1)
				sequence_drop(sequence, at);
			break;
		case 3:
			insert(sequence, rnd_below(sequence->calls + 1),
			       sequence->call[at]);
			break;
		case 4:
			splice(sequence, other);
			break;
		default:
			change_word(&sequence->call[at]);
		}
	} while (rnd() & 1);
}
