// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Other processes write to a region as fast as they can while it ends, changes or
 * is invalidated: no byte moves after the call returned (items L1 to L6).
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"

enum { WRITERS = 3, LEN = 50000, MAX_LEN = 1 << 20 };

/*
 * In shared memory. Unreliable connections, whose responder does not break when it
 * refuses: the writers need not be waited for.
 */
static struct board {
	struct peer target[WRITERS], writer[WRITERS];
	volatile uint32_t rkey;
	volatile uint64_t addr, length;
	volatile bool stop;
	volatile int ready;
	volatile unsigned long writes[WRITERS];
} * board;

static struct link links[WRITERS]; /* .b is ours */
static int pids[WRITERS];

static void write_on(void *arg)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UC };
	long me = (long)arg;
	struct region mine;
	struct end end;

	device_open();
	end_make(&end, &cfg);
	mine = region_new(MAX_LEN, 9, 0);
	board->writer[me] = end_peer(&end);
	end_init(&end);
	end_connect(&end, &board->target[me]);
	__atomic_add_fetch(&board->ready, 1, __ATOMIC_SEQ_CST);
	while (!board->stop) {
		uint32_t length = board->length;

		expect(rdma(&end, IBV_WR_RDMA_WRITE, sge_of(&mine, 0, length),
			    board->addr, board->rkey),
		       IBV_WC_SUCCESS);
		board->writes[me]++;
	}
}

static void begin(size_t length)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UC };
	long i;

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(board != MAP_FAILED);
	board->length = length;
	for (i = 0; i < WRITERS; i++) {
		end_make(&links[i].b, &cfg);
		end_init(&links[i].b);
		board->target[i] = end_peer(&links[i].b);
	}
	for (i = 0; i < WRITERS; i++)
		pids[i] = spawn(write_on, (void *)i);
	while (board->ready < WRITERS)
		sched_yield();
	for (i = 0; i < WRITERS; i++)
		end_connect(&links[i].b, &board->writer[i]);
}

static void finish(unsigned long rounds)
{
	unsigned long writes = 0;
	int i;

	board->stop = true;
	for (i = 0; i < WRITERS; i++) {
		reap_ok(pids[i]);
		writes += board->writes[i];
	}
	note("%lu rounds, %lu writes", rounds, writes);
	CHECK(rounds && writes);
}

/* Whatever is put there now stays there. */
static void untouched(struct buf *buf)
{
	buf_fill(buf);
	usleep(rnd_below(200));
	buf_check(buf);
}

static void dereg(size_t length)
{
	struct buf *buf = buf_new(length, 77);
	unsigned long rounds = 0, seen = 0;
	double end;

	begin(length);
	for (end = now() + opt.seconds; now() < end; rounds++) {
		struct region r = region_reg(dev.pd, buf, ALL_ACCESS);

		board->addr = r.base;
		board->rkey = r.rkey;
		usleep(rnd_below(400));
		seen += !!memcmp(buf->data, buf->want, length);
		CHECK_EQ(ibv_dereg_mr(r.mr), 0);
		untouched(buf);
	}
	finish(rounds);
	note("written to in %lu of %lu rounds", seen, rounds);
	CHECK(seen);
}

static void l1_dereg(void)
{
	dereg(LEN);
}

static void l2_dereg_large(void)
{
	dereg(MAX_LEN);
}

static void l3_rereg(void)
{
	struct buf *bufs[2] = { buf_new(LEN, 77), buf_new(LEN, 1001) };
	unsigned long rounds = 0;
	struct region r;
	double end;

	r = region_reg(dev.pd, bufs[0], ALL_ACCESS);
	begin(LEN);
	board->addr = r.base;
	board->rkey = r.rkey;
	for (end = now() + opt.seconds; now() < end; rounds++) {
		struct buf *next = bufs[~rounds & 1];

		usleep(rnd_below(300));
		CHECK_EQ(ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_TRANSLATION,
				      NULL, next->data, LEN, 0),
			 0);
		untouched(bufs[rounds & 1]);
		board->addr = (uintptr_t)next->data;
	}
	finish(rounds);
}

static void l4_rights(void)
{
	struct buf *buf = buf_new(LEN, 77);
	unsigned long rounds = 0;
	struct region r;
	double end;

	r = region_reg(dev.pd, buf, ALL_ACCESS);
	begin(LEN);
	board->addr = r.base;
	board->rkey = r.rkey;
	for (end = now() + opt.seconds; now() < end; rounds++) {
		usleep(rnd_below(300));
		CHECK_EQ(ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				      NULL, 0, IBV_ACCESS_LOCAL_WRITE),
			 0);
		untouched(buf);
		CHECK_EQ(ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				      NULL, 0, ALL_ACCESS),
			 0);
	}
	finish(rounds);
}

/* Another domain, where the writers' peers are not. */
static void l5_domain(void)
{
	struct ibv_pd *away = MUST(ibv_alloc_pd(dev.ctx));
	struct buf *buf = buf_new(LEN, 77);
	unsigned long rounds = 0;
	struct region r;
	double end;

	r = region_reg(dev.pd, buf, ALL_ACCESS);
	begin(LEN);
	board->addr = r.base;
	board->rkey = r.rkey;
	for (end = now() + opt.seconds; now() < end; rounds++) {
		usleep(rnd_below(300));
		CHECK_EQ(ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_PD, away, NULL,
				      0, 0),
			 0);
		untouched(buf);
		CHECK_EQ(ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_PD, dev.pd,
				      NULL, 0, 0),
			 0);
	}
	finish(rounds);
}

static struct ibv_wc window_request(struct end *end, struct ibv_send_wr *wr)
{
	wr->send_flags = IBV_SEND_SIGNALED;
	post(end, wr);
	return await(end->scq);
}

/* A window of type 2 per writer: bound and invalidated on the writer's peer. */
static void l6_invalidate(void)
{
	struct buf *buf = buf_new(LEN, 77);
	unsigned long rounds = 0;
	struct ibv_mw *mw;
	struct region r;
	double end;

	r = region_reg(dev.pd, buf, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2));
	begin(LEN);
	board->addr = r.base;
	for (end = now() + opt.seconds; now() < end; rounds++) {
		struct end *at = &links[rounds % WRITERS].b;
		struct ibv_send_wr bind = {
			.opcode = IBV_WR_BIND_MW,
			.bind_mw = { .mw = mw,
				     .rkey = ibv_inc_rkey(mw->rkey),
				     .bind_info = { .mr = r.mr,
						    .addr = r.base,
						    .length = LEN,
						    .mw_access_flags =
							    IBV_ACCESS_REMOTE_WRITE } },
		};
		struct ibv_send_wr inv = { .opcode = IBV_WR_LOCAL_INV };

		expect(window_request(at, &bind), IBV_WC_SUCCESS);
		mw->rkey = bind.bind_mw.rkey;
		board->rkey = mw->rkey;
		usleep(rnd_below(300));
		inv.invalidate_rkey = mw->rkey;
		expect(window_request(at, &inv), IBV_WC_SUCCESS);
		untouched(buf);
	}
	finish(rounds);
}

static const struct test tests[] = {
	TEST(l1_dereg, "L1 dereg"),
	TEST(l2_dereg_large, "L2 dereg, large messages"),
	TEST(l3_rereg, "L3 rereg: translation"),
	TEST(l4_rights, "L4 rereg: rights"),
	TEST(l5_domain, "L5 rereg: domain"),
	TEST(l6_invalidate, "L6 windows invalidated"),
};

HARNESS_MAIN("No access afterwards, with other processes writing", tests)
