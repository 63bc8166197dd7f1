// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Hostile users of a device with mlx5's ABI (type pinion-mlx5): hand-made calls that libmlx5 never
 * makes. The suite mlx5 tests those that libmlx5 makes.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "device.h"
#include "link.h"
#include "mlx5_box.h"
#include "pins.h"
#include "prm.h"
#include "raw.h"
#include "rdma_tool.h"

/* Offset of the clock page for mmap(). */
enum {
	CLOCK_AT = (MLX5_IB_MMAP_CLOCK_INFO << 8 | MLX5_IB_CLOCK_INFO_V1) * PAGE
};

static int fd;

static void link_add(void)
{
	fd = open(mlx5_box_make(), O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
}

static int get_context(const void *in, size_t in_length, void *out,
		       size_t out_length)
{
	return mlx5_box_context(fd, in, in_length, out, out_length);
}

static void begin(void)
{
	struct mlx5_ib_alloc_ucontext_resp resp;

	link_add();
	CHECK_EQ(get_context(&mlx5_box_opens, sizeof(mlx5_box_opens), &resp,
			     sizeof(resp)),
		 0);
	CHECK_EQ(resp.response_length, sizeof(resp));
	CHECK_EQ(resp.cqe_version, 1);
	CHECK_EQ(resp.tot_bfregs, 0);
}

static uint8_t *memory(size_t length)
{
	void *at = mmap(NULL, length, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

/* -------------------------------------------------------------- contexts */

/* Contexts with requests of wrong lengths, versions and flags are refused. */
static void mx1_contexts(void)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req;
	struct {
		struct mlx5_ib_alloc_ucontext_req_v2 req;
		uint64_t more;
	} longer = { .req = mlx5_box_opens, .more = 1 };
	uint8_t out[sizeof(struct mlx5_ib_alloc_ucontext_resp) + 64];
	size_t i;

	link_add();
	for (i = 0; i < sizeof(struct mlx5_ib_alloc_ucontext_req); i++) {
		context("%zu bytes", i);
		CHECK_EQ(get_context(&mlx5_box_opens, i, out, sizeof(out)),
			 EINVAL);
	}
	context(" ");
	/* Requests without dynamic UARs, of CQE version 0, or with unknown flags or fields. */
	CHECK_EQ(get_context(&mlx5_box_opens, 8, out, sizeof(out)), EOPNOTSUPP);
	req = mlx5_box_opens;
	req.lib_caps = MLX5_LIB_CAP_4K_UAR;
	CHECK_EQ(get_context(&req, sizeof(req), out, sizeof(out)), EOPNOTSUPP);
	req = mlx5_box_opens;
	req.max_cqe_version = 0;
	CHECK_EQ(get_context(&req, sizeof(req), out, sizeof(out)), EOPNOTSUPP);
	req = mlx5_box_opens;
	req.flags |= 2;
	CHECK_EQ(get_context(&req, sizeof(req), out, sizeof(out)), EINVAL);
	req = mlx5_box_opens;
	req.comp_mask = 1;
	CHECK_EQ(get_context(&req, sizeof(req), out, sizeof(out)), EOPNOTSUPP);
	CHECK_EQ(get_context(&longer, sizeof(longer), out, sizeof(out)),
		 EOPNOTSUPP);
	/* The answer cannot be written, so no context is made, and the next call can make one. */
	CHECK_EQ(get_context(&mlx5_box_opens, sizeof(mlx5_box_opens), (void *)8,
			     80),
		 EFAULT);
	memset(out, 0xee, sizeof(out));
	CHECK_EQ(get_context(&mlx5_box_opens, sizeof(mlx5_box_opens), out,
			     sizeof(out)),
		 0);
	for (i = sizeof(struct mlx5_ib_alloc_ucontext_resp); i < sizeof(out);
	     i++)
		CHECK_EQ(out[i], 0);
}

/* ------------------------------------------------------ completion queues */

static int create_cq(const void *req, size_t length, uint32_t *handle)
{
	struct mlx5_ib_create_cq_resp resp;
	const struct raw_payload payload = { req, length, &resp, sizeof(resp) };

	return raw_create_cq(fd, 63, &payload, handle);
}

static struct mlx5_ib_create_cq good_cq(void)
{
	return (struct mlx5_ib_create_cq){
		.buf_addr = (uintptr_t)memory(64 * 64),
		.db_addr = (uintptr_t)memory(PAGE),
		.cqe_size = 64,
	};
}

/* Completion queues with wrong sizes, flags and memory are refused, and pin nothing. */
static void mx2_completion_queues(void)
{
	struct mlx5_ib_create_cq req, good;
	void *readable = mmap(NULL, 2 * PAGE, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t handle;
	long before;
	size_t i;
	const struct {
		struct mlx5_ib_create_cq bad;
		int err;
	} cases[] = {
		{ { .cqe_size = 32 }, EINVAL },
		{ { .cqe_size = 0 }, EINVAL },
		{ { .cqe_size = 256 }, EINVAL },
		{ { .cqe_comp_en = 1 }, EINVAL },
		{ { .cqe_comp_res_format = 2 }, EINVAL },
		{ { .flags = MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD },
		  EOPNOTSUPP },
		{ { .flags = 0x8000 }, EOPNOTSUPP },
		{ { .reserved1 = 1 }, EOPNOTSUPP },
		{ { .buf_addr = 8 }, EINVAL },
		{ { .buf_addr = PAGE }, EFAULT },
		{ { .buf_addr = -64ULL }, EINVAL },
		{ { .buf_addr = (uintptr_t)readable }, EFAULT },
		{ { .db_addr = 4 }, EINVAL },
		{ { .db_addr = PAGE }, EFAULT },
		{ { .db_addr = (uintptr_t)readable }, EFAULT },
	};

	begin();
	good = good_cq();
	before = vm_pin(0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		context("case %zu", i);
		req = good;
		if (i < 3)
			req.cqe_size = cases[i].bad.cqe_size;
		req.cqe_comp_en |= cases[i].bad.cqe_comp_en;
		req.cqe_comp_res_format = cases[i].bad.cqe_comp_res_format;
		req.flags |= cases[i].bad.flags;
		req.reserved1 |= cases[i].bad.reserved1;
		if (cases[i].bad.buf_addr)
			req.buf_addr = cases[i].bad.buf_addr;
		if (cases[i].bad.db_addr)
			req.db_addr = cases[i].bad.db_addr;
		CHECK_EQ(create_cq(&req, sizeof(req), &handle), cases[i].err);
		CHECK_EQ(vm_pin(0), before);
	}
	for (i = 1; i < offsetof(struct mlx5_ib_create_cq, flags); i++) {
		context("%zu bytes", i);
		CHECK_EQ(create_cq(&good, i, &handle), EINVAL);
	}
	context(" ");
	CHECK_EQ(create_cq(&good, sizeof(good), &handle), 0);
	CHECK_EQ(vm_pin(0), before + 8);
	CHECK_EQ(raw_destroy_queue(fd, UVERBS_OBJECT_CQ, handle), 0);
	CHECK_EQ(vm_pin(0), before);
}

/* ----------------------------------------------------------- other queues */

static uint32_t make_cq(void)
{
	struct mlx5_ib_create_cq req = good_cq();
	uint32_t handle;

	CHECK_EQ(create_cq(&req, sizeof(req), &handle), 0);
	return handle;
}

static struct mlx5_ib_create_qp good_qp(void)
{
	return (struct mlx5_ib_create_qp){
		.buf_addr = (uintptr_t)memory(2 * PAGE),
		.db_addr = (uintptr_t)memory(PAGE),
		.sq_wqe_count = 64,
		.rq_wqe_count = 64,
		.rq_wqe_shift = 4,
		.flags = MLX5_QP_FLAG_SCATTER_CQE,
	};
}

/* Queue pairs with wrong sizes, flags and memory are refused, and pin nothing. */
static void mx3_queue_pairs(void)
{
	struct mlx5_ib_create_qp_resp resp;
	struct raw_payload payload = { .out = &resp,
				       .out_length = sizeof(resp) };
	struct mlx5_ib_create_qp req, good;
	uint32_t cq, pd, handle;
	long before;
	size_t i;
	/* Each case changes one field of a valid request. */
	const struct {
		size_t at;
		uint32_t value;
		int err;
	} cases[] = {
#define CASE(field, value, err) \
	{ offsetof(struct mlx5_ib_create_qp, field), value, err }
		CASE(sq_wqe_count, 63, EINVAL),
		CASE(sq_wqe_count, 65536, EINVAL),
		CASE(sq_wqe_count, 0x80000000, EINVAL),
		CASE(rq_wqe_count, 65, EINVAL),
		CASE(rq_wqe_count, 65536, EINVAL),
		CASE(rq_wqe_shift, 3, EINVAL),
		CASE(rq_wqe_shift, 11, EINVAL),
		CASE(rq_wqe_shift, 0xffffffff, EINVAL),
		/* The send queue reaches beyond the mapped memory. */
		CASE(sq_wqe_count, 32768, EFAULT),
		CASE(flags, MLX5_QP_FLAG_SIGNATURE, EOPNOTSUPP),
		CASE(flags, MLX5_QP_FLAG_TYPE_DCT, EOPNOTSUPP),
		CASE(flags, 0x80000000, EOPNOTSUPP),
		CASE(uidx, 0x1000000, EINVAL),
		CASE(sq_buf_addr, 1, EOPNOTSUPP),
		CASE(buf_addr, 8, EINVAL),
		CASE(buf_addr, PAGE, EFAULT),
		CASE(db_addr, PAGE, EFAULT),
		CASE(db_addr, PAGE + 4, EINVAL),
	};

	begin();
	cq = make_cq();
	pd = mlx5_box_pd(fd);
	good = good_qp();
	/* Two pages are mapped, and none behind them. */
	good.buf_addr = (uintptr_t)memory(16 * PAGE);
	CHECK_EQ(munmap((void *)(uintptr_t)(good.buf_addr + 2 * PAGE),
			14 * PAGE),
		 0);
	before = vm_pin(0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		context("case %zu", i);
		req = good;
		if (cases[i].at == offsetof(struct mlx5_ib_create_qp, buf_addr))
			req.buf_addr = cases[i].value;
		else if (cases[i].at ==
			 offsetof(struct mlx5_ib_create_qp, db_addr))
			req.db_addr = cases[i].value;
		else
			memcpy((uint8_t *)&req + cases[i].at, &cases[i].value,
			       sizeof(cases[i].value));
		payload.in = &req;
		payload.in_length = sizeof(req);
		CHECK_EQ(raw_create_qp(fd, pd, cq, -1, 64, &payload, &handle),
			 cases[i].err);
		CHECK_EQ(vm_pin(0), before);
	}
	payload.in = &good;
	for (i = 1; i < offsetof(struct mlx5_ib_create_qp, sq_buf_addr); i++) {
		context("%zu bytes", i);
		payload.in_length = i;
		CHECK_EQ(raw_create_qp(fd, pd, cq, -1, 64, &payload, &handle),
			 EINVAL);
	}
	context("no receives, of any size");
	req = good;
	req.rq_wqe_count = 0;
	req.rq_wqe_shift = 200;
	payload.in = &req;
	payload.in_length = sizeof(req);
	CHECK_EQ(raw_create_qp(fd, pd, cq, -1, 64, &payload, &handle), 0);
	CHECK_EQ(raw_destroy_queue(fd, UVERBS_OBJECT_QP, handle), 0);
	context(" ");
	/* Neither sends nor receives. */
	req = good;
	req.sq_wqe_count = 0;
	req.rq_wqe_count = 0;
	payload.in = &req;
	payload.in_length = sizeof(req);
	CHECK_EQ(raw_create_qp(fd, pd, cq, -1, 64, &payload, &handle), EINVAL);
	payload.in = &good;
	CHECK_EQ(raw_create_qp(fd, pd, cq, -1, 64, &payload, &handle), 0);
	CHECK_EQ(vm_pin(0), before + 12);
	CHECK_EQ(raw_destroy_queue(fd, UVERBS_OBJECT_QP, handle), 0);
	CHECK_EQ(vm_pin(0), before);
}

static int limit_srq(uint32_t handle, uint32_t limit)
{
	struct ib_uverbs_modify_srq cmd = {
		.srq_handle = handle,
		.attr_mask = IBV_SRQ_LIMIT,
		.srq_limit = limit,
	};

	return raw_command(fd, IB_USER_VERBS_CMD_MODIFY_SRQ, &cmd, sizeof(cmd),
			   NULL, 0);
}

/* Shared receive queues with wrong sizes, flags and memory are refused, and pin nothing. */
static void mx4_shared_queues(void)
{
	struct mlx5_ib_create_srq_resp resp;
	struct mlx5_ib_create_srq good = {
		.buf_addr = (uintptr_t)memory(PAGE),
		.db_addr = (uintptr_t)memory(PAGE),
	};
	struct raw_payload payload = { &good, sizeof(good), &resp,
				       sizeof(resp) };
	struct mlx5_ib_create_srq req;
	uint32_t pd, handle;
	long before;
	size_t i;

	begin();
	pd = mlx5_box_pd(fd);
	before = vm_pin(0);
	for (i = 1; i < offsetof(struct mlx5_ib_create_srq, flags); i++) {
		payload.in_length = i;
		CHECK_EQ(raw_create_srq(fd, pd, 127, &payload, &handle),
			 EINVAL);
	}
	payload.in_length = sizeof(req);
	payload.in = &req;
	req = good;
	req.flags = MLX5_SRQ_FLAG_SIGNATURE;
	CHECK_EQ(raw_create_srq(fd, pd, 127, &payload, &handle), EOPNOTSUPP);
	req = good;
	req.reserved1 = 1;
	CHECK_EQ(raw_create_srq(fd, pd, 127, &payload, &handle), EOPNOTSUPP);
	req = good;
	req.buf_addr += 8;
	CHECK_EQ(raw_create_srq(fd, pd, 127, &payload, &handle), EINVAL);
	req = good;
	req.db_addr = PAGE;
	CHECK_EQ(raw_create_srq(fd, pd, 127, &payload, &handle), EFAULT);
	req = good;
	CHECK_EQ(raw_create_srq(fd, pd, 32768, &payload, &handle), EINVAL);
	CHECK_EQ(raw_create_srq(fd, pd, 0xffffffff, &payload, &handle), EINVAL);
	CHECK_EQ(vm_pin(0), before);
	CHECK_EQ(raw_create_srq(fd, pd, 127, &payload, &handle), 0);
	CHECK_EQ(vm_pin(0), before + 8);
	CHECK_EQ(limit_srq(handle, 127), 0);
	CHECK_EQ(limit_srq(handle, 128), EINVAL);
	CHECK_EQ(raw_destroy_queue(fd, UVERBS_OBJECT_SRQ, handle), 0);
	CHECK_EQ(vm_pin(0), before);
}

/* ------------------------------------------------------------ the rest */

/* mmap() with each command and index fails, as nothing was allocated. */
static void mx5_offsets(void)
{
	uint64_t command, index;
	off_t offset;
	void *at;

	begin();
	for (command = 0; command < 256; command++) {
		for (index = 0; index < 4; index++) {
			offset = (command << 8 | index |
				  (rnd_below(2) ? index << 16 : 0)) *
				 PAGE;
			at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				  MAP_SHARED, fd, offset);
			CHECK(at == MAP_FAILED);
			/* The clock page exists, but must not be mapped writable. */
			CHECK_EQ(errno, offset == CLOCK_AT ? EPERM : EINVAL);
		}
	}
}

/* -------------------------------------------------------------- the clock */

static uint64_t clock_ns(clockid_t which)
{
	struct timespec at;

	CHECK_EQ(clock_gettime(which, &at), 0);
	return at.tv_sec * 1000000000ULL + at.tv_nsec;
}

/* Reads the clock page as libmlx5 does. */
static struct mlx5_ib_clock_info read_clock(const void *page)
{
	const volatile struct mlx5_ib_clock_info *shared = page;
	struct mlx5_ib_clock_info copy;
	uint32_t sign;

	do {
		sign = __atomic_load_n(&shared->sign, __ATOMIC_ACQUIRE);
		copy = *shared;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (sign & MLX5_IB_CLOCK_INFO_KERNEL_UPDATING ||
		 shared->sign != sign);
	return copy;
}

/* The time by the page equals that of the system, apart from the drift of the clocks. */
static void clock_is_right(const struct mlx5_ib_clock_info *info)
{
	enum { DRIFT_NS = 10000000 };
	uint64_t before = clock_ns(CLOCK_REALTIME), after, now;

	now = info->nsec + clock_ns(CLOCK_MONOTONIC_RAW) - info->cycles;
	after = clock_ns(CLOCK_REALTIME);
	CHECK(now > before - DRIFT_NS && now < after + DRIFT_NS);
}

/*
 * The clock page can be mapped read-only, shared and as a whole. It is updated while the device is
 * open, and stays mapped afterwards.
 */
static void mx10_clock(void)
{
	static const struct {
		size_t length;
		int prot, flags, err;
	} wrong[] = {
		{ PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, EPERM },
		{ PAGE, PROT_WRITE, MAP_SHARED, EPERM },
		{ PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, EPERM },
		{ PAGE, PROT_READ, MAP_PRIVATE, EINVAL },
		{ 2 * PAGE, PROT_READ, MAP_SHARED, EINVAL },
	};
	struct mlx5_ib_clock_info first, next;
	double limit = now() + patience(PATIENCE);
	void *page;
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		context("mapping %zu", i);
		CHECK(mmap(NULL, wrong[i].length, wrong[i].prot, wrong[i].flags,
			   fd, CLOCK_AT) == MAP_FAILED);
		CHECK_EQ(errno, wrong[i].err);
	}
	context(" ");
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, CLOCK_AT);
	CHECK(page != MAP_FAILED);
	CHECK(mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	CHECK_EQ(errno, EACCES);
	first = read_clock(page);
	CHECK_EQ(first.mult, 1);
	CHECK_EQ(first.shift, 0);
	CHECK_EQ(first.frac, 0);
	CHECK(first.mask == UINT64_MAX);
	clock_is_right(&first);
	do {
		CHECK(now() < limit);
		usleep(10000);
		next = read_clock(page);
	} while (next.sign == first.sign);
	CHECK(next.cycles > first.cycles);
	clock_is_right(&next);
	close(fd);
	mlx5_box_remove();
	read_clock(page);
}

/* Random bytes are refused, or make objects that can be destroyed. Some must be refused. */
static void mx6_any_bytes(void)
{
	uint8_t in[72], out[64];
	struct raw_payload payload = { in, 0, out, sizeof(out) };
	uint32_t cq, pd, handle;
	int round, refused = 0;
	uint8_t *place;
	int err, kind;
	long before;

	begin();
	cq = make_cq();
	pd = mlx5_box_pd(fd);
	place = memory(16 * PAGE);
	before = vm_pin(0);
	for (round = 0; round < 3000; round++) {
		rnd_fill(in, sizeof(in));
		/* Random addresses would never be mapped, so choose some near @place. */
		*(uint64_t *)in = (uintptr_t)place + rnd_below(16) * PAGE / 2;
		*(uint64_t *)(in + 8) = (uintptr_t)place + rnd_below(PAGE);
		if (rnd_below(4)) {
			memset(in + 16, 0, sizeof(in) - 16);
			*(uint64_t *)in &= -64ULL;
			*(uint64_t *)(in + 8) &= -8ULL;
		}
		in[16] = rnd_below(2) ? 64 : 1 << rnd_below(8);
		in[20] = rnd_below(2) ? 0 : 1 << rnd_below(8);
		in[24] = rnd_below(12);
		payload.in_length = rnd_below(2) ? sizeof(in) :
						   rnd_below(sizeof(in) + 1);
		kind = rnd_below(3);
		if (kind == 0)
			err = raw_create_cq(fd, rnd_below(300), &payload,
					    &handle);
		else if (kind == 1)
			err = raw_create_qp(fd, pd, cq, -1, rnd_below(300),
					    &payload, &handle);
		else
			err = raw_create_srq(fd, pd, rnd_below(300), &payload,
					     &handle);
		if (err) {
			refused++;
			CHECK(err == EINVAL || err == EOPNOTSUPP ||
			      err == EFAULT || err == ENOMEM);
			continue;
		}
		CHECK_EQ(raw_destroy_queue(fd,
					   kind == 0 ? UVERBS_OBJECT_CQ :
					   kind == 1 ? UVERBS_OBJECT_QP :
						       UVERBS_OBJECT_SRQ,
					   handle),
			 0);
	}
	note("%d of %d refused", refused, round);
	CHECK(refused > round / 10 && refused < round);
	CHECK_EQ(vm_pin(0), before);
}

/* The device is removed while in use: its memory is unpinned, and later calls fail. */
static void mx7_device_goes(void)
{
	struct mlx5_ib_create_qp_resp resp;
	struct mlx5_ib_create_qp req;
	struct raw_payload payload = { &req, sizeof(req), &resp, sizeof(resp) };
	uint32_t cq, pd, handle;
	long before;

	begin();
	before = vm_pin(0);
	cq = make_cq();
	pd = mlx5_box_pd(fd);
	req = good_qp();
	CHECK_EQ(raw_create_qp(fd, pd, cq, -1, 64, &payload, &handle), 0);
	CHECK(vm_pin(0) > before);
	CHECK_EQ(rdma_does("link delete " MLX5_BOX), 0);
	CHECK_EQ(vm_pin(0), before);
	req = good_qp();
	CHECK_EQ(raw_create_qp(fd, pd, cq, -1, 64, &payload, &handle), EIO);
}

/* A netdev has one device of any kind; calls with another driver's id fail. */
static void mx8_whose_it_is(void)
{
	struct mlx5_ib_alloc_ucontext_resp resp;

	link_add();
	CHECK(rdma_does("link add mlx5_two type pinion-mlx5 netdev lo"));
	CHECK(rdma_does("link add pinion_two type pinion netdev lo"));
	raw_driver = PINION_DRIVER_ID;
	CHECK_EQ(get_context(&mlx5_box_opens, sizeof(mlx5_box_opens), &resp,
			     sizeof(resp)),
		 EINVAL);
	raw_driver = RDMA_DRIVER_MLX5;
	CHECK_EQ(get_context(&mlx5_box_opens, sizeof(mlx5_box_opens), &resp,
			     sizeof(resp)),
		 0);
}

/* ------------------------------------------------------------- resizing */

static int resize_cq(uint32_t cq, uint32_t cqe, const void *req, size_t length)
{
	struct ib_uverbs_resize_cq_resp resp;
	struct ib_uverbs_resize_cq cmd = { .cq_handle = cq, .cqe = cqe };

	return raw_driver_command(fd, IB_USER_VERBS_CMD_RESIZE_CQ, &cmd,
				  sizeof(cmd), &resp, sizeof(resp),
				  &(struct raw_payload){ .in = req,
							 .in_length = length });
}

/* Returns the last byte of a completion: the opcode and the owner bit. */
static uint8_t end_of(const uint8_t *ring, uint32_t slot)
{
	return ring[slot * 64 + 63];
}

/*
 * Resizing fails without effect for bad memory, sizes and records. Otherwise the old ring ends with
 * a completion that says so, behind the last one, and is unpinned; repeated without polling.
 */
static void mx9_other_rings(void)
{
	struct mlx5_ib_create_cq first;
	struct mlx5_ib_resize_cq req, good;
	uint8_t *rings[2] = { memory(256 * 64), memory(256 * 64) }, *old;
	uint32_t cq, entries = 64, i;
	volatile uint32_t *record;
	long before;
	const struct {
		struct mlx5_ib_resize_cq bad;
		uint32_t cqe;
		int err;
	} cases[] = {
		{ { .cqe_size = 32 }, 127, EINVAL },
		{ { .cqe_size = 0 }, 127, EINVAL },
		{ { .reserved0 = 1 }, 127, EOPNOTSUPP },
		{ { .reserved1 = 1 }, 127, EOPNOTSUPP },
		{ { .buf_addr = 8 }, 127, EINVAL },
		{ { .buf_addr = PAGE }, 127, EFAULT },
		{ { .buf_addr = -64ULL }, 127, EINVAL },
		{ {}, 0, EINVAL },
		{ {}, 0x7fffffff, EINVAL },
		{ {}, 0xffffffff, EINVAL },
	};

	begin();
	first = good_cq();
	record = (uint32_t *)(uintptr_t)first.db_addr;
	CHECK_EQ(create_cq(&first, sizeof(first), &cq), 0);
	before = vm_pin(0);
	good = (struct mlx5_ib_resize_cq){ .buf_addr = (uintptr_t)rings[0],
					   .cqe_size = 64 };
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		context("case %u", i);
		req = good;
		if (i < 2)
			req.cqe_size = cases[i].bad.cqe_size;
		req.reserved0 = cases[i].bad.reserved0;
		req.reserved1 = cases[i].bad.reserved1;
		if (cases[i].bad.buf_addr)
			req.buf_addr = cases[i].bad.buf_addr;
		CHECK_EQ(resize_cq(cq, cases[i].cqe, &req, sizeof(req)),
			 cases[i].err);
		CHECK_EQ(vm_pin(0), before);
	}
	for (i = 0; i < sizeof(req); i++) {
		context("%u bytes", i);
		CHECK_EQ(resize_cq(cq, 127, &good, i), EINVAL);
	}
	context("a record that lies");
	*record = rnd() | 0x80; /* big-endian: our lowest byte is its highest */
	*record |= 0x0000ff00;
	CHECK_EQ(resize_cq(cq, 127, &good, sizeof(good)), EINVAL);
	CHECK_EQ(vm_pin(0), before);
	*record = 0;

	old = (uint8_t *)(uintptr_t)first.buf_addr;
	for (i = 0; i < 1000; i++) {
		context("exchange %u", i);
		req = good;
		req.buf_addr = (uintptr_t)rings[i & 1];
		CHECK_EQ(end_of(old, i & (entries - 1)) & 0xf0, 0);
		CHECK_EQ(resize_cq(cq, 255, &req, sizeof(req)), 0);
		CHECK_EQ(end_of(old, i & (entries - 1)),
			 0x50 | !!(i & entries));
		memset(old, 0, entries * 64);
		old = rings[i & 1];
		entries = 256;
	}
	context(" ");
	/* The ring has 4 pages now (it had 1), and the record still 1. */
	CHECK_EQ(vm_pin(0), before + 12);
	CHECK_EQ(raw_destroy_queue(fd, UVERBS_OBJECT_CQ, cq), 0);
	CHECK_EQ(vm_pin(0), before - 8);
}

/* --------------------------------------------------------- who it is taken for */

/* Reads a file of the parent of @device. Returns false if there is none. */
static bool parent_says(const char *device, const char *name, char *said,
			int size)
{
	char path[300];
	ssize_t got;
	int file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/%s",
		 device, name);
	file = open(path, O_RDONLY);
	if (file < 0)
		return false;
	got = read(file, said, size - 1);
	close(file);
	CHECK(got > 0);
	said[got] = 0;
	return true;
}

