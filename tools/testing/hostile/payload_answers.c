// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * All answers of all methods, byte by byte: what the kernel says that it wrote is written, and is
 * nothing that was in its memory before (item I10). Each call is made twice, into two poisons.
 */
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "calls.h"
#include "device.h"
#include "methods.h"

/* Neither is a poison of the kernel's. */
enum { POISON = 0xc3, OTHER_POISON = 0x3c, ROOM = 1024, MOST = 16 };

struct range {
	uint16_t id, at, length;
};

/*
 * The last of the calls is the one that is looked at. Numbers of up to eight bytes may be others the
 * second time, longer answers only where it is said.
 */
static const struct answered {
	const char *calls;
	bool any; /* the contents may differ everywhere */
	bool part; /* not all of the room is written */
	struct range differ[4];
	struct range zero; /* reserved */
} cases[] = {
	{ .calls = "query_context",
	  .differ = { { PINION_ATTR_QUERY_CONTEXT_RESP, 12, 4 } } },
	{ .calls = "device_query" },
	{ .calls = "port_query" },
	{ .calls = "data_direct", .part = true },
	{ .calls = "devx_eqn" },
	{ .calls = "devx_other c" },
	{ .calls = "devx_other d" },
	{ .calls = "devx_create 6; devx_query 0 b", .any = true },
	{ .calls = "pd_alloc", .zero = { UVERBS_ATTR_UHW_OUT, 4, 4 } },
	{ .calls = "pd_alloc; pd_query",
	  .zero = { PINION_ATTR_PD_QUERY_RESP, 4, 4 } },
	{ .calls = "dm_alloc",
	  .differ = { { PINION_ATTR_DM_ALLOC_RESP, 0, 8 } } },
	{ .calls = "dm_alloc; dm_query",
	  .differ = { { PINION_ATTR_DM_QUERY_RESP, 0, 8 } } },
	{ .calls = "dm_alloc; dm_export" },
	{ .calls = "pd_alloc; dm_alloc; reg_dm" },
	{ .calls = "pd_alloc; reg",
	  .differ = { { UVERBS_ATTR_CORE_OUT, 0, 12 } } },
	{ .calls = "pd_alloc; reg; rereg" },
	{ .calls = "pd_alloc; reg; query_mr" },
	{ .calls = "pd_alloc; reg_dmabuf" },
	{ .calls = "pd_alloc; mw_alloc" },
	{ .calls = "pd_alloc; ah_create",
	  .zero = { UVERBS_ATTR_UHW_OUT, 4, 4 } },
	{ .calls = "xrcd_open" },
	{ .calls = "cq_create",
	  .differ = { { UVERBS_ATTR_UHW_OUT, 0, 8 } },
	  .zero = { UVERBS_ATTR_UHW_OUT, 24, 8 } },
	{ .calls = "cq_create; cq_resize",
	  .differ = { { UVERBS_ATTR_UHW_OUT, 0, 8 } },
	  .zero = { UVERBS_ATTR_UHW_OUT, 24, 8 } },
	{ .calls = "cq_create; cq_destroy" },
	{ .calls = "pd_alloc; srq_create",
	  .differ = { { UVERBS_ATTR_UHW_OUT, 0, 8 },
		      { UVERBS_ATTR_UHW_OUT, 24, 4 } } },
	{ .calls = "pd_alloc; srq_create; srq_modify",
	  .differ = { { UVERBS_ATTR_UHW_OUT, 0, 8 },
		      { UVERBS_ATTR_UHW_OUT, 24, 4 } } },
	{ .calls = "pd_alloc; srq_create; srq_query",
	  .zero = { UVERBS_ATTR_CORE_OUT, 12, 4 } },
	{ .calls = "pd_alloc; srq_create; srq_destroy" },
	{ .calls = "pd_alloc; cq_create; qp_create",
	  .differ = { { UVERBS_ATTR_UHW_OUT, 0, 8 },
		      { UVERBS_ATTR_UHW_OUT, 24, 8 } },
	  .zero = { UVERBS_ATTR_UHW_OUT, 60, 4 } },
	{ .calls =
		  "pd_alloc; cq_create; srq_create; qp_create_shared 0 0 0 0 0 0 1 0 1",
	  .differ = { { UVERBS_ATTR_UHW_OUT, 0, 8 } },
	  .zero = { UVERBS_ATTR_UHW_OUT, 60, 4 } },
	{ .calls = "pd_alloc; cq_create; qp_create; qp_query" },
	/* The number of the peer is its own. */
	{ .calls = "pd_alloc; cq_create; qp_create; qp_connect; qp_query",
	  .differ = { { UVERBS_ATTR_CORE_OUT,
			offsetof(struct ib_uverbs_query_qp_resp, dest_qp_num),
			4 } } },
	{ .calls = "pd_alloc; cq_create; qp_create; qp_destroy" },
	{ .calls = "uar_alloc" },
	{ .calls = "uar_alloc; uar_export" },
	{ .calls = "umem_reg" },
	{ .calls = "umem_reg; pd_alloc; pd_query; devx_create", .any = true },
	{ .calls = "umem_reg; pd_alloc; pd_query; devx_create; devx_query 0 7",
	  .any = true },
	{ .calls = "devx_eqn; umem_reg; devx_create 2; devx_query 0 8",
	  .any = true },
	{ .calls =
		  "devx_eqn; umem_reg; pd_alloc; pd_query; devx_create 2; devx_create 3; devx_query 0 9",
	  .any = true },
	{ .calls =
		  "umem_reg; pd_alloc; pd_query; devx_create 4; devx_query 0 a",
	  .any = true },
	{ .calls =
		  "umem_reg; pd_alloc; pd_query; devx_create 4; devx_modify 0 f" },
	{ .calls = "devx_create 5", .any = true },
	{ .calls = "devx_create 6", .any = true },
};

