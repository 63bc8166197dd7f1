// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two processes on one device context: the second one imports objects of the first, and creates
 * queues of its own.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"

#define GET(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define SET(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELEASE)

enum { SHARED = 64 * 1024, ROUNDS = 200 };

struct shared {
	struct peer peers[2];
	uint32_t pd, mr;
	int ready[2];
	uint64_t sums[ROUNDS];
	uint8_t data[SHARED];
};

static void meet(struct shared *shared, int self, int step)
{
	double limit = now() + patience(PATIENCE);

	SET(shared->ready[self], step);
	while (GET(shared->ready[!self]) < step) {
		if (now() > limit)
			FAIL("the other process is not there");
		sched_yield();
	}
}

static uint64_t sum_of(const uint8_t *data, size_t length)
{
	uint64_t sum = length;

	while (length--)
		sum = sum * 31 + *data++;
	return sum;
}

static void connect_to(struct end *end, struct shared *shared, int self)
{
	shared->peers[self] = end_peer(end);
	meet(shared, self, 1);
	end_init(end);
	end_connect(end, &shared->peers[!self]);
	meet(shared, self, 2);
}

/*
 * The second process gets a file descriptor and two handles. It creates queues in the domain of
 * the first, and sends it the contents of its region.
 */
static void import_and_send(void *arg)
{
	struct shared *shared = arg;
	struct ibv_context *ctx;
	struct qp_cfg cfg = {};
	struct end end;
	struct ibv_mr *mr;
	int i, fd = dup(dev.ctx->cmd_fd);

	ctx = MUST(ibv_import_device(fd));
	cfg.ctx = ctx;
	cfg.pd = MUST(ibv_import_pd(ctx, shared->pd));
	mr = MUST(ibv_import_mr(cfg.pd, shared->mr));
	CHECK_EQ(mr->length, SHARED);
	end_make(&end, &cfg);
	connect_to(&end, shared, 1);

	for (i = 0; i < ROUNDS; i++) {
		uint32_t length = 1 + rnd_below(SHARED / 2);
		struct ibv_sge sge = {
			.addr = (uintptr_t)shared->data,
			.length = length,
			.lkey = mr->lkey,
		};

		rnd_fill(shared->data, length);
		shared->sums[i] = sum_of(shared->data, length);
		expect(send_sge(&end, sge), IBV_WC_SUCCESS);
		expect(rdma(&end, IBV_WR_RDMA_READ, sge,
			    (uintptr_t)shared->data + SHARED / 2, mr->rkey),
		       IBV_WC_SUCCESS);
		CHECK(!memcmp(shared->data, shared->data + SHARED / 2, length));
	}
	meet(shared, 1, 3);
	end_free(&end);
	ibv_unimport_mr(mr);
	ibv_unimport_pd(cfg.pd);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* A second process imports domain and region, and exchanges messages with the first. */
static void two_processes(void)
{
	struct link before;
	struct shared *shared;
	struct region near, far;
	struct ibv_mr *mr;
	struct end end;
	int pid, i;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	mr = MUST(ibv_reg_mr(dev.pd, shared->data, SHARED, ALL_ACCESS));
	shared->pd = dev.pd->handle;
	shared->mr = mr->handle;
	/* A queue pair created before the fork must survive it. */
	link_make(&before, NULL);
	near = region_new(SHARED, 0, ALL_ACCESS);
	far = region_new(SHARED, 0, ALL_ACCESS);
	pid = spawn(import_and_send, shared);

	end_make(&end, NULL);
	connect_to(&end, shared, 0);
	for (i = 0; i < ROUNDS; i++) {
		struct ibv_sge sge = {
			.addr = (uintptr_t)shared->data + SHARED / 2,
			.length = SHARED / 2,
			.lkey = mr->lkey,
		};
		struct ibv_wc wc;

		post_recv(&end, &sge, 1, i);
		wc = await(end.rcq);
		expect(wc, IBV_WC_SUCCESS);
		CHECK_EQ(sum_of(shared->data + SHARED / 2, wc.byte_len),
			 shared->sums[i]);
		if (!(i % 10))
			exchange(&before, &near, &far);
	}
	meet(shared, 0, 3);
	reap_ok(pid);

	exchange(&before, &near, &far);
	link_free(&before);
	end_free(&end);
	region_free(&near);
	region_free(&far);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(shared, sizeof(*shared));
}

/* Handles of no object, of a destroyed one, or of another type. */
static void no_such_handles(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct region r = region_new(100, 0, ALL_ACCESS);
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	struct ibv_dm *dm = MUST(ibv_alloc_dm(dev.ctx, &attr));
	const uint32_t gone = pd->handle, none = 0x7ffffff0;

	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	MUST_NOT(ibv_import_pd(dev.ctx, none), ENOENT);
	MUST_NOT(ibv_import_pd(dev.ctx, gone), ENOENT);
	MUST_NOT(ibv_import_pd(dev.ctx, r.mr->handle), EINVAL);
	MUST_NOT(ibv_import_mr(dev.pd, none), ENOENT);
	MUST_NOT(ibv_import_mr(dev.pd, gone), ENOENT);
	MUST_NOT(ibv_import_mr(dev.pd, dev.pd->handle), EINVAL);
	MUST_NOT(ibv_import_dm(dev.ctx, none), ENOENT);
	MUST_NOT(ibv_import_dm(dev.ctx, gone), ENOENT);
	MUST_NOT(ibv_import_dm(dev.ctx, r.mr->handle), EINVAL);
	/* The original objects still exist. */
	ibv_unimport_pd(MUST(ibv_import_pd(dev.ctx, dev.pd->handle)));
	ibv_unimport_mr(MUST(ibv_import_mr(dev.pd, r.mr->handle)));
	ibv_unimport_dm(MUST(ibv_import_dm(dev.ctx, dm->handle)));
	CHECK_EQ(ibv_free_dm(dm), 0);
	region_free(&r);
}

static const struct test tests[] = {
	TEST(two_processes, "a second process imports domain and region"),
	TEST(no_such_handles, "handles of nothing, and of something else"),
};

HARNESS_MAIN("A device context in two processes", tests)
