// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes to the files of a pinion device in debugfs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

int device_tell(const char *device, const char *file, const char *line)
{
	char *path = print("/sys/kernel/debug/pinion/%s/%s", device, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0 && (errno == EACCES || errno == EPERM))
		die("%s is root's", path);
	if (fd < 0)
		die("%s: %m: no pinion device, a module older than this, or no debugfs\n"
		    "(mount -t debugfs none /sys/kernel/debug)",
		    path);
	free(path);
	if (write(fd, line, strlen(line)) < 0)
		err = errno;
	close(fd);
	return err;
}
