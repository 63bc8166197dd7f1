// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages of the model that take a receive request: how either side completes, which bytes
 * arrive, and which window is invalidated. The receive request may be too short, of bad memory,
 * or late.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include "routes.h"

static const struct {
	enum ibv_wr_opcode opcode;
	bool imm, inv, writes;
} ops[SEND_OPS] = {
	{ .opcode = IBV_WR_SEND },
	{ .opcode = IBV_WR_SEND_WITH_IMM, .imm = true },
	{ .opcode = IBV_WR_SEND_WITH_INV, .inv = true },
	{ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm = true, .writes = true },
};

static const struct needs of_send = { .may_inline = true };
static const struct needs of_write = { .remote = IBV_ACCESS_REMOTE_WRITE,
				       .remote_write = true,
				       .may_inline = true };

struct sending {
	int op;
	struct route route; /* local: the source; remote: only of a write */
	struct scatter sink; /* of the receive request */
	uint32_t room; /* bytes of that */
	bool late; /* it comes behind the message */
	uint32_t imm, inv_key;
	struct model_window *inv; /* NULL: it cannot be invalidated here */
	uint64_t recv_id;
};

static struct link *link_of(const struct sending *s)
{
	return &links[s->route.link];
}

static bool writes(const struct sending *s)
{
	return ops[s->op].writes;
}

/* ------------------------------------------------------------------ making one */

/* A window that is not bound can be invalidated, too. */
static bool can_be_invalidated(const struct sending *s,
			       const struct model_window *w)
{
	return w->mw->pd == pds[link_pds[s->route.link][1]] &&
	       (w->region < 0 || w->link == s->route.link);
}

/* A window that is bound to the link or, now and then, any key. */
static void choose_key(struct sending *s, const uint32_t *n)
{
	struct model_window *w;
	int i;

	s->inv_key = n[9] / 4 % 2 ? regions[n[8] % REGIONS].rkey :
				    windows[n[8] % WINDOWS].mw->rkey;
	for (i = 0; i < WINDOWS && n[9] % 4; i++) {
		w = &windows[(n[8] + i) % WINDOWS];
		if (w->region >= 0 && w->link == s->route.link)
			s->inv_key = w->mw->rkey;
	}
	for (w = windows; w < windows + WINDOWS; w++)
		if (w->mw->rkey == s->inv_key && can_be_invalidated(s, w))
			s->inv = w;
}

/* The receive request: mostly with enough room, or more. */
static bool choose_sink(struct sending *s, const uint32_t *n)
{
	int pd = link_pds[s->route.link][1];
	uint32_t length = s->route.length;
	const struct model_region *r;

	r = route_region(n[2], pd, IBV_ACCESS_LOCAL_WRITE, length);
	if (!r)
		return false;
	s->room = n[7] % 8 == 0 ? n[7] / 8 % (length + 1) :
		  n[7] % 8 < 4	? length + n[7] / 8 % 100 :
				  length;
	s->sink = scatter_some(r, s->room, n[7], pd, IBV_ACCESS_LOCAL_WRITE,
			       true);
	scatter_need(&s->sink, writes(s)	? 0 :
			       s->room < length ? s->room :
						  length);
	return true;
}

static bool choose_source(struct sending *s, const uint32_t *n)
{
	struct route *route = &s->route;
	const struct model_region *r;
	int pd = link_pds[route->link][0];

	r = route_region(n[1], pd, 0, route->length);
	if (!r)
		return false;
	route->local = scatter_some(r, route->length, n[6], pd, 0, false);
	route_inline(route, n);
	return true;
}

/*
 * What of the receive request's memory may have been written to: each packet asks for what it has,
 * so those before one that does not fit arrive.
 */
static struct scatter written(const struct sending *s)
{
	const struct scatter *sink = writes(s) ? &s->route.remote : &s->sink;
	const struct model_region *r;
	struct scatter some = *sink;
	struct place *place;
	int i;

