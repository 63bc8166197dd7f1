// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the device reports as its limits works; one more is refused (class 23, items LM1 to LM8).
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link.h"
#include "memory.h"

#define ATTR (dev.attr.orig_attr)

/* All maxima in one queue pair: each must hold also together with the others. */
static struct qp_cfg largest(void)
{
	return (struct qp_cfg){ .wr = ATTR.max_qp_wr,
				.recv_wr = ATTR.max_qp_wr,
				.sge = ATTR.max_sge,
				.cqe = ATTR.max_cqe };
}

static int create(uint32_t wr, uint32_t recv_wr, uint32_t sge)
{
	struct ibv_qp_init_attr init = {
		.send_cq = MUST(ibv_create_cq(dev.ctx, 1, NULL, NULL, 0)),
		.qp_type = IBV_QPT_RC,
		.cap = { wr, recv_wr, sge, sge },
	};

	init.recv_cq = init.send_cq;
	return ibv_create_qp(dev.pd, &init) ? 0 : errno;
}

/* Queues of the reported length hold as many requests at a time; longer ones are refused. */
static void lm1_queues(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct qp_cfg cfg = largest();
	struct ibv_recv_wr *bad, recv = {};
	struct link link;
	int i;

	link_make(&link, &cfg);
	for (i = 0; i < ATTR.max_qp_wr; i++)
		CHECK_EQ(ibv_post_recv(link.b.qp, &recv, &bad), 0);
	/* In SQD nothing is executed, so that all requests wait at the same time. */
	CHECK_EQ(end_set_state(&link.a, IBV_QPS_SQD), 0);
	for (i = 0; i < ATTR.max_qp_wr; i++)
		CHECK_EQ(try_post(&link.a, &wr), 0);
	CHECK_EQ(end_set_state(&link.a, IBV_QPS_RTS), 0);
	wr.send_flags = IBV_SEND_SIGNALED;
	while (try_post(&link.a, &wr) == ENOMEM)
		usleep(1000);
	expect(await(link.a.scq), IBV_WC_SUCCESS);
	CHECK_EQ(create(ATTR.max_qp_wr + 1, 1, 1), EINVAL);
	CHECK_EQ(create(1, ATTR.max_qp_wr + 1, 1), EINVAL);
	CHECK_EQ(create(1, 1, ATTR.max_sge + 1), EINVAL);
	MUST_NOT(ibv_create_cq(dev.ctx, ATTR.max_cqe + 1, NULL, NULL, 0),
		 EINVAL);
}

/* The most pieces that are allowed, each of its own region. */
static void lm2_sges(void)
{
	enum { LEN = 4001 };
	struct region to = region_new(ATTR.max_sge * LEN, 5, ALL_ACCESS);
	struct ibv_sge *sges = MUST(calloc(ATTR.max_sge, sizeof(*sges)));
	struct qp_cfg cfg = { .sge = ATTR.max_sge };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = sges,
				  .num_sge = ATTR.max_sge };
	struct link link;
	int i;

	link_make(&link, &cfg);
	for (i = 0; i < ATTR.max_sge; i++) {
		struct region from = region_new(LEN, i, 0);

		sges[i] = sge_of(&from, 0, LEN);
		memcpy(to.buf->want + i * LEN, from.buf->data, LEN);
	}
	wr.wr.rdma.remote_addr = to.base;
	wr.wr.rdma.rkey = to.rkey;
	post(&link.a, &wr);
	expect(await(link.a.scq), IBV_WC_SUCCESS);
	buf_check(to.buf);
}

/* Fills @sges for @length bytes, each piece of it being the same memory. */
static void pieces_of(struct ibv_sge *sges, const struct ibv_mr *mr,
		      uint64_t length)
{
	uint64_t each = length / ATTR.max_sge;
	int i;

	for (i = 0; i < ATTR.max_sge; i++)
		sges[i] =
			(struct ibv_sge){ (uintptr_t)mr->addr, each, mr->lkey };
	sges[i - 1].length += length % ATTR.max_sge;
}

