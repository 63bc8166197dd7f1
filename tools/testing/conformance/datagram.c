// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Unreliable datagrams: lengths, headers, Q_Keys, address handles (items U1 to U10, U12
 * and U13; the others are multicast.c's).
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "event.h"
#include "transfer.h"

enum { GRH = 40, LEN = 20000 };

static struct link link_;
static struct region a, b;

static void begin(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD,
			      .inline_data = 128,
			      .sge = 8 };

	link_make(&link_, &cfg);
	a = region_new(LEN, 1003, ALL_ACCESS);
	b = region_new(LEN, 2017, ALL_ACCESS);
}

static uint32_t mtu(void)
{
	return 128U << dev.port.active_mtu;
}

/* Datagrams of all lengths up to the MTU arrive: scattered, inline, with immediate data. */
static void u1_lengths(void)
{
	const uint32_t sizes[] = { 0,  1,  7,	8,	   9,	 63,
				   64, 65, 255, mtu() - 1, mtu() };
	size_t i;
	int n;

	begin();
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (n = 0; n < 8; n++) {
			struct transfer t = {
				.opcode = n & 1 ? IBV_WR_SEND :
						  IBV_WR_SEND_WITH_IMM,
				.length = sizes[i],
				.sges = rnd_in(1, 8),
				.recv_sges = rnd_in(1, 8),
				.builder = n & 2,
				.spare = n & 4 ? 50 : 0,
				.inline_data = sizes[i] < 100 && n & 4,
			};

			context("%u bytes, %d", sizes[i], n);
			transfer(&link_, &a, &b, &t);
		}
	}
}

static struct ibv_send_wr datagram(struct ibv_sge *sge)
{
	return (struct ibv_send_wr){
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = link_.a.ah,
			   .remote_qpn = link_.b.qp->qp_num,
			   .remote_qkey = QKEY },
	};
}

/* The datagram is sent, and nothing is received. */
static void dropped(struct ibv_send_wr *wr)
{
	post(&link_.a, wr);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	expect_none(link_.b.rcq, 0.02);
	buf_check(b.buf);
}

/* Once, at the sender or, if it was a packet, at the receiver. */
static void dropped_and_counted(struct ibv_send_wr *wr)
{
	long long before = dev.pinion ? device_counter("ud_drops") : 0;

	dropped(wr);
	if (dev.pinion)
		counter_await("ud_drops", before + 1);
}

static void works(void)
{
	transfer(&link_, &a, &b,
		 &(struct transfer){ .opcode = IBV_WR_SEND, .length = 1000 });
}

/* A datagram longer than the MTU fails by itself, and the queue pair goes on after that. */
static void u2_too_long(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	begin();
	sge = sge_of(&a, 0, mtu() + 1);
	wr = datagram(&sge);
	post(&link_.a, &wr);
	expect_why(await(link_.a.scq), IBV_WC_LOC_LEN_ERR, PINION_SYN_LENGTH);
	/* After the error the send queue can be set back to RTS. */
	CHECK_EQ(end_state(&link_.a), IBV_QPS_SQE);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RTS), 0);
	works();
}

/* The header before a datagram is valid, and enough to answer it. */
static void u3_header(void)
{
	struct ibv_sge sge, sink;
	struct ibv_send_wr wr;
	uint8_t *grh;
	struct ibv_wc wc;

	begin();
	sge = sge_of(&a, 0, 100);
	sink = sge_of(&b, 0, 140);
	wr = datagram(&sge);
	post_recv(&link_.b, &sink, 1, 0);
	post(&link_.a, &wr);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	wc = await(link_.b.rcq);
	CHECK(wc.wc_flags & IBV_WC_GRH);
	CHECK_EQ(wc.byte_len, 140);
	CHECK_EQ(wc.src_qp, link_.a.qp->qp_num);
	grh = b.buf->data;
	if (grh[20] >> 4 == 4) {
		/*
		 * An IPv4 header is in the second half of the GRH's place; its checksum must be
		 * right.
		 */
		uint32_t sum = 0, i;

		for (i = 20; i < 40; i += 2)
			sum += grh[i] << 8 | grh[i + 1];
		while (sum >> 16)
			sum = (sum & 0xffff) + (sum >> 16);
		CHECK_EQ(sum, 0xffff);
		CHECK(!memcmp(grh + 32, dev.gid.raw + 12, 4));
		CHECK(!memcmp(grh + 36, dev.gid.raw + 12, 4));
	} else {
		CHECK_EQ(grh[0] >> 4, 6);
		CHECK(!memcmp(grh + 8, dev.gid.raw, 16));
		CHECK(!memcmp(grh + 24, dev.gid.raw, 16));
	}
	{
		struct ibv_ah *reply;

		reply = MUST(
			ibv_create_ah_from_wc(dev.pd, &wc, (void *)grh, 1));
		CHECK_EQ(ibv_destroy_ah(reply), 0);
	}
}

