// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The check of work requests, against its rules written once more.
 */
#include <kunit/test.h>

#include "../kernel/logic/wqe.c"
#include "random.h"

/* Properties of opcodes, independently of the table. */
static const char *services_of(u8 opcode)
{
	switch (opcode) {
	case PINION_OP_SEND:
	case PINION_OP_SEND_WITH_IMM:
	case PINION_OP_LOCAL_INV:
	case PINION_OP_REG_MR:
	case PINION_OP_NOP:
		return "rud";
	case PINION_OP_RDMA_WRITE:
	case PINION_OP_RDMA_WRITE_WITH_IMM:
	case PINION_OP_BIND_MW:
		return "ru";
	case PINION_OP_SEND_WITH_INV:
	case PINION_OP_RDMA_READ:
	case PINION_OP_ATOMIC_CMP_AND_SWP:
	case PINION_OP_ATOMIC_FETCH_AND_ADD:
	case PINION_OP_ATOMIC_WRITE:
	case PINION_OP_FLUSH:
	case PINION_OP_LAYOUT:
	case PINION_OP_COPY:
		return "r";
	default:
		return "";
	}
}

static bool fetches_a_word(u8 opcode)
{
	return opcode == PINION_OP_ATOMIC_CMP_AND_SWP || opcode == PINION_OP_ATOMIC_FETCH_AND_ADD;
}

static bool sends_bytes(u8 opcode)
{
	return opcode <= PINION_OP_SEND_WITH_IMM || opcode == PINION_OP_SEND_WITH_INV ||
	       opcode == PINION_OP_ATOMIC_WRITE;
}

static bool names_memory(u8 opcode)
{
	return sends_bytes(opcode) || fetches_a_word(opcode) || opcode == PINION_OP_RDMA_READ;
}

/* Operations for which the responder keeps resources. */
static bool is_answered(u8 opcode)
{
	return fetches_a_word(opcode) || opcode == PINION_OP_RDMA_READ ||
	       opcode == PINION_OP_ATOMIC_WRITE;
}

/* Opcodes that only requests in mlx5's format have. */
static bool is_raw(u8 opcode)
{
	return opcode == PINION_OP_LAYOUT || opcode == PINION_OP_COPY || opcode == PINION_OP_NOP;
}

static bool may_inline(u8 opcode)
{
	return sends_bytes(opcode) || opcode == PINION_OP_LAYOUT || opcode == PINION_OP_COPY;
}

static bool may_be_posted(u8 opcode, const struct pinion_wqe_limits *limits)
{
	char service = limits->service == PINION_SVC_RC ? 'r' :
		       limits->service == PINION_SVC_UC ? 'u' : 'd';

	if (opcode == PINION_OP_REG_MR && limits->user)
		return false;
	if (is_raw(opcode) && !limits->raw)
		return false;
	return strchr(services_of(opcode), service);
}

static int judge_head(const struct pinion_sq_wqe *wqe, const struct pinion_wqe_limits *limits)
{
	bool is_inline = wqe->flags & PINION_WQE_INLINE, is_led = wqe->flags & PINION_WQE_LEAD;

	if (!may_be_posted(wqe->opcode, limits))
		return PINION_SYN_OPCODE;
	if (!limits->depth && is_answered(wqe->opcode))
		return PINION_SYN_DEPTH;
	/* Only flags 1, 2, 4 and 8 are defined, and 16 in what was mlx5's format. */
	if (wqe->flags >= (limits->raw ? 32 : 16))
		return PINION_SYN_BAD_WQE;
	/* Visible, persistent or both; a range or the whole region. */
	if (wqe->opcode == PINION_OP_FLUSH &&
	    (wqe->flush.type < 1 || wqe->flush.type > 3 || wqe->flush.level > 1))
		return PINION_SYN_BAD_WQE;
	if (wqe->num_sge > limits->max_sge)
		return PINION_SYN_BAD_WQE;
	if (wqe->num_sge && (is_inline || !names_memory(wqe->opcode)))
		return PINION_SYN_BAD_WQE;
	if ((is_inline || is_led) && !may_inline(wqe->opcode))
		return PINION_SYN_BAD_WQE;
	if (is_led && (is_inline || !wqe->num_sge))
		return PINION_SYN_BAD_WQE;
	if (is_inline && wqe->inline_length > limits->max_inline)
		return PINION_SYN_LENGTH;
	if (is_led && 16ULL * wqe->num_sge + wqe->inline_length > limits->max_inline)
		return PINION_SYN_LENGTH;
	return 0;
}

