// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues, and XRC, which uses them (items S1 to S12).
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event.h"
#include "memory.h"
#include "transfer.h"
#include "xrc.h"

enum { LEN = 150000 };

static struct region a, b;

static void begin(void)
{
	a = region_new(LEN, 1003, ALL_ACCESS);
	b = region_new(LEN, 2017, ALL_ACCESS);
}

static struct ibv_srq *new_srq(uint32_t wr, uint32_t sge)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = wr, .max_sge = sge },
	};
	struct ibv_srq *srq = MUST(ibv_create_srq(dev.pd, &init));

	CHECK(init.attr.max_wr >= wr && init.attr.max_sge >= sge);
	return srq;
}

static void all_kinds(struct link *link, int ops)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ
	};
	static const uint32_t sizes[] = { 0, 1, 9, 64, 4095, 4097, 65537 };
	size_t i;
	int op, n;

	for (op = 0; op < ops; op++) {
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			for (n = 0; n < 4; n++) {
				struct transfer t = {
					.opcode = opcodes[op],
					.length = sizes[i],
					.sges = n + 1,
					.recv_sges = 4 - n,
					.builder = n & 1,
				};

				context("%s, %u bytes", opcode_name(t.opcode),
					t.length);
				transfer(link, &a, &b, &t);
			}
		}
	}
	context("%s", "");
}

/* Messages of all kinds through a shared receive queue, reliable connections. */
static void s1_rc(void)
{
	struct qp_cfg cfg = {};
	struct link link;

	begin();
	cfg.srq = new_srq(16, 4);
	link_make2(&link, NULL, &cfg);
	all_kinds(&link, 5);
}

/* The same for unreliable connections. */
static void s1_uc(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UC };
	struct link link;

	begin();
	cfg.srq = new_srq(16, 4);
	link_make2(&link, &(struct qp_cfg){ .type = IBV_QPT_UC }, &cfg);
	all_kinds(&link, 4);
}

/* The same for datagrams. */
static void s1_ud(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct link link;
	int i;

	begin();
	cfg.srq = new_srq(16, 4);
	link_make2(&link, &(struct qp_cfg){ .type = IBV_QPT_UD }, &cfg);
	for (i = 0; i < 20; i++)
		transfer(&link, &a, &b,
			 &(struct transfer){ .opcode = IBV_WR_SEND,
					     .length = i * 50,
					     .recv_sges = 3 });
}

/* Several queue pairs take requests from a shared queue in the order they were posted. */
static void s2_fifo(void)
{
	enum { COUNT = 16 };
	struct qp_cfg cfg = { .cqe = 64 };
	struct link links[3];
	struct ibv_sge sink;
	int i;

	begin();
	cfg.srq = new_srq(COUNT, 1);
	cfg.rcq = MUST(ibv_create_cq(dev.ctx, 64, NULL, NULL, 0));
	for (i = 0; i < 3; i++)
		link_make2(&links[i], NULL, &cfg);
	for (i = 0; i < COUNT; i++) {
		sink = sge_of(&b, i * 100, 100);
		post_srq(cfg.srq, &sink, 1, i);
	}
	for (i = 0; i < COUNT; i++) {
		struct ibv_wc wc;

		expect(send_sge(&links[i % 3].a, sge_of(&a, i * 7, 90)),
		       IBV_WC_SUCCESS);
		wc = await(cfg.rcq);
		CHECK_EQ(wc.wr_id, i);
		CHECK_EQ(wc.qp_num, links[i % 3].b.qp->qp_num);
		memcpy(b.buf->want + i * 100, a.buf->want + i * 7, 90);
	}
	buf_check(b.buf);
}

