// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_reg_dmabuf_mr(3) while the exporter moves the buffer or takes it away: contents follow,
 * and the old memory is not touched any more (item A68). The buffer is at device_across(), and so
 * requests that name it by lkey go the other way.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dmabuf.h"
#include "link.h"
#include "resources.h"

enum { SIZE = 64 * 4096, LEN = 200001 };

static struct link link_, back;
static struct region all;

/* One buffer, and all of it as a region across. */
static struct dmabuf buffer;
static struct region whole;

static struct region across(const struct dmabuf *dmabuf, size_t at,
			    size_t length, uint64_t iova)
{
	return dmabuf_region_at(device_across(), dmabuf, at, length, iova,
				ALL_ACCESS);
}

static void begin(void)
{
	need_exporter();
	link_across(&link_, NULL);
	back = link_back(&link_);
	all = region_new(LEN, 1234, ALL_ACCESS);
}

static void begin_whole(void)
{
	begin();
	buffer = dmabuf_own(SIZE, 0);
	whole = across(&buffer, 0, SIZE, 0);
}

static void no_access(struct region *r)
{
	refused(&link_, IBV_WR_RDMA_READ, sge_of(&all, 0, 8), r->base, r->rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_RDMA_WRITE, sge_of(&all, 0, 8), r->base, r->rkey,
		IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	refused(&link_, IBV_WR_ATOMIC_FETCH_AND_ADD, sge_of(&all, 0, 8),
		r->base, r->rkey, IBV_WC_REM_ACCESS_ERR, PINION_SYN_REMOTE);
	expect_why(rdma(&back.a, IBV_WR_RDMA_WRITE, sge_of(r, 0, 9), all.base,
			all.rkey),
		   IBV_WC_LOC_PROT_ERR, PINION_SYN_FAULT);
	link_renew(&link_);
}

static void move(const struct dmabuf *dmabuf, unsigned int delay_ms)
{
	CHECK_EQ(dmabuf_move(dmabuf, delay_ms), 0);
}

static void unharmed(struct dmabuf *dmabuf)
{
	struct exporter_stat stat = dmabuf_stat(dmabuf);

	CHECK_EQ(stat.late, 0);
	CHECK_EQ(stat.touched, 0);
}

/* After a move the contents are there, and the buffer is mapped once for all users. */
static void a68_moves(void)
{
	static const unsigned int kinds[] = { 0, EXPORTER_CONTIGUOUS };
	struct exporter_stat stat;
	struct region r, other;
	size_t kind;
	int i;

	begin();
	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		struct dmabuf dmabuf = dmabuf_own(SIZE, kinds[kind]);

		r = across(&dmabuf, 100, LEN, 100);
		other = dmabuf_region(&dmabuf, 0, SIZE, 1 << 20, ALL_ACCESS);
		for (i = 0; i < 10; i++) {
			exchange(&link_, &all, &r);
			move(&dmabuf, 0);
			check_read(&link_, &all, 0, &r, 0, LEN);
			buf_check(all.buf);
			move(&dmabuf, 0);
			check_write(&link_, &all, 3, &r, 7, LEN - 7);
			buf_check(r.buf);
			move(&dmabuf, 0);
			exchange(&back, &r, &all);
			move(&dmabuf, 0);
			check_send(&back, &r, 3, &other, 7, 5000);
			buf_check(r.buf);
			move(&dmabuf, 0);
		}
		stat = dmabuf_stat(&dmabuf);
		CHECK_EQ(stat.moves, 50);
		/* Two at first; then r for every move but the last, and other once a round. */
		CHECK_EQ(stat.maps, 2 + 49 + 10);
		CHECK_EQ(stat.unmaps, stat.maps);
		dmabuf_region_free(&r);
		dmabuf_region_free(&other);
		dmabuf_check_unused(&dmabuf);
		dmabuf_free(&dmabuf);
	}
}

/*
 * If mapping fails because the exporter was interrupted or is busy, the message is retried until
 * mapping succeeds.
 */
