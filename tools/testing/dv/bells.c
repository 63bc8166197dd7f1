// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Polling of doorbell records: each doorbell is noticed, even if other queues have to wait, and
 * idle queues are polled no more often than documented (items VB1 to VB6). Each poll is a run of a
 * soft timer, which /proc/softirqs counts.
 */
#include <endian.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "raw_queue.h"

enum { LEN = 4096 };

/* Opcodes of completions: a request, a failed request. The error state of a queue pair. */
enum { WAS_SENT = 0, WAS_REFUSED = 13, IS_BROKEN = 6 };

/* Codes of the RNR timer, after which the sender tries again: 10 us, and half a second. */
enum { RNR_SHORT = 1, RNR_LONG = 31 };

/*
 * Milliseconds between polls when nothing happens, after less than a second without a doorbell; and
 * queues polled in one run: see kernel/path/bell.c.
 */
enum { REST_MS = 160, BATCH = 32 };

static struct region from, to;

/* Connects @q, with the timer code that it sends if it has no receive request (RNR NAK). */
static void connect_slowly(struct raw_queue *q, uint32_t remote_qpn,
			   uint32_t rnr_timer)
{
	static const uint16_t steps[] = { PRM_RST2INIT_QP, PRM_INIT2RTR_QP,
					  PRM_RTR2RTS_QP };
	enum { PSN = 0x123456, RNR_TIMER = PRM_QPC + 0x94 };
	struct prm_path path = raw_path(remote_qpn, PSN);
	uint8_t in[PRM_QP], out[PRM_HEAD] = {};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		prm_change_qp(in, steps[i], q->qpn, &path);
		prm_put32(in, RNR_TIMER, rnr_timer << 24 | PSN);
		CHECK_EQ(mlx5dv_devx_obj_modify(q->qp, in, sizeof(in), out,
						sizeof(out)),
			 0);
	}
}

static void pair_make(struct raw_queue *a, struct raw_queue *b,
		      uint32_t rnr_timer)
{
	raw_make(a, false);
	raw_make(b, false);
	connect_slowly(a, b->qpn, rnr_timer);
	connect_slowly(b, a->qpn, rnr_timer);
}

static void pair_free(struct raw_queue *a, struct raw_queue *b)
{
	raw_free(a);
	raw_free(b);
}

static void begin(void)
{
	dv_begin();
	from = region_new(LEN, 3, ALL_ACCESS);
	to = region_new(LEN, 5, ALL_ACCESS);
}

static void post_send(struct raw_queue *q)
{
	uint8_t segment[SEGMENT];

	raw_data(segment, &from, 0, 100);
	raw_post(q, RAW_SEND, RAW_SIGNALED, 0, segment, 1);
}

static void write_some(struct raw_queue *q, uint32_t at)
{
	uint8_t segments[2 * SEGMENT];
	uint16_t counter = q->sq;
	struct raw_cqe cqe;

	raw_address(segments, &to, at);
	raw_data(segments + SEGMENT, &from, at, 100);
	raw_post(q, RAW_WRITE, RAW_SIGNALED, 0, segments, 2);
	raw_ring(q);
	cqe = raw_await(q);
	CHECK_EQ(cqe.opcode, WAS_SENT);
	CHECK_EQ(cqe.counter, counter);
	CHECK(!memcmp(to.buf->data + at, from.buf->data + at, 100));
}

/* ---------------------------------------------------------- doorbells are noticed */

/* Many senders that repeatedly wait for a receiver do not delay the doorbells of another queue. */
static void vb1_beside_those_that_wait(void)
{
	enum { PAIRS = 64, MESSAGES = 20 };
	static struct raw_queue waiting[PAIRS], deaf[PAIRS];
	struct raw_queue a, b;
	long long before;
	int i;

	begin();
	pair_make(&a, &b, RNR_SHORT);
	before = device_counter("rnr_nak_retry_err");
	for (i = 0; i < PAIRS; i++) {
		pair_make(&waiting[i], &deaf[i], RNR_SHORT);
		post_send(&waiting[i]);
		raw_ring(&waiting[i]);
	}
	counter_await_least("rnr_nak_retry_err", before + PAIRS);
	for (i = 0; i < MESSAGES; i++)
		write_some(&a, i * 100);
	for (i = 0; i < PAIRS; i++)
		pair_free(&waiting[i], &deaf[i]);
	pair_free(&a, &b);
}

/* ---------------------------------------------------------------- costs of polling */

/*
 * Check that @queues of one user with nothing to do are polled at the idle rate and no faster, and
 * that hardly any work item polls on its own (counter streams). A slow machine polls more rarely.
 */
static void rests(uint32_t queues)
{
	enum { SECONDS = 2, SLACK = 60, STREAMS = 5 };
	unsigned long long looked, most;
	long long streams;
	double begun;

	/* Let the pauses between polls grow to the longest: earlier doorbells shortened them. */
	sleep(1);
	streams = device_counter("streams");
	begun = now();
	looked = raw_looks();
	sleep(SECONDS);
	looked = raw_looks() - looked;
	most = (now() - begun) * 1000 / REST_MS *
		       ((queues + BATCH - 1) / BATCH) +
	       SLACK;
	streams = device_counter("streams") - streams;
	printf("# %llu looks, at most %llu; %lld streams\n", looked, most,
	       streams);
	CHECK(looked);
	CHECK(looked <= most);
	CHECK(streams <= STREAMS);
}

