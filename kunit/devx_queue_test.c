// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DEVX commands about queues, built as in the programmer's reference: big-endian words at offsets
 * in bytes.
 */
#include <kunit/test.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "../kernel/logic/devx_queue.c"

#define ROOM 0x120
/* Offset of a queue pair's context, in bytes. */
#define QPC 0x18

static u8 *queue_room(struct kunit *test)
{
	u8 *room = kunit_kzalloc(test, ROOM, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, room);
	return room;
}

static u8 *queue_new_cq(struct kunit *test)
{
	u8 *in = queue_room(test);

	put_unaligned_be32(BIT(25), in + 0x10);
	put_unaligned_be32(0x11223344, in + 0x14);
	put_unaligned_be32(22 << 24 | 0xabcdef, in + 0x1c);
	put_unaligned_be32(0xfff << 16 | 0x8001, in + 0x20);
	put_unaligned_be32(3, in + 0x24);
	put_unaligned_be64(0x1122334455667788, in + 0x48);
	put_unaligned_be64(0x99aabbccddeeff00, in + 0x50);
	put_unaligned_be32(0x55667788, in + 0x58);
	put_unaligned_be32(BIT(31), in + 0x5c);
	return in;
}

static void a_completion_queue_is_read(struct kunit *test)
{
	struct pinion_devx_cq cq;

	KUNIT_EXPECT_EQ(test, pinion_devx_parse_cq(queue_new_cq(test), &cq), PINION_DEVX_DONE);
	KUNIT_EXPECT_EQ(test, cq.record.umem_id, 0x11223344);
	KUNIT_EXPECT_EQ(test, cq.record.offset, 0x1122334455667788);
	KUNIT_EXPECT_EQ(test, cq.ring.umem_id, 0x55667788);
	KUNIT_EXPECT_EQ(test, cq.ring.offset, 0x99aabbccddeeff00);
	KUNIT_EXPECT_EQ(test, cq.log_size, 22);
	KUNIT_EXPECT_EQ(test, cq.uar, 0xabcdef);
	KUNIT_EXPECT_EQ(test, cq.period, 0xfff);
	KUNIT_EXPECT_EQ(test, cq.max_count, 0x8001);
	KUNIT_EXPECT_EQ(test, cq.eqn, 3);
	KUNIT_EXPECT_FALSE(test, cq.wide);
}

/* Unsupported features are refused, not ignored: each bit of the first word. */
static void features_of_completion_queues_are_refused(struct kunit *test)
{
	const u32 refused = BIT(24) | BIT(23) | BIT(22) | BIT(20) | BIT(14);
	u8 *in = queue_new_cq(test);
	struct pinion_devx_cq cq;
	int bit;

	for (bit = 0; bit < 25; bit++) {
		put_unaligned_be32(BIT(25) | BIT(bit), in + 0x10);
		KUNIT_EXPECT_EQ(test, pinion_devx_parse_cq(in, &cq),
				refused & BIT(bit) ? PINION_DEVX_CQ_FEATURE : PINION_DEVX_DONE);
		if (bit == 21)
			KUNIT_EXPECT_TRUE(test, cq.wide);
		if (!(refused & BIT(bit)))
			KUNIT_EXPECT_EQ(test, cq.overruns, bit == 17);
	}
	/* Programs leave it to the driver to say that there are umems. */
	put_unaligned_be32(0, in + 0x10);
	put_unaligned_be32(0x7fffffff, in + 0x5c);
	KUNIT_EXPECT_EQ(test, pinion_devx_parse_cq(in, &cq), PINION_DEVX_DONE);
}

static void a_completion_queue_is_told(struct kunit *test)
{
	const struct pinion_devx_cq_state state = { true, 0x123456, 0x654321 };
	u8 *in = queue_new_cq(test), *out = queue_room(test);
	struct pinion_devx_cq cq;

	put_unaligned_be32(BIT(25) | BIT(17), in + 0x10);
	pinion_devx_parse_cq(in, &cq);
	pinion_devx_put_cq(out, &cq, &state);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(out + 0x10), 0x90000000 | BIT(25) | BIT(17));
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(out + 0x38), 0x654321);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(out + 0x3c), 0x123456);
	put_unaligned_be32(get_unaligned_be32(in + 0x10), out + 0x10);
	memset(out + 0x38, 0, 8);
	/* The context does not have the place of the ring. */
	KUNIT_EXPECT_MEMEQ(test, out + 0x10, in + 0x10, 0x40);
}

