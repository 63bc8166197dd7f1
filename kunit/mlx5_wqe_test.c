// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mlx5's work requests, byte by byte as in the programmers' reference, and random bytes.
 */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "../kernel/logic/mlx5_wqe.c"
#include "random.h"

#define MAX_SGE		4
#define MAX_INLINE	192
#define TAIL		(MAX_INLINE + MAX_SGE * sizeof(struct pinion_sge))

static const struct pinion_mlx5_slot slot = { .qpn = 0x123456, .index = 0xabcd };
static const struct pinion_mlx5_room room = { MAX_SGE, MAX_INLINE };

struct wqe_room {
	struct pinion_sq_wqe wqe;
	u8 tail[TAIL];
	u8 behind[64];
};

static struct wqe_room *new_room(struct kunit *test)
{
	struct wqe_room *to = kunit_kzalloc(test, sizeof(*to), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, to);
	memset(to, 0xee, sizeof(*to));
	return to;
}

/* RDMA WRITE with immediate, signaled and solicited, of two pieces: four segments, one block. */
static const u8 write_imm[] = {
	0x00, 0xab, 0xcd, 0x09, 0x12, 0x34, 0x56, 0x04,
	0x00, 0x00, 0x00, 0x0a, 0x11, 0x22, 0x33, 0x44,
	0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
	0x00, 0x00, 0x77, 0x88, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x55, 0x66,
	0x00, 0x00, 0x7f, 0x00, 0x00, 0x00, 0x10, 0x00,
	0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x55, 0x67,
	0x00, 0x00, 0x7f, 0x00, 0x00, 0x00, 0x30, 0x01,
};

static void a_write_of_two_pieces(struct kunit *test)
{
	static const u8 imm[] = { 0x11, 0x22, 0x33, 0x44 };
	struct wqe_room *to = new_room(test);
	const struct pinion_sge *sge = (void *)(&to->wqe + 1);

	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_blocks(write_imm), 1);
	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(write_imm, &slot, &room, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.opcode, PINION_OP_RDMA_WRITE_WITH_IMM);
	KUNIT_EXPECT_EQ(test, to->wqe.flags, PINION_WQE_SIGNALED | PINION_WQE_SOLICITED);
	KUNIT_EXPECT_EQ(test, to->wqe.wr_id, 0xabcd);
	KUNIT_EXPECT_MEMEQ(test, &to->wqe.ex, imm, 4);
	KUNIT_EXPECT_EQ(test, to->wqe.rdma.remote_addr, 0x0123456789abcdef);
	KUNIT_EXPECT_EQ(test, to->wqe.rdma.rkey, 0x7788);
	KUNIT_ASSERT_EQ(test, to->wqe.num_sge, 2);
	KUNIT_EXPECT_EQ(test, sge[0].length, 0x1000);
	KUNIT_EXPECT_EQ(test, sge[0].lkey, 0x5566);
	KUNIT_EXPECT_EQ(test, sge[0].addr, 0x7f0000001000);
	KUNIT_EXPECT_EQ(test, sge[1].length, 7);
	KUNIT_EXPECT_EQ(test, sge[1].addr, 0x7f0000003001);
}

/* 20 bytes inline: with header and padding two segments. */
static const u8 send_inline[] = {
	0x00, 0xab, 0xcd, 0x0a, 0x12, 0x34, 0x56, 0x03,
	0x00, 0x00, 0x00, 0x88, 0x00, 0x00, 0x00, 0x00,
	0x80, 0x00, 0x00, 0x14, 'a', 'b', 'c', 'd',
	'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l',
	'm', 'n', 'o', 'p', 'q', 'r', 's', 't',
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
};

static void a_send_of_what_is_in_it(struct kunit *test)
{
	struct wqe_room *to = new_room(test);
	static const struct pinion_mlx5_room less = { MAX_SGE, 19 };

	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(send_inline, &slot, &room, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.opcode, PINION_OP_SEND);
	KUNIT_EXPECT_EQ(test, to->wqe.flags,
			PINION_WQE_SIGNALED | PINION_WQE_FENCE | PINION_WQE_INLINE);
	KUNIT_EXPECT_EQ(test, to->wqe.inline_length, 20);
	KUNIT_EXPECT_EQ(test, to->wqe.num_sge, 0);
	KUNIT_EXPECT_MEMEQ(test, &to->wqe + 1, "abcdefghijklmnopqrst", 20);
	KUNIT_EXPECT_EQ(test, to->tail[20], 0xee);
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(send_inline, &slot, &less, &to->wqe),
			PINION_SYN_LENGTH);
}