/* A full queue whose first request waits for the receiver is polled at the idle rate. */
static void vb2_waiting(void)
{
	enum { SENDS = 20 };
	struct raw_queue a, b;
	long long before;
	int i;

	begin();
	pair_make(&a, &b, RNR_LONG);
	before = device_counter("rnr_nak_retry_err");
	for (i = 0; i < SENDS; i++)
		post_send(&a);
	raw_ring(&a);
	counter_await_least("rnr_nak_retry_err", before + 1);
	rests(2);
	CHECK(device_counter("rnr_nak_retry_err") > before + 1);
	/* When there are receive requests, the sends complete. */
	for (i = 0; i < SENDS; i++) {
		uint8_t segment[SEGMENT];

		if (i < 1 << RQ_LOG) {
			raw_data(segment, &to, 0, LEN);
			raw_post_recv(&b, segment, 1);
		}
	}
	for (i = 0; i < 1 << RQ_LOG; i++)
		CHECK_EQ(raw_await(&a).opcode, WAS_SENT);
	pair_free(&a, &b);
}

/* An index beyond the ring breaks the queue pair, which is then polled at the idle rate. */
static void vb3_broken(void)
{
	double limit = now() + patience(PATIENCE);
	struct raw_queue a, b;

	begin();
	pair_make(&a, &b, RNR_SHORT);
	a.sq += (1 << SQ_LOG) + 1;
	raw_ring(&a);
	while (raw_state(&a) != IS_BROKEN) {
		if (now() > limit)
			FAIL("it does not break");
		usleep(1000);
	}
	rests(2);
	pair_free(&a, &b);
}

/* Queues of many idle contexts of one user are polled together. */
static void vb4_many_files(void)
{
	enum { FILES = 32 };
	static struct raw_queue queues[FILES];
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	int i;

	begin();
	ctx = dev.ctx;
	pd = dev.pd;
	for (i = 0; i < FILES; i++) {
		dev.ctx = device_another();
		dev.pd = MUST(ibv_alloc_pd(dev.ctx));
		raw_make(&queues[i], false);
	}
	rests(FILES);
	dev.ctx = ctx;
	dev.pd = pd;
	/* Leave all objects for the kernel to clean up. */
}

struct stirred {
	uint32_t *words[3];
	bool over;
};

static void *stir(void *arg)
{
	struct stirred *stirred = arg;
	uint32_t n = 0;
	int i;

	while (!__atomic_load_n(&stirred->over, __ATOMIC_RELAXED)) {
		n++;
		for (i = 0; i < 3; i++)
			__atomic_store_n(stirred->words[i], n,
					 __ATOMIC_RELAXED);
		usleep(20);
	}
	return NULL;
}

static uint32_t *record(struct raw_queue *q, int word)
{
	return (uint32_t *)(q->buf->data + QP_RECORD_AT) + word;
}

/*
 * Records that change all the time without giving the kernel anything to do are polled at the idle
 * rate: both words of a queue pair in RESET, and the receive word of one in RTS.
 */
static void vb6_stirred(void)
{
	struct raw_queue reset, ready, peer;
	struct stirred stirred = {};
	pthread_t thread;

	begin();
	raw_make(&reset, false);
	pair_make(&ready, &peer, RNR_SHORT);
	stirred.words[0] = record(&reset, 0);
	stirred.words[1] = record(&reset, 1);
	stirred.words[2] = record(&ready, 0);
	CHECK_EQ(pthread_create(&thread, NULL, stir, &stirred), 0);
	rests(3);
	__atomic_store_n(&stirred.over, true, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	/* A doorbell is still noticed. */
	write_some(&ready, 100);
	raw_free(&reset);
	pair_free(&ready, &peer);
}

/* ---------------------------------------------------------------- receive records */

/* A receive record beyond the ring is invalid: the sender and the receiver get an error. */
static void vb5_receives_beyond_the_ring(void)
{
	enum { REMOTE_OPERATION = 0x14 };
	uint32_t nonsense = htobe32((1 << RQ_LOG) + 1);
	double limit = now() + patience(PATIENCE);
	struct raw_queue a, b;
	struct raw_cqe cqe;

	begin();
	pair_make(&a, &b, RNR_SHORT);
	memcpy(b.buf->data + QP_RECORD_AT, &nonsense, sizeof(nonsense));
	post_send(&a);
	raw_ring(&a);
	cqe = raw_await(&a);
	CHECK_EQ(cqe.opcode, WAS_REFUSED);
	CHECK_EQ(cqe.syndrome, REMOTE_OPERATION);
	while (raw_state(&b) != IS_BROKEN) {
		if (now() > limit)
			FAIL("it does not break");
		usleep(1000);
	}
	CHECK(!raw_poll(&b, &cqe));
	pair_free(&a, &b);
}

static const struct test tests[] = {
	TEST(vb1_beside_those_that_wait, "VB1 heard beside queues that wait"),
	TEST(vb2_waiting, "VB2 a full queue that waits is left alone"),
	TEST(vb3_broken, "VB3 a broken queue is left alone"),
	TEST(vb4_many_files, "VB4 many files of one user"),
	TEST(vb5_receives_beyond_the_ring,
	     "VB5 a receive record beyond the ring"),
	TEST(vb6_stirred, "VB6 records that change for nothing"),
};

HARNESS_MAIN("Doorbell records on pinion", tests)
