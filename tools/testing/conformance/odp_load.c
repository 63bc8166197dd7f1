// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_reg_mr(3), on-demand paging while the mapping changes and messages are on
 * their way (item A50).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "writer.h"

enum { LEN = 50001 };

static struct region all;

static void begin(void)
{
	need_odp();
	all = region_new(LEN, 1234, ALL_ACCESS);
}

/* Begins to write to, and to read from, a region on demand by a link of its own. */
static void use(struct writer *w, struct link *link,
		const struct region *moving)
{
	link_make(link, NULL);
	*w = (struct writer){
		.link = link,
		.from = &all,
		.reads = true,
		.addr = moving->base,
		.rkey = moving->rkey,
	};
	writer_start(w);
}

static void churn(uint8_t *data, int round)
{
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
	struct writer w[2];
	struct link links[2];
	struct region moving;
	int i, round;

	begin();
	moving = region_reg(dev.pd, buf, ODP_ALL);
	for (i = 0; i < 2; i++)
		use(&w[i], &links[i], &moving);
	for (round = 0; go_on(end, w[0].done && w[1].done); round++) {
		churn(buf->data, round);
		if (round % 50 == 49) {
			/* Deregister during faults. */
			CHECK_EQ(ibv_dereg_mr(moving.mr), 0);
			churn(buf->data, 1);
			churn(buf->data, 3);
			moving = region_reg(dev.pd, buf, ODP_ALL);
			for (i = 0; i < 2; i++)
				w[i].rkey = moving.rkey;
		}
		usleep(rnd_below(300));
	}
	for (i = 0; i < 2; i++)
		writer_end(&w[i], round);
}

/* A mapping is replaced. Once the call returns, nothing is written to the old pages. */
static void a50_old_pages(void)
{
	double end = now() + opt.seconds;
	uint8_t *file_map, *data;
	int fd = memfd_create("odp", 0);
	unsigned long rounds = 0;
	struct region moving;
	struct writer w;
	struct link link;

	begin();
	CHECK_EQ(ftruncate(fd, 16 * PAGE), 0);
	file_map = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			0);
	moving = region_reg(dev.pd, buf_new(16 * PAGE, 0), ODP_ALL);
	data = moving.buf->data;
	use(&w, &link, &moving);
	for (; go_on(end, w.done); rounds++) {
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
	writer_end(&w, rounds);
}

static const struct test tests[] = {
	TEST(a50_under_load,
	     "A50 changes and the end during faults (class 10)"),
	TEST(a50_old_pages, "A50 replaced pages are left alone"),
};

HARNESS_MAIN("ibv_reg_mr(3): on-demand paging under load", tests)
