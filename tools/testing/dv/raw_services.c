// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs made by command of services other than RC, shared receive queues, and sends that are
 * rung in doorbell pages (items VS1 to VS14).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "raw_queue.h"

enum { LEN = 20000, GRH = 40, MTU = 1024, QKEY_BIT = 1 << 5 };

static struct raw_queue a, b;
static struct raw_pool pool;
static struct region from, to;

static void begin(void)
{
	dv_begin();
	from = region_new(LEN, 3, ALL_ACCESS);
	to = region_new(LEN, 5, ALL_ACCESS);
}

static void make(struct raw_queue *q, enum prm_service service)
{
	uint8_t out[PRM_HEAD];

	raw_places(q, false);
	q->asked.service = service;
	q->qp = MUST(raw_try_qp(q, out));
	q->qpn = prm_number(out);
}

static void end(void)
{
	raw_free(&a);
	raw_free(&b);
}

static void sent(uint16_t counter)
{
	struct raw_cqe cqe = raw_await(&a);

	CHECK_EQ(cqe.opcode, REQUEST);
	CHECK_EQ(cqe.counter, counter);
	CHECK_EQ(cqe.qpn, a.qpn);
}

/* -------------------------------------------------- unreliable connections */

static void begin_uc(void)
{
	begin();
	make(&a, PRM_UC);
	make(&b, PRM_UC);
	raw_connect(&a, b.qpn);
	raw_connect(&b, a.qpn);
}

/*
 * The first @length bytes at @at have come. By packets an unreliable request has completed when these
 * have been sent.
 */
static void have_come(uint32_t at, uint32_t length)
{
	const uint8_t *want = from.buf->data + at, *is = to.buf->data + at;
	double limit = now() + patience(dev.packets ? 10 : 0);

	while (memcmp(want, is, length) != 0 && now() < limit)
		usleep(100);
	CHECK(!memcmp(want, is, length));
}

static void uc_write(uint8_t opcode, uint32_t at, uint32_t length, uint32_t imm)
{
	uint8_t segments[2 * SEGMENT];
	uint16_t counter = a.sq;

	raw_address(segments, &to, at);
	raw_data(segments + SEGMENT, &from, at, length);
	raw_post(&a, opcode, RAW_SIGNALED, imm, segments, 2);
	raw_ring(&a);
	sent(counter);
	have_come(at, length);
}

/* Writes and sends with immediate data of an unreliable connection. */
static void vs1_uc(void)
{
	uint8_t segment[SEGMENT];
	uint32_t i, length;
	struct raw_cqe cqe;

	begin_uc();
	for (i = 0; i < 100; i++) {
		memset(to.buf->data, i, LEN);
		uc_write(RAW_WRITE, rnd_in(0, LEN / 2), rnd_in(1, LEN / 2), 0);
		raw_data(segment, &to, 0, LEN);
		raw_post_recv(&b, segment, 1);
		if (i & 1) {
			uc_write(RAW_WRITE_IMM, 7, 100, i);
		} else {
			length = rnd_in(1, LEN);
			raw_data(segment, &from, 0, length);
			raw_post(&a, RAW_SEND_IMM, RAW_SIGNALED, i, segment, 1);
			raw_ring(&a);
			sent(a.sq - 1);
			have_come(0, length);
		}
		cqe = raw_await(&b);
		CHECK_EQ(cqe.opcode, i & 1 ? RECV_WRITE_IMM : RECV_IMM);
		CHECK_EQ(cqe.imm, i);
		CHECK_EQ(cqe.counter, i);
	}
	end();
}

