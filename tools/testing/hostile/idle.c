// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A thread is kept from its processor while it processes packets (item PK6), or while it makes what
 * its user sends by (PK7). Others in its namespace do not wait until it runs again; nor does who
 * receives its packets (PK8), or its messages without packets (PK11, PK12).
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "link.h"

/*
 * Rounds in which the thread is kept away. It is where it matters in some of them. A slow machine has
 * fewer, in each of which the thread is longer where it matters.
 */
enum { ROUNDS = 60, ROUNDS_IF_SLOW = 20, NOBODY = 65534 };
/* Bytes of a message by packets, of one without, and of a datagram; datagrams posted at once. */
enum { EACH = 8, EACH_LONG = 4 << 20, EACH_DATAGRAM = 1024, DATAGRAMS = 64 };
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
	uint32_t datagrams_to; /* atomic */
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

static void begin(bool packets)
{
	int last = sysconf(_SC_NPROCESSORS_ONLN) - 1;

	need_root();
	if (packets && !dev.packets)
		skip("no packets to peers on this host");
	if (!packets && dev.packets)
		skip("packets to peers on this host");
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
	size_t each = to.mr->length;
	void *data;
	struct end end;
	struct ibv_wc wc;

	(void)unused;
	expose(false);
	cfg.ctx = MUST(ibv_open_device(dev.ctx->device));
	cfg.pd = MUST(ibv_alloc_pd(cfg.ctx));
	data = MUST(malloc(each));
	rnd_fill(data, each);
	mr = MUST(ibv_reg_mr(cfg.pd, data, each, IBV_ACCESS_LOCAL_WRITE));
	sge = (struct ibv_sge){ (uintptr_t)data, each, mr->lkey };
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

static void with_sender(void (*what)(void), size_t each)
{
	int sender;

	from = region_new(EACH, 3, ALL_ACCESS);
	to = region_new(each, 5, ALL_ACCESS);
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
	begin(true);
	with_sender(send_one, EACH);
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
	begin(true);
	with_sender(query_one, EACH);
}

/* --------------------------------------------------------- without packets */

/* Likewise, although the sender itself moves the bytes. */
static void pk11_receiver(void)
{
	begin(false);
	with_sender(query_one, EACH_LONG);
}

static uint32_t datagrams_to(void)
{
	return __atomic_load_n(&scene->datagrams_to, __ATOMIC_SEQ_CST);
}

/* A process of its own; datagrams that find nobody are lost. */
static void send_datagrams_all_the_time(void *unused)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD, .wr = DATAGRAMS };
	struct ibv_send_wr wr[DATAGRAMS];
	char data[EACH_DATAGRAM];
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct link link;
	struct ibv_wc wc;
	int i;

	(void)unused;
	expose(false);
	cfg.ctx = MUST(ibv_open_device(dev.ctx->device));
	cfg.pd = MUST(ibv_alloc_pd(cfg.ctx));
	rnd_fill(data, EACH_DATAGRAM);
	mr = MUST(ibv_reg_mr(cfg.pd, data, EACH_DATAGRAM,
			     IBV_ACCESS_LOCAL_WRITE));
	link_make(&link, &cfg);
	sge = (struct ibv_sge){ (uintptr_t)data, EACH_DATAGRAM, mr->lkey };
	while (!is_set(&scene->over)) {
		for (i = 0; i < DATAGRAMS; i++)
			wr[i] = (struct ibv_send_wr){
				.next = &wr[i + 1],
				.sg_list = &sge,
				.num_sge = 1,
				.opcode = IBV_WR_SEND,
				.wr.ud = { .ah = link.a.ah,
					   .remote_qpn = datagrams_to(),
					   .remote_qkey = QKEY },
			};
		wr[DATAGRAMS - 1].next = NULL;
		wr[DATAGRAMS - 1].send_flags = IBV_SEND_SIGNALED;
		post(&link.a, wr);
		while (!poll_one(link.a.scq, &wc))
			sched_yield();
		expect(wc, IBV_WC_SUCCESS);
		one_is_done();
	}
}

static void receive_datagrams(void)
{
	struct peer itself;

	end_make(&receiver, &(struct qp_cfg){ .type = IBV_QPT_UD });
	itself = end_peer(&receiver);
	end_init(&receiver);
	end_connect(&receiver, &itself);
	__atomic_store_n(&scene->datagrams_to, receiver.qp->qp_num,
			 __ATOMIC_SEQ_CST);
}

/* Another one has another number. */
static void end_the_receiver(void)
{
	end_free(&receiver);
	receive_datagrams();
}

/* A queue pair ends although one who sends to it is interrupted. */
static void pk12_end(void)
{
	int sender;

	begin(false);
	receive_datagrams();
	sender = spawn(send_datagrams_all_the_time, NULL);
	interrupt(end_the_receiver);
	reap_ok(sender);
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

	begin(true);
	maker = spawn(make_all_the_time, NULL);
	interrupt(make_one);
	reap_ok(maker);
}

static const struct test tests[] = {
	TEST(pk6_packets, "PK6 who is interrupted with packets is overtaken"),
	TEST(pk7_queue_pairs,
	     "PK7 who is interrupted with his first queue pair"),
	TEST(pk8_receiver, "PK8 who is interrupted while he delivers"),
	TEST(pk11_receiver, "PK11 who is interrupted while he writes"),
	TEST(pk12_end, "PK12 who is interrupted with a datagram"),
};

HARNESS_MAIN("What others wait for is interrupted", tests)
