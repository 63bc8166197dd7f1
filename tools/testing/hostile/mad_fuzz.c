// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random management datagrams to queue pair 1, on which the kernel's connection manager listens:
 * wrong lengths, classes, methods, messages of unknown connections (class 21). The kernel must
 * not warn, and others' traffic goes on.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <string.h>
#include <unistd.h>

#include "link.h"
#include "victim.h"

enum {
	GRH = 40,
	MAD = 256,
	GSI_QPN = 1,
	CLASS_SUBNET = 0x01,
	CLASS_SUBNET_DIRECTED = 0x81,
	CLASS_ADMIN = 0x03,
	CLASS_PERFORMANCE = 0x04,
	CLASS_CM = 0x07,
	CLASS_VENDOR = 0x30,
	METHOD_GET = 0x01,
	METHOD_SEND = 0x03,
	METHOD_GET_RESP = 0x81,
	CM_FIRST = 0x10, /* REQ */
	CM_LAST = 0x1c,
	UNSUPPORTED = 0x0c, /* status: unsupported method and attribute */
};

/* The kernel lets only users with CAP_NET_RAW send with it. */
static const uint32_t gsi_qkey = 0x80010000;

struct mad {
	uint8_t base_version, class, class_version, method;
	uint16_t status, class_specific;
	uint64_t tid;
	uint16_t attr, reserved;
	uint32_t modifier;
	uint8_t data[MAD - 24];
} __attribute__((packed)); /* buffers begin anywhere */

static struct link link_;
static struct region out, in;

static void begin(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .qkey = gsi_qkey };
	const int mask = IBV_QP_STATE | IBV_QP_QKEY;

	if (!dev.pinion)
		skip("other devices' queue pair 1 is their own");
	link_make(&link_, &cfg);
	out = region_new(4096, 5, ALL_ACCESS);
	in = region_new(GRH + MAD, 3, ALL_ACCESS);
	CHECK_EQ(ibv_modify_qp(link_.a.qp, &attr, mask), 0);
	CHECK_EQ(ibv_modify_qp(link_.b.qp, &attr, mask), 0);
}

static void send_to_gsi(struct end *end, uint32_t length)
{
	expect(send_ud(end, sge_of(&out, 0, length), end->ah, GSI_QPN,
		       gsi_qkey),
	       IBV_WC_SUCCESS);
}

/* A query that QP 1 must answer with an error. */
static void make_question(uint64_t tid)
{
	struct mad *mad = (struct mad *)out.buf->data;

	memset(mad, 0, sizeof(*mad));
	mad->base_version = 1;
	mad->class = CLASS_VENDOR;
	mad->class_version = 1;
	mad->method = METHOD_GET;
	mad->tid = tid;
}

/*
 * Queue pair 1 answers. After a flood of datagrams it may lack receive requests and drop one, so
 * repeat the query every @again seconds.
 */
static void expect_answer(double again)
{
	const struct mad *mad = (struct mad *)(in.buf->data + GRH);
	struct ibv_sge sink = sge_of(&in, 0, GRH + MAD);
	double limit = now() + patience(PATIENCE);
	uint64_t tid = rnd();
	struct ibv_wc wc;
	int asked = 0;

	post_recv(&link_.a, &sink, 1, 0);
	make_question(tid);
	do {
		if (now() > limit)
			FAIL("%d questions and no answer", asked);
		send_to_gsi(&link_.a, MAD);
		asked++;
	} while (!comes_within(link_.a.rcq, again, &wc));
	if (asked > 1)
		note("asked %d times", asked);
	expect(wc, IBV_WC_SUCCESS);
	CHECK_EQ(wc.byte_len, GRH + MAD);
	CHECK_EQ(mad->method, METHOD_GET_RESP);
	CHECK_EQ(mad->tid, tid);
	CHECK_EQ(be16toh(mad->status), UNSUPPORTED);
}

/* All random, or almost a message of the connection manager. */
static uint32_t some_mad(void)
{
	static const uint8_t classes[] = { CLASS_SUBNET, CLASS_SUBNET_DIRECTED,
					   CLASS_ADMIN, CLASS_PERFORMANCE,
					   CLASS_VENDOR };
	struct mad *mad = (struct mad *)out.buf->data;
	uint32_t length = MAD;

	rnd_fill(out.buf->data, out.buf->length);
	if (rnd_below(8) == 0)
		return rnd_below((128 << dev.port.active_mtu) + 1);
	mad->base_version = 1;
	if (rnd_below(2)) {
		mad->class = CLASS_CM;
		mad->class_version = 2;
		mad->method = METHOD_SEND;
		mad->attr = htobe16(rnd_in(CM_FIRST, CM_LAST));
		mad->status = 0;
	} else {
		mad->class = classes[rnd_below(ARRAY_SIZE(classes))];
		mad->class_version = rnd_in(1, 2);
		if (rnd_below(2))
			mad->method = rnd_in(METHOD_GET, METHOD_SEND);
	}
	if (rnd_below(16) == 0)
		length = rnd_below(MAD);
	return length;
}

/*
 * Sends garbage until queue pair 1 has received some of it: it may lack receive requests and drop the
 * rest. The port counts what all queue pairs have received, so this one must be the only one.
 */
static void be_received(void)
{
	double limit = now() + patience(PATIENCE);
	long long before, received = 0;
	unsigned long sent = 0;

	/* Such a counter may be ten milliseconds old. */
	usleep(20000);
	before = device_counter("rx_messages");
	CHECK(before >= 0);
	while (received < 100) {
		if (now() > limit)
			FAIL("of %lu datagrams, %lld were received", sent,
			     received);
		send_to_gsi(&link_.b, some_mad());
		if (sent++ % 16 == 0)
			received = device_counter("rx_messages") - before;
	}
	note("of %lu datagrams, %lld were received", sent, received);
}

/* After thousands of them it answers as before. */
static void garbage(void)
{
	volatile struct victim *victim;
	unsigned long sent;
	double end;

	begin();
	expect_answer(PATIENCE);
	be_received();
	victim = victim_start();
	end = now() + opt.seconds;
	for (sent = 0; go_on(end, sent > 1000); sent++)
		send_to_gsi(&link_.b, some_mad());
	note("%lu datagrams", sent);
	CHECK(sent > 1000);
	expect_answer(1);
	victim_end(victim);
}

/* With another Q_Key it gets no datagram. */
static void another_key(void)
{
	struct ibv_sge sink, sge;
	struct ibv_send_wr wr = {
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	begin();
	expect_answer(PATIENCE);
	sink = sge_of(&in, 0, GRH + MAD);
	sge = sge_of(&out, 0, MAD);
	post_recv(&link_.a, &sink, 1, 0);
	wr.sg_list = &sge;
	wr.wr.ud.ah = link_.a.ah;
	wr.wr.ud.remote_qpn = GSI_QPN;
	wr.wr.ud.remote_qkey = QKEY;
	post(&link_.a, &wr);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	expect_none(link_.a.rcq, 0.2);
}

static const struct test tests[] = {
	TEST(another_key, "MAD1 with another Q_Key nobody answers (class 21)"),
	TEST(garbage, "MAD2 thousands that mean nothing (class 21)"),
};

HARNESS_MAIN("Management datagrams that nobody expects", tests)
