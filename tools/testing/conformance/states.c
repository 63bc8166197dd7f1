// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What may be posted in which state, and which state may follow which (items F11
 * and F12).
 */
#define _GNU_SOURCE
#include "link.h"

/* Requests can be posted only in the states that permit it, and RESET drops them. */
static void f11_too_early(void)
{
	struct ibv_recv_wr *bad_recv, recv = {};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct peer peer;
	struct end end;

	end_make(&end, NULL);
	peer = end_peer(&end);
	CHECK_EQ(ibv_post_recv(end.qp, &recv, &bad_recv), EINVAL);
	CHECK_EQ(try_post(&end, &wr), EINVAL);
	end_init(&end);
	CHECK_EQ(ibv_post_recv(end.qp, &recv, &bad_recv), 0);
	CHECK_EQ(try_post(&end, &wr), EINVAL);
	CHECK_EQ(end_to_rtr(&end, &peer), 0);
	CHECK_EQ(try_post(&end, &wr), EINVAL);
	CHECK_EQ(end_to_rts(&end), 0);
	CHECK_EQ(try_post(&end, &wr), 0);
	CHECK_EQ(end_set_state(&end, IBV_QPS_RESET), 0);
	drain(end.scq);
	drain(end.rcq);
	/* Requests posted before RESET are dropped: nothing is flushed later. */
	end_init(&end);
	CHECK_EQ(end_set_state(&end, IBV_QPS_ERR), 0);
	expect_none(end.rcq, 0.02);
}

/* Each change from one state to another is permitted or refused as the table says. */
static void f12_transitions(void)
{
	/*
	 * From the row's state to the column's with IBV_QP_STATE alone: RESET INIT RTR RTS SQD
	 * SQE ERR
	 */
	static const char allowed[7][8] = {
		[IBV_QPS_RESET] = "1000000", [IBV_QPS_INIT] = "1100001",
		[IBV_QPS_RTR] = "1000001",   [IBV_QPS_RTS] = "1001101",
		[IBV_QPS_SQD] = "1001101",   [IBV_QPS_SQE] = "1000000",
		[IBV_QPS_ERR] = "1000001",
	};
	struct peer peer;
	int from, to;

	for (from = 0; from < 7; from++) {
		if (from == IBV_QPS_SQE)
			continue;
		for (to = 0; to < 9; to++) {
			struct end end;
			bool yes = to < 7 && allowed[from][to] == '1';
			int err;

			context("from %d to %d", from, to);
			end_make(&end, NULL);
			peer = end_peer(&end);
			if (from >= IBV_QPS_INIT)
				end_init(&end);
			if (from == IBV_QPS_ERR)
				CHECK_EQ(end_set_state(&end, IBV_QPS_ERR), 0);
			if (from != IBV_QPS_ERR && from >= IBV_QPS_RTR)
				CHECK_EQ(end_to_rtr(&end, &peer), 0);
			if (from != IBV_QPS_ERR && from >= IBV_QPS_RTS)
				CHECK_EQ(end_to_rts(&end), 0);
			if (from == IBV_QPS_SQD)
				CHECK_EQ(end_set_state(&end, IBV_QPS_SQD), 0);
			err = end_set_state(&end, to);
			/* The verbs manual lets any state but RESET go to ERR. */
			if (from == IBV_QPS_RESET && to == IBV_QPS_ERR)
				CHECK(!err || err == EINVAL);
			else
				CHECK_EQ(err, yes ? 0 : EINVAL);
			if (!err)
				CHECK_EQ(end_state(&end), to);
			else
				CHECK_EQ(end_state(&end), from);
			end_free(&end);
		}
	}
}

static const struct test tests[] = {
	TEST(f11_too_early, "F11 posted too early"),
	TEST(f12_transitions, "F12 states"),
};

HARNESS_MAIN("States of queue pairs", tests)
