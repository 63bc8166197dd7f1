// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Drives raw queues. All fields are big-endian.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "raw_queue.h"

static void make_places(struct raw_queue *q, bool wide, bool overruns)
{
	struct prm_cq cq = {};
	uint8_t in[PRM_CQ], out[PRM_HEAD] = {};
	int i;

	*q = (struct raw_queue){ .buf = buf_new(RAW_LEN, 0), .wide = wide };
	memset(q->buf->data, 0, RAW_LEN);
	q->umem = MUST(
		dv_umem(q->buf->data, RAW_LEN, IBV_ACCESS_LOCAL_WRITE, ~0ULL));
	cq = (struct prm_cq){
		.umem_id = q->umem->umem_id,
		.record_umem_id = q->umem->umem_id,
		.offset = CQ_AT,
		.record = CQ_RECORD_AT,
		.log_size = CQ_LOG,
		.stride = wide,
		.overruns = overruns,
	};
	CHECK_EQ(mlx5dv_devx_query_eqn(dev.ctx, 0, &cq.eqn), 0);
	/* Mark all entries invalid: opcode 0xf, and the owner bit of the round before. */
	for (i = 0; i < 1 << CQ_LOG; i++)
		q->buf->data[CQ_AT + (i + 1) * (BLOCK << wide) - 1] = 0xf1;
	prm_create_cq(in, &cq);
	q->cq = MUST(mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out,
					    sizeof(out)));
	q->cqn = prm_number(out);
	q->asked = (struct prm_qp){
		.umem_id = q->umem->umem_id,
		.record_umem_id = q->umem->umem_id,
		.pdn = dv_pdn(dev.pd),
		.send_cqn = q->cqn,
		.recv_cqn = q->cqn,
		.user_index = 0xabcdef,
		.offset = RQ_AT,
		.record = QP_RECORD_AT,
		.log_sq = SQ_LOG,
		.log_rq = RQ_LOG,
		.log_stride = RQ_STRIDE_LOG,
	};
}

void raw_places(struct raw_queue *q, bool wide)
{
	make_places(q, wide, false);
}

void raw_places_overrun(struct raw_queue *q)
{
	make_places(q, false, true);
}

obj_t raw_try_qp(struct raw_queue *q, uint8_t out[PRM_HEAD])
{
	uint8_t in[PRM_QP];

	prm_create_qp(in, &q->asked);
	memset(out, 0, PRM_HEAD);
	errno = 0;
	return mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out, PRM_HEAD);
}

void raw_make(struct raw_queue *q, bool wide)
{
	uint8_t out[PRM_HEAD];

	raw_places(q, wide);
	q->qp = MUST(raw_try_qp(q, out));
	q->qpn = prm_number(out);
}

void raw_free(struct raw_queue *q)
{
	CHECK_EQ(mlx5dv_devx_umem_dereg(q->umem), EBUSY);
	if (q->qp) {
		CHECK_EQ(mlx5dv_devx_obj_destroy(q->cq), EBUSY);
		CHECK_EQ(mlx5dv_devx_obj_destroy(q->qp), 0);
	}
	CHECK_EQ(mlx5dv_devx_obj_destroy(q->cq), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(q->umem), 0);
}

int raw_change(struct raw_queue *q, uint16_t opcode,
	       const struct prm_path *path, uint8_t out[PRM_HEAD])
{
	uint8_t in[PRM_QP];

	prm_change_qp(in, opcode, q->qpn, path);
	memset(out, 0, PRM_HEAD);
	return mlx5dv_devx_obj_modify(q->qp, in, sizeof(in), out, PRM_HEAD);
}

/* A path to the device itself. */
struct prm_path raw_path(uint32_t remote_qpn, uint32_t psn)
{
	struct ibv_ah_attr ah = { .is_global = 1,
				  .port_num = 1,
				  .grh = { .dgid = dev.gid,
					   .sgid_index = dev.gid_index,
					   .hop_limit = 64 } };
	struct prm_path path = { .sgid_index = dev.gid_index,
				 .remote_qpn = remote_qpn,
				 .psn = psn };
	uint16_t vlan;

	memcpy(path.gid, dev.gid.raw, sizeof(path.gid));
	CHECK_EQ(ibv_resolve_eth_l2_from_gid(dev.ctx, &ah, path.mac, &vlan), 0);
	return path;
}

void raw_connect(struct raw_queue *q, uint32_t remote_qpn)
{
	struct prm_path path = raw_path(remote_qpn, 0x123456);
	uint8_t out[PRM_HEAD];

	CHECK_EQ(raw_change(q, PRM_RST2INIT_QP, &path, out), 0);
	CHECK_EQ(raw_change(q, PRM_INIT2RTR_QP, &path, out), 0);
	CHECK_EQ(raw_change(q, PRM_RTR2RTS_QP, &path, out), 0);
}

