// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Every kind of message in every shape: lengths, scatter lists, inline data, path
 * MTUs and both ways to post, over RC and UC (items T1 to T11, T15).
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "newer.h"
#include "transfer.h"

static const enum ibv_wr_opcode rc_ops[] = {
	IBV_WR_RDMA_WRITE,    IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND,
	IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ,
};

enum { RC_OPS = 5, UC_OPS = 4 };

static const uint32_t sizes[] = {
	0,	 1, 7, 8, 9, 63, 64, 65, 4095, 4096, 4097, 65537, (1 << 20) + 3,
	8 << 20,
};

enum { BIG = 12 }; /* smaller sizes are tested in all shapes */

static struct link link_;
static struct region a, b;

static void begin(enum ibv_qp_type type, enum ibv_mtu mtu, size_t most)
{
	/*
	 * No packet is lost here, but a loaded machine may take long for megabytes: a long
	 * timeout.
	 */
	struct qp_cfg cfg = {
		.type = type,
		.mtu = mtu,
		.timeout = 20,
		.sge = dev.attr.orig_attr.max_sge < 32 ?
			       dev.attr.orig_attr.max_sge :
			       32,
		.inline_data = 256,
	};

	link_make(&link_, &cfg);
	a = region_new(2 * most + PAGE, 1003, ALL_ACCESS);
	b = region_new(2 * most + PAGE, 2017, ALL_ACCESS);
}

static void shape(const struct transfer *t)
{
	context("%s, %u bytes, %d and %d SGEs%s%s", opcode_name(t->opcode),
		t->length, t->sges, t->recv_sges,
		t->inline_data ? ", inline" : "", t->builder ? ", built" : "");
	transfer(&link_, &a, &b, t);
}

/* Each transport has the first operations of the list. */
static int num_ops(int type)
{
	return type == IBV_QPT_UC ? UC_OPS : RC_OPS;
}

/* Each kind of message with lengths around those of packets and pages, posted in each way. */
static void t1_lengths(int type)
{
	int op;
	size_t i;

	begin(type, 0, 70000);
	for (op = 0; op < num_ops(type); op++) {
		for (i = 0; i < BIG; i++) {
			struct transfer t = { .opcode = rc_ops[op],
					      .length = sizes[i] };

			shape(&t);
			t.builder = true;
			shape(&t);
			t.spare = 77;
			shape(&t);
		}
	}
}

/* Each kind of message with megabytes. */
static void t2_megabytes(int type)
{
	int op;
	size_t i;

	begin(type, 0, 8 << 20);
	for (op = 0; op < num_ops(type); op++) {
		for (i = BIG; i < ARRAY_SIZE(sizes); i++) {
			struct transfer t = { .opcode = rc_ops[op],
					      .length = sizes[i],
					      .sges = 3,
					      .recv_sges = 4 };

			shape(&t);
		}
	}
}

/* Messages from and to up to 32 pieces. */
static void t3_scattered(void)
{
	static const int counts[] = { 2, 3, 7, 32 };
	int op, n, m;
	size_t i;

	begin(IBV_QPT_RC, 0, 70000);
	for (op = 0; op < RC_OPS; op++) {
		for (i = 0; i < BIG; i++) {
			for (n = 0; n < 4; n++) {
				struct transfer t = {
					.opcode = rc_ops[op],
					.length = sizes[i],
					.sges = counts[n],
					.builder = n & 1,
				};

				for (m = 0; m < 4; m++) {
					t.recv_sges = counts[m];
					shape(&t);
					if (!takes_receive(t.opcode))
						break;
				}
			}
		}
	}
}

/* Inline data of each length up to the maximum. */
static void t4_inline(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	uint32_t length;
	int op;

	begin(IBV_QPT_RC, 0, 70000);
	CHECK_EQ(ibv_query_qp(link_.a.qp, &attr, IBV_QP_CAP, &init), 0);
	CHECK(attr.cap.max_inline_data >= 256);
	for (op = 0; op < RC_OPS - 1; op++) {
		for (length = 0; length <= attr.cap.max_inline_data; length++) {
			struct transfer t = {
				.opcode = rc_ops[op],
				.length = length,
				.sges = rnd_in(1, 8),
				.inline_data = true,
				.builder = length & 1,
			};

			shape(&t);
		}
	}
}

