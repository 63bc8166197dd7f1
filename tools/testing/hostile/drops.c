// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A packet that is received and dropped counts once, for its reason (items DP1 to DP13). Only a datagram
 * without a receive request counts for two: as a datagram that was dropped, and as one that found no
 * request.
 */
#include <endian.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "forge.h"

enum {
	BYTES = 480, /* of a message */
	LEN = 64 * BYTES,
	FIRST = FORGED_PSN, /* number of the first request */
	ACK = 0x1f, /* syndromes */
	UNKNOWN = 0x7f,
};

/* All counters of packets that were received and dropped. Those for nobody may be answers of ours. */
static const char *const reasons[] = {
	"rx_icrc_encapsulated", "rx_malformed",
	"rx_strangers",		"rx_overruns",
	"rx_gap_drops",		"rx_page_drops",
	"rx_early_drops",	"rx_stale",
	"rx_unanswered",	"ud_drops",
	"out_of_buffer",	"invalid_requests",
};

static long long before[ARRAY_SIZE(reasons)];
static struct end end;
static struct region own;
static uint8_t rest[LEN];

static void look(void)
{
	size_t i;

	/* Counters are told anew some times a second only. */
	usleep(50000);
	for (i = 0; i < ARRAY_SIZE(reasons); i++) {
		before[i] = device_counter(reasons[i]);
		CHECK(before[i] >= 0);
	}
}

/* Wait until @counter is @want. What was sent has arrived by then, or never will. */
static void await_count(const char *counter, long long want)
{
	double limit = now() + patience(5);

	while (device_counter(counter) < want && now() < limit)
		usleep(1000);
	CHECK_EQ(device_counter(counter), want);
}

static bool is_same(const char *reason, const char *or_null)
{
	return or_null && !strcmp(reason, or_null);
}

/* Of all reasons, since the last look, only @one and @other have @count more; NULL: none has. */
static void must_count_both(const char *one, const char *other, long long count)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (is_same(reasons[i], one) || is_same(reasons[i], other))
			await_count(reasons[i], before[i] + count);
	usleep(50000);
	for (i = 0; i < ARRAY_SIZE(reasons); i++) {
		bool counts = is_same(reasons[i], one) ||
			      is_same(reasons[i], other);

		context("%s is not %s", reasons[i], one ? one : "any");
		CHECK_EQ(device_counter(reasons[i]),
			 before[i] + (counts ? count : 0));
	}
	context("behind %s", one ? one : "nothing");
	look();
}

/* Only @reason has; NULL: none has. */
static void must_count(const char *reason, long long count)
{
	must_count_both(reason, NULL, count);
}

static void begin(const struct qp_cfg *cfg)
{
	forge_begin(&end, cfg);
	own = region_new(LEN, 77, ALL_ACCESS);
	rnd_fill(rest, sizeof(rest));
	forge_listen();
	look();
}

static void acknowledge(uint8_t syndrome, uint32_t i)
{
	uint8_t aeth[4];

	forge(FORGE_ACKNOWLEDGE, &end, end.psn + i, aeth,
	      forge_aeth(aeth, syndrome, 1));
}

static void send_one(uint32_t i)
{
	forge(FORGE_SEND_ONLY, &end, FIRST + i, rest, BYTES);
}

static void post_one(void)
{
	struct ibv_sge sge = sge_of(&own, 0, BYTES);

	post_recv(&end, &sge, 1, 1);
}

/* What answers no request that is under way, and acknowledgments of nothing. */
static void dp1_stale(void)
{
	struct qp_cfg cfg = { .timeout = 20 };
	uint8_t answer[4 + BYTES] = {};

	begin(&cfg);
	acknowledge(ACK, 0);
	must_count("rx_stale", 1);
	post_rdma(&end, IBV_WR_RDMA_WRITE, sge_of(&own, 0, BYTES), 0x1000, 1,
		  1);
	forge_hear_asking(FORGE_WRITE_ONLY, end.psn);
	acknowledge(ACK, 5);
	must_count("rx_stale", 1);
	acknowledge(ACK, -1);
	must_count("rx_stale", 1);
	acknowledge(UNKNOWN, 0);
	must_count("rx_stale", 1);
	forge_aeth(answer, ACK, 1);
	forge(FORGE_READ_ONLY, &end, end.psn, answer, sizeof(answer));
	must_count("rx_stale", 1);
	acknowledge(ACK, 0);
	expect(await(end.scq), IBV_WC_SUCCESS);
	must_count(NULL, 0);
	acknowledge(ACK, 0);
	must_count("rx_stale", 1);
	CHECK_EQ(end_state(&end), IBV_QPS_RTS);
}

