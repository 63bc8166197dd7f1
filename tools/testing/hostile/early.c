// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A connection whose peer takes part in selective repeat, honestly or not (items FG9 to FG24, FG27
 * to FG29, FG31, FG32): what comes early is kept, a gap is named, and only what was lost is sent again.
 */
#include <string.h>
#include <unistd.h>

#include "forge.h"

enum {
	BYTES = 480, /* of a message */
	WINDOW = 256, /* numbers that may be kept */
	LEN = WINDOW * BYTES,
	LONG = 20480, /* of a WRITE or READ */
	FIRST = FORGED_PSN + 1, /* number of the first message */
	NAK_GAP = 0x70, /* syndromes */
	NAK_SEQUENCE = 0x60,
	ACK = 0x1f,
};

static struct end end;
static struct region own;
static uint8_t rest[LEN];

/* Send nothing, as a message of its own. */
static void write_empty(const struct end *to, uint32_t i)
{
	uint8_t reth[16];

	forge(FORGE_WRITE_ONLY, to, FIRST + i, reth, forge_reth(reth, 0, 0, 0));
}

/* Nothing is kept before the first packet has said that its sender takes part. */
static void introduce(const struct end *to)
{
	write_empty(to, -1);
}

/* Wait for a NAK that names @count numbers from @gap on; all before @expected have come. */
static void hear_gap(uint32_t expected, uint32_t gap, uint32_t count)
{
	forge_hear_gap(FIRST + expected, FIRST + gap, count);
}

static void begin(const struct qp_cfg *cfg)
{
	forge_begin(&end, cfg);
	own = region_new(LEN, 77, ALL_ACCESS);
	rnd_fill(rest, sizeof(rest));
	forge_selective(true);
	forge_listen();
	introduce(&end);
	forge_hear_asking(FORGE_ACKNOWLEDGE, FIRST - 1);
	/* Counters are told anew some times a second only. */
	usleep(20000);
}

/* Message @i has its own bytes and its own place. */
static const uint8_t *payload_of(uint32_t i)
{
	return rest + i * BYTES;
}

static void post_receives(uint32_t count)
{
	struct ibv_sge sge;
	uint32_t i;

	CHECK(count * BYTES <= LEN);
	for (i = 0; i < count; i++) {
		sge = sge_of(&own, i * BYTES, BYTES);
		post_recv(&end, &sge, 1, i);
		memcpy(own.buf->want + i * BYTES, payload_of(i), BYTES);
	}
}

static void send_one(uint32_t i)
{
	forge(FORGE_SEND_ONLY, &end, FIRST + i, payload_of(i), BYTES);
}

static void must_come(uint32_t from, uint32_t to)
{
	struct ibv_wc wc;

	for (; from < to; from++) {
		wc = await(end.rcq);
		expect(wc, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, from);
		CHECK_EQ(wc.byte_len, BYTES);
	}
}

static void nothing_more(void)
{
	expect_none(end.rcq, 0.1);
	CHECK_EQ(end_state(&end), IBV_QPS_RTS);
}

/* Messages behind a gap are kept, the gap is named, and each is performed in its turn, once. */
static void fg9_kept(void)
{
	struct qp_cfg cfg = { .recv_wr = 12 };
	long long before;

	begin(&cfg);
	before = device_counter("rx_early_packets");
	post_receives(12);
	send_one(3);
	hear_gap(0, 0, 3);
	send_one(4);
	send_one(8);
	hear_gap(0, 5, 3);
	/* In a gap that is known: what is before it there was lost again. */
	send_one(1);
	hear_gap(0, 0, 1);
	send_one(3);
	nothing_more();
	counter_await("rx_early_packets", before + 4);
	send_one(0);
	must_come(0, 2);
	nothing_more();
	/* The first since something was performed names the first gap again. */
	send_one(10);
	forge_hear_asking(FORGE_ACKNOWLEDGE, FIRST + 1);
	hear_gap(2, 2, 1);
	hear_gap(2, 9, 1);
	send_one(2);
	must_come(2, 5);
	send_one(5);
	send_one(6);
	send_one(7);
	must_come(5, 9);
	send_one(9);
	send_one(11);
	must_come(9, 12);
	nothing_more();
	buf_check(own.buf);
}

