// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A copy is delayed by milliseconds at places where others must wait for it, while its memory is
 * deregistered, moved or revoked (items DW1 to DW7; kernel/mem/dwell.h). Each round hits a race
 * that chance hits once in a million copies. Or a thread is delayed that others must not wait for
 * (DW8 to DW13), or one that has told of a failure and not entered the error state yet (DW14).
 * Needs a kernel with fault injection.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dmabuf.h"
#include "file.h"
#include "window.h"

enum {
	ROUNDS = 12,
	DWELL_US = 5000, /* the longest delay */
	LENGTH = 3000,
	CHILD_SIZE = 2 << 20, /* of an implicit region */
	MOST = 8,
};

/* Rounds with an owner that sleeps. */
static int owned(void)
{
	return in_short() ? 20 : 60;
}

/* Writes to or reads from @remote on link_.a, by lists of @count messages. */
struct worker {
	pthread_t thread;
	pthread_barrier_t round;
	struct region own;
	enum ibv_wr_opcode opcode;
	int count;
	uint64_t remote;
	uint32_t rkey;
	unsigned int begun, ended; /* doorbells; atomic */
	struct ibv_wc wc;
};

static struct link link_;
static struct worker worker;
static int rounds, overlaps;
static double limit;

static const char *const places[] = { "copy", "child", "peer", "reap",
				      "owner" };

#define FILES "/sys/kernel/debug/pinion/"

static bool try_dwell(const char *place, unsigned int us)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", us);
	return !file_write(text, FILES "dwell_%s_us", place);
}

static void dwell(const char *place, unsigned int us)
{
	CHECK(try_dwell(place, us));
}

static bool nobody_dwells(void)
{
	bool good = true;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		good &= try_dwell(places[i], 0);
	return good;
}

static bool somebody_dwells(const char *place)
{
	long long dwellers = file_number(place, FILES "dwellers");

	CHECK(dwellers >= 0);
	return dwellers > 0;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct ibv_sge sge = sge_of(&w->own, 0, LENGTH);
	struct ibv_send_wr wr[MOST] = {};
	int i;

	for (;;) {
		pthread_barrier_wait(&w->round);
		for (i = 0; i < w->count; i++) {
			wr[i].sg_list = &sge;
			wr[i].num_sge = 1;
			wr[i].opcode = w->opcode;
			wr[i].wr.rdma.remote_addr = w->remote;
			wr[i].wr.rdma.rkey = w->rkey;
			wr[i].next = &wr[i + 1];
		}
		wr[i - 1].next = NULL;
		wr[i - 1].send_flags = IBV_SEND_SIGNALED;
		__atomic_add_fetch(&w->begun, 1, __ATOMIC_SEQ_CST);
		post(&link_.a, wr);
		__atomic_add_fetch(&w->ended, 1, __ATOMIC_SEQ_CST);
		w->wc = await(link_.a.scq);
		pthread_barrier_wait(&w->round);
	}
	return NULL;
}

static void begin(enum ibv_wr_opcode opcode)
{
	need_root();
	if (!dev.pinion)
		skip("other devices do not dwell");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip("who dwells has the only processor");
	if (access(FILES "dwellers", F_OK) &&
	    access("/proc/self/fail-nth", F_OK))
		skip("this kernel injects no faults");
	/* Delays that a failed test left are off. */
	CHECK(nobody_dwells());
	link_make(&link_, NULL);
	worker.own = region_new(LENGTH, 501, ALL_ACCESS);
	worker.opcode = opcode;
	worker.count = 1;
	CHECK_EQ(pthread_barrier_init(&worker.round, NULL, 2), 0);
	CHECK_EQ(pthread_create(&worker.thread, NULL, work, &worker), 0);
	limit = now() + opt.seconds;
}

static unsigned int load(const unsigned int *count)
{
	return __atomic_load_n(count, __ATOMIC_SEQ_CST);
}

/* Has the worker returned from the doorbell? */
static bool idle(void)
{
	return load(&worker.ended) == load(&worker.begun);
}

/* Sends messages to @remote and calls @change while one of them is delayed at @place. */
static struct ibv_wc with_change(const char *place, uint64_t remote,
				 uint32_t rkey, void (*change)(void *arg),
				 void *arg)
{
	unsigned int before = load(&worker.begun);

	worker.remote = remote;
	worker.rkey = rkey;
	pthread_barrier_wait(&worker.round);
	while (load(&worker.begun) == before)
		sched_yield();
	while (!idle()) {
		if (somebody_dwells(place)) {
			overlaps++;
			break;
		}
	}
	change(arg);
	pthread_barrier_wait(&worker.round);
	return worker.wc;
}

