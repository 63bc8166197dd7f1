// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Where messages are packets, what arrives waits for who may be long in coming: that is to keep
 * out nobody else's (items PK1 and PK2). And who has sent one looks himself at what came of it,
 * with the locks of his own half held: he must never wait for those of another (PK3).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "link.h"
#include "slow.h"
#include "victim.h"

/* More packets than a namespace has room for, were they all let wait. */
enum { MANY = 192, LONG = 300000 };

static struct link links[MANY];
static struct region source, sinks[MANY];
static struct slow memory;

/*
 * Each reads, and the page of the first bytes does not come; so nobody looks at the rest. Meanwhile
 * this process can map nothing, and have no children.
 */
static volatile struct victim *wait_all(void)
{
	volatile struct victim *victim;
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = {
		.sg_list = sge,
		.num_sge = 2,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct qp_cfg cfg = { .timeout = 18 };
	struct ibv_mr *mr;
	int i;

	need_odp();
	if (!dev.packets)
		skip("no packets to peers on this host");
	memory = slow_new();
	slow_hold(&memory, true);
	mr = MUST(ibv_reg_mr(dev.pd, memory.map, SLOW_LEN, ODP_ALL));
	source = region_new(LONG + PAGE, 99, ALL_ACCESS);
	wr.wr.rdma.remote_addr = source.base;
	wr.wr.rdma.rkey = source.rkey;
	for (i = 0; i < MANY; i++) {
		link_make(&links[i], &cfg);
		sinks[i] = region_new(LONG, 33, ALL_ACCESS);
	}
	victim = victim_start();
	for (i = 0; i < MANY; i++) {
		sge[0] = (struct ibv_sge){
			.addr = (uintptr_t)memory.map + i % 64 * PAGE,
			.length = PAGE,
			.lkey = mr->lkey,
		};
		sge[1] = sge_of(&sinks[i], 0, LONG);
		post(&links[i].a, &wr);
	}
	slow_await(&memory);
	/* All answers are there. */
	usleep(300000);
	return victim;
}

static void come_all(void)
{
	int i;

	slow_hold(&memory, false);
	for (i = 0; i < MANY; i++) {
		context("queue pair %d", i);
		expect(await(links[i].a.scq), IBV_WC_SUCCESS);
		CHECK(!memcmp(memory.map + i % 64 * PAGE, source.buf->data,
			      PAGE));
		CHECK(!memcmp(sinks[i].buf->data, source.buf->data + PAGE,
			      LONG));
	}
}

/* Packets for queue pairs that wait for a page are kept, and done when it comes. */
static void pk1_parked(void)
{
	victim_end(wait_all());
	CHECK(slow_waiting(&memory));
	come_all();
}

/* Queue pairs that wait for a page go into error, and work again after that. */
static void pk2_in_error(void)
{
	volatile struct victim *victim = wait_all();
	int i;

	for (i = 0; i < MANY; i++) {
		CHECK_EQ(end_set_state(&links[i].a, IBV_QPS_ERR), 0);
		CHECK_EQ(end_set_state(&links[i].b, IBV_QPS_ERR), 0);
		expect(await(links[i].a.scq), IBV_WC_WR_FLUSH_ERR);
	}
	victim_end(victim);
	slow_hold(&memory, false);
	for (i = 0; i < MANY; i++) {
		link_renew(&links[i]);
		check_read(&links[i], &sinks[i], 5, &source, 77, LONG - 5);
	}
}

/* -------------------------------------------------- who looks for himself */

enum { ROUNDS = 150, SMALL = 200 };

struct way {
	struct end *from;
	struct ibv_sge sge;
	uint64_t remote;
	uint32_t rkey;
	bool failed;
};

/* Messages one after the other. */
static void *way_go(void *arg)
{
	struct way *way = arg;
	struct ibv_send_wr wr = {
		.sg_list = &way->sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { way->remote, way->rkey },
	};
	double limit = now() + patience(PATIENCE);
	struct ibv_wc wc;
	int i;

	for (i = 0; i < ROUNDS && !way->failed; i++) {
		if (try_post(way->from, &wr)) {
			way->failed = true;
			break;
		}
		while (!poll_one(way->from->scq, &wc))
			if (now() > limit) {
				way->failed = true;
				return NULL;
			}
		way->failed = wc.status != IBV_WC_SUCCESS;
	}
	return NULL;
}

static struct way way_of(struct end *from, const struct region *out,
			 const struct region *in)
{
	return (struct way){
		.from = from,
		.sge = sge_of(out, 0, SMALL),
		.remote = in->base,
		.rkey = in->rkey,
	};
}

/* Two threads look for answers of each other's messages, and both get theirs. */
static void pk3_errands(void)
{
	struct region out, in[2];
	struct way ways[2];
	pthread_t thread;
	struct link link;
	int i;

	device_open();
	if (!dev.packets)
		skip("no packets to peers on this host");
	link_make(&link, NULL);
	out = region_new(SMALL, 11, ALL_ACCESS);
	for (i = 0; i < 2; i++) {
		in[i] = region_new(SMALL, 700 * i, ALL_ACCESS);
		ways[i] = way_of(i ? &link.b : &link.a, &out, &in[i]);
	}
	/* Alone, and then both at once: each looks for answers that are the other's. */
	way_go(&ways[0]);
	CHECK(!ways[0].failed);
	CHECK_EQ(pthread_create(&thread, NULL, way_go, &ways[1]), 0);
	way_go(&ways[0]);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	for (i = 0; i < 2; i++) {
		CHECK(!ways[i].failed);
		memcpy(in[i].buf->want, out.buf->want, SMALL);
		buf_check(in[i].buf);
	}
}

static const struct test tests[] = {
	TEST(pk1_parked, "PK1 packets for those who wait for a page"),
	TEST(pk2_in_error, "PK2 packets for queue pairs in error"),
	TEST(pk3_errands, "PK3 each looks at what its own packets bring"),
};

HARNESS_MAIN("Packets that wait", tests)
