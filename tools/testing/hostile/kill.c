// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process is killed in the middle of each verb, at any moment; nothing of it is
 * left and others do not notice (items Q1 to Q6).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "resources.h"
#include "transfer.h"
#include "victim.h"

/* Each does its verbs for ever. */
static void opens(void)
{
	for (;;)
		ibv_close_device(device_another());
}

static void domains(void)
{
	for (;;)
		ibv_dealloc_pd(MUST(ibv_alloc_pd(dev.ctx)));
}

static void completion_queues(void)
{
	for (;;) {
		struct ibv_cq *cq;

		cq = MUST(
			ibv_create_cq(dev.ctx, rnd_in(1, 3000), NULL, NULL, 0));
		ibv_resize_cq(cq, rnd_in(1, 3000));
		ibv_destroy_cq(cq);
	}
}

static void queue_pairs(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC,
						  IBV_QPT_UD };

	for (;;) {
		struct qp_cfg cfg = { .type = types[rnd_below(3)] };
		struct link link;

		link_make(&link, &cfg);
		link_free(&link);
	}
}

static void shared_queues(void)
{
	for (;;) {
		struct ibv_srq_init_attr init = {
			.attr = { .max_wr = rnd_in(1, 500), .max_sge = 3 },
		};
		struct ibv_srq_attr attr = { .max_wr = rnd_in(1, 500) };
		struct ibv_srq *srq = MUST(ibv_create_srq(dev.pd, &init));

		ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
		ibv_destroy_srq(srq);
	}
}

static void regions(void)
{
	struct buf *buf = buf_new(8 << 20, 5);

	for (;;) {
		struct ibv_mr *mr;
		int i;

		mr = MUST(ibv_reg_mr(dev.pd, buf->data, rnd_in(1, buf->length),
				     ALL_ACCESS));
		for (i = 0; i < 3; i++)
			ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				     buf->data, rnd_in(1, buf->length), 0);
		ibv_dereg_mr(mr);
	}
}

static void windows(void)
{
	struct region r = region_new(9000, 1, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	struct link link;

	link_make(&link, NULL);
	for (;;) {
		struct ibv_mw *mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1));
		struct ibv_mw_bind bind = {
			.send_flags = IBV_SEND_SIGNALED,
			.bind_info = { .mr = r.mr,
				       .addr = r.base,
				       .length = 9000 },
		};

		CHECK_EQ(ibv_bind_mw(link.a.qp, mw, &bind), 0);
		await(link.a.scq);
		ibv_dealloc_mw(mw);
	}
}

static void device_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 65536 };

	for (;;) {
		struct ibv_dm *dm = ibv_alloc_dm(dev.ctx, &attr);
		struct ibv_mr *mr;

		if (!dm)
			continue;
		mr = ibv_reg_dm_mr(dev.pd, dm, 0, 4096,
				   ALL_ACCESS | IBV_ACCESS_ZERO_BASED);
		if (mr)
			ibv_dereg_mr(mr);
		ibv_free_dm(dm);
	}
}

static void groups(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	union ibv_gid gid = { .raw = { [10] = 0xff, 0xff, 239, 9, 9, 9 } };
	struct link link;

	link_make(&link, &cfg);
	for (;;) {
		struct ibv_ah_attr attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .dgid = gid, .sgid_index = dev.gid_index },
		};

		ibv_attach_mcast(link.a.qp, &gid, 0);
		ibv_destroy_ah(MUST(ibv_create_ah(dev.pd, &attr)));
		if (rnd() & 1)
			ibv_detach_mcast(link.a.qp, &gid, 0);
	}
}

static void large_messages(void)
{
	struct region a = region_new(8 << 20, 1, ALL_ACCESS);
	struct region b = region_new(8 << 20, 7, ALL_ACCESS);
	struct link link;

	link_make(&link, NULL);
	for (;;)
		rdma(&link.a, rnd() & 1 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
		     sge_of(&a, 0, 8 << 20), b.base, b.rkey);
}

