// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A device goes while requests of all kinds go both ways (items CA9 to CA11): its users are told, its
 * peers find out by their timers, and its memory is nobody's any more. The caller has to create it
 * again.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "command.h"
#include "event.h"
#include "killed.h"
#include "link.h"
#include "rdma_tool.h"

enum { UNDER_WAY = 4, LENGTH = 250000, DATAGRAM = 900, GRH = 40, SEEN = 8 };
enum { TIMEOUT = 16, RETRIES = 7 };

enum kind { WRITE, READ, SEND, ADD, DATAGRAMS, KINDS };

/* Requests of one kind, one way. */
struct flow {
	struct link link;
	enum kind kind;
	bool from_far;
	struct region *own, *peer;
	unsigned long ended;
	struct ibv_wc failure; /* the first, if its status is not success */
	int under_way;
};

/* All kinds, both ways, of one process. */
struct traffic {
	struct flow flows[2 * KINDS];
	struct ibv_cq *near_cq, *far_cq;
	struct region near, far;
};

static void flow_receive(struct flow *flow)
{
	struct ibv_sge sge = sge_of(flow->peer, 0, LENGTH);

	post_recv(&flow->link.b, &sge, 1, 0);
}

/* Return: 0, or an errno, as of a device that has gone. */
static int flow_post(struct flow *flow)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND
	};
	struct ibv_sge sge = sge_of(flow->own, 0, LENGTH);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcodes[flow->kind],
		.send_flags = IBV_SEND_SIGNALED,
	};
	int rc;

	if (flow->kind == ADD) {
		sge.length = 8;
		wr.wr.atomic.remote_addr = flow->peer->base;
		wr.wr.atomic.rkey = flow->peer->rkey;
		wr.wr.atomic.compare_add = 1;
	} else if (flow->kind == DATAGRAMS) {
		sge.length = DATAGRAM;
		wr.wr.ud.ah = flow->link.a.ah;
		wr.wr.ud.remote_qpn = flow->link.b.qp->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
	} else if (flow->kind != SEND) {
		wr.wr.rdma.remote_addr = flow->peer->base;
		wr.wr.rdma.rkey = flow->peer->rkey;
	}
	rc = try_post(&flow->link.a, &wr);
	if (!rc)
		flow->under_way++;
	return rc;
}

static void flow_make(struct traffic *t, int i)
{
	struct flow *flow = &t->flows[i];
	struct qp_cfg near = { .timeout = TIMEOUT, .retry = RETRIES };
	struct qp_cfg far;
	int n;

	flow->kind = i % KINDS;
	flow->from_far = i >= KINDS;
	near.type = flow->kind == DATAGRAMS ? IBV_QPT_UD : IBV_QPT_RC;
	near.mtu = common_mtu();
	near.wr = near.recv_wr = 2 * UNDER_WAY;
	near.rnr_retry = 7;
	far = near;
	far.device = &far_dev;
	near.scq = near.rcq = t->near_cq;
	far.scq = far.rcq = t->far_cq;
	flow->own = flow->from_far ? &t->far : &t->near;
	flow->peer = flow->from_far ? &t->near : &t->far;
	link_make2(&flow->link, flow->from_far ? &far : &near,
		   flow->from_far ? &near : &far);
	if (flow->kind == SEND || flow->kind == DATAGRAMS)
		for (n = 0; n < UNDER_WAY; n++)
			flow_receive(flow);
}

static void traffic_begin(struct traffic *t)
{
	int i, n;

	device_open();
	far_open();
	t->near_cq = MUST(ibv_create_cq(dev.ctx, 400, NULL, NULL, 0));
	t->far_cq = MUST(ibv_create_cq(far_dev.ctx, 400, NULL, NULL, 0));
	t->near = region_reg(dev.pd, buf_new(LENGTH, 64), ALL_ACCESS);
	t->far = region_reg(far_dev.pd, buf_new(LENGTH, 64), ALL_ACCESS);
	/* On removal the youngest objects go first, so make the queue pairs after the regions. */
	for (i = 0; i < 2 * KINDS; i++)
		flow_make(t, i);
	for (i = 0; i < 2 * KINDS; i++)
		for (n = 0; n < UNDER_WAY; n++)
			CHECK_EQ(flow_post(&t->flows[i]), 0);
}

