// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Attacks on queues made by command that use more than the bytes of the queues: random requests
 * for each service, invalid records, endless posting, numbers of other contexts (items VH1 to
 * VH7).
 */
#define _GNU_SOURCE
#include <endian.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "raw_queue.h"

enum { LEN = 20000, MTU = 1024 };

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

/* Posts a request with a valid control segment and random bytes behind it. */
static void post_garbage(struct raw_queue *q)
{
	static const uint8_t opcodes[] = { RAW_SEND_INV,  RAW_WRITE,
					   RAW_WRITE_IMM, RAW_SEND,
					   RAW_SEND_IMM,  RAW_READ,
					   RAW_CMP_SWP,	  RAW_FETCH_ADD };
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
	raw_post(q, opcodes[rnd() % ARRAY_SIZE(opcodes)],
		 rnd() & 1 ? RAW_SIGNALED : rnd(), rnd(), segments, count);
}

/* Each request completes or fails, and a valid request works afterwards. */
static void garbage(int service)
{
	double until = now() + opt.seconds;
	struct raw_cqe cqe;
	uint32_t i, rounds = 0, errors = 0;
	uint8_t segment[SEGMENT];

	begin(service);
	while (now() < until || rounds < 20) {
		for (i = 0; i < 3; i++) {
			raw_data(segment, &to, 0, LEN);
			raw_post_recv(&b, segment, 1);
		}
		for (i = 0; i < 3; i++)
			post_garbage(&a);
		raw_ring(&a);
		usleep(rnd_in(0, 3000));
		while (raw_poll(&a, &cqe))
			errors += cqe.opcode == BAD_REQUEST;
		while (raw_poll(&b, &cqe))
			;
		renew(&a, b.qpn);
		renew(&b, a.qpn);
		/* Completions of earlier requests. */
		while (raw_poll(&a, &cqe))
			;
		if (service != PRM_UD)
			write_from(&a, 1000);
		rounds++;
	}
	printf("# %u rounds, %u errors\n", rounds, errors);
	CHECK(errors);
	end();
}

/* ---------------------------------------------------------------- records */

/* A shared queue's record promises more receives than fit: the QP that receives goes into error. */
static void vh4_receives_too_far(void)
{
	enum { REMOTE_OPERATION = 0x14 };
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

/* Posts receives to a QP in error, which are flushed, without end. */
static void *post_receives(void *unused)
{
	uint8_t segment[SEGMENT];
	struct raw_cqe cqe;

	(void)unused;
	raw_data(segment, &to, 0, 10);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		raw_post_recv(&a, segment, 1);
		while (raw_poll(&a, &cqe))
			;
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
		while (raw_poll(&a, &cqe))
			seen++;
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
	struct prm_path path = {};
	uint8_t out[PRM_HEAD];
	pthread_t thread;
	uint32_t i;

	begin(PRM_RC);
	pair(&c, &d, PRM_RC);
	if (receives)
		CHECK_EQ(raw_change(&a, PRM_2ERR_QP, &path, out), 0);
	stop = false;
	CHECK_EQ(pthread_create(&thread, NULL, post, NULL), 0);
	for (i = 0; i < 50; i++)
		write_from(&c, 500);
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
	/* The reverse: a shared queue of the other context, used in our own. */
	dev.pd = MUST(ibv_alloc_pd(other));
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

static const struct test tests[] = {
	LONG_TEST_OF(garbage, PRM_RC, "VH1 garbage, reliable connections", 300),
	LONG_TEST_OF(garbage, PRM_UC, "VH2 garbage, unreliable connections",
		     300),
	LONG_TEST_OF(garbage, PRM_UD, "VH3 garbage, datagrams", 300),
	TEST(vh4_receives_too_far, "VH4 a shared record beyond the queue"),
	TEST_OF(endless, true, "VH5 receives without end"),
	TEST_OF(endless, false, "VH6 sends without end"),
	TEST(vh7_others, "VH7 numbers of other contexts"),
};

HARNESS_MAIN("hostile users of DEVX queues", tests)