	for (i = 0; i < some.count && !some.at[i].refused; i++)
		;
	if (i == some.count || writes(s) || !dev.packets)
		return some;
	place = &some.at[i];
	r = place->region;
	if (place->syndrome != PINION_SYN_KEY_RANGE || place->off >= r->length)
		return some;
	*place = place_in_region(r, place->off, r->length - place->off, some.pd,
				 some.needs, false, true);
	some.count = i + 1;
	return some;
}

static bool choose(struct sending *s, const uint32_t *n)
{
	struct route *route = &s->route;
	struct scatter sink;

	if (writes(s)) {
		route->needs = &of_write;
		if (!route_find(route, n))
			return false;
	} else {
		route->needs = &of_send;
		route->link = n[0] % LINKS;
		if (!choose_source(s, n))
			return false;
	}
	if (!choose_sink(s, n))
		return false;
	if (ops[s->op].inv)
		choose_key(s, n);
	sink = written(s);
	return !scatter_overlaps(&route->local, &sink) &&
	       !scatter_crosses_itself(&sink) &&
	       !scatter_is_given_again(&route->local) &&
	       !scatter_is_given_again(&s->sink);
}

/* ----------------------------------------------------------------- what to expect */

enum outcome {
	ARRIVES,
	SOURCE_FAILS, /* the receive request stays */
	TOO_SHORT,
	SINK_FAILS,
	REMOTE_FAILS, /* the memory that is written to */
	KEY_FAILS, /* that is to be invalidated */
};

/* What the other side notices, if this side does nothing wrong. */
static enum outcome their_outcome(const struct sending *s)
{
	if (writes(s) && scatter_fails(&s->route.remote))
		return REMOTE_FAILS;
	if (!writes(s) && s->room < s->route.length)
		return TOO_SHORT;
	return scatter_fails(&s->sink) ? SINK_FAILS : ARRIVES;
}

/* If it is not sure which side is seen to fail first: what the sender's status is if it was not his. */
static enum outcome outcome_of(const struct sending *s, enum ibv_wc_status got)
{
	const struct route *route = &s->route;
	enum outcome outcome = their_outcome(s);

	if (scatter_refused(&route->local) && dev.pinion)
		return SOURCE_FAILS;
	/* Of packets, the first that fails decides. */
	if (outcome == TOO_SHORT && dev.packets && scatter_fails(&s->sink) &&
	    got == IBV_WC_REM_OP_ERR)
		outcome = SINK_FAILS;
	if (scatter_fails(&route->local) &&
	    (outcome == ARRIVES || got == IBV_WC_LOC_PROT_ERR ||
	     got == IBV_WC_WR_FLUSH_ERR))
		return SOURCE_FAILS;
	if (outcome == ARRIVES && ops[s->op].inv && !s->inv)
		return KEY_FAILS;
	return outcome;
}

static bool sending_lacks(const struct sending *s)
{
	const struct route *route = &s->route;
	enum outcome outcome = outcome_of(s, IBV_WC_SUCCESS);

	if ((scatter_moves_on_demand(&route->local) ||
	     scatter_moves_on_demand(&s->sink)) &&
	    other_lacks(LACK_ODP_BYTES))
		return true;
	return (outcome != ARRIVES && other_lacks(LACK_RECEIVE_STATUS)) ||
	       (s->inv && s->inv->region < 0 &&
		other_lacks(LACK_WINDOW_UNBOUND));
}

static void expect_sent(struct ibv_wc wc, const struct sending *s,
			enum outcome outcome)
{
	static const enum ibv_wc_status status[] = {
		[ARRIVES] = IBV_WC_SUCCESS,
		[TOO_SHORT] = IBV_WC_REM_INV_REQ_ERR,
		[SINK_FAILS] = IBV_WC_REM_OP_ERR,
		[REMOTE_FAILS] = IBV_WC_REM_ACCESS_ERR,
		[KEY_FAILS] = IBV_WC_REM_ACCESS_ERR,
	};

