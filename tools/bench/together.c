// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Usage: together DEVICE REPEATS RUN_MS
 *
 * Measures processes that move data to or from the same region, each at a place of its own, by a
 * queue pair of its own that is connected to one of the region's owner. Each posts a message, waits
 * for its completion, and posts the next one. (Not threads of one process, since user-mode Linux runs
 * only one of these at a time.) Prints lines `figure ROW COLUMN VALUE DETAILS', REPEATS for each
 * row and column:
 *
 *   VERB/sum/BYTES  million messages a second, of all processes together: of one process (column
 *                   `one') and of as many as there are processors (column `all').
 *
 * Exit status: 0; 1 or 4 if that cannot be measured, with the reason on stderr.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"

enum {
	MOST = 64, /* processes */
	ROOM = 1 << 20, /* of each of them in the region */
	WARM_UP = 100, /* messages of each before each run */
};

static const struct row {
	const char *name;
	enum ibv_wr_opcode opcode;
	uint32_t length;
} rows[] = {
	{ "write/sum/8", IBV_WR_RDMA_WRITE, 8 },
	{ "read/sum/8", IBV_WR_RDMA_READ, 8 },
	{ "write/sum/4096", IBV_WR_RDMA_WRITE, 4096 },
	{ "write/sum/65536", IBV_WR_RDMA_WRITE, 65536 },
	{ "write/sum/1048576", IBV_WR_RDMA_WRITE, ROOM },
};

/* What a process has done last; for each run it goes from WARM to DONE. */
enum { BORN, MADE, CONNECTED, WARM, DONE };

struct worker {
	atomic_int has;
	struct peer own, owner; /* its end, and that of the region's owner */
	uint64_t count; /* messages of the run */
};

struct shared {
	/* Of the run that is asked for: a number, its row, and by how many. */
	atomic_int run;
	int row, count;
	atomic_bool begun, ended;
	struct worker workers[MOST];
};

static struct shared *shared;
/* Of all processes, ROOM each: what they write, or have read. */
static uint8_t *memory;

static void wait_for(struct worker *w, int what)
{
	double limit = now() + patience(PATIENCE);

	while (w->has != what) {
		CHECK(now() < limit);
		usleep(100);
	}
}

/* ------------------------------------------------------------- one of the processes */

static struct worker *self;
static struct end end;
static struct ibv_mr *mr;

static void message(const struct row *row)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, row->length, mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = row->opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { self->owner.addr, self->owner.rkey },
	};
	struct ibv_wc wc;

	CHECK_EQ(ibv_post_send(end.qp, &wr, &bad), 0);
	while (!ibv_poll_cq(end.scq, 1, &wc))
		;
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
}

static void work_once(const struct row *row)
{
	int i;

	for (i = 0; i < WARM_UP; i++)
		message(row);
	self->has = WARM;
	while (!shared->begun)
		;
	for (self->count = 0; !shared->ended; self->count++)
		message(row);
	self->has = DONE;
}

static void work(void *arg)
{
	int index = (struct worker *)arg - shared->workers, run = 0;
	struct qp_cfg cfg = { .wr = 4 };
	cpu_set_t set;

	self = arg;
	CPU_ZERO(&set);
	CPU_SET(index, &set);
	CHECK_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
	device_open();
	mr = MUST(ibv_reg_mr(dev.pd, memory + (size_t)index * ROOM, ROOM,
			     ALL_ACCESS));
	end_make(&end, &cfg);
	self->own = end_peer(&end);
	self->has = MADE;
	wait_for(self, CONNECTED);
	end_init(&end);
	end_connect(&end, &self->owner);
	for (;;) {
		while (shared->run == run)
			usleep(100);
		run = shared->run;
		if (index < shared->count)
			work_once(&rows[shared->row]);
	}
}

/* --------------------------------------------------------------- the region's owner */

static void run(const struct region *region, int row, int count, double seconds)
{
	double begun, taken;
	uint64_t sum = 0;
	uint8_t *moved;
	int i;

	for (i = 0; i < count * ROOM / 4096; i++)
		rnd_fill(memory + i * 4096, 8);
	shared->row = row;
	shared->count = count;
	shared->begun = shared->ended = false;
	shared->run++;
	for (i = 0; i < count; i++)
		wait_for(&shared->workers[i], WARM);
	begun = now();
	shared->begun = true;
	usleep(seconds * 1e6);
	shared->ended = true;
	taken = now() - begun;
	for (i = 0; i < count; i++) {
		wait_for(&shared->workers[i], DONE);
		sum += shared->workers[i].count;
		moved = region->buf->data + (size_t)i * ROOM;
		CHECK(!memcmp(moved, memory + (size_t)i * ROOM,
			      rows[row].length));
	}
	printf("figure %s %s %.4g\n", rows[row].name, count > 1 ? "all" : "one",
	       sum / taken / 1e6);
}

static void *shared_memory(size_t length)
{
	void *at = mmap(NULL, length, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

static void connect_all(const struct region *region, int count)
{
	struct qp_cfg cfg = {};
	struct worker *w;
	struct end end;
	int i;

	for (i = 0; i < count; i++) {
		w = &shared->workers[i];
		spawn(work, w);
		wait_for(w, MADE);
		end_make(&end, &cfg);
		end_init(&end);
		end_connect(&end, &w->own);
		w->owner = end_peer(&end);
		w->owner.addr = region->base + (uint64_t)i * ROOM;
		w->owner.rkey = region->rkey;
		w->has = CONNECTED;
	}
}

int main(int argc, char **argv)
{
	struct region region;
	const char *missing;
	int cpus, n;
	size_t row;

	if (argc != 4) {
		puts("Usage: together DEVICE REPEATS RUN_MS");
		return argc == 2 && !strcmp(argv[1], "--help") ? 0 : 1;
	}
	opt.device = argv[1];
	missing = device_missing();
	if (missing) {
		fprintf(stderr, "together: %s\n", missing);
		return 1;
	}
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (cpus < 2) {
		fprintf(stderr, "together: this needs two processors\n");
		return 1;
	}
	if (cpus > MOST)
		cpus = MOST;
	shared = shared_memory(sizeof(*shared));
	memory = shared_memory((size_t)cpus * ROOM);
	device_open();
	region = region_new((size_t)cpus * ROOM, 0, ALL_ACCESS);
	connect_all(&region, cpus);
	for (n = 0; n < atoi(argv[2]); n++) {
		for (row = 0; row < ARRAY_SIZE(rows); row++) {
			/* Who comes first changes, as in the other modes. */
			run(&region, row, n % 2 ? cpus : 1,
			    atoi(argv[3]) / 1e3);
			run(&region, row, n % 2 ? 1 : cpus,
			    atoi(argv[3]) / 1e3);
		}
		fflush(stdout);
	}
	return 0;
}
