// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets of a message share buffers, also those that have headers of their own (item FA15). Both
 * ends are pinion devices, or one that sends packets to itself; what arrives at ours is counted, and
 * every byte is compared.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "rdma_tool.h"

enum {
	MOST = 90, /* packets of the longest message: more than one buffer takes */
	IN_BUFFER = 64 * 1024,
};

struct ends {
	struct link link; /* a is the far end */
	struct region far, near;
	uint32_t mtu;
};

static void ends_make(struct ends *e, enum ibv_mtu mtu)
{
	struct qp_cfg a = { .device = &far_dev, .mtu = mtu },
		      b = { .device = &dev, .mtu = mtu };

	e->mtu = 128 << mtu;
	link_make2(&e->link, &a, &b);
	e->far = region_reg(far_dev.pd, buf_new(MOST * e->mtu, rnd_below(PAGE)),
			    ALL_ACCESS);
	e->near = region_reg(dev.pd, buf_new(MOST * e->mtu, rnd_below(PAGE)),
			     ALL_ACCESS);
}

/* How the far end sends @length bytes to us. */
static void sent_by_write(struct ends *e, uint32_t length)
{
	expect(rdma(&e->link.a, IBV_WR_RDMA_WRITE, sge_of(&e->far, 0, length),
		    e->near.base, e->near.rkey),
	       IBV_WC_SUCCESS);
}

static void sent_by_send(struct ends *e, uint32_t length)
{
	struct ibv_sge to = sge_of(&e->near, 0, length);

	post_recv(&e->link.b, &to, 1, 0);
	expect(send_sge(&e->link.a, sge_of(&e->far, 0, length)),
	       IBV_WC_SUCCESS);
	expect(await(e->link.b.rcq), IBV_WC_SUCCESS);
}

static void sent_by_answer(struct ends *e, uint32_t length)
{
	expect(rdma(&e->link.b, IBV_WR_RDMA_READ, sge_of(&e->near, 0, length),
		    e->far.base, e->far.rkey),
	       IBV_WC_SUCCESS);
}

/*
 * How many packets may travel alone. The first of a WRITE has one other with it, which may leave one
 * over. So it is with an answer, the last packet of which is alone; a READ is asked for in pieces of
 * 64 packets.
 */
static const struct way {
	void (*sent)(struct ends *e, uint32_t length);
	int alone, alone_in_piece;
} write_way = { sent_by_write, 1, 0 }, send_way = { sent_by_send, 0, 0 },
  answer_way = { sent_by_answer, 0, 2 };

static void shares(const struct way *way, enum ibv_mtu mtu)
{
	int packets, alone, together, per_buffer = IN_BUFFER / (128 << mtu);
	long long before;
	uint32_t length;
	struct ends e;

	ends_make(&e, mtu);
	for (packets = 1; packets <= MOST;
	     packets += packets < 5 ? 1 : rnd_in(1, 9)) {
		length = packets * e.mtu - rnd_below(e.mtu);
		before = rdma_counter("rx_burst_packets");
		rnd_fill(e.far.buf->data, length);
		memcpy(e.near.buf->want, e.far.buf->data, length);
		memcpy(e.far.buf->want, e.far.buf->data, length);
		way->sent(&e, length);
		buf_check(e.near.buf);
		buf_check(e.far.buf);
		together = rdma_counter("rx_burst_packets") - before;
		alone = way->alone + packets / (per_buffer - 2) +
			way->alone_in_piece * (packets / 64 + 1);
		/* The first has the second with it, however many follow. */
		if (packets == 3 && alone > 1)
			alone = 1;
		CHECK(packets > 1 ? together >= packets - alone : !together);
	}
}

/* Packets of a message share buffers, as counted by the port. */
static void fa15_shared(const void *argument)
{
	const struct way *way = argument;

	need_root();
	need_rdma_tool();
	device_open();
	if (getenv("FAR"))
		far_open();
	else if (dev.packets)
		far_dev = dev;
	else
		skip("no packets to peers on this host");
	shares(way, IBV_MTU_1024);
	if (dev.port.active_mtu >= IBV_MTU_2048 &&
	    far_dev.port.active_mtu >= IBV_MTU_2048)
		shares(way, dev.port.active_mtu);
	shares(way, IBV_MTU_256);
}

static const struct test tests[] = {
	TEST_WITH(fa15_shared, &write_way, "FA15 WRITEs share buffers"),
	TEST_WITH(fa15_shared, &send_way, "FA15 SENDs share buffers"),
	TEST_WITH(fa15_shared, &answer_way,
		  "FA15 answers of READs share buffers"),
};

HARNESS_MAIN("Bursts of packets", tests)
