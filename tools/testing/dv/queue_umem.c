// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A queue pair with all its rings and its completion queue in one umem (item D14), of any kind
 * of memory, also while other writes go there.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "dmabuf.h"
#include "keys.h"
#include "raw.h"
#include "victim.h"

enum { WR = 16 };

/* A queue pair and its completion queue, made by raw commands at any place. */
struct placed {
	uint32_t cq, qp, qpn;
	volatile struct pinion_ring_hdr *cq_hdr, *sq_hdr, *rq_hdr;
};

static struct placed place_all(uint8_t *memory, uint32_t id, uint64_t cq_at,
			       uint64_t sq_at, uint64_t rq_at)
{
	struct pinion_create_qp_req qp = { .sq = { sq_at, id, 0 },
					   .rq = { rq_at, id, 0 } };
	struct pinion_create_cq_req cq = { .place = { cq_at, id, 0 } };
	struct placed placed = { .cq_hdr = (void *)(memory + cq_at),
				 .sq_hdr = (void *)(memory + sq_at),
				 .rq_hdr = (void *)(memory + rq_at) };

	/* Whoever creates a ring has to initialize its header. */
	memset((void *)placed.cq_hdr, 0, sizeof(*placed.cq_hdr));
	memset((void *)placed.sq_hdr, 0, sizeof(*placed.sq_hdr));
	memset((void *)placed.rq_hdr, 0, sizeof(*placed.rq_hdr));
	CHECK_EQ(raw_create_cq(dev.ctx->cmd_fd, WR,
			       &(struct raw_payload){ .in = &cq,
						      .in_length = sizeof(cq) },
			       &placed.cq),
		 0);
	CHECK_EQ(raw_create_qp_of(dev.ctx->cmd_fd, dev.pd->handle, placed.cq,
				  -1, WR,
				  &(struct raw_payload){
					  .in = &qp, .in_length = sizeof(qp) },
				  &placed.qp, &placed.qpn),
		 0);
	return placed;
}

static void unplace(const struct placed *placed)
{
	CHECK_EQ(raw_destroy_queue(dev.ctx->cmd_fd, UVERBS_OBJECT_QP,
				   placed->qp),
		 0);
	CHECK_EQ(raw_destroy_queue(dev.ctx->cmd_fd, UVERBS_OBJECT_CQ,
				   placed->cq),
		 0);
}

/* For state changes of @qp, which libibverbs does not know. Without retries. */
static struct end end_of(const struct placed *placed, struct ibv_qp *qp)
{
	qp->handle = placed->qp;
	return (struct end){ .cfg = { .device = &dev,
				      .type = IBV_QPT_RC,
				      .ctx = dev.ctx,
				      .raw = true,
				      .mtu = IBV_MTU_1024,
				      .timeout = -1,
				      .retry = -1,
				      .rnr_retry = -1,
				      .rnr_timer = -1 },
			     .qp = qp };
}

/* Requests posted in the error state are flushed, some of them a little later. */
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

/* Rings in dma-bufs of each exporter, which are busy until then. */
static void q7_dmabuf(void)
{
	int i, tried = 0;

	dv_begin_queues();
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

static bool over;

/* Races with the provider on purpose. */
__attribute__((no_sanitize("thread"))) static void *scribble(void *arg)
{
	struct buf *buf = arg;
	uint64_t numbers = rnd();

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		uint64_t state = rnd_next(&numbers);
		uint32_t *word = (uint32_t *)buf->data +
				 (state >> 2) % (buf->length / 4);

		/* Indices that are nearly right find more bugs than random ones. */
		__atomic_store_n(word,
				 state & 1 ? (uint32_t)(state >> 40) :
					     *word + (state >> 62),
				 __ATOMIC_RELAXED);
	}
	return NULL;
}

/*
 * Connect. An invalid index may be found meanwhile and put the QP into error: so nothing is
 * checked.
 */
static void connect(const struct placed *placed, uint32_t qpn)
{
	struct peer peer = { .gid = dev.gid, .qpn = qpn };
	struct ibv_qp qp;
	struct end end = end_of(placed, &qp);

	end_init(&end);
	end_to_rtr(&end, &peer);
	end_to_rts(&end);
}

/*
 * Post what is there, or a SEND of nothing. With indices that can be: most random ones are refused
 * before a request is looked at.
 */
static void post_something(const struct placed *placed)
{
	uint32_t next = placed->sq_hdr->kern_idx;
	struct pinion_sq_wqe *wqe = (void *)(placed->sq_hdr + 1);

	wqe = (void *)wqe +
	      next % WR * (sizeof(*wqe) + sizeof(struct pinion_sge));
	if (rnd() & 1)
		*wqe = (struct pinion_sq_wqe){ .opcode = PINION_OP_SEND };
	placed->rq_hdr->user_idx = placed->rq_hdr->kern_idx + WR;
	placed->sq_hdr->user_idx = next + 1;
	CHECK_EQ(raw_doorbell(dev.ctx->cmd_fd, placed->qp), 0);
}

/*
 * All rings overlap, and the bytes change all the time. Most queue pairs are their own peers, so
 * that messages arrive, in receive requests of such bytes.
 */
static void q8_same_bytes(void)
{
	volatile struct victim *victim = victim_start();
	long long invalid;
	double end = now() + opt.seconds;
	struct buf *buf;
	unsigned long rounds = 0;
	pthread_t thread;
	umem_t umem;

	dv_begin_queues();
	buf = buf_new(2 * PAGE, 0);
	umem = MUST(dv_umem(buf->data, buf->length, UMEM_ACCESS, ~0ULL));
	invalid = device_counter("invalid_requests");
	CHECK_EQ(pthread_create(&thread, NULL, scribble, buf), 0);
	for (; go_on(end, rounds >= 60); rounds++) {
		struct placed placed;
		int i;

		placed = place_all(buf->data, umem->umem_id, 64 * rnd_below(20),
				   64 * rnd_below(20), 64 * rnd_below(20));
		connect(&placed, rnd_below(4) ? placed.qpn :
				 rnd() & 1    ? victim->qpn :
						rnd_below(1 << 24));
		for (i = 0; i < 20; i++)
			post_something(&placed);
		unplace(&placed);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	invalid = device_counter("invalid_requests") - invalid;
	note("%lu queue pairs, %lld invalid requests", rounds, invalid);
	CHECK(invalid > 0);
	victim_end(victim);
}

static const struct test tests[] = {
	TEST(q7_dmabuf, "D14-VQ7-rings-in-dma-bufs"),
	TEST(q8_same_bytes, "D14-VQ8-rings-on-the-same-bytes"),
};

HARNESS_MAIN("queues in one umem", tests)
