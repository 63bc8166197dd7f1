// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets, against bytes written by hand, the core's list of opcodes, and a bitwise parser with
 * its own table.
 */
#include <kunit/test.h>
#include <rdma/ib_pack.h>

#include "../kernel/logic/packet.c"
#include "random.h"

/*
 * The specification's tables, by letters. Headers: x(rceth) d(eth) f(eth) r(eth) a(tomiceth) k
 * (aeth) o(riginal, atomicacketh) i(mmdt) v (ieth). Where in the message: f(irst) m(iddle)
 * l(ast) o(nly). Payload: n(one) f(ull) r(est) a(ny) w(ord).
 */
struct fact {
	u8 opcode;
	const char *headers;
	char position;
	char payload;
	char role;		/* request (q) or response (a) */
	u8 op;
};

static const struct fact facts[] = {
	{ IB_OPCODE_RC_SEND_FIRST, "", 'f', 'f', 'q', PINION_OP_SEND },
	{ IB_OPCODE_RC_SEND_MIDDLE, "", 'm', 'f', 'q', PINION_OP_SEND },
	{ IB_OPCODE_RC_SEND_LAST, "", 'l', 'r', 'q', PINION_OP_SEND },
	{ IB_OPCODE_RC_SEND_LAST_WITH_IMMEDIATE, "i", 'l', 'r', 'q', PINION_OP_SEND_WITH_IMM },
	{ IB_OPCODE_RC_SEND_ONLY, "", 'o', 'a', 'q', PINION_OP_SEND },
	{ IB_OPCODE_RC_SEND_ONLY_WITH_IMMEDIATE, "i", 'o', 'a', 'q', PINION_OP_SEND_WITH_IMM },
	{ IB_OPCODE_RC_RDMA_WRITE_FIRST, "r", 'f', 'f', 'q', PINION_OP_RDMA_WRITE },
	{ IB_OPCODE_RC_RDMA_WRITE_MIDDLE, "", 'm', 'f', 'q', PINION_OP_RDMA_WRITE },
	{ IB_OPCODE_RC_RDMA_WRITE_LAST, "", 'l', 'r', 'q', PINION_OP_RDMA_WRITE },
	{ IB_OPCODE_RC_RDMA_WRITE_LAST_WITH_IMMEDIATE, "i", 'l', 'r', 'q',
	  PINION_OP_RDMA_WRITE_WITH_IMM },
	{ IB_OPCODE_RC_RDMA_WRITE_ONLY, "r", 'o', 'a', 'q', PINION_OP_RDMA_WRITE },
	{ IB_OPCODE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, "ri", 'o', 'a', 'q',
	  PINION_OP_RDMA_WRITE_WITH_IMM },
	{ IB_OPCODE_RC_RDMA_READ_REQUEST, "r", 'o', 'n', 'q', PINION_OP_RDMA_READ },
	{ IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, "k", 'f', 'f', 'a' },
	{ IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, "", 'm', 'f', 'a' },
	{ IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, "k", 'l', 'r', 'a' },
	{ IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, "k", 'o', 'a', 'a' },
	{ IB_OPCODE_RC_ACKNOWLEDGE, "k", 'o', 'n', 'a' },
	{ IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, "ko", 'o', 'n', 'a' },
	{ IB_OPCODE_RC_COMPARE_SWAP, "a", 'o', 'n', 'q', PINION_OP_ATOMIC_CMP_AND_SWP },
	{ IB_OPCODE_RC_FETCH_ADD, "a", 'o', 'n', 'q', PINION_OP_ATOMIC_FETCH_AND_ADD },
	{ IB_OPCODE_RC_SEND_LAST_WITH_INVALIDATE, "v", 'l', 'r', 'q', PINION_OP_SEND_WITH_INV },
	{ IB_OPCODE_RC_SEND_ONLY_WITH_INVALIDATE, "v", 'o', 'a', 'q', PINION_OP_SEND_WITH_INV },
	{ IB_OPCODE_RC_FLUSH, "fr", 'o', 'n', 'q', PINION_OP_FLUSH },
	{ IB_OPCODE_RC_ATOMIC_WRITE, "r", 'o', 'w', 'q', PINION_OP_ATOMIC_WRITE },
};

