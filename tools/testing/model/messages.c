// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA and atomics of the model: with which status and syndrome each completes, and what it does
 * to which bytes. Requests may stand behind it, which it takes with it if it fails.
 */
#define _GNU_SOURCE
#include <string.h>

#include "routes.h"

/* --------------------------------------------------------- what they do */

static const struct {
	enum ibv_wr_opcode opcode;
	struct needs needs;
} ops[MESSAGE_OPS] = {
	{ IBV_WR_RDMA_WRITE,
	  { .remote = IBV_ACCESS_REMOTE_WRITE,
	    .remote_write = true,
	    .may_inline = true } },
	{ IBV_WR_RDMA_READ,
	  { .local = IBV_ACCESS_LOCAL_WRITE,
	    .remote = IBV_ACCESS_REMOTE_READ,
	    .local_write = true } },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD,
	  { .local = IBV_ACCESS_LOCAL_WRITE,
	    .remote = IBV_ACCESS_REMOTE_ATOMIC,
	    .local_write = true,
	    .remote_write = true } },
	{ IBV_WR_ATOMIC_CMP_AND_SWP,
	  { .local = IBV_ACCESS_LOCAL_WRITE,
	    .remote = IBV_ACCESS_REMOTE_ATOMIC,
	    .local_write = true,
	    .remote_write = true } },
};

struct message {
	int op;
	uint64_t number, swap; /* of an atomic */
	int behind; /* how many of the same are behind it */
	struct route route;
};

static bool is_atomic(const struct message *m)
{
	return ops[m->op].needs.remote & IBV_ACCESS_REMOTE_ATOMIC;
}

/* What an atomic leaves in the memory that now has @before. */
static uint64_t after(const struct message *m, uint64_t before)
{
	if (ops[m->op].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return before + m->number;
	return before == m->number ? m->swap : before;
}

static void carry_out(const struct message *m)
{
	const struct route *route = &m->route;
	const struct scatter *from = &route->remote, *to = &route->local;
	uint8_t data[MOST];
	uint64_t word;

	if (ops[m->op].opcode == IBV_WR_RDMA_WRITE) {
		from = &route->local;
		to = &route->remote;
	}
	scatter_gather(from, data, from->length);
	scatter_put(to, data, to->length);
	if (!is_atomic(m))
		return;
	memcpy(&word, data, sizeof(word));
	word = after(m, word);
	scatter_put(&route->remote, (uint8_t *)&word, sizeof(word));
}

/* Can the word have been changed although the message failed? */
static bool word_may_have_changed(const struct route *route)
{
	if (scatter_fails(&route->remote))
		return false;
	/* rxe looks at the key for the answer when that comes. */
	return !scatter_refused(&route->local) || !dev.pinion;
}

/* The message failed. Its first bytes may have arrived, and an atomic may have been done. */
static void carry_out_some(const struct message *m)
{
	const struct route *route = &m->route;
	const struct scatter *local = &route->local, *remote = &route->remote;
	uint32_t length = route_arrived_at_most(local, remote);
	uint8_t data[MOST];
	uint64_t word;

	if (ops[m->op].opcode == IBV_WR_RDMA_WRITE) {
		scatter_gather(local, data, length);
		look_settle(remote, data, length, false);
		return;
	}
	scatter_gather(remote, data, length);
	look_settle(local, data, length, false);
	if (!is_atomic(m) || !word_may_have_changed(route))
		return;
	scatter_gather(remote, (uint8_t *)&word, sizeof(word));
	word = after(m, word);
	look_settle(remote, (uint8_t *)&word, sizeof(word), true);
}

/* ---------------------------------------------------------------- messages */

/* The message, and those behind it, which ask for the same. */
static void post_all(const struct message *m, struct end *end)
{
	const struct place *remote = &m->route.remote.at[0];
	struct ibv_send_wr wrs[4] = {};
	struct ibv_sge sges[SGES];
	int i, count = route_sges(&m->route, sges, m->swap);

	for (i = 0; i <= m->behind; i++) {
		wrs[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i < m->behind ? &wrs[i + 1] : NULL,
			.sg_list = sges,
			.num_sge = count,
			.opcode = ops[m->op].opcode,
			.send_flags = IBV_SEND_SIGNALED |
				      (m->route.inlined ? IBV_SEND_INLINE : 0),
			.wr.rdma = { remote->addr, remote->key },
		};
		if (is_atomic(m)) {
			wrs[i].wr.atomic.remote_addr = remote->addr;
			wrs[i].wr.atomic.rkey = remote->key;
			wrs[i].wr.atomic.compare_add = m->number;
			wrs[i].wr.atomic.swap = m->swap;
		}
	}
	post(end, wrs);
}

/* What is behind a request that failed is flushed. */
static void expect_behind(const struct message *m, struct end *end, bool good)
{
	struct ibv_wc wc;
	int i;

	for (i = 1; i <= m->behind; i++) {
		wc = await(end->scq);
		CHECK_EQ(wc.wr_id, i);
		expect_why(wc, good ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR,
			   good ? PINION_SYN_NONE : PINION_SYN_FLUSHED);
		counts->behind += !good;
	}
}

void call_message(const uint32_t *n)
{
	bool atomic = n[3] % 8 > 5;
	struct message m = {
		.op = atomic ? n[3] % 8 - 4 : n[3] % 2,
		.number = n[8],
		.swap = n[9],
		/* Not of what would be done twice. */
		.behind = atomic || n[3] / 8 % 4 ? 0 : 1 + n[3] / 32 % 2,
		.route.length = atomic	      ? sizeof(uint64_t) :
				n[5] % 4 == 1 ? 1 + n[5] / 4 % INLINE_MOST :
				n[5] % 4      ? 1 + n[5] / 4 % 3000 :
						1 + n[5] / 4 % MOST,
	};
	struct route *route = &m.route;
	const struct place *remote = &route->remote.at[0];
	struct ibv_wc wc;
	struct end *end;
	bool good;

	route->needs = &ops[m.op].needs;
	if (!route_find(route, n))
		return;
	/* Atomics only on words that are aligned both as remote addresses and in memory. */
	if (atomic &&
	    (remote->addr % 8 || (remote->count && remote->pieces[0].at % 8)))
		return;
	tell("opcode %d, %d behind it, %s", ops[m.op].opcode, m.behind,
	     route_text(route));
	end = &links[route->link].a;
	post_all(&m, end);
	wc = await(end->scq);
	CHECK_EQ(wc.wr_id, 0);
	route_expect(wc, route);
	good = wc.status == IBV_WC_SUCCESS;
	expect_behind(&m, end, good);
	route_count(route, good);
	counts->ops[m.op] += good;
	judge_good(MESSAGE, good, good);
	if (good) {
		carry_out(&m);
		return;
	}
	link_again(route->link);
	carry_out_some(&m);
}
