// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets of all kinds, as many as there is time for: random ones, wrong ones, copies, those of
 * strangers, those that the peer of a connection may send, with wrong contents, and messages of several
 * packets, with gaps. They go to connections of each service, a queue pair of datagrams and a group,
 * by IPv4 and IPv6. Some come as trains, several in one buffer. Meanwhile another process uses the device
 * correctly (item PF1).
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forge.h"
#include "victim.h"
#include "xrc.h"

enum {
	LEN = 64 << 10,
	BATCH = 64, /* packets between two looks at the connections */
	TRAIN = 32, /* packets of one buffer, at most */
	LEAST = 100000, /* packets */
	RECENT = 128, /* packets that may be sent again */
	DEEP = 16, /* requests and receives that are posted */
	PATH_MTU = 1024,
	MESSAGE_MOST = 6, /* packets of a message */
};

/* The connections that packets go to, all of forged peers. */
enum { RC, UC, XRC, CONNECTED };
static const uint8_t transports[CONNECTED] = { 0, 0x20, 0xa0 };
static struct end ends[CONNECTED], datagrams, member;
static struct ibv_srq *shared;
static struct ibv_cq *shared_cq;
static uint32_t shared_number;
/* The device's addresses of IPv4 and IPv6; and which of them each connection has. */
static struct ibv_gid_entry addresses[2];
static int by_v6[CONNECTED];
/* The packets of a train go to one of them, by its family; -1: to any. */
static int aimed = -1;
static const union ibv_gid groups[] = {
	{ .raw = { [10] = 0xff, 0xff, 239, 1, 2, 10 } },
	{ .raw = { 0xff, 0x05, [15] = 10 } },
};
/* The peer may reach the first one only. */
static struct region open_to_all, closed;
static struct ibv_pd *other_pd;
static struct region elsewhere;
static volatile struct victim *victim;

static struct forge_packet packets[BATCH], recent[RECENT];
static uint8_t rest[2048];
/* As they were last seen: the number of the next request of the first, and those of their peers'. */
static uint32_t own_psn, peer_psn[CONNECTED];
static unsigned long connections[CONNECTED];
/* Packets of messages of the forged peers, and datagrams, that have come. */
static unsigned long received[CONNECTED], received_datagrams, received_by_group;

/* The message of several packets that is sent to a connection. */
static struct stream {
	uint32_t psn; /* of the next packet */
	int left; /* packets */
	bool writes;
} streams[CONNECTED];

