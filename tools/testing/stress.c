// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Processes that talk to each other over many queue pairs at once, all kinds of
 * operations, sizes and offsets, with every byte checked, while some of them are
 * killed at any moment and start anew, and the device may go away.
 *
 * Two processes and a number make a connection. Each side describes its queue pair
 * in shared memory, with a sequence number that changes when it is another one; two
 * sides that have seen each other's current description connect. Whoever fails or
 * sees the other's number change begins again. Nobody waits for anybody else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

enum {
	MAX_PROCESSES = 64,
	MAX_QPS = 64,
	POOL = 1 << 20, /* random bytes, the same for all */
	WINDOW = 160 << 10, /* what one operation moves at most */
	RECVS = 8,
	RECV_SIZE = 20000,
	MAX_PIECES = 4,
	MAGIC = 0x70696e69,
	UD_SPACE = 40,
	QKEY = 0x11223344,
	EXIT_GONE = 3, /* the device went away */
	EXIT_WRONG = 4, /* data or a completion is not as it must be */
};

/* What the other side must know; written by one, read by the other. */
struct side {
	_Atomic uint32_t seq; /* odd while it is being written */
	_Atomic uint32_t seen; /* the other's seq we would connect to */
	uint32_t qpn, psn, rkey;
	uint64_t window, atomics;
};

struct shared {
	_Atomic bool stop;
	_Atomic uint64_t ops, bytes, receives, connects, kills, errors;
	struct side side[MAX_PROCESSES][MAX_QPS];
};

/* Of our own memory, per connection: every part begins at an odd place. */
struct memory {
	char source[WINDOW + 64];
	char back[WINDOW + 64];
	char window[WINDOW + 64]; /* the other's to write and read */
	char recv[RECVS][RECV_SIZE + UD_SPACE + 64];
	uint64_t atomics[2] __attribute__((aligned(4096)));
	uint64_t old;
};

enum state { FRESH, WAITING, CONNECTED };

struct conn {
	enum state state;
	enum ibv_qp_type type;
	int peer;
	struct side *mine, *other;
	uint32_t connected_to;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	struct memory *mem;
	struct side remote; /* a copy of what we connected to */
	bool busy;
	int expect; /* completions of the operation under way */
	/* the operation under way, to be checked at its end */
	int kind;
	uint32_t length, from, to, seed;
	uint64_t counter; /* the atomic word of the other side, as we left it */
	bool counter_known;
};

static const char *device_name;
static int processes = 8, qps = 8, seconds = 10, kill_ms, gid_index = 1;
static bool may_go;
static int slow = 1; /* how many times longer all takes in this bed */
static uint64_t seed_of_run;
static struct shared *shared;
static char *pool;

static int me;
static uint64_t rng;
static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_comp_channel *channel;
static union ibv_gid gid;
static struct conn conns[MAX_QPS];

static uint64_t rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

static uint32_t below(uint32_t n)
{
	return n ? (rnd() >> 16) % n : 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static bool device_is_gone(void)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", device_name);
	return access(path, F_OK);
}

/* Something could not be done: right if the device is gone, else wrong. */
static void give_up(const char *what)
{
	int err = errno, i;

	/* Errors come before sysfs has forgotten the device. */
	for (i = 0; i < 1500 * slow && may_go; i++) {
		if (device_is_gone())
			_exit(EXIT_GONE);
		usleep(20000);
	}
	printf("# process %d: %s: %s\n", me, what, strerror(err));
	_exit(EXIT_WRONG);
}

static void wrong(struct conn *c, const char *what, uint64_t is, uint64_t want)
{
	printf("# process %d, connection %td with %d, type %d, operation %d of %u bytes from %u to %u: %s: %#llx, not %#llx\n",
	       me, c - conns, c->peer, c->type, c->kind, c->length, c->from,
	       c->to, what, (unsigned long long)is, (unsigned long long)want);
	_exit(EXIT_WRONG);
}

static const char *pattern(uint32_t seed)
{
	return pool + seed % (POOL - WINDOW);
}

static enum ibv_mtu mtu_of(const struct conn *c)
{
	int a = me < c->peer ? me : c->peer, b = me < c->peer ? c->peer : me;

	return IBV_MTU_256 + (a * 7 + b * 3 + (c - conns)) % 5;
}

static uint32_t most(const struct conn *c)
{
	return c->type == IBV_QPT_UD ? 128u << mtu_of(c) : RECV_SIZE;
}

static int post_recv(struct conn *c, int i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)c->mem->recv[i] + 1 + i,
		.length = RECV_SIZE + UD_SPACE,
		.lkey = c->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = (uint64_t)(c - conns) << 8 | (i + 1),
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ibv_post_recv(c->qp, &wr, &bad);
}

