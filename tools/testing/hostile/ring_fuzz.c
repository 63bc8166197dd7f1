// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random bytes and almost valid requests in shared rings, for a time, while a bystander works
 * and unrelated memory is checked (items G1 to G6).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "raw.h"
#include "rings.h"
#include "victim.h"

enum { LEN = 20000, ENOUGH = 20 };

static struct raw_end a, b;
static struct region mine, watched;
static struct buf *unregistered;
static volatile struct victim *victim;
/*
 * How often the target memory has changed. It shows that requests were executed, not just
 * flushed by a QP in error.
 */
static unsigned long executed;

static void connect_ends(void)
{
	struct peer at_a = end_peer(&a.end), at_b = end_peer(&b.end);

	/* Any step may fail, because garbage in the rings can break the QP. */
	end_try_init(&a.end);
	end_try_init(&b.end);
	if (!end_to_rtr(&b.end, &at_a))
		end_to_rts(&b.end);
	if (!end_to_rtr(&a.end, &at_b))
		end_to_rts(&a.end);
	raw_end_reset(&a);
	raw_end_reset(&b);
}

static void begin(enum ibv_qp_type type)
{
	struct qp_cfg cfg = { .type = type,
			      .timeout = 1,
			      .retry = 1,
			      .rnr_timer = 1,
			      .rnr_retry = 1 };
	struct ibv_ah_attr to_itself = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = dev.gid, .sgid_index = dev.gid_index },
	};
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	int i;

	if (!dev.pinion)
		skip("only pinion has these rings");
	victim = victim_start();
	raw_end_make(&a, &cfg);
	raw_end_make(&b, &cfg);
	connect_ends();
	/* Requests probably use one of these. */
	for (i = 0; type == IBV_QPT_UD && i < 32; i++)
		MUST(ibv_create_ah(dev.pd, &to_itself));
	mine = region_new(LEN, 11, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	watched = region_reg(pd, buf_new(LEN, 99), ALL_ACCESS);
	unregistered = buf_new(LEN, 5);
}

static void look_at_memory(void)
{
	if (!memcmp(mine.buf->data, mine.buf->want, LEN))
		return;
	executed++;
	memcpy(mine.buf->want, mine.buf->data, LEN);
}

static void finish(unsigned long rounds)
{
	note("%lu rounds, requests were done in %lu", rounds, executed);
	CHECK(executed >= ENOUGH);
	buf_check(watched.buf);
	buf_check(unregistered);
	/* Bytes around the region that requests may use. */
	memcpy(mine.buf->want, mine.buf->data, LEN);
	buf_check(mine.buf);
	victim_end(victim);
}

/*
 * Most requests have only valid keys and addresses, because with all fields random hardly any
 * request moves a byte.
 */
static bool honest;

static uint32_t some_key(void)
{
	if (honest)
		return mine.lkey;
	switch (rnd_below(8)) {
	case 0:
		return victim->rkey;
	case 1:
		return watched.rkey;
	case 2:
		return rnd();
	case 3:
		return 0;
	default:
		return mine.lkey;
	}
}

static uint64_t some_address(void)
{
	if (honest)
		return mine.base + rnd_below(LEN / 2);
	switch (rnd_below(8)) {
	case 0:
		return victim->addr;
	case 1:
		return watched.base;
	case 2:
		return (uintptr_t)unregistered->data;
	case 3:
		return rnd();
	case 4:
		return 0xffff800000000000 + rnd_below(1 << 30);
	default:
		return mine.base + rnd_below(LEN);
	}
}

static uint32_t some_number(void)
{
	static const uint32_t edges[] = {
		0,     1,	   2,	       4,	   7,	      8,
		9,     63,	   64,	       65,	   4096,      65535,
		65536, 0x7fffffff, 0x80000000, 0xfffffff8, UINT32_MAX
	};

	if (honest)
		return rnd_below(LEN / 16);
	return rnd() & 1 ? edges[rnd_below(ARRAY_SIZE(edges))] : rnd_below(LEN);
}

