// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A copy is delayed by milliseconds at places where others must wait for it, while its memory is
 * deregistered, moved or revoked (items DW1 to DW7; kernel/mem/dwell.h). Each round hits a race
 * that chance hits once in a million copies. Needs a kernel with fault injection.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dmabuf.h"
#include "file.h"
#include "window.h"

enum {
	ROUNDS = 12,
	DWELL_US = 5000, /* the longest delay */
	LENGTH = 3000,
	CHILD_SIZE = 2 << 20, /* of an implicit region */
	MOST = 8,
};

/* Writes to or reads from @remote on link_.a, by lists of @count messages. */
struct worker {
	pthread_t thread;
	pthread_barrier_t round;
	struct region own;
	enum ibv_wr_opcode opcode;
	int count;
	uint64_t remote;
	uint32_t rkey;
	unsigned int begun, ended; /* doorbells; atomic */
	struct ibv_wc wc;
};

static struct link link_;
static struct worker worker;
static int rounds, overlaps;
static double limit;

static const char *const places[] = { "copy", "child", "peer" };

#define FILES "/sys/kernel/debug/pinion/"

static bool try_dwell(const char *place, unsigned int us)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", us);
	return !file_write(text, FILES "dwell_%s_us", place);
}

static void dwell(const char *place, unsigned int us)
{
	CHECK(try_dwell(place, us));
}

static bool nobody_dwells(void)
{
	bool good = true;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		good &= try_dwell(places[i], 0);
	return good;
}

static bool somebody_dwells(void)
{
	long long dwellers = file_number("", FILES "dwellers");

	CHECK(dwellers >= 0);
	return dwellers > 0;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct ibv_sge sge = sge_of(&w->own, 0, LENGTH);
	struct ibv_send_wr wr[MOST] = {};
	int i;

	for (;;) {
		pthread_barrier_wait(&w->round);
		for (i = 0; i < w->count; i++) {
			wr[i].sg_list = &sge;
			wr[i].num_sge = 1;
			wr[i].opcode = w->opcode;
			wr[i].wr.rdma.remote_addr = w->remote;
			wr[i].wr.rdma.rkey = w->rkey;
			wr[i].next = &wr[i + 1];
		}
		wr[i - 1].next = NULL;
		wr[i - 1].send_flags = IBV_SEND_SIGNALED;
		__atomic_add_fetch(&w->begun, 1, __ATOMIC_SEQ_CST);
		post(&link_.a, wr);
		__atomic_add_fetch(&w->ended, 1, __ATOMIC_SEQ_CST);
		w->wc = await(link_.a.scq);
		pthread_barrier_wait(&w->round);
	}
	return NULL;
}

static void begin(enum ibv_wr_opcode opcode)
{
	need_root();
	if (!dev.pinion)
		skip("other devices do not dwell");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip("who dwells has the only processor");
	if (access(FILES "dwellers", F_OK) &&
	    access("/proc/self/fail-nth", F_OK))
		skip("this kernel injects no faults");
	/* Delays that a failed test left are off. */
	CHECK(nobody_dwells());
	link_make(&link_, NULL);
	worker.own = region_new(LENGTH, 501, ALL_ACCESS);
	worker.opcode = opcode;
	worker.count = 1;
	CHECK_EQ(pthread_barrier_init(&worker.round, NULL, 2), 0);
	CHECK_EQ(pthread_create(&worker.thread, NULL, work, &worker), 0);
	limit = now() + opt.seconds;
}

static unsigned int load(const unsigned int *count)
{
	return __atomic_load_n(count, __ATOMIC_SEQ_CST);
}

/* Has the worker returned from the doorbell? */
static bool idle(void)
{
	return load(&worker.ended) == load(&worker.begun);
}

/* Sends one message to @remote and calls @change while its copy is delayed. */
static struct ibv_wc with_change(uint64_t remote, uint32_t rkey,
				 void (*change)(void *arg), void *arg)
{
	unsigned int before = load(&worker.begun);

	worker.remote = remote;
	worker.rkey = rkey;
	pthread_barrier_wait(&worker.round);
	while (load(&worker.begun) == before)
		sched_yield();
	while (!idle()) {
		if (somebody_dwells()) {
			overlaps++;
			break;
		}
	}
	change(arg);
	pthread_barrier_wait(&worker.round);
	return worker.wc;
}