/* UC has no READ: the request fails, later ones are flushed, and then the queue can go on. */
static void vs2_uc_error(void)
{
	enum { BAD_OPERATION = 2, FLUSHED = 5 };
	struct prm_path path = raw_path(0, 0);
	uint8_t segments[2 * SEGMENT], out[PRM_HEAD];
	struct raw_cqe cqe;

	begin_uc();
	raw_address(segments, &to, 0);
	raw_data(segments + SEGMENT, &from, 0, 100);
	raw_post(&a, RAW_READ, RAW_SIGNALED, 0, segments, 2);
	raw_post(&a, RAW_WRITE, RAW_SIGNALED, 0, segments, 2);
	raw_ring(&a);
	cqe = raw_await(&a);
	CHECK_EQ(cqe.opcode, BAD_REQUEST);
	CHECK_EQ(cqe.syndrome, BAD_OPERATION);
	cqe = raw_await(&a);
	CHECK_EQ(cqe.opcode, BAD_REQUEST);
	CHECK_EQ(cqe.syndrome, FLUSHED);
	CHECK_EQ(raw_state(&a), STATE_SQE);
	CHECK_EQ(raw_change(&a, PRM_SQERR2RTS_QP, &path, out), 0);
	CHECK_EQ(raw_state(&a), STATE_RTS);
	dv_refused(raw_change(&a, PRM_SQERR2RTS_QP, &path, out), out,
		   PRM_QP_STATE);
	uc_write(RAW_WRITE, 11, 1000, 0);
	end();
}

static bool over;

/* Repeats RTS2RTS without any attribute, which leaves the state as it is. */
static void *keep_in_rts(void *arg)
{
	const struct prm_path *path = arg;
	uint8_t out[PRM_HEAD];

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		raw_change(&a, PRM_RTS2RTS_QP, path, out);
	return NULL;
}

/* Repeats the command while the other thread keeps the object busy. */
static int change_alone(uint16_t opcode, const struct prm_path *path)
{
	uint8_t out[PRM_HEAD];
	int err;

	do
		err = raw_change(&a, opcode, path, out);
	while (err == EBUSY);
	return err;
}

/*
 * A request fails while another thread repeats RTS2RTS, which must not take the queue pair out of
 * its error state.
 */
static void vs14_state_under_a_command(void)
{
	enum { ROUNDS = 2000, LEAST = 10, BEHIND = 3 };
	enum { BAD_OPERATION = 2, FLUSHED = 5 };
	struct prm_path path = raw_path(0, 0);
	double until = now() + opt.seconds;
	uint8_t segments[2 * SEGMENT];
	struct raw_cqe cqe;
	pthread_t thread;
	int round, i;

	begin_uc();
	raw_address(segments, &to, 0);
	raw_data(segments + SEGMENT, &from, 0, 100);
	CHECK_EQ(pthread_create(&thread, NULL, keep_in_rts, &path), 0);
	/* A round may take long on a busy machine; do at least some. */
	for (round = 0; round < ROUNDS && (now() < until || round <= LEAST);
	     round++) {
		context("round %d", round);
		raw_post(&a, RAW_READ, RAW_SIGNALED, 0, segments, 2);
		for (i = 0; i < BEHIND; i++)
			raw_post(&a, RAW_WRITE, RAW_SIGNALED, 0, segments, 2);
		raw_ring(&a);
		cqe = raw_await(&a);
		CHECK_EQ(cqe.opcode, BAD_REQUEST);
		CHECK_EQ(cqe.syndrome, BAD_OPERATION);
		for (i = 0; i < BEHIND; i++) {
			cqe = raw_await(&a);
			CHECK_EQ(cqe.opcode, BAD_REQUEST);
			CHECK_EQ(cqe.syndrome, FLUSHED);
		}
		CHECK_EQ(change_alone(PRM_SQERR2RTS_QP, &path), 0);
	}
	context(" ");
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	note("%d rounds", round);
	CHECK(round > LEAST);
	end();
}

/* --------------------------------------------------------------- datagrams */

static void ud_ready(struct raw_queue *q)
{
	struct prm_path path = raw_path(0, 0x123456);
	uint8_t out[PRM_HEAD];

	path.qkey = QKEY;
	CHECK_EQ(raw_change(q, PRM_RST2INIT_QP, &path, out), 0);
	CHECK_EQ(raw_change(q, PRM_INIT2RTR_QP, &path, out), 0);
	CHECK_EQ(raw_change(q, PRM_RTR2RTS_QP, &path, out), 0);
}

