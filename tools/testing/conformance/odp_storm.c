// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand regions, explicit and implicit, whose pages are moved, shared, protected and dropped
 * under traffic (items A45 and A50). Most changes keep the contents, so each byte is known all
 * the time: reads must return it, and writes must be there when they complete. But for the tests of
 * processes and of userfaultfd, the requests are made to device_across().
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "file.h"
#include "killed.h"
#include "link.h"
#include "resources.h"
#include "swap.h"
#include "undo.h"
#include "writer.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum {
	USERS = 2,
	/* Bytes of one user; more than a child of an implicit region, and odd. */
	SLICE = (5 << 20) + 4096 * 3,
};

static uint8_t *memory;
/* Its regions: what requests name by rkey, and by lkey. One, unless they are made to another device. */
static struct ibv_mr *mr, *own;
static _Atomic bool stop;

/* Each thread has a link and its own part of the memory, and knows the expected bytes. */
struct user {
	pthread_t thread;
	struct link link;
	/* A buffer by lkey, and by rkey. */
	struct region local, remote;
	uint8_t *data, *model;
	volatile unsigned long messages;
	uint64_t rnd;
};

static struct user users[USERS];

static void write_some(struct user *u, size_t at, uint32_t length)
{
	uint8_t *source = u->local.buf->data;
	size_t i;

	for (i = 0; i < length; i += 8)
		*(uint64_t *)(source + i) = rnd_next(&u->rnd);
	memcpy(u->model + at, source, length);
	expect(rdma(&u->link.a, IBV_WR_RDMA_WRITE, sge_of(&u->local, 0, length),
		    (uintptr_t)u->data + at, mr->rkey),
	       IBV_WC_SUCCESS);
	if (memcmp(u->data + at, u->model + at, length))
		FAIL("what was written to %#zx is not there", at);
}

static void read_some(struct user *u, size_t at, uint32_t length)
{
	expect(rdma(&u->link.a, IBV_WR_RDMA_READ, sge_of(&u->local, 0, length),
		    (uintptr_t)u->data + at, mr->rkey),
	       IBV_WC_SUCCESS);
	if (memcmp(u->local.buf->data, u->model + at, length))
		FAIL("what was read from %#zx is not what is there", at);
}

/* Messages that use the lkey, which read from the region or write to it. */
static void copy_some(struct user *u, size_t at, uint32_t length, bool in)
{
	struct ibv_sge sge = { .addr = (uintptr_t)u->data + at,
			       .length = length,
			       .lkey = own->lkey };
	uint8_t *other = u->local.buf->data;
	size_t i;

	for (i = 0; i < length; i += 8)
		*(uint64_t *)(other + i) = rnd_next(&u->rnd);
	if (in)
		memcpy(u->model + at, other, length);
	expect(rdma(&u->link.a, in ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, sge,
		    u->remote.base, u->remote.rkey),
	       IBV_WC_SUCCESS);
	if (memcmp(in ? u->data + at : other, u->model + at, length))
		FAIL("by lkey, %s at %#zx, the bytes differ", in ? "in" : "out",
		     at);
}

/* Stores by the CPU, which end the sharing of a page. */
static void store_some(struct user *u, size_t at, uint32_t length)
{
	size_t i;

	for (i = at; i < at + length; i++)
		u->data[i] = u->model[i] = rnd_next(&u->rnd);
	read_some(u, at, length);
}

static void *use(void *arg)
{
	struct user *u = arg;

	while (!stop) {
		uint32_t length =
			1 + rnd_next(&u->rnd) %
				    (rnd_next(&u->rnd) % 8 ? 20000 : 3 << 20);
		size_t at = rnd_next(&u->rnd) % (SLICE - length);

		switch (rnd_next(&u->rnd) % 5) {
		case 0:
			write_some(u, at, length);
			break;
		case 1:
			read_some(u, at, length);
			break;
		case 2:
			store_some(u, at, 1 + length / 16);
			break;
		default:
			copy_some(u, at, length, rnd_next(&u->rnd) & 1);
		}
		u->messages++;
	}
	return NULL;
}

/* -------------------------------------------- changes that keep the contents */

/* Memory that a forked child has must not change when the parent or the device writes. */
static void idle_child(void *arg)
{
	static uint8_t was[400000];
	size_t at = rnd_below(USERS * SLICE - sizeof(was));

	(void)arg;
	memcpy(was, memory + at, sizeof(was));
	usleep(rnd_below(20000));
	if (memcmp(was, memory + at, sizeof(was)))
		FAIL("the device wrote to a child's memory");
}

