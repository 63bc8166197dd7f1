// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbell pages are unmapped while doorbell records are polled seldom, so that a store faults.
 * Then polling must become frequent at once, and no doorbell may be lost, whatever happens to the
 * mapping, and however long nothing has rung (items VT1 to VT5, VT7 to VT11; VT6 is in unplug.c).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "raw_queue.h"

/*
 * After about 25 ms without a doorbell the kernel rests (see kernel/path/bell.c): it unmaps doorbell
 * pages. REST_US is enough for that. After LONG_REST_US it polls as seldom as it ever does.
 */
enum { REST_US = 60000, LONG_REST_US = 600000, LEN = 4096, BELL_AT = 0x600 };

static struct mlx5dv_devx_uar *uar;
static struct raw_queue a, b;
static struct region from, to;
static bool by_page; /* no send record: only the page is a doorbell */

static void begin(void)
{
	uint8_t out[PRM_HEAD];

	dv_begin();
	from = region_new(LEN, 3, ALL_ACCESS);
	to = region_new(LEN, 5, ALL_ACCESS);
	uar = MUST(mlx5dv_devx_alloc_uar(dev.ctx, MLX5DV_UAR_ALLOC_TYPE_NC));
	raw_places(&a, false);
	if (by_page) {
		a.asked.no_send_record = 1;
		a.asked.uar = uar->page_id;
	}
	a.qp = MUST(raw_try_qp(&a, out));
	a.qpn = prm_number(out);
	raw_make(&b, false);
	raw_connect(&a, b.qpn);
	raw_connect(&b, a.qpn);
}

static void end(void)
{
	raw_free(&a);
	raw_free(&b);
	mlx5dv_devx_free_uar(uar);
}

/* Is the page in the page table of this process? */
static bool is_mapped(const void *at)
{
	uint64_t entry;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(pread(fd, &entry, sizeof(entry),
		       (uintptr_t)at / PAGE * sizeof(entry)),
		 sizeof(entry));
	close(fd);
	return entry >> 63;
}

static void store(void *page, uint64_t value)
{
	__atomic_store_n((uint64_t *)((uint8_t *)page + BELL_AT), value,
			 __ATOMIC_RELEASE);
}

static void store_here(uint64_t bell)
{
	store(uar->base_addr, bell);
}

static void (*bell_store)(uint64_t bell) = store_here;

/* Rings as for mlx5: store the first two words of the request to the page. */
static void ring_page(uint16_t request)
{
	uint8_t *ctrl = a.buf->data + SQ_AT + request % (1 << SQ_LOG) * BLOCK;
	uint64_t bell;

	memcpy(&bell, ctrl, sizeof(bell));
	bell_store(bell);
}

/*
 * RDMA WRITE of a random range, rung by the record if there is one, and if @page by the page.
 * Return: the time from the doorbell to the completion, during which this thread polls.
 */
static double write_some(bool page)
{
	uint32_t length = rnd_in(1, 200), at = rnd_below(LEN - length);
	double begun, limit, took;
	uint8_t segments[2 * SEGMENT];
	uint16_t request = a.sq;
	struct raw_cqe cqe;

	rnd_fill(from.buf->data + at, length);
	raw_address(segments, &to, at);
	raw_data(segments + SEGMENT, &from, at, length);
	raw_post(&a, RAW_WRITE, RAW_SIGNALED, 0, segments, 2);
	begun = now();
	limit = begun + patience(10);
	if (!by_page)
		raw_ring(&a);
	if (page)
		ring_page(request);
	while (!raw_poll(&a, &cqe))
		if (now() > limit)
			FAIL("a doorbell is lost");
	took = now() - begun;
	CHECK_EQ(cqe.opcode, REQUEST);
	CHECK_EQ(cqe.counter, request);
	CHECK(!memcmp(to.buf->data + at, from.buf->data + at, length));
	return took;
}

static void await_rest(void)
{
	double limit = now() + patience(10);

	do {
		if (now() > limit)
			FAIL("the page stays");
		usleep(REST_US);
	} while (is_mapped(uar->base_addr));
}

/* ------------------------------------------------------------ effect of a store */

/* Return: the number of polls in 20 ms of rest, or if @stored in 20 ms after a store. */
static unsigned long long looks_after(bool stored)
{
	unsigned long long before;

	await_rest();
	before = raw_looks();
	/* Not to the doorbell register, so the only effect is more polls. */
	if (stored)
		*(volatile uint64_t *)uar->base_addr = rnd();
	usleep(20000);
	return raw_looks() - before;
}

