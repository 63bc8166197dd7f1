// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads the durations of pinion:mr_reg and pinion:mr_dereg from a trace instance of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traced.h"

#define TRACEFS "/sys/kernel/tracing"
#define BUFFER TRACEFS "/instances/mrbench"

static int pipe_fd = -1;

static void enable(const char *event)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), BUFFER "/events/pinion/%s/enable", event);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1", 1) != 1)
		die(2, "%s: %m", path);
	close(fd);
}

void traced_open(void)
{
	if (access(TRACEFS "/instances", F_OK) &&
	    mount("tracefs", TRACEFS, "tracefs", 0, NULL))
		die(2, TRACEFS ": %m");
	if (mkdir(BUFFER, 0700) && errno != EEXIST)
		die(2, BUFFER ": %m");
	enable("mr_reg");
	enable("mr_dereg");
	pipe_fd = open(BUFFER "/trace_pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (pipe_fd < 0)
		die(2, BUFFER "/trace_pipe: %m");
}

void traced_close(void)
{
	if (pipe_fd < 0)
		return;
	close(pipe_fd);
	rmdir(BUFFER);
}

uint64_t traced_ns(void)
{
	char text[4096], *at;
	uint64_t ns = 0;
	ssize_t n;

	if (pipe_fd < 0)
		return 0;
	/* A read returns whole lines. */
	while ((n = read(pipe_fd, text, sizeof(text) - 1)) > 0) {
		text[n] = 0;
		for (at = strstr(text, " ns="); at; at = strstr(at + 1, " ns="))
			ns += strtoull(at + 4, NULL, 10);
	}
	return ns;
}
