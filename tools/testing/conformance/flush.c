// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * FLUSH: nothing becomes visible or persistent without the rights of the key (items FL1 to FL10).
 * Persistent memory is a file at $DAX_FILES, on a file system mounted with -o dax.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "newer.h"
#include "tracing.h"

#ifdef HAVE_WR_FLUSH
enum { LEN = 20000 };

static struct link link_;
static struct region r;

static void begin(void)
{
	struct qp_cfg cfg = { .access = IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_FLUSH_GLOBAL };

	link_make(&link_, &cfg);
	need_builder(&link_.a);
	r = region_new(LEN, 77, ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL);
}

struct asked {
	uint32_t rkey;
	uint64_t addr;
	size_t length;
	uint8_t type, level;
};

/* Posts a FLUSH and checks its status; repairs the link afterwards. */
static void answered(struct asked a, enum ibv_wc_status status)
{
	expect(flush(&link_.a, a.rkey, a.addr, a.length, a.type, a.level),
	       status);
	if (status)
		link_renew(&link_);
}

static struct asked whole(uint32_t rkey, uint64_t addr, size_t length)
{
	return (struct asked){ rkey, addr, length, IBV_FLUSH_GLOBAL,
			       IBV_FLUSH_MR };
}

static struct asked range(uint32_t rkey, uint64_t addr, size_t length)
{
	return (struct asked){ rkey, addr, length, IBV_FLUSH_GLOBAL,
			       IBV_FLUSH_RANGE };
}

/* Flushes of ranges within the region succeed, others are refused. */
static void fl1_ranges(void)
{
	long long bytes;

	begin();
	bytes = device_counter("rx_bytes");
	answered(range(r.rkey, r.base, LEN), IBV_WC_SUCCESS);
	/* The bytes of the range do not count as received. */
	if (dev.pinion)
		counter_await("rx_bytes", bytes);
	answered(range(r.rkey, r.base + 777, 1), IBV_WC_SUCCESS);
	answered(range(r.rkey, r.base + LEN, 0), IBV_WC_SUCCESS);
	answered(range(r.rkey, r.base, LEN + 1), IBV_WC_REM_ACCESS_ERR);
	answered(range(r.rkey, r.base - 1, 1), IBV_WC_REM_ACCESS_ERR);
	answered(range(r.rkey, r.base - 1, 0), IBV_WC_REM_ACCESS_ERR);
}

/* For the whole region, address and length are ignored. */
static void fl2_whole(void)
{
	begin();
	answered(whole(r.rkey, r.base, LEN), IBV_WC_SUCCESS);
	answered(whole(r.rkey, 0, 0), IBV_WC_SUCCESS);
	answered(whole(r.rkey, 0, LEN), IBV_WC_SUCCESS);
	answered(whole(r.rkey, -1, UINT32_MAX), IBV_WC_SUCCESS);
}

/* A FLUSH by this key is refused for any length, zero included. */
static void key_refused(uint32_t rkey)
{
	answered(whole(rkey, 0, 0), IBV_WC_REM_ACCESS_ERR);
	answered(whole(rkey, r.base, LEN), IBV_WC_REM_ACCESS_ERR);
	answered(range(rkey, r.base, 0), IBV_WC_REM_ACCESS_ERR);
	answered(range(rkey, r.base, LEN), IBV_WC_REM_ACCESS_ERR);
}