/*
 * In a rest the page is not mapped. A store to it maps it, and makes the kernel poll the records at
 * once, and again after 50 us, 100 us, and so on.
 */
static void vt1_store_is_heard(void)
{
	enum { ROUNDS = 20, MORE = 3 };
	unsigned long long rested = 0, stored = 0;
	double took = 0;
	int i;

	begin();
	write_some(true);
	for (i = 0; i < ROUNDS; i++) {
		rested += looks_after(false);
		CHECK(!is_mapped(uar->base_addr));
		stored += looks_after(true);
		await_rest();
		took += write_some(true);
	}
	note("%llu looks after stores, %llu at rest; %.0f us for a first message",
	     stored, rested, took / ROUNDS * 1e6);
	CHECK(stored >= rested + MORE * ROUNDS);
	end();
}

/* ------------------------------------------------------- no doorbell is lost */

/*
 * Ring after pauses that are a little shorter or longer than the time until a rest. @bare: the page
 * is the only doorbell. The store takes effect after the fault, so polling must go on.
 */
static void random_pauses(int bare)
{
	double until = now() + opt.seconds;
	unsigned int met[2] = {}, rounds = 0;

	by_page = bare;
	begin();
	while (go_on(until, met[false] && met[true])) {
		usleep(rnd_below(4) ? rnd_in(10000, 40000) : rnd_below(3000));
		met[is_mapped(uar->base_addr)]++;
		write_some(true);
		rounds++;
	}
	note("%u doorbells, %u with the page away", rounds, met[false]);
	CHECK(met[false] && met[true]);
	end();
}

/* -------------------------------------------------------------- long rests */

static void rest_long(void)
{
	await_rest();
	usleep(LONG_REST_US);
}

/* The first doorbell after a long rest, and one right after it. @bare: without a record. */
static void long_rests(int bare)
{
	int i;

	by_page = bare;
	begin();
	for (i = 0; i < 4; i++) {
		rest_long();
		/* In turns by the record alone, and by the page, too. */
		write_some(bare || i % 2);
		write_some(true);
	}
	end();
}

#ifdef HAVE_EXPORT
static struct link by_peer;
static struct region word;
static struct ibv_mr *exported;

static void store_by_peer(uint64_t bell)
{
	memcpy(word.buf->data, &bell, sizeof(bell));
	expect(rdma(&by_peer.a, IBV_WR_RDMA_WRITE,
		    sge_of(&word, 0, sizeof(bell)), BELL_AT, exported->rkey),
	       IBV_WC_SUCCESS);
}
#endif

/* A peer writes to the page, so no store faults: only polling finds such a doorbell. */
static void vt9_by_dmabuf(void)
{
#ifdef HAVE_EXPORT
	int fd, i;

	by_page = true;
	begin();
	link_make(&by_peer, NULL);
	word = region_new(sizeof(uint64_t), 0, ALL_ACCESS);
	fd = mlx5dv_devx_uar_export_dmabuf_fd(uar);
	CHECK(fd >= 0);
	exported = MUST(ibv_reg_dmabuf_mr(dev.pd, 0, PAGE, 0, fd, ALL_ACCESS));
	bell_store = store_by_peer;
	for (i = 0; i < 3; i++) {
		rest_long();
		write_some(true);
		CHECK(!is_mapped(uar->base_addr));
	}
	CHECK_EQ(ibv_dereg_mr(exported), 0);
	CHECK_EQ(close(fd), 0);
	region_free(&word);
	link_free(&by_peer);
	end();
#else
	skip("this libmlx5 exports nothing");
#endif
}

static struct end sender;

static void connect_sender(uint32_t qpn)
{
	enum { PSN = 0x123456 }; /* that of raw_connect() */
	struct peer peer = { .gid = dev.gid, .qpn = qpn, .psn = PSN };

	sender.psn = PSN;
	end_init(&sender);
	end_connect(&sender, &peer);
}

/* A message of a sender that does not wait for a receive. */
static void send_some(uint8_t opcode)
{
	uint32_t length = rnd_in(1, 200), at = rnd_below(LEN - length);
	struct raw_cqe cqe;

	rnd_fill(from.buf->data + at, length);
	expect(send_sge(&sender, sge_of(&from, at, length)), IBV_WC_SUCCESS);
	cqe = raw_await(&b);
	CHECK_EQ(cqe.opcode, opcode);
	CHECK_EQ(cqe.length, length);
	CHECK(!memcmp(to.buf->data, from.buf->data + at, length));
}

