// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast by a kernel user. The core counts memberships of a queue pair and refuses to destroy
 * one that has any, but lists the groups only for user space.
 */
#include "kverbs.h"

static void joins_twice(struct kunit *test)
{
	struct limited *l = test->priv;
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.qp_type = IB_QPT_UD,
	};
	/* 239.1.2.78 */
	union ib_gid mgid = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 78 } };
	struct ib_qp *qp = ib_create_qp(l->pd, &attr);

	KUNIT_ASSERT_FALSE(test, IS_ERR(qp));
	KUNIT_EXPECT_EQ(test, 0, ib_attach_mcast(qp, &mgid, 0));
	KUNIT_EXPECT_EQ(test, 0, ib_attach_mcast(qp, &mgid, 0));
	KUNIT_EXPECT_EQ(test, 0, ib_detach_mcast(qp, &mgid, 0));
	KUNIT_EXPECT_EQ(test, 0, ib_detach_mcast(qp, &mgid, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, ib_detach_mcast(qp, &mgid, 0));
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(qp));
}

struct kunit_case group_cases[] = {
	KUNIT_CASE(joins_twice),
	{}
};
