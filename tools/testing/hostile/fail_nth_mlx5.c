// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Contexts and queues of a device that speaks mlx5's ABI with their first, second, ... allocation or
 * copy failing (item N40). The calls are made by hand, so there are no faults of libmlx5's own.
 * Needs a kernel with fault injection.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mlx5_box.h"
#include "raw.h"
#include "sweep.h"

static const char *path;
static int fd = -1;

static int open_context(void)
{
	struct mlx5_ib_alloc_ucontext_resp resp;
	int err;

	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno;
	err = mlx5_box_context(fd, &mlx5_box_opens, sizeof(mlx5_box_opens),
			       &resp, sizeof(resp));
	if (err)
		close(fd);
	return err;
}

static void close_context(void)
{
	CHECK_EQ(close(fd), 0);
}

static uint64_t memory(size_t length)
{
	void *at = mmap(NULL, length, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	CHECK(at != MAP_FAILED);
	return (uintptr_t)at;
}

/* Room for any queue, which has its doorbell record on a page of its own. */
static uint64_t ring, record;
static uint32_t pd, handle, other;

static int create_cq(void)
{
	const struct mlx5_ib_create_cq req = { .buf_addr = ring,
					       .db_addr = record,
					       .cqe_size = 64 };
	struct mlx5_ib_create_cq_resp resp;

	return raw_create_cq(fd, 63,
			     &(struct raw_payload){ &req, sizeof(req), &resp,
						    sizeof(resp) },
			     &handle);
}

static void destroy_cq(void)
{
	CHECK_EQ(raw_destroy_queue(fd, UVERBS_OBJECT_CQ, handle), 0);
}

static int create_srq(void)
{
	const struct mlx5_ib_create_srq req = { .buf_addr = ring,
						.db_addr = record };
	struct mlx5_ib_create_srq_resp resp;

	return raw_create_srq(fd, pd, 127,
			      &(struct raw_payload){ &req, sizeof(req), &resp,
						     sizeof(resp) },
			      &handle);
}

static void destroy_srq(void)
{
	CHECK_EQ(raw_destroy_queue(fd, UVERBS_OBJECT_SRQ, handle), 0);
}

static int create_qp(void)
{
	const struct mlx5_ib_create_qp req = {
		.buf_addr = ring,
		.db_addr = record,
		.sq_wqe_count = 64,
		.rq_wqe_count = 64,
		.rq_wqe_shift = 4,
		.flags = MLX5_QP_FLAG_SCATTER_CQE,
	};
	struct mlx5_ib_create_qp_resp resp;

	return raw_create_qp(fd, pd, other, -1, 64,
			     &(struct raw_payload){ &req, sizeof(req), &resp,
						    sizeof(resp) },
			     &handle);
}

static void destroy_qp(void)
{
	CHECK_EQ(raw_destroy_queue(fd, UVERBS_OBJECT_QP, handle), 0);
}

/* Alternates between two rings of 256 completions. */
static int resize_cq(void)
{
	static int round;
	const struct mlx5_ib_resize_cq req = {
		.buf_addr = ring + (round & 1) * 4 * PAGE, .cqe_size = 64
	};
	struct ib_uverbs_resize_cq cmd = { .cq_handle = other, .cqe = 255 };
	struct ib_uverbs_resize_cq_resp resp;
	int err;

	err = raw_driver_command(
		fd, IB_USER_VERBS_CMD_RESIZE_CQ, &cmd, sizeof(cmd), &resp,
		sizeof(resp),
		&(struct raw_payload){ .in = &req, .in_length = sizeof(req) });
	round += !err;
	return err;
}

/* What the device has, which the list of the device under test does not have. */
static void read_objects(char *text, size_t size)
{
	int file = open("/sys/kernel/debug/pinion/" MLX5_BOX "/objects",
			O_RDONLY | O_CLOEXEC);
	ssize_t got;

	CHECK(file >= 0);
	got = read(file, text, size - 1);
	/* A list that is cut off could compare as equal. */
	CHECK(got > 0 && got < (ssize_t)size - 1);
	text[got] = 0;
	close(file);
}

static char before[1024];

static bool is_clean(char *text, size_t size)
{
	char now[sizeof(before)];

	read_objects(now, sizeof(now));
	snprintf(text, size, "%s", now);
	return !strcmp(now, before);
}

static void sweep_box(const char *name, int (*attempt)(void),
		      void (*undo)(void), unsigned int at_least)
{
	read_objects(before, sizeof(before));
	sweep(&(struct op){ .name = name,
			    .attempt = attempt,
			    .undo = undo,
			    .at_least = at_least,
			    .clean = is_clean,
			    .lasting = 1,
			    SWEEP_NO_RESTRACK });
}

/* Each allocation of opening contexts and making queues fails once, and nothing is left. */
static void n40_mlx5(void)
{
	fault_prepare();
	path = mlx5_box_make();
	/* No other context is open, so each one makes the page of the clock, too. */
	sweep_box("context", open_context, close_context, 8);
	CHECK_EQ(open_context(), 0);
	pd = mlx5_box_pd(fd);
	ring = memory(8 * PAGE);
	record = memory(PAGE);
	sweep_box("CQ", create_cq, destroy_cq, 16);
	sweep_box("SRQ", create_srq, destroy_srq, 16);
	CHECK_EQ(create_cq(), 0);
	other = handle;
	sweep_box("QP", create_qp, destroy_qp, 22);
	sweep_box("resize CQ", resize_cq, NULL, 7);
	handle = other;
	destroy_cq();
	close_context();
}

static const struct test tests[] = {
	LONG_TEST(n40_mlx5, "N40 contexts and queues of mlx5's ABI", 300),
};

HARNESS_MAIN("a device that speaks mlx5's ABI, with failing allocations", tests)