/*
 * Receives are posted by a record alone, and no doorbell announces them. After a long rest a message
 * finds those of a queue pair and of a shared queue. In the error state they are flushed.
 */
static void vt10_receives(void)
{
	struct qp_cfg cfg = { .rnr_retry = -1, .mtu = IBV_MTU_1024 };
	uint8_t segment[SEGMENT], out[PRM_HEAD];
	struct prm_path path = {};
	struct raw_pool pool;
	int shared, i;

	dv_begin();
	from = region_new(LEN, 3, ALL_ACCESS);
	to = region_new(LEN, 5, ALL_ACCESS);
	raw_data(segment, &to, 0, LEN);
	for (shared = 0; shared < 2; shared++) {
		raw_places(&b, false);
		if (shared) {
			raw_pool_make(&pool, true);
			raw_share(&b, &pool);
		}
		b.qp = MUST(raw_try_qp(&b, out));
		b.qpn = prm_number(out);
		end_make(&sender, &cfg);
		raw_connect(&b, sender.qp->qp_num);
		connect_sender(b.qpn);
		for (i = 0; i < 3; i++) {
			usleep(LONG_REST_US);
			if (shared) {
				raw_pool_fill(&pool, i, 0, segment, 1);
				raw_pool_ring(&pool);
			} else {
				raw_post_recv(&b, segment, 1);
			}
			send_some(RECV);
		}
		CHECK_EQ(raw_change(&b, PRM_2ERR_QP, &path, out), 0);
		for (i = 0; !shared && i < 3; i++) {
			usleep(LONG_REST_US);
			raw_post_recv(&b, segment, 1);
			CHECK_EQ(raw_await(&b).opcode, BAD_RECV);
		}
		end_free(&sender);
		raw_free(&b);
	}
	raw_pool_free(&pool);
}

/* ------------------------------------------ what users may do with the page */

static bool over;

static bool is_over(void)
{
	return __atomic_load_n(&over, __ATOMIC_RELAXED);
}

/* Stores to the page, but not to the doorbell register: many times, then a pause. */
static void *storm(void *arg)
{
	volatile uint64_t *at = arg;
	uint64_t count = 0;

	while (!is_over()) {
		*at = ++count;
		if (!(count % 64))
			usleep(rnd_below(100000));
	}
	return NULL;
}

/* Unmaps the page by MADV_DONTNEED: many times, then a pause, so that the kernel may rest. */
static void *push_away(void *arg)
{
	int i;

	while (!is_over()) {
		for (i = 0; i < 100; i++) {
			CHECK_EQ(madvise(arg, PAGE, MADV_DONTNEED), 0);
			usleep(rnd_below(2000));
		}
		usleep(rnd_below(300000));
	}
	return NULL;
}