void raw_make_pair(struct raw_queue *a, struct raw_queue *b, bool wide)
{
	raw_make(a, wide);
	raw_make(b, wide);
	raw_connect(a, b->qpn);
	raw_connect(b, a->qpn);
}

uint32_t raw_state(struct raw_queue *q)
{
	uint8_t in[PRM_HEAD], out[PRM_QP_OUT] = {};

	prm_head(in, PRM_QUERY_QP, q->qpn);
	CHECK_EQ(mlx5dv_devx_obj_query(q->qp, in, sizeof(in), out, sizeof(out)),
		 0);
	return prm_get32(out, PRM_QPC) >> 28;
}

static uint8_t *segment_at(struct raw_queue *q, uint32_t number)
{
	uint32_t size = (BLOCK << SQ_LOG) / SEGMENT;

	return q->buf->data + SQ_AT + number % size * SEGMENT;
}

void raw_post(struct raw_queue *q, uint8_t opcode, uint8_t flags, uint32_t imm,
	      const uint8_t *segments, uint32_t count)
{
	uint32_t first = q->sq * (BLOCK / SEGMENT), i;
	uint8_t *ctrl = segment_at(q, first);

	prm_put32(ctrl, 0, q->sq << 8 | opcode);
	prm_put32(ctrl, 4, q->qpn << 8 | (count + 1));
	prm_put32(ctrl, 8, flags);
	prm_put32(ctrl, 12, imm);
	for (i = 0; i < count; i++)
		memcpy(segment_at(q, first + 1 + i), segments + i * SEGMENT,
		       SEGMENT);
	q->sq += (count + 1 + 3) / 4;
}

static void ring_record(struct raw_queue *q, int word, uint32_t value)
{
	uint32_t *record = (uint32_t *)(q->buf->data + QP_RECORD_AT);

	__atomic_store_n(&record[word], htobe32(value), __ATOMIC_RELEASE);
}

void raw_ring(struct raw_queue *q)
{
	ring_record(q, 1, q->sq);
}

void raw_post_recv(struct raw_queue *q, const uint8_t *segments, uint32_t count)
{
	uint32_t stride = SEGMENT << RQ_STRIDE_LOG;
	uint8_t *slot = q->buf->data + RQ_AT + q->rq % (1 << RQ_LOG) * stride;

	memcpy(slot, segments, count * SEGMENT);
	/* A segment that ends the list. */
	if (count * SEGMENT < stride) {
		memset(slot + count * SEGMENT, 0, SEGMENT);
		prm_put32(slot, count * SEGMENT + 4, 0x100);
	}
	ring_record(q, 0, ++q->rq);
}

void raw_data(uint8_t segment[SEGMENT], const struct region *region,
	      uint64_t offset, uint32_t length)
{
	prm_put32(segment, 0, length);
	prm_put32(segment, 4, region->lkey);
	prm_put64(segment, 8, region->base + offset);
}

void raw_address(uint8_t segment[SEGMENT], const struct region *region,
		 uint64_t offset)
{
	prm_put64(segment, 0, region->base + offset);
	prm_put32(segment, 8, region->rkey);
	prm_put32(segment, 12, 0);
}

void raw_av(uint8_t segments[RAW_AV], uint32_t qpn, uint32_t qkey)
{
	struct prm_path path = raw_path(0, 0);

	memset(segments, 0, RAW_AV);
	prm_put32(segments, 0, qkey);
	/* The highest bit says that the address vector is extended. */
	prm_put32(segments, 8, 1U << 31 | qpn);
	memcpy(segments + 20, path.mac, sizeof(path.mac));
	segments[27] = 64;
	prm_put32(segments, 28, 1U << 30 | path.sgid_index << 20);
	memcpy(segments + 32, path.gid, sizeof(path.gid));
}

void raw_share(struct raw_queue *q, const struct raw_pool *pool)
{
	q->asked.rq = PRM_RQ_SHARED;
	q->asked.rmpn = pool->number;
	/* Only a send ring. */
	q->asked.offset = SQ_AT;
}

void raw_pool_places(struct raw_pool *pool, bool cyclic)
{
	*pool = (struct raw_pool){ .buf = buf_new(POOL_LEN, 0) };
	memset(pool->buf->data, 0, POOL_LEN);
	pool->umem = MUST(dv_umem(pool->buf->data, POOL_LEN,
				  IBV_ACCESS_LOCAL_WRITE, ~0ULL));
	pool->asked = (struct prm_rmp){
		.umem_id = pool->umem->umem_id,
		.record_umem_id = pool->umem->umem_id,
		.pdn = dv_pdn(dev.pd),
		.record = POOL_RECORD_AT,
		.log_size = POOL_LOG,
		.log_stride = POOL_STRIDE_LOG,
		.cyclic = cyclic,
	};
}

