// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DEVX commands: answers, refusals and their syndromes, and invalid commands (items VX1 to
 * VX13).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "forks.h"
#include "keys.h"
#include "pins.h"
#include "raw.h"

enum { LEN = 50000, BAD_OP = 2, BAD_PARAM = 3, SHORT_IN = 0x50, SHORT_OUT };

static int create_refused(const void *in, size_t inlen, void *out,
			  size_t outlen)
{
	errno = 0;
	CHECK(!mlx5dv_devx_obj_create(dev.ctx, in, inlen, out, outlen));
	return errno;
}

/* The capabilities that libmlx5 asks for have the values that the device keeps. */
static void vx1_caps(void)
{
	uint8_t in[16], out[16 + 4096] = {};

	dv_begin();
	prm_head(in, PRM_QUERY_HCA_CAP, 0);
	prm_put32(in, 4, 1);
	CHECK_EQ(mlx5dv_devx_general_cmd(dev.ctx, in, sizeof(in), out,
					 sizeof(out)),
		 0);
	CHECK_EQ(prm_status(out), 0);
	/* It has one Ethernet port. */
	CHECK_EQ(prm_get32(out, 16 + 0x34) >> 8 & 3, 1);
	CHECK_EQ(prm_get32(out, 16 + 0x34) & 0xff, 1);
	/* At least a million keys. */
	CHECK((prm_get32(out, 16 + 0x1c) >> 16 & 0x3f) >= 20);
	/* The maxima of queues and of their entries. */
	CHECK_EQ(prm_get32(out, 16 + 0x10) & 0x1f, 18);
	CHECK_EQ(prm_get32(out, 16 + 0x10) >> 16 & 0xff, 15);
	CHECK_EQ(prm_get32(out, 16 + 0x18) >> 16 & 0xff, 22);
	/* On-demand paging, with all operations for reliable connections. */
	memset(out, 0, sizeof(out));
	prm_put32(in, 4, 2 << 1 | 1);
	CHECK_EQ(mlx5dv_devx_general_cmd(dev.ctx, in, sizeof(in), out,
					 sizeof(out)),
		 0);
	CHECK_EQ(prm_get32(out, 16 + 0x50) >> 26, 0x3f);
	CHECK_EQ(prm_get32(out, 16 + 0xc0), 1U << 31);
	/* Other groups of capabilities are refused. */
	prm_put32(in, 4, 1 << 1 | 1);
	dv_refused(mlx5dv_devx_general_cmd(dev.ctx, in, sizeof(in), out,
					   sizeof(out)),
		   out, PRM_NO_CAPS);
	CHECK_EQ(prm_status(out), BAD_PARAM);
}

/* No features are claimed, and nothing is written behind the structure. */
static void vx11_query_device(void)
{
	struct {
		struct mlx5dv_context context;
		uint8_t behind[64];
	} out;
	size_t i;

	dv_begin();
	memset(&out, 0xff, sizeof(out));
	CHECK_EQ(mlx5dv_query_device(dev.ctx, &out.context), 0);
	CHECK_EQ(out.context.version, 0);
	CHECK_EQ(out.context.flags, 0);
	CHECK_EQ(out.context.comp_mask, 0);
	for (i = 0; i < sizeof(out.behind); i++)
		CHECK_EQ(out.behind[i], 0xff);
}

/* UCX asks, and takes a refusal for an error: the port is not part of an aggregate. */
static void vx12_no_aggregate(void)
{
	uint8_t in[16], out[16];
	size_t i;

	dv_begin();
	prm_head(in, PRM_QUERY_LAG, 0);
	memset(out, 0xff, sizeof(out));
	CHECK_EQ(mlx5dv_devx_general_cmd(dev.ctx, in, sizeof(in), out,
					 sizeof(out)),
		 0);
	for (i = 0; i < sizeof(out); i++)
		CHECK_EQ(out[i], 0);
}

/* Other opcodes are refused; those that create objects are not for this call. */
static void vx2_other_opcodes(void)
{
	uint8_t in[PRM_MKEY] = {}, out[PRM_MKEY] = {};
	uint32_t opcode;

	dv_begin();
	for (opcode = 0; opcode < 0x10000; opcode++) {
		if (opcode == PRM_QUERY_HCA_CAP || opcode == PRM_QUERY_LAG)
			continue;
		context("opcode %#x", opcode);
		prm_put32(in, 0, opcode << 16);
		CHECK_EQ(mlx5dv_devx_general_cmd(dev.ctx, in, sizeof(in), out,
						 sizeof(out)),
			 EREMOTEIO);
		CHECK(prm_status(out) == BAD_OP ||
		      prm_status(out) == BAD_PARAM);
		CHECK(prm_syndrome(out));
	}
}