/* The flow that has queue pair @qpn, of the far side or of ours. @sends: at its begin. */
static struct flow *flow_of(struct traffic *t, uint32_t qpn, bool far,
			    bool *sends)
{
	struct flow *flow;
	int i;

	for (i = 0; i < 2 * KINDS; i++) {
		flow = &t->flows[i];
		*sends = flow->from_far == far;
		if ((*sends ? &flow->link.a : &flow->link.b)->qp->qp_num == qpn)
			return flow;
	}
	FAIL("a completion of queue pair %#x, which is none of ours", qpn);
}

/* Takes the completions of one side, and posts as many requests. Returns how many there were. */
static int traffic_take(struct traffic *t, bool far)
{
	struct ibv_wc wc[16];
	struct flow *flow;
	int i, n;
	bool sends;

	n = ibv_poll_cq(far ? t->far_cq : t->near_cq, ARRAY_SIZE(wc), wc);
	for (i = 0; i < n; i++) {
		flow = flow_of(t, wc[i].qp_num, far, &sends);
		if (sends) {
			flow->under_way--;
			flow->ended += wc[i].status == IBV_WC_SUCCESS;
			if (wc[i].status != IBV_WC_SUCCESS &&
			    flow->failure.status == IBV_WC_SUCCESS)
				flow->failure = wc[i];
			if (flow->failure.status == IBV_WC_SUCCESS)
				flow_post(flow);
		} else if (wc[i].status == IBV_WC_SUCCESS) {
			struct ibv_sge sge = sge_of(flow->peer, 0, LENGTH);
			struct ibv_recv_wr wr = { .sg_list = &sge,
						  .num_sge = 1 },
					   *bad;

			ibv_post_recv(flow->link.b.qp, &wr, &bad);
		}
	}
	return n > 0 ? n : 0;
}

static void traffic_go_on(struct traffic *t)
{
	int n = traffic_take(t, false);

	n += traffic_take(t, true);
	if (!n)
		usleep(1000);
}

/* ------------------------------------------------------ another user, who is killed */

static _Atomic bool *under_way;

static bool all_have_seen(const struct traffic *t)
{
	int i;

	for (i = 0; i < 2 * KINDS; i++)
		if (t->flows[i].ended < SEEN)
			return false;
	return true;
}

static void another(void *arg)
{
	static struct traffic t;

	(void)arg;
	traffic_begin(&t);
	for (;;) {
		traffic_go_on(&t);
		if (!*under_way && all_have_seen(&t))
			*under_way = true;
	}
}

/* ------------------------------------------------------------------------ removal */

static struct traffic traffic;

/* Runs a command, while requests go on, and another user is killed. */
static void in_traffic(char *command, int pid)
{
	pthread_t thread;
	double when = now() + rnd_below(100) / 1000.0;

	thread = command_begin(command);
	while (pthread_tryjoin_np(thread, NULL)) {
		if (pid && now() >= when) {
			killed(pid);
			pid = 0;
		}
		traffic_go_on(&traffic);
	}
	if (pid)
		killed(pid);
}

/* No answer comes any more: reliable requests end with that, and those behind them are flushed. */
static void gives_up(struct flow *flow)
{
	double limit = now() + patience(PATIENCE);

	while (flow->under_way) {
		CHECK(now() < limit);
		if (!traffic_take(&traffic, false))
			usleep(1000);
	}
	expect_why(flow->failure, IBV_WC_RETRY_EXC_ERR, PINION_SYN_NO_RESPONSE);
	end_await_state(&flow->link.a, IBV_QPS_ERR);
}

/* Who sends datagrams to it hears nothing; who was sent something is as before. */
static void stays(struct flow *flow)
{
	struct end *here = flow->from_far ? &flow->link.b : &flow->link.a;

	CHECK_EQ(end_state(here), IBV_QPS_RTS);
	CHECK_EQ(flow->failure.status, IBV_WC_SUCCESS);
}

