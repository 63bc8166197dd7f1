// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Where messages are packets, what arrives waits for who may be long in coming: that is to keep
 * out nobody else's (items PK1 and PK2). And who has sent one looks himself at what came of it,
 * with the locks of his own half held: he must never wait for those of another (PK3).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
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

/* More threads than processors, so that one is interrupted while it looks at packets. */
enum { PAIRS = 4, WAYS = 2 * PAIRS, LEAST = 150, SMALL = 200 };

struct way {
	struct end *from;
	struct ibv_sge sge;
	uint64_t remote;
	uint32_t rkey;
	double end;
	unsigned long rounds;
	pthread_t thread;
};

/* Messages one after the other. Each is waited for without a system call. */
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
	struct ibv_wc wc;
	double limit;

	for (; go_on(way->end, way->rounds >= LEAST); way->rounds++) {
		post(way->from, &wr);
		limit = now() + patience(PATIENCE);
		while (!poll_one(way->from->scq, &wc)) {
			CHECK(now() < limit);
			sched_yield();
		}
		expect(wc, IBV_WC_SUCCESS);
	}
	return NULL;
}

/*
 * Threads send, and look at what their packets bring: each also finds answers of the others'
 * messages, and all get theirs.
 */
static void pk3_errands(void)
{
	struct region out, in[WAYS];
	struct link pairs[PAIRS];
	struct way ways[WAYS];
	unsigned long rounds = 0;
	int i;

	if (!dev.packets)
		skip("no packets to peers on this host");
	out = region_new(SMALL, 11, ALL_ACCESS);
	for (i = 0; i < WAYS; i++) {
		struct link *link = &pairs[i / 2];

		if (i % 2 == 0)
			link_make(link, NULL);
		in[i] = region_new(SMALL, 700 * i % PAGE, ALL_ACCESS);
		ways[i] = (struct way){
			.from = i % 2 ? &link->b : &link->a,
			.sge = sge_of(&out, 0, SMALL),
			.remote = in[i].base,
			.rkey = in[i].rkey,
			.end = now() + opt.seconds,
		};
	}
	for (i = 0; i < WAYS; i++)
		CHECK_EQ(pthread_create(&ways[i].thread, NULL, way_go,
					&ways[i]),
			 0);
	for (i = 0; i < WAYS; i++) {
		CHECK_EQ(pthread_join(ways[i].thread, NULL), 0);
		CHECK(ways[i].rounds >= LEAST);
		rounds += ways[i].rounds;
		memcpy(in[i].buf->want, out.buf->want, SMALL);
		buf_check(in[i].buf);
	}
	note("%lu messages", rounds);
}

static const struct test tests[] = {
	TEST(pk1_parked, "PK1 packets for those who wait for a page"),
	TEST(pk2_in_error, "PK2 packets for queue pairs in error"),
	TEST(pk3_errands, "PK3 each looks at what its own packets bring"),
};

HARNESS_MAIN("Packets that wait", tests)