/* Commands for objects that the device lacks are refused with a status and a syndrome. */
static void vx3_other_objects(void)
{
	uint8_t in[PRM_MKEY] = {}, out[PRM_MKEY] = {};
	uint32_t opcode;

	dv_begin();
	for (opcode = 0; opcode < 0x10000;
	     opcode += 1 + (opcode > 0x900) * 16) {
		if (opcode == PRM_ALLOC_PD || opcode == PRM_ALLOC_FLOW_COUNTER)
			continue;
		context("opcode %#x", opcode);
		prm_put32(in, 0, opcode << 16);
		CHECK_EQ(create_refused(in, sizeof(in), out, sizeof(out)),
			 EREMOTEIO);
		CHECK(prm_status(out));
		CHECK(prm_syndrome(out));
	}
}

/* Commands and answers that are too short or too long are refused. */
static void vx4_lengths(void)
{
	uint8_t in[PRM_MKEY] = {}, out[PRM_MKEY] = {};

	dv_begin();
	prm_head(in, PRM_CREATE_MKEY, 0);
	dv_refused(create_refused(in, PRM_MKEY - 1, out, 16), out,
		   PRM_SHORT_IN);
	CHECK_EQ(prm_status(out), SHORT_IN);
	MUST_NOT(mlx5dv_devx_obj_create(dev.ctx, in, 15, out, 16), EINVAL);
	MUST_NOT(mlx5dv_devx_obj_create(dev.ctx, in, PRM_MKEY, out, 15),
		 EINVAL);
	MUST_NOT(mlx5dv_devx_obj_create(dev.ctx, in, 70000, out, 16), EINVAL);
	MUST_NOT(mlx5dv_devx_obj_create(dev.ctx, in, 16, out, SIZE_MAX),
		 EINVAL);
}

/* Many flow counters, each with its own number; they stay zero, as there are no flows. */
static void vx10_counters(void)
{
	enum { COUNTERS = 100 };
	uint8_t in[32], out[32];
	uint32_t numbers[COUNTERS];
	obj_t obj[COUNTERS];
	int i, j;

	dv_begin();
	for (i = 0; i < COUNTERS; i++) {
		prm_head(in, PRM_ALLOC_FLOW_COUNTER, 0);
		memset(out, 0, sizeof(out));
		obj[i] = MUST(mlx5dv_devx_obj_create(dev.ctx, in, 16, out, 16));
		numbers[i] = prm_number(out);
		CHECK(numbers[i]);
		for (j = 0; j < i; j++)
			CHECK(numbers[i] != numbers[j]);
	}
	for (i = 0; i < COUNTERS; i++) {
		memset(in, 0, sizeof(in));
		prm_head(in, PRM_QUERY_FLOW_COUNTER, 0);
		prm_put32(in, 0x1c, numbers[i]);
		memset(out, 0xff, sizeof(out));
		CHECK_EQ(mlx5dv_devx_obj_query(obj[i], in, 32, out, 32), 0);
		CHECK_EQ(prm_get64(out, 16), 0);
		CHECK_EQ(prm_get64(out, 24), 0);
		/* The number of one object with the handle of another. */
		CHECK_EQ(mlx5dv_devx_obj_query(obj[(i + 1) % COUNTERS], in, 32,
					       out, 32),
			 EINVAL);
	}
	prm_head(in, PRM_ALLOC_FLOW_COUNTER, 0);
	prm_put32(in, 12, 1);
	dv_refused(create_refused(in, 16, out, 16), out, PRM_COUNTERS);
	for (i = 0; i < COUNTERS; i += 2)
		CHECK_EQ(mlx5dv_devx_obj_destroy(obj[i]), 0);
	/* The other half is left for the kernel to clean up. */
}

/* Keys in a domain that was made by a command do not work with queue pairs of verbs. */
static void vx5_pd(void)
{
	uint8_t in[16], out[16] = {};
	struct region local = region_new(LEN, 0, ALL_ACCESS);
	struct buf *buf = buf_new(LEN, 0);
	struct prm_mkey mkey = { .length = LEN };
	struct link link;
	obj_t pd, key_obj;
	uint32_t key;
	umem_t umem;

	dv_begin();
	link_make(&link, NULL);
	umem = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
	prm_head(in, PRM_ALLOC_PD, 0);
	pd = MUST(mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out,
					 sizeof(out)));
	mkey.pdn = prm_number(out);
	CHECK(mkey.pdn != dv_pdn(dev.pd));
	mkey.umem_id = umem->umem_id;
	key_obj = dv_key(&mkey, &key);
	refused(&link, IBV_WR_RDMA_READ, sge_of(&local, 0, 1), 0, key,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	CHECK_EQ(mlx5dv_devx_obj_destroy(pd), EBUSY);
	CHECK_EQ(mlx5dv_devx_obj_destroy(key_obj), 0);
	CHECK_EQ(mlx5dv_devx_obj_destroy(pd), 0);
	dv_key_refused(&mkey, PRM_NO_PD);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
}