/* A number of rounds, and more if the load on the machine kept them from overlapping. */
static bool another_round(void)
{
	return rounds++ < ROUNDS || go_on(limit, overlaps > ROUNDS / 2);
}

static void end(void)
{
	note("%d of %d were under way", overlaps, rounds - 1);
	CHECK(overlaps > ROUNDS / 2);
}

/* Fails if @memory changes before the worker has returned. */
static void check_still(const uint8_t *memory, size_t length)
{
	uint8_t *before = MUST(malloc(length));

	memcpy(before, memory, length);
	while (!idle())
		usleep(200);
	if (memcmp(before, memory, length))
		FAIL("it was written to when the call had returned");
	free(before);
}

static void refused_or_done(struct ibv_wc wc)
{
	if (wc.status == IBV_WC_SUCCESS)
		return;
	CHECK_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
	link_renew(&link_);
}

/* ------------------------------------------------------------ changes */

static void move(void *arg)
{
	CHECK_EQ(dmabuf_move(arg, 0), 0);
}

/* A write to the old place of a buffer after the move is lost. */
static void dw1_move(void)
{
	struct dmabuf dmabuf;
	struct region region;

	need_exporter();
	begin(IBV_WR_RDMA_WRITE);
	dmabuf = dmabuf_own(5 * PAGE, EXPORTER_CONTIGUOUS);
	region = dmabuf_region(&dmabuf, 0, dmabuf.size, 0, ALL_ACCESS);
	buf_fill(region.buf);
	dwell("copy", DWELL_US);
	while (another_round()) {
		uint64_t at = rnd_below(dmabuf.size - LENGTH);

		buf_fill(worker.own.buf);
		expect(with_change("copy", region.base + at, region.rkey, move,
				   &dmabuf),
		       IBV_WC_SUCCESS);
		memcpy(region.buf->want + at, worker.own.buf->data, LENGTH);
		buf_check(region.buf);
	}
	end();
}

static void dereg(void *arg)
{
	struct region *region = arg;

	CHECK_EQ(ibv_dereg_mr(region->mr), 0);
	check_still(region->buf->data, region->buf->length);
}

/* A region ends while a message is in it: dereg waits, and no byte changes afterwards. */
static void dw2_dereg(void)
{
	begin(IBV_WR_RDMA_WRITE);
	while (another_round()) {
		struct region region = region_new(LENGTH, 100, ALL_ACCESS);

		buf_fill(worker.own.buf);
		dwell("copy", DWELL_US);
		refused_or_done(with_change("copy", region.base, region.rkey,
					    dereg, &region));
		dwell("copy", 0);
		buf_free(region.buf);
	}
	end();
}

static struct buf *others[2];

static void rereg(void *arg)
{
	struct region *region = arg;
	struct buf *before = region->buf;

	region_rereg(region, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
		     others[before == others[0]], 0);
	check_still(before->data, before->length);
}

/* A region gets other memory while a message is in it. */
static void dw3_rereg(void)
{
	struct region region;

	begin(IBV_WR_RDMA_WRITE);
	others[0] = buf_new(LENGTH, 33);
	others[1] = buf_new(LENGTH, 44);
	region = region_reg(dev.pd, others[0], ALL_ACCESS);
	dwell("copy", DWELL_US);
	while (another_round()) {
		buf_fill(worker.own.buf);
		refused_or_done(with_change("copy", region.base, region.rkey,
					    rereg, &region));
	}
	end();
}

static void invalidate(void *arg)
{
	struct region *region = arg;

	expect(window_invalidate(&link_.b, region->rkey), IBV_WC_SUCCESS);
	check_still(region->buf->data, region->buf->length);
}

/* A window is invalidated while a message goes through it. */
static void dw4_window(void)
{
	struct region region, seen;
	struct ibv_mw *mw;

	begin(IBV_WR_RDMA_WRITE);
	region = region_new(LENGTH, 7, BINDABLE);
	mw = window_new(IBV_MW_TYPE_2);
	while (another_round()) {
		expect(window_bind(&link_.b, mw,
				   window_part(&region, 0, LENGTH, REMOTE_ALL)),
		       IBV_WC_SUCCESS);
		seen = window_seen(&region, mw);
		buf_fill(worker.own.buf);
		dwell("copy", DWELL_US);
		refused_or_done(with_change("copy", seen.base, seen.rkey,
					    invalidate, &seen));
		dwell("copy", 0);
	}
	end();
}

