// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory that never becomes present, such as of a file system whose server is dead, hangs its
 * owner and nobody else: whoever sends to it, receives from it or shares a group with it goes on
 * and can be killed (items H1 to H10). It does not keep a device from being removed (H11), nor
 * take unlimited kernel threads (H12 to H15); no hint is lost (H16), and datagrams keep their order
 * (H17). All this with memory of ../exporter; H18 is with a file of FUSE. Who asks for memory that does
 * come can be killed all the same, and keeps no device, whatever else the process has (H22).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "link.h"
#include "resources.h"
#include "slow.h"
#include "unplug.h"
#include "xrc.h"

enum { GRH = 40, LEN = 1000, MANY = 100 };

/* Time limit for actions that must not wait, in seconds. */
enum { SECONDS = 10 };

/* A process whose memory hangs, and its peer, the victim. */
struct play {
	const char *name;
	enum ibv_qp_type type;
	enum ibv_wr_opcode opcode;
	bool hanger_sends;
};

static const struct play datagram = { "", IBV_QPT_UD, IBV_WR_SEND, false };

enum plot {
	DO_ALL, /* ask, change, end, exit */
	BE_KILLED,
	SEE_IT_COME,
};

/* In shared memory. */
struct board {
	pthread_barrier_t both;
	struct peer hanger, victim;
	_Atomic bool waiting; /* the victim has seen the hanger wait */
	_Atomic bool done; /* the hanger's own request has completed */
};

static struct board *board;
static struct slow memory;
static const struct play *play;
static enum plot plot;
static bool of_file; /* memory of a file whose server does not answer */

static void meet(void)
{
	pthread_barrier_wait(&board->both);
}

static void set_the_stage(void)
{
	pthread_barrierattr_t attr;

	need_odp();
	memory = of_file ? slow_file_new() : slow_new();
	slow_hold(&memory, true);
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(board != MAP_FAILED);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	CHECK_EQ(pthread_barrier_init(&board->both, &attr, 2), 0);
}

/* Posts a request of @sge to the memory that the peer has announced. */
static void ask_for(struct end *end, const struct peer *peer,
		    struct ibv_sge *sge, uint64_t wr_id)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = play->opcode,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (play->type == IBV_QPT_UD) {
		wr.wr.ud.ah = end->ah;
		wr.wr.ud.remote_qpn = peer->qpn;
		wr.wr.ud.remote_qkey = QKEY;
	} else if (play->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sge->length = 8;
		wr.wr.atomic.remote_addr = peer->addr;
		wr.wr.atomic.rkey = peer->rkey;
		wr.wr.atomic.compare_add = 5;
	} else if (play->opcode != IBV_WR_SEND) {
		wr.wr.rdma.remote_addr = peer->addr;
		wr.wr.rdma.rkey = peer->rkey;
	}
	post(end, &wr);
}

