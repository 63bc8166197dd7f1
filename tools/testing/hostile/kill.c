// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process is killed, calls exec or forks at any moment of each verb: nothing of it is left,
 * and others do not notice (items Q1 to Q8).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "endless.h"
#include "killed.h"
#include "link.h"
#include "resources.h"
#include "rings.h"
#include "victim.h"

static int *ready; /* in shared memory */

static void work(void *arg)
{
	device_open();
	__atomic_add_fetch(ready, 1, __ATOMIC_SEQ_CST);
	((void (*)(void))arg)();
}

static void share_ready(void)
{
	ready = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(ready != MAP_FAILED);
}

static int start(void (*verbs)(void))
{
	int before = *ready, pid = spawn(work, verbs);

	while (__atomic_load_n(ready, __ATOMIC_SEQ_CST) == before)
		usleep(100);
	return pid;
}

/* Processes are killed in the middle of each verb: nothing of them is left. */
static void q1_each_verb(void)
{
	volatile struct victim *v = victim_start();
	double slice = opt.seconds / (double)endless_count;
	struct resources before;
	unsigned long deaths = 0;
	size_t i;

	share_ready();
	resources_read(&before);
	for (i = 0; i < endless_count; i++) {
		double end = now() + slice;

		context("%s", endless[i].name);
		do {
			int pid = start(endless[i].verbs);

			usleep(rnd_below(20000));
			killed(pid);
			deaths++;
		} while (now() < end);
		resources_await(&before);
	}
	context("%s", "");
	note("%lu deaths", deaths);
	victim_end(v);
}

static void *verbs_thread(void *arg)
{
	((void (*)(void))arg)();
	return NULL;
}

static void many_threads(void)
{
	size_t i;

	for (i = 1; i < endless_count - 1; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, verbs_thread, endless[i].verbs);
	}
	pause();
}

/* The same with a thread for each verb. */
static void q2_many_threads(void)
{
	double end = now() + opt.seconds;
	struct resources before;
	unsigned long deaths = 0;

	share_ready();
	resources_read(&before);
	while (now() < end) {
		int pid = start(many_threads);

		usleep(rnd_below(100000));
		killed(pid);
		deaths++;
	}
	resources_await(&before);
	note("%lu deaths", deaths);
}

/* ------------------------------------------------- peers in two processes */

static void swap_peers(int sock, struct end *end, struct region *r,
		       struct peer *theirs)
{
	struct peer ours = end_peer(end);

	if (r) {
		ours.addr = r->base;
		ours.rkey = r->rkey;
	}
	CHECK_EQ(write(sock, &ours, sizeof(ours)), sizeof(ours));
	CHECK_EQ(read(sock, theirs, sizeof(*theirs)), sizeof(*theirs));
	end_init(end);
	end_connect(end, theirs);
	CHECK_EQ(write(sock, "", 1), 1);
	CHECK_EQ(read(sock, &ours, 1), 1);
}

enum { LEN = 300000 };

static void serve(void *arg)
{
	struct qp_cfg cfg = { .timeout = 8, .retry = 2 };
	int sock = *(int *)arg;
	struct peer client;
	struct region r;
	struct end end;

	device_open();
	end_make(&end, &cfg);
	r = region_new(LEN, 5, ALL_ACCESS);
	swap_peers(sock, &end, &r, &client);
	pause();
}

