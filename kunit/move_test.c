// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory with hardware errors: the reader gets an error, and nothing else happens. The machine
 * check is simulated by a copy that stops before one byte; so the test sees how far copying was
 * tried.
 */
#include <kunit/test.h>
#include <linux/uaccess.h>

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

static struct kunit_case cases[] = {
	KUNIT_CASE(a_byte_that_has_failed_is_a_fault_wherever_it_is),
	KUNIT_CASE(every_byte_is_tried_before_it_is_moved),
	KUNIT_CASE(a_word_that_has_failed_is_no_operand),
	KUNIT_CASE(memory_in_pieces_is_in_order),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_move",
	.test_cases = cases,
};

kunit_test_suites(&suite);
