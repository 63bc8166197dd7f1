// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Builds packets byte by byte, and sends them by a raw socket.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "forge.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum {
	PORT = 4791,
	SOURCE_PORT = 50000,
	IP_BYTES = 20,
	IP6_BYTES = 40,
	UDP_BYTES = 8,
	BTH_BYTES = 12,
	CRC_BYTES = 4,
	BEFORE = IP_BYTES + UDP_BYTES,
	BECN = 1 << 30,
	MARKED = 3, /* ECN: congestion experienced */
	CNP_BYTES = 16,
	LARGEST = FORGE_LARGEST,
	MOST = 64, /* packets that one call of forge_send() sends */
};

/* Of IPv4 and of IPv6, as are all such arrays here. The latter does not tell the IP header. */
static const int families[] = { AF_INET, AF_INET6 };
static const int heard_before[] = { BEFORE, UDP_BYTES };
static int raw_sockets[] = { -1, -1 };
static int listening[] = { -1, -1 };
static bool selective;
/* The device's address; where packets go, but for trains; and which family both are of. */
static union ibv_gid own, destination;
static bool v6;

static bool is_v6(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(gid->raw, mapped, sizeof(mapped)) != 0;
}

void forge_to_group(const union ibv_gid *group)
{
	destination = group ? *group : own;
	CHECK_EQ(is_v6(&destination), v6);
}

void forge_selective(bool says)
{
	selective = says;
}

/* What goes to a group goes by the netdev that has the device's address. */
static void send_groups_by(const struct ibv_gid_entry *entry)
{
	int ifindex = (int)entry->ndev_ifindex;

	if (v6)
		CHECK_EQ(setsockopt(raw_sockets[v6], IPPROTO_IPV6,
				    IPV6_MULTICAST_IF, &ifindex,
				    sizeof(ifindex)),
			 0);
	else
		CHECK_EQ(setsockopt(raw_sockets[v6], IPPROTO_IP,
				    IP_MULTICAST_IF, own.raw + 12,
				    sizeof(struct in_addr)),
			 0);
}

void forge_by(const union ibv_gid *address)
{
	struct ibv_gid_entry entry = {};

	own = *address;
	v6 = is_v6(address);
	if (raw_sockets[v6] < 0) {
		/* It gets whole packets of its caller, with their IP headers. */
		raw_sockets[v6] = socket(families[v6], SOCK_RAW, IPPROTO_RAW);
		CHECK(raw_sockets[v6] >= 0);
		entry = device_address(&dev, v6);
		send_groups_by(&entry);
	}
	forge_to_group(NULL);
}

void forge_open(void)
{
	need_root();
	forge_selective(false);
	forge_by(&dev.gid);
}

void forge_begin(struct end *end, const struct qp_cfg *cfg)
{
	if (!dev.packets)
		skip("no packets to peers on this host");
	forge_open();
	end_make(end, cfg);
	forge_connect(end);
}

bool forge_try_connect(struct end *end)
{
	const struct peer peer = {
		.gid = own,
		.qpn = FORGED_QPN,
		.psn = FORGED_PSN,
	};

	end_init(end);
	return !end_to_rtr(end, &peer) && !end_to_rts(end);
}

void forge_connect(struct end *end)
{
	CHECK(forge_try_connect(end));
}

static void put16(uint8_t *to, uint32_t value)
{
	value = htons(value);
	memcpy(to, (uint16_t[]){ value }, 2);
}

static void put32(uint8_t *to, uint32_t value)
{
	value = htonl(value);
	memcpy(to, &value, 4);
}

static void put64(uint8_t *to, uint64_t value)
{
	put32(to, value >> 32);
	put32(to + 4, value);
}