/* A query of a key answers with what it was made of, and only for that key. */
static void vx6_query(void)
{
	struct buf *buf = buf_new(LEN, 100);
	uint8_t in[PRM_MKEY], out[PRM_MKEY] = {};
	struct region region;
	umem_t umem;
	obj_t obj;

	dv_begin();
	umem = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
	obj = dv_region(buf, umem, &region);
	prm_head(in, PRM_QUERY_MKEY, region.rkey >> 8);
	CHECK_EQ(mlx5dv_devx_obj_query(obj, in, 16, out, sizeof(out)), 0);
	CHECK_EQ(prm_status(out), 0);
	CHECK_EQ(prm_get32(out, 0x10), PRM_ALL | PRM_MTT);
	CHECK_EQ(prm_get32(out, 0x14), 0xffffff00 | (region.rkey & 0xff));
	CHECK_EQ(prm_get32(out, 0x1c), dv_pdn(dev.pd));
	CHECK_EQ(prm_get64(out, 0x20), region.base);
	CHECK_EQ(prm_get64(out, 0x28), LEN);
	dv_refused(mlx5dv_devx_obj_query(obj, in, 16, out, sizeof(out) - 1),
		   out, PRM_SHORT_OUT);
	CHECK_EQ(prm_status(out), SHORT_OUT);
	/* The number of another object; another command; a query as a modification. */
	prm_head(in, PRM_QUERY_MKEY, (region.rkey >> 8) ^ 1);
	CHECK_EQ(mlx5dv_devx_obj_query(obj, in, 16, out, sizeof(out)), EINVAL);
	prm_head(in, PRM_ALLOC_PD, 0);
	dv_refused(mlx5dv_devx_obj_query(obj, in, 16, out, sizeof(out)), out,
		   PRM_WRONG_CALL);
	CHECK_EQ(prm_status(out), BAD_OP);
	prm_head(in, PRM_QUERY_MKEY, region.rkey >> 8);
	dv_refused(mlx5dv_devx_obj_modify(obj, in, 16, out, sizeof(out)), out,
		   PRM_WRONG_CALL);
	CHECK_EQ(prm_status(out), BAD_OP);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
}

/* Domains have numbers of their own; other verbs objects have none. */
static void vx7_init_obj(void)
{
	struct ibv_cq *cq = MUST(ibv_create_cq(dev.ctx, 1, NULL, NULL, 0));
	uint64_t room[64]; /* large enough for any answer */
	struct mlx5dv_pd dv_pd = {};
	struct mlx5dv_devx devx;
	struct mlx5dv_obj obj = { .cq = { cq, (void *)room },
				  .pd = { dev.pd, &dv_pd },
				  .devx = { (void *)room, &devx } };
	struct ibv_pd *pds[20];
	int i, j;

	dv_begin();
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), EOPNOTSUPP);
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ | MLX5DV_OBJ_PD),
		 EOPNOTSUPP);
	/* A domain together with an invalid object. */
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD | MLX5DV_OBJ_DEVX),
		 EINVAL);
	for (i = 0; i < 20; i++) {
		pds[i] = MUST(ibv_alloc_pd(dev.ctx));
		for (j = 0; j < i; j++)
			CHECK(dv_pdn(pds[i]) != dv_pdn(pds[j]));
	}
	for (i = 0; i < 20; i++)
		CHECK_EQ(ibv_dealloc_pd(pds[i]), 0);
}

/* ------------------------------------------------- calls that no library makes */

static int raw_umem(const void *addr, uint64_t length, size_t id_length,
		    void *id)
{
	uint64_t at = (uintptr_t)addr;
	struct raw raw;

	raw_begin(&raw, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG);
	raw_handle(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, 0);
	raw_in(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, &at, sizeof(at));
	raw_in(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, &length, sizeof(length));
	raw_out(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, id, id_length);
	return raw_call(dev.ctx->cmd_fd, &raw);
}