static void begin_ud(void)
{
	begin();
	make(&a, PRM_UD);
	make(&b, PRM_UD);
	ud_ready(&a);
	ud_ready(&b);
}

/* Sends @length bytes of @from, in two pieces, to @qpn. */
static void ud_send(uint32_t qpn, uint32_t qkey, uint32_t length, uint32_t imm)
{
	uint8_t segments[RAW_AV + 2 * SEGMENT];
	uint32_t first = length / 3;
	uint16_t counter = a.sq;

	raw_av(segments, qpn, qkey);
	raw_data(segments + RAW_AV, &from, 0, first);
	raw_data(segments + RAW_AV + SEGMENT, &from, first, length - first);
	raw_post(&a, RAW_SEND_IMM, RAW_SIGNALED, imm, segments, 5);
	raw_ring(&a);
	sent(counter);
}

static void ud_receive(uint32_t length)
{
	uint8_t segments[2 * SEGMENT];

	memset(to.buf->data, 0xee, LEN);
	raw_data(segments, &to, 0, GRH);
	raw_data(segments + SEGMENT, &to, GRH, length);
	raw_post_recv(&b, segments, 2);
}

/* Datagrams arrive with header, sender and immediate data; a wrong Q_Key is dropped. */
static void vs3_ud(void)
{
	uint32_t i, length;
	struct raw_cqe cqe;

	begin_ud();
	for (i = 0; i < 100; i++) {
		length = rnd_in(3, MTU);
		ud_receive(MTU);
		ud_send(b.qpn, QKEY, length, i);
		cqe = raw_await(&b);
		CHECK_EQ(cqe.opcode, RECV_IMM);
		CHECK_EQ(cqe.imm, i);
		CHECK_EQ(cqe.length, GRH + length);
		CHECK_EQ(cqe.source, a.qpn);
		CHECK_EQ(cqe.grh, 1);
		CHECK_EQ(cqe.user_index, b.asked.user_index);
		CHECK(!memcmp(from.buf->data, to.buf->data + GRH, length));
		CHECK_EQ(to.buf->data[GRH + length], 0xee);
	}
	/* With a wrong Q_Key the datagram is sent, and not received. */
	ud_receive(MTU);
	ud_send(b.qpn, QKEY + 1, 100, 0);
	CHECK(!raw_poll(&b, &cqe));
	CHECK_EQ(to.buf->data[GRH], 0xee);
	end();
}

/* Datagrams to and from a queue pair of verbs. */
static void vs4_ud_and_verbs(void)
{
	const struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct peer peer = {};
	struct raw_cqe cqe;
	struct end end_;
	struct ibv_wc wc;
	uint32_t i;

	begin();
	make(&a, PRM_UD);
	make(&b, PRM_UD);
	ud_ready(&a);
	ud_ready(&b);
	end_make(&end_, &cfg);
	end_init(&end_);
	peer = end_peer(&end_);
	end_connect(&end_, &peer);
	for (i = 0; i < 20; i++) {
		struct ibv_sge sge = sge_of(&to, 0, GRH + 500);
		struct ibv_recv_wr recv = { .wr_id = i,
					    .sg_list = &sge,
					    .num_sge = 1 },
				   *bad_recv;
		struct ibv_sge back = sge_of(&from, i, 300);
		struct ibv_send_wr send = { .sg_list = &back,
					    .num_sge = 1,
					    .opcode = IBV_WR_SEND,
					    .send_flags = IBV_SEND_SIGNALED },
				   *bad_send;
		double limit = now() + patience(PATIENCE);

		memset(to.buf->data, 0xee, LEN);
		CHECK_EQ(ibv_post_recv(end_.qp, &recv, &bad_recv), 0);
		ud_send(end_.qp->qp_num, QKEY, 500, i);
		while (ibv_poll_cq(end_.rcq, 1, &wc) == 0)
			CHECK(now() < limit);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.src_qp, a.qpn);
		CHECK_EQ(wc.byte_len, GRH + 500);
		CHECK(!memcmp(from.buf->data, to.buf->data + GRH, 500));

		ud_receive(MTU);
		send.wr.ud.ah = end_.ah;
		send.wr.ud.remote_qpn = b.qpn;
		send.wr.ud.remote_qkey = QKEY;
		CHECK_EQ(ibv_post_send(end_.qp, &send, &bad_send), 0);
		cqe = raw_await(&b);
		CHECK_EQ(cqe.opcode, RECV);
		CHECK_EQ(cqe.source, end_.qp->qp_num);
		CHECK(!memcmp(from.buf->data + i, to.buf->data + GRH, 300));
		while (ibv_poll_cq(end_.scq, 1, &wc) == 0)
			CHECK(now() < limit);
	}
	end_free(&end_);
	end();
}