/* Numbers where a card has those of PCI, of a vendor that does not exist; only on such devices. */
static void mx11_numbers(void)
{
	char said[64];

	link_add();
	CHECK(parent_says(MLX5_BOX, "vendor", said, sizeof(said)));
	CHECK(!strcmp(said, "0xffff\n"));
	CHECK(parent_says(MLX5_BOX, "device", said, sizeof(said)));
	CHECK(!strcmp(said, "0x0001\n"));
	CHECK(!parent_says(device_name(), "vendor", said, sizeof(said)));
	CHECK(!parent_says(device_name(), "device", said, sizeof(said)));
}

/*
 * UCX takes IBV_ATOMIC_HCA of such a device to mean that it may send atomics of its own making, which
 * go to wrong addresses: see Documentation/mlx5.rst.
 */
static void mx12_atomics(void)
{
	struct ib_uverbs_query_device_resp said = {};
	struct ib_uverbs_query_device asked = {};

	begin();
	CHECK_EQ(raw_command(fd, IB_USER_VERBS_CMD_QUERY_DEVICE, &asked,
			     sizeof(asked), &said, sizeof(said)),
		 0);
	CHECK_EQ(said.atomic_cap, IBV_ATOMIC_GLOB);
}

static uint32_t umem_new(void)
{
	uint64_t addr = (uintptr_t)memory(PAGE), length = PAGE;
	uint32_t access = IBV_ACCESS_LOCAL_WRITE, id;
	struct raw raw;

	raw_begin(&raw, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG);
	raw_handle(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, 0);
	raw_in(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, &addr, sizeof(addr));
	raw_in(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, &length, sizeof(length));
	raw_in(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, &access,
	       sizeof(access));
	raw_out(&raw, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &id, sizeof(id));
	CHECK_EQ(raw_call(fd, &raw), 0);
	return id;
}

