// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Usage: doorbells DEVICE REPEATS RUN_MS
 *
 * Measures what doorbells of queues by command cost, on a pinion device, and prints lines
 * `figure ROW COLUMN VALUE DETAILS', REPEATS for each row and column:
 *
 *   VERB/wait/BYTES  us for one message, from posting it to its completion; the next one is posted
 *                    after that. In turns, by a queue of a command, whose doorbell is a store to
 *                    memory (column `record'), and by a queue of the device's own, whose doorbell
 *                    is a system call (`call').
 *   context/idle/0   % of one processor that a context takes which has rung once and rests: how
 *                    often its records are polled each second, times what one poll costs; `-' if
 *                    that cannot be said.
 *
 * Exit status: 0; 1 or 4 if that cannot be measured, with the reason on stderr.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "raw_queue.h"

enum {
	LEN = 4096,
	FROM_AT = 64, /* of both buffers in their pages, as of aligned data */
	TO_AT = 128,
	WARM_UP = 1000, /* messages before each run */
	BETWEEN = 64, /* messages between two looks at the clock */
	REST_US = 1000000, /* then the kernel polls as seldom as it ever does */
	SPIN_MS = 200, /* of one half of a turn of cost_of_a_poll() */
	TURNS = 15, /* of it */
	MORE_POLLS = 20, /* for each second, at least, for a turn to count */
};

static struct raw_queue a, b;
static struct link own;
static struct region from, to;

static int ascending(const void *x, const void *y)
{
	double d = *(const double *)x - *(const double *)y;

	return (d > 0) - (d < 0);
}

static double median(double *of, int count)
{
	qsort(of, count, sizeof(*of), ascending);
	return of[count / 2];
}

/* -------------------------------------------------------------- message by message */

static const struct row {
	const char *name;
	enum ibv_wr_opcode own;
	uint8_t raw;
	uint32_t length;
} rows[] = {
	{ "write/wait/8", IBV_WR_RDMA_WRITE, RAW_WRITE, 8 },
	{ "read/wait/8", IBV_WR_RDMA_READ, RAW_READ, 8 },
	{ "write/wait/4096", IBV_WR_RDMA_WRITE, RAW_WRITE, LEN },
};

static void by_record(const struct row *row)
{
	uint8_t segments[2 * SEGMENT];
	struct raw_cqe cqe;

	raw_address(segments, &to, 0);
	raw_data(segments + SEGMENT, &from, 0, row->length);
	raw_post(&a, row->raw, RAW_SIGNALED, 0, segments, 2);
	raw_ring(&a);
	while (!raw_poll(&a, &cqe))
		;
	CHECK_EQ(cqe.opcode, REQUEST);
}

static void by_call(const struct row *row)
{
	struct ibv_sge sge = sge_of(&from, 0, row->length);
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = row->own,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { to.base, to.rkey },
	};
	struct ibv_wc wc;

	CHECK_EQ(ibv_post_send(own.a.qp, &wr, &bad), 0);
	while (!ibv_poll_cq(own.a.scq, 1, &wc))
		;
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
}

/* Seconds for one message, on the average of at least @seconds. */
static double timed(void (*message)(const struct row *row),
		    const struct row *row, double seconds)
{
	double begun, taken;
	long count = 0;
	int i;

	for (i = 0; i < WARM_UP; i++)
		message(row);
	begun = now();
	do {
		for (i = 0; i < BETWEEN; i++)
			message(row);
		count += BETWEEN;
		taken = now() - begun;
	} while (taken < seconds);
	return taken / count;
}

static void messages(const struct row *row, double seconds)
{
	long long streams = device_counter("streams");
	double record, call;

	buf_fill(from.buf);
	buf_fill(to.buf);
	record = timed(by_record, row, seconds);
	streams = device_counter("streams") - streams;
	CHECK(!memcmp(from.buf->data, to.buf->data, row->length));
	buf_fill(from.buf);
	call = timed(by_call, row, seconds);
	CHECK(!memcmp(from.buf->data, to.buf->data, row->length));
	printf("figure %s record %.4g streams=%lld\n", row->name, record * 1e6,
	       streams);
	printf("figure %s call %.4g\n", row->name, call * 1e6);
}

/* --------------------------------------------------------------- a context at rest */

/*
 * A process that counts as fast as it can. There is one for each processor, so that each interrupt
 * of any of them takes something from the sum.
 */
struct spinner {
	uint64_t count;
	uint64_t room[7]; /* a cache line each */
};

static struct spinner *spinners;
static int cpus;

static void spin(void *arg)
{
	struct spinner *spinner = arg;

	for (;;)
		__atomic_store_n(&spinner->count, spinner->count + 1,
				 __ATOMIC_RELAXED);
}

static uint64_t spun(void)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < cpus; i++)
		sum += __atomic_load_n(&spinners[i].count, __ATOMIC_RELAXED);
	return sum;
}