/* What is wrong with a packet, and the counter of those that are dropped for it. */
enum kind {
	NOISE,
	DAMAGED,
	NOBODY,
	STRANGE,
	MALFORMED,
	PEERS,
	MESSAGE,
	DATAGRAM,
	GROUP,
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

/* Headers at @at that may be those of the opcode, and bytes behind them. Return: how many in all. */
static size_t some_rest(size_t at)
{
	uint8_t *headers = rest + at;
	size_t bytes = at;

	rnd_fill(rest, sizeof(rest));
	switch (rnd_below(4)) {
	case 0:
		bytes += forge_reth(headers, some_address(), some_key(),
				    rnd_below(8) ? rnd_below(LEN) : rnd());
		break;
	case 1:
		bytes += forge_atomic(headers, some_address() & ~7ull,
				      some_key(), rnd(), rnd());
		break;
	case 2:
		bytes += forge_aeth(headers, rnd(), rnd());
		break;
	}
	/* Whole packets of this path MTU, now and then. */
	if (!rnd_below(3))
		return bytes + PATH_MTU;
	return bytes + 4 * rnd_below(rnd_below(4) ? 4 : 260);
}

/* Packets are by this family from now on, if they are of no train. */
static void be_of(int v6)
{
	forge_by(&addresses[aimed < 0 ? v6 : by_v6[aimed]].gid);
}

/* Packets are by the family of connection @i, mostly: others are a stranger's. */
static void aim_at(int i)
{
	be_of(by_v6[i] ^ !rnd_below(32));
}

/* Requests to an XRC target begin with the number of a shared queue. Return: how many bytes. */
static size_t put_shared(int i)
{
	uint32_t number = htobe32(shared_number);

	if (i != XRC)
		return 0;
	memcpy(rest, &number, sizeof(number));
	return sizeof(number);
}

/* A packet of the peer's, or an answer to what was asked of it. */
static void make_peers(struct forge_packet *packet)
{
	int i = aimed < 0 ? (int)rnd_below(CONNECTED) : aimed;
	uint8_t opcode = some_opcode();
	bool answers = opcode >= FORGE_READ_FIRST &&
		       opcode <= FORGE_ATOMIC_ACKNOWLEDGE;
	struct forged forged = {
		.opcode = opcode < 0x20 ? opcode | transports[i] : opcode,
		.to = &ends[i],
		.psn = some_psn(answers && i == RC ? own_psn : peer_psn[i]),
		.rest = rest,
		.bytes = some_rest(i == XRC && !answers ? 4 : 0),
	};

	if (!answers && rnd_below(8))
		put_shared(i);
	aim_at(i);
	forge_make(packet, &forged);
	/* Solicited, migrated, pad, version; asking for an acknowledgment, and reserved bits. */
	if (!rnd_below(4))
		forge_bth(packet, 1)[0] = rnd();
	if (!rnd_below(4))
		forge_bth(packet, 8)[0] = rnd();
}

/*
 * The next packet of a message of several, now and then behind a gap. The last one of a WRITE has an
 * immediate value, so that it is told when it has come.
 */
static void make_message(struct forge_packet *packet)
{
	enum { IMM = 1 }; /* beside the same opcode without */
	/* [it is a WRITE][the packet begins it][and ends it] */
	static const uint8_t opcodes[2][2][2] = {
		{ { FORGE_SEND_MIDDLE, FORGE_SEND_LAST },
		  { FORGE_SEND_FIRST, FORGE_SEND_ONLY } },
		{ { FORGE_WRITE_MIDDLE, FORGE_WRITE_LAST + IMM },
		  { FORGE_WRITE_FIRST, FORGE_WRITE_ONLY + IMM } },
	};
	int i = rnd_below(CONNECTED);
	struct stream *stream = &streams[i];
	bool begins = !stream->left, ends_here;
	struct forged forged = { .to = &ends[i], .rest = rest };
	size_t bytes;

	if (begins) {
		stream->left = 1 + rnd_below(MESSAGE_MOST);
		stream->writes = rnd_below(2);
	}
	ends_here = stream->left == 1;
	forged.psn = stream->psn++;
	forged.opcode = opcodes[stream->writes][begins][ends_here] |
			transports[i];
	rnd_fill(rest, sizeof(rest));
	bytes = put_shared(i);
	if (begins && stream->writes)
		bytes += forge_reth(
			rest + bytes,
			open_to_all.base +
				rnd_below(LEN - MESSAGE_MOST * PATH_MTU),
			open_to_all.rkey, stream->left * PATH_MTU);
	if (ends_here && stream->writes)
		bytes += 4;
	forged.bytes = bytes + PATH_MTU;
	stream->left--;
	if (!rnd_below(16))
		stream->psn++;
	be_of(by_v6[i]);
	forge_make(packet, &forged);
}

/* A packet that is right in itself. */
static void make_sound(struct forge_packet *packet)
{
	const struct forged forged = {
		.opcode = FORGE_SEND_ONLY,
		.to = &ends[RC],
		.psn = some_psn(peer_psn[RC]),
		.rest = rest,
		.bytes = 4 * rnd_below(257),
	};

	rnd_fill(rest, forged.bytes);
	be_of(by_v6[RC]);
	forge_make(packet, &forged);
}

/* Mostly with the right key, and some sender. */
static size_t some_datagram(void)
{
	size_t bytes = some_rest(0) + 12;
	uint32_t qkey = htobe32(QKEY);

	if (rnd_below(4))
		memcpy(rest, &qkey, sizeof(qkey));
	return bytes;
}

static void make_datagram(struct forge_packet *packet)
{
	const struct forged forged = {
		.opcode = rnd_below(4) ? 0x64 : 0x65,
		.to = &datagrams,
		.psn = rnd(),
		.rest = rest,
		.bytes = some_datagram(),
	};

	be_of(rnd_below(2));
	forge_make(packet, &forged);
	/* Connection management listens to the queue pair 1. */
	if (!rnd_below(4))
		forge_set_qpn(packet, 1);
}

/* A datagram to a group, or what is none; now and then not to the number of its queue pairs. */
static void make_for_group(struct forge_packet *packet)
{
	const struct forged forged = {
		.opcode = rnd_below(8) ? 0x64 : some_opcode(),
		.to = &member,
		.psn = rnd(),
		.rest = rest,
		.bytes = some_datagram(),
	};
	int v6 = rnd_below(2);

	be_of(v6);
	forge_to_group(&groups[v6]);
	forge_make(packet, &forged);
	if (rnd_below(8))
		forge_set_qpn(packet, 0xffffff);
}

static void make_random(struct forge_packet *packet)
{
	size_t i;

	make_peers(packet);
	i = forge_before(packet) + rnd_below(2) * 12;
	for (; i < packet->length; i++)
		packet->bytes[i] = rnd();
}

/* All of a packet but its lengths and its CRC. */
static void begin_packet(struct forge_packet *packet, enum kind kind)
{
	switch (kind) {
	case NOISE:
		make_random(packet);
		break;
	case DATAGRAM:
		make_datagram(packet);
		break;
	case GROUP:
		make_for_group(packet);
		break;
	case MESSAGE:
		make_message(packet);
		break;
	case COPY:
		*packet = recent[rnd_below(RECENT)];
		break;
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
		forge_bth(packet, 0)[0] = rnd_below(2) ? 0xc0 | rnd() :
							 FORGE_READ_REQUEST;
		packet->length =
			forge_before(packet) + 12 + 4 * rnd_below(4) + 4;
	}
}

/* A copy is as it was. */
static void end_packet(struct forge_packet *packet, enum kind kind)
{
	if (kind == COPY)
		return;
	forge_finish(packet);
	if (kind == DAMAGED)
		forge_bth(packet, 12)[rnd_below(4)] ^= 1 << rnd_below(8);
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
		begin_packet(&packets[i], kind);
		end_packet(&packets[i], kind);
		count_sent(&packets[i], kind);
	}
	forge_send(packets, BATCH);
}

