// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keys and numbers: unpredictable, compared in full, refused and counted if they do not belong
 * to the user; regions that another process imports (items K1 to K8).
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "newer.h"

enum { LEN = 30011 };

static struct link link_;
static struct region all;

static void begin(void)
{
	link_make(&link_, NULL);
	all = region_new(LEN, 1234, ALL_ACCESS);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Each bit is set in about half of the values, and changes in about half of them. */
static void look_random(const char *what, const uint32_t *values, int count,
			int low, int high)
{
	int bit, i;

	for (bit = low; bit < high; bit++) {
		int ones = 0, changes = 0;

		for (i = 0; i < count; i++) {
			ones += values[i] >> bit & 1;
			changes += i && (values[i] ^ values[i - 1]) >> bit & 1;
		}
		/* 200 is more than 6 sigma: those of 4096 fair coins are 192. */
		if (abs(ones - count / 2) > 200 ||
		    abs(changes - count / 2) > 200)
			FAIL("bit %d of %s: %d ones and %d changes of %d", bit,
			     what, ones, changes, count);
	}
}

enum { COUNT = 4096 };

/*
 * No difference between values comes often: sequential keys behind any fixed sum, product or
 * mask have few different ones. Of 4096 random numbers, two of 32 bits are equal in every 500th
 * run; of 24 bits, half a pair is expected, and three pairs are very unlikely.
 */
static void no_step(const char *what, const uint32_t *a, const uint32_t *b,
		    int count, int bits)
{
	uint32_t *steps = MUST(calloc(count, sizeof(*steps)));
	uint32_t mask = bits < 32 ? (1U << bits) - 1 : UINT32_MAX;
	int by_xor, i, run, longest, same;

	for (by_xor = 0; by_xor < 2; by_xor++) {
		for (i = 0; i < count; i++)
			steps[i] = (by_xor ? a[i] ^ b[i] : a[i] - b[i]) & mask;
		qsort(steps, count, sizeof(*steps), compare);
		longest = run = same = 0;
		for (i = 1; i < count; i++) {
			run = steps[i] == steps[i - 1] ? run + 1 : 0;
			same += run == 1;
			longest = run > longest ? run : longest;
		}
		if (longest > 3 || same > 10)
			FAIL("%s: of %d %s %d come again, one %d times", what,
			     count, by_xor ? "differences by bit" : "steps",
			     same, longest + 1);
	}
	free(steps);
}

/* Differences from the value before, and from the one before that. */
static void no_steps(const char *what, const uint32_t *values, int count,
		     int bits)
{
	no_step(what, values + 1, values, count - 1, bits);
	no_step(what, values + 2, values, count - 2, bits);
}

/* In shared memory: the values that two processes got by turns. */
struct turns {
	uint32_t mine[COUNT], others[COUNT];
	volatile int turn;
};

static void take_turns(void *arg)
{
	struct turns *turns = arg;
	struct buf *buf;
	int i;

	device_open();
	buf = buf_new(PAGE, 0);
	for (i = 0; i < COUNT; i++) {
		while (__atomic_load_n(&turns->turn, __ATOMIC_ACQUIRE) !=
		       2 * i + 1)
			sched_yield();
		turns->others[i] =
			MUST(ibv_reg_mr(dev.pd, buf->data, 1, 0))->rkey;
		__atomic_store_n(&turns->turn, 2 * i + 2, __ATOMIC_RELEASE);
	}
}

/* A process cannot tell from its own keys which keys another process gets. */
static void k1_two_processes(void)
{
	struct buf *buf = buf_new(PAGE, 0);
	struct turns *turns;
	int i, pid;

	turns = mmap(NULL, sizeof(*turns), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(turns != MAP_FAILED);
	pid = spawn(take_turns, turns);
	for (i = 0; i < COUNT; i++) {
		turns->mine[i] =
			MUST(ibv_reg_mr(dev.pd, buf->data, 1, 0))->rkey;
		__atomic_store_n(&turns->turn, 2 * i + 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&turns->turn, __ATOMIC_ACQUIRE) !=
		       2 * i + 2)
			sched_yield();
	}
	reap_ok(pid);
	no_step("another's next key", turns->others, turns->mine, COUNT, 32);
	no_step("the next key after another's", turns->mine + 1, turns->others,
		COUNT - 1, 32);
}

/* Keys of regions look random: no bit, step or difference tells the next one. */
static void k1_mr_keys(void)
{
	uint32_t *keys = MUST(calloc(COUNT, sizeof(*keys)));
	struct buf *buf = buf_new(PAGE, 0);
	int i, same = 0;

	for (i = 0; i < COUNT; i++)
		keys[i] = MUST(ibv_reg_mr(dev.pd, buf->data, 1, 0))->rkey;
	look_random("rkeys", keys, COUNT, 0, 32);
	no_steps("rkeys", keys, COUNT, 32);
	qsort(keys, COUNT, sizeof(*keys), compare);
	for (i = 1; i < COUNT; i++)
		same += keys[i] == keys[i - 1];
	CHECK_EQ(same, 0);
}

/* So do keys of windows that come and go. */
static void k1_mw_keys(void)
{
	uint32_t *keys = MUST(calloc(COUNT, sizeof(*keys)));
	int i;

	for (i = 0; i < COUNT; i++) {
		struct ibv_mw *mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2));

		keys[i] = mw->rkey;
		CHECK_EQ(ibv_dealloc_mw(mw), 0);
	}
	look_random("rkeys", keys, COUNT, 0, 32);
	no_steps("rkeys", keys, COUNT, 32);
}