static int judge_whole(const struct pinion_sq_wqe *wqe, const struct pinion_wqe_limits *limits,
		       u64 *length)
{
	const struct pinion_sge *sge = (const void *)wqe + 64;
	u32 i;

	*length = 0;
	if (wqe->flags & PINION_WQE_INLINE)
		*length = wqe->inline_length;
	else
		for (i = 0; i < wqe->num_sge; i++)
			*length += sge[i].length;

	if (wqe->flags & PINION_WQE_LEAD && sge[0].length != wqe->inline_length)
		return PINION_SYN_BAD_WQE;
	if (is_raw(wqe->opcode))
		*length = 0;
	if (fetches_a_word(wqe->opcode)) {
		if (*length < 8)
			return PINION_SYN_LENGTH;
		*length = 8;
	}
	if (wqe->opcode == PINION_OP_ATOMIC_WRITE && *length != 8)
		return PINION_SYN_LENGTH;
	return *length > limits->max_length ? PINION_SYN_LENGTH : 0;
}

/* 16 bytes for each SGE, or the inline data, or both. */
static u32 tail_of(const struct pinion_sq_wqe *wqe)
{
	if (wqe->flags & PINION_WQE_LEAD)
		return 16 * wqe->num_sge + wqe->inline_length;
	return wqe->flags & PINION_WQE_INLINE ? wqe->inline_length : 16 * wqe->num_sge;
}

#define MAX_TAIL	max(PINION_MAX_SGE * sizeof(struct pinion_sge), PINION_MAX_INLINE)
#define SLOT		(sizeof(struct pinion_sq_wqe) + MAX_TAIL + 64)

static struct pinion_wqe_limits random_limits(struct rnd_state *rnd)
{
	static const u32 sges[] = { 0, 1, 4, 30, PINION_MAX_SGE };
	static const u32 inlines[] = { 0, 8, 256, PINION_MAX_INLINE };
	static const u64 lengths[] = { 256, 1024, 4096, PINION_MAX_MSG_SIZE, U64_MAX };

	return (struct pinion_wqe_limits){
		.service = 1 << random_below(rnd, 3),
		.user = random_one_in(rnd, 2),
		.raw = random_one_in(rnd, 2),
		.max_sge = sges[random_below(rnd, ARRAY_SIZE(sges))],
		.max_inline = inlines[random_below(rnd, ARRAY_SIZE(inlines))],
		.max_length = lengths[random_below(rnd, ARRAY_SIZE(lengths))],
		.depth = random_below(rnd, 4),
	};
}

static void random_head(struct rnd_state *rnd, struct pinion_sq_wqe *wqe,
			const struct pinion_wqe_limits *limits)
{
	prandom_bytes_state(rnd, wqe, sizeof(*wqe));
	if (!random_one_in(rnd, 8))
		do {
			wqe->opcode = random_below(rnd, PINION_OP_MAX);
		} while (!*services_of(wqe->opcode));
	if (wqe->opcode == PINION_OP_FLUSH) {
		wqe->flush.type = random_below(rnd, 5);
		wqe->flush.level = random_below(rnd, 3);
	}
	if (!random_one_in(rnd, 8))
		wqe->flags %= limits->raw ? 32 : 16;
	if (random_one_in(rnd, 2) || (wqe->flags & PINION_WQE_LEAD && !random_one_in(rnd, 8)))
		wqe->flags &= ~PINION_WQE_INLINE;
	if (wqe->flags & PINION_WQE_INLINE && !random_one_in(rnd, 8))
		wqe->num_sge = 0;
	else if (!random_one_in(rnd, 8))
		wqe->num_sge = random_below(rnd, limits->max_sge + 2);
	if (random_one_in(rnd, 3))
		wqe->inline_length = 8;
	else if (!random_one_in(rnd, 8))
		wqe->inline_length = random_below(rnd, limits->max_inline + 2);
}

static void random_sges(struct rnd_state *rnd, struct pinion_sq_wqe *wqe)
{
	struct pinion_sge *sge = (struct pinion_sge *)(wqe + 1);
	u32 i;

	for (i = 0; i < PINION_MAX_SGE; i++) {
		sge[i].addr = random_u64(rnd);
		sge[i].lkey = prandom_u32_state(rnd);
		switch (random_below(rnd, 5)) {
		case 0:
			sge[i].length = 0;
			break;
		case 1:
			sge[i].length = 8;
			break;
		case 2:
			sge[i].length = U32_MAX - random_below(rnd, 2);
			break;
		case 3:
			sge[i].length = (1U << 31) - random_below(rnd, 3);
			break;
		default:
			sge[i].length = random_magnitude(rnd);
		}
	}
}

struct outcomes {
	u32 ok, opcode, malformed, too_long, whole_ok, whole_too_long, led_ok;
};