/* Almost valid, so that it gets far. */
static void likely(struct pinion_sq_wqe *wqe)
{
	struct pinion_sge *sge = wqe_sges(wqe);
	uint32_t i, n = rnd_below(5);

	honest = rnd() & 3;
	wqe->wr_id = rnd();
	wqe->opcode = rnd_below(8) ? rnd_below(honest ? 7 : 16) : rnd();
	wqe->flags = rnd_below(8) ? rnd() & 0xf : rnd();
	wqe->num_sge = rnd_below(8) ? n : some_number();
	wqe->inline_length = rnd_below(4) ? rnd_below(65) : some_number();
	if (rnd() & 1)
		wqe->flags &= ~PINION_WQE_INLINE;
	if (honest) {
		/* The service has no others. */
		if (a.end.cfg.type == IBV_QPT_UD)
			wqe->opcode = rnd() & 1 ? PINION_OP_SEND :
						  PINION_OP_SEND_WITH_IMM;
		wqe->flags &= 0xf;
		wqe->num_sge = wqe->flags & PINION_WQE_INLINE ? 0 : n;
		wqe->inline_length = rnd_below(65);
	}
	wqe->ex = some_key();
	wqe->xrc_srqn = rnd();
	wqe->rdma.remote_addr = some_address();
	if (wqe->opcode == PINION_OP_ATOMIC_CMP_AND_SWP ||
	    wqe->opcode == PINION_OP_ATOMIC_FETCH_AND_ADD) {
		wqe->atomic.rkey = some_key();
	} else if (wqe->opcode == PINION_OP_BIND_MW) {
		wqe->bind.length = some_number();
		wqe->bind.mr_lkey = some_key();
		wqe->bind.mw_rkey = some_key();
		wqe->bind.new_rkey = wqe->bind.mw_rkey;
		wqe->bind.access = rnd() & 0xf;
	} else if (wqe->opcode == PINION_OP_FLUSH) {
		wqe->flush.rkey = some_key();
		wqe->flush.length = some_number();
		wqe->flush.type = rnd();
		wqe->flush.level = rnd();
	} else if (a.end.cfg.type == IBV_QPT_UD) {
		wqe->ud.ah = rnd_below(40);
		/*
		 * A sender with the bystander's Q_Key could really send to it. The QP's own
		 * Q_Key is the same, and the highest bit selects it: avoid both.
		 */
		if (rnd() & 1) {
			wqe->ud.remote_qpn = b.end.qp->qp_num;
			wqe->ud.remote_qkey = rnd() & 7 ? QKEY : rnd();
		} else {
			wqe->ud.remote_qpn = victim->ud_qpn;
			wqe->ud.remote_qkey = rnd() & INT32_MAX & ~1;
		}
	} else {
		wqe->rdma.rkey = some_key();
	}
	for (i = 0; i < n && !(wqe->flags & PINION_WQE_INLINE); i++) {
		sge[i].addr = some_address();
		sge[i].length = some_number();
		sge[i].lkey = some_key();
	}
}

/* Messages of a stranger must not be taken for the peer's. */
static void spoil_send(struct ring *sq)
{
	struct pinion_sq_wqe *wqe = ring_wqe(sq);

	switch (rnd_below(4)) {
	case 0:
		rnd_fill(wqe, sq->stride);
		break;
	default:
		likely(wqe);
	}
	switch (rnd_below(30)) {
	case 0:
		sq->hdr->user_idx = rnd();
		break;
	case 1:
		sq->hdr->kern_idx = rnd();
		break;
	case 2:
		rnd_fill((void *)sq->hdr, sq->length);
		break;
	case 3:
		ring_publish(sq, rnd_below(17));
		break;
	default:
		ring_publish(sq, 1);
	}
}

static void spoil_recv(struct ring *rq)
{
	struct pinion_rq_wqe *recv = ring_recv(rq);
	struct pinion_sge *sge = (void *)(recv + 1);
	int i;

	honest = rnd() & 3;
	recv->wr_id = rnd();
	recv->num_sge = rnd_below(6) ? rnd_below(6) : some_number();
	for (i = 0; i < 5; i++) {
		sge[i].addr = some_address();
		sge[i].length = some_number();
		sge[i].lkey = some_key();
	}
	switch (rnd_below(20)) {
	case 0:
		rq->hdr->user_idx = rnd();
		break;
	case 1:
		rnd_fill((void *)rq->hdr, rq->length);
		break;
	default:
		ring_publish(rq, 1);
	}
}

