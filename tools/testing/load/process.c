// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "stress.h"

int me;
struct ibv_pd *pd;
struct ibv_cq *cq;
union ibv_gid gid;
struct conn conns[MAX_QPS];

static struct ibv_context *ctx;
static struct ibv_comp_channel *channel;

static bool device_is_gone(void)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", device_name);
	return access(path, F_OK);
}

void give_up(const char *what)
{
	int err = errno, i;

	/* Calls fail before the device disappears from sysfs, so wait for that. */
	for (i = 0; i < 1500 * slow && may_go; i++) {
		if (device_is_gone())
			_exit(EXIT_GONE);
		usleep(20000);
	}
	printf("# process %d: %s: %s\n", me, what, strerror(err));
	_exit(EXIT_WRONG);
}

void wrong(struct conn *c, const char *what, uint64_t is, uint64_t want)
{
	printf("# process %d, connection %td with %d, type %d, operation %d of %u bytes from %u to %u: %s: %#llx, not %#llx\n",
	       me, c - conns, c->peer, c->type, c->kind, c->length, c->from,
	       c->to, what, (unsigned long long)is, (unsigned long long)want);
	_exit(EXIT_WRONG);
}

/* The connection of a completion; NULL if its queue pair is gone. */
static struct conn *conn_of(const struct ibv_wc *wc)
{
	struct conn *c = &conns[wc->wr_id >> 8];

	return c->qp && c->qp->qp_num == wc->qp_num ? c : NULL;
}

static void completions(void)
{
	struct ibv_wc wc[16];
	int n, i;

	while ((n = ibv_poll_cq(cq, 16, wc)) > 0) {
		for (i = 0; i < n; i++) {
			struct conn *c = conn_of(&wc[i]);
			int recv = (int)(wc[i].wr_id & 0xff) - 1;

			if (!c)
				continue;
			if (wc[i].status != IBV_WC_SUCCESS) {
				/* Expected when the other side exits or makes a new queue pair. */
				atomic_fetch_add(&shared->errors, 1);
				if (wc[i].status == IBV_WC_LOC_PROT_ERR ||
				    wc[i].status == IBV_WC_LOC_LEN_ERR ||
				    wc[i].status == IBV_WC_LOC_QP_OP_ERR)
					wrong(c, "local error", wc[i].status,
					      wc[i].vendor_err);
				drop(c);
			} else if (recv >= 0) {
				received(c, recv, &wc[i]);
				if (post_recv(c, recv))
					give_up("ibv_post_recv");
			} else if (!--c->expect) {
				check_done(c);
			}
		}
	}
	if (n < 0)
		give_up("ibv_poll_cq");
}

static void wait_a_moment(void)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *which;
	void *context;

	if (ibv_req_notify_cq(cq, rnd_below(2)))
		give_up("ibv_req_notify_cq");
	completions();
	if (poll(&p, 1, 2) == 1 && !ibv_get_cq_event(channel, &which, &context))
		ibv_ack_cq_events(cq, 1);
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), device_name))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!ctx)
		give_up("cannot open the device");
	pd = ibv_alloc_pd(ctx);
	channel = ibv_create_comp_channel(ctx);
	if (!pd || !channel)
		give_up("ibv_alloc_pd");
	cq = ibv_create_cq(ctx, qps * (RECVS + 16) * 4, NULL, channel, 0);
	if (!cq || ibv_query_gid(ctx, 1, gid_index, &gid))
		give_up("ibv_create_cq");
}

/* Initializes connection number @i. */
static void prepare(struct conn *c, int i)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_RC,
		IBV_QPT_UD, IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_RC,
	};

	/* The XOR is symmetric: both sides choose each other for connection @i. */
	c->peer = me ^ (1 + i % (processes - 1));
	c->type = types[i % 8];
	c->mine = &shared->side[me][i];
	c->other = &shared->side[c->peer][i];
	c->mem = mmap(NULL, sizeof(*c->mem), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->mem == MAP_FAILED)
		give_up("mmap");
	/* It is odd if the previous process was killed while it wrote the description. */
	if (atomic_load(&c->mine->seq) & 1)
		atomic_fetch_add(&c->mine->seq, 1);
}

/* Makes, connects or replaces the queue pair. Returns whether an operation was started. */
static bool advance(struct conn *c)
{
	if (c->state == FRESH)
		make(c);
	if (c->state == WAITING)
		try_connect(c);
	if (c->state == CONNECTED &&
	    atomic_load(&c->other->seq) != c->connected_to)
		drop(c);
	if (c->state != CONNECTED || c->busy)
		return false;
	start(c);
	return true;
}

static void close_all(void)
{
	int i;

	for (i = 0; i < qps; i++)
		drop(&conns[i]);
	for (i = 0; i < qps; i++)
		if (conns[i].mr && ibv_dereg_mr(conns[i].mr))
			give_up("ibv_dereg_mr");
	if (ibv_destroy_cq(cq) || ibv_destroy_comp_channel(channel) ||
	    ibv_dealloc_pd(pd) || ibv_close_device(ctx))
		give_up("closing the device");
}

void process(int index)
{
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	me = index;
	/* One that takes the place of a killed one has other numbers. */
	rnd_seed(seed_of_run + index + 1);
	rnd_seed(rnd() ^ getpid());
	open_device();
	for (i = 0; i < qps; i++)
		prepare(&conns[i], i);
	while (!atomic_load(&shared->stop)) {
		bool idle = true;

		for (i = 0; i < qps; i++)
			if (advance(&conns[i]))
				idle = false;
		completions();
		if (idle)
			wait_a_moment();
	}
	close_all();
	_exit(0);
}
