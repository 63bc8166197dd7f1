// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posts, polls, and compares received with sent data.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "traffic.h"

enum {
	SQ_DEPTH = 32, /* fewer than slots, so that it fills up */
	MAX_LIST = 4,
	HEAD = 16, /* bytes of struct head */
};

/* Start of each message. The other bytes are computed from it. */
struct head {
	uint64_t seed;
	uint32_t length;
	uint32_t slot;
};

enum kind { SEND = 1, SEND_INLINE, SEND_IMM, WRITE, FETCH_ADD, RECV, STRANGER };

uint64_t worker_rnd(struct worker *w, uint64_t end)
{
	return rnd_next(&w->rnd) % end;
}

/* ---------------------------------------------------------------- messages */

static uint8_t *slot_at(const struct region *region, uint32_t slot)
{
	return region->buf->data + (size_t)slot * TRAFFIC_SLOT;
}

static uint64_t slot_addr(const struct region *region, uint32_t slot)
{
	return region->base + (uint64_t)slot * TRAFFIC_SLOT;
}

static void fill_tail(uint8_t *to, struct head head)
{
	uint64_t word = 0, state = head.seed;
	uint32_t i;

	for (i = HEAD; i < head.length; i++) {
		if (!(i % sizeof(word)))
			word = rnd_next(&state);
		to[i] = word >> i % sizeof(word) * 8;
	}
}

static struct head write_message(struct worker *w, uint32_t slot)
{
	struct head head = {
		.seed = rnd_next(&w->rnd),
		.length = HEAD + worker_rnd(w, TRAFFIC_SLOT - HEAD + 1),
		.slot = slot,
	};
	uint8_t *to = slot_at(&w->t->out, slot);

	memcpy(to, &head, HEAD);
	fill_tail(to, head);
	return head;
}

static struct head check_message(const uint8_t *at, uint32_t length)
{
	uint8_t want[TRAFFIC_SLOT];
	struct head head;

	memcpy(&head, at, HEAD);
	CHECK_EQ(length, head.length);
	CHECK(head.length <= TRAFFIC_SLOT && head.slot < TRAFFIC_SLOTS);
	memcpy(want, &head, HEAD);
	fill_tail(want, head);
	if (memcmp(at, want, head.length))
		FAIL("a message of %u bytes from slot %u has other data",
		     head.length, head.slot);
	return head;
}

static uint64_t id_of(enum kind kind, uint64_t rest)
{
	return (uint64_t)kind << 56 | rest;
}

/* -------------------------------------------------------------- completions */

static void post_receive(struct traffic *t, uint32_t slot)
{
	struct ibv_sge sge = sge_of(&t->in, slot * TRAFFIC_SLOT, TRAFFIC_SLOT);

	post_srq(t->srq, &sge, 1, id_of(RECV, slot));
}

static void received(struct traffic *t, uint32_t slot, uint32_t length)
{
	struct head head = check_message(slot_at(&t->in, slot), length);

	memset(slot_at(&t->in, slot), 0xdb, TRAFFIC_SLOT);
	COUNT(t->seeds_in, head.seed);
	post_receive(t, slot);
	COUNT(t->arrived, 1);
}

static void handle(struct traffic *t, uint64_t wr_id, int status,
		   uint32_t length)
{
	enum kind kind = wr_id >> 56;
	uint32_t slot = wr_id & 0xffffffff;

	if (kind == STRANGER) {
		/* The queue pair was reset after this request was posted. */
		if ((wr_id & 0xffffffff) < GET(t->epoch))
			FAIL("a completion of an earlier life");
		return;
	}
	if (status)
		FAIL("%s for %#llx", ibv_wc_status_str(status),
		     (unsigned long long)wr_id);
	CHECK(slot < TRAFFIC_SLOTS);
	if (kind == RECV) {
		received(t, slot, length);
		return;
	}
	if (!GET(t->busy[slot]))
		FAIL("slot %u completes, but was not sent", slot);
	if (kind == WRITE &&
	    memcmp(slot_at(&t->out, slot), slot_at(&t->target, slot),
		   ((struct head *)slot_at(&t->out, slot))->length))
		FAIL("what was written to slot %u is not what is there", slot);
	SET(t->busy[slot], false);
	COUNT(t->sent, 1);
}

