// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A peer asks for bytes of a region again after that has ended: it acknowledges nothing that it is sent, or
 * repeats its READs. What is in the memory then does not leave (items EN1 and EN2).
 */
#define _GNU_SOURCE
#include <string.h>

#include "capture.h"
#include "forge.h"

enum { LEN = 3000, MARK = 16 };

static struct end end;
static struct region own;
static int capture = -1;
static uint8_t mark[MARK]; /* the memory has it again and again */

static void begin(void)
{
	struct qp_cfg cfg = { .mtu = IBV_MTU_1024, .timeout = 15, .retry = 7 };

	forge_begin(&end, &cfg);
	own = region_reg(dev.pd, buf_new(LEN, 40), ALL_ACCESS);
	/* The forged peer is on this host. */
	capture = capture_open("lo");
}

/* Fills the memory with a new mark. */
static void mark_memory(void)
{
	int i;

	rnd_fill(mark, MARK);
	for (i = 0; i < LEN; i++)
		own.buf->data[i] = mark[i % MARK];
}

/* Has a packet left that has the mark? False: none until now. */
static bool mark_left(void)
{
	static struct captured seen;

	while (capture_try(capture, &seen))
		if (memmem(seen.bytes, seen.length, mark, MARK))
			return true;
	return false;
}

static void must_leave(void)
{
	double limit = now() + patience(20);

	while (!mark_left())
		CHECK(now() < limit);
}

/* From now on the memory is nobody's. */
static void end_region(void)
{
	CHECK_EQ(ibv_dereg_mr(own.mr), 0);
	mark_memory();
}

/* Messages that nobody acknowledges are sent again, with what is in the memory, until that has ended. */
static void en1_sent_again(int opcode)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { 0x1000, 1 },
	};
	struct ibv_wc wc;

	begin();
	sge = sge_of(&own, 0, LEN);
	mark_memory();
	post(&end, &wr);
	must_leave();
	mark_memory();
	must_leave();
	end_region();
	while (!poll_one(end.scq, &wc))
		CHECK(!mark_left());
	CHECK(!mark_left());
	expect_why(wc, IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_UNKNOWN);
}

/* The same READ, with the same number, is answered again with what is in the memory, until that has ended. */
static void en2_read_again(void)
{
	uint8_t request[16];
	size_t bytes;

	begin();
	bytes = forge_reth(request, own.base, own.rkey, LEN);
	mark_memory();
	forge(FORGE_READ_REQUEST, &end, FORGED_PSN, request, bytes);
	must_leave();
	mark_memory();
	forge(FORGE_READ_REQUEST, &end, FORGED_PSN, request, bytes);
	must_leave();
	end_region();
	forge_listen();
	forge(FORGE_READ_REQUEST, &end, FORGED_PSN, request, bytes);
	forge_hear_nak(0x62, FORGED_PSN);
	CHECK(!mark_left());
}

static const struct test tests[] = {
	TEST_OF(en1_sent_again, IBV_WR_RDMA_WRITE,
		"EN1 a WRITE that is sent again"),
	TEST_OF(en1_sent_again, IBV_WR_SEND, "EN1 a SEND that is sent again"),
	TEST(en2_read_again, "EN2 a READ that is asked for again"),
};

HARNESS_MAIN("Regions that end before a peer has all of them", tests)
