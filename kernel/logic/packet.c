// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The table of packets, and parsing and building of their headers.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <rdma/pinion-abi.h>

#include "op.h"
#include "packet.h"
#include "psn.h"

#define RC PINION_SVC_RC		/* and XRC */
#define CONNECTED (PINION_SVC_RC | PINION_SVC_UC)
#define ALL (CONNECTED | PINION_SVC_UD)

/* Bytes of headers. */
#define XRCETH_BYTES		4
#define DETH_BYTES		8
#define FETH_BYTES		4
#define RETH_BYTES		16
#define ATOMICETH_BYTES		28
#define AETH_BYTES		4
#define ATOMICACKETH_BYTES	8
#define IMMDT_BYTES		4
#define IETH_BYTES		4

const struct pinion_packet_kind pinion_packet_kinds[PINION_PACKET_CODES] = {
	[PINION_SEND_FIRST] = {
		.payload = PINION_PAYLOAD_FULL,
		.position = PINION_BEGINS,
		.op = PINION_OP_SEND,
		.services = CONNECTED,
	},
	[PINION_SEND_MIDDLE] = {
		.payload = PINION_PAYLOAD_FULL,
		.op = PINION_OP_SEND,
		.services = CONNECTED,
	},
	[PINION_SEND_LAST] = {
		.payload = PINION_PAYLOAD_REST,
		.position = PINION_ENDS,
		.op = PINION_OP_SEND,
		.services = CONNECTED,
	},
	[PINION_SEND_LAST_IMM] = {
		.headers = PINION_IMMDT,
		.bytes = IMMDT_BYTES,
		.payload = PINION_PAYLOAD_REST,
		.position = PINION_ENDS,
		.op = PINION_OP_SEND_WITH_IMM,
		.services = CONNECTED,
	},
	[PINION_SEND_ONLY] = {
		.payload = PINION_PAYLOAD_ANY,
		.position = PINION_ALONE,
		.op = PINION_OP_SEND,
		.services = ALL,
	},
	[PINION_SEND_ONLY_IMM] = {
		.headers = PINION_IMMDT,
		.bytes = IMMDT_BYTES,
		.payload = PINION_PAYLOAD_ANY,
		.position = PINION_ALONE,
		.op = PINION_OP_SEND_WITH_IMM,
		.services = ALL,
	},
	[PINION_WRITE_FIRST] = {
		.headers = PINION_RETH,
		.bytes = RETH_BYTES,
		.payload = PINION_PAYLOAD_FULL,
		.position = PINION_BEGINS,
		.op = PINION_OP_RDMA_WRITE,
		.services = CONNECTED,
	},
	[PINION_WRITE_MIDDLE] = {
		.payload = PINION_PAYLOAD_FULL,
		.op = PINION_OP_RDMA_WRITE,
		.services = CONNECTED,
	},
	[PINION_WRITE_LAST] = {
		.payload = PINION_PAYLOAD_REST,
		.position = PINION_ENDS,
		.op = PINION_OP_RDMA_WRITE,
		.services = CONNECTED,
	},
	[PINION_WRITE_LAST_IMM] = {
		.headers = PINION_IMMDT,
		.bytes = IMMDT_BYTES,
		.payload = PINION_PAYLOAD_REST,
		.position = PINION_ENDS,
		.op = PINION_OP_RDMA_WRITE_WITH_IMM,
		.services = CONNECTED,
	},
	[PINION_WRITE_ONLY] = {
		.headers = PINION_RETH,
		.bytes = RETH_BYTES,
		.payload = PINION_PAYLOAD_ANY,
		.position = PINION_ALONE,
		.op = PINION_OP_RDMA_WRITE,
		.services = CONNECTED,
	},
	[PINION_WRITE_ONLY_IMM] = {
		.headers = PINION_RETH | PINION_IMMDT,
		.bytes = RETH_BYTES + IMMDT_BYTES,
		.payload = PINION_PAYLOAD_ANY,
		.position = PINION_ALONE,
		.op = PINION_OP_RDMA_WRITE_WITH_IMM,
		.services = CONNECTED,
	},
	[PINION_READ_REQUEST] = {
		.headers = PINION_RETH,
		.bytes = RETH_BYTES,
		.position = PINION_ALONE,
		.op = PINION_OP_RDMA_READ,
		.services = RC,
	},
	[PINION_READ_FIRST] = {
		.headers = PINION_AETH,
		.bytes = AETH_BYTES,
		.role = PINION_RESPONSE,
		.payload = PINION_PAYLOAD_FULL,
		.position = PINION_BEGINS,
		.services = RC,
	},
	[PINION_READ_MIDDLE] = {
		.role = PINION_RESPONSE,
		.payload = PINION_PAYLOAD_FULL,
		.services = RC,
	},
	[PINION_READ_LAST] = {
		.headers = PINION_AETH,
		.bytes = AETH_BYTES,
		.role = PINION_RESPONSE,
		.payload = PINION_PAYLOAD_REST,
		.position = PINION_ENDS,
		.services = RC,
	},
	/* Also the answer to FLUSH and ATOMIC WRITE, without payload. */
	[PINION_READ_ONLY] = {
		.headers = PINION_AETH,
		.bytes = AETH_BYTES,
		.role = PINION_RESPONSE,
		.payload = PINION_PAYLOAD_ANY,
		.position = PINION_ALONE,
		.services = RC,
	},
	[PINION_ACKNOWLEDGE] = {
		.headers = PINION_AETH,
		.bytes = AETH_BYTES,
		.role = PINION_RESPONSE,
		.position = PINION_ALONE,
		.services = RC,
	},
	[PINION_ATOMIC_ACKNOWLEDGE] = {
		.headers = PINION_AETH | PINION_ATOMICACKETH,
		.bytes = AETH_BYTES + ATOMICACKETH_BYTES,
		.role = PINION_RESPONSE,
		.position = PINION_ALONE,
		.services = RC,
	},
	[PINION_COMPARE_SWAP] = {
		.headers = PINION_ATOMICETH,
		.bytes = ATOMICETH_BYTES,
		.position = PINION_ALONE,
		.op = PINION_OP_ATOMIC_CMP_AND_SWP,
		.services = RC,
	},
	[PINION_FETCH_ADD] = {
		.headers = PINION_ATOMICETH,
		.bytes = ATOMICETH_BYTES,
		.position = PINION_ALONE,
		.op = PINION_OP_ATOMIC_FETCH_AND_ADD,
		.services = RC,
	},
	[PINION_SEND_LAST_INV] = {
		.headers = PINION_IETH,
		.bytes = IETH_BYTES,
		.payload = PINION_PAYLOAD_REST,
		.position = PINION_ENDS,
		.op = PINION_OP_SEND_WITH_INV,
		.services = RC,
	},
	[PINION_SEND_ONLY_INV] = {
		.headers = PINION_IETH,
		.bytes = IETH_BYTES,
		.payload = PINION_PAYLOAD_ANY,
		.position = PINION_ALONE,
		.op = PINION_OP_SEND_WITH_INV,
		.services = RC,
	},
	[PINION_FLUSH_REQUEST] = {
		.headers = PINION_FETH | PINION_RETH,
		.bytes = FETH_BYTES + RETH_BYTES,
		.position = PINION_ALONE,
		.op = PINION_OP_FLUSH,
		.services = RC,
	},
	[PINION_ATOMIC_WRITE] = {
		.headers = PINION_RETH,
		.bytes = RETH_BYTES,
		.payload = PINION_PAYLOAD_WORD,
		.position = PINION_ALONE,
		.op = PINION_OP_ATOMIC_WRITE,
		.services = RC,
	},
};