static int poll_plain(struct worker *w)
{
	struct ibv_wc wc[8];
	int i, count;

	count = ibv_poll_cq(ibv_cq_ex_to_cq(w->t->cq), 1 + worker_rnd(w, 8),
			    wc);
	if (count < 0)
		FAIL("ibv_poll_cq: %d", count);
	for (i = 0; i < count; i++)
		handle(w->t, wc[i].wr_id, wc[i].status, wc[i].byte_len);
	return count;
}

/* Completions are handled after ibv_end_poll(), because handling them posts requests. */
static int poll_extended(struct worker *w)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq_ex *cq = w->t->cq;
	int i, count = 0, limit = 1 + worker_rnd(w, 8), err;
	struct ibv_wc wc[8];

	err = ibv_start_poll(cq, &attr);
	if (err == ENOENT)
		return 0;
	CHECK_EQ(err, 0);
	do {
		wc[count].wr_id = cq->wr_id;
		wc[count].status = cq->status;
		wc[count].byte_len = ibv_wc_read_byte_len(cq);
		count++;
	} while (count < limit && !(err = ibv_next_poll(cq)));
	if (err && err != ENOENT)
		FAIL("ibv_next_poll: %d", err);
	ibv_end_poll(cq);
	for (i = 0; i < count; i++)
		handle(w->t, wc[i].wr_id, wc[i].status, wc[i].byte_len);
	return count;
}

int traffic_poll(struct worker *w)
{
	int count;

	pthread_rwlock_rdlock(&w->t->epoch_lock);
	count = worker_rnd(w, 2) ? poll_plain(w) : poll_extended(w);
	pthread_rwlock_unlock(&w->t->epoch_lock);
	return count;
}

/* -------------------------------------------------------------------- sends */

struct request {
	enum kind kind;
	uint32_t slot;
	struct head head;
	struct ibv_sge sge;
};

static int free_slot(struct worker *w)
{
	int own = TRAFFIC_SLOTS / w->t->senders, first = w->number * own;
	int i, start = worker_rnd(w, own);

	for (i = 0; i < own; i++) {
		int slot = first + (start + i) % own;

		if (!GET(w->t->busy[slot]))
			return slot;
	}
	return -1;
}

static int choose(struct worker *w, struct request *requests)
{
	int i, slot, wanted = 1 + worker_rnd(w, MAX_LIST);

	for (i = 0; i < wanted && (slot = free_slot(w)) >= 0; i++) {
		struct request *r = &requests[i];

		r->kind = SEND + worker_rnd(w, RECV - SEND);
		r->slot = slot;
		r->head = write_message(w, slot);
		r->sge =
			sge_of(&w->t->out, slot * TRAFFIC_SLOT, r->head.length);
		if (r->kind == FETCH_ADD)
			r->sge.length = sizeof(uint64_t);
		SET(w->t->busy[slot], true);
	}
	return i;
}

static void fill_wr(struct traffic *t, const struct request *r,
		    struct ibv_send_wr *wr)
{
	*wr = (struct ibv_send_wr){
		.wr_id = id_of(r->kind, r->slot),
		.sg_list = (struct ibv_sge *)&r->sge,
		.num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
		.opcode = IBV_WR_SEND,
	};
	switch (r->kind) {
	case SEND_INLINE:
		wr->send_flags |= IBV_SEND_INLINE;
		break;
	case SEND_IMM:
		wr->opcode = IBV_WR_SEND_WITH_IMM;
		wr->imm_data = r->slot;
		break;
	case WRITE:
		wr->opcode = IBV_WR_RDMA_WRITE;
		wr->wr.rdma.remote_addr = slot_addr(&t->target, r->slot);
		wr->wr.rdma.rkey = t->target.rkey;
		break;
	case FETCH_ADD:
		wr->opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr->wr.atomic.remote_addr =
			slot_addr(&t->target, TRAFFIC_SLOTS);
		wr->wr.atomic.rkey = t->target.rkey;
		wr->wr.atomic.compare_add = 1;
		break;
	default:
		break;
	}
}

