// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand regions: the cost of a missing page, of a prefetched page, and of an invalidation; the
 * cost with all pages present; and the deregistration of many regions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "buffer.h"
#include "experiments.h"
#include "loop.h"
#include "report.h"

#define PAGES 2048
#define BUFFER (PAGES * 4096ull)
#define ROUNDS 31
#define MANY_SIZE (2ull << 20)

enum { ACCESS = TARGET_ACCESS | IBV_ACCESS_ON_DEMAND };

static struct ibv_mr *reg(struct target *target, char *at, uint64_t size)
{
	return ibv_reg_mr(target->pd, at, size, ACCESS);
}

static int prefetch(struct target *target, struct ibv_mr *mr, uint64_t *ns)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr,
			       .length = mr->length,
			       .lkey = mr->lkey };
	uint64_t begun = now_ns();
	int err;

	err = ibv_advise_mr(target->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			    IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
	*ns = now_ns() - begun;
	return err;
}

/* Write a few bytes to each page of @mr, in order. */
static int touch_all(struct loop *loop, struct ibv_mr *mr, uint64_t *least)
{
	static uint64_t ns[PAGES];
	int i, err = 0;

	for (i = 0; i < PAGES && !err; i++)
		err = loop_write(loop, 8, 0, (uintptr_t)mr->addr + i * 4096ull,
				 mr->rkey, &ns[i]);
	*least = min_of(ns, PAGES);
	return err;
}

static uint64_t drop(char *buffer)
{
	uint64_t begun = now_ns();

	madvise(buffer, BUFFER, MADV_DONTNEED);
	return now_ns() - begun;
}

/* Negative if chance is greater than the difference: to print 0 then would be a bias. */
static double more(uint64_t a, uint64_t b)
{
	return (double)a - (double)b;
}

/* Misses: pages that only the process has; then pages that nobody has. */
static int faults(struct target *target, struct loop *loop, char *buffer,
		  struct figure *figures)
{
	uint64_t missing = 0, there = 0, fresh = 0;
	struct ibv_mr *mr = reg(target, buffer, BUFFER);
	int err;

	if (!mr)
		return errno;
	err = touch_all(loop, mr, &missing);
	if (!err)
		err = touch_all(loop, mr, &there);
	drop(buffer);
	if (!err)
		err = touch_all(loop, mr, &fresh);
	ibv_dereg_mr(mr);
	figures[0] = (struct figure){ "fault_ns", more(missing, there), 0 };
	figures[1] = (struct figure){ "fault_new_ns", more(fresh, there), 0 };
	return err;
}

/* Per page: prefetch, and munmap() with and without a region that has the page. */
static int fetches(struct target *target, char *buffer, struct figure *figures)
{
	uint64_t fetched[ROUNDS], with[ROUNDS], without[ROUNDS];
	struct ibv_mr *mr;
	int i, err = 0;

	for (i = 0; i < ROUNDS && !err; i++) {
		memset(buffer, i, BUFFER);
		without[i] = drop(buffer);
		memset(buffer, i, BUFFER);
		mr = reg(target, buffer, BUFFER);
		if (!mr)
			return errno;
		err = prefetch(target, mr, &fetched[i]);
		with[i] = drop(buffer);
		ibv_dereg_mr(mr);
	}
	if (err)
		return err;
	figures[0] = (struct figure){
		"prefetch_ns", (double)median_of(fetched, ROUNDS) / PAGES, 1
	};
	figures[1] = (struct figure){
		"invalidate_ns",
		more(min_of(with, ROUNDS), min_of(without, ROUNDS)) / PAGES, 1
	};
	return 0;
}

static void pages(struct target *target, struct loop *loop, char *buffer)
{
	struct figure figures[4];
	int err;

	memset(buffer, 1, BUFFER);
	err = faults(target, loop, buffer, figures);
	if (!err)
		err = fetches(target, buffer, figures + 2);
	if (err)
		report_failure("on demand, a page", target->name, "bytes", 4096,
			       err);
	else
		report_row("on demand, a page", target->name, "bytes", 4096,
			   figures, 4);
}

