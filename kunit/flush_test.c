// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * FLUSH to persistence: each byte is written back once and in order, however often it gives way,
 * and it gives way after each stretch where others wait for the thread. The region and what is
 * written back are this test's.
 */
#include <kunit/test.h>
#include <linux/sched.h>

#include "../kernel/mem/inject.h"
#include "../kernel/mem/pager.h"
#include "../kernel/mem/persist.h"
#include "../kernel/path/carry.h"
#include "../kernel/path/fault.h"
#include "../kernel/path/flush.h"
#include "../kernel/path/move.h"
#include "../kernel/path/refuse.h"

#define BASE		0x12345600ULL
#define STRETCH		4000u
#define SHORT_RUN	8u
#define LONG_RUN	512u

static struct flush_test {
	struct pinion_qp qp;
	struct pinion_node node;
	struct pinion_key key;
	struct pinion_target target;
	struct pinion_msg msg;
	u64 run;			/* the length of what is found at a time */
	u64 next;			/* the address of the first byte not written back */
	u64 missing;			/* of the page that is missing; or 0 */
	u64 exchange_at;		/* the memory is exchanged when @next is this; or 0 */
	u64 since;			/* written back since the message came or came again */
	u32 runs;			/* likewise */
	u32 strays;			/* runs that do not begin at @next */
	u64 safe;			/* what is before it is behind a barrier */
	u32 pauses;			/* the half owned, others may have run */
	u32 pagers;			/* references */
	u64 ordinary;			/* this address is not persistent; or 0 */
	u64 block;			/* bytes that are known from one question */
	u32 inside;			/* gates */
	u32 asked, asked_inside;	/* questions; those with a gate held */
	u32 outside;			/* written back with no gate held */
} *t;

static u32 hooked_stretch(void)
{
	return STRETCH;
}

static enum pinion_syndrome hooked_enter_wait(struct pinion_keys *keys,
					      const struct pinion_want *want,
					      struct pinion_pass *pass)
{
	u64 end = t->key.base + t->key.length;

	if (!want->whole && (want->addr < t->key.base || want->addr + want->length > end))
		return PINION_SYN_KEY_RANGE;
	t->inside++;
	*pass = (struct pinion_pass){
		.key = &t->key,
		.region = &t->key,
		.offset = want->addr - t->key.base,
		.length = want->length,
		.era = t->key.era,
	};
	return 0;
}

static void hooked_leave(const struct pinion_pass *pass)
{
	t->inside--;
}

static u64 hooked_run(const struct pinion_pass *pass, u64 offset, u64 want, void **kva)
{
	u64 addr = t->key.base + pass->offset + offset;

	*kva = (void *)(unsigned long)addr;
	return addr == t->missing ? 0 : min(want, t->run);
}

static void hooked_pager_get(struct pinion_pager *pager)
{
	t->pagers++;
}

static void hooked_missing_put(struct pinion_missing *missing)
{
	t->pagers--;
}

/* Whether memory is persistent is asked with a lock, so in no gate. */
static bool hooked_ask(struct pinion_persistent *known, const void *kva, u64 length)
{
	t->asked++;
	t->asked_inside += t->inside;
	if ((unsigned long)kva == t->ordinary)
		return false;
	*known = (struct pinion_persistent){ .start = kva, .length = t->block };
	return true;
}

static void hooked_persist(void *kva, u64 length)
{
	u64 addr = (unsigned long)kva;

	t->outside += !t->inside;
	t->strays += addr != t->next;
	t->next = addr + length;
	if (t->next == t->exchange_at)
		pinion_key_exchanged(&t->key);
	t->since += length;
	t->runs++;
}

static void hooked_barrier(void)
{
	t->safe = t->next;
}

static void hooked_resched(const struct pinion_half *half)
{
	t->pauses++;
}

static enum pinion_verdict hooked_refuse_key(struct pinion_qp *qp, enum pinion_syndrome syndrome)
{
	return PINION_NAK_ACCESS;
}

static bool hooked_start(struct pinion_fault *fault, struct pinion_sleepers *faulter,
			 struct pinion_missing *missing, u64 left)
{
	t->pagers--;
	return true;
}

/* Flushes move nothing. */
static enum pinion_moved hooked_move(struct pinion_node *node, struct pinion_cursor *to,
				     struct pinion_cursor *from, u64 *left,
				     struct pinion_missing *missing)
{
	return PINION_MOVE_REFUSED;
}

#define pinion_half_resched hooked_resched
#define pinion_stretch hooked_stretch
#define pinion_key_enter_wait hooked_enter_wait
#define pinion_key_leave hooked_leave
#define pinion_pass_run hooked_run
#define pinion_pager_get hooked_pager_get
#define pinion_missing_put hooked_missing_put
#define pinion_persist_ask hooked_ask
#define pinion_persist_run hooked_persist
#define pinion_persist_barrier hooked_barrier
#define pinion_refuse_key hooked_refuse_key
#define pinion_fault_start hooked_start
#define pinion_move_stretch hooked_move

