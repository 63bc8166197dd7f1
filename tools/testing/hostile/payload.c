// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The private requests and answers of this provider and its driver, of any version and length
 * (items I5, I6, I12).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buf.h"
#include "device.h"
#include "raw.h"
#include "resources.h"

static int fd;

static void begin(void)
{
	if (!dev.pinion)
		skip("of pinion only");
	fd = dev.ctx->cmd_fd;
}

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

/* Requests for a context of other versions and lengths are refused; without one nothing works. */
static void i5_context(void)
{
	struct {
		struct pinion_alloc_ucontext_req req;
		uint64_t more[2];
	} in = { .req.abi_version = PINION_ABI_VERSION };
	int file;

	begin();
	file = open_command_file();
	/* Without a context nothing works. */
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
	uint32_t handle;

	return raw_create_cq(fd, 10,
			     &(struct raw_payload){ req, in, out, out_length },
			     &handle);
}

/* Requests and answers of any length: unknown fields are refused, longer answers cleared. */
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
	/* For longer answers the rest is cleared; shorter ones are truncated. */
	memset(&out, 0xff, sizeof(out));
	CHECK_EQ(create_cq(&req, sizeof(req), &out, sizeof(out)), 0);
	CHECK(out.resp.ring.entries >= 10);
	CHECK(!out.more[0] && !out.more[3]);
	memset(&out, 0xff, sizeof(out));
	CHECK_EQ(create_cq(&req, 4, &out, 8), 0);
	CHECK_EQ(out.resp.ring.mmap_length, UINT64_MAX);
	CHECK_EQ(create_cq(NULL, 0, NULL, 0), 0);
}

/* Leaves many free pages that are full of other bytes than 0. */
static void dirty(void)
{
	enum { LENGTH = 16 << 20 };
	void *map = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(map != MAP_FAILED);
	memset(map, 0xa5, LENGTH);
	CHECK_EQ(munmap(map, LENGTH), 0);
}

/* A new ring has nothing of what was in its pages before. */
static void i14_rings(void)
{
	struct pinion_create_cq_req req = {};
	struct pinion_create_cq_resp cq;
	size_t length, at;
	uint32_t handle;
	uint8_t *map;
	int round;

	begin();
	for (round = 0; round < 3; round++) {
		dirty();
		CHECK_EQ(raw_create_cq(fd, 1000,
				       &(struct raw_payload){ &req, sizeof(req),
							      &cq, sizeof(cq) },
				       &handle),
			 0);
		length = cq.ring.mmap_length;
		CHECK(length > 8 * PAGE);
		map = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   cq.ring.mmap_offset);
		CHECK(map != MAP_FAILED);
		for (at = sizeof(struct pinion_ring_hdr); at < length; at++)
			CHECK_EQ(map[at], 0);
		CHECK_EQ(munmap(map, length), 0);
	}
}

static int resize_cq(uint32_t handle, uint32_t cqe, uint32_t step)
{
	struct ib_uverbs_resize_cq in = { .cq_handle = handle, .cqe = cqe };
	struct pinion_resize_cq_req req = { .step = step };
	struct ib_uverbs_resize_cq_resp out;
	struct pinion_create_cq_resp answer;

	return raw_driver_command(fd, IB_USER_VERBS_CMD_RESIZE_CQ, &in,
				  sizeof(in), &out, sizeof(out),
				  &(struct raw_payload){ &req, sizeof(req),
							 &answer,
							 sizeof(answer) });
}

static int resize_srq(uint32_t handle, uint32_t wr, uint32_t step, void *answer)
{
	struct ib_uverbs_modify_srq in = {
		.srq_handle = handle,
		.attr_mask = IBV_SRQ_MAX_WR,
		.max_wr = wr,
	};
	struct pinion_modify_srq_req req = {
		.resp_addr = (uintptr_t)answer,
		.step = step,
	};

	return raw_driver_command(
		fd, IB_USER_VERBS_CMD_MODIFY_SRQ, &in, sizeof(in), NULL, 0,
		&(struct raw_payload){ &req, sizeof(req), NULL, 0 });
}

/* Only the ring offered last can be taken; other calls change nothing. */
static void i12_resize_steps(void)
{
	struct ibv_srq_init_attr init = { .attr = { 8, 1, 0 } };
	enum { OFFER = PINION_RESIZE_OFFER, TAKE = PINION_RESIZE_TAKE };
	struct ibv_cq *cq = MUST(ibv_create_cq(dev.ctx, 8, NULL, NULL, 0));
	struct ibv_srq *srq = MUST(ibv_create_srq(dev.pd, &init));
	struct pinion_create_srq_resp answer;
	struct ibv_srq_attr attr;

	begin();
	CHECK_EQ(resize_cq(cq->handle, 100, 0), EINVAL);
	CHECK_EQ(resize_cq(cq->handle, 100, 3), EINVAL);
	CHECK_EQ(resize_cq(cq->handle, 100, TAKE), EINVAL);
	CHECK_EQ(resize_cq(cq->handle, 0, OFFER), EINVAL);
	CHECK_EQ(resize_cq(cq->handle, 100, OFFER), 0);
	CHECK_EQ(resize_cq(cq->handle, 1000, TAKE), EINVAL);
	CHECK_EQ(resize_cq(cq->handle, 100, TAKE), EINVAL);
	CHECK_EQ(resize_cq(cq->handle, 100, OFFER), 0);
	CHECK_EQ(resize_cq(cq->handle, 1000, OFFER), 0);
	CHECK_EQ(resize_cq(cq->handle, 1000, TAKE), 0);
	CHECK_EQ(resize_cq(cq->handle, 1000, TAKE), EINVAL);
	/* A ring that was offered and never taken is freed with the queue. */
	CHECK_EQ(resize_cq(cq->handle, 100, OFFER), 0);

	CHECK_EQ(resize_srq(srq->handle, 100, 0, &answer), EINVAL);
	CHECK_EQ(resize_srq(srq->handle, 100, 3, &answer), EINVAL);
	CHECK_EQ(resize_srq(srq->handle, 100, TAKE, &answer), EINVAL);
	CHECK_EQ(resize_srq(srq->handle, 100, OFFER, (void *)8), EFAULT);
	CHECK_EQ(resize_srq(srq->handle, 100, TAKE, &answer), EINVAL);
	CHECK_EQ(resize_srq(srq->handle, 100, OFFER, &answer), 0);
	CHECK_EQ(resize_srq(srq->handle, 1000, TAKE, &answer), EINVAL);
	CHECK_EQ(ibv_query_srq(srq, &attr), 0);
	CHECK_EQ(attr.max_wr, 8);
	CHECK_EQ(resize_srq(srq->handle, 100, OFFER, &answer), 0);
	CHECK_EQ(resize_srq(srq->handle, 1000, OFFER, &answer), 0);
	CHECK_EQ(resize_srq(srq->handle, 1000, TAKE, NULL), 0);
	CHECK_EQ(ibv_query_srq(srq, &attr), 0);
	CHECK_EQ(attr.max_wr, answer.ring.entries);
	CHECK_EQ(resize_srq(srq->handle, 100, OFFER, &answer), 0);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
}

static const struct test tests[] = {
	TEST(i5_context, "I5 versions and lengths of the context's request"),
	TEST(i6_create_cq, "I6 requests and answers of any length"),
	TEST(i14_rings, "I14 rings have no bytes of others"),
	TEST(i12_resize_steps, "I12 what a resize takes was offered"),
};

HARNESS_MAIN("Payloads of uverbs commands, written by hand", tests)