static bool takes_receive(void)
{
	return play->opcode == IBV_WR_SEND ||
	       play->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* ----------------------------------------------------------------- the owner of the memory */

static struct ibv_mr *hang_region(void)
{
	return MUST(ibv_reg_mr(dev.pd, memory.map, SLOW_LEN, ODP_ALL));
}

static void hang(void *arg)
{
	struct qp_cfg cfg = { .type = play->type };
	struct ibv_sge sge = { .addr = (uintptr_t)memory.map,
			       .length = LEN + GRH };
	struct ibv_mr *mr;
	struct end end;

	(void)arg;
	device_open();
	mr = hang_region();
	sge.lkey = mr->lkey;
	end_make(&end, &cfg);
	board->hanger = end_peer(&end);
	board->hanger.addr = (uintptr_t)memory.map;
	board->hanger.rkey = mr->rkey;
	end_init(&end);
	if (!play->hanger_sends && takes_receive())
		post_recv(&end, &sge, 1, 1);
	meet();
	end_connect(&end, &board->victim);
	meet();
	if (play->hanger_sends) {
		sge.length = LEN;
		ask_for(&end, &board->victim, &sge, 1);
		expect(await(end.scq), IBV_WC_SUCCESS);
	} else if (takes_receive()) {
		expect(await(end.rcq), IBV_WC_SUCCESS);
	}
	board->done = true;
	pause();
}

/* ----------------------------------------------------------------- its peer */

/* When the memory becomes present, waiting messages complete with the right bytes. */
static void see_it_come(struct end *end, struct region *r)
{
	size_t at = play->type == IBV_QPT_UD ? GRH : 0;
	uint8_t *mine = r->buf->data, *theirs = memory.map;
	double limit = now() + patience(SECONDS);

	if (!play->hanger_sends)
		expect(await(end->scq), IBV_WC_SUCCESS);
	else if (takes_receive())
		expect(await(end->rcq), IBV_WC_SUCCESS);
	while (!board->done)
		usleep(1000);
	if (play->opcode != IBV_WR_ATOMIC_FETCH_AND_ADD) {
		mine += play->hanger_sends ? at : 0;
		theirs += play->hanger_sends ? 0 : at;
		/* By packets nobody knows when what is not acknowledged has arrived. */
		while (dev.packets && play->type != IBV_QPT_RC &&
		       memcmp(mine, theirs, LEN) && now() < limit)
			usleep(1000);
		CHECK(!memcmp(mine, theirs, LEN));
	} else if (play->hanger_sends) {
		/* Executed only once, although the response came late. */
		CHECK_EQ(*(uint64_t *)mine, *(uint64_t *)r->buf->want + 5);
		CHECK_EQ(*(uint64_t *)theirs, *(uint64_t *)r->buf->want);
	} else {
		CHECK_EQ(*(uint64_t *)theirs, 5);
		CHECK_EQ(*(uint64_t *)mine, 0);
	}
}

static void do_all(struct end *end)
{
	CHECK_EQ(end_state(end), IBV_QPS_RTS);
	CHECK_EQ(end_set_state(end, IBV_QPS_ERR), 0);
	/* Waiting requests are flushed, and so are receive requests that nothing came to. */
	if (!play->hanger_sends && play->type != IBV_QPT_UD)
		expect(await(end->scq), IBV_WC_WR_FLUSH_ERR);
	if (play->hanger_sends && takes_receive())
		expect(await(end->rcq), IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(ibv_destroy_qp(end->qp), 0);
}

static void suffer(void *arg)
{
	struct qp_cfg cfg = { .type = play->type };
	struct ibv_sge sge;
	struct region r;
	struct end end;
	int i;

	(void)arg;
	device_open();
	r = region_new(SLOW_LEN, 0, ALL_ACCESS);
	sge = sge_of(&r, 0, LEN + GRH);
	end_make(&end, &cfg);
	board->victim = end_peer(&end);
	board->victim.addr = r.base;
	board->victim.rkey = r.rkey;
	end_init(&end);
	if (play->hanger_sends && takes_receive())
		post_recv(&end, &sge, 1, 1);
	meet();
	end_connect(&end, &board->hanger);
	meet();
	if (!play->hanger_sends) {
		sge.length = LEN;
		ask_for(&end, &board->hanger, &sge, 1);
		/* Datagrams complete when they are sent, whether or not they are received. */
		for (i = 1;
		     play->type == IBV_QPT_UD && plot == DO_ALL && i < MANY;
		     i++) {
			expect(await(end.scq), IBV_WC_SUCCESS);
			ask_for(&end, &board->hanger, &sge, 1);
		}
	}
	slow_await(&memory);
	board->waiting = true;
	switch (plot) {
	case DO_ALL:
		do_all(&end);
		break;
	case BE_KILLED:
		for (;;)
			end_state(&end);
	case SEE_IT_COME:
		see_it_come(&end, &r);
		break;
	}
}

/* ------------------------------------------------------------------- both processes */

static void perform(const char *name, void (*hanger_does)(void *arg),
		    void (*victim_does)(void *arg))
{
	struct resources before;
	int hanger, victim, status = 0;
	double limit;
	bool ended = false;

	context("%s", name);
	set_the_stage();
	resources_read(&before);
	hanger = spawn(hanger_does, NULL);
	victim = spawn(victim_does, NULL);
	limit = now() + 2 * patience(SECONDS);
	/* If this process is not scheduled for a while, the victim may wait and end meanwhile. */
	while (!board->waiting && !ended && now() < limit) {
		usleep(1000);
		ended = waitpid(victim, &status, WNOHANG) == victim;
	}
	if (plot == BE_KILLED && !ended)
		kill(victim, SIGKILL);
	if (plot == SEE_IT_COME)
		slow_hold(&memory, false);
	ended = ended || reap_within(victim, SECONDS, &status);
	/* Otherwise this test would hang, too. */
	kill(hanger, SIGKILL);
	slow_hold(&memory, false);
	reap(hanger);
	CHECK(board->waiting);
	CHECK(ended);
	if (plot == BE_KILLED)
		CHECK_EQ(status, SIGKILL);
	else
		CHECK_EQ(status, 0);
	resources_await(&before);
	slow_end(&memory);
	CHECK_EQ(munmap(board, sizeof(*board)), 0);
}

static const struct play receivers[] = {
	{ "RC SEND", IBV_QPT_RC, IBV_WR_SEND, false },
	{ "RC WRITE", IBV_QPT_RC, IBV_WR_RDMA_WRITE, false },
	{ "RC WRITE_WITH_IMM", IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM, false },
	{ "RC READ", IBV_QPT_RC, IBV_WR_RDMA_READ, false },
	{ "RC FETCH_AND_ADD", IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, false },
	{ "UC SEND", IBV_QPT_UC, IBV_WR_SEND, false },
	{ "UC WRITE", IBV_QPT_UC, IBV_WR_RDMA_WRITE, false },
	{ "UD SEND", IBV_QPT_UD, IBV_WR_SEND, false },
};

static const struct play senders[] = {
	{ "RC SEND", IBV_QPT_RC, IBV_WR_SEND, true },
	{ "RC WRITE", IBV_QPT_RC, IBV_WR_RDMA_WRITE, true },
	{ "RC READ", IBV_QPT_RC, IBV_WR_RDMA_READ, true },
	{ "RC FETCH_AND_ADD", IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, true },
	{ "UC SEND", IBV_QPT_UC, IBV_WR_SEND, true },
	{ "UD SEND", IBV_QPT_UD, IBV_WR_SEND, true },
};

static void all_plays(const struct play *plays, size_t count, enum plot how)
{
	plot = how;
	for (play = plays; play < plays + count; play++)
		perform(play->name, hang, suffer);
}

/* A sender waits for memory that never comes: it can do all else, be killed, and others go on. */
static void h1_sender(void)
{
	all_plays(senders, ARRAY_SIZE(senders), DO_ALL);
	all_plays(senders, ARRAY_SIZE(senders), BE_KILLED);
}

/* A receiver waits for memory that never comes. */
static void h2_receiver(void)
{
	all_plays(receivers, ARRAY_SIZE(receivers), DO_ALL);
	all_plays(receivers, ARRAY_SIZE(receivers), BE_KILLED);
}

/* What has waited is done when the memory comes. */
static void h4_it_comes(void)
{
	all_plays(senders, ARRAY_SIZE(senders), SEE_IT_COME);
	all_plays(receivers, ARRAY_SIZE(receivers), SEE_IT_COME);
}

/* So it is with a file system whose server does not answer: a real one, not the exporter's memory. */
static void h18_file(void)
{
	of_file = true;
	all_plays(senders, ARRAY_SIZE(senders), DO_ALL);
	all_plays(receivers, ARRAY_SIZE(receivers), BE_KILLED);
	h4_it_comes();
}

/* --------------------------------------------------------------------- a group */

static union ibv_gid group(void)
{
	/* 239.1.2.77, as an IPv4 GID. */
	return (union ibv_gid){ .raw = { [10] = 0xff, 0xff, 239, 1, 2, 77 } };
}

static void join(struct end *end)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD, .recv_wr = MANY };
	union ibv_gid gid = group();
	struct peer peer = { .gid = gid };

	end_make(end, &cfg);
	end_init(end);
	end_connect(end, &peer);
	CHECK_EQ(ibv_attach_mcast(end->qp, &gid, 0), 0);
}

static void leave(struct end *end)
{
	union ibv_gid gid = group();

	CHECK_EQ(ibv_detach_mcast(end->qp, &gid, 0), 0);
	do_all(end);
}

static void hang_in_group(void *arg)
{
	struct ibv_sge sge = { .addr = (uintptr_t)memory.map,
			       .length = LEN + GRH };
	struct ibv_mr *mr;
	struct end end;

	(void)arg;
	device_open();
	mr = hang_region();
	sge.lkey = mr->lkey;
	join(&end);
	post_recv(&end, &sge, 1, 1);
	meet();
	pause();
}

static void suffer_in_group(void *arg)
{
	struct peer all = { .qpn = 0xffffff };
	struct end sender, member;
	struct ibv_sge sge;
	struct region r;
	int i;

	(void)arg;
	play = &datagram;
	device_open();
	r = region_new(2 * (LEN + GRH), 0, ALL_ACCESS);
	join(&sender);
	join(&member);
	for (i = 0; i < MANY; i++) {
		sge = sge_of(&r, LEN + GRH, LEN + GRH);
		post_recv(&member, &sge, 1, i);
	}
	meet();
	for (i = 0; i < MANY; i++) {
		sge = sge_of(&r, 0, LEN);
		ask_for(&sender, &all, &sge, i);
		expect(await(sender.scq), IBV_WC_SUCCESS);
		CHECK_EQ(await(member.rcq).byte_len, LEN + GRH);
	}
	slow_await(&memory);
	board->waiting = true;
	if (plot == BE_KILLED) {
		for (;;)
			end_state(&sender);
	}
	leave(&sender);
	leave(&member);
}