/* A number of rounds, and more if the load on the machine kept them from overlapping. */
static bool another_round(void)
{
	return rounds++ < ROUNDS || go_on(limit, overlaps > ROUNDS / 2);
}

static void end(void)
{
	note("%d of %d were under way", overlaps, rounds - 1);
	CHECK(overlaps > ROUNDS / 2);
}

/* Fails if @memory changes before the worker has returned. */
static void check_still(const uint8_t *memory, size_t length)
{
	uint8_t *before = MUST(malloc(length));

	memcpy(before, memory, length);
	while (!idle())
		usleep(200);
	if (memcmp(before, memory, length))
		FAIL("it was written to when the call had returned");
	free(before);
}

static void refused_or_done(struct ibv_wc wc)
{
	if (wc.status == IBV_WC_SUCCESS)
		return;
	CHECK_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
	link_renew(&link_);
}

/* ------------------------------------------------------------ changes */

static void move(void *arg)
{
	CHECK_EQ(dmabuf_move(arg, 0), 0);
}

/* A write to the old place of a buffer after the move is lost. */
static void dw1_move(void)
{
	struct dmabuf dmabuf;
	struct region region;

	need_exporter();
	begin(IBV_WR_RDMA_WRITE);
	dmabuf = dmabuf_own(5 * PAGE, EXPORTER_CONTIGUOUS);
	region = dmabuf_region(&dmabuf, 0, dmabuf.size, 0, ALL_ACCESS);
	buf_fill(region.buf);
	dwell("copy", DWELL_US);
	while (another_round()) {
		uint64_t at = rnd_below(dmabuf.size - LENGTH);

		buf_fill(worker.own.buf);
		expect(with_change(region.base + at, region.rkey, move,
				   &dmabuf),
		       IBV_WC_SUCCESS);
		memcpy(region.buf->want + at, worker.own.buf->data, LENGTH);
		buf_check(region.buf);
	}
	end();
}

static void dereg(void *arg)
{
	struct region *region = arg;

	CHECK_EQ(ibv_dereg_mr(region->mr), 0);
	check_still(region->buf->data, region->buf->length);
}

static void dw2_dereg(void)
{
	begin(IBV_WR_RDMA_WRITE);
	while (another_round()) {
		struct region region = region_new(LENGTH, 100, ALL_ACCESS);

		buf_fill(worker.own.buf);
		dwell("copy", DWELL_US);
		refused_or_done(
			with_change(region.base, region.rkey, dereg, &region));
		dwell("copy", 0);
		buf_free(region.buf);
	}
	end();
}

static struct buf *others[2];

static void rereg(void *arg)
{
	struct region *region = arg;
	struct buf *before = region->buf;

	region_rereg(region, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
		     others[before == others[0]], 0);
	check_still(before->data, before->length);
}

static void dw3_rereg(void)
{
	struct region region;

	begin(IBV_WR_RDMA_WRITE);
	others[0] = buf_new(LENGTH, 33);
	others[1] = buf_new(LENGTH, 44);
	region = region_reg(dev.pd, others[0], ALL_ACCESS);
	dwell("copy", DWELL_US);
	while (another_round()) {
		buf_fill(worker.own.buf);
		refused_or_done(
			with_change(region.base, region.rkey, rereg, &region));
	}
	end();
}

static void invalidate(void *arg)
{
	struct region *region = arg;

	expect(window_invalidate(&link_.b, region->rkey), IBV_WC_SUCCESS);
	check_still(region->buf->data, region->buf->length);
}

static void dw4_window(void)
{
	struct region region, seen;
	struct ibv_mw *mw;

	begin(IBV_WR_RDMA_WRITE);
	region = region_new(LENGTH, 7, BINDABLE);
	mw = window_new(IBV_MW_TYPE_2);
	while (another_round()) {
		expect(window_bind(&link_.b, mw,
				   window_part(&region, 0, LENGTH, REMOTE_ALL)),
		       IBV_WC_SUCCESS);
		seen = window_seen(&region, mw);
		buf_fill(worker.own.buf);
		dwell("copy", DWELL_US);
		refused_or_done(
			with_change(seen.base, seen.rkey, invalidate, &seen));
		dwell("copy", 0);
	}
	end();
}