/* The peer is killed: requests fail, and nothing is left. */
static void q3_peer_dies(void)
{
	struct qp_cfg cfg = { .timeout = 8, .retry = 2 };
	struct region mine = region_new(LEN, 5, ALL_ACCESS);
	double stop = now() + opt.seconds;
	unsigned long deaths = 0, done = 0;
	struct resources before;

	resources_read(&before);
	while (now() < stop) {
		int socks[2], pid;
		struct peer server;
		struct end end;
		struct ibv_wc wc;
		double when;

		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, socks), 0);
		pid = spawn(serve, &socks[1]);
		end_make(&end, &cfg);
		swap_peers(socks[0], &end, NULL, &server);
		when = now() + rnd_below(5000) / 1e6;
		for (;;) {
			wc = rdma(&end,
				  rnd() & 1 ? IBV_WR_RDMA_WRITE :
					      IBV_WR_RDMA_READ,
				  sge_of(&mine, 0, LEN), server.addr,
				  server.rkey);
			if (wc.status != IBV_WC_SUCCESS)
				break;
			done++;
			if (pid && now() > when) {
				kill(pid, SIGKILL);
				pid = -pid;
				when = 1e12;
			}
		}
		CHECK(pid < 0);
		reap(-pid);
		/* The region of the dying peer may be destroyed before its queue pair. */
		CHECK(wc.status == IBV_WC_RETRY_EXC_ERR ||
		      wc.status == IBV_WC_REM_ACCESS_ERR ||
		      wc.status == IBV_WC_REM_INV_REQ_ERR);
		end_free(&end);
		close(socks[0]);
		close(socks[1]);
		deaths++;
	}
	note("%lu deaths, %lu messages", deaths, done);
	resources_await(&before);
}

enum { FAR = 8 << 20 };

struct sender {
	int sock;
	enum ibv_wr_opcode opcode;
};

static void sends_for_ever(void *arg)
{
	struct sender *sender = arg;
	struct qp_cfg cfg = { 0 };
	struct peer server;
	struct region r;
	struct end end;

	device_open();
	end_make(&end, &cfg);
	r = region_new(FAR, 0, ALL_ACCESS);
	swap_peers(sender->sock, &end, NULL, &server);
	for (;;) {
		if (sender->opcode == IBV_WR_SEND)
			send_sge(&end, sge_of(&r, 0, FAR));
		else
			rdma(&end, sender->opcode, sge_of(&r, 0, FAR),
			     server.addr, server.rkey);
	}
}

/*
 * The sender is killed while it fetches pages of the receiver: the receiver's memory has no
 * error, and the receiver goes on.
 */
static void q7_sender_dies(void)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND,
						      IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_READ };
	double stop = now() + opt.seconds;
	unsigned long deaths = 0, arrived = 0;
	struct resources before;
	struct region mine;

	need_odp();
	mine = region_new(FAR, 0, ODP_ALL);
	resources_read(&before);
	while (now() < stop) {
		struct sender sender = { .opcode = opcodes[deaths % 3] };
		struct ibv_sge sge = sge_of(&mine, 0, FAR);
		struct qp_cfg cfg = { 0 };
		int socks[2], pid, i;
		struct peer client;
		struct ibv_wc wc;
		struct end end;
		double when;

		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, socks), 0);
		sender.sock = socks[1];
		pid = spawn(sends_for_ever, &sender);
		end_make(&end, &cfg);
		swap_peers(socks[0], &end, &mine, &client);
		for (i = 0; i < 4; i++)
			post_recv(&end, &sge, 1, i);
		when = now() + rnd_below(20000) / 1e6;
		do {
			buf_drop(mine.buf, 0, FAR);
			usleep(1000);
		} while (now() < when);
		killed(pid);
		for (; poll_one(end.rcq, &wc); arrived++)
			expect(wc, IBV_WC_SUCCESS);
		CHECK_EQ(end_state(&end), IBV_QPS_RTS);
		end_free(&end);
		close(socks[0]);
		close(socks[1]);
		deaths++;
	}
	note("%lu deaths, %lu messages", deaths, arrived);
	resources_await(&before);
}

/* Objects belong to the file, and are destroyed when its last holder closes it. */
static void hold(void *arg)
{
	char byte;

	CHECK_EQ(read(*(int *)arg, &byte, 1), 1);
}

static void creator(void *arg)
{
	int *socks = arg;

	device_open();
	region_new(LEN, 1, ALL_ACCESS);
	if (!fork()) {
		/* Two processes hold the file now. */
		CHECK_EQ(write(socks[1], "", 1), 1);
		hold(&socks[1]);
		_exit(0);
	}
	pause();
}

/* Objects live as long as a child that has the file, and end with it. */
static void q4_file_outlives(void)
{
	struct resources before, during;
	int socks[2], pid;
	char byte;

	resources_read(&before);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, socks), 0);
	pid = spawn(creator, socks);
	CHECK_EQ(read(socks[0], &byte, 1), 1);
	killed(pid);
	resources_read(&during);
	if (before.known)
		CHECK(resources_count(&during, "mr") >
		      resources_count(&before, "mr"));
	CHECK_EQ(write(socks[0], "", 1), 1);
	resources_await(&before);
}

