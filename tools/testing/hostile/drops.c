// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A packet that is received and dropped counts once, for its reason (items DP1 to DP14). Only a datagram
 * without a receive request counts for two: as a datagram that was dropped, and as one that found no
 * request.
 */
#include <endian.h>
#include <netinet/in.h>
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

/* @v6: all packets are by IPv6. */
static void begin(const struct qp_cfg *cfg, int v6)
{
	if (v6)
		device_use_address(&dev, true);
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
static void dp1_stale(int v6)
{
	struct qp_cfg cfg = { .timeout = 20 };
	uint8_t answer[4 + BYTES] = {};

	begin(&cfg, v6);
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
static void dp2_gap(int v6)
{
	struct qp_cfg cfg = { .recv_wr = 2 };

	begin(&cfg, v6);
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

/* The rest of a message whose begin or middle is missing, on an unreliable connection. */
static void dp3_unreliable(int v6)
{
	enum { PATH_MTU = 512 };
	struct qp_cfg cfg = { .type = IBV_QPT_UC,
			      .recv_wr = 2,
			      .mtu = IBV_MTU_512 };
	struct ibv_sge sge;
	struct ibv_wc wc;

	begin(&cfg, v6);
	forge(FORGE_UC_SEND_LAST, &end, FIRST, rest, BYTES);
	must_count("rx_gap_drops", 1);
	forge(FORGE_UC_SEND_LAST, &end, FIRST + 5, rest, BYTES);
	must_count("rx_gap_drops", 1);
	post_one();
	forge(FORGE_UC_SEND_ONLY, &end, FIRST + 9, rest, BYTES);
	expect(await(end.rcq), IBV_WC_SUCCESS);
	must_count(NULL, 0);
	/* The next message takes the receive request that this one has taken. */
	sge = sge_of(&own, 0, PATH_MTU + BYTES);
	post_recv(&end, &sge, 1, 2);
	forge(FORGE_UC_SEND_FIRST, &end, FIRST + 20, rest, PATH_MTU);
	forge(FORGE_UC_SEND_LAST, &end, FIRST + 22, rest, BYTES);
	must_count("rx_gap_drops", 1);
	forge(FORGE_UC_SEND_ONLY, &end, FIRST + 23, rest, BYTES);
	wc = await(end.rcq);
	expect(wc, IBV_WC_SUCCESS);
	CHECK_EQ(wc.byte_len, BYTES);
	must_count(NULL, 0);
}

static void forge_read(uint32_t psn, uint32_t bytes)
{
	uint8_t reth[16];

	forge(FORGE_READ_REQUEST, &end, psn, reth,
	      forge_reth(reth, own.base, own.rkey, bytes));
}

/* Duplicates of READs and atomics that were never performed, or not like this. */
static void dp4_unanswered(int v6)
{
	struct qp_cfg cfg = { .mtu = IBV_MTU_1024 };
	uint8_t atomic[28];

	begin(&cfg, v6);
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

/* Puts IP options into a packet, that do nothing: of IPv6 a header with options for its destination. */
static void add_options(struct forge_packet *packet, int v6)
{
	static const uint8_t nothing[] = { 1, 1, 1, 0 };
	static const uint8_t header[8] = { IPPROTO_UDP, 0, 1, 4 };
	size_t bytes = v6 ? sizeof(header) : sizeof(nothing);
	size_t at = v6 ? 40 : 20;
	uint16_t length;

	memmove(packet->bytes + at + bytes, packet->bytes + at,
		packet->length - at);
	memcpy(packet->bytes + at, v6 ? header : nothing, bytes);
	packet->length += bytes;
	length = htobe16(packet->length - (v6 ? at : 0));
	memcpy(packet->bytes + (v6 ? 4 : 2), &length, sizeof(length));
	if (v6)
		packet->bytes[6] = IPPROTO_DSTOPTS;
	else
		packet->bytes[0]++;
}

/* A sound packet but for its IP options, or its UDP checksum. */
static void dp5_malformed(int v6)
{
	const struct forged forged = { FORGE_SEND_ONLY, &end, FIRST, rest,
				       BYTES };
	struct qp_cfg cfg = { .recv_wr = 1 };
	struct forge_packet packet;

	begin(&cfg, v6);
	post_one();
	forge_make(&packet, &forged);
	add_options(&packet, v6);
	forge_send(&packet, 1);
	must_count("rx_malformed", 1);
	forge_make(&packet, &forged);
	*forge_byte(&packet, forge_before(&packet) - 2) = 1;
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
	begin(&cfg, 0);
	send_one(0);
	must_count("out_of_buffer", 1);
	sparse = region_new(LEN, 0, ODP_ALL);
	sge = sge_of(&sparse, 0, BYTES);
	post_recv(&end, &sge, 1, 1);
	send_one(0);
	must_count("rx_page_drops", 1);
}

/* What comes early is kept: but not twice, nor beyond the connection. */
static void dp7_early(int v6)
{
	struct qp_cfg cfg = { .recv_wr = 2 };

	begin(&cfg, v6);
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
static void dp8_datagrams(int v6)
{
	struct qp_cfg cfg = {}, ud = { .type = IBV_QPT_UD, .recv_wr = 1 };
	struct end datagrams;

	begin(&cfg, v6);
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
	static const union ibv_gid all_hosts = {
		.raw = { [10] = 0xff, 0xff, 224, 0, 0, 1 }
	};
	struct qp_cfg cfg = { .recv_wr = COUNT };
	struct forged train[MANY];
	int i;

	begin(&cfg, 0);
	for (i = 0; i < MANY; i++)
		train[i] = (struct forged){ FORGE_SEND_ONLY, &end, FIRST + i,
					    rest, BYTES };
	fault_often_prepare("pinion");
	fault_only_in_function("pinion_wire_unite");
	fault_often(100);
	forge_train_astray(NULL, train, COUNT, forged_bytes(train));
	forge_train_astray(NULL, train, MANY, WHOLE);
	forge_train_astray(&all_hosts, train, COUNT, forged_bytes(train));
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
static void dp10_not_cut_out(int v6)
{
	enum { FIRST_ONES = 3, OTHERS = 2 };
	struct qp_cfg cfg = { .recv_wr = FIRST_ONES };
	struct forged train[FIRST_ONES + OTHERS];
	struct end other;
	int i;

	begin(&cfg, v6);
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

static const union ibv_gid groups[] = {
	{ .raw = { [10] = 0xff, 0xff, 239, 1, 2, 9 } },
	{ .raw = { 0xff, 0x05, [15] = 9 } },
};
static struct end members[MEMBERS];
static uint8_t datagram[8 + BYTES];

/* Makes members of a group, to which packets go from now on. */
static void begin_group(int count, int v6)
{
	struct qp_cfg cfg = { .recv_wr = 1 },
		      ud = { .type = IBV_QPT_UD, .recv_wr = 2 };
	uint32_t qkey = htobe32(QKEY);
	struct ibv_sge sge;
	int i;

	begin(&cfg, v6);
	for (i = 0; i < count; i++) {
		end_make(&members[i], &ud);
		end_init(&members[i]);
		end_connect(&members[i], &(struct peer){ .gid = dev.gid });
		CHECK_EQ(ibv_attach_mcast(members[i].qp, &groups[v6], 0), 0);
		sge = sge_of(&own, 0, GRH + BYTES);
		post_recv(&members[i], &sge, 1, 1);
	}
	memcpy(datagram, &qkey, sizeof(qkey));
	forge_to_group(&groups[v6]);
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
static void dp11_not_copied(int v6)
{
	struct forge_packet packet;

	begin_group(1, v6);
	make_for_group(&packet, FORGE_UD_SEND_ONLY);
	next_fails("pinion_wire_deliver");
	forge_send(&packet, 1);
	must_count("rx_overruns", 1);
	CHECK(fault_once_hit());
	group_hears(1);
	must_count(NULL, 0);
}

/* A packet to a group whose CRC is wrong counts once, however many members there are. */
static void dp12_damaged(int v6)
{
	struct forge_packet packet;

	begin_group(MEMBERS, v6);
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
static void dp13_no_datagram(int v6)
{
	long long before_all;
	struct forge_packet packet;

	begin_group(MEMBERS, v6);
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

/* What routers may change is not in the CRC: the message arrives. */
static void dp14_on_the_way(int v6)
{
	/* Another class and flow label; no mark of a router that is congested. */
	static const uint8_t label[] = { 0x6b, 0x8a, 0xbc, 0xde };
	const struct forged forged = { FORGE_SEND_ONLY, &end, FIRST, rest,
				       BYTES };
	struct qp_cfg cfg = { .recv_wr = 1 };
	struct forge_packet packet;

	begin(&cfg, v6);
	post_one();
	forge_make(&packet, &forged);
	if (v6)
		memcpy(packet.bytes, label, sizeof(label));
	else
		*forge_byte(&packet, 1) = 0xb8;
	/* The hops that are left. */
	(*forge_byte(&packet, v6 ? 7 : 8))--;
	forge_send(&packet, 1);
	expect(await(end.rcq), IBV_WC_SUCCESS);
	must_count(NULL, 0);
}

static const struct test tests[] = {
	TEST_OF(dp1_stale, false, "DP1 answers to nothing"),
	TEST_OF(dp1_stale, true, "DP1 answers to nothing, IPv6"),
	TEST_OF(dp2_gap, false, "DP2 requests behind a missing one"),
	TEST_OF(dp2_gap, true, "DP2 requests behind a missing one, IPv6"),
	TEST_OF(dp3_unreliable, false, "DP3 the rest of an unreliable message"),
	TEST_OF(dp3_unreliable, true,
		"DP3 the rest of an unreliable message, IPv6"),
	TEST_OF(dp4_unanswered, false, "DP4 duplicates without an answer"),
	TEST_OF(dp4_unanswered, true, "DP4 duplicates without an answer, IPv6"),
	TEST_OF(dp5_malformed, false, "DP5 options, and a wrong UDP checksum"),
	TEST_OF(dp5_malformed, true,
		"DP5 options, and a wrong UDP checksum, IPv6"),
	TEST(dp6_not_ready, "DP6 no receive request, no page"),
	TEST_OF(dp7_early, false, "DP7 what is kept"),
	TEST_OF(dp7_early, true, "DP7 what is kept, IPv6"),
	TEST_OF(dp8_datagrams, false,
		"DP8 datagrams with another key, or no receive request"),
	TEST_OF(dp8_datagrams, true,
		"DP8 datagrams with another key, or no receive request, IPv6"),
	TEST(dp9_not_copied, "DP9 buffers that need not be copied"),
	TEST_OF(dp10_not_cut_out, false,
		"DP10 no memory to take some out of a buffer"),
	TEST_OF(dp10_not_cut_out, true,
		"DP10 no memory to take some out of a buffer, IPv6"),
	TEST_OF(dp11_not_copied, false,
		"DP11 no memory for the member of a group"),
	TEST_OF(dp11_not_copied, true,
		"DP11 no memory for the member of a group, IPv6"),
	TEST_OF(dp12_damaged, false, "DP12 a damaged packet to a group"),
	TEST_OF(dp12_damaged, true, "DP12 a damaged packet to a group, IPv6"),
	TEST_OF(dp13_no_datagram, false,
		"DP13 what is no datagram, to a group"),
	TEST_OF(dp13_no_datagram, true,
		"DP13 what is no datagram, to a group, IPv6"),
	TEST_OF(dp14_on_the_way, false, "DP14 what routers change"),
	TEST_OF(dp14_on_the_way, true, "DP14 what routers change, IPv6"),
};

HARNESS_MAIN("each packet that is dropped counts for its reason", tests)