static void a68_not_now(void)
{
	static const int errors[] = { EINTR, 512 /* ERESTARTSYS */, EAGAIN,
				      EBUSY };
	size_t i;

	begin_whole();
	for (i = 0; i < 2 * ARRAY_SIZE(errors); i++) {
		/*
		 * The second half of the cases fail more often than the retry counters of a QP
		 * allow.
		 */
		unsigned int times = i < ARRAY_SIZE(errors) ? 1 : 9;
		int error = errors[i % ARRAY_SIZE(errors)];

		context("errno %d, %u times", error, times);
		/* First as the remote memory, then as the local one. */
		move(&buffer, 0);
		dmabuf_fail_maps(&buffer, error, times);
		check_read(&link_, &all, 5, &whole, 7, 20000);
		buf_check(all.buf);
		move(&buffer, 0);
		dmabuf_fail_maps(&buffer, error, times);
		check_write(&link_, &all, 5, &whole, 7, 20000);
		buf_check(whole.buf);
		move(&buffer, 0);
		dmabuf_fail_maps(&buffer, error, times);
		check_write(&back, &whole, 5, &all, 7, 20000);
		buf_check(all.buf);
		move(&buffer, 0);
		dmabuf_fail_maps(&buffer, error, times);
		check_send(&link_, &all, 5, &whole, 7, 20000);
		buf_check(whole.buf);
		move(&buffer, 0);
		dmabuf_fail_maps(&buffer, error, times);
		expect(atomic_op(&link_.a, IBV_WR_ATOMIC_FETCH_AND_ADD,
				 sge_of(&all, 0, 8), whole.base, whole.rkey, 0,
				 0),
		       IBV_WC_SUCCESS);
		buf_accept(all.buf);
	}
	unharmed(&buffer);
}

/* If mapping can never succeed, the sender waits; setting its QP to the error state ends that. */
static void a68_never(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ,
				  .send_flags = IBV_SEND_SIGNALED,
				  .num_sge = 1 };
	struct ibv_sge sge;

	begin_whole();
	sge = sge_of(&all, 0, 100);
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = whole.base;
	wr.wr.rdma.rkey = whole.rkey;
	move(&buffer, 0);
	dmabuf_fail(&buffer, EXPORTER_MAP, EBUSY);
	post(&link_.a, &wr);
	expect_none(link_.a.scq, 0.3);
	CHECK_EQ(end_set_state(&link_.a, IBV_QPS_ERR), 0);
	expect(await(link_.a.scq), IBV_WC_WR_FLUSH_ERR);
	link_renew(&link_);
	/* Deregistration ends the wait, too. */
	post(&link_.a, &wr);
	expect_none(link_.a.scq, 0.1);
	dmabuf_region_free(&whole);
	expect(await(link_.a.scq), IBV_WC_REM_ACCESS_ERR);
	link_renew(&link_);
	dmabuf_check_unused(&buffer);
}

/* Without traffic only the first move is passed on: the exporter maps nothing again. */
static void a68_idle_moves(void)
{
	int i;

	begin_whole();
	for (i = 0; i < 10; i++)
		move(&buffer, 0);
	CHECK_EQ(dmabuf_stat(&buffer).maps, 1);
	dmabuf_region_free(&whole);
	dmabuf_check_unused(&buffer);
}

/* Until the fence has signaled the new memory holds other bytes, and writes to it are lost. */
static void a68_fences(void)
{
	const unsigned int delay = 100;
	int i;

	begin_whole();
	for (i = 0; i < 5; i++) {
		move(&buffer, delay);
		check_read(&link_, &all, 0, &whole, 0, LEN);
		buf_check(all.buf);
		move(&buffer, delay);
		check_write(&link_, &all, 0, &whole, 0, LEN);
		buf_check(whole.buf);
	}
	/* Registration waits for the fence, too. */
	dmabuf_region_free(&whole);
	move(&buffer, delay);
	whole = across(&buffer, 0, SIZE, 0);
	check_read(&link_, &all, 0, &whole, 0, LEN);
	buf_check(all.buf);
	unharmed(&buffer);
}

/* How many seconds a fence takes, and how often that is tried. */
enum { FENCE = 20, TRIES = 5 };

static void waits(void *arg)
{
	struct dmabuf *dmabuf = arg;
	struct region r;

	device_open();
	begin();
	r = across(dmabuf, 0, SIZE, 0);
	move(dmabuf, FENCE * 1000);
	check_read(&link_, &all, 0, &r, 0, LEN);
	_exit(9);
}

/* Starts a process that waits for a fence in a doorbell. */
static int spawn_waiting(struct dmabuf *dmabuf)
{
	int pid = spawn(waits, dmabuf);

	while (!dmabuf_stat(dmabuf).moves)
		usleep(10000);
	usleep(100000);
	return pid;
}

static bool killed_in_time(void *arg)
{
	struct dmabuf dmabuf = dmabuf_own(SIZE, 0);
	int pid = spawn_waiting(&dmabuf), status;
	double took;

	(void)arg;
	took = now();
	kill(pid, SIGKILL);
	status = reap(pid);
	took = now() - took;
	dmabuf_check_unused(&dmabuf);
	dmabuf_free(&dmabuf);
	note("status %#x after %.2f s", status, took);
	return status == SIGKILL && took < FENCE / 2;
}