static void spoil_completions(struct raw_end *raw)
{
	struct pinion_ring_hdr *hdr = (void *)raw->cq.hdr;

	switch (rnd_below(20)) {
	case 0:
		hdr->user_idx = rnd();
		break;
	case 1:
		hdr->kern_idx = rnd();
		break;
	case 2:
		hdr->arm = rnd();
		break;
	case 3:
		rnd_fill(hdr, raw->cq.length);
		break;
	default:
		hdr->user_idx = hdr->kern_idx;
	}
}

static void restart(void)
{
	end_set_state(&a.end, IBV_QPS_RESET);
	end_set_state(&b.end, IBV_QPS_RESET);
	connect_ends();
}

/* A completion queue with spoilt indices stays full, so make new ones. */
static void remake(struct raw_end *raw)
{
	struct qp_cfg cfg = raw->end.cfg;

	cfg.scq = cfg.rcq = NULL;
	raw_end_free(raw);
	raw_end_make(raw, &cfg);
}

static void restart_spoilt(void)
{
	if (rnd_below(4)) {
		restart();
		return;
	}
	remake(&a);
	remake(&b);
	connect_ends();
}

/*
 * Random bytes and nearly right requests in all rings: unrelated memory and a bystander are safe.
 */
static void garbage(int type)
{
	unsigned long rounds = 0;
	double end;

	begin(type);
	for (end = now() + opt.seconds; go_on(end, executed >= ENOUGH);
	     rounds++) {
		if (b.rq.hdr)
			spoil_recv(&b.rq);
		spoil_send(&a.sq);
		ring_doorbell(&a);
		if (!rnd_below(4)) {
			spoil_send(&b.sq);
			ring_doorbell(&b);
		}
		spoil_completions(&a);
		spoil_completions(&b);
		look_at_memory();
		if (!rnd_below(4))
			restart_spoilt();
	}
	finish(rounds);
}

static _Atomic bool stop;

/* Changes bytes that the kernel may be reading. */
static void *scribble(void *arg)
{
	uint64_t state = *(const uint64_t *)arg;

	while (!stop) {
		struct pinion_sq_wqe *wqe;
		struct pinion_rq_wqe *recv;
		uint64_t x = rnd_next(&state);

		recv = (void *)(b.rq.slots +
				(x >> 40 & (b.rq.entries - 1)) * b.rq.stride);
		recv->num_sge = x >> 60 & 1 ? 1 : 65535;
		wqe = (void *)(a.sq.slots +
			       (x >> 40 & (a.sq.entries - 1)) * a.sq.stride);
		switch (x >> 33 & 7) {
		case 0:
			wqe->num_sge = x >> 60 & 1 ? 4 : 65535;
			break;
		case 1:
			wqe->inline_length = x >> 60 & 1 ? 64 : UINT32_MAX;
			break;
		case 2:
			wqe->flags ^= PINION_WQE_INLINE;
			break;
		case 3:
			wqe->opcode = x >> 50 & 15;
			break;
		case 4:
			wqe_sges(wqe)->length = x >> 60 & 1 ? 100 : UINT32_MAX;
			break;
		case 5:
			wqe_sges(wqe)->addr = x >> 60 & 1 ? mine.base :
							    watched.base;
			break;
		case 6:
			wqe_sges(wqe)->lkey = x >> 60 & 1 ? mine.lkey :
							    watched.lkey;
			break;
		case 7:
			a.sq.hdr->user_idx += x >> 60 & 1;
			break;
		}
	}
	return NULL;
}

/* Requests change while the kernel reads them. */
static void g4_changing(void)
{
	unsigned long rounds = 0;
	uint64_t seeds[2] = { rnd(), rnd() };
	pthread_t threads[2];
	double end;
	int i;

	begin(IBV_QPT_RC);
	for (i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, scribble, &seeds[i]),
			 0);
	for (end = now() + opt.seconds; go_on(end, executed >= ENOUGH);
	     rounds++) {
		likely(ring_wqe(&a.sq));
		ring_publish(&a.sq, 1);
		spoil_recv(&b.rq);
		ring_doorbell(&a);
		a.cq.hdr->user_idx = a.cq.hdr->kern_idx;
		b.cq.hdr->user_idx = b.cq.hdr->kern_idx;
		look_at_memory();
		if (!rnd_below(4))
			restart();
	}
	stop = true;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	finish(rounds);
}