const struct pinion_packet_kind pinion_packet_notice = {
	.bytes = PINION_CNP_BYTES,
	.role = PINION_NOTICE,
	.position = PINION_ALONE,
	.services = ALL,
};

/* By the upper three bits of the opcode. Reserved transports, and RD, have none. */
#define TRANSPORT(opcode)	((opcode) >> PINION_TRANSPORT_SHIFT)

const struct pinion_packet_transport pinion_packet_transports[PINION_TRANSPORTS] = {
	[TRANSPORT(PINION_TRANSPORT_RC)] = { .service = PINION_SVC_RC },
	[TRANSPORT(PINION_TRANSPORT_UC)] = { .service = PINION_SVC_UC },
	[TRANSPORT(PINION_TRANSPORT_UD)] = {
		.service = PINION_SVC_UD,
		.headers = { [PINION_REQUEST] = PINION_DETH },
		.bytes = { [PINION_REQUEST] = DETH_BYTES },
	},
	/* Only requests name a shared queue; answers go to the initiator's queue pair. */
	[TRANSPORT(PINION_TRANSPORT_XRC)] = {
		.service = PINION_SVC_RC,
		.headers = { [PINION_REQUEST] = PINION_XRCETH },
		.bytes = { [PINION_REQUEST] = XRCETH_BYTES },
	},
};

