// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DEVX commands built word by word as in the device's manual, and random bytes.
 */
#include <kunit/test.h>
#include <linux/unaligned.h>

#include "../kernel/logic/devx_cmd.c"
#include "random.h"

#define ROOM	4096

/* The first word of a key's context. */
#define LOCAL_READ	0x400
#define LOCAL_WRITE	0x800
#define REMOTE_READ	0x1000
#define REMOTE_WRITE	0x2000
#define ATOMIC		0x4000
#define MTT		0x100
#define KLM		0x200

static void put(u8 *buffer, u32 offset, u32 value)
{
	put_unaligned_be32(value, buffer + offset);
}

static u8 *new_buffer(struct kunit *test)
{
	u8 *memory = kunit_kzalloc(test, ROOM, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	return memory;
}

/* A valid CREATE_MKEY over umem 7. */
static u8 *new_mkey(struct kunit *test)
{
	u8 *in = new_buffer(test);

	put(in, 0x00, 0x0200 << 16);
	put(in, 0x10, LOCAL_READ | LOCAL_WRITE | REMOTE_READ | REMOTE_WRITE | MTT);
	put(in, 0x14, 0xffffff42);
	put(in, 0x1c, 0x00abcdef);
	put_unaligned_be64(0x7f0123456789, in + 0x20);
	put_unaligned_be64(0x12345, in + 0x28);
	put(in, 0x48, 12);
	put(in, 0x60, 10);
	put(in, 0x64, 7);
	put_unaligned_be64(0x3000, in + 0x68);
	return in;
}

static int parse(const u8 *in, struct pinion_devx_cmd *cmd)
{
	return pinion_devx_parse(in, ROOM, ROOM, cmd);
}

static int refusal_of(const u8 *in)
{
	struct pinion_devx_cmd cmd;

	return parse(in, &cmd);
}

static void a_key_of_a_umem_is_read_as_drawn(struct kunit *test)
{
	u8 *in = new_mkey(test);
	struct pinion_devx_cmd cmd;

	KUNIT_ASSERT_EQ(test, parse(in, &cmd), PINION_DEVX_DONE);
	KUNIT_EXPECT_EQ(test, cmd.opcode, PINION_DEVX_CREATE_MKEY);
	KUNIT_EXPECT_EQ(test, cmd.mkey.mode, PINION_DEVX_MODE_MTT);
	KUNIT_EXPECT_EQ(test, cmd.mkey.tag, 0x42);
	KUNIT_EXPECT_EQ(test, cmd.mkey.pdn, 0xabcdefu);
	KUNIT_EXPECT_EQ(test, cmd.mkey.base, 0x7f0123456789ULL);
	KUNIT_EXPECT_EQ(test, cmd.mkey.length, 0x12345ULL);
	KUNIT_EXPECT_EQ(test, cmd.mkey.page_shift, 12);
	KUNIT_EXPECT_EQ(test, cmd.mkey.entries, 20ULL);
	KUNIT_EXPECT_EQ(test, cmd.mkey.umem_id, 7u);
	KUNIT_EXPECT_EQ(test, cmd.mkey.umem_offset, 0x3000ULL);
	KUNIT_EXPECT_EQ(test, cmd.mkey.rights,
			IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_READ |
			IB_UVERBS_ACCESS_REMOTE_WRITE);
	put(in, 0x10, LOCAL_READ | ATOMIC | MTT);
	KUNIT_ASSERT_EQ(test, parse(in, &cmd), PINION_DEVX_DONE);
	KUNIT_EXPECT_EQ(test, cmd.mkey.rights, IB_UVERBS_ACCESS_REMOTE_ATOMIC);
}

static void a_list_of_pieces_is_read_as_drawn(struct kunit *test)
{
	u8 *in = new_mkey(test);
	struct pinion_devx_klm klm;
	struct pinion_devx_cmd cmd;
	u32 i;

	put(in, 0x10, LOCAL_READ | KLM);
	put(in, 0x48, 0);
	put(in, 0x60, 3);
	for (i = 0; i < 3; i++) {
		put(in, 0x110 + i * 16, 100 + i);
		put(in, 0x114 + i * 16, 0xdead00 + i);
		put_unaligned_be64(~0ULL - i, in + 0x118 + i * 16);
	}
	KUNIT_ASSERT_EQ(test, parse(in, &cmd), PINION_DEVX_DONE);
	KUNIT_ASSERT_EQ(test, cmd.mkey.num_klms, 3u);
	for (i = 0; i < 3; i++) {
		klm = pinion_devx_klm(cmd.klms, i);
		KUNIT_EXPECT_EQ(test, klm.length, 100 + i);
		KUNIT_EXPECT_EQ(test, klm.key, 0xdead00 + i);
		KUNIT_EXPECT_EQ(test, klm.addr, ~0ULL - i);
	}
}

static void lists_end_with_the_command(struct kunit *test)
{
	u8 *in = new_mkey(test);
	struct pinion_devx_cmd cmd;
	u32 n;

	put(in, 0x10, LOCAL_READ | KLM);
	put(in, 0x48, 0);
	for (n = 1; n < 10; n++) {
		put(in, 0x60, n);
		KUNIT_EXPECT_EQ(test, pinion_devx_parse(in, 0x110 + n * 16, 16, &cmd),
				PINION_DEVX_DONE);
		KUNIT_EXPECT_EQ(test, pinion_devx_parse(in, 0x110 + n * 16 - 1, 16, &cmd),
				PINION_DEVX_LIST_CUT);
	}
	put(in, 0x60, 0);
	KUNIT_EXPECT_EQ(test, refusal_of(in), PINION_DEVX_LIST_FORM);
	put(in, 0x60, U32_MAX);
	KUNIT_EXPECT_EQ(test, refusal_of(in), PINION_DEVX_LIST_CUT);
	/* One more than is allowed, with enough room. */
	put(in, 0x60, 2049);
	KUNIT_EXPECT_EQ(test, pinion_devx_parse(in, 0x110 + 2049 * 16, 16, &cmd),
			PINION_DEVX_LIST_LONG);
}

/* A key that UMR requests will fill in, as libmlx5 creates it. */
static u8 *new_mkey_of_requests(struct kunit *test)
{
	u8 *in = new_buffer(test);

	put(in, 0x00, 0x0200 << 16);
	put(in, 0x10, 0x40008000 | LOCAL_READ | KLM);
	put(in, 0x14, 0xffffff00);
	put(in, 0x1c, 0x00abcdef);
	put(in, 0x44, 8);
	return in;
}

static void requests_say_what_a_key_is_of(struct kunit *test)
{
	static const struct {
		const char *what;
		u32 offset, value;
		int refusal;
	} spoilt[] = {
		{ "valid", 0x10, 0x00008000 | LOCAL_READ | KLM, PINION_DEVX_MKEY_FEATURE },
		{ "of a umem", 0x10, 0x40008000 | LOCAL_READ | MTT, PINION_DEVX_MKEY_FEATURE },
		{ "never", 0x10, 0x40000000 | LOCAL_READ | KLM, PINION_DEVX_MKEY_FEATURE },
		{ "no local read", 0x10, 0x40008000 | KLM, PINION_DEVX_MKEY_NO_READ },
		{ "one QP", 0x14, 0x00000700, PINION_DEVX_MKEY_QPN },
		{ "signature", 0x1c, 0x40000000, PINION_DEVX_MKEY_FEATURE },
		{ "an address", 0x24, 0x1000, PINION_DEVX_MKEY_FEATURE },
		{ "a length", 0x2c, 1, PINION_DEVX_MKEY_FEATURE },
		{ "no room", 0x44, 0, PINION_DEVX_LIST_FORM },
		{ "too much room", 0x44, 2049, PINION_DEVX_LIST_LONG },
		{ "a page size", 0x48, 12, PINION_DEVX_LIST_FORM },
		{ "a list", 0x60, 1, PINION_DEVX_LIST_FORM },
	};
	u8 *in = new_mkey_of_requests(test), *out = new_buffer(test);
	struct pinion_devx_cmd cmd;
	int i;

	KUNIT_ASSERT_EQ(test, parse(in, &cmd), PINION_DEVX_DONE);
	KUNIT_EXPECT_TRUE(test, cmd.mkey.by_request);
	KUNIT_EXPECT_FALSE(test, cmd.mkey.peers_invalidate);
	KUNIT_EXPECT_EQ(test, cmd.mkey.entries, 8ULL);
	KUNIT_EXPECT_EQ(test, cmd.mkey.num_klms, 0u);
	pinion_devx_put_mkey(out, &cmd.mkey);
	KUNIT_EXPECT_MEMEQ(test, out + 0x10, in + 0x10, 0x40);
	put(in, 0x1c, 0x01abcdef);
	KUNIT_ASSERT_EQ(test, parse(in, &cmd), PINION_DEVX_DONE);
	KUNIT_EXPECT_TRUE(test, cmd.mkey.peers_invalidate);
	for (i = 0; i < ARRAY_SIZE(spoilt); i++) {
		in = new_mkey_of_requests(test);
		put(in, spoilt[i].offset, spoilt[i].value);
		KUNIT_EXPECT_EQ_MSG(test, refusal_of(in), spoilt[i].refusal, "%s",
				    spoilt[i].what);
	}
}

/* Each case changes one word. */
static const struct {
	const char *what;
	u32 offset, value;
	int refusal;
} spoilt[] = {
	{ "free", 0x10, 0x40000000 | LOCAL_READ | MTT, PINION_DEVX_MKEY_FEATURE },
	{ "a mode above 3", 0x10, 0x04000000 | LOCAL_READ | MTT, PINION_DEVX_MKEY_FEATURE },
	{ "UMR", 0x10, 0x8000 | LOCAL_READ | MTT, PINION_DEVX_MKEY_FEATURE },
	{ "physical", 0x10, LOCAL_READ, PINION_DEVX_MKEY_MODE },
	{ "KSM", 0x10, LOCAL_READ | MTT | KLM, PINION_DEVX_MKEY_MODE },
	{ "no local read", 0x10, LOCAL_WRITE | MTT, PINION_DEVX_MKEY_NO_READ },
	{ "one QP", 0x14, 0x00000742, PINION_DEVX_MKEY_QPN },
	{ "2^64 bytes", 0x1c, 0x80000000, PINION_DEVX_MKEY_LENGTH },
	{ "signature", 0x1c, 0x40000000, PINION_DEVX_MKEY_FEATURE },
	{ "remote invalidation", 0x1c, 0x01000000, PINION_DEVX_MKEY_FEATURE },
	{ "no length", 0x2c, 0, PINION_DEVX_MKEY_LENGTH },
	{ "beyond 2^64", 0x28, 0xffffffff, PINION_DEVX_MKEY_LENGTH },
	{ "a modifier", 0x04, 1, PINION_DEVX_MODIFIER },
};

static void what_is_not_done_is_refused(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(spoilt); i++) {
		u8 *in = new_mkey(test);

		put(in, spoilt[i].offset, spoilt[i].value);
		KUNIT_EXPECT_EQ_MSG(test, refusal_of(in), spoilt[i].refusal, "%s",
				    spoilt[i].what);
	}
}

