// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The provider under several threads: they post to the same queues and poll the
 * same completion queue while it is resized, reset or waited for; and without any
 * lock where they promised to stay apart; and from two processes at once. Every
 * message carries data of its own, and each has to arrive once.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"

enum {
	THREADS = 4,
	SLOTS = 64, /* of each region; a sender owns an equal part of them */
	SLOT = 512,
	SQ_DEPTH = 32, /* less than there are slots: it fills up */
	MAX_LIST = 4,
	/* What can be unpolled: each slot of sends and receives, and some. */
	CQE = 2 * SLOTS + 32,
	HEAD = 16, /* of a message: struct head */
};

/* The rest of a message follows from its head. */
struct head {
	uint64_t seed;
	uint32_t length;
	uint32_t slot;
};

enum kind { SEND = 1, SEND_INLINE, SEND_IMM, WRITE, FETCH_ADD, RECV, STRANGER };

struct traffic {
	struct ibv_pd *pd;
	struct ibv_cq_ex *cq; /* of all four queues */
	struct ibv_srq *srq;
	struct link link;
	struct region out, in, target; /* target: one slot more, to count in */
	struct ibv_comp_channel *channel;
	int senders;
	bool resize_cq, resize_srq, strangers;
	bool only_waiter_polls;

	/* atomic */
	bool busy[SLOTS];
	bool over; /* nobody posts sends any more */
	bool done; /* everything has arrived */
	int running;
	uint64_t posted, sent, arrived, to_arrive, added;
	uint64_t seeds_out, seeds_in;
	uint64_t changes;

	pthread_rwlock_t epoch_lock; /* pollers read, who starts one writes */
	uint64_t epoch;
};

/* A thread's own random numbers. */
struct worker {
	struct traffic *t;
	pthread_t thread;
	int number;
	uint64_t rnd;
};

#define GET(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define SET(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELEASE)
#define ADD(x, v) __atomic_add_fetch(&(x), v, __ATOMIC_ACQ_REL)

static uint64_t mix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static uint64_t below(struct worker *w, uint64_t end)
{
	return mix(&w->rnd) % end;
}

/* ---------------------------------------------------------------- messages */

static uint8_t *slot_at(const struct region *region, uint32_t slot)
{
	return region->buf->data + (size_t)slot * SLOT;
}

static uint64_t slot_addr(const struct region *region, uint32_t slot)
{
	return region->base + (uint64_t)slot * SLOT;
}

static void fill_tail(uint8_t *to, struct head head)
{
	uint64_t word = 0, state = head.seed;
	uint32_t i;

	for (i = HEAD; i < head.length; i++) {
		if (!(i % sizeof(word)))
			word = mix(&state);
		to[i] = word >> i % sizeof(word) * 8;
	}
}

static struct head write_message(struct worker *w, uint32_t slot)
{
	struct head head = {
		.seed = mix(&w->rnd),
		.length = HEAD + below(w, SLOT - HEAD + 1),
		.slot = slot,
	};
	uint8_t *to = slot_at(&w->t->out, slot);

	memcpy(to, &head, HEAD);
	fill_tail(to, head);
	return head;
}

static struct head check_message(const uint8_t *at, uint32_t length)
{
	uint8_t want[SLOT];
	struct head head;

	memcpy(&head, at, HEAD);
	CHECK_EQ(length, head.length);
	CHECK(head.length <= SLOT && head.slot < SLOTS);
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

static void post_receives(struct traffic *t, const uint32_t *slots, int count)
{
	struct ibv_recv_wr wr[MAX_LIST] = {}, *bad;
	struct ibv_sge sge[MAX_LIST];
	int i;

	for (i = 0; i < count; i++) {
		sge[i] = sge_of(&t->in, slots[i] * SLOT, SLOT);
		wr[i].wr_id = id_of(RECV, slots[i]);
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].next = i + 1 < count ? &wr[i + 1] : NULL;
	}
	CHECK_EQ(ibv_post_srq_recv(t->srq, wr, &bad), 0);
}

static void received(struct traffic *t, uint32_t slot, uint32_t length)
{
	struct head head = check_message(slot_at(&t->in, slot), length);

	memset(slot_at(&t->in, slot), 0xdb, SLOT);
	ADD(t->seeds_in, head.seed);
	post_receives(t, &slot, 1);
	ADD(t->arrived, 1);
}

