// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Runs a command as a child that is being observed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "ctl.h"

/* Wait until the parent is ready, then execute @command. */
static void child_run(char **command, const int *go)
{
	char byte;

	close(go[1]);
	if (read(go[0], &byte, 1) != 1)
		_exit(EXIT_CANNOT);
	close(go[0]);
	execvp(command[0], command);
	fprintf(stderr, "pinionctl: %s: %m\n", command[0]);
	_exit(errno == ENOENT ? 127 : 126);
}

struct child child_make(char **command)
{
	struct child child = { .name = command[0] };
	int go[2];

	if (pipe(go))
		die("pipe: %m");
	child.pid = fork();
	if (child.pid < 0)
		die("fork: %m");
	if (!child.pid)
		child_run(command, go);
	close(go[0]);
	child.go = go[1];
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	return child;
}

void child_go(struct child *child)
{
	if (write(child->go, "", 1) != 1)
		die("%s ended before it was started", child->name);
	close(child->go);
}

bool child_ended(struct child *child, bool wait)
{
	pid_t pid;

	do {
		pid = waitpid(child->pid, &child->status, wait ? 0 : WNOHANG);
	} while (pid < 0 && errno == EINTR);
	return pid == child->pid;
}

int child_status(const struct child *child)
{
	if (WIFEXITED(child->status))
		return WEXITSTATUS(child->status);
	return 128 + WTERMSIG(child->status);
}
