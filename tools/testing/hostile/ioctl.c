// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * uverbs ioctls that no library makes: doorbells with wrong arguments (items I1 to I4, I9).
 * ioctl_fuzz.c sends random ones.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "raw.h"
#include "xrc.h"

static struct link link_;
static int fd;

static void begin(void)
{
	if (!dev.pinion)
		skip("only pinion has these methods");
	link_make(&link_, NULL);
	fd = dev.ctx->cmd_fd;
}

static struct ib_uverbs_attr *bell(struct raw *raw)
{
	raw_begin(raw, UVERBS_OBJECT_QP, PINION_METHOD_QP_DOORBELL);
	return raw_handle(raw, PINION_ATTR_QP_DOORBELL_HANDLE,
			  link_.a.qp->handle);
}

/* One thing wrong with a doorbell: it is refused, each with its own errno. */
static void i1_doorbell(void)
{
	struct raw raw;

	begin();
	bell(&raw);
	CHECK_EQ(raw_call(fd, &raw), 0);
	bell(&raw)->attr_id++;
	CHECK_EQ(raw_call(fd, &raw), EPROTONOSUPPORT);
	bell(&raw)->len = 4;
	CHECK_EQ(raw_call(fd, &raw), EINVAL);
	/* The core ignores these bits. */
	bell(&raw)->flags |= 0x8000;
	CHECK_EQ(raw_call(fd, &raw), 0);
	bell(&raw)->attr_data.reserved = 1;
	CHECK_EQ(raw_call(fd, &raw), EINVAL);
	bell(&raw)->data |= 1ULL << 32;
	CHECK_EQ(raw_call(fd, &raw), ENOENT);
	bell(&raw);
	raw_handle(&raw, PINION_ATTR_QP_DOORBELL_HANDLE, link_.a.qp->handle);
	CHECK_EQ(raw_call(fd, &raw), EINVAL);
	bell(&raw);
	raw.hdr.num_attrs = 0;
	raw.hdr.length = sizeof(raw.hdr);
	CHECK_EQ(raw_call(fd, &raw), EINVAL);
	bell(&raw);
	raw.hdr.num_attrs = 2;
	CHECK_EQ(raw_call(fd, &raw), EINVAL);
	bell(&raw);
	raw.hdr.length++;
	CHECK_EQ(raw_call(fd, &raw), EINVAL);
	bell(&raw);
	raw.hdr.length = UINT16_MAX;
	CHECK_EQ(raw_call(fd, &raw), EINVAL);
	bell(&raw);
	raw.hdr.driver_id = 1;
	CHECK_EQ(raw_call(fd, &raw), EINVAL);
	bell(&raw);
	raw.hdr.reserved1 = 1;
	CHECK_EQ(raw_call(fd, &raw), EPROTONOSUPPORT);
	bell(&raw);
	raw.hdr.method_id = PINION_METHOD_QP_DOORBELL + 1;
	CHECK_EQ(raw_call(fd, &raw), EPROTONOSUPPORT);
	bell(&raw);
	raw.hdr.object_id = UVERBS_OBJECT_CQ;
	CHECK_EQ(raw_call(fd, &raw), EPROTONOSUPPORT);
	CHECK_EQ(ioctl(fd, RDMA_VERBS_IOCTL, NULL), -1);
	CHECK_EQ(errno, EFAULT);
	CHECK_EQ(ioctl(fd, RDMA_VERBS_IOCTL, -8L), -1);
	CHECK_EQ(errno, EFAULT);
}

/* Handles of objects of other types, and of none. */
static void i2_other_objects(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1 } };
	struct region r;
	struct ibv_srq *srq;
	struct ibv_mw *mw;
	uint32_t handles[6];
	size_t i;

	begin();
	r = region_new(100, 0, 0);
	srq = MUST(ibv_create_srq(dev.pd, &init));
	mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1));
	handles[0] = dev.pd->handle;
	handles[1] = link_.a.scq->handle;
	handles[2] = r.mr->handle;
	handles[3] = srq->handle;
	handles[4] = mw->handle;
	handles[5] = 0x7fffffff;
	for (i = 0; i < ARRAY_SIZE(handles); i++) {
		context("handle %zu", i);
		CHECK_EQ(raw_doorbell(fd, handles[i]),
			 handles[i] == 0x7fffffff ? ENOENT : EINVAL);
	}
	context("%s", "");
	CHECK_EQ(raw_dereg_mr(fd, link_.a.qp->handle), EINVAL);
}

/* The handle of a destroyed queue pair is none; that of an existing one is, in each state. */
static void i3_gone(void)
{
	uint32_t handle;

	begin();
	handle = link_.a.qp->handle;
	CHECK_EQ(raw_doorbell(fd, handle), 0);
	CHECK_EQ(ibv_destroy_qp(link_.a.qp), 0);
	CHECK_EQ(raw_doorbell(fd, handle), ENOENT);
	/* A doorbell is allowed in every state, and has the effect that the state has. */
	CHECK_EQ(end_set_state(&link_.b, IBV_QPS_ERR), 0);
	CHECK_EQ(raw_doorbell(fd, link_.b.qp->handle), 0);
	CHECK_EQ(end_set_state(&link_.b, IBV_QPS_RESET), 0);
	CHECK_EQ(raw_doorbell(fd, link_.b.qp->handle), 0);
}

/* An XRC target has no send queue; a shared handle of it belongs to another file. */
static void i4_xrc_target(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_RECV };
	int file = memfd_create("xrcd", 0);
	struct ibv_qp_open_attr open = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_context *other;
	struct ibv_qp *shared;
	struct end end;

	begin();
	cfg.xrcd = xrcd_open(dev.ctx, file);
	if (!cfg.xrcd)
		lacks("no XRC");
	end_make(&end, &cfg);
	CHECK_EQ(raw_doorbell(fd, end.qp->handle), EINVAL);
	other = device_another();
	open.xrcd = MUST(xrcd_open(other, file));
	open.qp_num = end.qp->qp_num;
	shared = MUST(ibv_open_qp(other, &open));
	CHECK_EQ(raw_doorbell(other->cmd_fd, shared->handle), EINVAL);
	CHECK_EQ(ibv_destroy_qp(shared), 0);
}

/* A write() to a file that was opened with other credentials is refused (CVE-2016-4565). */
static void other_user(void *arg)
{
	struct {
		uint32_t command;
		uint16_t in_words, out_words;
		uint64_t response;
		uint64_t driver[2];
	} call = { .command = IB_USER_VERBS_CMD_ALLOC_PD,
		   .in_words = 4,
		   .out_words = 1 };
	uint32_t response[8];

	(void)arg;
	call.response = (uintptr_t)response;
	CHECK_EQ(setresuid(1234, 1234, 1234), 0);
	errno = 0;
	CHECK_EQ(write(fd, &call, 16), -1);
	CHECK_EQ(errno, EACCES);
}

/* A command by write() of a user who did not open the file is refused. */
static void i9_other_user(void)
{
	need_root();
	begin();
	reap_ok(spawn(other_user, NULL));
}

static const struct test tests[] = {
	TEST(i1_doorbell, "I1 doorbells: what is refused"),
	TEST(i2_other_objects, "I2 doorbells of other objects"),
	TEST(i3_gone, "I3 doorbells in every state, and afterwards"),
	TEST(i4_xrc_target, "I4 doorbells of XRC targets"),
	TEST(i9_other_user, "I9 written to by another user (class 25)"),
};

HARNESS_MAIN("uverbs commands, written by hand", tests)