/* The longest message of many pieces, all of which are the same memory; then one byte more. */
static void lm3_pieces(void)
{
	uint64_t most = dev.port.max_msg_sz;
	uint64_t pieces = most / ATTR.max_sge / MEMORY_PIECE + 1;
	uint64_t size = pieces * MEMORY_PIECE;
	struct ibv_sge *sges = MUST(calloc(ATTR.max_sge, sizeof(*sges)));
	struct qp_cfg cfg = { .sge = ATTR.max_sge };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = sges,
				  .num_sge = ATTR.max_sge };
	struct ibv_mr *from, *to;
	struct link link;
	struct ibv_wc wc;

	need_root();
	from = MUST(
		ibv_reg_mr(dev.pd, memory_again_side_by_side(size), size, 0));
	to = MUST(ibv_reg_mr(dev.pd, memory_again_side_by_side(size), size,
			     ALL_ACCESS));
	memset(from->addr, 0x5a, MEMORY_PIECE);
	link_make(&link, &cfg);
	pieces_of(sges, to, most);
	post_recv(&link.b, sges, ATTR.max_sge, 1);
	pieces_of(sges, from, most);
	post(&link.a, &wr);
	expect(await(link.a.scq), IBV_WC_SUCCESS);
	wc = await(link.b.rcq);
	expect(wc, IBV_WC_SUCCESS);
	CHECK_EQ(wc.byte_len, most);
	CHECK(!memcmp(from->addr, to->addr, MEMORY_PIECE));
	pieces_of(sges, from, most + 1);
	post(&link.a, &wr);
	expect(await(link.a.scq), IBV_WC_LOC_LEN_ERR);
}

/* The same with regions of that length, each mapping a smaller piece of memory many times over. */
static void lm3_message(void)
{
	uint64_t most = dev.port.max_msg_sz;
	uint64_t size = (most / MEMORY_PIECE + 2) * MEMORY_PIECE;
	char *from, *to;
	struct ibv_mr *a, *b;
	struct ibv_sge sge;
	struct link link;

	if (in_short())
		skip("a short run sends it in pieces");
	need_root();
	from = memory_again_side_by_side(size);
	to = memory_again_side_by_side(size);
	memset(from, 0x5a, MEMORY_PIECE);
	link_make(&link, NULL);
	a = MUST(ibv_reg_mr(dev.pd, from, size, 0));
	b = MUST(ibv_reg_mr(dev.pd, to, size, ALL_ACCESS));
	sge = (struct ibv_sge){ (uintptr_t)from, most, a->lkey };
	expect(rdma(&link.a, IBV_WR_RDMA_WRITE, sge, (uintptr_t)to, b->rkey),
	       IBV_WC_SUCCESS);
	CHECK(!memcmp(from, to, MEMORY_PIECE));
	sge.length++;
	expect(rdma(&link.a, IBV_WR_RDMA_WRITE, sge, (uintptr_t)to, b->rkey),
	       IBV_WC_LOC_LEN_ERR);
}

/* As many reads and atomics at the same time as are allowed. */
static void lm4_reads(void)
{
	struct ibv_qp_attr attr = { .max_dest_rd_atomic =
					    ATTR.max_qp_rd_atom + 1 };
	struct link link;

	link_make(&link, NULL);
	CHECK_EQ(ibv_modify_qp(link.a.qp, &attr, IBV_QP_MAX_DEST_RD_ATOMIC),
		 EINVAL);
	attr.max_rd_atomic = ATTR.max_qp_init_rd_atom + 1;
	CHECK_EQ(ibv_modify_qp(link.a.qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC),
		 EINVAL);
	CHECK(ATTR.max_qp_rd_atom > 0 && ATTR.max_qp_init_rd_atom > 0);
}

/* Shared receive queues of the greatest length and width. */
static void lm5_shared(void)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = ATTR.max_srq_wr,
			  .max_sge = ATTR.max_srq_sge }
	};
	struct ibv_srq *srq = MUST(ibv_create_srq(dev.pd, &init));
	int i;

	for (i = 0; i < ATTR.max_srq_wr; i++)
		post_srq(srq, NULL, 0, i);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	init.attr.max_wr = ATTR.max_srq_wr + 1;
	init.attr.max_sge = 1;
	MUST_NOT(ibv_create_srq(dev.pd, &init), EINVAL);
	init.attr.max_wr = 1;
	init.attr.max_sge = ATTR.max_srq_sge + 1;
	MUST_NOT(ibv_create_srq(dev.pd, &init), EINVAL);
}