/* RC and XRC have all operations; UC and UD have those listed here. */
static const u8 on_uc[] = {
	IB_OPCODE_UC_SEND_FIRST, IB_OPCODE_UC_SEND_MIDDLE, IB_OPCODE_UC_SEND_LAST,
	IB_OPCODE_UC_SEND_LAST_WITH_IMMEDIATE, IB_OPCODE_UC_SEND_ONLY,
	IB_OPCODE_UC_SEND_ONLY_WITH_IMMEDIATE, IB_OPCODE_UC_RDMA_WRITE_FIRST,
	IB_OPCODE_UC_RDMA_WRITE_MIDDLE, IB_OPCODE_UC_RDMA_WRITE_LAST,
	IB_OPCODE_UC_RDMA_WRITE_LAST_WITH_IMMEDIATE, IB_OPCODE_UC_RDMA_WRITE_ONLY,
	IB_OPCODE_UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE,
};

static const u8 on_ud[] = { IB_OPCODE_UD_SEND_ONLY, IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE };

static const struct fact *fact_of(u8 opcode)
{
	u8 transport = opcode & 0xe0;
	u32 i;

	if (transport == 0x20 && !memchr(on_uc, opcode, sizeof(on_uc)))
		return NULL;
	if (transport == 0x60 && !memchr(on_ud, opcode, sizeof(on_ud)))
		return NULL;
	if (transport != 0 && transport != 0x20 && transport != 0x60 && transport != 0xa0)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(facts); i++)
		if (facts[i].opcode == (opcode & 0x1f))
			return &facts[i];
	return NULL;
}

/* Describes an opcode by letters, in the order of the packet. */
static void letters_of(u8 opcode, char *letters)
{
	const struct fact *fact = fact_of(opcode);

	*letters = 0;
	if (!fact)
		return;
	if ((opcode & 0xe0) == 0xa0 && fact->role == 'q')
		strcat(letters, "x");
	if ((opcode & 0xe0) == 0x60)
		strcat(letters, "d");
	strcat(letters, fact->headers);
}

static u32 size_of_letter(char letter)
{
	switch (letter) {
	case 'r':
		return 16;
	case 'a':
		return 28;
	case 'd':
	case 'o':
		return 8;
	default:
		return 4;
	}
}

/* Bits are numbered as in the specification, from the first one of the packet. */
static u64 bits(const u8 *data, u32 first, u32 count)
{
	u64 value = 0;

	for (; count--; first++)
		value = value << 1 | (data[first / 8] >> (7 - first % 8) & 1);
	return value;
}

static void set_bits(u8 *data, u32 first, u32 count, u64 value)
{
	u32 i;

	for (i = 0; i < count; i++) {
		u32 bit = first + i;
		u8 mask = 0x80 >> bit % 8;

		if (value >> (count - 1 - i) & 1)
			data[bit / 8] |= mask;
		else
			data[bit / 8] &= ~mask;
	}
}

static u32 read_header(const u8 *data, u32 at, char letter, struct pinion_packet *p)
{
	switch (letter) {
	case 'x':
		p->srqn = bits(data, at + 8, 24);
		break;
	case 'd':
		p->qkey = bits(data, at, 32);
		p->src_qpn = bits(data, at + 40, 24);
		break;
	case 'f':
		p->flush_level = bits(data, at + 26, 2);
		p->flush_types = bits(data, at + 28, 4);
		break;
	case 'r':
		p->addr = bits(data, at, 64);
		p->rkey = bits(data, at + 64, 32);
		p->length = bits(data, at + 96, 32);
		break;
	case 'a':
		p->addr = bits(data, at, 64);
		p->rkey = bits(data, at + 64, 32);
		p->swap_add = bits(data, at + 96, 64);
		p->compare = bits(data, at + 160, 64);
		break;
	case 'k':
		p->syndrome = bits(data, at, 8);
		p->msn = bits(data, at + 8, 24);
		break;
	case 'o':
		p->before = bits(data, at, 64);
		break;
	case 'i':
		p->imm = cpu_to_be32(bits(data, at, 32));
		break;
	case 'v':
		p->invalidate = bits(data, at, 32);
		break;
	}
	return at + 8 * size_of_letter(letter);
}

static bool may_be(char payload, u32 bytes)
{
	switch (payload) {
	case 'n':
		return !bytes;
	case 'w':
		return bytes == 8;
	case 'a':
		return true;
	default:
		return bytes;
	}
}

