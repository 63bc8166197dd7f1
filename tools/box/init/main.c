// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * box-init: the first process of a box. It lays a writable layer in memory over
 * the caller's file system, runs the set-up script, runs the command with its
 * streams carried to the host as frames, runs the clean-up script, powers off.
 * Static, so that it runs on any root. What it shall do is read from the job
 * folder named by box_job= on the kernel's command line.
 *
 * As `box-init insmod FILE [PARAMETERS]` it loads a module, for roots without kmod.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

#include "../frame.h"

/* Where the machine's own root is seen while the new one is put together. */
#define STAGE "/tmp"
#define NEW STAGE "/new"

static int channel = -1;
static char host_root[4096] = "";
static char job[4096];

static void say(const char *fmt, ...)
{
	char buf[512] = "box: ";
	size_t at = strlen(buf);
	va_list ap;
	int fd;

	va_start(ap, fmt);
	vsnprintf(buf + at, sizeof(buf) - at, fmt, ap);
	va_end(ap);
	fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* One write is one line of the log. */
	(void)!write(fd, buf, strlen(buf));
	close(fd);
}

static void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void send_frame(int type, const void *data, size_t len)
{
	struct frame f = { .type = type, .len = len };

	if (len)
		memcpy(f.data, data, len);
	(void)!write_all(channel, &f, FRAME_HEADER + len);
}

static void send_value(int type, int32_t value)
{
	send_frame(type, &value, sizeof(value));
}

static void send_text(int type, const char *text)
{
	send_frame(type, text, strnlen(text, FRAME_MAX));
}

/* The box itself failed: the caller hears it, or at least the console. */
static void die(const char *fmt, ...)
{
	char buf[1024];
	va_list ap;
	int n = snprintf(buf, sizeof(buf), "pinion-box: ");

	va_start(ap, fmt);
	vsnprintf(buf + n, sizeof(buf) - n - 1, fmt, ap);
	va_end(ap);
	say("%s", buf);
	strcat(buf, "\n");
	if (channel >= 0) {
		send_text(FRAME_ERR, buf);
		send_value(FRAME_DONE, 1);
	}
	power_off();
}

static char *slurp(const char *path, size_t *len)
{
	char *buf = NULL;
	size_t have = 0, size = 0;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	do {
		if (size - have < 4096) {
			size = size * 2 + 8192;
			buf = realloc(buf, size);
		}
		n = read(fd, buf + have, size - have - 1);
		if (n > 0)
			have += n;
	} while (n > 0);
	close(fd);
	buf[have] = 0;
	if (len)
		*len = have;
	return buf;
}

/* "a\0b\0" as a vector */
static char **vector(const char *name)
{
	char path[sizeof(host_root) + sizeof(job) + 64], **v = NULL, *buf, *p;
	size_t len, n = 0;

	snprintf(path, sizeof(path), "%s%s/%s", host_root, job, name);
	buf = slurp(path, &len);
	if (!buf)
		die("cannot read %s: %s", path, strerror(errno));
	for (p = buf; p < buf + len; p += strlen(p) + 1) {
		v = realloc(v, (n + 2) * sizeof(*v));
		v[n++] = p;
	}
	v = realloc(v, (n + 1) * sizeof(*v));
	v[n] = NULL;
	return v;
}

static const char *lookup(char **v, const char *name, const char *otherwise)
{
	size_t len = strlen(name);

	for (; *v; v++)
		if (!strncmp(*v, name, len) && (*v)[len] == '=')
			return *v + len + 1;
	return otherwise;
}

static void make_dirs(char *path)
{
	char *p;

	for (p = path + 1; *p; p++) {
		if (*p == '/') {
			*p = 0;
			mkdir(path, 0755);
			*p = '/';
		}
	}
	mkdir(path, 0755);
}

static void mount_at(const char *what, const char *where, const char *type,
		     int flags, const char *data)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s%s", NEW, where);
	make_dirs(path);
	if (mount(what, path, type, flags, data))
		say("mount %s on %s: %s", type, where, strerror(errno));
}

/* How a path of the host is shown: read-only, writable, or with a layer in memory. */
enum show { SHOW_RO, SHOW_RW, SHOW_COW };