static uint32_t crc_add(uint32_t crc, const uint8_t *data, size_t bytes)
{
	static uint32_t table[256];
	int i, bit;

	for (i = 0; !table[255] && i < 256; i++) {
		table[i] = i;
		for (bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^
				   (table[i] & 1 ? 0xedb88320 : 0);
	}
	while (bytes--)
		crc = crc >> 8 ^ table[(crc ^ *data++) & 255];
	return crc;
}

static bool packet_is_v6(const uint8_t *packet)
{
	return packet[0] >> 4 == 6;
}

static size_t before_bth(const uint8_t *packet)
{
	return packet_is_v6(packet) ? IP6_BYTES + UDP_BYTES : BEFORE;
}

/* Fields that routers may change count as all ones. */
static uint32_t icrc(const uint8_t *packet, size_t bytes)
{
	static const uint8_t ones[8] = {
		255, 255, 255, 255, 255, 255, 255, 255
	};
	static const int of_ipv4[] = { 1, 8, 10, 11 };
	/* Class, flow label and hop limit; the half byte of the version stays. */
	static const int of_ipv6[] = { 1, 2, 3, 7 };
	const int *changed = packet_is_v6(packet) ? of_ipv6 : of_ipv4;
	uint8_t masked[LARGEST], *bth = masked + before_bth(packet);
	size_t i;

	memcpy(masked, packet, bytes);
	for (i = 0; i < ARRAY_SIZE(of_ipv4); i++)
		masked[changed[i]] = 255;
	if (packet_is_v6(packet))
		masked[0] |= 15;
	memset(bth - 2, 255, 2);
	bth[4] = 255;
	return ~crc_add(crc_add(~0u, ones, sizeof(ones)), masked, bytes);
}

size_t forged_bytes(const struct forged *packet)
{
	return BTH_BYTES + packet->bytes + CRC_BYTES;
}

static void put_lengths(uint8_t *packet, size_t all)
{
	size_t before = before_bth(packet), udp = all - before + UDP_BYTES;

	if (packet_is_v6(packet))
		put16(packet + 4, udp);
	else
		put16(packet + 2, all);
	put16(packet + before - 4, udp);
}

static void put_crc(uint8_t *packet, size_t all)
{
	uint32_t crc = icrc(packet, all - CRC_BYTES);

	memcpy(packet + all - CRC_BYTES, &crc, CRC_BYTES);
}

/* The fields of an IPv4 header, but for its length; of @source the last bytes. */
static void put_ip(uint8_t *packet, const union ibv_gid *source)
{
	packet[0] = 0x45;
	put16(packet + 6, 0x4000);
	packet[8] = 64;
	packet[9] = IPPROTO_UDP;
	memcpy(packet + 12, source->raw + 12, 4);
	memcpy(packet + 16, destination.raw + 12, 4);
}

static void put_ip6(uint8_t *packet, const union ibv_gid *source)
{
	packet[0] = 0x60;
	packet[6] = IPPROTO_UDP;
	packet[7] = 64;
	memcpy(packet + 8, source->raw, 16);
	memcpy(packet + 24, destination.raw, 16);
}

/* Build @forged with IP and UDP headers. Return: the length of @packet. */
static size_t put_packet(uint8_t *packet, const union ibv_gid *source,
			 const struct forged *forged)
{
	size_t before = v6 ? IP6_BYTES + UDP_BYTES : BEFORE;
	size_t all = before + forged_bytes(forged);
	uint8_t *bth = packet + before;

	CHECK(all <= LARGEST && !(forged->bytes % 4));
	memset(packet, 0, before);
	if (v6)
		put_ip6(packet, source);
	else
		put_ip(packet, source);
	put16(bth - 8, SOURCE_PORT);
	put16(bth - 6, PORT);
	put_lengths(packet, all);
	bth[0] = forged->opcode;
	bth[1] = 0x40;
	put16(bth + 2, 0xffff);
	put32(bth + 4, forged->to->qp->qp_num |
			       (forged->opcode == FORGE_CNP ? BECN : 0));
	put32(bth + 8,
	      1u << 31 | (uint32_t)selective << 24 | (forged->psn & 0xffffff));
	if (forged->bytes)
		memcpy(bth + BTH_BYTES, forged->rest, forged->bytes);
	put_crc(packet, all);
	return all;
}

/* Addresses of this host that are no device's. */
static const union ibv_gid strangers[] = {
	{ .raw = { [10] = 0xff, 0xff, 127, 1, 2, 3 } },
	{ .raw = { [15] = 1 } },
};

union any_address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

static union any_address address_of(const union ibv_gid *gid, int port)
{
	union any_address address = {};

	if (is_v6(gid)) {
		address.six.sin6_family = AF_INET6;
		address.six.sin6_port = htons(port);
		memcpy(&address.six.sin6_addr, gid->raw, 16);
	} else {
		address.four.sin_family = AF_INET;
		address.four.sin_port = htons(port);
		memcpy(&address.four.sin_addr, gid->raw + 12, 4);
	}
	return address;
}

static void send_from(const union ibv_gid *source, uint8_t tos,
		      enum forge_opcode opcode, const struct end *to,
		      uint32_t psn, const void *rest, size_t bytes)
{
	const struct forged forged = { opcode, to, psn, rest, bytes };
	union any_address address = address_of(&destination, 0);
	uint8_t packet[LARGEST];
	size_t all = put_packet(packet, source, &forged);

	/* The CRC does not depend on these bits. */
	if (v6)
		put16(packet, 0x6000 | tos << 4);
	else
		packet[1] = tos;
	CHECK_EQ(sendto(raw_sockets[v6], packet, all, 0, &address.any,
			sizeof(address)),
		 (ssize_t)all);
}

/*
 * The CRCs are computed for IP identification 0, which the kernel uses for packets with DF of a
 * socket that is not connected.
 */
static int train_socket(const union ibv_gid *source, size_t piece)
{
	union any_address address = address_of(source, SOURCE_PORT);
	int size = (int)piece, whole = IP_PMTUDISC_DO, again = 1;
	int fd = socket(families[is_v6(source)], SOCK_DGRAM, 0);

	CHECK(fd >= 0);
	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &again,
			    sizeof(again)),
		 0);
	/* By IPv6 a socket of this kind sends with a checksum, which the CRC does not depend on. */
	if (!is_v6(source))
		CHECK_EQ(setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &whole,
				    sizeof(whole)),
			 0);
	CHECK_EQ(setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)),
		 0);
	CHECK_EQ(bind(fd, &address.any, sizeof(address)), 0);
	return fd;
}