/* Writes of a forked child must not appear in the parent's memory, nor the reverse. */
static void writing_child(void *arg)
{
	size_t at = rnd_below(USERS * (SLICE - 40000));

	(void)arg;
	memset(memory + at, 0xee, 40000);
	usleep(rnd_below(3000));
}

static void try_advice(void *from, size_t length, int advice)
{
	/* Some kernels lack some kinds of advice. */
	madvise(from, length, advice);
}

static void shake(unsigned long round)
{
	size_t pages = USERS * SLICE / PAGE;
	size_t at = rnd_below(pages - 1);
	size_t n = 1 + rnd_below(rnd() % 4 ? 20 : 2000);
	uint8_t *from = memory + at * PAGE;
	size_t length;

	if (n > pages - at)
		n = pages - at;
	length = n * PAGE;
	switch (round % 8) {
	case 0:
	case 1:
		try_advice(from, length, MADV_PAGEOUT);
		break;
	case 2:
		reap_ok(spawn(idle_child, NULL));
		break;
	case 3:
		reap_ok(spawn(writing_child, NULL));
		break;
	case 4:
		try_advice(from, length, MADV_HUGEPAGE);
		try_advice(from, length, MADV_COLLAPSE);
		break;
	case 5:
		try_advice(from, length, MADV_NOHUGEPAGE);
		break;
	case 6:
		try_advice(from, length, MADV_MERGEABLE);
		break;
	default:
		try_advice(from, length, MADV_UNMERGEABLE);
	}
}

static const char ksm_run[] = "/sys/kernel/mm/ksm/run";

/* ksmd would go on in later tests. */
static void stop_merging(void)
{
	file_write("2", ksm_run);
}

/*
 * Pages must have been missing, fetched, invalidated and fetched again. If not, the changes
 * above had no effect, as without swap, THP and KSM. Forks alone invalidate many, so that where there
 * is swap, pages must have gone there, too.
 */
static uint64_t brought, taken;
static bool swaps;
static long long swap_before;

static bool was_shaken(void)
{
	if (swaps && swap_written() - swap_before <= 100)
		return false;
	if (!resources_mr_counter(own->rkey, "page_faults", &brought) ||
	    !resources_mr_counter(own->rkey, "page_invalidations", &taken)) {
		/* Other devices need not count. */
		CHECK(!dev.pinion);
		return true;
	}
	return taken > 100 && brought > 100;
}

/* A region at @device, of all memory or of @length bytes. */
static struct ibv_mr *on_demand(const struct device *device, bool implicit,
				void *from, size_t length)
{
	if (implicit)
		return MUST(ibv_reg_mr(device->pd, NULL, SIZE_MAX, ODP_ALL));
	return MUST(ibv_reg_mr(device->pd, from, length, ODP_ALL));
}

/*
 * Pages are moved, merged, shared and swapped out under traffic: each byte is known all the time.
 */
static void a45_storm(int implicit)
{
	const struct device *across = device_across();
	double end;
	unsigned long round, messages = 0;
	bool shaken = false;
	int i;

	need_odp();
	undo_at_end(stop_merging);
	swaps = !geteuid() && !swap_begin();
	swap_before = swaps ? swap_written() : 0;
	memory = mmap(NULL, USERS * SLICE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	own = mr = on_demand(&dev, implicit, memory, USERS * SLICE);
	if (across != &dev)
		mr = on_demand(across, implicit, memory, USERS * SLICE);
	if (file_write("1", ksm_run))
		note("no KSM");
	for (i = 0; i < USERS; i++) {
		struct user *u = &users[i];

		link_across(&u->link, NULL);
		u->local = u->remote = region_new(3 << 20, 0, ALL_ACCESS);
		if (across != &dev)
			u->remote = region_reg(across->pd, u->local.buf,
					       ALL_ACCESS);
		u->data = memory + i * SLICE;
		u->model = MUST(calloc(1, SLICE));
		u->rnd = rnd();
		CHECK_EQ(pthread_create(&u->thread, NULL, use, u), 0);
	}
	end = now() + opt.seconds;
	for (round = 0;
	     go_on(end, users[0].messages && users[1].messages && shaken);
	     round++) {
		shake(round);
		if (!shaken && round % 16 == 15)
			shaken = was_shaken();
	}
	stop = true;
	for (i = 0; i < USERS; i++) {
		pthread_join(users[i].thread, NULL);
		messages += users[i].messages;
		if (memcmp(users[i].data, users[i].model, SLICE))
			FAIL("in the end bytes of user %d differ", i);
	}
	CHECK(was_shaken());
	note("%lu changes, %lu messages, %" PRIu64 " pages brought, %" PRIu64
	     " taken, %lld to swap",
	     round, messages, brought, taken,
	     swaps ? swap_written() - swap_before : 0);
	CHECK(messages);
	if (mr != own)
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dereg_mr(own), 0);
}

