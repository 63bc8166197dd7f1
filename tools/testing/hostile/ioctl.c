// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * uverbs ioctls that no library would send: doorbells of anything, payloads of any
 * length, and garbage for all methods of all objects (items I1 to I4, I7 to I9).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "raw.h"
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
	TEST(i7_ioctls, "I7 garbage for every method"),
	TEST(i8_commands, "I8 garbage for every command"),
	TEST(i9_other_user, "I9 written to by another user (class 25)"),
};

HARNESS_MAIN("uverbs commands, written by hand", tests)