/* Shared receive queues, used by several queue pairs. */
static void g5_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16,
						    .max_sge = 4 } };
	struct ring before[64], after[64], srq = {};
	unsigned long rounds = 0;
	struct qp_cfg cfg = { .rnr_timer = 1, .rnr_retry = 1 };
	int n, i, j;
	double end;

	begin(IBV_QPT_RC);
	n = rings_list(before, 64);
	cfg.srq = MUST(ibv_create_srq(dev.pd, &init));
	i = rings_list(after, 64);
	while (i--) {
		for (j = 0; j < n && before[j].offset != after[i].offset; j++)
			;
		if (j == n)
			srq = after[i];
	}
	CHECK(srq.hdr);
	srq.entries = init.attr.max_wr;
	srq.stride = sizeof(struct pinion_rq_wqe) +
		     init.attr.max_sge * sizeof(struct pinion_sge);
	raw_end_make(&b, &cfg);
	restart();
	for (end = now() + opt.seconds; go_on(end, executed >= ENOUGH);
	     rounds++) {
		spoil_recv(&srq);
		likely(ring_wqe(&a.sq));
		ring_publish(&a.sq, 1);
		ring_doorbell(&a);
		if (!rnd_below(8)) {
			struct ibv_srq_attr attr = {
				.srq_limit = rnd_below(20),
			};

			ibv_modify_srq(cfg.srq, &attr, IBV_SRQ_LIMIT);
		}
		spoil_completions(&a);
		spoil_completions(&b);
		look_at_memory();
		if (!rnd_below(4))
			restart_spoilt();
	}
	finish(rounds);
}

/*
 * Make all queues anew, also if a completion queue has another ring than at first: no others are
 * mapped.
 */
static void replace_all(void)
{
	struct raw_end *ends[] = { &a, &b };
	struct qp_cfg cfg = a.end.cfg;
	struct ring rings[64];
	int i, n;

	for (i = 0; i < 2; i++) {
		CHECK_EQ(raw_destroy_queue(dev.ctx->cmd_fd, UVERBS_OBJECT_QP,
					   ends[i]->end.qp->handle),
			 0);
		CHECK_EQ(raw_destroy_queue(dev.ctx->cmd_fd, UVERBS_OBJECT_CQ,
					   ends[i]->end.scq->handle),
			 0);
	}
	n = rings_list(rings, 64);
	for (i = 0; i < n; i++)
		CHECK_EQ(munmap((void *)rings[i].hdr, rings[i].length), 0);
	cfg.scq = cfg.rcq = NULL;
	raw_end_make(&a, &cfg);
	raw_end_make(&b, &cfg);
	connect_ends();
}

/*
 * A completion queue is resized between random indices in all rings: it can be or not, but requests
 * are still executed once the queues are new.
 */
static void g6_resize(void)
{
	enum { RESIZES = 3, TRIES = 8 };
	unsigned long rounds = 0, resized = 0;
	double end;
	int try;

	begin(IBV_QPT_RC);
	for (end = now() + opt.seconds;
	     go_on(end, executed >= ENOUGH && resized >= RESIZES); rounds++) {
		struct ring rings[64];
		int n = rings_list(rings, 64), i;

		for (i = 0; i < n; i++) {
			rings[i].hdr->user_idx = some_number();
			rings[i].hdr->kern_idx = some_number();
		}
		if (!ibv_resize_cq(a.end.scq, rnd_in(1, 3000)))
			resized++;
		ring_doorbell(&a);
		restart();
		if (rnd_below(4))
			continue;
		replace_all();
		for (try = 0; try < TRIES; try++) {
			likely(ring_wqe(&a.sq));
			ring_publish(&a.sq, 1);
			ring_doorbell(&a);
			look_at_memory();
		}
	}
	note("resized %lu times", resized);
	CHECK(resized >= RESIZES);
	finish(rounds);
}

static const struct test tests[] = {
	TEST_OF(garbage, IBV_QPT_RC, "G1 garbage, RC"),
	TEST_OF(garbage, IBV_QPT_UC, "G2 garbage, UC"),
	TEST_OF(garbage, IBV_QPT_UD, "G3 garbage, UD"),
	TEST(g4_changing, "G4 requests that change while they are read"),
	TEST(g5_srq, "G5 garbage in a shared receive queue"),
	TEST(g6_resize, "G6 resized with impossible indices"),
};

HARNESS_MAIN("Garbage in shared rings", tests)