/* The oracle. */
static enum pinion_packet_flaw judge(const u8 *data, u32 size, struct pinion_packet *p)
{
	char letters[8], *letter;
	u32 at = 96, rest;

	memset(p, 0, sizeof(*p));
	if (size < 16 || size & 3)
		return PINION_PACKET_SHORT;
	if (bits(data, 12, 4))
		return PINION_PACKET_VERSION;
	if (!fact_of(data[0]) && data[0] != 0x81)
		return PINION_PACKET_OPCODE;
	letters_of(data[0], letters);
	for (letter = letters; *letter; letter++)
		at += 8 * size_of_letter(*letter);
	if (data[0] == 0x81)
		at += 8 * 16;
	if (size < at / 8 + 4 + bits(data, 10, 2))
		return PINION_PACKET_SHORT;
	rest = size - at / 8 - 4 - bits(data, 10, 2);

	p->opcode = bits(data, 0, 8);
	p->solicited = bits(data, 8, 1);
	p->migrated = bits(data, 9, 1);
	p->pkey = bits(data, 16, 16);
	p->fecn = bits(data, 32, 1);
	p->becn = bits(data, 33, 1);
	p->qpn = bits(data, 40, 24);
	p->ack_request = bits(data, 64, 1);
	p->selective = bits(data, 71, 1);
	p->psn = bits(data, 72, 24);
	p->payload = rest;
	for (at = 96, letter = letters; *letter; letter++)
		at = read_header(data, at, *letter, p);
	if (data[0] == 0x81)
		return rest ? PINION_PACKET_PAYLOAD : PINION_PACKET_SOUND;
	return may_be(fact_of(data[0])->payload, rest) ? PINION_PACKET_SOUND :
							 PINION_PACKET_PAYLOAD;
}

static void expect_word(struct kunit *test, const struct pinion_packet *p, const char *word,
			u64 is, u64 expected)
{
	KUNIT_EXPECT_EQ_MSG(test, is, expected, "%s of %#x", word, p->opcode);
}

static void expect_same(struct kunit *test, const struct pinion_packet *a,
			const struct pinion_packet *b)
{
	expect_word(test, a, "opcode", a->opcode, b->opcode);
	expect_word(test, a, "solicited", a->solicited, b->solicited);
	expect_word(test, a, "migrated", a->migrated, b->migrated);
	expect_word(test, a, "fecn", a->fecn, b->fecn);
	expect_word(test, a, "becn", a->becn, b->becn);
	expect_word(test, a, "ack_request", a->ack_request, b->ack_request);
	expect_word(test, a, "selective", a->selective, b->selective);
	expect_word(test, a, "pkey", a->pkey, b->pkey);
	expect_word(test, a, "qpn", a->qpn, b->qpn);
	expect_word(test, a, "psn", a->psn, b->psn);
	expect_word(test, a, "srqn", a->srqn, b->srqn);
	expect_word(test, a, "qkey", a->qkey, b->qkey);
	expect_word(test, a, "src_qpn", a->src_qpn, b->src_qpn);
	expect_word(test, a, "addr", a->addr, b->addr);
	expect_word(test, a, "rkey", a->rkey, b->rkey);
	expect_word(test, a, "length", a->length, b->length);
	expect_word(test, a, "swap_add", a->swap_add, b->swap_add);
	expect_word(test, a, "compare", a->compare, b->compare);
	expect_word(test, a, "flush_types", a->flush_types, b->flush_types);
	expect_word(test, a, "flush_level", a->flush_level, b->flush_level);
	expect_word(test, a, "syndrome", a->syndrome, b->syndrome);
	expect_word(test, a, "msn", a->msn, b->msn);
	expect_word(test, a, "before", a->before, b->before);
	expect_word(test, a, "invalidate", a->invalidate, b->invalidate);
	expect_word(test, a, "payload", a->payload, b->payload);
	KUNIT_EXPECT_TRUE(test, a->imm == b->imm);
}

static u32 header_sum(u8 opcode)
{
	char letters[8], *letter;
	u32 sum = opcode == 0x81 ? 28 : 12;

	letters_of(opcode, letters);
	for (letter = letters; *letter; letter++)
		sum += size_of_letter(*letter);
	return sum;
}