/* Moves the mapping to another address; the old address gets no pages. */
static void take_away(void *arg)
{
	struct buf *buf = arg;
	size_t at = buf->data - buf->map;
	uint8_t *pages = mremap(buf->map, buf->map_length, buf->map_length,
				MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);

	CHECK(pages != MAP_FAILED);
	check_still(pages + at, buf->length);
	CHECK_EQ(munmap(pages, buf->map_length), 0);
}

/* What was written is in the pages that moved away, or in new ones. */
static void dw5_invalidation(void)
{
	uint8_t zeros[LENGTH] = {};
	struct region region;

	need_odp();
	begin(IBV_WR_RDMA_WRITE);
	region = region_private(LENGTH, 700, ODP_ALL);
	dwell("copy", DWELL_US);
	while (another_round()) {
		const uint8_t *data = region.buf->data;

		buf_fill(region.buf);
		buf_fill(worker.own.buf);
		expect(with_change("copy", region.base, region.rkey, take_away,
				   region.buf),
		       IBV_WC_SUCCESS);
		CHECK(!memcmp(data, worker.own.buf->data, LENGTH) ||
		      !memcmp(data, zeros, LENGTH));
	}
	end();
}

/* Rounds in which a work item went on to free children, and a message was in one. */
static int buried;

/*
 * For @us, and until no work item frees what it found without pages: returns whether somebody stayed in
 * a child when one did.
 */
static bool watch_reaper(unsigned int us)
{
	double until = now() + us * 1e-6;
	bool reaps, in, stays = false, freed = false;

	do {
		reaps = somebody_dwells("reap");
		in = somebody_dwells("child");
		freed |= stays && !reaps && in;
		stays = reaps && in;
	} while (reaps || now() < until);
	return freed;
}

/* Drops all pages of the child again and again, so that a work item frees it. */
static void empty(void *arg)
{
	bool freed = false;
	int i;

	for (i = 0; i < MOST; i++) {
		CHECK_EQ(madvise(arg, CHILD_SIZE, MADV_DONTNEED), 0);
		freed |= watch_reaper(rnd_below(DWELL_US / 2));
	}
	buried += freed;
}

/*
 * A child is freed while a message looks up a page in it. The message must come after its pages
 * are gone and before the child is, so several messages queue up.
 */
static void dw6_child(void)
{
	struct ibv_mr *mr;
	uint8_t *area;

	need_odp();
	begin(IBV_WR_RDMA_READ);
	worker.count = MOST;
	mr = MUST(ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP_ALL));
	area = mmap(NULL, 2 * CHILD_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED);
	area += CHILD_SIZE - (uintptr_t)area % CHILD_SIZE;
	/*
	 * The pages go while one message copies. The next one finds the child, which stays for a
	 * while, and is still there when it is freed.
	 */
	dwell("copy", DWELL_US / 2);
	dwell("reap", DWELL_US / 4);
	dwell("child", DWELL_US / 2);
	while (another_round() || (!buried && go_on(limit, false)))
		expect(with_change("child", (uintptr_t)area + 50, mr->rkey,
				   empty, area),
		       IBV_WC_SUCCESS);
	end();
	note("in %d of them children were to be freed under a message", buried);
	CHECK(buried > 0);
}

static void destroy(void *unused)
{
	(void)unused;
	CHECK_EQ(ibv_destroy_qp(link_.b.qp), 0);
}

/* A queue pair is destroyed after its peer has found it. */
static void dw7_peer(void)
{
	struct region region;
	struct link other;
	/* Without its peer the sender shall give up soon. */
	struct qp_cfg hasty = { .timeout = 8, .retry = 1 };

	if (dev.packets)
		skip("who sends packets does not look for his peer");
	begin(IBV_WR_RDMA_WRITE);
	region = region_new(LENGTH, 9, ALL_ACCESS);
	link_make(&other, NULL);
	while (another_round()) {
		struct ibv_wc wc;

		dwell("peer", DWELL_US);
		wc = with_change("peer", region.base, region.rkey, destroy,
				 NULL);
		dwell("peer", 0);
		CHECK(wc.status == IBV_WC_SUCCESS ||
		      wc.status == IBV_WC_RETRY_EXC_ERR);
		end_free(&link_.a);
		link_make(&link_, &hasty);
	}
	exchange(&other, &worker.own, &region);
	end();
}

/* ------------------------------------------- a long message, and its receiver */

/* A message of this length takes seconds, since each page is delayed. */
enum { LONG = 4 << 20 };