/* Read a number and advance. The caller has checked the length. */
static u32 packet_get32(const u8 **at)
{
	u32 value = get_unaligned_be32(*at);

	*at += sizeof(value);
	return value;
}

static u64 packet_get64(const u8 **at)
{
	u64 value = get_unaligned_be64(*at);

	*at += sizeof(value);
	return value;
}

static void packet_put32(u8 **at, u32 value)
{
	put_unaligned_be32(value, *at);
	*at += sizeof(value);
}

static void packet_put64(u8 **at, u64 value)
{
	put_unaligned_be64(value, *at);
	*at += sizeof(value);
}

#define QPN_MASK	0xffffff	/* likewise SRQNs and MSNs */

/* In the second byte of the BTH. */
#define BTH_SOLICITED	BIT(7)
#define BTH_MIGRATED	BIT(6)
#define BTH_PAD		4		/* two bits from here on */
#define BTH_VERSION	0xf

/* In the second (FECN, BECN) and the third word of the BTH, above QPN and PSN. */
#define BTH_FECN	BIT(31)
#define BTH_BECN	BIT(30)
#define BTH_ACK_REQUEST	BIT(31)
/* The lowest of the reserved bits above the PSN, which others send as 0 and ignore. */
#define BTH_SELECTIVE	BIT(24)

#define FETH_LEVEL	4		/* two bits from here on; below it are the types */
#define AETH_SYNDROME	24

static void packet_get_bth(const u8 *at, struct pinion_packet *packet)
{
	u32 qpn, psn;

	packet->opcode = at[0];
	packet->solicited = at[1] & BTH_SOLICITED;
	packet->migrated = at[1] & BTH_MIGRATED;
	packet->pkey = get_unaligned_be16(at + 2);
	at += 4;
	qpn = packet_get32(&at);
	psn = packet_get32(&at);
	packet->fecn = qpn & BTH_FECN;
	packet->becn = qpn & BTH_BECN;
	packet->qpn = qpn & QPN_MASK;
	packet->ack_request = psn & BTH_ACK_REQUEST;
	packet->selective = psn & BTH_SELECTIVE;
	packet->psn = psn & PINION_PSN_MASK;
}

static void packet_put_bth(u8 **at, const struct pinion_packet *packet)
{
	u8 *bth = *at;

	bth[0] = packet->opcode;
	bth[1] = (packet->solicited ? BTH_SOLICITED : 0) |
		 (packet->migrated ? BTH_MIGRATED : 0) |
		 pinion_packet_pad(packet->payload) << BTH_PAD;
	put_unaligned_be16(packet->pkey, bth + 2);
	*at += 4;
	packet_put32(at, (packet->fecn ? BTH_FECN : 0) | (packet->becn ? BTH_BECN : 0) |
			 (packet->qpn & QPN_MASK));
	packet_put32(at, (packet->ack_request ? BTH_ACK_REQUEST : 0) |
			 (packet->selective ? BTH_SELECTIVE : 0) |
			 (packet->psn & PINION_PSN_MASK));
}

/* Parse the headers behind the BTH, in the order of enum pinion_headers. */
static void packet_get_rest(const u8 *at, u32 headers, struct pinion_packet *packet)
{
	u32 word;

	if (headers & PINION_XRCETH)
		packet->srqn = packet_get32(&at) & QPN_MASK;
	if (headers & PINION_DETH) {
		packet->qkey = packet_get32(&at);
		packet->src_qpn = packet_get32(&at) & QPN_MASK;
	}
	if (headers & PINION_FETH) {
		word = packet_get32(&at);
		packet->flush_types = word & PINION_FETH_TYPES;
		packet->flush_level = word >> FETH_LEVEL & PINION_FETH_LEVELS;
	}
	if (headers & (PINION_RETH | PINION_ATOMICETH)) {
		packet->addr = packet_get64(&at);
		packet->rkey = packet_get32(&at);
	}
	if (headers & PINION_RETH)
		packet->length = packet_get32(&at);
	if (headers & PINION_ATOMICETH) {
		packet->swap_add = packet_get64(&at);
		packet->compare = packet_get64(&at);
	}
	if (headers & PINION_AETH) {
		word = packet_get32(&at);
		packet->syndrome = word >> AETH_SYNDROME;
		packet->msn = word & QPN_MASK;
	}
	if (headers & PINION_ATOMICACKETH)
		packet->before = packet_get64(&at);
	if (headers & PINION_IMMDT)
		packet->imm = get_unaligned((const __be32 *)at);
	if (headers & PINION_IETH)
		packet->invalidate = packet_get32(&at);
}