/* 5 bytes inline, one segment, then two pieces. */
static const u8 send_led[] = {
	0x00, 0xab, 0xcd, 0x0a, 0x12, 0x34, 0x56, 0x04,
	0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00,
	0x80, 0x00, 0x00, 0x05, 'a', 'b', 'c', 'd',
	'e', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x55, 0x66,
	0x00, 0x00, 0x7f, 0x00, 0x00, 0x00, 0x10, 0x00,
	0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x55, 0x67,
	0x00, 0x00, 0x7f, 0x00, 0x00, 0x00, 0x30, 0x01,
};

static void a_send_begins_with_what_is_in_it(struct kunit *test)
{
	static const struct pinion_mlx5_room few = { 2, MAX_INLINE };
	static const struct pinion_mlx5_room less = { MAX_SGE, 3 * 16 + 4 };
	struct wqe_room *to = new_room(test);
	const struct pinion_sge *sge = (void *)(&to->wqe + 1);
	u8 in[sizeof(send_led)];

	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(send_led, &slot, &room, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.opcode, PINION_OP_SEND);
	KUNIT_EXPECT_EQ(test, to->wqe.flags, PINION_WQE_SIGNALED | PINION_WQE_LEAD);
	KUNIT_EXPECT_EQ(test, to->wqe.inline_length, 5);
	KUNIT_ASSERT_EQ(test, to->wqe.num_sge, 3);
	KUNIT_EXPECT_EQ(test, sge[0].length, 5);
	KUNIT_EXPECT_EQ(test, sge[1].length, 0x1000);
	KUNIT_EXPECT_EQ(test, sge[1].lkey, 0x5566);
	KUNIT_EXPECT_EQ(test, sge[2].length, 7);
	KUNIT_EXPECT_EQ(test, sge[2].addr, 0x7f0000003001);
	KUNIT_EXPECT_MEMEQ(test, &sge[3], "abcde", 5);
	KUNIT_EXPECT_EQ(test, to->tail[3 * 16 + 5], 0xee);
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(send_led, &slot, &few, &to->wqe),
			PINION_SYN_BAD_WQE);
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(send_led, &slot, &less, &to->wqe),
			PINION_SYN_LENGTH);
	/* Inline data are in the beginning only. */
	memcpy(in, send_led, sizeof(in));
	in[48] = 0x80;
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe),
			PINION_SYN_BAD_WQE);
}

static void nothing_is_asked_for_by_a_control_segment(struct kunit *test)
{
	static const struct pinion_mlx5_room datagrams = { MAX_SGE, MAX_INLINE, true };
	static const u8 nop[16] = {
		0x00, 0xab, 0xcd, 0x00, 0x12, 0x34, 0x56, 0x01, [11] = 0x28,
	};
	struct wqe_room *to = new_room(test);

	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_blocks(nop), 1);
	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(nop, &slot, &room, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.opcode, PINION_OP_NOP);
	KUNIT_EXPECT_EQ(test, to->wqe.flags, PINION_WQE_SIGNALED | PINION_WQE_FENCE);
	KUNIT_EXPECT_EQ(test, to->wqe.num_sge, 0);
	KUNIT_EXPECT_EQ(test, pinion_mlx5_opcode(PINION_OP_NOP), 0x00);
	/* Without an address. */
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(nop, &slot, &datagrams, &to->wqe), 0);
}

static const u8 compare[] = {
	0x00, 0xab, 0xcd, 0x11, 0x12, 0x34, 0x56, 0x04,
	0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00,
	0x00, 0x00, 0x77, 0x88, 0x00, 0x00, 0x00, 0x00,
	0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11,
	0x22, 0x22, 0x22, 0x22, 0x22, 0x22, 0x22, 0x22,
	0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x55, 0x66,
	0x00, 0x00, 0x7f, 0x00, 0x00, 0x00, 0x10, 0x00,
};

static void atomics_have_two_words(struct kunit *test)
{
	struct wqe_room *to = new_room(test);
	u8 add[sizeof(compare)];

	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(compare, &slot, &room, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.opcode, PINION_OP_ATOMIC_CMP_AND_SWP);
	KUNIT_EXPECT_EQ(test, to->wqe.atomic.swap, 0x1111111111111111);
	KUNIT_EXPECT_EQ(test, to->wqe.atomic.compare_add, 0x2222222222222222);
	KUNIT_EXPECT_EQ(test, to->wqe.atomic.remote_addr, 0x2000);
	KUNIT_EXPECT_EQ(test, to->wqe.atomic.rkey, 0x7788);
	KUNIT_EXPECT_EQ(test, to->wqe.num_sge, 1);
	memcpy(add, compare, sizeof(add));
	add[3] = 0x12;
	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(add, &slot, &room, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.opcode, PINION_OP_ATOMIC_FETCH_AND_ADD);
	KUNIT_EXPECT_EQ(test, to->wqe.atomic.compare_add, 0x1111111111111111);
}