static int overlay(const char *from, const char *to)
{
	static int n;
	char data[8600], up[64], work[64];

	n++;
	snprintf(up, sizeof(up), STAGE "/up%d", n);
	snprintf(work, sizeof(work), STAGE "/work%d", n);
	mkdir(up, 0755);
	mkdir(work, 0755);
	snprintf(data, sizeof(data), "lowerdir=%s,upperdir=%s,workdir=%s", from,
		 up, work);
	return mount("overlay", to, "overlay", 0, data);
}

static void expose(const char *what, const char *where, enum show how)
{
	char from[8300], to[8300];
	struct stat st;

	snprintf(from, sizeof(from), "%s%s", host_root, what);
	snprintf(to, sizeof(to), "%s%s", NEW, where);
	if (stat(from, &st))
		die("cannot see %s of the host: %s", what, strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		make_dirs(to);
	} else {
		char *slash = strrchr(to, '/');

		*slash = 0;
		make_dirs(to);
		*slash = '/';
		close(open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	}
	if (how == SHOW_COW && S_ISDIR(st.st_mode) && !overlay(from, to))
		return;
	if (mount(from, to, NULL, MS_BIND, NULL) ||
	    (how != SHOW_RW &&
	     mount(NULL, to, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL)))
		die("cannot show %s of the host at %s: %s", what, where,
		    strerror(errno));
}

static void insmod(const char *file, const char *params)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, params, 0)) {
		int e = errno;

		fprintf(stderr, "insmod %s: %s\n", file, strerror(e));
		exit(e == EEXIST ? 0 : 1);
	}
	close(fd);
}

