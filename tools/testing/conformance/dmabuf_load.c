// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_reg_dmabuf_mr(3) with messages on their way: the buffer moves, is taken away, is
 * deregistered, and its user is killed (items A68 and A72). Every byte is compared,
 * and the exporter watches the memory that the buffer has left.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dmabuf.h"
#include "link.h"

enum {
	THREADS = 3,
	REPEAT = 12,
	SLICE = 100 * 4096 + 123,
	SIZE = 77 * 4 * 4096,
	ENOUGH = 3, /* times that messages must have gone when a region ended */
};

/* Each thread has its own part of the buffer, so it knows the expected bytes. */
struct user {
	pthread_t thread;
	struct link link;
	struct region own; /* what is written, something else, what is read */
	uint64_t at; /* offset of its part in the buffer */
	uint64_t rnd;
	unsigned long done, refused; /* atomic */
};

static struct user users[THREADS];
static struct dmabuf dmabuf;
static struct region shared;
static bool stop, may_fail;

static bool ended(void)
{
	return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

/* Returns false if the message was refused; then the link works again. */
static bool carried(struct user *u, struct ibv_wc wc)
{
	if (wc.status == IBV_WC_SUCCESS) {
		__atomic_add_fetch(&u->done, 1, __ATOMIC_RELAXED);
		return true;
	}
	if (!may_fail || (wc.status != IBV_WC_REM_ACCESS_ERR &&
			  wc.status != IBV_WC_LOC_PROT_ERR))
		FAIL("status %d, syndrome %u", wc.status, wc.vendor_err);
	u->refused++;
	link_renew(&u->link);
	return false;
}

/*
 * Repeats writes or reads, so that the device almost always uses the buffer. Alternates between
 * the expected data and other data, so that the bytes change.
 */
static bool repeat(struct user *u, struct end *end, enum ibv_wr_opcode opcode,
		   struct ibv_sge local, uint64_t remote, uint32_t rkey)
{
	int i, count = 1 + rnd_next(&u->rnd) % REPEAT;
	struct ibv_send_wr wr[REPEAT] = {};
	struct ibv_sge sge[REPEAT];

	for (i = 0; i < count; i++) {
		uint64_t turn = (count - 1 - i) % 2 * SLICE;

		sge[i] = local;
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].opcode = opcode;
		wr[i].wr.rdma.remote_addr = remote;
		wr[i].wr.rdma.rkey = rkey;
		if (opcode == IBV_WR_RDMA_WRITE)
			sge[i].addr += turn;
		else
			wr[i].wr.rdma.remote_addr += turn;
		if (i < count - 1)
			wr[i].next = &wr[i + 1];
		else
			wr[i].send_flags = IBV_SEND_SIGNALED;
	}
	post(end, wr);
	return carried(u, await(end->scq));
}

static bool there_and_back(struct user *u, uint32_t length, uint64_t at)
{
	struct ibv_sge there = sge_of(&u->own, 0, length);
	struct ibv_sge back = sge_of(&u->own, 2 * SLICE, length);
	uint64_t to = shared.base + u->at + at;
	struct ibv_sge in = { to, length, shared.lkey };

	/* By rkey, or by lkey from the other side. */
	if (rnd_next(&u->rnd) & 1) {
		if (!repeat(u, &u->link.a, IBV_WR_RDMA_WRITE, there, to,
			    shared.rkey))
			return false;
	} else {
		if (!repeat(u, &u->link.b, IBV_WR_RDMA_READ, in, u->own.base,
			    u->own.rkey))
			return false;
	}
	if (rnd_next(&u->rnd) & 1)
		return carried(u, rdma(&u->link.a, IBV_WR_RDMA_READ, back, to,
				       shared.rkey));
	return carried(u, rdma(&u->link.b, IBV_WR_RDMA_WRITE, in,
			       u->own.base + 2 * SLICE, u->own.rkey));
}

/* All words are new, so that a stale byte cannot look like a fresh one. */
static void renew(struct user *u, uint8_t *data, size_t length)
{
	uint64_t word = rnd_next(&u->rnd);
	size_t i;

	for (i = 0; i + sizeof(word) <= length; i += sizeof(word)) {
		memcpy(data + i, &word, sizeof(word));
		word += 0x9e3779b97f4a7c15;
	}
}

static void *use(void *arg)
{
	struct user *u = arg;
	uint8_t *there = u->own.buf->data, *back = there + 2 * SLICE;

	while (!ended()) {
		uint32_t length = 1 + rnd_next(&u->rnd) % SLICE;
		uint64_t at = rnd_next(&u->rnd) % (SLICE - length + 1);

		renew(u, there, length);
		if (!there_and_back(u, length, at))
			continue;
		if (memcmp(there, back, length))
			FAIL("%u bytes at %llu came back differently", length,
			     (unsigned long long)at);
	}
	return NULL;
}

static void start(bool failures)
{
	int i;

	stop = false;
	may_fail = failures;
	for (i = 0; i < THREADS; i++) {
		struct user *u = &users[i];

		if (!u->own.buf) {
			link_make(&u->link, NULL);
			u->own = region_new(3 * SLICE, 100 + i, ALL_ACCESS);
		}
		u->at = i * SLICE;
		u->rnd = rnd();
		u->done = 0;
		u->refused = 0;
		CHECK_EQ(pthread_create(&u->thread, NULL, use, u), 0);
	}
}

/* Sums over all rounds so far. */
static unsigned long done_all, refused_all;

/* Messages that have succeeded in this round. */
static unsigned long done_now(void)
{
	unsigned long sum = 0;
	int i;

	for (i = 0; i < THREADS; i++)
		sum += __atomic_load_n(&users[i].done, __ATOMIC_RELAXED);
	return sum;
}