/* Each case changes one byte. */
/* SEND of one piece to queue pair 0x0a0b0c: the address takes three segments. */
static const u8 datagram[] = {
	0x00, 0xab, 0xcd, 0x0a, 0x12, 0x34, 0x56, 0x05,
	0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00,
	0x11, 0x22, 0x33, 0x44, 0x00, 0x00, 0x00, 0x00,
	0x80, 0x0a, 0x0b, 0x0c, 0x0a, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x04, 0x05,
	0x06, 0x07, 0xc1, 0x40, 0x4f, 0x91, 0x23, 0x45,
	0xfe, 0x80, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06,
	0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e,
	0x00, 0x00, 0x00, 0x09, 0x00, 0x00, 0x55, 0x66,
	0x00, 0x00, 0x7f, 0x00, 0x00, 0x00, 0x10, 0x00,
};

static void a_datagram_says_where_it_goes(struct kunit *test)
{
	static const struct pinion_mlx5_room datagrams = { MAX_SGE, MAX_INLINE, true };
	struct wqe_room *to = new_room(test);
	const struct pinion_sge *sge = (void *)(&to->wqe + 1);
	u8 in[sizeof(datagram)];
	struct pinion_mlx5_av av;

	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_blocks(datagram), 2);
	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(datagram, &slot, &datagrams, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.ud.remote_qpn, 0x0a0b0c);
	KUNIT_EXPECT_EQ(test, to->wqe.ud.remote_qkey, 0x11223344);
	KUNIT_ASSERT_EQ(test, to->wqe.num_sge, 1);
	KUNIT_EXPECT_EQ(test, sge[0].length, 9);
	pinion_mlx5_wqe_av(datagram, &av);
	KUNIT_EXPECT_MEMEQ(test, av.dgid, datagram + 48, 16);
	KUNIT_EXPECT_MEMEQ(test, av.dmac, datagram + 36, 6);
	KUNIT_EXPECT_EQ(test, av.traffic_class, 0xc1);
	KUNIT_EXPECT_EQ(test, av.hop_limit, 0x40);
	KUNIT_EXPECT_EQ(test, av.sgid_index, 0xf9);
	KUNIT_EXPECT_EQ(test, av.flow_label, 0x12345);
	KUNIT_EXPECT_EQ(test, av.sl, 5);
	/* The short address vector, which RoCE cannot use; and a request that ends too early. */
	memcpy(in, datagram, sizeof(in));
	in[24] = 0;
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &datagrams, &to->wqe),
			PINION_SYN_BAD_WQE);
	memcpy(in, datagram, sizeof(in));
	in[7] = 3;
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &datagrams, &to->wqe),
			PINION_SYN_BAD_WQE);
}

/* A doorbell contains the first words of the last request posted. */
static void doorbells_say_up_to_where(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, pinion_mlx5_bell(0x00abcd0a12345604, 0x123456, 7), 0xabce);
	KUNIT_EXPECT_EQ(test, pinion_mlx5_bell(0x00abcd0a12345605, 0x123456, 7), 0xabcf);
	KUNIT_EXPECT_EQ(test, pinion_mlx5_bell(0x00ffff0a12345604, 0x123456, 7), 0);
	KUNIT_EXPECT_EQ(test, pinion_mlx5_bell(0x00abcd0a12345604, 0x123457, 7), 7);
	KUNIT_EXPECT_EQ(test, pinion_mlx5_bell(0, 0x123456, 7), 7);
}

/*
 * Bind window 0x1122aa00 to 0x2001 bytes of a region, for writing and reading, as key 0x1122aa33
 * of queue pair 0x123456. Twelve segments, three blocks.
 */
static const u8 bind[192] = {
	0x00, 0xab, 0xcd, 0x25, 0x12, 0x34, 0x56, 0x0c,
	0x00, 0x00, 0x00, 0x28, 0x11, 0x22, 0xaa, 0x00,
	/* mask of changes */
	0xb0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x20, 0x3c, 0x60, 0x41,
	/* the key */
	[64] = 0x00, 0x00, 0x30, 0x00, 0x12, 0x34, 0x56, 0x33,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x7f, 0x00, 0x00, 0x01, 0x02, 0x03,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x01,
	/* its translation */
	[128] = 0x00, 0x00, 0x20, 0x01, 0x00, 0x00, 0x77, 0x88,
	0x00, 0x00, 0x7f, 0x00, 0x00, 0x01, 0x02, 0x03,
};