/* Requests behind a missing one, of a peer that takes no part in selective repeat. */
static void dp2_gap(void)
{
	struct qp_cfg cfg = { .recv_wr = 2 };

	begin(&cfg);
	post_one();
	send_one(1);
	must_count("rx_gap_drops", 1);
	send_one(2);
	send_one(1);
	must_count("rx_gap_drops", 2);
	send_one(0);
	expect(await(end.rcq), IBV_WC_SUCCESS);
	must_count(NULL, 0);
}

/* The rest of a message whose begin is missing, on an unreliable connection. */
static void dp3_unreliable(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UC, .recv_wr = 2 };

	begin(&cfg);
	forge(FORGE_UC_SEND_LAST, &end, FIRST, rest, BYTES);
	must_count("rx_gap_drops", 1);
	forge(FORGE_UC_SEND_LAST, &end, FIRST + 5, rest, BYTES);
	must_count("rx_gap_drops", 1);
	post_one();
	forge(FORGE_UC_SEND_ONLY, &end, FIRST + 9, rest, BYTES);
	expect(await(end.rcq), IBV_WC_SUCCESS);
	must_count(NULL, 0);
}

static void forge_read(uint32_t psn, uint32_t bytes)
{
	uint8_t reth[16];

	forge(FORGE_READ_REQUEST, &end, psn, reth,
	      forge_reth(reth, own.base, own.rkey, bytes));
}

/* Duplicates of READs and atomics that were never performed, or not like this. */
static void dp4_unanswered(void)
{
	struct qp_cfg cfg = { .mtu = IBV_MTU_1024 };
	uint8_t atomic[28];

	begin(&cfg);
	forge_read(FIRST - 3, BYTES);
	must_count("rx_unanswered", 1);
	forge(FORGE_FETCH_ADD, &end, FIRST - 3, atomic,
	      forge_atomic(atomic, own.base, own.rkey, 1, 0));
	must_count("rx_unanswered", 1);
	/* Its answer would have numbers of requests that are yet to come. */
	forge_read(FIRST - 1, 3000);
	must_count("rx_unanswered", 1);
	forge_read(FIRST, BYTES);
	forge_hear_asking(FORGE_READ_ONLY, FIRST);
	forge_read(FIRST, BYTES);
	forge_hear_asking(FORGE_READ_ONLY, FIRST);
	must_count(NULL, 0);
	/* More than it was asked for before. */
	forge_read(FIRST, BYTES + 1);
	must_count("rx_unanswered", 1);
	buf_check(own.buf);
}

/* A sound packet but for its IP options, or its UDP checksum. */
static void dp5_malformed(void)
{
	enum { IP = 20, OPTIONS = 4, CHECKSUM = IP + 6 };
	const struct forged forged = { FORGE_SEND_ONLY, &end, FIRST, rest,
				       BYTES };
	struct qp_cfg cfg = { .recv_wr = 1 };
	struct forge_packet packet;
	uint16_t all;

	begin(&cfg);
	post_one();
	forge_make(&packet, &forged);
	memmove(packet.bytes + IP + OPTIONS, packet.bytes + IP,
		packet.length - IP);
	/* Three that do nothing, and the end. */
	memcpy(packet.bytes + IP, (uint8_t[OPTIONS]){ 1, 1, 1, 0 }, OPTIONS);
	packet.bytes[0]++;
	packet.length += OPTIONS;
	all = htobe16(packet.length);
	memcpy(packet.bytes + 2, &all, sizeof(all));
	forge_send(&packet, 1);
	must_count("rx_malformed", 1);
	forge_make(&packet, &forged);
	*forge_byte(&packet, CHECKSUM) = 1;
	forge_send(&packet, 1);
	must_count("rx_malformed", 1);
	send_one(0);
	expect(await(end.rcq), IBV_WC_SUCCESS);
	must_count(NULL, 0);
}

/* Messages that find no receive request, or no page. */
static void dp6_not_ready(void)
{
	struct qp_cfg cfg = { .recv_wr = 2 };
	struct region sparse;
	struct ibv_sge sge;

	need_odp();
	begin(&cfg);
	send_one(0);
	must_count("out_of_buffer", 1);
	sparse = region_new(LEN, 0, ODP_ALL);
	sge = sge_of(&sparse, 0, BYTES);
	post_recv(&end, &sge, 1, 1);
	send_one(0);
	must_count("rx_page_drops", 1);
}

/* What comes early is kept: but not twice, nor beyond the connection. */
static void dp7_early(void)
{
	struct qp_cfg cfg = { .recv_wr = 2 };

	begin(&cfg);
	forge_selective(true);
	post_one();
	send_one(0);
	expect(await(end.rcq), IBV_WC_SUCCESS);
	send_one(2);
	send_one(4);
	must_count(NULL, 0);
	send_one(4);
	must_count("rx_early_drops", 1);
	CHECK_EQ(end_set_state(&end, IBV_QPS_RESET), 0);
	must_count("rx_early_drops", 2);
}

