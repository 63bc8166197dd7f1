// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Another host writes to memory without pause while it is deregistered, replaced, or a window to it
 * is invalidated: no byte of it changes after the call has returned (item FA12). hostile/dereg_load has
 * more of this, with peers on this host.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "link.h"

enum { LENGTH = 60000, LEAST = 5 };

/*
 * The connection is unreliable: a refusal does not break it, so it writes on. The writer has the
 * far end, this thread the near one.
 */
static struct link link_;
static struct region source;
static uint64_t target;
static uint32_t target_rkey;
static bool over;
static unsigned long writes;

#define GET(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define SET(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELEASE)

static void *write_on(void *arg)
{
	(void)arg;
	while (!GET(over)) {
		post_rdma(&link_.a, IBV_WR_RDMA_WRITE,
			  sge_of(&source, 0, LENGTH), GET(target),
			  GET(target_rkey), 0);
		expect(await(link_.a.scq), IBV_WC_SUCCESS);
		SET(writes, writes + 1);
	}
	return NULL;
}

static pthread_t thread;

static void begin(void)
{
	struct qp_cfg b = { .type = IBV_QPT_UC, .wr = 8 };
	struct qp_cfg a = b;

	device_open();
	far_open();
	a.device = &far_dev;
	a.mtu = b.mtu = common_mtu();
	link_make2(&link_, &a, &b);
	source = region_reg(far_dev.pd, buf_new(LENGTH, 3), ALL_ACCESS);
}

static void target_is(const struct region *region, uint32_t rkey)
{
	SET(target, region->base);
	SET(target_rkey, rkey);
}

/* Waits, in every other round, until the writer has written: else nothing is at stake. */
static bool written(const struct buf *buf, unsigned long round)
{
	double end = now() + (round & 1 ? 0 : patience(2));
	bool seen;

	do
		seen = memcmp(buf->data, buf->want, LENGTH) != 0;
	while (!seen && now() < end);
	usleep(rnd_below(400));
	return seen;
}

static void untouched(struct buf *buf)
{
	buf_fill(buf);
	usleep(rnd_below(2000));
	buf_check(buf);
}

/* Has @round return whether the memory was written to before, until that was so often enough. */
static void rounds(bool (*round)(unsigned long number))
{
	double end = now() + opt.seconds;
	unsigned long number = 0, seen = 0;

	CHECK_EQ(pthread_create(&thread, NULL, write_on, NULL), 0);
	for (; go_on(end, seen >= LEAST); number++)
		seen += round(number);
	SET(over, true);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	note("written to in %lu of %lu rounds, by %lu writes", seen, number,
	     writes);
	CHECK(seen >= LEAST);
	buf_check(source.buf);
}

static struct buf *bufs[2];
static struct region region;

static bool dereg_round(unsigned long number)
{
	bool seen;

	region = region_reg(dev.pd, bufs[0], ALL_ACCESS);
	target_is(&region, region.rkey);
	seen = written(bufs[0], number);
	CHECK_EQ(ibv_dereg_mr(region.mr), 0);
	untouched(bufs[0]);
	return seen;
}

/* A region ends under the writes of another host: from then on no byte of it changes. */
static void fa12_dereg(void)
{
	begin();
	bufs[0] = buf_new(LENGTH, 77);
	rounds(dereg_round);
}

/* The old memory is nobody's after the new one has come. */
static bool rereg_round(unsigned long number)
{
	struct buf *old = bufs[number & 1], *new = bufs[!(number & 1)];
	bool seen = written(old, number);

	CHECK_EQ(ibv_rereg_mr(region.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			      new->data, LENGTH, 0),
		 0);
	region = region_of(new, region.mr, (uintptr_t)new->data);
	target_is(&region, region.mr->rkey);
	untouched(old);
	return seen;
}

/* A region gets other memory under such writes: the old is left alone. */
static void fa12_rereg(void)
{
	begin();
	bufs[0] = buf_new(LENGTH, 77);
	bufs[1] = buf_new(LENGTH, 78);
	region = region_reg(dev.pd, bufs[0], ALL_ACCESS);
	target_is(&region, region.rkey);
	rounds(rereg_round);
}

static struct ibv_mw *window;

static bool window_round(unsigned long number)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = window,
			     .rkey = ibv_inc_rkey(window->rkey),
			     .bind_info = { region.mr, region.base, LENGTH,
					    IBV_ACCESS_REMOTE_WRITE } },
	};
	bool seen;

	post(&link_.b, &wr);
	expect(await(link_.b.scq), IBV_WC_SUCCESS);
	window->rkey = wr.bind_mw.rkey;
	target_is(&region, window->rkey);
	seen = written(bufs[0], number);
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_LOCAL_INV,
				   .send_flags = IBV_SEND_SIGNALED,
				   .invalidate_rkey = window->rkey };
	post(&link_.b, &wr);
	expect(await(link_.b.scq), IBV_WC_SUCCESS);
	untouched(bufs[0]);
	return seen;
}

/* A window is invalidated under such writes: from then on no byte changes. */
static void fa12_window(void)
{
	begin();
	bufs[0] = buf_new(LENGTH, 77);
	region = region_reg(dev.pd, bufs[0], ALL_ACCESS | IBV_ACCESS_MW_BIND);
	window = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2));
	rounds(window_round);
}

static const struct test tests[] = {
	TEST(fa12_dereg, "FA12 dereg under the writes of another host"),
	TEST(fa12_rereg, "FA12 rereg under the writes of another host"),
	TEST(fa12_window, "FA12 a window invalidated under such writes"),
};

HARNESS_MAIN("Memory that ends under the writes of another host", tests)
