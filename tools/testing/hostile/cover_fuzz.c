// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sequences of uverbs calls that grow by what they reach: one that runs code of the module that
 * no other has run is kept, and changed further (item I13). The kept ones of earlier runs are in
 * fuzz/corpus/calls.
 */
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "device.h"
#include "kcov.h"
#include "victim.h"

enum {
	CORPUS = 2000, /* sequences */
	/* Addresses: what has to be reached, and room for a hash of them. */
	FLOOR = 3000,
	SLOTS = 1 << 17,
};

/* An address is in the slot of its hash or behind it; 0: none. */
struct addresses {
	uint64_t slot[SLOTS];
	size_t count;
};

static struct addresses reached;
static struct sequence *corpus[CORPUS];
static size_t kept;
static unsigned long runs;
/* How often each kind of call has succeeded. */
static unsigned long *good;

static bool address_add(struct addresses *set, uint64_t address)
{
	uint64_t state = address;
	size_t at = rnd_next(&state) % SLOTS;

	for (; set->slot[at]; at = (at + 1) % SLOTS) {
		if (set->slot[at] == address)
			return false;
	}
	CHECK(++set->count < SLOTS / 2);
	set->slot[at] = address;
	return true;
}

static bool address_there(const struct addresses *set, uint64_t address)
{
	uint64_t state = address;
	size_t at = rnd_next(&state) % SLOTS;

	for (; set->slot[at]; at = (at + 1) % SLOTS) {
		if (set->slot[at] == address)
			return true;
	}
	return false;
}

static size_t run(const struct sequence *sequence, const uint64_t **addresses)
{
	runs++;
	kcov_begin();
	sequence_run(sequence, good);
	return kcov_end(addresses);
}

/* Does @sequence reach something new? It is in @reached then. */
static bool reaches_new(const struct sequence *sequence)
{
	const uint64_t *addresses;
	size_t n = run(sequence, &addresses), before = reached.count;

	while (n--)
		address_add(&reached, addresses[n]);
	return reached.count > before;
}

static void keep(const struct sequence *sequence)
{
	if (kept == CORPUS)
		return;
	corpus[kept] = MUST(malloc(sizeof(*sequence)));
	*corpus[kept++] = *sequence;
}

/* Does @sequence reach all of @wanted? */
static bool reaches(const struct sequence *sequence,
		    const struct addresses *wanted)
{
	static struct addresses here;
	const uint64_t *addresses;
	size_t n = run(sequence, &addresses), i;

	memset(&here, 0, sizeof(here));
	while (n--)
		address_add(&here, addresses[n]);
	for (i = 0; i < SLOTS; i++) {
		if (wanted->slot[i] && !address_there(&here, wanted->slot[i]))
			return false;
	}
	return true;
}

/* Leave out calls and words of which what is new does not depend. */
static void shorten(struct sequence *sequence, const struct addresses *wanted)
{
	struct sequence shorter;
	unsigned int i, word;

	for (i = sequence->calls; i-- && sequence->calls > 1;) {
		shorter = *sequence;
		sequence_drop(&shorter, i);
		if (reaches(&shorter, wanted))
			*sequence = shorter;
	}
	for (i = 0; i < sequence->calls; i++) {
		for (word = 0; word < sequence->call[i].words; word++) {
			if (!sequence->call[i].word[word])
				continue;
			shorter = *sequence;
			shorter.call[i].word[word] = 0;
			if (reaches(&shorter, wanted))
				*sequence = shorter;
		}
	}
}

/* What lib.sh calls CORPUS; without it the test begins with nothing. */
static void read_corpus(void)
{
	const char *folder = getenv("CORPUS");
	static struct sequence sequence;
	char path[512], text[SEQUENCE_TEXT];
	size_t line = 0;
	FILE *file;

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/calls", folder);
	file = MUST(fopen(path, "r"));
	while (fgets(text, sizeof(text), file)) {
		line++;
		if (text[0] == '#' || text[0] == '\n')
			continue;
		if (!sequence_parse(&sequence, text))
			FAIL("%s:%zu is no sequence of calls", path, line);
		keep(&sequence);
	}
	fclose(file);
	CHECK(kept);
}

static int by_length(const void *a, const void *b)
{
	char text[2][SEQUENCE_TEXT];

	sequence_print(*(struct sequence *const *)a, text[0]);
	sequence_print(*(struct sequence *const *)b, text[1]);
	return (int)strlen(text[0]) - (int)strlen(text[1]);
}

/*
 * Print a new corpus: of the shortest sequences those that reach what no shorter one does, without
 * the calls and words that do not matter for that.
 */
static void print_corpus(void)
{
	static struct addresses wanted;
	char text[SEQUENCE_TEXT];
	const uint64_t *addresses;
	size_t i, n, printed = 0;

	qsort(corpus, kept, sizeof(corpus[0]), by_length);
	memset(&reached, 0, sizeof(reached));
	for (i = 0; i < kept; i++) {
		memset(&wanted, 0, sizeof(wanted));
		n = run(corpus[i], &addresses);
		while (n--) {
			if (!address_there(&reached, addresses[n]))
				address_add(&wanted, addresses[n]);
		}
		/* What another run does not reach again is chance. */
		if (!wanted.count || !reaches(corpus[i], &wanted))
			continue;
		shorten(corpus[i], &wanted);
		reaches_new(corpus[i]);
		sequence_print(corpus[i], text);
		printf("# corpus: %s\n", text);
		printed++;
	}
	fflush(stdout);
	note("printed: %zu sequences, which reach %zu addresses", printed,
	     reached.count);
}

/*
 * Sequences of calls, with those that reach new code kept and changed, do no harm; a victim beside
 * them goes on undisturbed, and the corpus reaches what it is kept for.
 */
static void i13_sequences(void)
{
	volatile struct victim *v;
	struct sequence next;
	size_t i, of_corpus, were;
	double end;

	if (!dev.pinion)
		skip("only pinion has these methods");
	kcov_open();
	v = victim_start();
	calls_begin();
	good = MUST(calloc(calls_kinds(), sizeof(*good)));
	read_corpus();
	were = kept;
	for (i = 0; i < were; i++)
		reaches_new(corpus[i]);
	of_corpus = reached.count;
	for (end = now() + opt.seconds; go_on(end, reached.count >= FLOOR);) {
		/* Now and then a new one. */
		if (!kept || !rnd_below(10)) {
			sequence_make(&next);
		} else {
			next = *corpus[rnd_below(kept)];
			sequence_mutate(&next, corpus[rnd_below(kept)]);
		}
		if (reaches_new(&next))
			keep(&next);
	}
	note("addresses reached: %zu, %zu of them by the %zu sequences of the corpus",
	     reached.count, of_corpus, were);
	note("sequences run: %lu, kept: %zu", runs, kept - were);
	for (i = 0; i < calls_kinds(); i++) {
		if (!good[i])
			note("never succeeded: %s", calls_name(i));
	}
	CHECK(reached.count >= FLOOR);
	if (getenv("PRINT_CORPUS"))
		print_corpus();
	victim_end(v);
}

static const struct test tests[] = {
	LONG_TEST(i13_sequences, "I13 sequences of calls that grow by coverage",
		  600),
};

HARNESS_MAIN("uverbs calls led by coverage", tests)
