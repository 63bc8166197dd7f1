// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory with hardware errors: the reader gets an error, and nothing else happens. The machine
 * check is simulated by a copy that stops before one byte; so the test sees how far copying was
 * tried. And memory in pieces, or in blocks anywhere: each byte comes where it belongs.
 */
#include <kunit/test.h>
#include <linux/io.h>
#include <linux/uaccess.h>

#include "keys.h"
#include "random.h"

/* The bad byte, or NULL; and how far copying was tried. */
static const u8 *poison;
static unsigned long tried;

static unsigned long copy_that_may_fail(void *to, const void *from, size_t bytes)
{
	const u8 *source = from;
	size_t good = bytes;

	tried += bytes;
	if (poison && poison >= source && poison < source + bytes)
		good = poison - source;
	memcpy(to, from, good);
	return bytes - good;
}

#undef copy_mc_to_kernel
#define copy_mc_to_kernel copy_that_may_fail

#include "../kernel/path/move.c"
#include "../kernel/path/xlate.c"

#define LENGTH	100

struct move_test {
	struct pinion_node node;
	u8 source[LENGTH] __aligned(8);
	u8 sink[LENGTH] __aligned(8);
};

static bool move_all(struct move_test *t, u64 length, int *syndrome)
{
	struct pinion_cursor to, from;
	struct pinion_missing missing;
	enum pinion_moved moved;

	pinion_cursor_memory(&from, t->source);
	pinion_cursor_memory(&to, t->sink);
	moved = pinion_move(&t->node, &to, &from, &length, &missing);
	*syndrome = from.syndrome;
	return moved == PINION_MOVED;
}

