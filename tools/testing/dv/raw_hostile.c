// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Attacks on queues made by command: random requests for each service, single wrong fields, invalid
 * records, endless posting, numbers of other contexts, commands with random fields (items VH1 to
 * VH12, VH15). Threads that do all of it at once are in raw_race.c.
 *
 * Each attack on the device's own rings in hostile/rings.c has a counterpart for these queues:
 *
 *	R1	VR1			R7, R15	VH11		R13	VR9, VR11
 *	R2, R3	VH8			R8	VS5		R14	VS13, VH7
 *	R4	VH9			R9	VH10		R16	VH5
 *	R5	VH1, VR8		R10	VL6		R17	VH6
 *	R6	VR17, VR18		R11	VH12, VR13
 *					R12	VB5, VH4
 *
 * (A request has room for 62 pieces, fewer than are served: R5 becomes pieces cut off.)
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "raw_queue.h"
#include "victim.h"

enum { LEN = 20000, MTU = 1024, GRH = 40 };

/* Syndromes of completions. */
enum {
	BAD_OPERATION = 0x02,
	LOCAL_PROTECTION = 0x04,
	FLUSHED = 0x05,
	REMOTE_ACCESS = 0x13,
	REMOTE_OPERATION = 0x14,
	NO_ANSWER = 0x15,
};

static struct raw_queue a, b, c, d;
static struct region from, to;

static void make(struct raw_queue *q, uint32_t service)
{
	uint8_t out[PRM_HEAD];

	raw_places(q, false);
	q->asked.service = service;
	q->qp = MUST(raw_try_qp(q, out));
	q->qpn = prm_number(out);
}

static void ready(struct raw_queue *q, uint32_t peer)
{
	struct prm_path path = raw_path(peer, 0x123456);
	uint8_t out[PRM_HEAD];

	path.qkey = QKEY;
	CHECK_EQ(raw_change(q, PRM_RST2INIT_QP, &path, out), 0);
	CHECK_EQ(raw_change(q, PRM_INIT2RTR_QP, &path, out), 0);
	CHECK_EQ(raw_change(q, PRM_RTR2RTS_QP, &path, out), 0);
}

static void pair(struct raw_queue *x, struct raw_queue *y, uint32_t service)
{
	make(x, service);
	make(y, service);
	ready(x, y->qpn);
	ready(y, x->qpn);
}

static void begin(uint32_t service)
{
	dv_begin();
	from = region_new(LEN, 3, ALL_ACCESS);
	to = region_new(LEN, 5, ALL_ACCESS);
	pair(&a, &b, service);
}

static void end(void)
{
	raw_free(&a);
	raw_free(&b);
}

/* Resets and reconnects @q, with nothing posted. */
static void renew(struct raw_queue *q, uint32_t peer)
{
	uint8_t out[PRM_HEAD];

	CHECK_EQ(raw_change(q, PRM_2RST_QP, &(struct prm_path){}, out), 0);
	memset(q->buf->data + QP_RECORD_AT, 0, 8);
	q->sq = 0;
	q->rq = 0;
	ready(q, peer);
}

static void write_from(struct raw_queue *q, uint32_t length)
{
	uint8_t segments[2 * SEGMENT];
	struct raw_cqe cqe;

	memset(to.buf->data, 0xee, LEN);
	raw_address(segments, &to, 7);
	raw_data(segments + SEGMENT, &from, 0, length);
	raw_post(q, RAW_WRITE, RAW_SIGNALED, 0, segments, 2);
	raw_ring(q);
	do
		cqe = raw_await(q);
	while (cqe.opcode != REQUEST);
	CHECK(!memcmp(from.buf->data, to.buf->data + 7, length));
}

/* ---------------------------------------------------------------- garbage */

static bool is_atomic(uint8_t opcode)
{
	return opcode == RAW_CMP_SWP || opcode == RAW_FETCH_ADD;
}

static bool has_address(uint8_t opcode)
{
	return opcode == RAW_WRITE || opcode == RAW_WRITE_IMM ||
	       opcode == RAW_READ || is_atomic(opcode);
}