static void moderation_alone_is_changed(struct kunit *test)
{
	struct pinion_devx_cq_change change;
	u8 *in = queue_room(test);
	int bit;

	put_unaligned_be32(7 << 16 | 9, in + 0x20);
	for (bit = 0; bit < 32; bit++) {
		put_unaligned_be32(BIT(bit), in + 0x0c);
		KUNIT_EXPECT_EQ(test, pinion_devx_parse_cq_change(in, &change),
				bit < 2 ? PINION_DEVX_DONE : PINION_DEVX_CQ_FEATURE);
		if (bit >= 2)
			continue;
		KUNIT_EXPECT_EQ(test, change.sets_period, bit == 0);
		KUNIT_EXPECT_EQ(test, change.sets_count, bit == 1);
		KUNIT_EXPECT_EQ(test, change.period, 7);
		KUNIT_EXPECT_EQ(test, change.max_count, 9);
	}
}

static u8 *queue_new_qp(struct kunit *test)
{
	u8 *in = queue_room(test), *qpc = in + QPC;

	put_unaligned_be32(0x00123456, qpc + 0x04);
	put_unaligned_be32(7 << 19 | 2 << 16 | 9 << 11, qpc + 0x08);
	put_unaligned_be32(0x00abcdef, qpc + 0x0c);
	put_unaligned_be32(0x00fedcba, qpc + 0x10);
	put_unaligned_be32(0x00111213, qpc + 0x7c);
	put_unaligned_be32(0x00212223, qpc + 0x9c);
	put_unaligned_be64(0x1122334455667788, qpc + 0xa0);
	put_unaligned_be32(BIT(28), qpc + 0xd0);
	put_unaligned_be32(0x31323334, qpc + 0xe4);
	put_unaligned_be64(0x4142434445464748, in + 0x100);
	put_unaligned_be32(0x51525354, in + 0x108);
	put_unaligned_be32(BIT(31), in + 0x10c);
	return in;
}

static void a_queue_pair_is_read(struct kunit *test)
{
	struct pinion_devx_qp qp;

	KUNIT_EXPECT_EQ(test, pinion_devx_parse_qp(queue_new_qp(test), &qp), PINION_DEVX_DONE);
	KUNIT_EXPECT_EQ(test, qp.pdn, 0x123456);
	KUNIT_EXPECT_EQ(test, qp.log_rq_size, 7);
	KUNIT_EXPECT_EQ(test, qp.log_rq_stride, 2);
	KUNIT_EXPECT_EQ(test, qp.log_sq_size, 9);
	KUNIT_EXPECT_EQ(test, qp.uar, 0xabcdef);
	KUNIT_EXPECT_EQ(test, qp.user_index, 0xfedcba);
	KUNIT_EXPECT_EQ(test, qp.send_cqn, 0x111213);
	KUNIT_EXPECT_EQ(test, qp.recv_cqn, 0x212223);
	KUNIT_EXPECT_EQ(test, qp.record.offset, 0x1122334455667788);
	KUNIT_EXPECT_EQ(test, qp.record.umem_id, 0x31323334);
	KUNIT_EXPECT_EQ(test, qp.ring.offset, 0x4142434445464748);
	KUNIT_EXPECT_EQ(test, qp.ring.umem_id, 0x51525354);
	KUNIT_EXPECT_TRUE(test, qp.receives);
}

static void features_of_queue_pairs_are_refused(struct kunit *test)
{
	static const struct {
		u8 at;
		u32 value;
		int refusal;
	} cases[] = {
		{ 0x00, 0x010000, PINION_DEVX_DONE },		/* unreliable */
		{ 0x00, 0x020000, PINION_DEVX_DONE },		/* datagrams */
		{ 0x00, 0x030000, PINION_DEVX_QP_FEATURE },	/* XRC */
		{ 0x04, BIT(31), PINION_DEVX_QP_FEATURE },	/* signatures */
		{ 0x08, BIT(15), PINION_DEVX_QP_FEATURE },	/* no sends */
		{ 0x10, BIT(30), PINION_DEVX_DONE },		/* no record of sends */
		{ 0x10, BIT(31), PINION_DEVX_QP_FEATURE },
		{ 0x90, BIT(11), PINION_DEVX_QP_FEATURE },	/* within a page */
		{ 0x90, 1, PINION_DEVX_QP_FEATURE },		/* waits for another */
		{ 0x90, 2, PINION_DEVX_QP_FEATURE },
		{ 0x90, 4, PINION_DEVX_QP_FEATURE },
		{ 0xac, BIT(24), PINION_DEVX_DONE },		/* a shared receive queue */
		{ 0xac, 2 << 24, PINION_DEVX_QP_FEATURE },
		{ 0xac, 3 << 24, PINION_DEVX_DONE },		/* no receives */
		/* Programs leave it to the driver to say that there are umems. */
		{ 0xd0, 0, PINION_DEVX_DONE },
		{ 0xf4, 0, PINION_DEVX_DONE },
	};
	struct pinion_devx_qp qp;
	u8 *in;
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		in = queue_new_qp(test);
		put_unaligned_be32(cases[i].value, in + QPC + cases[i].at);
		KUNIT_EXPECT_EQ_MSG(test, pinion_devx_parse_qp(in, &qp), cases[i].refusal,
				    "case %d", i);
	}
}

