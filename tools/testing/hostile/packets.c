// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Where messages are packets, what arrives waits for who may be long in coming: that is to keep
 * out nobody else's (items PK1 and PK2).
 */
#define _GNU_SOURCE
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

static void pk1_parked(void)
{
	victim_end(wait_all());
	CHECK(slow_waiting(&memory));
	come_all();
}

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

static const struct test tests[] = {
	TEST(pk1_parked, "PK1 packets for those who wait for a page"),
	TEST(pk2_in_error, "PK2 packets for queue pairs in error"),
};

HARNESS_MAIN("Packets that wait", tests)
