// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * pinionctl: parses options and calls commands.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pinion/version.h>

#include "ctl.h"
#include "row.h"

static const char help[] =
	"Usage: pinionctl [OPTIONS] COMMAND [DEVICE] [FIELD VALUE]...\n"
	"\n"
	"Shows what RDMA devices have, and what their memory regions are. Of any device as\n"
	"far as its driver tells; of a pinion device all.\n"
	"\n"
	"  dev                   the devices and their ports\n"
	"  mr list               the memory regions, a line each\n"
	"  mr show               all that is known of each\n"
	"  mr watch              what comes and goes of those on demand, and of dma-bufs\n"
	"  mr map DEVICE KEY     where the memory of a key is, run by run (pinion, root)\n"
	"  mr invalidate DEVICE KEY [OFFSET LENGTH]\n"
	"                        take its pages away, as if their owner had (pinion, root)\n"
	"  mr check              compares each with its owner's page tables (pinion, root)\n"
	"  key                   all keys, of windows and DEVX objects, too (pinion, root)\n"
	"  qp|cq|srq list        queue pairs, completion queues, shared receive queues\n"
	"  qp|cq|srq show        all that is known of each\n"
	"  stat                  the counters of each port\n"
	"  caps DEVICE           what the device can do, and its limits\n"
	"  doctor                what keeps RDMA from working here, and what to do about it\n"
	"  doctor -- COMMAND...  run it, and say why its registrations were refused (root)\n"
	"  trace [EVENT]... [-- COMMAND...]\n"
	"                        what the driver does, as it comes; of COMMAND, or all (root)\n"
	"  record FILE -- COMMAND...\n"
	"                        run it, and write down what it registers and posts, of any device\n"
	"  replay FILE [DEVICE]  do that again, and say what comes out differently\n"
	"  inject                the failures that are ordered (root)\n"
	"  inject KIND [WORD VALUE]... [-- COMMAND...]\n"
	"                        let it fail: pin, watch, table, key, copy-out, attach, map, fault,\n"
	"                        fault-delay, invalidate, status, fatal, late, loss, corrupt,\n"
	"                        duplicate, reorder, rnr, overflow, hold; or be small: leaf, span,\n"
	"                        batch, stretch; of COMMAND while it runs. WORD: errno, status, us,\n"
	"                        ms, size, pid, key, qp, skip, every, percent, seed, count\n"
	"  inject port-down|port-up|device-fatal DEVICE\n"
	"                        at once, and until `port-up'; a broken device for good\n"
	"  inject off [ID]       let nothing fail any more, or not that\n"
	"\n"
	"  FIELD VALUE           only objects that have this: pid 4711, key 0x1234ab00\n"
	"  -j, --json            a list of objects for programs\n"
	"  -w, --watch[=SECONDS] again and again, like top (default: each second)\n"
	"  -h, --help\n"
	"      --version\n"
	"\n"
	"Who has not CAP_NET_ADMIN is told no keys and no addresses.\n"
	"Exit status: 0, 1 if nothing like that is there or something is wrong with it, 2 if\n"
	"it could not be done or was asked for wrongly.\n";

unsigned int watch_seconds;
/* The words behind `--', since getopt_long() removes it; NULL: there was none. */
static char **behind;

void die(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "pinionctl: ");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(EXIT_CANNOT);
}

void *need(void *memory)
{
	if (!memory)
		die("no memory");
	return memory;
}

char *print(const char *fmt, ...)
{
	va_list args;
	char *text;
	int rc;

	va_start(args, fmt);
	rc = vasprintf(&text, fmt, args);
	va_end(args);
	return need(rc < 0 ? NULL : text);
}

const char *file_line(const char *fmt, ...)
{
	static char line[512];
	va_list args;
	char *path;
	FILE *file;
	int rc;

	va_start(args, fmt);
	rc = vasprintf(&path, fmt, args);
	va_end(args);
	file = fopen(need(rc < 0 ? NULL : path), "re");
	free(path);
	if (!file)
		return NULL;
	if (!fgets(line, sizeof(line), file))
		line[0] = 0;
	fclose(file);
	line[strcspn(line, "\n")] = 0;
	return line;
}

int watch(int (*draw)(char **words), char **words)
{
	int rc;

	for (;;) {
		if (watch_seconds && isatty(STDOUT_FILENO))
			printf("\033[H\033[J");
		rc = draw(words);
		if (!watch_seconds)
			return rc;
		sleep(watch_seconds);
	}
}

static unsigned int seconds(const char *text)
{
	unsigned long value;
	char *end;

	if (!text)
		return 1;
	value = strtoul(text, &end, 10);
	if (end == text || *end || !value || value > 86400)
		die("`%s' is not a number of seconds", text);
	return value;
}

int part_run(const char *command, const struct part *parts, char **words)
{
	const struct part *part = parts;

	if (!words[0])
		return parts->run(words);
	for (; part->name; part++)
		if (!strcmp(part->name, words[0]))
			return part->run(words + 1);
	die("%s: there is no `%s %s'; see --help", command, command, words[0]);
}

/* getopt_long() has reordered the words, but these are still the last. */
char **command_of(char **words)
{
	static char **command;
	int i, num = 0, all = 0;

	if (!behind)
		return NULL;
	while (behind[num])
		num++;
	if (!num)
		die("nothing comes behind `--'");
	while (words[all])
		all++;
	command = need(calloc(num + 1, sizeof(*command)));
	for (i = 0; i < num; i++)
		command[i] = words[all - num + i];
	words[all - num] = NULL;
	return command;
}

static int command(char **words)
{
	static const struct part commands[] = {
		{ "dev", dev_command },
		{ "mr", mr_command },
		{ "key", key_command },
		{ "stat", stat_command },
		{ "caps", caps_command },
		{ "doctor", doctor_command },
		{ "inject", inject_command },
		{ "record", record_command },
		{ "replay", replay_command },
		{ "trace", trace_command },
		{},
	};
	const struct part *part;

	if (!words[0])
		die("no command; see --help");
	for (part = commands; part->name; part++)
		if (!strcmp(part->name, words[0]))
			return part->run(words + 1);
	return object_command(words[0], words + 1);
}

int main(int argc, char **argv)
{
	enum { VERSION = 256 };
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'j' },
		{ "version", no_argument, NULL, VERSION },
		{ "watch", optional_argument, NULL, 'w' },
		{},
	};
	int c;

	for (c = 1; c < argc && !behind; c++)
		if (!strcmp(argv[c], "--"))
			behind = argv + c + 1;
	while ((c = getopt_long(argc, argv, "hjw", options, NULL)) != -1) {
		switch (c) {
		case 'h':
			fputs(help, stdout);
			return EXIT_GOOD;
		case 'j':
			json = true;
			break;
		case 'w':
			watch_seconds = seconds(optarg);
			break;
		case VERSION:
			printf("pinionctl %s\n", PINION_VERSION);
			return EXIT_GOOD;
		default:
			fprintf(stderr, "pinionctl: see --help\n");
			return EXIT_CANNOT;
		}
	}
	return command(argv + optind);
}