/* The segments of a request that is right for some services, but for a few bits. Returns how many. */
static uint32_t nearly_right(uint8_t *segments, uint8_t opcode, bool datagrams)
{
	uint32_t flips = rnd_below(3);
	uint8_t *at = segments;

	if (datagrams) {
		raw_av(at, b.qpn, QKEY);
		at += RAW_AV;
	}
	if (has_address(opcode)) {
		raw_address(at, &to, rnd_below(LEN - 1000));
		at += SEGMENT;
	}
	/* Operands of atomics are any bytes. */
	if (is_atomic(opcode))
		at += SEGMENT;
	raw_data(at, &from, 0, is_atomic(opcode) ? 8 : rnd_below(1000));
	at += SEGMENT;
	while (flips--)
		segments[rnd_below(at - segments)] ^= 1 << rnd_below(8);
	return (at - segments) / SEGMENT;
}

/* Posts a request with a valid control segment, and random bytes or a nearly right request behind it. */
static void post_garbage(struct raw_queue *q)
{
	static const uint8_t opcodes[] = { RAW_SEND_INV,  RAW_WRITE,
					   RAW_WRITE_IMM, RAW_SEND,
					   RAW_SEND_IMM,  RAW_READ,
					   RAW_CMP_SWP,	  RAW_FETCH_ADD };
	uint8_t opcode = opcodes[rnd() % ARRAY_SIZE(opcodes)];
	uint8_t segments[31 * SEGMENT];
	uint32_t count = rnd_in(0, 31), i;

	for (i = 0; i < sizeof(segments); i++)
		segments[i] = rnd();
	for (i = 0; i < count; i++) {
		switch (rnd() & 3) {
		case 0:
			raw_data(segments + i * SEGMENT, &from, rnd_in(0, LEN),
				 rnd_in(0, LEN));
			break;
		case 1:
			raw_address(segments + i * SEGMENT, &to,
				    rnd_in(0, LEN));
			break;
		case 2:
			/* Inline data of random length. */
			prm_put32(segments + i * SEGMENT, 0,
				  1U << 31 | rnd_in(0, 0x3ff));
			break;
		}
	}
	if (!(rnd() & 3) && count >= 3)
		raw_av(segments, b.qpn, QKEY);
	if (rnd() & 1) {
		if (q->asked.service == PRM_UD)
			opcode = rnd() & 1 ? RAW_SEND : RAW_SEND_IMM;
		count = nearly_right(segments, opcode,
				     q->asked.service == PRM_UD);
	}
	raw_post(q, opcode, rnd() & 1 ? RAW_SIGNALED : rnd(), rnd(), segments,
		 count);
}

/* What has become of the requests of garbage. */
struct outcome {
	uint32_t done, refused, flushed;
};

static void count_outcome(struct outcome *outcome, const struct raw_cqe *cqe)
{
	if (cqe->opcode == REQUEST)
		outcome->done++;
	else if (cqe->syndrome == FLUSHED)
		outcome->flushed++;
	else
		outcome->refused++;
}

/* A datagram from @a to @b arrives. */
static void datagram_arrives(void)
{
	uint8_t segments[RAW_AV + SEGMENT];
	struct raw_cqe cqe;

	memset(to.buf->data, 0xee, LEN);
	raw_data(segments, &to, 0, LEN);
	raw_post_recv(&b, segments, 1);
	raw_av(segments, b.qpn, QKEY);
	raw_data(segments + RAW_AV, &from, 0, 1000);
	raw_post(&a, RAW_SEND, RAW_SIGNALED, 0, segments,
		 sizeof(segments) / SEGMENT);
	raw_ring(&a);
	CHECK_EQ(raw_await(&a).opcode, REQUEST);
	cqe = raw_await(&b);
	CHECK(cqe.opcode != BAD_REQUEST && cqe.opcode != BAD_RECV);
	CHECK(!memcmp(from.buf->data, to.buf->data + GRH, 1000));
}

static bool saw_outcomes(const struct outcome *outcome)
{
	return outcome->done >= 5 && outcome->refused >= 20;
}