static void handle(struct traffic *t, uint64_t wr_id, int status,
		   uint32_t length)
{
	enum kind kind = wr_id >> 56;
	uint32_t slot = wr_id & 0xffffffff;

	if (kind == STRANGER) {
		/* Of a queue pair whose present life began later. */
		if ((wr_id & 0xffffffff) < GET(t->epoch))
			FAIL("a completion of an earlier life");
		return;
	}
	if (status)
		FAIL("%s for %#llx", ibv_wc_status_str(status),
		     (unsigned long long)wr_id);
	CHECK(slot < SLOTS);
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
	ADD(t->sent, 1);
}

static int poll_plain(struct worker *w)
{
	struct ibv_wc wc[8];
	int i, count;

	count = ibv_poll_cq(ibv_cq_ex_to_cq(w->t->cq), 1 + below(w, 8), wc);
	if (count < 0)
		FAIL("ibv_poll_cq: %d", count);
	for (i = 0; i < count; i++)
		handle(w->t, wc[i].wr_id, wc[i].status, wc[i].byte_len);
	return count;
}

/* What was read is handled later: posting belongs outside. */
static int poll_extended(struct worker *w)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq_ex *cq = w->t->cq;
	int i, count = 0, limit = 1 + below(w, 8), err;
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

static int poll_some(struct worker *w)
{
	int count;

	pthread_rwlock_rdlock(&w->t->epoch_lock);
	count = below(w, 2) ? poll_plain(w) : poll_extended(w);
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
	int own = SLOTS / w->t->senders, first = w->number * own;
	int i, start = below(w, own);

	for (i = 0; i < own; i++) {
		int slot = first + (start + i) % own;

		if (!GET(w->t->busy[slot]))
			return slot;
	}
	return -1;
}

static int choose(struct worker *w, struct request *requests)
{
	int i, slot, wanted = 1 + below(w, MAX_LIST);

	for (i = 0; i < wanted && (slot = free_slot(w)) >= 0; i++) {
		struct request *r = &requests[i];

		r->kind = SEND + below(w, RECV - SEND);
		r->slot = slot;
		r->head = write_message(w, slot);
		r->sge = sge_of(&w->t->out, slot * SLOT, r->head.length);
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
		wr->wr.atomic.remote_addr = slot_addr(&t->target, SLOTS);
		wr->wr.atomic.rkey = t->target.rkey;
		wr->wr.atomic.compare_add = 1;
		break;
	default:
		break;
	}
}

/* Returns how many of them were taken. */
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
					slot_addr(&t->target, SLOTS), 1);
		break;
	default:
		ibv_wr_send(qp);
		break;
	}
	ibv_wr_set_sge(qp, r->sge.lkey, r->sge.addr, r->sge.length);
}

