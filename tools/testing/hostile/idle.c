// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A thread is kept from its processor while it processes packets (item PK6), or while it makes what
 * its user sends by (PK7). Others in its namespace do not wait until it runs again; nor does who
 * receives its packets (PK8).
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "link.h"

/*
 * Rounds in which the thread is kept away. It is where it matters in some of them. A slow machine has
 * fewer, in each of which the thread is longer where it matters.
 */
enum { ROUNDS = 60, ROUNDS_IF_SLOW = 20, EACH = 8, NOBODY = 65534 };
/*
 * How long others may wait, in seconds. The thread waits several times as long for its processor,
 * on which each of the OCCUPIERS has 87 times its weight.
 */
enum { LONG = 5, OCCUPIERS = 64 };

/*
 * The interrupted thread, the occupiers and the others are in processes of their own: threads of one
 * wait for each other where one maps memory, and in user-mode Linux whenever one runs.
 * All processes have this; atomic, but for the peers.
 */
struct scene {
	unsigned int done; /* by the interrupted thread */
	unsigned int occupied; /* a futex */
	bool over;
	struct peer sender, receiver;
	bool sender_is_made, receiver_is_connected;
};

static struct scene *scene;
static struct link busy;
static struct end receiver;
static struct region from, to;
static void (*others)(void);
static bool asked; /* of others(); atomic */

