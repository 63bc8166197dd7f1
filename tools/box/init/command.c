// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>

#include "channel.h"
#include "command.h"
#include "peers.h"
#include "process.h"

enum { IN, OUT, ERR, STREAMS };

struct command {
	pid_t pid;
	bool tty;
	int fd[STREAMS]; /* our ends; -1: closed, or ERR of a terminal */
	/* Input that was not written to the command yet; room for all that the host may send. */
	char input[INPUT_MAX * INPUT_FRAMES];
	size_t input_len;
	int unread; /* frames of it that were not acknowledged to the host yet */
	bool eof; /* no more input follows */
	bool exited;
	int status;
};

/* ------------------------------------------------------------ the start */

static int open_pty(int *slave)
{
	int n, zero = 0, master;
	char name[64];

	master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || ioctl(master, TIOCSPTLCK, &zero) ||
	    ioctl(master, TIOCGPTN, &n))
		die("no terminal: %s", strerror(errno));
	snprintf(name, sizeof(name), "/dev/pts/%d", n);
	*slave = open(name, O_RDWR | O_NOCTTY);
	return master;
}

static void open_streams(struct command *c, int theirs[STREAMS])
{
	int i, p[2];

	if (c->tty) {
		c->fd[IN] = open_pty(&theirs[IN]);
		c->fd[OUT] = c->fd[IN];
		c->fd[ERR] = -1;
		theirs[OUT] = theirs[ERR] = theirs[IN];
		return;
	}
	for (i = 0; i < STREAMS; i++) {
		if (pipe2(p, O_CLOEXEC))
			die("pipe: %s", strerror(errno));
		c->fd[i] = p[i == IN];
		theirs[i] = p[i != IN];
	}
}

static void become(char **conf)
{
	char *groups = strdup(job_lookup(conf, "groups", "")), *g;
	gid_t list[256];
	int n = 0;

	if (!job_lookup(conf, "uid", NULL))
		return;
	for (g = strtok(groups, " "); g && n < 256; g = strtok(NULL, " "))
		list[n++] = atoi(g);
	if (setgroups(n, list) || setgid(atoi(job_lookup(conf, "gid", "0"))) ||
	    setuid(atoi(job_lookup(conf, "uid", "0")))) {
		dprintf(2, "pinion-box: cannot become the user: %s\n",
			strerror(errno));
		_exit(126);
	}
}

/* In the child: become the command. */
static void execute(const struct job *job, bool tty, const int streams[STREAMS])
{
	struct rlimit memlock = { RLIM_INFINITY, RLIM_INFINITY };
	const char *cwd = job_lookup(job->conf, "cwd", "/");
	int i;

	setsid();
	if (tty)
		ioctl(streams[IN], TIOCSCTTY, 0);
	for (i = 0; i < STREAMS; i++)
		dup2(streams[i], i);
	if (tty)
		close(streams[IN]);
	setrlimit(RLIMIT_MEMLOCK, &memlock);
	become(job->conf);
	if (chdir(cwd)) {
		dprintf(2, "pinion-box: %s: %s\n", cwd, strerror(errno));
		_exit(126);
	}
	environ = job->env;
	execvp(job->command[0], job->command);
	i = errno;
	dprintf(2, "pinion-box: %s: %s\n", job->command[0], strerror(i));
	_exit(i == ENOENT ? 127 : 126);
}

static void start(struct command *c, const struct job *job)
{
	int theirs[STREAMS], i;

	c->tty = atoi(job_lookup(job->conf, "tty", "0"));
	open_streams(c, theirs);
	c->pid = fork();
	if (!c->pid)
		execute(job, c->tty, theirs);
	for (i = 0; i < STREAMS; i++)
		if (!c->tty || i == IN)
			close(theirs[i]);
	fcntl(c->fd[IN], F_SETFL, fcntl(c->fd[IN], F_GETFL) | O_NONBLOCK);
	send_frame(FRAME_READY, c->tty ? "\1" : "", 1);
}

/* -------------------------------------------------------------- the streams */

