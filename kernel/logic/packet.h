/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * RoCEv2 packets, from the base transport header (BTH) to the invariant CRC. Headers of received
 * packets are parsed into struct pinion_packet here; no other code reads their bytes.
 */
#ifndef PINION_LOGIC_PACKET_H
#define PINION_LOGIC_PACKET_H

#include <linux/bits.h>
#include <linux/types.h>

#define PINION_UDP_PORT		4791
#define PINION_ICRC_BYTES	4
#define PINION_BTH_BYTES	12
/* BTH, XRCETH and AtomicETH; all others are shorter. */
#define PINION_PACKET_HEADERS	44
#define PINION_PKEY_DEFAULT	0xffff

/* The upper three bits of an opcode. */
enum pinion_transport {
	PINION_TRANSPORT_RC	= 0x00,
	PINION_TRANSPORT_UC	= 0x20,
	PINION_TRANSPORT_UD	= 0x60,
	PINION_TRANSPORT_CNP	= 0x80,
	PINION_TRANSPORT_XRC	= 0xa0,
	PINION_TRANSPORT_MASK	= 0xe0,
	PINION_TRANSPORT_SHIFT	= 5,
	PINION_TRANSPORTS	= 8,
};

/* The lower five, the same for each transport that has the packet at all. */
enum pinion_packet_code {
	PINION_SEND_FIRST,
	PINION_SEND_MIDDLE,
	PINION_SEND_LAST,
	PINION_SEND_LAST_IMM,
	PINION_SEND_ONLY,
	PINION_SEND_ONLY_IMM,
	PINION_WRITE_FIRST,
	PINION_WRITE_MIDDLE,
	PINION_WRITE_LAST,
	PINION_WRITE_LAST_IMM,
	PINION_WRITE_ONLY,
	PINION_WRITE_ONLY_IMM,
	PINION_READ_REQUEST,
	PINION_READ_FIRST,
	PINION_READ_MIDDLE,
	PINION_READ_LAST,
	PINION_READ_ONLY,
	PINION_ACKNOWLEDGE,
	PINION_ATOMIC_ACKNOWLEDGE,
	PINION_COMPARE_SWAP,
	PINION_FETCH_ADD,
	PINION_SEND_LAST_INV	= 0x16,
	PINION_SEND_ONLY_INV	= 0x17,
	PINION_FLUSH_REQUEST	= 0x1c,
	PINION_ATOMIC_WRITE	= 0x1d,
	PINION_PACKET_CODES	= 0x20,
};

/* Congestion notification: not in the table of packets. */
#define PINION_OPCODE_CNP	0x81
#define PINION_CNP_BYTES	16		/* reserved, after its BTH */

/* In the order in which they follow the BTH. */
enum pinion_headers {
	PINION_XRCETH		= BIT(0),
	PINION_DETH		= BIT(1),
	PINION_FETH		= BIT(2),
	PINION_RETH		= BIT(3),
	PINION_ATOMICETH	= BIT(4),
	PINION_AETH		= BIT(5),
	PINION_ATOMICACKETH	= BIT(6),
	PINION_IMMDT		= BIT(7),
	PINION_IETH		= BIT(8),
};

enum pinion_packet_role {
	PINION_REQUEST,
	PINION_RESPONSE,		/* for the send queue */
	PINION_NOTICE,			/* of congestion */
};

/* The length of a packet's payload. */
enum pinion_payload {
	PINION_PAYLOAD_NONE,
	PINION_PAYLOAD_FULL,		/* the path MTU */
	PINION_PAYLOAD_REST,		/* 1 to the path MTU */
	PINION_PAYLOAD_ANY,		/* 0 to the path MTU */
	PINION_PAYLOAD_WORD,		/* 8 bytes */
};

enum pinion_position {
	PINION_BEGINS		= BIT(0),
	PINION_ENDS		= BIT(1),
	PINION_ALONE		= PINION_BEGINS | PINION_ENDS,
};

struct pinion_packet_kind {
	u16 headers;			/* enum pinion_headers, but those of its transport */
	u8 bytes;			/* of these headers; without the BTH */
	u8 role;			/* enum pinion_packet_role */
	u8 payload;			/* enum pinion_payload */
	u8 position;			/* enum pinion_position */
	u8 op;				/* requests: enum pinion_opcode, if the packet tells it */
	u8 services;			/* enum pinion_service that use it; 0: no such packet */
};

/* What packets of a transport have besides: requests, and responses. */
struct pinion_packet_transport {
	u8 service;			/* enum pinion_service; 0: no such transport */
	u8 headers[2];			/* enum pinion_headers, by enum pinion_packet_role */
	u8 bytes[2];
};

/* AETH: the kind of answer is in the upper three bits of the syndrome. */
enum pinion_aeth {
	PINION_AETH_ACK		= 0x00,
	PINION_AETH_RNR		= 0x20,	/* lower five bits: the timer */
	PINION_AETH_NAK		= 0x60,	/* lower five bits: PINION_NAK_CODE_* */
	PINION_AETH_KIND	= 0xe0,
	PINION_NAK_CODE_SEQUENCE	= 0,
	PINION_NAK_CODE_REQUEST		= 1,
	PINION_NAK_CODE_ACCESS		= 2,
	PINION_NAK_CODE_OPERATION	= 3,
	/* Ours, for peers whose packets are pinion_packet.selective: it names a gap; see below. */
	PINION_NAK_CODE_GAP		= 16,
	/* An ACK with unlimited credits: credits are not used. */
	PINION_AETH_UNLIMITED	= 0x1f,
};