static void a_byte_that_has_failed_is_a_fault_wherever_it_is(struct kunit *test)
{
	struct move_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	u32 length, bad, wrong = 0;
	int syndrome;

	KUNIT_ASSERT_NOT_NULL(test, t);
	for (length = 1; length <= LENGTH; length++) {
		for (bad = 0; bad < length; bad++) {
			poison = &t->source[bad];
			syndrome = 0;
			wrong += move_all(t, length, &syndrome);
			wrong += syndrome != PINION_SYN_FAULT;
		}
		/* The bad byte is one beyond the range. */
		poison = length < LENGTH ? &t->source[length] : NULL;
		wrong += !move_all(t, length, &syndrome) || syndrome;
	}
	poison = NULL;
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static void every_byte_is_tried_before_it_is_moved(struct kunit *test)
{
	struct move_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	u32 length, i;
	int syndrome;

	KUNIT_ASSERT_NOT_NULL(test, t);
	for (i = 0; i < LENGTH; i++)
		t->source[i] = i + 1;
	for (length = 1; length < LENGTH; length++) {
		memset(t->sink, 0, LENGTH);
		tried = 0;
		KUNIT_EXPECT_TRUE(test, move_all(t, length, &syndrome));
		KUNIT_EXPECT_EQ(test, tried, length);
		KUNIT_EXPECT_MEMEQ(test, t->sink, t->source, length);
		KUNIT_EXPECT_EQ(test, t->sink[length], 0);
	}
}

static void a_word_that_has_failed_is_no_operand(struct kunit *test)
{
	struct move_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct pinion_missing missing;
	struct pinion_cursor word;
	u64 before;
	u32 op;

	KUNIT_ASSERT_NOT_NULL(test, t);
	for (op = PINION_WORD_CMP_SWAP; op <= PINION_WORD_STORE; op++) {
		pinion_cursor_memory(&word, t->source);
		poison = &t->source[5];
		KUNIT_EXPECT_EQ(test, PINION_MOVE_REFUSED,
				pinion_move_word(&t->node, &word, op, 0, 7, &before, &missing));
		KUNIT_EXPECT_EQ(test, word.syndrome, (int)PINION_SYN_FAULT);
		KUNIT_EXPECT_EQ(test, *(u64 *)t->source, 0ULL);
		poison = &t->source[8];
		pinion_cursor_memory(&word, t->source);
		KUNIT_EXPECT_EQ(test, PINION_MOVED,
				pinion_move_word(&t->node, &word, op, 0, 0, &before, &missing));
	}
	poison = NULL;
}

/* Between pieces of different sizes, by parts of any length. */
static void memory_in_pieces_is_in_order(struct kunit *test)
{
	struct move_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	u32 from_piece, to_piece, from_gap = 3, to_gap = 5, length, i, wrong = 0;
	struct pinion_cursor to, from;
	struct pinion_missing missing;
	u64 left;

	KUNIT_ASSERT_NOT_NULL(test, t);
	for (i = 0; i < LENGTH; i++)
		t->source[i] = i + 1;
	for (from_piece = 1; from_piece <= 12; from_piece++)
		for (to_piece = 1; to_piece <= 12; to_piece++) {
			/* The length that fits into both. */
			length = min(LENGTH / (from_piece + from_gap) * from_piece,
				     LENGTH / (to_piece + to_gap) * to_piece);
			memset(t->sink, 0, LENGTH);
			pinion_cursor_pieces(&from, t->source, from_piece, from_piece + from_gap);
			pinion_cursor_pieces(&to, t->sink, to_piece, to_piece + to_gap);
			left = length / 2;
			wrong += pinion_move(&t->node, &to, &from, &left, &missing) != PINION_MOVED;
			left = length - length / 2;
			wrong += pinion_move(&t->node, &to, &from, &left, &missing) != PINION_MOVED;
			for (i = 0; i < length; i++)
				wrong += t->sink[i + i / to_piece * to_gap] !=
					 t->source[i + i / from_piece * from_gap];
			for (i = 0; i < LENGTH; i++)
				wrong += t->sink[i] && i % (to_piece + to_gap) >= to_piece;
		}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* Memory of a region in blocks, of which none, some, or all are next to the one before them. */
#define BLOCK_SHIFT	9
#define BLOCK		BIT(BLOCK_SHIFT)
#define BLOCKS		40
#define BASE		0x7f0000000123ULL
/* So it fits wherever it begins in the first block. */
#define REGION		((BLOCKS - 1) * BLOCK)

struct scattered {
	u8 memory[BLOCKS * BLOCK];
	u32 order[BLOCKS];
	struct pinion_key *key;
};

static void free_mtt(void *mtt)
{
	pinion_mtt_free(mtt);
}

static struct scattered *new_scattered(struct kunit *test)
{
	struct scattered *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	for (i = 0; i < BLOCKS; i++)
		s->order[i] = i;
	s->key = new_region(test, BASE, REGION, ALL_RIGHTS);
	s->key->mtt = pinion_mtt_alloc(BLOCKS, BLOCK_SHIFT, 0);
	KUNIT_ASSERT_NOT_NULL(test, s->key->mtt);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_mtt, s->key->mtt), 0);
	return s;
}

/* Other blocks, and another begin in the first one. */
static void scattered_shuffle(struct scattered *s, struct rnd_state *rnd)
{
	u32 one = random_below(rnd, BLOCKS), other = random_below(rnd, BLOCKS), i;

	swap(s->order[one], s->order[other]);
	s->key->mtt->first = random_below(rnd, BLOCK);
	for (i = 0; i < BLOCKS; i++)
		*pinion_mtt_slot(s->key->mtt, i) = virt_to_phys(s->memory + s->order[i] * BLOCK);
}

static u8 *byte_of(struct scattered *s, u32 offset)
{
	u32 position = s->key->mtt->first + offset;

	return &s->memory[s->order[position / BLOCK] * BLOCK + position % BLOCK];
}

static u32 moves_wrongly(struct keys_test *t, struct pinion_node *node, struct scattered *source,
			 struct scattered *sink, struct rnd_state *rnd)
{
	u32 from = random_below(rnd, REGION), to = random_below(rnd, REGION), i, wrong = 0;
	u32 length = 1 + random_below(rnd, REGION - max(from, to));
	struct pinion_sge sge = { BASE + from, length, source->key->value };
	struct pinion_sge sink_sge = { BASE + to, length, sink->key->value };
	struct pinion_cursor from_cursor, to_cursor;
	struct pinion_missing missing;
	u64 left = length;

