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

/* Who gets the signals that are to end us; 0 before and after. */
static volatile sig_atomic_t forwarded_to;

static void child_forward(int sig)
{
	if (forwarded_to)
		kill(forwarded_to, sig);
}

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
	struct child child = {};
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
	forwarded_to = child.pid;
	signal(SIGTERM, child_forward);
	signal(SIGHUP, child_forward);
	return child;
}

void child_go(struct child *child)
{
	/* If this fails, a signal has ended it: child_status() says which. */
	(void)!write(child->go, "", 1);
	close(child->go);
}

bool child_ended(struct child *child, bool wait)
{
	pid_t pid;

	do {
		pid = waitpid(child->pid, &child->status, wait ? 0 : WNOHANG);
	} while (pid < 0 && errno == EINTR);
	if (pid != child->pid)
		return false;
	forwarded_to = 0;
	return true;
}

int child_status(const struct child *child)
{
	if (WIFEXITED(child->status))
		return WEXITSTATUS(child->status);
	return 128 + WTERMSIG(child->status);
}