/* Waits until a message of this round has succeeded. Nothing prevents that here. */
static void await_done(void)
{
	double limit = now() + patience(PATIENCE);

	while (!done_now()) {
		CHECK(now() < limit);
		usleep(1000);
	}
}

static void join(void)
{
	int i;

	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < THREADS; i++) {
		pthread_join(users[i].thread, NULL);
		done_all += users[i].done;
		refused_all += users[i].refused;
	}
}

static void conclude(const char *what, unsigned long changes)
{
	note("%lu %s, %lu messages, %lu refused", changes, what, done_all,
	     refused_all);
	CHECK(done_all);
}

static void share(unsigned int flags)
{
	dmabuf = dmabuf_own(SIZE, flags);
	/* From here on the process uses the buffer only through the device. */
	shared = dmabuf_region(&dmabuf, 777, THREADS * SLICE, 777 + (1 << 20),
			       ALL_ACCESS);
}

/* How the exporter moves a buffer. */
struct moving {
	unsigned int flags; /* of EXPORTER_* */
	unsigned int delay_ms; /* until the fence is signaled */
};

/*
 * A dma-buf moves under traffic: no message accesses the old place afterwards, and the data are
 * right.
 */
static void a68_moves(const void *with)
{
	const struct moving *moving = with;
	struct exporter_stat stat;
	unsigned long count;
	double end;

	share(moving->flags);
	start(false);
	end = now() + opt.seconds;
	for (count = 0; !count || now() < end; count++) {
		CHECK_EQ(dmabuf_move(&dmabuf, moving->delay_ms), 0);
		usleep(rnd_below(2000));
	}
	/* Wait until messages have mapped the buffer again at least once after a move. */
	for (end = now() + patience(PATIENCE);
	     dmabuf_stat(&dmabuf).maps < 2 && now() < end;)
		usleep(1000);
	join();
	conclude("moves", count);
	stat = dmabuf_stat(&dmabuf);
	CHECK_EQ(stat.late, 0);
	CHECK_EQ(stat.touched, 0);
	CHECK(stat.maps > 1);
	dmabuf_region_free(&shared);
	dmabuf_check_unused(&dmabuf);
}

/* A dma-buf is revoked under traffic: nothing accesses it afterwards, and its region can end. */
static void a68_taken_away(void)
{
	double end = now() + opt.seconds;
	unsigned long count;

	for (count = 0; !count || now() < end; count++) {
		share(0);
		start(true);
		await_done();
		usleep(rnd_below(30000));
		if (rnd() & 1)
			CHECK_EQ(dmabuf_move(&dmabuf, 0), 0);
		dmabuf_revoke(&dmabuf);
		usleep(rnd_below(10000));
		CHECK_EQ(dmabuf_stat(&dmabuf).touched, 0);
		join();
		dmabuf_region_free(&shared);
		dmabuf_check_unused(&dmabuf);
		dmabuf_free(&dmabuf);
	}
	conclude("buffers", count);
}

/* Regions of a dma-buf that moves end under traffic: the exporter has it back each time. */
static void a72_deregister(void)
{
	unsigned long count, before, used = 0;
	double end;

	share(0);
	start(true);
	end = now() + opt.seconds;
	for (count = 0; go_on(end, used >= ENOUGH); count++) {
		struct region old = shared;

		before = done_now();
		usleep(rnd_below(5000));
		used += done_now() > before;
		if (rnd() & 1)
			CHECK_EQ(dmabuf_move(&dmabuf, rnd_below(3)), 0);
		dmabuf_region_free(&old);
		dmabuf_check_unused(&dmabuf);
		shared = dmabuf_region(&dmabuf, 777, THREADS * SLICE,
				       777 + (1 << 20), ALL_ACCESS);
	}
	join();
	conclude("regions", count);
	note("%lu of them were in use", used);
	CHECK(used >= ENOUGH);
	dmabuf_region_free(&shared);
	dmabuf_check_unused(&dmabuf);
}

/* @busy, in shared memory: how many were killed when messages had gone. */
static void is_killed(void *busy)
{
	device_open();
	share(0);
	start(false);
	usleep(rnd_below(60000));
	*(unsigned long *)busy += done_now() > 0;
	kill(getpid(), SIGKILL);
}

/* Processes are killed in the middle of traffic with dma-bufs: no buffer is left. */
static void a72_killed(void)
{
	unsigned long *busy = mmap(NULL, sizeof(*busy), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double end = now() + opt.seconds;
	unsigned long count;
	uint64_t live;

	need_exporter();
	CHECK(busy != MAP_FAILED);
	live = dmabuf_live();
	for (count = 0; go_on(end, *busy >= ENOUGH); count++) {
		rnd();
		CHECK_EQ(reap(spawn(is_killed, busy)), SIGKILL);
	}
	note("%lu killed, %lu of them when messages had gone", count, *busy);
	CHECK(*busy >= ENOUGH);
	/* The last reference is dropped with the context, a little later. */
	dmabuf_await_live(live);
}

static const struct test tests[] = {
	TEST_WITH(a68_moves, &(const struct moving){}, "A68 moves under load"),
	TEST_WITH(a68_moves,
		  &(const struct moving){ .flags = EXPORTER_CONTIGUOUS },
		  "A68 moves of contiguous memory under load"),
	TEST_WITH(a68_moves, &(const struct moving){ .delay_ms = 3 },
		  "A68 moves with fences under load"),
	TEST(a68_taken_away, "A68 taken away under load (class 5)"),
	TEST(a72_deregister, "A72 deregistered under load (class 8)"),
	TEST(a72_killed, "A72 killed under load"),
};

HARNESS_MAIN("ibv_reg_dmabuf_mr(3): buffers that move under load", tests)
