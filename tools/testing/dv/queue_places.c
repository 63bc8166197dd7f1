// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Where in a umem a ring may be, tried by raw commands, and how long the ring holds the umem (item
 * D14).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>

#include "keys.h"
#include "pins.h"
#include "raw.h"

enum { WR = 16, LEN = 100000 };

enum kind { CQ, SQ, RQ, SRQ, KINDS };

static const char *const names[] = { "CQ", "SQ", "RQ", "SRQ" };
static const uint16_t objects[] = { UVERBS_OBJECT_CQ, UVERBS_OBJECT_QP,
				    UVERBS_OBJECT_QP, UVERBS_OBJECT_SRQ };
static uint32_t plain_cq;

static void begin(void)
{
	static const struct raw_payload nothing;

	dv_begin_queues();
	CHECK_EQ(raw_create_cq(dev.ctx->cmd_fd, WR, &nothing, &plain_cq), 0);
}

/* The size of a ring of @kind in bytes. */
static size_t bytes_of(enum kind kind)
{
	uint32_t stride = pinion_rq_stride(1);

	if (kind == CQ)
		stride = sizeof(struct pinion_cqe);
	else if (kind == SQ)
		stride = pinion_sq_stride(1, 0);
	return pinion_ring_bytes(WR, stride);
}

static int create_at(enum kind kind, struct pinion_ring_place place,
		     uint32_t *handle)
{
	struct pinion_create_cq_req cq = { .place = place };
	struct pinion_create_srq_req srq = { .place = place };
	struct pinion_create_qp_req qp = {};
	int fd = dev.ctx->cmd_fd;

	switch (kind) {
	case CQ:
		return raw_create_cq(
			fd, WR,
			&(struct raw_payload){ .in = &cq,
					       .in_length = sizeof(cq) },
			handle);
	case SRQ:
		return raw_create_srq(
			fd, dev.pd->handle, WR,
			&(struct raw_payload){ .in = &srq,
					       .in_length = sizeof(srq) },
			handle);
	default:
		*(kind == SQ ? &qp.sq : &qp.rq) = place;
		return raw_create_qp(
			fd, dev.pd->handle, plain_cq, -1, WR,
			&(struct raw_payload){ .in = &qp,
					       .in_length = sizeof(qp) },
			handle);
	}
}

static int create(enum kind kind, umem_t umem, uint64_t offset,
		  uint32_t *handle)
{
	return create_at(kind,
			 (struct pinion_ring_place){ .umem_id = umem->umem_id,
						     .offset = offset },
			 handle);
}

static void destroy(enum kind kind, uint32_t handle)
{
	CHECK_EQ(raw_destroy_queue(dev.ctx->cmd_fd, objects[kind], handle), 0);
}

static void refused_at(enum kind kind, struct buf *buf, umem_t umem,
		       uint64_t offset)
{
	uint32_t handle;

	context("%s at %#llx", names[kind], (unsigned long long)offset);
	CHECK_EQ(create(kind, umem, offset, &handle), EINVAL);
	buf_check(buf);
}

/* A ring can be created here, nothing is written when it is, and it holds the umem. */
static void made_at(enum kind kind, struct buf *buf, umem_t umem,
		    uint64_t offset)
{
	uint32_t handle;

	context("%s at %#llx", names[kind], (unsigned long long)offset);
	CHECK_EQ(create(kind, umem, offset, &handle), 0);
	buf_check(buf);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), EBUSY);
	destroy(kind, handle);
	buf_fill(buf);
}

static void places_of(enum kind kind)
{
	size_t bytes = bytes_of(kind), at;
	struct buf *buf = buf_new(LEN, 0);
	umem_t umem;

	/* A umem of exactly the ring's size, and one of a byte less. */
	umem = MUST(dv_umem(buf->data, bytes, UMEM_ACCESS, ~0ULL));
	made_at(kind, buf, umem, 0);
	for (at = 1; at <= bytes; at++)
		refused_at(kind, buf, umem, at);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	umem = MUST(dv_umem(buf->data, bytes - 1, UMEM_ACCESS, ~0ULL));
	refused_at(kind, buf, umem, 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);

	/*
	 * Places in the middle of pages and across pages; only those aligned to cache lines are
	 * valid.
	 */
	umem = MUST(dv_umem(buf->data + 5, LEN - 5, UMEM_ACCESS, ~0ULL));
	for (at = 0; at < 64; at++) {
		if (at != 59)
			refused_at(kind, buf, umem, at);
	}
	for (at = 59; at + bytes < 3 * PAGE; at += 64 * rnd_in(1, 9))
		made_at(kind, buf, umem, at);
	for (at = 1; at; at <<= 1) {
		if (at + bytes > LEN)
			refused_at(kind, buf, umem, at - 5);
	}
	refused_at(kind, buf, umem, UINT64_MAX - 68);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	CHECK_EQ(vm_pin(0), 0);
	buf_free(buf);
}

/* Rings may overlap, but their sum must not exceed the umem, to which the memory is charged. */
static void crowd(enum kind kind)
{
	struct buf *buf = buf_new(LEN, 0);
	uint32_t first, second;
	umem_t umem;

	umem = MUST(
		dv_umem(buf->data, 2 * bytes_of(kind) - 1, UMEM_ACCESS, ~0ULL));
	CHECK_EQ(create(kind, umem, 0, &first), 0);
	CHECK_EQ(create(kind, umem, 0, &second), ENOMEM);
	destroy(kind, first);
	CHECK_EQ(create(kind, umem, 0, &first), 0);
	destroy(kind, first);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	buf_free(buf);
}