static void carry_output(struct command *c, int stream)
{
	char buf[FRAME_MAX];
	ssize_t len = read(c->fd[stream], buf, sizeof(buf));

	if (len > 0) {
		send_frame(stream == OUT ? FRAME_OUT : FRAME_ERR, buf, len);
	} else if (len == 0 || (errno != EINTR && errno != EAGAIN)) {
		if (!c->tty)
			close(c->fd[stream]);
		c->fd[stream] = -1;
	}
}

static void carry_input(struct command *c)
{
	ssize_t len = write(c->fd[IN], c->input, c->input_len);

	if (len > 0) {
		c->input_len -= len;
		memmove(c->input, c->input + len, c->input_len);
	} else if (len < 0 && errno != EAGAIN && errno != EINTR) {
		/* No process will read it: drop it, and acknowledge it. */
		c->input_len = 0;
	}
	for (; !c->input_len && c->unread; c->unread--)
		send_frame(FRAME_ACK, NULL, 0);
}

static void take_input(struct command *c, const struct frame *f)
{
	if (!f->len) {
		c->eof = true;
	} else if (c->input_len + f->len <= sizeof(c->input)) {
		memcpy(c->input + c->input_len, f->data, f->len);
		c->input_len += f->len;
		c->unread++;
	}
}

static void set_window_size(const struct command *c, const struct frame *f)
{
	uint16_t size[2];
	struct winsize w = { 0 };

	memcpy(size, f->data, sizeof(size));
	w.ws_row = size[0];
	w.ws_col = size[1];
	if (c->tty)
		ioctl(c->fd[IN], TIOCSWINSZ, &w);
}

/* Handle a frame from the host. Return: false if the time is up. */
static bool obey(struct command *c, const struct frame *f)
{
	int32_t value = 0;

	if (f->len >= sizeof(value))
		memcpy(&value, f->data, sizeof(value));
	switch (f->type) {
	case FRAME_IN:
		take_input(c, f);
		break;
	case FRAME_WINSIZE:
		set_window_size(c, f);
		break;
	case FRAME_SIGNAL:
		kill(-c->pid, value);
		break;
	case FRAME_KILL:
		say("the command's time is up");
		show_tasks();
		return false;
	}
	return true;
}

/* ------------------------------------------------------------------ the end */

static int decode(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Orphaned processes become children of this one, the first, so reap them all. */
static void reap(struct command *c)
{
	int status;
	pid_t dead;

	while ((dead = waitpid(-1, &status, WNOHANG)) > 0) {
		peers_reaped(dead, status);
		if (dead == c->pid) {
			c->exited = true;
			c->status = decode(status);
		}
	}
}

int command_run(const struct job *job)
{
	struct command c = { 0 };
	int quiet = 0;

	start(&c, job);
	peers_watch(job);
	for (;;) {
		bool feed = c.input_len && !c.tty;
		const struct frame *said;
		struct pollfd p[] = {
			{ .fd = channel_fd(), .events = POLLIN },
			{ .fd = c.fd[OUT], .events = POLLIN },
			{ .fd = c.fd[ERR], .events = POLLIN },
			{ .fd = feed ? c.fd[IN] : -1, .events = POLLOUT },
		};
		int n, i;

		if (c.tty && c.input_len)
			p[OUT].events |= POLLOUT;
		n = poll(p, 4, c.exited ? 50 : 200);
		reap(&c);
		/*
		 * The command has ended, and all its output was read. Processes that it left
		 * may keep the streams open for ever, so do not wait for end of file.
		 */
		if (c.exited &&
		    ((c.fd[OUT] < 0 && c.fd[ERR] < 0) || (!n && ++quiet > 2)))
			return c.status;
		if (n < 0)
			continue;

		for (i = OUT; i <= ERR; i++)
			if (p[i].revents & (POLLIN | POLLHUP | POLLERR))
				carry_output(&c, i);
		if (c.input_len && ((p[3].revents & (POLLOUT | POLLERR)) ||
				    (p[OUT].revents & POLLOUT)))
			carry_input(&c);
		if (c.eof && !c.input_len && !c.tty && c.fd[IN] >= 0) {
			close(c.fd[IN]);
			c.fd[IN] = -1;
		}
		said = p[0].revents ? channel_read() : NULL;
		if (said && !obey(&c, said))
			return -1;
	}
}
