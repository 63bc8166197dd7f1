// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets at a receiver, one by one. connection_test.c tests streams with a sender.
 */
#include <kunit/test.h>
#include <rdma/pinion-abi.h>

#include "../kernel/logic/receiver.c"

#define MTU 1024

static struct pinion_packet packet_of(u8 opcode, u32 psn, u32 payload, u32 length)
{
	return (struct pinion_packet){
		.opcode = opcode,
		.psn = psn,
		.payload = payload,
		.length = length,
		/* ignored except by FLUSH */
		.flush_types = PINION_FETH_GLOBAL,
	};
}

/* Returns the arrival; executes the packet if allowed. */
static enum pinion_arrival arrive(struct pinion_receiver *receiver, u8 opcode, u32 psn,
				  u32 payload, u32 length)
{
	struct pinion_packet packet = packet_of(opcode, psn, payload, length);
	enum pinion_arrival what = pinion_receiver_look(receiver, &packet);

	if (what == PINION_ARRIVAL_NEW || what == PINION_ARRIVAL_RESTART)
		pinion_receiver_take(receiver, &packet);
	return what;
}

#define EXPECT(test, receiver, opcode, psn, payload, length, what)		\
	KUNIT_EXPECT_EQ(test, arrive(receiver, opcode, psn, payload, length),	\
			PINION_ARRIVAL_##what)

static void messages_in_order_are_new(struct kunit *test)
{
	struct pinion_receiver r;

	pinion_receiver_init(&r, 0xfffffe, MTU, true);
	EXPECT(test, &r, PINION_SEND_FIRST, 0xfffffe, MTU, 0, NEW);
	EXPECT(test, &r, PINION_SEND_MIDDLE, 0xffffff, MTU, 0, NEW);
	KUNIT_EXPECT_EQ(test, r.msn, 0);
	EXPECT(test, &r, PINION_SEND_LAST_INV, 0, 1, 0, NEW);
	KUNIT_EXPECT_EQ(test, r.msn, 1);
	EXPECT(test, &r, PINION_WRITE_FIRST, 1, MTU, 3 * MTU, NEW);
	EXPECT(test, &r, PINION_WRITE_MIDDLE, 2, MTU, 0, NEW);
	EXPECT(test, &r, PINION_WRITE_LAST_IMM, 3, MTU, 0, NEW);
	EXPECT(test, &r, PINION_WRITE_ONLY, 4, 0, 0, NEW);
	EXPECT(test, &r, PINION_COMPARE_SWAP, 5, 0, 0, NEW);
	EXPECT(test, &r, PINION_ATOMIC_WRITE, 6, 8, 8, NEW);
	EXPECT(test, &r, PINION_FLUSH_REQUEST, 7, 0, 0xffffffff, NEW);
	KUNIT_EXPECT_EQ(test, r.msn, 6);
	KUNIT_EXPECT_EQ(test, r.expected, 8);
}

static void a_read_has_the_numbers_of_its_answer(struct kunit *test)
{
	struct pinion_receiver r;

	pinion_receiver_init(&r, 10, MTU, true);
	EXPECT(test, &r, PINION_READ_REQUEST, 10, 0, 5 * MTU + 1, NEW);
	KUNIT_EXPECT_EQ(test, r.expected, 16);
	EXPECT(test, &r, PINION_READ_REQUEST, 16, 0, 0, NEW);
	KUNIT_EXPECT_EQ(test, r.expected, 17);
	EXPECT(test, &r, PINION_READ_REQUEST, 17, 0, 0x80000001, INVALID);
	EXPECT(test, &r, PINION_READ_REQUEST, 17, 0, 0x80000000, NEW);
	/* A repeated READ may start in the middle. */
	EXPECT(test, &r, PINION_READ_REQUEST, 12, 0, 3 * MTU + 1, ANSWER_AGAIN);
}

/* A repeated READ must not reach beyond the packets of the original one. */
static void a_read_again_ends_where_packets_did(struct kunit *test)
{
	struct pinion_receiver r;

	pinion_receiver_init(&r, 0xfffff0, MTU, true);
	EXPECT(test, &r, PINION_READ_REQUEST, 0xfffff0, 0, 32 * MTU, NEW);
	KUNIT_EXPECT_EQ(test, r.expected, 0x10);
	EXPECT(test, &r, PINION_READ_REQUEST, 0xfffff1, 0, 32 * MTU, UNANSWERED);
	EXPECT(test, &r, PINION_READ_REQUEST, 0xfffff1, 0, 31 * MTU + 1, UNANSWERED);
	EXPECT(test, &r, PINION_READ_REQUEST, 0xfffff1, 0, 31 * MTU, ANSWER_AGAIN);
	EXPECT(test, &r, PINION_READ_REQUEST, 0xf, 0, MTU + 1, UNANSWERED);
	EXPECT(test, &r, PINION_READ_REQUEST, 0xf, 0, 0, ANSWER_AGAIN);
	EXPECT(test, &r, PINION_READ_REQUEST, 0xf, 0, 0xffffffff, UNANSWERED);
	KUNIT_EXPECT_EQ(test, r.expected, 0x10);
}

static void numbers_outlive_psns(struct kunit *test)
{
	struct pinion_receiver r;

	pinion_receiver_init(&r, 0xfffffe, 256, true);
	KUNIT_EXPECT_EQ(test, pinion_receiver_number(&r, 0xfffffe), 0);
	EXPECT(test, &r, PINION_FETCH_ADD, 0xfffffe, 0, 0, NEW);
	KUNIT_EXPECT_EQ(test, pinion_receiver_number(&r, 0xfffffe), 0);
	KUNIT_EXPECT_EQ(test, pinion_receiver_number(&r, 3), 5);
	/* A repeat with as many packets. */
	EXPECT(test, &r, PINION_READ_REQUEST, 0xffffff, 0, 0x80000000, NEW);
	KUNIT_EXPECT_EQ(test, pinion_receiver_number(&r, 0xffffff), 1);
	EXPECT(test, &r, PINION_READ_REQUEST, 0x7fffff, 0, 0x80000000 - 512, NEW);
	KUNIT_EXPECT_EQ(test, r.expected, 0xfffffd);
	EXPECT(test, &r, PINION_FETCH_ADD, 0xfffffd, 0, 0, NEW);
	EXPECT(test, &r, PINION_FETCH_ADD, 0xfffffe, 0, 0, NEW);
	KUNIT_EXPECT_EQ(test, pinion_receiver_number(&r, 0xfffffe), 1 << 24);
}

static void what_was_performed_is_not_performed_again(struct kunit *test)
{
	struct pinion_receiver r;

	pinion_receiver_init(&r, 5, MTU, true);
	EXPECT(test, &r, PINION_SEND_ONLY, 5, 0, 0, NEW);
	EXPECT(test, &r, PINION_SEND_ONLY, 5, 0, 0, AGAIN);
	EXPECT(test, &r, PINION_WRITE_LAST, 4, 1, 0, AGAIN);
	EXPECT(test, &r, PINION_FETCH_ADD, 4, 0, 0, ANSWER_AGAIN);
	EXPECT(test, &r, PINION_ATOMIC_WRITE, 3, 8, 8, ANSWER_AGAIN);
	EXPECT(test, &r, PINION_FLUSH_REQUEST, 3, 0, 8, ANSWER_AGAIN);
	/* The greatest distances behind and ahead. */
	EXPECT(test, &r, PINION_SEND_ONLY, 6 - (1 << 23), 0, 0, AGAIN);
	EXPECT(test, &r, PINION_SEND_ONLY, 5 + (1 << 23), 0, 0, GAP);
	KUNIT_EXPECT_EQ(test, r.expected, 6);
	KUNIT_EXPECT_EQ(test, r.msn, 1);
}

static void a_gap_is_told_once(struct kunit *test)
{
	struct pinion_receiver r;

	pinion_receiver_init(&r, 1, MTU, true);
	EXPECT(test, &r, PINION_SEND_ONLY, 2, 0, 0, GAP);
	EXPECT(test, &r, PINION_SEND_ONLY, 3, 0, 0, DROP);
	EXPECT(test, &r, PINION_SEND_ONLY, 0, 0, 0, AGAIN);
	EXPECT(test, &r, PINION_SEND_ONLY, 4, 0, 0, DROP);
	EXPECT(test, &r, PINION_SEND_ONLY, 1, 0, 0, NEW);
	EXPECT(test, &r, PINION_SEND_ONLY, 3, 0, 0, GAP);
}

/* From a sender that takes part in selective repeat. */
static struct pinion_packet selective_packet(u32 psn)
{
	struct pinion_packet packet = packet_of(PINION_SEND_ONLY, psn, 0, 0);

	packet.selective = true;
	return packet;
}

static void what_comes_early_may_be_kept(struct kunit *test)
{
	struct pinion_packet packet = selective_packet(2), next = selective_packet(1);
	struct pinion_packet first = selective_packet(0);
	struct pinion_receiver r;

	pinion_receiver_init(&r, 0, MTU, true);
	pinion_receiver_take(&r, &first);
	KUNIT_EXPECT_EQ(test, pinion_receiver_look(&r, &packet), PINION_ARRIVAL_EARLY);
	KUNIT_EXPECT_EQ(test, pinion_receiver_look(&r, &packet), PINION_ARRIVAL_EARLY);
	KUNIT_EXPECT_TRUE(test, pinion_receiver_tell(&r));
	KUNIT_EXPECT_FALSE(test, pinion_receiver_tell(&r));
	packet.psn = PINION_EARLY_WINDOW;
	KUNIT_EXPECT_EQ(test, pinion_receiver_look(&r, &packet), PINION_ARRIVAL_EARLY);
	packet.psn++;
	KUNIT_EXPECT_EQ(test, pinion_receiver_look(&r, &packet), PINION_ARRIVAL_DROP);
	KUNIT_EXPECT_EQ(test, pinion_receiver_look(&r, &next), PINION_ARRIVAL_NEW);
	pinion_receiver_take(&r, &next);
	KUNIT_EXPECT_EQ(test, pinion_receiver_look(&r, &packet), PINION_ARRIVAL_EARLY);
	/* Behind what is deferred nothing is kept: all is sent again. */
	pinion_receiver_defer(&r);
	KUNIT_EXPECT_EQ(test, pinion_receiver_look(&r, &packet), PINION_ARRIVAL_DROP);
}

/* The peer performs no selective repeat: an early packet that says so was forged. */
static void of_others_nothing_is_kept(struct kunit *test)
{
	struct pinion_packet packet = selective_packet(3), next = selective_packet(2);
	struct pinion_receiver r;

	pinion_receiver_init(&r, 1, MTU, true);
	EXPECT(test, &r, PINION_SEND_ONLY, 1, 0, 0, NEW);
	KUNIT_EXPECT_EQ(test, pinion_receiver_look(&r, &packet), PINION_ARRIVAL_GAP);
	/* It may begin at any time: the module parameter can be changed. */
	KUNIT_EXPECT_EQ(test, pinion_receiver_look(&r, &next), PINION_ARRIVAL_NEW);
	pinion_receiver_take(&r, &next);
	packet.psn++;
	KUNIT_EXPECT_EQ(test, pinion_receiver_look(&r, &packet), PINION_ARRIVAL_EARLY);
}

/* Nor of a peer that was not heard yet: anybody may say that it takes part. */
static void before_the_first_nothing_is_kept(struct kunit *test)
{
	struct pinion_packet packet = selective_packet(2), first = selective_packet(1);
	struct pinion_receiver r;

	pinion_receiver_init(&r, 1, MTU, true);
	KUNIT_EXPECT_EQ(test, pinion_receiver_look(&r, &packet), PINION_ARRIVAL_GAP);
	KUNIT_EXPECT_EQ(test, pinion_receiver_look(&r, &first), PINION_ARRIVAL_NEW);
	pinion_receiver_take(&r, &first);
	packet.psn++;
	KUNIT_EXPECT_EQ(test, pinion_receiver_look(&r, &packet), PINION_ARRIVAL_EARLY);
}

static void behind_what_is_deferred_nothing_is_said(struct kunit *test)
{
	struct pinion_packet packet = packet_of(PINION_SEND_ONLY, 1, 0, 0);
	struct pinion_receiver r;

	pinion_receiver_init(&r, 1, MTU, true);
	KUNIT_EXPECT_EQ(test, pinion_receiver_look(&r, &packet), PINION_ARRIVAL_NEW);
	pinion_receiver_defer(&r);
	EXPECT(test, &r, PINION_SEND_ONLY, 2, 0, 0, DROP);
	EXPECT(test, &r, PINION_SEND_ONLY, 3, 0, 0, DROP);
	EXPECT(test, &r, PINION_SEND_ONLY, 1, 0, 0, NEW);
	EXPECT(test, &r, PINION_SEND_ONLY, 3, 0, 0, GAP);
}

/*
 * The connection receives one packet while idle, or in the middle of a SEND or WRITE of 2 * MTU
 * + 1 bytes.
 */
enum middle { NOTHING, A_SEND, A_WRITE };

static const struct {
	enum middle within;
	u8 opcode;
	u32 payload, length;
	bool valid;
} turns[] = {
	{ NOTHING, PINION_SEND_MIDDLE, MTU, 0, false },
	{ NOTHING, PINION_SEND_LAST, 1, 0, false },
	{ NOTHING, PINION_SEND_LAST_INV, 1, 0, false },
	{ NOTHING, PINION_WRITE_MIDDLE, MTU, 0, false },
	{ NOTHING, PINION_WRITE_LAST_IMM, 1, 0, false },
	{ NOTHING, PINION_SEND_FIRST, MTU - 1, 0, false },
	{ NOTHING, PINION_SEND_ONLY, MTU + 1, 0, false },
	{ NOTHING, PINION_SEND_ONLY, MTU, 0, true },
	{ NOTHING, PINION_WRITE_ONLY, 9, 9, true },
	{ NOTHING, PINION_WRITE_ONLY, 9, 8, false },
	{ NOTHING, PINION_WRITE_ONLY, 9, 10, false },
	{ NOTHING, PINION_WRITE_FIRST, MTU, MTU, false },
	{ NOTHING, PINION_WRITE_FIRST, MTU, 0x80000000, true },
	{ NOTHING, PINION_WRITE_FIRST, MTU, 0x80000001, false },
	{ A_SEND, PINION_SEND_FIRST, MTU, 0, false },
	{ A_SEND, PINION_SEND_ONLY, 1, 0, false },
	{ A_SEND, PINION_READ_REQUEST, 0, 0, false },
	{ A_SEND, PINION_WRITE_LAST, 1, 0, false },
	{ A_SEND, PINION_WRITE_MIDDLE, MTU, 0, false },
	{ A_SEND, PINION_SEND_MIDDLE, MTU, 0, true },
	{ A_SEND, PINION_SEND_LAST, MTU, 0, true },
	{ A_SEND, PINION_SEND_LAST_IMM, 1, 0, true },
	{ A_WRITE, PINION_SEND_LAST, 1, 0, false },
	{ A_WRITE, PINION_SEND_LAST_INV, 1, 0, false },
	{ A_WRITE, PINION_WRITE_ONLY, 1, 1, false },
	{ A_WRITE, PINION_FETCH_ADD, 0, 0, false },
	{ A_WRITE, PINION_WRITE_LAST, 1, 0, false },
	{ A_WRITE, PINION_WRITE_LAST, MTU, 0, false },
	{ A_WRITE, PINION_WRITE_MIDDLE, MTU, 0, true },
};

static void begin(struct pinion_receiver *receiver, enum middle within, bool reliable)
{
	pinion_receiver_init(receiver, 0, MTU, reliable);
	if (within == A_SEND)
		arrive(receiver, PINION_SEND_FIRST, 0, MTU, 0);
	if (within == A_WRITE)
		arrive(receiver, PINION_WRITE_FIRST, 0, MTU, 2 * MTU + 1);
}

static void a_flush_of_nothing_is_invalid(struct kunit *test)
{
	struct pinion_packet packet = packet_of(PINION_FLUSH_REQUEST, 0, 0, 100);
	struct pinion_receiver r;
	u32 types, level;

	pinion_receiver_init(&r, 0, MTU, true);
	for (types = 0; types <= PINION_FETH_TYPES; types++)
		for (level = 0; level <= PINION_FETH_LEVELS; level++) {
			packet.flush_types = types;
			packet.flush_level = level;
			KUNIT_EXPECT_EQ(test, pinion_receiver_look(&r, &packet),
					types % 4 && level < 2 ? PINION_ARRIVAL_NEW :
								 PINION_ARRIVAL_INVALID);
		}
}

static void packets_out_of_turn_are_invalid(struct kunit *test)
{
	struct pinion_receiver r;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(turns); i++) {
		begin(&r, turns[i].within, true);
		KUNIT_EXPECT_EQ_MSG(test, arrive(&r, turns[i].opcode, r.expected,
						 turns[i].payload, turns[i].length),
				    turns[i].valid ? PINION_ARRIVAL_NEW : PINION_ARRIVAL_INVALID,
				    "row %u", i);
	}
}

