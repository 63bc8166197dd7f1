// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Injected damage to packets (items IN43 to IN49; kernel/wire/harm.c): connections recover, and
 * datagrams arrive unchanged or not at all. For devices that send packets to peers on this host.
 */
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "orders.h"
#include "transfer.h"

/* Several buffers of packets, each of which is sent as one. */
enum { LENGTH = 400000, LONG = LENGTH / 2 - 5000 };

static struct link link_;
static struct region a, b;

static void begin(enum ibv_qp_type type)
{
	struct qp_cfg cfg = { .type = type, .timeout = 12, .retry = 7 };

	orders_begin();
	if (!dev.packets)
		skip("no packets to peers on this host");
	link_make(&link_, &cfg);
	a = region_new(LENGTH, 50, ALL_ACCESS);
	b = region_new(LENGTH, 7, ALL_ACCESS);
}

/* One packet of a write, then of a READ's response: the counter shows it, and all bytes arrive. */
static void in43_corrupt(void)
{
	long long before;

	begin(IBV_QPT_RC);
	before = device_counter("rx_icrc_encapsulated");
	order("corrupt number %u skip 1", link_.a.qp->qp_num);
	check_write(&link_, &a, 33, &b, 5, LONG);
	orders_over(1);
	counter_await("rx_icrc_encapsulated", before + 1);
	order("corrupt number %u skip 1", link_.b.qp->qp_num);
	check_read(&link_, &a, 5, &b, 33, LONG);
	orders_over(1);
	buf_check(a.buf);
	buf_check(b.buf);
	exchange(&link_, &a, &b);
}

/* Duplicated packets are counted, and change nothing. */
static void in44_duplicate(void)
{
	long long before;

	begin(IBV_QPT_RC);
	before = device_counter("duplicate_request");
	order("duplicate number %u skip 1", link_.a.qp->qp_num);
	check_write(&link_, &a, 33, &b, 5, LONG);
	orders_over(1);
	/* The kernel refreshes counters only some times a second. */
	usleep(500000);
	CHECK(device_counter("duplicate_request") > before);
	order("duplicate number %u count 0", link_.b.qp->qp_num);
	check_read(&link_, &a, 5, &b, 33, LONG);
	CHECK(ordered("failed") > 2);
	orders_off();
	buf_check(a.buf);
	buf_check(b.buf);
	exchange(&link_, &a, &b);
}

/* Packets out of order are counted, and the data are right. */
static void in45_reorder(void)
{
	long long before;

	begin(IBV_QPT_RC);
	before = device_counter("out_of_sequence");
	order("reorder number %u skip 1", link_.a.qp->qp_num);
	check_write(&link_, &a, 33, &b, 5, LONG);
	orders_over(1);
	usleep(500000);
	CHECK(device_counter("out_of_sequence") > before);
	/* No packet follows the last one; it arrives when the sender repeats it. */
	order("reorder number %u count 1", link_.a.qp->qp_num);
	check_write(&link_, &a, 0, &b, 5, 10);
	orders_over(1);
	order("reorder number %u percent 30 seed 3 count 0",
	      link_.b.qp->qp_num);
	check_read(&link_, &a, 5, &b, 33, LONG);
	CHECK(ordered("failed") > 0);
	orders_off();
	buf_check(a.buf);
	buf_check(b.buf);
	exchange(&link_, &a, &b);
}

/* All kinds of damage on both sides, with every kind of message. */
static void in46_all(void)
{
	static const char *const kinds[] = { "loss", "corrupt", "duplicate",
					     "reorder" };
	size_t i;

	begin(IBV_QPT_RC);
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		order("%s pid %d percent 5 seed %zu count 0", kinds[i],
		      getpid(), i);
	exchange(&link_, &a, &b);
	for (i = 0; i < TRANSFER_OPCODES; i++) {
		struct transfer t =
			transfer_in_pieces(transfer_opcodes[i], LONG);

		transfer(&link_, &a, &b, &t);
	}
	CHECK(ordered("failed"));
	orders_off();
	exchange(&link_, &a, &b);
}

static void send_datagram(void)
{
	expect(send_ud(&link_.a, sge_of(&a, 100, 1000), link_.a.ah,
		       link_.b.qp->qp_num, QKEY),
	       IBV_WC_SUCCESS);
}

static void arrived(uint64_t wr_id)
{
	struct ibv_wc wc = await(link_.b.rcq);

	expect(wc, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, wr_id);
	CHECK(!memcmp(b.buf->data + wr_id * 2000 + 40, a.buf->data + 100,
		      1000));
}

