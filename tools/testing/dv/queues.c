// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queues whose rings are in a umem (item D14): what data flows through, where a ring may
 * be and where not, how long the umem is held, and what a user can spoil by it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dmabuf.h"
#include "keys.h"
#include "own.h"
#include "raw.h"
#include "resources.h"
#include "transfer.h"
#include "victim.h"

enum { WR = 16, LEN = 100000 };

/* ------------------------------------------------------- queues by hand */

enum kind { CQ, SQ, RQ, SRQ, KINDS };

static const char *const names[] = { "CQ", "SQ", "RQ", "SRQ" };
static const uint16_t objects[] = { UVERBS_OBJECT_CQ, UVERBS_OBJECT_QP,
				    UVERBS_OBJECT_QP, UVERBS_OBJECT_SRQ };
static uint32_t plain_cq;

static void begin(void)
{
	static const struct raw_payload nothing;

	dv_begin();
	if (!dev.pinion)
		skip("only pinion has these rings");
	CHECK_EQ(raw_create_cq(dev.ctx->cmd_fd, WR, &nothing, &plain_cq), 0);
}

/* What the ring of @kind takes. */
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

/* -------------------------------------------------------------- traffic */

static struct own own;

static struct ibv_cq *own_cq(struct ibv_pd *domain)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 64,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = domain,
	};

	return ibv_cq_ex_to_cq(MUST(ibv_create_cq_ex(dev.ctx, &attr)));
}

static void move_data(struct link *link)
{
	struct region a = region_new(4 * LEN, 5, ALL_ACCESS);
	struct region b = region_new(4 * LEN, 77, ALL_ACCESS);
	bool datagrams = link->a.cfg.type == IBV_QPT_UD;
	int i;

	for (i = 0; i < 200; i++)
		transfer(link, &a, &b,
			 &(struct transfer){
				 .opcode = datagrams || i & 1 ? IBV_WR_SEND :
					   i & 2 ? IBV_WR_RDMA_WRITE :
						   IBV_WR_RDMA_READ,
				 .length = rnd_in(1, datagrams ? 1000 : LEN),
				 .sges = rnd_in(1, 4),
				 .inline_data = false });
	region_free(&a);
	region_free(&b);
}

static void traffic_of(enum ibv_qp_type type, bool shared)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 50,
						    .max_sge = 4 } };
	struct qp_cfg cfg = { .type = type };
	const struct pinion_ring_hdr *hdr;
	struct link link;
	long pins;

	begin();
	pins = vm_pin(0);
	cfg.pd = own_domain(&own, dev.pd);
	cfg.scq = own_cq(cfg.pd);
	cfg.rcq = own_cq(cfg.pd);
	if (shared)
		cfg.srq = MUST(ibv_create_srq(cfg.pd, &init));
	link_make(&link, &cfg);
	CHECK_EQ(own.live[(uint32_t)PINION_RES_TYPE_CQ], 2);
	CHECK_EQ(own.live[(uint32_t)PINION_RES_TYPE_SQ], 2);
	CHECK_EQ(own.live[(uint32_t)PINION_RES_TYPE_RQ], shared ? 0 : 2);
	CHECK_EQ(own.live[(uint32_t)PINION_RES_TYPE_SRQ], shared);
	CHECK_EQ(ibv_dealloc_pd(cfg.pd), EBUSY);
	CHECK(vm_pin(0) > pins);
	move_data(&link);
	/* It is there that it happens. */
	hdr = own.last[(uint32_t)(shared ? PINION_RES_TYPE_SRQ :
					   PINION_RES_TYPE_RQ)];
	CHECK_EQ(hdr->user_idx, 100 + (type == IBV_QPT_UD) * 100);
	CHECK_EQ(hdr->kern_idx, hdr->user_idx);
	hdr = own.last[(uint32_t)PINION_RES_TYPE_CQ];
	CHECK(hdr->kern_idx >= 100);
	link_free(&link);
	if (shared)
		CHECK_EQ(ibv_destroy_srq(cfg.srq), 0);
	CHECK_EQ(ibv_destroy_cq(cfg.scq), 0);
	CHECK_EQ(ibv_destroy_cq(cfg.rcq), 0);
	own_check(&own);
	CHECK_EQ(vm_pin(0), pins);
	CHECK_EQ(ibv_dealloc_pd(cfg.pd), 0);
}

static void q1_rc(void)
{
	traffic_of(IBV_QPT_RC, false);
}