static void train_send(const union ibv_gid *from, const union ibv_gid *to,
		       const uint8_t *train, size_t bytes, size_t piece)
{
	union any_address address = address_of(to, PORT);
	int fd = train_socket(from, piece);

	CHECK_EQ(sendto(fd, train, bytes, 0, &address.any, sizeof(address)),
		 (ssize_t)bytes);
	close(fd);
}

static void train_to(const union ibv_gid *to, const struct forged *packets,
		     int count, size_t piece)
{
	uint8_t packet[LARGEST], train[32768];
	size_t all, before, bytes = 0;
	int i;

	for (i = 0; i < count; i++) {
		all = put_packet(packet, &own, &packets[i]);
		before = before_bth(packet);
		all -= before;
		CHECK(bytes + all <= sizeof(train));
		memcpy(train + bytes, packet + before, all);
		bytes += all;
	}
	train_send(&own, to, train, bytes, piece);
}

void forge_train(const struct forged *packets, int count, size_t piece)
{
	train_to(&own, packets, count, piece);
}

void forge_train_astray(const union ibv_gid *group,
			const struct forged *packets, int count, size_t piece)
{
	train_to(group ?: &strangers[v6], packets, count, piece);
}

void forge(enum forge_opcode opcode, const struct end *to, uint32_t psn,
	   const void *rest, size_t bytes)
{
	send_from(&own, 0, opcode, to, psn, rest, bytes);
}

void forge_by_stranger(enum forge_opcode opcode, const struct end *to,
		       uint32_t psn, const void *rest, size_t bytes)
{
	send_from(&strangers[v6], 0, opcode, to, psn, rest, bytes);
}

void forge_marked(enum forge_opcode opcode, const struct end *to, uint32_t psn,
		  const void *rest, size_t bytes, bool stranger)
{
	send_from(stranger ? &strangers[v6] : &own, MARKED, opcode, to, psn,
		  rest, bytes);
}

void forge_make(struct forge_packet *packet, const struct forged *forged)
{
	packet->length = put_packet(packet->bytes, &own, forged);
}

uint8_t *forge_byte(struct forge_packet *packet, size_t at)
{
	CHECK(at < packet->length);
	return packet->bytes + at;
}

uint8_t *forge_bth(struct forge_packet *packet, size_t at)
{
	return forge_byte(packet, before_bth(packet->bytes) + at);
}

size_t forge_before(const struct forge_packet *packet)
{
	return before_bth(packet->bytes);
}

void forge_set_qpn(struct forge_packet *packet, uint32_t qpn)
{
	put32(forge_bth(packet, 4), qpn);
}

void forge_set_stranger(struct forge_packet *packet)
{
	if (packet_is_v6(packet->bytes))
		memcpy(packet->bytes + 8, strangers[1].raw, 16);
	else
		memcpy(packet->bytes + 12, strangers[0].raw + 12, 4);
}

void forge_set_psn(struct forge_packet *packet, uint32_t psn)
{
	uint8_t *at = forge_bth(packet, 9);

	at[0] = psn >> 16;
	at[1] = psn >> 8;
	at[2] = psn;
}

void forge_finish(struct forge_packet *packet)
{
	put_lengths(packet->bytes, packet->length);
	put_crc(packet->bytes, packet->length);
}

/* The address at @six of an IPv6 header, or at @four of an IPv4 header. */
static union ibv_gid address_at(const struct forge_packet *packet, size_t six,
				size_t four)
{
	union ibv_gid gid = strangers[0];

	if (packet_is_v6(packet->bytes))
		memcpy(gid.raw, packet->bytes + six, 16);
	else
		memcpy(gid.raw + 12, packet->bytes + four, 4);
	return gid;
}