/* An incomplete address, an invalid source, and a message that is too long are errors. */
static void vs5_ud_errors(void)
{
	struct prm_path path = raw_path(0, 0);
	uint8_t segments[RAW_AV + SEGMENT], out[PRM_HEAD];
	struct raw_cqe cqe;
	int i;

	begin_ud();
	for (i = 0; i < 4; i++) {
		context("mistake %d", i);
		raw_av(segments, b.qpn, QKEY);
		raw_data(segments + RAW_AV, &from, 0, i == 3 ? 5000 : 100);
		if (i == 0)
			prm_put32(segments, 8, b.qpn);
		if (i == 1)
			prm_put32(segments, 28, 1U << 30 | 250 << 20);
		/* The address is cut off. */
		raw_post(&a, RAW_SEND, RAW_SIGNALED, 0, segments,
			 i == 2 ? 2 : 4);
		raw_ring(&a);
		cqe = raw_await(&a);
		CHECK_EQ(cqe.opcode, BAD_REQUEST);
		CHECK_EQ(cqe.syndrome, i == 3 ? 1 : 2);
		CHECK_EQ(raw_state(&a), STATE_SQE);
		CHECK_EQ(raw_change(&a, PRM_SQERR2RTS_QP, &path, out), 0);
		ud_receive(MTU);
		ud_send(b.qpn, QKEY, 100, i);
		CHECK_EQ(raw_await(&b).imm, i);
		CHECK(!memcmp(from.buf->data, to.buf->data + GRH, 100));
	}
	end();
}

/* Q_Keys with the highest bit set need a capability, in each command that sets them. */
static void vs6_controlled_qkeys(void)
{
	struct prm_path path = raw_path(0, 0);
	uint8_t out[PRM_HEAD];

	if (geteuid())
		skip("not for who is not root");
	begin();
	make(&a, PRM_UD);
	path.qkey = 0x80010000;
	path.optional = QKEY_BIT;
	CHECK_EQ(seteuid(65534), 0);
	dv_refused(raw_change(&a, PRM_RST2INIT_QP, &path, out), out,
		   PRM_QP_ATTRIBUTE);
	CHECK_EQ(raw_state(&a), STATE_RESET);
	path.qkey = QKEY;
	CHECK_EQ(raw_change(&a, PRM_RST2INIT_QP, &path, out), 0);
	path.qkey = 0x80010000;
	dv_refused(raw_change(&a, PRM_INIT2INIT_QP, &path, out), out,
		   PRM_QP_ATTRIBUTE);
	dv_refused(raw_change(&a, PRM_INIT2RTR_QP, &path, out), out,
		   PRM_QP_ATTRIBUTE);
	CHECK_EQ(raw_state(&a), STATE_INIT);
	CHECK_EQ(seteuid(0), 0);
	CHECK_EQ(raw_change(&a, PRM_INIT2INIT_QP, &path, out), 0);
	raw_free(&a);
}

/* --------------------------------------------------- shared receive queues */

static void make_sharing(struct raw_queue *q, uint32_t user_index)
{
	uint8_t out[PRM_HEAD];

	raw_places(q, false);
	raw_share(q, &pool);
	q->asked.user_index = user_index;
	q->qp = MUST(raw_try_qp(q, out));
	q->qpn = prm_number(out);
}

static struct raw_queue peers[2];