	if (outcome == SOURCE_FAILS)
		route_expect_local(wc, &s->route.local);
	else
		expect_why(wc, status[outcome],
			   outcome == ARRIVES ? PINION_SYN_NONE :
						PINION_SYN_REMOTE);
}

static void expect_arrived(struct ibv_wc wc, const struct sending *s)
{
	bool inv = ops[s->op].inv && !other_lacks(LACK_INVALIDATED);
	int flags = (ops[s->op].imm ? IBV_WC_WITH_IMM : 0) |
		    (inv ? IBV_WC_WITH_INV : 0);

	expect_why(wc, IBV_WC_SUCCESS, PINION_SYN_NONE);
	CHECK_EQ(wc.opcode,
		 writes(s) ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
	CHECK_EQ(wc.byte_len, s->route.length);
	CHECK_EQ(wc.qp_num, link_of(s)->b.qp->qp_num);
	CHECK_EQ(wc.wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV), flags);
	if (ops[s->op].imm)
		CHECK_EQ(ntohl(wc.imm_data), s->imm);
	if (inv)
		CHECK_EQ(wc.invalidated_rkey, s->inv_key);
}

static void expect_failure_received(struct ibv_wc wc, const struct sending *s,
				    enum outcome outcome)
{
	const struct place *bad = scatter_failing(&s->sink);

	switch (outcome) {
	case TOO_SHORT:
		expect_why(wc, IBV_WC_LOC_LEN_ERR, PINION_SYN_LENGTH);
		break;
	case SINK_FAILS:
		expect_why(wc, IBV_WC_LOC_PROT_ERR,
			   bad->refused ? bad->syndrome : PINION_SYN_FAULT);
		break;
	case KEY_FAILS:
		expect_why(wc, IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_STATE);
		break;
	case REMOTE_FAILS:
	case SOURCE_FAILS:
		expect_why(wc, IBV_WC_WR_FLUSH_ERR, PINION_SYN_FLUSHED);
		break;
	case ARRIVES:
		FAIL("it did not fail");
	}
}

/* Packets had left before the sender failed, and the receiver may have failed by one of them. */
static void expect_flushed_or_failed(const struct sending *s)
{
	struct end *end = &link_of(s)->b;
	enum outcome outcome = their_outcome(s);
	struct ibv_wc wc;

	CHECK_EQ(end_set_state(end, IBV_QPS_ERR), 0);
	wc = await(end->rcq);
	CHECK_EQ(wc.wr_id, s->recv_id);
	if (wc.status == IBV_WC_WR_FLUSH_ERR)
		outcome = SOURCE_FAILS;
	else if (wc.status == IBV_WC_LOC_PROT_ERR && scatter_fails(&s->sink))
		outcome = SINK_FAILS;
	expect_failure_received(wc, s, outcome);
	expect_none(end->rcq, 0);
}

static void expect_received(const struct sending *s, enum outcome outcome)
{
	struct end *end = &link_of(s)->b;
	struct ibv_wc wc;

	if (outcome == SOURCE_FAILS && dev.packets &&
	    !scatter_refused(&s->route.local) &&
	    scatter_good(&s->route.local) && their_outcome(s) != ARRIVES) {
		expect_flushed_or_failed(s);
		return;
	}
	/* The receiver notices nothing. */
	if (outcome == SOURCE_FAILS) {
		expect_none(end->rcq, 0);
		expect_flushed(end, s->recv_id);
		return;
	}
	wc = await(end->rcq);
	CHECK_EQ(wc.wr_id, s->recv_id);
	if (outcome == ARRIVES)
		expect_arrived(wc, s);
	else
		expect_failure_received(wc, s, outcome);
	expect_none(end->rcq, 0);
}

/* ------------------------------------------------------------------- the bytes */

static void carry_out(const struct sending *s)
{
	const struct route *route = &s->route;
	uint8_t data[MOST];

	scatter_gather(&route->local, data, route->length);
	scatter_put(writes(s) ? &route->remote : &s->sink, data, route->length);
	if (s->inv && s->inv->region >= 0)
		window_unbound(s->inv);
}