static void windows_are_changes_of_keys(struct kunit *test)
{
	const u32 rights = IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ;
	struct wqe_room *to = new_room(test);
	u8 in[sizeof(bind)];

	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_blocks(bind), 3);
	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(bind, &slot, &room, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.opcode, PINION_OP_BIND_MW);
	KUNIT_EXPECT_EQ(test, to->wqe.flags, PINION_WQE_SIGNALED | PINION_WQE_FENCE);
	KUNIT_EXPECT_EQ(test, to->wqe.bind.mw_rkey, 0x1122aa00);
	KUNIT_EXPECT_EQ(test, to->wqe.bind.new_rkey, 0x1122aa33);
	KUNIT_EXPECT_EQ(test, to->wqe.bind.mr_lkey, 0x7788);
	KUNIT_EXPECT_EQ(test, to->wqe.bind.addr, 0x7f0000010203);
	KUNIT_EXPECT_EQ(test, to->wqe.bind.length, 0x2001);
	KUNIT_EXPECT_EQ(test, to->wqe.bind.access, rights);
	KUNIT_EXPECT_EQ(test, to->wqe.num_sge, 0);
	/* At address 0, and at a wrong address. */
	memcpy(in, bind, sizeof(in));
	memset(in + 80, 0, 8);
	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.bind.access, rights | IB_UVERBS_ACCESS_ZERO_BASED);
	KUNIT_EXPECT_EQ(test, to->wqe.bind.addr, 0x7f0000010203);
	in[87] = 1;
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe),
			PINION_SYN_BAD_WQE);
	/* A length that differs from the translation's; other changes; another base. */
	memcpy(in, bind, sizeof(in));
	in[95] = 2;
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe),
			PINION_SYN_BAD_WQE);
	memcpy(in, bind, sizeof(in));
	in[30] |= 0x10;
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe),
			PINION_SYN_BAD_WQE);
	memcpy(in, bind, sizeof(in));
	in[16] = 0x30;
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe),
			PINION_SYN_BAD_WQE);
	memcpy(in, bind, sizeof(in));
	in[7] = 0x0b;
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe),
			PINION_SYN_BAD_WQE);
}

static void a_key_that_is_free_is_no_key(struct kunit *test)
{
	struct wqe_room *to = new_room(test);
	u8 in[sizeof(bind)];

	/* Without a length nothing is bound, and there is no translation: eight segments. */
	memcpy(in, bind, sizeof(in));
	in[7] = 0x08;
	in[64] = 0x40;
	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.opcode, PINION_OP_BIND_MW);
	KUNIT_EXPECT_EQ(test, to->wqe.bind.new_rkey, 0x1122aa33);
	KUNIT_EXPECT_EQ(test, to->wqe.bind.length, 0);
	/* Allowed if the key belongs to this queue pair. */
	in[16] |= 0x08;
	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.opcode, PINION_OP_LOCAL_INV);
	KUNIT_EXPECT_EQ(test, to->wqe.ex, 0x1122aa00);
	/* Completions have the same opcode for both. */
	KUNIT_EXPECT_EQ(test, pinion_mlx5_opcode(PINION_OP_LOCAL_INV), 0x25);
	KUNIT_EXPECT_EQ(test, pinion_mlx5_opcode(PINION_OP_BIND_MW), 0x25);
}

/*
 * Key 0x1122aa00 gets two ranges and tag 0x33; its owner may write and peers may read. The list
 * is padded: twelve segments.
 */
static const u8 pieces[192] = {
	0x00, 0xab, 0xcd, 0x25, 0x12, 0x34, 0x56, 0x0c,
	0x00, 0x00, 0x00, 0x28, 0x11, 0x22, 0xaa, 0x00,
	/* mask of changes; the translation takes four segments */
	0x80, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x20, 0x3c, 0x20, 0x01,
	/* the key */
	[64] = 0x00, 0x00, 0x18, 0x00, 0xff, 0xff, 0xff, 0x33,
	[88] = 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x08,
	/* its translation */
	[128] = 0x00, 0x00, 0x20, 0x01, 0x00, 0x00, 0x77, 0x88,
	0x00, 0x00, 0x7f, 0x00, 0x00, 0x01, 0x02, 0x03,
	0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x77, 0x89,
	0x00, 0x00, 0x7f, 0x00, 0x00, 0x02, 0x02, 0x03,
};