/* Places of rings: each that fits into its umem works, and all others are refused. */
static void q4_places(void)
{
	enum kind kind;

	begin();
	for (kind = 0; kind < KINDS; kind++) {
		places_of(kind);
		crowd(kind);
	}
}

/* Umems that are read-only, of another context, gone, or never existed. */
static void q5_whose(void)
{
	struct ibv_context *mine = dev.ctx, *other = device_another();
	struct buf *buf = buf_new(LEN, 0);
	umem_t read_only, theirs, gone;
	enum kind kind;
	uint32_t handle;

	begin();
	read_only =
		MUST(dv_umem(buf->data, LEN, IBV_ACCESS_REMOTE_READ, ~0ULL));
	dev.ctx = other;
	theirs = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
	dev.ctx = mine;
	gone = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
	handle = gone->umem_id;
	CHECK_EQ(mlx5dv_devx_umem_dereg(gone), 0);
	gone = &(struct mlx5dv_devx_umem){ handle };
	for (kind = 0; kind < KINDS; kind++) {
		refused_at(kind, buf, read_only, 0);
		refused_at(kind, buf, theirs, 0);
		refused_at(kind, buf, gone, 0);
		refused_at(kind, buf, &(struct mlx5dv_devx_umem){ -1 }, 0);
		/* An offset without a umem. */
		refused_at(kind, buf, &(struct mlx5dv_devx_umem){ 0 }, 64);
		CHECK_EQ(create_at(kind,
				   (struct pinion_ring_place){
					   .umem_id = theirs->umem_id,
					   .reserved = 1 },
				   &handle),
			 EOPNOTSUPP);
	}
	CHECK_EQ(mlx5dv_devx_umem_dereg(theirs), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(read_only), 0);
	CHECK_EQ(ibv_close_device(other), 0);
}

/* A place for a receive ring, though the queue pair uses an SRQ. */
static void q6_absent(void)
{
	struct buf *buf = buf_new(LEN, 0);
	static const struct raw_payload nothing;
	struct pinion_create_qp_req req = {};
	int fd = dev.ctx->cmd_fd;
	uint32_t srq, handle;
	umem_t umem;

	begin();
	umem = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
	CHECK_EQ(raw_create_srq(fd, dev.pd->handle, WR, &nothing, &srq), 0);
	req.rq.umem_id = umem->umem_id;
	CHECK_EQ(raw_create_qp(fd, dev.pd->handle, plain_cq, srq, WR,
			       &(struct raw_payload){
				       .in = &req, .in_length = sizeof(req) },
			       &handle),
		 EINVAL);
	/* The request of an older provider ends before this field. */
	CHECK_EQ(raw_create_qp(fd, dev.pd->handle, plain_cq, srq, WR,
			       &(struct raw_payload){ .in = &req,
						      .in_length = 16 },
			       &handle),
		 0);
	destroy(SQ, handle);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
}

/* The send ring fits and the receive ring does not: nothing is left. */
static void q10_failed(void)
{
	struct buf *buf = buf_new(LEN, 0);
	struct pinion_create_qp_req req = {};
	uint32_t handle;
	umem_t umem;

	begin();
	umem = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
	req.sq.umem_id = umem->umem_id;
	req.rq.umem_id = umem->umem_id;
	req.rq.offset = LEN & ~63;
	CHECK_EQ(raw_create_qp(dev.ctx->cmd_fd, dev.pd->handle, plain_cq, -1,
			       WR,
			       &(struct raw_payload){
				       .in = &req, .in_length = sizeof(req) },
			       &handle),
		 EINVAL);
	buf_check(buf);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
}

static bool over;

static void *dereg_again(void *arg)
{
	int err;

	while ((err = mlx5dv_devx_umem_dereg(arg)) == EBUSY)
		;
	CHECK_EQ(err, 0);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	return NULL;
}

/*
 * Deregistration races with creating rings: it succeeds only when no ring exists, and later
 * rings fail.
 */
static void q9_race(void)
{
	struct buf *buf = buf_new(LEN, 0);
	int i, rounds = in_short() ? 25 : 100;
	unsigned long made = 0;

	begin();
	for (i = 0; i < rounds; i++) {
		enum kind kind = rnd_below(KINDS);
		struct mlx5dv_devx_umem copy;
		uint32_t handle;
		pthread_t thread;
		umem_t umem;
		int err;

		over = false;
		umem = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
		copy = *umem;
		/* Starts with a ring, so that deregistration cannot succeed at once. */
		CHECK_EQ(create(kind, &copy, 0, &handle), 0);
		CHECK_EQ(pthread_create(&thread, NULL, dereg_again, umem), 0);
		destroy(kind, handle);
		while (!(err = create(kind, &copy, 64, &handle))) {
			CHECK(!__atomic_load_n(&over, __ATOMIC_RELAXED));
			destroy(kind, handle);
			made++;
		}
		CHECK_EQ(err, EINVAL);
		pthread_join(thread, NULL);
		CHECK_EQ(vm_pin(0), 0);
	}
	note("%lu rings won", made);
}

static const struct test tests[] = {
	TEST(q4_places, "D14-VQ4-places-in-a-umem-class-26"),
	TEST(q5_whose, "D14-VQ5-D20-umems-that-will-not-do"),
	TEST(q6_absent, "D14-VQ6-a-place-for-no-ring"),
	TEST(q10_failed, "D14-VQ10-a-create-that-fails"),
	LONG_TEST(q9_race, "D15-VQ9-deregistered-meanwhile", 120),
};

HARNESS_MAIN("places of rings in a umem", tests)
