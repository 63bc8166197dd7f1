// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The opcode table, against the manuals and the specification, and against rules for all rows.
 */
#include <kunit/test.h>
#include <linux/bitops.h>
#include <rdma/ib_verbs.h>

#include "../kernel/logic/op.c"

/* Written by hand, independently of the table. */
enum data {
	LOCAL_ACT,	/* no peer */
	OUT,		/* sends local memory or inline data */
	IN,		/* receives from the peer */
	NO_DATA,
};

struct fact {
	u8 opcode;
	enum ib_wr_opcode wr;
	enum ib_wc_opcode wc;
	const char *on;		/* services: r(c), u(c), d(atagram) */
	enum data data;
	u32 rights;		/* required of the remote key; ~0: depends on the request */
	bool imm, inv, word, kernel, raw, list, answer;
	u8 received_as;		/* 0: consumes no receive request */
};

#define ASK ~0U

static const struct fact facts[] = {
	{ PINION_OP_RDMA_WRITE, IB_WR_RDMA_WRITE, IB_WC_RDMA_WRITE, "ru", OUT,
	  IB_ACCESS_REMOTE_WRITE },
	{ PINION_OP_RDMA_WRITE_WITH_IMM, IB_WR_RDMA_WRITE_WITH_IMM, IB_WC_RDMA_WRITE, "ru", OUT,
	  IB_ACCESS_REMOTE_WRITE, .imm = true, .received_as = IB_WC_RECV_RDMA_WITH_IMM },
	{ PINION_OP_SEND, IB_WR_SEND, IB_WC_SEND, "rud", OUT, .received_as = IB_WC_RECV },
	{ PINION_OP_SEND_WITH_IMM, IB_WR_SEND_WITH_IMM, IB_WC_SEND, "rud", OUT, .imm = true,
	  .received_as = IB_WC_RECV },
	{ PINION_OP_SEND_WITH_INV, IB_WR_SEND_WITH_INV, IB_WC_SEND, "r", OUT, .inv = true,
	  .received_as = IB_WC_RECV },
	{ PINION_OP_RDMA_READ, IB_WR_RDMA_READ, IB_WC_RDMA_READ, "r", IN, IB_ACCESS_REMOTE_READ,
	  .answer = true },
	{ PINION_OP_ATOMIC_CMP_AND_SWP, IB_WR_ATOMIC_CMP_AND_SWP, IB_WC_COMP_SWAP, "r", IN,
	  IB_ACCESS_REMOTE_ATOMIC, .word = true, .answer = true },
	{ PINION_OP_ATOMIC_FETCH_AND_ADD, IB_WR_ATOMIC_FETCH_AND_ADD, IB_WC_FETCH_ADD, "r", IN,
	  IB_ACCESS_REMOTE_ATOMIC, .word = true, .answer = true },
	{ PINION_OP_ATOMIC_WRITE, IB_WR_ATOMIC_WRITE, IB_WC_ATOMIC_WRITE, "r", OUT,
	  IB_ACCESS_REMOTE_WRITE, .word = true, .answer = true },
	{ PINION_OP_FLUSH, IB_WR_FLUSH, IB_WC_FLUSH, "r", NO_DATA, ASK },
	{ PINION_OP_LOCAL_INV, IB_WR_LOCAL_INV, IB_WC_LOCAL_INV, "rud", LOCAL_ACT, .inv = true },
	{ PINION_OP_BIND_MW, IB_WR_BIND_MW, IB_WC_BIND_MW, "ru", LOCAL_ACT },
	{ PINION_OP_REG_MR, IB_WR_REG_MR, IB_WC_REG_MR, "rud", LOCAL_ACT, .kernel = true },
	/* The number equals another verbs opcode, which users cannot post. */
	{ PINION_OP_LAYOUT, IB_WR_REG_MR_INTEGRITY, IB_WC_REG_MR, "r", LOCAL_ACT, .raw = true,
	  .list = true },
	/* No verbs opcode has these numbers. */
	{ PINION_OP_COPY, (enum ib_wr_opcode)34, IB_WC_REG_MR, "r", LOCAL_ACT, .raw = true,
	  .list = true },
	{ PINION_OP_NOP, (enum ib_wr_opcode)35, IB_WC_REG_MR, "rud", LOCAL_ACT, .raw = true },
};

