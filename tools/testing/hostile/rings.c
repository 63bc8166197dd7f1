// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ring contents that the provider never writes, each with the one right result (items R1 to
 * R17). ring_fuzz.c has random contents.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "event.h"
#include "raw.h"
#include "rings.h"
#include "victim.h"

enum { LEN = 20000 };

static struct raw_end a, b;
static struct region from, to;

static void connect_ends(void)
{
	struct peer at_a = end_peer(&a.end), at_b = end_peer(&b.end);

	end_init(&a.end);
	end_init(&b.end);
	end_connect(&b.end, &at_a);
	end_connect(&a.end, &at_b);
	raw_end_reset(&a);
	raw_end_reset(&b);
}

static void begin_as(enum ibv_qp_type type)
{
	struct qp_cfg cfg = { .type = type, .timeout = 8, .retry = 1 };

	if (!dev.pinion)
		skip("only pinion has these rings");
	raw_end_make(&a, &cfg);
	raw_end_make(&b, &cfg);
	connect_ends();
	from = region_new(LEN, 11, ALL_ACCESS);
	to = region_new(LEN, 99, ALL_ACCESS);
	event_forget();
}

static void begin(void)
{
	begin_as(IBV_QPT_RC);
}

static void renew(void)
{
	CHECK_EQ(end_set_state(&a.end, IBV_QPS_RESET), 0);
	CHECK_EQ(end_set_state(&b.end, IBV_QPS_RESET), 0);
	drain(a.end.scq);
	drain(b.end.scq);
	connect_ends();
}

/* A valid write of 100 bytes, for the caller to change. */
static struct pinion_sq_wqe *good(void)
{
	struct pinion_sq_wqe *wqe = ring_wqe(&a.sq);
	struct pinion_sge *sge = wqe_sges(wqe);

	wqe->wr_id = 0xbad;
	wqe->opcode = PINION_OP_RDMA_WRITE;
	wqe->flags = PINION_WQE_SIGNALED;
	wqe->num_sge = 1;
	wqe->rdma.remote_addr = to.base;
	wqe->rdma.rkey = to.rkey;
	sge->addr = from.base;
	sge->length = 100;
	sge->lkey = from.lkey;
	return wqe;
}

static void gives(enum ibv_wc_status status, int syndrome)
{
	struct ibv_wc wc;

	ring_publish(&a.sq, 1);
	CHECK_EQ(ring_doorbell(&a), 0);
	wc = await(a.end.scq);
	CHECK_EQ(wc.wr_id, 0xbad);
	expect_why(wc, status, syndrome);
	buf_check(to.buf);
	buf_check(from.buf);
}

static void works(void)
{
	good();
	memcpy(to.buf->want, from.buf->want, 100);
	gives(IBV_WC_SUCCESS, PINION_SYN_NONE);
}

/* A request that is written by hand works. */
static void r1_good(void)
{
	int i;

	begin();
	for (i = 0; i < 100; i++)
		works();
}

/* Unknown opcodes, and those of the kernel alone, fail with a completion. */
static void r2_opcodes(void)
{
	int opcode;

	begin();
	for (opcode = 0; opcode < 256; opcode++) {
		if (opcode <= PINION_OP_SEND_WITH_INV ||
		    opcode == PINION_OP_FLUSH ||
		    opcode == PINION_OP_ATOMIC_WRITE)
			continue;
		context("opcode %d", opcode);
		good()->opcode = opcode;
		gives(IBV_WC_LOC_QP_OP_ERR, PINION_SYN_OPCODE);
		renew();
	}
}