static void rows_are_those_of_the_specification(struct kunit *test)
{
	static const char position[] = "mflo";
	static const char payload[] = "nfraw";
	const struct pinion_packet_kind *kind;
	const struct fact *fact;
	u32 opcode;

	for (opcode = 0; opcode < 256; opcode++) {
		kind = pinion_packet_kind(opcode);
		fact = fact_of(opcode);
		if (opcode == 0x81) {
			KUNIT_ASSERT_NOT_NULL(test, kind);
			KUNIT_EXPECT_EQ(test, kind->role, PINION_NOTICE);
			continue;
		}
		KUNIT_EXPECT_EQ_MSG(test, !!kind, !!fact, "opcode %#x", opcode);
		if (!kind || !fact)
			continue;
		KUNIT_EXPECT_EQ(test, position[kind->position], fact->position);
		KUNIT_EXPECT_EQ(test, payload[kind->payload], fact->payload);
		KUNIT_EXPECT_EQ(test, kind->role == PINION_REQUEST, fact->role == 'q');
		KUNIT_EXPECT_EQ(test, kind->op, fact->op);
		KUNIT_EXPECT_EQ(test, pinion_packet_header_bytes(opcode), header_sum(opcode));
		KUNIT_EXPECT_LE(test, pinion_packet_header_bytes(opcode), PINION_PACKET_HEADERS);
	}
}

/* Written by hand, field by field, after the specification's figures. */
static const u8 write_only_imm[] = {
	0x0b, 0xd0, 0xff, 0xff,			/* solicited, MigReq, a pad of 1 */
	0x00, 0x00, 0x01, 0x2c,			/* to QP 300 */
	0x80, 0xab, 0xcd, 0xef,			/* asks for an ACK */
	0x00, 0x00, 0x7f, 0x12, 0x34, 0x56, 0x78, 0x9a,
	0x00, 0x00, 0x2a, 0x17,			/* rkey */
	0x00, 0x00, 0x00, 0x03,
	0xde, 0xad, 0xbe, 0xef,			/* immediate */
	'a', 'b', 'c', 0,
	0x11, 0x22, 0x33, 0x44,			/* ICRC */
};

static void a_write_of_3_bytes_with_immediate(struct kunit *test)
{
	u8 built[PINION_PACKET_HEADERS];
	struct pinion_packet p;

	KUNIT_ASSERT_EQ(test, pinion_packet_parse(write_only_imm, sizeof(write_only_imm), &p),
			PINION_PACKET_SOUND);
	KUNIT_EXPECT_TRUE(test, p.solicited && p.migrated && p.ack_request && !p.fecn && !p.becn);
	KUNIT_EXPECT_EQ(test, p.pkey, 0xffff);
	KUNIT_EXPECT_EQ(test, p.qpn, 300);
	KUNIT_EXPECT_EQ(test, p.psn, 0xabcdef);
	KUNIT_EXPECT_EQ(test, p.addr, 0x7f123456789aULL);
	KUNIT_EXPECT_EQ(test, p.rkey, 0x2a17);
	KUNIT_EXPECT_EQ(test, p.length, 3);
	KUNIT_EXPECT_EQ(test, p.payload, 3);
	KUNIT_EXPECT_TRUE(test, p.imm == cpu_to_be32(0xdeadbeef));
	KUNIT_EXPECT_EQ(test, pinion_packet_build(built, &p), 32);
	KUNIT_EXPECT_MEMEQ(test, built, write_only_imm, 32);
	KUNIT_EXPECT_EQ(test, pinion_packet_bytes(&p), sizeof(write_only_imm));
}

static const u8 nak_access[] = {
	0x11, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x11, 0x00, 0x00, 0x00, 0x05,
	0x62, 0x00, 0x00, 0x04,			/* remote access error, MSN 4 */
	0, 0, 0, 0,
};

static const u8 fetch_add_xrc[] = {
	0xb4, 0x40, 0x80, 0x01, 0x00, 0x12, 0x34, 0x56, 0x80, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x02, 0x03,			/* SRQ 515 */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x08, 0x00, 0x00, 0x00, 0x63,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0, 0, 0, 0,
};

static const u8 datagram[] = {
	0x64, 0x70, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x09,
	0x80, 0x01, 0x00, 0x00,			/* the Q_Key of QP1 */
	0x00, 0x00, 0x00, 0x01,
	'x', 0, 0, 0, 0, 0, 0, 0,
};

static const u8 flush[] = {
	0x1c, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x20, 0x80, 0x00, 0x00, 0x01,
	0x00, 0x00, 0x00, 0x12,			/* persistent, whole region */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x01, 0x00,
	0x00, 0x00, 0x00, 0x40,
	0, 0, 0, 0,
};