static struct region source, sink;
static pthread_t sender;
static enum ibv_wr_opcode opcode;
static struct ibv_wc sent;

static void *send_long(void *unused)
{
	struct ibv_sge sge = sge_of(&source, 0, LONG);

	(void)unused;
	sent = opcode == IBV_WR_SEND ?
		       send_sge(&link_.a, sge) :
		       rdma(&link_.a, opcode, sge, sink.base, sink.rkey);
	return NULL;
}

/* The last bytes of a message are written last. */
static bool has_ended(void)
{
	const struct region *to = opcode == IBV_WR_RDMA_READ ? &source : &sink;

	return __atomic_load_n(to->buf->data + LONG - 1, __ATOMIC_ACQUIRE) != 0;
}

static void long_begin(enum ibv_wr_opcode op)
{
	struct region *from, *to;
	struct ibv_sge sge;

	opcode = op;
	from = op == IBV_WR_RDMA_READ ? &sink : &source;
	to = op == IBV_WR_RDMA_READ ? &source : &sink;
	buf_fill(from->buf);
	from->buf->data[LONG - 1] = 1;
	memset(to->buf->data, 0, LONG);
	if (op == IBV_WR_SEND) {
		sge = sge_of(&sink, 0, LONG);
		post_recv(&link_.b, &sge, 1, 1);
	}
	dwell("copy", DWELL_US);
	CHECK_EQ(pthread_create(&sender, NULL, send_long, NULL), 0);
	while (!somebody_dwells("copy"))
		usleep(100);
	/* Until it copies at the receiver, and does not only check its own keys. */
	usleep(20000);
	CHECK(!has_ended());
}

static void long_end(void)
{
	dwell("copy", 0);
	CHECK_EQ(pthread_join(sender, NULL), 0);
}

/* @cfg: how long the sender waits for a receiver that is slow, or has gone. */
static void long_setup(const struct qp_cfg *cfg)
{
	begin(IBV_WR_RDMA_WRITE);
	link_renew(&link_);
	end_free(&link_.a);
	end_free(&link_.b);
	link_make(&link_, cfg);
	source = region_new(LONG, 77, ALL_ACCESS);
	sink = region_new(LONG, 1234, ALL_ACCESS);
}

static const enum ibv_wr_opcode long_ops[] = { IBV_WR_RDMA_WRITE,
					       IBV_WR_RDMA_READ, IBV_WR_SEND };

/* The receiver is queried and modified while its peer is in the middle of a message. */
static void dw8_change(void)
{
	struct ibv_qp_attr attr = { .min_rnr_timer = 14 };
	/* By packets a delayed copy delays the acknowledgment, too. */
	struct qp_cfg patient = { .timeout = 18 };
	struct ibv_qp_init_attr init;
	size_t i;

	long_setup(&patient);
	for (i = 0; i < ARRAY_SIZE(long_ops); i++) {
		context("operation %d", long_ops[i]);
		long_begin(long_ops[i]);
		CHECK_EQ(ibv_query_qp(link_.b.qp, &attr, IBV_QP_STATE, &init),
			 0);
		CHECK(!has_ended());
		attr.min_rnr_timer = 14;
		CHECK_EQ(ibv_modify_qp(link_.b.qp, &attr, IBV_QP_MIN_RNR_TIMER),
			 0);
		CHECK(!has_ended());
		long_end();
		expect(sent, IBV_WC_SUCCESS);
		if (opcode == IBV_WR_SEND)
			expect(await(link_.b.rcq), IBV_WC_SUCCESS);
		CHECK(!memcmp(source.buf->data, sink.buf->data, LONG));
	}
}

/* The receiver is destroyed meanwhile. */
static void dw9_end(void)
{
	struct qp_cfg hasty = { .timeout = 8, .retry = 1 };
	size_t i;

	long_setup(&hasty);
	for (i = 0; i < ARRAY_SIZE(long_ops); i++) {
		context("operation %d", long_ops[i]);
		long_begin(long_ops[i]);
		CHECK_EQ(ibv_destroy_qp(link_.b.qp), 0);
		CHECK(!has_ended());
		long_end();
		CHECK(!has_ended());
		expect(sent, IBV_WC_RETRY_EXC_ERR);
		end_free(&link_.a);
		link_make(&link_, &hasty);
	}
}

/* --------------------------------------- an owner that sleeps, and its senders */

enum { GRH = 40, DATAGRAM = 64, MAX_LATE = 64 };

static pthread_t owner;
static unsigned int queries; /* begun; atomic */
static bool over; /* atomic */