/* Requests are done or refused, some of each, and a valid request works afterwards. */
static void garbage(int service)
{
	double until = now() + opt.seconds;
	struct outcome outcome = {};
	struct raw_cqe cqe;
	uint32_t i, rounds = 0;
	uint8_t segment[SEGMENT];

	begin(service);
	while (go_on(until, rounds >= 20 && saw_outcomes(&outcome))) {
		for (i = 0; i < 3; i++) {
			raw_data(segment, &to, 0, LEN);
			raw_post_recv(&b, segment, 1);
		}
		for (i = 0; i < 3; i++)
			post_garbage(&a);
		raw_ring(&a);
		usleep(rnd_in(0, 3000));
		while (raw_poll(&a, &cqe))
			count_outcome(&outcome, &cqe);
		while (raw_poll(&b, &cqe))
			;
		renew(&a, b.qpn);
		renew(&b, a.qpn);
		/* Completions of earlier requests. */
		while (raw_poll(&a, &cqe))
			;
		while (raw_poll(&b, &cqe))
			;
		if (service == PRM_UD)
			datagram_arrives();
		else
			write_from(&a, 1000);
		rounds++;
	}
	note("%u rounds: %u done, %u refused, %u flushed", rounds, outcome.done,
	     outcome.refused, outcome.flushed);
	CHECK(rounds >= 20 && saw_outcomes(&outcome));
	end();
}

/* ----------------------------------------------------- single wrong fields */

/* Posts a valid write of 100 bytes. Returns its first segment, for the caller to change. */
static uint8_t *post_good(void)
{
	uint8_t *ctrl = a.buf->data + SQ_AT + a.sq % (1 << SQ_LOG) * BLOCK;
	uint8_t segments[2 * SEGMENT];

	raw_address(segments, &to, 7);
	raw_data(segments + SEGMENT, &from, 0, 100);
	raw_post(&a, RAW_WRITE, RAW_SIGNALED, 0, segments, 2);
	return ctrl;
}

/* Rings: the request fails with @syndrome, and no byte has changed. Then begins anew. */
static void fails(uint8_t syndrome)
{
	struct raw_cqe cqe;

	memset(to.buf->data, 0xee, LEN);
	raw_ring(&a);
	cqe = raw_await(&a);
	CHECK_EQ(cqe.opcode, BAD_REQUEST);
	CHECK_EQ(cqe.syndrome, syndrome);
	CHECK_EQ(to.buf->data[7], 0xee);
	CHECK(!memcmp(to.buf->data, to.buf->data + 1, LEN - 1));
	renew(&a, b.qpn);
	renew(&b, a.qpn);
}

/* Unknown opcodes fail with a completion, and change nothing. */
static void vh8_opcodes(void)
{
	static const uint8_t known[] = { 0x00, 0x01, 0x08, 0x09, 0x0a, 0x0b,
					 0x10, 0x11, 0x12, 0x25, 0x2f };
	int opcode;

	begin(PRM_RC);
	for (opcode = 0; opcode < 256; opcode++) {
		if (memchr(known, opcode, sizeof(known)))
			continue;
		context("opcode %#x", opcode);
		post_good()[3] = opcode;
		fails(BAD_OPERATION);
	}
	write_from(&a, 1000);
	end();
}

/* Requests that are well-formed but for another service. */
static void vh9_services(void)
{
	static const uint8_t not_uc[] = { RAW_SEND_INV, RAW_READ, RAW_CMP_SWP,
					  RAW_FETCH_ADD };
	static const uint8_t not_ud[] = { RAW_SEND_INV,	 RAW_WRITE,
					  RAW_WRITE_IMM, RAW_READ,
					  RAW_CMP_SWP,	 RAW_FETCH_ADD };
	uint8_t segments[RAW_AV + 3 * SEGMENT];
	int datagrams, at;
	uint32_t count;
	size_t i;

	for (datagrams = 0; datagrams < 2; datagrams++) {
		begin(datagrams ? PRM_UD : PRM_UC);
		for (i = 0; i < (datagrams ? sizeof(not_ud) : sizeof(not_uc));
		     i++) {
			uint8_t opcode = datagrams ? not_ud[i] : not_uc[i];
			bool atomic = opcode == RAW_CMP_SWP ||
				      opcode == RAW_FETCH_ADD;

			context("opcode %#x, datagrams %d", opcode, datagrams);
			memset(segments, 0, sizeof(segments));
			at = datagrams ? RAW_AV : 0;
			if (datagrams)
				raw_av(segments, b.qpn, QKEY);
			if (opcode != RAW_SEND_INV) {
				raw_address(segments + at, &to, 8);
				at += SEGMENT;
			}
			at += atomic ? SEGMENT : 0;
			raw_data(segments + at, &from, 0, 8);
			count = at / SEGMENT + 1;
			raw_post(&a, opcode, RAW_SIGNALED, 0, segments, count);
			fails(BAD_OPERATION);
		}
		end();
	}
}

