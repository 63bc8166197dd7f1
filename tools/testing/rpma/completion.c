// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Where completions arrive: separate receive queues, a channel shared by both, shared receive
 * queues.
 */
#include <fcntl.h>

#include "sides.h"

#define WRONG(call) CHECK_EQ(call, RPMA_E_INVAL)
#define ALWAYS RPMA_F_COMPLETION_ALWAYS

static struct sides sides;

static struct rpma_conn_cfg *config(uint32_t rcq, bool shared,
				    struct rpma_srq *srq)
{
	struct rpma_conn_cfg *cfg;

	CHECK_EQ(rpma_conn_cfg_new(&cfg), 0);
	CHECK_EQ(rpma_conn_cfg_set_rcq_size(cfg, rcq), 0);
	CHECK_EQ(rpma_conn_cfg_set_compl_channel(cfg, shared), 0);
	CHECK_EQ(rpma_conn_cfg_set_srq(cfg, srq), 0);
	return cfg;
}

/* A connection with a completion queue for receives of its own. */
static void receive_queue(void)
{
	struct rpma_conn_cfg *cfg = config(10, false, NULL);
	struct rpma_cq *rcq = NULL, *none = (void *)&sides;
	struct memory from, to;
	struct rpma_conn *conn;
	struct rpma_cq *cq;
	int fd;

	sides_connect(&sides, NULL, cfg);
	conn = sides.conn[FAR];
	from = memory_reg(sides.peer[NEAR], 100, 0, RPMA_MR_USAGE_SEND);
	to = memory_reg(sides.peer[FAR], 100, 0, RPMA_MR_USAGE_RECV);
	CHECK_EQ(rpma_conn_get_rcq(sides.conn[NEAR], &none), 0);
	CHECK(!none);
	CHECK_EQ(rpma_conn_get_rcq(conn, &rcq), 0);
	CHECK(rcq);
	CHECK_EQ(rpma_recv(conn, to.local, 0, 100, &to), 0);
	send_one(&sides, &from);
	cq_expect(rcq, IBV_WC_RECV, &to);
	CHECK_EQ(rpma_cq_get_wc(sides.cq[FAR], 1, &(struct ibv_wc){}, NULL),
		 RPMA_E_NO_COMPLETION);
	CHECK_EQ(rpma_conn_get_compl_fd(conn, &fd), RPMA_E_NOT_SHARED_CHNL);
	CHECK_EQ(rpma_conn_wait(conn, 0, &cq, NULL), RPMA_E_NOT_SHARED_CHNL);
	memory_dereg(&from);
	memory_dereg(&to);
	CHECK_EQ(rpma_conn_cfg_delete(&cfg), 0);
	sides_free(&sides);
}

