// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Other processes write to a region without pause while it is deregistered, changed or
 * invalidated: no byte changes after the call has returned (items L1 to L8). Nor does it wait for
 * writers that get no time, and neither does madvise() (L7, L9). Writers end
 * although it never rests (L10).
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link.h"

enum { WRITERS = 3, LEN = 50000, MAX_LEN = 1 << 20 };
/*
 * Bytes of a slice. Each writer has its own, and marks each line with the number of the message.
 * So small that it is copied at once: a longer message may be refused half-way.
 */
enum { SLICE = 100000, LINE = 500 };

enum how {
	PLAIN,
	SLICED, /* each writer has its own slices */
	STARVED, /* writers get almost no CPU time */
};

/*
 * In shared memory. The connections are unreliable: a refusal does not break them, so the
 * writers can go on.
 */
struct board {
	struct peer target[WRITERS], writer[WRITERS];
	volatile uint32_t rkey;
	volatile uint64_t addr, length;
	volatile enum how how;
	_Atomic bool stop;
	volatile int ready;
	volatile uint32_t null;
	volatile unsigned long strange; /* requests that are refused */
	volatile unsigned long writes[WRITERS];
};

static struct board *board;

static struct link links[WRITERS]; /* .b is the end of this process */
static int pids[WRITERS];

/* Runs on one processor, at normal priority or SCHED_IDLE. */
static void run_on(int processor, bool idly)
{
	struct sched_param none = {};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	CHECK_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
	if (idly)
		CHECK_EQ(sched_setscheduler(0, SCHED_IDLE, &none), 0);
}

static void mark(uint8_t *slice, uint32_t number)
{
	size_t at;

	for (at = 0; at < SLICE; at += LINE)
		memcpy(slice + at, &number, sizeof(number));
}

static void write_on(void *arg)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UC };
	long me = (long)arg;
	struct region mine;
	struct end end;

	device_open();
	end_make(&end, &cfg);
	mine = region_new(MAX_LEN, 9, 0);
	board->writer[me] = end_peer(&end);
	end_init(&end);
	end_connect(&end, &board->target[me]);
	__atomic_add_fetch(&board->ready, 1, __ATOMIC_SEQ_CST);
	if (board->how == STARVED)
		run_on(0, true);
	while (!board->stop) {
		uint32_t length = board->length;
		uint64_t addr = board->addr;

		if (board->how == SLICED) {
			mark(mine.buf->data, board->writes[me] + 1);
			addr += me * SLICE;
		}
		expect(rdma(&end, IBV_WR_RDMA_WRITE, sge_of(&mine, 0, length),
			    addr, board->rkey),
		       IBV_WC_SUCCESS);
		board->writes[me]++;
	}
}

static void begin(size_t length, enum how how)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UC };
	long i;

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(board != MAP_FAILED);
	board->length = length;
	board->how = how;
	for (i = 0; i < WRITERS; i++) {
		end_make(&links[i].b, &cfg);
		end_init(&links[i].b);
		board->target[i] = end_peer(&links[i].b);
	}
	for (i = 0; i < WRITERS; i++)
		pids[i] = spawn(write_on, (void *)i);
	while (board->ready < WRITERS)
		sched_yield();
	for (i = 0; i < WRITERS; i++)
		end_connect(&links[i].b, &board->writer[i]);
}

static unsigned long written_so_far(void)
{
	unsigned long writes = 0;
	int i;

	for (i = 0; i < WRITERS; i++)
		writes += board->writes[i];
	return writes;
}

static void finish(unsigned long rounds)
{
	int i;

	board->stop = true;
	for (i = 0; i < WRITERS; i++)
		reap_ok(pids[i]);
	note("%lu rounds, %lu writes", rounds, written_so_far());
	CHECK(rounds && written_so_far());
}

/* Fills the buffer, and checks a little later that nothing has changed. */
static void untouched(struct buf *buf)
{
	buf_fill(buf);
	usleep(rnd_below(200));
	buf_check(buf);
}

/*
 * Waits, in every other round, until a writer has written. If none writes to the buffer, an
 * unchanged buffer proves nothing.
 */
static bool written(const struct buf *buf, unsigned long round)
{
	double end = now() + (round & 1 ? 0 : patience(1));
	bool seen;

	do
		seen = memcmp(buf->data, buf->want, LINE) != 0;
	while (!seen && now() < end && !sched_yield());
	return seen;
}

/* The status of an unreliable write is success also if it was refused, so count what arrived. */
static void check_seen(unsigned long seen, unsigned long rounds)
{
	note("written to in %lu of %lu rounds", seen, rounds);
	CHECK(seen);
}