static void a_key_is_of_a_list_of_pieces(struct kunit *test)
{
	struct wqe_room *to = new_room(test);
	const struct pinion_wqe_range *range = (void *)(&to->wqe + 1);
	const struct pinion_wqe_layout *layout = &to->wqe.layout;

	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(pieces, &slot, &room, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.opcode, PINION_OP_LAYOUT);
	KUNIT_EXPECT_EQ(test, pinion_mlx5_opcode(PINION_OP_LAYOUT), 0x25);
	KUNIT_EXPECT_EQ(test, to->wqe.flags,
			PINION_WQE_SIGNALED | PINION_WQE_FENCE | PINION_WQE_INLINE);
	KUNIT_EXPECT_EQ(test, layout->key, 0x1122aa00);
	KUNIT_EXPECT_EQ(test, layout->new_key & 0xff, 0x33);
	KUNIT_EXPECT_EQ(test, layout->length, 0x2008);
	KUNIT_EXPECT_EQ(test, layout->flags, PINION_LAYOUT_RANGES | PINION_LAYOUT_ACCESS);
	KUNIT_EXPECT_EQ(test, layout->access,
			IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, layout->times, 1);
	KUNIT_ASSERT_EQ(test, layout->num, 2);
	KUNIT_EXPECT_EQ(test, to->wqe.inline_length, 2 * sizeof(*range));
	KUNIT_EXPECT_EQ(test, range[0].length, 0x2001);
	KUNIT_EXPECT_EQ(test, range[0].key, 0x7788);
	KUNIT_EXPECT_EQ(test, range[0].addr, 0x7f0000010203);
	KUNIT_EXPECT_EQ(test, range[1].length, 7);
	KUNIT_EXPECT_EQ(test, range[1].key, 0x7789);
	KUNIT_EXPECT_EQ(test, range[1].addr, 0x7f0000020203);
	KUNIT_EXPECT_EQ(test, range[0].stride | range[1].stride, 0);
}

static void a_key_is_of_pieces_over_and_over(struct kunit *test)
{
	/* Repeat 3 times: 8 bytes with stride 10, then 5 with stride 4096. */
	static const u8 rounds[] = {
		0x00, 0x00, 0x00, 0x0d, 0x00, 0x00, 0x04, 0x00,
		0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x02,
		0x00, 0x0a, 0x00, 0x08, 0x00, 0x00, 0x77, 0x88,
		0x00, 0x00, 0x7f, 0x00, 0x00, 0x01, 0x02, 0x03,
		0x10, 0x00, 0x00, 0x05, 0x00, 0x00, 0x77, 0x89,
		0x00, 0x00, 0x7f, 0x00, 0x00, 0x02, 0x02, 0x03,
	};
	struct wqe_room *to = new_room(test);
	const struct pinion_wqe_range *range = (void *)(&to->wqe + 1);
	u8 in[sizeof(pieces)];

	memcpy(in, pieces, sizeof(in));
	memcpy(in + 128, rounds, sizeof(rounds));
	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.layout.times, 3);
	KUNIT_ASSERT_EQ(test, to->wqe.layout.num, 2);
	KUNIT_EXPECT_EQ(test, range[0].length, 8);
	KUNIT_EXPECT_EQ(test, range[0].stride, 10);
	KUNIT_EXPECT_EQ(test, range[0].key, 0x7788);
	KUNIT_EXPECT_EQ(test, range[1].length, 5);
	KUNIT_EXPECT_EQ(test, range[1].stride, 4096);
	KUNIT_EXPECT_EQ(test, range[1].addr, 0x7f0000020203);
	/* As many repetitions as there are segments, and one more. */
	in[143] = 3;
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe), 0);
	in[143] = 4;
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe),
			PINION_SYN_BAD_WQE);
}

