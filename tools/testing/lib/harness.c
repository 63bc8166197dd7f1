// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Options, a process for each test, verdicts. Here a test is only a function; device.c
 * opens the device for each.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "file.h"
#include "harness.h"
#include "pins.h"
#include "resources.h"
#include "sealed.h"
#include "stuck.h"

enum { OK = 0, FAILED = 1, SKIPPED = 4 };

/* Minimum for a test, in seconds: a loaded machine may stall for many seconds. */
enum { LEAST_TIMEOUT = 240 };

struct options opt = {
	.gid_index = -1,
	.seconds = 3,
};

static int report_fd = -1;
static const char *running;
static char where[256];

static void vreport(const char *prefix, const char *fmt, va_list args)
{
	char text[1024];
	int used;

	used = snprintf(text, sizeof(text), "%s", prefix);
	vsnprintf(text + used, sizeof(text) - used, fmt, args);
	if (where[0])
		used = snprintf(text + strlen(text),
				sizeof(text) - strlen(text), " [%s]", where);
	if (write(report_fd, text, strlen(text)) < 0)
		fprintf(stderr, "# %s\n", text);
}

void failed(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	char prefix[128];
	va_list args;

	snprintf(prefix, sizeof(prefix), "%s:%d: ", base ? base + 1 : file,
		 line);
	va_start(args, fmt);
	vreport(prefix, fmt, args);
	va_end(args);
	_exit(FAILED);
}

void skip(const char *fmt, ...)
{
	va_list args;

	where[0] = 0;
	va_start(args, fmt);
	vreport("", fmt, args);
	va_end(args);
	_exit(SKIPPED);
}

void note(const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	printf("# %s\n", text);
	fflush(stdout);
}

void context(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(where, sizeof(where), fmt, args);
	va_end(args);
}

bool in_user_mode_linux(void)
{
	FILE *file = MUST(fopen("/proc/cpuinfo", "r"));
	bool uml = false;
	char line[256];

	while (fgets(line, sizeof(line), file))
		uml |= !!strstr(line, "User Mode Linux");
	fclose(file);
	return uml;
}

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

unsigned int slow(void)
{
	const char *text = getenv("SLOW");
	int factor = text ? atoi(text) : 1;

	return factor > 1 ? factor : 1;
}

double patience(double seconds)
{
	return seconds * slow();
}

bool in_short(void)
{
	return opt.seconds <= 1;
}

bool go_on(double end, bool seen_enough)
{
	return now() < (seen_enough ? end : end + patience(60));
}

bool one_of(int tries, const char *spoilt, bool (*attempt)(void *arg),
	    void *arg)
{
	while (!attempt(arg)) {
		if (!--tries)
			return false;
		note("tried again: %s: %s", running, spoilt);
	}
	return true;
}

void be_silent(void)
{
	int nowhere = open("/dev/null", O_WRONLY);

	CHECK(nowhere >= 0);
	fflush(stdout);
	dup2(nowhere, STDOUT_FILENO);
	report_fd = nowhere;
}

int spawn(void (*body)(void *arg), void *arg)
{
	int pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		FAIL("fork: errno %d", errno);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	body(arg);
	fflush(stdout);
	_exit(OK);
}

int reap(int pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			FAIL("waitpid: errno %d", errno);
	}
	return status;
}

bool reap_within(int pid, double seconds, int *status)
{
	double limit = now() + patience(seconds);

	while (waitpid(pid, status, WNOHANG) != pid) {
		if (now() > limit)
			return false;
		usleep(1000);
	}
	return true;
}

void child_ended(int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		_exit(SKIPPED);
	/* The child has already printed the reason. */
	if (WIFEXITED(status) && WEXITSTATUS(status) == FAILED)
		_exit(FAILED);
	if (status)
		FAIL("a child ended with status %#x", status);
}

void reap_ok(int pid)
{
	child_ended(reap(pid));
}

/* Is the first buffer of the test that has this place in the table part of the sealed file? */
static bool first_is_sealed(size_t index)
{
	return (opt.seed ^ index) & 1;
}