/* All or nothing, here. Now and then it is thought better of. */
static int build_list(struct worker *w, const struct request *r, int count)
{
	struct ibv_qp_ex *qp = w->t->link.a.ex;
	int i, err;

	ibv_wr_start(qp);
	for (i = 0; i < count; i++)
		build(w->t, &r[i]);
	if (!below(w, 8)) {
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
	taken = !t->link.a.ex || below(w, 2) ? post_list(w, r, count) :
					       build_list(w, r, count);
	for (i = 0; i < count; i++) {
		if (i >= taken) {
			SET(t->busy[r[i].slot], false);
		} else if (arrives(r[i].kind)) {
			ADD(t->to_arrive, 1);
			ADD(t->seeds_out, r[i].head.seed);
		} else if (r[i].kind == FETCH_ADD) {
			ADD(t->added, 1);
		}
	}
	ADD(t->posted, taken);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct traffic *t = w->t;

	while (!GET(t->over)) {
		post_some(w);
		if (t->only_waiter_polls || !poll_some(w))
			sched_yield();
	}
	ADD(t->running, -1);
	while (!GET(t->done)) {
		if (t->only_waiter_polls || !poll_some(w))
			sched_yield();
	}
	return NULL;
}

/* ------------------------------------------------------------------- others */

/* Waits for events, and is then the only one that polls. */
static void *wait_for_events(void *arg)
{
	struct worker *w = arg;
	struct traffic *t = w->t;
	struct pollfd fd = { .fd = t->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	while (!GET(t->done)) {
		if (poll(&fd, 1, 100) <= 0)
			continue;
		CHECK_EQ(ibv_get_cq_event(t->channel, &cq, &context), 0);
		CHECK(cq == ibv_cq_ex_to_cq(t->cq));
		ibv_ack_cq_events(cq, 1);
		CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
		while (poll_some(w))
			;
		ADD(t->changes, 1);
	}
	return NULL;
}

static void *resize(void *arg)
{
	struct worker *w = arg;
	struct traffic *t = w->t;

	while (!GET(t->done)) {
		struct ibv_srq_attr attr = { .max_wr = SLOTS << below(w, 4) };

		if (t->resize_cq)
			CHECK_EQ(ibv_resize_cq(ibv_cq_ex_to_cq(t->cq),
					       CQE << below(w, 4)),
				 0);
		if (t->resize_srq)
			CHECK_EQ(ibv_modify_srq(t->srq, &attr, IBV_SRQ_MAX_WR),
				 0);
		ADD(t->changes, 1);
		usleep(below(w, 300));
	}
	return NULL;
}

/* One life of a queue pair: some messages, some of them never received. */
static void live(struct worker *w, struct link *link)
{
	uint64_t id = id_of(STRANGER, GET(w->t->epoch));
	int i, receives = below(w, 4), sends = 1 + below(w, 6);

	link_connect(link);
	for (i = 0; i < receives; i++) {
		struct ibv_sge sge = sge_of(&w->t->in, 0, 0);

		post_recv(&link->b, &sge, 1, id);
	}
	for (i = 0; i < sends; i++) {
		struct ibv_send_wr wr = { .wr_id = id,
					  .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED };

		post(&link->a, &wr);
	}
	if (below(w, 2)) {
		CHECK_EQ(end_set_state(&link->a, IBV_QPS_ERR), 0);
		CHECK_EQ(end_set_state(&link->b, IBV_QPS_ERR), 0);
	}
}

/*
 * Queue pairs beside the others', on the same CQ, that begin and end all the time.
 * They are reset, or made anew; either way their completions go with them.
 */
static void *come_and_go(void *arg)
{
	struct worker *w = arg;
	struct traffic *t = w->t;
	struct ibv_cq *cq = ibv_cq_ex_to_cq(t->cq);
	struct qp_cfg cfg = { .pd = t->pd, .scq = cq, .rcq = cq, .wr = 8 };
	struct link link;

	end_make(&link.a, &cfg);
	end_make(&link.b, &cfg);
	while (!GET(t->done)) {
		live(w, &link);
		if (below(w, 4)) {
			CHECK_EQ(end_set_state(&link.a, IBV_QPS_RESET), 0);
			CHECK_EQ(end_set_state(&link.b, IBV_QPS_RESET), 0);
		} else {
			link_free(&link);
			end_make(&link.a, &cfg);
			end_make(&link.b, &cfg);
		}
		pthread_rwlock_wrlock(&t->epoch_lock);
		ADD(t->epoch, 1);
		pthread_rwlock_unlock(&t->epoch_lock);
		ADD(t->changes, 1);
	}
	link_free(&link);
	return NULL;
}

/* ---------------------------------------------------------------- the whole */

static struct region region_in(struct ibv_pd *pd, int slots)
{
	struct buf *buf = buf_new(slots * SLOT, 0);

	memset(buf->data, 0, buf->length);
	return region_reg(pd, buf, ALL_ACCESS);
}

static void traffic_make(struct traffic *t, struct ibv_td *td)
{
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = SLOTS, .max_sge = 1 },
	};
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = CQE,
		.channel = t->channel,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN,
	};
	struct qp_cfg cfg = { .wr = SQ_DEPTH, .sge = 1, .inline_data = SLOT };
	uint32_t slot;

	t->pd = dev.pd;
	if (td) {
		struct ibv_parent_domain_init_attr attr = {
			.pd = dev.pd,
			.td = td,
		};

		t->pd = MUST(ibv_alloc_parent_domain(dev.ctx, &attr));
		cq_attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS |
				    IBV_CQ_INIT_ATTR_MASK_PD;
		cq_attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
		cq_attr.parent_domain = t->pd;
	}
	CHECK_EQ(pthread_rwlock_init(&t->epoch_lock, NULL), 0);
	t->cq = MUST(ibv_create_cq_ex(dev.ctx, &cq_attr));
	t->srq = MUST(ibv_create_srq(t->pd, &srq_attr));
	cfg.pd = t->pd;
	cfg.srq = t->srq;
	cfg.scq = ibv_cq_ex_to_cq(t->cq);
	cfg.rcq = cfg.scq;
	link_make(&t->link, &cfg);
	t->out = region_in(t->pd, SLOTS);
	t->in = region_in(t->pd, SLOTS);
	t->target = region_in(t->pd, SLOTS + 1);
	for (slot = 0; slot < SLOTS; slot++)
		post_receives(t, &slot, 1);
}