static void what_a_key_is_of_is_all_said_or_not(struct kunit *test)
{
	static const struct {
		const char *what;
		u8 at, value;
		int syndrome;
	} spoilt[] = {
		{ "not in the request", 16, 0x00, PINION_SYN_BAD_WQE },
		{ "no list", 21, 0, PINION_SYN_BAD_WQE },
		{ "longer than the request", 21, 5, PINION_SYN_BAD_WQE },
		{ "much longer", 20, 0xff, PINION_SYN_BAD_WQE },
		{ "of no length", 31, 0, PINION_SYN_BAD_WQE },
		{ "a signature", 30, 0x30, PINION_SYN_BAD_WQE },
		{ "half of its rights", 29, 0x1c, PINION_SYN_BAD_WQE },
		{ "neither free nor not", 28, 0x00, PINION_SYN_BAD_WQE },
		{ "of one queue pair", 30, 0x60, PINION_SYN_BAD_WQE },
		{ "cut", 7, 0x0b, PINION_SYN_BAD_WQE },
	};
	static const struct pinion_mlx5_room less = { MAX_SGE, 95 };
	struct wqe_room *to = new_room(test);
	u8 in[sizeof(pieces)];
	int i;

	for (i = 0; i < ARRAY_SIZE(spoilt); i++) {
		memcpy(in, pieces, sizeof(in));
		in[spoilt[i].at] = spoilt[i].value;
		KUNIT_EXPECT_EQ_MSG(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe),
				    spoilt[i].syndrome, "%s", spoilt[i].what);
	}
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(pieces, &slot, &less, &to->wqe),
			PINION_SYN_LENGTH);
	/* Only rights, then only the translation; the tag changes only if asked for. */
	memcpy(in, pieces, sizeof(in));
	in[7] = 8;
	in[21] = 0;
	in[31] = 0;
	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.layout.flags, PINION_LAYOUT_ACCESS);
	memcpy(in, pieces, sizeof(in));
	in[29] = 0;
	in[30] = 0;
	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.layout.flags, PINION_LAYOUT_RANGES);
	KUNIT_EXPECT_EQ(test, to->wqe.layout.new_key, 0x1122aa00);
}

static void a_copy_is_from_and_to(struct kunit *test)
{
	/* A COPY of one byte more than a page, from one key to another. */
	static const u8 copy[64] = {
		0x01, 0xab, 0xcd, 0x2f, 0x12, 0x34, 0x56, 0x04,
		0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00,
		[32] = 0x00, 0x00, 0x10, 0x01, 0x00, 0x00, 0x77, 0x88,
		0x00, 0x00, 0x7f, 0x00, 0x00, 0x01, 0x02, 0x03,
		0x00, 0x00, 0x10, 0x01, 0x00, 0x00, 0x77, 0x89,
		0x00, 0x00, 0x7f, 0x00, 0x00, 0x02, 0x02, 0x03,
	};
	static const struct {
		u8 at, value;
		int syndrome;
	} spoilt[] = {
		{ 0, 0, PINION_SYN_OPCODE }, { 0, 2, PINION_SYN_OPCODE },
		{ 7, 3, PINION_SYN_BAD_WQE }, { 35, 2, PINION_SYN_BAD_WQE },
		{ 32, 0x80, PINION_SYN_BAD_WQE },
	};
	struct wqe_room *to = new_room(test);
	const struct pinion_sge *ends = (void *)(&to->wqe + 1);
	u8 in[sizeof(copy)];
	int i;

	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(copy, &slot, &room, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.opcode, PINION_OP_COPY);
	KUNIT_EXPECT_EQ(test, pinion_mlx5_opcode(PINION_OP_COPY), 0x2f);
	KUNIT_EXPECT_EQ(test, to->wqe.inline_length, 2 * sizeof(*ends));
	KUNIT_EXPECT_EQ(test, ends[0].length, 0x1001);
	KUNIT_EXPECT_EQ(test, ends[0].lkey, 0x7788);
	KUNIT_EXPECT_EQ(test, ends[0].addr, 0x7f0000010203);
	KUNIT_EXPECT_EQ(test, ends[1].length, 0x1001);
	KUNIT_EXPECT_EQ(test, ends[1].lkey, 0x7789);
	KUNIT_EXPECT_EQ(test, ends[1].addr, 0x7f0000020203);
	for (i = 0; i < ARRAY_SIZE(spoilt); i++) {
		memcpy(in, copy, sizeof(in));
		in[spoilt[i].at] = spoilt[i].value;
		KUNIT_EXPECT_EQ_MSG(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe),
				    spoilt[i].syndrome, "%d", i);
	}
	/* A length of 1 MiB, one byte more, and 0, which means 2^31. */
	memcpy(in, copy, sizeof(in));
	put_unaligned_be32(SZ_1M, in + 32);
	put_unaligned_be32(SZ_1M, in + 48);
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe), 0);
	put_unaligned_be32(SZ_1M + 1, in + 32);
	put_unaligned_be32(SZ_1M + 1, in + 48);
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe),
			PINION_SYN_LENGTH);
	put_unaligned_be32(0, in + 32);
	put_unaligned_be32(0, in + 48);
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe),
			PINION_SYN_LENGTH);
}