static void begin_shared(bool cyclic)
{
	begin();
	raw_pool_make(&pool, cyclic);
	make_sharing(&a, 0x111111);
	make_sharing(&b, 0x222222);
	raw_make(&peers[0], false);
	raw_make(&peers[1], false);
	raw_connect(&a, peers[0].qpn);
	raw_connect(&peers[0], a.qpn);
	raw_connect(&b, peers[1].qpn);
	raw_connect(&peers[1], b.qpn);
}

static void end_shared(void)
{
	CHECK_EQ(mlx5dv_devx_obj_destroy(pool.obj), EBUSY);
	end();
	raw_free(&peers[0]);
	raw_free(&peers[1]);
	raw_pool_free(&pool);
}

static struct raw_cqe pool_send(int which, uint32_t at, uint32_t length,
				uint32_t imm)
{
	uint8_t segment[SEGMENT];

	raw_data(segment, &from, at, length);
	raw_post(&peers[which], RAW_SEND_IMM, RAW_SIGNALED, imm, segment, 1);
	raw_ring(&peers[which]);
	CHECK_EQ(raw_await(&peers[which]).opcode, REQUEST);
	return raw_await(which ? &b : &a);
}

/* Messages to both queue pairs take the shared queue's requests in order. */
static void pool_take(const uint16_t *slots, uint32_t count)
{
	enum { EACH = 500 };
	struct raw_cqe cqe;
	uint32_t i;
	int which;

	for (i = 0; i < count; i++) {
		which = rnd() & 1;
		memset(to.buf->data, 0xee, LEN);
		cqe = pool_send(which, i, EACH, i);
		CHECK_EQ(cqe.opcode, RECV_IMM);
		CHECK_EQ(cqe.imm, i);
		CHECK_EQ(cqe.counter, slots[i]);
		CHECK_EQ(cqe.length, EACH);
		CHECK_EQ(cqe.user_index, which ? 0x222222 : 0x111111);
		CHECK(!memcmp(from.buf->data + i,
			      to.buf->data + slots[i] * EACH, EACH));
	}
}

static void pool_offer(uint16_t slot, uint16_t next)
{
	uint8_t segments[2 * SEGMENT];

	raw_data(segments, &to, slot * 500, 123);
	raw_data(segments + SEGMENT, &to, slot * 500 + 123, 377);
	raw_pool_fill(&pool, slot, next, segments, 2);
}

/* Each request has the slot of the next one, in random order; the first is in slot 0. */
static void vs7_linked(void)
{
	enum { SLOTS = 1 << POOL_LOG };
	uint16_t slots[SLOTS];
	uint32_t i, j, round;

	begin_shared(false);
	for (i = 0; i < SLOTS; i++)
		slots[i] = i;
	for (round = 0; round < 5; round++) {
		for (i = SLOTS - 1; i > 1; i--) {
			j = rnd_in(1, i);
			uint16_t other = slots[j];

			slots[j] = slots[i];
			slots[i] = other;
		}
		for (i = 0; i < SLOTS; i++)
			pool_offer(slots[i], slots[(i + 1) % SLOTS]);
		raw_pool_ring(&pool);
		pool_take(slots, SLOTS);
	}
	end_shared();
}

/* The requests are taken in order; the segment that would name the next one has random contents. */
static void vs8_cyclic(void)
{
	enum { SLOTS = 1 << POOL_LOG };
	uint16_t slots[SLOTS];
	uint32_t i, round, first = 0;

	begin_shared(true);
	for (round = 0; round < 5; round++) {
		uint32_t count = rnd_in(1, SLOTS);

		for (i = 0; i < count; i++) {
			slots[i] = (first + i) % SLOTS;
			pool_offer(slots[i], 0);
			/* Counters of completions go on over all rounds, modulo 65536. */
		}
		raw_pool_ring(&pool);
		for (i = 0; i < count; i++) {
			struct raw_cqe cqe = pool_send(i & 1, i, 500, i);

			CHECK_EQ(cqe.counter, (uint16_t)(first + i));
			CHECK(!memcmp(from.buf->data + i,
				      to.buf->data + slots[i] * 500, 500));
		}
		first += count;
	}
	end_shared();
}