/* Flushes by keys that do not permit them, are not known or have ended are refused. */
static void fl3_keys(void)
{
	struct ibv_pd *pd = MUST(ibv_alloc_pd(dev.ctx));
	struct ibv_mr *mr;
	uint32_t rkey;

	begin();
	context("no key");
	key_refused(r.rkey ^ 1);
	context("not for flushes");
	mr = MUST(ibv_reg_mr(dev.pd, r.buf->data, LEN, ALL_ACCESS));
	key_refused(mr->rkey);
	context("of another domain");
	mr = MUST(ibv_reg_mr(pd, r.buf->data, LEN,
			     ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL));
	key_refused(mr->rkey);
	context("gone");
	mr = MUST(ibv_reg_mr(dev.pd, r.buf->data, LEN,
			     ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL));
	rkey = mr->rkey;
	answered(range(rkey, (uintptr_t)r.buf->data, 1), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	key_refused(rkey);
}

/* A FLUSH of no type, or an unknown one, is the sender's error. */
static void fl4_nonsense(void)
{
	struct asked a;

	begin();
	a = whole(r.rkey, 0, 0);
	a.type = 0;
	answered(a, IBV_WC_LOC_QP_OP_ERR);
	a.type = 4 | IBV_FLUSH_GLOBAL;
	answered(a, IBV_WC_LOC_QP_OP_ERR);
	a = whole(r.rkey, 0, 0);
	a.level = 2;
	answered(a, IBV_WC_LOC_QP_OP_ERR);
	/* The queue pair lacks the access flag. */
	a = whole(r.rkey, 0, 0);
	a.type = IBV_FLUSH_PERSISTENT;
	answered(a, IBV_WC_REM_INV_REQ_ERR);
}

/* ------------------------------------------------------------- persistence */

enum {
	PERSISTENT = IBV_ACCESS_FLUSH_PERSISTENT,
	FILE_SIZE = 8 << 20,
	LARGE = 128 << 20, /* it takes many times as long as a query */
	MARGIN = 2 * 4096 + 1234, /* bytes of the file around the region */
};

static void need_persistent(void)
{
	if (!dev.persistent)
		skip("no FLUSH to persistence on this architecture");
}

/*
 * Registering other memory as persistent fails at once; a region whose rereg is refused stays as
 * it was.
 */
static void fl5_memory_that_is_not(void)
{
	struct buf *buf;
	struct ibv_mr *mr;

	need_persistent();
	begin();
	buf = r.buf;
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, LEN, ALL_ACCESS | PERSISTENT),
		 EINVAL);
	MUST_NOT(ibv_reg_mr(dev.pd, buf->data, LEN, ODP_ALL | PERSISTENT),
		 EINVAL);
	MUST_NOT(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL | PERSISTENT),
		 EINVAL);
	CHECK(ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL | PERSISTENT));
	answered(range(r.rkey, r.base, LEN), IBV_WC_SUCCESS);
	mr = MUST(ibv_reg_mr(dev.pd, buf->data, LEN, ODP_ALL));
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   ODP_ALL | PERSISTENT));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

static int dax_open(size_t size)
{
	const char *folder = getenv("DAX_FILES");
	char path[256];
	int fd;

	need_persistent();
	if (!folder)
		skip("no file system of persistent memory: DAX_FILES is not set");
	snprintf(path, sizeof(path), "%s/flushed", folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, size), 0);
	return fd;
}

/* From now on the file consists of holes: no page is there. */
static void dax_empty(int fd, size_t size)
{
	int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

	CHECK_EQ(fallocate(fd, mode, 0, size), 0);
}

/* The file, empty. */
static struct buf *dax_buf(int fd, size_t size)
{
	struct buf *buf;
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);

	CHECK(map != MAP_FAILED);
	buf = buf_of(map, size, MARGIN, size - 2 * MARGIN);
	dax_empty(fd, size);
	buf_accept(buf);
	return buf;
}

static void begin_with(int *fd, size_t size)
{
	struct qp_cfg cfg = { .access = IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_REMOTE_READ | PERSISTENT |
					IBV_ACCESS_FLUSH_GLOBAL };
	struct buf *buf;

	*fd = dax_open(size);
	buf = dax_buf(*fd, size);
	link_make(&link_, &cfg);
	need_builder(&link_.a);
	r = region_reg(dev.pd, buf, ODP_ALL | PERSISTENT);
}

static void begin_persistent(int *fd)
{
	begin_with(fd, FILE_SIZE);
}

static struct asked persistent(uint64_t at, size_t length, int level)
{
	return (struct asked){ r.rkey, r.base + at, length,
			       IBV_FLUSH_PERSISTENT, level };
}

/*
 * Data arrive, and exactly the bytes of the range are written back, whether their pages were
 * present or not.
 */
