// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * box-host: starts a virtual machine, carries stdin, stdout and stderr between it and the caller,
 * and returns the exit status of the command that ran inside. The machine may be any process that
 * uses the sockets on FD 3 and FD 4, one for input and the other for output, or one for both.
 * (User-mode Linux needs two: when it stops reading from a descriptor, it also stops writing to
 * it.)
 *
 * box-host -l LOG [-t SECONDS] [-u SECONDS] [-n FD -p FD] -- MACHINE ARGS...
 *   -l  the machine's console goes to LOG
 *   -t  how long the command may take; 0: no limit
 *   -u  how long the machine may take to come up
 *   -n  the socket of its network, which becomes FD 5 of the machine
 *   -p  the socket to box-hosts, if it is one of several hosts
 * Exit status: that of the command; 124 if its time was up; 123 if the machine ended without one,
 * or did not come up.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>

#include "../frame.h"
#include "machine.h"
#include "peers.h"

enum { STATUS_BOX = 123, STATUS_TIMEOUT = 124 };
enum { GRACE = 10 }; /* seconds for the guest to end by itself */
enum { CLEAN_UP = 240 };

struct session {
	int fd, fd_out; /* sockets; all frames come from one of them */
	int peers; /* the socket to box-hosts, or -1 */
	double limit; /* seconds for the command; 0: no limit */
	double deadline; /* for the current phase; 0: none */
	bool ready, stdin_open, killed, done;
	int unread; /* frames of stdin that were not acknowledged */
	int interrupts;
	int status; /* -1: not known yet */
	struct frame_reader reader;
};

static struct termios tty_saved;
static int tty_raw;
static int sig_pipe[2];

static void tty_restore(void)
{
	if (tty_raw)
		tcsetattr(0, TCSAFLUSH, &tty_saved);
	tty_raw = 0;
}

static void tty_make_raw(void)
{
	struct termios t;

	if (tcgetattr(0, &tty_saved))
		return;
	t = tty_saved;
	cfmakeraw(&t);
	if (!tcsetattr(0, TCSAFLUSH, &t))
		tty_raw = 1;
}

