// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Builds packets byte by byte, and sends them by a raw socket.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/ip.h>
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

static int raw_socket = -1, listening = -1;
static bool selective;
/* Where packets go, but for trains. */
static uint8_t destination[4];

void forge_to_group(const union ibv_gid *group)
{
	memcpy(destination, (group ? group : &dev.gid)->raw + 12,
	       sizeof(destination));
}

void forge_selective(bool says)
{
	selective = says;
}

void forge_open(void)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	need_root();
	CHECK(!memcmp(dev.gid.raw, mapped, sizeof(mapped)));
	raw_socket = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	CHECK(raw_socket >= 0);
	/* What goes to a group goes by the netdev that has this address. */
	CHECK_EQ(setsockopt(raw_socket, IPPROTO_IP, IP_MULTICAST_IF,
			    dev.gid.raw + 12, sizeof(struct in_addr)),
		 0);
	forge_selective(false);
	forge_to_group(NULL);
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
		.gid = dev.gid,
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

/* Fields that routers may change count as all ones. */
static uint32_t icrc(const uint8_t *packet, size_t bytes)
{
	static const uint8_t ones[8] = {
		255, 255, 255, 255, 255, 255, 255, 255
	};
	static const int changed[] = { 1, 8, 10, 11, 26, 27, 32 };
	uint8_t masked[LARGEST];
	size_t i;

	memcpy(masked, packet, bytes);
	for (i = 0; i < sizeof(changed) / sizeof(*changed); i++)
		masked[changed[i]] = 255;
	return ~crc_add(crc_add(~0u, ones, sizeof(ones)), masked, bytes);
}

size_t forged_bytes(const struct forged *packet)
{
	return BTH_BYTES + packet->bytes + CRC_BYTES;
}

/* Build @forged with IP and UDP headers. Return: the length of @packet. */
static size_t put_packet(uint8_t *packet, const uint8_t *source,
			 const struct forged *forged)
{
	size_t all = BEFORE + forged_bytes(forged);
	uint8_t *bth = packet + BEFORE;
	uint32_t crc;

	CHECK(all <= LARGEST && !(forged->bytes % 4));
	memset(packet, 0, BEFORE);
	packet[0] = 0x45;
	put16(packet + 2, all);
	put16(packet + 6, 0x4000);
	packet[8] = 64;
	packet[9] = IPPROTO_UDP;
	memcpy(packet + 12, source, 4);
	memcpy(packet + 16, destination, 4);
	put16(packet + 20, SOURCE_PORT);
	put16(packet + 22, PORT);
	put16(packet + 24, all - IP_BYTES);
	bth[0] = forged->opcode;
	bth[1] = 0x40;
	put16(bth + 2, 0xffff);
	put32(bth + 4, forged->to->qp->qp_num |
			       (forged->opcode == FORGE_CNP ? BECN : 0));
	put32(bth + 8,
	      1u << 31 | (uint32_t)selective << 24 | (forged->psn & 0xffffff));
	if (forged->bytes)
		memcpy(bth + BTH_BYTES, forged->rest, forged->bytes);
	crc = icrc(packet, all - CRC_BYTES);
	memcpy(packet + all - CRC_BYTES, &crc, CRC_BYTES);
	return all;
}

static const uint8_t stranger_address[] = { 127, 1, 2, 3 };

static struct sockaddr_in own_address(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port) };

	memcpy(&address.sin_addr, dev.gid.raw + 12, 4);
	return address;
}

static struct sockaddr_in destination_address(void)
{
	struct sockaddr_in address = own_address(0);

	memcpy(&address.sin_addr, destination, 4);
	return address;
}

static void send_from(const uint8_t *source, uint8_t tos,
		      enum forge_opcode opcode, const struct end *to,
		      uint32_t psn, const void *rest, size_t bytes)
{
	const struct forged forged = { opcode, to, psn, rest, bytes };
	struct sockaddr_in address = destination_address();
	uint8_t packet[LARGEST];
	size_t all = put_packet(packet, source, &forged);

	/* The CRC does not depend on this byte. */
	packet[1] = tos;
	CHECK_EQ(sendto(raw_socket, packet, all, 0, (void *)&address,
			sizeof(address)),
		 (ssize_t)all);
}

