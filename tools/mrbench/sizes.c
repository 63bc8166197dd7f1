// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The cost of a registration by size. Each round measures all targets. The ratio to raw pinning is
 * the median of the rounds' ratios.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "experiments.h"
#include "report.h"

#define MAX_ROUNDS 2000
#define MIN_ROUNDS 5

static struct cost *costs[MAX_TARGETS];

#define COLUMN(field)                                       \
	static uint64_t field##_of(const struct cost *cost) \
	{                                                   \
		return cost->field;                         \
	}
COLUMN(reg)
COLUMN(dereg)
COLUMN(rereg_memory)
COLUMN(rereg_access)
COLUMN(kernel)
static uint64_t both_of(const struct cost *cost)
{
	return cost->reg + cost->dereg;
}

static uint64_t values[MAX_ROUNDS];

static uint64_t *collect(int target, int rounds,
			 uint64_t (*column)(const struct cost *))
{
	int i;

	for (i = 0; i < rounds; i++)
		values[i] = column(&costs[target][i]);
	return values;
}

/* The ratio in thousandths; NAN without raw pinning. */
static double ratio_to(int raw, int target, int rounds,
		       uint64_t (*column)(const struct cost *))
{
	uint64_t floor;
	int i;

	if (raw < 0)
		return NAN;
	for (i = 0; i < rounds; i++) {
		floor = both_of(&costs[raw][i]);
		values[i] =
			column(&costs[target][i]) * 1000 / (floor ? floor : 1);
	}
	return median_of(values, rounds) / 1000.0;
}

static double known(uint64_t ns)
{
	return ns ? (double)ns : NAN;
}

static void report(struct target *targets, int num, uint64_t size, int rounds,
		   const int *errors)
{
	uint64_t pages = (size + buffer_page() - 1) / buffer_page();
	uint64_t least[MAX_TARGETS];
	int raw = -1, call = -1, t;

	for (t = 0; t < num; t++) {
		if (!targets[t].context && !errors[t])
			*(targets[t].in_kernel ? &raw : &call) = t;
		least[t] = min_of(collect(t, rounds, both_of), rounds);
	}
	for (t = 0; t < num; t++) {
		double kernel =
			median_of(collect(t, rounds, kernel_of), rounds);
		double both = median_of(collect(t, rounds, both_of), rounds);
		struct figure row[] = {
			{ "reg_ns",
			  median_of(collect(t, rounds, reg_of), rounds), 0 },
			{ "dereg_ns",
			  median_of(collect(t, rounds, dereg_of), rounds), 0 },
			{ "both_ns", both, 0 },
			{ "reg_min_ns",
			  min_of(collect(t, rounds, reg_of), rounds), 0 },
			{ "dereg_min_ns",
			  min_of(collect(t, rounds, dereg_of), rounds), 0 },
			{ "both_min_ns", least[t], 0 },
			{ "ns_per_page", both / pages, 1 },
			{ "of_raw", ratio_to(raw, t, rounds, both_of), 3 },
			{ "of_call", ratio_to(call, t, rounds, both_of), 3 },
			{ "of_raw_min",
			  raw < 0 ? NAN : (double)least[t] / least[raw], 3 },
			{ "kernel_ns", kernel > 0 ? kernel : NAN, 0 },
			{ "kernel_of_raw",
			  kernel > 0 ? ratio_to(raw, t, rounds, kernel_of) :
				       NAN,
			  3 },
			{ "rereg_mem_ns",
			  known(median_of(collect(t, rounds, rereg_memory_of),
					  rounds)),
			  0 },
			{ "rereg_acc_ns",
			  known(median_of(collect(t, rounds, rereg_access_of),
					  rounds)),
			  0 },
		};

		if (errors[t])
			report_failure("size", targets[t].name, "bytes", size,
				       errors[t]);
		else
			report_row("size", targets[t].name, "bytes", size, row,
				   sizeof(row) / sizeof(row[0]) -
					   (opt.rereg ? 0 : 2));
	}
}

static void measure(struct target *targets, int num, uint64_t size,
		    void *buffer)
{
	uint64_t until = now_ns() + opt.seconds * 1e9 * num;
	int errors[MAX_TARGETS] = { 0 };
	int round, max = opt.iterations ? opt.iterations : MAX_ROUNDS, t;
	struct cost warm;

	if (max > MAX_ROUNDS)
		max = MAX_ROUNDS;
	for (t = 0; t < num; t++)
		errors[t] = target_round(&targets[t], buffer, size, &warm);
	for (round = 0; round < max; round++) {
		if (!opt.iterations && round >= MIN_ROUNDS && now_ns() > until)
			break;
		for (t = 0; t < num; t++)
			if (!errors[t])
				errors[t] = target_round(&targets[t], buffer,
							 size,
							 &costs[t][round]);
	}
	report(targets, num, size, round, errors);
}

void measure_sizes(struct target *targets, int num)
{
	void *buffer;
	int i, t;

	for (t = 0; t < num; t++) {
		costs[t] = calloc(MAX_ROUNDS, sizeof(*costs[t]));
		if (!costs[t])
			die(2, "no memory");
	}
	for (i = 0; i < opt.num_sizes; i++) {
		buffer = buffer_make(opt.sizes[i]);
		if (!buffer) {
			report_failure("size", "memory", "bytes", opt.sizes[i],
				       errno);
			continue;
		}
		measure(targets, num, opt.sizes[i], buffer);
		buffer_free(buffer, opt.sizes[i]);
	}
	for (t = 0; t < num; t++)
		free(costs[t]);
}