static void traffic_free(struct traffic *t)
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

static void start(struct worker *w, struct traffic *t, int number,
		  void *(*body)(void *arg))
{
	*w = (struct worker){ .t = t, .number = number, .rnd = rnd() };
	CHECK_EQ(pthread_create(&w->thread, NULL, body, w), 0);
}

/* Nobody posts any more: wait until all has arrived. */
static void settle(struct traffic *t)
{
	double limit = now() + PATIENCE;

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

static void balance(const struct traffic *t)
{
	CHECK_EQ(t->seeds_in, t->seeds_out);
	CHECK_EQ(*(uint64_t *)slot_at(&t->target, SLOTS), t->added);
	CHECK(t->posted > 0 && t->to_arrive > 0 && t->added > 0);
	note("%llu requests, %llu messages, %llu changes",
	     (unsigned long long)t->posted, (unsigned long long)t->to_arrive,
	     (unsigned long long)t->changes);
}

static void run_traffic(struct traffic *t)
{
	struct worker workers[THREADS], other = {};
	int i;

	t->senders = THREADS;
	t->running = THREADS;
	if (t->only_waiter_polls)
		t->channel = MUST(ibv_create_comp_channel(dev.ctx));
	traffic_make(t, NULL);
	if (t->only_waiter_polls) {
		CHECK_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(t->cq), 0), 0);
		start(&other, t, THREADS, wait_for_events);
	} else if (t->resize_cq || t->resize_srq) {
		start(&other, t, THREADS, resize);
	} else if (t->strangers) {
		start(&other, t, THREADS, come_and_go);
	}
	for (i = 0; i < THREADS; i++)
		start(&workers[i], t, i, work);
	sleep(opt.seconds);
	settle(t);
	for (i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	if (other.t) {
		pthread_join(other.thread, NULL);
		CHECK(t->changes > 1);
	}
	balance(t);
	traffic_free(t);
	if (t->channel)
		CHECK_EQ(ibv_destroy_comp_channel(t->channel), 0);
}

static void same_queues(void)
{
	struct traffic t = {};

	run_traffic(&t);
}

static void cq_resized(void)
{
	struct traffic t = { .resize_cq = true };

	run_traffic(&t);
}

static void srq_resized(void)
{
	struct traffic t = { .resize_srq = true };

	run_traffic(&t);
}

static void both_resized(void)
{
	struct traffic t = { .resize_cq = true, .resize_srq = true };

	run_traffic(&t);
}

static void events(void)
{
	struct traffic t = { .only_waiter_polls = true };

	run_traffic(&t);
}

static void strangers_on_the_cq(void)
{
	struct traffic t = { .strangers = true };

	run_traffic(&t);
}

static void single_threaded(void)
{
	struct ibv_td_init_attr td_attr = {};
	struct worker workers[THREADS];
	struct traffic t[THREADS] = {};
	struct ibv_td *td[THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		td[i] = MUST(ibv_alloc_td(dev.ctx, &td_attr));
		t[i].senders = 1;
		t[i].running = 1;
		traffic_make(&t[i], td[i]);
	}
	for (i = 0; i < THREADS; i++)
		start(&workers[i], &t[i], 0, work);
	sleep(opt.seconds);
	for (i = 0; i < THREADS; i++)
		settle(&t[i]);
	for (i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		balance(&t[i]);
		/* In use as long as there is a domain of it. */
		CHECK_EQ(ibv_dealloc_td(td[i]), EBUSY);
		traffic_free(&t[i]);
		CHECK_EQ(ibv_dealloc_td(td[i]), 0);
	}
}

/* ------------------------------------------------------------ two processes */

enum { SHARED = 64 * 1024, ROUNDS = 200 };

struct shared {
	struct peer peers[2];
	uint32_t pd, mr;
	int ready[2];
	uint64_t sums[ROUNDS];
	uint8_t data[SHARED];
};