/* A region ends under the writes of another process: from then on no byte of it changes. */
static void l1_dereg(int length)
{
	struct buf *buf = buf_new(length, 77);
	unsigned long rounds = 0, seen = 0;
	double end;

	begin(length, PLAIN);
	for (end = now() + opt.seconds; go_on(end, seen); rounds++) {
		struct region r = region_reg(dev.pd, buf, ALL_ACCESS);

		board->addr = r.base;
		board->rkey = r.rkey;
		seen += written(buf, rounds);
		usleep(rnd_below(400));
		CHECK_EQ(ibv_dereg_mr(r.mr), 0);
		untouched(buf);
	}
	finish(rounds);
	check_seen(seen, rounds);
}

/*
 * Two buffers whose pages alternate in physical memory: no two pages of one are contiguous, so
 * that a message consists of many runs and often looks up its memory.
 */
static void interleaved(struct buf *bufs[2], size_t length)
{
	size_t size = (length + 3 * PAGE) & ~(PAGE - 1), at;
	uint8_t *maps[2];
	int i;

	for (i = 0; i < 2; i++) {
		maps[i] = mmap(NULL, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(maps[i] != MAP_FAILED);
	}
	for (at = 0; at < size; at += PAGE)
		maps[0][at] = maps[1][at] = 1;
	for (i = 0; i < 2; i++)
		bufs[i] = buf_of(maps[i], size, PAGE, length);
}

/*
 * All lines of a slice are from the same message. By packets this holds only for each packet: a
 * message that is refused half-way leaves the rest of the earlier one.
 */
static void whole(const struct buf *buf)
{
	size_t i, at, unit = dev.packets ? 128U << links[0].b.cfg.mtu : SLICE;
	uint32_t last, number;

	for (i = 0; i < WRITERS; i++) {
		const uint8_t *slice = buf->data + i * SLICE;

		memcpy(&last, slice, sizeof(last));
		for (at = 0; at < SLICE; at += LINE) {
			memcpy(&number, slice + at, sizeof(number));
			if (number > last ||
			    (number < last && at / unit == (at - LINE) / unit))
				FAIL("the first %zu bytes are of message %u, then comes %u",
				     at, last, number);
			last = number;
		}
	}
}

/*
 * Each message goes to the old memory or the new one as a whole, and none writes to the old
 * memory after the call.
 */
static void l3_rereg(void)
{
	enum { ACCESS = ALL_ACCESS | IBV_ACCESS_ZERO_BASED };
	unsigned long rounds = 0, seen = 0;
	struct buf *bufs[2];
	struct ibv_mr *mr;
	double end;
	int i;

	interleaved(bufs, WRITERS * SLICE);
	for (i = 0; i < 2; i++) {
		memset(bufs[i]->data, 0, bufs[i]->length);
		buf_accept(bufs[i]);
	}
	mr = MUST(ibv_reg_mr(dev.pd, bufs[0]->data, bufs[0]->length, ACCESS));
	begin(SLICE, SLICED);
	board->rkey = mr->rkey;
	for (end = now() + opt.seconds; go_on(end, seen); rounds++) {
		struct buf *old = bufs[rounds & 1], *next = bufs[~rounds & 1];

		seen += written(old, rounds);
		usleep(rnd_below(300));
		CHECK_EQ(ibv_rereg_mr(mr,
				      IBV_REREG_MR_CHANGE_TRANSLATION |
					      IBV_REREG_MR_CHANGE_ACCESS,
				      NULL, next->data, next->length, ACCESS),
			 0);
		CHECK_EQ(mr->rkey, board->rkey);
		whole(old);
		memset(old->data, 0, old->length);
		buf_accept(old);
		usleep(rnd_below(200));
		buf_check(old);
	}
	finish(rounds);
	check_seen(seen, rounds);
}

/* Takes the region out of the writers' reach, by one change of rereg, and back. */
static void out_of_reach(int change)
{
	/* Parameters that do not change must not be given. */
	struct ibv_pd *away = NULL, *home = NULL;
	int access = 0, back = 0;
	struct buf *buf = buf_new(LEN, 77);
	unsigned long rounds = 0, seen = 0;
	struct region r;
	double end;

	if (change == IBV_REREG_MR_CHANGE_PD) {
		/* The connections are of another. */
		away = MUST(ibv_alloc_pd(dev.ctx));
		home = dev.pd;
	} else {
		access = IBV_ACCESS_LOCAL_WRITE;
		back = ALL_ACCESS;
	}
	r = region_reg(dev.pd, buf, ALL_ACCESS);
	begin(LEN, PLAIN);
	board->addr = r.base;
	board->rkey = r.rkey;
	for (end = now() + opt.seconds; go_on(end, seen); rounds++) {
		seen += written(buf, rounds);
		usleep(rnd_below(300));
		CHECK_EQ(ibv_rereg_mr(r.mr, change, away, NULL, 0, access), 0);
		untouched(buf);
		CHECK_EQ(ibv_rereg_mr(r.mr, change, home, NULL, 0, back), 0);
	}
	finish(rounds);
	check_seen(seen, rounds);
}

static struct ibv_wc window_request(struct end *end, struct ibv_send_wr *wr)
{
	wr->send_flags = IBV_SEND_SIGNALED;
	post(end, wr);
	return await(end->scq);
}

/* A type 2 window for each writer, bound and invalidated on the connected QP. */
static void l6_invalidate(void)
{
	struct buf *buf = buf_new(LEN, 77);
	unsigned long rounds = 0, seen = 0;
	struct ibv_mw *mw;
	struct region r;
	double end;

	r = region_reg(dev.pd, buf, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2));
	begin(LEN, PLAIN);
	board->addr = r.base;
	for (end = now() + opt.seconds; go_on(end, seen); rounds++) {
		struct end *at = &links[rounds % WRITERS].b;
		struct ibv_send_wr bind = {
			.opcode = IBV_WR_BIND_MW,
			.bind_mw = { .mw = mw,
				     .rkey = ibv_inc_rkey(mw->rkey),
				     .bind_info = { .mr = r.mr,
						    .addr = r.base,
						    .length = LEN,
						    .mw_access_flags =
							    IBV_ACCESS_REMOTE_WRITE } },
		};
		struct ibv_send_wr inv = { .opcode = IBV_WR_LOCAL_INV };

		expect(window_request(at, &bind), IBV_WC_SUCCESS);
		mw->rkey = bind.bind_mw.rkey;
		board->rkey = mw->rkey;
		seen += written(buf, rounds);
		usleep(rnd_below(300));
		inv.invalidate_rkey = mw->rkey;
		expect(window_request(at, &inv), IBV_WC_SUCCESS);
		untouched(buf);
	}
	finish(rounds);
	check_seen(seen, rounds);
}