/* Keys that nobody has, and those of another process, which goes on; and its queue pair. */
static void vh10_others_keys(void)
{
	volatile struct victim *v = victim_start();
	const uint32_t keys[] = { 0, 1, 255, 256, UINT32_MAX, v->lkey, v->rkey };
	size_t i;

	begin(PRM_RC);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		context("key %#x", keys[i]);
		prm_put32(post_good(), 2 * SEGMENT + 4, keys[i]);
		fails(LOCAL_PROTECTION);
		prm_put32(post_good(), SEGMENT + 8, keys[i]);
		fails(REMOTE_ACCESS);
	}
	/* It is connected to another one. */
	renew(&a, v->qpn);
	post_good();
	fails(NO_ANSWER);
	write_from(&a, 1000);
	end();
	victim_end(v);
}

/* Fields and flags that mean nothing have no effect. */
static void vh11_reserved(void)
{
	struct raw_cqe cqe;
	uint32_t i;
	uint8_t *ctrl;

	begin(PRM_RC);
	for (i = 0; i < 100; i++) {
		memset(to.buf->data, 0xee, LEN);
		ctrl = post_good();
		/* Signature, stream, the other flags, the immediate; behind the remote key. */
		prm_put32(ctrl, 8, rnd() | RAW_SIGNALED);
		prm_put32(ctrl, 12, rnd());
		prm_put32(ctrl, SEGMENT + 12, rnd());
		raw_ring(&a);
		cqe = raw_await(&a);
		if (cqe.opcode != REQUEST)
			FAIL("request %u: syndrome %#x", i, cqe.syndrome);
		CHECK(!memcmp(to.buf->data + 7, from.buf->data, 100));
		CHECK_EQ(to.buf->data[6], 0xee);
		CHECK_EQ(to.buf->data[107], 0xee);
		CHECK(!memcmp(to.buf->data + 107, to.buf->data + 108,
			      LEN - 108));
	}
	end();
}

/* ---------------------------------------------------------------- records */

/* The record jumps further than the ring is long, or back: the queue pair breaks each time. */
static void vh12_jumps(void)
{
	static const int jumps[] = { (1 << SQ_LOG) + 1, 1000,
				     1 << 15,		-1,
				     -(1 << SQ_LOG),	-(1 << SQ_LOG) - 1 };
	double limit;
	size_t i;

	begin(PRM_RC);
	for (i = 0; i < ARRAY_SIZE(jumps); i++) {
		context("a jump by %d", jumps[i]);
		write_from(&a, 1000);
		memset(to.buf->data, 0xee, LEN);
		a.sq += jumps[i];
		raw_ring(&a);
		limit = now() + patience(PATIENCE);
		while (raw_state(&a) != STATE_ERR) {
			if (now() > limit)
				FAIL("it does not break");
			usleep(1000);
		}
		CHECK_EQ(to.buf->data[7], 0xee);
		renew(&a, b.qpn);
		renew(&b, a.qpn);
	}
	write_from(&a, 1000);
	end();
}

/* A shared queue's record promises more receives than fit: the QP that receives goes into error. */
static void vh4_receives_too_far(void)
{
	uint8_t segment[SEGMENT], out[PRM_HEAD];
	struct raw_pool pool;
	struct raw_cqe cqe;

	begin(PRM_RC);
	raw_pool_make(&pool, true);
	raw_places(&c, false);
	raw_share(&c, &pool);
	c.qp = MUST(raw_try_qp(&c, out));
	c.qpn = prm_number(out);
	ready(&c, b.qpn);
	renew(&b, c.qpn);
	raw_data(segment, &to, 0, LEN);
	raw_pool_fill(&pool, 0, 0, segment, 1);
	pool.posted = (1 << POOL_LOG) + 1;
	raw_pool_ring(&pool);
	raw_data(segment, &from, 0, 100);
	raw_post(&b, RAW_SEND, RAW_SIGNALED, 0, segment, 1);
	raw_ring(&b);
	cqe = raw_await(&b);
	CHECK_EQ(cqe.opcode, BAD_REQUEST);
	CHECK_EQ(cqe.syndrome, REMOTE_OPERATION);
	CHECK_EQ(raw_state(&c), STATE_ERR);
	CHECK(!raw_poll(&c, &cqe));
	raw_free(&c);
	raw_pool_free(&pool);
	end();
}