/* Has a command make a completion queue on the umem with this number. Return: its syndrome. */
static uint32_t cq_on(uint32_t id)
{
	struct prm_cq cq = { .umem_id = id,
			     .record_umem_id = id,
			     .eqn = 1,
			     .record = PAGE / 2 };
	uint8_t in[PRM_CQ], out[PRM_HEAD] = {};
	struct raw raw;
	int err;

	prm_create_cq(in, &cq);
	raw_begin(&raw, MLX5_IB_OBJECT_DEVX_OBJ,
		  MLX5_IB_METHOD_DEVX_OBJ_CREATE);
	raw_handle(&raw, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, 0);
	raw_in(&raw, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, in, sizeof(in));
	raw_out(&raw, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, out, sizeof(out));
	err = raw_call(fd, &raw);
	CHECK_EQ(err, prm_syndrome(out) ? EREMOTEIO : 0);
	return prm_syndrome(out);
}

/*
 * Memory that verbs name is pinned as a umem, with a number like those of the program's umems.
 * Numbers are given without gaps, and a command finds the program's umems only.
 */
static void mx13_no_command(void)
{
	enum { QUEUES = 3, OWN = 20 };
	struct mlx5_ib_resize_cq other = { .cqe_size = 64 };
	bool own[OWN + 4 * QUEUES] = {};
	uint32_t cq, id, last = 0, others = 0, i;
	struct mlx5_ib_create_cq req;

	begin();
	for (i = 0; i < QUEUES; i++) {
		req = good_cq();
		CHECK_EQ(create_cq(&req, sizeof(req), &cq), 0);
		/* The kernel gives up the first ring for another. */
		other.buf_addr = (uintptr_t)memory(PAGE);
		CHECK_EQ(resize_cq(cq, 63, &other, sizeof(other)), 0);
	}
	for (i = 0; i < OWN; i++) {
		id = umem_new();
		CHECK(id < ARRAY_SIZE(own));
		own[id] = true;
		last = id > last ? id : last;
	}
	for (id = 1; id <= last; id++) {
		context("umem %u", id);
		CHECK_EQ(cq_on(id), own[id] ? 0 : PRM_NO_UMEM);
		others += !own[id];
	}
	/* The ring and the record of each queue. */
	CHECK_EQ(others, 2 * QUEUES);
}