/*
 * The CRCs are computed for IP identification 0, which the kernel uses for packets with DF of a
 * socket that is not connected.
 */
static int train_socket(const uint8_t *source, size_t piece)
{
	struct sockaddr_in address = own_address(SOURCE_PORT);
	int size = (int)piece, whole = IP_PMTUDISC_DO, again = 1;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	memcpy(&address.sin_addr, source, 4);
	CHECK(fd >= 0);
	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &again,
			    sizeof(again)),
		 0);
	CHECK_EQ(setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &whole,
			    sizeof(whole)),
		 0);
	CHECK_EQ(setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)),
		 0);
	CHECK_EQ(bind(fd, (void *)&address, sizeof(address)), 0);
	return fd;
}

/* From and to addresses of IPv4. */
static void train_send(const uint8_t *from, const uint8_t *to,
		       const uint8_t *train, size_t bytes, size_t piece)
{
	struct sockaddr_in address = own_address(PORT);
	int fd = train_socket(from, piece);

	memcpy(&address.sin_addr, to, sizeof(address.sin_addr));
	CHECK_EQ(sendto(fd, train, bytes, 0, (void *)&address, sizeof(address)),
		 (ssize_t)bytes);
	close(fd);
}

static void train_to(const uint8_t *to, const struct forged *packets, int count,
		     size_t piece)
{
	uint8_t packet[LARGEST], train[32768];
	size_t all, bytes = 0;
	int i;

	for (i = 0; i < count; i++) {
		all = put_packet(packet, dev.gid.raw + 12, &packets[i]) -
		      BEFORE;
		CHECK(bytes + all <= sizeof(train));
		memcpy(train + bytes, packet + BEFORE, all);
		bytes += all;
	}
	train_send(dev.gid.raw + 12, to, train, bytes, piece);
}

void forge_train(const struct forged *packets, int count, size_t piece)
{
	train_to(dev.gid.raw + 12, packets, count, piece);
}

void forge_train_astray(const uint8_t *group, const struct forged *packets,
			int count, size_t piece)
{
	train_to(group ?: stranger_address, packets, count, piece);
}

void forge(enum forge_opcode opcode, const struct end *to, uint32_t psn,
	   const void *rest, size_t bytes)
{
	send_from(dev.gid.raw + 12, 0, opcode, to, psn, rest, bytes);
}

void forge_by_stranger(enum forge_opcode opcode, const struct end *to,
		       uint32_t psn, const void *rest, size_t bytes)
{
	send_from(stranger_address, 0, opcode, to, psn, rest, bytes);
}

void forge_marked(enum forge_opcode opcode, const struct end *to, uint32_t psn,
		  const void *rest, size_t bytes, bool stranger)
{
	send_from(stranger ? stranger_address : dev.gid.raw + 12, MARKED,
		  opcode, to, psn, rest, bytes);
}

void forge_make(struct forge_packet *packet, const struct forged *forged)
{
	packet->length = put_packet(packet->bytes, dev.gid.raw + 12, forged);
}

uint8_t *forge_byte(struct forge_packet *packet, size_t at)
{
	CHECK(at < packet->length);
	return packet->bytes + at;
}

void forge_set_qpn(struct forge_packet *packet, uint32_t qpn)
{
	put32(packet->bytes + BEFORE + 4, qpn);
}

void forge_set_stranger(struct forge_packet *packet)
{
	memcpy(packet->bytes + 12, stranger_address, 4);
}

void forge_set_psn(struct forge_packet *packet, uint32_t psn)
{
	uint8_t *at = packet->bytes + BEFORE + 9;

	at[0] = psn >> 16;
	at[1] = psn >> 8;
	at[2] = psn;
}

void forge_finish(struct forge_packet *packet)
{
	size_t end = packet->length - CRC_BYTES;
	uint32_t crc;

	put16(packet->bytes + 2, packet->length);
	put16(packet->bytes + IP_BYTES + 4, packet->length - IP_BYTES);
	crc = icrc(packet->bytes, end);
	memcpy(packet->bytes + end, &crc, CRC_BYTES);
}

