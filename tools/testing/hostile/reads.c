// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * READs that are asked for in parts, as many packets of an answer at a time as the window has room for,
 * of a peer that loses packets, or says nothing (items RD1 to RD5).
 */
#include <string.h>
#include <unistd.h>

#include "forge.h"
#include "orders.h"
#include "transfer.h"

enum {
	MTU = 256,
	PACKETS = 600, /* of an answer */
	LEN = PACKETS * MTU - 100,
	PART = 64, /* packets that are asked for at a time before anything is lost */
	WINDOW = 256,
	REMOTE = 0x1000,
	ACK = 0x1f, /* syndromes */
	NAK_SEQUENCE = 0x60,
};

/* Who answers: one of whom nothing is known, a pinion, or another device. */
enum { NOBODY, PINION, OTHER };

static struct end end;
static struct region own;
static uint8_t payload[PACKETS * MTU];

static void begin(int peer, const struct qp_cfg *cfg)
{
	forge_begin(&end, cfg);
	own = region_new(LEN, 77, ALL_ACCESS);
	rnd_fill(payload, sizeof(payload));
	forge_selective(peer == PINION);
	forge_count();
	post_rdma(&end, IBV_WR_RDMA_READ, sge_of(&own, 0, LEN), REMOTE, 1, 0);
}

static void must_have_succeeded(struct ibv_wc wc)
{
	expect(wc, IBV_WC_SUCCESS);
	memcpy(own.buf->want, payload, LEN);
	buf_check(own.buf);
	CHECK_EQ(end_state(&end), IBV_QPS_RTS);
}

/* A request for @packets of the answer, from the one of this index on. */
struct part {
	uint32_t index, packets;
};

/* The next request, if there is one now. */
static bool part_heard(struct part *part)
{
	struct forge_read read;

	if (!forge_hear_read(&read))
		return false;
	part->index = (read.psn - end.psn) & 0xffffff;
	part->packets = (read.length + MTU - 1) / MTU;
	CHECK(part->packets && part->index + part->packets <= PACKETS);
	CHECK_EQ(read.addr, REMOTE + part->index * MTU);
	CHECK(read.length % MTU == 0 || part->index * MTU + read.length == LEN);
	return true;
}

static struct part hear_part(void)
{
	double limit = now() + patience(20);
	struct part part;

	while (!part_heard(&part)) {
		CHECK(now() < limit);
		usleep(500);
	}
	return part;
}

static void must_ask(uint32_t index, uint32_t packets)
{
	struct part part = hear_part();

	CHECK_EQ(part.index, index);
	CHECK_EQ(part.packets, packets);
}

/* Before anything is lost all is asked for that the largest window has room for. */
static void must_ask_window(void)
{
	uint32_t i;

	for (i = 0; i < WINDOW; i += PART)
		must_ask(i, PART);
}

/* Packet @index of the answer, in that to @part. */
static void answer(const struct part *part, uint32_t index)
{
	bool first = index == part->index;
	bool last = index == part->index + part->packets - 1;
	enum forge_opcode opcode = FORGE_READ_MIDDLE;
	uint8_t packet[4 + MTU];
	size_t headers = 0, bytes = MTU;

	if (first || last) {
		opcode = !last ? FORGE_READ_FIRST :
			 first ? FORGE_READ_ONLY :
				 FORGE_READ_LAST;
		headers = forge_aeth(packet, ACK, 1);
	}
	if (index == PACKETS - 1)
		bytes = LEN - index * MTU;
	memcpy(packet + headers, payload + index * MTU, bytes);
	forge(opcode, &end, end.psn + index, packet, headers + bytes);
}

/* The first packets of the answer come, but of NOBODY. Return: how many. */
static uint32_t answer_some(int peer)
{
	const struct part part = { 0, PART };
	uint32_t i, some = peer == NOBODY ? 0 : 10;

	for (i = 0; i < some; i++)
		answer(&part, i);
	return some;
}

/*
 * Nothing comes any more: after a timeout one packet is asked for. But some devices answer nothing
 * any more that lies before what they were asked for again: of OTHER all that is left of the part that
 * it was asked for before is asked for.
 */
static void rd1_silent(int peer)
{
	struct qp_cfg cfg = { .mtu = IBV_MTU_256, .timeout = 17, .retry = 2 };
	struct part part;
	uint32_t some;
	int i;

	begin(peer, &cfg);
	must_ask_window();
	some = answer_some(peer);
	for (i = 0; i < cfg.retry; i++)
		must_ask(some, peer == OTHER ? PART - some : 1);
	expect(await(end.scq), IBV_WC_RETRY_EXC_ERR);
	CHECK(!part_heard(&part));
}

/*
 * After a timeout each packet of the answer that comes makes room for one more at most, besides its own
 * place.
 */
static void rd5_grows(void)
{
	struct qp_cfg cfg = { .mtu = IBV_MTU_256, .timeout = 17, .retry = 7 };
	uint32_t some, i, largest = 0, asked = 0, came = 0;
	struct part part;

	begin(PINION, &cfg);
	must_ask_window();
	some = answer_some(PINION);
	while (some + came < PACKETS) {
		part = hear_part();
		CHECK_EQ(part.index, some + asked);
		asked += part.packets;
		CHECK(asked - came <= 1 + came);
		for (i = 0; i < part.packets; i++, came++)
			answer(&part, some + came);
		if (part.packets > largest)
			largest = part.packets;
	}
	must_have_succeeded(await(end.scq));
	note("at most %u packets are asked for at a time", largest);
	CHECK(largest > 10);
}