/* So do numbers of queue pairs. */
static void k2_qpns(void)
{
	uint32_t *qpns = MUST(calloc(COUNT, sizeof(*qpns)));
	struct qp_cfg cfg = { .wr = 1, .sge = 1 };
	struct end end;
	int i;

	cfg.scq = MUST(ibv_create_cq(dev.ctx, 1, NULL, NULL, 0));
	cfg.rcq = cfg.scq;
	for (i = 0; i < COUNT; i++) {
		end_make(&end, &cfg);
		qpns[i] = end.qp->qp_num;
		CHECK(qpns[i] > 1 && qpns[i] < 0xffffff);
		end_free(&end);
	}
	look_random("QP numbers", qpns, COUNT, 0, 24);
	no_steps("QP numbers", qpns, COUNT, 24);
}

static long long counted(const char *name)
{
	long long count = device_counter(name);

	if (count < 0)
		lacks("no counter %s", name);
	return count;
}

/* Each refusal is counted, by its reason; all unknown keys alike. */
static void k3_counters(void)
{
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	long long unknown, rights, range, local;
	struct region r, other;

	begin();
	unknown = counted("remote_key_unknown");
	rights = counted("remote_key_rights");
	range = counted("remote_key_range");
	local = counted("local_key_errors");
	r = region_new(LEN, 5, IBV_ACCESS_REMOTE_READ);
	other = region_reg(pd, buf_new(LEN, 9), ALL_ACCESS);

	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 8), r.base,
		r.rkey ^ 1, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 8), other.base,
		other.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 8), r.base, r.rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 8), r.base + LEN,
		r.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	expect(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&other, 0, 8), all.base,
		    all.rkey),
	       IBV_WC_LOC_PROT_ERR);
	/*
	 * All bad keys of others count as unknown, so that the counters do not tell which keys
	 * exist.
	 */
	counter_await("remote_key_unknown", unknown + 2);
	counter_await("remote_key_rights", rights + 1);
	counter_await("remote_key_range", range + 1);
	counter_await("local_key_errors", local + 1);
}

/* Keys near a valid one are refused. */
static void k4_guessing(void)
{
	int i;

	begin();
	/* Numbers near a valid key are not valid. */
	for (i = -40; i <= 40; i++) {
		if (!i)
			continue;
		context("key %+d", i);
		refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 8), all.base,
			all.rkey + i, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
		refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 8), all.base,
			all.rkey + i * 256, IBV_WC_REM_ACCESS_ERR,
			PINION_SYN_REMOTE);
	}
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 8), all.base, 0,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 8), all.base,
		UINT32_MAX, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
}

/* Keys of another context of the same process are refused for both sides. */
static void k5_other_context(void)
{
	struct ibv_context *ctx = device_another();
	struct ibv_pd *pd = MUST(ibv_alloc_pd(ctx));
	struct region other;

	begin();
	other = region_reg(pd, buf_new(LEN, 9), ALL_ACCESS);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 8), other.base,
		other.rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	expect_why(rdma(&link_.a, IBV_WR_RDMA_WRITE, sge_of(&other, 0, 8),
			all.base, all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_UNKNOWN);
	buf_check(other.buf);
}

/* An imported region has the same keys, and works after it is given back. */
static void k6_import(void)
{
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct region r;
	struct ibv_mr *mr;
	int fd;

	begin();
	r = region_new(LEN, 5, ALL_ACCESS);
	fd = dup(dev.ctx->cmd_fd);
	ctx = ibv_import_device(fd);
	if (!ctx)
		lacks("no import: errno %d", errno);
	pd = MUST(ibv_import_pd(ctx, dev.pd->handle));
	mr = MUST(ibv_import_mr(pd, r.mr->handle));
	CHECK_EQ(mr->lkey, r.mr->lkey);
	CHECK_EQ(mr->rkey, r.mr->rkey);
	CHECK_EQ(mr->length, r.mr->length);
	CHECK(!ibv_import_mr(pd, 0x7fffffff));
	ibv_unimport_mr(mr);
	exchange(&link_, &all, &r);
	ibv_unimport_pd(pd);
	CHECK_EQ(ibv_close_device(ctx), 0);
	exchange(&link_, &all, &r);
}