/* Owns both halves of a queue pair most of the time, and sleeps. */
static void *query(void *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST)) {
		__atomic_add_fetch(&queries, 1, __ATOMIC_SEQ_CST);
		CHECK_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
		usleep(1000);
	}
	return NULL;
}

static void owner_begin(struct ibv_qp *qp)
{
	over = false;
	dwell("owner", DWELL_US);
	CHECK_EQ(pthread_create(&owner, NULL, query, qp), 0);
}

static void owner_end(void)
{
	__atomic_store_n(&over, true, __ATOMIC_SEQ_CST);
	CHECK_EQ(pthread_join(owner, NULL), 0);
	dwell("owner", 0);
}

/*
 * Posts @wr while the owner sleeps. Returns whether it slept until this had returned: a sender that
 * waits for the owner would never see that, since the owner sleeps first and then releases.
 */
static bool post_meanwhile(struct end *end, struct ibv_send_wr *wr)
{
	unsigned int before;

	while (!somebody_dwells("owner"))
		sched_yield();
	before = load(&queries);
	post(end, wr);
	return somebody_dwells("owner") && load(&queries) == before;
}

/* Messages of the loop have parked. Packets have their own lines, and nobody parks. */
static void parked_since(long long busy)
{
	CHECK(dev.packets || device_counter("busy_peers") > busy);
}

/* Nobody waits for a sleeping owner: requests park. */
static void dw10_connected(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_WRITE,
						  IBV_WR_RDMA_READ };
	struct region remote;
	int i, meanwhile = 0;
	long long busy;

	begin(IBV_WR_RDMA_WRITE);
	busy = device_counter("busy_peers");
	remote = region_new(LENGTH, 9, ALL_ACCESS);
	owner_begin(link_.b.qp);
	for (i = 0; i < owned(); i++) {
		struct ibv_sge sge = sge_of(&worker.own, 0, LENGTH);
		struct ibv_send_wr wr = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = ops[i % 2],
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { remote.base, remote.rkey },
		};

		buf_fill(i % 2 ? remote.buf : worker.own.buf);
		meanwhile += post_meanwhile(&link_.a, &wr);
		expect(await(link_.a.scq), IBV_WC_SUCCESS);
		CHECK(!memcmp(worker.own.buf->data, remote.buf->data, LENGTH));
	}
	owner_end();
	note("%d of %d posted while the owner slept", meanwhile, owned());
	CHECK(meanwhile > 0);
	parked_since(busy);
}

/* A list of @count datagrams out of @from, all to one receiver. */
static void datagrams_list(struct ibv_send_wr *wr, struct ibv_sge *sge,
			   int count, const struct region *from,
			   struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	int i;

	memset(wr, 0, count * sizeof(*wr));
	for (i = 0; i < count; i++) {
		sge[i] = sge_of(from, i * DATAGRAM, DATAGRAM);
		wr[i].next = i + 1 < count ? &wr[i + 1] : NULL;
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].wr.ud.ah = ah;
		wr[i].wr.ud.remote_qpn = qpn;
		wr[i].wr.ud.remote_qkey = qkey;
	}
}

/* Sends @count datagrams with one doorbell while the owner of the receiver sleeps. */
static bool datagrams_send(struct link *ud, const struct region *from,
			   int count, uint32_t qkey)
{
	struct ibv_send_wr wr[MAX_LATE];
	struct ibv_sge sge[MAX_LATE];
	bool meanwhile;
	int i;

	datagrams_list(wr, sge, count, from, ud->a.ah, ud->b.qp->qp_num, qkey);
	meanwhile = post_meanwhile(&ud->a, wr);
	for (i = 0; i < count; i++)
		expect(await(ud->a.scq), IBV_WC_SUCCESS);
	return meanwhile;
}

static void datagrams_receive(struct link *ud, const struct region *from,
			      const struct region *to, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		struct ibv_wc wc = await(ud->b.rcq);

		expect(wc, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, (uint64_t)i);
		CHECK(!memcmp(from->buf->data + i * DATAGRAM,
			      to->buf->data + i * (GRH + DATAGRAM) + GRH,
			      DATAGRAM));
	}
}