/* @outcome was not good: what has arrived nevertheless? */
static void carry_out_some(const struct sending *s, enum outcome outcome)
{
	const struct route *route = &s->route;
	const struct scatter some = written(s), *sink = &some;
	uint32_t length = scatter_good(&route->local);
	uint32_t room = scatter_good(sink);
	uint8_t data[MOST];

	if (room < length)
		length = room;
	if (scatter_refused(&route->local) ||
	    (outcome == TOO_SHORT && !dev.packets))
		return;
	scatter_gather(&route->local, data, length);
	look_settle(sink, data, length, false);
}

/* ------------------------------------------------------------------ the call */

static void post_it(const struct sending *s)
{
	const struct place *remote = &s->route.remote.at[0];
	struct ibv_sge sges[SGES];
	struct ibv_send_wr wr = {
		.sg_list = sges,
		.num_sge = route_sges(&s->route, sges, s->imm),
		.opcode = ops[s->op].opcode,
		.send_flags = IBV_SEND_SIGNALED |
			      (s->route.inlined ? IBV_SEND_INLINE : 0),
	};

	if (ops[s->op].imm)
		wr.imm_data = htonl(s->imm);
	if (ops[s->op].inv)
		wr.invalidate_rkey = s->inv_key;
	if (writes(s)) {
		wr.wr.rdma.remote_addr = remote->addr;
		wr.wr.rdma.rkey = remote->key;
	}
	post(&link_of(s)->a, &wr);
}

static void post_sink(const struct sending *s)
{
	struct ibv_sge sges[SGES];
	int count = scatter_sges(&s->sink, sges);

	post_recv(&link_of(s)->b, sges, count, s->recv_id);
}

static void count(const struct sending *s, enum outcome outcome)
{
	bool good = outcome == ARRIVES;

	judge_good(SEND, good, good);
	if (writes(s))
		route_count(&s->route, good);
	else
		count_side(&s->route.local, good);
	count_side(&s->sink, good);
	counts->sends[s->op] += good;
	counts->late += good && s->late;
	counts->empty += good && !s->route.length;
	counts->inlined += good && !writes(s) && s->route.inlined;
	counts->short_receives += outcome == TOO_SHORT;
	counts->bad_receives += outcome == SINK_FAILS;
	counts->other_receives += outcome == SOURCE_FAILS;
	/* One that was not bound does not count. */
	if (ops[s->op].inv &&
	    (outcome == KEY_FAILS || (good && s->inv->region >= 0)))
		counts->invalidated[good]++;
}

void call_send(const uint32_t *n)
{
	struct sending s = {
		.op = n[3] % SEND_OPS,
		.late = n[3] / SEND_OPS % 4 == 0,
		.imm = n[8] ^ n[9],
		.recv_id = n[9],
		.route.length = n[5] % 16 == 0 ? 0 :
				n[5] % 4 == 1  ? 1 + n[5] / 16 % INLINE_MOST :
				n[5] % 4       ? 1 + n[5] / 16 % 3000 :
						 1 + n[5] / 16 % MOST,
	};
	enum outcome outcome;
	char text[200];
	struct ibv_wc wc;

	if (writes(&s) && !s.route.length)
		s.route.length = 1;
	if (!choose(&s, n) || sending_lacks(&s))
		return;
	tell("opcode %d, key %#x, %s received by %u bytes: %s, %s",
	     ops[s.op].opcode, s.inv_key, s.late ? "late" : "then", s.room,
	     scatter_text(&s.sink, text, sizeof(text)), route_text(&s.route));
	if (!s.late)
		post_sink(&s);
	post_it(&s);
	if (s.late)
		post_sink(&s);
	wc = await(link_of(&s)->a.scq);
	outcome = outcome_of(&s, wc.status);
	expect_sent(wc, &s, outcome);
	expect_received(&s, outcome);
	count(&s, outcome);
	if (outcome == ARRIVES) {
		carry_out(&s);
		return;
	}
	link_again(s.route.link);
	carry_out_some(&s, outcome);
}