/*
 * A NAK of PINION_NAK_CODE_GAP acknowledges the packets before its PSN. Instead of an MSN it has
 * the number of the first packet that is missing, counted from its PSN, and how many are missing.
 */
#define PINION_GAP_BITS		12
#define PINION_GAP_MASK		((1 << PINION_GAP_BITS) - 1)

static inline u32 pinion_gap_msn(u32 begin, u32 count)
{
	return begin << PINION_GAP_BITS | count;
}

/* FETH */
enum pinion_feth {
	PINION_FETH_GLOBAL	= BIT(0),	/* placement type: visible */
	PINION_FETH_PERSISTENT	= BIT(1),
	PINION_FETH_TYPES	= 0xf,
	PINION_FETH_RANGE	= 0,		/* selectivity */
	PINION_FETH_REGION	= 1,
	PINION_FETH_LEVELS	= 3,
};

/* The fields of a packet's headers; 0 for headers that it does not have. */
struct pinion_packet {
	u8 opcode;
	bool solicited;
	bool migrated;			/* MigReq: always set by hardware, so by us, too */
	bool fecn;
	bool becn;
	bool ack_request;
	bool selective;			/* reserved; the sender knows selective repeat */
	u16 pkey;
	u32 qpn;			/* of the destination */
	u32 psn;

	u32 srqn;			/* XRCETH */
	u32 qkey;			/* DETH */
	u32 src_qpn;
	u64 addr;			/* RETH, AtomicETH */
	u32 rkey;
	u32 length;			/* RETH: of the whole message */
	u64 swap_add;			/* AtomicETH */
	u64 compare;
	u8 flush_types;			/* FETH */
	u8 flush_level;
	u8 syndrome;			/* AETH */
	u32 msn;
	u64 before;			/* AtomicAckETH */
	__be32 imm;			/* ImmDt; not converted */
	u32 invalidate;			/* IETH */

	u32 payload;			/* bytes, without the pad */
};

/* Why a packet is dropped, in the order of the checks. */
enum pinion_packet_flaw {
	PINION_PACKET_SOUND,
	PINION_PACKET_SHORT,		/* too short for its headers, pad and ICRC */
	PINION_PACKET_VERSION,		/* version of the transport header */
	PINION_PACKET_OPCODE,
	PINION_PACKET_PAYLOAD,		/* no packet of this opcode has that length */
};

extern const struct pinion_packet_kind pinion_packet_kinds[PINION_PACKET_CODES];
extern const struct pinion_packet_kind pinion_packet_notice;
extern const struct pinion_packet_transport pinion_packet_transports[PINION_TRANSPORTS];

static inline const struct pinion_packet_transport *pinion_packet_transport(u8 opcode)
{
	return &pinion_packet_transports[opcode >> PINION_TRANSPORT_SHIFT];
}

/* The entry of @opcode, which may be any number; NULL: no such packet. */
static inline const struct pinion_packet_kind *pinion_packet_kind(u8 opcode)
{
	/* The mask bounds the index, for speculative execution, too. */
	const struct pinion_packet_kind *kind =
		&pinion_packet_kinds[opcode & (PINION_PACKET_CODES - 1)];

	if (opcode == PINION_OPCODE_CNP)
		return &pinion_packet_notice;
	return kind->services & pinion_packet_transport(opcode)->service ? kind : NULL;
}

/* All headers of @opcode (enum pinion_headers), and their bytes with the BTH. */
static inline u32 pinion_packet_headers(u8 opcode)
{
	const struct pinion_packet_kind *kind = pinion_packet_kind(opcode);

	if (!kind || kind->role == PINION_NOTICE)
		return 0;
	return kind->headers | pinion_packet_transport(opcode)->headers[kind->role];
}

static inline u32 pinion_packet_header_bytes(u8 opcode)
{
	const struct pinion_packet_kind *kind = pinion_packet_kind(opcode);

	if (!kind)
		return PINION_BTH_BYTES;
	if (kind->role == PINION_NOTICE)
		return PINION_BTH_BYTES + kind->bytes;
	return PINION_BTH_BYTES + kind->bytes + pinion_packet_transport(opcode)->bytes[kind->role];
}

/*
 * Parse the @size bytes of a UDP payload at @data, from BTH to ICRC; the caller checks the ICRC.
 * The packet's payload is at pinion_packet_header_bytes(). Reserved fields are ignored, as the
 * specification demands, but for one bit that is ours (pinion_packet.selective).
 */
enum pinion_packet_flaw pinion_packet_parse(const u8 *data, u32 size,
					    struct pinion_packet *packet);

/* Write the headers to @data, of PINION_PACKET_HEADERS bytes. Return: their length. */
u32 pinion_packet_build(u8 *data, const struct pinion_packet *packet);

/* The number of pad bytes (zeros) between payload and ICRC. */
static inline u32 pinion_packet_pad(u32 payload)
{
	return -payload & 3;
}

/* From BTH to ICRC. */
static inline u32 pinion_packet_bytes(const struct pinion_packet *packet)
{
	return pinion_packet_header_bytes(packet->opcode) + packet->payload +
	       pinion_packet_pad(packet->payload) + PINION_ICRC_BYTES;
}

/* Does the payload have the length that the opcode demands, with path MTU @mtu? */
bool pinion_packet_fits(const struct pinion_packet *packet, u32 mtu);

#endif
