// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Puts packets together byte by byte, and sends them by a raw socket.
 */
#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "forge.h"

enum {
	PORT = 4791,
	IP_BYTES = 20,
	UDP_BYTES = 8,
	BTH_BYTES = 12,
	CRC_BYTES = 4,
	BEFORE = IP_BYTES + UDP_BYTES,
	LARGEST = BEFORE + BTH_BYTES + 32 + 4096 + CRC_BYTES,
};

static int raw_socket = -1;

void forge_begin(void)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	need_root();
	if (!dev.packets)
		skip("no packets to peers on this host");
	CHECK(!memcmp(dev.gid.raw, mapped, sizeof(mapped)));
	raw_socket = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	CHECK(raw_socket >= 0);
}

void forge_connect(struct end *end)
{
	const struct peer peer = {
		.gid = dev.gid,
		.qpn = FORGED_QPN,
		.psn = FORGED_PSN,
	};

	end_init(end);
	end_connect(end, &peer);
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
	int bit;

	while (bytes--) {
		crc ^= *data++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* What routers change is not in it. */
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

static void send_from(const uint8_t *source, enum forge_opcode opcode,
		      const struct end *to, uint32_t psn, const void *rest,
		      size_t bytes)
{
	uint8_t packet[LARGEST] = { 0x45 }, *bth = packet + BEFORE;
	size_t all = BEFORE + BTH_BYTES + bytes + CRC_BYTES;
	struct sockaddr_in address = { .sin_family = AF_INET };
	uint32_t crc;

	CHECK(all <= sizeof(packet) && !(bytes % 4));
	put16(packet + 2, all);
	put16(packet + 6, 0x4000);
	packet[8] = 64;
	packet[9] = IPPROTO_UDP;
	memcpy(packet + 12, source, 4);
	memcpy(packet + 16, dev.gid.raw + 12, 4);
	put16(packet + 20, 50000);
	put16(packet + 22, PORT);
	put16(packet + 24, all - IP_BYTES);
	bth[0] = opcode;
	bth[1] = 0x40;
	put16(bth + 2, 0xffff);
	put32(bth + 4, to->qp->qp_num);
	put32(bth + 8, 1u << 31 | (psn & 0xffffff));
	if (bytes)
		memcpy(bth + BTH_BYTES, rest, bytes);
	crc = icrc(packet, all - CRC_BYTES);
	memcpy(packet + all - CRC_BYTES, &crc, CRC_BYTES);
	memcpy(&address.sin_addr, dev.gid.raw + 12, 4);
	CHECK_EQ(sendto(raw_socket, packet, all, 0, (void *)&address,
			sizeof(address)),
		 (ssize_t)all);
}

void forge(enum forge_opcode opcode, const struct end *to, uint32_t psn,
	   const void *rest, size_t bytes)
{
	send_from(dev.gid.raw + 12, opcode, to, psn, rest, bytes);
}

void forge_by_stranger(enum forge_opcode opcode, const struct end *to,
		       uint32_t psn, const void *rest, size_t bytes)
{
	send_from((uint8_t[]){ 127, 1, 2, 3 }, opcode, to, psn, rest, bytes);
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