/* A request more than fits is ENOMEM, and is named. */
static void s3_full(void)
{
	struct ibv_srq *srq = new_srq(8, 1);
	struct ibv_recv_wr *bad, wr = {};
	struct ibv_srq_attr attr;
	uint32_t i;

	CHECK_EQ(ibv_query_srq(srq, &attr), 0);
	for (i = 0; i < attr.max_wr; i++)
		CHECK_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
	CHECK_EQ(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
	CHECK(bad == &wr);
}

/* Shared queues of the reported sizes can be made, larger ones cannot. */
static void s4_limits(void)
{
	struct ibv_device_attr *limits = &dev.attr.orig_attr;
	struct ibv_srq_init_attr init = {};

	MUST(ibv_create_srq(dev.pd, &init));
	init.attr.max_wr = limits->max_srq_wr + 1;
	MUST_NOT(ibv_create_srq(dev.pd, &init), EINVAL);
	init.attr.max_wr = 1;
	init.attr.max_sge = limits->max_srq_sge + 1;
	MUST_NOT(ibv_create_srq(dev.pd, &init), EINVAL);
	init.attr.max_wr = limits->max_srq_wr;
	init.attr.max_sge = limits->max_srq_sge;
	MUST(ibv_create_srq(dev.pd, &init));
}

/* When fewer requests are left than the limit there is one event, and the limit is off. */
static void s5_limit_event(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 5 };
	struct ibv_async_event event;
	struct qp_cfg cfg = {};
	struct ibv_sge sink;
	struct link link;
	int i;

	begin();
	cfg.srq = new_srq(16, 1);
	link_make2(&link, NULL, &cfg);
	sink = sge_of(&b, 0, 100);
	for (i = 0; i < 8; i++)
		post_srq(cfg.srq, &sink, 1, i);
	event_forget();
	CHECK_EQ(ibv_modify_srq(cfg.srq, &attr, IBV_SRQ_LIMIT), 0);
	CHECK_EQ(ibv_query_srq(cfg.srq, &attr), 0);
	CHECK_EQ(attr.srq_limit, 5);
	/* 8 were posted: after the fourth message fewer than 5 are left. */
	for (i = 0; i < 3; i++)
		expect(send_sge(&link.a, sge_of(&a, 0, 9)), IBV_WC_SUCCESS);
	event_none(IBV_EVENT_SRQ_LIMIT_REACHED, 0.05);
	expect(send_sge(&link.a, sge_of(&a, 0, 9)), IBV_WC_SUCCESS);
	event = event_await(IBV_EVENT_SRQ_LIMIT_REACHED);
	CHECK(event.element.srq == cfg.srq);
	/* The event comes only once for each time the limit is set. */
	expect(send_sge(&link.a, sge_of(&a, 0, 9)), IBV_WC_SUCCESS);
	event_none(IBV_EVENT_SRQ_LIMIT_REACHED, 0.05);
	CHECK_EQ(ibv_query_srq(cfg.srq, &attr), 0);
	CHECK_EQ(attr.srq_limit, 0);
}

/* A shared queue that is resized keeps its requests and their order. */
static void s6_resize(void)
{
	struct ibv_srq_attr attr = { .max_wr = 100 };
	struct qp_cfg cfg = { .cqe = 64 };
	struct ibv_sge sink;
	struct link link;
	int i;

	begin();
	cfg.srq = new_srq(8, 1);
	link_make2(&link, NULL, &cfg);
	for (i = 0; i < 8; i++) {
		sink = sge_of(&b, i * 100, 100);
		post_srq(cfg.srq, &sink, 1, i);
	}
	CHECK_EQ(ibv_modify_srq(cfg.srq, &attr, IBV_SRQ_MAX_WR), 0);
	CHECK_EQ(ibv_query_srq(cfg.srq, &attr), 0);
	CHECK(attr.max_wr >= 100);
	for (; i < 30; i++) {
		sink = sge_of(&b, i * 100, 100);
		post_srq(cfg.srq, &sink, 1, i);
	}
	/* There are more requests posted than fit into this size. */
	attr.max_wr = 8;
	CHECK(ibv_modify_srq(cfg.srq, &attr, IBV_SRQ_MAX_WR));
	for (i = 0; i < 30; i++) {
		expect(send_sge(&link.a, sge_of(&a, i, 100)), IBV_WC_SUCCESS);
		CHECK_EQ(await(link.b.rcq).wr_id, i);
		memcpy(b.buf->want + i * 100, a.buf->want + i, 100);
	}
	buf_check(b.buf);
	CHECK_EQ(ibv_modify_srq(cfg.srq, &attr, IBV_SRQ_MAX_WR), 0);
	attr.max_wr = 1U << 31;
	CHECK(ibv_modify_srq(cfg.srq, &attr, IBV_SRQ_MAX_WR));
}

/*
 * If the larger ring cannot be mapped, the resize fails, and the old ring keeps all requests and
 * stays in use.
 */