/* Children store to the page as well, some while it is not mapped. */
static void *forks(void *arg)
{
	int status, pid;

	while (!is_over()) {
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			usleep(rnd_below(40000));
			*(volatile uint64_t *)arg = 1;
			_exit(0);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	return NULL;
}

/* Makes other doorbell pages, moves their mappings by mremap(), and frees them. */
static void *moves(void *arg)
{
	struct mlx5dv_devx_uar *own;
	void *room, *at;
	int i;

	(void)arg;
	while (!is_over()) {
		own = MUST(mlx5dv_devx_alloc_uar(dev.ctx, i = rnd_below(2)));
		for (i = 0; i < 10; i++) {
			store(own->base_addr, i);
			room = mmap(NULL, PAGE, PROT_NONE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			CHECK(room != MAP_FAILED);
			at = mremap(own->base_addr, PAGE, PAGE,
				    MREMAP_MAYMOVE | MREMAP_FIXED, room);
			CHECK(at == room);
			store(at, i);
			usleep(rnd_below(30000));
			CHECK_EQ(*(uint64_t *)((uint8_t *)at + BELL_AT), i);
			store(at, i + 1);
			CHECK(mremap(at, PAGE, PAGE,
				     MREMAP_MAYMOVE | MREMAP_FIXED,
				     own->base_addr) == own->base_addr);
			CHECK_EQ(*(uint64_t *)((uint8_t *)own->base_addr +
					       BELL_AT),
				 i + 1);
		}
		mlx5dv_devx_free_uar(own);
	}
	return NULL;
}

/* Doorbells ring while the page is stored to, moved, shared by fork() and dropped. */
static void vt4_meanwhile(void)
{
	static void *(*const what[])(void *) = { storm, storm, push_away, forks,
						 moves };
	pthread_t threads[ARRAY_SIZE(what)];
	double until = now() + opt.seconds;
	unsigned int met[2] = {};
	size_t i;

	begin();
	/* The threads and their children store elsewhere in the page, so they do not ring. */
	for (i = 0; i < ARRAY_SIZE(what); i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, what[i],
					uar->base_addr),
			 0);
	while (go_on(until, met[false] && met[true])) {
		usleep(rnd_below(40000));
		met[is_mapped(uar->base_addr)]++;
		write_some(true);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (i = 0; i < ARRAY_SIZE(what); i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	note("%u doorbells with the page away, %u without", met[false],
	     met[true]);
	write_some(true);
	end();
}

/* A child's mapping and its contents stay when the parent frees the page and closes the device. */
static void vt5_outlives(void)
{
	struct ibv_context *other = device_another();
	struct mlx5dv_devx_uar *page;
	int status, pid, go[2];
	char byte;

	dv_begin();
	page = MUST(mlx5dv_devx_alloc_uar(other, MLX5DV_UAR_ALLOC_TYPE_NC));
	store(page->base_addr, 0x1122334455667788);
	CHECK_EQ(pipe(go), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		uint64_t *at =
			(uint64_t *)((uint8_t *)page->base_addr + BELL_AT);

		if (read(go[0], &byte, 1) != 1 || *at != 0x1122334455667788)
			_exit(1);
		madvise(page->base_addr, PAGE, MADV_DONTNEED);
		*at += 1;
		_exit(*at != 0x1122334455667789);
	}
	mlx5dv_devx_free_uar(page);
	CHECK_EQ(ibv_close_device(other), 0);
	CHECK_EQ(write(go[1], "x", 1), 1);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

/* Messages to a region on demand of the page. */
struct on_demand {
	struct link link;
	struct region from;
	struct ibv_mr *mr;
	uint8_t *page;
	unsigned long count;
};

enum { WRITTEN = 256 }; /* bytes at the begin of the page, where no bell is */

static void *write_on_demand(void *arg)
{
	struct on_demand *on = arg;

	while (!is_over()) {
		memset(on->from.buf->data, ++on->count, WRITTEN);
		expect(rdma(&on->link.a, IBV_WR_RDMA_WRITE,
			    sge_of(&on->from, 0, WRITTEN), (uintptr_t)on->page,
			    on->mr->rkey),
		       IBV_WC_SUCCESS);
		/* Now and then this process needs the page, too. */
		if (!(on->count % 8))
			CHECK(!memcmp(on->page, on->from.buf->data, WRITTEN));
		usleep(on->count * 7919 % (2 * REST_US));
	}
	return NULL;
}

/*
 * A page that is taken away goes from regions on demand, too, and comes back for a message, which
 * rings no bell.
 */
static void vt11_on_demand(void)
{
	double until = now() + opt.seconds;
	struct on_demand on = {};
	pthread_t thread;

	need_odp();
	begin();
	on.page = uar->base_addr;
	on.from = region_new(WRITTEN, 0, ALL_ACCESS);
	link_make(&on.link, NULL);
	on.mr = MUST(ibv_reg_mr(dev.pd, on.page, PAGE,
				ALL_ACCESS | IBV_ACCESS_ON_DEMAND));
	CHECK_EQ(pthread_create(&thread, NULL, write_on_demand, &on), 0);
	while (go_on(until, __atomic_load_n(&on.count, __ATOMIC_RELAXED) > 8)) {
		usleep(rnd_below(2 * REST_US));
		write_some(true);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(!memcmp(on.page, on.from.buf->data, WRITTEN));
	CHECK_EQ(ibv_dereg_mr(on.mr), 0);
	link_free(&on.link);
	end();
}

static const struct test tests[] = {
	LONG_TEST(vt1_store_is_heard, "VT1 a store after a rest is heard", 60),
	TEST_OF(random_pauses, false,
		"VT2 doorbells after pauses of any length"),
	TEST_OF(random_pauses, true, "VT3 likewise without a record of sends"),
	TEST(vt4_meanwhile,
	     "VT4 stores, forks and moves while pages come and go"),
	TEST(vt5_outlives, "VT5 a mapping that outlives its page"),
	TEST_OF(long_rests, false, "VT7 doorbells after a long rest"),
	TEST_OF(long_rests, true, "VT8 likewise without a record of sends"),
	TEST(vt9_by_dmabuf, "VT9 a doorbell by a dma-buf after a long rest"),
	TEST(vt10_receives, "VT10 receives after a long rest"),
	TEST(vt11_on_demand, "VT11 a page in a region on demand"),
};

HARNESS_MAIN("Doorbell pages that are traps", tests)