/* ------------------------------------------------- a peer that loses packets */

enum { LOSS = 20 }; /* of so many packets one is lost, either way */

/* Parts that the peer knows, and where it was asked for them again. */
static struct {
	struct part part;
	uint32_t again;
} known[PACKETS];

static struct {
	uint32_t expected, known, asked, lost, unanswered;
	bool told;
} peer_;

static bool is_lost(void)
{
	if (rnd_below(LOSS))
		return false;
	peer_.lost++;
	return true;
}

static void peer_answer(const struct part *part)
{
	uint32_t i;

	for (i = part->index; i < part->index + part->packets; i++)
		if (!is_lost())
			answer(part, i);
}

/* What it is asked for is not the next: it says so, once. */
static void peer_misses(void)
{
	uint8_t aeth[4];

	if (peer_.told || is_lost())
		return;
	peer_.told = true;
	forge(FORGE_ACKNOWLEDGE, &end, end.psn + peer_.expected, aeth,
	      forge_aeth(aeth, NAK_SEQUENCE, 1));
}

/* May it answer, as it was asked for this before? OTHER behaves like rdma_rxe. */
static bool peer_knows(int peer, const struct part *part)
{
	uint32_t i;

	for (i = 0; i < peer_.known; i++) {
		const struct part *was = &known[i].part;

		if (part->index < was->index ||
		    part->index >= was->index + was->packets)
			continue;
		if (part->index + part->packets > was->index + was->packets ||
		    (peer == OTHER && part->index < known[i].again))
			return false;
		known[i].again = part->index;
		return true;
	}
	return false;
}

static void peer_hears(int peer, const struct part *part)
{
	peer_.asked += part->packets;
	if (is_lost())
		return;
	if (part->index > peer_.expected) {
		peer_misses();
	} else if (part->index == peer_.expected) {
		known[peer_.known].again = part->index;
		known[peer_.known++].part = *part;
		peer_.expected += part->packets;
		peer_.told = false;
		peer_answer(part);
	} else if (peer_knows(peer, part)) {
		peer_answer(part);
	} else {
		peer_.unanswered++;
	}
}

/*
 * A peer that loses requests and answers: all comes in the end, it is asked for nothing that it could
 * not answer, and not for much more than was lost.
 */
static void rd2_loses(int peer)
{
	struct qp_cfg cfg = { .mtu = IBV_MTU_256, .timeout = 14, .retry = 7 };
	double limit = now() + patience(60);
	struct part part;
	struct ibv_wc wc;
	uint32_t most;

	begin(peer, &cfg);
	while (!poll_one(end.scq, &wc)) {
		CHECK(now() < limit);
		if (part_heard(&part))
			peer_hears(peer, &part);
		else
			usleep(200);
	}
	note("%u packets asked for, of %u; %u lost, %u not answered",
	     peer_.asked, PACKETS, peer_.lost, peer_.unanswered);
	must_have_succeeded(wc);
	CHECK_EQ(peer_.unanswered, 0);
	most = peer == PINION ? 10 : PART;
	CHECK(peer_.asked <= PACKETS + most * peer_.lost);
}

/* ------------------------------------------------------ a pinion at both ends */

/*
 * READs of all lengths between two pinion queue pairs that lose packets: the bytes are right, and nothing
 * is asked for again that cannot be answered.
 */
static void rd3_pinion(void)
{
	enum { LENGTH = 400000, READS = 20 };
	struct qp_cfg cfg = { .mtu = IBV_MTU_256, .timeout = 12, .retry = 7 };
	long long resent, unanswered, lost;
	struct region a, b;
	struct link link;
	uint32_t i, length, at, packets = 0;

	orders_begin();
	if (!dev.packets)
		skip("no packets to peers on this host");
	link_make(&link, &cfg);
	a = region_new(LENGTH, 50, ALL_ACCESS);
	b = region_new(LENGTH, 7, ALL_ACCESS);
	usleep(20000);
	resent = device_counter("resent_packets");
	unanswered = device_counter("rx_unanswered");
	order("loss pid %d percent 5 seed %u count 0", getpid(),
	      (unsigned int)rnd_below(1000));
	for (i = 0; i < READS; i++) {
		length = rnd_in(1, LENGTH);
		at = rnd_below(LENGTH - length + 1);
		check_read(&link, &a, at, &b, LENGTH - length - at, length);
		packets += (length - 1) / MTU + 1;
	}
	lost = ordered("failed");
	orders_off();
	usleep(500000);
	resent = device_counter("resent_packets") - resent;
	note("%lld packets asked for again, of %u; %lld buffers lost", resent,
	     packets, lost);
	CHECK(lost > 0);
	CHECK_EQ(device_counter("rx_unanswered"), unanswered);
	buf_check(a.buf);
	buf_check(b.buf);
}

static const struct test tests[] = {
	TEST_OF(rd1_silent, NOBODY, "RD1 a peer that never answers"),
	TEST_OF(rd1_silent, PINION, "RD1 a peer that answers no more"),
	LONG_TEST_OF(rd2_loses, PINION, "RD2 a peer that loses packets", 90),
	LONG_TEST_OF(rd2_loses, OTHER, "RD2 another device that loses packets",
		     90),
	TEST(rd3_pinion, "RD3 between two that lose packets"),
	TEST_OF(rd1_silent, OTHER,
		"RD4 another device is asked for all of a part"),
	TEST(rd5_grows, "RD5 what is asked for grows with what comes"),
};

ORDERS_MAIN("READs in parts", tests)