static void q1_rc_srq(void)
{
	traffic_of(IBV_QPT_RC, true);
}

static void q1_ud(void)
{
	traffic_of(IBV_QPT_UD, false);
}

static void q1_ud_srq(void)
{
	traffic_of(IBV_QPT_UD, true);
}

static struct ibv_qp *try_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
		.qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(pd, &init);
}

/* The first ring's memory is good, the second's is not. */
static void q2_allocators(void)
{
	struct ibv_parent_domain_init_attr attr = own_attr(&own);
	struct ibv_pd *domain;
	struct ibv_cq *cq;

	begin();
	attr.pd = dev.pd;
	attr.free = NULL;
	MUST_NOT(ibv_alloc_parent_domain(dev.ctx, &attr), EINVAL);
	domain = own_domain(&own, dev.pd);
	cq = MUST(ibv_create_cq(dev.ctx, 4, NULL, NULL, 0));
	own.answer = OWN_NOTHING;
	own.left = 1;
	MUST_NOT(try_qp(domain, cq), ENOMEM);
	own_check(&own);
	own.answer = OWN_READ_ONLY;
	own.left = 1;
	MUST_NOT(try_qp(domain, cq), EFAULT);
	own_check(&own);
	CHECK_EQ(vm_pin(0), 0);
	CHECK_EQ(ibv_dealloc_pd(domain), 0);
}

/* One ring in our memory, the other in the kernel's. */
static void q3_default(void)
{
	struct qp_cfg cfg = {};
	struct link link;

	begin();
	cfg.pd = own_domain(&own, dev.pd);
	own.answer = OWN_DEFAULT;
	own.left = 1;
	link_make(&link, &cfg);
	CHECK_EQ(own.live[(uint32_t)PINION_RES_TYPE_SQ], 1);
	move_data(&link);
	link_free(&link);
	own_check(&own);
}

/* ------------------------------------------------- where a ring may be */

static void refused_at(enum kind kind, struct buf *buf, umem_t umem,
		       uint64_t offset)
{
	uint32_t handle;

	context("%s at %#llx", names[kind], (unsigned long long)offset);
	CHECK_EQ(create(kind, umem, offset, &handle), EINVAL);
	buf_check(buf);
}

/* Nothing is written before it is used. */
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

	/* All of it, and a byte less. */
	umem = MUST(dv_umem(buf->data, bytes, UMEM_ACCESS, ~0ULL));
	made_at(kind, buf, umem, 0);
	for (at = 1; at <= bytes; at++)
		refused_at(kind, buf, umem, at);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	umem = MUST(dv_umem(buf->data, bytes - 1, UMEM_ACCESS, ~0ULL));
	refused_at(kind, buf, umem, 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);

	/* From the middle of a page on, across pages, on cache lines only. */
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

/* Rings may share bytes, but are no more in sum than the umem: who is charged for it? */
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

static void q4_places(void)
{
	enum kind kind;

	begin();
	for (kind = 0; kind < KINDS; kind++) {
		places_of(kind);
		crowd(kind);
	}
}

/* Memory that may be read only, is another's, is gone, or was never there. */
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
		/* No umem, but a place in it. */
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

/* A receive queue that the queue pair does not have. */
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
	/* An older provider's request ends before it. */
	CHECK_EQ(raw_create_qp(fd, dev.pd->handle, plain_cq, srq, WR,
			       &(struct raw_payload){ .in = &req,
						      .in_length = 16 },
			       &handle),
		 0);
	destroy(SQ, handle);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
}

/* Its send ring has a place, its receive ring does not fit. */
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

/* ------------------------------------------------------- all in one umem */

/* A queue pair and its completion queue, by hand, anywhere. */
struct placed {
	uint32_t cq, qp;
	volatile struct pinion_ring_hdr *cq_hdr, *sq_hdr;
};