/* ---------------------------------------------------------------- connections */

static void drop(struct conn *c)
{
	if (c->qp && ibv_destroy_qp(c->qp))
		give_up("ibv_destroy_qp");
	if (c->ah)
		ibv_destroy_ah(c->ah);
	c->qp = NULL;
	c->ah = NULL;
	c->busy = false;
	c->state = FRESH;
}

static void make(struct conn *c)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 16, RECVS, MAX_PIECES, 1, 200 },
		.qp_type = c->type,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	};
	int i;

	/* Another key now and then, or always the same. */
	if (c->mr && !below(3)) {
		if (ibv_dereg_mr(c->mr))
			give_up("ibv_dereg_mr");
		c->mr = NULL;
	}
	if (!c->mr)
		c->mr = ibv_reg_mr(pd, c->mem, sizeof(*c->mem),
				   IBV_ACCESS_LOCAL_WRITE |
					   IBV_ACCESS_REMOTE_WRITE |
					   IBV_ACCESS_REMOTE_READ |
					   IBV_ACCESS_REMOTE_ATOMIC);
	if (!c->mr)
		give_up("ibv_reg_mr");
	c->qp = ibv_create_qp(pd, &init);
	if (!c->qp)
		give_up("ibv_create_qp");
	if (ibv_modify_qp(c->qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				  (c->type == IBV_QPT_UD ?
					   IBV_QP_QKEY :
					   IBV_QP_ACCESS_FLAGS)))
		give_up("modify to INIT");
	for (i = 0; i < RECVS; i++)
		if (post_recv(c, i))
			give_up("ibv_post_recv");

	atomic_fetch_add(&c->mine->seq, 1);
	c->mine->qpn = c->qp->qp_num;
	c->mine->psn = below(1 << 24);
	c->mine->rkey = c->mr->rkey;
	c->mine->window = (uintptr_t)c->mem->window;
	c->mine->atomics = (uintptr_t)c->mem->atomics;
	c->mine->seen = 0;
	atomic_fetch_add(&c->mine->seq, 1);
	c->counter_known = false;
	c->state = WAITING;
}

static int to_rts(struct conn *c)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_of(c),
		.dest_qp_num = c->remote.qpn,
		.rq_psn = c->remote.psn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = gid,
				      .sgid_index = gid_index,
				      .hop_limit = 8 } },
	};
	int mask = IBV_QP_STATE;

	if (c->type == IBV_QPT_UD) {
		c->ah = ibv_create_ah(pd, &attr.ah_attr);
		if (!c->ah)
			return errno;
	} else {
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN;
		if (c->type == IBV_QPT_RC)
			mask |= IBV_QP_MAX_DEST_RD_ATOMIC |
				IBV_QP_MIN_RNR_TIMER;
	}
	if (ibv_modify_qp(c->qp, &attr, mask))
		return errno;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.sq_psn = c->mine->psn,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (c->type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(c->qp, &attr, mask) ? errno : 0;
}

static void try_connect(struct conn *c)
{
	uint32_t seq = atomic_load(&c->other->seq);

	if (!seq || seq & 1)
		return;
	atomic_store(&c->mine->seen, seq);
	if (atomic_load(&c->other->seen) != atomic_load(&c->mine->seq))
		return;
	c->remote = *c->other;
	if (atomic_load(&c->other->seq) != seq)
		return;
	c->connected_to = seq;
	if (to_rts(c))
		give_up("modify to RTR and RTS");
	c->state = CONNECTED;
	atomic_fetch_add(&shared->connects, 1);
}

/* ----------------------------------------------------------------- operations */

enum { OP_WRITE, OP_WRITE_IMM, OP_SEND, OP_SEND_IMM, OP_ADD, OP_SWAP, OPS };

/* Cut [at, at + length) of the source into up to @max pieces. */
static int cut(struct conn *c, uint32_t at, uint32_t length, int max,
	       struct ibv_sge *sge)
{
	int n = 0;

	while (n < max - 1 && length > 1 && below(2)) {
		uint32_t piece = 1 + below(length - 1);

		sge[n++] = (struct ibv_sge){ (uintptr_t)c->mem->source + at,
					     piece, c->mr->lkey };
		at += piece;
		length -= piece;
	}
	sge[n++] = (struct ibv_sge){ (uintptr_t)c->mem->source + at, length,
				     c->mr->lkey };
	return n;
}

