// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * box-hosts: starts several boxes as hosts on one network and ends them together.
 *
 * box-hosts [-l SECONDS] [-v] {COUNT ARGUMENTS...}...
 *   -l  start the commands of the other hosts when that of the first host listens, which must
 *       happen within SECONDS; without -l all start when all hosts are up
 *   -v  print at the end how many frames were switched and dropped
 * Each COUNT is followed by the COUNT words of a host's command line, which runs a pinion-box, or
 * scripts/qemu. Its own messages begin with the name by which it was called, which is theirs.
 * Each line of a host's output is prefixed with its name. When a command has failed, the others have
 * a moment to fail, too, and are then ended. A host stays up until the last command has ended.
 *
 * Exit status: that of the first host that failed; 123 for other failures.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../frame.h"
#include "../peers.h"
#include "clock.h"
#include "hub.h"
#include "member.h"

/* After a failure: seconds that the other commands have to fail by themselves. */
static const double MOMENT = 2;

static struct member members[HUB_PORTS];
static int count;
static struct member *failed; /* the first host that failed */
static double listen_limit; /* 0: do not wait for host1 to listen */
static double listen_deadline;
static int stopped_by; /* a signal */
static bool over; /* all hosts were told to shut down */
static int sig_pipe[2];

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

static void on_signal(int sig)
{
	int saved = errno;
	unsigned char c = sig;

	(void)!write(sig_pipe[1], &c, 1);
	errno = saved;
}

/* -------------------------------------------------------------------- begin, end */

static void go(struct member *m)
{
	if (m->going || m->exited || !m->pid)
		return;
	m->going = true;
	member_tell(m, FRAME_GO);
}

static void go_all(void)
{
	int i;

	listen_deadline = 0;
	for (i = 0; i < count; i++)
		go(&members[i]);
}

static void begin(void)
{
	int i;

	for (i = 0; i < count; i++)
		if (!members[i].up)
			return;
	go(&members[0]);
	if (listen_limit)
		listen_deadline = seconds() + listen_limit;
	else
		go_all();
}

/* End the hosts whose command has not exited: at @when, or now if it was not started. */
static void end_all(double when)
{
	int i;

	for (i = 0; i < count; i++) {
		struct member *m = &members[i];

		if (!m->pid || m->exited)
			continue;
		m->ended = true;
		m->deadline = m->going ? when : seconds();
	}
}

static void fail(struct member *m, int status)
{
	m->status = status;
	if (failed)
		return;
	failed = m;
	listen_deadline = 0;
	end_all(seconds() + MOMENT);
}

static void finish(void)
{
	int i;

	for (i = 0; i < count; i++)
		if (members[i].pid && !members[i].exited)
			return;
	over = true;
	for (i = 0; i < count; i++)
		member_tell(&members[i], FRAME_END);
}

/* ---------------------------------------------------------------------- events */

static void hear(struct member *m)
{
	struct peers_message message;
	ssize_t n = recv(m->control, &message, sizeof(message), 0);

	if (n < 0 && errno == EINTR)
		return;
	if (n != sizeof(message)) {
		close(m->control);
		m->control = -1;
		return;
	}
	switch (message.type) {
	case FRAME_UP:
		m->up = true;
		begin();
		break;
	case FRAME_LISTENS:
		go_all();
		break;
	case FRAME_EXIT:
		m->exited = true;
		m->deadline = 0;
		if (message.value && !m->ended) {
			fail(m, message.value);
		} else if (m == members && listen_deadline) {
			say("the command of %s ended, and had not listened for the others; --listen 0 begins all at once",
			    m->name);
			fail(m, STATUS_BOX);
		}
		finish();
		break;
	}
}

static void reap(void)
{
	int i, status;

	for (i = 0; i < count; i++) {
		struct member *m = &members[i];

		if (!m->pid || waitpid(m->pid, &status, WNOHANG) != m->pid)
			continue;
		m->pid = 0;
		m->deadline = 0;
		status = WIFEXITED(status) ? WEXITSTATUS(status) :
					     128 + WTERMSIG(status);
		if (!status || m->ended)
			continue;
		if (m == failed)
			m->status = status;
		else
			fail(m, status);
	}
	finish();
}

static void stop(void)
{
	unsigned char c;
	int i;

	if (read(sig_pipe[0], &c, 1) != 1 || c == SIGCHLD)
		return;
	stopped_by = c;
	for (i = 0; i < count; i++) {
		members[i].ended = true;
		member_signal(&members[i], c);
	}
}

