// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * doctor -- COMMAND: reports what was refused and why, by the driver's tracepoint and the
 * provider's log, since an errno does not say enough. Uses a trace instance of its own, for the
 * command and its children.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "ctl.h"
#include "doctor.h"
#include "tracing.h"

/* Advice for common reasons. */
static const char *advice(int err)
{
	switch (err) {
	case ENOMEM:
		return "\n    raise the limit: ulimit -l unlimited, `* - memlock unlimited' in\n"
		       "    /etc/security/limits.d/rdma.conf, LimitMEMLOCK=infinity of a service";
	case EFAULT:
		return "\n    all of the range must be mapped, and writable unless the rights are to read only";
	}
	return "";
}

/* "PROGRAM-PID [CPU] FLAGS TIME: mr_reg_fail: start=... : REASON (-ERRNO)" */
static bool tell_refusal(const char *line)
{
	const char *event = strstr(line, "mr_reg_fail: "), *why;
	unsigned long long start, length, iova;
	unsigned int access;
	int err, who;

	if (!event ||
	    sscanf(event,
		   "mr_reg_fail: start=%llx length=%llu iova=%llx access=%x",
		   &start, &length, &iova, &access) != 4)
		return false;
	why = strstr(event, ": ");
	why = strstr(why + 2, ": ");
	event = strrchr(event, '(');
	if (!why || !event)
		return false;
	err = -atoi(event + 1);
	line += strspn(line, " ");
	who = strcspn(line, " ");
	fprintf(stderr,
		"pinionctl: %.*s: no region of %llu bytes at 0x%llx (access 0x%x): %.*s: %s%s\n",
		who, line, length, start, access, (int)(event - 1 - (why + 2)),
		why + 2, strerror(err), advice(err));
	return true;
}

static int tell_refusals(const struct tracing *tracing)
{
	char *line = NULL;
	size_t size = 0;
	int told = 0, fd;
	FILE *file;

	if (!tracing->path)
		return 0;
	fd = tracing_open(tracing, "trace", O_RDONLY);
	file = fd < 0 ? NULL : need(fdopen(fd, "re"));
	while (file && getline(&line, &size, file) > 0)
		told += tell_refusal(line);
	if (file)
		fclose(file);
	free(line);
	return told;
}

static int tell_log(const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	int told = 0;

	for (; file && getline(&line, &size, file) > 0; told++)
		fprintf(stderr, "pinionctl: the provider: %s", line);
	if (file)
		fclose(file);
	free(line);
	return told;
}

static void trace_child(struct tracing *tracing, pid_t pid)
{
	if (tracing_begin(tracing, pid) && tracing_add(tracing, "mr_reg_fail"))
		return;
	tracing_end(tracing);
	fprintf(stderr,
		"pinionctl: the driver's reasons cannot be had (root, tracefs and the module pinion are needed); only the provider's\n");
}

int doctor_run(char **command)
{
	char log[] = "/tmp/pinionctl-XXXXXX";
	struct tracing tracing;
	struct child child;
	bool own_log = !getenv("VERBS_LOG_LEVEL");
	int fd, told;

	fd = own_log ? mkstemp(log) : -1;
	if (fd >= 0) {
		/* The command may change its uid, and must still be able to write. */
		fchmod(fd, 0622);
		close(fd);
		setenv("VERBS_LOG_LEVEL", "4", 1);
		setenv("VERBS_LOG_FILE", log, 1);
	}
	child = child_make(command);
	trace_child(&tracing, child.pid);
	child_go(&child);
	child_ended(&child, true);
	told = tell_refusals(&tracing);
	if (fd >= 0) {
		told += tell_log(log);
		unlink(log);
	}
	if (!told)
		fprintf(stderr,
			"pinionctl: neither driver nor provider refused anything: what failed did so elsewhere\n");
	tracing_end(&tracing);
	return child_status(&child);
}