/* Packets of one family. */
static void send_alike(struct forge_packet *packets, int count)
{
	int fd = raw_sockets[packet_is_v6(packets->bytes)];
	union any_address addresses[MOST];
	struct mmsghdr messages[MOST] = {};
	struct iovec pieces[MOST];
	union ibv_gid to;
	int i, done;

	CHECK(count <= MOST);
	for (i = 0; i < count; i++) {
		pieces[i].iov_base = packets[i].bytes;
		pieces[i].iov_len = packets[i].length;
		to = address_at(&packets[i], 24, 16);
		addresses[i] = address_of(&to, 0);
		messages[i].msg_hdr.msg_iov = &pieces[i];
		messages[i].msg_hdr.msg_iovlen = 1;
		messages[i].msg_hdr.msg_name = &addresses[i];
		messages[i].msg_hdr.msg_namelen = sizeof(addresses[i]);
	}
	for (i = 0; i < count; i += done) {
		done = sendmmsg(fd, messages + i, count - i, 0);
		CHECK(done > 0);
	}
}

void forge_send(struct forge_packet *packets, int count)
{
	int i, alike;

	for (i = 0; i < count; i += alike) {
		for (alike = 1; i + alike < count; alike++)
			if (packet_is_v6(packets[i + alike].bytes) !=
			    packet_is_v6(packets[i].bytes))
				break;
		send_alike(packets + i, alike);
	}
}

void forge_send_train(const struct forge_packet *packets, int count)
{
	size_t before = before_bth(packets->bytes);
	size_t each = packets->length - before, bytes = count * each;
	union ibv_gid from = address_at(packets, 8, 12);
	uint8_t train[65536 - BEFORE];
	int i;

	CHECK(bytes <= sizeof(train));
	for (i = 0; i < count; i++) {
		CHECK_EQ(packets[i].length, packets->length);
		memcpy(train + i * each, packets[i].bytes + before, each);
	}
	train_send(&from, &own, train, bytes, each);
}

void forge_listen(void)
{
	struct timeval limit = { .tv_sec = (time_t)patience(10) };

	listening[v6] = socket(families[v6], SOCK_RAW, IPPROTO_UDP);
	CHECK(listening[v6] >= 0);
	CHECK_EQ(setsockopt(listening[v6], SOL_SOCKET, SO_RCVTIMEO, &limit,
			    sizeof(limit)),
		 0);
}

void forge_hear_cnp(void)
{
	uint8_t packet[LARGEST],
		want[BTH_BYTES + CNP_BYTES] = { FORGE_CNP, 0x40 };
	ssize_t bytes;
	uint32_t crc;

	/* Of IPv6 a raw socket does not tell the header. */
	CHECK(!v6);
	put16(want + 2, 0xffff);
	put32(want + 4, BECN | FORGED_QPN);
	do {
		bytes = recv(listening[0], packet, sizeof(packet), 0);
		CHECK(bytes > 0);
	} while (bytes < BEFORE + BTH_BYTES || packet[BEFORE] != FORGE_CNP);
	CHECK_EQ(bytes, BEFORE + sizeof(want) + CRC_BYTES);
	CHECK(!memcmp(packet + BEFORE, want, sizeof(want)));
	CHECK(!(packet[1] & MARKED));
	CHECK(!memcmp(packet + 12, own.raw + 12, 4));
	CHECK(!memcmp(packet + 16, own.raw + 12, 4));
	crc = icrc(packet, bytes - CRC_BYTES);
	CHECK(!memcmp(packet + bytes - CRC_BYTES, &crc, CRC_BYTES));
}

static uint32_t get24(const uint8_t *at)
{
	return at[0] << 16 | at[1] << 8 | at[2];
}

/* A buffer that was received, and what is unread of it. */
static struct {
	uint8_t bytes[1 << 16];
	const uint8_t *next, *end;
} heard;

/*
 * A buffer may have several packets (GSO), and a raw socket does not tell their size: the next one has
 * the same P_Key and queue pair, and the next number. NULL: there is none.
 */
static const uint8_t *heard_behind(const uint8_t *bth)
{
	const uint8_t *at = bth + BTH_BYTES + CRC_BYTES;

	for (; at + BTH_BYTES + CRC_BYTES <= heard.end; at += 4)
		if (!memcmp(at + 2, bth + 2, 6) &&
		    get24(at + 9) == ((get24(bth + 9) + 1) & 0xffffff))
			return at;
	return NULL;
}