static void check_head(struct kunit *test, const struct pinion_sq_wqe *wqe,
		       const struct pinion_wqe_limits *limits, struct outcomes *seen)
{
	const struct pinion_op *op = NULL;
	int got = pinion_wqe_check_head(wqe, limits, &op);

	KUNIT_EXPECT_EQ_MSG(test, got, judge_head(wqe, limits),
			    "op %u flags %x sges %u of %u inline %u of %u service %u user %d",
			    wqe->opcode, wqe->flags, wqe->num_sge, limits->max_sge,
			    wqe->inline_length, limits->max_inline, limits->service, limits->user);
	seen->ok += !got;
	seen->opcode += got == PINION_SYN_OPCODE;
	seen->malformed += got == PINION_SYN_BAD_WQE;
	seen->too_long += got == PINION_SYN_LENGTH;
	if (got)
		return;
	KUNIT_EXPECT_PTR_EQ(test, op, pinion_op(wqe->opcode));
	KUNIT_EXPECT_EQ(test, pinion_wqe_tail(wqe), tail_of(wqe));
	/* The caller's buffer has room for this much. */
	KUNIT_EXPECT_LE(test, pinion_wqe_tail(wqe),
			max_t(u32, limits->max_inline, limits->max_sge * 16));
}

static void heads_are_judged_by_the_rules(struct kunit *test)
{
	struct pinion_wqe_limits limits;
	struct outcomes seen = {};
	struct pinion_sq_wqe *wqe;
	struct rnd_state rnd;
	u32 i;

	/* Exactly a head, so that KASAN detects reading beyond it. */
	wqe = kunit_kmalloc(test, sizeof(*wqe), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, wqe);
	random_begin(&rnd, 3);
	for (i = 0; i < 50000; i++) {
		limits = random_limits(&rnd);
		random_head(&rnd, wqe, &limits);
		check_head(test, wqe, &limits, &seen);
	}
	KUNIT_EXPECT_GT(test, seen.ok, 1000);
	KUNIT_EXPECT_GT(test, seen.opcode, 1000);
	KUNIT_EXPECT_GT(test, seen.malformed, 1000);
	KUNIT_EXPECT_GT(test, seen.too_long, 100);
}

/* The result must not depend on bytes behind the copied part. */
static void check_whole(struct kunit *test, struct pinion_sq_wqe *wqe,
			const struct pinion_wqe_limits *limits, struct outcomes *seen)
{
	const struct pinion_op *op = pinion_op(wqe->opcode);
	size_t size = sizeof(*wqe) + tail_of(wqe);
	u64 length, expected_length;
	int got, expected;
	void *exact;

	KUNIT_ASSERT_NOT_NULL(test, op);
	expected = judge_whole(wqe, limits, &expected_length);
	memset((void *)wqe + size, 0xff, SLOT - size);
	got = pinion_wqe_measure(wqe, op, limits, &length);
	KUNIT_EXPECT_EQ_MSG(test, got, expected, "op %u sges %u", wqe->opcode, wqe->num_sge);
	KUNIT_EXPECT_TRUE(test, got || length == expected_length);

	memset((void *)wqe + size, 0, SLOT - size);
	got = pinion_wqe_measure(wqe, op, limits, &length);
	KUNIT_EXPECT_EQ(test, got, expected);
	KUNIT_EXPECT_TRUE(test, got || length == expected_length);

	exact = kmemdup(wqe, size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, exact);
	KUNIT_EXPECT_EQ(test, pinion_wqe_measure(exact, op, limits, &length), expected);
	kfree(exact);

	seen->whole_ok += !got;
	seen->led_ok += !got && wqe->flags & PINION_WQE_LEAD;
	seen->whole_too_long += got == PINION_SYN_LENGTH;
}

static void lengths_are_judged_by_the_rules_from_the_tail_alone(struct kunit *test)
{
	struct pinion_wqe_limits limits;
	struct outcomes seen = {};
	struct pinion_sq_wqe *wqe;
	struct rnd_state rnd;
	u32 i;

	wqe = kunit_kmalloc(test, SLOT, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, wqe);
	random_begin(&rnd, 4);
	for (i = 0; i < 20000; i++) {
		limits = random_limits(&rnd);
		random_head(&rnd, wqe, &limits);
		if (judge_head(wqe, &limits))
			continue;
		random_sges(&rnd, wqe);
		if (wqe->flags & PINION_WQE_LEAD && !random_one_in(&rnd, 4))
			((struct pinion_sge *)(wqe + 1))->length = wqe->inline_length;
		check_whole(test, wqe, &limits, &seen);
	}
	KUNIT_EXPECT_GT(test, seen.whole_ok, 500);
	KUNIT_EXPECT_GT(test, seen.led_ok, 20);
	KUNIT_EXPECT_GT(test, seen.whole_too_long, 500);
}