/* More inline data than fits, and inline reads, cannot be posted. */
static void t4_too_much_inline(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_send_wr wr = {
		.num_sge = 1, .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE
	};
	struct ibv_sge sge;

	begin(IBV_QPT_RC, 0, 70000);
	CHECK_EQ(ibv_query_qp(link_.a.qp, &attr, IBV_QP_CAP, &init), 0);
	sge = sge_of(&a, 0, attr.cap.max_inline_data + 1);
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = b.base;
	wr.wr.rdma.rkey = b.rkey;
	CHECK(try_post(&link_.a, &wr));
	sge.length = 8;
	wr.opcode = IBV_WR_RDMA_READ;
	CHECK(try_post(&link_.a, &wr));
	expect_none(link_.a.scq, 0.01);
	buf_check(b.buf);
	/* The QP still works. */
	shape(&(struct transfer){ .opcode = IBV_WR_SEND, .length = 100 });
}

/* Each path MTU, with lengths around multiples of it. */
static void t5_mtus(void)
{
	enum ibv_mtu mtu;
	int op;
	size_t i;

	for (mtu = IBV_MTU_256; mtu <= dev.port.active_mtu; mtu++) {
		uint32_t bytes = 128 << mtu;
		const uint32_t edges[] = { bytes - 1,	  bytes,
					   bytes + 1,	  2 * bytes - 1,
					   2 * bytes,	  2 * bytes + 1,
					   7 * bytes + 13 };

		begin(IBV_QPT_RC, mtu, 70000);
		for (op = 0; op < RC_OPS; op++) {
			for (i = 0; i < ARRAY_SIZE(edges); i++) {
				struct transfer t = { .opcode = rc_ops[op],
						      .length = edges[i],
						      .sges = 2,
						      .recv_sges = 3 };

				shape(&t);
			}
		}
	}
}

/* Path MTUs that the port does not have are refused. */
static void t6_mtu_limits(void)
{
	struct end end;
	struct peer peer;

	end_make(&end, NULL);
	end_init(&end);
	peer = end_peer(&end);
	end.cfg.mtu = IBV_MTU_4096 + 1;
	CHECK_EQ(end_to_rtr(&end, &peer), EINVAL);
	end.cfg.mtu = 0;
	CHECK_EQ(end_to_rtr(&end, &peer), EINVAL);
	if (dev.port.active_mtu < IBV_MTU_4096) {
		end.cfg.mtu = dev.port.active_mtu + 1;
		CHECK_EQ(end_to_rtr(&end, &peer), EINVAL);
	}
	end.cfg.mtu = dev.port.active_mtu;
	CHECK_EQ(end_to_rtr(&end, &peer), 0);
}

/* Atomics return the old value and change the memory if the comparison is right. */
static void t7_atomics(void)
{
	uint64_t value, want, before;
	int i;

	begin(IBV_QPT_RC, 0, 70000);
	for (i = 0; i < 200; i++) {
		size_t to = (-b.base & 7) + 8 * rnd_below(17000);
		size_t from = rnd_below(130000);
		uint64_t add = rnd();
		bool swap = i & 1, hits = i & 2;

		memcpy(&want, b.buf->want + to, 8);
		before = want;
		if (swap)
			expect(atomic_op(&link_.a, IBV_WR_ATOMIC_CMP_AND_SWP,
					 sge_of(&a, from, 8), b.base + to,
					 b.rkey, hits ? want : ~want, add),
			       IBV_WC_SUCCESS);
		else
			expect(atomic_op(&link_.a, IBV_WR_ATOMIC_FETCH_AND_ADD,
					 sge_of(&a, from, 8), b.base + to,
					 b.rkey, add, 0),
			       IBV_WC_SUCCESS);
		value = !swap ? want + add : hits ? add : want;
		memcpy(b.buf->want + to, &value, 8);
		memcpy(a.buf->want + from, &before, 8);
	}
	buf_check(a.buf);
	buf_check(b.buf);
}