/* rdma(8) shows queues in memory of the program: their size, and how full they are. */
static void mx14_shown(void)
{
	struct mlx5_ib_resize_cq other = {
		.buf_addr = (uintptr_t)memory(512 * 64), .cqe_size = 64
	};
	struct mlx5_ib_create_qp_resp resp;
	struct mlx5_ib_create_cq cq_req;
	struct mlx5_ib_create_qp qp_req;
	const struct raw_payload payload = { &qp_req, sizeof(qp_req), &resp,
					     sizeof(resp) };
	uint32_t cq, qp, *record;
	char *said;

	begin();
	cq_req = good_cq();
	CHECK_EQ(create_cq(&cq_req, sizeof(cq_req), &cq), 0);
	CHECK_EQ(resize_cq(cq, 511, &other, sizeof(other)), 0);
	qp_req = good_qp();
	CHECK_EQ(raw_create_qp(fd, mlx5_box_pd(fd), cq, -1, 64, &payload, &qp),
		 0);
	record = (uint32_t *)(uintptr_t)qp_req.db_addr;
	record[0] = htobe32(5);
	record[1] = htobe32(3);
	said = rdma_says("-dd resource show cq dev " MLX5_BOX);
	/* That which ends the first ring is not counted. */
	if (!strstr(said, "drv_entries 512 drv_unpolled 0"))
		FAIL("%s", said);
	said = rdma_says("-dd resource show qp link " MLX5_BOX "/-");
	if (!strstr(said, "sq_entries 64") || !strstr(said, "sq_waiting 3") ||
	    !strstr(said, "rq_entries 64") || !strstr(said, "rq_waiting 5"))
		FAIL("%s", said);
}