/* What came early may have been forged, in the place of what ended the message, or of all of it. */
static void a_message_begins_behind_a_forged_piece(struct kunit *test)
{
	struct pinion_receiver r;
	enum middle within;
	u32 msn;

	for (within = A_SEND; within <= A_WRITE; within++) {
		begin(&r, within, true);
		r.doubtful = true;
		/* That is no reason to take anything for a message. */
		EXPECT(test, &r, within == A_SEND ? PINION_WRITE_MIDDLE : PINION_SEND_MIDDLE, 1,
		       MTU, 0, INVALID);
		EXPECT(test, &r, PINION_SEND_ONLY, 1, MTU + 1, 0, INVALID);
		msn = r.msn;
		EXPECT(test, &r, PINION_SEND_ONLY, 1, 1, 0, RESTART);
		KUNIT_EXPECT_EQ(test, r.msn, msn + 1);
		EXPECT(test, &r, PINION_WRITE_FIRST, 2, MTU, 2 * MTU, NEW);
		EXPECT(test, &r, PINION_SEND_ONLY, 3, 1, 0, INVALID);
		EXPECT(test, &r, PINION_WRITE_LAST, 3, MTU, 0, NEW);
		KUNIT_EXPECT_EQ(test, r.expected, 4);
	}
}

/* The rest of its message is still taken. */
static void a_piece_follows_a_doubtful_one(struct kunit *test)
{
	struct pinion_receiver r;

	begin(&r, A_WRITE, true);
	r.doubtful = true;
	EXPECT(test, &r, PINION_WRITE_MIDDLE, 1, MTU, 0, NEW);
	EXPECT(test, &r, PINION_SEND_ONLY, 2, 1, 0, INVALID);
	EXPECT(test, &r, PINION_WRITE_LAST, 2, 1, 0, NEW);
}

