// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * uverbs ioctls that no library would send: doorbells of anything, payloads of any
 * length, and garbage for all methods of all objects (items I1 to I9).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "raw.h"
#include "resources.h"
#include "victim.h"

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

static void i1_doorbell(void)
{
	struct raw raw;

	begin();
	bell(&raw);
	CHECK_EQ(raw_call(fd, &raw), 0);
	bell(&raw)->attr_id++;
	CHECK(raw_call(fd, &raw));
	bell(&raw)->len = 4;
	CHECK(raw_call(fd, &raw));
	/* The core does not look at these. */
	bell(&raw)->flags |= 0x8000;
	raw_call(fd, &raw);
	bell(&raw)->attr_data.reserved = 1;
	raw_call(fd, &raw);
	bell(&raw)->data |= 1ULL << 32;
	CHECK(raw_call(fd, &raw));
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
	CHECK(raw_call(fd, &raw));
	bell(&raw);
	raw.hdr.driver_id = 1;
	CHECK(raw_call(fd, &raw));
	bell(&raw);
	raw.hdr.reserved1 = 1;
	CHECK(raw_call(fd, &raw));
	bell(&raw);
	raw.hdr.method_id = PINION_METHOD_QP_DOORBELL + 1;
	CHECK(raw_call(fd, &raw));
	bell(&raw);
	raw.hdr.object_id = UVERBS_OBJECT_CQ;
	CHECK(raw_call(fd, &raw));
	CHECK(ioctl(fd, RDMA_VERBS_IOCTL, NULL));
	CHECK(ioctl(fd, RDMA_VERBS_IOCTL, -8L));
}

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
		CHECK(raw_doorbell(fd, handles[i]));
		CHECK_EQ(!raw_srq_doorbell(fd, handles[i]), i == 3);
	}
	CHECK(raw_srq_doorbell(fd, link_.a.qp->handle));
	CHECK(raw_dereg_mr(fd, link_.a.qp->handle));
}

static void i3_gone(void)
{
	uint32_t handle;

	begin();
	handle = link_.a.qp->handle;
	CHECK_EQ(raw_doorbell(fd, handle), 0);
	CHECK_EQ(ibv_destroy_qp(link_.a.qp), 0);
	CHECK(raw_doorbell(fd, handle));
	/* In every state it is allowed, and does what the state says. */
	CHECK_EQ(end_set_state(&link_.b, IBV_QPS_ERR), 0);
	CHECK_EQ(raw_doorbell(fd, link_.b.qp->handle), 0);
	CHECK_EQ(end_set_state(&link_.b, IBV_QPS_RESET), 0);
	CHECK_EQ(raw_doorbell(fd, link_.b.qp->handle), 0);
}

/* An XRC target has no send queue; a shared one is not even ours. */
static void i4_xrc_target(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.oflags = O_CREAT,
	};
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
	attr.fd = file;
	cfg.xrcd = ibv_open_xrcd(dev.ctx, &attr);
	if (!cfg.xrcd)
		skip("no XRC");
	end_make(&end, &cfg);
	raw_doorbell(fd, end.qp->handle);
	other = device_another();
	open.xrcd = MUST(ibv_open_xrcd(other, &attr));
	open.qp_num = end.qp->qp_num;
	shared = MUST(ibv_open_qp(other, &open));
	raw_doorbell(other->cmd_fd, shared->handle);
	CHECK_EQ(ibv_destroy_qp(shared), 0);
}

/* ------------------------------------------------------- payloads of verbs */