obj_t raw_try_pool(struct raw_pool *pool, uint8_t out[PRM_HEAD])
{
	uint8_t in[PRM_RMP];

	prm_create_rmp(in, &pool->asked);
	memset(out, 0, PRM_HEAD);
	errno = 0;
	return mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out, PRM_HEAD);
}

void raw_pool_make(struct raw_pool *pool, bool cyclic)
{
	uint8_t out[PRM_HEAD];

	raw_pool_places(pool, cyclic);
	pool->obj = MUST(raw_try_pool(pool, out));
	pool->number = prm_number(out);
}

void raw_pool_free(struct raw_pool *pool)
{
	CHECK_EQ(mlx5dv_devx_umem_dereg(pool->umem), EBUSY);
	CHECK_EQ(mlx5dv_devx_obj_destroy(pool->obj), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(pool->umem), 0);
}

void raw_pool_fill(struct raw_pool *pool, uint16_t slot, uint16_t next,
		   const uint8_t *segments, uint32_t count)
{
	uint8_t *at = pool->buf->data + (slot << POOL_STRIDE_LOG);
	uint8_t *end = at + (1 << POOL_STRIDE_LOG);

	prm_put32(at, 0, pool->asked.cyclic ? rnd() : next);
	at += SEGMENT;
	memcpy(at, segments, count * SEGMENT);
	at += count * SEGMENT;
	/* A segment that ends the list. */
	if (at < end) {
		memset(at, 0, SEGMENT);
		prm_put32(at, 4, 0x100);
	}
	pool->posted++;
}

void raw_pool_ring(struct raw_pool *pool)
{
	uint32_t *record = (uint32_t *)(pool->buf->data + POOL_RECORD_AT);

	__atomic_store_n(record, htobe32(pool->posted), __ATOMIC_RELEASE);
}

bool raw_peek(struct raw_queue *q, struct raw_cqe *cqe)
{
	uint32_t index = q->cq_seen % (1 << CQ_LOG);
	uint8_t *at =
		q->buf->data + CQ_AT + (index + 1) * (BLOCK << q->wide) - BLOCK;
	uint8_t own = __atomic_load_n(&at[63], __ATOMIC_ACQUIRE);

	if (own >> 4 == 0xf || (own & 1) != (q->cq_seen >> CQ_LOG & 1))
		return false;
	*cqe = (struct raw_cqe){
		.opcode = own >> 4,
		.sent = at[56],
		.qpn = prm_get32(at, 56) & 0xffffff,
		.counter = prm_get32(at, 60) >> 16,
		.length = prm_get32(at, 44),
		.imm = prm_get32(at, 36),
		.user_index = prm_get32(at, 32) & 0xffffff,
		.source = prm_get32(at, 24) & 0xffffff,
		.grh = at[24] >> 4 & 3,
	};
	if (cqe->opcode >= 13)
		cqe->syndrome = at[55];
	q->cq_seen++;
	return true;
}

bool raw_poll(struct raw_queue *q, struct raw_cqe *cqe)
{
	uint32_t *record = (uint32_t *)(q->buf->data + CQ_RECORD_AT);
	bool there = raw_peek(q, cqe);

	if (there)
		__atomic_store_n(record, htobe32(q->cq_seen & 0xffffff),
				 __ATOMIC_RELEASE);
	return there;
}

struct raw_cqe raw_await(struct raw_queue *q)
{
	const struct timespec nap = { .tv_nsec = 100000 };
	struct raw_cqe cqe;
	time_t end = time(NULL) + PATIENCE;

	while (!raw_poll(q, &cqe)) {
		if (time(NULL) > end)
			FAIL("no completion comes");
		nanosleep(&nap, NULL);
	}
	return cqe;
}

unsigned long long raw_looks(void)
{
	FILE *file = MUST(fopen("/proc/softirqs", "re"));
	unsigned long long sum = 0;
	char line[4096], *at, *end;

	while (fgets(line, sizeof(line), file)) {
		at = strstr(line, "HRTIMER:");
		if (!at)
			continue;
		for (at += strlen("HRTIMER:");; at = end) {
			unsigned long long n = strtoull(at, &end, 10);

			if (end == at)
				break;
			sum += n;
		}
	}
	fclose(file);
	return sum;
}