/* Completes one request by @end with this number. */
static void leave(struct end *end, uint64_t number)
{
	struct ibv_send_wr wr = { .wr_id = number,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED };

	post(end, &wr);
}

/* Resize from few entries to the maximum and back, with completions in the queue. */
static void lm6_completions(void)
{
	enum { FEW = 16 };
	struct qp_cfg cfg = { .wr = 2 * FEW };
	struct link link;
	int round, i;

	cfg.scq = MUST(ibv_create_cq(dev.ctx, FEW, NULL, NULL, 0));
	link_make2(&link, &cfg, NULL);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < FEW / 2; i++)
			leave(&link.a, i);
		CHECK_EQ(ibv_resize_cq(cfg.scq, ATTR.max_cqe), 0);
		CHECK(cfg.scq->cqe >= ATTR.max_cqe);
		for (; i < FEW; i++)
			leave(&link.a, i);
		CHECK_EQ(ibv_resize_cq(cfg.scq, ATTR.max_cqe + 1), EINVAL);
		for (i = 0; i < FEW / 2; i++)
			CHECK_EQ(await(cfg.scq).wr_id, i);
		CHECK_EQ(ibv_resize_cq(cfg.scq, FEW), 0);
		for (; i < FEW; i++)
			CHECK_EQ(await(cfg.scq).wr_id, i);
	}
}

static void take(struct link *link, int first, int end)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	for (; first < end; first++) {
		post(&link->a, &wr);
		expect(await(link->a.scq), IBV_WC_SUCCESS);
		CHECK_EQ(await(link->b.rcq).wr_id, first);
	}
}

/* The same for receive requests, all of which wait. */
static void lm6_shared(void)
{
	enum { FEW = 8 };
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = FEW, .max_sge = ATTR.max_srq_sge }
	};
	struct ibv_srq_attr attr = { .max_wr = ATTR.max_srq_wr };
	struct qp_cfg cfg = {};
	struct link link;
	int i;

	cfg.srq = MUST(ibv_create_srq(dev.pd, &init));
	link_make2(&link, NULL, &cfg);
	for (i = 0; i < FEW; i++)
		post_srq(cfg.srq, NULL, 0, i);
	CHECK_EQ(ibv_modify_srq(cfg.srq, &attr, IBV_SRQ_MAX_WR), 0);
	for (; i < ATTR.max_srq_wr; i++)
		post_srq(cfg.srq, NULL, 0, i);
	/* Resizing moves all of them; a smaller size is refused. */
	CHECK_EQ(ibv_modify_srq(cfg.srq, &attr, IBV_SRQ_MAX_WR), 0);
	attr.max_wr = ATTR.max_srq_wr / 2;
	CHECK_EQ(ibv_modify_srq(cfg.srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	attr.max_wr = ATTR.max_srq_wr + 1;
	CHECK_EQ(ibv_modify_srq(cfg.srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	take(&link, 0, 100);
	for (; i < ATTR.max_srq_wr + 100; i++)
		post_srq(cfg.srq, NULL, 0, i);
	attr.max_wr = ATTR.max_srq_wr;
	CHECK_EQ(ibv_modify_srq(cfg.srq, &attr, IBV_SRQ_MAX_WR), 0);
	take(&link, 100, 300);
}

/* On-demand regions have no table in advance, so their length is limited only by addresses. */
static void lm7_long(void)
{
	static const uint64_t lengths[] = { 1ULL << 30, (1ULL << 40) - 4096,
					    1ULL << 40, (1ULL << 40) + 12345,
					    1ULL << 46, 1ULL << 62,
					    1ULL << 63 };
	struct buf *buf = buf_new(9000, 77);
	struct region all, r;
	struct link link;
	size_t i;

	need_odp();
	link_make(&link, NULL);
	all = region_new(9000, 5, ALL_ACCESS);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		context("%#llx bytes", (unsigned long long)lengths[i]);
		r = region_of(buf,
			      MUST(ibv_reg_mr(dev.pd, buf->data, lengths[i],
					      ODP_ALL)),
			      (uintptr_t)buf->data);
		CHECK(r.mr->length == lengths[i]);
		exchange(&link, &all, &r);
		/* A short region can be changed to this length, too. */
		CHECK_EQ(ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_TRANSLATION,
				      NULL, buf->data, 9000, 0),
			 0);
		CHECK_EQ(ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_TRANSLATION,
				      NULL, buf->data, lengths[i], 0),
			 0);
		exchange(&link, &all, &r);
		CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	}
	context("%s", "");
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, (1ULL << 63) + 1, ODP_ALL),
		 EINVAL);
	/* A pinned region has a smaller limit; an end beyond 2^64 is refused. */
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, ATTR.max_mr_size + 1,
			    ALL_ACCESS),
		 EINVAL);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, -(uintptr_t)buf->data + 1,
			    ODP_ALL),
		 EINVAL);
	r = region_reg(dev.pd, buf, ALL_ACCESS);
	CHECK(ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			   buf->data, ATTR.max_mr_size + 1, 0));
	CHECK_EQ(errno, EINVAL);
	exchange(&link, &all, &r);
}