/* The device on this side works as before. */
static void works_here(void)
{
	struct region a = region_new(LENGTH, 5, ALL_ACCESS);
	struct region b = region_new(LENGTH, 6, ALL_ACCESS);
	struct link link;

	link_make(&link, NULL);
	check_write(&link, &a, 0, &b, 0, LENGTH);
	check_read(&link, &a, 0, &b, 0, LENGTH);
	link_free(&link);
}

static void remove_far(char *command)
{
	const double silence = end_least_silence(TIMEOUT, RETRIES);
	long long begun, gone, ended;
	double start;
	int i, pid;

	under_way = mmap(NULL, sizeof(*under_way), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK((void *)under_way != MAP_FAILED);
	if (!getenv("FAR"))
		skip("no device at the other end of a cable: FAR is not set");
	need_rdma_tool();
	pid = spawn(another, NULL);
	traffic_begin(&traffic);
	while (!all_have_seen(&traffic) || !*under_way) {
		traffic_go_on(&traffic);
		for (i = 0; i < 2 * KINDS; i++)
			expect(traffic.flows[i].failure, IBV_WC_SUCCESS);
	}
	begun = rdma_counter("local_ack_timeout_err");
	start = now();
	in_traffic(command, pid);
	/* From now on nothing may change in its memory, though its peers send and send again. */
	buf_fill(traffic.far.buf);
	gone = rdma_counter("local_ack_timeout_err");
	event_await_of(far_dev.ctx, IBV_EVENT_DEVICE_FATAL);
	errno = 0;
	CHECK(!ibv_alloc_pd(far_dev.ctx) && errno == EIO);
	for (i = 0; i < 2 * KINDS; i++) {
		context("kind %d, %s", i % KINDS,
			i < KINDS ? "to there" : "from there");
		if (i < KINDS && i % KINDS != DATAGRAMS)
			gives_up(&traffic.flows[i]);
		else
			stays(&traffic.flows[i]);
	}
	context("%s", "");
	/*
	 * On a machine that stood still the first timer may have run before. No upper bound would be right
	 * there: see end_least_silence().
	 */
	CHECK(now() - start >= silence);
	/* As often as the retries say. Some may have come before it was known that the device went. */
	usleep(500000);
	ended = rdma_counter("local_ack_timeout_err");
	note("%lld timeouts, %lld since it went, in %.1f s, not before %.1f s",
	     ended - begun, ended - gone, now() - start, silence);
	CHECK(ended - gone <= (KINDS - 1) * (RETRIES + 1));
	CHECK(ended - begun >= (KINDS - 1) * (RETRIES + 1));
	buf_check(traffic.far.buf);
	works_here();
}

/*
 * What the command @how removes may be there a while longer. The caller has the names of both in its
 * namespace of mounts.
 */
static void removed(const char *how, const char *what)
{
	char command[300];

	snprintf(command, sizeof(command),
		 "nsenter --mount=/proc/1/ns/mnt bash -c '%s %s;"
		 " while [ -e /sys/class/infiniband/%s ]; do sleep 0.1; done'",
		 how, what, getenv("FAR"));
	remove_far(command);
}

/* The device goes in traffic both ways: requests on the other host fail. */
static void ca9_device(void)
{
	char how[100];

	snprintf(how, sizeof(how), "ip netns exec %s rdma link del",
		 getenv("FAR_NET"));
	removed(how, getenv("FAR"));
}

/* Its network device goes in traffic both ways. */
static void ca10_netdev(void)
{
	char how[100];

	snprintf(how, sizeof(how), "ip -n %s link del", getenv("FAR_NET"));
	removed(how, "v0");
}

/* Its namespace goes in traffic both ways. */
static void ca11_namespace(void)
{
	removed("ip netns del", getenv("FAR_NET"));
}

static const struct test tests[] = {
	LONG_TEST(ca9_device, "CA9 the device goes in traffic both ways", 90),
	LONG_TEST(ca10_netdev, "CA10 its netdev goes in traffic both ways", 90),
	LONG_TEST(ca11_namespace,
		  "CA11 its namespace goes in traffic both ways", 90),
};

HARNESS_MAIN("a device that goes in the middle of traffic", tests)
