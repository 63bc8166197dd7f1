// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registration by several threads at once, each with memory of its own, and the distribution of the
 * times: contention for locks shows in the last percent.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "buffer.h"
#include "experiments.h"
#include "report.h"

#define MAX_ROUNDS 20000
#define MIN_ROUNDS 5

struct worker {
	pthread_t thread;
	pthread_barrier_t *all;
	struct target *target;
	void *buffer;
	uint64_t size;
	uint64_t *reg, *dereg; /* times of each round */
	int rounds;
	int err;
};

static void *work(void *arg)
{
	struct worker *worker = arg;
	int max = opt.iterations ? opt.iterations : MAX_ROUNDS;
	struct cost cost;
	uint64_t until;

	if (max > MAX_ROUNDS)
		max = MAX_ROUNDS;
	worker->err = target_round(worker->target, worker->buffer, worker->size,
				   &cost);
	pthread_barrier_wait(worker->all);
	until = now_ns() + opt.seconds * 1e9;
	while (!worker->err && worker->rounds < max) {
		if (!opt.iterations && worker->rounds >= MIN_ROUNDS &&
		    now_ns() > until)
			break;
		worker->err = target_round(worker->target, worker->buffer,
					   worker->size, &cost);
		worker->reg[worker->rounds] = cost.reg;
		worker->dereg[worker->rounds++] = cost.dereg;
	}
	return NULL;
}

static bool worker_make(struct worker *worker, struct target *target,
			uint64_t size, pthread_barrier_t *all)
{
	*worker = (struct worker){
		.all = all,
		.target = target,
		.size = size,
		.buffer = buffer_make(size),
		.reg = calloc(MAX_ROUNDS, sizeof(uint64_t)),
		.dereg = calloc(MAX_ROUNDS, sizeof(uint64_t)),
	};
	return worker->buffer && worker->reg && worker->dereg;
}

static void worker_free(struct worker *worker)
{
	if (worker->buffer)
		buffer_free(worker->buffer, worker->size);
	free(worker->reg);
	free(worker->dereg);
}

/* Copy the times of all rounds of all workers to @values. Return: how many. */
static int gather(struct worker *workers, int num, bool reg, uint64_t *values)
{
	int all = 0, w, i;

	for (w = 0; w < num; w++)
		for (i = 0; i < workers[w].rounds; i++)
			values[all++] = reg ? workers[w].reg[i] :
					      workers[w].dereg[i];
	return all;
}

static void report(struct target *target, uint64_t size, struct worker *workers,
		   int num, uint64_t ns)
{
	uint64_t *reg = calloc((size_t)num * MAX_ROUNDS, sizeof(*reg));
	uint64_t *dereg = calloc((size_t)num * MAX_ROUNDS, sizeof(*dereg));
	int rounds;

	if (!reg || !dereg)
		die(2, "no memory");
	rounds = gather(workers, num, true, reg);
	gather(workers, num, false, dereg);
	report_row("threads", target->name, "bytes", size,
		   (struct figure[]){
			   { "reg_p50_ns", share_of(reg, rounds, 50), 0 },
			   { "reg_p99_ns", share_of(reg, rounds, 99), 0 },
			   { "reg_max_ns", share_of(reg, rounds, 100), 0 },
			   { "dereg_p50_ns", share_of(dereg, rounds, 50), 0 },
			   { "dereg_p99_ns", share_of(dereg, rounds, 99), 0 },
			   { "dereg_max_ns", share_of(dereg, rounds, 100), 0 },
			   { "per_second", rounds * 1e9 / (double)ns, 0 },
		   },
		   7);
	free(reg);
	free(dereg);
}

static void run(struct target *target, uint64_t size, struct worker *workers,
		int num)
{
	pthread_barrier_t all;
	uint64_t begun;
	int w, err = 0;

	pthread_barrier_init(&all, NULL, num + 1);
	for (w = 0; w < num; w++)
		if (!worker_make(&workers[w], target, size, &all))
			err = ENOMEM;
	if (!err) {
		for (w = 0; w < num; w++)
			if (pthread_create(&workers[w].thread, NULL, work,
					   &workers[w]))
				die(2, "no thread: %m");
		pthread_barrier_wait(&all);
		begun = now_ns();
		for (w = 0; w < num; w++) {
			pthread_join(workers[w].thread, NULL);
			err = err ?: workers[w].err;
		}
		if (!err)
			report(target, size, workers, num, now_ns() - begun);
	}
	if (err)
		report_failure("threads", target->name, "bytes", size, err);
	for (w = 0; w < num; w++)
		worker_free(&workers[w]);
	pthread_barrier_destroy(&all);
}

void measure_threads(struct target *targets, int num)
{
	struct worker *workers = calloc(opt.threads, sizeof(*workers));
	int i, t;

	if (!workers)
		die(2, "no memory");
	for (i = 0; i < opt.num_sizes; i++) {
		for (t = 0; t < num; t++) {
			/* /dev/rawpin allows one at a time only. */
			if (targets[t].context)
				run(&targets[t], opt.sizes[i], workers,
				    opt.threads);
			else
				report_failure("threads", targets[t].name,
					       "bytes", opt.sizes[i],
					       EOPNOTSUPP);
		}
	}
	free(workers);
}