void forge_send(struct forge_packet *packets, int count)
{
	struct sockaddr_in address = destination_address();
	struct mmsghdr messages[MOST] = {};
	struct iovec pieces[MOST];
	int i, done;

	CHECK(count <= MOST);
	for (i = 0; i < count; i++) {
		pieces[i].iov_base = packets[i].bytes;
		pieces[i].iov_len = packets[i].length;
		messages[i].msg_hdr.msg_iov = &pieces[i];
		messages[i].msg_hdr.msg_iovlen = 1;
		messages[i].msg_hdr.msg_name = &address;
		messages[i].msg_hdr.msg_namelen = sizeof(address);
	}
	for (i = 0; i < count; i += done) {
		done = sendmmsg(raw_socket, messages + i, count - i, 0);
		CHECK(done > 0);
	}
}

void forge_send_train(const struct forge_packet *packets, int count)
{
	size_t each = packets->length - BEFORE, bytes = count * each;
	uint8_t train[65536 - BEFORE];
	int i;

	CHECK(bytes <= sizeof(train));
	for (i = 0; i < count; i++) {
		CHECK_EQ(packets[i].length, packets->length);
		memcpy(train + i * each, packets[i].bytes + BEFORE, each);
	}
	train_send(packets->bytes + 12, dev.gid.raw + 12, train, bytes, each);
}

void forge_listen(void)
{
	struct timeval limit = { .tv_sec = (time_t)patience(10) };

	listening = socket(AF_INET, SOCK_RAW, IPPROTO_UDP);
	CHECK(listening >= 0);
	CHECK_EQ(setsockopt(listening, SOL_SOCKET, SO_RCVTIMEO, &limit,
			    sizeof(limit)),
		 0);
}

void forge_hear_cnp(void)
{
	uint8_t packet[LARGEST],
		want[BTH_BYTES + CNP_BYTES] = { FORGE_CNP, 0x40 };
	ssize_t bytes;
	uint32_t crc;

	put16(want + 2, 0xffff);
	put32(want + 4, BECN | FORGED_QPN);
	do {
		bytes = recv(listening, packet, sizeof(packet), 0);
		CHECK(bytes > 0);
	} while (bytes < BEFORE + BTH_BYTES || packet[BEFORE] != FORGE_CNP);
	CHECK_EQ(bytes, BEFORE + sizeof(want) + CRC_BYTES);
	CHECK(!memcmp(packet + BEFORE, want, sizeof(want)));
	CHECK(!(packet[1] & MARKED));
	CHECK(!memcmp(packet + 12, dev.gid.raw + 12, 4));
	CHECK(!memcmp(packet + 16, dev.gid.raw + 12, 4));
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
		bytes = recv(listening, heard.bytes, sizeof(heard.bytes), 0);
		CHECK(bytes >= BEFORE + BTH_BYTES);
		heard.end = heard.bytes + bytes;
		bth = heard.bytes + BEFORE;
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

void forge_count(void)
{
	/* The word of the queue pair's number. */
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, BEFORE + 4),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffffff),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FORGED_QPN, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, ~0u),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog filter = { sizeof(steps) / sizeof(*steps),
					   steps };
	int bytes = 64 << 20;

	listening = socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_UDP);
	CHECK(listening >= 0);
	CHECK_EQ(setsockopt(listening, SOL_SOCKET, SO_ATTACH_FILTER, &filter,
			    sizeof(filter)),
		 0);
	CHECK_EQ(setsockopt(listening, SOL_SOCKET, SO_RCVBUFFORCE, &bytes,
			    sizeof(bytes)),
		 0);
}

unsigned long forge_heard(void)
{
	unsigned long packets = 0;
	const uint8_t *bth;
	ssize_t bytes;

	while ((bytes = recv(listening, heard.bytes, sizeof(heard.bytes), 0)) >
	       0) {
		heard.end = heard.bytes + bytes;
		for (bth = heard.bytes + BEFORE; bth; bth = heard_behind(bth))
			packets++;
	}
	return packets;
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