/*
 * A process that waits for a fence can be killed. On a busy machine the wait may have ended
 * before.
 */
static void a68_fence_kill(void)
{
	need_exporter();
	if (!one_of(TRIES, "it was over before", killed_in_time, NULL))
		FAIL("it waited on when it was killed, %d times", TRIES);
}

static bool described_in_time(void *arg)
{
	struct dmabuf dmabuf = dmabuf_own(SIZE, 0);
	int own = *(int *)arg, pid = spawn_waiting(&dmabuf);
	double took = now();

	/* All are in the list, also the queue pair that waits. */
	CHECK_EQ(resources_describe(), 2 * own);
	took = now() - took;
	kill(pid, SIGKILL);
	reap(pid);
	dmabuf_free(&dmabuf);
	note("described in %.2f s", took);
	return took < FENCE / 2;
}

/* `rdma resource show qp' neither blocks on a QP that waits for a fence nor disturbs it. */
static void a68_fence_describe(void)
{
	int own;

	begin();
	/* The process that waits has as many objects again. */
	own = resources_describe();
	CHECK(own > 0);
	if (!one_of(TRIES, "it took long", described_in_time, &own))
		FAIL("all queues were kept waiting by one, %d times", TRIES);
}

/* A dma-buf that cannot be mapped again after a move refuses accesses until it can be. */
static void a68_fails_later(void)
{
	uint64_t maps;

	begin_whole();
	exchange(&link_, &all, &whole);
	dmabuf_fail(&buffer, EXPORTER_MAP, ENOMEM);
	/* A mapping that did succeed is used. */
	exchange(&link_, &all, &whole);
	move(&buffer, 0);
	no_access(&whole);
	dmabuf_fail(&buffer, EXPORTER_MAP, 0);
	exchange(&link_, &all, &whole);
	maps = dmabuf_stat(&buffer).maps;
	CHECK_EQ(maps, 2);
	dmabuf_region_free(&whole);
	dmabuf_check_unused(&buffer);
}

/* A revoked dma-buf refuses all accesses and new regions, and its regions can end. */
static void a68_revoked(void)
{
	struct region other;

	begin_whole();
	other = across(&buffer, 0, SIZE, 0);
	exchange(&link_, &all, &whole);
	dmabuf_revoke(&buffer);
	no_access(&whole);
	no_access(&other);
	CHECK_EQ(dmabuf_stat(&buffer).maps, dmabuf_stat(&buffer).unmaps);
	MUST_NOT(ibv_reg_dmabuf_mr(dev.pd, 0, SIZE, 0, buffer.fd, ALL_ACCESS),
		 ENODEV);
	dmabuf_region_free(&whole);
	dmabuf_region_free(&other);
	dmabuf_check_unused(&buffer);
}

/* Each move and each mapping after it is counted for the region, in pages and in events. */
static void a68_counters(void)
{
	uint64_t faults, events, gone, moves;
	int i;

	if (device_across() != &dev)
		skip("only counters of the device under test are read");
	begin_whole();
	for (i = 0; i < 3; i++) {
		move(&buffer, 0);
		check_read(&link_, &all, 0, &whole, 0, LEN);
	}
	if (!resources_mr_counter(whole.rkey, "page_faults", &faults))
		lacks("no counters of regions");
	CHECK(resources_mr_counter(whole.rkey, "page_invalidations", &gone));
	CHECK_EQ(faults, 3 * SIZE / PAGE);
	CHECK_EQ(gone, 3 * SIZE / PAGE);
	if (resources_mr_counter(whole.rkey, "page_faults_handled", &events)) {
		CHECK(resources_mr_counter(
			whole.rkey, "page_invalidations_handled", &moves));
		CHECK_EQ(events, 3);
		CHECK_EQ(moves, 3);
	}
}

static const struct test tests[] = {
	TEST(a68_moves, "A68 content follows a move (class 6)"),
	TEST(a68_idle_moves, "A68 moves while nobody asks"),
	TEST(a68_fences, "A68 fences are waited for"),
	TEST(a68_fence_kill, "A68 killed while it waits for a fence"),
	LONG_TEST(a68_fence_describe,
		  "A68 described while it waits for a fence",
		  (TRIES + 1) * FENCE),
	TEST(a68_fails_later, "A68 the exporter fails after a move"),
	TEST(a68_not_now, "A68 the exporter is interrupted"),
	TEST(a68_never, "A68 the exporter never has time"),
	TEST(a68_revoked, "A68 the buffer is taken away"),
	TEST(a68_counters, "A68 statistics"),
};

HARNESS_MAIN("ibv_reg_dmabuf_mr(3): buffers that move", tests)
