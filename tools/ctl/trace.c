// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * trace: prints the driver's events as they occur, of all processes or of a command.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "ctl.h"
#include "row.h"
#include "tracing.h"

static volatile sig_atomic_t ended;
/* The name of the command; NULL if all processes are traced. */
static char *child_name;
static pid_t child_pid;

static void trace_end(int sig)
{
	(void)sig;
	ended = 1;
}

/* Parse the NAME=VALUE pairs of an event. Its other text is only in the field `what'. */
static void row_values(struct row *row, char *text)
{
	char *word, *value, *end;
	uint64_t number;

	while ((word = strsep(&text, " "))) {
		value = strchr(word, '=');
		if (!value)
			continue;
		*value++ = 0;
		/* The last value may be followed by a reason. */
		value[strcspn(value, ":,")] = 0;
		number = strtoull(value, &end, 0);
		if (end == value || *end || *value == '-')
			row_text(row, word, value);
		else if (!strncmp(value, "0x", 2))
			row_hex(row, word, number);
		else
			row_number(row, word, number);
	}
}

/*
 * The kernel saves the name of a process at context switches, which may be too late for an event:
 * in this case read it from the process. Our own command may have ended, but its name is known.
 */
static const char *trace_comm(const char *comm, const char *pid)
{
	const char *now;

	if (strcmp(comm, "<...>"))
		return comm;
	now = file_line("/proc/%s/comm", pid);
	if (now)
		return now;
	return child_name && (pid_t)atoi(pid) == child_pid ? child_name : comm;
}

/* "COMM-PID [CPU] FLAGS SECONDS: EVENT: WHAT". COMM may contain any characters. */
static bool trace_row(struct row *row, char *line)
{
	char *cpu = line, *comm, *pid, *time, *event, *what;
	int digits;

	do {
		cpu = strstr(cpu, " [");
		if (!cpu)
			return false;
		cpu += 2;
		digits = strspn(cpu, "0123456789");
	} while (!digits || cpu[digits] != ']');
	cpu[-2] = 0;
	cpu[digits] = 0;
	time = cpu + digits + 1;
	time += strspn(time, " ");
	time += strcspn(time, " ");
	time += strspn(time, " ");
	event = strstr(time, ": ");
	what = event ? strstr(event + 2, ": ") : NULL;
	if (!what)
		return false;
	*event = 0;
	event += 2;
	*what = 0;
	what += 2;
	line += strspn(line, " ");
	for (digits = strlen(line); digits && line[digits - 1] == ' ';)
		line[--digits] = 0;
	comm = line;
	pid = strrchr(line, '-');
	if (!pid)
		return false;
	*pid++ = 0;
	row_text(row, "time", time);
	row_text(row, "comm", trace_comm(comm, pid));
	row_number(row, "pid", strtoull(pid, NULL, 10));
	row_number(row, "cpu", strtoull(cpu, NULL, 10));
	row_text(row, "event", event);
	row_text(row, "what", what);
	row_values(row, what);
	return true;
}

static void trace_line(char *line)
{
	struct row row = {};

	if (trace_row(&row, line)) {
		out_row(&row);
		row_clear(&row);
	} else if (strstr(line, "LOST")) {
		fprintf(stderr, "pinionctl: events were lost: %s\n", line);
	}
	free(row.fields);
}

/* Read all that is available. A line may arrive in parts. */
static void trace_read(int fd)
{
	static char text[1 << 16];
	static size_t length;
	char *line, *end;
	ssize_t got;

	while ((got = read(fd, text + length, sizeof(text) - 1 - length)) > 0) {
		length += got;
		text[length] = 0;
		for (line = text; (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			trace_line(line);
		}
		length -= line - text;
		memmove(text, line, length);
		/* No event is that long: discard it. */
		if (length == sizeof(text) - 1)
			length = 0;
	}
	fflush(stdout);
}

/* Print events until ^C, or until @child has ended, unless it is NULL. */
static void trace_follow(int fd, struct child *child)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	bool over = false;

	while (!over) {
		over = child ? child_ended(child, false) : ended;
		trace_read(fd);
		if (!over)
			poll(&pollfd, 1, 50);
	}
}

/* Enable the events that @words name, or all. */
static void trace_ask(struct tracing *tracing, char **words)
{
	char *names;

	if (!*words && !tracing_add(tracing, NULL)) {
		tracing_end(tracing);
		die("no events: pinion is not loaded, or the kernel has no tracepoints");
	}
	for (; *words; words++) {
		if (!strchr(*words, '/') && tracing_add(tracing, *words))
			continue;
		names = tracing_events(tracing);
		tracing_end(tracing);
		die("there is no event `%s'; there are%s", *words, names);
	}
}

int trace_command(char **words)
{
	static const struct column columns[] = {
		{ "time", 14 },	  { "pid", 6 },	  { "comm", -16 },
		{ "event", -14 }, { "what", -1 }, {},
	};
	char **command = command_of(words);
	struct tracing tracing;
	struct child child;
	int fd;

	if (command)
		child = child_make(command);
	if (!tracing_begin(&tracing, command ? child.pid : 0))
		die("cannot trace: root and tracefs are needed\n"
		    "(mount -t tracefs none /sys/kernel/tracing)");
	trace_ask(&tracing, words);
	fd = tracing_open(&tracing, "trace_pipe", O_RDONLY | O_NONBLOCK);
	if (fd < 0) {
		tracing_end(&tracing);
		die("trace_pipe: %m");
	}
	if (command) {
		child_pid = child.pid;
		child_name = print("%.15s", basename(command[0]));
		child_go(&child);
	} else {
		struct sigaction action = { .sa_handler = trace_end };

		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		/* Not if nohup(1) has begun us. */
		if (signal(SIGHUP, SIG_IGN) != SIG_IGN)
			sigaction(SIGHUP, &action, NULL);
		/* The reader may close its pipe: then writing fails, and the trace ends. */
		sigaction(SIGPIPE, &action, NULL);
	}
	out_begin(LAYOUT_TABLE, columns);
	trace_follow(fd, command ? &child : NULL);
	close(fd);
	tracing_end(&tracing);
	/* Last, as it ends the program if something could not be written. */
	out_end();
	free(child_name);
	return command ? child_status(&child) : EXIT_GOOD;
}