/* A member of a multicast group waits for memory that never comes. */
static void h3_group(void)
{
	for (plot = DO_ALL; plot <= BE_KILLED; plot++)
		perform("group", hang_in_group, suffer_in_group);
}

/* ---------------------------------------------- receive requests that wait for it */

/*
 * Here this process owns the memory. A fault holds mmap_lock, so it can neither mmap() nor
 * create or destroy objects while the fault waits; queries and modifications work.
 */

static struct ibv_sge slow_sge(void)
{
	struct ibv_mr *mr = hang_region();

	return (struct ibv_sge){ (uintptr_t)memory.map, LEN, mr->lkey };
}

/* Drops its pages; the next fault waits. */
static void go_again(void)
{
	CHECK_EQ(madvise(memory.map, SLOW_LEN, MADV_DONTNEED), 0);
	slow_hold(&memory, true);
}

static void come(void)
{
	double limit = now() + patience(SECONDS);

	slow_hold(&memory, false);
	while (slow_waiting(&memory) && now() < limit)
		usleep(1000);
	CHECK_EQ(slow_waiting(&memory), 0);
}

static void post_send(struct end *end, struct ibv_sge sge, struct ibv_srq *srq)
{
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (srq)
		CHECK_EQ(ibv_get_srq_num(srq, &wr.qp_type.xrc.remote_srqn), 0);
	post(end, &wr);
}

/* A message that waits does not keep its receive request: a change of state flushes it at once. */
static void h5_given_back(void)
{
	struct ibv_sge sink;
	struct region r;
	struct link link;

	set_the_stage();
	link_make(&link, NULL);
	r = region_new(LEN, 0, ALL_ACCESS);
	sink = slow_sge();
	post_recv(&link.b, &sink, 1, 11);
	post_send(&link.a, sge_of(&r, 0, LEN), NULL);
	slow_await(&memory);
	expect_none(link.a.scq, 0.05);
	expect_flushed(&link.b, 11);
	expect_none(link.a.scq, 0.05);
	CHECK_EQ(end_set_state(&link.a, IBV_QPS_ERR), 0);
	expect(await(link.a.scq), IBV_WC_WR_FLUSH_ERR);
	/* The QP can be used again after a reset. */
	link_renew(&link);
	sink = sge_of(&r, 0, LEN);
	post_recv(&link.b, &sink, 1, 12);
	post_send(&link.a, sink, NULL);
	expect(await(link.a.scq), IBV_WC_SUCCESS);
	CHECK_EQ(await(link.b.rcq).wr_id, 12);
	come();
}

struct xrc {
	struct link link;
	struct ibv_srq *slow, *other;
	struct ibv_cq *slow_cq, *other_cq;
};

static void xrc_make(struct xrc *x)
{
	struct qp_cfg send = { .type = IBV_QPT_XRC_SEND };
	struct qp_cfg recv = { .type = IBV_QPT_XRC_RECV };

	need_xrc();
	recv.xrcd = MUST(xrcd_open(dev.ctx, -1));
	x->slow_cq = MUST(ibv_create_cq(dev.ctx, 64, NULL, NULL, 0));
	x->other_cq = MUST(ibv_create_cq(dev.ctx, 64, NULL, NULL, 0));
	x->slow = MUST(xsrq_create(recv.xrcd, x->slow_cq));
	x->other = MUST(xsrq_create(recv.xrcd, x->other_cq));
	link_make2(&x->link, &send, &recv);
}

/* The sender is reset and sends again; the target does not notice. */
static void send_anew(struct xrc *x)
{
	struct ibv_qp_init_attr init;
	struct peer target = end_peer(&x->link.b);
	struct ibv_qp_attr attr;

	CHECK_EQ(end_set_state(&x->link.a, IBV_QPS_ERR), 0);
	expect(await(x->link.a.scq), IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(end_set_state(&x->link.a, IBV_QPS_RESET), 0);
	CHECK_EQ(ibv_query_qp(x->link.b.qp, &attr, IBV_QP_RQ_PSN, &init), 0);
	x->link.a.psn = attr.rq_psn;
	end_init(&x->link.a);
	end_connect(&x->link.a, &target);
}

/*
 * A receive request that a waiting message has taken is given back when the target changes its
 * state.
 */
static void give_back_at(struct xrc *x, struct ibv_sge sink, struct region *r,
			 enum ibv_qp_state state)
{
	struct ibv_wc wc;

	go_again();
	post_srq(x->slow, &sink, 1, 13);
	post_send(&x->link.a, sge_of(r, 0, LEN), x->slow);
	slow_await(&memory);
	expect_none(x->slow_cq, 0.05);
	CHECK_EQ(end_set_state(&x->link.b, state), 0);
	wc = await(x->slow_cq);
	CHECK_EQ(wc.wr_id, 13);
	CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	come();
}

/* An XRC target's receive waits for memory: it is done, gives way, or is flushed. */
static void h6_xrc(void)
{
	struct ibv_sge sink, other;
	struct region r;
	struct ibv_wc wc;
	struct xrc x;

	set_the_stage();
	xrc_make(&x);
	r = region_new(2 * LEN, 0, ALL_ACCESS);
	sink = slow_sge();
	other = sge_of(&r, LEN, LEN);

	context("it comes");
	post_srq(x.slow, &sink, 1, 11);
	post_send(&x.link.a, sge_of(&r, 0, LEN), x.slow);
	slow_await(&memory);
	expect_none(x.slow_cq, 0.05);
	come();
	expect(await(x.link.a.scq), IBV_WC_SUCCESS);
	CHECK_EQ(await(x.slow_cq).wr_id, 11);
	CHECK(!memcmp(memory.map, r.buf->data, LEN));

	context("another queue's turn");
	go_again();
	post_srq(x.slow, &sink, 1, 12);
	post_srq(x.other, &other, 1, 22);
	post_send(&x.link.a, sge_of(&r, 0, LEN), x.slow);
	slow_await(&memory);
	send_anew(&x);
	post_send(&x.link.a, sge_of(&r, 0, LEN), x.other);
	expect(await(x.link.a.scq), IBV_WC_SUCCESS);
	CHECK_EQ(await(x.other_cq).wr_id, 22);
	CHECK(!memcmp(r.buf->data + LEN, r.buf->data, LEN));
	wc = await(x.slow_cq);
	CHECK_EQ(wc.wr_id, 12);
	CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	come();

	context("the target breaks");
	give_back_at(&x, sink, &r, IBV_QPS_ERR);
	context("the target is reset");
	CHECK_EQ(end_set_state(&x.link.a, IBV_QPS_RESET), 0);
	CHECK_EQ(end_set_state(&x.link.b, IBV_QPS_RESET), 0);
	drain(x.link.a.scq);
	link_connect(&x.link);
	give_back_at(&x, sink, &r, IBV_QPS_RESET);
}

/*
 * Two pages, the first present: it is copied and not copied again later. Otherwise a message
 * that is larger than memory would restart for ever.
 */
static void goes_on(enum ibv_wr_opcode opcode)
{
	bool read = opcode == IBV_WR_RDMA_READ;
	struct region r = region_new(2 * PAGE, 0, ALL_ACCESS);
	struct ibv_mr *mr = hang_region();
	struct ibv_sge mine = sge_of(&r, 0, 2 * PAGE), sink;
	struct ibv_send_wr wr = {
		.sg_list = &mine,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)memory.map, mr->rkey },
	};
	uint8_t *first = read ? r.buf->data : memory.map;
	struct link link;

	link_make(&link, NULL);
	sink = (struct ibv_sge){ (uintptr_t)memory.map, 2 * PAGE, mr->lkey };
	go_again();
	slow_hold(&memory, false);
	expect(rdma(&link.a, IBV_WR_RDMA_WRITE, sge_of(&r, 0, 8),
		    (uintptr_t)memory.map, mr->rkey),
	       IBV_WC_SUCCESS);
	slow_hold(&memory, true);
	if (opcode == IBV_WR_SEND || opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		post_recv(&link.b, &sink, 1, 1);
	post(&link.a, &wr);
	slow_await(&memory);
	CHECK(!memcmp(memory.map, r.buf->data, PAGE));
	memset(first, 0x5a, 100);
	come();
	expect(await(link.a.scq), IBV_WC_SUCCESS);
	CHECK_EQ(first[0], 0x5a);
	CHECK(!memcmp(memory.map + 100, r.buf->data + 100, 2 * PAGE - 100));
	link_free(&link);
}

