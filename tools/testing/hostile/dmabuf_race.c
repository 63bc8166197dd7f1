// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An exporter moves or revokes a dma-buf while its region is deregistered or changed and
 * messages use it, each in a thread of its own without synchronization (item A68).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "dmabuf.h"
#include "link.h"
#include "raw.h"
#include "writer.h"

enum {
	PAGES = 37,
	LENGTH = PAGES * 4096 - 1000,
	AT = 777,
	IOVA = (1 << 24) + AT
};

static struct dmabuf dmabuf;
static struct link link_;
static struct region from;
static struct writer writer = { .link = &link_, .from = &from };

static void begin(void)
{
	need_exporter();
	link_make(&link_, NULL);
	from = region_new(2 * 4096 + 5, 3, ALL_ACCESS);
	writer.addr = IOVA + 4096 - 8;
}

static struct region here(void)
{
	struct region region =
		dmabuf_region(&dmabuf, AT, LENGTH, IOVA, ALL_ACCESS);

	writer.rkey = region.rkey;
	return region;
}

/* The thread of the exporter. */
static pthread_t exporter;
static bool stop;
static unsigned long moves;

static void *move_on(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		CHECK_EQ(dmabuf_move(&dmabuf, moves % 16 == 0), 0);
		moves++;
		usleep(moves % 7 * 50);
	}
	return NULL;
}

static void *take_away(void *arg)
{
	usleep((uintptr_t)arg);
	dmabuf_revoke(&dmabuf);
	return NULL;
}

static void start_moving(void)
{
	dmabuf = dmabuf_own(PAGES * 4096, 0);
	CHECK_EQ(pthread_create(&exporter, NULL, move_on, NULL), 0);
}

/* After the last move nothing has the buffer mapped, and no page was written after it was left. */
static void end_moving(unsigned long rounds)
{
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	CHECK_EQ(pthread_join(exporter, NULL), 0);
	writer_end(&writer, rounds);
	note("%lu moves", moves);
	CHECK_EQ(dmabuf_stat(&dmabuf).touched, 0);
	dmabuf_check_unused(&dmabuf);
	dmabuf_free(&dmabuf);
}

/* The region is deregistered at any point of a move and of a message. */
static void moved_and_deregistered(void)
{
	double end = now() + opt.seconds;
	unsigned long rounds;
	struct region region;

	begin();
	start_moving();
	region = here();
	writer_start(&writer);
	for (rounds = 0; go_on(end, rounds > 20 && moves > 20 &&
					    writer.done > 10 && writer.refused);
	     rounds++) {
		usleep(rnd_below(2000) * slow());
		dmabuf_region_free(&region);
		region = here();
	}
	dmabuf_region_free(&region);
	end_moving(rounds);
	CHECK(rounds > 20 && moves > 20 && writer.done > 10 && writer.refused);
}

/* By a raw command: libibverbs has no rereg for dma-bufs. */
static void rereg_to(const struct region *region, const struct buf *buf)
{
	struct ib_uverbs_rereg_mr cmd = {
		.mr_handle = region->mr->handle,
		.flags = IBV_REREG_MR_CHANGE_TRANSLATION,
		.start = (uintptr_t)buf->data,
		.length = buf->length,
		.hca_va = (uintptr_t)buf->data,
	};

	CHECK_EQ(raw_rereg_mr(dev.ctx->cmd_fd, &cmd), 0);
}

/* The region gets other memory at any point of a move; the dma-buf is released once. */
static void moved_and_reregistered(void)
{
	double end = now() + opt.seconds;
	struct buf *other;
	unsigned long rounds;
	struct region region;

	begin();
	other = buf_new(LENGTH, 11);
	start_moving();
	region = here();
	writer_start(&writer);
	for (rounds = 0;
	     go_on(end, rounds > 20 && moves > 20 && writer.done > 10);
	     rounds++) {
		usleep(rnd_below(2000) * slow());
		rereg_to(&region, other);
		usleep(rnd_below(500));
		dmabuf_region_free(&region);
		region = here();
	}
	dmabuf_region_free(&region);
	end_moving(rounds);
	CHECK(rounds > 20 && moves > 20 && writer.done > 10);
	buf_free(other);
}

/* Revocation and deregistration at the same time, in any order. */
static void taken_away_and_deregistered(void)
{
	double end = now() + opt.seconds;
	unsigned long rounds, done = 0;
	struct region region;

	begin();
	for (rounds = 0; go_on(end, rounds > 20 && done); rounds++) {
		uintptr_t most = rnd_below(2) ? 300 : 3000;

		writer.stop = false;
		writer.done = 0;
		writer.refused = 0;
		dmabuf = dmabuf_own(PAGES * 4096, 0);
		region = here();
		writer_start(&writer);
		CHECK_EQ(pthread_create(&exporter, NULL, take_away,
					(void *)(uintptr_t)rnd_below(most)),
			 0);
		usleep(rnd_below(most));
		dmabuf_region_free(&region);
		CHECK_EQ(pthread_join(exporter, NULL), 0);
		writer.stop = true;
		CHECK_EQ(pthread_join(writer.thread, NULL), 0);
		done += writer.done;
		CHECK_EQ(dmabuf_stat(&dmabuf).touched, 0);
		dmabuf_check_unused(&dmabuf);
		dmabuf_free(&dmabuf);
	}
	note("%lu buffers, %lu writes", rounds, done);
	CHECK(done);
}

static const struct test tests[] = {
	TEST(moved_and_deregistered,
	     "A68 moved while it is deregistered (class 5)"),
	TEST(moved_and_reregistered,
	     "A68 moved while it gets other memory (class 5)"),
	TEST(taken_away_and_deregistered,
	     "A68 taken away while it is deregistered (class 5)"),
};

HARNESS_MAIN("dma-bufs that go while their regions do", tests)