static void name_fact(const struct fact *fact, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "opcode %u", fact->opcode);
}

KUNIT_ARRAY_PARAM(facts, facts, name_fact);

static void a_row_says_what_the_manuals_say(struct kunit *test)
{
	const struct fact *fact = test->param_value;
	const struct pinion_op *op = pinion_op(fact->opcode);
	u32 traits;

	KUNIT_ASSERT_NOT_NULL(test, op);
	traits = op->traits;
	KUNIT_EXPECT_EQ(test, (u32)fact->opcode, (u32)fact->wr);
	KUNIT_EXPECT_EQ(test, (u32)op->wc_opcode, (u32)fact->wc);
	KUNIT_EXPECT_EQ(test, !!(op->services & PINION_SVC_RC), !!strchr(fact->on, 'r'));
	KUNIT_EXPECT_EQ(test, !!(op->services & PINION_SVC_UC), !!strchr(fact->on, 'u'));
	KUNIT_EXPECT_EQ(test, !!(op->services & PINION_SVC_UD), !!strchr(fact->on, 'd'));
	KUNIT_EXPECT_EQ(test, !!(traits & PINION_OP_IS_LOCAL), fact->data == LOCAL_ACT);
	KUNIT_EXPECT_EQ(test, !!(traits & PINION_OP_READS_SGES), fact->data == OUT);
	KUNIT_EXPECT_EQ(test, !!(traits & PINION_OP_MAY_INLINE), fact->data == OUT || fact->list);
	KUNIT_EXPECT_EQ(test, !!(traits & PINION_OP_WRITES_SGES), fact->data == IN);
	KUNIT_EXPECT_EQ(test, !!(traits & PINION_OP_HAS_IMM), fact->imm);
	KUNIT_EXPECT_EQ(test, !!(traits & PINION_OP_HAS_INV), fact->inv);
	KUNIT_EXPECT_EQ(test, !!(traits & PINION_OP_WORD), fact->word);
	KUNIT_EXPECT_EQ(test, !!(traits & PINION_OP_KERNEL_ONLY), fact->kernel);
	KUNIT_EXPECT_EQ(test, !!(traits & PINION_OP_RAW_ONLY), fact->raw);
	KUNIT_EXPECT_EQ(test, !!(traits & PINION_OP_HAS_ANSWER), fact->answer);
	KUNIT_EXPECT_EQ(test, !!(traits & PINION_OP_REMOTE_MEM), !!fact->rights);
	KUNIT_EXPECT_EQ(test, op->remote_rights, fact->rights == ASK ? 0 : fact->rights);
	KUNIT_EXPECT_EQ(test, !!(traits & PINION_OP_TAKES_RECV), !!fact->received_as);
	KUNIT_EXPECT_EQ(test, op->recv_wc_opcode, fact->received_as);
}

static void an_opcode_without_a_fact_is_none(struct kunit *test)
{
	u32 opcode, i, known;

	for (opcode = 0; opcode < 256; opcode++) {
		for (known = i = 0; i < ARRAY_SIZE(facts); i++)
			known += facts[i].opcode == opcode;
		KUNIT_EXPECT_LE(test, known, 1);
		KUNIT_EXPECT_EQ_MSG(test, !!pinion_op(opcode), known, "opcode %u", opcode);
	}
}