static void s6_no_room(void)
{
	struct ibv_srq_attr attr = { .max_wr = 5000, .srq_limit = 3 }, now_;
	struct qp_cfg cfg = {};
	struct ibv_sge sink;
	struct link link;
	int round, i;

	begin();
	sink = sge_of(&b, 0, 100);
	cfg.srq = new_srq(8, 1);
	link_make2(&link, NULL, &cfg);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 4; i++)
			post_srq(cfg.srq, &sink, 1, i);
		memory_room(false);
		i = ibv_modify_srq(cfg.srq, &attr,
				   IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT);
		memory_room(true);
		CHECK_EQ(i, ENOMEM);
		CHECK_EQ(ibv_query_srq(cfg.srq, &now_), 0);
		CHECK_EQ(now_.max_wr, 8);
		CHECK_EQ(now_.srq_limit, 0);
		for (i = 4; i < 8; i++)
			post_srq(cfg.srq, &sink, 1, i);
		for (i = 0; i < 8; i++) {
			expect(send_sge(&link.a, sge_of(&a, i, 100)),
			       IBV_WC_SUCCESS);
			CHECK_EQ(await(link.b.rcq).wr_id, i);
		}
	}
	post_srq(cfg.srq, &sink, 1, 8);
	CHECK_EQ(ibv_modify_srq(cfg.srq, &attr, IBV_SRQ_MAX_WR), 0);
	post_srq(cfg.srq, &sink, 1, 9);
	for (i = 8; i < 10; i++) {
		expect(send_sge(&link.a, sge_of(&a, i, 100)), IBV_WC_SUCCESS);
		CHECK_EQ(await(link.b.rcq).wr_id, i);
	}
}

/* A queue pair in error tells of its last request, and flushes none of the shared queue. */
static void s7_last_wqe(void)
{
	struct ibv_async_event event;
	struct qp_cfg cfg = {};
	struct ibv_sge sink;
	struct link link;

	begin();
	cfg.srq = new_srq(8, 1);
	link_make2(&link, NULL, &cfg);
	sink = sge_of(&b, 0, 100);
	post_srq(cfg.srq, &sink, 1, 5);
	event_forget();
	CHECK_EQ(end_set_state(&link.b, IBV_QPS_ERR), 0);
	event = event_await(IBV_EVENT_QP_LAST_WQE_REACHED);
	CHECK(event.element.qp == link.b.qp);
	/* A request of the SRQ is not flushed by a QP. */
	expect_none(link.b.rcq, 0.02);
	CHECK_EQ(ibv_destroy_srq(cfg.srq), EBUSY);
	end_free(&link.b);
	CHECK_EQ(ibv_destroy_srq(cfg.srq), 0);
}

/* ----------------------------------------------------------------- XRC */

struct xrc {
	struct link link;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_cq *cq;
};

static void xrc_make(struct xrc *x)
{
	struct qp_cfg send = { .type = IBV_QPT_XRC_SEND };
	struct qp_cfg recv = { .type = IBV_QPT_XRC_RECV };

	need_xrc();
	x->xrcd = MUST(xrcd_open(dev.ctx, -1));
	x->cq = MUST(ibv_create_cq(dev.ctx, 64, NULL, NULL, 0));
	x->srq = MUST(xsrq_create(x->xrcd, x->cq));
	recv.xrcd = x->xrcd;
	link_make2(&x->link, &send, &recv);
	x->link.b.cfg.srq = x->srq;
	x->link.b.rcq = x->cq;
}

/* Messages of all kinds through XRC, into two shared queues. */
static void s8_xrc(void)
{
	struct xrc x;

	begin();
	xrc_make(&x);
	all_kinds(&x.link, 5);
	context("another SRQ");
	x.link.b.cfg.srq = MUST(xsrq_create(x.xrcd, x.cq));
	all_kinds(&x.link, 3);
}

/* Atomics through XRC. */
static void s9_xrc_atomics(void)
{
	struct ibv_sge sge;
	struct xrc x;
	struct ibv_send_wr wr = {
		.num_sge = 1,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = IBV_SEND_SIGNALED,
	};
	uint64_t value;

	begin();
	xrc_make(&x);
	sge = sge_of(&a, 1, 8);
	wr.sg_list = &sge;
	wr.wr.atomic.remote_addr = (b.base + 7) & ~7ULL;
	wr.wr.atomic.rkey = b.rkey;
	wr.wr.atomic.compare_add = 12345;
	CHECK_EQ(ibv_get_srq_num(x.srq, &wr.qp_type.xrc.remote_srqn), 0);
	post(&x.link.a, &wr);
	expect(await(x.link.a.scq), IBV_WC_SUCCESS);
	memcpy(a.buf->want + 1, b.buf->want + (-b.base & 7), 8);
	memcpy(&value, a.buf->want + 1, 8);
	value += 12345;
	memcpy(b.buf->want + (-b.base & 7), &value, 8);
	buf_check(a.buf);
	buf_check(b.buf);
}

