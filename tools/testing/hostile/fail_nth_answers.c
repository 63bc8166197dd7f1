// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A thread has no memory for a request that it sends, or for the answer if it delivers the request
 * itself (item N38). Then the request is sent later, and the receiver's work item answers. Nothing
 * is sent again here, as the queue pairs have no timer: what is lost is missed for ever. Needs a
 * kernel with fault injection.
 */
#include "fault.h"
#include "link.h"

enum { LEN = 100, ADDED = 7 };

static struct region from, to;
static struct link link_;
static const struct qp_cfg no_timer = { .timeout = -1 };

static void begin(void)
{
	if (!dev.packets)
		skip("no packets to peers on this host");
	from = region_new(LEN, 3, ALL_ACCESS);
	to = region_new(104, 0, ALL_ACCESS);
	link_make(&link_, &no_timer);
	fault_prepare();
	/* What fails behind that, in the network, is lost as any packet may be. */
	fault_only_in_function("pinion_wire_make");
}

/*
 * Post what is delivered at once, with the first, second, ... allocation of this thread failing that
 * is for a packet, and finish that. Some come from a reserve if they fail, and are no loss; all others
 * are.
 */
static void each_fails(const char *what, void (*start)(void),
		       void (*finish)(void))
{
	unsigned int hits = 0, misses = 0;

	/* Another thread may have the turn, and allocate: only two misses are the end. */
	while (misses < 2) {
		context("%s, allocation %u", what, hits + 1);
		rnd_fill(from.buf->data, LEN);
		fault_arm(hits + 1);
		start();
		if (fault_disarm()) {
			hits++;
			misses = 0;
		} else {
			misses++;
		}
		finish();
	}
	note("%s: %u allocations", what, hits);
	CHECK(hits > 1);
}

static void check_came(void)
{
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	CHECK_EQ(memcmp(to.buf->data, from.buf->data, LEN), 0);
}

static void start_write(void)
{
	post_rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&from, 0, LEN), to.base,
		  to.rkey, 0);
}

/* The word at the other side. */
static uint64_t word;

static void start_atomic(void)
{
	post_atomic_op(&link_.a, IBV_WR_ATOMIC_FETCH_AND_ADD,
		       sge_of(&from, 0, 8), to.base, to.rkey, ADDED, 0);
}

static void finish_atomic(void)
{
	uint64_t found, is;

	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	memcpy(&found, from.buf->data, 8);
	memcpy(&is, to.buf->data, 8);
	CHECK_EQ(found, word);
	CHECK_EQ(is, word + ADDED);
	word = is;
}

/* A refusal is an answer, too. */
static void start_refused(void)
{
	post_rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&from, 0, LEN),
		  to.base + 5, to.rkey, 0);
}

static void finish_refused(void)
{
	expect(await(link_.a.scq), IBV_WC_REM_ACCESS_ERR);
	link_renew(&link_);
}

/* Acknowledgments, answers of atomics, and refusals come although their bringer has no memory. */
static void n38_answers(void)
{
	begin();
	each_fails("writes", start_write, check_came);
	memcpy(&word, to.buf->data, 8);
	each_fails("atomics", start_atomic, finish_atomic);
	each_fails("refusals", start_refused, finish_refused);
}

static void start_send(void)
{
	struct ibv_sge sink = sge_of(&to, 0, LEN);

	post_recv(&link_.b, &sink, 1, 2);
	post_rdma(&link_.a, IBV_WR_SEND, sge_of(&from, 0, LEN), 0, 0, 0);
}

static void end_receiver(void)
{
	expect(await(link_.b.rcq), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_destroy_qp(link_.b.qp), 0);
	check_came();
	link_make(&link_, &no_timer);
}

/* An answer comes although its receiver ends as soon as it has the message. */
static void n38_end(void)
{
	begin();
	each_fails("messages", start_send, end_receiver);
}

static const struct test tests[] = {
	TEST(n38_answers, "N38 answers that have no memory at first"),
	TEST(n38_end, "N38 the same, and the receiver ends"),
};

HARNESS_MAIN("Answers without memory", tests)