/* Sends @fd to another process. */
static void send_fd(int sock, int fd)
{
	char byte = 0, space[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = space,
			      .msg_controllen = sizeof(space) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	CHECK_EQ(sendmsg(sock, &msg, 0), 1);
}

static int receive_fd(int sock)
{
	char byte, space[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = space,
			      .msg_controllen = sizeof(space) };
	int fd;

	CHECK_EQ(recvmsg(sock, &msg, 0), 1);
	CHECK(CMSG_FIRSTHDR(&msg));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

struct offer {
	int sock;
	uint32_t pd, mr;
	uint64_t base;
};

/* A process uses a region of its parent by the keys, in the same protection domain. */
static void importer(void *arg)
{
	struct offer offer = *(struct offer *)arg;
	struct qp_cfg cfg = {};
	struct region there = {}, here;
	struct link link;
	struct ibv_mr *mr;

	cfg.ctx = MUST(ibv_import_device(receive_fd(offer.sock)));
	cfg.pd = MUST(ibv_import_pd(cfg.ctx, offer.pd));
	mr = MUST(ibv_import_mr(cfg.pd, offer.mr));
	link_make(&link, &cfg);
	here = region_reg(cfg.pd, buf_new(LEN, 77), ALL_ACCESS);
	there.base = offer.base;
	there.rkey = mr->rkey;
	memset(here.buf->data, 0x3c, LEN);
	expect(rdma(&link.a, IBV_WR_RDMA_WRITE, sge_of(&here, 0, LEN),
		    there.base, there.rkey),
	       IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(here.mr), 0);
	link_free(&link);
	ibv_unimport_mr(mr);
	ibv_unimport_pd(cfg.pd);
}

/* Another process imports domain and region, writes by the keys, and the data are there. */
static void k7_import_elsewhere(void)
{
	struct offer offer;
	int socks[2], pid;
	struct region r;

	begin();
	r = region_new(LEN, 5, ALL_ACCESS);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, socks), 0);
	offer = (struct offer){ socks[1], dev.pd->handle, r.mr->handle,
				r.base };
	pid = spawn(importer, &offer);
	send_fd(socks[0], dev.ctx->cmd_fd);
	reap_ok(pid);
	memset(r.buf->want, 0x3c, LEN);
	buf_check(r.buf);
	exchange(&link_, &all, &r);
}

/*
 * ibv_reg_mr_ex() registers memory with and without an iova; incomplete or unknown attributes are
 * refused.
 */
#ifdef HAVE_REG_MR_EX
static void k8_reg_mr_ex(void)
{
	struct buf *buf = buf_new(LEN, 0x123);
	struct ibv_mr_init_attr attr = {
		.length = LEN,
		.access = ALL_ACCESS,
		.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_IOVA,
		.addr = buf->data,
		.iova = 0x700000123,
	};
	struct region r;

	begin();
	r = region_of(buf, MUST(ibv_reg_mr_ex(dev.pd, &attr)), attr.iova);
	exchange(&link_, &all, &r);
	CHECK_EQ(ibv_dereg_mr(r.mr), 0);
	attr.comp_mask = IBV_REG_MR_MASK_ADDR;
	r = region_of(buf, MUST(ibv_reg_mr_ex(dev.pd, &attr)),
		      (uintptr_t)buf->data);
	exchange(&link_, &all, &r);
	attr.comp_mask = 0;
	CHECK(!ibv_reg_mr_ex(dev.pd, &attr));
	CHECK_EQ(errno, EINVAL);
	attr.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_FD_OFFSET;
	CHECK(!ibv_reg_mr_ex(dev.pd, &attr));
	CHECK_EQ(errno, EINVAL);
	/* A bit without a meaning. */
	attr.comp_mask = IBV_REG_MR_MASK_ADDR | 1U << 30;
	CHECK(!ibv_reg_mr_ex(dev.pd, &attr));
	CHECK_EQ(errno, EOPNOTSUPP);
	attr.comp_mask = IBV_REG_MR_MASK_ADDR | 1ULL << 40;
	CHECK(!ibv_reg_mr_ex(dev.pd, &attr));
	CHECK_EQ(errno, EOPNOTSUPP);
}
#endif

static const struct test tests[] = {
	TEST(k1_mr_keys, "K1 keys of regions cannot be guessed"),
	TEST(k1_mw_keys, "K1 keys of windows cannot be guessed"),
	TEST(k1_two_processes, "K1 nor from the keys of another process"),
	TEST(k2_qpns, "K2 QP numbers cannot be guessed"),
	TEST(k3_counters, "K3 refusals are counted by reason"),
	TEST(k4_guessing, "K4 near a key is no key"),
	TEST(k5_other_context, "K5 keys of another context"),
	TEST(k6_import, "K6 imported regions"),
	TEST(k7_import_elsewhere, "K7 imported in another process"),
	TEST(IF_REG_MR_EX(k8_reg_mr_ex), "K8 ibv_reg_mr_ex"),
};

HARNESS_MAIN("Keys", tests)