static void packet_put_rest(u8 **at, u32 headers, const struct pinion_packet *packet)
{
	if (headers & PINION_XRCETH)
		packet_put32(at, packet->srqn & QPN_MASK);
	if (headers & PINION_DETH) {
		packet_put32(at, packet->qkey);
		packet_put32(at, packet->src_qpn & QPN_MASK);
	}
	if (headers & PINION_FETH)
		packet_put32(at, (packet->flush_level & PINION_FETH_LEVELS) << FETH_LEVEL |
				 (packet->flush_types & PINION_FETH_TYPES));
	if (headers & (PINION_RETH | PINION_ATOMICETH)) {
		packet_put64(at, packet->addr);
		packet_put32(at, packet->rkey);
	}
	if (headers & PINION_RETH)
		packet_put32(at, packet->length);
	if (headers & PINION_ATOMICETH) {
		packet_put64(at, packet->swap_add);
		packet_put64(at, packet->compare);
	}
	if (headers & PINION_AETH)
		packet_put32(at, (u32)packet->syndrome << AETH_SYNDROME |
				 (packet->msn & QPN_MASK));
	if (headers & PINION_ATOMICACKETH)
		packet_put64(at, packet->before);
	if (headers & PINION_IMMDT) {
		put_unaligned(packet->imm, (__be32 *)*at);
		*at += sizeof(packet->imm);
	}
	if (headers & PINION_IETH)
		packet_put32(at, packet->invalidate);
}

/* Check the length as far as it does not depend on the MTU. */
static bool packet_may_carry(const struct pinion_packet_kind *kind, u32 payload)
{
	switch (kind->payload) {
	case PINION_PAYLOAD_NONE:
		return !payload;
	case PINION_PAYLOAD_WORD:
		return payload == sizeof(u64);
	case PINION_PAYLOAD_ANY:
		return true;
	default:
		return payload;
	}
}

enum pinion_packet_flaw pinion_packet_parse(const u8 *data, u32 size,
					    struct pinion_packet *packet)
{
	const struct pinion_packet_kind *kind;
	u32 headers, around, pad;

	*packet = (struct pinion_packet){};
	/* With their pad all packets are a multiple of 4 bytes. */
	if (size < PINION_BTH_BYTES + PINION_ICRC_BYTES || size % 4)
		return PINION_PACKET_SHORT;
	if (data[1] & BTH_VERSION)
		return PINION_PACKET_VERSION;
	kind = pinion_packet_kind(data[0]);
	if (!kind)
		return PINION_PACKET_OPCODE;
	around = pinion_packet_header_bytes(data[0]) + PINION_ICRC_BYTES;
	pad = data[1] >> BTH_PAD & 3;
	if (size < around || size - around < pad)
		return PINION_PACKET_SHORT;
	packet_get_bth(data, packet);
	packet->payload = size - around - pad;
	headers = pinion_packet_headers(data[0]);
	packet_get_rest(data + PINION_BTH_BYTES, headers, packet);
	return packet_may_carry(kind, packet->payload) ? PINION_PACKET_SOUND :
							 PINION_PACKET_PAYLOAD;
}

u32 pinion_packet_build(u8 *data, const struct pinion_packet *packet)
{
	u8 *at = data;

	packet_put_bth(&at, packet);
	if (packet->opcode == PINION_OPCODE_CNP) {
		memset(at, 0, PINION_CNP_BYTES);
		return at + PINION_CNP_BYTES - data;
	}
	packet_put_rest(&at, pinion_packet_headers(packet->opcode), packet);
	return at - data;
}

bool pinion_packet_fits(const struct pinion_packet *packet, u32 mtu)
{
	const struct pinion_packet_kind *kind = pinion_packet_kind(packet->opcode);

	if (!kind || packet->payload > mtu)
		return false;
	if (kind->payload == PINION_PAYLOAD_FULL)
		return packet->payload == mtu;
	return packet_may_carry(kind, packet->payload);
}