#include "../kernel/path/carry.c"
#include "../kernel/path/flush.c"

static void begin(struct kunit *test, u64 length)
{
	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	t->qp.node = &t->node;
	t->qp.service = PINION_SVC_RC;
	pinion_half_init(&t->qp.resp.lock);
	atomic64_set(&t->node.keys.era, 1);
	t->key.keys = &t->node.keys;
	t->key.base = BASE;
	t->key.length = length;
	t->run = LONG_RUN;
	t->block = LONG_RUN;
	t->next = BASE;
	t->msg = (struct pinion_msg){
		.opcode = PINION_OP_FLUSH,
		.remote_addr = BASE,
		.length = length,
		.flush_rights = IB_ACCESS_FLUSH_PERSISTENT,
	};
}

/* The message comes, or comes again; see resp_begin(). */
static enum pinion_verdict come(void)
{
	struct pinion_msg *msg = &t->msg;
	enum pinion_verdict verdict;

	msg->resumed = msg->token && msg->token == t->qp.resp.token;
	t->qp.resp.token = 0;
	t->since = 0;
	t->runs = 0;
	pinion_half_own(&t->qp.resp.lock);
	verdict = pinion_flush(&t->qp, &t->target, msg);
	pinion_half_release(&t->qp.resp.lock);
	return verdict;
}

/* Of a brief one nobody waits for more than a stretch, and it goes on where it was. */
static void brief_gives_way_after_each_stretch(struct kunit *test)
{
	enum pinion_verdict verdict;
	u32 times = 0;

	begin(test, 10 * STRETCH + 77);
	t->msg.brief = true;
	while ((verdict = come()) == PINION_GAVE_WAY) {
		KUNIT_ASSERT_LT(test, t->since, STRETCH + LONG_RUN);
		KUNIT_ASSERT_GT(test, t->since, 0);
		/* The next stretch may be for another CPU. */
		KUNIT_ASSERT_EQ(test, t->safe, t->next);
		KUNIT_ASSERT_LT(test, times++, 100);
	}
	KUNIT_EXPECT_EQ(test, verdict, PINION_ACK);
	KUNIT_EXPECT_GE(test, times, 8);
	KUNIT_EXPECT_EQ(test, t->next, BASE + t->msg.length);
	KUNIT_EXPECT_EQ(test, t->strays, 0);
	KUNIT_EXPECT_EQ(test, t->safe, t->next);
	/* Whose half it is waits for this thread meanwhile: it must not let others run. */
	KUNIT_EXPECT_EQ(test, t->pauses, 0);
}

/* Short runs take as long to find as longer ones. */
static void short_runs_fill_a_stretch(struct kunit *test)
{
	begin(test, 10 * STRETCH);
	t->run = SHORT_RUN;
	t->msg.brief = true;
	KUNIT_EXPECT_EQ(test, come(), PINION_GAVE_WAY);
	KUNIT_EXPECT_GT(test, t->runs, 0);
	KUNIT_EXPECT_LE(test, t->runs, STRETCH / 512);
}

/* Others go on to the end, unless the half is wanted; and let others have the processor. */
static void others_give_way_to_who_wants_it(struct kunit *test)
{
	begin(test, 10 * STRETCH);
	pinion_half_want(&t->qp.resp.lock);
	KUNIT_EXPECT_EQ(test, come(), PINION_ACK);
	KUNIT_EXPECT_GT(test, t->pauses, 0);
	t->next = BASE;
	t->msg.yields = true;
	KUNIT_EXPECT_EQ(test, come(), PINION_GAVE_WAY);
	KUNIT_EXPECT_LT(test, t->since, STRETCH + LONG_RUN);
	pinion_half_allow(&t->qp.resp.lock);
	while (come() == PINION_GAVE_WAY)
		cond_resched();
	KUNIT_EXPECT_EQ(test, t->next, BASE + t->msg.length);
	KUNIT_EXPECT_EQ(test, t->strays, 0);
}

/* If another message was performed meanwhile it begins anew. */
static void begins_anew_after_another(struct kunit *test)
{
	begin(test, 3 * STRETCH);
	t->msg.brief = true;
	KUNIT_ASSERT_EQ(test, come(), PINION_GAVE_WAY);
	t->qp.resp.token = 0;
	t->next = BASE;
	while (come() == PINION_GAVE_WAY)
		;
	KUNIT_EXPECT_EQ(test, t->next, BASE + t->msg.length);
	KUNIT_EXPECT_EQ(test, t->strays, 0);
}