/* Returns how many of the requests were posted. */
static int post_list(struct worker *w, const struct request *r, int count)
{
	struct ibv_send_wr wr[MAX_LIST], *bad = NULL;
	int i, err;

	for (i = 0; i < count; i++) {
		fill_wr(w->t, &r[i], &wr[i]);
		wr[i].next = i + 1 < count ? &wr[i + 1] : NULL;
	}
	err = ibv_post_send(w->t->link.a.qp, wr, &bad);
	if (!err)
		return count;
	CHECK_EQ(err, ENOMEM);
	return bad - wr;
}

static void build(struct traffic *t, const struct request *r)
{
	struct ibv_qp_ex *qp = t->link.a.ex;

	qp->wr_id = id_of(r->kind, r->slot);
	qp->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
	switch (r->kind) {
	case SEND_INLINE:
		ibv_wr_send(qp);
		ibv_wr_set_inline_data(qp, (void *)(uintptr_t)r->sge.addr,
				       r->sge.length);
		return;
	case SEND_IMM:
		ibv_wr_send_imm(qp, r->slot);
		break;
	case WRITE:
		ibv_wr_rdma_write(qp, t->target.rkey,
				  slot_addr(&t->target, r->slot));
		break;
	case FETCH_ADD:
		ibv_wr_atomic_fetch_add(qp, t->target.rkey,
					slot_addr(&t->target, TRAFFIC_SLOTS),
					1);
		break;
	default:
		ibv_wr_send(qp);
		break;
	}
	ibv_wr_set_sge(qp, r->sge.lkey, r->sge.addr, r->sge.length);
}

/* Post all or nothing by the builder calls. Sometimes abort instead. */
static int build_list(struct worker *w, const struct request *r, int count)
{
	struct ibv_qp_ex *qp = w->t->link.a.ex;
	int i, err;

	ibv_wr_start(qp);
	for (i = 0; i < count; i++)
		build(w->t, &r[i]);
	if (!worker_rnd(w, 8)) {
		ibv_wr_abort(qp);
		return 0;
	}
	err = ibv_wr_complete(qp);
	if (err)
		CHECK_EQ(err, ENOMEM);
	return err ? 0 : count;
}

static bool arrives(enum kind kind)
{
	return kind == SEND || kind == SEND_INLINE || kind == SEND_IMM;
}

static void post_some(struct worker *w)
{
	struct request r[MAX_LIST];
	struct traffic *t = w->t;
	int i, taken, count = choose(w, r);

	if (!count)
		return;
	taken = !t->link.a.ex || worker_rnd(w, 2) ? post_list(w, r, count) :
						    build_list(w, r, count);
	for (i = 0; i < count; i++) {
		if (i >= taken) {
			SET(t->busy[r[i].slot], false);
		} else if (arrives(r[i].kind)) {
			COUNT(t->to_arrive, 1);
			COUNT(t->seeds_out, r[i].head.seed);
		} else if (r[i].kind == FETCH_ADD) {
			COUNT(t->added, 1);
		}
	}
	COUNT(t->posted, taken);
}

void *traffic_send(void *arg)
{
	struct worker *w = arg;
	struct traffic *t = w->t;

	while (!GET(t->over)) {
		post_some(w);
		if (t->channel || !traffic_poll(w))
			sched_yield();
	}
	COUNT(t->running, -1);
	while (!GET(t->done)) {
		if (t->channel || !traffic_poll(w))
			sched_yield();
	}
	return NULL;
}

uint64_t stranger_id(const struct traffic *t)
{
	return id_of(STRANGER, GET(t->epoch));
}

/* ------------------------------------------------------ setup and checks */

