// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The completion status of each error, on both sides, and the event that goes with it (items X1
 * to X15).
 */
#define _GNU_SOURCE
#include <string.h>

#include "event.h"
#include "slow.h"
#include "transfer.h"

enum { LEN = 20000 };

static struct link link_;
static struct region a, b;

static void begin(const struct qp_cfg *at_a, const struct qp_cfg *at_b)
{
	link_make2(&link_, at_a, at_b);
	a = region_new(LEN, 1003, ALL_ACCESS);
	b = region_new(LEN, 2017, ALL_ACCESS);
	event_forget();
}

static void event_of(struct end *end, enum ibv_event_type type)
{
	struct ibv_async_event event = event_await(type);

	CHECK(event.element.qp == end->qp);
	end_await_state(end, IBV_QPS_ERR);
}

/* A bad rkey fails with REM_ACCESS_ERR, and the peer is told by an event. */
static void x1_access(void)
{
	begin(NULL, NULL);
	expect_why(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&a, 0, 8),
			b.base + LEN, b.rkey),
		   IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	event_of(&link_.b, IBV_EVENT_QP_ACCESS_ERR);
	CHECK_EQ(end_state(&link_.a), IBV_QPS_ERR);
}

/*
 * A request that the peer's queue pair does not permit fails with REM_INV_REQ_ERR, and changes
 * nothing.
 */
static void x2_qp_rights(void)
{
	static const struct {
		int right;
		enum ibv_wr_opcode opcode;
	} cases[] = {
		{ IBV_ACCESS_REMOTE_WRITE, IBV_WR_RDMA_WRITE },
		{ IBV_ACCESS_REMOTE_READ, IBV_WR_RDMA_READ },
		{ IBV_ACCESS_REMOTE_ATOMIC, IBV_WR_ATOMIC_FETCH_AND_ADD },
		{ IBV_ACCESS_REMOTE_ATOMIC, IBV_WR_ATOMIC_CMP_AND_SWP },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct qp_cfg cfg = {
			.access = (IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC) &
				  ~cases[i].right,
		};

		context("%d", cases[i].opcode);
		begin(NULL, &cfg);
		expect_why(rdma(&link_.a, cases[i].opcode, sge_of(&a, 0, 8),
				(b.base + 7) & ~7ULL, b.rkey),
			   IBV_WC_REM_INV_REQ_ERR, PINION_SYN_REMOTE);
		event_of(&link_.b, IBV_EVENT_QP_REQ_ERR);
		buf_check(a.buf);
		buf_check(b.buf);
	}
}

/* An error that a completion reports gives no event. */
static void told_by_completion(struct end *end)
{
	end_await_state(end, IBV_QPS_ERR);
	event_none(IBV_EVENT_QP_REQ_ERR, 0.05);
}

/* A receive that is too short: both sides fail, and no byte behind it changes. */
static void x3_short_receive(void)
{
	struct ibv_sge sink;

	begin(NULL, NULL);
	sink = sge_of(&b, 100, 4999);
	post_recv(&link_.b, &sink, 1, 5);
	expect_why(send_sge(&link_.a, sge_of(&a, 0, 5000)),
		   IBV_WC_REM_INV_REQ_ERR, PINION_SYN_REMOTE);
	expect_why(await(link_.b.rcq), IBV_WC_LOC_LEN_ERR, PINION_SYN_LENGTH);
	told_by_completion(&link_.b);
	memcpy(b.buf->want + 100, b.buf->data + 100, 4999);
	buf_check(b.buf);
}

/* Only the first thousand bytes have valid memory. */
static void post_half_bad_recv(void)
{
	struct ibv_sge sink[2];

	sink[0] = sge_of(&b, 0, 1000);
	sink[1] = sge_of(&b, 2000, 5000);
	sink[1].lkey ^= 0x10;
	post_recv(&link_.b, sink, 2, 5);
}

/* A receive with a bad key: the sender gets REM_OP_ERR, the receiver LOC_PROT_ERR. */
static void x4_bad_receive(void)
{
	begin(NULL, NULL);
	post_half_bad_recv();
	expect_why(send_sge(&link_.a, sge_of(&a, 0, 5000)), IBV_WC_REM_OP_ERR,
		   PINION_SYN_REMOTE);
	expect_why(await(link_.b.rcq), IBV_WC_LOC_PROT_ERR,
		   PINION_SYN_KEY_UNKNOWN);
	told_by_completion(&link_.b);
	memcpy(b.buf->want, b.buf->data, 1000);
	buf_check(b.buf);
}