static void start(struct conn *c)
{
	struct ibv_sge sge[MAX_PIECES], back;
	struct ibv_send_wr *bad, read = { 0 },
				 wr = {
					 .wr_id = (uint64_t)(c - conns) << 8,
					 .sg_list = sge,
					 .send_flags = IBV_SEND_SIGNALED,
				 };
	uint32_t header[3];
	int err;

	do {
		c->kind = below(OPS);
	} while (c->type == IBV_QPT_UD ?
			 c->kind != OP_SEND && c->kind != OP_SEND_IMM :
			 c->type == IBV_QPT_UC && c->kind >= OP_ADD);
	c->seed = rnd();
	c->from = below(64);
	c->to = below(64);
	c->expect = 1;

	switch (c->kind) {
	case OP_WRITE:
	case OP_WRITE_IMM:
		/* Small ones as often as large ones. */
		c->length = below(1u << (1 + below(17)));
		memcpy(c->mem->source + c->from, pattern(c->seed), c->length);
		wr.opcode = c->kind == OP_WRITE ? IBV_WR_RDMA_WRITE :
						  IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.imm_data = c->seed;
		wr.wr.rdma.remote_addr = c->remote.window + c->to;
		wr.wr.rdma.rkey = c->remote.rkey;
		wr.num_sge = cut(c, c->from, c->length, MAX_PIECES, sge);
		if (c->type == IBV_QPT_RC) {
			/* What was written is read again, and compared. */
			memset(c->mem->back, 0xee, sizeof(c->mem->back));
			back = (struct ibv_sge){ (uintptr_t)c->mem->back +
							 c->to,
						 c->length, c->mr->lkey };
			read = (struct ibv_send_wr){
				.wr_id = wr.wr_id,
				.sg_list = &back,
				.num_sge = 1,
				.opcode = IBV_WR_RDMA_READ,
				.send_flags = IBV_SEND_SIGNALED,
				.wr.rdma = wr.wr.rdma,
			};
			wr.next = &read;
			wr.send_flags = below(2) ? IBV_SEND_SIGNALED : 0;
			c->expect += wr.send_flags != 0;
		}
		break;
	case OP_SEND:
	case OP_SEND_IMM:
		c->length = sizeof(header) + below(most(c) - sizeof(header));
		if (!below(4))
			c->length = sizeof(header) + below(100);
		header[0] = MAGIC;
		header[1] = c->seed;
		header[2] = c->length;
		memcpy(c->mem->source + c->from, pattern(c->seed), c->length);
		memcpy(c->mem->source + c->from, header, sizeof(header));
		wr.opcode = c->kind == OP_SEND ? IBV_WR_SEND :
						 IBV_WR_SEND_WITH_IMM;
		wr.imm_data = c->seed;
		wr.num_sge = cut(c, c->from, c->length, MAX_PIECES, sge);
		if (c->length <= 200 && below(2))
			wr.send_flags |= IBV_SEND_INLINE;
		if (below(2))
			wr.send_flags |= IBV_SEND_SOLICITED;
		if (c->type == IBV_QPT_UD) {
			wr.wr.ud.ah = c->ah;
			wr.wr.ud.remote_qpn = c->remote.qpn;
			wr.wr.ud.remote_qkey = QKEY;
		}
		break;
	default:
		c->length = 8;
		sge[0] = (struct ibv_sge){ (uintptr_t)&c->mem->old, 8,
					   c->mr->lkey };
		wr.num_sge = 1;
		wr.wr.atomic.remote_addr = c->remote.atomics;
		wr.wr.atomic.rkey = c->remote.rkey;
		wr.wr.atomic.compare_add = c->kind == OP_ADD ? c->seed :
							       c->counter;
		wr.wr.atomic.swap = c->seed;
		wr.opcode = c->kind == OP_ADD ? IBV_WR_ATOMIC_FETCH_AND_ADD :
						IBV_WR_ATOMIC_CMP_AND_SWP;
	}
	err = ibv_post_send(c->qp, &wr, &bad);
	if (err) {
		errno = err;
		give_up("ibv_post_send");
	}
	c->busy = true;
}