static void a_write_ends_where_it_said(struct kunit *test)
{
	struct pinion_receiver r;

	begin(&r, A_WRITE, true);
	EXPECT(test, &r, PINION_WRITE_MIDDLE, 1, MTU, 0, NEW);
	EXPECT(test, &r, PINION_WRITE_MIDDLE, 2, MTU, 0, INVALID);
	EXPECT(test, &r, PINION_WRITE_LAST, 2, 2, 0, INVALID);
	EXPECT(test, &r, PINION_WRITE_LAST, 2, 1, 0, NEW);
}

static void a_send_has_an_end(struct kunit *test)
{
	struct pinion_receiver r;
	u32 i;

	pinion_receiver_init(&r, 0, 4096, true);
	EXPECT(test, &r, PINION_SEND_FIRST, 0, 4096, 0, NEW);
	for (i = 1; i < 1 << 19; i++)
		if (arrive(&r, PINION_SEND_MIDDLE, i, 4096, 0) != PINION_ARRIVAL_NEW)
			break;
	KUNIT_EXPECT_EQ(test, i, 1 << 19);
	EXPECT(test, &r, PINION_SEND_LAST, i, 1, 0, INVALID);
}

static void an_unreliable_one_takes_up_with_the_next_message(struct kunit *test)
{
	const u8 uc = PINION_TRANSPORT_UC;
	struct pinion_receiver r;

	pinion_receiver_init(&r, 7, MTU, false);
	EXPECT(test, &r, uc | PINION_SEND_ONLY, 1000, 1, 0, NEW);
	EXPECT(test, &r, uc | PINION_SEND_MIDDLE, 1001, MTU, 0, DROP);
	EXPECT(test, &r, uc | PINION_SEND_FIRST, 1002, MTU, 0, NEW);
	EXPECT(test, &r, uc | PINION_SEND_LAST, 1004, 1, 0, LOST);
	EXPECT(test, &r, uc | PINION_SEND_LAST, 1005, 1, 0, DROP);
	EXPECT(test, &r, uc | PINION_WRITE_FIRST, 1006, MTU, MTU + 1, NEW);
	EXPECT(test, &r, uc | PINION_WRITE_FIRST, 1007, MTU, MTU + 1, RESTART);
	EXPECT(test, &r, uc | PINION_WRITE_LAST, 1008, 2, 0, LOST);
	EXPECT(test, &r, uc | PINION_SEND_FIRST, 1009, MTU, 0, NEW);
	EXPECT(test, &r, uc | PINION_SEND_ONLY, 2, 0, 0, RESTART);
	KUNIT_EXPECT_EQ(test, r.expected, 3);
}

