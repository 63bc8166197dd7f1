// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The file, and its lines.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../ctl/recording.h"
#include "record.h"

/* A high number, since some programs close all low file descriptors. */
#define HIGH_FD 700

static struct {
	int fd;
	dev_t dev;
	ino_t ino;
} file = { .fd = -1 };

__attribute__((constructor)) static void file_open(void)
{
	const char *name = getenv(RECORDING_NAME);
	struct stat stat;
	int fd, high;

	if (!name)
		return;
	fd = open(name, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return;
	high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	if (fstat(fd, &stat)) {
		close(fd);
		return;
	}
	file.fd = fd;
	file.dev = stat.st_dev;
	file.ino = stat.st_ino;
}

/* The program may have closed the fd and opened another file with the same number. */
static bool file_is_ours(void)
{
	struct stat stat;

	return file.fd >= 0 && !fstat(file.fd, &stat) &&
	       stat.st_dev == file.dev && stat.st_ino == file.ino;
}

void line_begin(struct line *line, const char *call)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	line->length = snprintf(line->text, sizeof(line->text),
				"%lld.%09ld %d %s", (long long)now.tv_sec,
				now.tv_nsec, getpid(), call);
}

void line_add(struct line *line, const char *fmt, ...)
{
	size_t room = sizeof(line->text) - line->length;
	va_list args;
	int length;

	va_start(args, fmt);
	length = vsnprintf(line->text + line->length, room, fmt, args);
	va_end(args);
	/* One byte is for the end of the line. */
	if (length >= 0 && (size_t)length + 1 < room)
		line->length += length;
}

void line_end(struct line *line)
{
	int err = errno;

	line->text[line->length++] = '\n';
	if (file_is_ours() && write(file.fd, line->text, line->length) < 0)
		file.fd = -1;
	errno = err;
}

void line_done(struct line *line, bool good)
{
	if (!good)
		line_add(line, " errno=%d", errno);
	line_end(line);
}