/* Datagrams are kept for the receiver and come in order, as many as there is room for. */
static void dw11_datagrams(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD,
			      .wr = MAX_LATE,
			      .recv_wr = MAX_LATE,
			      .cqe = MAX_LATE };
	int i, j, count, meanwhile = 0;
	struct region from, to;
	struct link ud;
	long long busy;

	begin(IBV_WR_RDMA_WRITE);
	busy = device_counter("busy_peers");
	link_make(&ud, &cfg);
	from = region_new(MAX_LATE * DATAGRAM, 3, ALL_ACCESS);
	to = region_new(MAX_LATE * (GRH + DATAGRAM), 5, ALL_ACCESS);
	owner_begin(ud.b.qp);
	for (i = 0; i < owned(); i++) {
		count = i % 2 ? MAX_LATE : 8;
		buf_fill(from.buf);
		for (j = 0; j < count; j++) {
			struct ibv_sge sge = sge_of(&to, j * (GRH + DATAGRAM),
						    GRH + DATAGRAM);

			post_recv(&ud.b, &sge, 1, j);
		}
		meanwhile += datagrams_send(&ud, &from, count, QKEY);
		datagrams_receive(&ud, &from, &to, count);
	}
	owner_end();
	note("%d of %d lists posted while the owner slept", meanwhile, owned());
	CHECK(meanwhile > 0);
	parked_since(busy);
}

/*
 * A message that is not for the receiver does not even try to own it: else anybody could keep the
 * receiver's peer out.
 */
static void dw12_strangers(void)
{
	struct qp_cfg uc = { .type = IBV_QPT_UC }, ud = { .type = IBV_QPT_UD };
	struct link connected, datagrams;
	struct region from, to;
	struct end stranger;
	struct peer peer;
	int i, meanwhile = 0;
	long long busy;

	if (dev.packets)
		skip("a packet does not say which queue pair has sent it");
	begin(IBV_WR_RDMA_WRITE);
	link_make(&connected, &uc);
	link_make(&datagrams, &ud);
	end_make(&stranger, &uc);
	end_init(&stranger);
	peer = end_peer(&connected.b);
	end_connect(&stranger, &peer);
	from = region_new(DATAGRAM, 3, ALL_ACCESS);
	to = region_new(GRH + DATAGRAM, 5, ALL_ACCESS);
	busy = device_counter("busy_peers");

	owner_begin(connected.b.qp);
	for (i = 0; i < owned(); i++) {
		struct ibv_sge sge = sge_of(&from, 0, DATAGRAM);
		struct ibv_send_wr wr = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { to.base, to.rkey },
		};

		buf_fill(from.buf);
		meanwhile += post_meanwhile(&stranger, &wr);
		expect(await(stranger.scq), IBV_WC_SUCCESS);
		CHECK(memcmp(from.buf->data, to.buf->data, DATAGRAM) != 0);
	}
	owner_end();
	CHECK(meanwhile > 0);

	meanwhile = 0;
	owner_begin(datagrams.b.qp);
	post_recv(&datagrams.b,
		  &(struct ibv_sge){ to.base, GRH + DATAGRAM, to.lkey }, 1, 1);
	for (i = 0; i < owned(); i++)
		meanwhile += datagrams_send(&datagrams, &from, 1, QKEY + 1);
	owner_end();
	CHECK(meanwhile > 0);
	expect_none(datagrams.b.rcq, 0.01);
	CHECK_EQ(device_counter("busy_peers"), busy);
}

enum { SENDERS = 16, SLOTS = 256, MOST_EACH = 12 };

/* Each round a sender sends @each datagrams of @from to @to with one doorbell. */
struct sender {
	pthread_t thread;
	struct end end;
	struct region from;
	uint32_t next; /* of its datagrams to be received in this round */
};

static struct sender senders[SENDERS];
static pthread_barrier_t together;
static uint32_t to_qpn;
static int each; /* 0: the end */

static void *send_each(void *arg)
{
	struct sender *s = arg;
	struct ibv_send_wr wr[MOST_EACH];
	struct ibv_sge sge[MOST_EACH];
	int i;

	for (;;) {
		pthread_barrier_wait(&together);
		if (!each)
			return NULL;
		datagrams_list(wr, sge, each, &s->from, s->end.ah, to_qpn,
			       QKEY);
		post(&s->end, wr);
		for (i = 0; i < each; i++)
			expect(await(s->end.scq), IBV_WC_SUCCESS);
		pthread_barrier_wait(&together);
	}
}

static void senders_make(const struct end *to)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD,
			      .wr = MOST_EACH,
			      .cqe = MOST_EACH };
	struct peer peer = end_peer(to);
	int i;

	to_qpn = to->qp->qp_num;
	CHECK_EQ(pthread_barrier_init(&together, NULL, SENDERS + 1), 0);
	for (i = 0; i < SENDERS; i++) {
		struct sender *s = &senders[i];

		end_make(&s->end, &cfg);
		end_init(&s->end);
		end_connect(&s->end, &peer);
		s->from = region_new(MOST_EACH * DATAGRAM, i, ALL_ACCESS);
		CHECK_EQ(pthread_create(&s->thread, NULL, send_each, s), 0);
	}
}