/* A message goes on where it was when a page in its middle has come. */
static void h8_goes_on(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ
	};
	size_t i;

	set_the_stage();
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		context("opcode %d", opcodes[i]);
		goes_on(opcodes[i]);
	}
}

/* ------------------------------------------------------------------- many of them */

enum { SENDERS = 100 };

static void write_to(struct end *end, struct ibv_sge sge, const void *there,
		     uint32_t rkey)
{
	post_rdma(end, IBV_WR_RDMA_WRITE, sge, (uintptr_t)there, rkey, 0);
}

/*
 * So many senders wait for pages of one owner that not all are tried at a time. Another region
 * of the owner works, and when the memory becomes present all complete.
 */
static void h7_many(void)
{
	static struct link links[SENDERS];
	struct qp_cfg cfg = { .wr = 2, .recv_wr = 2, .cqe = 8 };
	struct region r, good;
	struct link link;
	struct ibv_mr *mr;
	int i;

	set_the_stage();
	mr = hang_region();
	r = region_new(PAGE, 0, ALL_ACCESS);
	good = region_new(PAGE, 0, ALL_ACCESS);
	link_make(&link, NULL);
	for (i = 0; i < SENDERS; i++)
		link_make(&links[i], &cfg);
	for (i = 0; i < SENDERS; i++) {
		write_to(&links[i].a, sge_of(&r, 0, 100),
			 memory.map + i % (SLOW_LEN / PAGE) * PAGE, mr->rkey);
	}
	slow_await(&memory);
	check_write(&link, &r, 0, &good, 0, PAGE);
	buf_check(good.buf);
	for (i = 0; i < SENDERS / 2; i++) {
		CHECK_EQ(end_set_state(&links[i].a, IBV_QPS_ERR), 0);
		expect(await(links[i].a.scq), IBV_WC_WR_FLUSH_ERR);
	}
	slow_hold(&memory, false);
	for (; i < SENDERS; i++)
		expect(await(links[i].a.scq), IBV_WC_SUCCESS);
	for (i = SENDERS / 2; i < SENDERS; i++)
		CHECK(!memcmp(memory.map + i % (SLOW_LEN / PAGE) * PAGE,
			      r.buf->data, 100));
}

/*
 * A waiting datagram was sent before the receiving QP was reset: it must not take a receive
 * request posted later.
 */
static void h9_another_life(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct ibv_sge sink, sge;
	struct peer peer;
	struct region r;
	struct link link;

	play = &datagram;
	set_the_stage();
	link_make(&link, &cfg);
	peer = end_peer(&link.b);
	r = region_new(2 * (LEN + GRH), 0, ALL_ACCESS);
	sink = slow_sge();
	sink.length += GRH;
	post_recv(&link.b, &sink, 1, 11);
	sge = sge_of(&r, 0, LEN);
	ask_for(&link.a, &peer, &sge, 1);
	expect(await(link.a.scq), IBV_WC_SUCCESS);
	slow_await(&memory);
	CHECK_EQ(end_set_state(&link.b, IBV_QPS_RESET), 0);
	end_init(&link.b);
	CHECK_EQ(end_set_state(&link.b, IBV_QPS_RTR), 0);
	sink = sge_of(&r, LEN + GRH, LEN + GRH);
	post_recv(&link.b, &sink, 1, 12);
	come();
	expect_none(link.b.rcq, 0.1);
	ask_for(&link.a, &peer, &sge, 2);
	expect(await(link.a.scq), IBV_WC_SUCCESS);
	CHECK_EQ(await(link.b.rcq).wr_id, 12);
	CHECK(!memcmp(r.buf->data, r.buf->data + LEN + 2 * GRH, LEN));
}