static bool stop;
/* What has come of it; atomic. */
static unsigned long completions;

static void one_more(void)
{
	__atomic_add_fetch(&completions, 1, __ATOMIC_RELAXED);
}

static unsigned long so_far(void)
{
	return __atomic_load_n(&completions, __ATOMIC_RELAXED);
}

/* Posts receives to a QP in error, which are flushed, without end. */
static void *post_receives(void *unused)
{
	uint8_t segment[SEGMENT];
	struct raw_cqe cqe;
	uint16_t seen = 0;

	(void)unused;
	raw_data(segment, &to, 0, 10);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		/* With more than fit the record would be wrong, and none would be flushed. */
		while ((uint16_t)(a.rq - seen) < 1 << RQ_LOG)
			raw_post_recv(&a, segment, 1);
		for (; raw_poll(&a, &cqe); seen++)
			one_more();
	}
	return NULL;
}

/* Posts sends without end, and polls only to make room. */
static void *post_sends(void *unused)
{
	uint8_t segments[2 * SEGMENT];
	struct raw_cqe cqe;
	uint16_t seen = 0;

	(void)unused;
	raw_address(segments, &to, LEN / 2);
	raw_data(segments + SEGMENT, &from, 0, 8);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		while ((uint16_t)(a.sq - seen) < 1 << SQ_LOG) {
			raw_post(&a, RAW_WRITE, RAW_SIGNALED, 0, segments, 2);
			raw_ring(&a);
		}
		for (; raw_poll(&a, &cqe); seen++)
			one_more();
	}
	return NULL;
}

/*
 * While one queue is busy without end, messages of another succeed, and the busy one can be
 * destroyed.
 */
static void endless(int receives)
{
	void *(*post)(void *) = receives ? post_receives : post_sends;
	double limit = now() + patience(PATIENCE);
	struct prm_path path = {};
	uint8_t out[PRM_HEAD];
	unsigned long before;
	pthread_t thread;
	uint32_t i;

	begin(PRM_RC);
	pair(&c, &d, PRM_RC);
	if (receives)
		CHECK_EQ(raw_change(&a, PRM_2ERR_QP, &path, out), 0);
	stop = false;
	completions = 0;
	CHECK_EQ(pthread_create(&thread, NULL, post, NULL), 0);
	while (!so_far()) {
		if (now() > limit)
			FAIL("the busy one is not");
		usleep(1000);
	}
	before = so_far();
	for (i = 0; i < 50; i++)
		write_from(&c, 500);
	/* It has gone on meanwhile, or does so beside some more. */
	for (limit = now() + patience(PATIENCE); so_far() == before; i++) {
		CHECK(now() < limit);
		write_from(&c, 500);
	}
	note("%u messages, beside %lu of the busy one", i, so_far() - before);
	CHECK_EQ(raw_state(&a), receives ? STATE_ERR : STATE_RTS);
	CHECK_EQ(mlx5dv_devx_obj_destroy(a.qp), 0);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	a.qp = NULL;
	end();
	raw_free(&c);
	raw_free(&d);
}

/* -------------------------------------------------------- other contexts */

/* A completion queue on the umem of @q; @out is the answer to the refusal. */
static void try_cq_on(const struct raw_queue *q, uint8_t out[PRM_HEAD])
{
	struct prm_cq cq = { .umem_id = q->umem->umem_id,
			     .record_umem_id = q->umem->umem_id,
			     .record = CQ_RECORD_AT };
	uint8_t in[PRM_CQ];

	CHECK_EQ(mlx5dv_devx_query_eqn(dev.ctx, 0, &cq.eqn), 0);
	prm_create_cq(in, &cq);
	CHECK(!mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out, PRM_HEAD));
}

