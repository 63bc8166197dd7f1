// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets of all kinds, as many as there is time for: random ones, wrong ones, copies, those of
 * strangers, and those that the peer of a connection may send, with wrong contents. Some come as
 * trains, several in one buffer. Meanwhile another process uses the device correctly (item PF1).
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forge.h"
#include "victim.h"

enum {
	LEN = 64 << 10,
	BATCH = 64, /* packets between two looks at the connections */
	TRAIN = 32, /* packets of one buffer, at most */
	LEAST = 100000, /* packets */
	RECENT = 128, /* packets that may be sent again */
	DEEP = 16, /* requests and receives that are posted */
};

static struct end end, datagrams;
/* The peer may reach the first one only. */
static struct region open_to_all, closed;
static struct ibv_pd *other_pd;
static struct region elsewhere;
static volatile struct victim *victim;

static struct forge_packet packets[BATCH], recent[RECENT];
static uint8_t rest[2048];
/* Of @end, as it was last seen: the number of its next request, and that of its peer's. */
static uint32_t own_psn, peer_psn;
static unsigned long connections;
/* Messages of the forged peer, and datagrams, that have come. */
static unsigned long received, received_datagrams;

/* What is wrong with a packet, and the counter of those that are dropped for it. */
enum kind {
	NOISE,
	DAMAGED,
	NOBODY,
	STRANGE,
	MALFORMED,
	PEERS,
	DATAGRAM,
	COPY,
	KINDS
};
static const char *const counter_of[KINDS] = {
	[DAMAGED] = "rx_icrc_encapsulated",
	[NOBODY] = "rx_no_queue",
	[STRANGE] = "rx_strangers",
	[MALFORMED] = "rx_malformed",
};
static unsigned long sent[KINDS];
static unsigned long in_trains;

/*
 * All counters that say what became of a packet, but for messages that were performed. Each packet
 * counts in one of them; of datagrams, and of messages that break the connection, some count in others,
 * too, which are left out here.
 */
static const char *const fates[] = {
	"rx_icrc_encapsulated",
	"rx_no_queue",
	"rx_malformed",
	"rx_strangers",
	"rx_overruns",
	"rx_gap_drops",
	"rx_page_drops",
	"rx_early_drops",
	"rx_stale",
	"ud_drops",
	"duplicate_request",
};

/* ------------------------------------------------------------------ what is sent */

static uint8_t some_opcode(void)
{
	/* Of reliable connections, mostly. */
	return rnd_below(8) ? rnd_below(0x1e) : rnd();
}

/* Near @psn, mostly. */
static uint32_t some_psn(uint32_t psn)
{
	switch (rnd_below(8)) {
	case 0:
		return rnd();
	case 1:
		return psn + rnd_below(300);
	case 2:
		return psn - rnd_below(300);
	default:
		return psn + rnd_below(3);
	}
}

static uint32_t some_key(void)
{
	switch (rnd_below(6)) {
	case 0:
		return rnd();
	case 1:
		return closed.rkey;
	case 2:
		return elsewhere.rkey;
	case 3:
		return victim->rkey;
	default:
		return open_to_all.rkey;
	}
}

static uint64_t some_address(void)
{
	switch (rnd_below(6)) {
	case 0:
		return rnd();
	case 1:
		return closed.base;
	case 2:
		return open_to_all.base + LEN - rnd_below(4096);
	default:
		return open_to_all.base + rnd_below(LEN);
	}
}

/* Headers that may be those of the opcode, and bytes behind them. Return: how many in all. */
static size_t some_rest(void)
{
	size_t headers = 0;

	rnd_fill(rest, sizeof(rest));
	switch (rnd_below(4)) {
	case 0:
		headers = forge_reth(rest, some_address(), some_key(),
				     rnd_below(8) ? rnd_below(LEN) : rnd());
		break;
	case 1:
		headers = forge_atomic(rest, some_address() & ~7ull, some_key(),
				       rnd(), rnd());
		break;
	case 2:
		headers = forge_aeth(rest, rnd(), rnd());
		break;
	}
	/* Whole packets of this path MTU, now and then. */
	if (!rnd_below(3))
		return headers + 1024;
	return headers + 4 * rnd_below(rnd_below(4) ? 4 : 260);
}