/* A short datagram for which there would be room waits behind a long one that lacks a page. */
static void h17_in_order(void)
{
	enum { SHORT = 100 };
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct ibv_sge sink, other, sge, first;
	struct region r;
	struct peer peer;
	struct link link;
	uint8_t *at;

	play = &datagram;
	set_the_stage();
	link_make(&link, &cfg);
	peer = end_peer(&link.b);
	r = region_new(2 * (GRH + LEN), 0, ALL_ACCESS);
	sink = slow_sge();
	other = sge_of(&r, GRH + LEN, GRH + LEN);
	sge = sge_of(&r, 0, LEN);
	first = sge_of(&r, 7, SHORT);
	/* The first page is there, and the second one is not. */
	slow_hold(&memory, false);
	post_recv(&link.b, &sink, 1, 10);
	ask_for(&link.a, &peer, &first, 1);
	expect(await(link.a.scq), IBV_WC_SUCCESS);
	CHECK_EQ(await(link.b.rcq).wr_id, 10);
	slow_hold(&memory, true);
	at = memory.map + PAGE - GRH - SHORT;
	sink.addr = (uintptr_t)at;
	sink.length = GRH + LEN;
	post_recv(&link.b, &sink, 1, 11);
	post_recv(&link.b, &other, 1, 12);
	ask_for(&link.a, &peer, &sge, 2);
	expect(await(link.a.scq), IBV_WC_SUCCESS);
	slow_await(&memory);
	ask_for(&link.a, &peer, &first, 3);
	expect(await(link.a.scq), IBV_WC_SUCCESS);
	expect_none(link.b.rcq, 0.1);
	come();
	CHECK_EQ(await(link.b.rcq).wr_id, 11);
	CHECK(!memcmp(at + GRH, r.buf->data, LEN));
	CHECK_EQ(await(link.b.rcq).wr_id, 12);
	CHECK(!memcmp(r.buf->data + GRH + LEN + GRH, r.buf->data + 7, SHORT));
}

/* For h10_doorbell(). */
struct sharer {
	struct link link;
	struct region r;
	struct ibv_sge slow;
};

static void write_of(struct sharer *s, struct ibv_sge sge, uint64_t wr_id)
{
	post_rdma(&s->link.a, IBV_WR_RDMA_WRITE, sge, s->r.base, s->r.rkey,
		  wr_id);
}

static void write_behind(void *arg)
{
	struct sharer *s = arg;

	meet();
	/*
	 * The producer index is private, so this writes the slot of request 1 again, which the
	 * kernel has copied already.
	 */
	write_of(s, sge_of(&s->r, LEN, 8), 2);
}

/*
 * Two processes share a queue pair after a fork, and a message of one waits for its memory.
 * Neither is blocked in its doorbell.
 */
static void h10_doorbell(void)
{
	struct sharer s = {};
	int pid, status;

	set_the_stage();
	link_make(&s.link, NULL);
	s.r = region_new(2 * LEN, 0, ALL_ACCESS);
	s.slow = slow_sge();
	pid = spawn(write_behind, &s);
	write_of(&s, s.slow, 1);
	slow_await(&memory);
	meet();
	CHECK(reap_within(pid, SECONDS, &status));
	CHECK_EQ(status, 0);
	expect_none(s.link.a.scq, 0.05);
	come();
	expect(await(s.link.a.scq), IBV_WC_SUCCESS);
	CHECK(!memcmp(s.r.buf->data, memory.map, LEN));
}

/* ------------------------------------------------------------ the device is removed */

/* A way to wait for the memory. */
struct wait_kind {
	struct play play;
	bool hint;
	/* A system call that waits until the memory comes or the process is killed. */
	void (*flush)(void);
	bool stays; /* once killed it leaves the system call, but cannot end */
};

static const struct wait_kind *kind;

static void *ask_alone(void *arg)
{
	struct end *end = arg;
	struct ibv_sge sge = slow_sge();

	ask_for(end, &board->victim, &sge, 1);
	return NULL;
}

static void advise(struct ibv_sge sge, enum ibv_advise_mr_advice advice,
		   uint32_t flags)
{
	CHECK_EQ(ibv_advise_mr(dev.pd, advice, flags, &sge, 1), 0);
}

static void hint(struct ibv_sge sge)
{
	advise(sge, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0);
}

static void flush(struct ibv_sge sge)
{
	advise(sge, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
	       IBV_ADVISE_MR_FLAG_FLUSH);
}

static void flush_it(void)
{
	flush(slow_sge());
}

/* The state of the first thread of @pid. Allocates nothing. */
static char state_of(int pid)
{
	char path[32], line[256] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	CHECK(read(fd, line, sizeof(line) - 1) > 0);
	close(fd);
	/* "PID (NAME) STATE " */
	return strrchr(line, ')')[2];
}

/* Waits until it is in a sleep that no signal but SIGKILL ends. */
static void await_blocked(int pid)
{
	double limit = now() + patience(SECONDS);

	while (state_of(pid) != 'D') {
		if (now() > limit)
			FAIL("process %d does not wait", pid);
		usleep(1000);
	}
}

/* One process has both ends; it may block in its doorbell. */
static void wait_alone(void *arg)
{
	struct qp_cfg cfg = { .type = kind->play.type };
	struct ibv_sge mine, slow;
	pthread_t thread;
	struct region r;
	struct link link;

	(void)arg;
	play = &kind->play;
	opt.device = UNPLUG_DEVICE;
	device_open();
	link_make(&link, &cfg);
	r = region_new(SLOW_LEN, 0, ALL_ACCESS);
	mine = sge_of(&r, 0, LEN + GRH);
	slow = slow_sge();
	slow.length += GRH;
	board->victim = end_peer(&link.b);
	board->victim.addr = play->hanger_sends ? r.base : slow.addr;
	board->victim.rkey = play->hanger_sends ? r.rkey : slow.lkey;
	if (kind->flush) {
		kind->flush();
	} else if (kind->hint) {
		hint(slow_sge());
	} else if (play->hanger_sends) {
		if (takes_receive())
			post_recv(&link.b, &mine, 1, 1);
		CHECK_EQ(pthread_create(&thread, NULL, ask_alone, &link.a), 0);
	} else {
		if (takes_receive())
			post_recv(&link.b, &slow, 1, 1);
		mine.length = LEN;
		ask_for(&link.a, &board->victim, &mine, 1);
	}
	for (;;)
		pause();
}

static void remove_device(void *arg)
{
	(void)arg;
	CHECK_EQ(system("rdma link del " UNPLUG_DEVICE), 0);
}

static int module_uses(void)
{
	return file_number("", "/sys/module/pinion/refcnt");
}

/* Waits until all requests have ended, and nothing holds the module. */
static void await_uses(int before)
{
	double limit = now() + patience(SECONDS);

	while (module_uses() > before && now() < limit)
		usleep(1000);
	CHECK_EQ(module_uses(), before);
}

static void remove_while_waiting(bool owner_dies)
{
	int owner, remover, status = -1, uses = module_uses();
	bool removed, died = true;

	set_the_stage();
	owner = spawn(wait_alone, NULL);
	slow_await(&memory);
	if (kind->flush)
		await_blocked(owner);
	if (owner_dies) {
		kill(owner, SIGKILL);
		died = kind->stays || reap_within(owner, SECONDS, &status);
	}
	remover = spawn(remove_device, NULL);
	removed = reap_within(remover, SECONDS, &status);
	/* Otherwise this test would hang, too. What still waits holds the module. */
	CHECK(slow_waiting(&memory));
	if (removed && uses >= 0)
		CHECK(module_uses() > uses);
	slow_hold(&memory, false);
	if (!removed)
		reap(remover);
	if (!owner_dies || !died || kind->stays) {
		kill(owner, SIGKILL);
		reap(owner);
	}
	CHECK(died);
	CHECK(removed);
	CHECK_EQ(status, 0);
	await_uses(uses);
	CHECK_EQ(slow_waiting(&memory), 0);
	slow_end(&memory);
	CHECK_EQ(munmap(board, sizeof(*board)), 0);
}