/* Numbers of objects are valid only in their own context. */
static void vh7_others(void)
{
	struct ibv_context *other = device_another();
	struct ibv_context *own = dev.ctx;
	struct ibv_pd *own_pd = dev.pd;
	struct mlx5dv_devx_uar *uar;
	struct raw_pool pool;
	uint8_t out[PRM_HEAD];

	begin(PRM_RC);
	raw_pool_places(&pool, false);
	uar = MUST(mlx5dv_devx_alloc_uar(own, MLX5DV_UAR_ALLOC_TYPE_NC));
	/* Three numbers of the other context, each of which is wrong by itself. */
	raw_places(&c, false);
	dev.ctx = other;
	CHECK(!raw_try_qp(&c, out));
	dv_refused(errno, out, PRM_NO_PD);
	CHECK(!raw_try_pool(&pool, out));
	dv_refused(errno, out, PRM_NO_PD);
	CHECK_EQ(mlx5dv_devx_umem_dereg(pool.umem), 0);
	try_cq_on(&c, out);
	dv_refused(errno, out, PRM_NO_UMEM);
	/* With a domain of the other context, its completion queues are of another one. */
	dev.pd = MUST(ibv_alloc_pd(other));
	c.asked.pdn = dv_pdn(dev.pd);
	CHECK(!raw_try_qp(&c, out));
	dv_refused(errno, out, PRM_NO_CQ);
	c.asked.pdn = dv_pdn(own_pd);
	/* The reverse: a shared queue of the other context, used in our own. */
	raw_pool_places(&pool, false);
	pool.obj = MUST(raw_try_pool(&pool, out));
	pool.number = prm_number(out);
	dev.ctx = own;
	raw_share(&c, &pool);
	CHECK(!raw_try_qp(&c, out));
	dv_refused(errno, out, PRM_NO_RMP);
	c.asked.rq = PRM_RQ_OWN;
	c.asked.no_send_record = 1;
	mlx5dv_devx_free_uar(uar);
	uar = MUST(mlx5dv_devx_alloc_uar(other, MLX5DV_UAR_ALLOC_TYPE_NC));
	c.asked.uar = uar->page_id;
	CHECK(!raw_try_qp(&c, out));
	dv_refused(errno, out, PRM_NO_UAR);
	mlx5dv_devx_free_uar(uar);
	raw_pool_free(&pool);
	CHECK_EQ(ibv_dealloc_pd(dev.pd), 0);
	CHECK_EQ(ibv_close_device(other), 0);
	dev.pd = own_pd;
	raw_free(&c);
	end();
}

/* ---------------------------------------------------------- random fields */

enum what { A_KEY, A_CQ, A_POOL, A_QP, A_CHANGE, WHATS };

/* How many commands of each kind were performed, and refused. */
static unsigned int done[WHATS], refused_[WHATS];

/* Flips up to 3 bits in [@first, @end). */
static void spoil(uint8_t *in, size_t first, size_t end)
{
	uint32_t flips = rnd_below(4);

	while (flips--)
		in[rnd_in(first, end - 1)] ^= 1 << rnd_below(8);
}

/* A refusal says why; anything else would be an error of the call, which is right. */
static void count(enum what what, int err, const uint8_t *out)
{
	if (err) {
		CHECK_EQ(err, EREMOTEIO);
		CHECK(prm_status(out));
		CHECK(prm_syndrome(out));
		refused_[what]++;
	} else {
		CHECK(!prm_status(out));
		done[what]++;
	}
}

static void try_spoilt(enum what what, uint8_t *in, size_t length)
{
	uint8_t out[PRM_HEAD] = {};
	obj_t obj;

	/* The opcode and its modifier are not spoilt. */
	spoil(in, 8, length);
	errno = 0;
	obj = mlx5dv_devx_obj_create(dev.ctx, in, length, out, sizeof(out));
	count(what, obj ? 0 : errno, out);
	if (!obj)
		return;
	CHECK(prm_number(out));
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
}

