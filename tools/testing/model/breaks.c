// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs of the model that are set to the error state: all that they have is flushed, in
 * order, and so is what is posted then; nothing of it is done. After a reset they are as new.
 */
#include "routes.h"

enum { POSTED = 3 }; /* at most, at a time */

/* Receive requests of no bytes, @first and the next ones. */
static int post_receives(struct end *end, int first, int count)
{
	int i;

	for (i = 0; i < count; i++)
		post_recv(end, NULL, 0, first + i);
	return first + count;
}

/* A write that would be seen, or if there is no such a message of no bytes. */
static void post_write(struct end *end, const struct route *route, int id)
{
	const struct place *remote = &route->remote.at[0];
	struct ibv_sge sges[SGES];
	struct ibv_send_wr wr = {
		.wr_id = id,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (route->remote.count) {
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.sg_list = sges;
		wr.num_sge = scatter_sges(&route->local, sges);
		wr.wr.rdma.remote_addr = remote->addr;
		wr.wr.rdma.rkey = remote->key;
	}
	post(end, &wr);
}

static unsigned int expect_all_flushed(struct ibv_cq *cq, int count)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < count; i++) {
		wc = await(cq);
		CHECK_EQ(wc.wr_id, i);
		expect_why(wc, IBV_WC_WR_FLUSH_ERR, PINION_SYN_FLUSHED);
	}
	expect_none(cq, 0);
	return count;
}

/* A write from somewhere to anywhere on @link, if there is one that could be done. */
static void find_write(struct route *route, int link, const uint32_t *n)
{
	static const struct needs needs = { .remote = IBV_ACCESS_REMOTE_WRITE,
					    .remote_write = true };
	uint32_t numbers[NUMBERS];
	int i;

	for (i = 0; i < NUMBERS; i++)
		numbers[i] = n[i];
	*route = (struct route){ .needs = &needs, .length = 1 + n[5] % 3000 };
	/* One by regions' keys, in memory that is there. */
	numbers[4] = 3 * 2 + 1;
	if (!route_find(route, numbers) || route->link != link ||
	    scatter_fails(&route->local) || scatter_fails(&route->remote))
		route->remote.count = 0;
}

void call_break(const uint32_t *n)
{
	int link = n[0] % LINKS, sends = 0, receives, later;
	struct end *a = &links[link].a, *b = &links[link].b;
	/* Without a receive request at the peer, a message waits for one. */
	bool waits = n[1] % 4 == 0, other = n[1] / 4 % 2;
	struct route route;

	find_write(&route, link, n);
	receives = post_receives(a, 0, n[2] % (POSTED + 1));
	tell("link %d fails%s, %d receive requests, %s behind", link,
	     waits ? ", a message waits" : "", receives,
	     route.remote.count ? route_text(&route) : "a message");
	if (waits) {
		struct ibv_send_wr wr = { .wr_id = sends++,
					  .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED };

		post(a, &wr);
		expect_none(a->scq, 0);
		/* Behind one that waits it is not begun. */
		if (n[3] % 2) {
			post_write(a, &route, sends++);
			counts->flushed_writes += !!route.remote.count;
		}
		counts->flushed_waiting++;
	}
	CHECK_EQ(end_set_state(a, IBV_QPS_ERR), 0);
	later = other_lacks(LACK_LATER) ? 0 : n[4] % (POSTED + 1);
	receives = post_receives(a, receives, later);
	if (n[4] / 8 % 2) {
		post_write(a, &route, sends++);
		counts->flushed_writes += !!route.remote.count;
		later++;
	}
	counts->flushed += expect_all_flushed(a->scq, sends);
	counts->flushed += expect_all_flushed(a->rcq, receives);
	counts->flushed_later += later;
	/* The peer knows nothing of it, until it is told, too. */
	CHECK_EQ(end_state(b), IBV_QPS_RTS);
	if (other) {
		receives = post_receives(b, 0, 1 + n[6] % POSTED);
		CHECK_EQ(end_set_state(b, IBV_QPS_ERR), 0);
		counts->flushed += expect_all_flushed(b->rcq, receives);
	}
	link_again(link);
	counts->done[BREAK]++;
}