/* All send while the owner sleeps, or at least begin to. */
static void senders_send(int count)
{
	int i, j;

	each = count;
	for (i = 0; i < SENDERS; i++) {
		senders[i].next = 0;
		buf_fill(senders[i].from.buf);
		for (j = 0; j < count; j++) {
			const uint32_t head[2] = { i, j };

			memcpy(senders[i].from.buf->data + j * DATAGRAM, head,
			       sizeof(head));
		}
	}
	while (!somebody_dwells("owner"))
		sched_yield();
	pthread_barrier_wait(&together);
	pthread_barrier_wait(&together);
}

/* The core reads a device's counters at most every 10 ms. */
static long long drops_now(void)
{
	usleep(20000);
	return device_counter("ud_drops");
}

static void slot_post(struct end *end, const struct region *to, uint64_t slot)
{
	struct ibv_sge sge =
		sge_of(to, slot * (GRH + DATAGRAM), GRH + DATAGRAM);

	post_recv(end, &sge, 1, slot);
}

/* Those of one sender come in order and undamaged; with @all, each comes. */
static void slot_take(struct end *end, const struct region *to, bool all)
{
	struct ibv_wc wc = await(end->rcq);
	struct sender *s;
	uint32_t head[2];
	uint8_t *data;

	expect(wc, IBV_WC_SUCCESS);
	data = to->buf->data + wc.wr_id * (GRH + DATAGRAM) + GRH;
	memcpy(head, data, sizeof(head));
	CHECK(head[0] < SENDERS);
	s = &senders[head[0]];
	context("sender %u", head[0]);
	CHECK_EQ(wc.src_qp, s->end.qp->qp_num);
	if (all)
		CHECK_EQ(head[1], s->next);
	CHECK(head[1] >= s->next && head[1] < (uint32_t)each);
	CHECK(!memcmp(data, s->from.buf->data + head[1] * DATAGRAM, DATAGRAM));
	s->next = head[1] + 1;
	slot_post(end, to, wc.wr_id);
}

/*
 * Together they send as many as are kept for a receiver, or more. Then some may be lost, and each of
 * them is counted.
 */
static void dw13_many(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD,
			      .recv_wr = SLOTS,
			      .cqe = SLOTS };
	long long busy, drops, lost, all_lost = 0;
	struct region to;
	struct link ud;
	int i, j, count;

	begin(IBV_WR_RDMA_WRITE);
	busy = device_counter("busy_peers");
	link_make(&ud, &cfg);
	to = region_new(SLOTS * (GRH + DATAGRAM), 5, ALL_ACCESS);
	for (i = 0; i < SLOTS; i++)
		slot_post(&ud.b, &to, i);
	senders_make(&ud.b);
	owner_begin(ud.b.qp);
	for (i = 0; i < owned(); i++) {
		count = i % 2 ? MOST_EACH : MAX_LATE / SENDERS;
		drops = drops_now();
		senders_send(count);
		lost = drops_now() - drops;
		context("round %d", i);
		CHECK(lost >= 0 && lost <= SENDERS * count - MAX_LATE);
		for (j = 0; j < SENDERS * count - lost; j++)
			slot_take(&ud.b, &to, !lost);
		expect_none(ud.b.rcq, 0);
		CHECK_EQ(drops_now(), drops + lost);
		all_lost += lost;
	}
	owner_end();
	each = 0;
	pthread_barrier_wait(&together);
	for (i = 0; i < SENDERS; i++)
		CHECK_EQ(pthread_join(senders[i].thread, NULL), 0);
	note("%lld lost", all_lost);
	parked_since(busy);
}

/* ------------------------------- a send that fails, and who was told of that */

static struct link failing;
static const struct ibv_send_wr
	*keeper; /* what keeps the responder of failing.a */
static _Atomic bool kept, posted; /* has the doorbell returned? */
static pthread_barrier_t round_;

/* The peer sends: while that is copied it owns the responder of who fails. */
static void *keep(void *unused)
{
	struct ibv_send_wr wr = *keeper;

	(void)unused;
	for (;;) {
		pthread_barrier_wait(&round_);
		post(&failing.b, &wr);
		kept = true;
		pthread_barrier_wait(&round_);
	}
	return NULL;
}

