// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An exporter moves or revokes a dma-buf while its region is deregistered or changed, or both, and
 * messages use it, each in a thread of its own without synchronization (item A68).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "dmabuf.h"
#include "file.h"
#include "link.h"
#include "raw.h"
#include "undo.h"
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

/* By a raw command: libibverbs has no rereg for dma-bufs. Returns 0 or an errno. */
static int rereg(uint32_t handle, const struct buf *buf, uint64_t iova)
{
	struct ib_uverbs_rereg_mr cmd = {
		.mr_handle = handle,
		.flags = IBV_REREG_MR_CHANGE_TRANSLATION,
		.start = (uintptr_t)buf->data,
		.length = buf->length,
		.hca_va = iova,
	};

	return raw_rereg_mr(dev.ctx->cmd_fd, &cmd);
}

static void rereg_to(const struct region *region, const struct buf *buf)
{
	CHECK_EQ(rereg(region->mr->handle, buf, (uintptr_t)buf->data), 0);
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

/*
 * One of three threads that begin at the same time, wait for @delay microseconds, and do something
 * to the same region. @order says which was the first, second and third to have done it.
 */
struct rival {
	pthread_t thread;
	pthread_barrier_t *start;
	atomic_uint *finished;
	uint32_t handle;
	const struct buf *other;
	unsigned int delay, order;
	int err;
};

static void rival_begin(const struct rival *r)
{
	pthread_barrier_wait(r->start);
	usleep(r->delay);
}

static void *rival_revoke(void *arg)
{
	struct rival *r = arg;

	rival_begin(r);
	dmabuf_revoke(&dmabuf);
	r->order = atomic_fetch_add(r->finished, 1);
	return NULL;
}

/* Other memory at the same address: the writer goes on there. */
static void *rival_rereg(void *arg)
{
	struct rival *r = arg;

	rival_begin(r);
	r->err = rereg(r->handle, r->other, IOVA);
	r->order = atomic_fetch_add(r->finished, 1);
	return NULL;
}

/* Refused with EBUSY while rereg has the handle: try again. */
static void *rival_dereg(void *arg)
{
	struct rival *r = arg;

	rival_begin(r);
	do {
		r->err = raw_dereg_mr(dev.ctx->cmd_fd, r->handle);
	} while (r->err == EBUSY);
	r->order = atomic_fetch_add(r->finished, 1);
	return NULL;
}

/*
 * Where failures can be injected, messages spend long in the memory that they copy to, so that whoever
 * changes it waits for them, and meets who else does. With one processor no other thread runs during a
 * copy, so nobody would meet.
 */
#define DWELL "/sys/kernel/debug/pinion/dwell_copy_us"

static void no_dwell(void)
{
	file_write("0", DWELL);
}

static bool can_dwell(void)
{
	if (access(DWELL, W_OK) || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return false;
	undo_at_end(no_dwell);
	return true;
}

/*
 * Revocation, other memory and deregistration at the same time, in any order. The region ends, nothing
 * writes to either memory afterwards, and nobody is attached to the dma-buf.
 */
static void taken_away_and_both(void)
{
	static void *(*const acts[])(void *) = { rival_revoke, rival_rereg,
						 rival_dereg };
	enum { REVOKE, REREG, DEREG, RIVALS };
	static const unsigned int most[] = { 20, 300, 3000 };
	unsigned long rounds, done = 0, first = 0, changed = 0;
	double end = now() + opt.seconds;
	struct rival rivals[RIVALS];
	pthread_barrier_t start;
	struct region region;
	atomic_uint finished;
	struct buf *other;
	bool dwells;
	int i;

	begin();
	dwells = can_dwell();
	other = buf_new(LENGTH, AT);
	CHECK_EQ(pthread_barrier_init(&start, NULL, RIVALS), 0);
	for (rounds = 0; go_on(end, done && first && first < rounds &&
					    changed && changed < rounds);
	     rounds++) {
		writer.stop = false;
		writer.done = 0;
		writer.refused = 0;
		dmabuf = dmabuf_own(PAGES * 4096, 0);
		region = here();
		/* In every second round messages are slow. */
		if (dwells)
			CHECK_EQ(file_write(rounds & 1 ? "2000" : "0", DWELL),
				 0);
		writer_start(&writer);
		atomic_init(&finished, 0);
		for (i = 0; i < RIVALS; i++) {
			rivals[i] = (struct rival){
				.start = &start,
				.finished = &finished,
				.handle = region.mr->handle,
				.other = other,
				.delay = rnd_below(most[rounds / 2 % 3]),
			};
			CHECK_EQ(pthread_create(&rivals[i].thread, NULL,
						acts[i], &rivals[i]),
				 0);
		}
		for (i = 0; i < RIVALS; i++)
			CHECK_EQ(pthread_join(rivals[i].thread, NULL), 0);
		/* Now nothing writes to either memory any more. */
		buf_fill(other);
		CHECK_EQ(rivals[DEREG].err, 0);
		if (rivals[REREG].err)
			CHECK(rivals[REREG].err == EBUSY ||
			      rivals[REREG].err == ENOENT);
		changed += !rivals[REREG].err;
		first += rivals[REVOKE].order < rivals[DEREG].order;
		writer.stop = true;
		CHECK_EQ(pthread_join(writer.thread, NULL), 0);
		done += writer.done;
		buf_check(other);
		CHECK_EQ(dmabuf_stat(&dmabuf).touched, 0);
		dmabuf_check_unused(&dmabuf);
		/* The library's part of the region is lost: its handle may be another object's. */
		free(region.buf);
		dmabuf_free(&dmabuf);
	}
	note("%lu rounds, %lu writes, revoked before the end %lu, after it %lu, changed %lu, refused %lu",
	     rounds, done, first, rounds - first, changed, rounds - changed);
	CHECK(done && first && first < rounds && changed && changed < rounds);
	CHECK_EQ(pthread_barrier_destroy(&start), 0);
	buf_free(other);
}

static const struct test tests[] = {
	TEST(moved_and_deregistered,
	     "A68 moved while it is deregistered (class 5)"),
	TEST(moved_and_reregistered,
	     "A68 moved while it gets other memory (class 5)"),
	TEST(taken_away_and_deregistered,
	     "A68 taken away while it is deregistered (class 5)"),
	TEST(taken_away_and_both,
	     "A68 taken away while it gets other memory and is deregistered (class 5)"),
};

HARNESS_MAIN("dma-bufs that go while their regions do", tests)