static const u8 notice[] = {
	0x81, 0x40, 0xff, 0xff, 0x40, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x00,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0,
};

static void others_by_hand(struct kunit *test)
{
	u8 built[PINION_PACKET_HEADERS];
	struct pinion_packet p;

#define READS(bytes) do {								\
	u32 want = header_sum((bytes)[0]);						\
	KUNIT_EXPECT_EQ(test, pinion_packet_parse(bytes, sizeof(bytes), &p),		\
			PINION_PACKET_SOUND);						\
	KUNIT_EXPECT_EQ(test, pinion_packet_build(built, &p), want);			\
	KUNIT_EXPECT_MEMEQ(test, built, bytes, want);					\
} while (0)
	READS(nak_access);
	KUNIT_EXPECT_EQ(test, p.syndrome, PINION_AETH_NAK | PINION_NAK_CODE_ACCESS);
	KUNIT_EXPECT_EQ(test, p.msn, 4);
	READS(fetch_add_xrc);
	KUNIT_EXPECT_EQ(test, p.srqn, 515);
	KUNIT_EXPECT_EQ(test, p.pkey, 0x8001);
	KUNIT_EXPECT_EQ(test, p.addr, 0x1008);
	KUNIT_EXPECT_EQ(test, p.swap_add, 7);
	READS(datagram);
	KUNIT_EXPECT_EQ(test, p.qkey, 0x80010000U);
	KUNIT_EXPECT_EQ(test, p.src_qpn, 1);
	KUNIT_EXPECT_EQ(test, p.payload, 1);
	READS(flush);
	KUNIT_EXPECT_EQ(test, p.flush_types, PINION_FETH_PERSISTENT);
	KUNIT_EXPECT_EQ(test, p.flush_level, PINION_FETH_REGION);
	KUNIT_EXPECT_EQ(test, p.length, 64);
	READS(notice);
	KUNIT_EXPECT_TRUE(test, p.becn);
#undef READS
}

/* In a buffer that ends with the packet, so that KASAN detects reading beyond it. */
static void cut_off(struct kunit *test, const u8 *whole, u32 size)
{
	struct pinion_packet p, expected;
	enum pinion_packet_flaw flaw;
	u32 length;
	u8 *part;

	for (length = 0; length < size; length++) {
		part = kmemdup(whole, length, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, part);
		flaw = pinion_packet_parse(part, length, &p);
		KUNIT_EXPECT_EQ(test, flaw, judge(part, length, &expected));
		if (length < header_sum(whole[0]) + 4)
			KUNIT_EXPECT_EQ(test, flaw, PINION_PACKET_SHORT);
		kfree(part);
	}
}

static void a_packet_cut_off_anywhere_is_refused(struct kunit *test)
{
	cut_off(test, write_only_imm, sizeof(write_only_imm));
	cut_off(test, nak_access, sizeof(nak_access));
	cut_off(test, fetch_add_xrc, sizeof(fetch_add_xrc));
	cut_off(test, datagram, sizeof(datagram));
	cut_off(test, flush, sizeof(flush));
	cut_off(test, notice, sizeof(notice));
}

static void flaws_have_names(struct kunit *test)
{
	u8 bytes[sizeof(write_only_imm)];
	struct pinion_packet p;

#define FLAW(at, value, flaw) do {							\
	memcpy(bytes, write_only_imm, sizeof(bytes));					\
	bytes[at] = value;								\
	KUNIT_EXPECT_EQ(test, pinion_packet_parse(bytes, sizeof(bytes), &p), flaw);	\
} while (0)
	FLAW(1, 0xd1, PINION_PACKET_VERSION);
	FLAW(0, 0x15, PINION_PACKET_OPCODE);
	FLAW(0, 0x4b, PINION_PACKET_OPCODE);	/* reliable datagrams */
	FLAW(0, 0x2c, PINION_PACKET_OPCODE);	/* READ on UC */
	FLAW(0, 0x6b, PINION_PACKET_OPCODE);	/* WRITE on UD */
	FLAW(0, 0xff, PINION_PACKET_OPCODE);
	FLAW(0, 0x0c, PINION_PACKET_PAYLOAD);	/* a READ request with a payload */
	FLAW(0, 0x1d, PINION_PACKET_PAYLOAD);	/* 7 bytes */