/* Pieces of a receive's list that the message does not need are not checked. */
static void x5_unused_piece(void)
{
	begin(NULL, NULL);
	post_half_bad_recv();
	expect(send_sge(&link_.a, sge_of(&a, 0, 1000)), IBV_WC_SUCCESS);
	expect(await(link_.b.rcq), IBV_WC_SUCCESS);
	memcpy(b.buf->want, a.buf->want, 1000);
	buf_check(b.buf);
}

/* Errors of the requester are found before the peer sees anything. */
static void x6_local_first(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ,
		IBV_WR_RDMA_WRITE_WITH_IMM
	};
	struct ibv_sge sges[2], sink;
	size_t i;

	begin(NULL, NULL);
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct ibv_send_wr wr = {
			.sg_list = sges,
			.num_sge = 2,
			.opcode = opcodes[i],
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { b.base, b.rkey },
		};

		context("%s", opcode_name(opcodes[i]));
		sges[0] = sge_of(&a, 0, 5000);
		sges[1] = sge_of(&a, 6000, 5000);
		sges[1].lkey ^= 0x1000;
		sink = sge_of(&b, 0, LEN);
		if (takes_receive(opcodes[i]))
			post_recv(&link_.b, &sink, 1, i);
		post(&link_.a, &wr);
		expect_why(await(link_.a.scq), IBV_WC_LOC_PROT_ERR,
			   PINION_SYN_KEY_UNKNOWN);
		CHECK_EQ(end_state(&link_.a), IBV_QPS_ERR);
		CHECK_EQ(end_state(&link_.b), IBV_QPS_RTS);
		expect_none(link_.b.rcq, 0.01);
		buf_check(a.buf);
		buf_check(b.buf);
		link_renew(&link_);
	}
}

/* Requests with impossible lengths, also such whose sum wraps, fail with LOC_LEN_ERR. */
static void x7_too_long(void)
{
	struct ibv_sge sges[3];
	struct ibv_send_wr wr = {
		.sg_list = sges,
		.num_sge = 3,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};
	int i;

	begin(NULL, NULL);
	for (i = 0; i < 3; i++)
		sges[i] = sge_of(&a, 0, 0x40000000);
	wr.wr.rdma.remote_addr = b.base;
	wr.wr.rdma.rkey = b.rkey;
	post(&link_.a, &wr);
	expect_why(await(link_.a.scq), IBV_WC_LOC_LEN_ERR, PINION_SYN_LENGTH);
	link_renew(&link_);
	/* Lengths whose sum wraps in 32 bits are not taken for a short message. */
	sges[0].length = UINT32_MAX;
	sges[1].length = 9;
	sges[2].length = 0;
	post(&link_.a, &wr);
	expect_why(await(link_.a.scq), IBV_WC_LOC_LEN_ERR, PINION_SYN_LENGTH);
	link_renew(&link_);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.num_sge = 1;
	sges[0].length = 7;
	wr.wr.atomic.remote_addr = (b.base + 7) & ~7ULL;
	wr.wr.atomic.rkey = b.rkey;
	post(&link_.a, &wr);
	expect_why(await(link_.a.scq), IBV_WC_LOC_LEN_ERR, PINION_SYN_LENGTH);
	buf_check(a.buf);
	buf_check(b.buf);
}

/* A refused write with immediate data uses up no receive, and no byte changes. */
static void x8_write_imm(void)
{
	struct ibv_sge sink;

	begin(NULL, NULL);
	sink = sge_of(&b, 0, 100);
	post_recv(&link_.b, &sink, 1, 5);
	expect_why(rdma(&link_.a, IBV_WR_RDMA_WRITE_WITH_IMM,
			sge_of(&a, 0, 100), b.base + LEN - 99, b.rkey),
		   IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	/* The peer's receive request is flushed, because its QP is broken. */
	expect(await(link_.b.rcq), IBV_WC_WR_FLUSH_ERR);
	event_of(&link_.b, IBV_EVENT_QP_ACCESS_ERR);
	buf_check(b.buf);
}

/* A send that invalidates a key which cannot be is refused, and the region still works. */
static void x9_invalidate(void)
{
	long long refusals;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_INV,
		.send_flags = IBV_SEND_SIGNALED,
	};

	begin(NULL, NULL);
	post_recv(&link_.b, NULL, 0, 5);
	refusals = device_counter("invalid_requests");
	wr.invalidate_rkey = b.rkey; /* of a region */
	post(&link_.a, &wr);
	expect(await(link_.a.scq), IBV_WC_REM_ACCESS_ERR);
	CHECK(await(link_.b.rcq).status != IBV_WC_SUCCESS);
	if (refusals >= 0)
		counter_await("invalid_requests", refusals + 1);
	end_await_state(&link_.b, IBV_QPS_ERR);
	link_renew(&link_);
	expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&a, 0, 8), b.base,
		    b.rkey),
	       IBV_WC_SUCCESS);
	post_recv(&link_.b, NULL, 0, 5);
	wr.invalidate_rkey = 0x4711;
	post(&link_.a, &wr);
	expect(await(link_.a.scq), IBV_WC_REM_ACCESS_ERR);
}