static void send_datagram(const struct end *to, uint32_t qkey)
{
	uint8_t datagram[8 + BYTES] = {};

	qkey = htobe32(qkey);
	memcpy(datagram, &qkey, sizeof(qkey));
	forge(FORGE_UD_SEND_ONLY, to, 0, datagram, sizeof(datagram));
}

/* Datagrams with another key, and those of a queue pair without receive requests. */
static void dp8_datagrams(void)
{
	struct qp_cfg cfg = {}, ud = { .type = IBV_QPT_UD, .recv_wr = 1 };
	struct end datagrams;

	begin(&cfg);
	end_make(&datagrams, &ud);
	end_init(&datagrams);
	end_connect(&datagrams, &(struct peer){ .gid = dev.gid });
	send_datagram(&datagrams, QKEY + 1);
	must_count("ud_drops", 1);
	send_datagram(&datagrams, QKEY);
	must_count_both("out_of_buffer", "ud_drops", 1);
}

/*
 * A buffer in fragments is copied into one piece; here there is no memory for that. So its packets are
 * dropped, and each counts. Those to an address of no device, or to a group without members, and what is
 * no packet at all, are dropped without a copy: only one copy is tried.
 */
static void dp9_not_copied(void)
{
	/* One packet of the bytes of so many is in fragments, too. */
	enum { COUNT = 8, SHORT = 8, MANY = 60, WHOLE = 60000 };
	/* All hosts have joined it, so the packets arrive. */
	static const uint8_t all_hosts[] = { 224, 0, 0, 1 };
	struct qp_cfg cfg = { .recv_wr = COUNT };
	struct forged train[MANY];
	int i;

	begin(&cfg);
	for (i = 0; i < MANY; i++)
		train[i] = (struct forged){ FORGE_SEND_ONLY, &end, FIRST + i,
					    rest, BYTES };
	fault_often_prepare("pinion");
	fault_only_in_function("pinion_wire_unite");
	fault_often(100);
	forge_train_astray(NULL, train, COUNT, forged_bytes(train));
	forge_train_astray(NULL, train, MANY, WHOLE);
	forge_train_astray(all_hosts, train, COUNT, forged_bytes(train));
	/* Too short for a header. */
	forge_train(train, 1, SHORT);
	must_count("rx_malformed", (long long)forged_bytes(train) / SHORT);
	forge_train(train, COUNT, forged_bytes(train));
	must_count("rx_overruns", COUNT);
	CHECK_EQ(fault_often_end(), 1);
}

/* From now on the next allocation that @function of the module makes, or what it calls, fails. */
static void next_fails(const char *function)
{
	fault_often_prepare("pinion");
	fault_only_in_function(function);
	fault_once();
}

/* The next message of a receiver is that of receive request @wr_id. */
static void arrives(const struct end *receiver, uint64_t wr_id)
{
	struct ibv_wc wc = await(receiver->rcq);

	expect(wc, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, wr_id);
}

/*
 * A buffer has packets for two connections, and there is no memory to take those of one of them out of
 * it: they are dropped, and the others arrive.
 */
static void dp10_not_cut_out(void)
{
	enum { FIRST_ONES = 3, OTHERS = 2 };
	struct qp_cfg cfg = { .recv_wr = FIRST_ONES };
	struct forged train[FIRST_ONES + OTHERS];
	struct end other;
	int i;

	begin(&cfg);
	end_make(&other, &cfg);
	forge_connect(&other);
	for (i = 0; i < FIRST_ONES + OTHERS; i++) {
		struct end *to = i < FIRST_ONES ? &end : &other;
		struct ibv_sge sge = sge_of(&own, i * BYTES, BYTES);

		post_recv(to, &sge, 1, i);
		train[i] = (struct forged){ FORGE_SEND_ONLY, to,
					    FIRST + i % FIRST_ONES,
					    rest + i * BYTES, BYTES };
		memcpy(own.buf->want + i * BYTES, rest + i * BYTES, BYTES);
	}
	next_fails("pinion_wire_cut_out");
	forge_train(train, FIRST_ONES + OTHERS, forged_bytes(train));
	must_count("rx_overruns", FIRST_ONES);
	CHECK(fault_once_hit());
	for (i = 0; i < OTHERS; i++)
		arrives(&other, FIRST_ONES + i);
	/* Their sender sends them again. */
	forge_train(train, FIRST_ONES, forged_bytes(train));
	for (i = 0; i < FIRST_ONES; i++)
		arrives(&end, i);
	must_count(NULL, 0);
	buf_check(own.buf);
}

/* ------------------------------------------------------------------------- groups */