/* Opcodes of another service fail with a completion. */
static void r4_services(void)
{
	static const uint8_t not_uc[] = { PINION_OP_RDMA_READ,
					  PINION_OP_ATOMIC_CMP_AND_SWP,
					  PINION_OP_ATOMIC_FETCH_AND_ADD,
					  PINION_OP_SEND_WITH_INV,
					  PINION_OP_FLUSH,
					  PINION_OP_ATOMIC_WRITE };
	static const uint8_t not_ud[] = { PINION_OP_RDMA_WRITE,
					  PINION_OP_RDMA_WRITE_WITH_IMM,
					  PINION_OP_RDMA_READ,
					  PINION_OP_BIND_MW,
					  PINION_OP_ATOMIC_FETCH_AND_ADD };
	size_t i;

	begin_as(IBV_QPT_UC);
	for (i = 0; i < ARRAY_SIZE(not_uc); i++) {
		context("opcode %d on UC", not_uc[i]);
		good()->opcode = not_uc[i];
		gives(IBV_WC_LOC_QP_OP_ERR, PINION_SYN_OPCODE);
		renew();
	}
	begin_as(IBV_QPT_UD);
	for (i = 0; i < ARRAY_SIZE(not_ud); i++) {
		context("opcode %d on UD", not_ud[i]);
		good()->opcode = not_ud[i];
		gives(IBV_WC_LOC_QP_OP_ERR, PINION_SYN_OPCODE);
		renew();
	}
}

/* Requests with more pieces than there is room for fail with a completion. */
static void r5_counts(void)
{
	static const uint16_t counts[] = { 5, 6, 64, 65, 255, 256, 4096, 65535 };
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		if (counts[i] <= (a.sq.stride - 64) / 16)
			continue;
		context("num_sge %d", counts[i]);
		good()->num_sge = counts[i];
		gives(IBV_WC_LOC_QP_OP_ERR, PINION_SYN_BAD_WQE);
		renew();
	}
}

/* Impossible inline lengths fail with a completion. */
static void r6_inline(void)
{
	static const uint32_t lengths[] = { 65,	      128,    1024,
					    1025,     0xffff, 0x10000,
					    1U << 31, -1U,    -64U };
	struct pinion_sq_wqe *wqe;
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		context("inline_length %#x", lengths[i]);
		wqe = good();
		wqe->flags |= PINION_WQE_INLINE;
		wqe->num_sge = 0;
		wqe->inline_length = lengths[i];
		gives(IBV_WC_LOC_LEN_ERR, PINION_SYN_LENGTH);
		renew();
	}
	context("with SGEs");
	wqe = good();
	wqe->flags |= PINION_WQE_INLINE;
	wqe->inline_length = 8;
	gives(IBV_WC_LOC_QP_OP_ERR, PINION_SYN_BAD_WQE);
	renew();
	context("a read");
	wqe = good();
	wqe->opcode = PINION_OP_RDMA_READ;
	wqe->flags |= PINION_WQE_INLINE;
	wqe->num_sge = 0;
	gives(IBV_WC_LOC_QP_OP_ERR, PINION_SYN_BAD_WQE);
}

/* Unknown flags fail with a completion. */
static void r7_flags(void)
{
	int bit;

	begin();
	for (bit = 4; bit < 8; bit++) {
		context("flag %d", bit);
		good()->flags |= 1 << bit;
		gives(IBV_WC_LOC_QP_OP_ERR, PINION_SYN_BAD_WQE);
		renew();
	}
	context("LOCAL_INV with SGEs");
	good()->opcode = PINION_OP_LOCAL_INV;
	gives(IBV_WC_LOC_QP_OP_ERR, PINION_SYN_BAD_WQE);
}

static void take_datagram(void)
{
	struct pinion_rq_wqe *recv = ring_recv(&b.rq);

	recv->num_sge = 1;
	*(struct pinion_sge *)(recv + 1) =
		(struct pinion_sge){ to.base, LEN, to.lkey };
	ring_publish(&b.rq, 1);
}

