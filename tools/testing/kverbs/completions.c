// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completions of several queue pairs in one queue, taken by one call.
 */
#include "kverbs.h"

enum { QPS = 3, EACH = 2 };

static struct ib_qp *queue_pair_new(struct kunit *test)
{
	struct limited *l = test->priv;
	struct ib_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = EACH,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.qp_type = IB_QPT_UD,
	};
	struct ib_qp_attr to = { .qp_state = IB_QPS_INIT, .port_num = 1, .qkey = 1 };
	struct ib_qp *qp = ib_create_qp(l->pd, &attr);

	KUNIT_ASSERT_FALSE(test, IS_ERR(qp));
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(qp, &to, IB_QP_STATE | IB_QP_PKEY_INDEX |
					      IB_QP_PORT | IB_QP_QKEY));
	return qp;
}

/* Each receive request of @qp ends, as one that is flushed; @cqe tells them from others'. */
static void queue_pair_flush(struct kunit *test, struct ib_qp *qp, struct ib_cqe *cqe)
{
	struct ib_qp_attr to = { .qp_state = IB_QPS_ERR };
	struct ib_recv_wr wr = { .wr_cqe = cqe };
	int i;

	for (i = 0; i < EACH; i++)
		KUNIT_EXPECT_EQ(test, 0, ib_post_recv(qp, &wr, NULL));
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(qp, &to, IB_QP_STATE));
}

/* A completion names the queue pair that it is of, whichever the one before it is of. */
static void each_names_its_queue_pair(struct kunit *test)
{
	struct limited *l = test->priv;
	struct ib_qp *qps[QPS];
	struct ib_cqe cqes[QPS];
	struct ib_wc wc[QPS * EACH + 1];
	int i;

	for (i = 0; i < QPS; i++)
		qps[i] = queue_pair_new(test);
	for (i = 0; i < QPS; i++)
		queue_pair_flush(test, qps[i], &cqes[i]);
	KUNIT_EXPECT_EQ(test, QPS * EACH, ib_poll_cq(l->cq, ARRAY_SIZE(wc), wc));
	for (i = 0; i < QPS * EACH; i++) {
		KUNIT_EXPECT_EQ(test, wc[i].status, IB_WC_WR_FLUSH_ERR);
		KUNIT_EXPECT_PTR_EQ(test, wc[i].wr_cqe, &cqes[i / EACH]);
		KUNIT_EXPECT_PTR_EQ(test, wc[i].qp, qps[i / EACH]);
	}
	for (i = 0; i < QPS; i++)
		ib_destroy_qp(qps[i]);
}

struct kunit_case completions_cases[] = {
	KUNIT_CASE(each_names_its_queue_pair),
	{}
};