enum { MEMBERS = 3, GRH = 40 };

static const union ibv_gid group = {
	.raw = { [10] = 0xff, 0xff, 239, 1, 2, 9 }
};
static struct end members[MEMBERS];
static uint8_t datagram[8 + BYTES];

/* Makes members of a group, to which packets go from now on. */
static void begin_group(int count)
{
	struct qp_cfg cfg = { .recv_wr = 1 },
		      ud = { .type = IBV_QPT_UD, .recv_wr = 2 };
	uint32_t qkey = htobe32(QKEY);
	struct ibv_sge sge;
	int i;

	begin(&cfg);
	for (i = 0; i < count; i++) {
		end_make(&members[i], &ud);
		end_init(&members[i]);
		end_connect(&members[i], &(struct peer){ .gid = dev.gid });
		CHECK_EQ(ibv_attach_mcast(members[i].qp, &group, 0), 0);
		sge = sge_of(&own, 0, GRH + BYTES);
		post_recv(&members[i], &sge, 1, 1);
	}
	memcpy(datagram, &qkey, sizeof(qkey));
	forge_to_group(&group);
}

/* A packet to the group, which begins with the bytes of a datagram. */
static void make_for_group(struct forge_packet *packet,
			   enum forge_opcode opcode)
{
	const struct forged forged = { opcode, &end, 0, datagram,
				       sizeof(datagram) };

	forge_make(packet, &forged);
	forge_set_qpn(packet, 0xffffff);
	forge_finish(packet);
}

/* What goes to a group arrives at each of its @count members. */
static void group_hears(int count)
{
	struct forge_packet packet;
	int i;

	make_for_group(&packet, FORGE_UD_SEND_ONLY);
	forge_send(&packet, 1);
	for (i = 0; i < count; i++)
		expect(await(members[i].rcq), IBV_WC_SUCCESS);
}

/* There is no memory for the copy of a group's only member: it counts, and the next one arrives. */
static void dp11_not_copied(void)
{
	struct forge_packet packet;

	begin_group(1);
	make_for_group(&packet, FORGE_UD_SEND_ONLY);
	next_fails("pinion_wire_deliver");
	forge_send(&packet, 1);
	must_count("rx_overruns", 1);
	CHECK(fault_once_hit());
	group_hears(1);
	must_count(NULL, 0);
}

/* A packet to a group whose CRC is wrong counts once, however many members there are. */
static void dp12_damaged(void)
{
	struct forge_packet packet;

	begin_group(MEMBERS);
	make_for_group(&packet, FORGE_UD_SEND_ONLY);
	*forge_byte(&packet, packet.length - 1) ^= 1;
	forge_send(&packet, 1);
	must_count("rx_icrc_encapsulated", 1);
	group_hears(MEMBERS);
	must_count(NULL, 0);
}

/*
 * To a group go datagrams only, and to the number of all its queue pairs: anything else is for nobody.
 */
static void dp13_no_datagram(void)
{
	long long before_all;
	struct forge_packet packet;

	begin_group(MEMBERS);
	before_all = device_counter("rx_no_queue");
	make_for_group(&packet, FORGE_SEND_ONLY);
	forge_send(&packet, 1);
	await_count("rx_no_queue", before_all + 1);
	make_for_group(&packet, FORGE_UD_SEND_ONLY);
	forge_set_qpn(&packet, members[0].qp->qp_num);
	forge_finish(&packet);
	forge_send(&packet, 1);
	await_count("rx_no_queue", before_all + 2);
	group_hears(MEMBERS);
	must_count(NULL, 0);
	CHECK_EQ(device_counter("rx_no_queue"), before_all + 2);
}

static const struct test tests[] = {
	TEST(dp1_stale, "DP1 answers to nothing"),
	TEST(dp2_gap, "DP2 requests behind a missing one"),
	TEST(dp3_unreliable, "DP3 the rest of an unreliable message"),
	TEST(dp4_unanswered, "DP4 duplicates without an answer"),
	TEST(dp5_malformed, "DP5 options, and a wrong UDP checksum"),
	TEST(dp6_not_ready, "DP6 no receive request, no page"),
	TEST(dp7_early, "DP7 what is kept"),
	TEST(dp8_datagrams,
	     "DP8 datagrams with another key, or no receive request"),
	TEST(dp9_not_copied, "DP9 buffers that need not be copied"),
	TEST(dp10_not_cut_out, "DP10 no memory to take some out of a buffer"),
	TEST(dp11_not_copied, "DP11 no memory for the member of a group"),
	TEST(dp12_damaged, "DP12 a damaged packet to a group"),
	TEST(dp13_no_datagram, "DP13 what is no datagram, to a group"),
};

HARNESS_MAIN("each packet that is dropped counts for its reason", tests)