static void spin(void *arg)
{
	(void)arg;
	run_on(0, false);
	while (!board->stop)
		;
}

/* Closes the gate of @r. */
static void change_rights(struct region *r)
{
	CHECK_EQ(ibv_rereg_mr(r->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			      ALL_ACCESS),
		 0);
}

/* Waits, by the notifier, for those inside the gate of @r, which is on demand. */
static void take_pages(struct region *r)
{
	CHECK_EQ(madvise(r->buf->data, MAX_LEN, MADV_DONTNEED), 0);
}

struct starved {
	struct region *region;
	void (*change)(struct region *r);
	unsigned long rounds, seen;
};

static bool is_zero(const struct buf *buf)
{
	static const uint8_t zeros[LINE];

	return !memcmp(buf->data, zeros, LINE);
}

/* Changes the region again and again; returns the longest time. */
static double change_often(struct starved *starved)
{
	double end = now() + 2 * opt.seconds, longest = 0;

	for (; go_on(end, starved->rounds && starved->seen);
	     starved->rounds++) {
		double begun, took;

		/* The writers' bytes are there, in a region on demand since the last round. */
		starved->seen += !is_zero(starved->region->buf);
		begun = now();
		starved->change(starved->region);
		took = now() - begun;
		if (took > longest)
			longest = took;
		usleep(rnd_below(1000));
	}
	note("the longest took %.1f ms", longest * 1e3);
	return longest;
}

/*
 * A writer that is preempted inside of the gate would delay this by seconds every time; load on
 * the machine does so only sometimes.
 */
static bool changed_soon(void *arg)
{
	struct starved *starved = arg;

	starved->rounds = 0;
	starved->seen = 0;
	return change_often(starved) < patience(1);
}

/* Calls @change beside writers to memory that is zero at first, and that get almost no time. */
static void beside_starved(int access, void (*change)(struct region *r))
{
	struct buf *buf = buf_private(MAX_LEN, 0);
	struct starved starved = { .change = change };
	struct region r;
	bool soon;
	int pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip("one processor");
	memset(buf->data, 0, MAX_LEN);
	r = region_reg(dev.pd, buf, access);
	begin(MAX_LEN, STARVED);
	run_on(1, false);
	pid = spawn(spin, NULL);
	board->addr = r.base;
	board->rkey = r.rkey;
	starved.region = &r;
	soon = one_of(5, "the owner waited long", changed_soon, &starved);
	finish(starved.rounds);
	reap_ok(pid);
	CHECK(soon);
	check_seen(starved.seen, starved.rounds);
}

/* A reader that gets almost no CPU time must leave the gate at once: rereg must not wait for it. */
static void l7_starved(void)
{
	beside_starved(ALL_ACCESS, change_rights);
}

/*
 * Nor must madvise(), and so munmap() and reclaim, for who writes to a region on demand. Otherwise
 * its owner would wait for the priority of another process.
 */
static void l9_starved(void)
{
	need_odp();
	beside_starved(ODP_ALL, take_pages);
}

