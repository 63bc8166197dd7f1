// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many regions: the cost of one more, of a write to one of them, and of a process that ends without
 * deregistering them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffer.h"
#include "experiments.h"
#include "loop.h"
#include "report.h"

#define REGION 4096ull
/* All regions are of the same memory, so that a million of them fit into a small machine. */
#define POOL (16ull << 20)
#define PROBES 501

/* Make regions until there are @want. Return: how many there are. */
static uint64_t populate(struct target *target, char *pool, struct ibv_mr **mrs,
			 uint64_t have, uint64_t want)
{
	while (have < want) {
		mrs[have] = ibv_reg_mr(target->pd, pool + have * REGION % POOL,
				       REGION, TARGET_ACCESS);
		if (!mrs[have])
			break;
		have++;
	}
	return have;
}

/* Write 8 bytes to regions that are chosen at random: each write looks up another key. */
static int write_to_some(struct loop *loop, struct ibv_mr **mrs, uint64_t live,
			 uint64_t *ns)
{
	struct ibv_mr *mr;
	int i, err = 0;

	srandom(live);
	for (i = 0; i < PROBES && !err; i++) {
		mr = mrs[random() % live];
		err = loop_write(loop, 8, 0, (uintptr_t)mr->addr, mr->rkey,
				 &ns[i]);
	}
	return err;
}

/* Register and deregister one more, repeatedly; then write to those that are there. */
static void probe(struct target *target, struct loop *loop, char *pool,
		  struct ibv_mr **mrs, uint64_t live, double filled)
{
	uint64_t reg[PROBES], dereg[PROBES], ns[PROBES];
	double write = NAN, write_min = NAN;
	struct cost cost;
	int i, err;

	for (i = 0; i < PROBES; i++) {
		err = target_round(target, pool + i * REGION, REGION, &cost);
		if (err) {
			report_failure("live", target->name, "regions", live,
				       err);
			return;
		}
		reg[i] = cost.reg;
		dereg[i] = cost.dereg;
	}
	if (loop) {
		err = write_to_some(loop, mrs, live, ns);
		if (err) {
			report_failure("live", target->name, "regions", live,
				       err);
			return;
		}
		write = median_of(ns, PROBES);
		write_min = min_of(ns, PROBES);
	}
	report_row("live", target->name, "regions", live,
		   (struct figure[]){
			   { "reg_ns", median_of(reg, PROBES), 0 },
			   { "dereg_ns", median_of(dereg, PROBES), 0 },
			   { "reg_min_ns", min_of(reg, PROBES), 0 },
			   { "dereg_min_ns", min_of(dereg, PROBES), 0 },
			   { "fill_ns_each", filled, 0 },
			   { "write_ns", write, 0 },
			   { "write_min_ns", write_min, 0 },
		   },
		   7);
}

static void live(struct target *target, struct loop *loop, char *pool)
{
	uint64_t most = opt.live[opt.num_live - 1], have = 0, before, begun;
	struct ibv_mr **mrs = calloc(most, sizeof(*mrs));
	double ns;
	int i;

	if (!mrs)
		die(2, "no memory");
	for (i = 0; i < opt.num_live; i++) {
		before = have;
		begun = now_ns();
		have = populate(target, pool, mrs, have, opt.live[i]);
		ns = now_ns() - begun;
		if (have < opt.live[i]) {
			report_failure("live", target->name, "regions", have,
				       errno);
			break;
		}
		probe(target, loop, pool, mrs, have,
		      have > before ? ns / (have - before) : NAN);
	}
	begun = now_ns();
	for (before = have; have; have--)
		ibv_dereg_mr(mrs[have - 1]);
	if (before)
		report_row("dereg of all", target->name, "regions", before,
			   (struct figure[]){
				   { "ns_each",
				     (double)(now_ns() - begun) / before, 0 },
			   },
			   1);
	free(mrs);
}

void measure_live(struct target *targets, int num)
{
	char *pool = buffer_make(POOL);
	int t;

	if (!pool)
		die(2, "no memory for the regions: %m");
	for (t = 0; t < num; t++) {
		struct loop loop = { 0 };
		bool can_write;

		if (!targets[t].context)
			continue;
		/* iWARP connects by other means. */
		can_write = targets[t].context->device->transport_type ==
				    IBV_TRANSPORT_IB &&
			    loop_open(&loop, &targets[t], 4096);
		live(&targets[t], can_write ? &loop : NULL, pool);
		loop_close(&loop);
	}
	buffer_free(pool, POOL);
}

/* The child: registers regions, reports that it is about to exit, and exits. */
static void leave(const char *name, char *pool, uint64_t count,
		  uint64_t *shared)
{
	struct ibv_mr **mrs = calloc(count, sizeof(*mrs));
	struct target target = { 0 };

	target_open(&target, name);
	shared[0] = populate(&target, pool, mrs, 0, count);
	shared[1] = now_ns();
	_exit(0);
}

static void at_exit(struct target *target, char *pool, uint64_t count)
{
	uint64_t *shared = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t ended;
	pid_t pid;

	if (shared == MAP_FAILED)
		die(2, "no memory");
	pid = fork();
	if (!pid)
		leave(target->name, pool, count, shared);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		die(2, "no process: %m");
	ended = now_ns();
	if (shared[0] == count)
		report_row("exit", target->name, "regions", count,
			   (struct figure[]){
				   { "ms", (ended - shared[1]) / 1e6, 1 },
				   { "ns_each",
				     (double)(ended - shared[1]) / count, 0 },
			   },
			   2);
	else
		report_failure("exit", target->name, "regions", shared[0],
			       ENOSPC);
	munmap(shared, REGION);
}

void measure_exit(struct target *targets, int num)
{
	char *pool = buffer_make(POOL);
	/* If the cost is linear this is the same in all rows. */
	uint64_t counts[] = { opt.at_exit / 10, opt.at_exit / 2, opt.at_exit };
	int t, i;

	if (!pool)
		die(2, "no memory for the regions: %m");
	for (t = 0; t < num; t++)
		for (i = 0; targets[t].context && i < 3; i++)
			if (counts[i])
				at_exit(&targets[t], pool, counts[i]);
	buffer_free(pool, POOL);
}
