// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random bytes as a RoCEv2 packet, in a buffer of exactly their length: parsing stays in bounds,
 * and building the packet again gives the same bytes. Then the same headers with every other
 * opcode. The input is a byte for the path MTU, then the UDP payload.
 */
#include <linux/kernel.h>

#include "../../../kernel/logic/packet.c"

#include "must.h"

static u8 *exactly(size_t length)
{
	/* malloc(0) may be NULL. */
	u8 *memory = calloc(1, length + !length);

	MUST(memory);
	return memory;
}

static void must_be_same(const struct pinion_packet *a,
			 const struct pinion_packet *b)
{
	MUST(a->opcode == b->opcode && a->solicited == b->solicited &&
	     a->migrated == b->migrated && a->fecn == b->fecn &&
	     a->becn == b->becn && a->ack_request == b->ack_request &&
	     a->selective == b->selective);
	MUST(a->pkey == b->pkey && a->qpn == b->qpn && a->psn == b->psn);
	MUST(a->srqn == b->srqn && a->qkey == b->qkey &&
	     a->src_qpn == b->src_qpn);
	MUST(a->addr == b->addr && a->rkey == b->rkey &&
	     a->length == b->length && a->swap_add == b->swap_add &&
	     a->compare == b->compare);
	MUST(a->flush_types == b->flush_types &&
	     a->flush_level == b->flush_level);
	MUST(a->syndrome == b->syndrome && a->msn == b->msn &&
	     a->before == b->before);
	MUST(a->imm == b->imm && a->invalidate == b->invalidate &&
	     a->payload == b->payload);
}

static void must_be_in_bounds(const struct pinion_packet *packet)
{
	MUST(packet->qpn <= QPN_MASK && packet->srqn <= QPN_MASK &&
	     packet->src_qpn <= QPN_MASK && packet->msn <= QPN_MASK);
	MUST(packet->psn <= PINION_PSN_MASK);
	MUST(packet->flush_types <= PINION_FETH_TYPES &&
	     packet->flush_level <= PINION_FETH_LEVELS);
}

/* Builds the headers, and a payload of zeros. The caller frees it. */
static u8 *packet_bytes(const struct pinion_packet *packet, u32 *size)
{
	u32 headers = pinion_packet_header_bytes(packet->opcode);
	u8 *bytes, *whole;

	MUST(headers <= PINION_PACKET_HEADERS);
	bytes = exactly(headers);
	MUST(pinion_packet_build(bytes, packet) == headers);
	*size = pinion_packet_bytes(packet);
	MUST(*size % 4 == 0 && *size >= headers + packet->payload + 4);
	whole = exactly(*size);
	memcpy(whole, bytes, headers);
	free(bytes);
	return whole;
}

/* The built packet parses to what it was built from. */
static void check_built(const struct pinion_packet *packet)
{
	struct pinion_packet again;
	u32 size;
	u8 *bytes = packet_bytes(packet, &size);

	MUST(!pinion_packet_parse(bytes, size, &again));
	must_be_same(&again, packet);
	free(bytes);
}

/*
 * The built packet equals the received one in all bits that have a meaning: those that differ in
 * a packet of ones. The payload is one byte, so the pad is included.
 */
static void check_came(const struct pinion_packet *packet, const u8 *data)
{
	struct pinion_packet ones;
	u32 headers, size, i;
	u8 *built, *says;

	memset(&ones, 0xff, sizeof(ones));
	ones.opcode = packet->opcode;
	ones.solicited = true;
	ones.migrated = true;
	ones.fecn = true;
	ones.becn = true;
	ones.ack_request = true;
	ones.selective = true;
	ones.payload = 1;
	headers = pinion_packet_header_bytes(packet->opcode);
	built = packet_bytes(packet, &size);
	says = packet_bytes(&ones, &size);
	for (i = 0; i < headers; i++)
		MUST((data[i] & (i ? says[i] : 0xff)) == built[i]);
	free(says);
	free(built);
}

static void check_payload(const struct pinion_packet *packet)
{
	switch (pinion_packet_kind(packet->opcode)->payload) {
	case PINION_PAYLOAD_NONE:
		MUST(!packet->payload);
		break;
	case PINION_PAYLOAD_WORD:
		MUST(packet->payload == 8);
		break;
	case PINION_PAYLOAD_ANY:
		break;
	default:
		MUST(packet->payload);
	}
}

/* A payload length that @opcode allows, as close to @payload as possible. */
static u32 payload_for(u8 opcode, u32 payload)
{
	switch (pinion_packet_kind(opcode)->payload) {
	case PINION_PAYLOAD_NONE:
		return 0;
	case PINION_PAYLOAD_WORD:
		return 8;
	case PINION_PAYLOAD_ANY:
		return payload;
	default:
		return payload + !payload;
	}
}

static void check_as(struct pinion_packet packet, u8 opcode)
{
	struct pinion_packet kept;
	u32 size;
	u8 *bytes;

	packet.opcode = opcode;
	packet.payload = payload_for(opcode, packet.payload);
	bytes = packet_bytes(&packet, &size);
	MUST(!pinion_packet_parse(bytes, size, &kept));
	must_be_in_bounds(&kept);
	/* Without headers that this opcode does not have. */
	check_built(&kept);
	free(bytes);
}

static void check_mtu(const struct pinion_packet *packet, u32 mtu)
{
	bool fits = pinion_packet_fits(packet, mtu);

	if (packet->payload > mtu)
		MUST(!fits);
	else if (pinion_packet_kind(packet->opcode)->payload ==
		 PINION_PAYLOAD_FULL)
		MUST(fits == (packet->payload == mtu));
	else
		MUST(fits);
}

static void check(const u8 *data, u32 size, u32 mtu)
{
	struct pinion_packet packet;
	enum pinion_packet_flaw flaw = pinion_packet_parse(data, size, &packet);
	u32 opcode;

	MUST(flaw <= PINION_PACKET_PAYLOAD);
	must_be_in_bounds(&packet);
	MUST(packet.payload <= size);
	if (flaw)
		return;
	MUST(pinion_packet_bytes(&packet) == size);
	check_built(&packet);
	check_came(&packet, data);
	check_payload(&packet);
	check_mtu(&packet, mtu);
	for (opcode = 0; opcode < 256; opcode++)
		if (pinion_packet_kind(opcode))
			check_as(packet, opcode);
		else
			MUST(!pinion_packet_headers(opcode));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u8 *packet;

	if (!size)
		return 0;
	packet = exactly(size - 1);
	memcpy(packet, data + 1, size - 1);
	check(packet, size - 1, 256U << data[0] % 5);
	free(packet);
	return 0;
}
