// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A thread has no memory for a request that it sends, or for the answer if it delivers the request
 * itself (item N38). Then the request is sent later, and the receiver's work item answers. Nothing
 * is sent again here, as the queue pairs have no timer: what is lost is missed for ever. Needs a
 * kernel with fault injection.
 */
#include "fault.h"
#include "link.h"

enum { BEFORE = 1000, ADDED = 7 };

static struct region from, to;
static struct link link_;

static void begin(void)
{
	struct qp_cfg cfg = { .timeout = -1 };

	if (!dev.packets)
		skip("no packets to peers on this host");
	from = region_new(100, 3, ALL_ACCESS);
	to = region_new(104, 0, ALL_ACCESS);
	link_make(&link_, &cfg);
	fault_prepare();
	/* What fails behind that, in the network, is lost as any packet may be. */
	fault_only_in_function("pinion_wire_make");
}

/* The last allocation that failed so far, of those that this thread makes for packets. */
static unsigned int nth;

static void first_fault(void)
{
	nth = 0;
}

/* Post @wr, and deliver it, with the next allocation failing. Is there one? */
static bool deliver_without_memory(struct ibv_send_wr *wr)
{
	context("allocation %u", ++nth);
	fault_arm(nth);
	post(&link_.a, wr);
	return fault_disarm();
}

/* Some come from a reserve if they fail, and are no loss; all others are. */
static void last_fault(const char *what)
{
	note("%s: %u allocations", what, nth - 1);
	CHECK(nth > 2);
}

static void writes(void)
{
	struct ibv_sge sge = sge_of(&from, 0, 100);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { to.base, to.rkey },
	};
	bool hit;

	first_fault();
	do {
		rnd_fill(from.buf->data, 100);
		hit = deliver_without_memory(&wr);
		expect(await(link_.a.scq), IBV_WC_SUCCESS);
		CHECK_EQ(memcmp(to.buf->data, from.buf->data, 100), 0);
	} while (hit);
	last_fault("writes");
}

static void atomics(void)
{
	struct ibv_sge sge = sge_of(&from, 0, 8);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { .remote_addr = to.base,
			       .rkey = to.rkey,
			       .compare_add = ADDED },
	};
	uint64_t found, is, was = BEFORE;
	bool hit;

	memcpy(to.buf->data, &was, 8);
	first_fault();
	do {
		hit = deliver_without_memory(&wr);
		expect(await(link_.a.scq), IBV_WC_SUCCESS);
		memcpy(&found, from.buf->data, 8);
		memcpy(&is, to.buf->data, 8);
		CHECK_EQ(found, was);
		CHECK_EQ(is, was + ADDED);
		was = is;
	} while (hit);
	last_fault("atomics");
}

/* A refusal is an answer, too. */
static void refusals(void)
{
	struct ibv_sge sge = sge_of(&from, 0, 100);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { to.base + 5, to.rkey },
	};
	bool hit;

	first_fault();
	do {
		hit = deliver_without_memory(&wr);
		expect(await(link_.a.scq), IBV_WC_REM_ACCESS_ERR);
		link_renew(&link_);
	} while (hit);
	last_fault("refusals");
}

/* Acknowledgments, answers of atomics, and refusals come although their bringer has no memory. */
static void n38_answers(void)
{
	begin();
	writes();
	atomics();
	refusals();
}

/* An answer comes although its receiver ends as soon as it has the message. */
static void n38_end(void)
{
	struct ibv_sge sge, at;
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	bool hit;

	begin();
	sge = sge_of(&from, 0, 100);
	at = sge_of(&to, 0, 100);
	first_fault();
	do {
		rnd_fill(from.buf->data, 100);
		post_recv(&link_.b, &at, 1, 2);
		hit = deliver_without_memory(&wr);
		expect(await(link_.b.rcq), IBV_WC_SUCCESS);
		CHECK_EQ(ibv_destroy_qp(link_.b.qp), 0);
		expect(await(link_.a.scq), IBV_WC_SUCCESS);
		CHECK_EQ(memcmp(to.buf->data, from.buf->data, 100), 0);
		link_make(&link_, &(struct qp_cfg){ .timeout = -1 });
	} while (hit);
	last_fault("messages");
}

static const struct test tests[] = {
	TEST(n38_answers, "N38 answers that have no memory at first"),
	TEST(n38_end, "N38 the same, and the receiver ends"),
};

HARNESS_MAIN("Answers without memory", tests)