static uint32_t pool_limit(void)
{
	uint8_t in[PRM_HEAD], out[PRM_RMP_OUT] = {};

	prm_head(in, PRM_QUERY_RMP, pool.number);
	CHECK_EQ(mlx5dv_devx_obj_query(pool.obj, in, sizeof(in), out,
				       sizeof(out)),
		 0);
	CHECK_EQ(prm_get32(out, 0x20) >> 20 & 0xf, 1);
	CHECK_EQ(prm_get32(out + PRM_WQ, 0x08), dv_pdn(dev.pd));
	CHECK_EQ(prm_get64(out + PRM_WQ, 0x10), POOL_RECORD_AT);
	CHECK_EQ(prm_get32(out + PRM_WQ, 0x2c), pool.umem->umem_id);
	return prm_get32(out + PRM_WQ, 0x04) & 0xffff;
}

/* The limit is 0 after its event, until it is set again. A limit beyond the queue is refused. */
static void vs9_limit(void)
{
	uint8_t in[PRM_RMP], out[PRM_HEAD] = {};
	uint32_t i;

	begin_shared(true);
	prm_modify_rmp(in, pool.number, 4);
	CHECK_EQ(mlx5dv_devx_obj_modify(pool.obj, in, sizeof(in), out,
					sizeof(out)),
		 0);
	for (i = 0; i < 6; i++)
		pool_offer(i, 0);
	raw_pool_ring(&pool);
	pool_send(0, 0, 500, 0);
	pool_send(1, 0, 500, 0);
	CHECK_EQ(pool_limit(), 4);
	pool_send(0, 0, 500, 0);
	CHECK_EQ(pool_limit(), 0);
	prm_modify_rmp(in, pool.number, (1 << POOL_LOG) + 1);
	dv_refused(mlx5dv_devx_obj_modify(pool.obj, in, sizeof(in), out,
					  sizeof(out)),
		   out, PRM_QUEUE_SIZE);
	/* A state other than ready. */
	prm_modify_rmp(in, pool.number, 1);
	in[8] = 0;
	dv_refused(mlx5dv_devx_obj_modify(pool.obj, in, sizeof(in), out,
					  sizeof(out)),
		   out, PRM_RMP_FEATURE);
	prm_modify_rmp(in, pool.number ^ 1, 1);
	CHECK_EQ(mlx5dv_devx_obj_modify(pool.obj, in, sizeof(in), out,
					sizeof(out)),
		 EINVAL);
	end_shared();
}

static void pool_refused(uint32_t syndrome)
{
	uint8_t out[PRM_HEAD];

	CHECK(!raw_try_pool(&pool, out));
	dv_refused(errno, out, syndrome);
}

/* Shared receives with wrong domain, sizes, places and features are refused, with the syndrome. */
static void vs10_refused(void)
{
	uint8_t in[PRM_RMP], out[PRM_HEAD] = {};
	struct prm_rmp good;

	begin();
	raw_pool_places(&pool, false);
	good = pool.asked;
	pool.asked.pdn++;
	pool_refused(PRM_NO_PD);
	pool.asked = good;
	/* A full queue would look like an empty one. */
	pool.asked.log_size = 16;
	pool_refused(PRM_QUEUE_SIZE);
	pool.asked.log_size = 20;
	pool_refused(PRM_QUEUE_SIZE);
	pool.asked.log_size = 31;
	pool_refused(PRM_QUEUE_SIZE);
	pool.asked = good;
	/* Slots too small for a data segment besides the link; slots too large. */
	pool.asked.log_stride = 4;
	pool_refused(PRM_QUEUE_SIZE);
	pool.asked.cyclic = 1;
	pool_refused(PRM_QUEUE_SIZE);
	pool.asked.cyclic = 0;
	pool.asked.log_stride = 11;
	pool_refused(PRM_QUEUE_SIZE);
	pool.asked = good;
	pool.asked.limit = (1 << POOL_LOG) + 1;
	pool_refused(PRM_QUEUE_SIZE);
	pool.asked = good;
	pool.asked.cyclic = 2;
	pool_refused(PRM_RMP_FEATURE);
	pool.asked = good;
	pool.asked.offset = 64;
	pool.asked.log_size++;
	pool_refused(PRM_QUEUE_UMEM);
	pool.asked = good;
	pool.asked.record = POOL_LEN - 4;
	pool_refused(PRM_QUEUE_UMEM);
	pool.asked = good;
	pool.asked.umem_id ^= 0x400;
	pool_refused(PRM_NO_UMEM);
	pool.asked = good;
	/* The bits that mark umems as valid may be 0: mlx5's driver sets them. */
	prm_create_rmp(in, &good);
	prm_put32(in + PRM_WQ, 0x24, 0);
	pool.obj = MUST(mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out,
					       sizeof(out)));
	CHECK_EQ(mlx5dv_devx_obj_destroy(pool.obj), 0);
	pool.obj = MUST(raw_try_pool(&pool, out));
	pool.number = prm_number(out);
	raw_places(&a, false);
	raw_share(&a, &pool);
	a.asked.rmpn ^= 1;
	CHECK(!raw_try_qp(&a, out));
	dv_refused(errno, out, PRM_NO_RMP);
	raw_free(&a);
	raw_pool_free(&pool);
}