static const uint8_t *hear_any(void)
{
	const uint8_t *bth = heard.next;
	ssize_t bytes;

	if (!bth) {
		bytes = recv(listening[v6], heard.bytes, sizeof(heard.bytes),
			     0);
		CHECK(bytes >= heard_before[v6] + BTH_BYTES);
		heard.end = heard.bytes + bytes;
		bth = heard.bytes + heard_before[v6];
	}
	heard.next = heard_behind(bth);
	return bth;
}

/* The next packet of this opcode to the forged peer. */
static const uint8_t *hear(enum forge_opcode opcode)
{
	const uint8_t *bth;

	do
		bth = hear_any();
	while (bth[0] != opcode || get24(bth + 5) != FORGED_QPN);
	return bth;
}

static void count_by(int family)
{
	/* The word of the queue pair's number. */
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, heard_before[family] + 4),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffffff),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FORGED_QPN, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, ~0u),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog filter = { sizeof(steps) / sizeof(*steps),
					   steps };
	int bytes = 64 << 20, fd;

	fd = socket(families[family], SOCK_RAW | SOCK_NONBLOCK, IPPROTO_UDP);
	CHECK(fd >= 0);
	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter,
			    sizeof(filter)),
		 0);
	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes,
			    sizeof(bytes)),
		 0);
	listening[family] = fd;
}

void forge_count(void)
{
	count_by(0);
	count_by(1);
}

static unsigned long heard_by(int family)
{
	unsigned long packets = 0;
	const uint8_t *bth;
	ssize_t bytes;

	while ((bytes = recv(listening[family], heard.bytes,
			     sizeof(heard.bytes), 0)) > 0) {
		heard.end = heard.bytes + bytes;
		for (bth = heard.bytes + heard_before[family]; bth;
		     bth = heard_behind(bth))
			packets++;
	}
	return packets;
}

unsigned long forge_heard(void)
{
	return heard_by(0) + heard_by(1);
}

bool forge_hear_read(struct forge_read *read)
{
	const uint8_t *bth = heard.bytes + heard_before[v6];
	uint32_t high, low, length;

	do
		if (recv(listening[v6], heard.bytes, sizeof(heard.bytes), 0) <
		    heard_before[v6] + BTH_BYTES + 16)
			return false;
	while (bth[0] != FORGE_READ_REQUEST);
	memcpy(&high, bth + BTH_BYTES, 4);
	memcpy(&low, bth + BTH_BYTES + 4, 4);
	memcpy(&length, bth + BTH_BYTES + 12, 4);
	read->psn = get24(bth + 9);
	read->addr = (uint64_t)ntohl(high) << 32 | ntohl(low);
	read->length = ntohl(length);
	return true;
}

bool forge_hear_asking(enum forge_opcode opcode, uint32_t psn)
{
	const uint8_t *bth;

	do
		bth = hear(opcode);
	while (get24(bth + 9) != (psn & 0xffffff));
	return bth[8] & 0x80;
}

void forge_hear_gap(uint32_t expected, uint32_t gap, uint32_t count)
{
	enum { NAK_GAP = 0x70 };
	const uint8_t *bth = hear(FORGE_ACKNOWLEDGE);

	CHECK_EQ(bth[BTH_BYTES], NAK_GAP);
	CHECK_EQ(get24(bth + 9), expected & 0xffffff);
	CHECK_EQ(get24(bth + BTH_BYTES + 1), (gap - expected) << 12 | count);
}

void forge_hear_nak(uint8_t syndrome, uint32_t psn)
{
	enum { ACK_KINDS = 0x20 }; /* syndromes below it are no NAKs */
	const uint8_t *bth;

	do
		bth = hear(FORGE_ACKNOWLEDGE);
	while (bth[BTH_BYTES] < ACK_KINDS);
	CHECK_EQ(bth[BTH_BYTES], syndrome);
	CHECK_EQ(get24(bth + 9), psn & 0xffffff);
}

size_t forge_reth(void *to, uint64_t addr, uint32_t rkey, uint32_t length)
{
	uint8_t *reth = to;

	put64(reth, addr);
	put32(reth + 8, rkey);
	put32(reth + 12, length);
	return 16;
}

size_t forge_aeth(void *to, uint8_t syndrome, uint32_t msn)
{
	put32(to, (uint32_t)syndrome << 24 | (msn & 0xffffff));
	return 4;
}

size_t forge_atomic(void *to, uint64_t addr, uint32_t rkey, uint64_t swap_add,
		    uint64_t compare)
{
	uint8_t *header = to;

	put64(header, addr);
	put32(header + 8, rkey);
	put64(header + 12, swap_add);
	put64(header + 20, compare);
	return 28;
}