/* A device is removed while messages, hints and flushes wait for memory. */
static void h11_device_goes(void)
{
	static const struct wait_kind kinds[] = {
		{ .play = { "RC SEND to it", IBV_QPT_RC, IBV_WR_SEND, false } },
		{ .play = { "RC WRITE to it", IBV_QPT_RC, IBV_WR_RDMA_WRITE,
			    false } },
		{ .play = { "RC READ of it", IBV_QPT_RC, IBV_WR_RDMA_READ,
			    false } },
		{ .play = { "UC SEND to it", IBV_QPT_UC, IBV_WR_SEND, false } },
		{ .play = { "UD SEND to it", IBV_QPT_UD, IBV_WR_SEND, false } },
		{ .play = { "RC SEND from it", IBV_QPT_RC, IBV_WR_SEND,
			    true } },
		{ .play = { "RC READ into it", IBV_QPT_RC, IBV_WR_RDMA_READ,
			    true } },
		{ .play = { "UD SEND from it", IBV_QPT_UD, IBV_WR_SEND,
			    true } },
		{ .play = { "hint", IBV_QPT_RC, IBV_WR_SEND, false },
		  .hint = true },
		{ .play = { "FLUSH", IBV_QPT_RC, IBV_WR_SEND, false },
		  .flush = flush_it },
	};
	int dies;

	need_odp();
	unplug_begin();
	for (kind = kinds; kind < kinds + ARRAY_SIZE(kinds); kind++) {
		for (dies = !!kind->flush; dies < 2; dies++) {
			/* In a short run the owner stays with every other kind, and is killed with the others. */
			if (in_short() && !kind->flush &&
			    dies != (kind - kinds) % 2)
				continue;
			context("%s, its owner %s", kind->play.name,
				dies ? "killed" : "stays");
			remove_while_waiting(dies);
			unplug_add();
		}
	}
	unplug_end();
}

/* ------------------------------------------------ FLUSH of memory that would come */

/* Of pages that are mapped one by one, the host of user-mode Linux allows 65530. */
enum { SPAN = 2 << 20, LARGE = 128 << 20 };

/* Anonymous memory without pages. */
static uint8_t *map_empty(size_t length)
{
	void *map = mmap(NULL, length, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(map != MAP_FAILED);
	/* Its pages come one by one. Kernels without huge pages refuse this. */
	madvise(map, length, MADV_NOHUGEPAGE);
	return map;
}

/* The page that does not come, at @at. */
static void map_slow(uint8_t *at)
{
	CHECK(mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		   memory.fd, 0) == at);
}

static struct ibv_sge on_demand(uint8_t *at, size_t length)
{
	return (struct ibv_sge){
		(uintptr_t)at, length,
		MUST(ibv_reg_mr(dev.pd, at, length, ODP_ALL))->lkey
	};
}

/* Replaces the last page when the first one has come. */
static void *replace_last(void *map)
{
	unsigned char first;

	do
		CHECK_EQ(mincore(map, PAGE, &first), 0);
	while (!(first & 1));
	map_slow((uint8_t *)map + LARGE - PAGE);
	return NULL;
}

/* While its first pages come, another thread replaces the last one. */
static void flush_what_is_replaced(void)
{
	pthread_t thread;
	uint8_t *map;

	/* Once more if that thread comes too late. */
	for (;;) {
		map = map_empty(LARGE);
		CHECK_EQ(pthread_create(&thread, NULL, replace_last, map), 0);
		/* Read, all of it is the page of zeros. */
		advise(on_demand(map, LARGE), IBV_ADVISE_MR_ADVICE_PREFETCH,
		       IBV_ADVISE_MR_FLAG_FLUSH);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		munmap(map, LARGE);
	}
}

/* In the 2 MiB that it is in, a hint waits for another page. */
static void flush_beside_a_hint(void)
{
	uint8_t *map = map_empty(2 * SPAN);
	struct ibv_sge sge;

	map += -(uintptr_t)map & (SPAN - 1);
	map_slow(map);
	sge = on_demand(map, 2 * PAGE);
	sge.length = PAGE;
	hint(sge);
	slow_await(&memory);
	sge.addr += PAGE;
	flush(sge);
}

static int unmap(void *map)
{
	munmap(map, PAGE);
	return 0;
}

/*
 * A hint's fault holds mmap_lock. Another process with the same memory waits for it in munmap(), and
 * all others behind that, also who ends.
 */
static void flush_behind_munmap(void)
{
	struct ibv_sge slow = slow_sge(),
		       sge = on_demand(map_empty(PAGE), PAGE);
	uint8_t *map = map_empty(PAGE), *stack = map_empty(16 * PAGE);
	int pid;

	/* Touch what is needed below: while munmap() waits, page faults do, too. */
	CHECK_EQ(state_of(getpid()), 'R');
	hint(slow);
	slow_await(&memory);
	pid = clone(unmap, stack + 16 * PAGE, CLONE_VM | SIGCHLD, map);
	CHECK(pid > 0);
	await_blocked(pid);
	flush(sge);
}

/*
 * A device is removed after a process was killed in FLUSH. The memory is its own, and anonymous when
 * it asks, so the system call itself faults it.
 */
static void h22_flush_is_killed(void)
{
	static const struct wait_kind kinds[] = {
		{ .play = { "memory that is replaced", IBV_QPT_RC },
		  .flush = flush_what_is_replaced },
		{ .play = { "memory beside that of a hint", IBV_QPT_RC },
		  .flush = flush_beside_a_hint },
		{ .play = { "memory behind munmap()", IBV_QPT_RC },
		  .flush = flush_behind_munmap,
		  .stays = true },
	};

	need_odp();
	unplug_begin();
	for (kind = kinds; kind < kinds + ARRAY_SIZE(kinds); kind++) {
		context("%s", kind->play.name);
		remove_while_waiting(true);
		unplug_add();
	}
	unplug_end();
}

/* ------------------------------------------------------- repeated requests */

/* As in kernel/mem/odp_advise.c. */
enum { HINTERS = 64, HINTS = 8, THREADS_OF_FILE = 4 };