static bool stop;

static void *scribble(void *unused)
{
	uint64_t *words = (uint64_t *)pool.buf->data;
	uint64_t state = pool.number, word;

	(void)unused;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		word = rnd_next(&state);
		words[rnd_next(&state) % (POOL_LEN / 8)] = word;
		if (!(word & 0xff00))
			memset(pool.buf->data + POOL_RECORD_AT, word, 8);
	}
	return NULL;
}

/* A shared queue that changes all the time, with random links, causes nothing but errors. */
static void vs11_liars(void)
{
	time_t until = time(NULL) + opt.seconds;
	uint8_t segment[SEGMENT];
	pthread_t thread;
	uint32_t i;

	do {
		begin_shared(rnd() & 1);
		pool_offer(0, 1);
		raw_pool_ring(&pool);
		CHECK_EQ(pool_send(0, 0, 500, 0).counter, 0);
		stop = false;
		CHECK_EQ(pthread_create(&thread, NULL, scribble, NULL), 0);
		raw_data(segment, &from, 0, 100);
		for (i = 0; i < 16; i++)
			raw_post(&peers[i & 1], RAW_SEND, RAW_SIGNALED, 0,
				 segment, 1);
		raw_ring(&peers[0]);
		raw_ring(&peers[1]);
		usleep(rnd_in(1, 50000));
		end();
		raw_free(&peers[0]);
		raw_free(&peers[1]);
		raw_pool_free(&pool);
		__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		CHECK_EQ(ibv_dereg_mr(from.mr), 0);
		CHECK_EQ(ibv_dereg_mr(to.mr), 0);
	} while (time(NULL) < until);
}

/* ------------------------------------------------- without a record of sends */

static struct mlx5dv_devx_uar *uar;

static void make_bell(struct raw_queue *q)
{
	uint8_t out[PRM_HEAD];

	raw_places(q, false);
	q->asked.no_send_record = 1;
	q->asked.uar = uar->page_id;
	q->qp = MUST(raw_try_qp(q, out));
	q->qpn = prm_number(out);
}

/* Stores the first two words of the last request to the doorbell. */
static void ring_bell(struct raw_queue *q, uint16_t last)
{
	uint8_t *ctrl = q->buf->data + SQ_AT + last % (1 << SQ_LOG) * BLOCK;
	uint64_t bell;

	memcpy(&bell, ctrl, sizeof(bell));
	__atomic_store_n((uint64_t *)((uint8_t *)uar->base_addr + 0x600), bell,
			 __ATOMIC_RELEASE);
}