static int get_context(int file, const void *in, size_t length)
{
	struct raw raw;

	raw_begin(&raw, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	if (in)
		raw_in(&raw, UVERBS_ATTR_UHW_IN, in, length);
	return raw_call(file, &raw);
}

static int open_command_file(void)
{
	char path[128];
	int file;

	snprintf(path, sizeof(path), "/dev/infiniband/%s",
		 dev.ctx->device->dev_name);
	file = open(path, O_RDWR | O_CLOEXEC);
	CHECK(file >= 0);
	return file;
}

static void i5_context(void)
{
	struct {
		struct pinion_alloc_ucontext_req req;
		uint64_t more[2];
	} in = { .req.abi_version = PINION_ABI_VERSION };
	int file;

	begin();
	file = open_command_file();
	/* Nothing works before there is a context. */
	CHECK(raw_doorbell(file, 0));
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0) == MAP_FAILED);
	CHECK_EQ(get_context(file, NULL, 0), EINVAL);
	CHECK_EQ(get_context(file, &in, 4), EINVAL);
	in.req.abi_version++;
	CHECK_EQ(get_context(file, &in, 8), EOPNOTSUPP);
	in.req.abi_version = 0;
	CHECK_EQ(get_context(file, &in, 8), EOPNOTSUPP);
	in.req.abi_version = PINION_ABI_VERSION;
	in.req.reserved = 1;
	CHECK_EQ(get_context(file, &in, 8), EOPNOTSUPP);
	in.req.reserved = 0;
	in.more[1] = 1;
	CHECK_EQ(get_context(file, &in, sizeof(in)), EOPNOTSUPP);
	in.more[1] = 0;
	CHECK_EQ(get_context(file, &in, sizeof(in)), 0);
	CHECK(get_context(file, &in, 8));
	close(file);
}