/* ----------------------------------------- memory that is unmapped */

/*
 * @how removes a shared mapping under traffic. After that nothing may write to the pages of the
 * file.
 */
static void vanish(unsigned long round, uint8_t *map, size_t length)
{
	void *moved;

	switch (round % 4) {
	case 0:
		CHECK_EQ(munmap(map, length), 0);
		break;
	case 1:
		CHECK_EQ(mprotect(map, length, PROT_NONE), 0);
		break;
	case 2:
		moved = mremap(map, length, length,
			       MREMAP_MAYMOVE | MREMAP_FIXED, map + length);
		CHECK(moved == map + length);
		CHECK_EQ(munmap(moved, length), 0);
		break;
	default:
		CHECK_EQ(mprotect(map, length, PROT_READ), 0);
	}
}

/* Memory is unmapped, protected or moved under writes: afterwards no write gets to its pages. */
static void a50_vanish(int implicit)
{
	const size_t length = 16 * PAGE;
	static uint8_t was[16 * 4096];
	double end = now() + opt.seconds;
	int fd = memfd_create("odp", 0);
	uint8_t *file, *map;
	struct region source;
	struct writer writer;
	struct link link;
	unsigned long round;

	need_odp();
	CHECK_EQ(ftruncate(fd, length), 0);
	file = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/*
	 * Where mmap() does not place anything by itself: otherwise what vanishes may become the
	 * heap or stack of another thread before it is mapped again.
	 */
	map = mmap((void *)0x567000000000, 2 * length, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(file != MAP_FAILED && map != MAP_FAILED);
	mr = on_demand(device_across(), implicit, map, length);
	link_across(&link, NULL);
	source = region_new(length, 0, ALL_ACCESS);
	writer = (struct writer){
		.link = &link,
		.from = &source,
		.addr = (uintptr_t)map,
		.rkey = mr->rkey,
	};
	writer_start(&writer);
	for (round = 0; go_on(end, writer.done && writer.refused); round++) {
		CHECK(mmap(map, length, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_FIXED, fd, 0) == map);
		usleep(rnd_below(1000));
		vanish(round, map, length);
		rnd_fill(file, length);
		memcpy(was, file, length);
		usleep(rnd_below(300));
		if (memcmp(was, file, length))
			FAIL("written to after it was taken away, round %lu",
			     round);
	}
	writer_end(&writer, round);
	CHECK(writer.refused);
}

/* ------------------------------------------------- a process and its memory */

static volatile unsigned long *writes; /* in shared memory */

/* Sends messages until it is killed. */
static void victim(void *arg)
{
	struct region local;
	struct link link;
	uint8_t *data;

	device_open();
	link_make(&link, NULL);
	local = region_new(3 << 20, 0, ALL_ACCESS);
	mr = *(bool *)arg ? MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL)) :
			    NULL;
	data = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(data != MAP_FAILED);
	if (!mr)
		mr = MUST(ibv_reg_mr(dev.pd, data, 8 << 20, ODP_ALL));
	for (;;) {
		size_t at = rnd_below(5 << 20);

		expect(rdma(&link.a, IBV_WR_RDMA_WRITE,
			    sge_of(&local, 0, 3 << 20), (uintptr_t)data + at,
			    mr->rkey),
		       IBV_WC_SUCCESS);
		++*writes;
		madvise(data, 8 << 20, MADV_DONTNEED);
	}
}

/* Processes are killed while their messages fault, which the harness finds no trace of. */
static void a50_killed(void)
{
	double end = now() + opt.seconds;
	int round, working = 0;

	need_odp();
	writes = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(writes != MAP_FAILED);
	for (round = 0; go_on(end, working); round++) {
		bool implicit = round & 1;
		unsigned long before = *writes;
		int pid = spawn(victim, &implicit);

		/* In some rounds at any time, in others only once it has written. */
		if (round & 2)
			while (*writes == before && now() < end + patience(60))
				usleep(1000);
		usleep(rnd_below(400000));
		killed(pid);
		working += *writes != before;
	}
	note("%d processes, %d of them while they wrote", round, working);
	CHECK(working);
}