static void fl6_persistent(void)
{
	struct region source = region_new(1 << 20, 55, ALL_ACCESS);
	size_t at, length;
	int fd, i;

	begin_persistent(&fd);
	for (i = 0; i < 30; i++) {
		length = rnd_in(1, rnd_below(3) ? 20000 : 1 << 20);
		at = rnd_below(r.buf->length - length + 1);
		/* In every third round the pages may never have been touched. */
		if (i % 3)
			check_write(&link_, &source, 0, &r, at, length);
		tracing_start();
		answered(persistent(at, length, IBV_FLUSH_RANGE),
			 IBV_WC_SUCCESS);
		CHECK_EQ(tracing_sum("persist", "length"), length);
		tracing_stop();
		buf_check(r.buf);
	}
	tracing_start();
	answered(persistent(0, 0, IBV_FLUSH_MR), IBV_WC_SUCCESS);
	CHECK_EQ(tracing_sum("persist", "length"), r.buf->length);
	tracing_stop();
	/* A range of no bytes writes nothing back. */
	tracing_start();
	answered(persistent(7, 0, IBV_FLUSH_RANGE), IBV_WC_SUCCESS);
	CHECK_EQ(tracing_count("persist", ""), 0);
	tracing_stop();
	buf_check(r.buf);
}

/* Ranges beyond the region, and keys that lack the right, are refused. */
static void fl7_persistent_refused(void)
{
	struct ibv_mr *mr;
	struct asked a;
	int fd;

	begin_persistent(&fd);
	answered(persistent(0, r.buf->length + 1, IBV_FLUSH_RANGE),
		 IBV_WC_REM_ACCESS_ERR);
	answered(persistent(-1, 1, IBV_FLUSH_RANGE), IBV_WC_REM_ACCESS_ERR);
	a = persistent(0, 8, IBV_FLUSH_RANGE);
	mr = MUST(ibv_reg_mr(dev.pd, r.buf->data, r.buf->length, ODP_ALL));
	a.rkey = mr->rkey;
	answered(a, IBV_WC_REM_ACCESS_ERR);
	a.level = IBV_FLUSH_MR;
	answered(a, IBV_WC_REM_ACCESS_ERR);
	answered(persistent(0, 8, IBV_FLUSH_RANGE), IBV_WC_SUCCESS);
}

/* Mappings that are not persistent, at registration or later, are refused. */
static void fl8_mappings(void)
{
	size_t in = 3 * PAGE, rest;
	uint8_t *map, *beside;
	int fd;

	begin_persistent(&fd);
	map = r.buf->map;
	rest = r.buf->map + FILE_SIZE - r.buf->data - in;
	answered(persistent(0, r.buf->length, IBV_FLUSH_RANGE), IBV_WC_SUCCESS);

	/* Without MAP_SYNC the file's metadata may be lost in a crash. */
	beside = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      0);
	CHECK(beside != MAP_FAILED);
	MUST_NOT(ibv_reg_mr(dev.pd, beside, FILE_SIZE, ODP_ALL | PERSISTENT),
		 EINVAL);

	/* A page of ordinary memory in the middle of the mapping. */
	CHECK(mmap(map + MARGIN / PAGE * PAGE + in, PAGE,
		   PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		   0) != MAP_FAILED);
	MUST_NOT(ibv_reg_mr(dev.pd, map, FILE_SIZE, ODP_ALL | PERSISTENT),
		 EINVAL);
	answered(persistent(0, r.buf->length, IBV_FLUSH_RANGE),
		 IBV_WC_REM_ACCESS_ERR);
	answered(persistent(0, PAGE, IBV_FLUSH_RANGE), IBV_WC_SUCCESS);
	answered(persistent(in + PAGE, rest - PAGE - 2 * MARGIN,
			    IBV_FLUSH_RANGE),
		 IBV_WC_SUCCESS);
	/* A hole in the mapping. */
	CHECK_EQ(munmap(map + MARGIN / PAGE * PAGE + in, PAGE), 0);
	MUST_NOT(ibv_reg_mr(dev.pd, map, FILE_SIZE, ODP_ALL | PERSISTENT),
		 EINVAL);
	answered(persistent(in, 1, IBV_FLUSH_RANGE), IBV_WC_REM_ACCESS_ERR);
}

/* ------------------------------------------------------- what others wait for */

/* While the whole region is flushed, stretch by stretch: how often others get on, at least. */
enum { ENOUGH = 10 };

static struct link others;
static bool over; /* atomic */

static bool is_over(void)
{
	return __atomic_load_n(&over, __ATOMIC_SEQ_CST);
}