static void spoil_creation(const struct raw_pool *pool)
{
	struct prm_mkey mkey = { .pdn = c.asked.pdn,
				 .length = 100,
				 .umem_id = pool->umem->umem_id };
	struct prm_cq cq = { .umem_id = pool->umem->umem_id,
			     .record_umem_id = pool->umem->umem_id,
			     .log_size = 3,
			     .record = POOL_RECORD_AT };
	uint8_t in[PRM_MKEY + PRM_MAX_KLMS * 16];

	prm_create_mkey(in, &mkey);
	try_spoilt(A_KEY, in, PRM_MKEY);
	CHECK_EQ(mlx5dv_devx_query_eqn(dev.ctx, 0, &cq.eqn), 0);
	prm_create_cq(in, &cq);
	try_spoilt(A_CQ, in, 0x60);
	prm_create_rmp(in, &pool->asked);
	try_spoilt(A_POOL, in, 0x88);
	prm_create_qp(in, &c.asked);
	try_spoilt(A_QP, in, PRM_QP);
}

/* Towards RTS, as far as that goes; then a request is posted, whatever will become of it. */
static void spoil_changes(void)
{
	static const uint16_t steps[] = { PRM_RST2INIT_QP, PRM_INIT2RTR_QP,
					  PRM_RTR2RTS_QP, PRM_RTS2RTS_QP };
	struct prm_path path = raw_path(b.qpn, 0x123456);
	uint8_t in[PRM_QP], out[PRM_HEAD];
	uint8_t segment[SEGMENT];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		memset(out, 0, sizeof(out));
		prm_change_qp(in, steps[i], d.qpn, &path);
		spoil(in, 12, 0x100);
		count(A_CHANGE,
		      mlx5dv_devx_obj_modify(d.qp, in, sizeof(in), out,
					     sizeof(out)),
		      out);
	}
	raw_data(segment, &from, 0, 100);
	raw_post(&d, RAW_SEND, RAW_SIGNALED, 0, segment, 1);
	raw_ring(&d);
	usleep(rnd_below(200));
	CHECK_EQ(raw_change(&d, PRM_2RST_QP, &(struct prm_path){}, out), 0);
	memset(d.buf->data + QP_RECORD_AT, 0, 8);
	d.sq = 0;
}

static bool saw_all(void)
{
	int i;

	for (i = 0; i < WHATS; i++) {
		if (done[i] < 5 || refused_[i] < 5)
			return false;
	}
	return true;
}

/* Commands in which a few bits are wrong are performed or refused, and leave nothing behind. */
static void vh15_fields(void)
{
	double until = now() + opt.seconds;
	struct raw_pool pool;
	int i;

	begin(PRM_RC);
	raw_places(&c, false);
	raw_pool_places(&pool, true);
	make(&d, PRM_RC);
	while (go_on(until, saw_all())) {
		spoil_creation(&pool);
		spoil_changes();
	}
	for (i = 0; i < WHATS; i++)
		note("kind %d: %u performed, %u refused", i, done[i],
		     refused_[i]);
	CHECK(saw_all());
	write_from(&a, 1000);
	CHECK_EQ(mlx5dv_devx_umem_dereg(pool.umem), 0);
	raw_free(&c);
	raw_free(&d);
	end();
}

static const struct test tests[] = {
	LONG_TEST_OF(garbage, PRM_RC, "VH1 garbage, reliable connections", 300),
	LONG_TEST_OF(garbage, PRM_UC, "VH2 garbage, unreliable connections",
		     300),
	LONG_TEST_OF(garbage, PRM_UD, "VH3 garbage, datagrams", 300),
	TEST(vh4_receives_too_far, "VH4 a shared record beyond the queue"),
	TEST_OF(endless, true, "VH5 receives without end"),
	TEST_OF(endless, false, "VH6 sends without end"),
	TEST(vh7_others, "VH7 numbers of other contexts"),
	LONG_TEST(vh8_opcodes, "VH8 unknown opcodes", 300),
	TEST(vh9_services, "VH9 opcodes of another service"),
	TEST(vh10_others_keys, "VH10 keys of other processes"),
	TEST(vh11_reserved, "VH11 reserved fields"),
	TEST(vh12_jumps, "VH12 a doorbell record that jumps"),
	LONG_TEST(vh15_fields, "VH15 commands with random fields", 300),
};

HARNESS_MAIN("hostile users of DEVX queues", tests)