/* Takes the completion of the failed send, and at once the queue pair back to RTS. */
static void *mend(void *unused)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .cur_qp_state = IBV_QPS_SQE };
	struct ibv_wc wc;
	bool early;

	(void)unused;
	for (;;) {
		pthread_barrier_wait(&round_);
		while (!poll_one(failing.a.scq, &wc))
			sched_yield();
		early = !posted;
		CHECK_EQ(ibv_modify_qp(failing.a.qp, &attr,
				       IBV_QP_STATE | IBV_QP_CUR_STATE),
			 0);
		expect_why(wc, IBV_WC_LOC_PROT_ERR, PINION_SYN_KEY_UNKNOWN);
		overlaps += early;
		pthread_barrier_wait(&round_);
	}
	return NULL;
}

/*
 * Who has polled the completion of a failed send modifies the queue pair, which is in SQE for him,
 * although who sends cannot enter that state yet.
 */
static void dw14_told(int type)
{
	struct qp_cfg cfg = { .type = type };
	struct ibv_send_wr good, bad;
	struct ibv_sge sge, bad_sge, sink;
	pthread_t threads[2];
	struct region from, to;

	if (dev.packets)
		skip("who sends packets does not own the receiver");
	begin(IBV_WR_RDMA_WRITE);
	link_make(&failing, &cfg);
	from = region_new(DATAGRAM, 3, ALL_ACCESS);
	to = region_new(GRH + DATAGRAM, 5, ALL_ACCESS);
	sink = sge_of(&to, 0, GRH + DATAGRAM);
	datagrams_list(&good, &sge, 1, &from, failing.b.ah,
		       failing.a.qp->qp_num, QKEY);
	datagrams_list(&bad, &bad_sge, 1, &from, failing.a.ah,
		       failing.b.qp->qp_num, QKEY);
	bad_sge.lkey ^= 4;
	keeper = &good;
	CHECK_EQ(pthread_barrier_init(&round_, NULL, 3), 0);
	CHECK_EQ(pthread_create(&threads[0], NULL, keep, NULL), 0);
	CHECK_EQ(pthread_create(&threads[1], NULL, mend, NULL), 0);
	dwell("copy", DWELL_US);
	while (another_round()) {
		context("round %d", rounds);
		kept = false;
		posted = false;
		post_recv(&failing.a, &sink, 1, rounds);
		pthread_barrier_wait(&round_);
		while (!somebody_dwells("copy") && !kept)
			sched_yield();
		post(&failing.a, &bad);
		posted = true;
		pthread_barrier_wait(&round_);
		expect(await(failing.b.scq), IBV_WC_SUCCESS);
		expect(await(failing.a.rcq), IBV_WC_SUCCESS);
		CHECK_EQ(end_state(&failing.a), IBV_QPS_RTS);
	}
	end();
}

static const struct test tests[] = {
	TEST(dw1_move, "DW1 a dma-buf moves (class 5)"),
	TEST(dw2_dereg, "DW2 a region ends"),
	TEST(dw3_rereg, "DW3 a region is given other memory"),
	TEST(dw4_window, "DW4 a window is invalidated"),
	TEST(dw5_invalidation, "DW5 pages are taken away"),
	TEST(dw6_child, "DW6 a child of an implicit region ends (class 9)"),
	TEST(dw7_peer, "DW7 the peer's queue pair ends (class 19)"),
	TEST(dw8_change,
	     "DW8 a receiver is changed in the middle of a message"),
	TEST(dw9_end, "DW9 a receiver ends in the middle of a message"),
	TEST(dw10_connected,
	     "DW10 senders do not wait for an owner that sleeps"),
	TEST(dw11_datagrams,
	     "DW11 nor do those of datagrams, which are not lost"),
	TEST(dw12_strangers, "DW12 only messages for a receiver try to own it"),
	TEST(dw13_many,
	     "DW13 many senders to one receiver: few are lost, and counted"),
	TEST_OF(dw14_told, IBV_QPT_UD,
		"DW14 modified as soon as a send has failed: UD"),
	TEST_OF(dw14_told, IBV_QPT_UC,
		"DW14 modified as soon as a send has failed: UC"),
};

int main(int argc, char **argv)
{
	int rc = harness_main(argc, argv, "Changes under somebody who dwells",
			      tests, ARRAY_SIZE(tests));

	/* A failed test may have left delays on; switch them off for the tests after it. */
	if (!access(FILES "dwellers", F_OK) && !nobody_dwells())
		rc = rc ?: 1;
	return rc;
}