/* A connection whose two completion queues share one channel. */
static void shared_channel(void)
{
	struct rpma_conn_cfg *cfg = config(10, true, NULL);
	struct rpma_cq *rcq, *cq = NULL;
	struct memory from, to;
	struct rpma_conn *conn;
	bool is_rcq = false;
	int fd = -1;

	sides_connect(&sides, NULL, cfg);
	conn = sides.conn[FAR];
	from = memory_reg(sides.peer[NEAR], 100, 0, RPMA_MR_USAGE_SEND);
	to = memory_reg(sides.peer[FAR], 100, 0,
			RPMA_MR_USAGE_RECV | RPMA_MR_USAGE_SEND);
	CHECK_EQ(rpma_conn_get_rcq(conn, &rcq), 0);
	CHECK_EQ(rpma_cq_wait(rcq), RPMA_E_SHARED_CHANNEL);
	CHECK_EQ(rpma_cq_wait(sides.cq[FAR]), RPMA_E_SHARED_CHANNEL);
	CHECK_EQ(rpma_conn_get_compl_fd(conn, &fd), 0);
	CHECK_EQ(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	CHECK_EQ(rpma_conn_wait(conn, 0, &cq, &is_rcq), RPMA_E_NO_COMPLETION);
	CHECK(!cq);
	CHECK_EQ(fcntl(fd, F_SETFL, 0), 0);

	CHECK_EQ(rpma_recv(conn, to.local, 0, 100, &to), 0);
	send_one(&sides, &from);
	CHECK_EQ(rpma_conn_wait(conn, 0, &cq, &is_rcq), 0);
	CHECK(cq == rcq && is_rcq);
	cq_expect(cq, IBV_WC_RECV, &to);
	CHECK_EQ(rpma_recv(sides.conn[NEAR], NULL, 0, 0, NULL),
		 iwarp() ? RPMA_E_PROVIDER : 0);
	if (!iwarp()) {
		CHECK_EQ(rpma_send(conn, NULL, 0, 0, ALWAYS, &from), 0);
		CHECK_EQ(rpma_conn_wait(conn, 0, &cq, &is_rcq), 0);
		CHECK(cq == sides.cq[FAR] && !is_rcq);
		cq_expect(cq, IBV_WC_SEND, &from);
	}
	WRONG(rpma_conn_wait(NULL, 0, &cq, NULL));
	WRONG(rpma_conn_wait(conn, 0, NULL, NULL));
	memory_dereg(&from);
	memory_dereg(&to);
	CHECK_EQ(rpma_conn_cfg_delete(&cfg), 0);
	sides_free(&sides);
}

/* In which CQ receives of a shared queue complete. */
enum completes { ON_OWN, ON_MAIN, ON_RECEIVE };

/* Receives of a shared queue complete in the queue that the settings name. */
static void shared_queue(int where)
{
	struct rpma_cq *own, *receive, *cq;
	struct rpma_srq_cfg *srq_cfg;
	struct rpma_conn_cfg *cfg;
	struct memory from, to;
	struct rpma_srq *srq;

	sides.peer[FAR] = peer_new();
	CHECK_EQ(rpma_srq_cfg_new(&srq_cfg), 0);
	if (where != ON_OWN)
		CHECK_EQ(rpma_srq_cfg_set_rcq_size(srq_cfg, 0), 0);
	CHECK_EQ(rpma_srq_new(sides.peer[FAR], where == ON_OWN ? NULL : srq_cfg,
			      &srq),
		 0);
	cfg = config(where == ON_RECEIVE ? 10 : 0, false, srq);
	to = memory_reg(sides.peer[FAR], 100, 0, RPMA_MR_USAGE_RECV);
	CHECK_EQ(rpma_srq_recv(srq, to.local, 0, 100, &to), 0);
	WRONG(rpma_srq_recv(NULL, to.local, 0, 100, &to));
	WRONG(rpma_srq_recv(srq, to.local, 1, 100, &to));
	WRONG(rpma_srq_recv(srq, NULL, 0, 1, &to));
	sides_connect(&sides, NULL, cfg);
	from = memory_reg(sides.peer[NEAR], 100, 0, RPMA_MR_USAGE_SEND);
	CHECK_EQ(rpma_srq_get_rcq(srq, &own), 0);
	CHECK_EQ(rpma_conn_get_rcq(sides.conn[FAR], &receive), 0);
	CHECK_EQ(!!own, where == ON_OWN);
	CHECK_EQ(!!receive, where == ON_RECEIVE);
	cq = where == ON_OWN ? own : where == ON_MAIN ? sides.cq[FAR] : receive;
	send_one(&sides, &from);
	cq_expect(cq, IBV_WC_RECV, &to);
	memory_dereg(&from);
	memory_dereg(&to);
	sides_disconnect(&sides);
	CHECK_EQ(rpma_conn_cfg_delete(&cfg), 0);
	CHECK_EQ(rpma_srq_cfg_delete(&srq_cfg), 0);
	CHECK_EQ(rpma_srq_delete(&srq), 0);
	CHECK(!srq);
	sides_end(&sides);
}

/*
 * A channel for both queues cannot be combined with receives that complete in a shared queue's
 * CQ.
 */
static void no_channel_for_both(void)
{
	struct rpma_conn_req *req = (void *)&sides;
	struct rpma_conn_cfg *cfg;
	struct rpma_srq *srq;

	sides.peer[NEAR] = peer_new();
	CHECK_EQ(rpma_srq_new(sides.peer[NEAR], NULL, &srq), 0);
	cfg = config(0, true, srq);
	WRONG(rpma_conn_req_new(sides.peer[NEAR], address(), "7998", cfg,
				&req));
	CHECK(req == (void *)&sides);
	CHECK_EQ(rpma_conn_cfg_delete(&cfg), 0);
	CHECK_EQ(rpma_srq_delete(&srq), 0);
	sides_end(&sides);
}

/* The device refuses CQs of these sizes. */
static void queue_too_large(void)
{
	static const uint32_t sizes[] = { INT32_MAX, 1U << 31, UINT32_MAX };
	struct rpma_conn_req *req;
	struct rpma_conn_cfg *cfg;
	size_t i;

	sides.peer[NEAR] = peer_new();
	cfg = config(0, false, NULL);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		CHECK_EQ(rpma_conn_cfg_set_cq_size(cfg, sizes[i]), 0);
		CHECK_EQ(rpma_conn_req_new(sides.peer[NEAR], address(), "7998",
					   cfg, &req),
			 RPMA_E_PROVIDER);
	}
	CHECK_EQ(rpma_conn_cfg_delete(&cfg), 0);
	sides_end(&sides);
}

static const struct test tests[] = {
	TEST(receive_queue, "a completion queue for receives"),
	TEST(shared_channel, "one channel for both completion queues"),
	TEST_OF(shared_queue, ON_OWN,
		"shared receive queue with completions of its own"),
	TEST_OF(shared_queue, ON_MAIN,
		"shared receive queue, connection's completions"),
	TEST_OF(shared_queue, ON_RECEIVE,
		"shared receive queue, connection's receives"),
	TEST(no_channel_for_both, "no channel for two who complete apart"),
	TEST(queue_too_large, "a completion queue that no device has"),
};

HARNESS_MAIN("completion queues of libpinion-rpma", tests)