static void waiting(void)
{
	struct qp_cfg cfg = { .rnr_timer = 1 };
	struct link links[4];
	int i;

	for (i = 0; i < 4; i++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

		link_make(&links[i], &cfg);
		if (i & 1)
			end_set_state(&links[i].b, IBV_QPS_RESET);
		post(&links[i].a, &wr);
	}
	pause();
}

static void xrc(void)
{
	for (;;) {
		struct ibv_xrcd_init_attr attr = {
			.comp_mask = IBV_XRCD_INIT_ATTR_FD |
				     IBV_XRCD_INIT_ATTR_OFLAGS,
			.fd = -1,
			.oflags = O_CREAT,
		};
		struct qp_cfg cfg = { .type = IBV_QPT_XRC_RECV };
		struct end end;

		cfg.xrcd = ibv_open_xrcd(dev.ctx, &attr);
		if (!cfg.xrcd)
			pause();
		end_make(&end, &cfg);
		end_free(&end);
		ibv_close_xrcd(cfg.xrcd);
	}
}

static const struct {
	const char *name;
	void (*verbs)(void);
} kinds[] = {
	{ "open", opens },
	{ "domains", domains },
	{ "completion queues", completion_queues },
	{ "queue pairs", queue_pairs },
	{ "shared queues", shared_queues },
	{ "regions", regions },
	{ "windows", windows },
	{ "device memory", device_memory },
	{ "groups", groups },
	{ "large messages", large_messages },
	{ "waiting", waiting },
	{ "xrc", xrc },
};

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

static void killed(int pid)
{
	int status;

	kill(pid, SIGKILL);
	status = reap(pid);
	if (WIFEXITED(status))
		_exit(1);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void nothing_left(const struct resources *before)
{
	struct resources after;
	char text[256];
	int i;

	for (i = 0; i < 100; i++) {
		resources_read(&after);
		if (!resources_differ(before, &after, text, sizeof(text)))
			return;
		usleep(10000);
	}
	FAIL("left behind: %s", text);
}

static void q1_each_verb(void)
{
	volatile struct victim *v = victim_start();
	double slice = opt.seconds / (double)ARRAY_SIZE(kinds);
	struct resources before;
	unsigned long deaths = 0;
	size_t i;

	share_ready();
	resources_read(&before);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		double end = now() + slice;

		context("%s", kinds[i].name);
		do {
			int pid = start(kinds[i].verbs);

			usleep(rnd_below(20000));
			killed(pid);
			deaths++;
		} while (now() < end);
		nothing_left(&before);
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

	for (i = 1; i < ARRAY_SIZE(kinds) - 1; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, verbs_thread, kinds[i].verbs);
	}
	pause();
}

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
	nothing_left(&before);
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
		/* Its region may end a moment before its queue pair. */
		CHECK(wc.status == IBV_WC_RETRY_EXC_ERR ||
		      wc.status == IBV_WC_REM_ACCESS_ERR ||
		      wc.status == IBV_WC_REM_INV_REQ_ERR);
		end_free(&end);
		close(socks[0]);
		close(socks[1]);
		deaths++;
	}
	note("%lu deaths, %lu messages", deaths, done);
	nothing_left(&before);
}

/* Objects belong to the file, and go with its last holder. */
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
	CHECK_EQ(write(socks[1], "", 1), 1);
	if (!fork()) {
		hold(&socks[1]);
		_exit(0);
	}
	pause();
}

static void q4_file_outlives(void)
{
	struct resources before, during;
	int socks[2], pid;
	char byte;

	resources_read(&before);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, socks), 0);
	pid = spawn(creator, socks);
	CHECK_EQ(read(socks[0], &byte, 1), 1);
	usleep(100000);
	killed(pid);
	resources_read(&during);
	if (before.known)
		CHECK(resources_count(&during, "mr") >
		      resources_count(&before, "mr"));
	CHECK_EQ(write(socks[0], "", 1), 1);
	nothing_left(&before);
}

static const struct test tests[] = {
	TEST(q1_each_verb, "Q1 in the middle of each verb"),
	TEST(q2_many_threads, "Q2 with a thread for each verb"),
	TEST(q3_peer_dies, "Q3 the peer dies"),
	TEST(q4_file_outlives, "Q4 a child holds the file"),
};

HARNESS_MAIN("Killed", tests)