/* Moves the mapping to another address; the old address gets no pages. */
static void take_away(void *arg)
{
	struct buf *buf = arg;
	size_t at = buf->data - buf->map;
	uint8_t *pages = mremap(buf->map, buf->map_length, buf->map_length,
				MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);

	CHECK(pages != MAP_FAILED);
	check_still(pages + at, buf->length);
	CHECK_EQ(munmap(pages, buf->map_length), 0);
}

/* What was written is in the pages that moved away, or in new ones. */
static void dw5_invalidation(void)
{
	uint8_t zeros[LENGTH] = {};
	struct region region;

	need_odp();
	begin(IBV_WR_RDMA_WRITE);
	region = region_new(LENGTH, 700, ODP_ALL);
	dwell("copy", DWELL_US);
	while (another_round()) {
		const uint8_t *data = region.buf->data;

		buf_fill(region.buf);
		buf_fill(worker.own.buf);
		expect(with_change(region.base, region.rkey, take_away,
				   region.buf),
		       IBV_WC_SUCCESS);
		CHECK(!memcmp(data, worker.own.buf->data, LENGTH) ||
		      !memcmp(data, zeros, LENGTH));
	}
	end();
}

/* Drops all pages of the child again and again, so that a work item frees it. */
static void empty(void *arg)
{
	int i;

	for (i = 0; i < MOST; i++) {
		CHECK_EQ(madvise(arg, CHILD_SIZE, MADV_DONTNEED), 0);
		usleep(rnd_below(DWELL_US / 2));
	}
}

/*
 * A child is freed while a message looks up a page in it. The message must come after its pages
 * are gone and before the child is, so several messages queue up.
 */
static void dw6_child(void)
{
	struct ibv_mr *mr;
	uint8_t *area;

	need_odp();
	begin(IBV_WR_RDMA_READ);
	worker.count = MOST;
	mr = MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL));
	area = mmap(NULL, 2 * CHILD_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED);
	area += CHILD_SIZE - (uintptr_t)area % CHILD_SIZE;
	dwell("child", DWELL_US / 2);
	while (another_round())
		expect(with_change((uintptr_t)area + 50, mr->rkey, empty, area),
		       IBV_WC_SUCCESS);
	end();
}

static void destroy(void *unused)
{
	(void)unused;
	CHECK_EQ(ibv_destroy_qp(link_.b.qp), 0);
}

/* A queue pair is destroyed after its peer has found it. */
static void dw7_peer(void)
{
	struct region region;
	struct link other;
	/* Without its peer the sender shall give up soon. */
	struct qp_cfg hasty = { .timeout = 8, .retry = 1 };

	begin(IBV_WR_RDMA_WRITE);
	region = region_new(LENGTH, 9, ALL_ACCESS);
	link_make(&other, NULL);
	while (another_round()) {
		struct ibv_wc wc;

		dwell("peer", DWELL_US);
		wc = with_change(region.base, region.rkey, destroy, NULL);
		dwell("peer", 0);
		CHECK(wc.status == IBV_WC_SUCCESS ||
		      wc.status == IBV_WC_RETRY_EXC_ERR);
		end_free(&link_.a);
		link_make(&link_, &hasty);
	}
	exchange(&other, &worker.own, &region);
	end();
}

static const struct test tests[] = {
	TEST(dw1_move, "DW1 a dma-buf moves (class 5)"),
	TEST(dw2_dereg, "DW2 a region ends"),
	TEST(dw3_rereg, "DW3 a region is given other memory"),
	TEST(dw4_window, "DW4 a window is invalidated"),
	TEST(dw5_invalidation, "DW5 pages are taken away"),
	TEST(dw6_child, "DW6 a child of an implicit region ends (class 9)"),
	TEST(dw7_peer, "DW7 the peer's queue pair ends (class 19)"),
};

int main(int argc, char **argv)
{
	int rc = harness_main(argc, argv, "Changes under somebody who dwells",
			      tests, ARRAY_SIZE(tests));

	/* A failed test may have left delays on; switch them off for the tests after it. */
	if (!access(FILES "dwellers", F_OK) && !nobody_dwells())
		rc = rc ?: 1;
	return rc;
}