/* Runs the verbs of @arg in a thread beside the caller. */
static void beside(void *arg)
{
	pthread_t thread;

	device_open();
	CHECK_EQ(pthread_create(&thread, NULL, verbs_thread, arg), 0);
	usleep(rnd_below(20000));
}

static void becomes_another(void *arg)
{
	beside(arg);
	execl("/bin/true", "true", NULL);
	FAIL("exec: errno %d", errno);
}

/* Each child gets copies of the memory; pinned pages are not shared with it. */
static void has_children(void *arg)
{
	int i;

	beside(arg);
	for (i = 0; i < 10; i++) {
		int status, pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			_exit(0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	_exit(0);
}

/* Processes call exec, or fork, in the middle of each verb: nothing of them is left. */
static void in_each_verb(const void *with)
{
	void (*body)(void *verbs) = with;
	double slice = 2 * opt.seconds / (double)endless_count;
	unsigned long count = 0;
	struct resources before;
	size_t i;

	resources_read(&before);
	for (i = 0; i < endless_count; i++) {
		double end = now() + slice;

		context("%s", endless[i].name);
		do {
			/* Otherwise all children would use the same random numbers. */
			rnd();
			reap_ok(spawn(body, endless[i].verbs));
			count++;
		} while (now() < end);
		resources_await(&before);
	}
	context("%s", "");
	note("%lu processes", count);
}

/*
 * A process is killed in the middle of a list, with another one holding the queue pair: the rest
 * of the list is executed all the same.
 */
static void q8_half_a_list(void)
{
	enum { COUNT = 16, BIG = 8 << 20 };
	struct qp_cfg cfg = {};
	struct raw_end a, b;
	struct region from, to;
	struct peer at_a, at_b;
	int i, pid;

	if (!dev.pinion)
		skip("only pinion has these rings");
	from = region_new(BIG, 0, ALL_ACCESS);
	to = region_new(BIG, 0, ALL_ACCESS);
	raw_end_make(&a, &cfg);
	raw_end_make(&b, &cfg);
	at_a = end_peer(&a.end);
	at_b = end_peer(&b.end);
	end_init(&a.end);
	end_init(&b.end);
	end_connect(&b.end, &at_a);
	end_connect(&a.end, &at_b);
	for (i = 0; i < COUNT; i++) {
		struct pinion_sq_wqe *wqe = ring_wqe(&a.sq);

		wqe->wr_id = i;
		wqe->opcode = PINION_OP_RDMA_WRITE;
		wqe->flags = PINION_WQE_SIGNALED;
		wqe->num_sge = 1;
		wqe->rdma.remote_addr = to.base;
		wqe->rdma.rkey = to.rkey;
		*wqe_sges(wqe) =
			(struct pinion_sge){ from.base, BIG, from.lkey };
		ring_publish(&a.sq, 1);
	}
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		ring_doorbell(&a);
		_exit(0);
	}
	for (i = 0; i < COUNT; i++) {
		struct ibv_wc wc = await(a.end.scq);

		expect(wc, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, i);
		if (!i)
			kill(pid, SIGKILL);
	}
	reap(pid);
}

static const struct test tests[] = {
	TEST(q1_each_verb, "Q1 in the middle of each verb"),
	TEST(q2_many_threads, "Q2 with a thread for each verb"),
	TEST(q3_peer_dies, "Q3 the peer dies"),
	TEST(q4_file_outlives, "Q4 a child holds the file"),
	TEST_WITH(in_each_verb, becomes_another,
		  "Q5 exec in the middle of each verb"),
	TEST_WITH(in_each_verb, has_children,
		  "Q6 forks in the middle of each verb"),
	TEST(q7_sender_dies, "Q7 in the middle of a fault of another's memory"),
	TEST(q8_half_a_list, "Q8 in the middle of a list"),
};

HARNESS_MAIN("Killed", tests)
