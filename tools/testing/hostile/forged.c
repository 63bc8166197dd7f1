// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A connection whose peer says what no peer says, or is not the one that sends (items FG1 to FG8,
 * FG25 and FG26).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forge.h"
#include "rdma_tool.h"
#include "slow.h"

enum { LEN = 20000 };

static struct end end;
static struct region own;
static uint8_t rest[64 + 4096];

static void begin(const struct qp_cfg *cfg)
{
	forge_begin(&end, cfg);
	own = region_new(LEN, 77, ALL_ACCESS);
	rnd_fill(rest, sizeof(rest));
}

static void ask(enum ibv_wr_opcode opcode, struct ibv_sge *sge, int num_sge)
{
	struct ibv_send_wr wr = {
		.sg_list = sge,
		.num_sge = num_sge,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (opcode == IBV_WR_RDMA_READ)
		wr.wr.rdma.remote_addr = 0x1000;
	else
		wr.wr.atomic.remote_addr = 0x1000;
	post(&end, &wr);
}

struct answer {
	enum ibv_wr_opcode asked;
	enum forge_opcode opcode;
	size_t payload;
};

/* An answer that is not one to what was asked ends the connection, and says so. */
static void fg1_misanswered(const void *with)
{
	const struct answer *answer = with;
	bool is_read = answer->asked == IBV_WR_RDMA_READ;
	struct qp_cfg cfg = { .timeout = 16 };
	size_t headers = 0;
	struct ibv_sge sge;

	begin(&cfg);
	sge = sge_of(&own, 0, is_read ? 100 : 8);
	ask(answer->asked, &sge, 1);
	headers = forge_aeth(rest, 0x1f, 1);
	if (answer->opcode == FORGE_ATOMIC_ACKNOWLEDGE)
		headers += 8;
	forge(answer->opcode, &end, end.psn, rest, headers + answer->payload);
	expect(await(end.scq), IBV_WC_BAD_RESP_ERR);
	buf_check(own.buf);
}

/* @length from @at on, by packet FORGED_PSN + @psn. */
static void read_again(uint32_t psn, uint64_t at, uint32_t rkey,
		       uint32_t length)
{
	size_t bytes = forge_reth(rest, own.base + at, rkey, length);

	forge(FORGE_READ_REQUEST, &end, FORGED_PSN + psn, rest, bytes);
}

/* Who asks again is answered what was asked, or the end of it, and nothing else. */
static void fg2_read_again(void)
{
	struct qp_cfg cfg = { .mtu = IBV_MTU_1024 };
	long long answers;
	struct region other;

	begin(&cfg);
	other = region_new(LEN, 3, ALL_ACCESS);
	answers = device_counter(FORGE_ANSWERS);
	/* Over the end of all numbers. */
	read_again(0, 100, own.rkey, 10 * 1024 + 5);
	counter_await(FORGE_ANSWERS, answers += 11);
	read_again(11, 0, own.rkey, 1000);
	counter_await(FORGE_ANSWERS, ++answers);
	/* Packets come in order: were one of these answered, it would be counted below. */
	read_again(0, 100, other.rkey, 1000);
	read_again(0, 101, own.rkey, 1000);
	read_again(1, 100, own.rkey, 1000);
	read_again(10, 100 + 10 * 1024, own.rkey, 6);
	read_again(9, 100 + 9 * 1024, own.rkey, 1024 + 6);
	read_again(11, 0, own.rkey, 1001);
	read_again(0xffffff - 5, 100, own.rkey, 1000);
	/* These are of it. */
	read_again(10, 100 + 10 * 1024, own.rkey, 5);
	read_again(9, 100 + 9 * 1024, own.rkey, 1024 + 5);
	read_again(1, 100 + 1024, own.rkey, 2000);
	read_again(11, 0, own.rkey, 1000);
	counter_await(FORGE_ANSWERS, answers + 1 + 2 + 2 + 1);
	CHECK_EQ(end_state(&end), IBV_QPS_RTS);
}

/* Packets of whoever else knows its number take no place of its peer's. */
static void fg3_strangers(void)
{
	struct qp_cfg cfg = { .timeout = 14, .retry = 1 };
	struct slow memory;
	struct ibv_sge sge[2];
	struct ibv_mr *mr;
	size_t aeth, mtu;
	int i;

	need_odp();
	begin(&cfg);
	mtu = 128 << end.cfg.mtu;
	memory = slow_new();
	slow_hold(&memory, true);
	mr = MUST(ibv_reg_mr(dev.pd, memory.map, SLOW_LEN, ODP_ALL));
	sge[0] = (struct ibv_sge){ .addr = (uintptr_t)memory.map,
				   .length = mtu,
				   .lkey = mr->lkey };
	sge[1] = sge_of(&own, 0, 100);
	ask(IBV_WR_RDMA_READ, sge, 2);
	aeth = forge_aeth(rest, 0x1f, 1);
	forge(FORGE_READ_FIRST, &end, end.psn, rest, aeth + mtu);
	slow_await(&memory);
	for (i = 0; i < 1000; i++)
		forge_by_stranger(FORGE_ACKNOWLEDGE, &end, end.psn + 1, rest,
				  aeth);
	forge(FORGE_READ_LAST, &end, end.psn + 1, rest, aeth + 100);
	usleep(300000);
	slow_hold(&memory, false);
	expect(await(end.scq), IBV_WC_SUCCESS);
	CHECK(!memcmp(memory.map, rest + aeth, mtu));
	CHECK(!memcmp(own.buf->data, rest + aeth, 100));
}

/* The next of those that @to receives: a SEND of @payload, which comes to be at @at. */
static struct forged next_send(struct end *to, uint32_t psn, uint64_t at,
			       const uint8_t *payload, uint32_t bytes)
{
	struct ibv_sge sge = sge_of(&own, at, bytes);

	post_recv(to, &sge, 1, psn);
	memcpy(own.buf->want + at, payload, bytes);
	return (struct forged){ FORGE_SEND_ONLY, to, FORGED_PSN + psn, payload,
				bytes };
}

/*
 * In one buffer are packets for several queue pairs, and for both halves of one. Each goes where it
 * says; what nobody asked for goes nowhere.
 */
static void fg4_of_several(void)
{
	enum { EACH = 12, ENDS = 2, BYTES = 64 };
	struct qp_cfg cfg = { .recv_wr = EACH };
	struct forged train[EACH * (ENDS + 1)];
	struct end other;
	uint32_t i, count = 0, at = 0;

	begin(&cfg);
	end_make(&other, &cfg);
	forge_connect(&other);
	for (i = 0; i < EACH; i++) {
		train[count++] = next_send(&end, i, at, rest + at, BYTES);
		at += BYTES;
		train[count++] = (struct forged){ FORGE_READ_ONLY, &end,
						  FORGED_PSN + i, rest, BYTES };
		train[count++] = next_send(&other, i, at, rest + at, BYTES);
		at += BYTES;
	}
	forge_train(train, (int)count, forged_bytes(train));
	for (i = 0; i < EACH; i++) {
		expect(await(end.rcq), IBV_WC_SUCCESS);
		expect(await(other.rcq), IBV_WC_SUCCESS);
	}
	buf_check(own.buf);
	CHECK_EQ(end_state(&end), IBV_QPS_RTS);
	CHECK_EQ(end_state(&other), IBV_QPS_RTS);
}

/* Packets that belong together stay together, whatever is before and behind them in the buffer. */
static void fg8_of_runs(void)
{
	enum { SENDS = 5, ANSWERS = 3, BYTES = 64 };
	struct qp_cfg cfg = { .recv_wr = 2 * SENDS };
	struct forged train[2 * SENDS + ANSWERS];
	uint32_t i, count = 0, psn = 0;
	long long before;

	begin(&cfg);
	usleep(20000);
	before = device_counter("rx_burst_packets");
	for (i = 0; i < 2 * SENDS; i++, psn++) {
		if (i == SENDS)
			while (count < SENDS + ANSWERS)
				train[count++] =
					(struct forged){ FORGE_READ_ONLY, &end,
							 FORGED_PSN, rest,
							 BYTES };
		train[count++] =
			next_send(&end, psn, BYTES * psn, rest + psn, BYTES);
	}
	forge_train(train, (int)count, forged_bytes(train));
	for (i = 0; i < 2 * SENDS; i++)
		expect(await(end.rcq), IBV_WC_SUCCESS);
	buf_check(own.buf);
	counter_await("rx_burst_packets", before + count);
	CHECK_EQ(end_state(&end), IBV_QPS_RTS);
}

/* Packet @number is received, and then all that came before it is compared. */
static void check_after(uint32_t number)
{
	const struct forged only = next_send(&end, number, 0, rest, 16);

	forge(only.opcode, &end, only.psn, only.rest, only.bytes);
	expect(await(end.rcq), IBV_WC_SUCCESS);
	buf_check(own.buf);
}

/*
 * Two packets of a message in one buffer, the second of which has shorter headers, or longer ones: each
 * payload comes to be where it belongs.
 */
static void fg26_other_headers(void)
{
	struct qp_cfg cfg = { .mtu = IBV_MTU_512 };
	uint32_t mtu = 512, psn = 0, at, bytes, i;
	uint8_t first[16 + 512], second[4 + 512];
	struct forged train[2];
	struct ibv_sge sge;
	struct ibv_wc wc;

	begin(&cfg);
	for (i = 0; i < 60; i++) {
		rnd_fill(first, sizeof(first));
		rnd_fill(second, sizeof(second));
		at = 1000 + rnd_below(10000);
		train[0] = (struct forged){ .to = &end,
					    .psn = FORGED_PSN + psn,
					    .rest = first };
		train[1] = train[0];
		train[1].psn++;
		train[1].rest = second;
		if (i % 2) {
			bytes = 4 * rnd_in(1, mtu / 4);
			train[0].opcode = FORGE_WRITE_FIRST;
			train[0].bytes = mtu + forge_reth(first, own.base + at,
							  own.rkey,
							  mtu + bytes);
			train[1].opcode = FORGE_WRITE_LAST;
			train[1].bytes = bytes;
			memcpy(own.buf->want + at, first + 16, mtu);
			memcpy(own.buf->want + at + mtu, second, bytes);
		} else {
			bytes = 4 * rnd_in(1, mtu / 4 - 1);
			sge = sge_of(&own, at, mtu + bytes);
			post_recv(&end, &sge, 1, i);
			train[0].opcode = FORGE_SEND_FIRST;
			train[0].bytes = mtu;
			train[1].opcode = FORGE_SEND_LAST_IMM;
			train[1].bytes = 4 + bytes;
			memcpy(own.buf->want + at, first, mtu);
			memcpy(own.buf->want + at + mtu, second + 4, bytes);
		}
		psn += 2;
		forge_train(train, 2, forged_bytes(train));
		if (i % 2 == 0) {
			wc = await(end.rcq);
			expect(wc, IBV_WC_SUCCESS);
			CHECK_EQ(wc.byte_len, mtu + bytes);
			CHECK(!memcmp(&wc.imm_data, second, 4));
		}
		check_after(psn++);
	}
}

/* What was no packet, or not the one that its sender had made. */
static long long dropped(void)
{
	return device_counter("rx_malformed") +
	       device_counter("rx_icrc_encapsulated");
}

/* Counters are told anew some times a second only. */
static void await_dropped(long long want)
{
	double limit = now() + patience(5);

	while (dropped() < want && now() < limit)
		usleep(1000);
	CHECK_EQ(dropped(), want);
}

/* A buffer that is cut where no packet ends is as many packets of nobody's. */
static void fg5_cut_anywhere(void)
{
	static const size_t pieces[] = { 5, 7, 13, 16, 79, 81, 83, 159, 160 };
	enum { COUNT = 4, BYTES = 64, LONGER = 84 };
	struct qp_cfg cfg = { .recv_wr = 2 };
	struct forged train[COUNT];
	/* As the header of a packet it has no operation; random bytes might be one to nobody. */
	static uint8_t none[LONGER];
	uint32_t psn = 0, i, bytes;
	long long before;
	size_t p;

	memset(none, 0xff, sizeof(none));
	begin(&cfg);
	for (p = 0; p < ARRAY_SIZE(pieces); p++) {
		context("pieces of %zu bytes", pieces[p]);
		before = dropped();
		for (i = 0; i < COUNT; i++)
			train[i] = (struct forged){ FORGE_SEND_ONLY, &end,
						    FORGED_PSN + psn + i, none,
						    BYTES };
		bytes = COUNT * forged_bytes(train);
		forge_train(train, COUNT, pieces[p]);
		/* They come in order. */
		*train = next_send(&end, psn, psn * BYTES, rest + psn, BYTES);
		psn++;
		forge_train(train, 1, forged_bytes(train));
		expect(await(end.rcq), IBV_WC_SUCCESS);
		await_dropped(before + (bytes + pieces[p] - 1) / pieces[p]);
	}
	context("the last is longer");
	/* Those before a wrong one are right. */
	before = dropped();
	train[0] = next_send(&end, psn, psn * BYTES, rest + psn, BYTES);
	psn++;
	train[1] = next_send(&end, psn, psn * BYTES, rest + psn, BYTES);
	psn++;
	train[2] = (struct forged){ FORGE_SEND_ONLY, &end, FORGED_PSN + psn,
				    none, LONGER };
	forge_train(train, 3, forged_bytes(train));
	expect(await(end.rcq), IBV_WC_SUCCESS);
	expect(await(end.rcq), IBV_WC_SUCCESS);
	*train = next_send(&end, psn, psn * BYTES, rest + psn, BYTES);
	forge_train(train, 1, forged_bytes(train));
	expect(await(end.rcq), IBV_WC_SUCCESS);
	await_dropped(before + 2);
	buf_check(own.buf);
	CHECK_EQ(end_state(&end), IBV_QPS_RTS);
}

/* Number FORGED_QPN is nobody's here. */
static struct ibv_qp nobodys = { .qp_num = FORGED_QPN };
static const struct end nobody = { .qp = &nobodys };

static void make_damaged(struct forge_packet *packet, const struct end *to)
{
	const struct forged sound = { FORGE_SEND_ONLY, to, FORGED_PSN, rest,
				      64 };

	forge_make(packet, &sound);
	*forge_byte(packet, packet->length - 1) ^= 1;
}

/*
 * A packet to nobody is found out before its CRC: a damaged one counts as one to nobody, while one to
 * somebody counts as damaged, also in one buffer.
 */
static void fg25_to_nobody(void)
{
	enum { COUNT = 40, EACH = 6, BYTES = 64 };
	struct qp_cfg cfg = { .recv_wr = EACH };
	struct forge_packet packets[2 * COUNT];
	struct forged train[3 * EACH];
	long long damaged, lost;
	uint32_t i, at = 0;

	begin(&cfg);
	usleep(20000);
	damaged = device_counter("rx_icrc_encapsulated");
	lost = device_counter("rx_no_queue");
	for (i = 0; i < COUNT; i++) {
		make_damaged(&packets[2 * i], &nobody);
		make_damaged(&packets[2 * i + 1], &end);
	}
	for (i = 0; i < 2 * COUNT; i += COUNT)
		forge_send(packets + i, COUNT);
	counter_await("rx_no_queue", lost += COUNT);
	counter_await("rx_icrc_encapsulated", damaged += COUNT);
	/* All to nobody; then some before and some behind those to somebody. */
	for (i = 0; i < 2 * EACH; i++)
		train[i] = (struct forged){ FORGE_SEND_ONLY, &nobody,
					    FORGED_PSN + i, rest, BYTES };
	forge_train(train, EACH, forged_bytes(train));
	counter_await("rx_no_queue", lost += EACH);
	memcpy(train + 2 * EACH, train, EACH * sizeof(*train));
	for (i = 0; i < EACH; i++, at += BYTES)
		train[EACH + i] = next_send(&end, i, at, rest + at, BYTES);
	forge_train(train, 3 * EACH, forged_bytes(train));
	for (i = 0; i < EACH; i++)
		expect(await(end.rcq), IBV_WC_SUCCESS);
	/* These are acknowledged, to nobody. */
	usleep(500000);
	CHECK(device_counter("rx_no_queue") > lost + 2 * EACH);
	CHECK_EQ(device_counter("rx_icrc_encapsulated"), damaged);
	buf_check(own.buf);
	CHECK_EQ(end_state(&end), IBV_QPS_RTS);
}

/* ------------------------------------------------------------- congestion */

static uint8_t zeros[16];

static struct forged next_send_of(uint32_t psn)
{
	return next_send(&end, psn, 64 * psn, rest + psn, 64);
}

/* The next packet that @end receives, marked. */
static void send_marked(uint32_t psn)
{
	struct forged packet = next_send_of(psn);

	forge_marked(packet.opcode, &end, packet.psn, packet.rest, packet.bytes,
		     false);
	expect(await(end.rcq), IBV_WC_SUCCESS);
}

/* Who is sent marked packets says so, to his peer alone, and not for each. */
static void fg6_marked(void)
{
	enum { MANY = 100 };
	struct qp_cfg cfg = { .recv_wr = 2 };
	struct forged packet;
	long long marked, told, strangers;
	double began;
	uint32_t psn = 0;

	begin(&cfg);
	marked = device_counter("np_ecn_marked_roce_packets");
	told = device_counter("np_cnp_sent");
	strangers = device_counter("rx_strangers");
	forge_listen();
	/* Of one that is not marked, and of one that is a stranger's, nothing is said. */
	packet = next_send_of(psn++);
	forge(packet.opcode, &end, packet.psn, packet.rest, packet.bytes);
	expect(await(end.rcq), IBV_WC_SUCCESS);
	forge_marked(FORGE_SEND_ONLY, &end, FORGED_PSN + psn, rest, 64, true);
	counter_await("rx_strangers", strangers + 1);
	CHECK_EQ(device_counter("np_ecn_marked_roce_packets"), marked);
	CHECK_EQ(device_counter("np_cnp_sent"), told);
	send_marked(psn++);
	forge_hear_cnp();
	counter_await("np_cnp_sent", told + 1);
	began = now();
	while (psn < MANY)
		send_marked(psn++);
	/* At most one in 50 us, however many there were. */
	CHECK(device_counter("np_cnp_sent") - told <=
	      2 + (now() - began) / 50e-6);
	counter_await("np_ecn_marked_roce_packets", marked + MANY - 1);
	buf_check(own.buf);
	CHECK_EQ(end_state(&end), IBV_QPS_RTS);
}

/* An answer is marked as well as a request: its sender is told. */
static void fg6_answer_marked(void)
{
	struct qp_cfg cfg = { .timeout = 20 };
	struct ibv_sge sge;
	size_t aeth;

	begin(&cfg);
	forge_listen();
	sge = sge_of(&own, 0, 100);
	ask(IBV_WR_RDMA_READ, &sge, 1);
	aeth = forge_aeth(rest, 0x1f, 1);
	forge_marked(FORGE_READ_ONLY, &end, end.psn, rest, aeth + 100, false);
	expect(await(end.scq), IBV_WC_SUCCESS);
	forge_hear_cnp();
	memcpy(own.buf->want, rest + aeth, 100);
	buf_check(own.buf);
}

/* What notifications have left it, in bytes per second; 0: as fast as it can. */
static long long rate_of(const struct end *e)
{
	char *at = rdma_says("-dd resource show qp link %s/1 lqpn %u",
			     device_name(), e->qp->qp_num);

	at = strstr(at, "send_rate ");
	CHECK(at);
	return atoll(at + strlen("send_rate "));
}

static long long heard(void)
{
	return device_counter("rp_cnp_handled") +
	       device_counter("rp_cnp_ignored");
}

/* Counters are told anew some times a second only. */
static long long heard_before(void)
{
	usleep(20000);
	return heard();
}

static void await_heard(long long want)
{
	double limit = now() + patience(10);

	while (heard() < want && now() < limit)
		usleep(1000);
	CHECK_EQ(heard(), want);
}

/* Acknowledges 20000 bytes that were posted. */
static void acknowledge(uint32_t *psn)
{
	uint32_t packets = (LEN - 1) / (128 << end.cfg.mtu) + 1;
	size_t aeth = forge_aeth(rest, 0x1f, 1);
	struct ibv_wc wc;

	/* What is not sent yet nobody can have. */
	do
		forge(FORGE_ACKNOWLEDGE, &end, *psn + packets - 1, rest, aeth);
	while (!comes_within(end.scq, 0.01, &wc));
	expect(wc, IBV_WC_SUCCESS);
	*psn += packets;
}

/* 20000 bytes, and what a peer says to them that has them. */
static void send_and_acknowledge(uint32_t *psn)
{
	struct ibv_sge sge = sge_of(&own, 0, LEN);
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	post(&end, &wr);
	acknowledge(psn);
}

/* Does the first packet of a WRITE ask for an acknowledgment, or the one that is sent with it? */
static bool first_asks(uint32_t *psn)
{
	bool asks;

	post_rdma(&end, IBV_WR_RDMA_WRITE, sge_of(&own, 0, LEN), 0x1000, 1, 0);
	asks = forge_hear_asking(FORGE_WRITE_FIRST, *psn) ||
	       forge_hear_asking(FORGE_WRITE_MIDDLE, *psn + 1);
	acknowledge(psn);
	return asks;
}

/* Who is notified by its peer sends more slowly, then as fast as before. */
static void fg7_notified(void)
{
	struct qp_cfg cfg = { .timeout = 20 };
	long long strangers, before;
	uint32_t psn, i;
	double limit;

	need_rdma_tool();
	begin(&cfg);
	psn = end.psn;
	before = heard_before();
	strangers = device_counter("rx_strangers");
	send_and_acknowledge(&psn);
	CHECK_EQ(rate_of(&end), 0);
	forge_by_stranger(FORGE_CNP, &end, 0, zeros, sizeof(zeros));
	counter_await("rx_strangers", strangers + 1);
	CHECK_EQ(rate_of(&end), 0);
	CHECK_EQ(heard(), before);
	forge(FORGE_CNP, &end, 0, zeros, sizeof(zeros));
	await_heard(before + 1);
	CHECK(rate_of(&end) > 0);
	limit = now() + patience(20);
	while (rate_of(&end)) {
		CHECK(now() < limit);
		send_and_acknowledge(&psn);
	}
	/* However many there are, it goes on. */
	before = heard();
	for (i = 0; i < 1000; i++)
		forge(FORGE_CNP, &end, 0, zeros, sizeof(zeros));
	await_heard(before + 1000);
	CHECK(rate_of(&end) >= 1000000);
	for (i = 0; i < 5; i++)
		send_and_acknowledge(&psn);
	/* Made anew it has forgotten. */
	forge(FORGE_CNP, &end, 0, zeros, sizeof(zeros));
	await_heard(before + 1001);
	CHECK_EQ(end_set_state(&end, IBV_QPS_RESET), 0);
	forge_connect(&end);
	CHECK_EQ(rate_of(&end), 0);
	psn = end.psn;
	send_and_acknowledge(&psn);
}

/*
 * Who must pause between packets asks for an acknowledgment before each pause, which may be longer
 * than the ACK timeout.
 */
static void fg7_asks(void)
{
	struct qp_cfg cfg = { .timeout = 20 };
	long long before;
	uint32_t psn;
	bool asks;

	need_rdma_tool();
	begin(&cfg);
	psn = end.psn;
	forge_listen();
	CHECK(!first_asks(&psn));
	before = heard_before();
	/* The limit ends after a second at most: what counts is that it lasted. */
	do {
		forge(FORGE_CNP, &end, 0, zeros, sizeof(zeros));
		await_heard(++before);
		asks = first_asks(&psn);
	} while (!rate_of(&end));
	CHECK(asks);
}

/* One of another size is none; nor does one change a datagram's queue pair. */
static void fg7_malformed(void)
{
	static const size_t sizes[] = { 0, 4, 12, 20, 64 };
	struct qp_cfg cfg = { .timeout = 20 }, ud = { .type = IBV_QPT_UD };
	long long malformed, before, strangers;
	struct end datagrams;
	size_t i;

	begin(&cfg);
	before = heard_before();
	malformed = device_counter("rx_malformed");
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		forge(FORGE_CNP, &end, 0, rest, sizes[i]);
	counter_await("rx_malformed", malformed + ARRAY_SIZE(sizes));
	end_make(&datagrams, &ud);
	forge_connect(&datagrams);
	strangers = device_counter("rx_strangers");
	forge(FORGE_CNP, &datagrams, 0, zeros, sizeof(zeros));
	counter_await("rx_strangers", strangers + 1);
	CHECK_EQ(heard(), before);
}

static const struct answer too_short = { IBV_WR_RDMA_READ, FORGE_READ_ONLY,
					 96 };
static const struct answer too_long = { IBV_WR_RDMA_READ, FORGE_READ_ONLY,
					104 };
static const struct answer as_atomic = { IBV_WR_RDMA_READ,
					 FORGE_ATOMIC_ACKNOWLEDGE, 0 };
static const struct answer as_read = { IBV_WR_ATOMIC_FETCH_AND_ADD,
				       FORGE_READ_ONLY, 8 };

static const struct test tests[] = {
	TEST_WITH(fg1_misanswered, &too_short,
		  "FG1 an answer that is too short"),
	TEST_WITH(fg1_misanswered, &too_long, "FG1 an answer that is too long"),
	TEST_WITH(fg1_misanswered, &as_atomic,
		  "FG1 a read answered as an atomic"),
	TEST_WITH(fg1_misanswered, &as_read,
		  "FG1 an atomic answered as a read"),
	TEST(fg2_read_again, "FG2 a read that is asked for again is another"),
	TEST(fg3_strangers, "FG3 strangers take no place"),
	TEST(fg4_of_several, "FG4 a buffer of packets for several"),
	TEST(fg5_cut_anywhere, "FG5 a buffer that is cut anywhere"),
	TEST(fg8_of_runs, "FG8 what belongs together stays together"),
	TEST(fg26_other_headers, "FG26 other headers in the same buffer"),
	TEST(fg25_to_nobody, "FG25 packets to nobody cost no CRC"),
	TEST(fg6_marked, "FG6 marked packets are told of"),
	TEST(fg6_answer_marked, "FG6 marked answers are told of"),
	TEST(fg7_notified, "FG7 the rate falls when notified, and rises"),
	TEST(fg7_asks, "FG7 acknowledgments are asked for before a pause"),
	TEST(fg7_malformed, "FG7 what is no notification"),
};

HARNESS_MAIN("Packets of a forged peer", tests)