/* A packet of the peer's, or an answer to what was asked of it. */
static void make_peers(struct forge_packet *packet)
{
	uint8_t opcode = some_opcode();
	bool answers = opcode >= FORGE_READ_FIRST &&
		       opcode <= FORGE_ATOMIC_ACKNOWLEDGE;
	const struct forged forged = {
		.opcode = opcode,
		.to = &end,
		.psn = some_psn(answers ? own_psn : peer_psn),
		.rest = rest,
		.bytes = some_rest(),
	};

	forge_make(packet, &forged);
	/* Solicited, migrated, pad, version; asking for an acknowledgment, and reserved bits. */
	if (!rnd_below(4))
		forge_byte(packet, FORGE_BTH + 1)[0] = rnd();
	if (!rnd_below(4))
		forge_byte(packet, FORGE_BTH + 8)[0] = rnd();
}

/* A packet that is right in itself. */
static void make_sound(struct forge_packet *packet)
{
	const struct forged forged = {
		.opcode = FORGE_SEND_ONLY,
		.to = &end,
		.psn = some_psn(peer_psn),
		.rest = rest,
		.bytes = 4 * rnd_below(257),
	};

	rnd_fill(rest, forged.bytes);
	forge_make(packet, &forged);
}

static void make_datagram(struct forge_packet *packet)
{
	const struct forged forged = {
		.opcode = rnd_below(4) ? 0x64 : 0x65,
		.to = &datagrams,
		.psn = rnd(),
		.rest = rest,
		.bytes = some_rest() + 12,
	};

	/* Mostly with the right key, and some sender. */
	if (rnd_below(4)) {
		uint32_t qkey = htobe32(QKEY);

		memcpy(rest, &qkey, sizeof(qkey));
	}
	forge_make(packet, &forged);
	/* Connection management listens to the queue pair 1. */
	if (!rnd_below(4))
		forge_set_qpn(packet, 1);
}

static void make_random(struct forge_packet *packet)
{
	size_t i, from = FORGE_BTH + rnd_below(2) * 12;

	make_peers(packet);
	for (i = from; i < packet->length; i++)
		packet->bytes[i] = rnd();
}

static void make(struct forge_packet *packet, enum kind kind)
{
	size_t length;

	switch (kind) {
	case NOISE:
		make_random(packet);
		break;
	case DATAGRAM:
		make_datagram(packet);
		break;
	case COPY:
		*packet = recent[rnd_below(RECENT)];
		return;
	case PEERS:
		make_peers(packet);
		break;
	default:
		make_sound(packet);
	}
	if (kind == NOBODY)
		forge_set_qpn(packet, FORGED_QPN + 1 + rnd_below(1000));
	if (kind == STRANGE) {
		forge_set_stranger(packet);
		if (rnd_below(2))
			forge_set_qpn(packet, victim->qpn);
	}
	if (kind == MALFORMED) {
		/* Opcodes that nobody has, or no room for the headers. */
		forge_byte(packet, FORGE_BTH)[0] =
			rnd_below(2) ? 0xc0 | rnd() : FORGE_READ_REQUEST;
		length = FORGE_BTH + 12 + 4 * rnd_below(4) + 4;
		packet->length = length;
	}
	forge_finish(packet);
	if (kind == DAMAGED)
		forge_byte(packet, FORGE_BTH + 12)[rnd_below(4)] ^=
			1 << rnd_below(8);
}

/* It was made, and is sent: others may be copies of it. */
static void count_sent(const struct forge_packet *packet, enum kind kind)
{
	sent[kind]++;
	if (kind != COPY)
		recent[rnd_below(RECENT)] = *packet;
}

static void send_each(void)
{
	enum kind kind;
	int i;

	for (i = 0; i < BATCH; i++) {
		kind = rnd_below(KINDS);
		make(&packets[i], kind);
		count_sent(&packets[i], kind);
	}
	forge_send(packets, BATCH);
}

/*
 * Make a packet as @kind is made, but of @length bytes. A copy has a length of its own, so there is
 * another of the peer's instead.
 */
static enum kind make_of_length(struct forge_packet *packet, enum kind kind,
				size_t length, const uint32_t *psn)
{
	if (kind == COPY)
		kind = PEERS;
	make(packet, kind);
	/* Beyond its end are bytes of packets before. */
	packet->length = length;
	if (psn)
		forge_set_psn(packet, *psn);
	/* At this length it may have room for its headers, so it needs an opcode that nobody has. */
	if (kind == MALFORMED)
		forge_byte(packet, FORGE_BTH)[0] = 0xc0 | rnd();
	forge_finish(packet);
	if (kind == DAMAGED)
		forge_byte(packet, FORGE_BTH + 12)[rnd_below(4)] ^=
			1 << rnd_below(8);
	return kind;
}