/* If the answer cannot be written to the user, the object is destroyed again. */
static void vx8_bad_answers(void)
{
	uint8_t *map = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct buf *buf = buf_new(LEN, 0);
	struct prm_mkey mkey = { .length = 100 };
	uint8_t in[PRM_MKEY + PRM_MAX_KLMS * 16];
	struct raw raw;
	uint32_t id;
	umem_t umem;

	dv_begin();
	mkey.pdn = dv_pdn(dev.pd);
	umem = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
	mkey.umem_id = umem->umem_id;
	prm_create_mkey(in, &mkey);
	CHECK_EQ(mprotect(map + PAGE, PAGE, PROT_READ), 0);

	CHECK_EQ(raw_umem(buf->data, LEN, 4, map + PAGE - 2), EFAULT);
	CHECK_EQ(raw_umem(buf->data, LEN, 4, NULL), EFAULT);
	CHECK_EQ(raw_umem(buf->data, LEN, 3, &id), EINVAL);
	raw_begin(&raw, MLX5_IB_OBJECT_DEVX_OBJ,
		  MLX5_IB_METHOD_DEVX_OBJ_CREATE);
	raw_handle(&raw, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, 0);
	raw_in(&raw, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, in, PRM_MKEY);
	raw_out(&raw, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, map + PAGE - 8, 16);
	CHECK_EQ(raw_call(dev.ctx->cmd_fd, &raw), EFAULT);
	/* No object is left that holds the umem. */
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	CHECK_EQ(vm_pin(0), 0);
}

/* Random calls of these methods, with random attributes. Some of them reach a command. */
static void vx9_garbage(void)
{
	struct buf *buf = buf_new(LEN, 0);
	long rounds, performed = 0, refused = 0;
	struct raw raw;
	umem_t umem;
	double end;
	int err;

	dv_begin();
	umem = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
	end = now() + opt.seconds;
	for (rounds = 0; go_on(end, refused); rounds++) {
		uint8_t command[PRM_MKEY], out[PRM_MKEY];
		struct prm_mkey mkey = { .length = 100,
					 .pdn = dv_pdn(dev.pd),
					 .umem_id = umem->umem_id };
		uint8_t in[PRM_MKEY + PRM_MAX_KLMS * 16];
		int attrs = rnd_below(8), i;

		prm_create_mkey(in, &mkey);
		memcpy(command, in, sizeof(command));
		for (i = rnd_below(4); i; i--)
			command[rnd_below(sizeof(command))] = rnd();
		raw_begin(&raw, MLX5_IB_OBJECT_DEVX + rnd_below(3),
			  MLX5_IB_METHOD_DEVX_OTHER + rnd_below(5));
		for (i = 0; i < attrs; i++) {
			uint16_t id = (1 << 12) + i;
			uint64_t value = rnd_below(2) ? rnd_below(20) : rnd();
			size_t length = rnd_below(3) ? sizeof(command) :
						       rnd_below(20);

			switch (rnd_below(6)) {
			case 0:
				break;
			case 1:
				raw_in(&raw, id, &value, 8);
				break;
			case 2:
				raw_in(&raw, id, &value, 4);
				break;
			case 3:
				raw_out(&raw, id, out,
					length < sizeof(out) ? length :
							       sizeof(out));
				break;
			case 4:
				raw_in(&raw, id, command, length);
				break;
			case 5:
				raw_handle(&raw, id, rnd_below(10));
				break;
			}
		}
		err = raw_call(dev.ctx->cmd_fd, &raw);
		performed += !err;
		refused += err == EREMOTEIO;
	}
	note("%ld calls, %ld performed, %ld commands refused", rounds,
	     performed, refused);
	CHECK(refused);
}

/* Too short for a command, so all that happens is that the object is looked for. */
static void look_for(void *obj)
{
	uint8_t byte = 0;

	CHECK_EQ(mlx5dv_devx_obj_query(obj, &byte, 1, &byte, 1), EINVAL);
}

/* Children of a process whose other threads make calls at that moment can make them, too. */
static void vx13_fork(void)
{
	uint8_t in[16], out[16] = {};
	obj_t obj;

	dv_begin();
	prm_head(in, PRM_ALLOC_PD, 0);
	obj = MUST(mlx5dv_devx_obj_create(dev.ctx, in, sizeof(in), out,
					  sizeof(out)));
	fork_beside(look_for, look_for, obj);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
}

static const struct test tests[] = {
	TEST(vx1_caps, "VX1-capabilities"),
	LONG_TEST(vx2_other_opcodes, "VX2-other-commands-have-a-clean-status",
		  100),
	TEST(vx3_other_objects, "VX3-other-objects-have-a-clean-status"),
	TEST(vx4_lengths, "VX4-lengths"),
	TEST(vx5_pd, "VX5-a-domain-of-commands"),
	TEST(vx6_query, "VX6-query"),
	TEST(vx7_init_obj, "VX7-numbers-of-verbs-objects"),
	TEST(vx8_bad_answers, "VX8-answers-that-cannot-be-written"),
	TEST(vx9_garbage, "VX9-garbage"),
	TEST(vx10_counters, "VX10-counters-of-flows"),
	TEST(vx11_query_device, "VX11-what-the-device-claims"),
	TEST(vx12_no_aggregate, "VX12-no-aggregate-of-ports"),
	TEST(vx13_fork, "VX13-fork-while-others-make-calls"),
};

HARNESS_MAIN("DEVX commands", tests)