static bool is_set(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static void set(bool *flag, bool value)
{
	__atomic_store_n(flag, value, __ATOMIC_SEQ_CST);
}

static unsigned int how_many(void)
{
	return __atomic_load_n(&scene->done, __ATOMIC_SEQ_CST);
}

static void one_is_done(void)
{
	__atomic_add_fetch(&scene->done, 1, __ATOMIC_SEQ_CST);
}

static void stay_on(int first, int last)
{
	cpu_set_t cpus;
	int cpu;

	CPU_ZERO(&cpus);
	for (cpu = first; cpu <= last; cpu++)
		CPU_SET(cpu, &cpus);
	CHECK_EQ(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
}

/* The calling thread may be interrupted. @idle: its priority is the lowest. */
static void expose(bool idle)
{
	struct sched_param param = {};

	stay_on(0, 0);
	if (idle)
		CHECK_EQ(sched_setscheduler(0, SCHED_IDLE, &param), 0);
}

static bool is_occupied(void)
{
	return __atomic_load_n(&scene->occupied, __ATOMIC_SEQ_CST);
}

static void set_occupied(bool occupied)
{
	__atomic_store_n(&scene->occupied, occupied, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &scene->occupied, FUTEX_WAKE, INT_MAX, NULL, NULL,
		0);
}

/* Now and then threads of the highest priority, but those of real time, want the processor. */
static void *occupy(void *unused)
{
	(void)unused;
	stay_on(0, 0);
	CHECK_EQ(setpriority(PRIO_PROCESS, 0, -20), 0);
	while (!is_set(&scene->over)) {
		syscall(SYS_futex, &scene->occupied, FUTEX_WAIT, 0, NULL, NULL,
			0);
		while (is_occupied() && !is_set(&scene->over))
			;
	}
	return NULL;
}

static void occupy_all(void *unused)
{
	pthread_t occupiers[OCCUPIERS];
	int i;

	(void)unused;
	for (i = 0; i < OCCUPIERS; i++)
		CHECK_EQ(pthread_create(&occupiers[i], NULL, occupy, NULL), 0);
	for (i = 0; i < OCCUPIERS; i++)
		CHECK_EQ(pthread_join(occupiers[i], NULL), 0);
}

/* Do what others do whenever it is asked for. */
static void *serve(void *unused)
{
	(void)unused;
	while (!is_set(&scene->over)) {
		if (is_set(&asked)) {
			others();
			set(&asked, false);
		}
		usleep(100);
	}
	return NULL;
}

/* Ask for it. Is it done in time? */
static bool others_go_on(void)
{
	double limit = now() + patience(LONG);

	set(&asked, true);
	while (is_set(&asked)) {
		if (now() > limit)
			return false;
		usleep(100);
	}
	return true;
}

/* Let the thread do something, once or more. */
static void let_it_go_on(void)
{
	unsigned int before = how_many();
	double limit = now() + patience(PATIENCE);

	while (how_many() == before) {
		CHECK(now() < limit);
		usleep(200);
	}
	usleep(rnd_below(1000));
}

/* Interrupt the thread again and again, wherever it is. Meanwhile others do @what. */
static void interrupt(void (*what)(void))
{
	int i, rounds = slow() > 1 ? ROUNDS_IF_SLOW : ROUNDS;
	int occupiers = spawn(occupy_all, NULL);
	pthread_t server;

	others = what;
	CHECK_EQ(pthread_create(&server, NULL, serve, NULL), 0);
	for (i = 0; i < rounds; i++) {
		context("round %d, the thread has done %u", i, how_many());
		let_it_go_on();
		set_occupied(true);
		/* It is interrupted by now. */
		usleep(2000);
		if (!others_go_on())
			FAIL("others wait for a thread that was interrupted");
		set_occupied(false);
	}
	set(&scene->over, true);
	/* It stays so, for those who are about to wait until it is. */
	set_occupied(true);
	reap_ok(occupiers);
	CHECK_EQ(pthread_join(server, NULL), 0);
	note("the thread has done %u", how_many());
}

static void begin(void)
{
	int last = sysconf(_SC_NPROCESSORS_ONLN) - 1;

	need_root();
	if (!dev.packets)
		skip("no packets to peers on this host");
	if (!last)
		skip("there is one processor only");
	scene = mmap(NULL, sizeof(*scene), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(scene != MAP_FAILED);
	link_make(&busy, NULL);
	stay_on(1, last);
}

/* ---------------------------------------------------------------- packets */

static void await_set(const bool *flag)
{
	double limit = now() + patience(PATIENCE);

	while (!is_set(flag)) {
		CHECK(now() < limit);
		usleep(100);
	}
}

/* A process of its own, with a context of its own. */
static void send_all_the_time(void *unused)
{
	struct qp_cfg cfg = {};
	struct ibv_sge sge;
	struct ibv_mr *mr;
	char data[EACH];
	struct end end;
	struct ibv_wc wc;

	(void)unused;
	expose(false);
	cfg.ctx = MUST(ibv_open_device(dev.ctx->device));
	cfg.pd = MUST(ibv_alloc_pd(cfg.ctx));
	rnd_fill(data, EACH);
	mr = MUST(ibv_reg_mr(cfg.pd, data, EACH, IBV_ACCESS_LOCAL_WRITE));
	sge = (struct ibv_sge){ (uintptr_t)data, EACH, mr->lkey };
	end_make(&end, &cfg);
	scene->sender = end_peer(&end);
	set(&scene->sender_is_made, true);
	await_set(&scene->receiver_is_connected);
	end_init(&end);
	end_connect(&end, &scene->receiver);
	while (!is_set(&scene->over)) {
		post_rdma(&end, IBV_WR_RDMA_WRITE, sge, to.base, to.rkey, 1);
		while (!poll_one(end.scq, &wc))
			sched_yield();
		expect(wc, IBV_WC_SUCCESS);
		one_is_done();
	}
}

static void send_one(void)
{
	expect(rdma(&busy.a, IBV_WR_RDMA_WRITE, sge_of(&from, 0, EACH), to.base,
		    to.rkey),
	       IBV_WC_SUCCESS);
}

static void with_sender(void (*what)(void))
{
	int sender;

	from = region_new(EACH, 3, ALL_ACCESS);
	to = region_new(EACH, 5, ALL_ACCESS);
	end_make(&receiver, NULL);
	scene->receiver = end_peer(&receiver);
	sender = spawn(send_all_the_time, NULL);
	await_set(&scene->sender_is_made);
	end_init(&receiver);
	end_connect(&receiver, &scene->sender);
	set(&scene->receiver_is_connected, true);
	interrupt(what);
	reap_ok(sender);
}

/* Messages come although the sender of others is interrupted while it processes its packets. */
static void pk6_packets(void)
{
	begin();
	with_sender(send_one);
}

static void query_one(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(receiver.qp, &attr, IBV_QP_STATE, &init), 0);
}

/* Whose queue pair receives is answered although the sender is interrupted, who delivers there. */
static void pk8_receiver(void)
{
	struct utsname name;

	begin();
	CHECK_EQ(uname(&name), 0);
	if (strstr(name.version, "PREEMPT"))
		skip("this kernel interrupts a thread anywhere");
	with_sender(query_one);
}

/* ------------------------------------------------------------ queue pairs */

/* Another user, who has one queue pair at most. */
static void make_all_the_time(void *unused)
{
	struct qp_cfg cfg = {};
	struct end end;

	(void)unused;
	expose(true);
	CHECK_EQ(setresuid(NOBODY, NOBODY, NOBODY), 0);
	/* The change has cleared it. */
	CHECK_EQ(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
	cfg.ctx = MUST(ibv_open_device(dev.ctx->device));
	cfg.pd = MUST(ibv_alloc_pd(cfg.ctx));
	cfg.scq = cfg.rcq = MUST(ibv_create_cq(cfg.ctx, 4, NULL, NULL, 0));
	while (!is_set(&scene->over)) {
		end_make(&end, &cfg);
		end_free(&end);
		one_is_done();
	}
}

static void make_one(void)
{
	struct end end;

	end_make(&end, NULL);
	end_free(&end);
}

/* Queue pairs are made and end although another user is interrupted while he makes his first. */
static void pk7_queue_pairs(void)
{
	int maker;

	begin();
	maker = spawn(make_all_the_time, NULL);
	interrupt(make_one);
	reap_ok(maker);
}

static const struct test tests[] = {
	TEST(pk6_packets, "PK6 who is interrupted with packets is overtaken"),
	TEST(pk7_queue_pairs,
	     "PK7 who is interrupted with his first queue pair"),
	TEST(pk8_receiver, "PK8 who is interrupted while he delivers"),
};

HARNESS_MAIN("What others wait for is interrupted", tests)