/* The result of an atomic is scattered to two pieces. */
static void t7_split_answer(void)
{
	struct ibv_sge sges[3];
	size_t to;
	struct ibv_send_wr wr = {
		.sg_list = sges,
		.num_sge = 3,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = IBV_SEND_SIGNALED,
	};
	uint64_t sum;

	begin(IBV_QPT_RC, 0, 70000);
	to = -b.base & 7;
	sges[0] = sge_of(&a, 100, 3);
	sges[1] = sge_of(&a, 300, 0);
	sges[2] = sge_of(&a, 200, 5);
	wr.wr.atomic.remote_addr = b.base + to;
	wr.wr.atomic.rkey = b.rkey;
	wr.wr.atomic.compare_add = 1;
	post(&link_.a, &wr);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	memcpy(a.buf->want + 100, b.buf->want + to, 3);
	memcpy(a.buf->want + 200, b.buf->want + to + 3, 5);
	memcpy(&sum, b.buf->want + to, 8);
	sum++;
	memcpy(b.buf->want + to, &sum, 8);
	buf_check(a.buf);
	buf_check(b.buf);
}

/* Atomic writes arrive whole, and are refused at addresses that are no multiple of eight. */
static void t8_atomic_write(void)
{
	int i;

	begin(IBV_QPT_RC, 0, 70000);
	need_builder(&link_.a);
	for (i = 0; i < 50; i++) {
		size_t to = (-b.base & 7) + 8 * rnd_below(17000);
		uint64_t value = rnd();

		ibv_wr_start(link_.a.ex);
		link_.a.ex->wr_id = i;
		link_.a.ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_atomic_write(link_.a.ex, b.rkey, b.base + to, &value);
		CHECK_EQ(ibv_wr_complete(link_.a.ex), 0);
		expect(await(link_.a.scq), IBV_WC_SUCCESS);
		memcpy(b.buf->want + to, &value, 8);
		buf_check(b.buf);
	}
	for (i = 1; i < 8; i++) {
		uint64_t value = rnd();

		ibv_wr_start(link_.a.ex);
		link_.a.ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_atomic_write(link_.a.ex, b.rkey,
				    ((b.base + 8) & ~7ULL) + i, &value);
		CHECK_EQ(ibv_wr_complete(link_.a.ex), 0);
		expect(await(link_.a.scq), IBV_WC_REM_INV_REQ_ERR);
		link_renew(&link_);
	}
	buf_check(b.buf);
}

/* Flushes of ranges and regions succeed by keys that permit them, and others are refused. */
#ifdef HAVE_WR_FLUSH
static void t9_flush(void)
{
	struct qp_cfg cfg = { .access = IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_FLUSH_GLOBAL };
	struct region r;
	struct ibv_mr *mr;
	struct buf *buf = buf_new(70000, 9);

	begin(IBV_QPT_RC, 0, 70000);
	mr = ibv_reg_mr(dev.pd, buf->data, buf->length,
			ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL);
	if (!mr)
		lacks("no FLUSH_GLOBAL");
	r = region_of(buf, mr, (uintptr_t)buf->data);
	link_make(&link_, &cfg);
	expect(flush(&link_.a, r.rkey, r.base, 70000, IBV_FLUSH_GLOBAL,
		     IBV_FLUSH_RANGE),
	       IBV_WC_SUCCESS);
	expect(flush(&link_.a, r.rkey, r.base + 9, 5, IBV_FLUSH_GLOBAL,
		     IBV_FLUSH_RANGE),
	       IBV_WC_SUCCESS);
	expect(flush(&link_.a, r.rkey, r.base, 0, IBV_FLUSH_GLOBAL,
		     IBV_FLUSH_MR),
	       IBV_WC_SUCCESS);
	expect(flush(&link_.a, r.rkey, r.base, 70001, IBV_FLUSH_GLOBAL,
		     IBV_FLUSH_RANGE),
	       IBV_WC_REM_ACCESS_ERR);
	link_renew(&link_);
	expect(flush(&link_.a, b.rkey, b.base, 5, IBV_FLUSH_GLOBAL,
		     IBV_FLUSH_RANGE),
	       IBV_WC_REM_ACCESS_ERR);
	link_renew(&link_);
	expect(flush(&link_.a, r.rkey, r.base, 5, IBV_FLUSH_PERSISTENT,
		     IBV_FLUSH_RANGE),
	       IBV_WC_REM_INV_REQ_ERR);
}
#endif

