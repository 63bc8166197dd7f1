// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A queue of the netdev that is full drops packets, and its sender is told (items FU1 to FU4). Packets
 * to this host leave by the loopback, which gets a slow queue of two buffers.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forge.h"
#include "undo.h"

enum { LEN = 1 << 20 };

static struct link link_;
static struct region a, b;

static void take_away(void)
{
	if (system("tc qdisc del dev lo root 2>/dev/null"))
		return;
}

/* Give the loopback a qdisc, in words of tc(8). Skips the test if there is none. */
static void queue(const char *limits)
{
	char command[200];

	need_root();
	undo_at_end(take_away);
	snprintf(command, sizeof(command),
		 "tc qdisc replace dev lo root %s 2>/dev/null", limits);
	if (system(command))
		skip("no such qdisc in this kernel, or no tc");
}

static void slow_queue(void)
{
	queue("netem rate 200mbit limit 2");
}

/*
 * Of the packets of a message the first two share a buffer, and the others. The second buffer is
 * dropped, and sent again though nobody says so, and before the timer expires, which is 4 s.
 */
static void fu1_all_is_sent(void)
{
	enum { PACKETS = 60 };
	struct qp_cfg cfg = { .timeout = 20, .mtu = IBV_MTU_1024 };
	long long late, dropped;
	struct region own;
	struct end end;

	forge_begin(&end, &cfg);
	queue("netem rate 1mbit limit 1");
	own = region_new(LEN, 77, ALL_ACCESS);
	late = device_counter_now("local_ack_timeout_err");
	dropped = device_counter_now("tx_drops");
	forge_listen();
	post_rdma(&end, IBV_WR_RDMA_WRITE, sge_of(&own, 0, PACKETS << 10),
		  0x1000, 1, 0);
	forge_hear_asking(FORGE_WRITE_LAST, end.psn + PACKETS - 1);
	counter_await_least("tx_drops", dropped + 1);
	CHECK_EQ(device_counter_now("local_ack_timeout_err"), late);
}

/* Each kind of message arrives, although answers are dropped, too. */
static void fu2_all_comes(void)
{
	struct qp_cfg cfg = { .mtu = IBV_MTU_1024 };
	long long dropped;
	struct ibv_sge sink;
	int i;

	if (!dev.packets)
		skip("no packets to peers on this host");
	link_make(&link_, &cfg);
	a = region_new(LEN, 1003, ALL_ACCESS);
	b = region_new(LEN, 2017, ALL_ACCESS);
	slow_queue();
	dropped = device_counter_now("tx_drops");
	for (i = 0; i < 5; i++) {
		expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&a, 0, LEN),
			    b.base, b.rkey),
		       IBV_WC_SUCCESS);
		memcpy(b.buf->want, a.buf->want, LEN);
		buf_check(b.buf);
		buf_fill(a.buf);
		expect(rdma(&link_.b, IBV_WR_RDMA_READ, sge_of(&b, 0, LEN),
			    a.base, a.rkey),
		       IBV_WC_SUCCESS);
		memcpy(b.buf->want, a.buf->want, LEN);
		buf_check(b.buf);
		buf_fill(a.buf);
		sink = sge_of(&b, 0, LEN);
		post_recv(&link_.b, &sink, 1, 1);
		expect(send_sge(&link_.a, sge_of(&a, 0, LEN)), IBV_WC_SUCCESS);
		expect(await(link_.b.rcq), IBV_WC_SUCCESS);
		memcpy(b.buf->want, a.buf->want, LEN);
		buf_check(b.buf);
	}
	dropped = device_counter_now("tx_drops") - dropped;
	note("%lld packets were dropped", dropped);
	CHECK(dropped > 0);
}

/* A queue that takes nothing: the connection ends as with a network that loses all. */
static void fu3_nothing_is_taken(void)
{
	/* Field 13 is 33.55 ms, doubled each time, at most twice. */
	struct qp_cfg cfg = { .timeout = 13, .retry = 3 };
	const double least = 0.0335 * (1 + 2 + 4 + 4);
	long long late, dropped, resent;
	struct region own;
	double start, took;
	struct end end;

	forge_begin(&end, &cfg);
	queue("pfifo limit 0");
	own = region_new(LEN, 77, ALL_ACCESS);
	late = device_counter_now("local_ack_timeout_err");
	dropped = device_counter("tx_drops");
	resent = device_counter("resent_packets");
	start = now();
	post_rdma(&end, IBV_WR_RDMA_WRITE, sge_of(&own, 0, 200 << 10), 0x1000,
		  1, 0);
	expect(await(end.scq), IBV_WC_RETRY_EXC_ERR);
	took = now() - start;
	CHECK_EQ(device_counter_now("local_ack_timeout_err"), late + 4);
	dropped = device_counter_now("tx_drops") - dropped;
	note("%lld packets were dropped in %.3f s", dropped, took);
	CHECK(dropped > 4);
	CHECK(took > least);
	/* Nothing was sent, so nothing was sent again. */
	CHECK_EQ(device_counter("resent_packets"), resent);
	/* One try at a time, after pauses of 4 ms in the end, and few before. */
	CHECK(dropped < 64 * (took / 0.004 + 50));
}

/* Datagrams are lost then, and counted. */
static void fu4_datagrams(void)
{
	enum { SENT = 20 };
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	long long lost;
	int i;

	if (!dev.packets)
		skip("no packets to peers on this host");
	link_make(&link_, &cfg);
	a = region_new(LEN, 1003, ALL_ACCESS);
	queue("pfifo limit 0");
	lost = device_counter_now("ud_drops");
	for (i = 0; i < SENT; i++)
		expect(send_ud(&link_.a, sge_of(&a, 0, 100), link_.a.ah,
			       link_.b.qp->qp_num, QKEY),
		       IBV_WC_SUCCESS);
	counter_await("ud_drops", lost + SENT);
}

static const struct test tests[] = {
	TEST(fu1_all_is_sent, "FU1 what was dropped is sent again"),
	TEST(fu2_all_comes, "FU2 all comes"),
	TEST(fu3_nothing_is_taken, "FU3 a queue that takes nothing"),
	TEST(fu4_datagrams, "FU4 datagrams are lost"),
};

HARNESS_MAIN("queues of the netdev that are full", tests)