#undef FLAW
	KUNIT_EXPECT_EQ(test, pinion_packet_parse(write_only_imm, 36, &p), PINION_PACKET_SHORT);
}

/* Random bytes, mostly with valid opcodes and of short length. */
static u32 random_packet(struct rnd_state *rnd, u8 *data, u32 room)
{
	u32 size = random_below(rnd, room + 1), i;

	for (i = 0; i < room; i++)
		data[i] = random_below(rnd, 256);
	if (!random_one_in(rnd, 8))
		data[1] &= 0xf0;
	if (!random_one_in(rnd, 8))
		data[0] = "\x00\x20\x60\xa0"[random_below(rnd, 4)] |
			  facts[random_below(rnd, ARRAY_SIZE(facts))].opcode;
	if (random_one_in(rnd, 50))
		data[0] = 0x81;
	return random_one_in(rnd, 8) ? size : size & ~3;
}

static void parsing_is_reading_bit_by_bit(struct kunit *test)
{
	struct pinion_packet p, expected;
	u32 sound = 0, size, i;
	struct rnd_state rnd;
	u8 data[80];

	random_begin(&rnd, 31);
	for (i = 0; i < 40000; i++) {
		size = random_packet(&rnd, data, sizeof(data));
		KUNIT_ASSERT_EQ(test, pinion_packet_parse(data, size, &p),
				judge(data, size, &expected));
		if (judge(data, size, &expected) != PINION_PACKET_SOUND)
			continue;
		sound++;
		expect_same(test, &p, &expected);
	}
	KUNIT_EXPECT_GT(test, sound, 4000);
}

/* Reserved fields, which are neither read nor written. */
static void clear_reserved(u8 *data)
{
	char letters[8], *letter;
	u32 at = 96;

	set_bits(data, 34, 6, 0);
	set_bits(data, 65, 6, 0);
	letters_of(data[0], letters);
	for (letter = letters; *letter; letter++) {
		if (*letter == 'x')
			set_bits(data, at, 8, 0);
		else if (*letter == 'd')
			set_bits(data, at + 32, 8, 0);
		else if (*letter == 'f')
			set_bits(data, at, 26, 0);
		at += 8 * size_of_letter(*letter);
	}
	if (data[0] == 0x81)
		memset(data + 12, 0, 16);
}

static void building_what_was_parsed_gives_the_bytes(struct kunit *test)
{
	u8 data[80], built[PINION_PACKET_HEADERS + 8];
	struct pinion_packet p;
	struct rnd_state rnd;
	u32 size, bytes, i;

	random_begin(&rnd, 32);
	for (i = 0; i < 40000; i++) {
		size = random_packet(&rnd, data, sizeof(data));
		if (pinion_packet_parse(data, size, &p) != PINION_PACKET_SOUND)
			continue;
		clear_reserved(data);
		memset(built, 0x5a, sizeof(built));
		bytes = pinion_packet_build(built, &p);
		KUNIT_ASSERT_EQ(test, bytes, header_sum(data[0]));
		KUNIT_EXPECT_MEMEQ(test, built, data, bytes);
		KUNIT_EXPECT_EQ(test, built[bytes], 0x5a);
		KUNIT_EXPECT_EQ(test, pinion_packet_bytes(&p), size);
	}
}

/* Random values for all fields; those of headers that the opcode lacks must not appear. */
static void random_words(struct rnd_state *rnd, struct pinion_packet *p)
{
	*p = (struct pinion_packet){
		.solicited = random_below(rnd, 2),
		.migrated = random_below(rnd, 2),
		.fecn = random_below(rnd, 2),
		.becn = random_below(rnd, 2),
		.ack_request = random_below(rnd, 2),
		.selective = random_below(rnd, 2),
		.pkey = random_below(rnd, 1 << 16),
		.qpn = random_below(rnd, 1 << 24),
		.psn = random_below(rnd, 1 << 24),
		.srqn = random_below(rnd, 1 << 24),
		.qkey = prandom_u32_state(rnd),
		.src_qpn = random_below(rnd, 1 << 24),
		.addr = random_u64(rnd),
		.rkey = prandom_u32_state(rnd),
		.length = prandom_u32_state(rnd),
		.swap_add = random_u64(rnd),
		.compare = random_u64(rnd),
		.flush_types = random_below(rnd, 16),
		.flush_level = random_below(rnd, 4),
		.syndrome = random_below(rnd, 256),
		.msn = random_below(rnd, 1 << 24),
		.before = random_u64(rnd),
		.imm = cpu_to_be32(prandom_u32_state(rnd)),
		.invalidate = prandom_u32_state(rnd),
	};
}