static int create_cq(const struct pinion_create_cq_req *req, size_t in,
		     void *out, size_t out_length)
{
	uint64_t user = 0;
	uint32_t cqe = 10, got = 0, vector = 0;
	struct raw raw;

	raw_begin(&raw, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	raw_handle(&raw, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	raw_in(&raw, UVERBS_ATTR_CREATE_CQ_CQE, &cqe, sizeof(cqe));
	raw_in(&raw, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &user, sizeof(user));
	raw_in(&raw, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &vector,
	       sizeof(vector));
	raw_out(&raw, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &got, sizeof(got));
	if (in)
		raw_in(&raw, UVERBS_ATTR_UHW_IN, req, in);
	if (out_length)
		raw_out(&raw, UVERBS_ATTR_UHW_OUT, out, out_length);
	return raw_call(fd, &raw);
}

static void i6_create_cq(void)
{
	struct pinion_create_cq_req req = {};
	struct {
		struct pinion_create_cq_resp resp;
		uint64_t more[4];
	} out;
	void *read_only =
		mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct resources before, after;
	char text[256];

	begin();
	resources_read(&before);
	req.reserved = 1;
	CHECK_EQ(create_cq(&req, sizeof(req), &out, sizeof(out.resp)),
		 EOPNOTSUPP);
	req.reserved = 0;
	req.flags = 1 << 5;
	CHECK_EQ(create_cq(&req, sizeof(req), &out, sizeof(out.resp)),
		 EOPNOTSUPP);
	req.flags = 0;
	CHECK_EQ(create_cq(&req, sizeof(req), read_only, sizeof(out.resp)),
		 EFAULT);
	CHECK_EQ(create_cq(&req, sizeof(req), (void *)8, sizeof(out.resp)),
		 EFAULT);
	resources_read(&after);
	if (before.known &&
	    resources_differ(&before, &after, text, sizeof(text)))
		FAIL("left behind: %s", text);
	/* Shorter and longer answers; what is beyond is cleared. */
	memset(&out, 0xff, sizeof(out));
	CHECK_EQ(create_cq(&req, sizeof(req), &out, sizeof(out)), 0);
	CHECK(out.resp.ring.entries >= 10);
	CHECK(!out.more[0] && !out.more[3]);
	memset(&out, 0xff, sizeof(out));
	CHECK_EQ(create_cq(&req, 4, &out, 8), 0);
	CHECK_EQ(out.resp.ring.mmap_length, UINT64_MAX);
	CHECK_EQ(create_cq(NULL, 0, NULL, 0), 0);
}

/* -------------------------------------------------------------- garbage */

static uint8_t *arena;

static uint64_t some_pointer(void)
{
	switch (rnd_below(6)) {
	case 0:
		return rnd();
	case 1:
		return 8;
	case 2:
		return (uintptr_t)arena + PAGE * 4 - rnd_below(64);
	default:
		return (uintptr_t)arena + rnd_below(PAGE);
	}
}

static uint64_t some_data(size_t length)
{
	if (rnd() & 1)
		return rnd_below(40);
	return length > 8 || rnd() & 1 ? some_pointer() : rnd();
}

static void garbage_ioctl(void)
{
	static const uint16_t lengths[] = { 0,	1,  2,	4,  8,	12,  16,
					    24, 32, 40, 64, 72, 128, 4000 };
	struct raw raw;
	uint32_t i, n = rnd_below(12);

	raw_begin(&raw, rnd_below(24), rnd_below(12));
	if (!rnd_below(10))
		raw.hdr.object_id |= PINION_NS;
	if (!rnd_below(6))
		raw.hdr.method_id = PINION_NS + 0x80;
	for (i = 0; i < n; i++) {
		size_t length = lengths[rnd_below(ARRAY_SIZE(lengths))];
		struct ib_uverbs_attr *attr;

		attr = raw_handle(&raw, rnd() & 1 ? i : rnd_below(20),
				  some_data(length));
		attr->len = length;
		if (!rnd_below(8))
			attr->attr_id |= PINION_NS;
		if (!rnd_below(3))
			attr->flags = 0;
		if (!rnd_below(30))
			attr->flags = rnd();
	}
	if (!rnd_below(30))
		raw.hdr.length = rnd();
	if (!rnd_below(30))
		raw.hdr.driver_id = rnd();
	raw_call(fd, &raw);
}

/* Words that are often handles, small numbers, flags or pointers. */
static void garbage_arena(void)
{
	uint32_t *word = (void *)arena;
	size_t i;

	for (i = 0; i < 64; i++) {
		word[i] = rnd() & 3 ? rnd_below(20) : rnd();
		if (!rnd_below(8)) {
			uint64_t pointer = some_pointer();

			memcpy(&word[i & ~1ULL], &pointer, 8);
		}
	}
}

static void garbage_command(void)
{
	uint32_t command = rnd_below(52);

	/* Those that wait for events, or make files. */
	if (command == IB_USER_VERBS_CMD_GET_CONTEXT)
		return;
	if (rnd() & 1) {
		raw_command(fd, command, arena, rnd_below(64) * 4, arena + 1024,
			    rnd_below(64) * 4);
		return;
	}
	/* The same by write(), whose header gives lengths in words. */
	{
		struct {
			uint32_t command;
			uint16_t in_words, out_words;
			uint8_t body[256];
		} call = { .command = command | (rnd_below(6) ? 0 : 1U << 31),
			   .in_words = 2 + rnd_below(64),
			   .out_words = rnd_below(64) };

		memcpy(call.body, arena, sizeof(call.body));
		if (!rnd_below(20))
			call.in_words = rnd();
		if (write(fd, &call,
			  call.in_words * 4 < (int)sizeof(call) ?
				  call.in_words * 4 :
				  (int)sizeof(call)) < 0)
			return;
	}
}

static void garbage_round(void *arg)
{
	bool commands = arg;
	int i;

	device_open();
	link_make(&link_, NULL);
	region_new(9000, 5, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1);
	fd = dev.ctx->cmd_fd;
	arena = mmap(NULL, 5 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(arena != MAP_FAILED);
	munmap(arena + 4 * PAGE, PAGE);
	/* Whatever it may wait for. */
	alarm(2);
	for (i = 0; i < 600; i++) {
		garbage_arena();
		if (commands)
			garbage_command();
		else
			garbage_ioctl();
	}
}

static void garbage(bool commands)
{
	volatile struct victim *v = victim_start();
	double end = now() + opt.seconds;
	unsigned long rounds = 0;

	for (; now() < end; rounds++) {
		int pid;

		rnd_seed(opt.seed + rounds);
		pid = spawn(garbage_round, (void *)commands);
		/* It may have killed itself in many ways: that is its affair. */
		reap(pid);
	}
	note("%lu processes", rounds);
	victim_end(v);
}

static void i7_ioctls(void)
{
	garbage(false);
}

static void i8_commands(void)
{
	garbage(true);
}

/* A file that was opened by another must not be written to (CVE-2016-4565). */
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
	TEST(i5_context, "I5 versions and lengths of the context's request"),
	TEST(i6_create_cq, "I6 requests and answers of any length"),
	TEST(i7_ioctls, "I7 garbage for every method"),
	TEST(i8_commands, "I8 garbage for every command"),
	TEST(i9_other_user, "I9 written to by another user"),
};

HARNESS_MAIN("uverbs commands, written by hand", tests)