/* Page sizes: a page, and the block sizes of tables; not every bit of the number. */
static void lm7_pages(void)
{
	uint64_t sizes = dev.attr.orig_attr.page_size_cap;

	CHECK(sizes & PAGE);
	if (!dev.pinion)
		skip("of others we do not know");
	CHECK_EQ(sizes, (1ULL << 31) - PAGE);
}

/* Allocates all protection domains that one user may have, and keeps them until told to exit. */
static void squatter(void *arg)
{
	int i, *pipes = arg;
	char c;

	/*
	 * Closed so that read() below ends with the test: the change of uid clears
	 * PR_SET_PDEATHSIG.
	 */
	CHECK_EQ(close(pipes[3]), 0);
	CHECK_EQ(setresuid(12345, 12345, 12345), 0);
	device_open();
	/* The open device has one already. */
	for (i = 1; i < ATTR.max_pd; i++)
		MUST(ibv_alloc_pd(dev.ctx));
	MUST_NOT(ibv_alloc_pd(dev.ctx), ENOMEM);
	CHECK_EQ(write(pipes[1], "", 1), 1);
	CHECK_EQ(read(pipes[2], &c, 1), 1);
}

/* A user who takes all he may have of an object does not keep others from the device. */
static void lm8_share(void)
{
	struct region a, b;
	struct link link;
	int pipes[4], pid;
	char c;

	need_root();
	if (!dev.pinion)
		skip("others have no shares");
	CHECK_EQ(pipe(pipes), 0);
	CHECK_EQ(pipe(pipes + 2), 0);
	pid = spawn(squatter, pipes);
	CHECK_EQ(close(pipes[1]), 0);
	CHECK_EQ(read(pipes[0], &c, 1), 1);
	device_open();
	link_make(&link, NULL);
	a = region_new(1000, 3, ALL_ACCESS);
	b = region_new(1000, 5, ALL_ACCESS);
	exchange(&link, &a, &b);
	CHECK_EQ(write(pipes[3], ".", 1), 1);
	reap_ok(pid);
}

static const struct test tests[] = {
	TEST(lm7_pages, "LM7 page sizes (class 23)"),
	TEST(lm1_queues, "LM1 the longest queues (class 23)"),
	TEST(lm8_share, "LM8 one user leaves some to others (class 23)"),
	TEST(lm2_sges, "LM2 the most pieces (class 23)"),
	LONG_TEST(lm3_pieces, "LM3 the longest message, in pieces (class 23)",
		  120),
	LONG_TEST(lm3_message, "LM3 the longest message (class 23)", 120),
	TEST(lm4_reads, "LM4 reads at a time (class 23)"),
	TEST(lm5_shared, "LM5 shared receive queues (class 23)"),
	LONG_TEST(lm6_completions, "LM6 completion queues, resized (class 23)",
		  120),
	LONG_TEST(lm6_shared, "LM6 shared receive queues, resized (class 23)",
		  120),
	TEST(lm7_long, "LM7 on demand, of any length (class 23)"),
};

HARNESS_MAIN("Limits as reported and kept", tests)