/* A query returns all values of a change, at the same offsets. */
static void a_change_is_told_as_it_was_asked_for(struct kunit *test)
{
	u8 *in = queue_room(test), *out = queue_room(test), *qpc = in + QPC;
	const struct pinion_devx_qp_state state = { .state = 5 };
	struct pinion_devx_qp qp;
	int i;

	put_unaligned_be32(0x4a, in + 0x10);
	put_unaligned_be32(3U << 29, qpc + 0x08);
	put_unaligned_be32(0x00a1a2a3, qpc + 0x14);
	/* the path: index of a P_Key, timer and source, class and label, addresses */
	put_unaligned_be32(0x0000b1b2, qpc + 0x18);
	put_unaligned_be32(14U << 27 | 0x770040, qpc + 0x20);
	put_unaligned_be32(0x0ab12345, qpc + 0x24);
	for (i = 0; i < 16; i++)
		qpc[0x28 + i] = 0xc0 + i;
	put_unaligned_be32(5 << 28 | 1 << 16 | 0xd1d2, qpc + 0x3c);
	put_unaligned_be32(0xd3d4d5d6, qpc + 0x40);
	put_unaligned_be32(4 << 21 | 6 << 16 | 7 << 13, qpc + 0x70);
	put_unaligned_be32(0x00e1e2e3, qpc + 0x78);
	put_unaligned_be32(3 << 21 | 5 << 13, qpc + 0x90);
	put_unaligned_be32(12 << 24 | 0xf1f2f3, qpc + 0x94);

	KUNIT_EXPECT_EQ(test, pinion_devx_parse_qp_change(in, &qp), PINION_DEVX_DONE);
	KUNIT_EXPECT_EQ(test, qp.optional, 0x4a);
	KUNIT_EXPECT_EQ(test, qp.path.timeout, 14);
	KUNIT_EXPECT_EQ(test, qp.path.traffic_class, 0xab);
	KUNIT_EXPECT_EQ(test, qp.path.flow_label, 0x12345);
	KUNIT_EXPECT_EQ(test, qp.rnr_timer, 12);
	KUNIT_EXPECT_TRUE(test, qp.remote_read && !qp.remote_write && qp.remote_atomic);
	qp.receives = true;
	pinion_devx_put_qp(out, &qp, &state);
	/* In mlx5 the numbers of SQD and SQE are exchanged. */
	KUNIT_EXPECT_EQ(test, out[QPC] >> 4, 4);
	out[QPC] = 0;
	put_unaligned_be32(0, out + QPC + 0xd0);
	KUNIT_EXPECT_MEMEQ(test, out + QPC, qpc, 0xe8);
}

/* A second context would not be parsed. */
static void a_change_with_a_second_context_is_refused(struct kunit *test)
{
	u8 *in = queue_room(test);
	struct pinion_devx_qp qp;

	put_unaligned_be32(BIT(31) | 0x123456, in + 0x08);
	KUNIT_EXPECT_EQ(test, pinion_devx_parse_qp_change(in, &qp), PINION_DEVX_QP_FEATURE);
}

static u8 *queue_new_rmp(struct kunit *test)
{
	u8 *in = queue_room(test);
	u8 *wq = in + 0x50;

	put_unaligned_be32(1 << 20, in + 0x20);
	put_unaligned_be32(0x8001, wq + 0x04);
	put_unaligned_be32(0xa1a2a3, wq + 0x08);
	put_unaligned_be32(0xb1b2b3, wq + 0x0c);
	put_unaligned_be64(0x1122334455667788, wq + 0x10);
	put_unaligned_be32(7 << 16 | 13, wq + 0x20);
	put_unaligned_be32(BIT(31) | BIT(30), wq + 0x24);
	put_unaligned_be32(0x11223344, wq + 0x28);
	put_unaligned_be32(0x55667788, wq + 0x2c);
	put_unaligned_be64(0x99aabbccddeeff00, wq + 0x30);
	return in;
}