/* Of a peer that does not say that it takes part nothing is kept: it sends all again. */
static void fg10_others(void)
{
	struct qp_cfg cfg = { .recv_wr = 4 };
	long long before;

	begin(&cfg);
	forge_selective(false);
	before = device_counter("rx_early_packets");
	post_receives(4);
	send_one(1);
	send_one(2);
	send_one(0);
	must_come(0, 1);
	nothing_more();
	send_one(1);
	must_come(1, 2);
	/* Nor behind the window, whoever sends it. */
	forge_selective(true);
	forge(FORGE_SEND_ONLY, &end, FIRST + 2 + WINDOW, rest, BYTES);
	forge(FORGE_SEND_ONLY, &end, FIRST + 2 + (1 << 22), rest, BYTES);
	send_one(2);
	must_come(2, 3);
	nothing_more();
	CHECK_EQ(device_counter("rx_early_packets"), before);
	send_one(3);
	must_come(3, 4);
	buf_check(own.buf);
}

/* All numbers of a window in any order, some of them several times: each is performed once. */
static void fg11_any_order(void)
{
	struct qp_cfg cfg = { .recv_wr = WINDOW, .cqe = 2 * WINDOW };
	uint32_t order[WINDOW], i, j, swap;

	begin(&cfg);
	post_receives(WINDOW);
	for (i = 0; i < WINDOW; i++)
		order[i] = i;
	for (i = WINDOW - 1; i > 1; i--) {
		j = rnd_in(1, i);
		swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
	for (i = 1; i < WINDOW; i++) {
		send_one(order[i]);
		if (rnd() & 1)
			send_one(order[rnd_in(1, i)]);
	}
	nothing_more();
	send_one(0);
	must_come(0, WINDOW);
	nothing_more();
	buf_check(own.buf);
}

/* A buffer in which some packets are known is kept but for these, wherever in it they are. */
static void fg22_overlaps(void)
{
	enum { ALL = 12, KNOWN = 3 };
	struct qp_cfg cfg = { .recv_wr = ALL };
	struct forged train[ALL];
	uint32_t i;

	begin(&cfg);
	post_receives(ALL);
	for (i = KNOWN; i < 2 * KNOWN; i++)
		send_one(i);
	hear_gap(0, 0, KNOWN);
	for (i = 1; i < ALL; i++)
		train[i] = (struct forged){ FORGE_SEND_ONLY, &end, FIRST + i,
					    payload_of(i), BYTES };
	forge_train(train + 1, ALL - 1, forged_bytes(train + 1));
	hear_gap(0, 0, 1);
	send_one(0);
	must_come(0, ALL);
	nothing_more();
	buf_check(own.buf);
}

/*
 * Send @to all numbers of a window but the first, each in a buffer of many packets. Return: how many
 * are kept.
 */
static long long fill(const struct end *to)
{
	enum { EACH = 60 };
	static struct forged train[EACH];
	long long before = device_counter("rx_early_packets");
	uint32_t i, j;

	for (i = 1; i < WINDOW; i++) {
		for (j = 0; j < EACH; j++)
			train[j] = (struct forged){ FORGE_SEND_ONLY, to,
						    FIRST + i, payload_of(i),
						    BYTES };
		forge_train(train, EACH, forged_bytes(train));
	}
	nothing_more();
	usleep(20000);
	return device_counter("rx_early_packets") - before;
}

/* What is kept has a limit, in bytes, too: one number may keep a buffer of many packets. */
static void fg12_limit(void)
{
	struct qp_cfg cfg = { .recv_wr = WINDOW, .cqe = 2 * WINDOW };
	long long kept;
	uint32_t i;

	begin(&cfg);
	post_receives(WINDOW);
	kept = fill(&end);
	CHECK(kept > 0 && kept < WINDOW - 1);
	for (i = 0; i < WINDOW; i++)
		send_one(i);
	/* As a peer would: on a busy machine some were dropped while there was no room for them. */
	for (i = 0; i < WINDOW; i++)
		send_one(i);
	must_come(0, WINDOW);
	nothing_more();
	buf_check(own.buf);
}

/* All that a user's connections keep leaves room for packets that only wait for their turn. */
static void fg21_limit_of_a_user(void)
{
	enum { MORE = 6 };
	struct qp_cfg cfg = { .recv_wr = 1 };
	struct end more[MORE];
	long long first, all;
	int i;

	begin(&cfg);
	first = fill(&end);
	CHECK(first > 0 && first < WINDOW - 1);
	all = first;
	for (i = 0; i < MORE; i++) {
		end_make(&more[i], &cfg);
		forge_connect(&more[i]);
		introduce(&more[i]);
		all += fill(&more[i]);
	}
	printf("# of one connection %lld are kept, of %d %lld\n", first,
	       1 + MORE, all);
	/* A connection keeps an eighth of the user's limit; together they keep half of it. */
	CHECK(all > 3 * first);
	CHECK(all < 6 * first);
}

/* Who guesses a number of those that are kept does not break the connection. */
static void fg13_invalid(void)
{
	struct qp_cfg cfg = { .recv_wr = 4 };
	long long drops;

	begin(&cfg);
	drops = device_counter("rx_early_drops");
	post_receives(4);
	/* No message has begun that it could be the last packet of. */
	forge(FORGE_SEND_LAST, &end, FIRST + 1, rest, BYTES);
	send_one(0);
	must_come(0, 1);
	nothing_more();
	counter_await("rx_early_drops", drops + 1);
	send_one(1);
	must_come(1, 2);
	/* The next is another matter. */
	forge(FORGE_SEND_LAST, &end, FIRST + 2, rest, BYTES);
	end_await_state(&end, IBV_QPS_ERR);
}

/*
 * What could be refused at the next number, in a packet that is kept: by a wrong key, or at an address
 * that no atomic can have, or longer than the receive request.
 */
static void forge_refused(int kind, uint32_t i)
{
	uint8_t packet[16 + 1024] = {};
	uint32_t psn = FIRST + i;

	switch (kind) {
	case 0:
		forge_reth(packet, own.base, own.rkey ^ 1, BYTES);
		forge(FORGE_WRITE_ONLY, &end, psn, packet, 16 + BYTES);
		break;
	case 1:
		forge_reth(packet, own.base, own.rkey ^ 1, BYTES);
		forge(FORGE_READ_REQUEST, &end, psn, packet, 16);
		break;
	case 2:
		forge(FORGE_FETCH_ADD, &end, psn, packet,
		      forge_atomic(packet, own.base + 1, own.rkey, 1, 0));
		break;
	default:
		forge(FORGE_SEND_ONLY, &end, psn, packet, 1024);
	}
}

enum { REFUSED_KINDS = 4 };

/* Nor does who guesses a number, and asks for what is refused. */
static void fg23_refused(void)
{
	enum { TURNS = 2 * REFUSED_KINDS };
	struct qp_cfg cfg = { .recv_wr = TURNS + 1, .mtu = IBV_MTU_1024 };
	long long drops;
	uint32_t i;

	begin(&cfg);
	drops = device_counter("rx_early_drops");
	post_receives(TURNS);
	for (i = 0; i < TURNS; i += 2) {
		context("kind %u", i / 2);
		forge_refused((int)i / 2, i + 1);
		send_one(i);
		must_come(i, i + 1);
		nothing_more();
		counter_await("rx_early_drops", ++drops);
		send_one(i + 1);
		must_come(i + 1, i + 2);
	}
	nothing_more();
	buf_check(own.buf);
	/* The next is another matter. */
	forge_refused(0, TURNS);
	end_await_state(&end, IBV_QPS_ERR);
}

/*
 * A SEND comes early, perhaps from who has guessed its number, and the receiver is not ready for
 * it: the peer is not told to wait, since it may have no retries for that, but asked for its own.
 */
static void not_ready(void)
{
	long long drops = device_counter("rx_early_drops");

	send_one(1);
	hear_gap(0, 0, 1);
	write_empty(&end, 0);
	forge_hear_nak(NAK_SEQUENCE, FIRST + 1);
	counter_await("rx_early_drops", drops + 1);
	write_empty(&end, 1);
	forge_hear_asking(FORGE_ACKNOWLEDGE, FIRST + 1);
	nothing_more();
}

/* No receive request is there for what is kept: the peer is not told so. */
static void fg27_no_receive(void)
{
	begin(&(struct qp_cfg){ .recv_wr = 1 });
	not_ready();
}

/* Nor is it told that a page is missing there. */
static void fg28_no_page(void)
{
	struct region sparse;
	struct ibv_sge sge;

	begin(&(struct qp_cfg){ .recv_wr = 1 });
	sparse = region_new(LEN, 0, ODP_ALL);
	sge = sge_of(&sparse, 0, BYTES);
	post_recv(&end, &sge, 1, 0);
	not_ready();
	buf_check(sparse.buf);
}

/*
 * A READ that was kept, perhaps from who has guessed its number, lacks a page: the peer is asked for its
 * own request, and told to wait for the page only if that is the same.
 */
static void fg31_no_page_to_read(void)
{
	enum { NO_PAGE = 0x2c }; /* RNR, after 0.64 ms */
	struct region sparse;
	uint8_t reth[16];
	size_t bytes;

	need_odp();
	begin(&(struct qp_cfg){ .recv_wr = 1 });
	sparse = region_new(LEN, 13, ODP_ALL);
	bytes = forge_reth(reth, sparse.base, sparse.rkey, BYTES);
	forge(FORGE_READ_REQUEST, &end, FIRST + 1, reth, bytes);
	hear_gap(0, 0, 1);
	write_empty(&end, 0);
	forge_hear_nak(NAK_SEQUENCE, FIRST + 1);
	nothing_more();
	forge(FORGE_READ_REQUEST, &end, FIRST + 1, reth, bytes);
	forge_hear_nak(NO_PAGE, FIRST + 1);
	nothing_more();
	forge(FORGE_READ_REQUEST, &end, FIRST + 1, reth, bytes);
	forge_hear_asking(FORGE_READ_ONLY, FIRST + 1);
	nothing_more();
}

enum { PIECE = 256 }; /* payload of a full packet, in the test below */

static void send_piece(enum forge_opcode opcode, uint32_t i)
{
	forge(opcode, &end, FIRST + i, payload_of(i), PIECE);
}

/* Receive request @i has the bytes of piece @at[0], those of @at[1] behind them, and so on. */
static void must_have(uint32_t i, const uint32_t *at, uint32_t count)
{
	struct ibv_wc wc = await(end.rcq);
	uint32_t j;

	expect(wc, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, i);
	CHECK_EQ(wc.byte_len, count * PIECE);
	for (j = 0; j < count; j++)
		memcpy(own.buf->want + i * LONG + j * PIECE, payload_of(at[j]),
		       PIECE);
}

/* For messages of several pieces. */
static void post_long_receives(uint32_t count)
{
	struct ibv_sge sge;
	uint32_t i;

	for (i = 0; i < count; i++) {
		sge = sge_of(&own, i * LONG, LONG);
		post_recv(&end, &sge, 1, i);
	}
}

/*
 * Who guesses a number, and begins a message there or goes on with one, which the peer has ended: the
 * peer's next message is taken in its place.
 */
static void fg29_endless(void)
{
	struct qp_cfg cfg = { .recv_wr = 4, .mtu = IBV_MTU_256 };

	begin(&cfg);
	post_long_receives(4);
	/* The second message is another's, which does not end. */
	send_piece(FORGE_SEND_FIRST, 1);
	send_piece(FORGE_SEND_ONLY, 0);
	send_piece(FORGE_SEND_ONLY, 1);
	send_piece(FORGE_SEND_ONLY, 2);
	must_have(0, (uint32_t[]){ 0 }, 1);
	must_have(1, (uint32_t[]){ 2 }, 1);
	/* The last packet of the third. */
	send_piece(FORGE_SEND_MIDDLE, 4);
	send_piece(FORGE_SEND_FIRST, 3);
	send_piece(FORGE_SEND_LAST, 4);
	write_empty(&end, 5);
	send_piece(FORGE_SEND_FIRST, 6);
	send_piece(FORGE_SEND_LAST, 7);
	must_have(2, (uint32_t[]){ 6, 7 }, 2);
	nothing_more();
	/* Nobody else can have begun this one. */
	send_piece(FORGE_SEND_FIRST, 8);
	send_piece(FORGE_SEND_ONLY, 9);
	end_await_state(&end, IBV_QPS_ERR);
}

/* Of a connection that is made anew, or ends, nothing is kept. */
static void fg14_ends(void)
{
	struct qp_cfg cfg = { .recv_wr = 4 };
	int i;

	begin(&cfg);
	for (i = 0; i < 20; i++) {
		send_one(1);
		hear_gap(0, 0, 1);
		CHECK_EQ(end_set_state(&end, IBV_QPS_RESET), 0);
		forge_connect(&end);
		introduce(&end);
		forge_hear_asking(FORGE_ACKNOWLEDGE, FIRST - 1);
	}
	post_receives(4);
	send_one(0);
	must_come(0, 1);
	nothing_more();
	send_one(1);
	must_come(1, 2);
	forge_hear_asking(FORGE_ACKNOWLEDGE, FIRST + 1);
	send_one(3);
	hear_gap(2, 2, 1);
	/* The test ends, and with it the connection. */
}

/* ------------------------------------------------------------- the requester */

static uint32_t packets(void)
{
	return LONG / (128 << end.cfg.mtu);
}

static void ask(enum ibv_wr_opcode opcode)
{
	post_rdma(&end, opcode, sge_of(&own, 0, LONG), 0x1000, 1, 0);
}

static void nak(uint8_t syndrome, uint32_t psn, uint32_t msn)
{
	uint8_t aeth[4];

	forge(FORGE_ACKNOWLEDGE, &end, end.psn + psn, aeth,
	      forge_aeth(aeth, syndrome, msn));
}

static void write_all(void)
{
	ask(IBV_WR_RDMA_WRITE);
	forge_hear_asking(FORGE_WRITE_LAST, end.psn + packets() - 1);
}

/* What a NAK names is sent again, once, and nothing else. */
static void fg15_only_these(void)
{
	struct qp_cfg cfg = { .timeout = 20, .mtu = IBV_MTU_1024 };
	long long before;

	begin(&cfg);
	before = device_counter("resent_packets");
	write_all();
	nak(NAK_GAP, 2, 3 << 12 | 2);
	forge_hear_asking(FORGE_WRITE_MIDDLE, end.psn + 5);
	counter_await("resent_packets", before + 2);
	nak(NAK_GAP, 2, 3 << 12 | 2);
	nak(NAK_GAP, 2, 5 << 12 | 1);
	forge_hear_asking(FORGE_WRITE_MIDDLE, end.psn + 7);
	counter_await("resent_packets", before + 3);
	nak(ACK, packets() - 1, 1);
	expect(await(end.scq), IBV_WC_SUCCESS);
	CHECK_EQ(device_counter("resent_packets"), before + 3);
}

/* Name a gap, mostly of what was sent and is not acknowledged: the first number acknowledges nothing. */
static void name_some_gap(void)
{
	uint32_t most = packets() + 5;

	nak(NAK_GAP, 0, rnd_below(most) << 12 | rnd_below(most));
}

/*
 * Whatever gaps a peer names, nothing worse happens than that packets are sent again. Of the random
 * ones few are of what was sent, and a number acknowledges what is before it: so others come first.
 */
static void fg16_any_gap(void)
{
	enum { NAMED = 100, TIMES = 3000 };
	struct qp_cfg cfg = { .timeout = 20, .mtu = IBV_MTU_1024 };
	long long before, resent;
	int i;

	begin(&cfg);
	before = device_counter("resent_packets");
	write_all();
	for (i = 0; i < NAMED; i++)
		name_some_gap();
	for (i = 0; i < TIMES; i++)
		nak(NAK_GAP, rnd() & 1 ? 0 : rnd_in(0, 30) - 5, rnd());
	nak(ACK, packets() - 1, 1);
	expect(await(end.scq), IBV_WC_SUCCESS);
	CHECK_EQ(end_state(&end), IBV_QPS_RTS);
	/* Counters are told anew some times a second only. */
	usleep(500000);
	resent = device_counter("resent_packets") - before;
	note("%lld packets are sent again for %d gaps", resent, NAMED + TIMES);
	/* Each number at most once for each that was acknowledged. */
	CHECK(resent > 0 && resent <= (long long)packets() * packets());
	/* Without requests there is nothing to be sent again. */
	nak(NAK_GAP, packets(), 4);
	CHECK_EQ(end_state(&end), IBV_QPS_RTS);
}

static void answer(uint32_t i)
{
	size_t mtu = 128 << end.cfg.mtu, headers = 0;
	uint8_t packet[4 + 4096];
	enum forge_opcode opcode = i ? FORGE_READ_MIDDLE : FORGE_READ_FIRST;

	if (i == packets() - 1)
		opcode = FORGE_READ_LAST;
	if (opcode != FORGE_READ_MIDDLE)
		headers = forge_aeth(packet, ACK, 1);
	memcpy(packet + headers, rest + i * mtu, mtu);
	forge(opcode, &end, end.psn + i, packet, headers + mtu);
}

/* Answers behind a gap are kept, and only the missing ones are asked for. */
static void fg17_answers(void)
{
	struct qp_cfg cfg = { .timeout = 20, .mtu = IBV_MTU_1024 };
	long long before;
	uint32_t i;

	begin(&cfg);
	before = device_counter("resent_packets");
	ask(IBV_WR_RDMA_READ);
	forge_hear_asking(FORGE_READ_REQUEST, end.psn);
	answer(0);
	answer(3);
	forge_hear_asking(FORGE_READ_REQUEST, end.psn + 1);
	for (i = 3; i < 9; i++)
		answer(i);
	for (i = 10; i < packets(); i++)
		answer(i);
	forge_hear_asking(FORGE_READ_REQUEST, end.psn + 9);
	answer(2);
	expect_none(end.scq, 0.1);
	answer(1);
	answer(9);
	expect(await(end.scq), IBV_WC_SUCCESS);
	memcpy(own.buf->want, rest, LONG);
	buf_check(own.buf);
	/* 1, 2 and 9. */
	counter_await("resent_packets", before + 3);
	CHECK_EQ(end_state(&end), IBV_QPS_RTS);
}

/*
 * Who guesses the number of an answer that is not the next one does not break the connection by what
 * is no answer: the peer is asked for its own.
 */
static void fg24_misanswered(void)
{
	struct qp_cfg cfg = { .timeout = 20, .mtu = IBV_MTU_1024 };
	uint8_t wrong[4 + 8] = {};
	long long drops;
	uint32_t i;

	begin(&cfg);
	drops = device_counter("rx_early_drops");
	ask(IBV_WR_RDMA_READ);
	forge_hear_asking(FORGE_READ_REQUEST, end.psn);
	forge(FORGE_ATOMIC_ACKNOWLEDGE, &end, end.psn + 1, wrong,
	      forge_aeth(wrong, ACK, 1) + 8);
	forge_hear_asking(FORGE_READ_REQUEST, end.psn);
	answer(3);
	answer(0);
	counter_await("rx_early_drops", drops + 1);
	forge_hear_asking(FORGE_READ_REQUEST, end.psn + 1);
	CHECK_EQ(end_state(&end), IBV_QPS_RTS);
	for (i = 1; i < packets(); i++)
		answer(i);
	expect(await(end.scq), IBV_WC_SUCCESS);
	memcpy(own.buf->want, rest, LONG);
	buf_check(own.buf);
	CHECK_EQ(end_state(&end), IBV_QPS_RTS);
}

/* Several gaps in one buffer: each is named at once. */
static void fg18_gaps_in_a_buffer(void)
{
	enum { COUNT = 5 };
	struct qp_cfg cfg = { .recv_wr = 2 * COUNT };
	struct forged train[COUNT];
	uint32_t i;

	begin(&cfg);
	post_receives(2 * COUNT);
	for (i = 0; i < COUNT; i++)
		train[i] = (struct forged){ FORGE_SEND_ONLY, &end,
					    FIRST + 2 * i + 1,
					    payload_of(2 * i + 1), BYTES };
	forge_train(train, COUNT, forged_bytes(train));
	for (i = 0; i < COUNT; i++)
		hear_gap(0, 2 * i, 1);
	nothing_more();
	for (i = COUNT; i; i--)
		send_one(2 * i - 2);
	must_come(0, 2 * COUNT);
	nothing_more();
	buf_check(own.buf);
}

enum { READS = 1024 };

/*
 * Two READs and a WRITE. The answer of the first is lost, that of the second comes, and so does the
 * WRITE's acknowledgment, in a buffer of its own or not. When the answer comes after all, all is
 * done: only the first READ is sent again.
 */
static void acknowledged_behind_a_gap(bool together)
{
	struct qp_cfg cfg = { .timeout = 20, .mtu = IBV_MTU_1024 };
	uint8_t answers[2][4 + READS], aeth[4];
	struct forged train[2];
	long long before, implied;
	int i;

	begin(&cfg);
	before = device_counter("resent_packets");
	implied = device_counter("implied_nak_seq_err");
	for (i = 0; i < 2; i++) {
		post_rdma(&end, IBV_WR_RDMA_READ,
			  sge_of(&own, i * READS, READS), 0x1000, 1, i);
		forge_aeth(answers[i], ACK, i + 1);
		memcpy(answers[i] + 4, rest + i * READS, READS);
	}
	post_rdma(&end, IBV_WR_RDMA_WRITE, sge_of(&own, LONG, BYTES), 0x1000, 1,
		  2);
	forge_hear_asking(FORGE_WRITE_ONLY, end.psn + 2);
	train[0] = (struct forged){ FORGE_READ_ONLY, &end, end.psn + 1,
				    answers[1], sizeof(answers[1]) };
	train[1] = (struct forged){ FORGE_ACKNOWLEDGE, &end, end.psn + 2, aeth,
				    forge_aeth(aeth, ACK, 3) };
	if (together) {
		forge_train(train, 2, forged_bytes(train));
	} else {
		forge_train(train, 1, forged_bytes(train));
		forge_train(train + 1, 1, forged_bytes(train + 1));
	}
	forge_hear_asking(FORGE_READ_REQUEST, end.psn);
	expect_none(end.scq, 0.1);
	forge(FORGE_READ_ONLY, &end, end.psn, answers[0], sizeof(answers[0]));
	for (i = 0; i < 3; i++)
		expect(await(end.scq), IBV_WC_SUCCESS);
	memcpy(own.buf->want, rest, 2 * READS);
	buf_check(own.buf);
	counter_await("resent_packets", before + 1);
	counter_await("implied_nak_seq_err", implied + 1);
	CHECK_EQ(end_state(&end), IBV_QPS_RTS);
}

/* An acknowledgment beyond a lost answer does not complete the request that misses it. */
static void fg19_acknowledged(void)
{
	acknowledged_behind_a_gap(false);
}

/* The same where the acknowledgment is in a buffer with an answer. */
static void fg20_acknowledged_together(void)
{
	acknowledged_behind_a_gap(true);
}

/*
 * Of a message whose packets came early the last one is a stranger's, which begins another: neither
 * is believed more than the other, and the peer's own last packet ends it.
 */
static void fg32_within(void)
{
	struct qp_cfg cfg = { .recv_wr = 2, .mtu = IBV_MTU_256 };

	begin(&cfg);
	post_long_receives(2);
	send_piece(FORGE_SEND_FIRST, 1);
	send_piece(FORGE_SEND_MIDDLE, 2);
	send_piece(FORGE_SEND_ONLY, 3);
	send_piece(FORGE_SEND_ONLY, 0);
	must_have(0, (uint32_t[]){ 0 }, 1);
	send_piece(FORGE_SEND_LAST, 3);
	must_have(1, (uint32_t[]){ 1, 2, 3 }, 3);
	nothing_more();
}

static const struct test tests[] = {
	TEST(fg9_kept, "FG9 what comes early is kept"),
	TEST(fg10_others, "FG10 of others nothing is kept"),
	TEST(fg11_any_order, "FG11 all in any order"),
	TEST(fg22_overlaps, "FG22 a buffer of which some is known"),
	TEST(fg12_limit, "FG12 what is kept has a limit"),
	TEST(fg21_limit_of_a_user, "FG21 so has what a user keeps"),
	TEST(fg13_invalid, "FG13 what is kept and invalid breaks nothing"),
	TEST(fg23_refused, "FG23 what is kept and refused breaks nothing"),
	TEST(fg27_no_receive, "FG27 nor does what finds no receive request"),
	TEST(fg28_no_page, "FG28 or no page"),
	TEST(fg31_no_page_to_read, "FG31 or no page to read"),
	TEST(fg32_within, "FG32 nor is a message left for another's"),
	TEST(fg29_endless, "FG29 nor does a message without end"),
	TEST(fg14_ends, "FG14 what is kept ends with the connection"),
	TEST(fg15_only_these, "FG15 only what a NAK names is sent again"),
	TEST(fg16_any_gap, "FG16 any gap in a NAK"),
	TEST(fg17_answers, "FG17 answers that come early are kept"),
	TEST(fg24_misanswered, "FG24 nor does a kept answer that is none"),
	TEST(fg18_gaps_in_a_buffer, "FG18 several gaps in a buffer"),
	TEST(fg19_acknowledged, "FG19 an acknowledgment behind a lost answer"),
	TEST(fg20_acknowledged_together,
	     "FG20 the same in a buffer with an answer"),
};

HARNESS_MAIN("Early packets of a forged peer", tests)