/* The region uses the memory of another process, which exits before the region is destroyed. */
static void a50_memory_gone(void)
{
	int to_child[2], from_child[2], pid;
	uint8_t *data;
	struct region local;
	struct link link;
	char byte = 0;

	need_odp();
	CHECK_EQ(pipe(to_child) | pipe(from_child), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		/*
		 * The child registers its own memory, through the device of the parent, which
		 * stays open.
		 */
		data = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(data, 7, 4 << 20);
		mr = ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL);
		if (!mr)
			_exit(1);
		if (write(from_child[1], &mr->rkey, 4) != 4 ||
		    write(from_child[1], &data, sizeof(data)) != sizeof(data) ||
		    read(to_child[0], &byte, 1) != 1)
			_exit(1);
		_exit(0);
	}
	{
		uint32_t rkey;
		int i;

		CHECK_EQ(read(from_child[0], &rkey, 4), 4);
		CHECK_EQ(read(from_child[0], &data, sizeof(data)),
			 sizeof(data));
		link_make(&link, NULL);
		local = region_new(3 << 20, 0, ALL_ACCESS);
		expect(rdma(&link.a, IBV_WR_RDMA_READ,
			    sge_of(&local, 0, 3 << 20), (uintptr_t)data + 5,
			    rkey),
		       IBV_WC_SUCCESS);
		for (i = 0; i < 3 << 20; i++)
			CHECK_EQ(local.buf->data[i], 7);
		CHECK_EQ(write(to_child[1], &byte, 1), 1);
		reap_ok(pid);
		refused(&link, IBV_WR_RDMA_READ, sge_of(&local, 0, 9),
			(uintptr_t)data + 5, rkey, IBV_WC_REM_ACCESS_ERR, -1);
	}
}

/* A page that userfaultfd has not yet supplied cannot be accessed until it is supplied. */
static void a50_userfaultfd(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_copy copy = {};
	struct region local, source;
	struct link link;
	uint8_t *data;
	int fd;

	need_odp();
	fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		skip("no userfaultfd");
	link_make(&link, NULL);
	local = region_new(8 * PAGE, 0, ALL_ACCESS);
	source = region_new(8 * PAGE, 0, ALL_ACCESS);
	data = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)data;
	reg.range.len = 8 * PAGE;
	CHECK_EQ(ioctl(fd, UFFDIO_REGISTER, &reg), 0);
	mr = MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL));
	refused(&link, IBV_WR_RDMA_READ, sge_of(&local, 0, 9),
		(uintptr_t)data + 5, mr->rkey, IBV_WC_REM_ACCESS_ERR, -1);
	refused(&link, IBV_WR_RDMA_WRITE, sge_of(&local, 0, 9),
		(uintptr_t)data + 5, mr->rkey, IBV_WC_REM_ACCESS_ERR, -1);
	copy.dst = (uintptr_t)data;
	copy.src = (uintptr_t)source.buf->data;
	copy.len = 8 * PAGE;
	CHECK_EQ(ioctl(fd, UFFDIO_COPY, &copy), 0);
	expect(rdma(&link.a, IBV_WR_RDMA_READ, sge_of(&local, 0, 8 * PAGE),
		    (uintptr_t)data, mr->rkey),
	       IBV_WC_SUCCESS);
	CHECK_EQ(memcmp(local.buf->data, source.buf->data, 8 * PAGE), 0);
	close(fd);
}

static const struct test tests[] = {
	TEST_OF(a45_storm, false, "A45 changes under traffic, explicit"),
	TEST_OF(a45_storm, true, "A45 changes under traffic, implicit"),
	TEST_OF(a50_vanish, false,
		"A50 nothing is touched afterwards, explicit"),
	TEST_OF(a50_vanish, true,
		"A50 nothing is touched afterwards, implicit"),
	TEST(a50_killed, "A50 kill -9 in the middle of faults"),
	TEST(a50_memory_gone, "A50 the memory's process ends first"),
	TEST(a50_userfaultfd, "A50 userfaultfd"),
};

HARNESS_MAIN("On-demand regions whose memory changes under traffic", tests)
