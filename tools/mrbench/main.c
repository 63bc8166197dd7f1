// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrbench: measures the cost of memory registration, on any verbs device. Parses options.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pinion/version.h>

#include "experiments.h"
#include "plot.h"
#include "traced.h"

struct options opt = { .seconds = 1.0 };

static const char help[] =
	"Usage: mrbench [OPTIONS]\n"
	"\n"
	"Measures the cost of registering and deregistering memory on verbs devices: median\n"
	"and minimum, cost per page, and ratio to bare pinning. Devices take turns.\n"
	"\n"
	"  -d, --device DEV,...   the devices (default: the first); `raw' only pins memory, by\n"
	"                         the module rawpin, and is the base of ratios; `raw-call'\n"
	"                         is the same including its two system calls\n"
	"  -s, --size SIZE,...    sizes as 4096, 64K, 1G; FROM..TO: in steps of a factor of 4\n"
	"                         (default 4K..1G)\n"
	"  -u, --pages KIND       4k (default), thp, huge (reserved pages of 2 MiB)\n"
	"  -m, --memory SIZE      map this much memory repeatedly to fill a larger region:\n"
	"                         for regions larger than the machine's memory\n"
	"      --scatter          pages that are not adjacent in memory\n"
	"  -i, --iterations N     rounds for each size (default: as many as fit the time)\n"
	"  -t, --time SECONDS     for each size and device (default 1)\n"
	"      --kernel           also the time in the driver, by its tracepoints\n"
	"      --rereg            also ibv_rereg_mr(3): same memory, other rights\n"
	"      --threads N        instead: N threads at once (may be 1), each with its own\n"
	"                         memory: p50, p99, max, and pairs per second\n"
	"      --live N,...       instead of sizes: one more region of 4 KiB while N others\n"
	"                         exist, ascending, and a write to one of those; FROM..TO:\n"
	"                         in steps of a factor of 10\n"
	"      --exit N           instead: exit time of a process that leaves N regions, N/2,\n"
	"                         and N/10\n"
	"      --write SIZE,...   instead: one RDMA write from the device to itself\n"
	"      --on-demand N      instead: on-demand regions: page faults, prefetch and\n"
	"                         invalidation, writes compared with pinned memory, and\n"
	"                         deregistration of N regions of 2 MiB\n"
	"      --touch N,...      instead: first access to 2 MiB spans of one on-demand\n"
	"                         region, by N threads at once, each to its own spans\n"
	"      --json             print one JSON object per line\n"
	"      --plot FILE        also plot the results to FILE, as SVG (needs gnuplot)\n"
	"  -h, --help\n"
	"      --version\n"
	"\n"
	"Exit status: 0, 1 for a wrong option, 2 if nothing could be measured. If a device\n"
	"refuses a registration, a line says so; this is not an error.\n";

void die(int status, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "mrbench: ");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(status);
}

static uint64_t number(const char *text)
{
	static const char units[] = "KMGT";
	const char *unit;
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (end == text || errno)
		die(1, "`%s' is not a number", text);
	if (*end) {
		unit = strchr(units, *end & ~0x20);
		if (!unit || end[1])
			die(1, "`%s' is not a size", text);
		value <<= 10 * (unit - units + 1);
	}
	return value;
}

/* "A,B,C..D": each word of it, a range in steps of @factor. */
static int list(char *text, uint64_t *values, int factor)
{
	char *word, *save = NULL, *to;
	int num = 0;

	for (word = strtok_r(text, ",", &save); word;
	     word = strtok_r(NULL, ",", &save)) {
		uint64_t value, last;

		to = strstr(word, "..");
		if (to) {
			*to = 0;
			to += 2;
		}
		value = number(word);
		last = to ? number(to) : value;
		do {
			if (num == MAX_STEPS)
				die(1, "too many steps");
			values[num++] = value;
			value *= factor;
		} while (value && value <= last);
	}
	if (!num)
		die(1, "an empty list");
	return num;
}

static void more_than_0(const uint64_t *values, int num)
{
	while (num--)
		if (!values[num])
			die(1, "values must be greater than 0");
}

static enum pages pages(const char *name)
{
	static const char *const names[] = { "4k", "thp", "huge" };
	int i;

	for (i = 0; i < 3; i++)
		if (!strcasecmp(name, names[i]))
			return i;
	die(1, "`%s': 4k, thp or huge", name);
}

static int devices(struct target *targets, char *names)
{
	struct ibv_device **first;
	char *name, *save = NULL;
	int num = 0;

	if (!names) {
		first = ibv_get_device_list(NULL);
		if (!first || !first[0])
			die(2, "no verbs device");
		target_open(&targets[0], strdup(ibv_get_device_name(first[0])));
		ibv_free_device_list(first);
		return 1;
	}
	for (name = strtok_r(names, ",", &save); name;
	     name = strtok_r(NULL, ",", &save)) {
		if (num == MAX_TARGETS)
			die(1, "at most %d devices", MAX_TARGETS);
		target_open(&targets[num++], name);
	}
	if (!num)
		die(1, "no devices");
	return num;
}