/* The region is another one by now: all of it is flushed. */
static void region_becomes(struct kunit *test, u64 base, u64 length)
{
	enum pinion_verdict verdict;

	begin(test, 9 * STRETCH);
	t->msg.flush_all = true;
	t->msg.brief = true;
	KUNIT_ASSERT_EQ(test, come(), PINION_GAVE_WAY);
	t->key.base = base;
	t->key.length = length;
	pinion_key_exchanged(&t->key);
	t->next = t->key.base;
	while ((verdict = come()) == PINION_GAVE_WAY)
		;
	KUNIT_EXPECT_EQ(test, verdict, PINION_ACK);
	KUNIT_EXPECT_EQ(test, t->next, t->key.base + t->key.length);
	KUNIT_EXPECT_EQ(test, t->strays, 0);
}

static void region_becomes_shorter(struct kunit *test)
{
	region_becomes(test, BASE + STRETCH, 2 * STRETCH);
}

static void region_becomes_longer(struct kunit *test)
{
	region_becomes(test, BASE, 20 * STRETCH);
}

/* Other memory behind the same range. */
static void region_is_exchanged(struct kunit *test)
{
	region_becomes(test, BASE, 9 * STRETCH);
}

/* It is exchanged while it is written back: neither of the two is as it was asked for. */
static void region_is_exchanged_meanwhile(struct kunit *test)
{
	begin(test, 9 * STRETCH);
	t->exchange_at = BASE + 2 * LONG_RUN;
	KUNIT_EXPECT_EQ(test, come(), PINION_NAK_ACCESS);
	KUNIT_EXPECT_EQ(test, t->next, t->exchange_at);
}

/* A page is missing in the middle; it goes on there when the page has come. */
static void missing_page(struct kunit *test)
{
	begin(test, 3 * STRETCH);
	t->missing = BASE + 5 * LONG_RUN;
	KUNIT_EXPECT_EQ(test, come(), PINION_PEER_PAGE);
	KUNIT_EXPECT_EQ(test, t->next, t->missing);
	KUNIT_EXPECT_EQ(test, t->pagers, 0);
	KUNIT_EXPECT_EQ(test, t->safe, t->next);
	t->missing = 0;
	KUNIT_EXPECT_EQ(test, come(), PINION_ACK);
	KUNIT_EXPECT_EQ(test, t->next, BASE + t->msg.length);
	KUNIT_EXPECT_EQ(test, t->strays, 0);
}

/* The lock that the question takes may sleep, so it is asked outside; writing is inside. */
static void asks_outside_of_the_gate(struct kunit *test)
{
	begin(test, 3 * STRETCH);
	KUNIT_EXPECT_EQ(test, come(), PINION_ACK);
	KUNIT_EXPECT_EQ(test, t->next, BASE + t->msg.length);
	KUNIT_EXPECT_GT(test, t->asked, 0);
	KUNIT_EXPECT_EQ(test, t->asked_inside, 0);
	KUNIT_EXPECT_EQ(test, t->outside, 0);
	KUNIT_EXPECT_EQ(test, t->inside, 0);
}

static void what_is_known_is_not_asked_again(struct kunit *test)
{
	begin(test, 3 * STRETCH);
	t->block = 10 * STRETCH;
	KUNIT_EXPECT_EQ(test, come(), PINION_ACK);
	KUNIT_EXPECT_EQ(test, t->asked, 1);
	KUNIT_EXPECT_EQ(test, t->next, BASE + t->msg.length);
}

static void ordinary_memory_is_refused(struct kunit *test)
{
	begin(test, 3 * STRETCH);
	t->ordinary = BASE + 5 * LONG_RUN;
	KUNIT_EXPECT_EQ(test, come(), PINION_NAK_ACCESS);
	KUNIT_EXPECT_EQ(test, t->next, t->ordinary);
	KUNIT_EXPECT_EQ(test, t->inside, 0);
}

static struct kunit_case flush_cases[] = {
	KUNIT_CASE(brief_gives_way_after_each_stretch),
	KUNIT_CASE(short_runs_fill_a_stretch),
	KUNIT_CASE(others_give_way_to_who_wants_it),
	KUNIT_CASE(begins_anew_after_another),
	KUNIT_CASE(region_becomes_shorter),
	KUNIT_CASE(region_becomes_longer),
	KUNIT_CASE(region_is_exchanged),
	KUNIT_CASE(region_is_exchanged_meanwhile),
	KUNIT_CASE(missing_page),
	KUNIT_CASE(asks_outside_of_the_gate),
	KUNIT_CASE(what_is_known_is_not_asked_again),
	KUNIT_CASE(ordinary_memory_is_refused),
	{}
};

static struct kunit_suite flush_suite = {
	.name = "pinion_flush",
	.test_cases = flush_cases,
};

kunit_test_suite(flush_suite);