static void only_known_opcodes_are_taken(struct kunit *test)
{
	static const u16 known[] = { 0x100, 0x200, 0x201, 0x400, 0x402, 0x403, 0x500, 0x502,
				     0x503, 0x504, 0x505, 0x506, 0x507, 0x50a, 0x50b, 0x50e,
				     0x800, 0x842, 0x90c, 0x90d, 0x90f, 0x939, 0x93b };
	u8 *in = new_mkey(test);
	u32 opcode;
	int i;

	for (opcode = 0; opcode <= U16_MAX; opcode++) {
		bool is_known = false;

		for (i = 0; i < ARRAY_SIZE(known); i++)
			is_known |= opcode == known[i];
		put(in, 0x00, opcode << 16 | 0xffff);
		/*
		 * An mkey's fields may be refused by other opcodes, but not as an unknown
		 * opcode.
		 */
		KUNIT_EXPECT_EQ(test, refusal_of(in) != PINION_DEVX_NO_SUCH_OPCODE, is_known);
	}
}

static void counters_are_single_and_told_in_the_answer(struct kunit *test)
{
	u8 *in = new_buffer(test);
	struct pinion_devx_cmd cmd;
	u32 bit;

	put(in, 0x00, 0x939 << 16);
	KUNIT_EXPECT_EQ(test, refusal_of(in), PINION_DEVX_DONE);
	for (bit = 1; bit; bit <<= 1) {
		put(in, 0x0c, bit);
		KUNIT_EXPECT_EQ(test, refusal_of(in), PINION_DEVX_COUNTERS);
	}
	put(in, 0x00, 0x93b << 16);
	put(in, 0x1c, 0xfedcba98);
	for (bit = 1; bit; bit <<= 1) {
		put(in, 0x18, bit);
		/* The highest bit asks to start at 0, which is allowed. */
		KUNIT_EXPECT_EQ(test, parse(in, &cmd), bit == BIT(31) ? PINION_DEVX_DONE :
									PINION_DEVX_COUNTERS);
	}
	KUNIT_EXPECT_EQ(test, cmd.number, 0xfedcba98u);
}