enum {
	SCATTER = 256,
	THREADS,
	PLOT,
	KERNEL,
	REREG,
	LIVE,
	EXIT,
	WRITE,
	ON_DEMAND,
	TOUCH,
	JSON,
	VERSION
};

static const struct option options[] = {
	{ "device", required_argument, NULL, 'd' },
	{ "size", required_argument, NULL, 's' },
	{ "pages", required_argument, NULL, 'u' },
	{ "memory", required_argument, NULL, 'm' },
	{ "scatter", no_argument, NULL, SCATTER },
	{ "iterations", required_argument, NULL, 'i' },
	{ "time", required_argument, NULL, 't' },
	{ "kernel", no_argument, NULL, KERNEL },
	{ "rereg", no_argument, NULL, REREG },
	{ "threads", required_argument, NULL, THREADS },
	{ "plot", required_argument, NULL, PLOT },
	{ "live", required_argument, NULL, LIVE },
	{ "exit", required_argument, NULL, EXIT },
	{ "write", required_argument, NULL, WRITE },
	{ "on-demand", required_argument, NULL, ON_DEMAND },
	{ "touch", required_argument, NULL, TOUCH },
	{ "json", no_argument, NULL, JSON },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, VERSION },
	{ 0 },
};

/* Returns the names of the devices, or NULL. */
static char *parse(int argc, char **argv)
{
	char *names = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "d:s:u:m:i:t:h", options, NULL)) !=
	       -1) {
		switch (c) {
		case 'd':
			names = optarg;
			break;
		case 's':
			opt.num_sizes = list(optarg, opt.sizes, 4);
			more_than_0(opt.sizes, opt.num_sizes);
			break;
		case 'u':
			opt.pages = pages(optarg);
			break;
		case 'm':
			opt.memory = number(optarg);
			break;
		case 'i':
			opt.iterations = number(optarg);
			break;
		case 't':
			opt.seconds = atof(optarg);
			break;
		case SCATTER:
			opt.scatter = true;
			break;
		case KERNEL:
			opt.kernel = true;
			break;
		case REREG:
			opt.rereg = true;
			break;
		case THREADS:
			opt.threads = number(optarg);
			if (opt.threads < 1 || opt.threads > MAX_THREADS)
				die(1, "1 to %d threads", MAX_THREADS);
			break;
		case PLOT:
			plot_open(optarg);
			break;
		case LIVE:
			opt.num_live = list(optarg, opt.live, 10);
			more_than_0(opt.live, opt.num_live);
			break;
		case EXIT:
			opt.at_exit = number(optarg);
			break;
		case WRITE:
			opt.num_writes = list(optarg, opt.writes, 4);
			break;
		case ON_DEMAND:
			opt.on_demand = number(optarg);
			break;
		case TOUCH:
			opt.num_touch = list(optarg, opt.touch, 2);
			more_than_0(opt.touch, opt.num_touch);
			break;
		case JSON:
			opt.json = true;
			break;
		case 'h':
			fputs(help, stdout);
			exit(0);
		case VERSION:
			puts("mrbench " PINION_VERSION);
			exit(0);
		default:
			exit(1);
		}
	}
	if (optind < argc)
		die(1, "`%s'? see --help", argv[optind]);
	return names;
}

int main(int argc, char **argv)
{
	char all_sizes[] = "4K..1G";
	struct target targets[MAX_TARGETS] = { 0 };
	char *names = parse(argc, argv);
	int num = devices(targets, names), t;

	if (!opt.num_sizes && !opt.num_live && !opt.at_exit &&
	    !opt.num_writes && !opt.on_demand && !opt.num_touch)
		opt.num_sizes = list(all_sizes, opt.sizes, 4);
	if (opt.kernel && opt.threads)
		die(1, "--kernel and --threads exclude each other");
	if (opt.kernel)
		traced_open();
	if (opt.threads)
		measure_threads(targets, num);
	else if (opt.num_sizes)
		measure_sizes(targets, num);
	if (opt.num_live)
		measure_live(targets, num);
	if (opt.at_exit)
		measure_exit(targets, num);
	if (opt.num_writes)
		measure_writes(targets, num);
	if (opt.on_demand)
		measure_on_demand(targets, num);
	if (opt.num_touch)
		measure_touch(targets, num);
	traced_close();
	plot_close();
	for (t = 0; t < num; t++)
		target_close(&targets[t]);
	return 0;
}