static struct region region_in(struct ibv_pd *pd, int slots)
{
	struct buf *buf = buf_new(slots * TRAFFIC_SLOT, 0);

	memset(buf->data, 0, buf->length);
	return region_reg(pd, buf, ALL_ACCESS);
}

void traffic_make(struct traffic *t, struct ibv_td *td)
{
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = TRAFFIC_SLOTS, .max_sge = 1 },
	};
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = TRAFFIC_CQE,
		.channel = t->channel,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN,
	};
	struct qp_cfg cfg = { .wr = SQ_DEPTH,
			      .sge = 1,
			      .inline_data = TRAFFIC_SLOT };
	uint32_t slot;

	t->pd = dev.pd;
	if (td || t->own) {
		struct ibv_parent_domain_init_attr attr = {};

		if (t->own)
			attr = own_attr(t->own);
		attr.pd = dev.pd;
		attr.td = td;
		t->pd = MUST(ibv_alloc_parent_domain(dev.ctx, &attr));
		cq_attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS |
				    IBV_CQ_INIT_ATTR_MASK_PD;
		cq_attr.flags = td ? IBV_CREATE_CQ_ATTR_SINGLE_THREADED : 0;
		cq_attr.parent_domain = t->pd;
	}
	t->running = t->senders;
	CHECK_EQ(pthread_rwlock_init(&t->epoch_lock, NULL), 0);
	t->cq = MUST(ibv_create_cq_ex(dev.ctx, &cq_attr));
	t->srq = MUST(ibv_create_srq(t->pd, &srq_attr));
	cfg.pd = t->pd;
	cfg.srq = t->srq;
	cfg.scq = ibv_cq_ex_to_cq(t->cq);
	cfg.rcq = cfg.scq;
	link_make(&t->link, &cfg);
	t->out = region_in(t->pd, TRAFFIC_SLOTS);
	t->in = region_in(t->pd, TRAFFIC_SLOTS);
	t->target = region_in(t->pd, TRAFFIC_SLOTS + 1);
	for (slot = 0; slot < TRAFFIC_SLOTS; slot++)
		post_receive(t, slot);
}

void traffic_free(struct traffic *t)
{
	link_free(&t->link);
	CHECK_EQ(ibv_destroy_srq(t->srq), 0);
	CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(t->cq)), 0);
	region_free(&t->out);
	region_free(&t->in);
	region_free(&t->target);
	if (t->pd != dev.pd)
		CHECK_EQ(ibv_dealloc_pd(t->pd), 0);
}

void worker_start(struct worker *w, struct traffic *t, int number,
		  void *(*body)(void *arg))
{
	*w = (struct worker){ .t = t, .number = number, .rnd = rnd() };
	CHECK_EQ(pthread_create(&w->thread, NULL, body, w), 0);
}

bool traffic_seen(const struct traffic *t)
{
	return GET(t->posted) && GET(t->to_arrive) && GET(t->added);
}

void traffic_settle(struct traffic *t)
{
	double limit = now() + patience(PATIENCE);

	SET(t->over, true);
	while (GET(t->running) || GET(t->sent) != GET(t->posted) ||
	       GET(t->arrived) != GET(t->to_arrive)) {
		if (now() > limit)
			FAIL("of %llu posted %llu completed, of %llu messages %llu arrived",
			     (unsigned long long)t->posted,
			     (unsigned long long)t->sent,
			     (unsigned long long)t->to_arrive,
			     (unsigned long long)t->arrived);
		usleep(1000);
	}
	SET(t->done, true);
}

void traffic_check(const struct traffic *t)
{
	CHECK_EQ(t->seeds_in, t->seeds_out);
	CHECK_EQ(*(uint64_t *)slot_at(&t->target, TRAFFIC_SLOTS), t->added);
	CHECK(traffic_seen(t));
	note("%llu requests, %llu messages, %llu changes",
	     (unsigned long long)t->posted, (unsigned long long)t->to_arrive,
	     (unsigned long long)t->changes);
}