/* Messages to shared queues of another domain, of another kind, or to none are refused. */
static void s10_xrc_wrong_srq(void)
{
	struct ibv_srq *others[2];
	struct ibv_sge sge, sink;
	struct xrc x, y;
	int i;

	begin();
	xrc_make(&x);
	y = x;
	y.xrcd = MUST(xrcd_open(dev.ctx, -1));
	/* An SRQ of another domain. */
	others[0] = MUST(xsrq_create(y.xrcd, y.cq));
	others[1] = new_srq(8, 1); /* no XRC at all */
	for (i = 0; i < 3; i++) {
		struct ibv_send_wr wr = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.qp_type.xrc.remote_srqn = 0x123456,
		};

		context("SRQ %d", i);
		sge = sge_of(&a, 0, 100);
		sink = sge_of(&b, 0, 100);
		if (!i) {
			post_srq(others[0], &sink, 1, 0);
			CHECK_EQ(ibv_get_srq_num(others[0],
						 &wr.qp_type.xrc.remote_srqn),
				 0);
		} else if (i == 1) {
			post_srq(others[1], &sink, 1, 0);
			wr.qp_type.xrc.remote_srqn = 0;
		}
		post(&x.link.a, &wr);
		expect(await(x.link.a.scq), IBV_WC_REM_INV_REQ_ERR);
		end_await_state(&x.link.b, IBV_QPS_ERR);
		CHECK_EQ(end_set_state(&x.link.a, IBV_QPS_RESET), 0);
		CHECK_EQ(end_set_state(&x.link.b, IBV_QPS_RESET), 0);
		link_connect(&x.link);
	}
	context("%s", "");
	buf_check(b.buf);
	all_kinds(&x.link, 1);
}

/*
 * Keys in a shared queue are checked against the SRQ's protection domain, not that of the QP
 * that uses the request.
 */
static void s12_domain(void)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = 4, .max_sge = 1 },
	};
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	struct qp_cfg cfg = { .srq = MUST(ibv_create_srq(pd, &init)) };
	struct ibv_sge sink;
	struct region r;
	struct link link;

	begin();
	r = region_reg(pd, buf_new(LEN, 7), ALL_ACCESS);
	link_make2(&link, NULL, &cfg);
	sink = sge_of(&r, 0, 100);
	post_srq(cfg.srq, &sink, 1, 1);
	expect(send_sge(&link.a, sge_of(&a, 0, 100)), IBV_WC_SUCCESS);
	expect(await(link.b.rcq), IBV_WC_SUCCESS);
	memcpy(r.buf->want, a.buf->want, 100);
	buf_check(r.buf);
	/* Remote keys are checked against the QP's protection domain. */
	check_write(&link, &a, 0, &b, 0, 100);
	sink = sge_of(&b, 0, 100);
	post_srq(cfg.srq, &sink, 1, 2);
	expect(send_sge(&link.a, sge_of(&a, 0, 100)), IBV_WC_REM_OP_ERR);
	expect(await(link.b.rcq), IBV_WC_LOC_PROT_ERR);
	buf_check(b.buf);
}

/* An XRC initiator QP can neither receive nor serve remote accesses. */
static void s11_xrc_initiator(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ
	};
	struct qp_cfg initiator = { .type = IBV_QPT_XRC_SEND };
	struct qp_cfg stranger = { .timeout = 1, .retry = -1 };
	struct link link;
	size_t i;

	need_xrc();
	begin();
	link_make2(&link, &stranger, &initiator);
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		context("%s", opcode_name(opcodes[i]));
		expect(rdma(&link.a, opcodes[i], sge_of(&a, 0, 100), b.base,
			    b.rkey),
		       IBV_WC_RETRY_EXC_ERR);
		link_renew(&link);
	}
	buf_check(a.buf);
	buf_check(b.buf);
}

static const struct test tests[] = {
	TEST(s1_rc, "S1 RC"),
	TEST(s1_uc, "S1 UC"),
	TEST(s1_ud, "S1 UD"),
	TEST(s2_fifo, "S2 in order, for several queue pairs"),
	TEST(s3_full, "S3 a full queue"),
	TEST(s4_limits, "S4 limits are those reported"),
	TEST(s5_limit_event, "S5 the limit event, once"),
	TEST(s6_resize, "S6 resized with requests in it"),
	TEST(s6_no_room, "S6 resized where there is no room to map it"),
	TEST(s7_last_wqe, "S7 the last request event"),
	TEST(s8_xrc, "S8 XRC"),
	TEST(s9_xrc_atomics, "S9 XRC atomics"),
	TEST(s10_xrc_wrong_srq, "S10 XRC with a wrong queue"),
	TEST(s11_xrc_initiator,
	     "S11 nothing arrives at an XRC initiator (class 21)"),
	TEST(s12_domain, "S12 a queue of another domain than its users"),
};

HARNESS_MAIN("Shared receive queues and XRC", tests)