/* Maps the hanging memory once more, far away: so that faults do not wait for each other. */
static void *slow_again(void)
{
	enum { FAR = 4 << 20 };
	void *room =
		mmap(NULL, FAR, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(room != MAP_FAILED);
	return mmap(room, SLOW_LEN, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, memory.fd, 0);
}

/*
 * A barrier: each process sets up what it needs to wait before any process does wait. Set before
 * the processes are created.
 */
static pthread_barrier_t *prepared;

static void prepare(unsigned int processes)
{
	pthread_barrierattr_t attr;

	prepared = mmap(NULL, sizeof(*prepared), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(prepared != MAP_FAILED);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	CHECK_EQ(pthread_barrier_init(prepared, &attr, processes), 0);
}

static void await_others(void)
{
	if (prepared)
		pthread_barrier_wait(prepared);
}

/* A hint for memory that is present. */
static void give_good_hint(void)
{
	struct region r = region_new(PAGE, 0, ODP_ALL);
	struct ibv_sge sge = sge_of(&r, 0, PAGE);

	CHECK_EQ(ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0,
			       &sge, 1),
		 0);
}

/* A process of @user that gives hints for hanging memory. */
static void give_hints(void *user)
{
	struct ibv_sge sges[HINTS];
	int i;

	if (user)
		CHECK_EQ(setuid(*(int *)user), 0);
	device_open();
	if (prepared)
		give_good_hint();
	await_others();
	for (i = 0; i < HINTS; i++) {
		void *map = slow_again();
		struct ibv_mr *mr =
			MUST(ibv_reg_mr(dev.pd, map, SLOW_LEN, ODP_ALL));

		sges[i] = (struct ibv_sge){ (uintptr_t)map, PAGE, mr->lkey };
	}
	/* Once a hint waits, mmap() in this process waits, too. */
	for (i = 0; i < HINTS; i++) {
		CHECK_EQ(ibv_advise_mr(dev.pd,
				       IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0,
				       &sges[i], 1),
			 0);
	}
	for (;;)
		pause();
}

/* Returns how many wait, once there are @least and the number is stable. */
static unsigned int settled(unsigned int least)
{
	double limit = now() + patience(SECONDS), since = now();
	unsigned int last = 0, waiting;

	while (now() < limit && (last < least || now() - since < 0.5)) {
		waiting = slow_waiting(&memory);
		if (waiting != last)
			since = now();
		last = waiting;
		usleep(10000);
	}
	return last;
}

static void end_all(int *pids, int num)
{
	int i, status;

	for (i = 0; i < num; i++) {
		kill(pids[i], SIGKILL);
		CHECK(reap_within(pids[i], SECONDS, &status));
	}
}

/* Runs the function in a process of its own, and then lets the memory come, whatever the result. */
static void and_let_come(const void *with)
{
	void (*body)(void *uses) = with;
	int uses = module_uses(), status;

	need_root();
	set_the_stage();
	status = reap(spawn(body, &uses));
	slow_hold(&memory, false);
	CHECK_EQ(status, 0);
	if (uses >= 0)
		await_uses(uses);
	CHECK_EQ(slow_waiting(&memory), 0);
}

static void pile_up_hints(void *uses)
{
	int pids[HINTERS], other = 65534, pid, i;
	unsigned int threads = HINTERS * THREADS_OF_FILE;

	for (i = 0; i < HINTERS; i++)
		pids[i] = spawn(give_hints, NULL);
	CHECK_EQ(settled(threads), threads);
	end_all(pids, HINTERS);
	context("%s", "their files are closed");
	/* Hints that have begun remain; the others are dropped. */
	CHECK_EQ(settled(threads), threads);
	if (*(int *)uses >= 0)
		await_uses(*(int *)uses + threads);
	context("%s", "more files of theirs");
	for (i = 0; i < HINTERS; i++)
		pids[i] = spawn(give_hints, NULL);
	CHECK_EQ(settled(threads), threads);
	end_all(pids, HINTERS);
	context("%s", "another user");
	pid = spawn(give_hints, &other);
	threads += THREADS_OF_FILE;
	CHECK_EQ(settled(threads), threads);
	end_all(&pid, 1);
}

/* As in kernel/path/fault.c. */
enum { OWN_FAULTS = 4, SHARED_FAULTS = 256, FAULTS = 512, MOST_FAULTS = 64 };
/*
 * Five users of faults take all shared ones; with their own ones, so many more reach the limit
 * of a user.
 */
enum { DEAD = 5, MORE_DEAD = (FAULTS - SHARED_FAULTS) / OWN_FAULTS - DEAD };

/*
 * Where messages are packets, hundreds of queue pairs ask again and again. On a busy machine an answer
 * takes longer then than most programs would wait.
 */
enum { PATIENT = 18 }; /* the field `timeout' of ibv_modify_qp() */

/* A process that waits for *@num pages of hanging memory. */
static void hang_often(void *num)
{
	static struct link links[MOST_FAULTS];
	static struct ibv_mr *mrs[MOST_FAULTS];
	struct qp_cfg cfg = {
		.wr = 2, .recv_wr = 2, .cqe = 8, .timeout = PATIENT
	};
	struct region r;
	int i;

	device_open();
	r = region_new(PAGE, 0, ALL_ACCESS);
	for (i = 0; i < *(int *)num; i++) {
		link_make(&links[i], &cfg);
		mrs[i] = MUST(
			ibv_reg_mr(dev.pd, slow_again(), SLOW_LEN, ODP_ALL));
	}
	await_others();
	/* Once a fault waits, mmap() in this process waits, too. */
	for (i = 0; i < *(int *)num; i++)
		write_to(&links[i].a, sge_of(&r, 0, 8), mrs[i]->addr,
			 mrs[i]->rkey);
	for (;;)
		pause();
}

static struct ibv_sge missing_pages(size_t length)
{
	void *map = mmap(NULL, length, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(map != MAP_FAILED);
	return (struct ibv_sge){
		(uintptr_t)map, length,
		MUST(ibv_reg_mr(dev.pd, map, length, ODP_ALL))->lkey
	};
}

/* A process of @user that sends with pages missing at the remote side, then at its own. */
static void need_pages(void *user)
{
	struct qp_cfg cfg = { .timeout = PATIENT };
	struct ibv_sge theirs, mine;
	struct region r;
	struct link link;

	if (user)
		CHECK_EQ(setuid(*(int *)user), 0);
	device_open();
	link_make(&link, &cfg);
	r = region_new(3 * PAGE, 0, ALL_ACCESS);
	theirs = missing_pages(3 * PAGE);
	write_to(&link.a, sge_of(&r, 5, 2 * PAGE), (void *)(theirs.addr + 7),
		 theirs.lkey);
	expect(await(link.a.scq), IBV_WC_SUCCESS);
	CHECK(!memcmp((void *)(theirs.addr + 7), r.buf->data + 5, 2 * PAGE));
	mine = missing_pages(3 * PAGE);
	expect(rdma(&link.a, IBV_WR_RDMA_READ, mine, r.base, r.rkey),
	       IBV_WC_SUCCESS);
	CHECK(!memcmp((void *)mine.addr, r.buf->data, 3 * PAGE));
}

/* A process whose user already has too many waiting faults. */
static void be_refused(void *arg)
{
	struct ibv_qp_init_attr attr = {
		.cap = { 1, 1, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};

	(void)arg;
	device_open();
	attr.send_cq = MUST(ibv_create_cq(dev.ctx, 1, NULL, NULL, 0));
	attr.recv_cq = attr.send_cq;
	CHECK(!ibv_create_qp(dev.pd, &attr));
	CHECK_EQ(errno, EAGAIN);
}

static void pile_up_faults(void *uses)
{
	int pids[MORE_DEAD], other = 65534, many = MOST_FAULTS,
			     few = OWN_FAULTS, i;
	unsigned int threads = SHARED_FAULTS + DEAD * OWN_FAULTS;

	for (i = 0; i < DEAD; i++)
		pids[i] = spawn(hang_often, &many);
	CHECK_EQ(settled(threads), threads);
	context("%s", "the user's next process");
	CHECK_EQ(reap(spawn(need_pages, NULL)), 0);
	context("%s", "once they were killed");
	end_all(pids, DEAD);
	CHECK_EQ(settled(threads), threads);
	if (*(int *)uses >= 0)
		await_uses(*(int *)uses + threads);
	CHECK_EQ(reap(spawn(need_pages, NULL)), 0);
	context("%s", "there are too many");
	for (i = 0; i < MORE_DEAD; i++)
		pids[i] = spawn(hang_often, &few);
	CHECK_EQ(settled(FAULTS), FAULTS);
	CHECK_EQ(reap(spawn(be_refused, NULL)), 0);
	CHECK_EQ(reap(spawn(need_pages, &other)), 0);
	end_all(pids, MORE_DEAD);
	CHECK_EQ(settled(FAULTS), FAULTS);
	CHECK_EQ(reap(spawn(be_refused, NULL)), 0);
}

/* Messages that wait for memory take no more threads than permitted. */
static void h13_faults_pile_up(void)
{
	and_let_come(pile_up_faults);
	/* Once the memory has come, the same number is possible again; in a short run H15 sees that. */
	if (!in_short())
		and_let_come(pile_up_faults);
	CHECK_EQ(reap(spawn(need_pages, NULL)), 0);
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
}

static bool was_prefetched(const struct ibv_mr *mr)
{
	uint64_t pages = 0;

	CHECK(resources_mr_counter(mr->rkey, "page_prefetch", &pages));
	return pages;
}

/* More hints than threads, given on any processor: all are executed in the end. */
static void h16_none_is_forgotten(void)
{
	struct ibv_mr *mrs[HINTS];
	struct ibv_sge sge;
	int i, cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	double limit;

	need_odp();
	set_the_stage();
	for (i = 0; i < HINTS; i++)
		mrs[i] = MUST(
			ibv_reg_mr(dev.pd, slow_again(), SLOW_LEN, ODP_ALL));
	for (i = 0; i < HINTS; i++) {
		run_on(i % cpus);
		sge = (struct ibv_sge){ (uintptr_t)mrs[i]->addr, PAGE,
					mrs[i]->lkey };
		CHECK_EQ(ibv_advise_mr(dev.pd,
				       IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0,
				       &sge, 1),
			 0);
	}
	CHECK(settled(THREADS_OF_FILE) >= THREADS_OF_FILE);
	slow_hold(&memory, false);
	limit = now() + patience(SECONDS);
	for (i = 0; i < HINTS; i++) {
		while (!was_prefetched(mrs[i])) {
			if (now() > limit)
				FAIL("hint %d is forgotten", i);
			usleep(1000);
		}
	}
}

/* So many processes set up what they need, which takes no thread, before any waits. */
enum { FORESIGHTED = 150 };

static void all_at_once(void (*body)(void *arg), void *arg,
			unsigned int threads)
{
	int pids[FORESIGHTED], i;

	prepare(FORESIGHTED);
	for (i = 0; i < FORESIGHTED; i++)
		pids[i] = spawn(body, arg);
	CHECK_EQ(settled(threads), threads);
	end_all(pids, FORESIGHTED);
	prepared = NULL;
	CHECK_EQ(settled(threads), threads);
}

static void foresee_hints(void *uses)
{
	(void)uses;
	all_at_once(give_hints, NULL, HINTERS * THREADS_OF_FILE);
}

static void foresee_faults(void *uses)
{
	int few = OWN_FAULTS, other = 65534;

	(void)uses;
	all_at_once(hang_often, &few, FAULTS);
	CHECK_EQ(reap(spawn(be_refused, NULL)), 0);
	CHECK_EQ(reap(spawn(need_pages, &other)), 0);
}

/* Nor do messages of queues that were there before. */
static void h15_faults_foreseen(void)
{
	and_let_come(foresee_faults);
	CHECK_EQ(reap(spawn(need_pages, NULL)), 0);
}

static const struct test tests[] = {
	TEST(h1_sender, "H1 a sender whose memory never comes"),
	TEST(h2_receiver, "H2 a receiver whose memory never comes"),
	TEST(h3_group, "H3 a member of a group whose memory never comes"),
	TEST(h4_it_comes, "H4 what waited, when the memory comes"),
	TEST(h5_given_back, "H5 a receive request that waits is given back"),
	TEST(h6_xrc, "H6 an XRC target's"),
	TEST(h7_many, "H7 more than are tried at a time"),
	TEST(h8_goes_on, "H8 a message goes on where it was"),
	TEST(h9_another_life, "H9 a datagram that waits over a reset"),
	TEST(h10_doorbell, "H10 doorbells wait for no memory"),
	LONG_TEST(h11_device_goes, "H11 a device is removed all the same", 90),
	TEST_WITH(and_let_come, pile_up_hints,
		  "H12 no more threads for hints than a few"),
	LONG_TEST(h13_faults_pile_up,
		  "H13 no more threads for messages than some", 60),
	LONG_TEST_WITH(and_let_come, foresee_hints,
		       "H14 nor for hints of files that gave one before", 60),
	LONG_TEST(h15_faults_foreseen,
		  "H15 nor for messages of queues that were there", 60),
	TEST(h16_none_is_forgotten, "H16 hints wait for each other"),
	TEST(h17_in_order, "H17 a datagram behind one that waits"),
	LONG_TEST(h18_file, "H18 a file whose server does not answer", 60),
	LONG_TEST(h22_flush_is_killed, "H22 FLUSH can be killed", 90),
};

HARNESS_MAIN("memory that never comes", tests)
