// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The limits that the device reports to the kernel can be used, and one more is refused (class
 * 23). User space gets its limits from the driver; nfs and nvme use these.
 */
#include "kverbs.h"

int limits_init(struct kunit *test)
{
	struct limited *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, l);
	l->pd = ib_alloc_pd(kverbs_device, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(l->pd));
	test->priv = l;
	l->cq = ib_alloc_cq(kverbs_device, NULL, 16, 0, IB_POLL_DIRECT);
	KUNIT_ASSERT_FALSE(test, IS_ERR(l->cq));
	return 0;
}

void limits_exit(struct kunit *test)
{
	struct limited *l = test->priv;

	if (!l)
		return;
	if (!IS_ERR_OR_NULL(l->cq))
		ib_free_cq(l->cq);
	ib_dealloc_pd(l->pd);
}

/* Creates and destroys a QP of this size; returns the errno. */
static int try_cap(struct kunit *test, struct ib_qp_cap cap)
{
	struct limited *l = test->priv;
	struct ib_qp_init_attr attr = {
		.cap = cap,
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp = ib_create_qp(l->pd, &attr);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	/* The QP has at least what was asked for. */
	KUNIT_EXPECT_GE(test, attr.cap.max_send_sge, cap.max_send_sge);
	KUNIT_EXPECT_GE(test, attr.cap.max_recv_sge, cap.max_recv_sge);
	ib_destroy_qp(qp);
	return 0;
}

static void pieces_as_reported(struct kunit *test)
{
	struct ib_device_attr *most = &kverbs_device->attrs;
	struct ib_qp_cap cap = {
		.max_send_wr = 4,
		.max_recv_wr = 4,
		.max_send_sge = most->max_send_sge,
		.max_recv_sge = most->max_recv_sge,
	};

	KUNIT_EXPECT_EQ(test, 0, try_cap(test, cap));
	cap.max_send_sge++;
	KUNIT_EXPECT_EQ(test, -EINVAL, try_cap(test, cap));
	cap.max_send_sge--;
	cap.max_recv_sge++;
	KUNIT_EXPECT_EQ(test, -EINVAL, try_cap(test, cap));
}

static void queues_as_reported(struct kunit *test)
{
	struct ib_device_attr *most = &kverbs_device->attrs;
	struct ib_qp_cap cap = {
		.max_send_wr = most->max_qp_wr,
		.max_recv_wr = most->max_qp_wr,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};

	KUNIT_EXPECT_EQ(test, 0, try_cap(test, cap));
	cap.max_send_wr++;
	KUNIT_EXPECT_EQ(test, -EINVAL, try_cap(test, cap));
	cap.max_send_wr--;
	cap.max_recv_wr++;
	KUNIT_EXPECT_EQ(test, -EINVAL, try_cap(test, cap));
}

struct kunit_case limits_cases[] = {
	KUNIT_CASE(pieces_as_reported),
	KUNIT_CASE(queues_as_reported),
	{}
};