static void on_signal(int sig)
{
	int saved = errno;
	unsigned char c = sig;

	if (write(sig_pipe[1], &c, 1) < 0)
		c = 0;
	errno = saved;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/*
 * Bytes that wait to be sent. Writing must never block, because the machine may itself wait for us
 * to read.
 */
static struct {
	char *data;
	size_t at, len;
} queue;

static void flush_queue(int fd)
{
	while (queue.at < queue.len) {
		ssize_t n = send(fd, queue.data + queue.at,
				 queue.len - queue.at, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		/* If the machine has ended, reading from the socket will tell. */
		if (n < 0)
			break;
		queue.at += n;
	}
	queue.at = 0;
	queue.len = 0;
}

static void send_frame(int fd, int type, const void *data, size_t len)
{
	struct frame f = { .type = type, .len = len };
	char *grown = realloc(queue.data, queue.len + FRAME_HEADER + len);

	if (!grown)
		return;
	queue.data = grown;
	memcpy(queue.data + queue.len, &f, FRAME_HEADER);
	if (len)
		memcpy(queue.data + queue.len + FRAME_HEADER, data, len);
	queue.len += FRAME_HEADER + len;
	flush_queue(fd);
}

static void send_winsize(int fd)
{
	struct winsize w;
	uint16_t size[2];

	if (ioctl(0, TIOCGWINSZ, &w))
		return;
	size[0] = w.ws_row;
	size[1] = w.ws_col;
	send_frame(fd, FRAME_WINSIZE, size, sizeof(size));
}

/* ---------------------------------------------------------------------- events */

/* Set @wait_ms to the time until the deadline, -1: none. Return: false if it is time to end. */
static bool in_time(struct session *s, int *wait_ms)
{
	double t = now();

	*wait_ms = -1;
	if (!s->deadline)
		return true;
	if (t >= s->deadline) {
		if (s->killed || s->done || s->status >= 0 || !s->ready)
			return false;
		/* Let the guest log where its tasks wait before it ends. */
		send_frame(s->fd, FRAME_KILL, NULL, 0);
		s->killed = true;
		s->deadline = t + GRACE;
	}
	*wait_ms = (s->deadline - t) * 1000 + 1;
	return true;
}

/*
 * Pass the first signal to the command. Return: false if the signal ends the box: the second, or
 * any before the command has started.
 */
static bool take_signal(struct session *s)
{
	unsigned char c;
	int32_t sig;

	if (read(sig_pipe[0], &c, 1) != 1)
		return true;
	sig = c;
	if (sig == SIGWINCH) {
		send_winsize(s->fd);
	} else if (s->ready && !s->interrupts++) {
		send_frame(s->fd, FRAME_SIGNAL, &sig, sizeof(sig));
	} else {
		s->status = 128 + sig;
		return false;
	}
	return true;
}

static void carry_input(struct session *s)
{
	char buf[INPUT_MAX];
	ssize_t n = read(0, buf, sizeof(buf));

	if (n > 0) {
		send_frame(s->fd, FRAME_IN, buf, n);
		s->unread++;
	} else if (n == 0 || errno != EINTR) {
		send_frame(s->fd, FRAME_IN, NULL, 0);
		s->stdin_open = false;
	}
}

static void clean_up(struct session *s)
{
	send_frame(s->fd, FRAME_END, NULL, 0);
	s->deadline = now() + CLEAN_UP;
}

static void take_frame(struct session *s, const struct frame *f)
{
	int32_t value = 0;

	if (f->len >= sizeof(value))
		memcpy(&value, f->data, sizeof(value));
	switch (f->type) {
	case FRAME_UP:
		/* No limit for the other hosts to come up: box-hosts decides. */
		s->deadline = 0;
		peers_tell(s->peers, f->type, 0);
		break;
	case FRAME_LISTENS:
		peers_tell(s->peers, f->type, 0);
		break;
	case FRAME_READY:
		s->ready = true;
		s->deadline = s->limit ? now() + s->limit : 0;
		if (f->len && f->data[0]) {
			tty_make_raw();
			send_winsize(s->fd);
		}
		break;
	case FRAME_OUT:
		(void)!write_all(1, f->data, f->len);
		break;
	case FRAME_ERR:
		(void)!write_all(2, f->data, f->len);
		break;
	case FRAME_ACK:
		s->unread--;
		break;
	case FRAME_EXIT:
		tty_restore();
		s->status = value & 255;
		s->deadline = 0;
		if (s->peers < 0)
			clean_up(s);
		else
			peers_tell(s->peers, f->type, s->status);
		break;
	case FRAME_DONE:
		if (value && s->status == 0)
			s->status = STATUS_BOX;
		s->done = true;
		s->deadline = now() + GRACE;
		break;
	}
}

/* Handle a message of box-hosts. */
static void obey_peers(struct session *s)
{
	int type = peers_hear(s->peers);

	/* box-hosts has ended. */
	if (!type)
		s->peers = -1;
	if (type == FRAME_GO)
		send_frame(s->fd, type, NULL, 0);
	else if (s->status >= 0)
		clean_up(s);
}

/* Handle events until the machine ends, a signal ends the box, or a deadline has passed. */
static void converse(struct session *s)
{
	int wait_ms;

	while (in_time(s, &wait_ms)) {
		bool feed = s->ready && s->stdin_open && s->status < 0 &&
			    s->unread < INPUT_FRAMES;
		struct pollfd p[] = {
			{ .fd = s->fd,
			  .events = POLLIN | (queue.len ? POLLOUT : 0) },
			{ .fd = sig_pipe[0], .events = POLLIN },
			{ .fd = feed ? 0 : -1, .events = POLLIN },
			{ .fd = s->fd_out, .events = POLLIN },
			{ .fd = s->peers, .events = POLLIN },
		};

		if (poll(p, 5, wait_ms) < 0 && errno != EINTR)
			return;
		if (p[1].revents & POLLIN && !take_signal(s))
			return;
		if (p[2].revents)
			carry_input(s);
		if (p[4].revents)
			obey_peers(s);
		if (p[0].revents & POLLOUT)
			flush_queue(s->fd);
		if ((p[0].revents | p[3].revents) &
		    (POLLIN | POLLHUP | POLLERR)) {
			int from = p[3].revents & POLLIN ? s->fd_out : s->fd;

			if (frame_read(from, &s->reader) < 0)
				return;
			take_frame(s, &s->reader.f);
		}
	}
}

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
				       SIGWINCH };
	struct sigaction sa = { .sa_handler = on_signal };
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &sa, NULL);
}

int main(int argc, char **argv)
{
	struct session s = { .stdin_open = true, .status = -1, .peers = -1 };
	const char *log = "/dev/null";
	int sock[2], out[2], network = -1, opt;
	double up = 60;
	pid_t machine;

	while ((opt = getopt(argc, argv, "+l:t:u:n:p:")) != -1) {
		switch (opt) {
		case 'l':
			log = optarg;
			break;
		case 't':
			s.limit = atof(optarg);
			break;
		case 'u':
			up = atof(optarg);
			break;
		case 'n':
			network = atoi(optarg);
			break;
		case 'p':
			s.peers = atoi(optarg);
			break;
		default:
			return STATUS_BOX;
		}
	}
	if (optind == argc)
		return STATUS_BOX;

	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, out) ||
	    pipe2(sig_pipe, O_CLOEXEC)) {
		perror("box-host");
		return STATUS_BOX;
	}
	machine = machine_start(argv + optind, log, sock[1], out[1], network);
	if (machine < 0) {
		perror("box-host: fork");
		return STATUS_BOX;
	}
	close(sock[1]);
	close(out[1]);
	if (network >= 0)
		close(network);
	s.fd = sock[0];
	s.fd_out = out[0];
	catch_signals();
	s.deadline = now() + up;
	converse(&s);
	tty_restore();
	if (s.done)
		machine_await(machine);
	machine_end(machine);
	if (s.killed)
		return STATUS_TIMEOUT;
	return s.status < 0 ? STATUS_BOX : s.status;
}