static void names_are_those_of_the_abi(struct kunit *test)
{
#define EXPECT_NAME(op) do {							\
	KUNIT_ASSERT_NOT_NULL(test, pinion_op(PINION_OP_##op));			\
	KUNIT_EXPECT_STREQ(test, pinion_op(PINION_OP_##op)->name, #op);		\
} while (0)
	EXPECT_NAME(RDMA_WRITE);
	EXPECT_NAME(RDMA_WRITE_WITH_IMM);
	EXPECT_NAME(SEND);
	EXPECT_NAME(SEND_WITH_IMM);
	EXPECT_NAME(SEND_WITH_INV);
	EXPECT_NAME(RDMA_READ);
	EXPECT_NAME(ATOMIC_CMP_AND_SWP);
	EXPECT_NAME(ATOMIC_FETCH_AND_ADD);
	EXPECT_NAME(ATOMIC_WRITE);
	EXPECT_NAME(FLUSH);
	EXPECT_NAME(LOCAL_INV);
	EXPECT_NAME(BIND_MW);
	EXPECT_NAME(REG_MR);
	EXPECT_NAME(LAYOUT);
	EXPECT_NAME(COPY);
	EXPECT_NAME(NOP);
#undef EXPECT_NAME
}

/* Rules that must hold for future rows, too. */
static void rows_are_consistent(struct kunit *test)
{
	u32 remote = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC;
	u32 everyone = PINION_SVC_RC | PINION_SVC_UC | PINION_SVC_UD;
	const struct pinion_op *op;
	u32 opcode, t;

#define EXPECT(rule) KUNIT_EXPECT_TRUE_MSG(test, rule, "%s", op->name)
#define IMPLIES(trait, rule) EXPECT(!(t & PINION_OP_##trait) || (rule))
	for (opcode = 0; opcode < 256; opcode++) {
		op = pinion_op(opcode);
		if (!op)
			continue;
		t = op->traits;
		EXPECT(hweight32(t & (PINION_OP_IS_LOCAL | PINION_OP_READS_SGES |
				      PINION_OP_WRITES_SGES)) <= 1);
		EXPECT(hweight32(t & (PINION_OP_HAS_IMM | PINION_OP_HAS_INV)) <= 1);
		EXPECT(t & (PINION_OP_IS_LOCAL | PINION_OP_TAKES_RECV | PINION_OP_REMOTE_MEM));
		IMPLIES(IS_LOCAL, !(t & (PINION_OP_TAKES_RECV | PINION_OP_REMOTE_MEM |
					 PINION_OP_WORD)));
		IMPLIES(HAS_IMM, t & PINION_OP_TAKES_RECV);
		IMPLIES(TAKES_RECV, t & PINION_OP_READS_SGES);
		IMPLIES(WRITES_SGES, t & PINION_OP_REMOTE_MEM);
		IMPLIES(MAY_INLINE, t & (PINION_OP_READS_SGES | PINION_OP_RAW_ONLY));
		IMPLIES(RAW_ONLY, t & PINION_OP_IS_LOCAL);
		IMPLIES(WORD, t & PINION_OP_REMOTE_MEM);
		IMPLIES(KERNEL_ONLY, t & PINION_OP_IS_LOCAL);
		IMPLIES(REMOTE_MEM, !(op->services & PINION_SVC_UD));
		/* Only a reliable connection has responses with data. */
		IMPLIES(WRITES_SGES, op->services == PINION_SVC_RC);
		EXPECT(op->services && !(op->services & ~everyone));
		EXPECT(!(op->remote_rights & ~remote));
		EXPECT(!op->remote_rights || t & PINION_OP_REMOTE_MEM);
		/* Users recognize receive completions by this bit. */
		EXPECT(!!(op->recv_wc_opcode & IB_WC_RECV) == !!(t & PINION_OP_TAKES_RECV));
		EXPECT(!(op->wc_opcode & IB_WC_RECV));
	}
#undef IMPLIES
#undef EXPECT
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(a_row_says_what_the_manuals_say, facts_gen_params),
	KUNIT_CASE(an_opcode_without_a_fact_is_none),
	KUNIT_CASE(names_are_those_of_the_abi),
	KUNIT_CASE(rows_are_consistent),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_op",
	.test_cases = cases,
};

kunit_test_suites(&suite);
