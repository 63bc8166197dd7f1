// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * doctor -- COMMAND: an errno is little; the driver's trace point and the provider's log know
 * what was refused and why. In a trace of our own, of that command and its children.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl.h"
#include "doctor.h"

struct trace {
	char *path; /* NULL: there is none */
};

static bool write_text(const char *folder, const char *file, const char *text)
{
	char *path = print("%s/%s", folder, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	free(path);
	return good;
}

static void trace_end(struct trace *trace)
{
	if (trace->path) {
		write_text(trace->path, "events/pinion/mr_reg_fail/enable",
			   "0");
		rmdir(trace->path);
		free(trace->path);
	}
	trace->path = NULL;
}

/* Of process @pid and those it makes. */
static void trace_begin(struct trace *trace, pid_t pid)
{
	static const char *const roots[] = { "/sys/kernel/tracing",
					     "/sys/kernel/debug/tracing" };
	char number[16];
	int i;

	snprintf(number, sizeof(number), "%d", pid);
	trace->path = NULL;
	for (i = 0; i < 2 && !trace->path; i++) {
		trace->path = print("%s/instances/pinionctl-%d", roots[i], pid);
		if (!mkdir(trace->path, 0700))
			break;
		free(trace->path);
		trace->path = NULL;
	}
	if (trace->path && write_text(trace->path, "options/event-fork", "1") &&
	    write_text(trace->path, "set_event_pid", number) &&
	    write_text(trace->path, "events/pinion/mr_reg_fail/enable", "1"))
		return;
	trace_end(trace);
	fprintf(stderr,
		"pinionctl: the driver's reasons cannot be had (root, tracefs and the module pinion are needed); only the provider's\n");
}

/* What may be done about it, if it is one of the usual things. */
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

static int tell_refusals(const struct trace *trace)
{
	char *path, *line = NULL;
	size_t size = 0;
	int told = 0;
	FILE *file;

	if (!trace->path)
		return 0;
	path = print("%s/trace", trace->path);
	file = fopen(path, "re");
	while (file && getline(&line, &size, file) > 0)
		told += tell_refusal(line);
	if (file)
		fclose(file);
	free(line);
	free(path);
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

/* Waits until it is traced, then becomes @command. */
static void run_child(char **command, const int *go, const char *log)
{
	char byte;

	close(go[1]);
	if (read(go[0], &byte, 1) != 1)
		_exit(EXIT_CANNOT);
	close(go[0]);
	if (log) {
		setenv("VERBS_LOG_LEVEL", "4", 1);
		setenv("VERBS_LOG_FILE", log, 1);
	}
	execvp(command[0], command);
	fprintf(stderr, "pinionctl: %s: %m\n", command[0]);
	_exit(errno == ENOENT ? 127 : 126);
}

int doctor_run(char **command)
{
	char log[] = "/tmp/pinionctl-XXXXXX";
	struct trace trace;
	bool own_log = !getenv("VERBS_LOG_LEVEL");
	int go[2], fd, told, status;
	pid_t pid;

	fd = own_log ? mkstemp(log) : -1;
	if (fd >= 0) {
		/* Whoever it becomes may write there. */
		fchmod(fd, 0622);
		close(fd);
	}
	if (pipe(go))
		die("pipe: %m");
	pid = fork();
	if (pid < 0)
		die("fork: %m");
	if (!pid)
		run_child(command, go, fd < 0 ? NULL : log);
	close(go[0]);
	/* ^C is for it; we clean up behind it. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	trace_begin(&trace, pid);
	if (write(go[1], "", 1) != 1)
		die("%s ended before it began", command[0]);
	close(go[1]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	told = tell_refusals(&trace);
	if (fd >= 0) {
		told += tell_log(log);
		unlink(log);
	}
	if (!told)
		fprintf(stderr,
			"pinionctl: neither driver nor provider refused anything: what failed did so elsewhere\n");
	trace_end(&trace);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