static bool all_have_written(unsigned long each)
{
	int i;

	for (i = 0; i < WRITERS; i++)
		if (board->writes[i] < each)
			return false;
	return true;
}

/*
 * The owner closes the gate again and again without rest. Who finds it closed tries again and cannot
 * be killed meanwhile. But between two changes it is open for longer than he needs to enter it: all
 * writers go on, and one that is killed is gone soon.
 */
static void l10_no_rest(void)
{
	unsigned long rounds = 0, killed = 0;
	struct region r;
	long long waits = device_counter("gate_waits");
	double end;
	int i, status;

	if (waits < 0)
		lacks("no counter of waits");
	r = region_reg(dev.pd, buf_new(MAX_LEN, 77), ALL_ACCESS);
	begin(MAX_LEN, PLAIN);
	board->addr = r.base;
	board->rkey = r.rkey;
	for (end = now() + opt.seconds;
	     go_on(end, all_have_written(30) &&
				device_counter("gate_waits") > waits);
	     rounds++)
		change_rights(&r);
	note("%lld waits", device_counter("gate_waits") - waits);
	CHECK(all_have_written(30));
	CHECK(device_counter("gate_waits") > waits);
	kill(pids[0], SIGKILL);
	end = now() + patience(60);
	while (waitpid(pids[0], &status, WNOHANG) != pids[0]) {
		if (now() > end)
			FAIL("a writer that was killed stays");
		change_rights(&r);
		killed++;
	}
	CHECK(WIFSIGNALED(status));
	note("killed: %lu rounds", killed);
	board->stop = true;
	for (i = 1; i < WRITERS; i++)
		reap_ok(pids[i]);
	note("%lu rounds, %lu writes", rounds, written_so_far());
}

/* Invalidations by a process that knows or guessed the peer's rkey. */
static struct ibv_wc strange_request(struct end *end, struct ibv_mw *mw,
				     unsigned long i)
{
	struct ibv_mr mr = { .context = dev.ctx, .pd = dev.pd };
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV };

	if (i % 3) {
		wr.invalidate_rkey = i % 3 == 1 ? board->rkey : board->null;
		return window_request(end, &wr);
	}
	mr.lkey = board->rkey;
	mr.rkey = board->rkey;
	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info.mr = &mr;
	wr.bind_mw.bind_info.addr = board->addr;
	wr.bind_mw.bind_info.length = LEN;
	return window_request(end, &wr);
}

static void estrange(void *arg)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UC };
	struct ibv_mw *mw;
	struct link own;

	(void)arg;
	device_open();
	link_make(&own, &cfg);
	mw = MUST(ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2));
	while (!board->stop) {
		struct ibv_wc wc = strange_request(&own.a, mw, board->strange);

		CHECK(wc.status != IBV_WC_SUCCESS);
		CHECK_EQ(end_set_state(&own.a, IBV_QPS_RTS), 0);
		board->strange++;
	}
}

/*
 * A stranger may not invalidate others' keys or the null key, and his attempts make nobody wait
 * at a gate.
 */
static void l8_strangers(void)
{
	struct buf *buf = buf_new(LEN, 77);
	long long waits;
	struct region r;
	double end;
	int pid;

	if (device_counter("gate_waits") < 0)
		lacks("no counter of waits");
	r = region_reg(dev.pd, buf, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	begin(LEN, PLAIN);
	board->addr = r.base;
	board->rkey = r.rkey;
	board->null = MUST(ibv_alloc_null_mr(dev.pd))->lkey;
	written(buf, 1);
	waits = device_counter("gate_waits");
	pid = spawn(estrange, NULL);
	for (end = now() + 2 * opt.seconds; go_on(end, board->strange > 30);)
		usleep(10000);
	CHECK_EQ(device_counter("gate_waits"), waits);
	finish(board->strange);
	reap_ok(pid);
}

static const struct test tests[] = {
	TEST_OF(l1_dereg, LEN, "L1 dereg"),
	TEST_OF(l1_dereg, MAX_LEN, "L2 dereg, large messages"),
	TEST(l3_rereg, "L3 rereg: translation"),
	TEST_OF(out_of_reach, IBV_REREG_MR_CHANGE_ACCESS, "L4 rereg: rights"),
	TEST_OF(out_of_reach, IBV_REREG_MR_CHANGE_PD, "L5 rereg: domain"),
	TEST(l6_invalidate, "L6 windows invalidated"),
	TEST(l7_starved, "L7 writers that get no time"),
	TEST(l9_starved, "L9 on demand, writers that get no time"),
	TEST(l10_no_rest, "L10 changes without rest"),
	TEST(l8_strangers, "L8 others' keys are nobody's to close (class 17)"),
};

HARNESS_MAIN("No access afterwards, with other processes writing", tests)