/* Numbers of address handles of others, or of none, fail with a completion. */
static void r8_address_handles(void)
{
	static const uint32_t numbers[] = { 0, 1000000, 0x7fffffff, 1U << 31,
					    UINT32_MAX };
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	struct pinion_sq_wqe *wqe;
	uint32_t ah, taken = 0;
	size_t i;

	begin_as(IBV_QPT_UD);
	attr.grh.dgid = dev.gid;
	attr.grh.sgid_index = dev.gid_index;
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		context("AH %#x", numbers[i]);
		wqe = good();
		wqe->opcode = PINION_OP_SEND;
		wqe->ud.ah = numbers[i];
		wqe->ud.remote_qpn = b.end.qp->qp_num;
		wqe->ud.remote_qkey = QKEY;
		gives(IBV_WC_LOC_QP_OP_ERR, PINION_SYN_AH);
		renew();
	}
	/* Small numbers: AHs of ours, of another domain, and of other processes. */
	MUST(ibv_create_ah(pd, &attr));
	for (ah = 1; ah < 200; ah++) {
		struct ibv_wc wc;

		context("AH %u", ah);
		wqe = good();
		wqe->opcode = PINION_OP_SEND;
		wqe->ud.ah = ah;
		wqe->ud.remote_qpn = b.end.qp->qp_num;
		wqe->ud.remote_qkey = QKEY;
		rnd_fill(wqe->ud.reserved, sizeof(wqe->ud.reserved));
		take_datagram();
		ring_publish(&a.sq, 1);
		CHECK_EQ(ring_doorbell(&a), 0);
		wc = await(a.end.scq);
		if (wc.status == IBV_WC_SUCCESS) {
			wc = await(b.end.rcq);
			expect(wc, IBV_WC_SUCCESS);
			/* Always index 0, whatever the sender's ring has. */
			CHECK_EQ(wc.pkey_index, 0);
			taken++;
			continue;
		}
		expect_why(wc, IBV_WC_LOC_QP_OP_ERR, PINION_SYN_AH);
		renew();
	}
	CHECK(taken);
}

/* Keys and queue pairs of other processes cannot be used. */
static void r9_keys(void)
{
	volatile struct victim *v = victim_start();
	static const uint32_t keys[] = { 0, 1, 255, 256, UINT32_MAX };
	struct ibv_wc wc;
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		context("key %#x", keys[i]);
		wqe_sges(good())->lkey = keys[i];
		gives(IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_UNKNOWN);
		renew();
		good()->rdma.rkey = keys[i];
		gives(IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
		renew();
	}
	context("another process's");
	wqe_sges(good())->lkey = v->lkey;
	gives(IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_UNKNOWN);
	renew();
	good()->rdma.rkey = v->rkey;
	gives(IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	renew();
	/* The victim's QP is not connected to ours. */
	{
		struct peer peer = { dev.gid, v->qpn, 0, 0, 0, 0, 0 };

		CHECK_EQ(end_set_state(&a.end, IBV_QPS_RESET), 0);
		raw_end_reset(&a);
		end_init(&a.end);
		end_connect(&a.end, &peer);
		good();
		ring_publish(&a.sq, 1);
		CHECK_EQ(ring_doorbell(&a), 0);
		wc = await(a.end.scq);
		expect(wc, IBV_WC_RETRY_EXC_ERR);
	}
	victim_end(v);
}

/* Impossible binds fail with a completion. */
static void r10_binds(void)
{
	struct ibv_mw *mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2));
	volatile struct victim *v = victim_start();
	const struct {
		uint32_t mr, mw, access;
		uint64_t length;
	} bad[] = {
		{ 0, mw->rkey, 1, 10 },
		{ UINT32_MAX, mw->rkey, 1, 10 },
		{ mw->rkey, mw->rkey, 1, 10 },
		{ v->lkey, mw->rkey, 1, 10 },
		{ 0, v->rkey, 1, 10 },
		{ 0, 0, 0, 0 },
		{ 0, UINT32_MAX, 0, 0 },
		{ 0, mw->rkey, UINT32_MAX, 10 },
		{ 0, mw->rkey, 1 << 30, UINT64_MAX },
	};
	struct pinion_sq_wqe *wqe;
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		context("case %zu", i);
		wqe = good();
		wqe->opcode = PINION_OP_BIND_MW;
		wqe->num_sge = 0;
		wqe->bind.addr = to.base;
		wqe->bind.length = bad[i].length;
		wqe->bind.mr_lkey = bad[i].mr;
		wqe->bind.mw_rkey = bad[i].mw;
		wqe->bind.new_rkey = bad[i].mw;
		wqe->bind.access = bad[i].access;
		gives(IBV_WC_MW_BIND_ERR, PINION_SYN_BIND);
		renew();
	}
	victim_end(v);
}