static void xrc_names_a_shared_queue(struct kunit *test)
{
	static const struct pinion_mlx5_room xrc = { MAX_SGE, MAX_INLINE, .xrc = true };
	struct wqe_room *to = new_room(test);
	u8 in[sizeof(write_imm) + 16] = {};

	memcpy(in, write_imm, 16);
	in[7] = 5;
	in[17] = 0x0d;
	in[19] = 0x0f;
	memcpy(in + 32, write_imm + 16, 48);
	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &xrc, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.xrc_srqn, 0x000d000f);
	KUNIT_EXPECT_EQ(test, to->wqe.rdma.remote_addr, 0x0123456789abcdef);
	KUNIT_EXPECT_EQ(test, to->wqe.num_sge, 2);
	in[7] = 1;
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(in, &slot, &xrc, &to->wqe),
			PINION_SYN_BAD_WQE);
	/* A window belongs to the queue pair that binds it. */
	KUNIT_ASSERT_EQ(test, pinion_mlx5_wqe_parse(bind, &slot, &xrc, &to->wqe), 0);
	KUNIT_EXPECT_EQ(test, to->wqe.bind.length, 0x2001);
}

static void what_is_not_in_order_is_refused(struct kunit *test)
{
	static const struct {
		u8 at, value;
		int syndrome;
	} spoilt[] = {
		{ 0, 1, PINION_SYN_OPCODE },	{ 1, 0, PINION_SYN_BAD_WQE },
		{ 2, 0xce, PINION_SYN_BAD_WQE }, { 3, 0x25, PINION_SYN_BAD_WQE },
		{ 3, 0x0e, PINION_SYN_OPCODE },	{ 4, 0, PINION_SYN_BAD_WQE },
		{ 6, 0x57, PINION_SYN_BAD_WQE }, { 7, 0, PINION_SYN_BAD_WQE },
		{ 7, 1, PINION_SYN_BAD_WQE },	{ 48, 0x80, PINION_SYN_BAD_WQE },
	};
	struct wqe_room *to = new_room(test);
	static const struct pinion_mlx5_room less = { 1, MAX_INLINE };
	u8 in[sizeof(write_imm)];
	int i;

	for (i = 0; i < ARRAY_SIZE(spoilt); i++) {
		memcpy(in, write_imm, sizeof(in));
		in[spoilt[i].at] = spoilt[i].value;
		KUNIT_EXPECT_EQ_MSG(test, pinion_mlx5_wqe_parse(in, &slot, &room, &to->wqe),
				    spoilt[i].syndrome, "%d", i);
	}
	KUNIT_EXPECT_EQ(test, pinion_mlx5_wqe_parse(write_imm, &slot, &less, &to->wqe),
			PINION_SYN_BAD_WQE);
}

static void a_ring_goes_round(struct kunit *test)
{
	u8 *ring = kunit_kzalloc(test, 8 * PINION_MLX5_BLOCK, GFP_KERNEL);
	u8 *to = kunit_kzalloc(test, 8 * PINION_MLX5_BLOCK, GFP_KERNEL);
	u32 index, count, i;

	KUNIT_ASSERT_NOT_NULL(test, ring);
	KUNIT_ASSERT_NOT_NULL(test, to);
	for (i = 0; i < 8; i++)
		memset(ring + i * PINION_MLX5_BLOCK, i, PINION_MLX5_BLOCK);
	for (index = U32_MAX - 20; index != 20; index++) {
		for (count = 1; count <= 8; count++) {
			pinion_mlx5_wqe_copy(to, ring, 8, index, count);
			for (i = 0; i < count * PINION_MLX5_BLOCK; i++)
				KUNIT_ASSERT_EQ(test, to[i],
						(index + i / PINION_MLX5_BLOCK) % 8);
		}
	}
}

static void receives_end_at_the_key_of_nothing(struct kunit *test)
{
	static const u8 list[48] = {
		[3] = 16, [6] = 0x55, [7] = 0x66, [14] = 0x10,
		[22] = 0x01,
		[35] = 16, [39] = 0x77,
	};
	struct pinion_sge sge[3];

	KUNIT_EXPECT_EQ(test, pinion_mlx5_recv_next(list), 16);
	KUNIT_ASSERT_EQ(test, pinion_mlx5_recv_parse(list, 3, sge), 1);
	KUNIT_EXPECT_EQ(test, sge[0].length, 16);
	KUNIT_EXPECT_EQ(test, sge[0].lkey, 0x5566);
	KUNIT_EXPECT_EQ(test, sge[0].addr, 0x1000);
}