static void check_done(struct conn *c)
{
	uint64_t old = c->mem->old;
	uint32_t i;

	switch (c->kind) {
	case OP_WRITE:
	case OP_WRITE_IMM:
		if (c->type != IBV_QPT_RC)
			break;
		for (i = 0; i < c->length; i++)
			if (c->mem->back[c->to + i] != pattern(c->seed)[i])
				wrong(c, "byte read back",
				      (uint8_t)c->mem->back[c->to + i],
				      (uint8_t)pattern(c->seed)[i]);
		for (i = 0; i < sizeof(c->mem->back); i++) {
			if (i == c->to)
				i += c->length;
			if (i < sizeof(c->mem->back) &&
			    (uint8_t)c->mem->back[i] != 0xee)
				wrong(c, "byte beside", c->mem->back[i], 0xee);
		}
		break;
	case OP_ADD:
	case OP_SWAP:
		if (c->counter_known && old != c->counter)
			wrong(c, "atomic word", old, c->counter);
		/* The first swap does not know what to compare with. */
		if (c->kind == OP_ADD)
			c->counter = old + c->seed;
		else
			c->counter = old == c->counter ? c->seed : old;
		c->counter_known = true;
	}
	atomic_fetch_add(&shared->ops, 1);
	atomic_fetch_add(&shared->bytes, c->length);
	c->busy = false;
}

static void received(struct conn *c, int i, const struct ibv_wc *wc)
{
	const char *data = c->mem->recv[i] + 1 + i +
			   (c->type == IBV_QPT_UD ? UD_SPACE : 0);
	uint32_t length = wc->byte_len - (c->type == IBV_QPT_UD ? UD_SPACE : 0);
	uint32_t header[3];

	atomic_fetch_add(&shared->receives, 1);
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
		const char *at = c->mem->window;
		uint32_t to;

		/* Where it was written to is not told, but few places can be. */
		for (to = 0; to < 64; to++)
			if (!memcmp(at + to, pattern(wc->imm_data),
				    wc->byte_len))
				return;
		/* On RC the next write may have changed it by now. */
		return;
	}
	if (wc->opcode != IBV_WC_RECV)
		wrong(c, "opcode", wc->opcode, IBV_WC_RECV);
	memcpy(header, data, sizeof(header));
	if (header[0] != MAGIC || header[2] != length)
		wrong(c, "header", header[2], length);
	if (wc->wc_flags & IBV_WC_WITH_IMM && wc->imm_data != header[1])
		wrong(c, "immediate", wc->imm_data, header[1]);
	if (memcmp(data + sizeof(header), pattern(header[1]) + sizeof(header),
		   length - sizeof(header)))
		wrong(c, "received data", header[1], length);
}

/* The connection of a completion, or NULL for one of a queue pair that has gone. */
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
				/* Right if the other side has gone or begun anew. */
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

	if (ibv_req_notify_cq(cq, below(2)))
		give_up("ibv_req_notify_cq");
	completions();
	if (poll(&p, 1, 2) == 1 && !ibv_get_cq_event(channel, &which, &context))
		ibv_ack_cq_events(cq, 1);
}

/* -------------------------------------------------------------------- processes */

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

static void child(int index)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_RC,
		IBV_QPT_UD, IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_RC,
	};
	int i, idle;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	me = index;
	rng = (seed_of_run + index + 1) * 0x9e3779b97f4a7c15ull ^
	      (uint64_t)getpid() << 20;
	open_device();
	for (i = 0; i < qps; i++) {
		struct conn *c = &conns[i];

		/* Number i goes to the process whose number differs by i's bits. */
		c->peer = me ^ (1 + i % (processes - 1));
		c->type = types[i % 8];
		c->mine = &shared->side[me][i];
		c->other = &shared->side[c->peer][i];
		c->mem = mmap(NULL, sizeof(*c->mem), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (c->mem == MAP_FAILED)
			give_up("mmap");
		/* A life that ended in the middle of writing left it odd. */
		if (atomic_load(&c->mine->seq) & 1)
			atomic_fetch_add(&c->mine->seq, 1);
	}
	while (!atomic_load(&shared->stop)) {
		idle = 0;
		for (i = 0; i < qps; i++) {
			struct conn *c = &conns[i];

			if (c->state == FRESH)
				make(c);
			if (c->state == WAITING)
				try_connect(c);
			if (c->state == CONNECTED &&
			    atomic_load(&c->other->seq) != c->connected_to)
				drop(c);
			if (c->state == CONNECTED && !c->busy)
				start(c);
			else
				idle++;
		}
		completions();
		if (idle == qps)
			wait_a_moment();
	}
	for (i = 0; i < qps; i++)
		drop(&conns[i]);
	for (i = 0; i < qps; i++)
		if (conns[i].mr && ibv_dereg_mr(conns[i].mr))
			give_up("ibv_dereg_mr");
	if (ibv_destroy_cq(cq) || ibv_destroy_comp_channel(channel) ||
	    ibv_dealloc_pd(pd) || ibv_close_device(ctx))
		give_up("closing the device");
	_exit(0);
}

static pid_t spawn(int index)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		child(index);
	return pid;
}