	memset(sink->memory, 0, sizeof(sink->memory));
	pinion_cursor_local(&from_cursor, &t->keys, &t->pd, &sge, 1, 0);
	pinion_cursor_local(&to_cursor, &t->keys, &t->pd, &sink_sge, 1, IB_ACCESS_LOCAL_WRITE);
	wrong += pinion_move(node, &to_cursor, &from_cursor, &left, &missing) != PINION_MOVED;
	for (i = 0; i < length; i++) {
		wrong += *byte_of(sink, to + i) != *byte_of(source, from + i);
		*byte_of(sink, to + i) = 0;
	}
	/* Nothing else was written. */
	return wrong + !!memchr_inv(sink->memory, 0, sizeof(sink->memory));
}

static void scattered_memory_is_in_order(struct kunit *test)
{
	struct move_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct scattered *source = new_scattered(test), *sink = new_scattered(test);
	struct rnd_state rnd;
	u32 i, wrong = 0;

	KUNIT_ASSERT_NOT_NULL(test, t);
	random_begin(&rnd, 481);
	for (i = 0; i < sizeof(source->memory); i++)
		source->memory[i] = 1 + random_below(&rnd, 255);
	for (i = 0; i < 300; i++) {
		scattered_shuffle(source, &rnd);
		scattered_shuffle(sink, &rnd);
		wrong += moves_wrongly(test->priv, &t->node, source, sink, &rnd);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* Cut @length bytes of @memory, which has room for the gaps, into spans. Return: how many. */
static u32 cut_into_spans(struct rnd_state *rnd, u8 *memory, u32 length, struct pinion_span *spans)
{
	u32 num;

	for (num = 0; length; num++) {
		u32 bytes = num == MOVE_SPANS - 1 ? length : 1 + random_below(rnd, length);

		memory += random_below(rnd, 4);
		spans[num] = (struct pinion_span){ memory, bytes };
		memory += bytes;
		length -= bytes;
	}
	return num;
}

static void gather_spans(const struct pinion_span *spans, u32 num, u8 *to)
{
	u32 i;

	for (i = 0; i < num; i++) {
		memcpy(to, spans[i].kva, spans[i].length);
		to += spans[i].length;
	}
}

/* All bytes are moved in order, whichever spans of either side end first. */
static void spans_of_any_lengths_are_in_order(struct kunit *test)
{
	struct pinion_span source[MOVE_SPANS], sink[MOVE_SPANS], cut[2][MOVE_SPANS];
	u8 sent[LENGTH], came[LENGTH], *from, *to;
	u32 round, length, sources, sinks;
	struct rnd_state rnd;
	u64 stretch;

	from = kunit_kzalloc(test, LENGTH + 4 * MOVE_SPANS, GFP_KERNEL);
	to = kunit_kzalloc(test, LENGTH + 4 * MOVE_SPANS, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, from);
	KUNIT_ASSERT_NOT_NULL(test, to);
	random_begin(&rnd, 0x59a2);
	for (round = 0; round < 20000; round++) {
		length = 1 + random_below(&rnd, LENGTH);
		prandom_bytes_state(&rnd, from, LENGTH + 4 * MOVE_SPANS);
		sources = cut_into_spans(&rnd, from, length, source);
		sinks = cut_into_spans(&rnd, to, length, sink);
		memcpy(cut[0], source, sizeof(source));
		memcpy(cut[1], sink, sizeof(sink));
		stretch = LENGTH * PINION_STRETCH_RUN;
		KUNIT_ASSERT_EQ(test, move_spans(sink, source, length, length, &stretch),
				length);
		gather_spans(cut[0], sources, sent);
		gather_spans(cut[1], sinks, came);
		KUNIT_ASSERT_MEMEQ(test, came, sent, length);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_byte_that_has_failed_is_a_fault_wherever_it_is),
	KUNIT_CASE(every_byte_is_tried_before_it_is_moved),
	KUNIT_CASE(a_word_that_has_failed_is_no_operand),
	KUNIT_CASE(memory_in_pieces_is_in_order),
	KUNIT_CASE(spans_of_any_lengths_are_in_order),
	KUNIT_CASE(scattered_memory_is_in_order),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_move",
	.init = keys_test_init,
	.exit = keys_test_exit,
	.test_cases = cases,
};

kunit_test_suites(&suite);