/* Parsing random bytes never writes beyond the output. */
static void garbage_stays_in_its_room(struct kunit *test)
{
	u8 *in = kunit_kzalloc(test, PINION_MLX5_MAX_BLOCKS * PINION_MLX5_BLOCK, GFP_KERNEL);
	struct wqe_room *to = new_room(test);
	struct pinion_mlx5_room any = room;
	u32 round, i, accepted = 0, layouts = 0, led = 0;
	struct rnd_state rnd;

	KUNIT_ASSERT_NOT_NULL(test, in);
	random_begin(&rnd, 5);
	for (round = 0; round < 100000; round++) {
		prandom_bytes_state(&rnd, in, 1008);
		memcpy(in, write_imm, random_below(&rnd, 2) ? 7 : 16);
		in[3] = mlx5_wqe_kinds[random_below(&rnd, ARRAY_SIZE(mlx5_wqe_kinds))].theirs;
		for (i = 16; i < 1008; i += 16) {
			if (random_below(&rnd, 2))
				put_unaligned_be32(BIT(31) | random_below(&rnd, 40), in + i);
		}
		if (random_below(&rnd, 2))
			in[7] = random_below(&rnd, 8);
		/* Almost valid changes of keys, with random translations. */
		if (random_one_in(&rnd, 4)) {
			memcpy(in + 3, pieces + 3, 69);
			in[7] = random_below(&rnd, 64);
			in[21] = random_below(&rnd, 60);
			if (random_below(&rnd, 2))
				put_unaligned_be32(0x400, in + 132);
		}
		KUNIT_ASSERT_LE(test, pinion_mlx5_wqe_blocks(in), PINION_MLX5_MAX_BLOCKS);
		any.datagrams = random_below(&rnd, 2);
		any.xrc = random_below(&rnd, 2);
		if (pinion_mlx5_wqe_parse(in, &slot, &any, &to->wqe))
			continue;
		accepted++;
		KUNIT_ASSERT_LE(test, to->wqe.num_sge, MAX_SGE);
		KUNIT_ASSERT_LE(test, to->wqe.inline_length, MAX_INLINE);
		if (to->wqe.flags & PINION_WQE_LEAD) {
			led++;
			KUNIT_ASSERT_TRUE(test, to->wqe.num_sge);
			KUNIT_ASSERT_LE(test, to->wqe.num_sge * 16 + to->wqe.inline_length,
					MAX_INLINE);
		} else {
			KUNIT_ASSERT_TRUE(test, !to->wqe.num_sge || !to->wqe.inline_length);
		}
		if (to->wqe.opcode != PINION_OP_LAYOUT)
			continue;
		layouts++;
		KUNIT_ASSERT_EQ(test, to->wqe.inline_length,
				to->wqe.layout.num * sizeof(struct pinion_wqe_range));
	}
	for (i = 0; i < sizeof(to->behind); i++)
		KUNIT_ASSERT_EQ(test, to->behind[i], 0xee);
	KUNIT_EXPECT_GT(test, accepted, 1000);
	KUNIT_EXPECT_GT(test, layouts, 100);
	KUNIT_EXPECT_GT(test, led, 100);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_write_of_two_pieces),
	KUNIT_CASE(a_send_of_what_is_in_it),
	KUNIT_CASE(a_send_begins_with_what_is_in_it),
	KUNIT_CASE(nothing_is_asked_for_by_a_control_segment),
	KUNIT_CASE(atomics_have_two_words),
	KUNIT_CASE(a_datagram_says_where_it_goes),
	KUNIT_CASE(doorbells_say_up_to_where),
	KUNIT_CASE(windows_are_changes_of_keys),
	KUNIT_CASE(a_key_that_is_free_is_no_key),
	KUNIT_CASE(a_key_is_of_a_list_of_pieces),
	KUNIT_CASE(a_key_is_of_pieces_over_and_over),
	KUNIT_CASE(what_a_key_is_of_is_all_said_or_not),
	KUNIT_CASE(a_copy_is_from_and_to),
	KUNIT_CASE(xrc_names_a_shared_queue),
	KUNIT_CASE(what_is_not_in_order_is_refused),
	KUNIT_CASE(a_ring_goes_round),
	KUNIT_CASE(receives_end_at_the_key_of_nothing),
	KUNIT_CASE(garbage_stays_in_its_room),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_mlx5_wqe",
	.test_cases = cases,
};

kunit_test_suites(&suite);