/* Requests that the service does not have cannot be posted. */
static void x10_wrong_service(void)
{
	struct qp_cfg uc = { .type = IBV_QPT_UC };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
	};

	begin(&uc, &uc);
	CHECK_EQ(try_post(&link_.a, &wr), EINVAL);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	CHECK_EQ(try_post(&link_.a, &wr), EINVAL);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	CHECK_EQ(try_post(&link_.a, &wr), EINVAL);
	wr.opcode = 77;
	CHECK_EQ(try_post(&link_.a, &wr), EINVAL);
	wr.opcode = 32;
	CHECK_EQ(try_post(&link_.a, &wr), EINVAL);
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = 1 << 9;
	CHECK_EQ(try_post(&link_.a, &wr), EINVAL);
}

/* One request of a list is invalid: those before it are done. */
static void x11_bad_wr(void)
{
	struct ibv_send_wr wrs[4], *bad;
	struct ibv_sge sge;
	int i;

	begin(NULL, NULL);
	sge = sge_of(&a, 0, 100);
	for (i = 0; i < 4; i++)
		wrs[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i < 3 ? &wrs[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = i == 2 ? 10000 : 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { b.base + i * 100, b.rkey },
		};
	CHECK_EQ(ibv_post_send(link_.a.qp, wrs, &bad), EINVAL);
	CHECK(bad == &wrs[2]);
	CHECK_EQ(await(link_.a.scq).wr_id, 0);
	CHECK_EQ(await(link_.a.scq).wr_id, 1);
	expect_none(link_.a.scq, 0.01);
	memcpy(b.buf->want, a.buf->want, 100);
	memcpy(b.buf->want + 100, a.buf->want, 100);
	buf_check(b.buf);
}

/* A READ with two errors, no local write and no remote read: the local one is reported. */
static void x12_which_first(void)
{
	struct region no;

	begin(NULL, NULL);
	no = region_new(LEN, 7, 0);
	expect(rdma(&link_.a, IBV_WR_RDMA_READ, sge_of(&no, 0, 8), no.base,
		    no.rkey),
	       IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(end_state(&link_.b), IBV_QPS_RTS);
	link_renew(&link_);
	transfer(&link_, &a, &b,
		 &(struct transfer){ .opcode = IBV_WR_SEND, .length = 9001 });
}

/*
 * The second half of the sender's data is unmapped: an error for the sender, and the receiver
 * notices nothing.
 */
static void x13_half(int opcode)
{
	struct ibv_sge sge, sink;

	begin(NULL, NULL);
	sge = sge_half_gone();
	sink = sge_of(&b, 0, 140);
	post_recv(&link_.b, &sink, 1, 3);
	expect(rdma(&link_.a, opcode, sge, b.base, b.rkey),
	       IBV_WC_LOC_PROT_ERR);
	expect_none(link_.b.rcq, 0.02);
	CHECK_EQ(end_state(&link_.b), IBV_QPS_RTS);
	expect_flushed(&link_.b, 3);
}

/*
 * One of the sender's two regions is deregistered while the message waits for a page of the other:
 * again the receiver keeps its request.
 */
static void x13_meanwhile(int opcode)
{
	struct ibv_sge sges[2], sink;
	struct ibv_send_wr wr = {
		.sg_list = sges,
		.num_sge = 2,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct region gone;
	struct slow slow;
	struct ibv_mr *mr;

	need_odp();
	begin(NULL, NULL);
	gone = region_new(LEN, 3, ALL_ACCESS);
	slow = slow_new();
	slow_hold(&slow, true);
	mr = MUST(ibv_reg_mr(dev.pd, slow.map, SLOW_LEN, ODP_ALL));
	sges[0] = (struct ibv_sge){ (uintptr_t)slow.map, 100, mr->lkey };
	sges[1] = sge_of(&gone, 0, 40);
	sink = sge_of(&b, 0, 140);
	post_recv(&link_.b, &sink, 1, 3);
	wr.wr.rdma.remote_addr = b.base;
	wr.wr.rdma.rkey = b.rkey;
	post(&link_.a, &wr);
	slow_await(&slow);
	CHECK_EQ(ibv_dereg_mr(gone.mr), 0);
	slow_hold(&slow, false);
	expect(await(link_.a.scq), IBV_WC_LOC_PROT_ERR);
	expect_none(link_.b.rcq, 0.02);
	CHECK_EQ(end_state(&link_.b), IBV_QPS_RTS);
	expect_flushed(&link_.b, 3);
}

/*
 * A QP that is its own peer: the error completes the request, and gives the event of the
 * responder, too.
 */
static void x14_own_peer(void)
{
	struct peer peer;
	struct end end;

	end_make(&end, NULL);
	peer = end_peer(&end);
	end_init(&end);
	end_connect(&end, &peer);
	a = region_new(LEN, 1003, ALL_ACCESS);
	b = region_new(LEN, 2017, ALL_ACCESS);
	event_forget();
	expect(rdma(&end, IBV_WR_RDMA_WRITE, sge_of(&a, 0, 100), b.base + LEN,
		    b.rkey),
	       IBV_WC_REM_ACCESS_ERR);
	event_of(&end, IBV_EVENT_QP_ACCESS_ERR);
	/* Only one event. */
	event_none(IBV_EVENT_QP_ACCESS_ERR, 0.02);
}

/* A receive request with a bad key breaks the QP that posted it, whatever the sender did. */
static void x15_bad_receive_uc(void)
{
	struct qp_cfg uc = { .type = IBV_QPT_UC };

	begin(&uc, &uc);
	post_half_bad_recv();
	post_recv(&link_.b, NULL, 0, 6);
	expect(send_sge(&link_.a, sge_of(&a, 0, 5000)), IBV_WC_SUCCESS);
	expect_why(await(link_.b.rcq), IBV_WC_LOC_PROT_ERR,
		   PINION_SYN_KEY_UNKNOWN);
	expect(await(link_.b.rcq), IBV_WC_WR_FLUSH_ERR);
	told_by_completion(&link_.b);
	CHECK_EQ(end_state(&link_.a), IBV_QPS_RTS);
	/*
	 * A receive request that is too short is the sender's error: over UC the message is
	 * dropped.
	 */
	link_renew(&link_);
	post_recv(&link_.b, NULL, 0, 7);
	expect(send_sge(&link_.a, sge_of(&a, 0, 5000)), IBV_WC_SUCCESS);
	expect_none(link_.b.rcq, 0.02);
	CHECK_EQ(end_state(&link_.b), IBV_QPS_RTS);
}

static const struct test tests[] = {
	TEST(x1_access, "X1 a bad rkey: REM_ACCESS_ERR"),
	TEST(x2_qp_rights, "X2 not allowed on the QP: REM_INV_REQ_ERR"),
	TEST(x3_short_receive, "X3 a short receive: REM_INV_REQ, LOC_LEN"),
	TEST(x4_bad_receive, "X4 a bad receive: REM_OP, LOC_PROT"),
	TEST(x5_unused_piece, "X5 pieces that are not needed"),
	TEST(x6_local_first, "X6 own mistakes come first: LOC_PROT_ERR"),
	TEST(x7_too_long, "X7 impossible lengths: LOC_LEN_ERR"),
	TEST(x8_write_imm, "X8 a refused write with immediate"),
	TEST(x9_invalidate, "X9 a refused invalidation"),
	TEST(x10_wrong_service, "X10 requests the service does not have"),
	TEST(x11_bad_wr, "X11 a list with a bad request"),
	TEST(x12_which_first, "X12 both sides wrong"),
	TEST_OF(x13_half, IBV_WR_SEND, "X13 a sender whose memory is gone"),
	TEST_OF(x13_half, IBV_WR_RDMA_WRITE_WITH_IMM,
		"X13 a writer whose memory is gone"),
	TEST_OF(x13_meanwhile, IBV_WR_SEND,
		"X13 a sender whose memory goes meanwhile"),
	TEST_OF(x13_meanwhile, IBV_WR_RDMA_WRITE_WITH_IMM,
		"X13 a writer whose memory goes meanwhile"),
	TEST(x14_own_peer, "X14 a queue pair that is its own peer"),
	TEST(x15_bad_receive_uc, "X15 a bad receive: UC"),
};

HARNESS_MAIN("Errors", tests)