static void bell_round(uint32_t count)
{
	uint8_t segments[2 * SEGMENT];
	uint32_t at, i;
	uint16_t last = 0;

	memset(to.buf->data, 0, LEN);
	for (i = 0; i < count; i++) {
		at = i * 1000;
		raw_address(segments, &to, at);
		raw_data(segments + SEGMENT, &from, at, 1000);
		last = a.sq;
		raw_post(&a, RAW_WRITE, i + 1 == count ? RAW_SIGNALED : 0, 0,
			 segments, 2);
	}
	ring_bell(&a, last);
	sent(last);
	CHECK(!memcmp(from.buf->data, to.buf->data, count * 1000));
}

/*
 * One doorbell for several requests, across the end of the ring, and again after a reset. The
 * record is not read.
 */
static void vs12_bells(void)
{
	struct prm_path path = raw_path(0, 0);
	uint8_t out[PRM_HEAD];
	uint32_t i;

	begin();
	uar = MUST(mlx5dv_devx_alloc_uar(dev.ctx, MLX5DV_UAR_ALLOC_TYPE_NC));
	make_bell(&a);
	raw_make(&b, false);
	raw_connect(&a, b.qpn);
	raw_connect(&b, a.qpn);
	memset(a.buf->data + QP_RECORD_AT + 4, 0x77, 4);
	for (i = 0; i < 100; i++)
		bell_round(rnd_in(1, 16));
	CHECK_EQ(raw_change(&a, PRM_2RST_QP, &path, out), 0);
	CHECK_EQ(raw_change(&b, PRM_2RST_QP, &path, out), 0);
	a.sq = 0;
	raw_connect(&a, b.qpn);
	raw_connect(&b, a.qpn);
	/* Wait until earlier doorbells have had their effect. */
	usleep(20000);
	CHECK_EQ(raw_state(&a), STATE_RTS);
	for (i = 0; i < 10; i++)
		bell_round(rnd_in(1, 16));
	end();
	mlx5dv_devx_free_uar(uar);
}

/* A page serves one queue pair at a time. Unknown pages and the wrong flag are refused. */
static void vs13_pages(void)
{
	uint8_t out[PRM_HEAD];
	uint32_t number;

	begin();
	uar = MUST(mlx5dv_devx_alloc_uar(dev.ctx, MLX5DV_UAR_ALLOC_TYPE_NC));
	number = uar->page_id;
	make_bell(&a);
	raw_places(&b, false);
	b.asked.no_send_record = 1;
	b.asked.uar = number;
	CHECK(!raw_try_qp(&b, out));
	dv_refused(errno, out, PRM_NO_UAR);
	b.asked.uar = number ^ 0x5000;
	CHECK(!raw_try_qp(&b, out));
	dv_refused(errno, out, PRM_NO_UAR);
	b.asked.no_send_record = 2;
	CHECK(!raw_try_qp(&b, out));
	dv_refused(errno, out, PRM_QP_FEATURE);
	raw_free(&a);
	b.asked.no_send_record = 1;
	b.asked.uar = number;
	b.qp = MUST(raw_try_qp(&b, out));
	raw_free(&b);
	mlx5dv_devx_free_uar(uar);
}

static const struct test tests[] = {
	TEST(vs1_uc, "VS1 writes and sends of an unreliable connection"),
	TEST(vs2_uc_error, "VS2 an error of one, and going on"),
	TEST(vs3_ud, "VS3 datagrams"),
	TEST(vs4_ud_and_verbs, "VS4 datagrams from and to verbs"),
	TEST(vs5_ud_errors, "VS5 addresses that are wrong, and going on"),
	TEST(vs6_controlled_qkeys, "VS6 controlled Q_Keys"),
	TEST(vs7_linked, "VS7 a shared queue, each names the next"),
	TEST(vs8_cyclic, "VS8 a shared queue, round and round"),
	TEST(vs9_limit, "VS9 the limit of a shared queue"),
	TEST(vs10_refused, "VS10 what is refused"),
	LONG_TEST(vs11_liars, "VS11 shared queues that lie", 300),
	TEST(vs12_bells, "VS12 doorbells in a page"),
	TEST(vs13_pages, "VS13 whose page it is"),
	TEST(vs14_state_under_a_command,
	     "VS14 a state that changes under a command"),
};

HARNESS_MAIN("DEVX services and shared receives on pinion", tests)