static void short_buffers_are_refused(struct kunit *test)
{
	static const struct {
		u16 opcode, in, out;
	} least[] = { { 0x100, 16, 16 }, { 0x200, 0x110, 16 }, { 0x201, 16, 0x110 },
		      { 0x402, 16, 0x50 }, { 0x50b, 16, 0x100 }, { 0x507, 16, 16 },
		      { 0x800, 16, 16 }, { 0x842, 16, 16 }, { 0x939, 16, 16 },
		      { 0x93b, 32, 32 } };
	u8 *in = new_mkey(test);
	struct pinion_devx_cmd cmd;
	int i;

	for (i = 0; i < ARRAY_SIZE(least); i++) {
		put(in, 0x00, least[i].opcode << 16);
		KUNIT_EXPECT_EQ(test, pinion_devx_parse(in, least[i].in, least[i].out, &cmd),
				PINION_DEVX_DONE);
		KUNIT_EXPECT_EQ(test, pinion_devx_parse(in, least[i].in - 1, ROOM, &cmd),
				PINION_DEVX_SHORT_IN);
		KUNIT_EXPECT_EQ(test, pinion_devx_parse(in, ROOM, least[i].out - 1, &cmd),
				PINION_DEVX_SHORT_OUT);
	}
}

static void a_query_gives_back_what_was_asked_for(struct kunit *test)
{
	u8 *in = new_mkey(test), *out = new_buffer(test);
	struct pinion_devx_cmd cmd;

	KUNIT_ASSERT_EQ(test, parse(in, &cmd), PINION_DEVX_DONE);
	pinion_devx_put_mkey(out, &cmd.mkey);
	/* The context also contains the number of octwords. */
	put(in, 0x44, 10);
	KUNIT_EXPECT_MEMEQ(test, out + 0x10, in + 0x10, 0x40);
}

