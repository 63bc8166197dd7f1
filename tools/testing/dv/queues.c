// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queues whose rings are in umems, from the allocators of a parent domain (item D14): traffic,
 * and that nothing is left. Places of rings are tested in queue_places.c and queue_umem.c.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "keys.h"
#include "killed.h"
#include "own.h"
#include "pins.h"
#include "transfer.h"

enum { LEN = 100000 };

static struct own own;

/* These replace the functions of libibverbs: memory of an allocator is not exempted from fork(). */
static int fork_calls;

int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

int ibv_dontfork_range(void *base, size_t size)
{
	(void)base, (void)size;
	return fork_calls++, 0;
}

int ibv_dofork_range(void *base, size_t size)
{
	(void)base, (void)size;
	return fork_calls++, 0;
}

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

struct use {
	enum ibv_qp_type type;
	bool shared; /* receives come from a shared queue */
};

/* All rings are in memory of our allocators, messages go through them, and all of it is freed. */
static void q1_traffic(const void *with)
{
	const struct use *use = with;
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 50,
						    .max_sge = 4 } };
	struct qp_cfg cfg = { .type = use->type };
	const struct pinion_ring_hdr *hdr;
	struct link link;
	long pins;

	dv_begin_queues();
	pins = vm_pin(0);
	cfg.pd = own_domain(&own, dev.pd);
	cfg.scq = own_cq(cfg.pd);
	cfg.rcq = own_cq(cfg.pd);
	if (use->shared)
		cfg.srq = MUST(ibv_create_srq(cfg.pd, &init));
	link_make(&link, &cfg);
	CHECK_EQ(own.live[(uint32_t)PINION_RES_TYPE_CQ], 2);
	CHECK_EQ(own.live[(uint32_t)PINION_RES_TYPE_SQ], 2);
	CHECK_EQ(own.live[(uint32_t)PINION_RES_TYPE_RQ], use->shared ? 0 : 2);
	CHECK_EQ(own.live[(uint32_t)PINION_RES_TYPE_SRQ], use->shared);
	CHECK_EQ(ibv_dealloc_pd(cfg.pd), EBUSY);
	CHECK(vm_pin(0) > pins);
	move_data(&link);
	/* The ring in our memory is the one in use. */
	hdr = own.last[(uint32_t)(use->shared ? PINION_RES_TYPE_SRQ :
						PINION_RES_TYPE_RQ)];
	CHECK_EQ(hdr->user_idx, 100 + (use->type == IBV_QPT_UD) * 100);
	CHECK_EQ(hdr->kern_idx, hdr->user_idx);
	hdr = own.last[(uint32_t)PINION_RES_TYPE_CQ];
	CHECK(hdr->kern_idx >= 100);
	link_free(&link);
	if (use->shared)
		CHECK_EQ(ibv_destroy_srq(cfg.srq), 0);
	CHECK_EQ(ibv_destroy_cq(cfg.scq), 0);
	CHECK_EQ(ibv_destroy_cq(cfg.rcq), 0);
	own_check(&own);
	CHECK_EQ(vm_pin(0), pins);
	CHECK_EQ(ibv_dealloc_pd(cfg.pd), 0);
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

/* The allocator fails for the second ring: the first is freed. */
static void q2_allocators(void)
{
	struct ibv_parent_domain_init_attr attr = own_attr(&own);
	struct ibv_pd *domain;
	struct ibv_cq *cq;

	dv_begin_queues();
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

/* One ring in our memory, the other in kernel memory. */
static void q3_default(void)
{
	struct qp_cfg cfg = {};
	struct link link;

	dv_begin_queues();
	cfg.pd = own_domain(&own, dev.pd);
	own.answer = OWN_DEFAULT;
	own.left = 1;
	link_make(&link, &cfg);
	CHECK_EQ(own.live[(uint32_t)PINION_RES_TYPE_SQ], 1);
	move_data(&link);
	link_free(&link);
	own_check(&own);
}

/* ibv_alloc_parent_domain(3): fork() is the allocator's affair. */
static void q12_fork(void)
{
	struct qp_cfg cfg = {};
	struct link link;

	dv_begin_queues();
	cfg.pd = own_domain(&own, dev.pd);
	link_make(&link, &cfg);
	link_free(&link);
	own_check(&own);
	CHECK_EQ(fork_calls, 0);
	/* What is counted at all. */
	CHECK_EQ(ibv_dereg_mr(MUST(ibv_reg_mr(dev.pd, &own, sizeof(own), 0))),
		 0);
	CHECK_EQ(fork_calls, 2);
}

/* How often move_data() has ended in any process; in shared memory. */
static _Atomic unsigned long *moved;

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
	for (;;) {
		move_data(&link);
		++*moved;
	}
}

/*
 * A process with rings on umems is killed, in some rounds at any time, in others only once it has
 * moved data. The harness checks for leaks.
 */
static void q10_killed(void)
{
	int round, working = 0;

	dv_begin_queues();
	moved = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(moved != MAP_FAILED);
	for (round = 0; round < 15; round++) {
		unsigned long before = *moved;
		double end = now() + patience(60);
		int pid = spawn(all_kinds, NULL);

		while (round & 1 && *moved == before) {
			CHECK(now() < end);
			usleep(1000);
		}
		usleep(rnd_below(150000));
		killed(pid);
		working += *moved != before;
	}
	note("%d processes, %d of them had moved data", round, working);
}

static const struct use rc = { IBV_QPT_RC, false };
static const struct use rc_shared = { IBV_QPT_RC, true };
static const struct use ud = { IBV_QPT_UD, false };
static const struct use ud_shared = { IBV_QPT_UD, true };

static const struct test tests[] = {
	TEST_WITH(q1_traffic, &rc, "D14-VQ1-RC-with-all-rings-on-umems"),
	TEST_WITH(q1_traffic, &rc_shared,
		  "D14-VQ1-RC-with-a-shared-receive-queue"),
	TEST_WITH(q1_traffic, &ud, "D14-VQ1-UD"),
	TEST_WITH(q1_traffic, &ud_shared,
		  "D14-VQ1-UD-with-a-shared-receive-queue"),
	TEST(q2_allocators, "D14-VQ2-allocators-that-fail"),
	TEST(q3_default, "D14-VQ3-one-ring-in-the-kernel's-memory"),
	TEST(q12_fork, "D14-VQ12-fork-is-left-to-the-allocator"),
	LONG_TEST(q10_killed, "D13-VQ11-killed", 120),
};

HARNESS_MAIN("queues on umems", tests)