/* A queue pair connected to itself sends and reads. */
static void t10_self(void)
{
	struct peer self;
	struct link link;

	begin(IBV_QPT_RC, 0, 70000);
	/* A QP that is its own peer. */
	end_make(&link.a, NULL);
	end_init(&link.a);
	self = end_peer(&link.a);
	end_connect(&link.a, &self);
	link.b = link.a;
	transfer(&link, &a, &b,
		 &(struct transfer){ .opcode = IBV_WR_SEND, .length = 60001 });
	transfer(&link, &a, &b,
		 &(struct transfer){ .opcode = IBV_WR_RDMA_READ,
				     .length = 60001 });
}

/* Messages of all kinds in both directions of one connection. */
static void t11_both_ways(void)
{
	struct link back;
	int i;

	begin(IBV_QPT_RC, 0, 70000);
	back.a = link_.b;
	back.b = link_.a;
	for (i = 0; i < 100; i++) {
		struct transfer t = { .opcode = rc_ops[rnd_below(RC_OPS)],
				      .length = rnd_below(70000),
				      .sges = rnd_in(1, 9),
				      .recv_sges = rnd_in(1, 9) };

		if (i & 1)
			transfer(&back, &b, &a, &t);
		else
			transfer(&link_, &a, &b, &t);
	}
}

/*
 * Without loss nothing is retransmitted: responses and acknowledgements come before the
 * requester asks again.
 */
static void t15_once(void)
{
	static const uint32_t lengths[] = { 0, 9, 4097, 70000, (1 << 20) + 3 };
	struct qp_cfg cfg = { .timeout = 20 };
	long long late, again, gaps;
	size_t i;
	int op;

	if (!dev.packets)
		skip("no packets to peers on this host");
	link_make(&link_, &cfg);
	a = region_new(3 << 20, 1003, ALL_ACCESS);
	b = region_new(3 << 20, 2017, ALL_ACCESS);
	late = device_counter("local_ack_timeout_err");
	again = device_counter("retries");
	gaps = device_counter("packet_seq_err");
	for (op = 0; op < RC_OPS; op++) {
		for (i = 0; i < ARRAY_SIZE(lengths); i++) {
			shape(&(struct transfer){ .opcode = rc_ops[op],
						  .length = lengths[i],
						  .sges = 3,
						  .recv_sges = 2 });
			/*
			 * Checked after each transfer: it fails at once instead of waiting for
			 * many timeouts.
			 */
			CHECK_EQ(device_counter("local_ack_timeout_err"), late);
		}
	}
	/* The kernel refreshes counters only some times a second. */
	usleep(20000);
	CHECK_EQ(device_counter("local_ack_timeout_err"), late);
	CHECK_EQ(device_counter("packet_seq_err"), gaps);
	CHECK_EQ(device_counter("retries"), again);
}

static const struct test tests[] = {
	TEST_OF(t1_lengths, IBV_QPT_RC, "T1 lengths, RC"),
	TEST_OF(t1_lengths, IBV_QPT_UC, "T1 lengths, UC"),
	TEST_OF(t2_megabytes, IBV_QPT_RC, "T2 megabytes, RC"),
	TEST_OF(t2_megabytes, IBV_QPT_UC, "T2 megabytes, UC"),
	TEST(t3_scattered, "T3 scatter lists"),
	TEST(t4_inline, "T4 inline data"),
	TEST(t4_too_much_inline, "T4 what may not be inline"),
	TEST(t5_mtus, "T5 path MTUs"),
	TEST(t6_mtu_limits, "T6 impossible MTUs"),
	TEST(t7_atomics, "T7 atomics"),
	TEST(t7_split_answer, "T7 an atomic's answer in pieces"),
	TEST(t8_atomic_write, "T8 atomic writes"),
	TEST(IF_WR_FLUSH(t9_flush), "T9 flushes"),
	TEST(t10_self, "T10 a queue pair connected to itself"),
	TEST(t11_both_ways, "T11 both ways"),
	TEST(t15_once, "T15 nothing is sent twice"),
};

HARNESS_MAIN("Messages over RC and UC", tests)