/*
 * A kind of packets for a train. A copy, or one of a message, has a length of its own, so there is another
 * of the peer's instead; and a buffer has one address, so there is a datagram instead of one to a group.
 */
static enum kind kind_in_train(void)
{
	enum kind kind = rnd_below(KINDS);

	if (kind == COPY || kind == MESSAGE)
		return PEERS;
	return kind == GROUP ? DATAGRAM : kind;
}

/* A packet of a train: as @kind is made, but of @length bytes behind the UDP header. */
static void make_of_length(struct forge_packet *packet, enum kind kind,
			   size_t length, const uint32_t *psn)
{
	begin_packet(packet, kind);
	/* Beyond its end are bytes of packets before. */
	packet->length = forge_before(packet) + length;
	if (psn)
		forge_set_psn(packet, *psn);
	/* At this length it may have room for its headers, so it needs an opcode that nobody has. */
	if (kind == MALFORMED)
		forge_bth(packet, 0)[0] = 0xc0 | rnd();
	end_packet(packet, kind);
}

/* Mostly of one kind, as then some are delivered together; and often in order. */
static void send_train(struct forge_packet *train, int count)
{
	enum kind first = kind_in_train(), kind;
	bool in_order = rnd_below(2);
	uint32_t psn;
	size_t length;
	int i;

	aimed = rnd_below(CONNECTED);
	psn = some_psn(peer_psn[aimed]);
	begin_packet(train, first);
	length = train->length - forge_before(train);
	for (i = 0; i < count; i++, psn++) {
		kind = rnd_below(4) ? first : kind_in_train();
		/* A buffer has one sender. */
		if (first == STRANGE || kind == STRANGE)
			kind = first;
		make_of_length(&train[i], kind, length, in_order ? &psn : NULL);
		count_sent(&train[i], kind);
	}
	be_of(by_v6[aimed]);
	forge_send_train(train, count);
	aimed = -1;
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
static void connect_again(int i)
{
	int v6 = rnd_below(2);

	CHECK_EQ(end_set_state(&ends[i], IBV_QPS_RESET), 0);
	drain(ends[i].scq);
	drain(ends[i].rcq);
	streams[i].left = 0;
	streams[i].psn = FORGED_PSN;
	peer_psn[i] = FORGED_PSN;
	by_v6[i] = v6;
	dev.gid = addresses[v6].gid;
	dev.gid_index = (int)addresses[v6].gid_index;
	be_of(v6);
	if (forge_try_connect(&ends[i]))
		connections[i]++;
}

/* Packets that have come. A datagram, and its GRH, is one. */
static unsigned long come_to(struct ibv_cq *cq, uint32_t mtu)
{
	unsigned long count = 0;
	struct ibv_wc wc;

	while (poll_one(cq, &wc))
		if (wc.status == IBV_WC_SUCCESS)
			count += wc.byte_len > mtu ?
					 (wc.byte_len + mtu - 1) / mtu :
					 1;
	return count;
}

static void post_some(struct ibv_recv_wr *recv)
{
	struct ibv_recv_wr *bad;

	/* Those that have enough refuse it. */
	ibv_post_recv(ends[RC].qp, recv, &bad);
	ibv_post_recv(ends[UC].qp, recv, &bad);
	ibv_post_srq_recv(shared, recv, &bad);
	ibv_post_recv(datagrams.qp, recv, &bad);
	ibv_post_recv(member.qp, recv, &bad);
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
	struct ibv_recv_wr recv = { .num_sge = 1 };
	struct ibv_send_wr wr = { .num_sge = 1 };
	struct ibv_sge sge;
	int i;

	drain(ends[RC].scq);
	received[RC] += come_to(ends[RC].rcq, PATH_MTU);
	received[UC] += come_to(ends[UC].rcq, PATH_MTU);
	received[XRC] += come_to(shared_cq, PATH_MTU);
	received_datagrams += come_to(datagrams.rcq, LEN);
	received_by_group += come_to(member.rcq, LEN);
	for (i = 0; i < DEEP / 2; i++) {
		sge = sge_of(&open_to_all, rnd_below(LEN - 8192), 8192);
		recv.sg_list = &sge;
		post_some(&recv);
	}
	wr.opcode = opcodes[rnd_below(ARRAY_SIZE(opcodes))];
	sge = sge_of(
		&open_to_all, 8 * rnd_below(1000),
		wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : rnd_below(3000));
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = 0x1000;
	try_post(&ends[RC], &wr);
}

static void look_at(int i)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(ends[i].qp, &attr,
			      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RQ_PSN,
			      &init),
		 0);
	if (i == RC)
		own_psn = attr.sq_psn;
	peer_psn[i] = attr.rq_psn;
	/* What is behind a gap does not come to a reliable one: send it from there. */
	if (i != UC)
		streams[i].psn = attr.rq_psn;
	if (attr.qp_state != IBV_QPS_RTS)
		connect_again(i);
}