/* A query returns the parameters of creation and the number of receives taken. */
static void a_shared_receive_queue_is_read_and_told(struct kunit *test)
{
	u8 *in = queue_new_rmp(test), *out = queue_room(test);
	struct pinion_devx_rmp rmp;

	KUNIT_EXPECT_EQ(test, pinion_devx_parse_rmp(in, &rmp), PINION_DEVX_DONE);
	KUNIT_EXPECT_TRUE(test, rmp.linked);
	KUNIT_EXPECT_EQ(test, rmp.limit, 0x8001);
	KUNIT_EXPECT_EQ(test, rmp.pdn, 0xa1a2a3);
	KUNIT_EXPECT_EQ(test, rmp.uar, 0xb1b2b3);
	KUNIT_EXPECT_EQ(test, rmp.record.umem_id, 0x11223344);
	KUNIT_EXPECT_EQ(test, rmp.record.offset, 0x1122334455667788);
	KUNIT_EXPECT_EQ(test, rmp.ring.umem_id, 0x55667788);
	KUNIT_EXPECT_EQ(test, rmp.ring.offset, 0x99aabbccddeeff00);
	KUNIT_EXPECT_EQ(test, rmp.log_size, 13);
	KUNIT_EXPECT_EQ(test, rmp.log_stride, 7);
	pinion_devx_put_rmp(out, &rmp, 0xd1d2);
	put_unaligned_be32(0xd1d2, in + 0x50 + 0x18);
	KUNIT_EXPECT_MEMEQ(test, out, in, ROOM);
	in[0x50] = 0x10;
	KUNIT_EXPECT_EQ(test, pinion_devx_parse_rmp(in, &rmp), PINION_DEVX_DONE);
	KUNIT_EXPECT_FALSE(test, rmp.linked);
}

static void features_of_shared_receive_queues_are_refused(struct kunit *test)
{
	static const struct {
		u8 at;
		u32 value;
		int refusal;
	} cases[] = {
		{ 0x20, 0, PINION_DEVX_RMP_FEATURE },		/* not ready */
		{ 0x50, 2 << 28, PINION_DEVX_RMP_FEATURE },	/* of strides */
		{ 0x50, BIT(27), PINION_DEVX_RMP_FEATURE },	/* signatures */
		{ 0x54, BIT(16), PINION_DEVX_RMP_FEATURE },	/* within a page */
		{ 0x74, BIT(30), PINION_DEVX_DONE },
		{ 0x74, BIT(31), PINION_DEVX_DONE },
		{ 0x74, 3U << 30 | BIT(7), PINION_DEVX_RMP_FEATURE },
	};
	struct pinion_devx_rmp rmp;
	u8 *in;
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		in = queue_new_rmp(test);
		put_unaligned_be32(cases[i].value, in + cases[i].at);
		KUNIT_EXPECT_EQ_MSG(test, pinion_devx_parse_rmp(in, &rmp), cases[i].refusal,
				    "case %d", i);
	}
}

static void the_limit_alone_is_changed(struct kunit *test)
{
	struct pinion_devx_rmp_change change;
	u8 *in = queue_new_rmp(test);

	put_unaligned_be32(1 << 28, in + 0x08);
	KUNIT_EXPECT_EQ(test, pinion_devx_parse_rmp_change(in, &change), PINION_DEVX_DONE);
	KUNIT_EXPECT_FALSE(test, change.sets_limit);
	put_unaligned_be32(1, in + 0x14);
	KUNIT_EXPECT_EQ(test, pinion_devx_parse_rmp_change(in, &change), PINION_DEVX_DONE);
	KUNIT_EXPECT_TRUE(test, change.sets_limit);
	KUNIT_EXPECT_EQ(test, change.limit, 0x8001);
	put_unaligned_be32(0, in + 0x08);
	KUNIT_EXPECT_EQ(test, pinion_devx_parse_rmp_change(in, &change), PINION_DEVX_RMP_FEATURE);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_completion_queue_is_read),
	KUNIT_CASE(features_of_completion_queues_are_refused),
	KUNIT_CASE(a_completion_queue_is_told),
	KUNIT_CASE(moderation_alone_is_changed),
	KUNIT_CASE(a_queue_pair_is_read),
	KUNIT_CASE(features_of_queue_pairs_are_refused),
	KUNIT_CASE(a_change_is_told_as_it_was_asked_for),
	KUNIT_CASE(a_change_with_a_second_context_is_refused),
	KUNIT_CASE(a_shared_receive_queue_is_read_and_told),
	KUNIT_CASE(features_of_shared_receive_queues_are_refused),
	KUNIT_CASE(the_limit_alone_is_changed),
	{}
};

static struct kunit_suite suite = {
	.name = "pinion_devx_queue",
	.test_cases = cases,
};

kunit_test_suites(&suite);