/* Mostly of one kind, as then some are delivered together; and often in order. */
static void send_train(struct forge_packet *train, int count)
{
	enum kind first = rnd_below(KINDS), kind;
	bool in_order = rnd_below(2);
	uint32_t psn = some_psn(peer_psn);
	size_t length;
	int i;

	make(train, first);
	length = train->length;
	for (i = 0; i < count; i++, psn++) {
		kind = rnd_below(4) ? first : rnd_below(KINDS);
		/* A buffer has one sender. */
		if (first == STRANGE || kind == STRANGE)
			kind = first;
		kind = make_of_length(&train[i], kind, length,
				      in_order ? &psn : NULL);
		count_sent(&train[i], kind);
	}
	forge_send_train(train, count);
	in_trains += count;
}

static void send_trains(void)
{
	int i, count;

	for (i = 0; i < BATCH; i += count) {
		count = 2 + rnd_below(TRAIN - 1);
		if (count > BATCH - i)
			count = BATCH - i;
		send_train(packets + i, count);
	}
}

/* BATCH packets, one by one or as trains. */
static void send_batch(void)
{
	forge_selective(rnd_below(2));
	if (rnd_below(8))
		send_each();
	else
		send_trains();
}

/* -------------------------------------------------------- what it is sent to */

/* A packet may break it before it is connected; then it is connected again the next time. */
static void connect_again(void)
{
	CHECK_EQ(end_set_state(&end, IBV_QPS_RESET), 0);
	drain(end.scq);
	drain(end.rcq);
	if (forge_try_connect(&end))
		connections++;
}

static unsigned long come_to(const struct end *at)
{
	unsigned long count = 0;
	struct ibv_wc wc;

	while (poll_one(at->rcq, &wc))
		count += wc.status == IBV_WC_SUCCESS;
	return count;
}

/* Keep requests and receives posted. Failures of the connection are what packets may cause. */
static void keep_busy(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_READ,
		IBV_WR_RDMA_WRITE,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_SEND,
	};
	struct ibv_recv_wr *bad_recv, recv = { .num_sge = 1 };
	struct ibv_send_wr wr = { .num_sge = 1 };
	struct ibv_sge sge;
	int i;

	drain(end.scq);
	received += come_to(&end);
	received_datagrams += come_to(&datagrams);
	for (i = 0; i < DEEP / 2; i++) {
		sge = sge_of(&open_to_all, rnd_below(LEN - 4096), 4096);
		recv.sg_list = &sge;
		ibv_post_recv(end.qp, &recv, &bad_recv);
		ibv_post_recv(datagrams.qp, &recv, &bad_recv);
	}
	wr.opcode = opcodes[rnd_below(ARRAY_SIZE(opcodes))];
	sge = sge_of(
		&open_to_all, 8 * rnd_below(1000),
		wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : rnd_below(3000));
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = 0x1000;
	try_post(&end, &wr);
}

static void look_at_connection(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(end.qp, &attr,
			      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RQ_PSN,
			      &init),
		 0);
	own_psn = attr.sq_psn;
	peer_psn = attr.rq_psn;
	if (attr.qp_state != IBV_QPS_RTS)
		connect_again();
}

/* How many packets have found a socket full. */
static long long lost(void)
{
	static const char says[] =
		"awk '/^Udp: [0-9]/ { print $6 }' /proc/net/snmp";
	char line[32] = {};
	FILE *out = MUST(popen(says, "r"));

	CHECK(fgets(line, sizeof(line), out));
	pclose(out);
	return atoll(line);
}

static void begin(void)
{
	struct qp_cfg cfg = {
		.mtu = IBV_MTU_1024,
		.timeout = 14,
		.wr = DEEP,
		.recv_wr = DEEP,
	};
	struct qp_cfg ud = { .type = IBV_QPT_UD, .recv_wr = DEEP };
	int i;

	forge_begin(&end, &cfg);
	end_make(&datagrams, &ud);
	end_init(&datagrams);
	end_connect(&datagrams, &(struct peer){ .gid = dev.gid });
	open_to_all = region_new(LEN, 77, ALL_ACCESS);
	closed = region_new(LEN, 33, IBV_ACCESS_LOCAL_WRITE);
	other_pd = MUST(ibv_alloc_pd(dev.ctx));
	elsewhere = region_reg(other_pd, buf_new(LEN, 5), ALL_ACCESS);
	victim = victim_start();
	for (i = 0; i < RECENT; i++) {
		make_sound(&recent[i]);
		forge_finish(&recent[i]);
	}
}