/* Each of the spinners and of the timers, for one second. */
struct work {
	double counted, polls;
};

/* Meanwhile @word is changed all the time. */
static struct work measure(uint32_t *word, double seconds)
{
	unsigned long long polls;
	uint64_t count;
	double begun;

	usleep(50000);
	count = spun();
	polls = raw_looks();
	for (begun = now(); now() < begun + seconds; usleep(200))
		__atomic_store_n(word, *word + 1, __ATOMIC_RELAXED);
	begun = now() - begun;
	return (struct work){ (spun() - count) / begun,
			      (raw_looks() - polls) / begun };
}

/*
 * One poll costs too little to be seen among the noise. @record is that of a broken queue pair: if
 * it is changed all the time it is polled often, and nothing else follows from it. What that takes
 * from the spinners is divided by the number of polls. Return: seconds, the median of many turns.
 * Or -1: the host was so busy that polls took long, and then the kernel polls seldom.
 */
static double cost_of_a_poll(uint32_t *record)
{
	struct work with, without;
	double costs[TURNS];
	uint32_t nothing = 0;
	int i, count = 0;

	for (i = 0; i < TURNS; i++) {
		without = measure(&nothing, SPIN_MS / 1e3);
		with = measure(record, SPIN_MS / 1e3);
		if (with.polls < without.polls + MORE_POLLS)
			continue;
		costs[count++] = cpus * (without.counted - with.counted) /
				 without.counted / (with.polls - without.polls);
	}
	return count > TURNS / 2 ? median(costs, count) : -1;
}

/* Makes @a and @b. Return: the polls per second that they add after they have rung and rested. */
static double polls_at_rest(void)
{
	uint32_t nothing = 0;
	double without;

	usleep(REST_US);
	without = measure(&nothing, 2).polls;
	raw_make_pair(&a, &b, false);
	by_record(&rows[0]);
	usleep(REST_US);
	return measure(&nothing, 4).polls - without;
}

/* Breaks @a: its record gets an index beyond the ring. Return: the record. */
static uint32_t *broken_record(void)
{
	uint32_t *record = (uint32_t *)(a.buf->data + QP_RECORD_AT) + 1;
	double limit = now() + patience(PATIENCE);

	__atomic_store_n(record, htobe32(a.sq + (2 << SQ_LOG)),
			 __ATOMIC_RELEASE);
	while (raw_state(&a) != STATE_ERR) {
		if (now() > limit)
			FAIL("the queue pair does not break");
		usleep(1000);
	}
	return record;
}

static void rest(void)
{
	double polls = polls_at_rest();
	double cost = cost_of_a_poll(broken_record());

	if (cost < 0)
		printf("figure context/idle/0 record -\n");
	else
		printf("figure context/idle/0 record %.4g polls=%.4g us=%.4g\n",
		       polls * cost * 100, polls, cost * 1e6);
	raw_free(&a);
	raw_free(&b);
}

/* ------------------------------------------------------------------------ all of it */

static void measure_messages(int repeats, double seconds)
{
	unsigned int i;
	int n;

	raw_make_pair(&a, &b, false);
	link_make(&own, NULL);
	for (n = 0; n < repeats; n++) {
		for (i = 0; i < ARRAY_SIZE(rows); i++)
			messages(&rows[i], seconds);
		fflush(stdout);
	}
	link_free(&own);
	raw_free(&a);
	raw_free(&b);
}

static void measure_rest(int repeats)
{
	int pids[cpus], i, n;

	spinners = mmap(NULL, cpus * sizeof(*spinners), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(spinners != MAP_FAILED);
	for (i = 0; i < cpus; i++)
		pids[i] = spawn(spin, &spinners[i]);
	for (n = 0; n < repeats; n++) {
		rest();
		fflush(stdout);
	}
	for (i = 0; i < cpus; i++) {
		kill(pids[i], SIGKILL);
		reap(pids[i]);
	}
}

int main(int argc, char **argv)
{
	const char *missing;

	if (argc != 4) {
		puts("Usage: doorbells DEVICE REPEATS RUN_MS");
		return argc == 2 && !strcmp(argv[1], "--help") ? 0 : 1;
	}
	opt.device = argv[1];
	missing = device_missing();
	if (missing) {
		fprintf(stderr, "doorbells: %s\n", missing);
		return 1;
	}
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	/* On the only processor nobody polls a record while the program waits. */
	if (cpus < 2) {
		fprintf(stderr, "doorbells: this needs two processors\n");
		return 1;
	}
	device_open();
	dv_begin();
	from = region_new(LEN, FROM_AT, ALL_ACCESS);
	to = region_new(LEN, TO_AT, ALL_ACCESS);
	measure_messages(atoi(argv[2]), atoi(argv[3]) / 1e3);
	measure_rest(atoi(argv[2]));
	return 0;
}