static void keep_only(struct pinion_packet *p)
{
	char letters[8];

	letters_of(p->opcode, letters);
	if (!strchr(letters, 'x'))
		p->srqn = 0;
	if (!strchr(letters, 'd')) {
		p->qkey = 0;
		p->src_qpn = 0;
	}
	if (!strchr(letters, 'f')) {
		p->flush_types = 0;
		p->flush_level = 0;
	}
	if (!strpbrk(letters, "ra")) {
		p->addr = 0;
		p->rkey = 0;
	}
	if (!strchr(letters, 'r'))
		p->length = 0;
	if (!strchr(letters, 'a')) {
		p->swap_add = 0;
		p->compare = 0;
	}
	if (!strchr(letters, 'k')) {
		p->syndrome = 0;
		p->msn = 0;
	}
	if (!strchr(letters, 'o'))
		p->before = 0;
	if (!strchr(letters, 'i'))
		p->imm = 0;
	if (!strchr(letters, 'v'))
		p->invalidate = 0;
}

static u32 random_payload(struct rnd_state *rnd, char kind)
{
	switch (kind) {
	case 'n':
		return 0;
	case 'w':
		return 8;
	case 'a':
		return random_below(rnd, 20);
	default:
		return 1 + random_below(rnd, 20);
	}
}

static void parsing_what_was_built_gives_the_words(struct kunit *test)
{
	struct pinion_packet p, again;
	u8 data[80] = {};
	struct rnd_state rnd;
	u32 bytes, opcode, i;

	random_begin(&rnd, 33);
	for (opcode = 0; opcode < 256; opcode++) {
		if (!fact_of(opcode))
			continue;
		for (i = 0; i < 100; i++) {
			random_words(&rnd, &p);
			p.opcode = opcode;
			p.payload = random_payload(&rnd, fact_of(opcode)->payload);
			pinion_packet_build(data, &p);
			keep_only(&p);
			bytes = pinion_packet_bytes(&p);
			KUNIT_ASSERT_EQ(test, pinion_packet_parse(data, bytes, &again),
					PINION_PACKET_SOUND);
			expect_same(test, &again, &p);
		}
	}
}

static bool fits_by_letters(char kind, u32 payload, u32 mtu)
{
	switch (kind) {
	case 'f':
		return payload == mtu;
	case 'r':
		return payload > 0 && payload <= mtu;
	case 'a':
		return payload <= mtu;
	case 'w':
		return payload == 8;
	default:
		return payload == 0;
	}
}

static void payloads_fit_the_path(struct kunit *test)
{
	static const u32 lengths[] = { 0, 1, 7, 8, 9, 255, 256, 257, 1024, 4095, 4096, 4097 };
	struct pinion_packet p = {};
	u32 opcode, mtu, i;

	for (opcode = 0; opcode < 256; opcode++) {
		p.opcode = opcode;
		for (mtu = 256; mtu <= 4096; mtu *= 2) {
			for (i = 0; i < ARRAY_SIZE(lengths); i++) {
				p.payload = lengths[i];
				if (fact_of(opcode))
					KUNIT_EXPECT_EQ(test, pinion_packet_fits(&p, mtu),
							fits_by_letters(fact_of(opcode)->payload,
									p.payload, mtu));
				else
					KUNIT_EXPECT_EQ(test, pinion_packet_fits(&p, mtu),
							opcode == 0x81 && !p.payload);
			}
		}
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(rows_are_those_of_the_specification),
	KUNIT_CASE(a_write_of_3_bytes_with_immediate),
	KUNIT_CASE(others_by_hand),
	KUNIT_CASE(a_packet_cut_off_anywhere_is_refused),
	KUNIT_CASE(flaws_have_names),
	KUNIT_CASE(parsing_is_reading_bit_by_bit),
	KUNIT_CASE(building_what_was_parsed_gives_the_bytes),
	KUNIT_CASE(parsing_what_was_built_gives_the_words),
	KUNIT_CASE(payloads_fit_the_path),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_packet",
	.test_cases = cases,
};

kunit_test_suites(&suite);