static const struct test tests[] = {
	TEST(mx1_contexts, "MX1 contexts that are opened otherwise"),
	TEST(mx2_completion_queues,
	     "MX2 completion queues of bad memory (class 3)"),
	TEST(mx3_queue_pairs,
	     "MX3 queue pairs of bad sizes and memory (class 26)"),
	TEST(mx4_shared_queues, "MX4 shared receive queues likewise"),
	TEST(mx5_offsets, "MX5 offsets that nobody was given"),
	TEST(mx6_any_bytes, "MX6 any bytes for any queue"),
	TEST(mx7_device_goes, "MX7 the device goes (class 20)"),
	TEST(mx8_whose_it_is,
	     "MX8 one netdev, one device; another driver's id"),
	TEST(mx9_other_rings,
	     "MX9 rings of completions that are exchanged (class 26)"),
	TEST(mx10_clock, "MX10 the page of the clock"),
	TEST(mx11_numbers, "MX11 the numbers that programs know cards by"),
	TEST(mx12_atomics, "MX12 atomics are towards processors, too"),
	TEST(mx13_no_command, "MX13 no command finds memory of verbs"),
	TEST(mx14_shown, "MX14 queues as rdma(8) shows them"),
};

HARNESS_MAIN("devices that speak mlx5's ABI: users who do so badly", tests)
