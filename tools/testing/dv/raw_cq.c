// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues made by command on umems: parameters, refusals, queries and changes (items
 * VC1 to VC6).
 */
#define _GNU_SOURCE
#include <string.h>

#include "keys.h"

enum { LOG = 6, RING = 64 << LOG, RECORD = RING, LEN = RING + 64 };

static struct buf *buf;
static umem_t umem;
static struct prm_cq cq;

static void begin(void)
{
	dv_begin();
	buf = buf_new(LEN, 0);
	umem = MUST(dv_umem(buf->data, LEN, IBV_ACCESS_LOCAL_WRITE, ~0ULL));
	cq = (struct prm_cq){
		.umem_id = umem->umem_id,
		.record_umem_id = umem->umem_id,
		.record = RECORD,
		.log_size = LOG,
	};
	CHECK_EQ(mlx5dv_devx_query_eqn(dev.ctx, 0, &cq.eqn), 0);
}

static obj_t try_make(uint8_t out[PRM_HEAD])
{
	uint8_t in[PRM_CQ];

	prm_create_cq(in, &cq);
	memset(out, 0, PRM_HEAD);
	errno = 0;
	return mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out, PRM_HEAD);
}

static obj_t make(uint32_t *number)
{
	uint8_t out[PRM_HEAD];
	obj_t obj = MUST(try_make(out));

	*number = prm_number(out);
	return obj;
}

static void make_refused(uint32_t syndrome)
{
	uint8_t out[PRM_HEAD];

	CHECK(!try_make(out));
	dv_refused(errno, out, syndrome);
}

/* Each completion vector has a number of its own, and others have none. */
static void vc1_eqn(void)
{
	uint32_t eqn[2] = {};
	int i, vectors;

	dv_begin();
	vectors = dev.ctx->num_comp_vectors;
	for (i = 0; i < vectors; i++) {
		CHECK_EQ(mlx5dv_devx_query_eqn(dev.ctx, i, &eqn[i % 2]), 0);
		CHECK(eqn[i % 2] && eqn[0] != eqn[1]);
	}
	CHECK_EQ(mlx5dv_devx_query_eqn(dev.ctx, vectors, eqn), EINVAL);
	CHECK_EQ(mlx5dv_devx_query_eqn(dev.ctx, UINT32_MAX, eqn), EINVAL);
}

/* A query returns the parameters of creation; nothing has completed. */
static void vc2_told(void)
{
	uint8_t in[PRM_HEAD], out[PRM_CQ_OUT];
	uint32_t number;
	obj_t obj;

	begin();
	cq.uar = 0x1234;
	obj = make(&number);
	prm_put32(buf->data, RECORD, 5);
	memset(out, 0, sizeof(out));
	prm_head(in, PRM_QUERY_CQ, number);
	CHECK_EQ(mlx5dv_devx_obj_query(obj, in, sizeof(in), out, sizeof(out)),
		 0);
	CHECK_EQ(prm_get32(out, 0x10), 1 << 25);
	CHECK_EQ(prm_get32(out, 0x14), umem->umem_id);
	CHECK_EQ(prm_get32(out, 0x1c), LOG << 24 | 0x1234);
	CHECK_EQ(prm_get32(out, 0x24), cq.eqn);
	CHECK_EQ(prm_get32(out, 0x38), 5);
	CHECK_EQ(prm_get32(out, 0x3c), 0);
	CHECK_EQ(prm_get64(out, 0x48), RECORD);
	dv_refused(mlx5dv_devx_obj_query(obj, in, sizeof(in), out,
					 sizeof(out) - 1),
		   out, PRM_SHORT_OUT);
	prm_head(in, PRM_QUERY_CQ, number ^ 1);
	CHECK_EQ(mlx5dv_devx_obj_query(obj, in, sizeof(in), out, sizeof(out)),
		 EINVAL);
	prm_head(in, PRM_QUERY_MKEY, number);
	dv_refused(mlx5dv_devx_obj_query(obj, in, sizeof(in), out, sizeof(out)),
		   out, PRM_SHORT_OUT);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
}

/* Only the event moderation can be changed. */
static void vc3_changed(void)
{
	uint8_t in[PRM_CQ] = {}, out[PRM_CQ_OUT] = {};
	uint32_t number;
	obj_t obj;

	begin();
	obj = make(&number);
	prm_head(in, PRM_MODIFY_CQ, number);
	prm_put32(in, 0x0c, 3);
	prm_put32(in, 0x20, 77 << 16 | 12);
	CHECK_EQ(mlx5dv_devx_obj_modify(obj, in, sizeof(in), out, PRM_HEAD), 0);
	prm_head(in, PRM_QUERY_CQ, number);
	CHECK_EQ(mlx5dv_devx_obj_query(obj, in, PRM_HEAD, out, sizeof(out)), 0);
	CHECK_EQ(prm_get32(out, 0x20), 77 << 16 | 12);
	/* Ignoring overruns, another number, and another size are refused. */
	prm_head(in, PRM_MODIFY_CQ, number);
	prm_put32(in, 0x0c, 4);
	dv_refused(mlx5dv_devx_obj_modify(obj, in, sizeof(in), out, PRM_HEAD),
		   out, PRM_CQ_FEATURE);
	prm_put32(in, 0x0c, 0);
	prm_put32(in, 0x04, 1);
	dv_refused(mlx5dv_devx_obj_modify(obj, in, sizeof(in), out, PRM_HEAD),
		   out, PRM_MODIFIER);
	prm_head(in, PRM_MODIFY_CQ, number ^ 1);
	CHECK_EQ(mlx5dv_devx_obj_modify(obj, in, sizeof(in), out, PRM_HEAD),
		 EINVAL);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
}