static int run(void)
{
	double end = now() + seconds, next_kill = now() + kill_ms * 1e-3;
	pid_t pids[MAX_PROCESSES] = { 0 }, pid;
	int i, status, failed = 0, gone = 0, alive = processes, started = 0;

	for (i = 0; i < processes; i++)
		pids[i] = spawn(i);
	while (alive) {
		if (!started && atomic_load(&shared->ops)) {
			printf("# under way\n");
			started = 1;
		}
		/* Where all stands still for the time there is, something comes after it. */
		if ((now() > end && (started || now() > end + 60 * slow)) ||
		    failed || gone)
			atomic_store(&shared->stop, true);
		if (now() > end + 120 * slow) {
			printf("# some do not end\n");
			failed = 1;
			for (i = 0; i < processes; i++)
				if (pids[i])
					kill(pids[i], SIGKILL);
			end = now() + 1000;
		}
		if (kill_ms && now() > next_kill &&
		    !atomic_load(&shared->stop)) {
			i = rnd() % processes;
			if (pids[i] && !kill(pids[i], SIGKILL))
				atomic_fetch_add(&shared->kills, 1);
			next_kill = now() + kill_ms * 1e-3;
		}
		pid = waitpid(-1, &status, WNOHANG);
		if (pid <= 0) {
			usleep(5000);
			continue;
		}
		for (i = 0; i < processes && pids[i] != pid; i++)
			;
		pids[i] = 0;
		alive--;
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
			if (!atomic_load(&shared->stop)) {
				pids[i] = spawn(i);
				alive++;
			}
		} else if (WIFEXITED(status) &&
			   WEXITSTATUS(status) == EXIT_GONE) {
			gone = 1;
		} else if (status) {
			printf("# process %d ended with status %#x\n", i,
			       status);
			failed = 1;
		}
	}
	printf("# %llu operations, %llu MB, %llu receives, %llu connections, %llu errors, %llu kills%s\n",
	       (unsigned long long)shared->ops,
	       (unsigned long long)shared->bytes >> 20,
	       (unsigned long long)shared->receives,
	       (unsigned long long)shared->connects,
	       (unsigned long long)shared->errors,
	       (unsigned long long)shared->kills,
	       gone ? ", the device went away" : "");
	if (!shared->ops) {
		printf("# nothing was done\n");
		failed = 1;
	}
	return failed;
}

static void usage(FILE *to)
{
	fprintf(to,
		"Usage: stress [OPTIONS]\n\n"
		"  --device NAME    the device (needed)\n"
		"  --gid-index N    of its port (default 1)\n"
		"  --processes N    2, 4, 8, ... (default 8)\n"
		"  --qps N          queue pairs of each (default 8)\n"
		"  --seconds N      how long (default 10)\n"
		"  --kill MS        kill -9 one of them every MS milliseconds\n"
		"  --may-go         the device may go away while they run\n"
		"  --seed N         of the random numbers\n\n"
		"Exit status: 0 all data was right, 1 not, 2 wrong call\n");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", 1, NULL, 'd' },    { "gid-index", 1, NULL, 'g' },
		{ "processes", 1, NULL, 'p' }, { "qps", 1, NULL, 'q' },
		{ "seconds", 1, NULL, 's' },   { "kill", 1, NULL, 'k' },
		{ "may-go", 0, NULL, 'm' },    { "seed", 1, NULL, 'r' },
		{ "help", 0, NULL, 'h' },      {}
	};
	int opt, i;

	seed_of_run = time(NULL);
	if (atoi(getenv("SLOW") ?: "1") > 1)
		slow = atoi(getenv("SLOW"));
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'd':
			device_name = optarg;
			break;
		case 'g':
			gid_index = atoi(optarg);
			break;
		case 'p':
			processes = atoi(optarg);
			break;
		case 'q':
			qps = atoi(optarg);
			break;
		case 's':
			seconds = atoi(optarg);
			break;
		case 'k':
			kill_ms = atoi(optarg);
			break;
		case 'm':
			may_go = true;
			break;
		case 'r':
			seed_of_run = strtoull(optarg, NULL, 0);
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (!device_name || processes < 2 || processes > MAX_PROCESSES ||
	    processes & (processes - 1) || qps < 1 || qps > MAX_QPS) {
		usage(stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	rng = seed_of_run * 2 + 1;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pool = mmap(NULL, POOL, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pool == MAP_FAILED)
		return 2;
	for (i = 0; i < POOL; i++)
		pool[i] = rnd() >> 24;
	printf("# seed %llu\n", (unsigned long long)seed_of_run);
	return run();
}
