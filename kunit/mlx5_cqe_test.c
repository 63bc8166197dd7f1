// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mlx5's completions, byte by byte as in the programmers' reference.
 */
#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#include "../kernel/logic/mlx5_cqe.c"

static void a_request_that_was_performed(struct kunit *test)
{
	static const struct pinion_cqe cqe = { .qpn = 0x123456, .byte_len = 0x1000,
					       .timestamp = 0x0102030405060708 };
	static const struct pinion_mlx5_cqe_of of = { .opcode = PINION_OP_RDMA_READ,
						      .wqe_counter = 0xabcd, .srqn = 0xfeedf0 };
	static const u8 want[PINION_MLX5_CQE - 1] = {
		[33] = 0xfe, 0xed, 0xf0,
		[46] = 0x10, 0x00,
		[48] = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
		[56] = 0x10, 0x12, 0x34, 0x56, 0xab, 0xcd,
	};
	u8 got[PINION_MLX5_CQE - 1];

	KUNIT_EXPECT_EQ(test, pinion_mlx5_cqe_fill(got, &cqe, &of, 0, 16), 0x00);
	KUNIT_EXPECT_MEMEQ(test, got, want, sizeof(want));
}

static void what_was_received(struct kunit *test)
{
	static const u8 wire[] = { 0xaa, 0xbb, 0xcc, 0xdd };
	struct pinion_cqe cqe = { .qpn = 1, .src_qp = 0x020304, .sl = 5, .opcode = IB_WC_RECV,
				  .flags = PINION_CQE_GRH | PINION_CQE_WITH_IMM |
					   PINION_CQE_SOLICITED };
	static const struct pinion_mlx5_cqe_of of = { .receive = true, .wqe_counter = 3 };
	u8 got[PINION_MLX5_CQE - 1];

	memcpy(&cqe.ex, wire, sizeof(wire));
	KUNIT_EXPECT_EQ(test, pinion_mlx5_cqe_fill(got, &cqe, &of, 0, 16), 0x32);
	/* With a GRH the service level's place says what is in it: IPv4 or IPv6. */
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(got + 24), 0x12020304);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(got + 36), 0xaabbccdd);
	cqe.flags = PINION_CQE_GRH | PINION_CQE_NET_IPV6;
	KUNIT_EXPECT_EQ(test, pinion_mlx5_cqe_fill(got, &cqe, &of, 0, 16), 0x20);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(got + 24), 0x11020304);
	cqe.flags = 0;
	KUNIT_EXPECT_EQ(test, pinion_mlx5_cqe_fill(got, &cqe, &of, 0, 16), 0x20);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(got + 24), 0x05020304);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(got + 36), 0);
	cqe.flags = PINION_CQE_WITH_INV;
	cqe.ex = 0x11223344;
	KUNIT_EXPECT_EQ(test, pinion_mlx5_cqe_fill(got, &cqe, &of, 0, 16), 0x40);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(got + 36), 0x11223344);
	cqe.opcode = IB_WC_RECV_RDMA_WITH_IMM;
	cqe.flags = PINION_CQE_WITH_IMM;
	KUNIT_EXPECT_EQ(test, pinion_mlx5_cqe_fill(got, &cqe, &of, 0, 16), 0x10);
}

/* Each status has the syndrome that libmlx5 knows. */
static void errors_have_a_syndrome(struct kunit *test)
{
	static const struct {
		u8 status, syndrome;
	} known[] = {
		{ IB_WC_LOC_LEN_ERR, 0x01 },	 { IB_WC_LOC_QP_OP_ERR, 0x02 },
		{ IB_WC_LOC_PROT_ERR, 0x04 },	 { IB_WC_WR_FLUSH_ERR, 0x05 },
		{ IB_WC_MW_BIND_ERR, 0x06 },	 { IB_WC_BAD_RESP_ERR, 0x10 },
		{ IB_WC_LOC_ACCESS_ERR, 0x11 },	 { IB_WC_REM_INV_REQ_ERR, 0x12 },
		{ IB_WC_REM_ACCESS_ERR, 0x13 },	 { IB_WC_REM_OP_ERR, 0x14 },
		{ IB_WC_RETRY_EXC_ERR, 0x15 },	 { IB_WC_RNR_RETRY_EXC_ERR, 0x16 },
		{ IB_WC_REM_ABORT_ERR, 0x22 },	 { IB_WC_GENERAL_ERR, 0xff },
		{ IB_WC_FATAL_ERR, 0xff },	 { 255, 0xff },
	};
	struct pinion_cqe cqe = { .qpn = 7, .vendor_err = PINION_SYN_KEY_RANGE, .byte_len = 99 };
	struct pinion_mlx5_cqe_of of = { .opcode = PINION_OP_SEND, .wqe_counter = 0x0102 };
	u8 got[PINION_MLX5_CQE - 1];
	int i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		cqe.status = known[i].status;
		of.receive = i & 1;
		KUNIT_EXPECT_EQ(test, pinion_mlx5_cqe_fill(got, &cqe, &of, 0, 16),
				i & 1 ? 0xe0 : 0xd0);
		KUNIT_EXPECT_EQ(test, got[55], known[i].syndrome);
		KUNIT_EXPECT_EQ(test, got[54], PINION_SYN_KEY_RANGE);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(got + 56), i & 1 ? 7 : 0x0a000007);
		KUNIT_EXPECT_EQ(test, get_unaligned_be16(got + 60), 0x0102);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(got + 44), 0);
	}
}

/* As seen by a user that, like libmlx5, never resets its index. */
static void the_owner_changes_each_time_round(struct kunit *test)
{
	static const struct pinion_cqe cqe = { .qpn = 1 };
	static const struct pinion_mlx5_cqe_of of = { .opcode = PINION_OP_SEND };
	u8 got[PINION_MLX5_CQE - 1];
	u32 size, index, i;

	for (size = 1; size <= 64; size *= 2) {
		for (i = 0, index = U32_MAX - 300; i < 600; i++, index++)
			KUNIT_ASSERT_EQ(test, pinion_mlx5_cqe_fill(got, &cqe, &of, index, size),
					index / size % 2);
	}
	KUNIT_EXPECT_PTR_EQ(test, pinion_mlx5_cqe_in(got, 64), &got[0]);
	KUNIT_EXPECT_PTR_EQ(test, pinion_mlx5_cqe_in(got - 64, 128), &got[0]);
}

static void a_ring_ends_with_a_word_of_it(struct kunit *test)
{
	static const u8 nothing[PINION_MLX5_CQE - 1];
	u8 got[PINION_MLX5_CQE - 1];

	memset(got, 0xee, sizeof(got));
	KUNIT_EXPECT_EQ(test, pinion_mlx5_cqe_fill_resized(got, 7, 8), 0x50);
	KUNIT_EXPECT_MEMEQ(test, got, nothing, sizeof(got));
	KUNIT_EXPECT_EQ(test, pinion_mlx5_cqe_fill_resized(got, 8, 8), 0x51);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_request_that_was_performed),
	KUNIT_CASE(what_was_received),
	KUNIT_CASE(errors_have_a_syndrome),
	KUNIT_CASE(the_owner_changes_each_time_round),
	KUNIT_CASE(a_ring_ends_with_a_word_of_it),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_mlx5_cqe",
	.test_cases = cases,
};

kunit_test_suites(&suite);