static void answers_are_no_requests(struct kunit *test)
{
	struct pinion_receiver r;

	pinion_receiver_init(&r, 0, MTU, true);
	EXPECT(test, &r, PINION_ACKNOWLEDGE, 0, 0, 0, DROP);
	EXPECT(test, &r, PINION_READ_ONLY, 0, 1, 0, DROP);
	EXPECT(test, &r, PINION_OPCODE_CNP, 0, 0, 0, DROP);
	EXPECT(test, &r, 0xff, 0, 0, 0, DROP);
	KUNIT_EXPECT_EQ(test, r.expected, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(messages_in_order_are_new),
	KUNIT_CASE(a_read_has_the_numbers_of_its_answer),
	KUNIT_CASE(a_read_again_ends_where_packets_did),
	KUNIT_CASE(numbers_outlive_psns),
	KUNIT_CASE(what_was_performed_is_not_performed_again),
	KUNIT_CASE(a_gap_is_told_once),
	KUNIT_CASE(what_comes_early_may_be_kept),
	KUNIT_CASE(of_others_nothing_is_kept),
	KUNIT_CASE(before_the_first_nothing_is_kept),
	KUNIT_CASE(behind_what_is_deferred_nothing_is_said),
	KUNIT_CASE(a_flush_of_nothing_is_invalid),
	KUNIT_CASE(packets_out_of_turn_are_invalid),
	KUNIT_CASE(a_message_begins_behind_a_forged_piece),
	KUNIT_CASE(a_piece_follows_a_doubtful_one),
	KUNIT_CASE(a_write_ends_where_it_said),
	KUNIT_CASE(a_send_has_an_end),
	KUNIT_CASE(an_unreliable_one_takes_up_with_the_next_message),
	KUNIT_CASE(answers_are_no_requests),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_receiver",
	.test_cases = cases,
};

kunit_test_suites(&suite);
