// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "channel.h"
#include "file.h"
#include "job.h"
#include "root.h"

/* The new root is assembled here while the machine's own root is still /. */
#define STAGE "/tmp"
#define NEW STAGE "/new"

const char *host_root = "";

static void mount_at(const char *what, const char *where, const char *type,
		     int flags, const char *data)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s%s", NEW, where);
	make_dirs(path);
	if (mount(what, path, type, flags, data))
		say("mount %s on %s: %s", type, where, strerror(errno));
}

/* How a path of the host is mounted: read-only, writable, or below a writable layer in memory. */
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

/*
 * From Linux 7.2 on, a name that did not exist is not looked up again for a day, unless an option
 * says otherwise; but it may be created on the host, or by another guest. Other versions do not know
 * the option, and some refuse it.
 */
#define HOST_OPTIONS "trans=virtio,version=9p2000.L,msize=1048576,cache=loose"

void root_mount_host(void)
{
	host_root = "/host";
	mkdir(host_root, 0755);
	if (mount("host", host_root, "9p", 0, HOST_OPTIONS ",negtimeout=100") &&
	    mount("host", host_root, "9p", 0, HOST_OPTIONS))
		die("cannot mount the host's files: %s", strerror(errno));
}

static void lay(const char *root)
{
	char lower[8300];

	if (mount("stage", STAGE, "tmpfs", 0, "mode=755"))
		die("tmpfs: %s", strerror(errno));
	/* A bind without MS_REC: it also shows the host's /tmp, below the mount above. */
	if (!*host_root) {
		host_root = STAGE "/host";
		mkdir(host_root, 0755);
		if (mount("/", host_root, NULL, MS_BIND, NULL))
			die("bind: %s", strerror(errno));
	}
	mkdir(NEW, 0755);
	snprintf(lower, sizeof(lower), "%s%s", host_root, root);
	if (overlay(lower, NEW))
		die("cannot lay a writable layer over %s: %s", root,
		    strerror(errno));
}

static void mount_system(void)
{
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
}

/* Mount WHAT or WHAT<tab>WHERE; changes the string. */
static void expose_named(char *what, enum show how)
{
	char *where = strchr(what, '\t');

	if (where)
		*where++ = 0;
	expose(what, where ? where : what, how);
}

static void expose_all(char **conf)
{
	for (; *conf; conf++) {
		if (!strncmp(*conf, "ro=", 3))
			expose_named(*conf + 3, SHOW_RO);
		else if (!strncmp(*conf, "rw=", 3))
			expose_named(*conf + 3, SHOW_RW);
		else if (!strncmp(*conf, "cw=", 3))
			expose_named(*conf + 3, SHOW_COW);
	}
}

static void enter(void)
{
	if (chdir(NEW) || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") ||
	    chdir("/"))
		die("cannot enter the new root: %s", strerror(errno));
	symlink("/proc/self/fd", "/dev/fd");
	symlink("/proc/self/fd/0", "/dev/stdin");
	symlink("/proc/self/fd/1", "/dev/stdout");
	symlink("/proc/self/fd/2", "/dev/stderr");
}

/* perftest reads the clock rate from /proc/cpuinfo, but UML has no MHz there: add it. */
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

void root_enter(char **conf)
{
	lay(job_lookup(conf, "root", "/"));
	mount_system();
	expose_all(conf);
	enter();
	show_clock(job_lookup(conf, "mhz", "2000.000"));
}