static void child(const struct test *test, size_t index)
{
	/* Its own group, so that a timeout ends its children, too. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rnd_seed(opt.seed + index * 0x10001);
	sealed_first(first_is_sealed(index));
	running = test->name;
	device_open();
	if (test->run_of)
		test->run_of(test->number);
	else if (test->run_with)
		test->run_with(test->argument);
	else
		test->run();
	fflush(stdout);
	_exit(OK);
}

/* Read the output of the child until it and its children have exited or the time is up. */
static bool listen_to(int fd, char *text, size_t size, int timeout)
{
	double end = now() + timeout;
	size_t used = 0;
	ssize_t got;

	for (;;) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
		double left = end - now();

		if (left <= 0 || !poll(&poll_fd, 1, left * 1000 + 1))
			break;
		if (used == size - 1)
			used = 0;
		got = read(fd, text + used, size - 1 - used);
		if (got <= 0) {
			text[used] = 0;
			return true;
		}
		used += got;
		text[used] = 0;
	}
	return false;
}

static int judge(int status, bool in_time, int timeout, char *text, size_t size)
{
	if (!in_time)
		snprintf(text, size, "no end after %d seconds", timeout);
	else if (WIFSIGNALED(status))
		snprintf(text, size, "killed by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		return WEXITSTATUS(status);
	return FAILED;
}

/* Objects of the device, and pages pinned in the whole machine. */
struct state {
	struct resources resources;
	long long pinned;
};

static void read_state(struct state *state)
{
	resources_read(&state->resources);
	/* Nothing else on this machine pins pages. Only root can read the exact number. */
	state->pinned = geteuid() ? 0 : pinned_pages();
}

/* All processes of the test have exited. Is anything left that they created? */
static bool leaks(const struct state *before, char *text, size_t size)
{
	static const char held[] = "a reference on a page of its buffers";
	double end = now() + patience(60);
	struct state after;

	for (;;) {
		read_state(&after);
		if (!resources_differ(&before->resources, &after.resources,
				      text, size)) {
			if (after.pinned != before->pinned)
				snprintf(text, size,
					 "%lld pinned pages, before %lld",
					 after.pinned, before->pinned);
			else if (sealed_is_held())
				snprintf(text, size, "%s", held);
			else
				return false;
		}
		if (now() > end)
			return true;
		usleep(20000);
	}
}

/* Write a line to the kernel log, to show which test the next lines belong to. */
static void mark(const char *program, const char *name)
{
	char line[256];

	snprintf(line, sizeof(line), "test: %s: %s\n", program, name);
	file_write(line, "/dev/kmsg");
}

/* @name as one word of a shell. */
static void print_quoted(const char *name)
{
	putchar('\'');
	for (; *name; name++) {
		if (*name == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*name);
	}
	putchar('\'');
}

/* Print a command that repeats @test with the same random numbers. */
static void print_again(const char *program, const struct test *test)
{
	const char *on = getenv("TRY_ON");

	printf("# again: scripts/try %s%s%s --seed %#llx --only ", on ? on : "",
	       on ? " " : "", program, (unsigned long long)opt.seed);
	print_quoted(test->name);
	putchar('\n');
}

static bool run_one(const char *program, const struct test *test, size_t index,
		    size_t number)
{
	int timeout = patience((test->timeout > LEAST_TIMEOUT ? test->timeout :
								LEAST_TIMEOUT) +
			       opt.seconds);
	char text[2048] = "", left[512] = "";
	struct state before;
	double start = now();
	int pipes[2], pid, status, verdict;
	bool in_time;

	mark(program, test->name);
	read_state(&before);
	sealed_begin();
	if (pipe(pipes))
		exit(2);
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		exit(2);
	if (!pid) {
		close(pipes[0]);
		report_fd = pipes[1];
		child(test, index);
	}
	close(pipes[1]);
	in_time = listen_to(pipes[0], text, sizeof(text), timeout);
	if (!in_time) {
		stuck_print(stdout, pid);
		fflush(stdout);
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
	}
	close(pipes[0]);
	waitpid(pid, &status, 0);
	kill(-pid, SIGKILL);

	verdict = judge(status, in_time, timeout, text, sizeof(text));
	if (leaks(&before, left, sizeof(left))) {
		printf("# left behind: %s\n", left);
		verdict = FAILED;
	}
	sealed_end();
	if (verdict == SKIPPED) {
		printf("ok %zu - %s # SKIP %s\n", number, test->name, text);
		return true;
	}
	if (text[0])
		printf("# %s\n", text);
	if (verdict) {
		printf("# its first buffer was %s\n",
		       first_is_sealed(index) ? "part of a file" : "private");
		print_again(program, test);
	}
	printf("%sok %zu - %s # %.2f s\n", verdict ? "not " : "", number,
	       test->name, now() - start);
	return !verdict;
}

static void usage(FILE *to, const char *name, const char *about)
{
	fprintf(to,
		"Usage: %s [OPTIONS]\n\n%s\n\n"
		"  --device NAME    the device (default: the first)\n"
		"  --gid-index N    of the port (default: the first RoCE v2 one)\n"
		"  --seconds N      of each test that runs for a time (default %d)\n"
		"  --seed N         repeat a run (default: of the clock)\n"
		"  --only TEXT      tests whose name contains TEXT\n"
		"  --list           their names\n"
		"  --help           this\n\n"
		"Exit status: 0 all passed, 1 some failed, 2 nothing could be run\n",
		name, about, opt.seconds);
}

/* The name of a program for scripts/try: its path below the folder PROGRAMS. */
static const char *name_of(const char *path)
{
	const char *folder = getenv("PROGRAMS");
	size_t length = folder ? strlen(folder) : 0;

	if (length && !strncmp(path, folder, length) && path[length] == '/')
		return path + length + 1;
	return path;
}

static bool chosen(const struct test *test)
{
	return !opt.only || strstr(test->name, opt.only);
}

static void parse(int argc, char **argv, const char *about,
		  const struct test *tests, size_t count)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "gid-index", required_argument, NULL, 'g' },
		{ "seconds", required_argument, NULL, 's' },
		{ "seed", required_argument, NULL, 'r' },
		{ "only", required_argument, NULL, 'o' },
		{ "list", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	size_t i;
	int c;

	while ((c = getopt_long(argc, argv, "d:g:s:r:o:lh", options, NULL)) >=
	       0) {
		switch (c) {
		case 'd':
			opt.device = optarg;
			break;
		case 'g':
			opt.gid_index = atoi(optarg);
			break;
		case 's':
			opt.seconds = atoi(optarg);
			break;
		case 'r':
			opt.seed = strtoull(optarg, NULL, 0);
			break;
		case 'o':
			opt.only = optarg;
			break;
		case 'l':
			for (i = 0; i < count; i++)
				puts(tests[i].name);
			exit(0);
		case 'h':
			usage(stdout, argv[0], about);
			exit(0);
		default:
			usage(stderr, argv[0], about);
			exit(2);
		}
	}
	if (optind != argc) {
		usage(stderr, argv[0], about);
		exit(2);
	}
}

int harness_main(int argc, char **argv, const char *about,
		 const struct test *tests, size_t count)
{
	const char *program = name_of(argv[0]), *why;
	size_t i, planned = 0, number = 0;
	bool all_ok = true;

	opt.seed = (uint64_t)time(NULL) << 20 ^ getpid();
	parse(argc, argv, about, tests, count);
	why = device_missing();
	if (why) {
		fprintf(stderr, "%s: %s\n", argv[0], why);
		return 2;
	}
	for (i = 0; i < count; i++)
		planned += chosen(&tests[i]);
	if (!planned) {
		fprintf(stderr, "%s: no such test\n", argv[0]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("KTAP version 1\n# %s\n# seed %#llx\n1..%zu\n", about,
	       (unsigned long long)opt.seed, planned);
	for (i = 0; i < count; i++) {
		if (chosen(&tests[i]))
			all_ok &= run_one(program, &tests[i], i, ++number);
	}
	return all_ok ? 0 : 1;
}