static struct placed place_all(uint8_t *memory, uint32_t id, uint64_t cq_at,
			       uint64_t sq_at, uint64_t rq_at)
{
	struct pinion_create_qp_req qp = { .sq = { sq_at, id, 0 },
					   .rq = { rq_at, id, 0 } };
	struct pinion_create_cq_req cq = { .place = { cq_at, id, 0 } };
	struct placed placed = { .cq_hdr = (void *)(memory + cq_at),
				 .sq_hdr = (void *)(memory + sq_at) };

	/* That is for who makes a ring to do. */
	memset((void *)placed.cq_hdr, 0, sizeof(*placed.cq_hdr));
	memset((void *)placed.sq_hdr, 0, sizeof(*placed.sq_hdr));
	memset(memory + rq_at, 0, sizeof(*placed.sq_hdr));
	CHECK_EQ(raw_create_cq(dev.ctx->cmd_fd, WR,
			       &(struct raw_payload){ .in = &cq,
						      .in_length = sizeof(cq) },
			       &placed.cq),
		 0);
	CHECK_EQ(raw_create_qp(dev.ctx->cmd_fd, dev.pd->handle, placed.cq, -1,
			       WR,
			       &(struct raw_payload){ .in = &qp,
						      .in_length = sizeof(qp) },
			       &placed.qp),
		 0);
	return placed;
}

static void unplace(const struct placed *placed)
{
	destroy(SQ, placed->qp);
	destroy(CQ, placed->cq);
}

/*
 * To be taken through its states, as @qp, of which libibverbs knows nothing. Nothing is
 * tried twice.
 */
static struct end end_of(const struct placed *placed, struct ibv_qp *qp)
{
	qp->handle = placed->qp;
	return (struct end){ .cfg = { .type = IBV_QPT_RC,
				      .ctx = dev.ctx,
				      .raw = true,
				      .mtu = IBV_MTU_1024,
				      .timeout = -1,
				      .retry = -1,
				      .rnr_retry = -1,
				      .rnr_timer = -1 },
			     .qp = qp };
}

/* What is posted to a queue pair in error comes back flushed, some of it a little later. */
static void flushed(const struct placed *placed, uint32_t count)
{
	const struct pinion_cqe *cqe = (void *)(placed->cq_hdr + 1);
	double limit = now() + patience(PATIENCE);
	struct ibv_qp qp;
	struct end end = end_of(placed, &qp);
	uint32_t i;

	end_init(&end);
	CHECK_EQ(end_set_state(&end, IBV_QPS_ERR), 0);
	__atomic_store_n(&placed->sq_hdr->user_idx, count, __ATOMIC_RELEASE);
	CHECK_EQ(raw_doorbell(dev.ctx->cmd_fd, placed->qp), 0);
	while (placed->sq_hdr->kern_idx != count && now() < limit)
		usleep(1000);
	CHECK_EQ(placed->sq_hdr->kern_idx, count);
	CHECK_EQ(placed->cq_hdr->kern_idx, count);
	for (i = 0; i < count; i++)
		CHECK_EQ(cqe[i].status, IBV_WC_WR_FLUSH_ERR);
}

static void q7_dmabuf(void)
{
	int i, tried = 0;

	begin();
	for (i = 0; i < DMABUF_KINDS; i++) {
		struct mlx5dv_devx_umem_in in = {
			.addr = (void *)PAGE,
			.size = 4 * PAGE,
			.access = UMEM_ACCESS,
			.pgsz_bitmap = ~0ULL,
			.comp_mask = MLX5DV_UMEM_MASK_DMABUF,
		};
		struct dmabuf dmabuf;
		struct placed placed;
		umem_t umem;

		if (!dmabuf_there(&dmabuf_kinds[i]))
			continue;
		context("%s", dmabuf_kinds[i].name);
		dmabuf = dmabuf_new(&dmabuf_kinds[i], 6 * PAGE);
		in.dmabuf_fd = dmabuf.fd;
		umem = MUST(mlx5dv_devx_umem_reg_ex(dev.ctx, &in));
		placed = place_all(dmabuf.all->data + PAGE, umem->umem_id, 64,
				   PAGE + 128, 3 * PAGE);
		flushed(&placed, 7);
		CHECK_EQ(mlx5dv_devx_umem_dereg(umem), EBUSY);
		unplace(&placed);
		CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
		tried++;
	}
	if (!tried)
		skip("no exporter of dma-bufs");
}

/* ---------------------------------------------- what a user can spoil by it */

static bool over;

static void *scribble(void *arg)
{
	struct buf *buf = arg;
	uint64_t state = 88172645463325252ULL;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		uint32_t *word =
			(uint32_t *)buf->data + state % (buf->length / 4);

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		/* Indices that are nearly right are the worse ones. */
		__atomic_store_n(word,
				 state & 1 ? (uint32_t)(state >> 40) :
					     *word + (state >> 62),
				 __ATOMIC_RELAXED);
	}
	return NULL;
}