/* The total length of a request with these SGEs, on a queue that allows everything. */
static int measure(struct kunit *test, u8 opcode, u32 num_sge, u32 each, u64 *length)
{
	struct pinion_wqe_limits limits = {
		.service = PINION_SVC_RC, .max_sge = PINION_MAX_SGE,
		.max_inline = PINION_MAX_INLINE, .max_length = PINION_MAX_MSG_SIZE, .depth = 1,
	};
	struct pinion_sq_wqe *wqe = kunit_kzalloc(test, SLOT, GFP_KERNEL);
	struct pinion_sge *sge = (struct pinion_sge *)(wqe + 1);
	const struct pinion_op *op;
	u32 i;
	int err;

	KUNIT_ASSERT_NOT_NULL(test, wqe);
	wqe->opcode = opcode;
	wqe->num_sge = num_sge;
	for (i = 0; i < num_sge; i++)
		sge[i].length = each;
	err = pinion_wqe_check_head(wqe, &limits, &op);
	return err ?: pinion_wqe_measure(wqe, op, &limits, length);
}

static void a_message_has_at_most_2_gib(struct kunit *test)
{
	u64 length;

	KUNIT_EXPECT_EQ(test, measure(test, PINION_OP_RDMA_WRITE, 1, 1U << 31, &length), 0);
	KUNIT_EXPECT_EQ(test, length, 1ULL << 31);
	KUNIT_EXPECT_EQ(test, measure(test, PINION_OP_RDMA_WRITE, 1, (1U << 31) + 1, &length),
			PINION_SYN_LENGTH);
	/* Sums of 4 GiB, whose low 32 bits are 0, and of almost 256 GiB. */
	KUNIT_EXPECT_EQ(test, measure(test, PINION_OP_RDMA_WRITE, 2, 1U << 31, &length),
			PINION_SYN_LENGTH);
	KUNIT_EXPECT_EQ(test, measure(test, PINION_OP_SEND, 64, 1U << 26, &length),
			PINION_SYN_LENGTH);
	KUNIT_EXPECT_EQ(test, measure(test, PINION_OP_RDMA_READ, 64, U32_MAX, &length),
			PINION_SYN_LENGTH);
	KUNIT_EXPECT_EQ(test, measure(test, PINION_OP_SEND, 0, 0, &length), 0);
	KUNIT_EXPECT_EQ(test, length, 0ULL);
}

static void a_fetched_word_needs_8_bytes_and_uses_no_more(struct kunit *test)
{
	static const u8 fetching[] = { PINION_OP_ATOMIC_CMP_AND_SWP,
				       PINION_OP_ATOMIC_FETCH_AND_ADD };
	u64 length;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fetching); i++) {
		KUNIT_EXPECT_EQ(test, measure(test, fetching[i], 1, 8, &length), 0);
		KUNIT_EXPECT_EQ(test, length, 8ULL);
		KUNIT_EXPECT_EQ(test, measure(test, fetching[i], 1, 4096, &length), 0);
		KUNIT_EXPECT_EQ(test, length, 8ULL);
		KUNIT_EXPECT_EQ(test, measure(test, fetching[i], 2, 4, &length), 0);
		KUNIT_EXPECT_EQ(test, length, 8ULL);
		KUNIT_EXPECT_EQ(test, measure(test, fetching[i], 1, 7, &length),
				PINION_SYN_LENGTH);
		KUNIT_EXPECT_EQ(test, measure(test, fetching[i], 0, 0, &length),
				PINION_SYN_LENGTH);
	}
}

static void a_written_word_is_exactly_8_bytes(struct kunit *test)
{
	u64 length;

	KUNIT_EXPECT_EQ(test, measure(test, PINION_OP_ATOMIC_WRITE, 1, 8, &length), 0);
	KUNIT_EXPECT_EQ(test, length, 8ULL);
	KUNIT_EXPECT_EQ(test, measure(test, PINION_OP_ATOMIC_WRITE, 1, 7, &length),
			PINION_SYN_LENGTH);
	KUNIT_EXPECT_EQ(test, measure(test, PINION_OP_ATOMIC_WRITE, 1, 9, &length),
			PINION_SYN_LENGTH);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(heads_are_judged_by_the_rules),
	KUNIT_CASE(lengths_are_judged_by_the_rules_from_the_tail_alone),
	KUNIT_CASE(a_message_has_at_most_2_gib),
	KUNIT_CASE(a_fetched_word_needs_8_bytes_and_uses_no_more),
	KUNIT_CASE(a_written_word_is_exactly_8_bytes),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_wqe",
	.test_cases = cases,
};

kunit_test_suites(&suite);