/* Rings and records of completion queues are within writable and readable umems, or refused. */
static void vc4_places(void)
{
	uint32_t number, id;
	umem_t read_only;
	obj_t obj;

	begin();
	id = umem->umem_id;
	read_only = MUST(dv_umem(buf->data, LEN, 0, ~0ULL));
	cq.umem_id = id + 1000;
	make_refused(PRM_NO_UMEM);
	cq.umem_id = read_only->umem_id;
	make_refused(PRM_QUEUE_UMEM);
	cq.umem_id = id;
	/* The device only reads the record. */
	cq.record_umem_id = read_only->umem_id;
	obj = make(&number);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	cq.record_umem_id = id;
	cq.offset = 32;
	make_refused(PRM_QUEUE_UMEM);
	cq.offset = 128;
	make_refused(PRM_QUEUE_UMEM);
	cq.offset = -64ULL;
	make_refused(PRM_QUEUE_UMEM);
	cq.offset = 0;
	cq.record = RECORD + 4;
	make_refused(PRM_QUEUE_UMEM);
	cq.record = LEN;
	make_refused(PRM_QUEUE_UMEM);
	cq.record = -8ULL;
	make_refused(PRM_QUEUE_UMEM);
	/* A record inside of the ring is allowed: it harms only its user. */
	cq.record = 0;
	obj = make(&number);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	cq.record = RECORD;
	cq.stride = 1;
	make_refused(PRM_QUEUE_UMEM);
	cq.log_size--;
	obj = make(&number);
	/* The rings may not take more than the umem in sum. */
	cq.stride = 0;
	cq.log_size = 1;
	make_refused(PRM_UMEM_VIEWS);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), EBUSY);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(read_only), 0);
}

/* Features and sizes that are not there are refused, with the syndrome. */
static void vc5_features(void)
{
	/* apu, collapsed, compression, strides */
	static const uint32_t bits[] = { 1 << 24, 1 << 20, 1 << 14, 2 << 21,
					 7 << 21 };
	uint8_t in[PRM_CQ], out[PRM_HEAD] = {};
	obj_t obj;
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		context("bits %#x", bits[i]);
		prm_create_cq(in, &cq);
		prm_put32(in, 0x10, 1 << 25 | bits[i]);
		CHECK(!mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out,
					      sizeof(out)));
		dv_refused(errno, out, PRM_CQ_FEATURE);
	}
	/* The bits that mark umems as valid may be 0: mlx5's driver sets them. */
	prm_create_cq(in, &cq);
	prm_put32(in, 0x10, 0);
	prm_put32(in, 0x5c, 0);
	obj = MUST(mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out,
					  sizeof(out)));
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	cq.eqn = 0;
	make_refused(PRM_NO_EQ);
	cq.eqn = dev.ctx->num_comp_vectors + 1;
	make_refused(PRM_NO_EQ);
	cq.eqn = 1;
	cq.log_size = 23;
	make_refused(PRM_QUEUE_SIZE);
	cq.log_size = 31;
	make_refused(PRM_QUEUE_SIZE);
}

/* Queues have different numbers. Some are left for the kernel to clean up, with their umem. */
static void vc6_many(void)
{
	enum { QUEUES = 30, EACH = 64 + 64 };
	uint32_t numbers[QUEUES];
	obj_t objs[QUEUES];
	int i, j;

	begin();
	for (i = 0; i < QUEUES; i++) {
		cq.log_size = 0;
		cq.offset = i * EACH;
		cq.record = cq.offset + 64;
		objs[i] = make(&numbers[i]);
		CHECK(numbers[i]);
		for (j = 0; j < i; j++)
			CHECK(numbers[i] != numbers[j]);
	}
	for (i = 0; i < QUEUES; i += 2)
		CHECK_EQ(mlx5dv_devx_obj_destroy(objs[i]), 0);
}

static const struct test tests[] = {
	TEST(vc1_eqn, "VC1 each vector has an event queue's number"),
	TEST(vc2_told, "VC2 a completion queue tells what was asked for"),
	TEST(vc3_changed, "VC3 moderation can be changed, nothing else"),
	TEST(vc4_places, "VC4 rings and records are in umems, and fit"),
	TEST(vc5_features, "VC5 what is not served is refused"),
	TEST(vc6_many, "VC6 many at a time, some of them left behind"),
};

HARNESS_MAIN("DEVX completion queues on pinion", tests)
