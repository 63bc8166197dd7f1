// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "channel.h"
#include "file.h"
#include "process.h"

#define SCRIPT_LOG "/run/box/script.log"

pid_t script_start(const char *name, char **env)
{
	char path[256], *argv[] = { "/bin/sh", path, NULL };
	pid_t pid;
	int fd;

	snprintf(path, sizeof(path), "/run/box/lib/%s", name);
	pid = fork();
	if (pid)
		return pid;
	fd = open(SCRIPT_LOG, O_RDWR | O_CREAT | O_TRUNC, 0644);
	dup2(fd, 1);
	dup2(fd, 2);
	fd = open("/dev/null", O_RDONLY);
	dup2(fd, 0);
	execve(argv[0], argv, env);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

int script(const char *name, char **env)
{
	pid_t pid = script_start(name, env);
	int status;

	while (waitpid(pid, &status, 0) != pid)
		;
	if (status) {
		size_t len;
		char *log = slurp(SCRIPT_LOG, &len);

		if (log)
			send_bytes(FRAME_ERR, log, len);
		free(log);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Read a file of /proc/PID. Return: NULL if the process has ended. */
static char *proc(const char *pid, const char *name, size_t *len)
{
	char path[300];

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	return slurp(path, len);
}

static void show_task(const char *pid)
{
	size_t len = 0;
	char *stat = proc(pid, "stat", NULL);
	char *stack = proc(pid, "stack", NULL);
	char *cmdline = proc(pid, "cmdline", &len);
	char *state = stat ? strrchr(stat, ')') : NULL, *line;

	/* Leave out idle kernel threads. Kernel threads have no command line. */
	if (state && (len || (state[2] != 'I' && state[2] != 'S'))) {
		say("task %.*s state %c", (int)(state + 1 - stat), stat,
		    state[2]);
		for (line = strtok(stack ? stack : "", "\n"); line;
		     line = strtok(NULL, "\n"))
			say("  %s", line);
	}
	free(stat);
	free(stack);
	free(cmdline);
}

void show_tasks(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (isdigit((unsigned char)e->d_name[0]) &&
		    atoi(e->d_name) != getpid())
			show_task(e->d_name);
	}
	if (d)
		closedir(d);
}

void kill_rest(void)
{
	int i;

	kill(-1, SIGKILL);
	for (i = 0; i < 3000; i++) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0)
			break;
		if (!pid)
			usleep(10000);
	}
}
