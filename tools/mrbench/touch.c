// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The first access to spans of one on-demand region, by several threads at once. Each thread has
 * queue pairs and spans of its own, so they share only the region.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "buffer.h"
#include "experiments.h"
#include "loop.h"
#include "report.h"

#define SPAN (2ull << 20)
#define SPANS 512 /* of a thread */

struct toucher {
	pthread_t thread;
	pthread_barrier_t *all;
	struct loop loop;
	struct ibv_mr *mr;
	char *at; /* its first span */
	uint64_t ns[SPANS];
	int err;
};

static void *touch(void *arg)
{
	struct toucher *toucher = arg;
	int i;

	pthread_barrier_wait(toucher->all);
	for (i = 0; i < SPANS && !toucher->err; i++)
		toucher->err = loop_write(&toucher->loop, 8, 0,
					  (uintptr_t)toucher->at + i * SPAN,
					  toucher->mr->rkey, &toucher->ns[i]);
	return NULL;
}

static void report(struct target *target, struct toucher *touchers, int num,
		   uint64_t elapsed)
{
	uint64_t *ns = calloc((size_t)num * SPANS, sizeof(*ns));
	int t, i;

	if (!ns)
		die(2, "no memory");
	for (t = 0; t < num; t++)
		for (i = 0; i < SPANS; i++)
			ns[t * SPANS + i] = touchers[t].ns[i];
	report_row("on demand, first touch", target->name, "threads", num,
		   (struct figure[]){
			   { "touch_ns", median_of(ns, num * SPANS), 0 },
			   { "per_second", num * SPANS * 1e9 / (double)elapsed,
			     0 },
		   },
		   2);
	free(ns);
}

/* A region without pages, of memory of which the process has one page in each span. */
static struct ibv_mr *region(struct target *target, char *space, uint64_t size)
{
	uint64_t at;

	for (at = 0; at < size; at += SPAN)
		space[at] = 1;
	return ibv_reg_mr(target->pd, space, size,
			  TARGET_ACCESS | IBV_ACCESS_ON_DEMAND);
}

static int touch_together(struct target *target, struct toucher *touchers,
			  int num, char *space, struct ibv_mr *mr)
{
	pthread_barrier_t all;
	uint64_t begun;
	int t, err = 0;

	pthread_barrier_init(&all, NULL, num + 1);
	for (t = 0; t < num; t++) {
		touchers[t].all = &all;
		touchers[t].mr = mr;
		touchers[t].at = space + t * SPANS * SPAN;
		if (!loop_open(&touchers[t].loop, target, 4096))
			err = errno ? errno : EIO;
	}
	if (!err) {
		for (t = 0; t < num; t++)
			if (pthread_create(&touchers[t].thread, NULL, touch,
					   &touchers[t]))
				die(2, "no thread: %m");
		pthread_barrier_wait(&all);
		begun = now_ns();
		for (t = 0; t < num; t++) {
			pthread_join(touchers[t].thread, NULL);
			err = err ?: touchers[t].err;
		}
		if (!err)
			report(target, touchers, num, now_ns() - begun);
	}
	for (t = 0; t < num; t++)
		loop_close(&touchers[t].loop);
	pthread_barrier_destroy(&all);
	return err;
}

static int run(struct target *target, int num)
{
	struct toucher *touchers = calloc(num, sizeof(*touchers));
	uint64_t size = num * SPANS * SPAN;
	char *space = mmap(NULL, size + SPAN, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct ibv_mr *mr;
	char *first;
	int err;

	if (!touchers || space == MAP_FAILED)
		die(2, "no memory: %m");
	madvise(space, size + SPAN, MADV_NOHUGEPAGE);
	first = (char *)(((uintptr_t)space + SPAN - 1) & ~(SPAN - 1));
	mr = region(target, first, size);
	err = mr ? touch_together(target, touchers, num, first, mr) : errno;
	if (mr)
		ibv_dereg_mr(mr);
	munmap(space, size + SPAN);
	free(touchers);
	return err;
}

void measure_touch(struct target *targets, int num)
{
	int i, t, err;

	for (i = 0; i < opt.num_touch; i++) {
		if (opt.touch[i] > MAX_THREADS)
			die(1, "1 to %d threads", MAX_THREADS);
		for (t = 0; t < num; t++) {
			err = targets[t].context ?
				      run(&targets[t], opt.touch[i]) :
				      EOPNOTSUPP;
			if (err)
				report_failure("on demand, first touch",
					       targets[t].name, "threads",
					       opt.touch[i], err);
		}
	}
}