/* Datagrams are lost, spoilt or duplicated as ordered. */
static void in47_datagrams(void)
{
	static const char *const lost[] = { "loss", "corrupt" };
	struct ibv_sge sink;
	uint64_t i;

	begin(IBV_QPT_UD);
	for (i = 0; i < 5; i++) {
		sink = sge_of(&b, i * 2000, 1040);
		post_recv(&link_.b, &sink, 1, i);
	}
	for (i = 0; i < ARRAY_SIZE(lost); i++) {
		order("%s number %u", lost[i], link_.a.qp->qp_num);
		send_datagram();
		orders_over(1);
		expect_none(link_.b.rcq, 0.2);
	}
	send_datagram();
	arrived(0);
	order("duplicate number %u", link_.a.qp->qp_num);
	send_datagram();
	orders_over(1);
	arrived(1);
	arrived(2);
	/* Datagrams are not held back for a later one. */
	order("reorder number %u count 0", link_.a.qp->qp_num);
	send_datagram();
	CHECK_EQ(ordered("met"), 0);
	arrived(3);
	orders_off();
}

/* A packet that is held back for the next one is freed with its queue pair or connection. */
static void in48_ends_waiting(void)
{
	struct qp_cfg cfg = { .timeout = 20, .retry = 1 };
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};
	int i;

	begin(IBV_QPT_RC);
	for (i = 0; i < 20; i++) {
		link_free(&link_);
		link_make(&link_, &cfg);
		sge = sge_of(&a, i, 500);
		wr.wr.rdma.remote_addr = b.base;
		wr.wr.rdma.rkey = b.rkey;
		order("reorder number %u", link_.a.qp->qp_num);
		post(&link_.a, &wr);
		while (!ordered("failed"))
			usleep(1000);
		orders_off();
		if (i % 2)
			link_renew(&link_);
	}
	link_renew(&link_);
	exchange(&link_, &a, &b);
}

static void let_select(const char *yes_or_no)
{
	CHECK_EQ(file_write(yes_or_no,
			    "/sys/module/pinion/parameters/selective"),
		 0);
}

/* Sends long messages of @opcode, of which some buffers are lost. */
static void some_are_lost(enum ibv_wr_opcode opcode)
{
	enum { ROUNDS = 200 };
	uint32_t number;
	int round;

	number = opcode == IBV_WR_RDMA_READ ? link_.b.qp->qp_num :
					      link_.a.qp->qp_num;
	order("loss number %u percent 2 seed 8 count 0", number);
	for (round = 0; round < ROUNDS; round++) {
		rnd_fill(opcode == IBV_WR_RDMA_READ ? b.buf->data : a.buf->data,
			 LENGTH);
		expect(rdma(&link_.a, opcode, sge_of(&a, 0, LENGTH), b.base,
			    b.rkey),
		       IBV_WC_SUCCESS);
		CHECK(!memcmp(a.buf->data, b.buf->data, LENGTH));
	}
	CHECK(ordered("failed") > ROUNDS / 20);
	orders_off();
}

static long long sent_again(enum ibv_wr_opcode opcode, const char *selective)
{
	long long before;

	let_select(selective);
	/* The kernel refreshes counters only some times a second. */
	usleep(100000);
	before = device_counter("resent_packets");
	some_are_lost(opcode);
	usleep(100000);
	return device_counter("resent_packets") - before;
}

/* Fewer packets are sent again if only the lost ones are; and all bytes arrive either way. */
static void in49_selective(const void *with)
{
	const enum ibv_wr_opcode *opcode = with;
	long long all, lost, kept;

	begin(IBV_QPT_RC);
	kept = device_counter("rx_early_packets");
	all = sent_again(*opcode, "N");
	CHECK_EQ(device_counter("rx_early_packets"), kept);
	lost = sent_again(*opcode, "Y");
	CHECK(device_counter("rx_early_packets") > kept);
	note("%lld packets are sent again, %lld selectively", all, lost);
	CHECK(lost > 0);
	CHECK(3 * lost < 2 * all);
}

static const enum ibv_wr_opcode write_ = IBV_WR_RDMA_WRITE;
static const enum ibv_wr_opcode read_ = IBV_WR_RDMA_READ;

static const struct test tests[] = {
	TEST(in43_corrupt, "IN43 corrupt"),
	TEST(in44_duplicate, "IN44 duplicate"),
	TEST(in45_reorder, "IN45 reorder"),
	TEST(in46_all, "IN46 loss, corrupt, duplicate and reorder"),
	TEST(in47_datagrams, "IN47 datagrams"),
	TEST(in48_ends_waiting, "IN48 a packet that waits, and its end"),
	TEST_WITH(in49_selective, &write_, "IN49 lost packets of writes"),
	TEST_WITH(in49_selective, &read_, "IN49 lost packets of reads"),
};

ORDERS_MAIN("Packets by order", tests)