static void meet(struct shared *shared, int self, int step)
{
	double limit = now() + PATIENCE;

	SET(shared->ready[self], step);
	while (GET(shared->ready[!self]) < step) {
		if (now() > limit)
			FAIL("the other process is not there");
		sched_yield();
	}
}

static uint64_t sum_of(const uint8_t *data, size_t length)
{
	uint64_t sum = length;

	while (length--)
		sum = sum * 31 + *data++;
	return sum;
}

static void connect_to(struct end *end, struct shared *shared, int self)
{
	shared->peers[self] = end_peer(end);
	meet(shared, self, 1);
	end_init(end);
	end_connect(end, &shared->peers[!self]);
	meet(shared, self, 2);
}

/*
 * The second process knows a file descriptor and two handles. It makes queues of
 * its own in the domain of the first, and sends it what lies in its region.
 */
static void import_and_send(void *arg)
{
	struct shared *shared = arg;
	struct ibv_context *ctx;
	struct qp_cfg cfg = {};
	struct end end;
	struct ibv_mr *mr;
	int i, fd = dup(dev.ctx->cmd_fd);

	ctx = MUST(ibv_import_device(fd));
	cfg.ctx = ctx;
	cfg.pd = MUST(ibv_import_pd(ctx, shared->pd));
	mr = MUST(ibv_import_mr(cfg.pd, shared->mr));
	CHECK_EQ(mr->length, SHARED);
	end_make(&end, &cfg);
	connect_to(&end, shared, 1);

	for (i = 0; i < ROUNDS; i++) {
		uint32_t length = 1 + rnd_below(SHARED / 2);
		struct ibv_sge sge = {
			.addr = (uintptr_t)shared->data,
			.length = length,
			.lkey = mr->lkey,
		};

		rnd_fill(shared->data, length);
		shared->sums[i] = sum_of(shared->data, length);
		expect(send_sge(&end, sge), IBV_WC_SUCCESS);
		expect(rdma(&end, IBV_WR_RDMA_READ, sge,
			    (uintptr_t)shared->data + SHARED / 2, mr->rkey),
		       IBV_WC_SUCCESS);
		CHECK(!memcmp(shared->data, shared->data + SHARED / 2, length));
	}
	meet(shared, 1, 3);
	end_free(&end);
	ibv_unimport_mr(mr);
	ibv_unimport_pd(cfg.pd);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void two_processes(void)
{
	struct link before;
	struct shared *shared;
	struct region near, far;
	struct ibv_mr *mr;
	struct end end;
	int pid, i;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	mr = MUST(ibv_reg_mr(dev.pd, shared->data, SHARED, ALL_ACCESS));
	shared->pd = dev.pd->handle;
	shared->mr = mr->handle;
	/* Queues that are there at the time of the fork have to survive it. */
	link_make(&before, NULL);
	near = region_new(SHARED, 0, ALL_ACCESS);
	far = region_new(SHARED, 0, ALL_ACCESS);
	pid = spawn(import_and_send, shared);

	end_make(&end, NULL);
	connect_to(&end, shared, 0);
	for (i = 0; i < ROUNDS; i++) {
		struct ibv_sge sge = {
			.addr = (uintptr_t)shared->data + SHARED / 2,
			.length = SHARED / 2,
			.lkey = mr->lkey,
		};
		struct ibv_wc wc;

		post_recv(&end, &sge, 1, i);
		wc = await(end.rcq);
		expect(wc, IBV_WC_SUCCESS);
		CHECK_EQ(sum_of(shared->data + SHARED / 2, wc.byte_len),
			 shared->sums[i]);
		if (!(i % 10))
			exchange(&before, &near, &far);
	}
	meet(shared, 0, 3);
	reap_ok(pid);

	exchange(&before, &near, &far);
	link_free(&before);
	end_free(&end);
	region_free(&near);
	region_free(&far);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(shared, sizeof(*shared));
}

static const struct test tests[] = {
	TEST(same_queues, "four threads post and poll on the same queues"),
	TEST(cq_resized, "the same while the CQ is resized"),
	TEST(srq_resized, "the same while the SRQ is resized"),
	TEST(both_resized, "the same while both are resized"),
	TEST(events, "four threads post, one polls when it is told to"),
	TEST(strangers_on_the_cq,
	     "the same while others on the CQ are reset and destroyed"),
	TEST(single_threaded, "four threads, each with queues without locks"),
	TEST(two_processes, "a second process imports domain and region"),
};

HARNESS_MAIN("The provider under several threads and processes", tests)