/* Wants the receiver of the flush. */
static void *ask(void *unused)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	(void)unused;
	while (!is_over()) {
		CHECK_EQ(ibv_query_qp(link_.b.qp, &attr, IBV_QP_STATE, &init),
			 0);
		tracing_mark("got on");
	}
	return NULL;
}

/* Sends messages of others. */
static void *send_others(void *arg)
{
	struct region *regions = arg;

	while (!is_over()) {
		expect(rdma(&others.a, IBV_WR_RDMA_WRITE,
			    sge_of(&regions[0], 0, 8), regions[1].base,
			    regions[1].rkey),
		       IBV_WC_SUCCESS);
		tracing_mark("got on");
	}
	return NULL;
}

static struct region small[2];

static bool gets_on(void *arg)
{
	void *(*other)(void *) = arg;
	unsigned int times;
	pthread_t thread;

	over = false;
	tracing_start();
	CHECK_EQ(pthread_create(&thread, NULL, other, small), 0);
	while (!tracing_count("tracing_mark_write", "got on"))
		usleep(1000);
	answered(persistent(0, r.buf->length, IBV_FLUSH_RANGE), IBV_WC_SUCCESS);
	__atomic_store_n(&over, true, __ATOMIC_SEQ_CST);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(tracing_sum("persist", "length"), r.buf->length);
	times = tracing_marks_within("persist", "got on");
	tracing_stop();
	note("others got on %u times", times);
	return times >= ENOUGH;
}

/* Who does this does not wait for a whole flush. */
static void get_on(void *(*other)(void *))
{
	int fd;

	begin_with(&fd, LARGE);
	link_make(&others, NULL);
	small[0] = region_new(8, 3, ALL_ACCESS);
	small[1] = region_new(8, 5, ALL_ACCESS);
	/* All pages come. */
	answered(persistent(0, r.buf->length, IBV_FLUSH_RANGE), IBV_WC_SUCCESS);
	if (!one_of(3, "others had no processor", gets_on, other))
		FAIL("others wait for a flush");
}

/* A queue pair is queried while it receives a flush. */
static void fl9_receiver(void)
{
	get_on(ask);
}

/* Messages between other queue pairs come during a flush. */
static void fl9_messages(void)
{
	get_on(send_others);
}

/*
 * A READ and a FLUSH come together, and pages of both are missing. However often they come again,
 * all is written back before the FLUSH is answered.
 */
static void fl10_behind_a_read(void)
{
	struct region source = region_new(3 * PAGE, 55, ODP_ALL);
	struct region sink = region_new(source.buf->length, 99, ALL_ACCESS);
	int fd, i;

	begin_persistent(&fd);
	for (i = 0; i < 20; i++) {
		link_renew(&link_);
		buf_forget(source.buf);
		dax_empty(fd, FILE_SIZE);
		tracing_start();
		post_rdma(&link_.a, IBV_WR_RDMA_READ,
			  sge_of(&sink, 0, sink.buf->length), source.base,
			  source.rkey, 1);
		/* This is the completion of the READ. */
		expect(flush(&link_.a, r.rkey, r.base, r.buf->length,
			     IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE),
		       IBV_WC_SUCCESS);
		expect(await(link_.a.scq), IBV_WC_SUCCESS);
		CHECK(tracing_sum("persist", "length") >= r.buf->length);
		tracing_stop();
	}
}

static const struct test tests[] = {
	TEST(fl1_ranges, "FL1 ranges"),
	TEST(fl2_whole, "FL2 the whole region"),
	TEST(fl3_keys, "FL3 keys"),
	TEST(fl4_nonsense, "FL4 what is no flush"),
	TEST(fl5_memory_that_is_not, "FL5 memory that is not persistent"),
	TEST(fl6_persistent, "FL6 written back to persistent memory"),
	TEST(fl7_persistent_refused, "FL7 not allowed to persistence"),
	TEST(fl8_mappings, "FL8 persistent mappings"),
	TEST(fl9_receiver, "FL9 a receiver that flushes gives way"),
	TEST(fl9_messages, "FL9 messages of others come during a flush"),
	TEST(fl10_behind_a_read, "FL10 a flush behind a read"),
};
#else
static const struct test tests[] = {
	TEST(no_wr_flush, "FL1 ranges"),
};
#endif

HARNESS_MAIN("FLUSH", tests)
