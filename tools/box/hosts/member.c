// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../peers.h"
#include "clock.h"
#include "member.h"

/* Seconds between one request to end and the next. */
static const double PATIENCE = 8;

static void execute(const struct member *m, int network, int control,
		    const int *out, const int *err, bool watched)
{
	char say[64];
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	dup2(null, 0);
	dup2(out[1], 1);
	dup2(err[1], 2);
	/* Only these two descriptors are inherited. */
	fcntl(network, F_SETFD, 0);
	fcntl(control, F_SETFD, 0);
	snprintf(say, sizeof(say), "%d %d %d %d", m->number, network, control,
		 watched);
	setenv("PINION_BOX_MEMBER", say, 1);
	signal(SIGPIPE, SIG_DFL);
	execv(m->argv[0], m->argv);
	dprintf(2, "%s: %s\n", m->argv[0], strerror(errno));
	_exit(STATUS_BOX);
}

bool member_start(struct member *m, int network, bool watched)
{
	int control[2], out[2], err[2];
	pid_t parent = getpid();

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) ||
	    pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return false;
	m->pid = fork();
	if (m->pid < 0)
		return false;
	if (!m->pid) {
		/* Keys of the terminal send signals to box-hosts only. */
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(STATUS_BOX);
		execute(m, network, control[1], out, err, watched);
	}
	setpgid(m->pid, m->pid);
	close(control[1]);
	close(out[1]);
	close(err[1]);
	m->control = control[0];
	m->out = (struct lines){ .from = out[0], .to = 1 };
	m->err = (struct lines){ .from = err[0], .to = 2 };
	return true;
}

void member_tell(struct member *m, int type)
{
	struct peers_message message = { .type = type };

	if (m->control >= 0)
		(void)!send(m->control, &message, sizeof(message),
			    MSG_NOSIGNAL);
}

void member_signal(struct member *m, int sig)
{
	if (!m->pid)
		return;
	/* A host whose command has exited only waits for the others. */
	m->deadline = m->exited ? 0 : seconds() + PATIENCE;
	/* The first ends its command, the second its machine, the third both by force. */
	if (m->signals++ >= 2)
		kill(-m->pid, SIGKILL);
	else if (sig == SIGINT)
		kill(-m->pid, sig);
	else
		kill(m->pid, sig);
}