/* Of the last call. */
struct got {
	bool good; /* all calls succeeded */
	bool one_failed;
	unsigned int count;
	struct answer answer[MOST];
	uint8_t bytes[MOST][ROOM];
};

static void run(const char *text, uint8_t poison, struct got *got)
{
	static struct sequence sequence;
	const struct answer *answers;
	unsigned int i, good;

	CHECK(sequence_parse(&sequence, text));
	calls_poison = poison;
	good = sequence_run(&sequence, NULL);
	got->good = good == sequence.calls;
	got->one_failed = good + 1 == sequence.calls;
	got->count = calls_answers(&answers);
	CHECK(got->count <= MOST);
	for (i = 0; i < got->count; i++) {
		got->answer[i] = answers[i];
		CHECK(answers[i].at && answers[i].length <= ROOM);
		memcpy(got->bytes[i], answers[i].at, answers[i].length);
	}
}

static bool within(const struct range *range, uint16_t id, size_t at)
{
	return range->length && range->id == id && at >= range->at &&
	       at < range->at + range->length;
}

static bool may_differ(const struct answered *c, const struct answer *a,
		       size_t at)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(c->differ); i++) {
		if (within(&c->differ[i], a->id, at))
			return true;
	}
	return c->any || a->length <= 8;
}

/* Slab and pages are filled with these on kernels with debugging. */
static bool of_kernel(const uint8_t *bytes)
{
	static const uint8_t poisons[] = { 0x5a, 0x6b, 0xa5, 0xaa, 0xcc };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(poisons); i++) {
		if (bytes[0] == poisons[i] && bytes[1] == poisons[i] &&
		    bytes[2] == poisons[i] && bytes[3] == poisons[i])
			return true;
	}
	return false;
}

