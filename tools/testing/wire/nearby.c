// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A connection between queue pairs of this host, of a device that reaches other hosts by packets:
 * nobody sends packets of this connection (item FG30).
 */
#include <string.h>
#include <unistd.h>

#include "forge.h"

enum { LEN = 4096, BYTES = 64 };

static struct link link_;
static struct region source, target;
static uint8_t rest[16 + BYTES];

/* What was sent by forge() has come, and counts as a stranger's. */
static void is_stranger(long long *before)
{
	double limit = now() + patience(10);

	while (device_counter("rx_strangers") == *before && now() < limit)
		usleep(1000);
	CHECK_EQ(device_counter("rx_strangers"), ++*before);
}

/*
 * Whoever knows addresses, queue pairs and packet numbers of the connection is a stranger with each of
 * his packets. The numbers are those that the next packets had, were there any.
 */
static void fg30_nearby(void)
{
	struct qp_cfg cfg = { .rnr_retry = 7 };
	struct ibv_sge sge, from;
	struct ibv_send_wr wr = {
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	long long strangers, obeyed;
	uint32_t psn;
	size_t bytes;

	if (dev.wire != 1)
		skip("packets come to this device from all peers, or from none");
	forge_open();
	rnd_fill(rest, sizeof(rest));
	link_make(&link_, &cfg);
	source = region_new(LEN, 5, ALL_ACCESS);
	target = region_new(LEN, 6, ALL_ACCESS);
	strangers = device_counter("rx_strangers");
	obeyed = device_counter("rp_cnp_handled") +
		 device_counter("rp_cnp_ignored");
	CHECK(strangers >= 0 && device_counter("rp_cnp_handled") >= 0 &&
	      device_counter("rp_cnp_ignored") >= 0);
	psn = link_.a.psn;

	/* To the receiver: none writes, none takes the receive request, none is answered. */
	sge = sge_of(&target, 0, BYTES);
	post_recv(&link_.b, &sge, 1, 1);
	bytes = forge_reth(rest, target.base, target.rkey, BYTES);
	forge(FORGE_WRITE_ONLY, &link_.b, psn, rest, bytes + BYTES);
	is_stranger(&strangers);
	forge(FORGE_SEND_ONLY, &link_.b, psn, rest, BYTES);
	is_stranger(&strangers);
	forge(FORGE_READ_REQUEST, &link_.b, psn, rest, bytes);
	is_stranger(&strangers);
	expect_none(link_.b.rcq, 0);
	buf_check(target.buf);
	memcpy(target.buf->want, source.buf->data, BYTES);
	expect(send_sge(&link_.a, sge_of(&source, 0, BYTES)), IBV_WC_SUCCESS);
	expect(await(link_.b.rcq), IBV_WC_SUCCESS);

	/* To the sender, whose request waits for a receive request: it is not told that it is done. */
	from = sge_of(&source, 0, BYTES);
	post(&link_.a, &wr);
	bytes = forge_aeth(rest, 0x1f, 1);
	forge(FORGE_ACKNOWLEDGE, &link_.a, psn, rest, bytes);
	is_stranger(&strangers);
	forge(FORGE_ACKNOWLEDGE, &link_.a, psn + 1, rest, bytes);
	is_stranger(&strangers);
	memset(rest, 0, 16);
	forge(FORGE_CNP, &link_.a, 0, rest, 16);
	is_stranger(&strangers);
	CHECK_EQ(device_counter("rp_cnp_handled") +
			 device_counter("rp_cnp_ignored"),
		 obeyed);
	expect_none(link_.a.scq, 0);
	post_recv(&link_.b, &sge, 1, 2);
	expect(await(link_.b.rcq), IBV_WC_SUCCESS);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	buf_check(target.buf);
	CHECK_EQ(end_state(&link_.a), IBV_QPS_RTS);
	CHECK_EQ(end_state(&link_.b), IBV_QPS_RTS);
}

static const struct test tests[] = {
	TEST(fg30_nearby, "FG30 packets to a connection that has none"),
};

HARNESS_MAIN("Packets to a connection between queue pairs of one host", tests)