/*
 * Nobody else's packets are counted now: the other process has ended, and the peer of @end does not
 * exist. Only trains to a queue pair that takes them count, which are those of few kinds.
 */
static void trains_come_together(void)
{
	/* About a ninth of the packets are; in 20 rounds it may be a twentieth by chance. */
	enum { ROUNDS = 100, SHARE = 20 };
	long long before = device_counter_now("rx_burst_packets"), together;
	double limit;
	int i;

	in_trains = 0;
	for (i = 0; i < ROUNDS; i++) {
		look_at_connection();
		keep_busy();
		send_trains();
	}
	limit = now() + patience(10);
	do {
		together = device_counter_now("rx_burst_packets") - before;
	} while (together < (long long)in_trains / SHARE && now() < limit);
	note("in trains: %lu, delivered together: %lld", in_trains, together);
	CHECK(together >= (long long)in_trains / SHARE);
	buf_check(closed.buf);
	buf_check(elsewhere.buf);
}

/*
 * Random packets beside a process that uses the device: each is counted for its reason, and the
 * process goes on.
 */
static void pf1_packets(void)
{
	long long before[KINDS] = {}, counted[KINDS], fate[ARRAY_SIZE(fates)];
	long long found = 0, full;
	unsigned long answers = 0;
	double until = now() + opt.seconds;
	unsigned long all = 0;
	enum kind kind;
	size_t i;

	begin();
	full = lost();
	forge_count();
	for (i = 0; i < ARRAY_SIZE(fates); i++)
		fate[i] = device_counter(fates[i]);
	for (kind = 0; kind < KINDS; kind++) {
		if (!counter_of[kind])
			continue;
		before[kind] = device_counter(counter_of[kind]);
		CHECK(before[kind] >= 0);
	}
	while (go_on(until, all >= LEAST)) {
		look_at_connection();
		keep_busy();
		send_batch();
		all += BATCH;
		answers += forge_heard();
	}
	note("packets: %lu, to %lu connections", all, connections + 1);
	CHECK(all >= LEAST);
	CHECK(connections > 10);
	note("messages that came: %lu, datagrams: %lu", received,
	     received_datagrams);
	CHECK(received > 10 && received_datagrams > 10);
	victim_end(victim);
	buf_check(closed.buf);
	buf_check(elsewhere.buf);
	for (kind = 0; kind < KINDS; kind++) {
		if (!counter_of[kind])
			continue;
		counted[kind] = device_counter(counter_of[kind]) - before[kind];
		note("%s: %lld, sent %lu", counter_of[kind], counted[kind],
		     sent[kind]);
	}
	answers += forge_heard();
	for (i = 0; i < ARRAY_SIZE(fates); i++) {
		fate[i] = device_counter(fates[i]) - fate[i];
		note("%s: %lld", fates[i], fate[i]);
		found += fate[i];
	}
	full = lost() - full;
	found += (long long)(received + received_datagrams) + full;
	note("lost: %lld, answers: %lu", full, answers);
	note("%lld of %lu packets are found again", found - (long long)answers,
	     all);
	/* The rest are acknowledgments, READs, WRITEs and atomics; and the other process has duplicates. */
	found -= (long long)answers;
	CHECK(found >= (long long)(all - all / 33));
	CHECK(found <= (long long)(all + all / 33));
	/* A busy receiver may have lost some, as its socket was full. */
	for (kind = 0; kind < KINDS; kind++) {
		if (!counter_of[kind])
			continue;
		CHECK(counted[kind] >= (long long)sent[kind] / 4);
		CHECK(counted[kind] >=
		      (long long)(sent[kind] - all / 33) - full);
	}
	trains_come_together();
}

static const struct test tests[] = {
	TEST(pf1_packets, "PF1 packets of all kinds"),
};

HARNESS_MAIN("packets of all kinds, beside who uses the device correctly",
	     tests)