/* An index that cannot be is found on the way, and the queue pair is in error then. */
static void connect(const struct placed *placed, uint32_t qpn)
{
	struct peer peer = { .gid = dev.gid, .qpn = qpn };
	struct ibv_qp qp;
	struct end end = end_of(placed, &qp);

	end_init(&end);
	end_to_rtr(&end, &peer);
	end_to_rts(&end);
}

/* Two rings and more on the same bytes, and those change all the time. */
static void q8_same_bytes(void)
{
	volatile struct victim *victim = victim_start();
	double end = now() + opt.seconds;
	struct buf *buf;
	unsigned long rounds = 0;
	pthread_t thread;
	umem_t umem;

	begin();
	buf = buf_new(2 * PAGE, 0);
	umem = MUST(dv_umem(buf->data, buf->length, UMEM_ACCESS, ~0ULL));
	CHECK_EQ(pthread_create(&thread, NULL, scribble, buf), 0);
	for (; now() < end; rounds++) {
		struct placed placed;
		int i;

		placed = place_all(buf->data, umem->umem_id, 64 * rnd_below(20),
				   64 * rnd_below(20), 64 * rnd_below(20));
		connect(&placed, rnd() & 1 ? victim->qpn : rnd_below(1 << 24));
		for (i = 0; i < 20; i++)
			CHECK_EQ(raw_doorbell(dev.ctx->cmd_fd, placed.qp), 0);
		unplace(&placed);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	note("%lu queue pairs", rounds);
	victim_end(victim);
}

/* ------------------------------------------------------------ the end of it */

static void *dereg_again(void *arg)
{
	int err;

	while ((err = mlx5dv_devx_umem_dereg(arg)) == EBUSY)
		;
	CHECK_EQ(err, 0);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	return NULL;
}

/* Deregistered while rings are made: before or after, never between. */
static void q9_race(void)
{
	struct buf *buf = buf_new(LEN, 0);
	unsigned long made = 0;
	int i;

	begin();
	for (i = 0; i < 100; i++) {
		enum kind kind = rnd_below(KINDS);
		struct mlx5dv_devx_umem copy;
		uint32_t handle;
		pthread_t thread;
		umem_t umem;
		int err;

		over = false;
		umem = MUST(dv_umem(buf->data, LEN, UMEM_ACCESS, ~0ULL));
		copy = *umem;
		/* Once it holds, the other cannot win at once. */
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

static void all_kinds(void *arg)
{
	struct ibv_context *ctx = device_another();
	struct qp_cfg cfg = {};
	struct link link;

	(void)arg;
	dev.ctx = ctx;
	dev.pd = MUST(ibv_alloc_pd(ctx));
	cfg.pd = own_domain(&own, dev.pd);
	cfg.scq = own_cq(cfg.pd);
	cfg.rcq = own_cq(cfg.pd);
	link_make(&link, &cfg);
	for (;;)
		move_data(&link);
}

/* Killed at any time; the harness looks whether anything is left. */
static void q10_killed(void)
{
	int i;

	begin();
	for (i = 0; i < 15; i++) {
		int pid = spawn(all_kinds, NULL);

		usleep(rnd_below(150000));
		CHECK_EQ(kill(pid, SIGKILL), 0);
		reap(pid);
	}
}

static const struct test tests[] = {
	TEST(q1_rc, "D14-Q1-RC-with-all-rings-on-umems"),
	TEST(q1_rc_srq, "D14-Q1-RC-with-a-shared-receive-queue"),
	TEST(q1_ud, "D14-Q1-UD"),
	TEST(q1_ud_srq, "D14-Q1-UD-with-a-shared-receive-queue"),
	TEST(q2_allocators, "D14-Q2-allocators-that-fail"),
	TEST(q3_default, "D14-Q3-one-ring-in-the-kernel's-memory"),
	TEST(q4_places, "D14-Q4-places-in-a-umem-class-26"),
	TEST(q5_whose, "D14-Q5-D20-umems-that-will-not-do"),
	TEST(q6_absent, "D14-Q6-a-place-for-no-ring"),
	TEST(q10_failed, "D14-Q10-a-create-that-fails"),
	TEST(q7_dmabuf, "D14-Q7-rings-in-dma-bufs"),
	TEST(q8_same_bytes, "D14-Q8-rings-on-the-same-bytes"),
	LONG_TEST(q9_race, "D15-Q9-deregistered-meanwhile", 120),
	LONG_TEST(q10_killed, "D13-Q10-killed", 120),
};

HARNESS_MAIN("queues on umems", tests)
