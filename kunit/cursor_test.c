// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which memory a message may access when a key gets other memory: that from before its begin, or
 * none. The cursor itself is compiled into the tests of moving.
 */
#include "../kernel/path/cursor.h"
#include "keys.h"

#define BASE	0x7f0000000123ULL
#define LENGTH	0x3000u

struct cursor_test {
	struct pinion_key *key;
	struct pinion_key *other;
	struct pinion_sge sges[3];	/* of @key, @other, and @key again */
	struct pinion_cursor cursor;
};

static struct cursor_test *begin(struct kunit *test)
{
	struct cursor_test *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct keys_test *t = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->key = new_region(test, BASE, LENGTH, 0);
	c->other = new_region(test, BASE, LENGTH, 0);
	c->sges[0] = (struct pinion_sge){ BASE, LENGTH / 2, c->key->value };
	c->sges[1] = (struct pinion_sge){ BASE, LENGTH, c->other->value };
	c->sges[2] = (struct pinion_sge){ BASE + LENGTH / 2, LENGTH / 2, c->key->value };
	pinion_cursor_local(&c->cursor, &t->keys, &t->pd, c->sges, 3, 0);
	return c;
}

/* Accesses the next @bytes, and leaves. */
static int access_next(struct cursor_test *c, u32 bytes)
{
	int syndrome = pinion_cursor_enter(&c->cursor, bytes);

	if (!syndrome)
		pinion_cursor_advance(&c->cursor, bytes);
	pinion_cursor_leave(&c->cursor);
	return syndrome;
}

static void exchange(struct pinion_key *key)
{
	pinion_key_close(key);
	pinion_key_exchanged(key);
	pinion_key_open(key);
}

static void pieces_of_one_key_are_of_one_memory(struct kunit *test)
{
	struct cursor_test *c = begin(test);

	KUNIT_EXPECT_EQ(test, access_next(c, LENGTH / 2), 0);
	KUNIT_EXPECT_EQ(test, access_next(c, LENGTH), 0);
	exchange(c->key);
	KUNIT_EXPECT_EQ(test, access_next(c, LENGTH / 2), PINION_SYN_KEY_STATE);
	KUNIT_EXPECT_EQ(test, c->cursor.syndrome, PINION_SYN_KEY_STATE);
	KUNIT_EXPECT_TRUE(test, gate_is_free(c->key));
}

static void one_piece_is_of_one_memory(struct kunit *test)
{
	struct cursor_test *c = begin(test);

	KUNIT_EXPECT_EQ(test, access_next(c, 1), 0);
	exchange(c->key);
	KUNIT_EXPECT_EQ(test, access_next(c, 1), PINION_SYN_KEY_STATE);
}

/* It is under way: whether it has reached that key already does not matter. */
static void a_key_that_comes_later_counts(struct kunit *test)
{
	struct cursor_test *c = begin(test);

	KUNIT_EXPECT_EQ(test, access_next(c, LENGTH / 2), 0);
	exchange(c->other);
	KUNIT_EXPECT_EQ(test, access_next(c, LENGTH), PINION_SYN_KEY_STATE);
}

static void changes_before_and_elsewhere_do_not_count(struct kunit *test)
{
	struct cursor_test *c = begin(test);
	struct pinion_key *stranger = new_region(test, BASE, LENGTH, 0);

	exchange(c->other);
	exchange(c->key);
	KUNIT_EXPECT_EQ(test, access_next(c, LENGTH / 2), 0);
	exchange(stranger);
	KUNIT_EXPECT_EQ(test, access_next(c, LENGTH), 0);
	exchange(stranger);
	KUNIT_EXPECT_EQ(test, access_next(c, LENGTH / 2), 0);
}

/* Another place of the same message, such as a packet that is sent again. */
static void who_seeks_does_not_begin(struct kunit *test)
{
	struct cursor_test *c = begin(test);

	KUNIT_EXPECT_EQ(test, access_next(c, 1), 0);
	pinion_cursor_seek(&c->cursor, 0);
	KUNIT_EXPECT_EQ(test, access_next(c, 1), 0);
	exchange(c->key);
	pinion_cursor_seek(&c->cursor, 0);
	KUNIT_EXPECT_EQ(test, access_next(c, 1), PINION_SYN_KEY_STATE);
	pinion_cursor_seek(&c->cursor, LENGTH / 2 + LENGTH);
	KUNIT_EXPECT_EQ(test, access_next(c, 1), PINION_SYN_KEY_STATE);
}

static void who_begins_anew_has_the_new_memory(struct kunit *test)
{
	struct cursor_test *c = begin(test);

	KUNIT_EXPECT_EQ(test, access_next(c, 1), 0);
	exchange(c->key);
	pinion_cursor_rewind(&c->cursor);
	KUNIT_EXPECT_EQ(test, access_next(c, LENGTH / 2), 0);
	KUNIT_EXPECT_EQ(test, access_next(c, LENGTH), 0);
	KUNIT_EXPECT_EQ(test, access_next(c, LENGTH / 2), 0);
}

/* A message that finds the gate closed when it comes has not begun. */
static void who_waits_has_not_begun(struct kunit *test)
{
	struct cursor_test *c = begin(test);

	shut(c->key);
	KUNIT_EXPECT_EQ(test, access_next(c, 1), PINION_SYN_CLOSED);
	pinion_key_exchanged(c->key);
	unshut(c->key);
	KUNIT_EXPECT_EQ(test, access_next(c, 1), 0);
}

static struct kunit_case cursor_cases[] = {
	KUNIT_CASE(pieces_of_one_key_are_of_one_memory),
	KUNIT_CASE(one_piece_is_of_one_memory),
	KUNIT_CASE(a_key_that_comes_later_counts),
	KUNIT_CASE(changes_before_and_elsewhere_do_not_count),
	KUNIT_CASE(who_seeks_does_not_begin),
	KUNIT_CASE(who_begins_anew_has_the_new_memory),
	KUNIT_CASE(who_waits_has_not_begun),
	{}
};

static struct kunit_suite cursor_suite = {
	.name = "pinion_cursor",
	.init = keys_test_init,
	.exit = keys_test_exit,
	.test_cases = cursor_cases,
};

kunit_test_suite(cursor_suite);