static void answers_are_where_they_belong(struct kunit *test)
{
	u8 *out = new_buffer(test);

	pinion_devx_put_refusal(out, PINION_DEVX_SHORT_IN);
	pinion_devx_put_number(out, 0xfedcba);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(out), 0x50000000u);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(out + 4), 4u);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(out + 8), 0x00fedcbau);
}

/* An accepted command is consistent. */
static void garbage_is_refused_or_makes_sense(struct kunit *test)
{
	u8 *good = new_mkey(test), *in = new_buffer(test);
	struct pinion_devx_cmd cmd;
	struct rnd_state rnd;
	u32 round, n, i, accepted = 0;

	random_begin(&rnd, 1);
	for (round = 0; round < 100000; round++) {
		size_t length = 16 + random_below(&rnd, 0x200);

		if (!(round & 7))
			memcpy(in, good, ROOM);
		for (n = random_below(&rnd, 4); n; n--)
			in[random_below(&rnd, 0x90)] = prandom_u32_state(&rnd);
		put(in, 0x00, 0x0200 << 16);
		if (pinion_devx_parse(in, length, ROOM, &cmd))
			continue;
		accepted++;
		if (cmd.mkey.by_request) {
			KUNIT_EXPECT_TRUE(test, !cmd.mkey.length && !cmd.mkey.num_klms);
			KUNIT_EXPECT_TRUE(test, cmd.mkey.entries && cmd.mkey.entries <= 2048);
			continue;
		}
		KUNIT_EXPECT_TRUE(test, cmd.mkey.length);
		KUNIT_EXPECT_GE(test, cmd.mkey.base + (cmd.mkey.length - 1), cmd.mkey.base);
		for (i = 0; i < cmd.mkey.num_klms; i++)
			KUNIT_EXPECT_TRUE(test, cmd.klms + (i + 1) * 16 <= in + length);
	}
	KUNIT_EXPECT_GT(test, accepted, 1000u);
}

/* The numbers are documented, so they must not change. */
static void each_refusal_has_a_number_and_a_status(struct kunit *test)
{
	static const u8 status_of[] = {
		0, 2, 2, 3, 0x50, 0x51, 3, 3, 3, 3, 3, 3, 3, 0x50,
		8, 3, 3, 5, 5, 3, 3, 5, 3, 3, 3, 8, 8, 8,
		3, 3, 8, 8, 8, 8, 5, 5, 3, 0x10, 3, 3, 5, 5,
	};
	u8 *out = new_buffer(test);
	u32 i;

	KUNIT_ASSERT_EQ(test, ARRAY_SIZE(status_of), PINION_DEVX_NUM_REFUSALS);
	for (i = 0; i < ARRAY_SIZE(status_of); i++) {
		pinion_devx_put_refusal(out, i);
		KUNIT_EXPECT_EQ(test, out[0], status_of[i]);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(out + 4), i);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_key_of_a_umem_is_read_as_drawn),
	KUNIT_CASE(a_list_of_pieces_is_read_as_drawn),
	KUNIT_CASE(lists_end_with_the_command),
	KUNIT_CASE(requests_say_what_a_key_is_of),
	KUNIT_CASE(what_is_not_done_is_refused),
	KUNIT_CASE(only_known_opcodes_are_taken),
	KUNIT_CASE(counters_are_single_and_told_in_the_answer),
	KUNIT_CASE(short_buffers_are_refused),
	KUNIT_CASE(a_query_gives_back_what_was_asked_for),
	KUNIT_CASE(answers_are_where_they_belong),
	KUNIT_CASE(each_refusal_has_a_number_and_a_status),
	KUNIT_CASE(garbage_is_refused_or_makes_sense),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_devx_cmd",
	.test_cases = cases,
};

kunit_test_suites(&suite);
