// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Lists of work requests, and the limits of queues as reported (items T12 to T14).
 */
#define _GNU_SOURCE
#include <string.h>

#include "transfer.h"

static struct link link_;
static struct region a, b;

static void begin(void)
{
	link_make(&link_, NULL);
	a = region_new(70000, 1003, ALL_ACCESS);
	b = region_new(70000, 2017, ALL_ACCESS);
}

/* Posts lists of requests by one call, with only the last one signaled. */
static void t12_lists(void)
{
	enum { COUNT = 30 };
	struct ibv_send_wr wrs[COUNT];
	struct ibv_sge sges[COUNT];
	int i, round;

	begin();
	for (round = 0; round < 20; round++) {
		memset(wrs, 0, sizeof(wrs));
		for (i = 0; i < COUNT; i++) {
			uint32_t length = rnd_below(4000);
			uint64_t from = rnd_below(60000);
			uint64_t to = rnd_below(60000);

			sges[i] = sge_of(&a, from, length);
			wrs[i] = (struct ibv_send_wr){
				.wr_id = i,
				.next = i < COUNT - 1 ? &wrs[i + 1] : NULL,
				.sg_list = &sges[i],
				.num_sge = 1,
				.opcode = IBV_WR_RDMA_WRITE,
				.send_flags =
					i == COUNT - 1 ? IBV_SEND_SIGNALED : 0,
				.wr.rdma = { b.base + to, b.rkey },
			};
			memcpy(b.buf->want + to, a.buf->want + from, length);
		}
		post(&link_.a, wrs);
		CHECK_EQ(await(link_.a.scq).wr_id, COUNT - 1);
		expect_none(link_.a.scq, 0);
		buf_check(b.buf);
	}
}

/* A queue takes exactly as many requests as it reported. */
static void t13_full_queue(void)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct qp_cfg cfg = { .wr = 8, .cqe = 64 };
	struct ibv_recv_wr *bad_recv, recv = {};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct link link;
	uint32_t i;

	link_make(&link, &cfg);
	CHECK_EQ(ibv_query_qp(link.a.qp, &attr, IBV_QP_CAP, &init), 0);
	for (i = 0; i < attr.cap.max_recv_wr; i++)
		CHECK_EQ(ibv_post_recv(link.a.qp, &recv, &bad_recv), 0);
	CHECK_EQ(ibv_post_recv(link.a.qp, &recv, &bad_recv), ENOMEM);
	CHECK(bad_recv == &recv);
	/* In SQD nothing is executed, so the send queue fills up. */
	CHECK_EQ(end_set_state(&link.a, IBV_QPS_SQD), 0);
	for (i = 0; i < attr.cap.max_send_wr; i++)
		CHECK_EQ(ibv_post_send(link.a.qp, &wr, &bad), 0);
	CHECK_EQ(ibv_post_send(link.a.qp, &wr, &bad), ENOMEM);
	CHECK(bad == &wr);
	CHECK_EQ(end_set_state(&link.a, IBV_QPS_RTS), 0);
	CHECK_EQ(ibv_post_send(link.a.qp, &wr, &bad), 0);
}

/* Requests with more pieces than was asked for, or a negative number, cannot be posted. */
static void t14_sge_limits(void)
{
	struct ibv_sge sges[MAX_PIECES + 1] = {};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
				  .sg_list = sges };
	struct ibv_recv_wr *bad, recv = { .sg_list = sges };

	begin();
	CHECK_EQ(ibv_query_qp(link_.a.qp, &attr, IBV_QP_CAP, &init), 0);
	CHECK(attr.cap.max_send_sge <= MAX_PIECES);
	wr.num_sge = attr.cap.max_send_sge + 1;
	CHECK_EQ(try_post(&link_.a, &wr), EINVAL);
	wr.num_sge = -1;
	CHECK_EQ(try_post(&link_.a, &wr), EINVAL);
	recv.num_sge = attr.cap.max_recv_sge + 1;
	CHECK_EQ(ibv_post_recv(link_.a.qp, &recv, &bad), EINVAL);
	recv.num_sge = -1;
	CHECK_EQ(ibv_post_recv(link_.a.qp, &recv, &bad), EINVAL);
}

static const struct test tests[] = {
	TEST(t12_lists, "T12 lists of requests"),
	TEST(t13_full_queue, "T13 full queues"),
	TEST(t14_sge_limits, "T14 too many SGEs"),
};

HARNESS_MAIN("Lists and limits", tests)