/* Only the right Q_Key is received; one with the high bit stands for that of the sender. */
static void u4_qkey(void)
{
	struct ibv_sge sge, sink;
	struct ibv_send_wr wr;

	begin();
	sge = sge_of(&a, 0, 100);
	sink = sge_of(&b, 0, 140);
	post_recv(&link_.b, &sink, 1, 7);
	wr = datagram(&sge);
	wr.wr.ud.remote_qkey = QKEY + 1;
	dropped_and_counted(&wr);
	/* With the high bit set, the Q_Key of the sending QP is used. */
	wr.wr.ud.remote_qkey = 1U << 31 | 5;
	post(&link_.a, &wr);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	CHECK_EQ(await(link_.b.rcq).wr_id, 7);
}

/* Datagrams to nobody, without a receive, and to a connected queue pair are dropped silently. */
static void u5_nobody(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct end rc;

	begin();
	sge = sge_of(&a, 0, 100);
	wr = datagram(&sge);
	wr.wr.ud.remote_qpn = link_.b.qp->qp_num ^ 1;
	dropped(&wr);
	/* No receive request. */
	wr.wr.ud.remote_qpn = link_.b.qp->qp_num;
	dropped_and_counted(&wr);
	/* The QP number of an RC QP. */
	end_make(&rc, NULL);
	wr.wr.ud.remote_qpn = rc.qp->qp_num;
	dropped(&wr);
	works();
}

/* A datagram longer than its receive is dropped, and uses up no receive. */
static void u6_no_room(void)
{
	struct ibv_sge sge, sink;
	struct ibv_send_wr wr;
	struct ibv_wc wc;

	begin();
	sge = sge_of(&a, 0, 100);
	wr = datagram(&sge);
	sink = sge_of(&b, 0, 139);
	post_recv(&link_.b, &sink, 1, 3);
	dropped(&wr);
	buf_check(b.buf);
	/* A datagram that is too long uses up no receive request: the next one gets it. */
	CHECK_EQ(end_state(&link_.b), IBV_QPS_RTS);
	sge.length = 99;
	post(&link_.a, &wr);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	wc = await(link_.b.rcq);
	expect(wc, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, 3);
	CHECK_EQ(wc.byte_len, 139);
	memcpy(b.buf->want, b.buf->data, 139);
	/* The receive request of a dropped datagram is also flushed if the QP goes into error. */
	post_recv(&link_.b, &sink, 1, 4);
	sge.length = 100;
	dropped(&wr);
	expect_flushed(&link_.b, 4);
}

/*
 * The second half of the sender's data is unmapped: an error for the sender, and nothing is
 * received.
 */
static void u13_half_a_datagram(void)
{
	struct ibv_sge sge, sink;
	struct ibv_send_wr wr;
	struct ibv_wc wc;

	begin();
	sge = sge_half_gone();
	wr = datagram(&sge);
	sink = sge_of(&b, 0, 140);
	post_recv(&link_.b, &sink, 1, 3);
	post(&link_.a, &wr);
	expect(await(link_.a.scq), IBV_WC_LOC_PROT_ERR);
	expect_none(link_.b.rcq, 0.02);
	CHECK_EQ(end_state(&link_.b), IBV_QPS_RTS);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RTS), 0);
	sge = sge_of(&a, 0, 100);
	post(&link_.a, &wr);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	wc = await(link_.b.rcq);
	expect(wc, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, 3);
}