/* Write to a pinned region and to one on demand, in turns, with all pages present. */
static int beside_pinned(struct loop *loop, uint64_t size, char *buffer,
			 struct ibv_mr **mrs, uint64_t *medians)
{
	enum { MOST = 2001 };
	static uint64_t ns[2][MOST];
	uint64_t begun = now_ns();
	int i, which, err = 0;

	for (i = 0; i < MOST && !err; i++) {
		for (which = 0; which < 2 && !err; which++)
			err = loop_write(loop, size, 0, (uintptr_t)buffer,
					 mrs[which]->rkey, &ns[which][i]);
		if (i > 4 && now_ns() - begun > 1e9 * opt.seconds)
			break;
	}
	for (which = 0; which < 2; which++)
		medians[which] = median_of(ns[which], i);
	return err;
}

static void writes(struct target *target, struct loop *loop, char *buffer)
{
	static const uint64_t sizes[] = { 8, 4096, 65536, 1 << 20 };
	struct ibv_mr *mrs[2] = {
		ibv_reg_mr(target->pd, buffer, BUFFER, TARGET_ACCESS),
		reg(target, buffer, BUFFER),
	};
	uint64_t medians[2];
	size_t i;
	int err;

	for (i = 0; mrs[0] && mrs[1] && i < sizeof(sizes) / sizeof(*sizes);
	     i++) {
		err = beside_pinned(loop, sizes[i], buffer, mrs, medians);
		if (err) {
			report_failure("on demand, write", target->name,
				       "bytes", sizes[i], err);
			break;
		}
		report_row("on demand, write", target->name, "bytes", sizes[i],
			   (struct figure[]){
				   { "pinned_ns", medians[0], 0 },
				   { "ns", medians[1], 0 },
				   { "of_pinned",
				     (double)medians[0] / medians[1], 3 },
			   },
			   3);
	}
	for (i = 0; i < 2; i++)
		if (mrs[i])
			ibv_dereg_mr(mrs[i]);
}

/* Regions of 2 MiB each, with no page or one page present. */
static void many(struct target *target, bool present)
{
	const char *what = present ? "on demand, end of used regions" :
				     "on demand, end of regions";
	uint64_t count = opt.on_demand, i, made, ns, registered;
	char *space = mmap(NULL, count * MANY_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct ibv_mr **mrs = calloc(count, sizeof(*mrs));
	struct ibv_sge sge = { .length = 4096 };

	if (space == MAP_FAILED || !mrs)
		die(2, "no address space: %m");
	ns = now_ns();
	for (made = 0; made < count; made++) {
		mrs[made] = reg(target, space + made * MANY_SIZE, MANY_SIZE);
		if (!mrs[made])
			break;
	}
	registered = now_ns() - ns;
	for (i = 0; present && i < made; i++) {
		sge.addr = (uintptr_t)mrs[i]->addr;
		sge.lkey = mrs[i]->lkey;
		ibv_advise_mr(target->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			      IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
	}
	ns = now_ns();
	for (i = 0; i < made; i++)
		ibv_dereg_mr(mrs[i]);
	ns = now_ns() - ns;
	if (made < count)
		report_failure(what, target->name, "regions", made, ENOMEM);
	else
		report_row(what, target->name, "regions", count,
			   (struct figure[]){
				   { "reg_ns_each", (double)registered / count,
				     0 },
				   { "dereg_ns_each", (double)ns / count, 0 },
				   { "dereg_ms", ns / 1e6, 1 },
			   },
			   3);
	free(mrs);
	munmap(space, count * MANY_SIZE);
}

void measure_on_demand(struct target *targets, int num)
{
	char *buffer = buffer_make(BUFFER);
	int t;

	if (!buffer)
		die(2, "no memory for the regions: %m");
	for (t = 0; t < num; t++) {
		struct loop loop = { 0 };

		if (!targets[t].context)
			continue;
		if (loop_open(&loop, &targets[t], 1 << 20)) {
			pages(&targets[t], &loop, buffer);
			writes(&targets[t], &loop, buffer);
		} else {
			report_failure("on demand, a page", targets[t].name,
				       "bytes", 4096, errno);
		}
		loop_close(&loop);
		many(&targets[t], false);
		many(&targets[t], true);
	}
	buffer_free(buffer, BUFFER);
}
