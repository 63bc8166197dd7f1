// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Up to a thousand connections to another host at a time, each with requests of its own (item FA11).
 * All bytes are compared, and hardly any packet is late.
 */
#include <string.h>
#include <unistd.h>

#include "link.h"
#include "rdma_tool.h"

enum {
	MOST = 1000,
	SLICE = 9001, /* of each connection: several packets, the last of them short */
	EACH = 8, /* requests of each connection */
	DEPTH = 2,
	LATE = 100, /* of so many requests one may have a packet that is late */
	TIMEOUT = 20, /* 4 s: on a busy machine all may wait for long */
};

static struct link links[MOST];
static struct region out, in, back;
static int posted[MOST];

static void connect_all(int count, struct ibv_cq *near, struct ibv_cq *far)
{
	struct qp_cfg a = { .timeout = TIMEOUT,
			    .wr = DEPTH,
			    .recv_wr = 1,
			    .sge = 1,
			    .mtu = common_mtu(),
			    .scq = near,
			    .rcq = near };
	struct qp_cfg b = a;
	int i;

	b.device = &far_dev;
	b.scq = b.rcq = far;
	for (i = 0; i < count; i++)
		link_make2(&links[i], &a, &b);
}

/* Writes its slice, and reads it back, in turn: the order of a connection is that of its requests. */
static void post_next(int i)
{
	bool reads = posted[i] & 1;

	post_rdma(&links[i].a, reads ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		  sge_of(reads ? &back : &out, (uint64_t)i * SLICE, SLICE),
		  in.base + (uint64_t)i * SLICE, in.rkey, i);
	posted[i]++;
}

/* Many connections at a time, each with requests under way: all bytes are right. */
static void fa11_many(int count)
{
	uint64_t left = (uint64_t)count * EACH;
	struct ibv_cq *near, *far;
	struct ibv_wc wc;
	long long late;
	int i, n;

	need_rdma_tool();
	device_open();
	far_open();
	near = MUST(ibv_create_cq(dev.ctx, DEPTH * MOST + MOST, NULL, NULL, 0));
	far = MUST(
		ibv_create_cq(far_dev.ctx, DEPTH * MOST + MOST, NULL, NULL, 0));
	out = region_reg(dev.pd, buf_new((size_t)count * SLICE, 5), ALL_ACCESS);
	back = region_reg(dev.pd, buf_new((size_t)count * SLICE, 9),
			  ALL_ACCESS);
	in = region_reg(far_dev.pd, buf_new((size_t)count * SLICE, 77),
			ALL_ACCESS);
	connect_all(count, near, far);
	late = rdma_counter("local_ack_timeout_err");
	for (n = 0; n < DEPTH; n++)
		for (i = 0; i < count; i++)
			post_next(i);
	while (left--) {
		wc = await(near);
		expect(wc, IBV_WC_SUCCESS);
		if (posted[wc.wr_id] < EACH)
			post_next((int)wc.wr_id);
	}
	memcpy(in.buf->want, out.buf->want, (size_t)count * SLICE);
	memcpy(back.buf->want, out.buf->want, (size_t)count * SLICE);
	buf_check(out.buf);
	buf_check(in.buf);
	buf_check(back.buf);
	late = rdma_counter("local_ack_timeout_err") - late;
	note("%d requests, %lld timeouts", count * EACH, late);
	CHECK(late <= 2 + count * EACH / LATE);
}

static const struct test tests[] = {
	TEST_OF(fa11_many, 1, "FA11 one connection"),
	TEST_OF(fa11_many, 10, "FA11 ten connections"),
	TEST_OF(fa11_many, 100, "FA11 a hundred connections"),
	LONG_TEST_OF(fa11_many, MOST, "FA11 a thousand connections", 120),
};

HARNESS_MAIN("Many connections to another host", tests)