/* A bad key breaks the queue pair of the side that named it, and not the other one. */
static void u7_bad_keys(void)
{
	struct ibv_sge sge, sink;
	struct ibv_send_wr wr;

	begin();
	sge = sge_of(&a, 0, 100);
	sge.lkey ^= 4;
	wr = datagram(&sge);
	post(&link_.a, &wr);
	expect_why(await(link_.a.scq), IBV_WC_LOC_PROT_ERR,
		   PINION_SYN_KEY_UNKNOWN);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RTS), 0);
	sge.lkey ^= 4;
	sink = sge_of(&b, 0, 140);
	sink.lkey ^= 4;
	post_recv(&link_.b, &sink, 1, 3);
	post(&link_.a, &wr);
	expect(await(link_.a.scq), IBV_WC_SUCCESS);
	expect_why(await(link_.b.rcq), IBV_WC_LOC_PROT_ERR,
		   PINION_SYN_KEY_UNKNOWN);
	/* A bad receive request breaks the receiver's QP, not the sender's. */
	end_await_state(&link_.b, IBV_QPS_ERR);
	CHECK_EQ(end_state(&link_.a), IBV_QPS_RTS);
	event_none(IBV_EVENT_QP_REQ_ERR, 0.05);
	link_renew(&link_);
	works();
}

/* An address handle of another domain is refused. */
static void u8_foreign_ah(void)
{
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	struct qp_cfg cfg = { .type = IBV_QPT_UD, .pd = pd };
	struct ibv_sge sge;
	struct link other;
	struct ibv_send_wr wr;

	begin();
	link_make(&other, &cfg);
	sge = sge_of(&a, 0, 100);
	wr = datagram(&sge);
	wr.wr.ud.ah = other.a.ah;
	post(&link_.a, &wr);
	expect_why(await(link_.a.scq), IBV_WC_LOC_QP_OP_ERR, PINION_SYN_AH);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RTS), 0);
	works();
}

/*
 * Address handles keep their domain busy; without a GRH, with a wrong port or GID index there are
 * none.
 */
static void u9_ah(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = dev.gid, .sgid_index = dev.gid_index },
	};
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	struct ibv_ah *ah;

	ah = MUST(ibv_create_ah(pd, &attr));
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	attr.is_global = 0;
	CHECK(!ibv_create_ah(dev.pd, &attr));
	attr.is_global = 1;
	attr.port_num = 2;
	CHECK(!ibv_create_ah(dev.pd, &attr));
	attr.port_num = 1;
	attr.grh.sgid_index = 255;
	CHECK(!ibv_create_ah(dev.pd, &attr));
}

/* Requests other than sends cannot be posted for datagrams. */
static void u10_only_sends(void)
{
	static const enum ibv_wr_opcode others[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_SEND_WITH_INV
	};
	struct ibv_sge sge;
	size_t i;

	begin();
	sge = sge_of(&a, 0, 8);
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		struct ibv_send_wr wr = datagram(&sge);

		wr.opcode = others[i];
		CHECK(try_post(&link_.a, &wr));
	}
	works();
}

/* Behind a failed datagram the others are flushed in order, and the queue goes on from SQE. */
static void u12_sqe(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wrs[3];
	int i;

	begin();
	sge = sge_of(&a, 0, mtu() + 1);
	for (i = 0; i < 3; i++) {
		wrs[i] = datagram(&sge);
		wrs[i].wr_id = i;
		wrs[i].next = i < 2 ? &wrs[i + 1] : NULL;
	}
	post(&link_.a, wrs);
	expect(await(link_.a.scq), IBV_WC_LOC_LEN_ERR);
	/* The requests after it are flushed, in order. */
	for (i = 1; i < 3; i++) {
		struct ibv_wc wc = await(link_.a.scq);

		expect_why(wc, IBV_WC_WR_FLUSH_ERR, PINION_SYN_FLUSHED);
		CHECK_EQ(wc.wr_id, i);
	}
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_RTS), 0);
	works();
}

static const struct test tests[] = {
	TEST(u1_lengths, "U1 lengths, scattered, inline, with immediate"),
	TEST(u2_too_long, "U2 longer than the MTU"),
	TEST(u3_header, "U3 the header, and answering it"),
	TEST(u4_qkey, "U4 Q_Keys"),
	TEST(u5_nobody, "U5 nobody there, nothing posted"),
	TEST(u6_no_room, "U6 receive buffers that are too small"),
	TEST(u7_bad_keys, "U7 bad keys break who named them"),
	TEST(u8_foreign_ah, "U8 an address handle of another domain"),
	TEST(u9_ah, "U9 address handles: what is refused"),
	TEST(u10_only_sends, "U10 only sends"),
	TEST(u12_sqe, "U12 flushed in SQE, taken up again"),
	TEST(u13_half_a_datagram, "U13 a sender whose memory is gone"),
};

HARNESS_MAIN("Datagrams", tests)
