// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_reg_mr(3), on-demand paging while the mapping changes and messages are on
 * their way (item A50).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"

enum { LEN = 50001 };

static struct region all;

static void begin(void)
{
	need_odp();
	all = region_new(LEN, 1234, ALL_ACCESS);
}

static _Atomic bool stop;
static _Atomic unsigned long done, errors;
static struct region moving;

static void *use(void *arg)
{
	struct link *link = arg;

	while (!stop) {
		struct ibv_wc wc;

		wc = rdma(&link->a,
			  rnd() & 1 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
			  sge_of(&all, 0, LEN), moving.base, moving.rkey);
		if (wc.status == IBV_WC_SUCCESS) {
			done++;
			continue;
		}
		expect(wc, IBV_WC_REM_ACCESS_ERR);
		errors++;
		link_renew(link);
	}
	return NULL;
}

static void churn(int round)
{
	uint8_t *data = moving.buf->data;

	switch (round % 5) {
	case 0:
		munmap(data, 5 * PAGE);
		break;
	case 1:
		CHECK(mmap(data, 5 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			   0) == data);
		break;
	case 2:
		mprotect(data + PAGE, 7 * PAGE, PROT_NONE);
		break;
	case 3:
		mprotect(data + PAGE, 7 * PAGE, PROT_READ | PROT_WRITE);
		break;
	default:
		madvise(data, LEN, MADV_DONTNEED);
	}
}

/*
 * At an address where mmap() does not place anything by itself: otherwise what churn() unmaps
 * may become the heap of another thread before churn() maps it again.
 */
static struct buf *buf_apart(void)
{
	void *map =
		mmap((void *)0x567000000000, 18 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	CHECK(map != MAP_FAILED);
	return buf_of(map, 18 * PAGE, PAGE, 16 * PAGE);
}

/* Memory changes, and regions end, while messages fault: each message succeeds or is refused. */
static void a50_under_load(void)
{
	double end = now() + opt.seconds;
	struct buf *buf = buf_apart();
	pthread_t threads[2];
	struct link links[2];
	int i, round;

	begin();
	moving = region_reg(dev.pd, buf, ODP_ALL);
	for (i = 0; i < 2; i++) {
		link_make(&links[i], NULL);
		CHECK_EQ(pthread_create(&threads[i], NULL, use, &links[i]), 0);
	}
	for (round = 0; go_on(end, done); round++) {
		churn(round);
		if (round % 50 == 49) {
			/* Deregister during faults. */
			CHECK_EQ(ibv_dereg_mr(moving.mr), 0);
			churn(1);
			churn(3);
			moving = region_reg(dev.pd, buf, ODP_ALL);
		}
		usleep(rnd_below(300));
	}
	stop = true;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	note("%d changes, %lu messages, %lu refused", round, done, errors);
	CHECK(done);
}

/* A mapping is replaced. Once the call returns, nothing is written to the old pages. */
static void a50_old_pages(void)
{
	double end = now() + opt.seconds;
	uint8_t *file_map, *data;
	int fd = memfd_create("odp", 0);
	unsigned long rounds = 0;
	pthread_t thread;
	struct link link;

	begin();
	CHECK_EQ(ftruncate(fd, 16 * PAGE), 0);
	file_map = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			0);
	moving = region_reg(dev.pd, buf_new(16 * PAGE, 0), ODP_ALL);
	data = moving.buf->data;
	link_make(&link, NULL);
	CHECK_EQ(pthread_create(&thread, NULL, use, &link), 0);
	for (; go_on(end, done); rounds++) {
		static uint8_t was[16 * 4096];

		CHECK(mmap(data, 16 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_FIXED, fd, 0) == data);
		usleep(rnd_below(500));
		CHECK(mmap(data, 16 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			   0) == data);
		rnd_fill(file_map, 16 * PAGE);
		memcpy(was, file_map, 16 * PAGE);
		usleep(rnd_below(200));
		if (memcmp(was, file_map, 16 * PAGE))
			FAIL("written to after the mapping was replaced");
	}
	stop = true;
	pthread_join(thread, NULL);
	note("%lu rounds, %lu messages, %lu refused", rounds, done, errors);
	CHECK(done);
}

static const struct test tests[] = {
	TEST(a50_under_load,
	     "A50 changes and the end during faults (class 10)"),
	TEST(a50_old_pages, "A50 replaced pages are left alone"),
};

HARNESS_MAIN("ibv_reg_mr(3): on-demand paging under load", tests)