/* Handle deadlines that have passed. Return: milliseconds to the next; -1: none. */
static int look_at_the_clock(void)
{
	double t = seconds(), next = 0;
	int i;

	if (listen_deadline && t >= listen_deadline) {
		say("the command of %s does not listen for the others after %.0fs",
		    members[0].name, listen_limit);
		fail(&members[0], STATUS_BOX);
		end_all(t);
	}
	for (i = 0; i < count; i++) {
		struct member *m = &members[i];

		if (m->deadline && t >= m->deadline) {
			say("%s is ended", m->name);
			member_signal(m, SIGTERM);
		}
		if (m->deadline && (!next || m->deadline < next))
			next = m->deadline;
	}
	if (listen_deadline && (!next || listen_deadline < next))
		next = listen_deadline;
	return next ? (next - t) * 1000 + 1 : -1;
}

/* Run until no host is left and all their output was written. */
static void converse(void)
{
	for (;;) {
		struct pollfd p[1 + 3 * HUB_PORTS] = {
			{ .fd = sig_pipe[0], .events = POLLIN },
		};
		int i, left = 0, wait_ms = look_at_the_clock();

		for (i = 0; i < count; i++) {
			struct member *m = &members[i];
			struct pollfd *q = &p[1 + 3 * i];

			q[0] = (struct pollfd){ m->control, POLLIN, 0 };
			q[1] = (struct pollfd){ m->out.from, POLLIN, 0 };
			q[2] = (struct pollfd){ m->err.from, POLLIN, 0 };
			left += m->pid || m->out.from >= 0 || m->err.from >= 0;
		}
		if (!left)
			return;
		if (poll(p, 1 + 3 * count, wait_ms) < 0)
			continue;
		for (i = 0; i < count; i++) {
			struct member *m = &members[i];
			struct pollfd *q = &p[1 + 3 * i];

			if (q[1].revents)
				lines_carry(&m->out, m->name);
			if (q[2].revents)
				lines_carry(&m->err, m->name);
			if (q[0].revents)
				hear(m);
		}
		if (p[0].revents) {
			stop();
			reap();
		}
	}
}

/* ------------------------------------------------------------------- the hosts */

static void plug(int *network, int *port)
{
	int pair[2], size = 4 << 20;

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair)) {
		say("socketpair: %s", strerror(errno));
		exit(STATUS_BOX);
	}
	/* Buffers as large as the system permits, for bursts of large messages. */
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	*network = pair[0];
	*port = pair[1];
}

static pid_t start_hub(const int *ports, const int *networks,
		       struct hub_counts *counts)
{
	pid_t parent = getpid(), pid = fork();
	int i;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	/* Keys of the terminal must not end it before box-hosts. */
	setpgid(0, 0);
	for (i = 0; i < count; i++)
		close(networks[i]);
	hub_run(ports, count, counts);
}

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
				       SIGCHLD };
	struct sigaction sa = { .sa_handler = on_signal };
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Read the command lines of the hosts: {COUNT ARGUMENTS...}... */
static void read_members(char **argv)
{
	while (*argv) {
		struct member *m = &members[count];
		int words = atoi(*argv++), i;

		if (count == HUB_PORTS || words < 1)
			exit(STATUS_BOX);
		m->number = ++count;
		m->control = -1;
		snprintf(m->name, sizeof(m->name), "host%d", m->number);
		m->argv = calloc(words + 1, sizeof(char *));
		if (!m->argv)
			exit(STATUS_BOX);
		for (i = 0; i < words && *argv; i++)
			m->argv[i] = *argv++;
	}
}

static int result(void)
{
	int i;

	if (stopped_by)
		return 128 + stopped_by;
	if (failed)
		return failed->status;
	for (i = 0; i < count; i++)
		if (members[i].status)
			return members[i].status;
	return 0;
}

int main(int argc, char **argv)
{
	int networks[HUB_PORTS], ports[HUB_PORTS], i, opt;
	struct hub_counts *counts;
	bool verbose = false;
	pid_t hub;

	while ((opt = getopt(argc, argv, "+l:v")) != -1) {
		if (opt == 'l')
			listen_limit = atof(optarg);
		else if (opt == 'v')
			verbose = true;
		else
			return STATUS_BOX;
	}
	read_members(argv + optind);
	if (!count || pipe2(sig_pipe, O_CLOEXEC | O_NONBLOCK))
		return STATUS_BOX;
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		return STATUS_BOX;
	for (i = 0; i < count; i++)
		plug(&networks[i], &ports[i]);
	hub = start_hub(ports, networks, counts);
	catch_signals();
	for (i = 0; i < count; i++) {
		if (hub > 0 &&
		    member_start(&members[i], networks[i], listen_limit && !i))
			continue;
		say("starting the hosts: %s", strerror(errno));
		fail(&members[i], STATUS_BOX);
		break;
	}
	for (i = 0; i < count; i++) {
		close(networks[i]);
		close(ports[i]);
	}
	converse();
	if (hub > 0) {
		kill(hub, SIGKILL);
		waitpid(hub, NULL, 0);
	}
	if (verbose)
		say("%lu frames went from host to host, %lu were lost",
		    counts->passed, counts->dropped);
	return result();
}