/* An impossible index of a send queue breaks the queue pair, and nothing else. */
static void r11_send_index(void)
{
	const uint32_t jumps[] = {
		a.sq.entries + 1, 17, 1000, 1U << 31, -1U, -16U, -17U
	};
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(jumps); i++) {
		uint32_t jump = i ? jumps[i] : a.sq.entries + 1;

		context("a jump by %d", (int)jump);
		works();
		event_forget();
		a.sq.hdr->user_idx = a.sq.next + jump;
		CHECK_EQ(ring_doorbell(&a), 0);
		CHECK(event_await(IBV_EVENT_QP_FATAL).element.qp == a.end.qp);
		CHECK_EQ(end_state(&a.end), IBV_QPS_ERR);
		CHECK_EQ(ring_doorbell(&a), 0);
		/* The kernel ignores what the user writes to its index. */
		a.sq.hdr->kern_idx = rnd();
		CHECK_EQ(ring_doorbell(&a), 0);
		renew();
		works();
		a.sq.hdr->kern_idx = rnd();
		works();
	}
	buf_check(to.buf);
}

/* Impossible receives break the message, impossible indices count as no receive. */
static void r12_receive_ring(void)
{
	static const uint32_t counts[] = { 6, 65, 1 << 16, 1U << 31,
					   UINT32_MAX };
	struct pinion_rq_wqe *recv;
	struct pinion_sq_wqe *wqe;
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		context("num_sge %#x", counts[i]);
		recv = ring_recv(&b.rq);
		recv->wr_id = 77;
		recv->num_sge = counts[i];
		ring_publish(&b.rq, 1);
		wqe = good();
		wqe->opcode = PINION_OP_SEND;
		gives(IBV_WC_REM_OP_ERR, PINION_SYN_REMOTE);
		CHECK_EQ(await(b.end.rcq).wr_id, 77);
		renew();
	}
	for (i = 0; i < 6; i++) {
		static const uint32_t jumps[] = { 257, 1000,  1U << 31,
						  -1U, -256U, -300U };

		context("a jump by %d", (int)jumps[i]);
		b.rq.hdr->user_idx = jumps[i];
		good()->opcode = PINION_OP_SEND;
		/*
		 * The jump counts as no receive request: with a short RNR timer and unlimited
		 * retries the sender waits.
		 */
		ring_publish(&a.sq, 1);
		CHECK_EQ(ring_doorbell(&a), 0);
		expect_none(a.end.scq, 0.02);
		CHECK_EQ(end_set_state(&b.end, IBV_QPS_ERR), 0);
		expect(await(a.end.scq), IBV_WC_RETRY_EXC_ERR);
		renew();
	}
}

/* What is written to a completion queue harms its owner alone. */
static void r13_completion_ring(void)
{
	int i;

	begin();
	for (i = 0; i < 40; i++) {
		a.cq.hdr->arm = rnd();
		works();
	}
	a.cq.hdr->flags = UINT32_MAX;
	a.cq.hdr->user_idx = rnd();
	for (i = 0; i < 600; i++) {
		good();
		ring_publish(&a.sq, 1);
		CHECK_EQ(ring_doorbell(&a), 0);
	}
	event_await(IBV_EVENT_CQ_ERR);
	CHECK(ibv_resize_cq(a.end.scq, 1000) || a.end.scq->cqe >= 1000);
}

/* Numbers of queue pairs of others are no handles of this file. */
static void r14_others_doorbell(void)
{
	volatile struct victim *v = victim_start();
	struct ibv_context *other = device_another();
	uint32_t handle;

	begin();
	/* Handles are per file: any valid number is one of our own objects. */
	for (handle = 0; handle < 300; handle++) {
		int err = raw_doorbell(dev.ctx->cmd_fd, handle);

		if (handle != a.end.qp->handle && handle != b.end.qp->handle)
			CHECK(err == EINVAL || err == ENOENT);
		CHECK(raw_doorbell(other->cmd_fd, handle));
	}
	victim_end(v);
}