static void check_answer(const struct answered *c, const struct answer *a,
			 const uint8_t *one, const uint8_t *two)
{
	bool ended = false, written;
	size_t i;

	for (i = 0; i < a->length; i++) {
		written = one[i] != POISON || two[i] != OTHER_POISON;
		if (!written && !c->part)
			FAIL("attribute %#x: byte %zu of %zu was not written",
			     a->id, i, a->length);
		/* What is left out is the end. */
		CHECK(!ended || !written);
		ended = !written;
		if (!written)
			continue;
		if (one[i] != two[i] && !may_differ(c, a, i))
			FAIL("attribute %#x: byte %zu of %zu is %#x, then %#x",
			     a->id, i, a->length, one[i], two[i]);
		if (within(&c->zero, a->id, i))
			CHECK_EQ(one[i] | two[i], 0);
		if (i % 4 == 0 && i + 4 <= a->length &&
		    (of_kernel(one + i) || of_kernel(two + i)))
			FAIL("attribute %#x: bytes %zu to %zu are the kernel's poison",
			     a->id, i, i + 3);
	}
	CHECK(one[0] != POISON || two[0] != OTHER_POISON);
}

/* Does a case end with this method? */
static bool looked_at(const struct method *m)
{
	const char *last;
	size_t i, length = strlen(m->name);

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		last = strrchr(cases[i].calls, ';');
		last = last ? last + 2 : cases[i].calls;
		if (!strncmp(last, m->name, length) &&
		    (!last[length] || last[length] == ' '))
			return true;
	}
	return false;
}

static bool has_answers(const struct method *m)
{
	const struct attribute *a;

	for (a = m->attribute; a < m->attribute + METHOD_ATTRIBUTES; a++) {
		if (a->kind == ATTR_ANSWER)
			return true;
	}
	return false;
}

/* Answers are complete, and reserved fields are zero: no bytes leak from stack or heap. */
static void i10_answers(void)
{
	static struct got one, two;
	const struct answered *c;
	unsigned long answers = 0;
	unsigned int i;

	if (!dev.pinion)
		skip("of pinion only");
	calls_begin();
	for (i = 0; i < methods_count; i++) {
		if (has_answers(&methods[i]) && !looked_at(&methods[i]))
			FAIL("nobody looks at the answers of %s",
			     methods[i].name);
	}
	for (c = cases; c < cases + ARRAY_SIZE(cases); c++) {
		context("%s", c->calls);
		run(c->calls, POISON, &one);
		run(c->calls, OTHER_POISON, &two);
		CHECK(one.good && two.good);
		CHECK(one.count && one.count == two.count);
		for (i = 0; i < one.count; i++)
			check_answer(c, &one.answer[i], one.bytes[i],
				     two.bytes[i]);
		answers += one.count;
	}
	note("%lu answers", answers);
}

/* A call that fails before it does anything has no answer. */
static void i10_failed(void)
{
	/* 7ffd: a handle that is none; 1 at the end: the number of another object */
	static const char *const bad[] = {
		"pd_query 7ffd",
		"dm_query 7ffd",
		"dm_export 7ffd",
		"uar_export 7ffd",
		"query_mr 7ffd",
		"devx_query 7ffd 7",
		"devx_modify 7ffd f",
		"umem_reg; pd_alloc; pd_query; devx_create 4; devx_query 0 a 1",
		"umem_reg; pd_alloc; pd_query; devx_create 4; devx_modify 0 f 0 1",
		"dm_alloc; reg_dm 0 0 7ffd",
		"srq_create 7ffd",
		"cq_create; qp_create 7ffd",
		"pd_alloc; qp_create 0 7ffd",
		"mw_alloc 7ffd",
		"ah_create 7ffd",
		"cq_resize 7ffd",
		"srq_modify 7ffd",
		"srq_query 7ffd",
		"qp_query 7ffd",
	};
	static struct got got;
	unsigned int i, j;
	size_t at;

	if (!dev.pinion)
		skip("of pinion only");
	calls_begin();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		context("%s", bad[i]);
		run(bad[i], POISON, &got);
		CHECK(got.one_failed && got.count);
		for (j = 0; j < got.count; j++) {
			for (at = 0; at < got.answer[j].length; at++)
				CHECK_EQ(got.bytes[j][at], POISON);
		}
	}
}

static const struct test tests[] = {
	TEST(i10_answers, "I10 answers have no bytes of others (class 24)"),
	TEST(i10_failed, "I10 calls that fail answer nothing (class 24)"),
};

HARNESS_MAIN("Answers of uverbs, byte by byte", tests)