/* A virtual machine's first root is an initrd with the modules to reach the host. */
static void reach_host(void)
{
	char *list = slurp("/modules", NULL), *name;

	if (!list)
		return;
	for (name = strtok(list, "\n"); name; name = strtok(NULL, "\n")) {
		int fd = open(name, O_RDONLY | O_CLOEXEC);

		if (fd < 0 ||
		    (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
			say("%s: %s", name, strerror(errno));
		close(fd);
	}
}

static void mount_host(void)
{
	strcpy(host_root, "/host");
	mkdir(host_root, 0755);
	if (mount("host", host_root, "9p", 0,
		  "trans=virtio,version=9p2000.L,msize=1048576,cache=loose"))
		die("cannot mount the host's files: %s", strerror(errno));
}

static void build_root(char **conf)
{
	const char *root = lookup(conf, "root", "/");
	char lower[8300];
	char **v;

	if (mount("stage", STAGE, "tmpfs", 0, "mode=755"))
		die("tmpfs: %s", strerror(errno));
	/* The host's files, with what the mount above hides. */
	if (!*host_root) {
		strcpy(host_root, STAGE "/host");
		mkdir(host_root, 0755);
		if (mount("/", host_root, NULL, MS_BIND, NULL))
			die("bind: %s", strerror(errno));
	}
	mkdir(NEW, 0755);
	snprintf(lower, sizeof(lower), "%s%s", host_root, root);
	if (overlay(lower, NEW))
		die("cannot lay a writable layer over %s: %s", root,
		    strerror(errno));

	mount_at("dev", "/dev", "devtmpfs", 0, NULL);
	mount_at("pts", "/dev/pts", "devpts", 0, "mode=620,ptmxmode=666,gid=5");
	mount_at("shm", "/dev/shm", "tmpfs", 0, "mode=1777");
	mount_at("proc", "/proc", "proc", 0, NULL);
	mount_at("sys", "/sys", "sysfs", 0, NULL);
	mount_at("debug", "/sys/kernel/debug", "debugfs", 0, NULL);
	mount_at("cgroup", "/sys/fs/cgroup", "cgroup2", 0, NULL);
	if (!access(NEW "/proc/sys/vm/nr_hugepages", F_OK))
		mount_at("huge", "/dev/hugepages", "hugetlbfs", 0, "mode=1777");
	mount_at("run", "/run", "tmpfs", 0, "mode=755");
	mkdir(NEW "/run/lock", 01777);

	for (v = conf; *v; v++) {
		char *what, *where;

		enum show how = SHOW_COW;

		if (!strncmp(*v, "ro=", 3))
			how = SHOW_RO;
		else if (!strncmp(*v, "rw=", 3))
			how = SHOW_RW;
		else if (strncmp(*v, "cw=", 3))
			continue;
		what = *v + 3;
		where = strchr(what, '\t');
		if (where)
			*where++ = 0;
		expose(what, where ? where : what, how);
	}

	if (chdir(NEW) || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") ||
	    chdir("/"))
		die("cannot enter the new root: %s", strerror(errno));
	symlink("/proc/self/fd", "/dev/fd");
	symlink("/proc/self/fd/0", "/dev/stdin");
	symlink("/proc/self/fd/1", "/dev/stdout");
	symlink("/proc/self/fd/2", "/dev/stderr");
}

/* perftest takes the clock from /proc/cpuinfo, where UML has no MHz. */
static void show_clock(const char *mhz)
{
	char *info = slurp("/proc/cpuinfo", NULL);
	char *p, *line;
	FILE *f;

	if (!info || strcasestr(info, "MHz"))
		return;
	f = fopen("/run/cpuinfo", "we");
	if (!f)
		return;
	for (p = info; *p; p = line + 1) {
		line = strchrnul(p, '\n');
		fprintf(f, "%.*s\n", (int)(line - p), p);
		if (!strncmp(p, "model name", 10))
			fprintf(f, "cpu MHz\t\t: %s\n", mhz);
		if (!*line)
			break;
	}
	fclose(f);
	mount("/run/cpuinfo", "/proc/cpuinfo", NULL, MS_BIND, NULL);
}

static void open_channel(const char *path)
{
	struct termios t;
	int i;

	/* A virtio port appears a moment after its driver. */
	for (i = 0; i < 6000; i++) {
		channel = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (channel >= 0)
			break;
		usleep(10000);
	}
	if (channel < 0) {
		say("no channel to the host at %s: %s", path, strerror(errno));
		power_off();
	}
	if (!tcgetattr(channel, &t)) {
		cfmakeraw(&t);
		tcsetattr(channel, TCSANOW, &t);
	}
}

/* A script of the box, all its output to the console log or, if it fails, to stderr. */
static int script(const char *name, char **env)
{
	char path[256], *argv[] = { "/bin/sh", path, NULL };
	int status, fd;
	pid_t pid;

	snprintf(path, sizeof(path), "/run/box/lib/%s", name);
	pid = fork();
	if (!pid) {
		fd = open("/run/box/script.log", O_RDWR | O_CREAT | O_TRUNC,
			  0644);
		dup2(fd, 1);
		dup2(fd, 2);
		fd = open("/dev/null", O_RDONLY);
		dup2(fd, 0);
		execve(argv[0], argv, env);
		dprintf(2, "%s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	while (waitpid(pid, &status, 0) != pid)
		;
	if (status) {
		size_t len, at, n;
		char *log = slurp("/run/box/script.log", &len);

		for (at = 0; log && at < len; at += n) {
			n = len - at < FRAME_MAX ? len - at : FRAME_MAX;
			send_frame(FRAME_ERR, log + at, n);
		}
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* After a time-out: who waits where. */
static void show_tasks(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[300], *stat, *stack, *state, *line, *cmdline;
		size_t len = 0;

		if (!isdigit((unsigned char)e->d_name[0]) ||
		    atoi(e->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		stat = slurp(path, NULL);
		snprintf(path, sizeof(path), "/proc/%s/stack", e->d_name);
		stack = slurp(path, NULL);
		snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
		cmdline = slurp(path, &len);
		state = stat ? strrchr(stat, ')') : NULL;
		/* Kernel threads at rest are no news: those have no command line. */
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
}

static int open_pty(int *slave)
{
	char name[64];
	int n, zero = 0,
	       master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0 || ioctl(master, TIOCSPTLCK, &zero) ||
	    ioctl(master, TIOCGPTN, &n))
		die("no terminal: %s", strerror(errno));
	snprintf(name, sizeof(name), "/dev/pts/%d", n);
	*slave = open(name, O_RDWR | O_NOCTTY);
	return master;
}

static void become(char **conf)
{
	char *groups = strdup(lookup(conf, "groups", "")), *g;
	gid_t list[256];
	int n = 0;

	if (!lookup(conf, "uid", NULL))
		return;
	for (g = strtok(groups, " "); g && n < 256; g = strtok(NULL, " "))
		list[n++] = atoi(g);
	if (setgroups(n, list) || setgid(atoi(lookup(conf, "gid", "0"))) ||
	    setuid(atoi(lookup(conf, "uid", "0")))) {
		dprintf(2, "pinion-box: cannot become the user: %s\n",
			strerror(errno));
		_exit(126);
	}
}

static int decode(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

enum { IN, OUT, ERR, STREAMS };

/* Runs the command; returns its status, or -1 when the host's patience ended. */
static int run_command(char **conf, char **argv, char **env)
{
	int tty = atoi(lookup(conf, "tty", "0")), ours[STREAMS],
	    theirs[STREAMS], i;
	struct frame_reader reader = { 0 };
	struct rlimit memlock = { RLIM_INFINITY, RLIM_INFINITY };
	/* What the command has yet to read: at most what the host may send unread. */
	char input[INPUT_MAX * INPUT_FRAMES];
	size_t input_len = 0;
	int unread = 0, eof = 0, exited = 0, status = 0, quiet = 0;
	const char *cwd = lookup(conf, "cwd", "/");
	pid_t pid;

	if (tty) {
		ours[IN] = open_pty(&theirs[IN]);
		ours[OUT] = ours[IN];
		ours[ERR] = -1;
		theirs[OUT] = theirs[ERR] = theirs[IN];
	} else {
		for (i = 0; i < STREAMS; i++) {
			int p[2];

			if (pipe2(p, O_CLOEXEC))
				die("pipe: %s", strerror(errno));
			ours[i] = p[i == IN];
			theirs[i] = p[i != IN];
		}
	}
	pid = fork();
	if (!pid) {
		setsid();
		if (tty)
			ioctl(theirs[IN], TIOCSCTTY, 0);
		for (i = 0; i < STREAMS; i++)
			dup2(theirs[i], i);
		if (tty)
			close(theirs[IN]);
		setrlimit(RLIMIT_MEMLOCK, &memlock);
		become(conf);
		if (chdir(cwd)) {
			dprintf(2, "pinion-box: %s: %s\n", cwd,
				strerror(errno));
			_exit(126);
		}
		environ = env;
		execvp(argv[0], argv);
		i = errno;
		dprintf(2, "pinion-box: %s: %s\n", argv[0], strerror(i));
		_exit(i == ENOENT ? 127 : 126);
	}
	for (i = 0; i < STREAMS; i++)
		if (!tty || i == IN)
			close(theirs[i]);
	fcntl(ours[IN], F_SETFL, fcntl(ours[IN], F_GETFL) | O_NONBLOCK);
	send_frame(FRAME_READY, tty ? "\1" : "", 1);

	for (;;) {
		struct pollfd p[4] = {
			{ .fd = channel, .events = POLLIN },
			{ .fd = ours[OUT], .events = POLLIN },
			{ .fd = ours[ERR], .events = POLLIN },
			{ .fd = input_len && !tty ? ours[IN] : -1,
			  .events = POLLOUT },
		};
		char buf[FRAME_MAX];
		int n, k;

		if (tty && input_len)
			p[1].events |= POLLOUT;
		n = poll(p, 4, exited ? 50 : 200);

		for (;;) {
			pid_t dead = waitpid(-1, &k, WNOHANG);

			if (dead <= 0)
				break;
			if (dead == pid) {
				exited = 1;
				status = decode(k);
			}
		}
		/*
		 * The command has ended and all it wrote is here. What it left
		 * running may hold its streams open for ever: do not wait for that.
		 */
		if (exited &&
		    ((ours[OUT] < 0 && ours[ERR] < 0) || (!n && ++quiet > 2)))
			break;
		if (n < 0)
			continue;

		for (i = OUT; i <= ERR; i++) {
			ssize_t len;

			if (!(p[i].revents & (POLLIN | POLLHUP | POLLERR)))
				continue;
			len = read(ours[i], buf, sizeof(buf));
			if (len > 0) {
				send_frame(i == OUT ? FRAME_OUT : FRAME_ERR,
					   buf, len);
			} else if (len == 0 ||
				   (errno != EINTR && errno != EAGAIN)) {
				if (!tty)
					close(ours[i]);
				ours[i] = -1;
			}
		}
		if (input_len && ((p[3].revents & (POLLOUT | POLLERR)) ||
				  (p[1].revents & POLLOUT))) {
			ssize_t len = write(ours[IN], input, input_len);

			if (len > 0) {
				input_len -= len;
				memmove(input, input + len, input_len);
			} else if (len < 0 && errno != EAGAIN &&
				   errno != EINTR) {
				input_len =
					0; /* nobody reads: as if it had been read */
			}
			for (; !input_len && unread; unread--)
				send_frame(FRAME_ACK, NULL, 0);
		}
		if (eof && !input_len && !tty && ours[IN] >= 0) {
			close(ours[IN]);
			ours[IN] = -1;
		}
		if (p[0].revents) {
			struct frame *f = &reader.f;
			int32_t value = 0;

			fcntl(channel, F_SETFL,
			      fcntl(channel, F_GETFL) | O_NONBLOCK);
			n = frame_read(channel, &reader);
			fcntl(channel, F_SETFL,
			      fcntl(channel, F_GETFL) & ~O_NONBLOCK);
			if (n != 1)
				continue;
			if (f->len >= sizeof(value))
				memcpy(&value, f->data, sizeof(value));
			switch (f->type) {
			case FRAME_IN:
				if (!f->len) {
					eof = 1;
				} else if (input_len + f->len <=
					   sizeof(input)) {
					memcpy(input + input_len, f->data,
					       f->len);
					input_len += f->len;
					unread++;
				}
				break;
			case FRAME_WINSIZE: {
				uint16_t size[2];
				struct winsize w = { 0 };

				memcpy(size, f->data, sizeof(size));
				w.ws_row = size[0];
				w.ws_col = size[1];
				if (tty)
					ioctl(ours[IN], TIOCSWINSZ, &w);
				break;
			}
			case FRAME_SIGNAL:
				kill(-pid, value);
				break;
			case FRAME_KILL:
				say("the command's time is up");
				show_tasks();
				status = -1;
				goto out;
			}
		}
	}
out:
	return status;
}

/* Everything the command left behind. */
static void kill_rest(void)
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

int main(int argc, char **argv)
{
	char **conf, **env, **setup_env, **command, *cmdline, *p;
	int status, cleaned;

	if (argc > 2 && !strcmp(argv[1], "insmod")) {
		insmod(argv[2], argc > 3 ? argv[3] : "");
		return 0;
	}
	if (getpid() != 1) {
		fprintf(stderr,
			"box-init: runs only as the first process of a box\n");
		return 2;
	}

	umask(022);
	mkdir("/proc", 0755);
	mkdir("/dev", 0755);
	mkdir("/tmp", 0755);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	mount("proc", "/proc", "proc", 0, NULL);
	cmdline = slurp("/proc/cmdline", NULL);
	if (!cmdline)
		cmdline = "";
	reach_host();
	p = strstr(cmdline, "box_channel=");
	if (p) {
		char path[64];

		sscanf(p, "box_channel=%63s", path);
		open_channel(path);
	}
	if (strstr(cmdline, "box_host=9p"))
		mount_host();
	p = strstr(cmdline, "box_job=");
	if (!p || sscanf(p, "box_job=%4095s", job) != 1)
		die("no box_job= on the kernel's command line");

	conf = vector("conf");
	env = vector("env");
	setup_env = vector("setup.env");
	command = vector("argv");
	build_root(conf);
	show_clock(lookup(conf, "mhz", "2000.000"));

	say("setting up the devices");
	status = script("setup.sh", setup_env);
	if (status)
		die("setting up the devices failed (exit %d)", status);
	say("up after %s", strtok(slurp("/proc/uptime", NULL), " "));

	status = run_command(conf, command, env);
	if (status >= 0)
		send_value(FRAME_EXIT, status);
	kill_rest();
	cleaned = status < 0 ? 0 : script("teardown.sh", setup_env);
	if (cleaned)
		say("cleaning up failed");
	sync();
	send_value(FRAME_DONE, cleaned);
	tcdrain(channel);
	power_off();
}