static void look_at_connections(void)
{
	int i;

	for (i = 0; i < CONNECTED; i++)
		look_at(i);
}

/* How many packets have found a socket full. */
static long long lost(void)
{
	static const char says[] =
		"awk '/^Udp: [0-9]/ { n += $6 }"
		" $1 == \"Udp6RcvbufErrors\" { n += $2 } END { print n }'"
		" /proc/net/snmp /proc/net/snmp6";
	char line[32] = {};
	FILE *out = MUST(popen(says, "r"));

	CHECK(fgets(line, sizeof(line), out));
	pclose(out);
	return atoll(line);
}

static void make_connections(void)
{
	struct qp_cfg rc = {
		.mtu = IBV_MTU_1024,
		.timeout = 14,
		.wr = DEEP,
		.recv_wr = DEEP,
	};
	struct qp_cfg uc = rc, xrc = rc;

	forge_begin(&ends[RC], &rc);
	addresses[0] = device_address(&dev, false);
	addresses[1] = device_address(&dev, true);
	uc.type = IBV_QPT_UC;
	end_make(&ends[UC], &uc);
	forge_connect(&ends[UC]);
	need_xrc();
	xrc.type = IBV_QPT_XRC_RECV;
	xrc.xrcd = MUST(xrcd_open(dev.ctx, -1));
	end_make(&ends[XRC], &xrc);
	forge_connect(&ends[XRC]);
	shared_cq = MUST(ibv_create_cq(dev.ctx, 8 * DEEP, NULL, NULL, 0));
	shared = MUST(xsrq_create(xrc.xrcd, shared_cq));
	CHECK_EQ(ibv_get_srq_num(shared, &shared_number), 0);
}

static void begin(void)
{
	struct qp_cfg ud = { .type = IBV_QPT_UD, .recv_wr = DEEP };
	int i;

	make_connections();
	end_make(&datagrams, &ud);
	end_init(&datagrams);
	end_connect(&datagrams, &(struct peer){ .gid = dev.gid });
	end_make(&member, &ud);
	end_init(&member);
	end_connect(&member, &(struct peer){ .gid = dev.gid });
	for (i = 0; i < 2; i++)
		CHECK_EQ(ibv_attach_mcast(member.qp, &groups[i], 0), 0);
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
 * Nobody else's packets are counted now: the other process has ended, and the peers of the connections do
 * not exist. Only trains to a queue pair that takes them count, which are those of few kinds.
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
		look_at_connections();
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
		look_at_connections();
		keep_busy();
		send_batch();
		all += BATCH;
		answers += forge_heard();
	}
	note("packets: %lu, to %lu connections and %lu of XRC", all,
	     connections[RC] + 1, connections[XRC] + 1);
	CHECK(all >= LEAST);
	CHECK(connections[RC] > 10 && connections[XRC] > 10);
	note("packets of messages that came: %lu, UC: %lu, XRC: %lu",
	     received[RC], received[UC], received[XRC]);
	note("datagrams: %lu, to a group: %lu", received_datagrams,
	     received_by_group);
	CHECK(received[RC] > 10 && received[UC] > 10 && received[XRC] > 10);
	CHECK(received_datagrams > 10 && received_by_group > 10);
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
	found += (long long)(received[RC] + received[UC] + received[XRC] +
			     received_datagrams + received_by_group) +
		 full;
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
