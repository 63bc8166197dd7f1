// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * box-host: starts a virtual machine, carries stdin, stdout and stderr between
 * it and the caller, and returns the exit status of the command that ran inside.
 * It never looks at what the machine is; it is a process with a socket on FD 3 and
 * another on FD 4. Either may be read and written; user-mode Linux, which stops
 * writing to a descriptor when it stops reading from it, gets one for each.
 *
 * box-host -l LOG [-t SECONDS] [-u SECONDS] -- MACHINE ARGS...
 *   -l  the machine's console goes to LOG
 *   -t  the command's time, 0 for any
 *   -u  the time to come up
 * Exit status: the command's; 124 when its time was up; 123 when the machine
 * ended, or never came up, without one.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

#include "../frame.h"

enum { STATUS_BOX = 123, STATUS_TIMEOUT = 124 };
enum { GRACE = 10 }; /* seconds for the guest to end by itself */

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
 * What waits to be sent. Writing never blocks: the machine may itself be waiting
 * for us to read.
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
		/* A machine that is gone shows as end of file on the same socket. */
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

static pid_t start(char **argv, const char *log, int sock, int sock_out)
{
	pid_t parent = getpid();
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	/* Not in the terminal's foreground group: ^C is for the command inside. */
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(STATUS_BOX);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
	if (fd < 0)
		_exit(STATUS_BOX);
	dup2(fd, 1);
	dup2(fd, 2);
	fd = open("/dev/null", O_RDONLY);
	dup2(fd, 0);
	/* Out of the way of each other first. */
	sock = fcntl(sock, F_DUPFD, 10);
	sock_out = fcntl(sock_out, F_DUPFD, 10);
	dup2(sock, 3);
	dup2(sock_out, 4);
	for (fd = 5; fd < 64; fd++)
		close(fd);
	execvp(argv[0], argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(STATUS_BOX);
}

/* The machine's helpers are our children once it is gone: end them all. */
static void reap_all(pid_t machine)
{
	kill(-machine, SIGKILL);
	kill(machine, SIGKILL);
	for (;;) {
		char path[64];
		FILE *f;
		int pid;
		int any = 0;

		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		snprintf(path, sizeof(path), "/proc/self/task/%d/children",
			 getpid());
		f = fopen(path, "r");
		if (!f)
			return;
		while (fscanf(f, "%d", &pid) == 1) {
			kill(pid, SIGKILL);
			any = 1;
		}
		fclose(f);
		if (!any)
			return;
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	struct frame_reader reader = { 0 };
	double deadline, limit = 0, up = 60, t;
	const char *log = "/dev/null";
	int sock[2], out[2], opt, status = -1, stdin_open = 1, ready = 0,
				  interrupts = 0;
	int killed = 0, done = 0, unread = 0;
	struct sigaction sa = { .sa_handler = on_signal };
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
				       SIGWINCH };
	size_t i;
	pid_t pid;

	while ((opt = getopt(argc, argv, "+l:t:u:")) != -1) {
		switch (opt) {
		case 'l':
			log = optarg;
			break;
		case 't':
			limit = atof(optarg);
			break;
		case 'u':
			up = atof(optarg);
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
	pid = start(argv + optind, log, sock[1], out[1]);
	if (pid < 0) {
		perror("box-host: fork");
		return STATUS_BOX;
	}
	close(sock[1]);
	close(out[1]);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &sa, NULL);
	deadline = now() + up;

	for (;;) {
		struct pollfd p[4] = {
			{ .fd = sock[0],
			  .events = POLLIN | (queue.len ? POLLOUT : 0) },
			{ .fd = sig_pipe[0], .events = POLLIN },
			{ .fd = ready && stdin_open && status < 0 &&
						unread < INPUT_FRAMES ?
					0 :
					-1,
			  .events = POLLIN },
			{ .fd = out[0], .events = POLLIN },
		};
		int wait_ms = -1;
		char buf[INPUT_MAX];

		t = now();
		if (deadline) {
			if (t >= deadline) {
				if (killed || done || status >= 0 || !ready)
					break;
				/* Ask first, for the sake of the console log. */
				send_frame(sock[0], FRAME_KILL, NULL, 0);
				killed = 1;
				deadline = t + GRACE;
				continue;
			}
			wait_ms = (deadline - t) * 1000 + 1;
		}
		if (poll(p, 4, wait_ms) < 0 && errno != EINTR)
			break;

		if (p[1].revents & POLLIN) {
			unsigned char c;

			if (read(sig_pipe[0], &c, 1) == 1) {
				int32_t sig = c;

				if (sig == SIGWINCH)
					send_winsize(sock[0]);
				else if (ready && !interrupts++)
					send_frame(sock[0], FRAME_SIGNAL, &sig,
						   sizeof(sig));
				else if (interrupts > 1 || !ready) {
					status = 128 + sig;
					break;
				}
			}
		}

		if (p[2].revents) {
			ssize_t n = read(0, buf, sizeof(buf));

			if (n > 0) {
				send_frame(sock[0], FRAME_IN, buf, n);
				unread++;
			} else if (n == 0 || errno != EINTR) {
				send_frame(sock[0], FRAME_IN, NULL, 0);
				stdin_open = 0;
			}
		}

		if (p[0].revents & POLLOUT)
			flush_queue(sock[0]);
		/* Frames come on the one or the other, never on both. */
		if ((p[0].revents | p[3].revents) &
		    (POLLIN | POLLHUP | POLLERR)) {
			int from = p[3].revents & POLLIN ? out[0] : sock[0];
			struct frame *f = &reader.f;
			int r = frame_read(from, &reader);
			int32_t value = 0;

			if (r < 0)
				break;
			if (f->len >= sizeof(value))
				memcpy(&value, f->data, sizeof(value));
			switch (f->type) {
			case FRAME_READY:
				ready = 1;
				deadline = limit ? now() + limit : 0;
				if (f->len && f->data[0]) {
					tty_make_raw();
					send_winsize(sock[0]);
				}
				break;
			case FRAME_OUT:
				(void)!write_all(1, f->data, f->len);
				break;
			case FRAME_ERR:
				(void)!write_all(2, f->data, f->len);
				break;
			case FRAME_ACK:
				unread--;
				break;
			case FRAME_EXIT:
				tty_restore();
				status = value & 255;
				deadline = now() + 240; /* for the clean-up */
				break;
			case FRAME_DONE:
				if (value && status == 0)
					status = STATUS_BOX;
				done = 1;
				deadline = now() + GRACE;
				break;
			}
		}
	}
	tty_restore();
	if (done) {
		/* Powering off is left to the machine, the rest of its console too. */
		for (i = 0; i < 500; i++) {
			if (waitpid(pid, NULL, WNOHANG) != 0)
				break;
			usleep(10000);
		}
	}
	reap_all(pid);
	if (killed)
		return STATUS_TIMEOUT;
	return status < 0 ? STATUS_BOX : status;
}