/* Random reserved fields harm nobody. */
static void r15_reserved(void)
{
	struct pinion_sq_wqe *wqe;
	struct ibv_wc wc;
	uint32_t i;

	begin();
	/* Reserved fields have no harmful effect. */
	for (i = 0; i < 50; i++) {
		wqe = good();
		wqe->reserved = rnd();
		rnd_fill(wqe->rdma.reserved, sizeof(wqe->rdma.reserved));
		wqe->ex = rnd();
		wqe->xrc_srqn = rnd();
		wqe->inline_length = rnd();
		ring_publish(&a.sq, 1);
		CHECK_EQ(ring_doorbell(&a), 0);
		wc = await(a.end.scq);
		if (wc.status == IBV_WC_SUCCESS)
			memcpy(to.buf->want, from.buf->want, 100);
		else
			renew();
		buf_check(to.buf);
	}
}

/* A thread keeps the queue from ever being empty. */
static _Atomic bool enough;

static void *keep_posting(void *arg)
{
	struct ring *ring = arg;

	while (!enough)
		ring->hdr->user_idx = ring->hdr->kern_idx + ring->entries / 2;
	return NULL;
}

/* An endless flush must not block other calls. */
static void r16_endless_receives(void)
{
	double limit = now() + patience(PATIENCE);
	pthread_t poster;
	int i;

	begin();
	CHECK_EQ(pthread_create(&poster, NULL, keep_posting, &b.rq), 0);
	for (i = 0; i < 20; i++) {
		CHECK_EQ(end_set_state(&b.end, IBV_QPS_ERR), 0);
		CHECK_EQ(ring_doorbell(&b), 0);
		CHECK_EQ(end_set_state(&b.end, IBV_QPS_RESET), 0);
		/* INIT only: completions overflow the CQ, which breaks the QP. */
		end_init(&b.end);
	}
	CHECK(now() < limit);
	enough = true;
	pthread_join(poster, NULL);
}

/* A work item that executes such a queue must yield. */
static void r17_endless_sends(void)
{
	double limit;
	pthread_t poster;
	int i;

	begin();
	CHECK_EQ(pthread_create(&poster, NULL, keep_posting, &a.sq), 0);
	for (i = 0; i < 20; i++) {
		CHECK_EQ(end_set_state(&a.end, IBV_QPS_ERR), 0);
		a.sq.hdr->streak = UINT32_MAX;
		CHECK_EQ(ring_doorbell(&a), 0);
		for (limit = now() + patience(PATIENCE); a.sq.hdr->flags;)
			CHECK(now() < limit);
		renew();
	}
	enough = true;
	pthread_join(poster, NULL);
}

static const struct test tests[] = {
	TEST(r1_good, "R1 written by hand, a good request works"),
	TEST(r2_opcodes, "R2 R3 unknown opcodes, and the kernel's own"),
	TEST(r4_services, "R4 opcodes of another service"),
	TEST(r5_counts, "R5 too many SGEs"),
	TEST(r6_inline, "R6 inline lengths (class 3)"),
	TEST(r7_flags, "R7 unknown flags"),
	TEST(r8_address_handles, "R8 address handles"),
	TEST(r9_keys, "R9 keys and queue pairs of other processes"),
	TEST(r10_binds, "R10 impossible binds"),
	TEST(r11_send_index, "R11 the index of a send queue"),
	TEST(r12_receive_ring, "R12 a receive queue"),
	TEST(r13_completion_ring, "R13 a completion queue"),
	TEST(r14_others_doorbell, "R14 doorbells of other processes"),
	TEST(r15_reserved, "R15 reserved fields"),
	TEST(r16_endless_receives, "R16 receives without end"),
	TEST(r17_endless_sends, "R17 sends without end"),
};

HARNESS_MAIN("Shared rings, written by hand", tests)
